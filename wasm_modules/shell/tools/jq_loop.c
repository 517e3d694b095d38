/* jq_loop.c - built-in functions that go round: range, limit, first, last, until, while, repeat, recurse. */
#include "jq_call.h"
#include <math.h>
#include <string.h>

static int emit_range(jq *q, double from, double to, double by, jout *k) {
    int run = RUN_ON;
    if (by > 0) for (double i = from; i < to && run == RUN_ON; i += by) run = k->fn(q, k, jv_num(i), NULL);
    else if (by < 0) for (double i = from; i > to && run == RUN_ON; i += by) run = k->fn(q, k, jv_num(i), NULL);
    return run;
}

int jqc_range_out(jq *q, jout *self, jv v, jpath *p) {
    call_out *c = (call_out *)self, inner = *c;
    (void)p;
    if (!jv_is_number(v)) { jv_drop(&q->C, v); return jq_raise(q, jv_cstr(&q->C, "Range bounds must be numeric")); }
    double x = jv_number(v);
    jv_drop(&q->C, v);
    if (c->n->count == 1) return emit_range(q, 0, x, 1, c->k);
    inner.flag++;
    jv bounds = c->held.kind == J_ARRAY ? jv_copy(c->held) : jv_array(&q->C, 3);
    bounds = jv_push(&q->C, bounds, jv_num(x));
    int run;
    if (inner.flag < c->n->count) {
        inner.held = bounds;
        run = jq_eval(q, c->n->args[inner.flag], c->e, jv_copy(c->in), NULL, &inner.o);
    } else run = emit_range(q, bounds.a->at[0].n, bounds.a->at[1].n, c->n->count == 3 ? bounds.a->at[2].n : 1, c->k);
    jv_drop(&q->C, bounds);
    return run;
}

static int limit_item_out(jq *q, jout *self, jv v, jpath *p) {
    call_out *c = (call_out *)self;
    c->count--;
    int run = c->k->fn(q, c->k, v, p);
    if (run != RUN_ON || c->count > 0) return run;
    q->breaking = c->id;
    return RUN_BREAK;
}

int jqc_limited(jq *q, jnode *f, jenv *e, jv in, jpath *p, jout *k, double count) {
    call_out c = {.o = {limit_item_out}, .k = k, .count = count, .id = ++q->labels};
    int run = jq_eval(q, f, e, in, p, &c.o);
    return run == RUN_BREAK && q->breaking == c.id ? RUN_ON : run;
}

int jqc_limit_out(jq *q, jout *self, jv v, jpath *p) {
    call_out *c = (call_out *)self;
    (void)p;
    int below = v.kind == J_NULL || v.kind == J_FALSE || v.kind == J_TRUE;    /* in the order of values, less than any number */
    if (!below && !jv_is_number(v)) { jq_refuse_two(q, v, jv_num(1), "cannot be subtracted"); return RUN_ERROR; }
    double n = below ? -1 : jv_number(v);
    jv_drop(&q->C, v);
    if (n <= 0) return n < 0 ? jq_eval(q, c->n->args[1], c->e, jv_copy(c->in), c->p, c->k) : RUN_ON;
    return jqc_limited(q, c->n->args[1], c->e, jv_copy(c->in), c->p, c->k, n);
}

/* jqc_last(f): keeps the latest, null when there is none; in path mode also where it was. */
static int last_out(jq *q, jout *self, jv v, jpath *p) {
    call_out *c = (call_out *)self;
    jv_drop(&q->C, c->held);
    c->held = v;
    if (c->p) { jv_drop(&q->C, c->in); c->in = jq_path_array(q, p); }
    c->flag = 1;
    return RUN_ON;
}

/* Calls k with v at the path given as an array below p. */
int jqc_with_path(jq *q, jv v, jv path, uint32_t at, jpath *p, jout *k) {
    if (at == path.a->n) return k->fn(q, k, v, p);
    jpath here = {p, path.a->at[at]};
    return jqc_with_path(q, v, path, at + 1, &here, k);
}

