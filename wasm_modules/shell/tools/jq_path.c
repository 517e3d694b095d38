/* jq_path.c - indexing, paths as values, and the assignment operators. */
#include "jq.h"
#include "../utf8.h"
#include <math.h>
#include <string.h>

/* Longer paths can be read but not written along: each step of a change is a C call. */
enum { PATH_LONGEST = 1500 };

jv jq_path_array(jq *q, jpath *p) {
    uint32_t n = 0;
    for (jpath *at = p; at->up; at = at->up) n++;
    jv a = jv_array(&q->C, n);
    a.a->n = n;
    for (jpath *at = p; at->up; at = at->up) a.a->at[--n] = jv_copy(at->key);
    return a;
}

static jv cannot_index(jq *q, jv v, jv key) {
    if (key.kind == J_STRING) jq_errorf(q, "Cannot index %s with string \"%s\"", jv_kind_name(v), key.s->text);
    else jq_errorf(q, "Cannot index %s with %s", jv_kind_name(v), jv_kind_name(key));
    jv_drop(&q->C, v);
    jv_drop(&q->C, key);
    return jv_of(J_INVALID);
}

/* start and end of a slice key as doubles; -1 when they are not numbers. */
static int slice_ends(jv key, double *from, double *to) {
    jv *start = jv_find(key, "start", 5), *end = jv_find(key, "end", 3);
    if (!start && !end) return -1;
    *from = 0;
    *to = INFINITY;
    if (start && start->kind != J_NULL) { if (!jv_is_number(*start)) return -1; *from = jv_number(*start); }
    if (end && end->kind != J_NULL) { if (!jv_is_number(*end)) return -1; *to = jv_number(*end); }
    return 0;
}

jv jq_slice_key(jq *q, jv from, jv to) {
    jv o = jv_object(&q->C);
    o = jv_put(&q->C, o, "start", from);
    return jv_put(&q->C, o, "end", to);
}

static jv array_indices(jq *q, jv v, jv what) {
    jv found = jv_array(&q->C, 0);
    uint32_t n = what.a->n;
    for (uint32_t i = 0; n && i + n <= v.a->n; i++) {
        uint32_t j = 0;
        while (j < n && jv_equal(&q->C, v.a->at[i + j], what.a->at[j])) j++;
        if (j == n) found = jv_push(&q->C, found, jv_num(i));
    }
    jv_drop(&q->C, v);
    jv_drop(&q->C, what);
    return found;
}

jv jq_index(jq *q, jv v, jv key) {
    jctx *C = &q->C;
    jv r = jv_null();
    if (v.kind == J_OBJECT && key.kind == J_STRING) {
        jv *found = jv_find_key(v, key.s);
        if (found) r = jv_copy(*found);
    } else if (v.kind == J_ARRAY && jv_is_number(key)) {
        double i = floor(jv_number(key));
        if (i < 0) i += v.a->n;
        if (i >= 0 && i < v.a->n) r = jv_copy(v.a->at[(uint32_t)i]);
    } else if (key.kind == J_OBJECT && (v.kind == J_ARRAY || v.kind == J_STRING || v.kind == J_NULL)) {
        double from, to;
        if (v.kind != J_NULL && slice_ends(key, &from, &to) < 0) {
            jv_drop(C, v);
            jv_drop(C, key);
            return jq_errorf(q, "Array/string slice indices must be integers");
        }
        if (v.kind == J_NULL) { jv_drop(C, key); return r; }
        jv_drop(C, key);
        return jv_slice(C, v, from, to);
    } else if (v.kind == J_ARRAY && key.kind == J_ARRAY) return array_indices(q, v, key);
    else if (!(v.kind == J_NULL && (key.kind == J_STRING || jv_is_number(key) || key.kind == J_NULL)))
        return cannot_index(q, v, key);
    jv_drop(C, v);
    jv_drop(C, key);
    return r;
}

jv jq_getpath(jq *q, jv v, jv path) {
    for (uint32_t i = 0; i < path.a->n; i++) {
        if (v.kind == J_NULL) return v;
        v = jq_index(q, v, jv_copy(path.a->at[i]));
        if (v.kind == J_INVALID) break;
    }
    return v;
}

