/* param.h - the boundary between param.c and param_ops.c. */
#ifndef HATCH_PARAM_H
#define HATCH_PARAM_H
#include "sh.h"

typedef struct {
    char **v; size_t n;          /* n 0: unset */
    char list;                   /* '@' or '*', 0 for a scalar */
    slot *slot; var *var;        /* where it came from, if from a variable */
    int64_t *index;              /* of the elements of an indexed array */
} values;

bool param_ops(param *pm, values *o);   /* replaces the values by what the operator makes of them; false after a message */
bool param_transform(param *pm, values *o);
extern const char *names_prefix;
#define SHELL_PID 4242
#endif
