/* awk_call.h - the built-in functions that have files of their own; awk_call.c calls them. */
#ifndef HATCH_AWK_CALL_H
#define HATCH_AWK_CALL_H
#include "awk.h"

cell *awk_element(awk *A, anode *e, int make); /* awk_call.c: the element an index names, NULL when it is not there */

/* awk_text.c */
cell awk_length(awk *A, anode *n);
cell awk_substr(awk *A, anode *n);
cell awk_index(awk *A, anode *n);
cell awk_split(awk *A, anode *n);
cell awk_patsplit(awk *A, anode *n);
cell awk_match(awk *A, anode *n);
cell awk_change_case(awk *A, anode *n, int upper);
cell awk_sprintf(awk *A, anode *n);

/* awk_replace.c */
cell awk_substitute(awk *A, anode *n, int all);
cell awk_gensub(awk *A, anode *n);
#endif
