/* column.c - put lists into columns: filled down the screen, across it (-x), or as a table (-t). */
#include "buffer.h"
#include "inputs.h"
#include "../utf8.h"
#include <stdlib.h>
#include <string.h>

typedef struct { int table, across, right_count; size_t width; const char *separators, *joint; buffer text; int keep_empty, explicit_sep; const char *right, *names; int json; } column_state;

static size_t columns_of(const char *p, size_t n) {
    size_t width = 0;
    for (size_t i = 0; i < n;) {
        int c;
        i += (size_t)utf8_decode(p + i, n - i, &c);
        int w = utf8_width(c);
        width += w > 0 ? (size_t)w : 0;
    }
    return width;
}

static int gather(tool *t, io *from, const char *name, void *context) {
    column_state *s = context;
    (void)t; (void)name;
    buffer_read_all(&s->text, from);
    if (s->text.n && s->text.p[s->text.n - 1] != '\n') buffer_putc(&s->text, '\n');
    return 0;
}

static span_list cells_of(tool *t, const column_state *s, span line) {
    span_list cells = {0};
    char *p = line.p, *end = line.p + line.n;
    if (!s->explicit_sep) {
        for (;;) {
            while (p < end && strchr(s->separators, *p)) p++;
            if (p >= end) return cells;
            char *start = p;
            while (p < end && !strchr(s->separators, *p)) p++;
            span_add(t, &cells, start, (size_t)(p - start));
        }
    }
    for (;;) {
        char *start = p;
        while (p < end && !strchr(s->separators, *p)) p++;
        span_add(t, &cells, start, (size_t)(p - start));
        if (p >= end) return cells;
        p++;
    }
}

static int is_right(const column_state *s, size_t column) {
    for (const char *p = s->right; p && *p;) {
        char *end;
        unsigned long v = strtoul(p, &end, 10);
        if (v == column + 1 || (end == p && *p == '0' + 0)) return 1;
        p = end > p ? end : p + 1;
        if (*p == ',') p++;
    }
    return 0;
}

static int print_table(tool *t, column_state *s, span_list *lines) {
    span_list *rows = tool_alloc(t, (lines->n + 2) * sizeof *rows);
    size_t count = 0, most = 0, widths[512] = {0};
    if (s->names) {
        span head = {(char *)s->names, strlen(s->names)};
        column_state comma = *s;
        comma.separators = ",";
        comma.explicit_sep = 1;
        rows[count++] = cells_of(t, &comma, head);
    }
    for (size_t i = 0; i < lines->n; i++) if (lines->at[i].n || s->keep_empty) rows[count++] = cells_of(t, s, lines->at[i]);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].n > most) most = rows[i].n;
        for (size_t j = 0; j < rows[i].n && j < 512; j++) {
            size_t w = columns_of(rows[i].at[j].p, rows[i].at[j].n);
            if (w > widths[j]) widths[j] = w;
        }
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < rows[i].n; j++) {
            span c = rows[i].at[j];
            size_t w = columns_of(c.p, c.n), wide = j < 512 ? widths[j] : w;
            int right = is_right(s, j);
            if (right) for (; w < wide; w++) io_putc(t->out, ' ');
            io_write(t->out, c.p, c.n);
            if (j + 1 < rows[i].n || (j + 1 < most && rows[i].n < most)) {
                for (; w < wide; w++) io_putc(t->out, ' ');
                io_puts(t->out, s->joint);
            }
        }
        for (size_t j = rows[i].n; j < most; j++) {
            for (size_t w = 0; w < (j < 512 ? widths[j] : 0) && j + 1 < most; w++) io_putc(t->out, ' ');
            if (j + 1 < most) io_puts(t->out, s->joint);
        }
        if (io_putc(t->out, '\n') < 0) return 1;
    }
    return 0;
}

static int print_columns(tool *t, column_state *s, span_list *lines) {
    size_t widest = 0, n = 0;
    for (size_t i = 0; i < lines->n; i++) {
        if (!lines->at[i].n) continue;
        lines->at[n++] = lines->at[i];
        size_t w = columns_of(lines->at[i].p, lines->at[i].n);
        if (w > widest) widest = w;
    }
    size_t cell = (widest + 8) & ~(size_t)7, columns = s->width / cell ? s->width / cell : 1;
    if (widest >= s->width) columns = 1;
    size_t rows = (n + columns - 1) / columns;
    for (size_t r = 0; r < rows; r++) {
        size_t at = 0;
        for (size_t c = 0; c < columns; c++) {
            size_t i = s->across ? r * columns + c : c * rows + r;
            if (i >= n) break;
            io_write(t->out, lines->at[i].p, lines->at[i].n);
            at = c * cell + columns_of(lines->at[i].p, lines->at[i].n);
            size_t next = s->across ? i + 1 : i + rows;
            if (c + 1 < columns && next < n) while (at < (c + 1) * cell) { io_putc(t->out, '\t'); at = (at + 8) & ~(size_t)7; }
        }
        if (io_putc(t->out, '\n') < 0) return 1;
    }
    return 0;
}

int tool_column(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"table", 0, 't'}, {"separator", 1, 's'}, {"output-separator", 1, 'o'}, {"output-width", 1, 'c'}, {"fillrows", 0, 'x'}, {"table-right", 1, 'R'}, {"table-columns", 1, 'N'},
        {"keep-empty-lines", 0, 'L'}, {0, 0, 0}};
    column_state s = {.width = 80, .separators = " \t", .joint = "  ", .text = {.t = t}};
    const char *columns = t->getenv ? t->getenv(t, "COLUMNS") : NULL;
    if (columns && atoi(columns) > 0) s.width = (size_t)atoi(columns);
    tool_opts o;
    int c;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "ts:o:c:xR:N:LneE:", longs)) != -1;) switch (c) {
        case 't': s.table = 1; break;
        case 's': s.separators = o.arg; s.explicit_sep = 1; break;
        case 'o': s.joint = o.arg; break;
        case 'c': s.width = strtoul(o.arg, NULL, 10); break;
        case 'x': s.across = 1; break;
        case 'R': s.right = o.arg; break;
        case 'N': s.names = o.arg; break;
        case 'L': s.keep_empty = 1; break;
        case 'n': case 'e': case 'E': break;
        default: return 1;
    }
    int status = for_each_input(t, argc, argv, o.index, gather, &s);
    span_list lines = {0};
    if (s.text.n) span_split(t, &lines, s.text.p, s.text.n, '\n');
    int failed = s.table ? print_table(t, &s, &lines) : print_columns(t, &s, &lines);
    return failed ? 1 : status;
}

/* colrm [FIRST [LAST]]: lines without those columns. */
int tool_colrm(tool *t, int argc, char **argv) {
    size_t first = argc > 1 ? strtoul(argv[1], NULL, 10) : 0, last = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    const char *line;
    ssize_t got;
    buffer b = {.t = t};
    while ((got = io_line(t->in, &line, '\n')) > 0) {
        size_t column = 0;
        b.n = 0;
        for (size_t i = 0; i < (size_t)got;) {
            int c;
            size_t n = (size_t)utf8_decode(line + i, (size_t)got - i, &c);
            column += c != '\n';
            if (c == '\n' || !first || column < first || (last && column > last)) buffer_add(&b, line + i, n);
            i += n;
        }
        if (io_write(t->out, b.p ? b.p : "", b.n) < 0) return 1;
    }
    return 0;
}
