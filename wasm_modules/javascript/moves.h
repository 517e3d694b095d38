/* moves.h: where a compiler inserted text into a program, so that positions can be those of the source.
 *
 * A program that was compiled from TypeScript ends in a line `//# moves=LINE,COLUMN,BYTES;…`: at each place so many bytes
 * were inserted. Places are those of the compiled text, in its order, counted from 1. Any other text has no moves.
 */
#ifndef HATCHWAY_MOVES_H
#define HATCHWAY_MOVES_H

#include <stddef.h>
#include <stdint.h>

struct move {
    uint32_t line, column, bytes;
};

struct moves {
    struct move *list;
    size_t count;
};

/* Reads the moves of a text; there are none when memory is short. Free with moves_free. */
struct moves moves_read(const char *text, size_t len);

void moves_free(struct moves *moves);

/* The column in the source of a place in the compiled text. Inside of what was inserted it is where that begins. */
uint32_t moves_undo(const struct moves *moves, uint32_t line, uint32_t column);

/* The text without what was inserted, in `*len` bytes; NULL when memory is short. */
char *moves_strip(const struct moves *moves, const char *text, size_t *len);

#endif
