/* jq.h - the jq language (1.7).
 *
 * Reading order: jq.c (command line); from program to tree: jq_lex.c, jq_parse.c, jq_terms.c, jq_names.c (names resolved);
 * running: jq_eval.c (the evaluator), jq_operator.c (its continuations), jq_single.c (expressions with one result), jq_bind.c
 * (as, reduce, foreach), jq_path.c (paths and assignment), jq_arith.c; functions: jq_call.c, jq_loop.c, jq_gather.c (those that
 * take expressions), jq_func.c, jq_math.c, jq_text.c, jq_regex.c, jq_time.c (those that take values), jq_prelude.c (those written
 * in jq).
 *
 * Evaluation is by continuation: eval calls its out for every result and returns when there are no more, or early with a nonzero
 * status. So environments live on the C stack of whoever made them, or on the pool for calls in tail position. An expression
 * marked single has exactly one result (or an error) and is computed by eval1 without a continuation.
 */
#ifndef HATCH_JQ_H
#define HATCH_JQ_H
#include "json.h"

typedef struct jq jq;
typedef struct jnode jnode;
typedef struct jenv jenv;
typedef struct jdef {
    const char *name;
    int arity, is_value_param[16];
    jnode *body;
    const char *params[16];
    struct jdef *module_def;                          /* what a name from a module stands for */
    struct jdef *next;
} jdef;
typedef jv jfunc(jq *q, jv in, jv *args);            /* takes over in and args; J_INVALID after jq_error */

enum {
    N_IDENTITY,
    N_RECURSE,
    N_FIELD,
    N_INDEX,
    N_SLICE,
    N_ITERATE,
    N_LITERAL,
    N_STRING,
    N_FORMAT,
    N_ARRAY,
    N_OBJECT,
    N_NEGATE,
    N_PIPE,
    N_COMMA,
    N_BINARY,
    N_COMPARE,
    N_AND,
    N_OR,
    N_ALTERNATIVE,
    N_ASSIGN,
    N_MODIFY,
    N_UPDATE,
    N_IF,
    N_TRY,
    N_REDUCE,
    N_FOREACH,
    N_LABEL,
    N_BREAK,
    N_DEF,
    N_CALL,
    N_CLOSURE,
    N_VARIABLE,
    N_AS,
    N_FUNCTION,
    N_SPECIAL
};

/* A destructuring pattern: $name, [p, ...], {key: p, ...}. Variables are numbered in the order of their environments. */
typedef struct jpattern { int kind; int variable; jnode *key; struct jpattern *child, *next; } jpattern;   /* kind: '$' '[' '{' */

struct jnode {
    int kind, op, index, single, count; /* index: environments up to the binding; count: of variables or arguments */
    jnode *a, *b, *c, *d, *next;
    jv value;
    jdef *def;
    jfunc *fn;
    jpattern *patterns;                               /* N_AS, N_REDUCE, N_FOREACH: alternatives linked by next */
    jnode **args;
};

/* Kept out of the evaluator, whose frame every level of a program's recursion pays for. */
#define OUTLINE __attribute__((noinline))

struct jenv { jenv *up; jv value; jnode *node; jenv *env; int label; jenv *owned; };

typedef struct jpath { struct jpath *up; jv key; } jpath;
typedef struct jout { int (*fn)(jq *q, struct jout *self, jv v, jpath *p); } jout;
enum { RUN_ON, RUN_BREAK, RUN_ERROR };

