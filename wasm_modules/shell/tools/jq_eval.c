/* jq_eval.c - the evaluator. See jq.h for how continuations, environments and single expressions work. */
#include "jq_eval.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>

jv jq_error(jq *q, jv message) {
    jv_drop(&q->C, q->error);
    q->error = message;
    return jv_of(J_INVALID);
}

int jq_raise(jq *q, jv message) { jq_error(q, message); return RUN_ERROR; }

jv jq_errorf(jq *q, const char *format, ...) {
    va_list args;
    buffer b = {.t = q->t};
    char text[1024];
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)b;
    return jq_error(q, jv_cstr(&q->C, text));
}

/* Environments made for calls in tail position, freed when the eval that made them returns. */
static jenv *push_env(jq *q, jenv **mine, jenv *e) {
    jenv *n = pool_alloc(&q->C.pool, sizeof *n);
    *n = (jenv){.up = e, .value = jv_null(), .owned = *mine};
    *mine = n;
    return n;
}

static void free_envs(jq *q, jenv *mine) {
    while (mine) {
        jenv *before = mine->owned;
        jv_drop(&q->C, mine->value);
        pool_free(&q->C.pool, mine, sizeof *mine);
        mine = before;
    }
}

int jqe_single_result(jq *q, jv v, jout *k) { return v.kind == J_INVALID ? RUN_ERROR : k->fn(q, k, v, NULL); }

/* One step of a path expression: the value found, and the path so far with key. */
OUTLINE static int step(jq *q, jv v, jv key, jpath *p, jout *k) {
    if (v.kind == J_INVALID) { jv_drop(&q->C, key); return RUN_ERROR; }
    if (!p) { jv_drop(&q->C, key); return k->fn(q, k, v, NULL); }
    jpath here = {p, key};
    int run = k->fn(q, k, v, &here);
    jv_drop(&q->C, key);
    return run;
}

static int pipe_out(jq *q, jout *self, jv v, jpath *p) {
    cont *c = (cont *)self;
    return jq_eval(q, c->n->b, c->e, v, p, c->k);
}

static int if_out(jq *q, jout *self, jv v, jpath *p) {
    cont *c = (cont *)self;
    (void)p;
    int yes = jv_true(v);
    jv_drop(&q->C, v);
    jnode *branch = yes ? c->n->b : c->n->c;
    return branch ? jq_eval(q, branch, c->e, jv_copy(c->in), c->p, c->k) : c->k->fn(q, c->k, jv_copy(c->in), c->p);
}

/* .[key] where target and key may be many: for every key, every target. */
typedef struct { jout o; jnode *n; jenv *e; jv in; jpath *p; jout *k; jv key; } index_cont;

/* One element of v; where the node forgives, nothing when there is none such. */
static int index_step(jq *q, const jnode *n, jv v, jv key, jpath *p, jout *k) {
    jv got = jq_index(q, v, jv_copy(key));
    if (got.kind != J_INVALID || n->op != '?') return step(q, got, key, p, k);
    jv_drop(&q->C, q->error);
    jv_drop(&q->C, key);
    q->error = jv_null();
    return RUN_ON;
}

static int index_target_out(jq *q, jout *self, jv v, jpath *p) {
    index_cont *c = (index_cont *)self;
    return index_step(q, c->n, v, jv_copy(c->key), p, c->k);
}

static int index_key_out(jq *q, jout *self, jv key, jpath *p) {
    index_cont *c = (index_cont *)self, inner = *c;
    (void)p;
    inner.o.fn = index_target_out;
    inner.key = key;
    int run = jq_eval(q, c->n->a, c->e, jv_copy(c->in), c->p, &inner.o);
    jv_drop(&q->C, key);
    return run;
}

OUTLINE static int eval_index(jq *q, jnode *n, jenv *e, jv in, jpath *p, jout *k) {
    index_cont c = {{index_key_out}, n, e, in, p, k, jv_null()};
    int run;
    if (n->b->single) {
        jv key = jq_eval1(q, n->b, e, jv_copy(in));
        run = key.kind == J_INVALID ? RUN_ERROR : index_key_out(q, &c.o, key, NULL);
    } else run = jq_eval(q, n->b, e, jv_copy(in), NULL, &c.o);
    jv_drop(&q->C, in);
    return run;
}

typedef struct { jout o; jnode *n; jenv *e; jv in; jpath *p; jout *k; jv from, to; int stage; } slice_cont;

