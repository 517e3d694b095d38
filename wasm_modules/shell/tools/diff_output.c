/* diff_output.c - the formats of diff: normal, unified, context, side by side, ed. */
#include "diff.h"
#include "../utf8.h"
#include <ctype.h>
#include <string.h>

static const char *color_on(const diff_state *s, int kind) {
    if (!s->color || kind == ' ') return "";
    return kind == '-' ? "\033[31m" : kind == '+' ? "\033[32m" : kind == '@' ? "\033[36m" : "\033[1m";
}
static const char *color_off(const diff_state *s) { return s->color ? "\033[0m" : ""; }

static void put_line(diff_state *s, const char *mark, diff_file *f, size_t i, int kind) {
    span l = f->lines.at[i];
    size_t n = strlen(mark), column = 0;
    if (s->initial_tab && n && mark[n - 1] == ' ' && n > 1) n--;
    io_puts(s->t->out, color_on(s, kind));
    io_write(s->t->out, mark, n);
    if (s->initial_tab && n) io_putc(s->t->out, '\t');
    for (size_t k = 0; s->expand_tabs && k < l.n; k++) {
        if (l.p[k] != '\t') { io_putc(s->t->out, l.p[k]); column++; continue; }
        do io_putc(s->t->out, ' '); while (++column % s->tab_columns);
    }
    if (!s->expand_tabs) io_write(s->t->out, l.p, l.n);
    io_printf(s->t->out, "%s\n", kind == ' ' ? "" : color_off(s));
    if (f->no_newline && i + 1 == f->lines.n) io_puts(s->t->out, "\\ No newline at end of file\n");
}

/* 3 or 3,5 for lines from..from+n, as normal and context output count. */
static void put_range(diff_state *s, size_t from, size_t n) {
    if (n <= 1) io_printf(s->t->out, "%zu", n ? from + 1 : from); else io_printf(s->t->out, "%zu,%zu", from + 1, from + n);
}

static void print_normal(diff_state *s, diff_file *f[2], const hunk_list *hunks) {
    for (size_t i = 0; i < hunks->n; i++) {
        hunk h = hunks->at[i];
        io_puts(s->t->out, color_on(s, '@'));
        put_range(s, h.a, h.a_n);
        io_putc(s->t->out, !h.a_n ? 'a' : !h.b_n ? 'd' : 'c');
        put_range(s, h.b, h.b_n);
        io_printf(s->t->out, "%s\n", color_off(s));
        for (size_t k = 0; k < h.a_n; k++) put_line(s, "< ", f[0], h.a + k, '-');
        if (h.a_n && h.b_n) io_puts(s->t->out, "---\n");
        for (size_t k = 0; k < h.b_n; k++) put_line(s, "> ", f[1], h.b + k, '+');
    }
}

static void put_header(diff_state *s, const char *mark, diff_file *f, int which) {
    if (which < s->label_n) { io_printf(s->t->out, "%s %s\n", mark, s->label[which]); return; }
    buffer b = {.t = s->t};
    date_format(&b, "%Y-%m-%d %H:%M:%S.%N %z", f->when, 0);
    io_printf(s->t->out, "%s%s %s\t%s%s\n", color_on(s, 'h'), mark, f->name, b.p, color_off(s));
    buffer_free(&b);
}

/* How many hunks from i on share one block with their context. */
static size_t block_end(const diff_state *s, const hunk_list *hunks, size_t i) {
    size_t j = i;
    while (j + 1 < hunks->n && hunks->at[j + 1].a - (hunks->at[j].a + hunks->at[j].a_n) <= 2 * s->context) j++;
    return j;
}

static void put_unified_range(diff_state *s, char mark, size_t from, size_t n) {
    if (n == 1) io_printf(s->t->out, "%c%zu", mark, from + 1);
    else io_printf(s->t->out, "%c%zu,%zu", mark, n ? from + 1 : from, n);
}

/* The title of a hunk whose first line is from: the last line before it that -p or -F looks for. */
static void put_function(diff_state *s, const diff_file *f, size_t from) {
    enum { MOST = 40 };
    if (!s->function) return;
    while (from > 0 && regex_test(s->function, f->lines.at[from - 1].p, f->lines.at[from - 1].n) <= 0) from--;
    if (!from) return;
    const char *p = f->lines.at[from - 1].p, *end = p + f->lines.at[from - 1].n;
    while (p < end && isspace((unsigned char)*p)) p++;
    if (end - p > MOST) end = p + MOST;
    while (end > p && isspace((unsigned char)end[-1])) end--;
    io_putc(s->t->out, ' ');
    io_write(s->t->out, p, (size_t)(end - p));
}

