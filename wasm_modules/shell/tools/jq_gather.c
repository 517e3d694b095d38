/* jq_gather.c - built-in functions that look at a whole container: map, sort_by and its like, walk, to_entries, any and all. */
#include "jq_call.h"
#include <math.h>
#include <string.h>

static int push_out(jq *q, jout *self, jv v, jpath *p) {
    call_out *c = (call_out *)self;
    (void)p;
    c->held = jv_push(&q->C, c->held, v);
    return RUN_ON;
}

/* The results of expression n on in, as an array. */
jv jqc_collect(jq *q, jnode *n, jenv *e, jv in, int *run) {
    call_out c = {.o = {push_out}, .held = jv_array(&q->C, 0)};
    *run = RUN_ON;
    if (n->single) {
        jv v = jq_eval1(q, n, e, in);
        if (v.kind == J_INVALID) *run = RUN_ERROR; else return jv_push(&q->C, c.held, v);
    } else *run = jq_eval(q, n, e, in, NULL, &c.o);
    if (*run == RUN_ON) return c.held;
    jv_drop(&q->C, c.held);
    return jv_of(J_INVALID);
}

int jqc_map(jq *q, jnode *n, jenv *e, jv in, jout *k) {
    uint32_t count = in.kind == J_ARRAY ? in.a->n : in.kind == J_OBJECT ? in.o->n : 0;
    if (in.kind < J_ARRAY) { jq_not_iterable(q, in); return RUN_ERROR; }
    call_out c = {.o = {push_out}, .held = jv_array(&q->C, count)};
    int run = RUN_ON;
    for (uint32_t i = 0; i < count && run == RUN_ON; i++) {
        jv item = jv_copy(in.kind == J_ARRAY ? in.a->at[i] : in.o->at[i].value);
        if (n->single) {
            jv v = jq_eval1(q, n, e, item);
            if (v.kind == J_INVALID) run = RUN_ERROR; else c.held = jv_push(&q->C, c.held, v);
        } else run = jq_eval(q, n, e, item, NULL, &c.o);
    }
    jv_drop(&q->C, in);
    if (run == RUN_ON) return k->fn(q, k, c.held, NULL);
    jv_drop(&q->C, c.held);
    return run;
}

static int any_out(jq *q, jout *self, jv v, jpath *p) {
    call_out *c = (call_out *)self;
    (void)p;
    int yes = jv_true(v);
    jv_drop(&q->C, v);
    if (yes != c->flag) return RUN_ON;
    c->count = 1;
    q->breaking = c->id;
    return RUN_BREAK;
}

/* Whether some result of n is true (the first one decides nothing more is needed). */
int jqc_true_of(jq *q, jnode *n, jenv *e, jv in, int *run) {
    *run = RUN_ON;
    if (n->single) {
        jv v = jq_eval1(q, n, e, in);
        if (v.kind == J_INVALID) { *run = RUN_ERROR; return 0; }
        int yes = jv_true(v);
        jv_drop(&q->C, v);
        return yes;
    }
    call_out c = {.o = {any_out}, .flag = 1, .id = ++q->labels};
    *run = jq_eval(q, n, e, in, NULL, &c.o);
    if (*run == RUN_BREAK && q->breaking == c.id) *run = RUN_ON;
    return c.count > 0;
}

/* [[f], item] for every element: what sort_by and its like order by. */
static jv keyed(jq *q, jnode *f, jenv *e, jv in, int *run) {
    jv pairs = jv_array(&q->C, in.a->n);
    for (uint32_t i = 0; i < in.a->n; i++) {
        jv key = jqc_collect(q, f, e, jv_copy(in.a->at[i]), run);
        if (*run != RUN_ON) { jv_drop(&q->C, pairs); return jv_of(J_INVALID); }
        jv pair = jv_array(&q->C, 2);
        pair = jv_push(&q->C, pair, key);
        pairs = jv_push(&q->C, pairs, jv_push(&q->C, pair, jv_copy(in.a->at[i])));
    }
    return pairs;
}

static void sort_pairs(jq *q, jv *at, jv *scratch, uint32_t n) {
    if (n < 2) return;
    uint32_t half = n / 2, i = 0, j = half, m = 0;
    sort_pairs(q, at, scratch, half);
    sort_pairs(q, at + half, scratch, n - half);
    memcpy(scratch, at, half * sizeof *at);
    while (i < half && j < n) at[m++] = jv_compare(&q->C, scratch[i].a->at[0], at[j].a->at[0]) <= 0 ? scratch[i++] : at[j++];
    while (i < half) at[m++] = scratch[i++];
}

