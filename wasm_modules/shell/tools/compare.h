/* compare.h - the difference of two lists of lines, for diff. */
#ifndef HATCH_COMPARE_H
#define HATCH_COMPARE_H
#include "buffer.h"

/* One stretch that differs: lines a..a+a_n of the first are replaced by lines b..b+b_n of the second. */
typedef struct { size_t a, a_n, b, b_n; } hunk;
typedef struct { hunk *at; size_t n, cap; } hunk_list;

/* ids: equal numbers mean equal lines. horizon: how many equal lines at the ends still take part, as room for runs to slide. */
void compare_lines(tool *t, const int *a, size_t a_n, const int *b, size_t b_n, size_t horizon, hunk_list *out);
#endif
