/* yaml_scalar.c - YAML's scalars: plain, quoted, and blocks of text. */
#include "yaml_read.h"
#include "../utf8.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a plain scalar stands for. */
jv yaml_resolve(yaml_reader *r, const char *p, size_t n) {
    jctx *C = r->C;
    char text[64];
    if (!n || (n == 1 && *p == '~')) return jv_null();
    if (n < sizeof text) {
        memcpy(text, p, n);
        text[n] = '\0';
        if (!strcmp(text, "null") || !strcmp(text, "Null") || !strcmp(text, "NULL")) return jv_null();
        if (!strcmp(text, "true") || !strcmp(text, "True") || !strcmp(text, "TRUE")) return jv_bool(1);
        if (!strcmp(text, "false") || !strcmp(text, "False") || !strcmp(text, "FALSE")) return jv_bool(0);
        if (!strcmp(text, ".inf") || !strcmp(text, "+.inf")) return jv_num(INFINITY);
        if (!strcmp(text, "-.inf")) return jv_num(-INFINITY);
        if (!strcmp(text, ".nan")) return jv_num(NAN);
        char *end;
        if (text[0] == '0' && (text[1] == 'x' || text[1] == 'o') && text[2]) {
            unsigned long long v = strtoull(text + 2, &end, text[1] == 'x' ? 16 : 8);
            if (!*end) return jv_num((double)v);
        }
        if (isdigit((unsigned char)*text)
            || ((*text == '-' || *text == '+' || *text == '.') && (isdigit((unsigned char)text[1]) || text[1] == '.'))) {
            if (strspn(text, "0123456789.eE+-") == n) {
                json_reader j;
                json_reader_start(&j, C, text + (*text == '+'), n - (*text == '+'));
                jv v = json_next(&j);
                if (jv_is_number(v) && j.p == j.end) return v;
                if (v.kind != J_INVALID) jv_drop(C, v);
                double d = strtod(text, &end);
                if (!*end && end != text) return jv_num(d);
            }
        }
    }
    return jv_text(C, p, n);
}

jv yaml_quoted(yaml_reader *r) {
    char quote = *r->p++;
    buffer b = {.t = r->C->t};
    buffer_puts(&b, "");
    for (;;) {
        if (r->p >= r->end) return yaml_fail(r, "found unexpected end of stream in a quoted scalar");
        char c = *r->p++;
        if (c == quote) {
            if (quote == '\'' && r->p < r->end && *r->p == '\'') {
                buffer_putc(&b, '\'');
                r->p++;
                continue;
            }
            break;
        }
        if (c == '\n') {
            /* folds: one line break is a space, more are kept */
            int breaks = 1;
            while (b.n && (b.p[b.n - 1] == ' ' || b.p[b.n - 1] == '\t')) b.n--;
            for (;; r->p++) {
                if (r->p < r->end && *r->p == '\n') breaks++;
                else if (!(r->p < r->end && (*r->p == ' ' || *r->p == '\t'))) break;
            }
            if (breaks == 1) buffer_putc(&b, ' '); else while (--breaks) buffer_putc(&b, '\n');
            continue;
        }
        if (c != '\\' || quote == '\'') { buffer_putc(&b, c); continue; }
        if (r->p >= r->end) return yaml_fail(r, "unfinished escape");
        c = *r->p++;
        static const char from[] = "0abtnvfre \"/\\", to[] = "\0\a\b\t\n\v\f\r\033 \"/\\";
        const char *at = memchr(from, c, 13);
        int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
        if (digits) {
            char hex[9] = "", bytes[4];
            for (int i = 0; i < digits && r->p < r->end; i++) hex[i] = *r->p++;
            buffer_add(&b, bytes, (size_t)utf8_encode((int)strtol(hex, NULL, 16), bytes));
        } else if (c == '\n') yaml_skip_blanks(r);
        else if (at) buffer_putc(&b, to[at - from]);
        else return yaml_fail(r, "found unknown escape character");
    }
    jv v = jv_text(r->C, b.p, b.n);
    buffer_free(&b);
    return v;
}