/* v with its element key replaced; takes over v, key and to. */
static jv set_element(jq *q, jv v, jv key, jv to) {
    jctx *C = &q->C;
    if (key.kind == J_STRING && (v.kind == J_OBJECT || v.kind == J_NULL)) {
        if (v.kind == J_NULL) v = jv_object(C);
        v = jv_set(C, v, key.s, to);
    } else if (jv_is_number(key) && (v.kind == J_ARRAY || v.kind == J_NULL)) {
        if (v.kind == J_NULL) v = jv_array(C, 0);
        double i = floor(jv_number(key));
        if (i < 0) i += v.a->n;
        if (!(i >= 0 && i <= 50000000)) {
            jv_drop(C, v);
            jv_drop(C, to);
            return jq_errorf(q, i != i  ? "Cannot set array element at NaN index"
                                : i < 0 ? "Out of bounds negative array index"
                                        : "Array index too large");
        }
        v = jv_own(C, v);
        while (v.a->n <= (uint32_t)i) v = jv_push(C, v, jv_null());
        jv old = v.a->at[(uint32_t)i];
        v.a->at[(uint32_t)i] = to;
        jv_drop(C, old);
    } else if (key.kind == J_OBJECT && (v.kind == J_ARRAY || v.kind == J_NULL)) {
        double from, to_end;
        if (v.kind == J_NULL) v = jv_array(C, 0);
        if (slice_ends(key, &from, &to_end) < 0 || to.kind != J_ARRAY) {
            int slice = to.kind != J_ARRAY;
            jv_drop(C, v); jv_drop(C, to); jv_drop(C, key);
            return slice ? jq_errorf(q, "A slice of an array can only be assigned another array")
                         : jq_errorf(q, "Array/string slice indices must be integers");
        }
        double n = v.a->n;
        if (from < 0) from += n;
        if (to_end < 0) to_end += n;
        from = from < 0 ? 0 : from > n ? n : floor(from);
        to_end = to_end > n ? n : to_end < from ? from : ceil(to_end);
        jv made = jv_slice(C, jv_copy(v), 0, from == 0 ? 0 : from);
        if (from == 0) { jv_drop(C, made); made = jv_array(C, 0); }
        made = jv_concat(C, made, to);
        for (uint32_t i = (uint32_t)to_end; i < v.a->n; i++) made = jv_push(C, made, jv_copy(v.a->at[i]));
        jv_drop(C, v);
        v = made;
    } else if (v.kind == J_STRING && key.kind == J_OBJECT) {
        jv_drop(C, v); jv_drop(C, to); jv_drop(C, key);
        return jq_errorf(q, "Cannot update string slices");
    } else {
        jv_drop(C, to);
        if (v.kind == J_ARRAY && key.kind == J_STRING) {
            jq_errorf(q, "Cannot update field at array index of array");
            jv_drop(C, v);
            jv_drop(C, key);
            return jv_of(J_INVALID);
        }
        return cannot_index(q, v, key);
    }
    jv_drop(C, key);
    return v;
}

/* Takes the element out of v when v is ours alone, so that changing it copies nothing; otherwise a copy. */
static jv take_element(jq *q, jv *v, jv key) {
    if (v->kind == J_OBJECT && key.kind == J_STRING && v->o->refs == 1) {
        jv *found = jv_find_key(*v, key.s), r;
        if (!found) return jv_null();
        r = *found;
        *found = jv_null();
        return r;
    }
    if (v->kind == J_ARRAY && jv_is_number(key) && v->a->refs == 1) {
        double i = floor(jv_number(key));
        if (i < 0) i += v->a->n;
        if (i < 0 || i >= v->a->n) return jv_null();
        jv r = v->a->at[(uint32_t)i];
        v->a->at[(uint32_t)i] = jv_null();
        return r;
    }
    return jq_index(q, jv_copy(*v), jv_copy(key));
}

