/* od.h - what od.c, hexdump.c and xxd.c share: values as text, and the input as a whole. */
#ifndef HATCH_OD_H
#define HATCH_OD_H
#include "buffer.h"

typedef struct { char kind; int size, dump; } od_format;
typedef struct {
    tool *t;
    od_format f[16];
    int n, radix, all, big, starred;
    unsigned long long skip, base;        /* base: the address of data.p[0] */
    size_t width, shown;                  /* shown: bytes of data that are printed, kept to compare with */
    buffer data;
} od_state;

/* What is read of the input: without the first skip bytes, and no more than most. Now and then full may print and take away what
 * has come, so that an input without end is no trouble; it returns nonzero to stop. */
typedef struct { buffer *to; unsigned long long skip, most; int (*full)(void *context); void *context; } dump_source;


/* od.c */
int dump_gather(tool *t, io *from, const char *name, void *context);      /* context: a dump_source */
int dump_take_types(tool *t, od_state *s, const char *p);
void dump_put_value(buffer *b, od_format f, const unsigned char *p, int width);
#endif
