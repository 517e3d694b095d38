/* cut.c - selected bytes, characters or fields of each line. GNU's -c counts bytes. */
#include "buffer.h"
#include "inputs.h"
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct { size_t from, to; } range;
typedef struct { range *at; size_t n; } range_list;
typedef struct { range_list set; int mode, tab, only_delimited, complement, delim; const char *joint; size_t joint_n; } cut_state;

static int order(const void *a, const void *b) {
    const range *x = a, *y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* The number at p; -1 after saying that it is too large. */
static int take_position(tool *t, const cut_state *s, const char *p, char **end, size_t *to) {
    errno = 0;
    unsigned long long v = strtoull(p, end, 10);
    if (errno || v == ULLONG_MAX) {
        char *number = tool_strndup(t, p, (size_t)(*end - p));
        tool_fail(t, 1, s->mode == 'f' ? "field number %s is too large" : "byte/character offset %s is too large",
            tool_cite(t, number));
        tool_usage(t, 1);
        return -1;
    }
    *to = v >= SIZE_MAX ? SIZE_MAX - 1 : (size_t)v;
    return 0;
}

/* N, N-, N-M, -M separated by commas or blanks, made sorted and disjoint. */
static int parse_ranges(tool *t, cut_state *s, const char *text) {
    for (const char *p = text;; p++) {
        range r = {1, (size_t)-1};
        char *end = (char *)p;
        int left = isdigit((unsigned char)*p), right = 0;
        if (left && take_position(t, s, p, &end, &r.from) < 0) return 1;
        if (*end == '-') {
            p = end + 1;
            right = isdigit((unsigned char)*p);
            end = (char *)p;
            if (right && take_position(t, s, p, &end, &r.to) < 0) return 1;
            if (!left && !right) { tool_fail(t, 1, "invalid range with no endpoint: -"); return tool_usage(t, 1); }
        } else r.to = r.from;
        if (*end && *end != ',' && !isspace((unsigned char)*end)) {
            tool_fail(t, 1, s->mode == 'f' ? "invalid field value %s" : "invalid byte/character position %s", tool_cite(t, end));
            return tool_usage(t, 1);
        }
        if (!left && !right && r.from == r.to) {
            tool_fail(t, 1, s->mode == 'f' ? "fields are numbered from 1" : "byte/character positions are numbered from 1");
            return tool_usage(t, 1);
        }
        if (!r.from || !r.to) {
            tool_fail(t, 1, s->mode == 'f' ? "fields are numbered from 1" : "byte/character positions are numbered from 1");
            return tool_usage(t, 1);
        }
        if (r.to < r.from) { tool_fail(t, 1, "invalid decreasing range"); return tool_usage(t, 1); }
        s->set.at = tool_realloc(t, s->set.at, (s->set.n + 1) * sizeof(range));
        s->set.at[s->set.n++] = r;
        p = end;
        if (!*p) break;
    }
    qsort(s->set.at, s->set.n, sizeof(range), order);
    size_t kept = 0;
    for (size_t i = 1; i < s->set.n; i++) {
        range *last = &s->set.at[kept], *r = &s->set.at[i];
        if (last->to == (size_t)-1 || r->from <= last->to) { if (r->to > last->to) last->to = r->to; }
        else s->set.at[++kept] = *r;
    }
    s->set.n = kept + 1;
    return 0;
}

/* Whether position n is selected; *hint remembers the range, for rising n. */
static int selected(const cut_state *s, size_t n, size_t *hint) {
    while (*hint < s->set.n && s->set.at[*hint].to < n) ++*hint;
    int in = *hint < s->set.n && s->set.at[*hint].from <= n;
    return in != s->complement;
}

static void cut_bytes(const cut_state *s, const char *line, size_t n, buffer *b) {
    size_t hint = 0;
    int gap = 0;
    for (size_t i = 0; i < n; i++) {
        if (!selected(s, i + 1, &hint)) { gap = b->n > 0; continue; }
        int starts = i && hint < s->set.n && s->set.at[hint].from == i + 1;
        if (s->joint && b->n && (gap || starts)) buffer_add(b, s->joint, s->joint_n);
        gap = 0;
        buffer_putc(b, line[i]);
    }
}

static int cut_fields(const cut_state *s, const char *line, size_t n, buffer *b) {
    const char *end = line + n;
    if (!memchr(line, s->tab, n)) {
        if (s->only_delimited) return 0;
        buffer_add(b, line, n);
        return 1;
    }
    size_t hint = 0, field = 1;
    int any = 0;
    for (const char *p = line;; field++) {
        const char *stop = memchr(p, s->tab, (size_t)(end - p));
        if (!stop) stop = end;
        if (selected(s, field, &hint)) {
            if (any++) { if (s->joint) buffer_add(b, s->joint, s->joint_n); else buffer_putc(b, s->tab); }
            buffer_add(b, p, (size_t)(stop - p));
        }
        if (stop == end) return 1;
        p = stop + 1;
    }
}

/* -d with the line's own delimiter: the whole input is one record, its lines are the fields. */
static int cut_whole(tool *t, io *from, const cut_state *s) {
    buffer all = {.t = t}, b = {.t = t};
    if (buffer_read_all(&all, from) < 0 || !all.n) return 0;
    size_t n = all.n - (all.p[all.n - 1] == s->delim);
    if (!cut_fields(s, all.p, n, &b)) return 0;
    buffer_putc(&b, s->delim);
    return io_write(t->out, b.p, b.n) < 0 ? -1 : 0;
}

static int cut_stream(tool *t, io *from, const cut_state *s) {
    buffer b = {.t = t};
    if (s->mode == 'f' && s->tab == s->delim) return cut_whole(t, from, s);
    const char *line;
    ssize_t n;
    while ((n = io_line(from, &line, s->delim)) > 0) {
        size_t len = (size_t)n - (line[n - 1] == s->delim);
        int show = 1;
        b.n = 0;
        if (s->mode == 'f') show = cut_fields(s, line, len, &b);
        else cut_bytes(s, line, len, &b);
        if (!show) continue;
        buffer_putc(&b, s->delim);
        if (io_write(t->out, b.p, b.n) < 0) return -1;
    }
    buffer_free(&b);
    return 0;
}

int tool_cut(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"bytes", 1, 'b'}, {"characters", 1, 'c'}, {"fields", 1, 'f'}, {"delimiter", 1, 'd'},
        {"only-delimited", 0, 's'}, {"complement", 0, 'C'}, {"output-delimiter", 1, 'o'}, {"zero-terminated", 0, 'z'}, {0, 0, 0}};
    cut_state s = {.tab = -1, .delim = '\n'};
    const char *list = NULL;
    tool_opts o;
    int c, status = 0;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "b:c:f:d:snz", longs)) != -1;) switch (c) {
        case 'b': case 'c': case 'f':
            if (list) { tool_fail(t, 1, "only one list may be specified"); return tool_usage(t, 1); }
            s.mode = c;
            list = o.arg;
            break;
        case 'd':
            if (*o.arg && o.arg[1]) { tool_fail(t, 1, "the delimiter must be a single character"); return tool_usage(t, 1); }
            s.tab = (unsigned char)*o.arg;
            break;
        case 's': s.only_delimited = 1; break;
        case 'C': s.complement = 1; break;
        case 'o': s.joint = o.arg; s.joint_n = *o.arg ? strlen(o.arg) : 1; break;      /* none: the NUL byte */
        case 'n': break;
        case 'z': s.delim = '\0'; break;
        default: return 1;
    }
    if (!list) { tool_fail(t, 1, "you must specify a list of bytes, characters, or fields"); return tool_usage(t, 1); }
    if (s.mode != 'f' && s.tab >= 0) {
        tool_fail(t, 1, "an input delimiter may be specified only when operating on fields");
        return tool_usage(t, 1);
    }
    if (s.mode != 'f' && s.only_delimited) {
        tool_fail(t, 1, "suppressing non-delimited lines makes sense\n\tonly when operating on fields");
        return tool_usage(t, 1);
    }
    if (s.tab < 0) s.tab = '\t';
    if (parse_ranges(t, &s, list)) return 1;
    if (o.index >= argc) return cut_stream(t, t->in, &s) < 0;
    for (int i = o.index; i < argc; i++) {
        io *from = input_open(t, argv[i], 1, &status);
        if (!from) continue;
        int failed = cut_stream(t, from, &s);
        io_unref(from);
        if (failed) return 1;
    }
    return status;
}