jv jq_setpath(jq *q, jv v, jv path, uint32_t at, jv to) {
    if (at == path.a->n) { jv_drop(&q->C, v); return to; }
    if (at > PATH_LONGEST || tool_too_deep(q->t)) { jv_drop(&q->C, v); jv_drop(&q->C, to); return jq_errorf(q, "path too deep"); }
    jv key = path.a->at[at], child = take_element(q, &v, key);
    if (child.kind != J_INVALID) child = jq_setpath(q, child, path, at + 1, to); else jv_drop(&q->C, to);
    if (child.kind == J_INVALID) { jv_drop(&q->C, v); return child; }
    return set_element(q, v, jv_copy(key), child);
}

/* Marks in gone what key stands for in an array of n elements; -1 when it is no key of an array. */
static int mark_gone(jq *q, jv key, uint32_t n, unsigned char *gone) {
    double from, to;
    if (key.kind == J_OBJECT) {
        if (slice_ends(key, &from, &to) < 0) { jq_errorf(q, "Array/string slice indices must be integers"); return -1; }
        if (from < 0) from += n;
        if (to < 0) to += n;
        if (from < 0) from = 0;
    } else if (jv_is_number(key)) {
        from = floor(jv_number(key));
        if (from < 0) from += n;
        to = from + 1;
    } else { jq_errorf(q, "Cannot delete %s element of array", jv_kind_name(key)); return -1; }
    for (double i = from; i >= 0 && i < to && i < n; i++) gone[(uint32_t)i] = 1;
    return 0;
}

/* An array without what the last parts of the paths stand for, all of them before anything moves. */
static jv delete_elements(jq *q, jv v, jv *paths, uint32_t count, uint32_t at) {
    jctx *C = &q->C;
    unsigned char *gone = tool_alloc(q->t, (size_t)v.a->n + 1);
    jv made = jv_array(C, v.a->n);
    int bad = 0;
    for (uint32_t i = 0; i < count && !bad; i++) bad = mark_gone(q, paths[i].a->at[at], v.a->n, gone);
    for (uint32_t i = 0; i < v.a->n && !bad; i++) if (!gone[i]) made = jv_push(C, made, jv_copy(v.a->at[i]));
    tool_free(q->t, gone);
    jv_drop(C, v);
    if (!bad) return made;
    jv_drop(C, made);
    return jv_of(J_INVALID);
}

static jv delete_keys(jq *q, jv v, jv *paths, uint32_t count, uint32_t at) {
    if (v.kind == J_ARRAY) return delete_elements(q, v, paths, count, at);
    for (uint32_t i = 0; i < count && v.kind != J_NULL; i++) {
        jv key = paths[i].a->at[at];
        if (v.kind == J_OBJECT && key.kind == J_STRING) { v = jv_remove(&q->C, v, key.s); continue; }
        if (v.kind == J_OBJECT) jq_errorf(q, "Cannot delete %s field of object", jv_kind_name(key));
        else jq_errorf(q, "Cannot delete fields from %s", jv_kind_name(v));
        jv_drop(&q->C, v);
        return jv_of(J_INVALID);
    }
    return v;
}

/* Deletes along paths of one length that differ in their last parts only. */
static jv delete_along(jq *q, jv v, jv *paths, uint32_t count, uint32_t at) {
    jv path = paths[0];
    if (v.kind == J_NULL) return v;
    if (at + 1 == path.a->n) return delete_keys(q, v, paths, count, at);
    if (at > PATH_LONGEST || tool_too_deep(q->t)) { jv_drop(&q->C, v); return jq_errorf(q, "path too deep"); }
    jv key = path.a->at[at], child = jq_index(q, jv_copy(v), jv_copy(key));
    if (child.kind == J_INVALID) { jv_drop(&q->C, v); return child; }
    if (child.kind == J_NULL) return v;
    child = delete_along(q, child, paths, count, at + 1);
    if (child.kind == J_INVALID) { jv_drop(&q->C, v); return child; }
    return set_element(q, v, jv_copy(key), child);
}

static int same_parent(jq *q, jv a, jv b) {
    for (uint32_t i = 0; i + 1 < a.a->n; i++) if (!jv_equal(&q->C, a.a->at[i], b.a->at[i])) return 0;
    return 1;
}

