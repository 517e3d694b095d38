/* bc_run.h - the running program: what bc.c (statements), bc_expression.c, bc_call.c and bc_text.c share. */
#ifndef HATCH_BC_RUN_H
#define HATCH_BC_RUN_H
#include "bc.h"

typedef struct bc_var { char *name; num value; struct bc_var *next; } bc_var;
typedef struct { char *name; enum { SCALAR, ARRAY, ARRAY_REF } kind; } bc_param;
typedef struct bc_func {
    char *name;
    bc_param *params;
    int params_n;
    bc_param *autos;
    int autos_n;
    char *body;
    int is_void;
    struct bc_func *next;
} bc_func;
typedef struct {
    tool *t;
    const char *p, *end;                  /* the text still to be run */
    const char *text, *text_end;          /* the whole program, for messages */
    const char *function;                 /* the name of the one that runs, or is read; NULL */
    size_t scale;
    int ibase, obase, error, skip, depth, quit;      /* skip: read without effect */
    bc_var *vars;
    bc_func *funcs;
    num last, result;                     /* the last value printed; what a function returns */
    enum { GO, BREAK, CONTINUE, RETURN } flow;
    long steps;
    int silent, void_call;                /* the expression just read is an assignment, or a call of a void function */
    int loops;                            /* around what is checked */
    size_t column, width;                 /* of the output; it is folded at width, 0: never */
} bc_state;

/* bc_call.c */
num bc_call(bc_state *s, const char *name, num *args, char **names, int n); /* names: of arrays among the arguments, else NULL */

/* bc_check.c */
int bc_check_line(bc_state *s);           /* 1: fine up to s->p, where the line ends; 0 after a message */
void bc_check_block(bc_state *s);         /* after { up to and with } */

/* bc_expression.c */
char *bc_place_name(bc_state *s);
num bc_expression(bc_state *s);

/* bc_text.c */
void bc_put(bc_state *s, const char *text, size_t n);                /* to standard output, folded */
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
