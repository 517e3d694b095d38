/* fold.c - fold: wrap lines at a width; fmt: refill paragraphs; expand and unexpand: tabs to spaces and back. Columns count
 * bytes, as GNU's do. */
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
                for (i = start; 0;) {}
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
            if (!s.width) return tool_fail(t, 1, "invalid number of columns: %s", tool_cite(t, o.arg));
            break;
        case 's': s.spaces = 1; break;
        case 'b': s.bytes = 1; break;
        default: return 1;
    }
    return for_each_input(t, argc, argv, o.index, fold_stream, &s);
}

typedef struct {
    size_t width, goal;
    int split_only, uniform, crown, tagged;
    const char *prefix;
    span_list words;
    size_t first_indent, indent, before;
    int in_paragraph;
} fmt_state;

/* Whether a sentence ends with word i: by its mark and the space after it, or because the paragraph does. */
static int is_final(const fmt_state *s, size_t i);
static int ends_sentence(span w) { return w.n && strchr(".?!", w.p[w.n - 1]); }

static int is_final(const fmt_state *s, size_t i) {
    return i + 1 == s->words.n || (ends_sentence(s->words.at[i]) && s->words.at[i + 1].p[-1] == 1);
}

/* What breaking before word i costs, after GNU's table: sentence ends are good places, widows and orphans bad ones. */
static double break_cost(const fmt_state *s, size_t i) {
    const span *w = s->words.at;
    double cost = 70.0 * 70;
    if (i > 0) {
        int last = w[i - 1].n ? w[i - 1].p[w[i - 1].n - 1] : ' ';
        if (ends_sentence(w[i - 1])) { if (w[i].p[-1] == 1) cost -= 50.0 * 50; else cost += 600.0 * 600; }
        else if (strchr(",;:)]}\"'", last)) cost -= 40.0 * 40;
        else if (i > 1 && ends_sentence(w[i - 2]) && w[i - 1].p[-1] == 1) cost += 200.0 * 200 / (double)(w[i - 1].n + 2);
    }
    if (strchr("(['\"`", *w[i].p)) cost -= 40.0 * 40;
    else if (is_final(s, i)) cost += 150.0 * 150 / (double)(w[i].n + 2);
    return cost;
}

/* Chooses the breaks of the whole paragraph at once, by least total cost: lines near the goal, and like their neighbours. */
static int flush_paragraph(tool *t, fmt_state *s) {
    size_t n = s->words.n;
    if (!n) return 0;
    double *best = tool_alloc(t, (n + 1) * sizeof *best);
    size_t *next = tool_alloc(t, (n + 1) * sizeof *next), *length = tool_alloc(t, (n + 1) * sizeof *length);
    for (size_t i = n; i-- > 0;) {
        size_t len = (i ? s->indent : s->first_indent) + s->words.at[i].n;
        best[i] = -1;
        for (size_t j = i + 1;; j++) {
            double cost = best[j];
            if (j < n) {
                double gap = ((double)s->goal - (double)len) * 10, ragged = ((double)len - (double)length[j]) * 10;
                cost += gap * gap;
                if (next[j] < n) cost += ragged * ragged / 2;      /* the last line may be short */
            }
            if (best[i] < 0 || cost < best[i]) { best[i] = cost; next[i] = j; length[i] = len; }
            if (j >= n) break;
            len += (s->words.at[j].p[-1] == 1 ? 2u : 1u) + s->words.at[j].n;
            if (len >= s->width) break;
        }
        best[i] += break_cost(s, i);
        if (best[i] < 0) best[i] = 0;
    }
    for (size_t i = 0; i < n; i = next[i]) {
        size_t margin = i ? s->indent : s->first_indent, k = 0;
        if (s->prefix) {
            for (; k < s->before; k++) io_putc(t->out, ' ');
            io_puts(t->out, s->prefix);
            k += strlen(s->prefix);
        }
        for (; k < margin; k++) io_putc(t->out, ' ');
        for (size_t j = i; j < next[i]; j++) {
            if (j > i) io_puts(t->out, s->words.at[j].p[-1] == 1 ? "  " : " ");
            io_write(t->out, s->words.at[j].p, s->words.at[j].n);
        }
        if (io_putc(t->out, '\n') < 0) return 1;
    }
    s->words.n = 0;
    tool_free(t, best);
    tool_free(t, next);
    tool_free(t, length);
    return 0;
}