/* The longest paths first, and all that lead into one value at once: nothing moves what another path speaks of. */
static jv delete_sorted(jq *q, jv v, jv *paths, uint32_t n) {
    uint32_t longest = 0;
    for (uint32_t i = 0; i < n; i++) if (paths[i].a->n > longest) longest = paths[i].a->n;
    jv *level = tool_alloc(q->t, ((size_t)n + 1) * sizeof *level);
    for (uint32_t length = longest; length > 0 && v.kind != J_INVALID; length--) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < n; i++) if (paths[i].a->n == length) level[count++] = paths[i];
        for (uint32_t end = count, from; end > 0 && v.kind != J_INVALID; end = from) {
            for (from = end - 1; from > 0 && same_parent(q, level[from - 1], level[end - 1]);) from--;
            v = delete_along(q, v, level + from, end - from, 0);
        }
    }
    tool_free(q->t, level);
    return v;
}

jv jq_delpaths(jq *q, jv v, jv paths) {
    paths = jv_own(&q->C, paths);
    jv_sort(&q->C, paths.a->at, paths.a->n);
    int whole = 0;
    for (uint32_t i = 0; i < paths.a->n; i++) {
        if (paths.a->at[i].kind != J_ARRAY) {
            jv_drop(&q->C, v);
            jq_errorf(q, "Path must be specified as array, not %s", jv_kind_name(paths.a->at[i]));
            jv_drop(&q->C, paths);
            return jv_of(J_INVALID);
        }
        if (!paths.a->at[i].a->n) whole = 1;
    }
    v = delete_sorted(q, v, paths.a->at, paths.a->n);
    if (whole && v.kind != J_INVALID) { jv_drop(&q->C, v); v = jv_null(); }
    jv_drop(&q->C, paths);
    return v;
}

typedef struct { jout o; jv paths; } paths_out;

static int add_path(jq *q, jout *self, jv v, jpath *p) {
    paths_out *c = (paths_out *)self;
    jv_drop(&q->C, v);
    c->paths = jv_push(&q->C, c->paths, jq_path_array(q, p));
    return RUN_ON;
}

/* All paths of expression n on in (borrowed), as an array; J_INVALID on error. */
static jv collect_paths(jq *q, jnode *n, jenv *e, jv in) {
    paths_out c = {{add_path}, jv_array(&q->C, 0)};
    jpath root = {NULL, jv_null()};
    int run = jq_eval(q, n, e, jv_copy(in), &root, &c.o);
    if (run == RUN_ON) return c.paths;
    jv_drop(&q->C, c.paths);
    if (run == RUN_BREAK) jq_error(q, jv_cstr(&q->C, "break"));
    return jv_of(J_INVALID);
}

typedef struct { jout o; jv v; int any; int id; } first_out;

static int take_first(jq *q, jout *self, jv v, jpath *p) {
    first_out *c = (first_out *)self;
    (void)p;
    c->v = v;
    c->any = 1;
    q->breaking = c->id;
    return RUN_BREAK;
}

/* Applies f to the element at path[at..]; a missing result asks for deletion through *gone. */
static jv modify_at(jq *q, jv v, jv path, uint32_t at, jnode *f, jenv *e, int *gone) {
    if (at == path.a->n) {
        if (f->single) return jq_eval1(q, f, e, v);
        first_out c = {{take_first}, jv_null(), 0, ++q->labels};
        int run = jq_eval(q, f, e, v, NULL, &c.o);
        if (run == RUN_BREAK && q->breaking == c.id) return c.v;
        if (run == RUN_ON) { *gone = 1; return jv_null(); }
        return jv_of(J_INVALID);
    }
    if (at > PATH_LONGEST || tool_too_deep(q->t)) { jv_drop(&q->C, v); return jq_errorf(q, "path too deep"); }
    jv key = path.a->at[at], child = take_element(q, &v, key);
    if (child.kind != J_INVALID) child = modify_at(q, child, path, at + 1, f, e, gone);
    if (child.kind == J_INVALID) { jv_drop(&q->C, v); return child; }
    return set_element(q, v, jv_copy(key), child);
}

