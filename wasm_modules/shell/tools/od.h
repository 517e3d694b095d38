/* od.h - what od.c, hexdump.c and xxd.c share: values as text, and the input as a whole. */
#ifndef HATCH_OD_H
#define HATCH_OD_H
#include "buffer.h"

typedef struct { char kind; int size, dump; } od_format;
typedef struct { od_format f[16]; int n, radix, all, big; unsigned long long skip, most; size_t width; buffer data; } od_state;

/* od.c */
int dump_gather(tool *t, io *from, const char *name, void *context);
int dump_take_types(tool *t, od_state *s, const char *p);
void dump_put_value(buffer *b, od_format f, const unsigned char *p, int width);
void dump_limit(buffer *data, unsigned long long skip, unsigned long long most);
#endif
