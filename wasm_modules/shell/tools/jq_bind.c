/* jq_bind.c - what gives variables their values: `as` with its patterns, reduce and foreach. */
#include "jq.h"
#include <stddef.h>
#include <string.h>

/* Destructuring: gives the variables their values, one environment each. Calls then for every combination that computed keys
 * allow. */
typedef struct binding {
    jout o;
    jnode *n;
    jenv *e;
    jv in;
    jpath *p;
    jout *k;
    jenv *vars;
    jpattern *todo;
    struct binding *up;
} binding;
typedef int bound_fn(jq *q, void *context, jenv *e);
typedef struct { jpattern *p; jv v; } task;

typedef struct { jout o; task *tasks; int n; jenv *base, *vars; bound_fn *then; void *context; jv v; jpattern *member; } matcher;

static int match_tasks(jq *q, matcher *m);

static int member_key_out(jq *q, jout *self, jv key, jpath *p) {
    matcher *m = (matcher *)self, inner = *m;
    (void)p;
    if (key.kind != J_STRING) {
        jv text = jq_error_text(q, key);
        jq_errorf(q, "Cannot index %s with %s", jv_kind_name(m->v), jv_kind_name(key));
        jv_drop(&q->C, text);
        jv_drop(&q->C, key);
        return RUN_ERROR;
    }
    jv value = jq_index(q, jv_copy(m->v), key);
    if (value.kind == J_INVALID) return RUN_ERROR;
    task more[65];
    if (m->n > 62) { jv_drop(&q->C, value); return jq_raise(q, jv_cstr(&q->C, "pattern too large")); }
    memcpy(more, m->tasks, (size_t)m->n * sizeof *more);
    inner.tasks = more;
    if (m->member->variable >= 0) {
        jv_drop(&q->C, m->vars[m->member->variable].value);
        m->vars[m->member->variable].value = jv_copy(value);
    }
    int run;
    if (m->member->child) more[inner.n++] = (task){m->member->child, value};
    run = match_tasks(q, &inner);
    jv_drop(&q->C, value);
    return run;
}

/* Takes the last task; pushes what it leads to. Values of tasks are borrowed. */
static int match_tasks(jq *q, matcher *m) {
    if (!m->n) return m->then(q, m->context, m->vars);
    if (tool_too_deep(q->t)) return jq_raise(q, jv_cstr(&q->C, "pattern too deep"));
    matcher inner = *m;
    task t = m->tasks[--inner.n], more[65];
    memcpy(more, m->tasks, (size_t)inner.n * sizeof *more);
    inner.tasks = more;
    jpattern *p = t.p;
    if (p->kind == '$') {
        jv_drop(&q->C, m->vars[p->variable].value);
        m->vars[p->variable].value = jv_copy(t.v);
        return match_tasks(q, &inner);
    }
    if (p->kind == '[') {
        jv held[64];
        int n = 0, run;
        if (t.v.kind != J_ARRAY && t.v.kind != J_NULL) {
            jq_errorf(q, "Cannot index %s with number", jv_kind_name(t.v));
            return RUN_ERROR;
        }
        for (jpattern *c = p->child; c && n < 64; c = c->next, n++) held[n] = jq_index(q, jv_copy(t.v), jv_num(n));
        int count = n;
        if (inner.n + count > 62) run = jq_raise(q, jv_cstr(&q->C, "pattern too large"));
        else {
            jpattern *list[64];
            n = 0;
            for (jpattern *c = p->child; c && n < count; c = c->next) list[n++] = c;
            while (n--) more[inner.n++] = (task){list[n], held[n]};
            run = match_tasks(q, &inner);
        }
        while (count--) jv_drop(&q->C, held[count]);
        return run;
    }
    /* an object pattern, or the rest of one: the members from p->child on, kept as a chain */
    jpattern *member = p->kind == '{' ? p->child : p;
    if (member->next) more[inner.n++] = (task){member->next, t.v};
    inner.o.fn = member_key_out;
    inner.v = t.v;
    inner.member = member;
    return jq_eval(q, member->key, m->base, jv_copy(t.v), NULL, &inner.o);
}

static int bind(jq *q, jnode *n, jpattern *p, jenv *e, jv v, bound_fn *then, void *context) {
    jenv local[8], *vars = n->count <= 8 ? local : tool_alloc(q->t, (size_t)n->count * sizeof *vars);
    for (int i = 0; i < n->count; i++) vars[i] = (jenv){.up = i ? &vars[i - 1] : e, .value = jv_null()};
    task first = {p, v};
    matcher m = {.tasks = &first, .n = 1, .base = e, .vars = vars, .then = then, .context = context};
    int run = match_tasks(q, &m);
    for (int i = 0; i < n->count; i++) jv_drop(&q->C, vars[i].value);
    if (vars != local) tool_free(q->t, vars);
    return run;
}

typedef struct { jout o; jnode *n; jenv *e; jv in; jpath *p; jout *k; int downstream; } as_cont;

static int as_down_out(jq *q, jout *self, jv v, jpath *p) {
    as_cont *c = (as_cont *)((char *)self - offsetof(as_cont, o));
    int run = c->k->fn(q, c->k, v, p);
    if (run == RUN_ERROR) c->downstream = 1;
    return run;
}

static int as_body(jq *q, void *context, jenv *vars) {
    as_cont *c = context;
    jenv *e = c->n->count ? &vars[c->n->count - 1] : c->e;
    return jq_eval(q, c->n->b, e, jv_copy(c->in), c->p, c->k);
}

