/* column.c - put lists into columns: filled down the screen, across it (-x), or as a table (-t, column_table.c); and colrm. */
#include "column.h"
#include "inputs.h"
#include "../utf8.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

size_t column_width(const char *p, size_t n) {
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

static int print_columns(tool *t, column_state *s, span_list *lines) {
    size_t widest = 0, n = 0;
    for (size_t i = 0; i < lines->n; i++) {
        if (!lines->at[i].n) continue;
        lines->at[n++] = lines->at[i];
        size_t w = column_width(lines->at[i].p, lines->at[i].n);
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
            at = c * cell + column_width(lines->at[i].p, lines->at[i].n);
            size_t next = s->across ? i + 1 : i + rows;
            if (c + 1 < columns && next < n) while (at < (c + 1) * cell) { io_putc(t->out, '\t'); at = (at + 8) & ~(size_t)7; }
        }
        if (io_putc(t->out, '\n') < 0) return 1;
    }
    return 0;
}

int tool_column(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"table", 0, 't'}, {"separator", 1, 's'}, {"output-separator", 1, 'o'},
        {"output-width", 1, 'c'}, {"fillrows", 0, 'x'}, {"table-right", 1, 'R'}, {"table-columns", 1, 'N'},
        {"keep-empty-lines", 0, 'L'}, {"json", 0, 'J'}, {"table-name", 1, 'n'}, {"table-hide", 1, 'H'}, {"table-order", 1, 'O'},
        {"table-columns-limit", 1, 'l'}, {"table-noheadings", 0, 'd'}, {"table-noextreme", 1, 'E'}, {"table-wrap", 1, 'W'},
        {"table-truncate", 1, 'T'}, {"table-empty-lines", 0, 'L'}, {"table-header-repeat", 0, 'e'}, {"tree", 1, 'r'},
        {"tree-id", 1, 'i'}, {"tree-parent", 1, 'p'}, {"version", 0, 'V'}, {0, 0, 0}};
    column_state s = {.width = 80, .separators = " \t", .joint = "  ", .table_name = "table", .text = {.t = t}};
    const char *columns = t->getenv ? t->getenv(t, "COLUMNS") : NULL;
    if (columns && atoi(columns) > 0) s.width = (size_t)atoi(columns);
    tool_opts o;
    int c, named = 0;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "ts:o:c:xR:N:Ln:eE:JH:O:l:dW:T:r:i:p:V", longs)) != -1;)
        switch (c) {
        case 't': s.table = 1; break;
        case 's': s.separators = o.arg; s.explicit_sep = 1; break;
        case 'o': s.joint = o.arg; break;
        case 'c': s.width = strtoul(o.arg, NULL, 10); break;
        case 'x': s.across = 1; break;
        case 'R': s.right = o.arg; break;
        case 'N': s.names = o.arg; break;
        case 'L': s.keep_empty = 1; break;
        case 'J': s.json = s.table = 1; break;
        case 'n': s.table_name = o.arg; named = 1; break;
        case 'H': s.hide = o.arg; break;
        case 'O': s.order = o.arg; break;
        case 'l': s.most = strtoul(o.arg, NULL, 10); break;
        case 'd': s.no_heading = 1; break;
        case 'r': s.tree = o.arg; s.tree_options++; break;
        case 'i': s.tree_id = o.arg; s.tree_options++; break;
        case 'p': s.tree_parent = o.arg; s.tree_options++; break;
        case 'V': io_puts(t->out, "column from util-linux 2.38.1\n"); return 0;
        case 'e': case 'E': case 'W': case 'T': break;
        default: return 1;
        }
    if (s.tree && s.tree_options < 3)
        return tool_fail(t, 1, "options --tree-id and --tree-parent are required for tree formatting");
    if (s.tree) s.table = 1;
    if (!s.table && (s.right || s.names || s.hide || s.order || s.most || named))
        return tool_fail(t, 1, "option --table required for all --table-*");
    if (s.table && s.across && !s.json)
        return tool_fail(t, 1, "mutually exclusive arguments: --table --fillrows");
    if (s.json && !s.names) { tool_fail(t, 1, "option --table-columns required for --json"); return 1; }
    int status = for_each_input(t, argc, argv, o.index, gather, &s);
    span_list lines = {0};
    if (s.text.n) span_split(t, &lines, s.text.p, s.text.n, '\n');
    int failed = s.table ? column_table(t, &s, &lines) : print_columns(t, &s, &lines);
    return failed ? 1 : status;
}

/* colrm [FIRST [LAST]]: lines without those columns; a tab that they cut into becomes blanks. */
int tool_colrm(tool *t, int argc, char **argv) {
    static const char *const places[] = {"first", "second"};
    size_t bounds[2] = {0};
    for (int i = 0; i < 2 && i + 1 < argc; i++) {
        char *end;
        bounds[i] = strtoul(argv[i + 1], &end, 10);
        if (*end || !isdigit((unsigned char)*argv[i + 1])) return tool_fail(t, 1, "%s argument: '%s'", places[i], argv[i + 1]);
    }
    size_t first = bounds[0], last = bounds[1];
    const char *line;
    ssize_t got;
    buffer b = {.t = t};
    while ((got = io_line(t->in, &line, '\n')) > 0) {
        size_t column = 0;
        b.n = 0;
        for (size_t i = 0; i < (size_t)got;) {
            int c;
            size_t n = (size_t)utf8_decode(line + i, (size_t)got - i, &c);
            size_t to = c == '\t' ? (column / 8 + 1) * 8 : column + (c != '\n');
            if (c == '\t' && first && to >= first && !(last && column >= last)) {
                for (column++; column <= to; column++)
                    if (column < first || (last && column > last)) buffer_putc(&b, ' ');
                column = to;
                i += n;
                continue;
            }
            column = to;
            if (c == '\n' || !first || column < first || (last && column > last)) buffer_add(&b, line + i, n);
            i += n;
        }
        if (io_write(t->out, b.p ? b.p : "", b.n) < 0) return 1;
    }
    return 0;
}
