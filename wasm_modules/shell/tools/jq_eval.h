/* jq_eval.h - continuations that jq_eval.c starts and jq_operator.c runs. */
#ifndef HATCH_JQ_EVAL_H
#define HATCH_JQ_EVAL_H
#include "jq.h"

/* Continuations for expressions whose parts may have many results. */
typedef struct { jout o; jq *q; jnode *n; jenv *e; jv in, held; jpath *p; jout *k; int stage; } cont;

/* Strings with interpolations, from the last part to the first, as jq multiplies them. */
typedef struct { jout o; jnode **parts; int at; jenv *e; jv in, text; jout *k; } string_cont;

/* Object construction: every combination of keys and values, the first pair varying slowest. */
typedef struct { jout o; jnode *pair; jenv *e; jv in, made, key; jout *k; int stage; } object_cont;

/* Functions on values: every combination of arguments, the last varying slowest. */
typedef struct { jout o; jnode *n; jenv *e; jv in; jv args[8]; int at; jout *k; } args_cont;

/* jq_operator.c */
int jqe_binary_right_out(jq *q, jout *self, jv v, jpath *p);
int jqe_logic_left_out(jq *q, jout *self, jv v, jpath *p);
int jqe_negate_out(jq *q, jout *self, jv v, jpath *p);
int jqe_alternative_out(jq *q, jout *self, jv v, jpath *p);
int jqe_try_out(jq *q, jout *self, jv v, jpath *p);
int jqe_string_out(jq *q, jout *self, jv v, jpath *p);
int jqe_format_out(jq *q, jout *self, jv v, jpath *p);
int jqe_object_next(jq *q, object_cont *c, jv made);
int jqe_object_out(jq *q, jout *self, jv v, jpath *p);
int jqe_args_out(jq *q, jout *self, jv v, jpath *p);

/* jq_eval.c */
int jqe_single_result(jq *q, jv v, jout *k);
#endif
