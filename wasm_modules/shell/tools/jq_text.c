/* jq_text.c - jq's functions on strings, and conversions. The @formats are jq_format.c. */
#include "jq.h"
#include "../utf8.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

jv jq_tostring(jq *q, jv v) {
    if (v.kind == J_STRING) return v;
    jv s = json_text(&q->C, v);
    jv_drop(&q->C, v);
    return s;
}

static jv fn_tostring(jq *q, jv in, jv *args) { (void)args; return jq_tostring(q, in); }
static jv fn_tojson(jq *q, jv in, jv *args) { (void)args; jv s = json_text(&q->C, in); jv_drop(&q->C, in); return s; }

/* The one value that text holds, or an error as jq words it. Takes over in, a string. */
static jv parse_whole(jq *q, jv in) {
    json_reader r;
    json_reader_start(&r, &q->C, in.s->text, in.s->n);
    jv v = json_next(&r);
    if (v.kind != J_INVALID) {
        jv more = json_next(&r);
        if (more.kind != J_INVALID || r.error) {
            jv_drop(&q->C, v);
            v = jv_of(J_INVALID);
            if (more.kind != J_INVALID) {
                jv_drop(&q->C, more);
                jq_errorf(q, "Unexpected extra JSON values (while parsing '%s')", in.s->text);
            }
        }
    } else if (!r.error) jq_errorf(q, "Expected JSON value (while parsing '%s')", in.s->text);
    if (v.kind == J_INVALID && r.error) {
        jv fault = json_fault_text(&r);
        jq_errorf(q, "%s (while parsing '%s')", fault.s->text, in.s->text);
        jv_drop(&q->C, fault);
    }
    jv_drop(&q->C, in);
    return v;
}

static jv fn_tonumber(jq *q, jv in, jv *args) {
    (void)args;
    if (jv_is_number(in)) return in;
    if (in.kind != J_STRING) return jq_refuse(q, in, "cannot be parsed as a number");
    jv text = jv_copy(in), v = parse_whole(q, in);
    if (v.kind == J_INVALID || jv_is_number(v)) { jv_drop(&q->C, text); return v; }
    jv_drop(&q->C, v);
    return jq_refuse(q, text, "cannot be parsed as a number");
}

static jv fn_fromjson(jq *q, jv in, jv *args) {
    (void)args;
    return in.kind == J_STRING ? parse_whole(q, in) : jq_refuse(q, in, "only strings can be parsed");
}

static jv change_case(jq *q, jv in, int upper) {
    if (in.kind != J_STRING) { jv_drop(&q->C, in); return jq_errorf(q, "explode input must be a string"); }
    jv s = jv_text(&q->C, in.s->text, in.s->n);
    for (uint32_t i = 0; i < s.s->n; i++) {
        char c = s.s->text[i];
        if (upper ? c >= 'a' && c <= 'z' : c >= 'A' && c <= 'Z') s.s->text[i] = (char)(c ^ 32);
    }
    jv_drop(&q->C, in);
    return s;
}
static jv fn_ascii_downcase(jq *q, jv in, jv *args) { (void)args; return change_case(q, in, 0); }
static jv fn_ascii_upcase(jq *q, jv in, jv *args) { (void)args; return change_case(q, in, 1); }

static jv fn_explode(jq *q, jv in, jv *args) {
    (void)args;
    if (in.kind != J_STRING) { jv_drop(&q->C, in); return jq_errorf(q, "explode input must be a string"); }
    jv a = jv_array(&q->C, in.s->n);
    for (uint32_t i = 0; i < in.s->n;) {
        int c, n = utf8_decode(in.s->text + i, in.s->n - i, &c);
        a = jv_push(&q->C, a, jv_num(c < 0 ? 0xFFFD : c));
        i += (uint32_t)n;
    }
    jv_drop(&q->C, in);
    return a;
}

static jv fn_implode(jq *q, jv in, jv *args) {
    (void)args;
    if (in.kind != J_ARRAY) { jv_drop(&q->C, in); return jq_errorf(q, "implode input must be an array"); }
    buffer b = {.t = q->t};
    for (uint32_t i = 0; i < in.a->n; i++) {
        char bytes[4];
        if (!jv_is_number(in.a->at[i]) || jv_number(in.a->at[i]) != jv_number(in.a->at[i])) {
            jv bad = jv_copy(in.a->at[i]);
            buffer_free(&b);
            jv_drop(&q->C, in);
            return jq_refuse(q, bad, "can't be imploded, unicode codepoint needs to be numeric");
        }
        buffer_add(&b, bytes, (size_t)utf8_encode((int)jv_number(in.a->at[i]), bytes));
    }
    return jq_finish(q, &b, in);
}

static int at_start(jv s, jv x) {
    return s.kind == J_STRING && x.kind == J_STRING && s.s->n >= x.s->n && !memcmp(s.s->text, x.s->text, x.s->n);
}
static int at_end(jv s, jv x) {
    return s.kind == J_STRING && x.kind == J_STRING && s.s->n >= x.s->n
           && !memcmp(s.s->text + s.s->n - x.s->n, x.s->text, x.s->n);
}

