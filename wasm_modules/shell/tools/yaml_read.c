/* yaml_read.c - YAML to values, by indentation. Collections nest at most 200 deep. */
#include "yaml.h"
#include "../utf8.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 200 };

static jv node(yaml_reader *r, int indent, int in_mapping);

void yaml_start(yaml_reader *r, jctx *C, const char *text, size_t n) {
    memset(r, 0, sizeof *r);
    r->C = C;
    r->begin = r->p = text;
    r->end = text + n;
    r->anchors = jv_object(C);
}

static jv fail(yaml_reader *r, const char *message) {
    if (!r->error) {
        r->error = message;
        r->line = 1;
        for (const char *p = r->begin; p < r->p && p < r->end; p++) r->line += *p == '\n';
    }
    return jv_of(J_INVALID);
}

static int column(const yaml_reader *r) {
    const char *p = r->p;
    while (p > r->begin && p[-1] != '\n') p--;
    return (int)(r->p - p);
}

static void skip_blanks(yaml_reader *r) { while (r->p < r->end && (*r->p == ' ' || *r->p == '\t')) r->p++; }
static int at_line_end(const yaml_reader *r) { return r->p >= r->end || *r->p == '\n' || *r->p == '\r'; }
static void skip_comment(yaml_reader *r) {
    if (r->p < r->end && *r->p == '#' && (r->p == r->begin || isspace((unsigned char)r->p[-1])))
        while (r->p < r->end && *r->p != '\n') r->p++;
}

/* To the next thing that is not space or comment. */
static void skip_space(yaml_reader *r) {
    for (;;) {
        while (r->p < r->end && isspace((unsigned char)*r->p)) r->p++;
        const char *mark = r->p;
        if (r->p < r->end && *r->p == '#') skip_comment(r);
        if (r->p == mark) return;
    }
}

static int at_marker(const yaml_reader *r, const char *mark) {
    return r->end - r->p >= 3 && !memcmp(r->p, mark, 3) && (r->p == r->begin || r->p[-1] == '\n')
           && (r->end - r->p == 3 || isspace((unsigned char)r->p[3]));
}

