/* awk_message.h - what awk says on its standard error. A message flushes standard output first, so that both stay in order. */
#ifndef HATCH_AWK_MESSAGE_H
#define HATCH_AWK_MESSAGE_H
#include "awk.h"

void awk_warn(awk *A, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));      /* line 0: no place */
void awk_lint(awk *A, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));      /* only with --lint */
void awk_lint_set(awk *A);              /* LINT was assigned */
/* An error of the program after which reading goes on, so that the next one is told too; the program does not run. */
void awk_complain(awk *A, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* A variable, a parameter with the arrays it stands for, an element; NULL for what has no name. */
const char *awk_name_of(awk *A, const anode *n);
#endif