static int slice_out(jq *q, jout *self, jv v, jpath *p) {
    slice_cont *c = (slice_cont *)self, inner = *c;
    int run;
    inner.stage++;
    if (c->stage == 0) {
        inner.to = v;
        run = c->n->b ? jq_eval(q, c->n->b, c->e, jv_copy(c->in), NULL, &inner.o) : slice_out(q, &inner.o, jv_null(), NULL);
        jv_drop(&q->C, v);
        return run;
    }
    if (c->stage == 1) {
        inner.from = v;
        run = jq_eval(q, c->n->a, c->e, jv_copy(c->in), c->p, &inner.o);
        jv_drop(&q->C, v);
        return run;
    }
    return index_step(q, c->n, v, jq_slice_key(q, jv_copy(c->from), jv_copy(c->to)), p, c->k);
}

OUTLINE static int eval_slice(jq *q, jnode *n, jenv *e, jv in, jpath *p, jout *k) {
    slice_cont c = {{slice_out}, n, e, in, p, k, jv_null(), jv_null(), 0};
    int run = n->c ? jq_eval(q, n->c, e, jv_copy(in), NULL, &c.o) : slice_out(q, &c.o, jv_null(), NULL);
    jv_drop(&q->C, in);
    return run;
}

/* Hands out the elements of v, which it takes over. */
OUTLINE static int iterate(jq *q, jv v, jpath *p, jout *k) {
    int run = RUN_ON;
    if (v.kind == J_ARRAY) {
        for (uint32_t i = 0; i < v.a->n && run == RUN_ON; i++)
            run = step(q, jv_copy(v.a->at[i]), p ? jv_num(i) : jv_null(), p, k);
    } else if (v.kind == J_OBJECT) {
        for (uint32_t i = 0; i < v.o->n && run == RUN_ON; i++) {
            jv key = jv_of(J_STRING);
            key.s = v.o->at[i].key;
            run = step(q, jv_copy(v.o->at[i].value), p ? jv_copy(key) : jv_null(), p, k);
        }
    } else {
        jv text = jq_error_text(q, v);
        jq_errorf(q, "Cannot iterate over %s (%s)", jv_kind_name(v), text.s->text);
        jv_drop(&q->C, text);
        run = RUN_ERROR;
    }
    jv_drop(&q->C, v);
    return run;
}

static int iterate_out(jq *q, jout *self, jv v, jpath *p) { return iterate(q, v, p, ((cont *)self)->k); }

/* One container on the way down of `..`; here is the path to it. */
typedef struct descent { struct descent *up; jv v; uint32_t at; jpath here; } descent;

static descent *descend(jq *q, descent *up, jv v, jpath here) {
    descent *d = pool_alloc(&q->C.pool, sizeof *d);
    *d = (descent){up, v, 0, here};
    return d;
}

static descent *ascend(jq *q, descent *d) {
    descent *up = d->up;
    jv_drop(&q->C, d->v);
    if (up) jv_drop(&q->C, d->here.key);
    pool_free(&q->C.pool, d, sizeof *d);
    return up;
}

/* `..`: v and everything in it, depth first, without using the C stack for depth. */
OUTLINE static int recurse(jq *q, jv v, jpath *p, jout *k) {
    int run = k->fn(q, k, jv_copy(v), p);
    descent *d = descend(q, NULL, v, p ? *p : (jpath){NULL, jv_null()});
    while (d) {
        uint32_t n = d->v.kind == J_ARRAY ? d->v.a->n : d->v.kind == J_OBJECT ? d->v.o->n : 0;
        if (run != RUN_ON || d->at == n) { d = ascend(q, d); continue; }
        jv key = jv_num(d->at);
        if (d->v.kind == J_OBJECT) { key = jv_of(J_STRING); key.s = d->v.o->at[d->at].key; }
        jv child = d->v.kind == J_ARRAY ? d->v.a->at[d->at] : d->v.o->at[d->at].value;
        jpath here = {d->up || !p ? &d->here : p, key};
        d->at++;
        run = k->fn(q, k, jv_copy(child), p ? &here : NULL);
        if (run == RUN_ON && child.kind >= J_ARRAY) { jv_copy(key); d = descend(q, d, jv_copy(child), here); }
    }
    return run;
}

OUTLINE static int eval_alternative(jq *q, jnode *n, jenv *e, jv in, jpath *p, jout *k) {
    cont c = {{jqe_alternative_out}, q, n, e, in, jv_null(), p, k, 0};
    int run = jq_eval(q, n->a, e, jv_copy(in), p, &c.o);
    if (run != RUN_ON || c.stage) { jv_drop(&q->C, in); return run; }
    return jq_eval(q, n->b, e, in, p, k);
}

