/* fold.c - fold: wrap lines at a width; expand and unexpand: tabs to spaces and back. Columns count bytes, as GNU's do. */
#include "buffer.h"
#include "inputs.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct { size_t width; int spaces, bytes; } fold_state;

static size_t advance(size_t column, char c, int bytes) {
    if (bytes) return column + 1;
    return c == '\b' ? (column ? column - 1 : 0) : c == '\r' ? 0 : c == '\t' ? column + 8 - column % 8 : column + 1;
}

static int fold_stream(tool *t, io *from, const char *name, void *context) {
    fold_state *s = context;
    const char *line;
    ssize_t got;
    (void)name;
    while ((got = io_line(from, &line, '\n')) > 0) {
        int ended = line[got - 1] == '\n';
        size_t n = (size_t)got - (size_t)ended, start = 0, column = 0, i = 0;
        while (i < n) {
            size_t next = advance(column, line[i], s->bytes);
            if (next > s->width && i > start) {
                size_t cut = i;
                if (s->spaces) {
                    size_t at = i;
                    while (at > start && line[at - 1] != ' ' && line[at - 1] != '\t') at--;
                    if (at > start) cut = at;
                }
                io_write(t->out, line + start, cut - start);
                if (io_putc(t->out, '\n') < 0) return 1;
                start = cut;
                column = 0;
                i = start;
                continue;
            }
            column = next;
            i++;
        }
        io_write(t->out, line + start, n - start);
        if (ended && io_putc(t->out, '\n') < 0) return 1;
    }
    return 0;
}

int tool_fold(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"width", 1, 'w'}, {"spaces", 0, 's'}, {"bytes", 0, 'b'}, {0, 0, 0}};
    fold_state s = {.width = 80};
    tool_opts o;
    int c;
    if (argc > 1 && argv[1][0] == '-' && isdigit((unsigned char)argv[1][1])) argv[1] = tool_format(t, "-w%s", argv[1] + 1);
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "w:sb", longs)) != -1;) switch (c) {
        case 'w':
            s.width = strtoul(o.arg, NULL, 10);
            if (!s.width || *o.arg == '-')
                return tool_fail(t, 1, "invalid number of columns: %s%s", tool_cite(t, o.arg),
                    strcmp(o.arg, "0") ? "" : ": Numerical result out of range");
            break;
        case 's': s.spaces = 1; break;
        case 'b': s.bytes = 1; break;
        default: return 1;
    }
    return for_each_input(t, argc, argv, o.index, fold_stream, &s);
}

typedef struct {
    size_t stops[256], every, from;
    int count, initial, all;
} tab_state; /* every: stops beyond the list, counted from column from */

/* Columns to the next stop after column. */
static size_t next_stop(const tab_state *s, size_t column) {
    if (s->count == 1) return column + s->stops[0] - column % s->stops[0];
    for (int i = 0; i < s->count; i++) if (s->stops[i] > column) return s->stops[i];
    return s->every ? column + s->every - (column - s->from) % s->every : column + 1;
}

static int take_stops(tool *t, tab_state *s, const char *arg) {
    for (const char *p = arg; *p;) {
        char *end, how = *p == '+' || *p == '/' ? *p++ : 0;
        unsigned long v = strtoul(p, &end, 10);
        if (end == p) return tool_fail(t, 1, "tab size contains invalid character(s): %s", tool_cite(t, p));
        if (!v) return tool_fail(t, 1, "tab size cannot be 0");
        if (how) {
            s->every = v;
            s->from = how == '+' && s->count ? s->stops[s->count - 1] : 0;
            if (!s->count) s->stops[s->count++] = v;
            else if (s->count == 1) { s->stops[1] = s->from + (how == '+' ? v : (s->stops[0] / v + 1) * v); s->count = 2; }
            p = end;
            continue;
        }
        if (s->count && s->stops[s->count - 1] >= v) return tool_fail(t, 1, "tab sizes must be ascending");
        if (s->count < 256) s->stops[s->count++] = v;
        for (p = end; *p == ',' || *p == ' '; p++) {}
    }
    return 0;
}

