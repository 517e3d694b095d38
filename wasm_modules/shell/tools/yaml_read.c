/* yaml_read.c - YAML to values, by indentation. Collections nest at most 200 deep. */
#include "yaml_read.h"
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

jv yaml_fail(yaml_reader *r, const char *message) {
    if (!r->error) {
        r->error = message;
        r->line = 1;
        for (const char *p = r->begin; p < r->p && p < r->end; p++) r->line += *p == '\n';
    }
    return jv_of(J_INVALID);
}

int yaml_column(const yaml_reader *r) {
    const char *p = r->p;
    while (p > r->begin && p[-1] != '\n') p--;
    return (int)(r->p - p);
}

void yaml_skip_blanks(yaml_reader *r) { while (r->p < r->end && (*r->p == ' ' || *r->p == '\t')) r->p++; }
int yaml_at_line_end(const yaml_reader *r) { return r->p >= r->end || *r->p == '\n' || *r->p == '\r'; }
void yaml_skip_comment(yaml_reader *r) {
    if (r->p < r->end && *r->p == '#' && (r->p == r->begin || isspace((unsigned char)r->p[-1])))
        while (r->p < r->end && *r->p != '\n') r->p++;
}

/* To the next thing that is not space or comment. */
static void skip_space(yaml_reader *r) {
    for (;;) {
        while (r->p < r->end && isspace((unsigned char)*r->p)) r->p++;
        const char *mark = r->p;
        if (r->p < r->end && *r->p == '#') yaml_skip_comment(r);
        if (r->p == mark) return;
    }
}

int yaml_at_marker(const yaml_reader *r, const char *mark) {
    return r->end - r->p >= 3 && !memcmp(r->p, mark, 3) && (r->p == r->begin || r->p[-1] == '\n')
           && (r->end - r->p == 3 || isspace((unsigned char)r->p[3]));
}

static jv flow(yaml_reader *r) {
    jctx *C = r->C;
    skip_space(r);
    if (++r->depth > DEEPEST) return yaml_fail(r, "collections nest too deep");
    if (r->p >= r->end) return yaml_fail(r, "did not find expected node content");
    char open = *r->p;
    jv v;
    if (open == '[' || open == '{') {
        r->p++;
        v = open == '[' ? jv_array(C, 0) : jv_object(C);
        for (;;) {
            skip_space(r);
            if (r->p >= r->end) { jv_drop(C, v); return yaml_fail(r, "did not find expected ',' or bracket"); }
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
            return yaml_fail(r, "did not find expected ',' or bracket");
        }
    } else if (open == '"' || open == '\'') v = yaml_quoted(r);
    else if (open == '*') {
        const char *start = ++r->p;
        while (r->p < r->end && !isspace((unsigned char)*r->p) && !strchr(",]}", *r->p)) r->p++;
        jv *found = jv_find(r->anchors, start, (uint32_t)(r->p - start));
        v = found ? jv_copy(*found) : yaml_fail(r, "found undefined alias");
    } else {
        const char *start = r->p;
        v = yaml_plain(r, -1, 1, 0);
        if (v.kind != J_INVALID && r->p == start && *start != ':') {
            jv_drop(C, v);
            v = yaml_fail(r, "did not find expected node content");
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
    const char *stop = yaml_plain_end(r, 0);
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
        jv key = *r->p == '"' || *r->p == '\'' ? yaml_quoted(r) : yaml_plain(r, indent, 0, 1);
        if (key.kind == J_INVALID) { jv_drop(C, v); return key; }
        yaml_skip_blanks(r);
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
        if (r->p >= r->end || yaml_column(r) != indent || yaml_at_marker(r, "---") || yaml_at_marker(r, "...")) {
            if (r->p < r->end && yaml_column(r) > indent) {
                jv_drop(C, v);
                return yaml_fail(r, "did not find expected key");
            }
            r->p = r->p < r->end ? back : r->p;
            break;
        }
        if (*r->p == '-' && r->p + 1 < r->end && isspace((unsigned char)r->p[1])) { r->p = back; break; }
        if (!at_key(r)) { jv_drop(C, v); return yaml_fail(r, "could not find expected ':'"); }
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
        if (r->p >= r->end || yaml_column(r) != indent || *r->p != '-' || (r->p + 1 < r->end && !isspace((unsigned char)r->p[1]))
            || yaml_at_marker(r, "---")) {
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
    if (++r->depth > DEEPEST || tool_too_deep(C->t)) return yaml_fail(r, "collections nest too deep");
    const char *before = r->p;
    yaml_skip_blanks(r);
    yaml_skip_comment(r);
    int same_line = !yaml_at_line_end(r);
    for (;;) {
        if (r->p < r->end && (*r->p == '&' || *r->p == '!')) {
            const char *start = r->p + 1;
            char mark = *r->p;
            while (r->p < r->end && !isspace((unsigned char)*r->p)) r->p++;
            if (mark == '&') anchor = tool_strndup(C->t, start, (size_t)(r->p - start));
            else is_text = r->p - start == 4 && !memcmp(start, "!str", 4);
            yaml_skip_blanks(r);
            yaml_skip_comment(r);
            same_line = !yaml_at_line_end(r);
            continue;
        }
        break;
    }
    if (!same_line) {
        skip_space(r);
        int here = r->p < r->end ? yaml_column(r) : -1,
            item = r->p < r->end && *r->p == '-' && (r->p + 1 >= r->end || isspace((unsigned char)r->p[1]));
        if (here < 0 || yaml_at_marker(r, "---") || yaml_at_marker(r, "...")
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
    if (c == '-' && (r->p + 1 >= r->end || isspace((unsigned char)r->p[1]))) v = sequence(r, yaml_column(r));
    else if (c == '|' || c == '>') v = yaml_block_scalar(r, indent);
    else if (at_key(r) && !(same_line && in_mapping)) v = mapping(r, yaml_column(r));
    else if (c == '[' || c == '{' || c == '*') v = flow(r);
    else if (c == '"' || c == '\'') v = yaml_quoted(r);
    else v = yaml_plain(r, indent, 0, 0);
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
    while (r->p < r->end && (yaml_at_marker(r, "---") || yaml_at_marker(r, "...") || (*r->p == '%' && yaml_column(r) == 0))) {
        if (*r->p == '%') { while (r->p < r->end && *r->p != '\n') r->p++; skip_space(r); continue; }
        if (yaml_at_marker(r, "---")) { if (marked) { r->p += 0; return jv_null(); } marked = 1; }
        r->p += 3;
        const char *line = r->p;
        yaml_skip_blanks(r);
        if (!yaml_at_line_end(r) && *r->p != '#') { r->p = line; break; }
        skip_space(r);
    }
    if (r->p >= r->end) return marked ? jv_null() : jv_of(J_INVALID);
    if (marked && yaml_at_marker(r, "---")) return jv_null();
    jv v = node(r, -1, 0);
    if (v.kind == J_INVALID) return v;
    skip_space(r);
    if (r->p < r->end && !yaml_at_marker(r, "---") && !yaml_at_marker(r, "...")) {
        jv_drop(r->C, v);
        return yaml_fail(r, "did not find expected <document start>");
    }
    return v;
}
