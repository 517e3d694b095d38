/* jq_single.c - expressions with exactly one result (or an error), computed without continuations. */
#include "jq.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* [...]: gathers results. */
typedef struct { jout o; jv held; } collector;

static int collect_out(jq *q, jout *self, jv v, jpath *p) {
    collector *c = (collector *)self;
    (void)p;
    c->held = jv_push(&q->C, c->held, v);
    return RUN_ON;
}

OUTLINE static jv eval1_object(jq *q, jnode *n, jenv *e, jv in) {
    jv made = jv_object(&q->C);
    for (jnode *pair = n->a; pair; pair = pair->next) {
        jv key = pair->a->kind == N_LITERAL ? jv_copy(pair->a->value) : jq_eval1(q, pair->a, e, jv_copy(in)), v;
        if (key.kind != J_STRING) {
            if (key.kind != J_INVALID) { jq_errorf(q, "Object keys must be strings"); jv_drop(&q->C, key); }
            goto failed;
        }
        v = jq_eval1(q, pair->b, e, jv_copy(in));
        if (v.kind == J_INVALID) { jv_drop(&q->C, key); goto failed; }
        made = jv_set(&q->C, made, key.s, v);
        jv_drop(&q->C, key);
    }
    jv_drop(&q->C, in);
    return made;
failed:
    jv_drop(&q->C, in);
    jv_drop(&q->C, made);
    return jv_of(J_INVALID);
}

OUTLINE static jv eval1_string(jq *q, jnode *n, jenv *e, jv in) {
    buffer b = {.t = q->t};
    for (jnode *part = n->a; part; part = part->next) {
        jv v = jq_eval1(q, part, e, jv_copy(in));
        if (v.kind == J_INVALID) { buffer_free(&b); jv_drop(&q->C, in); return v; }
        buffer_add(&b, v.s->text, v.s->n);
        jv_drop(&q->C, v);
    }
    jv_drop(&q->C, in);
    jv s = jv_text(&q->C, b.p ? b.p : "", b.n);
    buffer_free(&b);
    return s;
}

OUTLINE static jv eval1_array(jq *q, jnode *n, jenv *e, jv in) {
    jctx *C = &q->C;
    collector c = {.o = {collect_out}, .held = jv_array(C, 0)};
    if (!n->a) { jv_drop(C, in); return c.held; }
    int run = jq_eval(q, n->a, e, in, NULL, &c.o);
    if (run == RUN_ON) return c.held;
    jv_drop(C, c.held);
    if (run == RUN_BREAK) { jv m = jv_object(C); jq_error(q, jv_put(C, m, "__jq", jv_num(q->breaking))); }
    return jv_of(J_INVALID);
}

OUTLINE static jv eval1_function(jq *q, jnode *n, jenv *e, jv in) {
    jv args[8];
    for (int i = n->count - 1; i >= 0; i--) {
        args[i] = jq_eval1(q, n->args[i], e, jv_copy(in));
        if (args[i].kind != J_INVALID) continue;
        for (int j = i + 1; j < n->count; j++) jv_drop(&q->C, args[j]);
        jv_drop(&q->C, in);
        return jv_of(J_INVALID);
    }
    return n->fn(q, in, args);
}