static void print_unified(diff_state *s, diff_file *f[2], const hunk_list *hunks) {
    put_header(s, "---", f[0], 0);
    put_header(s, "+++", f[1], 1);
    for (size_t i = 0; i < hunks->n;) {
        size_t last = block_end(s, hunks, i);
        hunk first = hunks->at[i], end = hunks->at[last];
        size_t before = first.a < s->context ? first.a : s->context, a0 = first.a - before, b0 = first.b - before;
        size_t tail = f[0]->lines.n - (end.a + end.a_n), after = tail < s->context ? tail : s->context;
        size_t a1 = end.a + end.a_n + after, b1 = end.b + end.b_n + after;
        io_printf(s->t->out, "%s@@ ", color_on(s, '@'));
        put_unified_range(s, '-', a0, a1 - a0);
        io_putc(s->t->out, ' ');
        put_unified_range(s, '+', b0, b1 - b0);
        io_printf(s->t->out, " @@%s", color_off(s));
        put_function(s, f[0], a0);
        io_putc(s->t->out, '\n');
        size_t at = a0;
        for (; i <= last; i++) {
            hunk h = hunks->at[i];
            while (at < h.a) put_line(s, " ", f[0], at++, ' ');
            for (size_t k = 0; k < h.a_n; k++) put_line(s, "-", f[0], h.a + k, '-');
            for (size_t k = 0; k < h.b_n; k++) put_line(s, "+", f[1], h.b + k, '+');
            at = h.a + h.a_n;
        }
        while (at < a1) put_line(s, " ", f[0], at++, ' ');
    }
}

static void put_context_range(diff_state *s, const char *mark, size_t from, size_t n, const char *close) {
    io_printf(s->t->out, "%s ", mark);
    if (n <= 1) io_printf(s->t->out, "%zu", n ? from + 1 : from); else io_printf(s->t->out, "%zu,%zu", from + 1, from + n);
    io_printf(s->t->out, " %s\n", close);
}

static void print_context(diff_state *s, diff_file *f[2], const hunk_list *hunks) {
    put_header(s, "***", f[0], 0);
    put_header(s, "---", f[1], 1);
    for (size_t i = 0; i < hunks->n;) {
        size_t last = block_end(s, hunks, i), next = last + 1;
        hunk first = hunks->at[i], end = hunks->at[last];
        size_t before = first.a < s->context ? first.a : s->context, tail = f[0]->lines.n - (end.a + end.a_n),
               after = tail < s->context ? tail : s->context;
        size_t from[2] = {first.a - before, first.b - before}, to[2] = {end.a + end.a_n + after, end.b + end.b_n + after};
        io_puts(s->t->out, "***************");
        put_function(s, f[0], from[0]);
        io_putc(s->t->out, '\n');
        for (int side = 0; side < 2; side++) {
            int any = 0;
            for (size_t k = i; k <= last; k++) any |= side ? hunks->at[k].b_n > 0 : hunks->at[k].a_n > 0;
            put_context_range(s, side ? "---" : "***", from[side], to[side] - from[side], side ? "----" : "****");
            if (!any) continue;
            size_t at = from[side];
            for (size_t k = i; k <= last; k++) {
                hunk h = hunks->at[k];
                size_t start = side ? h.b : h.a, n = side ? h.b_n : h.a_n;
                while (at < start) put_line(s, "  ", f[side], at++, ' ');
                for (size_t m = 0; m < n; m++)
                    put_line(s, h.a_n && h.b_n ? "! " : side ? "+ " : "- ", f[side], start + m, side ? '+' : '-');
                at = start + n;
            }
            while (at < to[side]) put_line(s, "  ", f[side], at++, ' ');
        }
        i = next;
    }
}

/* Text of line i cut to width columns; returns the columns used. Tabs expand. */
static size_t put_cell(diff_state *s, diff_file *f, size_t i, size_t width) {
    span l = f->lines.at[i];
    size_t column = 0;
    for (size_t k = 0; k < l.n;) {
        int c, n = utf8_decode(l.p + k, l.n - k, &c);
        if (c == '\t') {
            size_t to = column + s->tab_columns - column % s->tab_columns;
            if (!s->expand_tabs && to < width) { io_putc(s->t->out, '\t'); column = to; }
            if (to > width) to = width;
            while (column < to) { io_putc(s->t->out, ' '); column++; }
        } else {
            int w = utf8_width(c);
            if (column + (size_t)(w > 0 ? w : 0) > width) break;
            io_write(s->t->out, l.p + k, (size_t)n);
            column += (size_t)(w > 0 ? w : 0);
        }
        k += (size_t)n;
    }
    return column;
}

/* GNU pads the gutter with tabs where they fit. */
static void pad_to(diff_state *s, size_t from, size_t to) {
    while (from < to && !s->expand_tabs) {
        size_t stop = from + s->tab_columns - from % s->tab_columns;
        if (stop > to) break;
        io_putc(s->t->out, '\t');
        from = stop;
    }
    for (; from < to; from++) io_putc(s->t->out, ' ');
}

static int ends_line(const diff_file *f, size_t i) { return !f->no_newline || i + 1 < f->lines.n; }

