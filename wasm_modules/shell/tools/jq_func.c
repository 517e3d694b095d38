/* jq_func.c - built-in functions on values: arrays, objects; and the names of all that take values. */
#include "jq.h"
#include "../utf8.h"
#include <math.h>
#include <string.h>

/* How deep functions on nested containers go; each level is a C call. */
enum { CONTAINER_DEEPEST = 1500 };

static jv fn_not(jq *q, jv in, jv *args) { (void)args; int yes = jv_true(in); jv_drop(&q->C, in); return jv_bool(!yes); }
static jv fn_null(jq *q, jv in, jv *args) { (void)args; jv_drop(&q->C, in); return jv_null(); }
static jv fn_true(jq *q, jv in, jv *args) { (void)args; jv_drop(&q->C, in); return jv_bool(1); }
static jv fn_false(jq *q, jv in, jv *args) { (void)args; jv_drop(&q->C, in); return jv_bool(0); }
static jv fn_type(jq *q, jv in, jv *args) { (void)args; jv s = jv_cstr(&q->C, jv_kind_name(in)); jv_drop(&q->C, in); return s; }
static jv fn_infinite(jq *q, jv in, jv *args) { (void)args; jv_drop(&q->C, in); return jv_num(INFINITY); }
static jv fn_nan(jq *q, jv in, jv *args) { (void)args; jv_drop(&q->C, in); return jv_num(NAN); }

static jv fn_length(jq *q, jv in, jv *args) {
    double n;
    (void)args;
    switch (in.kind) {
    case J_NULL: n = 0; break;
    case J_NUMBER: case J_LITERAL: n = fabs(jv_number(in)); break;
    case J_STRING: n = (double)utf8_length(in.s->text, in.s->n); break;
    case J_ARRAY: n = in.a->n; break;
    case J_OBJECT: n = in.o->n; break;
    default: return jq_refuse(q, in, "has no length");
    }
    jv_drop(&q->C, in);
    return jv_num(n);
}

static jv fn_utf8bytelength(jq *q, jv in, jv *args) {
    (void)args;
    if (in.kind != J_STRING) return jq_refuse(q, in, "only strings have UTF-8 byte length");
    double n = in.s->n;
    jv_drop(&q->C, in);
    return jv_num(n);
}

static jv keys_of(jq *q, jv in, int sorted) {
    jv keys;
    if (in.kind == J_OBJECT) keys = jv_keys(&q->C, in, sorted);
    else if (in.kind == J_ARRAY) {
        keys = jv_array(&q->C, in.a->n);
        for (uint32_t i = 0; i < in.a->n; i++) keys = jv_push(&q->C, keys, jv_num(i));
    } else return jq_refuse(q, in, "has no keys");
    jv_drop(&q->C, in);
    return keys;
}
static jv fn_keys(jq *q, jv in, jv *args) { (void)args; return keys_of(q, in, 1); }
static jv fn_keys_unsorted(jq *q, jv in, jv *args) { (void)args; return keys_of(q, in, 0); }

static jv fn_has(jq *q, jv in, jv *args) {
    jv key = args[0];
    int yes;
    if (in.kind == J_OBJECT && key.kind == J_STRING) yes = jv_find_key(in, key.s) != NULL;
    else if (in.kind == J_NULL) yes = 0;
    else if (in.kind == J_ARRAY && jv_is_number(key)) yes = jv_number(key) >= 0 && jv_number(key) < in.a->n;
    else {
        jq_errorf(
            q, "Cannot check whether %s has a %s key", jv_kind_name(in), key.kind == J_STRING ? "string" : jv_kind_name(key));
        jv_drop(&q->C, in); jv_drop(&q->C, key);
        return jv_of(J_INVALID);
    }
    jv_drop(&q->C, in);
    jv_drop(&q->C, key);
    return jv_bool(yes);
}

static int contains(jq *q, jv a, jv b);

static int contains_items(jq *q, jv a, jv b) {
    if (a.kind == J_OBJECT && b.kind == J_OBJECT) {
        for (uint32_t i = 0; i < b.o->n; i++) {
            jv *mine = jv_find_key(a, b.o->at[i].key);
            if (!mine || !contains(q, *mine, b.o->at[i].value)) return 0;
        }
        return 1;
    }
    if (a.kind == J_ARRAY && b.kind == J_ARRAY) {
        for (uint32_t i = 0; i < b.a->n; i++) {
            int found = 0;
            for (uint32_t j = 0; j < a.a->n && !found; j++) found = contains(q, a.a->at[j], b.a->at[i]);
            if (!found) return 0;
        }
        return 1;
    }
    return 0;
}