static jv need_strings(jq *q, jv in, jv *args, const char *name) {
    jv_drop(&q->C, in);
    jv_drop(&q->C, args[0]);
    return jq_errorf(q, "%s() requires string inputs", name);
}
static jv fn_startswith(jq *q, jv in, jv *args) {
    if (in.kind != J_STRING || args[0].kind != J_STRING) return need_strings(q, in, args, "startswith");
    int yes = at_start(in, args[0]);
    jv_drop(&q->C, in); jv_drop(&q->C, args[0]);
    return jv_bool(yes);
}
static jv fn_endswith(jq *q, jv in, jv *args) {
    if (in.kind != J_STRING || args[0].kind != J_STRING) return need_strings(q, in, args, "endswith");
    int yes = at_end(in, args[0]);
    jv_drop(&q->C, in); jv_drop(&q->C, args[0]);
    return jv_bool(yes);
}
static jv fn_ltrimstr(jq *q, jv in, jv *args) {
    jv r = at_start(in, args[0]) ? jv_text(&q->C, in.s->text + args[0].s->n, in.s->n - args[0].s->n) : jv_copy(in);
    jv_drop(&q->C, in); jv_drop(&q->C, args[0]);
    return r;
}
static jv fn_rtrimstr(jq *q, jv in, jv *args) {
    jv r = at_end(in, args[0]) ? jv_text(&q->C, in.s->text, in.s->n - args[0].s->n) : jv_copy(in);
    jv_drop(&q->C, in); jv_drop(&q->C, args[0]);
    return r;
}
static jv trim(jq *q, jv in, int sides) {
    if (in.kind != J_STRING) return jq_refuse(q, in, "trim input must be a string");
    size_t a = 0, b = in.s->n;
    if (sides & 1) while (a < b && isspace((unsigned char)in.s->text[a])) a++;
    if (sides & 2) while (b > a && isspace((unsigned char)in.s->text[b - 1])) b--;
    jv r = jv_text(&q->C, in.s->text + a, b - a);
    jv_drop(&q->C, in);
    return r;
}
static jv fn_trim(jq *q, jv in, jv *args) { (void)args; return trim(q, in, 3); }
static jv fn_ltrim(jq *q, jv in, jv *args) { (void)args; return trim(q, in, 1); }
static jv fn_rtrim(jq *q, jv in, jv *args) { (void)args; return trim(q, in, 2); }

static jv fn_split1(jq *q, jv in, jv *args) {
    if (in.kind != J_STRING || args[0].kind != J_STRING) {
        jv_drop(&q->C, in);
        jv_drop(&q->C, args[0]);
        return jq_errorf(q, "split input and separator must be strings");
    }
    return jq_arith(q, '/', in, args[0]);
}

static jv fn_join(jq *q, jv in, jv *args) {
    if (in.kind < J_ARRAY) { jv_drop(&q->C, args[0]); return jq_not_iterable(q, in); }
    jv by = args[0];
    uint32_t count = in.kind == J_ARRAY ? in.a->n : in.o->n;
    if (!count) { jv_drop(&q->C, in); jv_drop(&q->C, by); return jv_cstr(&q->C, ""); }
    buffer b = {.t = q->t};
    for (uint32_t i = 0; i < count; i++) {
        jv x = in.kind == J_ARRAY ? in.a->at[i] : in.o->at[i].value;
        if (i && by.kind == J_STRING) buffer_add(&b, by.s->text, by.s->n);
        else if (i && by.kind != J_NULL) {
            jv so_far = jv_text(&q->C, b.p ? b.p : "", b.n);
            buffer_free(&b);
            jv_drop(&q->C, in);
            return jq_refuse_two(q, so_far, by, "cannot be added");
        }
        if (x.kind == J_STRING) buffer_add(&b, x.s->text, x.s->n);
        else if (x.kind == J_NULL) { /* nothing */ }
        else if (x.kind < J_STRING) { jv s = json_text(&q->C, x); buffer_add(&b, s.s->text, s.s->n); jv_drop(&q->C, s); }
        else {
            jv so_far = jv_text(&q->C, b.p ? b.p : "", b.n), bad = jv_copy(x);
            buffer_free(&b);
            jv_drop(&q->C, in); jv_drop(&q->C, by);
            return jq_refuse_two(q, so_far, bad, "cannot be added");
        }
    }
    jv_drop(&q->C, by);
    return jq_finish(q, &b, in);
}

/* Positions of a string in a string, in bytes. */
static jv fn_strindices(jq *q, jv in, jv *args) {
    jv a = jv_array(&q->C, 0), x = args[0];
    if (in.kind == J_STRING && x.kind == J_STRING && x.s->n) {
        for (uint32_t i = 0; i + x.s->n <= in.s->n; i++)
            if (!memcmp(in.s->text + i, x.s->text, x.s->n)) a = jv_push(&q->C, a, jv_num(i));
    }
    jv_drop(&q->C, in);
    jv_drop(&q->C, x);
    return a;
}

static jv fn_ascii(jq *q, jv in, jv *args) {
    (void)args;
    char c = (char)jv_number(in);
    jv_drop(&q->C, in);
    return jv_text(&q->C, &c, 1);
}

jfunc *jq_text_func(const char *name, int arity) {
    static const struct {
        const char *name;
        int arity;
        jfunc *fn;
    } table[] = {{"tostring", 0, fn_tostring}, {"tojson", 0, fn_tojson}, {"tonumber", 0, fn_tonumber},
        {"fromjson", 0, fn_fromjson}, {"ascii_downcase", 0, fn_ascii_downcase}, {"ascii_upcase", 0, fn_ascii_upcase},
        {"explode", 0, fn_explode}, {"implode", 0, fn_implode}, {"startswith", 1, fn_startswith}, {"endswith", 1, fn_endswith},
        {"ltrimstr", 1, fn_ltrimstr}, {"rtrimstr", 1, fn_rtrimstr}, {"trim", 0, fn_trim}, {"ltrim", 0, fn_ltrim},
        {"rtrim", 0, fn_rtrim}, {"split", 1, fn_split1}, {"join", 1, fn_join}, {"_strindices", 1, fn_strindices},
        {"format", 1, jq_fn_format}, {"ascii", 0, fn_ascii}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].arity == arity && !strcmp(table[i].name, name)) return table[i].fn;
    return NULL;
}