OUTLINE static int eval_try(jq *q, jnode *n, jenv *e, jv in, jpath *p, jout *k) {
    cont c = {{jqe_try_out}, q, n, e, in, jv_null(), p, k, 0};
    int run = jq_eval(q, n->a, e, in, p, &c.o);
    if (run != RUN_ERROR || c.stage || q->halted) return run;
    jv error = q->error;
    q->error = jv_null();
    if (error.kind == J_OBJECT) {
        /* error({__jq: n}) is break in disguise: it cannot be caught */
        jv *mark = jv_find(error, "__jq", 4);
        if (mark) { q->error = error; return RUN_ERROR; }
    }
    if (!n->b) { jv_drop(&q->C, error); return RUN_ON; }
    return jq_eval(q, n->b, e, error, NULL, k);
}

OUTLINE static int eval_string(jq *q, jnode *n, jenv *e, jv in, jout *k) {
    jnode *parts[256];
    int count = 0;
    for (jnode *m = n->a; m && count < 256; m = m->next) parts[count++] = m;
    string_cont c = {{jqe_string_out}, parts, count - 1, e, in, jv_null(), k};
    int run = jq_eval(q, parts[count - 1], e, jv_copy(in), NULL, &c.o);
    jv_drop(&q->C, in);
    return run;
}

OUTLINE static int eval_function(jq *q, jnode *n, jenv *e, jv in, jout *k) {
    args_cont c = {.o = {jqe_args_out}, .n = n, .e = e, .in = in, .at = n->count - 1, .k = k};
    if (!n->count) return jqe_single_result(q, n->fn(q, in, NULL), k);
    int run = jq_eval(q, n->args[n->count - 1], e, jv_copy(in), NULL, &c.o);
    jv_drop(&q->C, in);
    return run;
}

OUTLINE static int not_a_path(jq *q, jv v) {
    jv text = jq_path_error_text(q, v);
    jq_errorf(q, "Invalid path expression with result %s", text.s->text);
    jv_drop(&q->C, text);
    jv_drop(&q->C, v);
    return RUN_ERROR;
}

OUTLINE static int eval_object(jq *q, jnode *n, jenv *e, jv in, jout *k) {
    object_cont o = {{jqe_object_out}, n->a, e, in, jv_null(), jv_null(), k, 0};
    int run = jqe_object_next(q, &o, jv_object(&q->C));
    jv_drop(&q->C, in);
    return run;
}

typedef struct { jout o; jq *q; } reject;
static int reject_out(jq *q, jout *self, jv v, jpath *p) { (void)self; (void)p; return not_a_path(q, v); }

