/* jq_call.c - built-in functions whose arguments are expressions, evaluated as often as needed, some of them as paths. */
#include "jq_call.h"
#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    int arity;
} table[] = {{"empty", 0}, {"error", 0}, {"select", 1}, {"map", 1}, {"range", 1}, {"range", 2}, {"range", 3}, {"limit", 2},
    {"first", 1}, {"last", 1}, {"until", 2}, {"while", 2}, {"repeat", 1}, {"recurse", 1}, {"recurse", 2}, {"path", 1},
    {"paths", 0}, {"del", 1}, {"any", 2}, {"all", 2}, {"isempty", 1}, {"sort_by", 1}, {"group_by", 1}, {"unique_by", 1},
    {"min_by", 1}, {"max_by", 1}, {"input", 0}, {"inputs", 0}, {"getpath", 1}, {"pick", 1}, {"walk", 1}, {"add", 1}, {"debug", 1},
    {"to_entries", 0}};

int jq_special_named(const char *name, int arity) {
    for (int i = 0; i < F_COUNT; i++) if (table[i].arity == arity && !strcmp(table[i].name, name)) return i;
    return -1;
}

static int select_out(jq *q, jout *self, jv v, jpath *p) {
    call_out *c = (call_out *)self;
    (void)p;
    int yes = jv_true(v);
    jv_drop(&q->C, v);
    return yes ? c->k->fn(q, c->k, jv_copy(c->in), c->p) : RUN_ON;
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

static int getpath_out(jq *q, jout *self, jv path, jpath *p) {
    call_out *c = (call_out *)self;
    (void)p;
    if (path.kind != J_ARRAY) { jv_drop(&q->C, path); return jq_raise(q, jv_cstr(&q->C, "Path must be specified as an array")); }
    jv v = jq_getpath(q, jv_copy(c->in), path);
    int run = v.kind == J_INVALID ? RUN_ERROR : c->p ? jqc_with_path(q, v, path, 0, c->p, c->k) : c->k->fn(q, c->k, v, NULL);
    jv_drop(&q->C, path);
    return run;
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
    jv text = jq_path_error_text(q, v);
    jq_errorf(q, "Invalid path expression with result %s", text.s->text);
    jv_drop(&q->C, text);
    jv_drop(&q->C, v);
    return RUN_ERROR;
}

int jq_eval_special(jq *q, jnode *n, jenv *e, jv in, jpath *p, jout *k) {
    call_out c = {.n = n, .e = e, .in = in, .p = p, .k = k, .held = jv_null()};
    jout refuse = {reject_path};
    int run, more;
    if (p && n->op != F_EMPTY && n->op != F_ERROR0 && n->op != F_SELECT && n->op != F_LIMIT && n->op != F_FIRST && n->op != F_LAST
        && n->op != F_RECURSE1 && n->op != F_RECURSE2 && n->op != F_GETPATH)
        k = c.k = &refuse;
    switch (n->op) {
    case F_EMPTY: jv_drop(&q->C, in); return RUN_ON;
    case F_ERROR0: return jq_raise(q, in);
    case F_SELECT:
        if (n->args[0]->single) {
            int yes = jqc_true_of(q, n->args[0], e, jv_copy(in), &run);
            if (run == RUN_ON && yes) return k->fn(q, k, in, p);
            jv_drop(&q->C, in);
            return run;
        }
        c.o.fn = select_out;
        run = jq_eval(q, n->args[0], e, jv_copy(in), NULL, &c.o);
        break;
    case F_MAP: return jqc_map(q, n->args[0], e, in, k);
    case F_RANGE1: case F_RANGE2: case F_RANGE3:
        c.o.fn = jqc_range_out;
        run = jq_eval(q, n->args[0], e, jv_copy(in), NULL, &c.o);
        break;
    case F_LIMIT:
        c.o.fn = jqc_limit_out;
        run = jq_eval(q, n->args[0], e, jv_copy(in), NULL, &c.o);
        break;
    case F_FIRST: return jqc_limited(q, n->args[0], e, in, p, k, 1);
    case F_LAST: return jqc_last(q, n, e, in, p, k);
    case F_UNTIL: return jqc_until(q, n, e, in, k);
    case F_WHILE: case F_REPEAT: return jqc_repeat(q, n, e, in, k);
    case F_RECURSE1: case F_RECURSE2: return jqc_recurse_from(q, n, e, in, p, k);
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
    case F_ANY2: case F_ALL2: return jqc_any_all(q, n, e, in, k);
    case F_ISEMPTY:
        c.o.fn = stop_out;
        c.id = ++q->labels;
        run = jq_eval(q, n->args[0], e, in, NULL, &c.o);
        if (run == RUN_BREAK && q->breaking == c.id) run = RUN_ON;
        return run == RUN_ON ? k->fn(q, k, jv_bool(!c.flag), NULL) : run;
    case F_SORT_BY: case F_GROUP_BY: case F_UNIQUE_BY: case F_MIN_BY: case F_MAX_BY: return jqc_order_by(q, n, e, in, k);
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
        jv all = jqc_walk(q, n->args[0], e, in, &run);
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
    case F_TO_ENTRIES: return jqc_entries(q, in, k);
    default: run = jq_raise(q, jv_cstr(&q->C, "internal error"));
    }
    jv_drop(&q->C, in);
    return run;
}
