/* pager.c - less, more and pr: text for reading. There is no terminal, so the pagers print everything. */
#include "buffer.h"
#include "inputs.h"
#include <stdlib.h>
#include <string.h>

typedef struct { int titles; } pager_state;

static int page_stream(tool *t, io *from, const char *name, void *context) {
    pager_state *s = context;
    char block[8192];
    ssize_t n;
    if (s->titles && name) io_printf(t->out, "::::::::::::::\n%s\n::::::::::::::\n", name);
    while ((n = io_read(from, block, sizeof block)) > 0) if (io_write(t->out, block, (size_t)n) < 0) return 1;
    return n < 0;
}

static int page(tool *t, int argc, char **argv, int titles) {
    int first = 1;
    while (first < argc && (argv[first][0] == '-' || argv[first][0] == '+') && argv[first][1]) first++;
    pager_state s = {titles && argc > first};
    return for_each_input(t, argc, argv, first, page_stream, &s);
}

int tool_less(tool *t, int argc, char **argv) { return page(t, argc, argv, 0); }
int tool_more(tool *t, int argc, char **argv) { return page(t, argc, argv, 1); }

typedef struct {
    int bare, across, number, digits;
    size_t columns, width, margin, length;
    int separator, number_sep;
    const char *header;
    buffer text;
} pr_state;

static int pr_gather(tool *t, io *from, const char *name, void *context) {
    pr_state *s = context;
    (void)t;
    if (!s->header && name) s->header = name;
    return buffer_read_all(&s->text, from) < 0;
}

/* Blanks from column at to column to, as tabs where they reach. */
static void pad(buffer *b, size_t at, size_t to) {
    for (; to > at && (at / 8 + 1) * 8 <= to && to - at > 1; at = (at / 8 + 1) * 8) buffer_putc(b, '\t');
    for (; at < to; at++) buffer_putc(b, ' ');
}

/* One page: lines first..last of the text, in columns. */
static void put_page(const pr_state *s, buffer *b, const span_list *lines, size_t first, size_t last) {
    size_t count = last - first, rows = s->columns > 1 ? (count + s->columns - 1) / s->columns : count;
    size_t wide = s->columns > 1 ? (s->width - (s->columns - 1)) / s->columns : 0;
    for (size_t r = 0; r < rows; r++) {
        size_t at = 0;
        for (size_t i = 0; i < s->margin; i++) buffer_putc(b, ' ');
        for (size_t c = 0; c < s->columns; c++) {
            size_t k = s->across ? r * s->columns + c : c * rows + r;
            if (k >= count) break;
            span line = lines->at[first + k];
            if (c && s->separator >= 0) buffer_putc(b, s->separator);
            else if (c) { pad(b, at, c * (wide + 1)); at = c * (wide + 1); }
            if (s->number) { buffer_printf(b, "%*zu%c", s->digits, first + k + 1, s->number_sep); at += (size_t)s->digits + 1; }
            size_t n = s->columns > 1 && s->separator < 0 && line.n > wide ? wide : line.n;
            buffer_add(b, line.p, n);
            at += n;
        }
        buffer_putc(b, '\n');
    }
}

int tool_pr(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"omit-header", 0, 't'}, {"across", 0, 'a'}, {"columns", 1, 'k'}, {"number-lines", 2, 'n'},
        {"indent", 1, 'o'}, {"width", 1, 'w'}, {"length", 1, 'l'}, {"header", 1, 'h'}, {"separator", 2, 's'}, {0, 0, 0}};
    pr_state s = {.columns = 1, .width = 72, .length = 66, .digits = 5, .separator = -1, .number_sep = '\t', .text = {.t = t}};
    tool_opts o;
    int c;
    size_t digits = 0;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "tTadmFfn::o:w:l:h:s::0123456789", longs)) != -1;)
        switch (c) {
        case 't': case 'T': s.bare = 1; break;
        case 'a': s.across = 1; break;
        case 'k': s.columns = strtoul(o.arg, NULL, 10); break;
        case 'n':
            s.number = 1;
            if (o.arg) {
                if (*o.arg < '0' || *o.arg > '9') s.number_sep = *o.arg++;
                if (*o.arg) s.digits = atoi(o.arg);
            }
            break;
        case 'o': s.margin = strtoul(o.arg, NULL, 10); break;
        case 'w': s.width = strtoul(o.arg, NULL, 10); break;
        case 'l': s.length = strtoul(o.arg, NULL, 10); break;
        case 'h': s.header = o.arg; break;
        case 's': s.separator = o.arg ? (unsigned char)*o.arg : '\t'; break;
        case '?': return 1;
        default: if (c >= '0' && c <= '9') { digits = digits * 10 + (size_t)(c - '0'); s.columns = digits; }
        }
    if (!s.columns || s.columns > s.width || s.digits < 1 || s.digits > 40) return tool_fail(t, 1, "page width too narrow");
    int status = for_each_input(t, argc, argv, o.index, pr_gather, &s);
    span_list lines = {0};
    if (s.text.n) span_split(t, &lines, s.text.p, s.text.n, '\n');
    buffer b = {.t = t};
    size_t body = s.bare || s.length <= 10 ? (s.length ? s.length : 66) : s.length - 10, page = 0;
    if (s.bare && s.columns == 1) body = lines.n ? lines.n : 1;
    for (size_t at = 0; at < lines.n; at += body * s.columns) {
        size_t last = lines.n - at < body * s.columns ? lines.n : at + body * s.columns, before = b.n;
        if (!s.bare) buffer_printf(&b, "\n\n%s%*s%s Page %zu\n\n\n", "", 20, s.header ? s.header : "", "", ++page);
        put_page(&s, &b, &lines, at, last);
        size_t rows = 0;
        for (size_t i = before; i < b.n; i++) rows += b.p[i] == '\n';
        for (; !s.bare && rows < s.length; rows++) buffer_putc(&b, '\n');
    }
    return io_write(t->out, b.p ? b.p : "", b.n) < 0 ? 1 : status;
}