/* The value of a single expression. Takes over in; J_INVALID after an error. */
jv jq_eval1(jq *q, jnode *n, jenv *e, jv in) {
    jctx *C = &q->C;
    jv a, b;
    if (tool_too_deep(q->t)) { jv_drop(C, in); return jq_error(q, jv_cstr(C, "expression nests too deep")); }
    for (;;) switch (n->kind) {
    case N_IDENTITY: return in;
    case N_LITERAL: jv_drop(C, in); return jv_copy(n->value);
    case N_VARIABLE: jv_drop(C, in); return jv_copy(jq_env_up(e, n->index)->value);
    case N_PIPE:
        in = jq_eval1(q, n->a, e, in);
        if (in.kind == J_INVALID) return in;
        n = n->b;
        continue;
    case N_INDEX:
        if (n->b->kind == N_LITERAL) {
            a = n->a->kind == N_IDENTITY ? in : jq_eval1(q, n->a, e, in);
            if (a.kind == J_INVALID) return a;
            return jq_index(q, a, jv_copy(n->b->value));
        }
        b = jq_eval1(q, n->b, e, jv_copy(in));
        if (b.kind == J_INVALID) { jv_drop(C, in); return b; }
        a = jq_eval1(q, n->a, e, in);
        if (a.kind == J_INVALID) { jv_drop(C, b); return a; }
        return jq_index(q, a, b);
    case N_SLICE: {
        jv to = n->c ? jq_eval1(q, n->c, e, jv_copy(in)) : jv_null(), from = jv_null();
        if (to.kind != J_INVALID && n->b) from = jq_eval1(q, n->b, e, jv_copy(in));
        if (to.kind == J_INVALID || from.kind == J_INVALID) { jv_drop(C, in); jv_drop(C, to); return jv_of(J_INVALID); }
        a = jq_eval1(q, n->a, e, in);
        if (a.kind == J_INVALID) { jv_drop(C, from); jv_drop(C, to); return a; }
        return jq_index(q, a, jq_slice_key(q, from, to));
    }
    case N_BINARY:
        b = jq_eval1(q, n->b, e, jv_copy(in));
        if (b.kind == J_INVALID) { jv_drop(C, in); return b; }
        a = jq_eval1(q, n->a, e, in);
        if (a.kind == J_INVALID) { jv_drop(C, b); return a; }
        return jq_arith(q, n->op, a, b);
    case N_COMPARE: {
        b = jq_eval1(q, n->b, e, jv_copy(in));
        if (b.kind == J_INVALID) { jv_drop(C, in); return b; }
        a = jq_eval1(q, n->a, e, in);
        if (a.kind == J_INVALID) { jv_drop(C, b); return a; }
        int yes;
        if (n->op == '=' || n->op == '!') yes = jv_equal(C, a, b) == (n->op == '=');
        else {
            int order = jv_compare(C, a, b);
            yes = n->op == '<' ? order < 0 : n->op == '>' ? order > 0 : n->op == 'l' ? order <= 0 : order >= 0;
        }
        jv_drop(C, a);
        jv_drop(C, b);
        return jv_bool(yes);
    }
    case N_AND: case N_OR: {
        a = jq_eval1(q, n->a, e, jv_copy(in));
        if (a.kind == J_INVALID) { jv_drop(C, in); return a; }
        int yes = jv_true(a);
        jv_drop(C, a);
        if (n->kind == N_AND ? !yes : yes) { jv_drop(C, in); return jv_bool(yes); }
        b = jq_eval1(q, n->b, e, in);
        if (b.kind == J_INVALID) return b;
        yes = jv_true(b);
        jv_drop(C, b);
        return jv_bool(yes);
    }
    case N_NEGATE:
        a = jq_eval1(q, n->a, e, in);
        if (a.kind == J_INVALID) return a;
        if (!jv_is_number(a)) {
            jv text = jq_error_text(q, a);
            jq_errorf(q, "%s (%s) cannot be negated", jv_kind_name(a), text.s->text);
            jv_drop(C, text);
            jv_drop(C, a);
            return jv_of(J_INVALID);
        }
        { double d = -jv_number(a); jv_drop(C, a); return jv_num(d); }
    case N_IF: {
        a = jq_eval1(q, n->a, e, jv_copy(in));
        if (a.kind == J_INVALID) { jv_drop(C, in); return a; }
        int yes = jv_true(a);
        jv_drop(C, a);
        n = yes ? n->b : n->c;
        if (!n) return in;
        continue;
    }
    case N_ARRAY: return eval1_array(q, n, e, in);
    case N_OBJECT: return eval1_object(q, n, e, in);
    case N_STRING: return eval1_string(q, n, e, in);
    case N_FORMAT:
        a = jq_eval1(q, n->a, e, in);
        return a.kind == J_INVALID ? a : jq_format(q, n->value.s->text, a);
    case N_FUNCTION: return eval1_function(q, n, e, in);
    default: jv_drop(C, in); return jq_error(q, jv_cstr(C, "internal error"));
    }
}