static void put_pair(diff_state *s, diff_file *f[2], long a, long b, char mark) {
    /* the layout of GNU diff: two halves around a gutter of three columns, aligned on tab stops unless they are expanded */
    size_t width = s->width, tab = s->expand_tabs ? 1 : s->tab_columns, offset = (width + tab + 3) / 2 / tab * tab;
    size_t half = offset - 3 < width - offset ? offset - 3 : width - offset;
    size_t column = a >= 0 ? put_cell(s, f[0], (size_t)a, half) : 0;
    if (mark != ' ') {
        pad_to(s, column, (half + offset - 1) / 2);
        column = (half + offset - 1) / 2;
        int left_ends = a >= 0 && ends_line(f[0], (size_t)a), right_ends = b >= 0 && ends_line(f[1], (size_t)b);
        io_putc(s->t->out, mark != '|' || left_ends == right_ends ? mark : left_ends ? '/' : '\\');
        column++;
    }
    if (b >= 0 && mark != '(') {
        if (f[1]->lines.at[b].n) { pad_to(s, column, offset); put_cell(s, f[1], (size_t)b, half); }
    }
    if ((a >= 0 && ends_line(f[0], (size_t)a)) || (b >= 0 && ends_line(f[1], (size_t)b))) io_putc(s->t->out, '\n');
}

static void print_sides(diff_state *s, diff_file *f[2], const hunk_list *hunks) {
    size_t a = 0, b = 0;
    for (size_t i = 0; i <= hunks->n; i++) {
        hunk h = i < hunks->n ? hunks->at[i] : (hunk){f[0]->lines.n, 0, f[1]->lines.n, 0};
        for (; a < h.a && b < h.b; a++, b++) if (!s->suppress) put_pair(s, f, (long)a, (long)b, s->left_column ? '(' : ' ');
        size_t k = 0;
        for (; k < h.a_n && k < h.b_n; k++) put_pair(s, f, (long)(h.a + k), (long)(h.b + k), '|');
        for (size_t m = k; m < h.a_n; m++) put_pair(s, f, (long)(h.a + m), -1, '<');
        for (size_t m = k; m < h.b_n; m++) put_pair(s, f, -1, (long)(h.b + m), '>');
        a = h.a + h.a_n;
        b = h.b + h.b_n;
    }
}

static void print_ed(diff_state *s, diff_file *f[2], const hunk_list *hunks) {
    for (size_t i = hunks->n; i-- > 0;) {
        hunk h = hunks->at[i];
        put_range(s, h.a, h.a_n);
        io_printf(s->t->out, "%c\n", !h.a_n ? 'a' : !h.b_n ? 'd' : 'c');
        int open = h.b_n > 0;
        for (size_t k = 0; k < h.b_n; k++) {
            span line = f[1]->lines.at[h.b + k];
            if (!open) { io_puts(s->t->out, "a\n"); open = 1; }
            if (line.n != 1 || *line.p != '.') { put_line(s, "", f[1], h.b + k, ' '); continue; }
            io_puts(s->t->out, "..\n.\ns/.//\n");           /* a dot alone would end the lines: two, and one is taken away */
            open = 0;
        }
        if (open) io_puts(s->t->out, ".\n");
    }
}

/* As ed, but from the top and with the letter first; no editor takes it. */
static void print_forward_ed(diff_state *s, diff_file *f[2], const hunk_list *hunks) {
    for (size_t i = 0; i < hunks->n; i++) {
        hunk h = hunks->at[i];
        io_printf(s->t->out, "%c%zu", !h.a_n ? 'a' : !h.b_n ? 'd' : 'c', h.a_n ? h.a + 1 : h.a);
        if (h.a_n > 1) io_printf(s->t->out, " %zu", h.a + h.a_n);
        io_putc(s->t->out, '\n');
        for (size_t k = 0; k < h.b_n; k++) put_line(s, "", f[1], h.b + k, ' ');
        if (h.b_n) io_puts(s->t->out, ".\n");
    }
}

/* RCS: as ed, but from the top, with counts instead of ends. */
static void print_rcs(diff_state *s, diff_file *f[2], const hunk_list *hunks) {
    for (size_t i = 0; i < hunks->n; i++) {
        hunk h = hunks->at[i];
        if (h.a_n) io_printf(s->t->out, "d%zu %zu\n", h.a + 1, h.a_n);
        if (h.b_n) io_printf(s->t->out, "a%zu %zu\n", h.a + h.a_n, h.b_n);
        for (size_t k = 0; k < h.b_n; k++) put_line(s, "", f[1], h.b + k, ' ');
    }
}

void diff_print(diff_state *s, diff_file *f[2], const hunk_list *hunks, const char *title) {
    if (title) io_puts(s->t->out, title);
    switch (s->mode) {
    case 'u': print_unified(s, f, hunks); break;
    case 'c': print_context(s, f, hunks); break;
    case 'y': print_sides(s, f, hunks); break;
    case 'e': print_ed(s, f, hunks); break;
    case 'F': print_forward_ed(s, f, hunks); break;
    case 'n': print_rcs(s, f, hunks); break;
    case 'f': diff_print_formatted(s, f, hunks); break;
    default: print_normal(s, f, hunks);
    }
}