static int contains(jq *q, jv a, jv b) {
    if (a.kind == b.kind && a.kind >= J_ARRAY) {
        if (q->C.depth >= CONTAINER_DEEPEST) return 0;
        q->C.depth++;
        int yes = contains_items(q, a, b);
        q->C.depth--;
        return yes;
    }
    if (a.kind == J_STRING && b.kind == J_STRING) {
        for (uint32_t i = 0; i + b.s->n <= a.s->n; i++) if (!memcmp(a.s->text + i, b.s->text, b.s->n)) return 1;
        return 0;
    }
    return jv_equal(&q->C, a, b);
}

static jv fn_contains(jq *q, jv in, jv *args) {
    jkind x = in.kind == J_LITERAL ? J_NUMBER
              : in.kind == J_TRUE  ? J_FALSE
                                   : in.kind,
          y = args[0].kind == J_LITERAL ? J_NUMBER
              : args[0].kind == J_TRUE  ? J_FALSE
                                        : args[0].kind;
    if (x != y) {
        jv a = jq_error_text(q, in), b = jq_error_text(q, args[0]);
        jq_errorf(q, "%s (%s) and %s (%s) cannot have their containment checked", jv_kind_name(in), a.s->text,
            jv_kind_name(args[0]), b.s->text);
        jv_drop(&q->C, a); jv_drop(&q->C, b); jv_drop(&q->C, in); jv_drop(&q->C, args[0]);
        return jv_of(J_INVALID);
    }
    int yes = contains(q, in, args[0]);
    jv_drop(&q->C, in);
    jv_drop(&q->C, args[0]);
    return jv_bool(yes);
}

static jv fn_add(jq *q, jv in, jv *args) {
    (void)args;
    jv sum = jv_null();
    uint32_t n = in.kind == J_ARRAY ? in.a->n : in.kind == J_OBJECT ? in.o->n : 0;
    if (in.kind < J_ARRAY) {
        jv text = jq_error_text(q, in);
        jq_errorf(q, "Cannot iterate over %s (%s)", jv_kind_name(in), text.s->text);
        jv_drop(&q->C, text);
        jv_drop(&q->C, in);
        return jv_of(J_INVALID);
    }
    if (in.kind == J_ARRAY && n && in.a->at[0].kind == J_STRING) {
        /* joining many strings one by one would be quadratic */
        size_t total = 0;
        int all = 1;
        for (uint32_t i = 0; i < n; i++) { all &= in.a->at[i].kind == J_STRING; if (all) total += in.a->at[i].s->n; }
        if (all) {
            sum = jv_room(&q->C, total);
            char *to = sum.s->text;
            for (uint32_t i = 0; i < n; i++) { memcpy(to, in.a->at[i].s->text, in.a->at[i].s->n); to += in.a->at[i].s->n; }
            jv_drop(&q->C, in);
            return sum;
        }
    }
    for (uint32_t i = 0; i < n && sum.kind != J_INVALID; i++)
        sum = jq_arith(q, '+', sum, jv_copy(in.kind == J_ARRAY ? in.a->at[i] : in.o->at[i].value));
    jv_drop(&q->C, in);
    return sum;
}

static jv fn_sort(jq *q, jv in, jv *args) {
    (void)args;
    if (in.kind != J_ARRAY) return jq_refuse(q, in, "cannot be sorted, as it is not an array");
    in = jv_own(&q->C, in);
    jv_sort(&q->C, in.a->at, in.a->n);
    return in;
}

static jv fn_unique(jq *q, jv in, jv *args) {
    if (in.kind < J_ARRAY) return jq_not_iterable(q, in);
    if (in.kind == J_OBJECT) {
        jv keys = jv_array(&q->C, in.o->n);
        for (uint32_t i = 0; i < in.o->n; i++)
            keys = jv_push(&q->C, keys, jv_push(&q->C, jv_array(&q->C, 1), jv_copy(in.o->at[i].value)));
        return jq_refuse_two(q, in, keys, "cannot be sorted, as they are not both arrays");
    }
    in = fn_sort(q, in, args);
    if (in.kind == J_INVALID) return in;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < in.a->n; i++) {
        if (kept && jv_equal(&q->C, in.a->at[kept - 1], in.a->at[i])) jv_drop(&q->C, in.a->at[i]);
        else in.a->at[kept++] = in.a->at[i];
    }
    in.a->n = kept;
    return in;
}

