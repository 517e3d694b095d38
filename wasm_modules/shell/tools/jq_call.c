/* jq_call.c - built-in functions whose arguments are expressions: evaluated as often as needed, some of them as paths. */
#include "jq.h"
#include <math.h>
#include <string.h>

enum { F_EMPTY, F_ERROR0, F_SELECT, F_MAP, F_RANGE1, F_RANGE2, F_RANGE3, F_LIMIT, F_FIRST, F_LAST, F_UNTIL, F_WHILE, F_REPEAT, F_RECURSE1, F_RECURSE2, F_PATH, F_PATHS, F_DEL, F_ANY2, F_ALL2,
    F_ISEMPTY, F_SORT_BY, F_GROUP_BY, F_UNIQUE_BY, F_MIN_BY, F_MAX_BY, F_INPUT, F_INPUTS, F_GETPATH, F_PICK, F_WALK, F_ADD1, F_DEBUG1, F_TO_ENTRIES, F_COUNT };
static const struct { const char *name; int arity; } table[] = {{"empty", 0}, {"error", 0}, {"select", 1}, {"map", 1}, {"range", 1}, {"range", 2}, {"range", 3}, {"limit", 2}, {"first", 1}, {"last", 1},
    {"until", 2}, {"while", 2}, {"repeat", 1}, {"recurse", 1}, {"recurse", 2}, {"path", 1}, {"paths", 0}, {"del", 1}, {"any", 2}, {"all", 2}, {"isempty", 1}, {"sort_by", 1}, {"group_by", 1},
    {"unique_by", 1}, {"min_by", 1}, {"max_by", 1}, {"input", 0}, {"inputs", 0}, {"getpath", 1}, {"pick", 1}, {"walk", 1}, {"add", 1}, {"debug", 1}, {"to_entries", 0}};

int jq_special_named(const char *name, int arity) {
    for (int i = 0; i < F_COUNT; i++) if (table[i].arity == arity && !strcmp(table[i].name, name)) return i;
    return -1;
}

typedef struct { jout o; jnode *n; jenv *e; jv in, held; jpath *p; jout *k; double count; int id, flag; } call_out;

static int select_out(jq *q, jout *self, jv v, jpath *p) {
    call_out *c = (call_out *)self;
    (void)p;
    int yes = jv_true(v);
    jv_drop(&q->C, v);
    return yes ? c->k->fn(q, c->k, jv_copy(c->in), c->p) : RUN_ON;
}

static int push_out(jq *q, jout *self, jv v, jpath *p) {
    call_out *c = (call_out *)self;
    (void)p;
    c->held = jv_push(&q->C, c->held, v);
    return RUN_ON;
}

