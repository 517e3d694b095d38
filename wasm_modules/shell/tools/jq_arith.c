/* jq_arith.c - jq's operators + - * / % on all kinds of values, and the messages when they do not fit. */
#include "jq.h"
#include "../utf8.h"
#include <math.h>
#include <string.h>

enum { CONTAINER_DEEPEST = 1500 };                  /* how deep objects are merged; each level is a C call */

enum { DOTS = 3 };

static jv cut_text(jq *q, jv v, size_t most) {
    jv s = json_text(&q->C, v);
    if (s.s->n <= most) return s;
    /* not inside a character */
    size_t n = most - DOTS;
    while (n && ((unsigned char)s.s->text[n] & 0xC0) == 0x80) n--;
    jv cut = jv_format(&q->C, "%.*s...", (int)n, s.s->text);
    jv_drop(&q->C, s);
    return cut;
}

jv jq_error_text(jq *q, jv v) { return cut_text(q, v, 14); }
jv jq_path_error_text(jq *q, jv v) { return cut_text(q, v, 29); }

jv jq_refuse_two(jq *q, jv a, jv b, const char *what) {
    jv x = jq_error_text(q, a), y = jq_error_text(q, b);
    jq_errorf(q, "%s (%s) and %s (%s) %s", jv_kind_name(a), x.s->text, jv_kind_name(b), y.s->text, what);
    jv_drop(&q->C, x);
    jv_drop(&q->C, y);
    jv_drop(&q->C, a);
    jv_drop(&q->C, b);
    return jv_of(J_INVALID);
}

jv jq_refuse(jq *q, jv v, const char *what) {
    jv x = jq_error_text(q, v);
    jq_errorf(q, "%s (%s) %s", jv_kind_name(v), x.s->text, what);
    jv_drop(&q->C, x);
    jv_drop(&q->C, v);
    return jv_of(J_INVALID);
}

jv jq_not_iterable(jq *q, jv v) {
    jv text = jq_error_text(q, v);
    jq_errorf(q, "Cannot iterate over %s (%s)", jv_kind_name(v), text.s->text);
    jv_drop(&q->C, text);
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
        while (p < end) {
            int c, n = utf8_decode(p, (size_t)(end - p), &c);
            made = jv_push(&q->C, made, jv_text(&q->C, p, (size_t)n));
            p += n;
        }
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
        if ((op == '/' || op == '%') && (op == '/' ? y == 0 : !(fabs(y) >= 1) && y == y))
            return jq_refuse_two(q, a, b,
                op == '/' ? "cannot be divided because the divisor is zero"
                          : "cannot be divided (remainder) because the divisor is zero");
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
        return jq_refuse_two(q, a, b, "cannot be added");
    case '-':
        if (a.kind == J_ARRAY && b.kind == J_ARRAY) return subtract(q, a, b);
        return jq_refuse_two(q, a, b, "cannot be subtracted");
    case '*': {
        if (a.kind == J_STRING && jv_is_number(b)) { double n = jv_number(b); jv_drop(&q->C, b); return repeat_text(q, a, n); }
        if (b.kind == J_STRING && jv_is_number(a)) { double n = jv_number(a); jv_drop(&q->C, a); return repeat_text(q, b, n); }
        if (a.kind == J_OBJECT && b.kind == J_OBJECT) return merge(q, a, b, 1);
        return jq_refuse_two(q, a, b, "cannot be multiplied");
    }
    case '/':
        if (a.kind == J_STRING && b.kind == J_STRING) return split_text(q, a, b);
        return jq_refuse_two(q, a, b, "cannot be divided");
    }
    return jq_refuse_two(q, a, b, "cannot be divided (remainder)");
}
