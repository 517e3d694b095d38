/* json_write.c - from values to text, without recursion; numbers print as the shortest text that reads back the same. */
#include "json.h"
#include "../utf8.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void json_number(buffer *b, double n) {
    char text[40];
    if (n != n) { buffer_puts(b, "null"); return; }
    if (isinf(n)) n = n > 0 ? 1.7976931348623157e308 : -1.7976931348623157e308;
    if (n == floor(n) && fabs(n) < 1e15) {
        long long i = (long long)n;
        char *p = text + 30;
        unsigned long long u = i < 0 ? 0ull - (unsigned long long)i : (unsigned long long)i;
        *p = '\0';
        do *--p = (char)('0' + u % 10); while (u /= 10);
        if (i < 0 || (!i && signbit(n))) *--p = '-';
        buffer_add(b, p, (size_t)(text + 30 - p));
        return;
    }
    int precision = fabs(n) < DBL_MIN ? 1 : 15;         /* a number below the normal ones has fewer digits */
    for (; precision <= 17; precision++) {
        snprintf(text, sizeof text, "%.*e", precision - 1, n);
        if (strtod(text, NULL) == n) break;
    }
    /* digits and exponent, then jq's choice of notation */
    char digits[24];
    int count = 0, exponent = atoi(strchr(text, 'e') + 1);
    for (char *p = text + (*text == '-'); *p != 'e'; p++) if (*p != '.') digits[count++] = *p;
    while (count > 1 && digits[count - 1] == '0') count--;
    if (n < 0) buffer_putc(b, '-');
    if (exponent + 1 <= -4 || exponent + 1 > count + 15) {
        buffer_putc(b, digits[0]);
        if (count > 1) { buffer_putc(b, '.'); buffer_add(b, digits + 1, (size_t)count - 1); }
        buffer_printf(b, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
    } else if (exponent < 0) {
        buffer_puts(b, "0.");
        for (int i = -1; i > exponent; i--) buffer_putc(b, '0');
        buffer_add(b, digits, (size_t)count);
    } else {
        for (int i = 0; i < count || i <= exponent; i++) {
            if (i == exponent + 1) buffer_putc(b, '.');
            buffer_putc(b, i < count ? digits[i] : '0');
        }
    }
}

static void write_string(buffer *b, const jstr *s, int ascii) {
    const char *p = s->text, *end = p + s->n, *run = p;
    buffer_putc(b, '"');
    for (; p < end; p++) {
        unsigned char c = (unsigned char)*p;
        if (c >= 32 && c != '"' && c != '\\' && c != 127 && (c < 128 || !ascii)) continue;
        buffer_add(b, run, (size_t)(p - run));
        run = p + 1;
        switch (c) {
        case '"': buffer_puts(b, "\\\""); break;
        case '\\': buffer_puts(b, "\\\\"); break;
        case '\n': buffer_puts(b, "\\n"); break;
        case '\t': buffer_puts(b, "\\t"); break;
        case '\r': buffer_puts(b, "\\r"); break;
        case '\b': buffer_puts(b, "\\b"); break;
        case '\f': buffer_puts(b, "\\f"); break;
        default:
            if (c < 128) { buffer_printf(b, "\\u%04x", c); break; }
            int point, n = utf8_decode(p, (size_t)(end - p), &point);
            if (point < 0) point = 0xFFFD;
            if (point >= 0x10000)
                buffer_printf(b, "\\u%04x\\u%04x", 0xD800 + ((point - 0x10000) >> 10), 0xDC00 + ((point - 0x10000) & 1023));
            else buffer_printf(b, "\\u%04x", point);
            p += n - 1;
            run = p + 1;
        }
    }
    buffer_add(b, run, (size_t)(end - run));
    buffer_putc(b, '"');
}

static void new_line(buffer *b, const json_style *s, int depth) {
    if (!s->indent && !s->tab) return;
    buffer_putc(b, '\n');
    int n = s->tab ? depth : depth * s->indent;
    for (int i = 0; i < n; i++) buffer_putc(b, s->tab ? '\t' : ' ');
}

static const char *color_at(const json_style *s, int which) {
    if (s->colors[which]) return s->colors[which];
    switch (which) {
    case COLOR_NULL: return "\033[0;90m";
    case COLOR_FALSE: case COLOR_TRUE: case COLOR_NUMBER: return "\033[0;39m";
    case COLOR_STRING: return "\033[0;32m";
    case COLOR_KEY: return "\033[1;34m";
    default: return "\033[1;39m";
    }
}