static int fmt_stream(tool *t, io *from, const char *name, void *context) {
    fmt_state *s = context;
    const char *line;
    ssize_t got;
    (void)name;
    while ((got = io_line(from, &line, '\n')) > 0) {
        size_t n = (size_t)got - (line[got - 1] == '\n'), i = 0, indent = 0;
        for (; i < n && (line[i] == ' ' || line[i] == '\t'); i++) indent = advance(indent, line[i], 0);
        if (s->prefix) {
            size_t length = strlen(s->prefix), begin = i;
            if (n - i < length || memcmp(line + i, s->prefix, length)) {
                if (flush_paragraph(t, s) || io_write(t->out, line, n) < 0 || io_putc(t->out, '\n') < 0) return 1;
                continue;
            }
            s->before = indent;
            for (i += length; i < n && (line[i] == ' ' || line[i] == '\t'); i++) {}
            indent += i - begin;
        }
        if (i == n) {
            if (s->prefix) {
                if (flush_paragraph(t, s)) return 1;
                for (size_t k = 0; k < s->before; k++) io_putc(t->out, ' ');
                io_puts(t->out, s->prefix);
                if (io_putc(t->out, '\n') < 0) return 1;
                continue;
            }
            if (flush_paragraph(t, s) || io_putc(t->out, '\n') < 0) return 1;
            continue;
        }
        if (s->words.n && (s->split_only || indent != s->indent)) { if (flush_paragraph(t, s)) return 1; }
        if (!s->words.n) s->first_indent = s->indent = indent;
        size_t first = i;
        while (i < n) {
            size_t start = i;
            while (i < n && line[i] != ' ' && line[i] != '\t') i++;
            char *w = tool_alloc(t, i - start + 2);
            memcpy(w + 1, line + start, i - start);
            /* the byte before a word says how far it stands from the last: 1 after a sentence */
            if (s->words.n) {
                span last = s->words.at[s->words.n - 1];
                char e = last.p[last.n - 1];
                int at_line_start = start == 0 || start == indent || start == first;
                if ((e == '.' || e == '?' || e == '!') && (s->uniform || at_line_start || (start >= 2 && line[start - 2] == ' ')))
                    w[0] = 1;
            }
            span_add(t, &s->words, w + 1, i - start);
            while (i < n && (line[i] == ' ' || line[i] == '\t')) i++;
        }
        if (s->split_only && flush_paragraph(t, s)) return 1;
    }
    return flush_paragraph(t, s);
}

int tool_fmt(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"width", 1, 'w'}, {"goal", 1, 'g'}, {"split-only", 0, 's'}, {"uniform-spacing", 0, 'u'},
        {"crown-margin", 0, 'c'}, {"tagged-paragraph", 0, 't'}, {"prefix", 1, 'p'}, {0, 0, 0}};
    fmt_state s = {.width = 75};
    tool_opts o;
    int c;
    if (argc > 1 && argv[1][0] == '-' && isdigit((unsigned char)argv[1][1])) argv[1] = tool_format(t, "-w%s", argv[1] + 1);
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "w:g:suctp:", longs)) != -1;) switch (c) {
        case 'w':
            s.width = strtoul(o.arg, NULL, 10);
            if (!s.width) return tool_fail(t, 1, "invalid width: %s", tool_cite(t, o.arg));
            break;
        case 'g': s.goal = strtoul(o.arg, NULL, 10); break;
        case 's': s.split_only = 1; break;
        case 'u': s.uniform = 1; break;
        case 'p': for (s.prefix = o.arg; *s.prefix == ' '; s.prefix++) {} break;
        case 'c': case 't': break;
        default: return 1;
    }
    if (!s.goal) s.goal = s.width * (2 * (100 - 7) + 1) / 200;
    return for_each_input(t, argc, argv, o.index, fmt_stream, &s);
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
            if (blank && (c == ' ' || c == '\t')) {
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
