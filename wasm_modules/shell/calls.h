/* calls.h - a call of a function in two halves, because a job may stop in between. */
#ifndef HATCH_CALLS_H
#define HATCH_CALLS_H
#include "sh.h"

enum { CALL_TRAPS = 3 };         /* DEBUG, RETURN and ERR */

/* What a call hides until it returns. */
typedef struct call {
    frame fr;
    func *f;
    char **args, **own;          /* the caller's parameters, as in struct shell */
    int nargs, own_level, loops, line, line_base;
    char *hidden[CALL_TRAPS];    /* traps that the function does not inherit */
    program *prog;
} call;

bool call_fits(func *f);                         /* false after a message: calls are nested too deeply */
void call_begin(call *c, func *f, int argc, char **argv);
int call_end(call *c, int status);               /* the status of the call; its RETURN trap has run */
#endif