static int eval_modify(jq *q, jnode *n, jenv *e, jv in, jout *k) {
    jv paths = collect_paths(q, n->a, e, in), gone = jv_array(&q->C, 0);
    if (paths.kind == J_INVALID) { jv_drop(&q->C, in); jv_drop(&q->C, gone); return RUN_ERROR; }
    for (uint32_t i = 0; i < paths.a->n && in.kind != J_INVALID; i++) {
        int removed = 0;
        in = modify_at(q, in, paths.a->at[i], 0, n->b, e, &removed);
        if (removed) gone = jv_push(&q->C, gone, jv_copy(paths.a->at[i]));
    }
    jv_drop(&q->C, paths);
    if (in.kind != J_INVALID && gone.a->n) in = jq_delpaths(q, in, gone); else jv_drop(&q->C, gone);
    return in.kind == J_INVALID ? RUN_ERROR : k->fn(q, k, in, NULL);
}

/* a = v, a op= v for one value v. */
typedef struct { jout o; jnode *n; jenv *e; jv in; jout *k; } assign_out;

static int assign_value(jq *q, jout *self, jv v, jpath *p) {
    assign_out *c = (assign_out *)self;
    (void)p;
    jv r = jv_copy(c->in), paths = collect_paths(q, c->n->a, c->e, r);
    if (paths.kind == J_INVALID) { jv_drop(&q->C, r); jv_drop(&q->C, v); return RUN_ERROR; }
    for (uint32_t i = 0; i < paths.a->n && r.kind != J_INVALID; i++) {
        jv to;
        if (c->n->kind == N_ASSIGN) to = jv_copy(v);
        else {
            jv old = jq_getpath(q, jv_copy(r), paths.a->at[i]);
            if (old.kind == J_INVALID) to = old;
            else if (c->n->op == 'A') { if (jv_true(old)) to = old; else { jv_drop(&q->C, old); to = jv_copy(v); } }
            else to = jq_arith(q, c->n->op, old, jv_copy(v));
        }
        if (to.kind == J_INVALID) { jv_drop(&q->C, r); r = to; break; }
        r = jq_setpath(q, r, paths.a->at[i], 0, to);
    }
    jv_drop(&q->C, paths);
    jv_drop(&q->C, v);
    return r.kind == J_INVALID ? RUN_ERROR : c->k->fn(q, c->k, r, NULL);
}

int jq_eval_update(jq *q, jnode *n, jenv *e, jv in, jout *k) {
    if (n->kind == N_MODIFY) return eval_modify(q, n, e, in, k);
    if (n->b->single) {
        /* one value: the input can be changed in place */
        jv v = jq_eval1(q, n->b, e, jv_copy(in));
        if (v.kind == J_INVALID) { jv_drop(&q->C, in); return RUN_ERROR; }
        jv paths = collect_paths(q, n->a, e, in);
        if (paths.kind == J_INVALID) { jv_drop(&q->C, in); jv_drop(&q->C, v); return RUN_ERROR; }
        for (uint32_t i = 0; i < paths.a->n && in.kind != J_INVALID; i++) {
            jv to;
            if (n->kind == N_ASSIGN) to = jv_copy(v);
            else {
                jv old = jq_getpath(q, jv_copy(in), paths.a->at[i]);
                if (old.kind == J_INVALID) to = old;
                else if (n->op == 'A') { if (jv_true(old)) to = old; else { jv_drop(&q->C, old); to = jv_copy(v); } }
                else to = jq_arith(q, n->op, old, jv_copy(v));
            }
            if (to.kind == J_INVALID) { jv_drop(&q->C, in); in = to; break; }
            in = jq_setpath(q, in, paths.a->at[i], 0, to);
        }
        jv_drop(&q->C, paths);
        jv_drop(&q->C, v);
        return in.kind == J_INVALID ? RUN_ERROR : k->fn(q, k, in, NULL);
    }
    assign_out c = {{assign_value}, n, e, in, k};
    int run = jq_eval(q, n->b, e, jv_copy(in), NULL, &c.o);
    jv_drop(&q->C, in);
    return run;
}