static const char *color_of(const json_style *s, jv v) {
    switch (v.kind) {
    case J_NULL: return color_at(s, COLOR_NULL);
    case J_FALSE: return color_at(s, COLOR_FALSE);
    case J_TRUE: return color_at(s, COLOR_TRUE);
    case J_NUMBER: case J_LITERAL: return color_at(s, COLOR_NUMBER);
    case J_STRING: return color_at(s, COLOR_STRING);
    case J_ARRAY: return color_at(s, COLOR_ARRAY);
    default: return color_at(s, COLOR_OBJECT);
    }
}

static void write_scalar(buffer *b, jv v, const json_style *s) {
    if (s->color) buffer_puts(b, color_of(s, v));
    switch (v.kind) {
    case J_NULL: buffer_puts(b, "null"); break;
    case J_TRUE: buffer_puts(b, "true"); break;
    case J_FALSE: buffer_puts(b, "false"); break;
    case J_NUMBER: json_number(b, v.n); break;
    case J_LITERAL: buffer_add(b, v.s->text, v.s->n); break;
    case J_STRING: write_string(b, v.s, s->ascii); break;
    default: break;
    }
    if (s->color) buffer_puts(b, "\033[0m");
}

typedef struct { jv v; uint32_t at; jv keys; } frame;

void json_write(jctx *C, buffer *b, jv v, const json_style *s) {
    frame local[32], *stack = local;
    int depth = 0, cap = 32;
    for (;;) {
        if (v.kind >= J_ARRAY) {
            uint32_t n = v.kind == J_ARRAY ? v.a->n : v.o->n;
            if (s->color) buffer_puts(b, color_of(s, v));
            buffer_putc(b, v.kind == J_ARRAY ? '[' : '{');
            if (!n) {
                buffer_putc(b, v.kind == J_ARRAY ? ']' : '}');
                if (s->color) buffer_puts(b, "\033[0m");
            } else {
                if (depth == cap) {
                    frame *grown = tool_alloc(C->t, (size_t)cap * 2 * sizeof *grown);
                    memcpy(grown, stack, (size_t)cap * sizeof *grown);
                    if (stack != local) tool_free(C->t, stack);
                    stack = grown;
                    cap *= 2;
                }
                stack[depth++] = (frame){v, 0, v.kind == J_OBJECT && s->sort ? jv_keys(C, v, 1) : jv_of(J_INVALID)};
            }
        } else write_scalar(b, v, s);
        /* next element, closing what is done */
        for (;;) {
            if (!depth) { if (stack != local) tool_free(C->t, stack); return; }
            frame *f = &stack[depth - 1];
            uint32_t n = f->v.kind == J_ARRAY ? f->v.a->n : f->v.o->n;
            if (f->at == n) {
                depth--;
                if (s->color) buffer_puts(b, color_of(s, f->v));
                new_line(b, s, depth);
                if (s->color) buffer_puts(b, color_of(s, f->v));
                buffer_putc(b, f->v.kind == J_ARRAY ? ']' : '}');
                if (s->color) buffer_puts(b, "\033[0m");
                jv_drop(C, f->keys);
                continue;
            }
            if (f->at) { if (s->color) buffer_puts(b, color_of(s, f->v)); buffer_putc(b, ','); }
            new_line(b, s, depth);
            if (s->color && f->v.kind == J_OBJECT) buffer_puts(b, "\033[0m");
            if (f->v.kind == J_ARRAY) { v = f->v.a->at[f->at++]; break; }
            jstr *key = f->keys.kind == J_ARRAY ? f->keys.a->at[f->at].s : f->v.o->at[f->at].key;
            v = f->keys.kind == J_ARRAY ? *jv_find_key(f->v, key) : f->v.o->at[f->at].value;
            f->at++;
            if (s->color) buffer_puts(b, color_at(s, COLOR_KEY));
            write_string(b, key, s->ascii);
            if (s->color) { buffer_puts(b, "\033[0m"); buffer_puts(b, color_of(s, f->v)); }
            buffer_putc(b, ':');
            if (s->indent || s->tab) buffer_putc(b, ' ');
            if (s->color) buffer_puts(b, "\033[0m");
            break;
        }
    }
}

jv json_text(jctx *C, jv v) {
    static const json_style compact = {.indent = 0};
    buffer b = {.t = C->t};
    json_write(C, &b, v, &compact);
    jv s = jv_text(C, b.p ? b.p : "", b.n);
    buffer_free(&b);
    return s;
}