static jv extreme(jq *q, jv in, int sign) {
    if (in.kind != J_ARRAY) return jq_refuse_two(q, in, jv_copy(in), "cannot be iterated over");
    jv best = jv_null();
    for (uint32_t i = 0; i < in.a->n; i++) {
        int order = i ? jv_compare(&q->C, in.a->at[i], best) * sign : 1;
        if (order > 0 || (order == 0 && sign > 0)) best = in.a->at[i];
    }
    best = jv_copy(best);
    jv_drop(&q->C, in);
    return best;
}
static jv fn_min(jq *q, jv in, jv *args) { (void)args; return extreme(q, in, -1); }
static jv fn_max(jq *q, jv in, jv *args) { (void)args; return extreme(q, in, 1); }

static jv fn_reverse(jq *q, jv in, jv *args) {
    (void)args;
    if (in.kind == J_NULL) return jv_array(&q->C, 0);
    if ((in.kind == J_STRING && !in.s->n) || (in.kind == J_OBJECT && !in.o->n)) { jv_drop(&q->C, in); return jv_array(&q->C, 0); }
    if (in.kind == J_STRING || in.kind == J_OBJECT) {
        jq_errorf(q, "Cannot index %s with number", jv_kind_name(in));
        jv_drop(&q->C, in);
        return jv_of(J_INVALID);
    }
    if (in.kind != J_ARRAY) {
        /* a number has a length, but no elements */
        int number = jv_is_number(in), none = number && jv_number(in) == 0;
        if (none) { jv_drop(&q->C, in); return jv_array(&q->C, 0); }
        if (!number) return jq_refuse(q, in, "has no length");
        jv_drop(&q->C, in);
        return jq_errorf(q, "Cannot index number with number");
    }
    jv made = jv_array(&q->C, in.a->n);
    for (uint32_t i = in.a->n; i-- > 0;) made = jv_push(&q->C, made, jv_copy(in.a->at[i]));
    jv_drop(&q->C, in);
    return made;
}

static jv flatten(jq *q, jv made, jv in, double depth) {
    uint32_t n = in.kind == J_ARRAY ? in.a->n : in.o->n;
    for (uint32_t i = 0; i < n; i++) {
        jv item = in.kind == J_ARRAY ? in.a->at[i] : in.o->at[i].value;
        if (item.kind == J_ARRAY && depth > 0 && q->C.depth < CONTAINER_DEEPEST) {
            q->C.depth++;
            made = flatten(q, made, item, depth - 1);
            q->C.depth--;
        }
        else made = jv_push(&q->C, made, jv_copy(item));
    }
    return made;
}

jv jq_fn_flatten(jq *q, jv in, jv *args) {
    double depth = args ? jv_number(args[0]) : 1e9;
    if (args && args[0].kind < J_NUMBER) depth = -1;        /* null and booleans are less than any number */
    if (args) jv_drop(&q->C, args[0]);
    if (depth >= 0 && in.kind < J_ARRAY) return jq_not_iterable(q, in);
    if (depth < 0) { jv_drop(&q->C, in); return jq_errorf(q, "flatten depth must not be negative"); }
    jv made = flatten(q, jv_array(&q->C, 0), in, depth);
    jv_drop(&q->C, in);
    return made;
}
static jv fn_flatten0(jq *q, jv in, jv *args) { (void)args; return jq_fn_flatten(q, in, NULL); }

static jv fn_setpath(jq *q, jv in, jv *args) {
    if (args[0].kind != J_ARRAY) {
        jv_drop(&q->C, in);
        jv_drop(&q->C, args[0]);
        jv_drop(&q->C, args[1]);
        return jq_errorf(q, "Path must be specified as an array");
    }
    jv r = jq_setpath(q, in, args[0], 0, args[1]);
    jv_drop(&q->C, args[0]);
    return r;
}
static jv fn_delpaths(jq *q, jv in, jv *args) {
    if (args[0].kind != J_ARRAY) {
        jv_drop(&q->C, in);
        jv_drop(&q->C, args[0]);
        return jq_errorf(q, "Paths must be specified as an array");
    }
    return jq_delpaths(q, in, args[0]);
}
static jv fn_error1(jq *q, jv in, jv *args) { jv_drop(&q->C, in); return jq_error(q, args[0]); }

