/* jq_func.c - arithmetic, and built-in functions on numbers, arrays and objects. */
#include "jq.h"
#include "../utf8.h"
#include <math.h>
#include <string.h>

/* How deep functions on nested containers go; each level is a C call. */
enum { CONTAINER_DEEPEST = 1500 };

jv jq_error_text(jq *q, jv v) {
    jv s = json_text(&q->C, v);
    if (s.s->n <= 11) return s;
    /* cut to 11 bytes, not inside a character */
    size_t n = 10;
    while (n && ((unsigned char)s.s->text[n] & 0xC0) == 0x80) n--;
    jv cut = jv_format(&q->C, "%.*s...", (int)n, s.s->text);
    jv_drop(&q->C, s);
    return cut;
}

static jv cannot(jq *q, jv a, jv b, const char *what) {
    jv x = jq_error_text(q, a), y = jq_error_text(q, b);
    jq_errorf(q, "%s (%s) and %s (%s) cannot be %s", jv_kind_name(a), x.s->text, jv_kind_name(b), y.s->text, what);
    jv_drop(&q->C, x); jv_drop(&q->C, y); jv_drop(&q->C, a); jv_drop(&q->C, b);
    return jv_of(J_INVALID);
}

static jv refuse(jq *q, jv v, const char *what) {
    jv x = jq_error_text(q, v);
    jq_errorf(q, "%s (%s) %s", jv_kind_name(v), x.s->text, what);
    jv_drop(&q->C, x);
    jv_drop(&q->C, v);
    return jv_of(J_INVALID);
}

static jv merge(jq *q, jv a, jv b, int deep) {
    for (uint32_t i = 0; i < b.o->n && a.kind != J_INVALID; i++) {
        jv v = jv_copy(b.o->at[i].value);
        jv *old = deep && v.kind == J_OBJECT ? jv_find_key(a, b.o->at[i].key) : NULL;
        if (old && old->kind == J_OBJECT && !tool_too_deep(q->t)) v = merge(q, jv_copy(*old), v, 1);
        a = jv_set(&q->C, a, b.o->at[i].key, v);
    }
    jv_drop(&q->C, b);
    return a;
}

static jv repeat_text(jq *q, jv s, double n) {
    if (n < 0 || n != n) { jv_drop(&q->C, s); return jv_null(); }
    if (n > 0 && n < 1) n = 1;
    double total = s.s->n * floor(n);
    if (total > 200e6) { jv_drop(&q->C, s); return jq_errorf(q, "Repeat string result too long"); }
    size_t times = (size_t)n;
    jv made = jv_room(&q->C, s.s->n * times);
    for (size_t i = 0; i < times; i++) memcpy(made.s->text + i * s.s->n, s.s->text, s.s->n);
    jv_drop(&q->C, s);
    return made;
}

static jv split_text(jq *q, jv s, jv by) {
    jv made = jv_array(&q->C, 0);
    const char *p = s.s->text, *end = p + s.s->n;
    if (!s.s->n) { /* no pieces */ }
    else if (!by.s->n) {
        while (p < end) { int c, n = utf8_decode(p, (size_t)(end - p), &c); made = jv_push(&q->C, made, jv_text(&q->C, p, (size_t)n)); p += n; }
    } else for (;;) {
        const char *at = p;
        for (; at + by.s->n <= end && memcmp(at, by.s->text, by.s->n); at++) {}
        if (at + by.s->n > end) { made = jv_push(&q->C, made, jv_text(&q->C, p, (size_t)(end - p))); break; }
        made = jv_push(&q->C, made, jv_text(&q->C, p, (size_t)(at - p)));
        p = at + by.s->n;
    }
    jv_drop(&q->C, s);
    jv_drop(&q->C, by);
    return made;
}

static jv subtract(jq *q, jv a, jv b) {
    jv made = jv_array(&q->C, a.a->n);
    for (uint32_t i = 0; i < a.a->n; i++) {
        int found = 0;
        for (uint32_t j = 0; j < b.a->n && !found; j++) found = jv_equal(&q->C, a.a->at[i], b.a->at[j]);
        if (!found) made = jv_push(&q->C, made, jv_copy(a.a->at[i]));
    }
    jv_drop(&q->C, a);
    jv_drop(&q->C, b);
    return made;
}