/* | and > with their indicators. indent is that of the parent. */
jv yaml_block_scalar(yaml_reader *r, int indent) {
    char style = *r->p++, chomp = 0;
    int fixed = 0;
    for (; !yaml_at_line_end(r) && *r->p != ' ' && *r->p != '#'; r->p++) {
        if (*r->p == '-' || *r->p == '+') chomp = *r->p;
        else if (isdigit((unsigned char)*r->p)) fixed = *r->p - '0';
    }
    while (!yaml_at_line_end(r)) r->p++;
    if (r->p < r->end && *r->p == '\r') r->p++;
    if (r->p < r->end) r->p++;
    int base = fixed ? (indent < 0 ? 0 : indent) + fixed : -1, previous_more = 0, first = 1;
    size_t breaks = 0;
    buffer b = {.t = r->C->t};
    buffer_puts(&b, "");
    while (r->p < r->end) {
        const char *line = r->p, *stop = memchr(line, '\n', (size_t)(r->end - line));
        if (!stop) stop = r->end;
        size_t lead = 0;
        while (line + lead < stop && line[lead] == ' ') lead++;
        if (line + lead == stop || (line + lead + 1 == stop && line[lead] == '\r')) {
            breaks++;
            r->p = stop < r->end ? stop + 1 : stop;
            continue;
        }
        if (base < 0) base = (int)lead;
        if ((int)lead < base || base <= indent) break;
        const char *text = line + base, *text_end = stop > line && stop[-1] == '\r' ? stop - 1 : stop;
        int more = *text == ' ' || *text == '\t';
        if (!first) {
            if (style == '|' || more || previous_more) { for (size_t i = 0; i <= breaks; i++) buffer_putc(&b, '\n'); }
            else if (!breaks) buffer_putc(&b, ' ');
            else for (size_t i = 0; i < breaks; i++) buffer_putc(&b, '\n');
        } else for (size_t i = 0; i < breaks; i++) buffer_putc(&b, '\n');
        buffer_add(&b, text, (size_t)(text_end - text));
        first = 0;
        breaks = 0;
        previous_more = more;
        r->p = stop < r->end ? stop + 1 : stop;
    }
    if (chomp != '-' && !first) buffer_putc(&b, '\n');
    if (chomp == '+') for (size_t i = 0; i < breaks; i++) buffer_putc(&b, '\n');
    if (r->p > r->begin && r->p[-1] == '\n') r->p--;
    jv v = jv_text(r->C, b.p, b.n);
    buffer_free(&b);
    return v;
}

/* Where a plain scalar on this line ends: at ": ", " #", or in flow at , ] }. */
const char *yaml_plain_end(const yaml_reader *r, int flow) {
    const char *p = r->p;
    for (; p < r->end && *p != '\n'; p++) {
        if (*p == ':' && (p + 1 >= r->end || isspace((unsigned char)p[1]) || (flow && strchr(",[]{}", p[1])))) break;
        if (*p == '#' && p > r->p && isspace((unsigned char)p[-1])) break;
        if (flow && strchr(",[]{}", *p)) break;
    }
    while (p > r->p && isspace((unsigned char)p[-1])) p--;
    return p;
}

jv yaml_plain(yaml_reader *r, int indent, int flow, int key) {
    const char *start = r->p, *stop = yaml_plain_end(r, flow);
    r->p = stop;
    if (key) return jv_text(r->C, start, (size_t)(stop - start));
    buffer b = {.t = r->C->t};
    int folded = 0;
    buffer_add(&b, start, (size_t)(stop - start));
    /* continuation lines are deeper than the parent and not themselves keys or items */
    for (;;) {
        const char *back = r->p;
        int breaks = 0;
        yaml_skip_blanks(r);
        if (!yaml_at_line_end(r)) { r->p = back; break; }
        while (r->p < r->end && isspace((unsigned char)*r->p)) breaks += *r->p++ == '\n';
        if (r->p >= r->end || *r->p == '#' || (!flow && yaml_column(r) <= indent) || yaml_at_marker(r, "---")
            || yaml_at_marker(r, "...") || (flow && strchr(",[]{}", *r->p))) {
            r->p = back;
            break;
        }
        const char *end = yaml_plain_end(r, flow), *after = end;
        while (after < r->end && (*after == ' ' || *after == '\t')) after++;
        if (after < r->end && *after == ':' && !flow) { r->p = back; break; }
        if (!flow && *r->p == '-' && r->p + 1 < r->end && isspace((unsigned char)r->p[1])) { r->p = back; break; }
        if (breaks == 1) buffer_putc(&b, ' '); else while (--breaks) buffer_putc(&b, '\n');
        buffer_add(&b, r->p, (size_t)(end - r->p));
        r->p = end;
        folded = 1;
    }
    jv v = folded ? jv_text(r->C, b.p, b.n) : yaml_resolve(r, b.p, b.n);
    buffer_free(&b);
    return v;
}