static jv fn_from_entries(jq *q, jv in, jv *args) {
    (void)args;
    jctx *C = &q->C;
    if (in.kind != J_ARRAY) return jq_not_iterable(q, in);
    jv made = jv_object(C);
    for (uint32_t i = 0; i < in.a->n; i++) {
        jv e = in.a->at[i], *k = NULL, *v = NULL;
        static const char *const key_names[] = {"key", "Key", "name", "Name", "k", "K"}, *const value_names[]
                                                                                         = {"value", "Value", "v", "V"};
        if (e.kind != J_OBJECT && e.kind != J_NULL) {
            jv_drop(C, made);
            jq_errorf(q, "Cannot index %s with string \"key\"", jv_kind_name(e));
            jv_drop(C, in);
            return jv_of(J_INVALID);
        }
        for (size_t j = 0; j < 6 && !k && e.kind == J_OBJECT; j++) {
            k = jv_find(e, key_names[j], (uint32_t)strlen(key_names[j]));
            if (k && !jv_true(*k)) k = NULL;
        }
        for (size_t j = 0; j < 4 && !v && e.kind == J_OBJECT; j++) v = jv_find(e, value_names[j], (uint32_t)strlen(value_names[j]));
        jv name = k ? jv_copy(*k) : jv_null();
        if (name.kind != J_STRING) {
            jv text = jq_error_text(q, name);
            jq_errorf(q, "Cannot use %s (%s) as object key", jv_kind_name(name), text.s->text);
            jv_drop(C, text); jv_drop(C, name); jv_drop(C, made); jv_drop(C, in);
            return jv_of(J_INVALID);
        }
        made = jv_set(C, made, name.s, v ? jv_copy(*v) : jv_null());
        jv_drop(C, name);
    }
    jv_drop(C, in);
    return made;
}

static jv fn_transpose(jq *q, jv in, jv *args) {
    (void)args;
    jctx *C = &q->C;
    if (in.kind != J_ARRAY) return jq_not_iterable(q, in);
    uint32_t most = 0;
    for (uint32_t i = 0; i < in.a->n; i++) {
        jv row = in.a->at[i];
        if (row.kind == J_ARRAY && row.a->n > most) most = row.a->n;
        if (row.kind == J_ARRAY || row.kind == J_NULL) continue;
        if (row.kind == J_TRUE || row.kind == J_FALSE) { jv_drop(C, in); return jq_refuse(q, row, "has no length"); }
        jq_errorf(q, "Cannot index %s with number", jv_kind_name(row));
        jv_drop(C, in);
        return jv_of(J_INVALID);
    }
    jv made = jv_array(C, most);
    for (uint32_t j = 0; j < most; j++) {
        jv row = jv_array(C, in.a->n);
        for (uint32_t i = 0; i < in.a->n; i++)
            row = jv_push(
                C, row, in.a->at[i].kind == J_ARRAY && j < in.a->at[i].a->n ? jv_copy(in.a->at[i].a->at[j]) : jv_null());
        made = jv_push(C, made, row);
    }
    jv_drop(C, in);
    return made;
}

static jv fn_toarray(jq *q, jv in, jv *args) {
    (void)args;
    return in.kind == J_ARRAY ? in : jv_push(&q->C, jv_array(&q->C, 1), in);
}
static jv fn_builtins(jq *q, jv in, jv *args) { (void)args; jv_drop(&q->C, in); return jv_array(&q->C, 0); }

jfunc *jq_func_named(const char *name, int arity, int *single) {
    static const struct {
        const char *name;
        int arity;
        jfunc *fn;
    } table[] = {{"not", 0, fn_not}, {"null", 0, fn_null}, {"true", 0, fn_true}, {"false", 0, fn_false}, {"type", 0, fn_type},
        {"infinite", 0, fn_infinite}, {"nan", 0, fn_nan}, {"length", 0, fn_length}, {"utf8bytelength", 0, fn_utf8bytelength},
        {"keys", 0, fn_keys}, {"keys_unsorted", 0, fn_keys_unsorted}, {"has", 1, fn_has}, {"contains", 1, fn_contains},
        {"add", 0, fn_add}, {"sort", 0, fn_sort}, {"unique", 0, fn_unique}, {"min", 0, fn_min}, {"max", 0, fn_max},
        {"reverse", 0, fn_reverse}, {"flatten", 0, fn_flatten0}, {"flatten", 1, jq_fn_flatten}, {"setpath", 2, fn_setpath},
        {"delpaths", 1, fn_delpaths}, {"error", 1, fn_error1}, {"from_entries", 0, fn_from_entries},
        {"transpose", 0, fn_transpose}, {"toarray", 0, fn_toarray},
        {"builtins", 0, fn_builtins}, {"_match_impl", 3, jq_fn_match}, {"get_search_list", 0, fn_builtins},
        {"have_decnum", 0, fn_true}, {"have_literal_numbers", 0, fn_true}};
    *single = 1;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].arity == arity && !strcmp(table[i].name, name)) return table[i].fn;
    jfunc *fn = jq_text_func(name, arity);
    if (!fn) fn = jq_math_func(name, arity);
    if (!fn) fn = jq_outside_func(name, arity);
    return fn ? fn : jq_time_func(name, arity);
}
