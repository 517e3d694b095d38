/* grep_search.c - searching one file or tree for grep, with context, counts and colours. */
#include "files.h"
#include "grep.h"
#include "../utf8.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* The lines before the present one that context may still need. */
typedef struct { char *text; size_t n, cap; unsigned long number; unsigned long long offset; } kept_line;

typedef struct {
    grep_state *g;
    const char *name;
    int show_name, binary, stopped, width;                    /* width: of numbers with -T, that they stand in line */
    kept_line *ring;
    size_t ring_n, ring_at;
    unsigned long number, last_printed, selected, after_left;
    unsigned long long offset;
    size_t column;                                            /* of the match that is printed, from 1 */
    int printed;
} search;

static void color_on(grep_state *g, int which) { if (g->color) io_printf(g->t->out, "\033[%sm\033[K", g->colors[which]); }
static void color_off(grep_state *g) { if (g->color) io_puts(g->t->out, "\033[m\033[K"); }

static void put_mark(grep_state *g, char mark) {
    color_on(g, COLOR_SEPARATOR);
    io_putc(g->t->out, mark);
    color_off(g);
}

static void put_name(grep_state *g, const char *name) {
    color_on(g, COLOR_NAME);
    io_puts(g->t->out, name);
    color_off(g);
}

static void put_prefix(search *s, unsigned long number, unsigned long long offset, char mark, size_t length) {
    grep_state *g = s->g;
    io *out = g->t->out;
    if (s->show_name) {
        put_name(g, s->name);
        if (g->null_names) io_putc(out, '\0'); else put_mark(g, mark);
    }
    if (g->numbers) {
        color_on(g, COLOR_NUMBER);
        io_printf(out, "%*lu", s->width, number);
        color_off(g);
        put_mark(g, mark);
    }
    if (g->offsets) {
        color_on(g, COLOR_OFFSET);
        io_printf(out, "%*llu", s->width, offset);
        color_off(g);
        put_mark(g, mark);
    }
    if (g->columns && mark == ':') io_printf(out, "%zu:", s->column);
    if (g->tab && length && (s->show_name || g->numbers || g->offsets)) io_putc(out, '\t');
}

static void put_painted(grep_state *g, int color, const char *text, size_t n) {
    int plain = !*g->colors[color];
    if (!plain) color_on(g, color);
    io_write(g->t->out, text, n);
    if (!plain) color_off(g);
}

/* A line in colours; what it is selected for, or with -v what it is not selected for, in those of matches. */
static void put_colored(search *s, const char *line, size_t n, char mark) {
    grep_state *g = s->g;
    int selected = mark == ':', around = selected ? COLOR_SELECTED : COLOR_CONTEXT;
    regex_span m;
    size_t from = 0;
    for (size_t at = 0; selected != g->invert && at <= n && regex_exec(g->regex, line, n, at, &m, 1) > 0;) {
        if (m.end <= m.start) { at = (size_t)m.start + 1; continue; }
        if (*g->colors[around]) color_on(g, around);
        io_write(g->t->out, line + from, (size_t)m.start - from);
        put_painted(g, selected ? COLOR_MATCH : COLOR_CONTEXT_MATCH, line + m.start, (size_t)(m.end - m.start));
        at = from = (size_t)m.end;
    }
    if (from < n) put_painted(g, around, line + from, n - from);
}

static void put_separator(grep_state *g) {
    color_on(g, COLOR_SEPARATOR);
    io_puts(g->t->out, g->separator);
    color_off(g);
    io_putc(g->t->out, '\n');
}

/* Before the line of this number: tells it from the last one printed, when there are lines between them. */
static void put_gap(search *s, unsigned long number) {
    grep_state *g = s->g;
    int gap = s->last_printed ? number > s->last_printed + 1 : g->printed_any;
    if (gap && g->context && g->separator) put_separator(g);
    s->last_printed = number;
    g->printed_any = 1;
}

enum { REPLACE_GROUPS = 32 };

/* What is printed for a match: the replacement, with $1, ${1} and ${name} for its groups, or the match itself. */
static void put_match(grep_state *g, const char *line, const regex_span *m) {
    const char *p = g->replace;
    if (!p) { io_write(g->t->out, line + m->start, (size_t)(m->end - m->start)); return; }
    while (*p) {
        size_t plain = strcspn(p, "$"), n;
        io_write(g->t->out, p, plain);
        p += plain;
        if (!*p) break;
        int braced = p[1] == '{';
        const char *name = p + 1 + braced;
        for (n = 0; name[n] == '_' || isalnum((unsigned char)name[n]);) n++;
        if (!n || (braced && name[n] != '}')) { io_putc(g->t->out, '$'); p += p[1] == '$' ? 2 : 1; continue; }
        int group = isdigit((unsigned char)*name) ? atoi(name) : -1;
        for (int i = 1; group < 0 && i <= regex_groups(g->regex); i++) {
            const char *known = regex_group_name(g->regex, i);
            if (known && strlen(known) == n && !memcmp(known, name, n)) group = i;
        }
        if (group >= 0 && group < REPLACE_GROUPS && m[group].start >= 0)
            io_write(g->t->out, line + m[group].start, (size_t)(m[group].end - m[group].start));
        p = name + n + braced;
    }
}