jv jq_arith(jq *q, int op, jv a, jv b) {
    if (jv_is_number(a) && jv_is_number(b)) {
        double x = jv_number(a), y = jv_number(b);
        if ((op == '/' || op == '%') && (op == '/' ? y == 0 : !(fabs(y) >= 1) && y == y)) return cannot(q, a, b, op == '/' ? "divided because the divisor is zero" : "divided (remainder) because the divisor is zero");
        jv_drop(&q->C, a);
        jv_drop(&q->C, b);
        switch (op) {
        case '+': return jv_num(x + y);
        case '-': return jv_num(x - y);
        case '*': return jv_num(x * y);
        case '/': return jv_num(x / y);
        default: {
            if (x != x || y != y) return jv_num(NAN);
            double big = 9223372036854775807.0;
            long long i = x >= big ? 9223372036854775807LL : x <= -big ? -9223372036854775807LL - 1 : (long long)x;
            long long j = y >= big ? 9223372036854775807LL : y <= -big ? -9223372036854775807LL - 1 : (long long)y;
            if (j == -1) return jv_num(0);
            return jv_num((double)(i % (j < 0 ? -j : j)));
        }
        }
    }
    switch (op) {
    case '+':
        if (a.kind == J_NULL) return b;
        if (b.kind == J_NULL) return a;
        if (a.kind == b.kind && (a.kind == J_STRING || a.kind == J_ARRAY)) return jv_concat(&q->C, a, b);
        if (a.kind == J_OBJECT && b.kind == J_OBJECT) return merge(q, a, b, 0);
        return cannot(q, a, b, "added");
    case '-':
        if (a.kind == J_ARRAY && b.kind == J_ARRAY) return subtract(q, a, b);
        return cannot(q, a, b, "subtracted");
    case '*': {
        if (a.kind == J_STRING && jv_is_number(b)) { double n = jv_number(b); jv_drop(&q->C, b); return repeat_text(q, a, n); }
        if (b.kind == J_STRING && jv_is_number(a)) { double n = jv_number(a); jv_drop(&q->C, a); return repeat_text(q, b, n); }
        if (a.kind == J_OBJECT && b.kind == J_OBJECT) return merge(q, a, b, 1);
        return cannot(q, a, b, "multiplied");
    }
    case '/':
        if (a.kind == J_STRING && b.kind == J_STRING) return split_text(q, a, b);
        return cannot(q, a, b, "divided");
    }
    return cannot(q, a, b, "divided");
}

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
    default: return refuse(q, in, "has no length");
    }
    jv_drop(&q->C, in);
    return jv_num(n);
}

static jv fn_utf8bytelength(jq *q, jv in, jv *args) {
    (void)args;
    if (in.kind != J_STRING) return refuse(q, in, "only strings have UTF-8 byte length");
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
    } else return refuse(q, in, "has no keys");
    jv_drop(&q->C, in);
    return keys;
}
static jv fn_keys(jq *q, jv in, jv *args) { (void)args; return keys_of(q, in, 1); }
static jv fn_keys_unsorted(jq *q, jv in, jv *args) { (void)args; return keys_of(q, in, 0); }

