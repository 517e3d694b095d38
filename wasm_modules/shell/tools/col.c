/* col.c - col: text without backspaces and other motions; look: lines that begin with a string. */
#include "buffer.h"
#include "inputs.h"
#include "../utf8.h"
#include <ctype.h>
#include <fcntl.h>
#include <string.h>

typedef struct { int no_backspaces, spaces; } col_state;

static void put_row(tool *t, const col_state *s, span *cells, size_t n) {
    size_t at = 0;
    while (n && (!cells[n - 1].n || (cells[n - 1].n == 1 && *cells[n - 1].p == ' '))) n--;
    for (size_t i = 0; i < n; i++) {
        if (!cells[i].n || *cells[i].p == ' ') continue;
        if (!s->spaces) for (; (at / 8 + 1) * 8 <= i && i - at > 1; at = (at / 8 + 1) * 8) io_putc(t->out, '\t');
        for (; at < i; at++) io_putc(t->out, ' ');
        io_write(t->out, cells[i].p, cells[i].n);
        at = i + 1;
    }
    io_putc(t->out, '\n');
}

int tool_col(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"no-backspaces", 0, 'b'}, {"fine", 0, 'f'}, {"tabs", 0, 'h'}, {"lines", 1, 'l'},
        {"pass", 0, 'p'}, {"spaces", 0, 'x'}, {0, 0, 0}};
    col_state s = {0, 0};
    tool_opts o;
    int c;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "bfhpxl:", longs)) != -1;) switch (c) {
        case 'b': s.no_backspaces = 1; break;
        case 'x': s.spaces = 1; break;
        case '?': return 1;
        default: break;
    }
    if (o.index < argc) { tool_fail(t, 1, "bad usage"); return tool_usage(t, 1); }
    const char *line;
    ssize_t got;
    while ((got = io_line(t->in, &line, '\n')) > 0) {
        size_t n = (size_t)got - (line[got - 1] == '\n'), column = 0, used = 0;
        char *copy = tool_strndup(t, line, n);
        span *cells = tool_alloc(t, (n * 8 + 8) * sizeof *cells);
        for (size_t i = 0; i < n;) {
            int ch;
            size_t len = (size_t)utf8_decode(copy + i, n - i, &ch);
            if (ch == '\b') column -= column > 0;
            else if (ch == '\r') column = 0;
            else if (ch == '\t') column = (column / 8 + 1) * 8;
            else if (ch == ' ') column++;
            else if (ch == 27 && n - i > 1) len = 2;
            else if (ch >= 32 || ch < 0) cells[column++] = (span){copy + i, len};
            if (column > used) used = column;
            i += len;
        }
        put_row(t, &s, cells, used);
        tool_free(t, cells);
        tool_free(t, copy);
        if (io_failed(t->out)) return 1;
    }
    return 0;
}

/* Whether line begins with the string, by the letters and digits only with -d, in any case with -f. */
static int begins(const char *line, size_t n, const char *what, int alphanumeric, int fold) {
    for (; *what; what++) {
        if (alphanumeric && !isalnum((unsigned char)*what)) continue;
        while (alphanumeric && n && !isalnum((unsigned char)*line)) { line++; n--; }
        if (!n || (fold ? tolower((unsigned char)*line) != tolower((unsigned char)*what) : *line != *what)) return 0;
        line++;
        n--;
    }
    return 1;
}

int tool_look(tool *t, int argc, char **argv) {
    static const tool_long longs[]
        = {{"alternative", 0, 'a'}, {"alphanum", 0, 'd'}, {"ignore-case", 0, 'f'}, {"terminate", 1, 't'}, {0, 0, 0}};
    int alphanumeric = 0, fold = 0, c, status = 0, found = 0;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "adft:b", longs)) != -1;) switch (c) {
        case 'd': alphanumeric = 1; break;
        case 'f': fold = 1; break;
        case '?': return 1;
        default: break;
    }
    if (o.index >= argc) { tool_fail(t, 1, "bad usage"); return tool_usage(t, 1); }
    if (o.index + 1 >= argc) { alphanumeric = fold = 1; }
    io *from = input_open(t, o.index + 1 < argc ? argv[o.index + 1] : "/usr/share/dict/words", 1, &status);
    if (!from) return 1;
    const char *line;
    ssize_t n;
    while ((n = io_line(from, &line, '\n')) > 0)
        if (begins(line, (size_t)n - (line[n - 1] == '\n'), argv[o.index], alphanumeric, fold)) {
            found = 1;
            io_write(t->out, line, (size_t)n);
        }
    io_unref(from);
    return !found;
}
