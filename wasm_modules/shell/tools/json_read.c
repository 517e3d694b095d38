/* json_read.c - from text to values, without recursion: open containers wait on a stack. NaN and Infinity are read as jq does. */
#include "json.h"
#include "../utf8.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void json_reader_start(json_reader *r, jctx *C, const char *text, size_t n) {
    memset(r, 0, sizeof *r);
    r->C = C;
    r->begin = r->p = text;
    r->end = text + n;
    if (n >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3)) r->p += 3;
}

static jv fail(json_reader *r, const char *message, const char *at) {
    r->error = message;
    r->line = 1;
    const char *line = r->begin;
    for (const char *p = r->begin; p < at && p < r->end; p++) if (*p == '\n') { r->line++; line = p + 1; }
    r->column = (int)(at - line);
    return jv_of(J_INVALID);
}

static int hex4(const char *p, const char *end) {
    int v = 0;
    if (end - p < 4) return -1;
    for (int i = 0; i < 4; i++) {
        int c = (unsigned char)p[i], d = c >= '0' && c <= '9'                 ? c - '0'
                                         : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                                              : -1;
        if (d < 0) return -1;
        v = v * 16 + d;
    }
    return v;
}

/* A string with escapes or bytes that are no UTF-8; p is after the quote, end at the closing one. */
static jv unescape(json_reader *r, const char *p, const char *stop) {
    buffer b = {.t = r->C->t};
    buffer_reserve(&b, (size_t)(stop - p));
    while (p < stop) {
        if (*p == '\\') {
            static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
            const char *at = strchr(from, p[1]);
            if (at && p[1]) { buffer_putc(&b, to[at - from]); p += 2; continue; }
            int c = p[1] == 'u' ? hex4(p + 2, stop) : -1;
            if (c < 0) return fail(r, "Invalid escape", stop + 1);
            p += 6;
            if (c >= 0xD800 && c < 0xDC00 && stop - p >= 6 && p[0] == '\\' && p[1] == 'u') {
                int low = hex4(p + 2, stop);
                if (low >= 0xDC00 && low < 0xE000) { c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00); p += 6; }
            } else if (c >= 0xD800 && c < 0xDC00) return fail(r, "Invalid escape", stop);
            char bytes[4];
            buffer_add(&b, bytes, (size_t)utf8_encode(c, bytes));
            continue;
        }
        int c, n = utf8_decode(p, (size_t)(stop - p), &c);
        if (c < 0) buffer_add(&b, "\xEF\xBF\xBD", 3); else buffer_add(&b, p, (size_t)n);
        p += n;
    }
    jv v = jv_text(r->C, b.p ? b.p : "", b.n);
    buffer_free(&b);
    return v;
}

static jv read_string(json_reader *r) {
    const char *start = ++r->p, *p = start;
    int plain = 1;
    for (; p < r->end && *p != '"'; p++) {
        if (*p == '\\') { plain = 0; p++; }
        else if ((unsigned char)*p < 32) return fail(r, "Invalid string", p);
    }
    if (p >= r->end) return fail(r, "Unfinished string", r->end);
    r->p = p + 1;
    if (plain && utf8_valid(start, (size_t)(p - start))) return jv_text(r->C, start, (size_t)(p - start));
    return unescape(r, start, p);
}

enum { EXPONENT_MAX = 999999999 };   /* decNumber's */

/* The text decNumber would print for digits.digits E exponent: jq 1.7 shows literals that way. */
static jv literal(jctx *C, const char *text, size_t n, double value) {
    char digits[512];
    size_t count = 0;
    long exponent = 0;
    int negative = *text == '-', seen_dot = 0;
    const char *p = text + (negative || *text == '+'), *end = text + n;
    for (; p < end && *p != 'e' && *p != 'E'; p++) {
        if (*p == '.') { seen_dot = 1; continue; }
        if (seen_dot) exponent--;
        if (!count && *p == '0') continue;
        if (count < sizeof digits) digits[count++] = *p;
        else return jv_num(value);
    }
    if (p < end) {
        long written = strtol(p + 1, NULL, 10);
        exponent += written > EXPONENT_MAX ? EXPONENT_MAX : written < -EXPONENT_MAX ? -EXPONENT_MAX : written;
    }
    if (!count) digits[count++] = '0';
    buffer b = {.t = C->t};
    if (negative) buffer_putc(&b, '-');
    long adjusted = exponent + (long)count - 1;
    if (exponent <= 0 && adjusted >= -6) {
        long point = (long)count + exponent;
        if (point <= 0) {
            buffer_puts(&b, "0.");
            for (long i = point; i < 0; i++) buffer_putc(&b, '0');
            buffer_add(&b, digits, count);
        } else {
            buffer_add(&b, digits, (size_t)point);
            if (exponent) { buffer_putc(&b, '.'); buffer_add(&b, digits + point, count - (size_t)point); }
        }
    } else {
        buffer_putc(&b, digits[0]);
        if (count > 1) { buffer_putc(&b, '.'); buffer_add(&b, digits + 1, count - 1); }
        buffer_printf(&b, "E%+ld", adjusted);
    }
    jv v = jv_text(C, b.p, b.n);
    v.kind = J_LITERAL;
    v.s->number = value;
    buffer_free(&b);
    return v;
}

