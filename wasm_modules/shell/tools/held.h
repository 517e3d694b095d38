/* held.h - a tool's standard output, held back in blocks as stdio does where there is no terminal.
 *
 * The order in which a tool's own text, its messages and the output of commands it starts come out depends on it. While it is
 * held, t->out is the block; `down` is where it goes.
 */
#ifndef HATCH_HELD_H
#define HATCH_HELD_H
#include "../tool.h"

typedef struct { tool *t; io *down; } held_out; /* down: NULL while nothing is held back */

void held_start(held_out *h, tool *t);
int held_flush(held_out *h);                       /* -1 when it cannot be written; t->out has failed then, too */
void held_end(held_out *h);                        /* flushes; t->out is what it was */
#endif
