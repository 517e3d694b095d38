/* jq_format.c - the @formats: csv, tsv, sh, html, uri, base64, base32, json, text. */
#include "jq.h"
#include "../utf8.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

jv jq_finish(jq *q, buffer *b, jv v) {
    jv s = jv_text(&q->C, b->p ? b->p : "", b->n);
    buffer_free(b);
    jv_drop(&q->C, v);
    return s;
}

static jv format_rows(jq *q, jv v, int csv) {
    if (v.kind != J_ARRAY)
        return jq_refuse(
            q, v, csv ? "cannot be csv-formatted, only array" : "cannot be tsv-formatted, only array");
    buffer b = {.t = q->t};
    for (uint32_t i = 0; i < v.a->n; i++) {
        jv x = v.a->at[i];
        if (i) buffer_putc(&b, csv ? ',' : '\t');
        if (x.kind == J_STRING) {
            if (csv) buffer_putc(&b, '"');
            for (uint32_t j = 0; j < x.s->n; j++) {
                char c = x.s->text[j];
                if (csv) { if (c == '"') buffer_putc(&b, '"'); buffer_putc(&b, c); }
                else if (c == '\t') buffer_puts(&b, "\\t");
                else if (c == '\n') buffer_puts(&b, "\\n");
                else if (c == '\r') buffer_puts(&b, "\\r");
                else if (c == '\\') buffer_puts(&b, "\\\\");
                else buffer_putc(&b, c);
            }
            if (csv) buffer_putc(&b, '"');
        } else if (x.kind == J_NULL) { /* an empty field */ }
        else if (x.kind < J_STRING) { jv s = json_text(&q->C, x); buffer_add(&b, s.s->text, s.s->n); jv_drop(&q->C, s);
        } else {
            buffer_free(&b);
            jv text = jq_error_text(q, x);
            jq_errorf(q, "%s (%s) is not valid in a csv row", jv_kind_name(x), text.s->text);
            jv_drop(&q->C, text);
            jv_drop(&q->C, v);
            return jv_of(J_INVALID);
        }
    }
    return jq_finish(q, &b, v);
}

static void quote_shell(buffer *b, jv s) {
    buffer_putc(b, '\'');
    for (uint32_t i = 0; i < s.s->n; i++) {
        if (s.s->text[i] == '\'') buffer_puts(b, "'\\''");
        else buffer_putc(b, s.s->text[i]);
    }
    buffer_putc(b, '\'');
}

static jv format_sh(jq *q, jv v) {
    buffer b = {.t = q->t};
    uint32_t n = v.kind == J_ARRAY ? v.a->n : 1;
    for (uint32_t i = 0; i < n; i++) {
        jv x = v.kind == J_ARRAY ? v.a->at[i] : v;
        if (i) buffer_putc(&b, ' ');
        if (x.kind == J_STRING) quote_shell(&b, x);
        else if (x.kind >= J_ARRAY) {
            jv text = jq_error_text(q, x);
            buffer_free(&b);
            jq_errorf(q, "%s (%s) can not be escaped for shell", jv_kind_name(x), text.s->text);
            jv_drop(&q->C, text);
            jv_drop(&q->C, v);
            return jv_of(J_INVALID);
        } else {
            jv s = json_text(&q->C, x);
            buffer_add(&b, s.s->text, s.s->n);
            jv_drop(&q->C, s);
        }
    }
    return jq_finish(q, &b, v);
}

static const char letters64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static jv encode64(jq *q, jv v) {
    buffer b = {.t = q->t};
    const unsigned char *p = (const unsigned char *)v.s->text;
    for (uint32_t i = 0; i < v.s->n; i += 3) {
        unsigned x = (unsigned)p[i] << 16 | (i + 1 < v.s->n ? (unsigned)p[i + 1] << 8 : 0) | (i + 2 < v.s->n ? p[i + 2] : 0u);
        buffer_putc(&b, letters64[x >> 18]);
        buffer_putc(&b, letters64[x >> 12 & 63]);
        buffer_putc(&b, i + 1 < v.s->n ? letters64[x >> 6 & 63] : '=');
        buffer_putc(&b, i + 2 < v.s->n ? letters64[x & 63] : '=');
    }
    return jq_finish(q, &b, v);
}