static int token_char(int c) { return isalnum(c) || c == '.' || c == '+' || c == '-' || c == '_'; }

static jv read_number(json_reader *r) {
    const char *start = r->p, *p = start;
    int digits = 0, exponent = 0, dot = 0;
    if (p < r->end && (*p == '-' || *p == '+')) p++;
    long long whole = 0;
    const char *first = p;
    for (; p < r->end && isdigit((unsigned char)*p); p++, digits++) if (digits < 17) whole = whole * 10 + (*p - '0');
    if (p < r->end && *p == '.') { dot = 1; for (p++; p < r->end && isdigit((unsigned char)*p); p++) digits++; }
    if (digits && p < r->end && (*p == 'e' || *p == 'E')) {
        const char *q = p + 1;
        if (q < r->end && (*q == '+' || *q == '-')) q++;
        if (q < r->end && isdigit((unsigned char)*q)) {
            exponent = 1;
            for (; q < r->end && isdigit((unsigned char)*q); q++) {}
            p = q;
        }
    }
    if (!digits || (p < r->end && token_char((unsigned char)*p))) return jv_of(J_INVALID);
    r->p = p;
    size_t n = (size_t)(p - start);
    if (!dot && !exponent && digits <= 15) {
        if (!whole && *start == '-') return literal(r->C, "-0", 2, -0.0);
        (void)first;
        return jv_num(*start == '-' ? -(double)whole : (double)whole);
    }
    char small[64], *text = small;
    if (n >= sizeof small) text = tool_alloc(r->C->t, n + 1);
    memcpy(text, start, n);
    text[n] = '\0';
    double value = strtod(text, NULL);
    if (text != small) tool_free(r->C->t, text);
    if (exponent || digits > 15 || (dot && (p[-1] == '0' || fabs(value) < 1e-4)) || p[-1] == '.')
        return literal(r->C, start, n, value);
    return jv_num(value);
}

static jv read_word(json_reader *r) {
    const char *start = r->p, *p = start;
    while (p < r->end && token_char((unsigned char)*p)) p++;
    size_t n = (size_t)(p - start);
    if (!n) return fail(r, "Invalid literal", start + 1);
    if (n == 4 && !memcmp(start, "true", 4)) { r->p = p; return jv_bool(1); }
    if (n == 4 && !memcmp(start, "null", 4)) { r->p = p; return jv_null(); }
    if (n == 5 && !memcmp(start, "false", 5)) { r->p = p; return jv_bool(0); }
    size_t sign = *start == '-', digits = sign + 3;
    while (n > digits && digits < n && isdigit((unsigned char)start[digits])) digits++;
    if (n == digits && !strncasecmp(start + sign, "nan", 3)) {
        r->p = p;
        return jv_num(NAN);
    }
    if (n == 8 && !memcmp(start, "Infinity", 8)) { r->p = p; return jv_num(INFINITY); }
    if (n == 9 && !memcmp(start, "-Infinity", 9)) { r->p = p; return jv_num(-INFINITY); }
    if (isdigit((unsigned char)*start) || *start == '-' || *start == '+' || *start == '.') {
        jv v = read_number(r);
        if (v.kind != J_INVALID) return v;
    }
    return fail(r,
        *start == 'n' || *start == 't' || *start == 'f' ? (n > 4 ? "Invalid literal" : "Invalid literal")
                                                        : "Invalid numeric literal",
        p < r->end ? p + 1 : p);
}

static void skip_space(json_reader *r) {
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\t' || *r->p == '\r' || (*r->p == 30 && r->seq))) r->p++;
}