/* What a plain scalar stands for. */
static jv resolve(yaml_reader *r, const char *p, size_t n) {
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

static jv quoted(yaml_reader *r) {
    char quote = *r->p++;
    buffer b = {.t = r->C->t};
    buffer_puts(&b, "");
    for (;;) {
        if (r->p >= r->end) return fail(r, "found unexpected end of stream in a quoted scalar");
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
        if (r->p >= r->end) return fail(r, "unfinished escape");
        c = *r->p++;
        static const char from[] = "0abtnvfre \"/\\", to[] = "\0\a\b\t\n\v\f\r\033 \"/\\";
        const char *at = memchr(from, c, 13);
        int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
        if (digits) {
            char hex[9] = "", bytes[4];
            for (int i = 0; i < digits && r->p < r->end; i++) hex[i] = *r->p++;
            buffer_add(&b, bytes, (size_t)utf8_encode((int)strtol(hex, NULL, 16), bytes));
        } else if (c == '\n') skip_blanks(r);
        else if (at) buffer_putc(&b, to[at - from]);
        else return fail(r, "found unknown escape character");
    }
    jv v = jv_text(r->C, b.p, b.n);
    buffer_free(&b);
    return v;
}

/* | and > with their indicators. indent is that of the parent. */
static jv block_scalar(yaml_reader *r, int indent) {
    char style = *r->p++, chomp = 0;
    int fixed = 0;
    for (; !at_line_end(r) && *r->p != ' ' && *r->p != '#'; r->p++) {
        if (*r->p == '-' || *r->p == '+') chomp = *r->p;
        else if (isdigit((unsigned char)*r->p)) fixed = *r->p - '0';
    }
    while (!at_line_end(r)) r->p++;
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
static const char *plain_end(const yaml_reader *r, int flow) {
    const char *p = r->p;
    for (; p < r->end && *p != '\n'; p++) {
        if (*p == ':' && (p + 1 >= r->end || isspace((unsigned char)p[1]) || (flow && strchr(",[]{}", p[1])))) break;
        if (*p == '#' && p > r->p && isspace((unsigned char)p[-1])) break;
        if (flow && strchr(",[]{}", *p)) break;
    }
    while (p > r->p && isspace((unsigned char)p[-1])) p--;
    return p;
}

static jv plain(yaml_reader *r, int indent, int flow, int key) {
    const char *start = r->p, *stop = plain_end(r, flow);
    r->p = stop;
    if (key) return jv_text(r->C, start, (size_t)(stop - start));
    buffer b = {.t = r->C->t};
    int folded = 0;
    buffer_add(&b, start, (size_t)(stop - start));
    /* continuation lines are deeper than the parent and not themselves keys or items */
    for (;;) {
        const char *back = r->p;
        int breaks = 0;
        skip_blanks(r);
        if (!at_line_end(r)) { r->p = back; break; }
        while (r->p < r->end && isspace((unsigned char)*r->p)) breaks += *r->p++ == '\n';
        if (r->p >= r->end || *r->p == '#' || (!flow && column(r) <= indent) || at_marker(r, "---") || at_marker(r, "...")
            || (flow && strchr(",[]{}", *r->p))) {
            r->p = back;
            break;
        }
        const char *end = plain_end(r, flow), *after = end;
        while (after < r->end && (*after == ' ' || *after == '\t')) after++;
        if (after < r->end && *after == ':' && !flow) { r->p = back; break; }
        if (!flow && *r->p == '-' && r->p + 1 < r->end && isspace((unsigned char)r->p[1])) { r->p = back; break; }
        if (breaks == 1) buffer_putc(&b, ' '); else while (--breaks) buffer_putc(&b, '\n');
        buffer_add(&b, r->p, (size_t)(end - r->p));
        r->p = end;
        folded = 1;
    }
    jv v = folded ? jv_text(r->C, b.p, b.n) : resolve(r, b.p, b.n);
    buffer_free(&b);
    return v;
}

static jv flow(yaml_reader *r) {
    jctx *C = r->C;
    skip_space(r);
    if (++r->depth > DEEPEST) return fail(r, "collections nest too deep");
    if (r->p >= r->end) return fail(r, "did not find expected node content");
    char open = *r->p;
    jv v;
    if (open == '[' || open == '{') {
        r->p++;
        v = open == '[' ? jv_array(C, 0) : jv_object(C);
        for (;;) {
            skip_space(r);
            if (r->p >= r->end) { jv_drop(C, v); return fail(r, "did not find expected ',' or bracket"); }
            if (*r->p == (open == '[' ? ']' : '}')) { r->p++; break; }
            jv item = flow(r);
            if (item.kind == J_INVALID) { jv_drop(C, v); return item; }
            skip_space(r);
            if (r->p < r->end && *r->p == ':') {
                r->p++;
                skip_space(r);
                jv value = r->p < r->end && strchr(",}]", *r->p) ? jv_null() : flow(r),
                   key = item.kind == J_STRING ? item : json_text(C, item);
                if (value.kind == J_INVALID) { jv_drop(C, v); return value; }
                if (open == '[') {
                    jv o = jv_object(C);
                    item = jv_set(C, o, key.s, value);
                } else {
                    v = jv_set(C, v, key.s, value);
                    jv_drop(C, key);
                    goto next;
                }
            } else if (open == '{') {
                jv key = item.kind == J_STRING ? item : json_text(C, item);
                v = jv_set(C, v, key.s, jv_null());
                jv_drop(C, key);
                goto next;
            }
            v = jv_push(C, v, item);
        next:
            skip_space(r);
            if (r->p < r->end && *r->p == ',') { r->p++; continue; }
            if (r->p < r->end && *r->p == (open == '[' ? ']' : '}')) continue;
            jv_drop(C, v);
            return fail(r, "did not find expected ',' or bracket");
        }
    } else if (open == '"' || open == '\'') v = quoted(r);
    else if (open == '*') {
        const char *start = ++r->p;
        while (r->p < r->end && !isspace((unsigned char)*r->p) && !strchr(",]}", *r->p)) r->p++;
        jv *found = jv_find(r->anchors, start, (uint32_t)(r->p - start));
        v = found ? jv_copy(*found) : fail(r, "found undefined alias");
    } else {
        const char *start = r->p;
        v = plain(r, -1, 1, 0);
        if (v.kind != J_INVALID && r->p == start && *start != ':') {
            jv_drop(C, v);
            v = fail(r, "did not find expected node content");
        }
    }
    r->depth--;
    return v;
}

/* Whether a key and its colon stand here. */
static int at_key(yaml_reader *r) {
    const char *p = r->p;
    if (*p == '"' || *p == '\'') {
        char quote = *p++;
        for (; p < r->end && *p != '\n' && *p != quote; p++) if (*p == '\\' && quote == '"') p++;
        if (p >= r->end || *p != quote) return 0;
        p++;
        while (p < r->end && *p == ' ') p++;
        return p < r->end && *p == ':' && (p + 1 >= r->end || isspace((unsigned char)p[1]));
    }
    if (strchr("[{&*!|>", *p) && *p != '*') return 0;
    const char *stop = plain_end(r, 0);
    while (stop < r->end && (*stop == ' ' || *stop == '\t')) stop++;
    return stop < r->end && *stop == ':';
}

static jv merge_into(yaml_reader *r, jv v, jv from) {
    if (from.kind == J_ARRAY) { for (uint32_t i = 0; i < from.a->n; i++) v = merge_into(r, v, jv_copy(from.a->at[i]));
    } else if (from.kind == J_OBJECT)
        for (uint32_t i = 0; i < from.o->n; i++)
            if (!jv_find_key(v, from.o->at[i].key)) v = jv_set(r->C, v, from.o->at[i].key, jv_copy(from.o->at[i].value));
    jv_drop(r->C, from);
    return v;
}

static jv mapping(yaml_reader *r, int indent) {
    jctx *C = r->C;
    jv v = jv_object(C), merged = jv_null();
    for (;;) {
        jv key = *r->p == '"' || *r->p == '\'' ? quoted(r) : plain(r, indent, 0, 1);
        if (key.kind == J_INVALID) { jv_drop(C, v); return key; }
        skip_blanks(r);
        r->p++;
        jv value = node(r, indent, 1);
        if (value.kind == J_INVALID) { jv_drop(C, key); jv_drop(C, v); return value; }
        if (key.s->n == 2 && !memcmp(key.s->text, "<<", 2)) {
            jv_drop(C, merged);
            merged = value;
        } else v = jv_set(C, v, key.s, value);
        jv_drop(C, key);
        const char *back = r->p;
        skip_space(r);
        if (r->p >= r->end || column(r) != indent || at_marker(r, "---") || at_marker(r, "...")) {
            if (r->p < r->end && column(r) > indent) {
                jv_drop(C, v);
                return fail(r, "did not find expected key");
            }
            r->p = r->p < r->end ? back : r->p;
            break;
        }
        if (*r->p == '-' && r->p + 1 < r->end && isspace((unsigned char)r->p[1])) { r->p = back; break; }
        if (!at_key(r)) { jv_drop(C, v); return fail(r, "could not find expected ':'"); }
    }
    return merge_into(r, v, merged);
}

static jv sequence(yaml_reader *r, int indent) {
    jctx *C = r->C;
    jv v = jv_array(C, 0);
    for (;;) {
        r->p++;
        jv item = node(r, indent, 0);
        if (item.kind == J_INVALID) { jv_drop(C, v); return item; }
        v = jv_push(C, v, item);
        const char *back = r->p;
        skip_space(r);
        if (r->p >= r->end || column(r) != indent || *r->p != '-' || (r->p + 1 < r->end && !isspace((unsigned char)r->p[1]))
            || at_marker(r, "---")) {
            if (r->p < r->end) r->p = back;
            return v;
        }
    }
}

/* A node below a parent at indent; in_mapping: a sequence may stand at the same indent. */
static jv node(yaml_reader *r, int indent, int in_mapping) {
    jctx *C = r->C;
    char *anchor = NULL;
    int is_text = 0;
    if (++r->depth > DEEPEST || tool_too_deep(C->t)) return fail(r, "collections nest too deep");
    const char *before = r->p;
    skip_blanks(r);
    skip_comment(r);
    int same_line = !at_line_end(r);
    for (;;) {
        if (r->p < r->end && (*r->p == '&' || *r->p == '!')) {
            const char *start = r->p + 1;
            char mark = *r->p;
            while (r->p < r->end && !isspace((unsigned char)*r->p)) r->p++;
            if (mark == '&') anchor = tool_strndup(C->t, start, (size_t)(r->p - start));
            else is_text = r->p - start == 4 && !memcmp(start, "!str", 4);
            skip_blanks(r);
            skip_comment(r);
            same_line = !at_line_end(r);
            continue;
        }
        break;
    }
    if (!same_line) {
        skip_space(r);
        int here = r->p < r->end ? column(r) : -1,
            item = r->p < r->end && *r->p == '-' && (r->p + 1 >= r->end || isspace((unsigned char)r->p[1]));
        if (here < 0 || at_marker(r, "---") || at_marker(r, "...")
            || !(here > indent || (in_mapping && here == indent && item))) {
            r->p = r->p >= r->end ? r->end : before;
            if (r->p == before && !anchor) {
                while (r->p < r->end && *r->p != '\n') r->p++;
            }
            r->depth--;
            return jv_null();
        }
    }
    jv v;
    char c = r->p < r->end ? *r->p : '\n';
    if (c == '-' && (r->p + 1 >= r->end || isspace((unsigned char)r->p[1]))) v = sequence(r, column(r));
    else if (c == '|' || c == '>') v = block_scalar(r, indent);
    else if (at_key(r) && !(same_line && in_mapping)) v = mapping(r, column(r));
    else if (c == '[' || c == '{' || c == '*') v = flow(r);
    else if (c == '"' || c == '\'') v = quoted(r);
    else v = plain(r, indent, 0, 0);
    r->depth--;
    if (v.kind == J_INVALID) return v;
    if (is_text && v.kind != J_STRING) { jv s = json_text(C, v); jv_drop(C, v); v = s; }
    if (anchor) r->anchors = jv_put(C, r->anchors, anchor, jv_copy(v));
    return v;
}

jv yaml_next(yaml_reader *r) {
    if (r->error) return jv_of(J_INVALID);
    skip_space(r);
    int marked = 0;
    while (r->p < r->end && (at_marker(r, "---") || at_marker(r, "...") || (*r->p == '%' && column(r) == 0))) {
        if (*r->p == '%') { while (r->p < r->end && *r->p != '\n') r->p++; skip_space(r); continue; }
        if (at_marker(r, "---")) { if (marked) { r->p += 0; return jv_null(); } marked = 1; }
        r->p += 3;
        const char *line = r->p;
        skip_blanks(r);
        if (!at_line_end(r) && *r->p != '#') { r->p = line; break; }
        skip_space(r);
    }
    if (r->p >= r->end) return marked ? jv_null() : jv_of(J_INVALID);
    if (marked && at_marker(r, "---")) return jv_null();
    jv v = node(r, -1, 0);
    if (v.kind == J_INVALID) return v;
    skip_space(r);
    if (r->p < r->end && !at_marker(r, "---") && !at_marker(r, "...")) {
        jv_drop(r->C, v);
        return fail(r, "did not find expected <document start>");
    }
    return v;
}
