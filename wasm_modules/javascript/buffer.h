/* buffer.h: a growing run of bytes, and JSON text written into it.
 *
 * Rules: every write either succeeds or marks the buffer failed; a failed buffer ignores further writes, so callers
 * check once at the end. A buffer never grows past its limit, or past BUFFER_LIMIT_BYTES. It does not know what the
 * bytes are for.
 */
#ifndef HATCHWAY_BUFFER_H
#define HATCHWAY_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

#define BUFFER_LIMIT_BYTES ((size_t)256 << 20)

struct buffer {
    char *bytes;
    size_t len, size, limit; /* limit 0: BUFFER_LIMIT_BYTES */
    bool failed, full;       /* full: failed because of the limit */
};

void buffer_free(struct buffer *b);
void buffer_put(struct buffer *b, const void *bytes, size_t len);
void buffer_put_text(struct buffer *b, const char *text);
void buffer_put_int(struct buffer *b, long value);

/* Writes UTF-8 `text` as a JSON string in quotes. Surrogate halves, which UTF-8 cannot carry, become U+FFFD. */
void buffer_put_json_string(struct buffer *b, const char *text, size_t len);

/* Replaces encoded surrogate halves (ED A0..BF xx) by U+FFFD, which has the same length. */
void make_well_formed(char *text, size_t len);

/* False when the UTF-8 text holds an encoded surrogate half, which is no character. */
bool is_well_formed(const char *text, size_t len);

#endif