static void put_replaced(grep_state *g, const char *line, size_t n) {
    regex_span m[REPLACE_GROUPS];
    size_t from = 0;
    for (size_t at = 0; at <= n && regex_exec(g->regex, line, n, at, m, REPLACE_GROUPS) > 0;) {
        io_write(g->t->out, line + from, (size_t)m->start - from);
        put_match(g, line, m);
        from = (size_t)m->end;
        at = m->end > m->start ? from : from + 1;
    }
    io_write(g->t->out, line + from, n - from);
}

static int put_line(search *s, const char *line, size_t n, unsigned long number, unsigned long long offset, char mark) {
    grep_state *g = s->g;
    regex_span m;
    put_gap(s, number);
    s->column = g->columns && mark == ':' && regex_exec(g->regex, line, n, 0, &m, 1) > 0 ? (size_t)m.start + 1 : 1;
    put_prefix(s, number, offset, mark, n);
    if (g->replace && mark == ':' && !g->invert) put_replaced(g, line, n);
    else if (g->color) put_colored(s, line, n, mark); else io_write(g->t->out, line, n);
    return io_putc(g->t->out, g->delim);
}

static int put_matches(search *s, const char *line, size_t n) {
    grep_state *g = s->g;
    regex_span m[REPLACE_GROUPS];
    for (size_t at = 0; at <= n && regex_exec(g->regex, line, n, at, m, g->replace ? REPLACE_GROUPS : 1) > 0;) {
        if (m->end <= m->start) { at = (size_t)m->end + 1; if (m->end < m->start) at = (size_t)m->start + 1; continue; }
        s->column = (size_t)m->start + 1;
        put_prefix(s, s->number, s->offset + (unsigned long long)m->start, ':', (size_t)(m->end - m->start));
        color_on(g, COLOR_MATCH);
        put_match(g, line, m);
        color_off(g);
        if (io_putc(g->t->out, g->delim) < 0) return -1;
        at = (size_t)m->end;
    }
    return 0;
}

static void keep(search *s, const char *line, size_t n) {
    kept_line *k = &s->ring[s->ring_at];
    if (n > k->cap) k->text = tool_realloc(s->g->t, k->text, k->cap = n + 64);
    if (n) memcpy(k->text, line, n);
    k->n = n;
    k->number = s->number;
    k->offset = s->offset;
    s->ring_at = (s->ring_at + 1) % s->g->before;
    if (s->ring_n < s->g->before) s->ring_n++;
}

static int flush_kept(search *s) {
    size_t size = s->g->before;
    for (size_t i = 0; i < s->ring_n; i++) {
        kept_line *k = &s->ring[(s->ring_at + size - s->ring_n + i) % size];
        if (put_line(s, k->text, k->n, k->number, k->offset, '-') < 0) return -1;
    }
    s->ring_n = 0;
    return 0;
}

/* A selected line. -1 ends the search of this file. */
static int select_line(search *s, const char *line, size_t n) {
    grep_state *g = s->g;
    s->selected++;
    g->matched = 1;
    if (g->quiet) { g->stop = 1; return -1; }
    if (g->list) return -1;
    if (g->count_only) return s->selected >= g->most ? -1 : 0;
    if (s->binary || (!g->text && g->delim == '\n' && !utf8_valid(line, n))) {
        s->binary = 1;
        tool_fail(g->t, 0, "%s: binary file matches", s->name);
        return -1;
    }
    if (g->only) {
        put_gap(s, s->number);
        if (!g->invert && put_matches(s, line, n) < 0) return -1;
    } else {
        if (g->before && flush_kept(s) < 0) return -1;
        if (put_line(s, line, n, s->number, s->offset, ':') < 0) return -1;
    }
    s->after_left = g->after;
    return s->selected >= g->most ? (g->after ? 1 : -1) : 0;
}