static jv fn_has(jq *q, jv in, jv *args) {
    jv key = args[0];
    int yes;
    if (in.kind == J_OBJECT && key.kind == J_STRING) yes = jv_find_key(in, key.s) != NULL;
    else if (in.kind == J_ARRAY && jv_is_number(key)) yes = jv_number(key) >= 0 && jv_number(key) < in.a->n;
    else {
        jq_errorf(q, "Cannot check whether %s has a %s key", jv_kind_name(in), key.kind == J_STRING ? "string" : jv_kind_name(key));
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
    jkind x = in.kind == J_LITERAL ? J_NUMBER : in.kind == J_TRUE ? J_FALSE : in.kind, y = args[0].kind == J_LITERAL ? J_NUMBER : args[0].kind == J_TRUE ? J_FALSE : args[0].kind;
    if (x != y) {
        jv a = jq_error_text(q, in), b = jq_error_text(q, args[0]);
        jq_errorf(q, "%s (%s) and %s (%s) cannot have their containment checked", jv_kind_name(in), a.s->text, jv_kind_name(args[0]), b.s->text);
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
    for (uint32_t i = 0; i < n && sum.kind != J_INVALID; i++) sum = jq_arith(q, '+', sum, jv_copy(in.kind == J_ARRAY ? in.a->at[i] : in.o->at[i].value));
    jv_drop(&q->C, in);
    return sum;
}

static jv fn_sort(jq *q, jv in, jv *args) {
    (void)args;
    if (in.kind != J_ARRAY) return refuse(q, in, "cannot be sorted, as it is not an array");
    in = jv_own(&q->C, in);
    jv_sort(&q->C, in.a->at, in.a->n);
    return in;
}

static jv fn_unique(jq *q, jv in, jv *args) {
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
    if (in.kind != J_ARRAY) return refuse(q, in, "cannot be iterated over");
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
    if (in.kind == J_STRING && !in.s->n) { jv_drop(&q->C, in); return jv_array(&q->C, 0); }
    if (in.kind == J_STRING || in.kind == J_OBJECT) { jq_errorf(q, "Cannot index %s with number", jv_kind_name(in)); jv_drop(&q->C, in); return jv_of(J_INVALID); }
    if (in.kind != J_ARRAY) return refuse(q, in, "cannot be reversed, as it is not an array");
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
    if (args) jv_drop(&q->C, args[0]);
    if (in.kind < J_ARRAY) return refuse(q, in, "cannot be iterated over");
    if (depth < 0) { jv_drop(&q->C, in); return jq_errorf(q, "flatten depth must not be negative"); }
    jv made = flatten(q, jv_array(&q->C, 0), in, depth);
    jv_drop(&q->C, in);
    return made;
}
static jv fn_flatten0(jq *q, jv in, jv *args) { (void)args; return jq_fn_flatten(q, in, NULL); }

static jv fn_setpath(jq *q, jv in, jv *args) {
    if (args[0].kind != J_ARRAY) { jv_drop(&q->C, in); jv_drop(&q->C, args[0]); jv_drop(&q->C, args[1]); return jq_errorf(q, "Path must be specified as an array"); }
    jv r = jq_setpath(q, in, args[0], 0, args[1]);
    jv_drop(&q->C, args[0]);
    return r;
}
static jv fn_delpaths(jq *q, jv in, jv *args) {
    if (args[0].kind != J_ARRAY) { jv_drop(&q->C, in); jv_drop(&q->C, args[0]); return jq_errorf(q, "Paths must be specified as an array"); }
    return jq_delpaths(q, in, args[0]);
}
static jv fn_error1(jq *q, jv in, jv *args) { jv_drop(&q->C, in); return jq_error(q, args[0]); }

static jv fn_from_entries(jq *q, jv in, jv *args) {
    (void)args;
    jctx *C = &q->C;
    if (in.kind != J_ARRAY) return refuse(q, in, "cannot be iterated over");
    jv made = jv_object(C);
    for (uint32_t i = 0; i < in.a->n; i++) {
        jv e = in.a->at[i], *k = NULL, *v = NULL;
        static const char *const key_names[] = {"key", "Key", "name", "Name", "k", "K"}, *const value_names[] = {"value", "Value", "v", "V"};
        if (e.kind != J_OBJECT) {
            jv_drop(C, made);
            jq_errorf(q, "Cannot index %s with string \"key\"", jv_kind_name(e));
            jv_drop(C, in);
            return jv_of(J_INVALID);
        }
        for (size_t j = 0; j < 6 && !k; j++) {
            k = jv_find(e, key_names[j], (uint32_t)strlen(key_names[j]));
            if (k && !jv_true(*k)) k = NULL;
        }
        for (size_t j = 0; j < 4 && !v; j++) v = jv_find(e, value_names[j], (uint32_t)strlen(value_names[j]));
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
    if (in.kind != J_ARRAY) return refuse(q, in, "cannot be iterated over");
    uint32_t most = 0;
    for (uint32_t i = 0; i < in.a->n; i++) {
        jv row = in.a->at[i];
        if (row.kind == J_ARRAY && row.a->n > most) most = row.a->n;
        if (row.kind == J_ARRAY || row.kind == J_NULL) continue;
        jq_errorf(q, "Cannot index %s with number", jv_kind_name(row));
        jv_drop(C, in);
        return jv_of(J_INVALID);
    }
    jv made = jv_array(C, most);
    for (uint32_t j = 0; j < most; j++) {
        jv row = jv_array(C, in.a->n);
        for (uint32_t i = 0; i < in.a->n; i++) row = jv_push(C, row, in.a->at[i].kind == J_ARRAY && j < in.a->at[i].a->n ? jv_copy(in.a->at[i].a->at[j]) : jv_null());
        made = jv_push(C, made, row);
    }
    jv_drop(C, in);
    return made;
}

static jv fn_env(jq *q, jv in, jv *args) {
    (void)args;
    jv_drop(&q->C, in);
    if (q->env.kind != J_OBJECT) {
        q->env = jv_object(&q->C);
        for (char **e = q->t->environ ? q->t->environ(q->t) : NULL; e && *e; e++) {
            size_t n = strcspn(*e, "=");
            if (!(*e)[n]) continue;
            jv key = jv_text(&q->C, *e, n);
            q->env = jv_set(&q->C, q->env, key.s, jv_cstr(&q->C, *e + n + 1));
            jv_drop(&q->C, key);
        }
    }
    return jv_copy(q->env);
}

static jv fn_debug(jq *q, jv in, jv *args) {
    (void)args;
    jv s = json_text(&q->C, in);
    io_printf(q->t->err, "[\"DEBUG:\",%s]\n", s.s->text);
    jv_drop(&q->C, s);
    return in;
}
static jv fn_stderr(jq *q, jv in, jv *args) {
    (void)args;
    jv s = in.kind == J_STRING ? jv_copy(in) : json_text(&q->C, in);
    io_write(q->t->err, s.s->text, s.s->n);
    jv_drop(&q->C, s);
    return in;
}
static jv fn_halt(jq *q, jv in, jv *args) { (void)args; jv_drop(&q->C, in); q->halted = 1; q->halt_code = 0; return jq_error(q, jv_null()); }
static jv fn_halt_error1(jq *q, jv in, jv *args) {
    if (!jv_is_number(args[0])) { jv_drop(&q->C, in); jv_drop(&q->C, args[0]); return jq_errorf(q, "halt_error/1: number required"); }
    q->halted = 1;
    q->halt_code = (int)jv_number(args[0]);
    jv_drop(&q->C, args[0]);
    jv s = in.kind == J_STRING ? jv_copy(in) : json_text(&q->C, in);
    if (in.kind != J_NULL) io_write(q->t->err, s.s->text, s.s->n);
    if (in.kind != J_STRING && in.kind != J_NULL) io_putc(q->t->err, '\n');
    jv_drop(&q->C, s);
    jv_drop(&q->C, in);
    return jq_error(q, jv_null());
}
static jv fn_halt_error0(jq *q, jv in, jv *args) { jv five = jv_num(5); (void)args; return fn_halt_error1(q, in, &five); }
static jv fn_input_filename(jq *q, jv in, jv *args) { (void)args; jv_drop(&q->C, in); return q->file_name ? jv_cstr(&q->C, q->file_name) : q->reading ? jv_cstr(&q->C, "<stdin>") : jv_null(); }
static jv fn_input_line_number(jq *q, jv in, jv *args) {
    (void)args;
    jv_drop(&q->C, in);
    double n = 0;
    for (const char *p = q->reader.begin; p && p < q->reader.end && (p < q->reader.p || p[-1] != '\n'); p++) n += *p == '\n';
    return jv_num(n);
}
static jv fn_toarray(jq *q, jv in, jv *args) { (void)args; return in.kind == J_ARRAY ? in : jv_push(&q->C, jv_array(&q->C, 1), in); }
static jv fn_builtins(jq *q, jv in, jv *args) { (void)args; jv_drop(&q->C, in); return jv_array(&q->C, 0); }

#define MATH1(name, call) static jv math_##name(jq *q, jv in, jv *args) { (void)args; if (!jv_is_number(in)) return refuse(q, in, "number required"); double x = jv_number(in); jv_drop(&q->C, in); return jv_num(call); }
MATH1(floor, floor(x)) MATH1(ceil, ceil(x)) MATH1(round, round(x)) MATH1(sqrt, sqrt(x)) MATH1(fabs, fabs(x)) MATH1(trunc, trunc(x)) MATH1(rint, rint(x)) MATH1(nearbyint, nearbyint(x))
MATH1(exp, exp(x)) MATH1(exp2, exp2(x)) MATH1(exp10, pow(10, x)) MATH1(expm1, expm1(x)) MATH1(log, log(x)) MATH1(log2, log2(x)) MATH1(log10, log10(x)) MATH1(log1p, log1p(x)) MATH1(cbrt, cbrt(x))
MATH1(sin, sin(x)) MATH1(cos, cos(x)) MATH1(tan, tan(x)) MATH1(asin, asin(x)) MATH1(acos, acos(x)) MATH1(atan, atan(x)) MATH1(sinh, sinh(x)) MATH1(cosh, cosh(x)) MATH1(tanh, tanh(x))
MATH1(asinh, asinh(x)) MATH1(acosh, acosh(x)) MATH1(atanh, atanh(x)) MATH1(gamma, lgamma(x)) MATH1(tgamma, tgamma(x)) MATH1(logb, logb(x))
MATH1(significand, x == 0 || isinf(x) || x != x ? x : x / exp2(logb(x)))
#define TEST1(name, call) static jv test_##name(jq *q, jv in, jv *args) { (void)args; if (!jv_is_number(in)) return refuse(q, in, "number required"); double x = jv_number(in); jv_drop(&q->C, in); return jv_bool(call); }
TEST1(isinfinite, isinf(x)) TEST1(isnan, x != x) TEST1(isnormal, isnormal(x))
static jv fn_abs(jq *q, jv in, jv *args) { (void)args; if (!jv_is_number(in)) return in.kind > J_LITERAL ? in : refuse(q, in, "cannot be negated"); if (jv_number(in) >= 0) return in; double x = -jv_number(in); jv_drop(&q->C, in); return jv_num(x); }

static jv math2(jq *q, jv in, jv *args, double (*f)(double, double)) {
    jv_drop(&q->C, in);
    if (!jv_is_number(args[0]) || !jv_is_number(args[1])) {
        jv bad = jv_is_number(args[0]) ? args[1] : args[0];
        jv_drop(&q->C, jv_is_number(args[0]) ? args[0] : args[1]);
        return refuse(q, bad, "number required");
    }
    double x = jv_number(args[0]), y = jv_number(args[1]);
    jv_drop(&q->C, args[0]);
    jv_drop(&q->C, args[1]);
    return jv_num(f(x, y));
}
#define MATH2(name) static jv math_##name(jq *q, jv in, jv *args) { return math2(q, in, args, name); }
static double scale_by(double x, double n) { return ldexp(x, (int)n); }
MATH2(pow) MATH2(atan2) MATH2(fmod) MATH2(fmin) MATH2(fmax) MATH2(hypot) MATH2(copysign) MATH2(fdim) MATH2(nextafter)
static jv math_ldexp(jq *q, jv in, jv *args) { return math2(q, in, args, scale_by); }
static double remainder_of(double a, double b) { return remainder(a, b); }
static jv math_drem(jq *q, jv in, jv *args) { return math2(q, in, args, remainder_of); }

/* fma(x; y; z) */
static jv math_fma(jq *q, jv in, jv *args) {
    jv_drop(&q->C, in);
    int fine = jv_is_number(args[0]) && jv_is_number(args[1]) && jv_is_number(args[2]);
    double r = fma(jv_number(args[0]), jv_number(args[1]), jv_number(args[2]));
    for (int i = 0; i < 3; i++) jv_drop(&q->C, args[i]);
    return fine ? jv_num(r) : jq_errorf(q, "number required");
}

static jv fn_frexp(jq *q, jv in, jv *args) {
    (void)args;
    if (!jv_is_number(in)) return refuse(q, in, "number required");
    int e = 0;
    double m = frexp(jv_number(in), &e);
    jv_drop(&q->C, in);
    jv a = jv_push(&q->C, jv_array(&q->C, 2), jv_num(m));
    return jv_push(&q->C, a, jv_num(e));
}
static jv fn_modf(jq *q, jv in, jv *args) {
    (void)args;
    if (!jv_is_number(in)) return refuse(q, in, "number required");
    double whole, part = modf(jv_number(in), &whole);
    jv_drop(&q->C, in);
    jv a = jv_push(&q->C, jv_array(&q->C, 2), jv_num(part));
    return jv_push(&q->C, a, jv_num(whole));
}

jfunc *jq_func_named(const char *name, int arity, int *single) {
    static const struct { const char *name; int arity; jfunc *fn; } table[] = {{"not", 0, fn_not}, {"null", 0, fn_null}, {"true", 0, fn_true}, {"false", 0, fn_false}, {"type", 0, fn_type},
        {"infinite", 0, fn_infinite}, {"nan", 0, fn_nan}, {"length", 0, fn_length}, {"utf8bytelength", 0, fn_utf8bytelength}, {"keys", 0, fn_keys}, {"keys_unsorted", 0, fn_keys_unsorted},
        {"has", 1, fn_has}, {"contains", 1, fn_contains}, {"add", 0, fn_add}, {"sort", 0, fn_sort}, {"unique", 0, fn_unique}, {"min", 0, fn_min}, {"max", 0, fn_max}, {"reverse", 0, fn_reverse},
        {"flatten", 0, fn_flatten0}, {"flatten", 1, jq_fn_flatten}, {"setpath", 2, fn_setpath}, {"delpaths", 1, fn_delpaths}, {"error", 1, fn_error1}, {"from_entries", 0, fn_from_entries},
        {"transpose", 0, fn_transpose}, {"env", 0, fn_env}, {"debug", 0, fn_debug}, {"stderr", 0, fn_stderr}, {"halt", 0, fn_halt}, {"halt_error", 0, fn_halt_error0}, {"halt_error", 1, fn_halt_error1},
        {"input_filename", 0, fn_input_filename}, {"input_line_number", 0, fn_input_line_number}, {"toarray", 0, fn_toarray}, {"abs", 0, fn_abs}, {"builtins", 0, fn_builtins},
        {"floor", 0, math_floor}, {"ceil", 0, math_ceil}, {"round", 0, math_round}, {"sqrt", 0, math_sqrt}, {"fabs", 0, math_fabs}, {"trunc", 0, math_trunc}, {"rint", 0, math_rint},
        {"nearbyint", 0, math_nearbyint}, {"exp", 0, math_exp}, {"exp2", 0, math_exp2}, {"exp10", 0, math_exp10}, {"expm1", 0, math_expm1}, {"log", 0, math_log}, {"log2", 0, math_log2},
        {"log10", 0, math_log10}, {"log1p", 0, math_log1p}, {"cbrt", 0, math_cbrt}, {"sin", 0, math_sin}, {"cos", 0, math_cos}, {"tan", 0, math_tan}, {"asin", 0, math_asin}, {"acos", 0, math_acos},
        {"atan", 0, math_atan}, {"sinh", 0, math_sinh}, {"cosh", 0, math_cosh}, {"tanh", 0, math_tanh}, {"asinh", 0, math_asinh}, {"acosh", 0, math_acosh}, {"atanh", 0, math_atanh},
        {"gamma", 0, math_gamma}, {"lgamma", 0, math_gamma}, {"lgamma_r", 0, math_gamma}, {"tgamma", 0, math_tgamma}, {"logb", 0, math_logb}, {"significand", 0, math_significand},
        {"isinfinite", 0, test_isinfinite}, {"isnan", 0, test_isnan}, {"isnormal", 0, test_isnormal}, {"pow", 2, math_pow}, {"atan2", 2, math_atan2}, {"fmod", 2, math_fmod}, {"fmin", 2, math_fmin},
        {"fmax", 2, math_fmax}, {"hypot", 2, math_hypot}, {"copysign", 2, math_copysign}, {"fdim", 2, math_fdim}, {"nextafter", 2, math_nextafter}, {"ldexp", 2, math_ldexp}, {"scalb", 2, math_ldexp},
        {"scalbln", 2, math_ldexp}, {"drem", 2, math_drem}, {"remainder", 2, math_drem}, {"fma", 3, math_fma}, {"frexp", 0, fn_frexp}, {"modf", 0, fn_modf}, {"_match_impl", 3, jq_fn_match}, {"get_search_list", 0, fn_builtins}, {"have_decnum", 0, fn_true},
        {"have_literal_numbers", 0, fn_true}};
    *single = 1;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) if (table[i].arity == arity && !strcmp(table[i].name, name)) return table[i].fn;
    jfunc *fn = jq_text_func(name, arity);
    return fn ? fn : jq_time_func(name, arity);
}