int jq_eval(jq *q, jnode *n, jenv *e, jv in, jpath *p, jout *k) {
    jenv *mine = NULL;
    int run;
    if (tool_too_deep(q->t)) { jv_drop(&q->C, in); return jq_raise(q, jv_cstr(&q->C, "recursion too deep")); }
    for (;;) {
        if (n->single && !p) { run = jqe_single_result(q, jq_eval1(q, n, e, in), k); goto done; }
        cont c = {.q = q, .n = n, .e = e, .in = in, .p = p, .k = k};
        switch (n->kind) {
        case N_IDENTITY: run = k->fn(q, k, in, p); goto done;
        case N_PIPE:
            if (n->a->single && !p) {
                in = jq_eval1(q, n->a, e, in);
                if (in.kind == J_INVALID) { run = RUN_ERROR; goto done; }
                n = n->b;
                continue;
            }
            c.o.fn = pipe_out;
            run = jq_eval(q, n->a, e, in, p, &c.o);
            goto done;
        case N_COMMA:
            run = jq_eval(q, n->a, e, jv_copy(in), p, k);
            if (run != RUN_ON) { jv_drop(&q->C, in); goto done; }
            n = n->b;
            continue;
        case N_IF:
            if (n->a->single) {
                jv v = jq_eval1(q, n->a, e, jv_copy(in));
                if (v.kind == J_INVALID) { jv_drop(&q->C, in); run = RUN_ERROR; goto done; }
                int yes = jv_true(v);
                jv_drop(&q->C, v);
                n = yes ? n->b : n->c;
                if (n) continue;
                run = k->fn(q, k, in, p);
                goto done;
            }
            c.o.fn = if_out;
            run = jq_eval(q, n->a, e, jv_copy(in), NULL, &c.o);
            jv_drop(&q->C, in);
            goto done;
        case N_DEF: e = push_env(q, &mine, e); n = n->a; continue;
        case N_CALL: {
            jenv *base = n->index >= 0 ? jq_env_up(e, n->index) : push_env(q, &mine, NULL), *inner = base;
            for (int i = 0; i < n->count; i++) {
                inner = push_env(q, &mine, inner);
                inner->node = n->args[i];
                inner->env = e;
            }
            e = inner;
            n = n->def->body;
            continue;
        }
        case N_CLOSURE: { jenv *b = jq_env_up(e, n->index); e = b->env; n = b->node; continue; }
        case N_AS:
            if (n->a->single && n->patterns->kind == '$' && !n->patterns->next) {
                jv v = jq_eval1(q, n->a, e, jv_copy(in));
                if (v.kind == J_INVALID) { jv_drop(&q->C, in); run = RUN_ERROR; goto done; }
                e = push_env(q, &mine, e);
                e->value = v;
                n = n->b;
                continue;
            }
            run = jq_eval_as(q, n, e, in, p, k);
            goto done;
        case N_RECURSE: run = recurse(q, in, p, k); goto done;
        case N_INDEX: run = eval_index(q, n, e, in, p, k); goto done;
        case N_SLICE: run = eval_slice(q, n, e, in, p, k); goto done;
        case N_ITERATE:
            if (n->a->kind == N_IDENTITY) { run = iterate(q, in, p, k); goto done; }
            c.o.fn = iterate_out;
            run = jq_eval(q, n->a, e, in, p, &c.o);
            goto done;
        case N_ALTERNATIVE: run = eval_alternative(q, n, e, in, p, k); goto done;
        case N_TRY: run = eval_try(q, n, e, in, p, k); goto done;
        case N_LABEL: {
            jenv *l = push_env(q, &mine, e);
            l->label = ++q->labels;
            int mark = l->label;
            run = jq_eval(q, n->a, l, in, p, k);
            if (run == RUN_BREAK && q->breaking == mark) run = RUN_ON;
            if (run == RUN_ERROR && q->error.kind == J_OBJECT) {
                /* a break that had to leave an array being built */
                jv *left = jv_find(q->error, "__jq", 4);
                if (left && jv_number(*left) == mark) run = RUN_ON;
            }
            goto done;
        }
        case N_BREAK: q->breaking = jq_env_up(e, n->index)->label; jv_drop(&q->C, in); run = RUN_BREAK; goto done;
        case N_SPECIAL: run = jq_eval_special(q, n, e, in, p, k); goto done;
        }
        if (p && n->kind == N_LITERAL && n->value.kind == J_NULL) {
            jv_drop(&q->C, in);
            run = step(q, jv_null(), jv_null(), NULL, k);
            goto done;
        }
        reject r = {{reject_out}, q};
        if (p && n->kind != N_REDUCE && n->kind != N_FOREACH) { k = &r.o; c.k = k; }
        switch (n->kind) {
        case N_REDUCE: case N_FOREACH: run = jq_eval_loop(q, n, e, in, p ? &r.o : k); goto done;
        case N_BINARY: case N_COMPARE:
            c.o.fn = jqe_binary_right_out;
            run = jq_eval(q, n->b, e, jv_copy(in), NULL, &c.o);
            jv_drop(&q->C, in);
            goto done;
        case N_AND: case N_OR:
            c.o.fn = jqe_logic_left_out;
            run = jq_eval(q, n->a, e, jv_copy(in), NULL, &c.o);
            jv_drop(&q->C, in);
            goto done;
        case N_NEGATE: c.o.fn = jqe_negate_out; run = jq_eval(q, n->a, e, in, NULL, &c.o); goto done;
        case N_STRING: run = eval_string(q, n, e, in, k); goto done;
        case N_FORMAT: c.o.fn = jqe_format_out; run = jq_eval(q, n->a, e, in, NULL, &c.o); goto done;
        case N_OBJECT: run = eval_object(q, n, e, in, k); goto done;
        case N_FUNCTION: run = eval_function(q, n, e, in, k); goto done;
        case N_ASSIGN: case N_MODIFY: case N_UPDATE: run = jq_eval_update(q, n, e, in, k); goto done;
        default:
            if (n->single) { run = jqe_single_result(q, jq_eval1(q, n, e, in), k); goto done; }
            jv_drop(&q->C, in);
            run = jq_raise(q, jv_cstr(&q->C, "internal error"));
            goto done;
        }
    }
done:
    free_envs(q, mine);
    return run;
}
