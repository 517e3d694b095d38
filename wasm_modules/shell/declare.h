/* declare.h - printing variables: shared by transform.c and the builtins that list variables. */
#ifndef HATCH_DECLARE_H
#define HATCH_DECLARE_H
#include "sh.h"
char *attribute_letters(var *v, char out[16]);   /* "ir": the letters of declare */
void array_text(strbuf *b, var *v);              /* ([0]="a" [1]="b") */
void print_declare(slot *s, var *v);             /* declare -i x="3" */
bool assign_array(slot *s, assign *a);            /* name=(...) or name+=(...) */
bool assign_one(assign *a, int scope_local);     /* an assignment of the tree; false after a message */
#endif
