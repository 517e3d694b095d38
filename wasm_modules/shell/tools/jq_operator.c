/* jq_operator.c - operators, strings, objects and calls whose parts may have many results: their continuations. */
#include "jq_eval.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Binary operators with many results: right side outermost, as jq does. */
static int binary_left_out(jq *q, jout *self, jv v, jpath *p) {
    cont *c = (cont *)self;
    (void)p;
    jv r;
    if (c->n->kind == N_BINARY) r = jq_arith(q, c->n->op, v, jv_copy(c->held));
    else {
        int order = jv_compare(&q->C, v, c->held), op = c->n->op;
        int yes = op == '='   ? jv_equal(&q->C, v, c->held)
                  : op == '!' ? !jv_equal(&q->C, v, c->held)
                  : op == '<' ? order < 0
                  : op == '>' ? order > 0
                  : op == 'l' ? order <= 0
                              : order >= 0;
        jv_drop(&q->C, v);
        r = jv_bool(yes);
    }
    return jqe_single_result(q, r, c->k);
}

int jqe_binary_right_out(jq *q, jout *self, jv v, jpath *p) {
    cont *c = (cont *)self, inner = *c;
    (void)p;
    inner.o.fn = binary_left_out;
    inner.held = v;
    int run = jq_eval(q, c->n->a, c->e, jv_copy(c->in), NULL, &inner.o);
    jv_drop(&q->C, v);
    return run;
}

static int logic_right_out(jq *q, jout *self, jv v, jpath *p) {
    (void)p;
    int yes = jv_true(v);
    jv_drop(&q->C, v);
    jout *k = ((cont *)self)->k;
    return k->fn(q, k, jv_bool(yes), NULL);
}

int jqe_logic_left_out(jq *q, jout *self, jv v, jpath *p) {
    cont *c = (cont *)self, inner = *c;
    (void)p;
    int yes = jv_true(v);
    jv_drop(&q->C, v);
    if (c->n->kind == N_AND ? !yes : yes) return c->k->fn(q, c->k, jv_bool(yes), NULL);
    inner.o.fn = logic_right_out;
    return jq_eval(q, c->n->b, c->e, jv_copy(c->in), NULL, &inner.o);
}

int jqe_negate_out(jq *q, jout *self, jv v, jpath *p) {
    (void)p;
    if (!jv_is_number(v)) {
        jv text = jq_error_text(q, v);
        jq_errorf(q, "%s (%s) cannot be negated", jv_kind_name(v), text.s->text);
        jv_drop(&q->C, text);
        jv_drop(&q->C, v);
        return RUN_ERROR;
    }
    double n = -jv_number(v);
    jv_drop(&q->C, v);
    jout *k = ((cont *)self)->k;
    return k->fn(q, k, jv_num(n), NULL);
}

/* a // b: the true results of a, or b when there are none. */
int jqe_alternative_out(jq *q, jout *self, jv v, jpath *p) {
    cont *c = (cont *)self;
    if (!jv_true(v)) { jv_drop(&q->C, v); return RUN_ON; }
    c->stage = 1;
    return c->k->fn(q, c->k, v, p);
}

/* try: errors from the body are caught, errors from what follows are not. */
int jqe_try_out(jq *q, jout *self, jv v, jpath *p) {
    cont *c = (cont *)self;
    int run = c->k->fn(q, c->k, v, p);
    if (run == RUN_ERROR) c->stage = 1;
    return run;
}

int jqe_string_out(jq *q, jout *self, jv v, jpath *p) {
    string_cont *c = (string_cont *)self, inner = *c;
    (void)p;
    jv made = c->text.kind == J_STRING ? jv_concat(&q->C, v, jv_copy(c->text)) : v;
    if (!c->at) return c->k->fn(q, c->k, made, NULL);
    inner.at--;
    inner.text = made;
    int run = jq_eval(q, c->parts[inner.at], c->e, jv_copy(c->in), NULL, &inner.o);
    jv_drop(&q->C, made);
    return run;
}

int jqe_format_out(jq *q, jout *self, jv v, jpath *p) {
    cont *c = (cont *)self;
    (void)p;
    return jqe_single_result(q, jq_format(q, c->n->value.s->text, v), c->k);
}

int jqe_object_next(jq *q, object_cont *c, jv made) {
    if (!c->pair) return c->k->fn(q, c->k, made, NULL);
    object_cont inner = *c;
    inner.made = made;
    inner.stage = 0;
    int run = jq_eval(q, c->pair->a, c->e, jv_copy(c->in), NULL, &inner.o);
    jv_drop(&q->C, made);
    return run;
}

int jqe_object_out(jq *q, jout *self, jv v, jpath *p) {
    object_cont *c = (object_cont *)self, inner = *c;
    (void)p;
    if (!c->stage) {
        if (v.kind != J_STRING) {
            jv text = jq_error_text(q, v);
            jq_errorf(q, "Object keys must be strings");
            jv_drop(&q->C, text);
            jv_drop(&q->C, v);
            return RUN_ERROR;
        }
        inner.stage = 1;
        inner.key = v;
        int run = jq_eval(q, c->pair->b, c->e, jv_copy(c->in), NULL, &inner.o);
        jv_drop(&q->C, v);
        return run;
    }
    inner.pair = c->pair->next;
    return jqe_object_next(q, &inner, jv_set(&q->C, jv_copy(c->made), c->key.s, v));
}

int jqe_args_out(jq *q, jout *self, jv v, jpath *p) {
    args_cont *c = (args_cont *)self, inner = *c;
    (void)p;
    inner.args[c->at] = v;
    if (c->at == 0) {
        for (int i = 1; i < c->n->count; i++) inner.args[i] = jv_copy(inner.args[i]);
        return jqe_single_result(q, c->n->fn(q, jv_copy(c->in), inner.args), c->k);
    }
    inner.at--;
    int run = jq_eval(q, c->n->args[inner.at], c->e, jv_copy(c->in), NULL, &inner.o);
    jv_drop(&q->C, v);
    return run;
}
