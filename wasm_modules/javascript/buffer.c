/* buffer.c: see buffer.h. */
#include "buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buffer_free(struct buffer *b)
{
    free(b->bytes);
    *b = (struct buffer){0};
}

/* Makes room for `extra` more bytes. Returns false (and marks the buffer failed) when it cannot. */
static bool reserve(struct buffer *b, size_t extra)
{
    size_t limit = b->limit ? b->limit : BUFFER_LIMIT_BYTES;
    if (b->failed || extra > limit - b->len) {
        b->full |= !b->failed && b->limit;
        b->failed = true;
        return false;
    }
    if (b->len + extra <= b->size)
        return true;
    size_t size = b->size ? b->size * 2 : 256;
    while (size < b->len + extra)
        size *= 2;
    char *bytes = realloc(b->bytes, size);
    if (!bytes) {
        b->failed = true;
        return false;
    }
    b->bytes = bytes;
    b->size = size;
    return true;
}

void buffer_put(struct buffer *b, const void *bytes, size_t len)
{
    if (len == 0 || !reserve(b, len))
        return;
    memcpy(b->bytes + b->len, bytes, len);
    b->len += len;
}

void buffer_put_text(struct buffer *b, const char *text)
{
    buffer_put(b, text, strlen(text));
}

void buffer_put_int(struct buffer *b, long value)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%ld", value);
    buffer_put(b, text, (size_t)n);
}

/* True when a UTF-8 encoded surrogate half starts at `p`. */
static bool is_surrogate(const unsigned char *p, size_t left)
{
    return left >= 3 && p[0] == 0xED && p[1] >= 0xA0;
}

void buffer_put_json_string(struct buffer *b, const char *text, size_t len)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t start = 0;
    buffer_put(b, "\"", 1);
    for (size_t i = 0; i < len; i++) {
        char escape[8];
        const char *replacement = escape;
        size_t width = 1;
        if (p[i] == '"' || p[i] == '\\') {
            snprintf(escape, sizeof escape, "\\%c", p[i]);
        } else if (p[i] == '\n') {
            replacement = "\\n";
        } else if (p[i] < 0x20) {
            snprintf(escape, sizeof escape, "\\u%04x", p[i]);
        } else if (is_surrogate(p + i, len - i)) {
            replacement = "\xEF\xBF\xBD";
            width = 3;
        } else {
            continue;
        }
        buffer_put(b, text + start, i - start);
        buffer_put_text(b, replacement);
        i += width - 1;
        start = i + 1;
    }
    buffer_put(b, text + start, len - start);
    buffer_put(b, "\"", 1);
}

void make_well_formed(char *text, size_t len)
{
    for (size_t i = 0; i + 2 < len; i++)
        if (is_surrogate((unsigned char *)text + i, len - i))
            memcpy(text + i, "\xEF\xBF\xBD", 3);
}

bool is_well_formed(const char *text, size_t len)
{
    const char *end = text + len;
    for (const char *at = text; (at = memchr(at, 0xED, (size_t)(end - at))) != NULL; at++)
        if (is_surrogate((const unsigned char *)at, (size_t)(end - at)))
            return false;
    return true;
}
