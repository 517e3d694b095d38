/* bc_run.h - the running program: what bc.c (statements), bc_expression.c, bc_call.c and bc_text.c share. */
#ifndef HATCH_BC_RUN_H
#define HATCH_BC_RUN_H
#include "bc.h"

typedef struct bc_var { char *name; num value; struct bc_var *next; } bc_var;
typedef struct bc_func {
    char *name;
    char **params;
    int params_n;
    char **autos;
    int autos_n;
    char *body;
    struct bc_func *next;
} bc_func;
typedef struct {
    tool *t;
    const char *p, *end;                  /* the text still to be run */
    size_t scale;
    int ibase, obase, error, skip, depth, status, quit, line_start;
    bc_var *vars;
    bc_func *funcs;
    num last, result;                     /* the last value printed; what a function returns */
    enum { GO, BREAK, CONTINUE, RETURN } flow;
    long steps;
    int at_top;                           /* the next statement begins a line of the program */
} bc_state;

/* bc_call.c */
num bc_call(bc_state *s, const char *name, num *args, char **names, int n);

/* bc_expression.c */
char *bc_place_name(bc_state *s);
num bc_expression(bc_state *s);

/* bc_text.c */
num bc_zero(bc_state *s);
num bc_fail(bc_state *s, const char *message);
void bc_space(bc_state *s);
void bc_space_lines(bc_state *s);
int bc_peek(bc_state *s, const char *w);
int bc_accept(bc_state *s, const char *w);
size_t bc_word_length(bc_state *s);
int bc_accept_word(bc_state *s, const char *w);
bc_var *bc_variable(bc_state *s, const char *name);

/* bc.c */
void bc_statement(bc_state *s);
#endif