int jqc_last(jq *q, jnode *n, jenv *e, jv in, jpath *p, jout *k) {
    jpath root = {NULL, jv_null()};
    call_out c = {.o = {last_out}, .held = jv_null(), .in = jv_null(), .p = p};
    int run = jq_eval(q, n->args[0], e, in, p ? &root : NULL, &c.o);
    if (run == RUN_ON && (c.flag || !p)) run = p ? jqc_with_path(q, c.held, c.in, 0, p, k) : k->fn(q, k, c.held, NULL);
    else jv_drop(&q->C, c.held);
    jv_drop(&q->C, c.in);
    return run;
}

int jqc_until(jq *q, jnode *n, jenv *e, jv in, jout *k) {
    for (;;) {
        int run, done = jqc_true_of(q, n->args[0], e, jv_copy(in), &run);
        if (run != RUN_ON) { jv_drop(&q->C, in); return run; }
        if (done) return k->fn(q, k, in, NULL);
        if (!n->args[1]->single) {
            jv all = jqc_collect(q, n->args[1], e, in, &run);
            if (run != RUN_ON) return run;
            for (uint32_t i = 0; i + 1 < all.a->n && run == RUN_ON; i++) run = jqc_until(q, n, e, jv_copy(all.a->at[i]), k);
            if (run != RUN_ON || !all.a->n) { jv_drop(&q->C, all); return run; }
            in = jv_copy(all.a->at[all.a->n - 1]);
            jv_drop(&q->C, all);
            continue;
        }
        in = jq_eval1(q, n->args[1], e, in);
        if (in.kind == J_INVALID) return RUN_ERROR;
    }
}

/* while(cond; f) and jqc_repeat(f): one result after another; loops when f is single. */
static int repeat_out(jq *q, jout *self, jv v, jpath *p) {
    call_out *c = (call_out *)self;
    (void)p;
    return jqc_repeat(q, c->n, c->e, v, c->k);
}

int jqc_repeat(jq *q, jnode *n, jenv *e, jv in, jout *k) {
    jnode *f = n->args[n->count - 1];
    if (tool_too_deep(q->t)) { jv_drop(&q->C, in); return jq_raise(q, jv_cstr(&q->C, "recursion too deep")); }
    for (;;) {
        int run = RUN_ON;
        if (n->count == 2) {
            int yes = jqc_true_of(q, n->args[0], e, jv_copy(in), &run);
            if (run != RUN_ON || !yes) { jv_drop(&q->C, in); return run; }
        }
        if (n->op == F_REPEAT) {
            run = jq_eval(q, f, e, jv_copy(in), NULL, k);
            if (run == RUN_ON) continue;
            jv_drop(&q->C, in);
            return run;
        }
        run = k->fn(q, k, jv_copy(in), NULL);
        if (run != RUN_ON) { jv_drop(&q->C, in); return run; }
        if (!f->single) {
            call_out c = {.o = {repeat_out}, .n = n, .e = e, .k = k};
            return jq_eval(q, f, e, in, NULL, &c.o);
        }
        in = jq_eval1(q, f, e, in);
        if (in.kind == J_INVALID) return RUN_ERROR;
    }
}

/* recurse(f), recurse(f; cond), also as a path. */
static int recurse_out(jq *q, jout *self, jv v, jpath *p) {
    call_out *c = (call_out *)self;
    if (c->n->count == 2) {
        int run, yes = jqc_true_of(q, c->n->args[1], c->e, jv_copy(v), &run);
        if (run != RUN_ON || !yes) { jv_drop(&q->C, v); return run; }
    }
    return jqc_recurse_from(q, c->n, c->e, v, p, c->k);
}

int jqc_recurse_from(jq *q, jnode *n, jenv *e, jv v, jpath *p, jout *k) {
    if (tool_too_deep(q->t)) { jv_drop(&q->C, v); return jq_raise(q, jv_cstr(&q->C, "recursion too deep")); }
    int run = k->fn(q, k, jv_copy(v), p);
    if (run != RUN_ON) { jv_drop(&q->C, v); return run; }
    if (n->args[0]->single && !p && n->count == 1) {
        for (;;) {
            v = jq_eval1(q, n->args[0], e, v);
            if (v.kind == J_INVALID) return RUN_ERROR;
            run = k->fn(q, k, jv_copy(v), NULL);
            if (run != RUN_ON) { jv_drop(&q->C, v); return run; }
        }
    }
    call_out c = {.o = {recurse_out}, .n = n, .e = e, .k = k};
    return jq_eval(q, n->args[0], e, v, p, &c.o);
}