int jqc_order_by(jq *q, jnode *n, jenv *e, jv in, jout *k) {
    jctx *C = &q->C;
    int run = RUN_ON;
    if (in.kind < J_ARRAY) { jq_not_iterable(q, in); return RUN_ERROR; }
    if (in.kind == J_OBJECT) {
        jv keys = jv_array(C, in.o->n);
        for (uint32_t i = 0; i < in.o->n; i++) {
            jv key = jqc_collect(q, n->args[0], e, jv_copy(in.o->at[i].value), &run);
            if (run != RUN_ON) { jv_drop(C, keys); jv_drop(C, in); return run; }
            keys = jv_push(C, keys, key);
        }
        int least = n->op == F_MIN_BY || n->op == F_MAX_BY;
        jq_refuse_two(q, in, keys, least ? "cannot be iterated over" : "cannot be sorted, as they are not both arrays");
        return RUN_ERROR;
    }
    jv pairs = keyed(q, n->args[0], e, in, &run);
    jv_drop(C, in);
    if (run != RUN_ON) return run;
    jv made;
    uint32_t count = pairs.a->n;
    jv *at = pairs.a->at;
    if (n->op == F_MIN_BY || n->op == F_MAX_BY) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < count; i++) {
            int order = jv_compare(C, at[i].a->at[0], at[best].a->at[0]);
            if (n->op == F_MIN_BY ? order < 0 : order >= 0) best = i;
        }
        made = count ? jv_copy(at[best].a->at[1]) : jv_null();
    } else {
        jv *scratch = tool_alloc(q->t, ((size_t)count / 2 + 1) * sizeof *scratch);
        sort_pairs(q, at, scratch, count);
        tool_free(q->t, scratch);
        made = jv_array(C, count);
        for (uint32_t i = 0; i < count; i++) {
            int same = i && jv_equal(C, at[i - 1].a->at[0], at[i].a->at[0]);
            jv item = jv_copy(at[i].a->at[1]);
            if (n->op == F_SORT_BY) made = jv_push(C, made, item);
            else if (n->op == F_UNIQUE_BY) { if (same) jv_drop(C, item); else made = jv_push(C, made, item); }
            else if (same) { jv group = made.a->at[made.a->n - 1]; made.a->at[made.a->n - 1] = jv_push(C, group, item); }
            else made = jv_push(C, made, jv_push(C, jv_array(C, 1), item));
        }
    }
    jv_drop(C, pairs);
    return k->fn(q, k, made, NULL);
}

/* jqc_walk(f): children first, then f on what they became. */
jv jqc_walk(jq *q, jnode *f, jenv *e, jv v, int *run) {
    jctx *C = &q->C;
    if (tool_too_deep(q->t)) { jv_drop(C, v); *run = jq_raise(q, jv_cstr(C, "recursion too deep")); return jv_of(J_INVALID); }
    if (v.kind == J_ARRAY) {
        jv made = jv_array(C, v.a->n);
        for (uint32_t i = 0; i < v.a->n; i++) {
            jv all = jqc_walk(q, f, e, jv_copy(v.a->at[i]), run);
            if (*run != RUN_ON) { jv_drop(C, made); jv_drop(C, v); return jv_of(J_INVALID); }
            made = jv_concat(C, made, all);
        }
        jv_drop(C, v);
        v = made;
    } else if (v.kind == J_OBJECT) {
        jv made = jv_object(C);
        for (uint32_t i = 0; i < v.o->n; i++) {
            jv all = jqc_walk(q, f, e, jv_copy(v.o->at[i].value), run);
            if (*run != RUN_ON) { jv_drop(C, made); jv_drop(C, v); return jv_of(J_INVALID); }
            if (all.a->n) made = jv_set(C, made, v.o->at[i].key, jv_copy(all.a->at[0]));
            jv_drop(C, all);
        }
        jv_drop(C, v);
        v = made;
    }
    return jqc_collect(q, f, e, v, run);
}

/* to_entries: of objects, and of arrays by index. */
int jqc_entries(jq *q, jv in, jout *k) {
    jctx *C = &q->C;
    if (in.kind < J_ARRAY) {
        jv text = jq_error_text(q, in);
        jq_errorf(q, "%s (%s) has no keys", jv_kind_name(in), text.s->text);
        jv_drop(C, text);
        jv_drop(C, in);
        return RUN_ERROR;
    }
    uint32_t count = in.kind == J_ARRAY ? in.a->n : in.o->n;
    jv made = jv_array(C, count), key_name = jv_cstr(C, "key"), value_name = jv_cstr(C, "value");
    for (uint32_t i = 0; i < count; i++) {
        jv key = jv_num(i), e = jv_object(C);
        if (in.kind == J_OBJECT) { key = jv_of(J_STRING); key.s = in.o->at[i].key; }
        e = jv_set(C, e, key_name.s, jv_copy(key));
        e = jv_set(C, e, value_name.s, jv_copy(in.kind == J_ARRAY ? in.a->at[i] : in.o->at[i].value));
        made = jv_push(C, made, e);
    }
    jv_drop(C, key_name);
    jv_drop(C, value_name);
    jv_drop(C, in);
    return k->fn(q, k, made, NULL);
}

typedef struct { jout o; jnode *test; jenv *e; int want, id, found; } any_cont;

static int any_item_out(jq *q, jout *self, jv v, jpath *p) {
    any_cont *c = (any_cont *)self;
    (void)p;
    int run = RUN_ON, hit = 0;
    if (c->test->single) {
        int yes = jqc_true_of(q, c->test, c->e, v, &run);
        hit = run == RUN_ON && yes == c->want;
    } else {
        call_out inner = {.o = {any_out}, .flag = c->want, .id = ++q->labels};
        run = jq_eval(q, c->test, c->e, v, NULL, &inner.o);
        if (run == RUN_BREAK && q->breaking == inner.id) run = RUN_ON;
        hit = inner.count > 0;
    }
    if (run != RUN_ON || !hit) return run;
    c->found = 1;
    q->breaking = c->id;
    return RUN_BREAK;
}

int jqc_any_all(jq *q, jnode *n, jenv *e, jv in, jout *k) {
    int want = n->op == F_ANY2;
    any_cont c = {{any_item_out}, n->args[1], e, want, ++q->labels, 0};
    int run = jq_eval(q, n->args[0], e, in, NULL, &c.o);
    if (run == RUN_BREAK && q->breaking == c.id) run = RUN_ON;
    return run == RUN_ON ? k->fn(q, k, jv_bool(c.found ? want : !want), NULL) : run;
}