static void search_stream(search *s, io *from) {
    grep_state *g = s->g;
    const char *line;
    ssize_t got;
    int done = 0, first = 1;
    if (g->before > 100000) g->before = 100000;
    if (g->before) s->ring = tool_alloc(g->t, g->before * sizeof *s->ring);
    if (!g->most) return;
    while ((got = io_line(from, &line, g->delim)) > 0) {
        size_t n = (size_t)got - (line[got - 1] == g->delim);
        if (first && !g->text && g->delim == '\n') {
            size_t rest;
            const char *more = io_bytes(from, &rest);
            if (memchr(line, 0, n) || (rest && memchr(more, 0, rest < 32768 ? rest : 32768))) {
                s->binary = 1;
                if (g->skip_binary) return;
            }
        }
        first = 0;
        s->number++;
        int hit = 0;
        if (!done) {
            hit = g->no_patterns ? 0 : regex_test(g->regex, line, n);
            if (hit < 0) { g->failed = 1; tool_fail(g->t, 2, "%s: pattern too complex for this line", s->name); hit = 0; }
            hit = (hit != 0) != (g->invert != 0);
        }
        if (hit) {
            int end = select_line(s, line, n);
            if (end < 0) break;
            if (end > 0) done = 1;
        } else if (s->after_left) {
            s->after_left--;
            if (!g->only && !g->count_only && put_line(s, line, n, s->number, s->offset, '-') < 0) break;
        } else if (done) break;
        else if (g->before) keep(s, line, n);
        s->offset += (unsigned long long)got;
        if (io_failed(g->t->out)) { g->stop = 1; break; }
    }
}

static int base_excluded(const grep_state *g, const char *path, int is_dir, int implied) {
    const char *base = path_last(path);
    int included = -1;
    if (implied) return 0;
    for (int i = 0; i < g->globs; i++) {
        int kind = g->glob[i].kind;
        if ((kind == 'd') != is_dir) continue;
        int hit = glob_matches(g->glob[i].pattern, base, 0, 0) || glob_matches(g->glob[i].pattern, path, 0, 0);
        if (kind == 'i') { if (hit) included = 1; else if (included < 0) included = 0; }
        else if (hit) return 1;
    }
    return included == 0;
}

static void search_tree(grep_state *g, const char *path, int depth, int implied) {
    size_t n;
    if (depth > 500 || tool_too_deep(g->t)) { g->failed = 1; tool_fail(g->t, 2, "%s: directories nest too deep", path); return; }
    char **names = directory_names(g->t, path, &n);
    if (!names) { g->failed = 1; if (!g->silent) tool_fail_errno(g->t, 2, "%s", path); return; }
    for (size_t i = 0; i < n && !g->stop; i++)
        grep_path(g, implied && depth == 0 ? names[i] : path_join(g->t, path, names[i]), depth + 1, 0);
}

enum { WIDEST_NUMBER = 19 };                              /* of an offset in a stream whose length is not known */

static int digits(unsigned long long n) {
    int count = 1;
    while (n /= 10) count++;
    return count;
}

void grep_path(grep_state *g, const char *path, int depth, int implied) {
    struct stat st;
    int standard = !strcmp(path, "-") && !depth, directory = 0;
    if (!standard && (g->recursive == 1 && depth ? path_lstat : path_stat)(path, &st) == 0) {
        if (depth && S_ISLNK(st.st_mode)) return;
        if (S_ISDIR(st.st_mode)) {
            if (g->recursive) {
                if (!base_excluded(g, path, 1, implied || (!depth && !strcmp(path, ".")))) search_tree(g, path, depth, implied);
                return;
            }
            if (g->skip_dirs) return;
            g->failed = 1;
            directory = 1;
            if (!g->silent) tool_fail(g->t, 2, "%s: Is a directory", path);
        } else if (base_excluded(g, path, 0, 0)) return;
    }
    io *from = standard ? io_ref(g->t->in) : directory ? io_null() : io_open(path, O_RDONLY, 0);
    if (!from) {
        g->failed = 1;
        if (!g->silent) tool_fail_errno(g->t, 2, "%s", path);
        return;
    }
    search s = {.g = g,
        .name = standard ? g->label ? g->label : "(standard input)" : path,
        .show_name = g->names == 1 || (g->names == 2 && depth)};
    if (g->tab) s.width = standard ? WIDEST_NUMBER : digits((unsigned long long)st.st_size);
    search_stream(&s, from);
    io_take_block(from);
    if (g->quiet || g->list) {                            /* leaves at once: what was read ahead, of a file too, is gone */
        size_t there;
        io_bytes(from, &there);
        io_skip(from, there);
    }
    io_unref(from);
    io *out = g->t->out;
    if (g->quiet) return;
    if (g->list == 'l' ? s.selected > 0 : g->list == 'L' && !s.selected) {
        put_name(g, s.name);
        io_putc(out, g->null_names ? '\0' : '\n');
    } else if (g->count_only && !g->list && (s.selected || !g->found_only)) {
        if (s.show_name) {
            put_name(g, s.name);
            if (g->null_names) io_putc(out, '\0'); else put_mark(g, ':');
        }
        io_printf(out, "%lu\n", s.selected);
    }
    if (io_failed(out)) g->stop = 1;
}
