/* bc.h - decimal numbers of any size, for bc. A number is a sign, digits (most significant first) and how many of them are
 * fraction. */
#ifndef HATCH_BC_H
#define HATCH_BC_H
#include "buffer.h"

typedef struct { int negative; size_t whole, scale; unsigned char *d; } num;   /* d[0..whole+scale) */
enum { NUM_LONGEST = 200000 };

num num_from(tool *t, long long v);
num num_parse(tool *t, const char *text, size_t n, int base);                  /* digits, A-F, a point */
num num_add(tool *t, num a, num b);
num num_sub(tool *t, num a, num b);
num num_mul(tool *t, num a, num b, size_t scale);
int num_div(tool *t, num a, num b, size_t scale, num *q);                      /* -1: by zero */
int num_mod(tool *t, num a, num b, size_t scale, num *r);
int num_pow(tool *t, num a, num b, size_t scale, num *r);                      /* -1: exponent not whole or too large */
int num_sqrt(tool *t, num a, size_t scale, num *r);                            /* -1: negative */
num num_cut(tool *t, num a, size_t scale);                                     /* digits beyond scale dropped */
int num_compare(num a, num b);
int num_is_zero(num a);
long long num_to_int(num a);
void num_write(buffer *b, num a, int base);
size_t num_digits(num a);                                                      /* without leading zeros */
#endif