static int as_out(jq *q, jout *self, jv v, jpath *p) {
    as_cont *c = (as_cont *)self;
    int run = RUN_ON;
    (void)p;
    for (jpattern *alt = c->n->patterns; alt; alt = alt->next) {
        as_cont guarded = *c;
        guarded.o.fn = as_down_out;
        guarded.downstream = 0;
        as_cont body = *c;
        if (alt->next) body.k = &guarded.o;
        run = bind(q, c->n, alt, c->e, v, as_body, &body);
        if (run != RUN_ERROR || !alt->next || guarded.downstream) break;
    }
    jv_drop(&q->C, v);
    return run;
}

typedef struct { jout o; jnode *n; jenv *e; jv acc; jpath *acc_path; jpath *p; jout *k; int any; } loop_cont;

static int loop_update_out(jq *q, jout *self, jv v, jpath *p);

static int reduce_body(jq *q, void *context, jenv *vars);

static int reduce_store_out(jq *q, jout *self, jv v, jpath *p) {
    loop_cont *c = (loop_cont *)self;
    (void)p;
    jv_drop(&q->C, c->acc);
    c->acc = v;
    c->any = 1;
    return RUN_ON;
}

static int reduce_body(jq *q, void *context, jenv *vars) {
    loop_cont *c = context;
    jenv *e = c->n->count ? &vars[c->n->count - 1] : c->e;
    jv acc = c->acc;
    c->acc = jv_null();
    if (c->n->c->single) {
        c->acc = jq_eval1(q, c->n->c, e, acc);
        if (c->acc.kind == J_INVALID) { c->acc = jv_null(); return RUN_ERROR; }
        return RUN_ON;
    }
    loop_cont store = *c;
    store.o.fn = reduce_store_out;
    store.acc = jv_null();
    int run = jq_eval(q, c->n->c, e, acc, NULL, &store.o);
    c->acc = store.acc;
    return run;
}

static int reduce_item_out(jq *q, jout *self, jv v, jpath *p) {
    loop_cont *c = (loop_cont *)self;
    (void)p;
    int run = RUN_ON;
    for (jpattern *alt = c->n->patterns; alt; alt = alt->next) {
        run = bind(q, c->n, alt, c->e, v, reduce_body, c);
        if (run != RUN_ERROR) break;
    }
    jv_drop(&q->C, v);
    return run;
}

typedef struct { jout o; jnode *n; jenv *e; jv in; jout *k; } reduce_start;

static int reduce_init_out(jq *q, jout *self, jv v, jpath *p) {
    reduce_start *s = (reduce_start *)self;
    (void)p;
    loop_cont c = {{reduce_item_out}, s->n, s->e, v, NULL, NULL, s->k, 0};
    int run = jq_eval(q, s->n->a, s->e, jv_copy(s->in), NULL, &c.o);
    if (run != RUN_ON) { jv_drop(&q->C, c.acc); return run; }
    return s->k->fn(q, s->k, c.acc, NULL);
}

/* foreach hands out every state, or what the extract expression makes of it. */
static int foreach_emit_out(jq *q, jout *self, jv v, jpath *p) {
    loop_cont *c = (loop_cont *)self;
    jv_drop(&q->C, c->acc);
    c->acc = jv_copy(v);
    if (!c->n->d) return c->k->fn(q, c->k, v, p);
    return jq_eval(q, c->n->d, c->e, v, p, c->k);
}

static int foreach_body(jq *q, void *context, jenv *vars) {
    loop_cont *c = context;
    jenv *e = c->n->count ? &vars[c->n->count - 1] : c->e;
    loop_cont emit = *c;
    emit.o.fn = foreach_emit_out;
    emit.e = e;
    emit.acc = jv_null();
    jv acc = c->acc;
    c->acc = jv_null();
    int run = jq_eval(q, c->n->c, e, jv_copy(acc), NULL, &emit.o);
    jv_drop(&q->C, acc);
    c->acc = emit.acc;
    return run;
}

static int loop_update_out(jq *q, jout *self, jv v, jpath *p) {
    loop_cont *c = (loop_cont *)self;
    (void)p;
    int run = bind(q, c->n, c->n->patterns, c->e, v, foreach_body, c);
    jv_drop(&q->C, v);
    return run;
}

static int foreach_init_out(jq *q, jout *self, jv v, jpath *p) {
    reduce_start *s = (reduce_start *)self;
    (void)p;
    loop_cont c = {{loop_update_out}, s->n, s->e, v, NULL, NULL, s->k, 0};
    int run = jq_eval(q, s->n->a, s->e, jv_copy(s->in), NULL, &c.o);
    jv_drop(&q->C, c.acc);
    return run;
}

int jq_eval_as(jq *q, jnode *n, jenv *e, jv in, jpath *p, jout *k) {
    as_cont a = {{as_out}, n, e, in, p, k, 0};
    int run = jq_eval(q, n->a, e, jv_copy(in), NULL, &a.o);
    jv_drop(&q->C, in);
    return run;
}

int jq_eval_loop(jq *q, jnode *n, jenv *e, jv in, jout *k) {
    reduce_start s = {{n->kind == N_REDUCE ? reduce_init_out : foreach_init_out}, n, e, in, k};
    int run = jq_eval(q, n->b, e, jv_copy(in), NULL, &s.o);
    jv_drop(&q->C, in);
    return run;
}
