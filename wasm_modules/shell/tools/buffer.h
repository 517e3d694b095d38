/* buffer.h - a growing byte string in a tool's arena. Always followed by a NUL that is not counted. */
#ifndef HATCH_BUFFER_H
#define HATCH_BUFFER_H
#include "../tool.h"

typedef struct { tool *t; char *p; size_t n, cap; } buffer;

void buffer_reserve(buffer *b, size_t more);
void buffer_add(buffer *b, const void *from, size_t n);
void buffer_puts(buffer *b, const char *text);
void buffer_putc(buffer *b, int c);
void buffer_printf(buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buffer_free(buffer *b);
int buffer_read_all(buffer *b, io *from);            /* 0, or -1 on a read error */
int buffer_read_upto(buffer *b, io *from, size_t most);   /* the same, stopping at most bytes in b */

typedef struct { char *p; size_t n; } span;          /* bytes owned by somebody else */
typedef struct { span *at; size_t n, cap; } span_list;
void span_add(tool *t, span_list *list, char *p, size_t n);
/* Cuts text into records without their delimiter; a last one without delimiter counts. */
void span_split(tool *t, span_list *list, char *text, size_t n, int delim);
int span_compare(span a, span b);                    /* byte order */

/* The text of a number with GNU's multipliers (K M G T kB MB KiB b w); 0, or -1 when malformed. A leading sign is the caller's
 * business. */
int size_parse(const char *text, unsigned long long *value);
#endif