static int expand_stream(tool *t, io *from, const char *name, void *context) {
    tab_state *s = context;
    const char *line;
    ssize_t got;
    buffer b = {.t = t};
    (void)name;
    while ((got = io_line(from, &line, '\n')) > 0) {
        size_t column = 0;
        int leading = 1;
        b.n = 0;
        for (ssize_t i = 0; i < got; i++) {
            char c = line[i];
            if (c == '\t' && (leading || !s->initial)) {
                size_t to = next_stop(s, column);
                for (; column < to; column++) buffer_putc(&b, ' ');
            } else {
                if (c != ' ') leading = 0;
                if (c == '\b') column = column ? column - 1 : 0;
                else column++;
                buffer_putc(&b, c);
            }
        }
        if (io_write(t->out, b.p, b.n) < 0) return 1;
    }
    return 0;
}

static int unexpand_stream(tool *t, io *from, const char *name, void *context) {
    tab_state *s = context;
    const char *line;
    ssize_t got;
    buffer b = {.t = t};
    (void)name;
    while ((got = io_line(from, &line, '\n')) > 0) {
        size_t column = 0, start = 0;
        int blank = 1, pending = 0;
        b.n = 0;
        for (ssize_t i = 0; i < got; i++) {
            char c = line[i];
            int beyond = s->count > 1 && !s->every && column >= s->stops[s->count - 1];
            if (blank && (c == ' ' || c == '\t') && !beyond) {
                if (!pending) start = column;
                pending++;
                column = c == '\t' ? next_stop(s, column) : column + 1;
                /* a run that reaches a stop becomes a tab, unless it is a single space */
                if (next_stop(s, start) == column && (c == '\t' || pending > 1)) { buffer_putc(&b, '\t'); pending = 0; }
                else if (c == '\t') { buffer_putc(&b, '\t'); pending = 0; }
                else if (next_stop(s, start) == column) { /* one space up to a stop: a tab only if more blanks follow */
                    if (i + 1 < got && (line[i + 1] == ' ' || line[i + 1] == '\t')) { buffer_putc(&b, '\t'); pending = 0; }
                }
                continue;
            }
            for (; pending; pending--) buffer_putc(&b, ' ');
            if (c != ' ' && c != '\t' && !s->all) blank = 0;
            buffer_putc(&b, c);
            column++;
        }
        for (; pending; pending--) buffer_putc(&b, ' ');
        if (io_write(t->out, b.p, b.n) < 0) return 1;
    }
    return 0;
}

int tool_expand(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"tabs", 1, 't'}, {"initial", 0, 'i'}, {0, 0, 0}};
    tab_state s = {0};
    tool_opts o;
    int c;
    if (argc > 1 && argv[1][0] == '-' && isdigit((unsigned char)argv[1][1])) argv[1] = tool_format(t, "-t%s", argv[1] + 1);
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "t:i", longs)) != -1;) switch (c) {
        case 't': if (take_stops(t, &s, o.arg)) return 1; break;
        case 'i': s.initial = 1; break;
        default: return 1;
    }
    if (!s.count) s.stops[s.count++] = 8;
    return for_each_input(t, argc, argv, o.index, expand_stream, &s);
}

int tool_unexpand(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"tabs", 1, 't'}, {"all", 0, 'a'}, {"first-only", 0, 'f'}, {0, 0, 0}};
    tab_state s = {0};
    tool_opts o;
    int c, first = 0;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "t:af", longs)) != -1;) switch (c) {
        case 't': if (take_stops(t, &s, o.arg)) return 1; s.all = 1; break;
        case 'a': s.all = 1; break;
        case 'f': first = 1; break;
        default: return 1;
    }
    if (first) s.all = 0;
    if (!s.count) s.stops[s.count++] = 8;
    return for_each_input(t, argc, argv, o.index, unexpand_stream, &s);
}
