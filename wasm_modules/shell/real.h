/* real.h - the floating point numbers of printf: as wide as a long double of x86-64, on every machine alike. */
#ifndef HATCH_REAL_H
#define HATCH_REAL_H
#include "sh.h"

enum real_kind { REAL_FINITE, REAL_INF, REAL_NAN };
/* mantissa * 2^exponent; the mantissa's highest bit is set unless the number is zero */
typedef struct { uint64_t mantissa; int exponent; bool negative; enum real_kind kind; } real;

/* The number at s, as strtold reads it. Returns what follows; s itself when there is none. */
const char *real_parse(const char *s, real *out);
/* As printf does with conversion conv (one of efgaEFGA), without width; precision -1: the usual one. flags: of + space #. */
void real_format(strbuf *b, const real *r, char conv, const char *flags, int precision);
#endif
