/* awk_lint.h - what --lint says of the program's text; what it says while the program runs stands where it happens. */
#ifndef HATCH_AWK_LINT_H
#define HATCH_AWK_LINT_H
#include "awk.h"

void awk_lint_statement(awk *A, const anode *n, int rule);      /* rule: the kind of the rule it stands in, as in arule */
void awk_lint_expression(awk *A, const anode *n);
void awk_lint_shadowing(awk *A);                                /* when all is read */
#endif