static int push(json_reader *r, jv v) {
    if (r->depth >= JSON_DEEPEST) { jv_drop(r->C, v); fail(r, "Exceeds depth limit for parsing", r->p); return -1; }
    if (r->depth == r->cap) {
        r->cap = r->cap ? r->cap * 2 : 32;
        r->stack = tool_realloc(r->C->t, r->stack, (size_t)r->cap * sizeof *r->stack);
        r->keys = tool_realloc(r->C->t, r->keys, (size_t)r->cap * sizeof *r->keys);
    }
    r->stack[r->depth] = v;
    r->keys[r->depth++] = jv_of(J_INVALID);
    return 0;
}

void json_reader_abandon(json_reader *r) {
    while (r->depth) {
        jv_drop(r->C, r->keys[--r->depth]);
        jv_drop(r->C, r->stack[r->depth]);
    }
}

static jv abandon(json_reader *r) {
    if (!r->keep) json_reader_abandon(r);
    r->p = r->end;
    json_explain(r);
    return jv_of(J_INVALID);
}

/* The key and colon of the next member. */
static int read_key(json_reader *r) {
    skip_space(r);
    if (r->p >= r->end) { fail(r, "Unfinished JSON term", r->end); return -1; }
    if (*r->p != '"') {
        fail(r, *r->p == '}' ? "Objects must consist of key:value pairs" : "Object keys must be strings", r->p + 1);
        return -1;
    }
    jv key = read_string(r);
    if (key.kind == J_INVALID) return -1;
    skip_space(r);
    if (r->p >= r->end || *r->p != ':') {
        jv_drop(r->C, key);
        fail(r, r->p >= r->end ? "Unfinished JSON term" : "Objects must consist of key:value pairs", r->p + 1);
        return -1;
    }
    r->p++;
    r->keys[r->depth - 1] = key;
    return 0;
}

jv json_next(json_reader *r) {
    jctx *C = r->C;
    skip_space(r);
    if (r->p >= r->end || r->error) return jv_of(J_INVALID);
    for (;;) {
        skip_space(r);
        if (r->p >= r->end) { fail(r, "Unfinished JSON term", r->end); return abandon(r); }
        jv v;
        char c = *r->p;
        if (c == '{' || c == '[') {
            r->p++;
            if (push(r, c == '{' ? jv_object(C) : jv_array(C, 0)) < 0) return abandon(r);
            r->loose = 0;
            skip_space(r);
            if (r->p < r->end && *r->p == (c == '{' ? '}' : ']')) { r->p++; v = r->stack[--r->depth]; }
            else { if (c == '{' && read_key(r) < 0) return abandon(r); continue; }
        } else if (c == '"') v = read_string(r);
        else if ((c >= '0' && c <= '9')) { v = read_number(r); if (v.kind == J_INVALID) v = read_word(r); }
        else if (c == ']' || c == '}' || c == ',' || c == ':') {
            fail(r,
                c == ','   ? "Expected value before ','"
                : c == ':' ? "':' not as part of an object"
                : c == ']' ? (r->depth ? "Expected another array element" : "Unmatched ']'")
                : r->depth ? "Objects must consist of key:value pairs"
                           : "Unmatched '}'",
                r->p + 1);
            return abandon(r);
        } else v = read_word(r);
        if (v.kind == J_INVALID) return abandon(r);
        if (!r->depth && c != '"' && c != '[' && c != '{' && r->p < r->end && *r->p && strchr(",:]}", *r->p)) {
            jv_drop(C, v);
            fail(r, "Invalid", r->p);
            return abandon(r);
        }
        /* put the finished value where it belongs, closing what it ends */
        for (;;) {
            if (!r->depth) return v;
            jv *top = &r->stack[r->depth - 1];
            if (top->kind == J_ARRAY) *top = jv_push(C, *top, v);
            else {
                jv key = r->keys[r->depth - 1];
                r->keys[r->depth - 1] = jv_of(J_INVALID);
                *top = jv_set(C, *top, key.s, v);
                jv_drop(C, key);
            }
            skip_space(r);
            r->loose = 1;
            if (r->p >= r->end) { fail(r, "Unfinished JSON term", r->end); return abandon(r); }
            c = *r->p++;
            r->loose = c != ',';
            if (c == ',') {
                if (top->kind == J_OBJECT && read_key(r) < 0) return abandon(r);
                break;
            }
            if (c != (top->kind == J_ARRAY ? ']' : '}')) {
                const char *message = c == ']' || c == '}'   ? (top->kind == J_ARRAY ? "Unmatched '}'" : "Unmatched ']'")
                                      : top->kind == J_ARRAY ? "Expected separator between values"
                                      : c == ':'             ? "':' should follow a key"
                                                             : "Expected separator between values";
                fail(r, message, r->p);
                return abandon(r);
            }
            v = r->stack[--r->depth];
        }
    }
}