static jv decode64(jq *q, jv v) {
    buffer b = {.t = q->t};
    unsigned x = 0;
    int bits = 0, letters = 0;
    for (uint32_t i = 0; i < v.s->n; i++) {
        char c = v.s->text[i];
        const char *at = c ? strchr(letters64, c) : NULL;
        if (c == '=') break;
        if (!at) { buffer_free(&b); return jq_refuse(q, v, "is not valid base64 data"); }
        letters++;
        x = x << 6 | (unsigned)(at - letters64);
        bits += 6;
        if (bits >= 8) { bits -= 8; buffer_putc(&b, (char)(x >> bits & 255)); }
    }
    if (letters % 4 == 1) { buffer_free(&b); return jq_refuse(q, v, "trailing base64 byte found"); }
    /* what is no UTF-8 becomes replacement characters */
    buffer clean = {.t = q->t};
    for (size_t i = 0; i < b.n;) {
        int c, n = utf8_decode(b.p + i, b.n - i, &c);
        if (c < 0) buffer_puts(&clean, "\xEF\xBF\xBD"); else buffer_add(&clean, b.p + i, (size_t)n);
        i += (size_t)n;
    }
    buffer_free(&b);
    return jq_finish(q, &clean, v);
}

static jv escape(jq *q, jv v, int uri) {
    buffer b = {.t = q->t};
    for (uint32_t i = 0; i < v.s->n; i++) {
        unsigned char c = (unsigned char)v.s->text[i];
        if (uri) { if (isalnum(c) || strchr("-_.~", c)) { if (c) buffer_putc(&b, c); } else buffer_printf(&b, "%%%02X", c); }
        else switch (c) {
            case '<': buffer_puts(&b, "&lt;"); break;
            case '>': buffer_puts(&b, "&gt;"); break;
            case '&': buffer_puts(&b, "&amp;"); break;
            case '\'': buffer_puts(&b, "&apos;"); break; case '"': buffer_puts(&b, "&quot;"); break; default: buffer_putc(&b, c);
        }
    }
    return jq_finish(q, &b, v);
}

static jv encode32(jq *q, jv v) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    buffer b = {.t = q->t};
    unsigned long long x = 0;
    int bits = 0, out = 0;
    for (uint32_t i = 0; i < v.s->n; i++) {
        x = x << 8 | (unsigned char)v.s->text[i];
        for (bits += 8; bits >= 5; out++) { bits -= 5; buffer_putc(&b, letters[x >> bits & 31]); }
    }
    if (bits) { buffer_putc(&b, letters[x << (5 - bits) & 31]); out++; }
    for (; out % 8; out++) buffer_putc(&b, '=');
    return jq_finish(q, &b, v);
}

static jv decode32(jq *q, jv v) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    buffer b = {.t = q->t};
    unsigned long long x = 0;
    int bits = 0;
    for (uint32_t i = 0; i < v.s->n && v.s->text[i] != '='; i++) {
        const char *at = strchr(letters, v.s->text[i]);
        if (!at) break;
        x = x << 5 | (unsigned)(at - letters);
        if ((bits += 5) >= 8) { bits -= 8; buffer_putc(&b, (char)(x >> bits & 255)); }
    }
    return jq_finish(q, &b, v);
}

jv jq_format(jq *q, const char *name, jv v) {
    if (!strcmp(name, "text")) return jq_tostring(q, v);
    if (!strcmp(name, "json")) { jv s = json_text(&q->C, v); jv_drop(&q->C, v); return s; }
    if (!strcmp(name, "csv")) return format_rows(q, v, 1);
    if (!strcmp(name, "tsv")) return format_rows(q, v, 0);
    if (!strcmp(name, "sh")) return format_sh(q, v);
    if (!strcmp(name, "html")) return escape(q, jq_tostring(q, v), 0);
    if (!strcmp(name, "uri")) return escape(q, jq_tostring(q, v), 1);
    if (!strcmp(name, "base64")) return encode64(q, jq_tostring(q, v));
    if (!strcmp(name, "base64d")) return decode64(q, jq_tostring(q, v));
    if (!strcmp(name, "base32")) return encode32(q, jq_tostring(q, v));
    if (!strcmp(name, "base32d")) return decode32(q, jq_tostring(q, v));
    jv_drop(&q->C, v);
    return jq_errorf(q, "%s is not a valid format", name);
}

jv jq_fn_format(jq *q, jv in, jv *args) {
    if (args[0].kind != J_STRING) { jv_drop(&q->C, in); return jq_refuse(q, args[0], "is not a valid format"); }
    jv r = jq_format(q, args[0].s->text, in);
    jv_drop(&q->C, args[0]);
    return r;
}