struct jq {
    jctx C;
    tool *t;
    jv error;                                          /* of RUN_ERROR */
    int breaking, labels, depth;
    int halted, halt_code;
    jdef *globals;                                     /* parsed prelude definitions */
    jv named;                                          /* object: $__prog_args-like variables by name */
    jv env;                                            /* $ENV, made at first use */
    const char *parse_error;
    const char *parse_where;                           /* the module it is in; NULL: the program */
    int parse_line, parse_column;                      /* where the error begins, from 1 and 0 */
    const char *parse_text;                            /* the line it is in */
    char **library;                                    /* directories of -L, ends with NULL */
    int modules_open;                                  /* modules being read inside each other */
    /* inputs */
    json_reader reader;
    buffer text;
    char **files;
    int file_count, next_file, raw_input, slurp, null_input, reading, input_failed, stream, stream_errors;
    int exhausted;                                     /* more was asked for after a value that the end of input had ended */
    size_t raw_at;
    const char *file_name;
    jv stream_fault;                                   /* what is wrong after the events that are pending; null: nothing */
    jv pending;                                        /* events of --stream not handed out yet */
    unsigned seed_line;
    struct { char *key; void *re; } regexes[32];
};

jnode *jq_parse(jq *q, const char *text, size_t n);    /* NULL: q->parse_error */
jdef *jq_prelude(jq *q, const char *name, int arity);  /* NULL when there is none */
jnode *jq_parse_definitions(jq *q, const char *text, jdef **defs);

static inline jenv *jq_env_up(jenv *e, int n) { while (n-- > 0) e = e->up; return e; }
int jq_eval(jq *q, jnode *n, jenv *e, jv in, jpath *p, jout *k);
jv jq_eval1(jq *q, jnode *n, jenv *e, jv in);
int jq_eval_special(jq *q, jnode *n, jenv *e, jv in, jpath *p, jout *k);
int jq_eval_as(jq *q, jnode *n, jenv *e, jv in, jpath *p, jout *k);
int jq_eval_loop(jq *q, jnode *n, jenv *e, jv in, jout *k);            /* reduce and foreach */
int jq_eval_update(jq *q, jnode *n, jenv *e, jv in, jout *k);
int jq_special_named(const char *name, int arity);        /* -1 when there is none */
jfunc *jq_func_named(const char *name, int arity, int *single);

jv jq_error(jq *q, jv message);                        /* sets the error; J_INVALID */
jv jq_errorf(jq *q, const char *format, ...) __attribute__((format(printf, 2, 3)));
int jq_raise(jq *q, jv message);                       /* the same; RUN_ERROR */
jv jq_error_text(jq *q, jv v);                            /* v borrowed, cut short as in messages */
jv jq_path_error_text(jq *q, jv v);                       /* the same for messages about paths, which show more */

jv jq_slice_key(jq *q, jv from, jv to);                /* {"start": from, "end": to} */
jv jq_index(jq *q, jv v, jv key);                      /* .[key] */
jv jq_arith(jq *q, int op, jv a, jv b);
jv jq_getpath(jq *q, jv v, jv path);                   /* path borrowed */
jv jq_setpath(jq *q, jv v, jv path, uint32_t at, jv to); /* path borrowed */
jv jq_delpaths(jq *q, jv v, jv paths);
jv jq_path_array(jq *q, jpath *p);
jv jq_input(jq *q, int *more);                         /* the next input; *more 0 at the end */
int jq_input_line(jq *q);                              /* how many lines of the input have been read */
jv jq_format(jq *q, const char *name, jv v);            /* @name */
jv jq_tostring(jq *q, jv v);
jv jq_fn_match(jq *q, jv in, jv *args);                    /* _match(re; flags; test) */
jv jq_fn_flatten(jq *q, jv in, jv *args);
jv jq_refuse(jq *q, jv v, const char *what);            /* "KIND (VALUE) WHAT" as the error */
jv jq_refuse_two(jq *q, jv a, jv b, const char *what);  /* "KIND (VALUE) and KIND (VALUE) WHAT" */
jv jq_not_iterable(jq *q, jv v);                        /* "Cannot iterate over KIND (VALUE)" */
jv jq_finish(jq *q, buffer *b, jv v);                   /* the text in b, which is freed; v is dropped */
jv jq_fn_format(jq *q, jv in, jv *args);
jfunc *jq_text_func(const char *name, int arity), *jq_time_func(const char *name, int arity),
    *jq_math_func(const char *name, int arity), *jq_outside_func(const char *name, int arity);
#endif