/* The results of expression n on in, as an array. */
static jv collect(jq *q, jnode *n, jenv *e, jv in, int *run) {
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

static int map(jq *q, jnode *n, jenv *e, jv in, jout *k) {
    uint32_t count = in.kind == J_ARRAY ? in.a->n : in.kind == J_OBJECT ? in.o->n : 0;
    if (in.kind < J_ARRAY) {
        jv text = jq_error_text(q, in);
        jq_errorf(q, "Cannot iterate over %s (%s)", jv_kind_name(in), text.s->text);
        jv_drop(&q->C, text);
        jv_drop(&q->C, in);
        return RUN_ERROR;
    }
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

static int emit_range(jq *q, double from, double to, double by, jout *k) {
    int run = RUN_ON;
    if (by > 0) for (double i = from; i < to && run == RUN_ON; i += by) run = k->fn(q, k, jv_num(i), NULL);
    else if (by < 0) for (double i = from; i > to && run == RUN_ON; i += by) run = k->fn(q, k, jv_num(i), NULL);
    else if (from < to) while (run == RUN_ON) run = k->fn(q, k, jv_num(from), NULL);
    return run;
}

static int range_out(jq *q, jout *self, jv v, jpath *p) {
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

static int limited(jq *q, jnode *f, jenv *e, jv in, jpath *p, jout *k, double count) {
    call_out c = {.o = {limit_item_out}, .k = k, .count = count, .id = ++q->labels};
    int run = jq_eval(q, f, e, in, p, &c.o);
    return run == RUN_BREAK && q->breaking == c.id ? RUN_ON : run;
}

static int limit_out(jq *q, jout *self, jv v, jpath *p) {
    call_out *c = (call_out *)self;
    (void)p;
    double n = jv_number(v);
    int number = jv_is_number(v);
    jv_drop(&q->C, v);
    if (!number) return jq_raise(q, jv_cstr(&q->C, "Invalid arguments to limit"));
    if (n <= 0) return n < 0 ? jq_eval(q, c->n->args[1], c->e, jv_copy(c->in), c->p, c->k) : RUN_ON;
    return limited(q, c->n->args[1], c->e, jv_copy(c->in), c->p, c->k, n);
}

/* last(f): keeps the latest; in path mode also where it was. */
static int last_out(jq *q, jout *self, jv v, jpath *p) {
    call_out *c = (call_out *)self;
    jv_drop(&q->C, c->held);
    c->held = v;
    if (c->p) { jv_drop(&q->C, c->in); c->in = jq_path_array(q, p); }
    c->flag = 1;
    return RUN_ON;
}

/* Calls k with v at the path given as an array below p. */
static int with_path(jq *q, jv v, jv path, uint32_t at, jpath *p, jout *k) {
    if (at == path.a->n) return k->fn(q, k, v, p);
    jpath here = {p, path.a->at[at]};
    return with_path(q, v, path, at + 1, &here, k);
}

static int last(jq *q, jnode *n, jenv *e, jv in, jpath *p, jout *k) {
    jpath root = {NULL, jv_null()};
    call_out c = {.o = {last_out}, .held = jv_null(), .in = jv_null(), .p = p};
    int run = jq_eval(q, n->args[0], e, in, p ? &root : NULL, &c.o);
    if (run == RUN_ON && c.flag) run = p ? with_path(q, c.held, c.in, 0, p, k) : k->fn(q, k, c.held, NULL);
    else jv_drop(&q->C, c.held);
    jv_drop(&q->C, c.in);
    return run;
}

static int true_of(jq *q, jnode *n, jenv *e, jv in, int *run);

static int until(jq *q, jnode *n, jenv *e, jv in, jout *k) {
    for (;;) {
        int run, done = true_of(q, n->args[0], e, jv_copy(in), &run);
        if (run != RUN_ON) { jv_drop(&q->C, in); return run; }
        if (done) return k->fn(q, k, in, NULL);
        if (!n->args[1]->single) {
            jv all = collect(q, n->args[1], e, in, &run);
            if (run != RUN_ON) return run;
            for (uint32_t i = 0; i + 1 < all.a->n && run == RUN_ON; i++) run = until(q, n, e, jv_copy(all.a->at[i]), k);
            if (run != RUN_ON || !all.a->n) { jv_drop(&q->C, all); return run; }
            in = jv_copy(all.a->at[all.a->n - 1]);
            jv_drop(&q->C, all);
            continue;
        }
        in = jq_eval1(q, n->args[1], e, in);
        if (in.kind == J_INVALID) return RUN_ERROR;
    }
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
static int true_of(jq *q, jnode *n, jenv *e, jv in, int *run) {
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

/* while(cond; f) and repeat(f): one result after another; loops when f is single. */
static int repeat(jq *q, jnode *n, jenv *e, jv in, jout *k);

static int repeat_out(jq *q, jout *self, jv v, jpath *p) {
    call_out *c = (call_out *)self;
    (void)p;
    return repeat(q, c->n, c->e, v, c->k);
}

static int repeat(jq *q, jnode *n, jenv *e, jv in, jout *k) {
    jnode *f = n->args[n->count - 1];
    if (tool_too_deep(q->t)) { jv_drop(&q->C, in); return jq_raise(q, jv_cstr(&q->C, "recursion too deep")); }
    for (;;) {
        int run = RUN_ON;
        if (n->count == 2) {
            int yes = true_of(q, n->args[0], e, jv_copy(in), &run);
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
static int recurse_from(jq *q, jnode *n, jenv *e, jv v, jpath *p, jout *k);

static int recurse_out(jq *q, jout *self, jv v, jpath *p) {
    call_out *c = (call_out *)self;
    if (c->n->count == 2) {
        int run, yes = true_of(q, c->n->args[1], c->e, jv_copy(v), &run);
        if (run != RUN_ON || !yes) { jv_drop(&q->C, v); return run; }
    }
    return recurse_from(q, c->n, c->e, v, p, c->k);
}

static int recurse_from(jq *q, jnode *n, jenv *e, jv v, jpath *p, jout *k) {
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

static int path_out(jq *q, jout *self, jv v, jpath *p) {
    call_out *c = (call_out *)self;
    jv_drop(&q->C, v);
    return c->k->fn(q, c->k, jq_path_array(q, p), NULL);
}

static int collect_path_out(jq *q, jout *self, jv v, jpath *p) {
    call_out *c = (call_out *)self;
    jv_drop(&q->C, v);
    c->held = jv_push(&q->C, c->held, jq_path_array(q, p));
    return RUN_ON;
}

static int delete_paths(jq *q, jnode *n, jenv *e, jv in, jout *k) {
    jpath root = {NULL, jv_null()};
    call_out c = {.o = {collect_path_out}, .held = jv_array(&q->C, 0)};
    int run = jq_eval(q, n->args[0], e, jv_copy(in), &root, &c.o);
    if (run != RUN_ON) { jv_drop(&q->C, c.held); jv_drop(&q->C, in); return run; }
    in = jq_delpaths(q, in, c.held);
    return in.kind == J_INVALID ? RUN_ERROR : k->fn(q, k, in, NULL);
}

static int pick(jq *q, jnode *n, jenv *e, jv in, jout *k) {
    jpath root = {NULL, jv_null()};
    call_out c = {.o = {collect_path_out}, .held = jv_array(&q->C, 0)};
    int run = jq_eval(q, n->args[0], e, jv_copy(in), &root, &c.o);
    jv made = jv_null();
    for (uint32_t i = 0; run == RUN_ON && i < c.held.a->n; i++) {
        jv found = jq_getpath(q, jv_copy(in), c.held.a->at[i]);
        if (found.kind == J_INVALID) { run = RUN_ERROR; break; }
        made = jq_setpath(q, made, c.held.a->at[i], 0, found);
        if (made.kind == J_INVALID) run = RUN_ERROR;
    }
    jv_drop(&q->C, c.held);
    jv_drop(&q->C, in);
    if (run == RUN_ON) return k->fn(q, k, made, NULL);
    if (made.kind != J_INVALID) jv_drop(&q->C, made);
    return run;
}

/* [[f], item] for every element: what sort_by and its like order by. */
static jv keyed(jq *q, jnode *f, jenv *e, jv in, int *run) {
    jv pairs = jv_array(&q->C, in.a->n);
    for (uint32_t i = 0; i < in.a->n; i++) {
        jv key = collect(q, f, e, jv_copy(in.a->at[i]), run);
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

static int order_by(jq *q, jnode *n, jenv *e, jv in, jout *k) {
    jctx *C = &q->C;
    if (in.kind != J_ARRAY) {
        jv text = jq_error_text(q, in);
        jq_errorf(q, n->op == F_SORT_BY || n->op == F_UNIQUE_BY ? "%s (%s) cannot be sorted, as it is not an array" : n->op == F_GROUP_BY ? "%s (%s) cannot be grouped, as it is not an array" : "Cannot iterate over %s (%s)", jv_kind_name(in), text.s->text);
        jv_drop(C, text);
        jv_drop(C, in);
        return RUN_ERROR;
    }
    int run = RUN_ON;
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

static int getpath_out(jq *q, jout *self, jv path, jpath *p) {
    call_out *c = (call_out *)self;
    (void)p;
    if (path.kind != J_ARRAY) { jv_drop(&q->C, path); return jq_raise(q, jv_cstr(&q->C, "Path must be specified as an array")); }
    jv v = jq_getpath(q, jv_copy(c->in), path);
    int run = v.kind == J_INVALID ? RUN_ERROR : c->p ? with_path(q, v, path, 0, c->p, c->k) : c->k->fn(q, c->k, v, NULL);
    jv_drop(&q->C, path);
    return run;
}

/* walk(f): children first, then f on what they became. */
static jv walk(jq *q, jnode *f, jenv *e, jv v, int *run) {
    jctx *C = &q->C;
    if (tool_too_deep(q->t)) { jv_drop(C, v); *run = jq_raise(q, jv_cstr(C, "recursion too deep")); return jv_of(J_INVALID); }
    if (v.kind == J_ARRAY) {
        jv made = jv_array(C, v.a->n);
        for (uint32_t i = 0; i < v.a->n; i++) {
            jv all = walk(q, f, e, jv_copy(v.a->at[i]), run);
            if (*run != RUN_ON) { jv_drop(C, made); jv_drop(C, v); return jv_of(J_INVALID); }
            made = jv_concat(C, made, all);
        }
        jv_drop(C, v);
        v = made;
    } else if (v.kind == J_OBJECT) {
        jv made = jv_object(C);
        for (uint32_t i = 0; i < v.o->n; i++) {
            jv all = walk(q, f, e, jv_copy(v.o->at[i].value), run);
            if (*run != RUN_ON) { jv_drop(C, made); jv_drop(C, v); return jv_of(J_INVALID); }
            if (all.a->n) made = jv_set(C, made, v.o->at[i].key, jv_copy(all.a->at[0]));
            jv_drop(C, all);
        }
        jv_drop(C, v);
        v = made;
    }
    return collect(q, f, e, v, run);
}

static int add_out(jq *q, jout *self, jv v, jpath *p) {
    call_out *c = (call_out *)self;
    (void)p;
    jv sum = c->held;
    c->held = jv_null();
    sum = jq_arith(q, '+', sum, v);
    if (sum.kind == J_INVALID) return RUN_ERROR;
    c->held = sum;
    return RUN_ON;
}

static int debug_out(jq *q, jout *self, jv v, jpath *p) {
    (void)self; (void)p;
    jv text = json_text(&q->C, v);
    io_printf(q->t->err, "[\"DEBUG:\",%s]\n", text.s->text);
    jv_drop(&q->C, text);
    jv_drop(&q->C, v);
    return RUN_ON;
}

/* to_entries: of objects, and of arrays by index. */
static int entries(jq *q, jv in, jout *k) {
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

static int any_all(jq *q, jnode *n, jenv *e, jv in, jout *k);

typedef struct { jout o; jnode *test; jenv *e; int want, id, found; } any_cont;

static int any_item_out(jq *q, jout *self, jv v, jpath *p) {
    any_cont *c = (any_cont *)self;
    (void)p;
    int run = RUN_ON, hit = 0;
    if (c->test->single) {
        int yes = true_of(q, c->test, c->e, v, &run);
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

static int any_all(jq *q, jnode *n, jenv *e, jv in, jout *k) {
    int want = n->op == F_ANY2;
    any_cont c = {{any_item_out}, n->args[1], e, want, ++q->labels, 0};
    int run = jq_eval(q, n->args[0], e, in, NULL, &c.o);
    if (run == RUN_BREAK && q->breaking == c.id) run = RUN_ON;
    return run == RUN_ON ? k->fn(q, k, jv_bool(c.found ? want : !want), NULL) : run;
}

static int stop_out(jq *q, jout *self, jv v, jpath *p) {
    call_out *c = (call_out *)self;
    (void)p;
    jv_drop(&q->C, v);
    c->flag = 1;
    q->breaking = c->id;
    return RUN_BREAK;
}

static int inputs(jq *q, jout *k) {
    for (;;) {
        int more;
        jv v = jq_input(q, &more);
        if (v.kind == J_INVALID) return more ? RUN_ERROR : RUN_ON;
        int run = k->fn(q, k, v, NULL);
        if (run != RUN_ON) return run;
    }
}

static int reject_path(jq *q, jout *self, jv v, jpath *p) {
    (void)self; (void)p;
    jv text = jq_error_text(q, v);
    jq_errorf(q, "Invalid path expression with result %s", text.s->text);
    jv_drop(&q->C, text);
    jv_drop(&q->C, v);
    return RUN_ERROR;
}

int jq_eval_special(jq *q, jnode *n, jenv *e, jv in, jpath *p, jout *k) {
    call_out c = {.n = n, .e = e, .in = in, .p = p, .k = k, .held = jv_null()};
    jout refuse = {reject_path};
    int run, more;
    if (p && n->op != F_EMPTY && n->op != F_ERROR0 && n->op != F_SELECT && n->op != F_LIMIT && n->op != F_FIRST && n->op != F_LAST && n->op != F_RECURSE1 && n->op != F_RECURSE2 && n->op != F_GETPATH) k = c.k = &refuse;
    switch (n->op) {
    case F_EMPTY: jv_drop(&q->C, in); return RUN_ON;
    case F_ERROR0: return jq_raise(q, in);
    case F_SELECT:
        if (n->args[0]->single) {
            int yes = true_of(q, n->args[0], e, jv_copy(in), &run);
            if (run == RUN_ON && yes) return k->fn(q, k, in, p);
            jv_drop(&q->C, in);
            return run;
        }
        c.o.fn = select_out;
        run = jq_eval(q, n->args[0], e, jv_copy(in), NULL, &c.o);
        break;
    case F_MAP: return map(q, n->args[0], e, in, k);
    case F_RANGE1: case F_RANGE2: case F_RANGE3:
        c.o.fn = range_out;
        run = jq_eval(q, n->args[0], e, jv_copy(in), NULL, &c.o);
        break;
    case F_LIMIT:
        c.o.fn = limit_out;
        run = jq_eval(q, n->args[0], e, jv_copy(in), NULL, &c.o);
        break;
    case F_FIRST: return limited(q, n->args[0], e, in, p, k, 1);
    case F_LAST: return last(q, n, e, in, p, k);
    case F_UNTIL: return until(q, n, e, in, k);
    case F_WHILE: case F_REPEAT: return repeat(q, n, e, in, k);
    case F_RECURSE1: case F_RECURSE2: return recurse_from(q, n, e, in, p, k);
    case F_PATH: {
        jpath root = {NULL, jv_null()};
        c.o.fn = path_out;
        return jq_eval(q, n->args[0], e, in, &root, &c.o);
    }
    case F_PATHS: {
        jpath root = {NULL, jv_null()};
        jnode all = {.kind = N_RECURSE};
        call_out list = {.o = {collect_path_out}, .held = jv_array(&q->C, 0)};
        run = jq_eval(q, &all, e, in, &root, &list.o);
        for (uint32_t i = 1; run == RUN_ON && i < list.held.a->n; i++) run = k->fn(q, k, jv_copy(list.held.a->at[i]), NULL);
        jv_drop(&q->C, list.held);
        return run;
    }
    case F_DEL: return delete_paths(q, n, e, in, k);
    case F_ANY2: case F_ALL2: return any_all(q, n, e, in, k);
    case F_ISEMPTY:
        c.o.fn = stop_out;
        c.id = ++q->labels;
        run = jq_eval(q, n->args[0], e, in, NULL, &c.o);
        if (run == RUN_BREAK && q->breaking == c.id) run = RUN_ON;
        return run == RUN_ON ? k->fn(q, k, jv_bool(!c.flag), NULL) : run;
    case F_SORT_BY: case F_GROUP_BY: case F_UNIQUE_BY: case F_MIN_BY: case F_MAX_BY: return order_by(q, n, e, in, k);
    case F_INPUT: {
        jv_drop(&q->C, in);
        jv v = jq_input(q, &more);
        if (v.kind == J_INVALID) return more ? RUN_ERROR : jq_raise(q, jv_cstr(&q->C, "break"));
        return k->fn(q, k, v, NULL);
    }
    case F_INPUTS: jv_drop(&q->C, in); return inputs(q, k);
    case F_GETPATH:
        c.o.fn = getpath_out;
        run = jq_eval(q, n->args[0], e, jv_copy(in), NULL, &c.o);
        break;
    case F_PICK: return pick(q, n, e, in, k);
    case F_WALK: {
        run = RUN_ON;
        jv all = walk(q, n->args[0], e, in, &run);
        if (run != RUN_ON) return run;
        for (uint32_t i = 0; run == RUN_ON && i < all.a->n; i++) run = k->fn(q, k, jv_copy(all.a->at[i]), NULL);
        jv_drop(&q->C, all);
        return run;
    }
    case F_ADD1:
        c.o.fn = add_out;
        run = jq_eval(q, n->args[0], e, in, NULL, &c.o);
        if (run == RUN_ON) return k->fn(q, k, c.held, NULL);
        jv_drop(&q->C, c.held);
        return run;
    case F_DEBUG1:
        c.o.fn = debug_out;
        run = jq_eval(q, n->args[0], e, jv_copy(in), NULL, &c.o);
        if (run == RUN_ON) return k->fn(q, k, in, p);
        break;
    case F_TO_ENTRIES: return entries(q, in, k);
    default: run = jq_raise(q, jv_cstr(&q->C, "internal error"));
    }
    jv_drop(&q->C, in);
    return run;
}
