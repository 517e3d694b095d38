/* comm.c - comm: lines of two sorted files side by side. */
#include "buffer.h"
#include "inputs.h"
#include <string.h>

/* A file read line by line with one line held, and up to two that came before it. */
typedef struct {
    io *from;
    buffer line, previous, older;
    int have, delim, previous_n;
} held;

static void advance_line(held *h) {
    const char *p;
    ssize_t n = io_line(h->from, &p, h->delim);
    if (h->have) {
        buffer oldest = h->older;
        h->older = h->previous;
        h->previous = h->line;
        h->line = oldest;
        if (h->previous_n < 2) h->previous_n++;
    }
    h->line.n = 0;
    h->have = n > 0;
    if (n > 0) buffer_add(&h->line, p, (size_t)n - (p[n - 1] == h->delim));
}

static int compare_bytes(const buffer *a, const buffer *b) { return span_compare((span){a->p, a->n}, (span){b->p, b->n}); }

/* As GNU's: the line just read against the one before; at the end of the file the last two once more, because nobody may have
 * looked when the last one was read. */
static int is_in_order(const held *h) {
    if (h->have) return !h->previous_n || compare_bytes(&h->previous, &h->line) <= 0;
    return h->previous_n < 2 || compare_bytes(&h->older, &h->previous) <= 0;
}

int tool_comm(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"check-order", 0, 'c'}, {"nocheck-order", 0, 'n'}, {"output-delimiter", 1, 'o'},
        {"total", 0, 'T'}, {"zero-terminated", 0, 'z'}, {0, 0, 0}};
    int show[4] = {0, 1, 1, 1}, c, status = 0, total = 0, delim = '\n', check = 1;
    const char *gap = "\t";
    size_t gap_n = 1;
    unsigned long counts[4] = {0};
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "123z", longs)) != -1;) switch (c) {
        case '1': case '2': case '3': show[c - '0'] = 0; break;
        case 'o': gap = o.arg; gap_n = *gap ? strlen(gap) : 1; break;           /* an empty one is a NUL */
        case 'T': total = 1; break;
        case 'z': delim = '\0'; break;
        case 'n': check = 0; break;
        case 'c': check = 2; break;
        default: return 1;
    }
    if (argc - o.index < 2) {
        if (o.index >= argc) tool_fail(t, 1, "missing operand");
        else tool_fail(t, 1, "missing operand after %s", tool_cite(t, argv[argc - 1]));
        return tool_usage(t, 1);
    }
    if (argc - o.index > 2) { tool_fail(t, 1, "extra operand %s", tool_cite(t, argv[o.index + 2])); return tool_usage(t, 1); }
    held f[2] = {{.delim = delim}, {.delim = delim}};
    for (int i = 0; i < 2; i++) {
        f[i].line.t = f[i].previous.t = f[i].older.t = t;
        f[i].from = input_open(t, argv[o.index + i], 1, &status);
        if (!f[i].from) { if (i) io_unref(f[0].from); return 1; }
        advance_line(&f[i]);
    }
    int warned[2] = {0, 0}, unpairable = 0;
    while ((f[0].have || f[1].have) && !io_failed(t->out)) {
        int order = !f[0].have   ? 1
                    : !f[1].have ? -1
                                 : compare_bytes(&f[0].line, &f[1].line),
            which = order < 0   ? 1
                    : order > 0 ? 2
                                : 3;
        counts[which]++;
        unpairable |= which != 3;
        if (show[which]) {
            for (int k = 1; k < which; k++) if (show[k]) io_write(t->out, gap, gap_n);
            const buffer *line = &f[which == 2 ? 1 : 0].line;
            io_write(t->out, line->p, line->n);
            io_putc(t->out, delim);
        }
        for (int i = 0; i < 2; i++) {
            if (which != 3 && which != i + 1) continue;
            advance_line(&f[i]);
            if (warned[i] || !(check == 2 || (check && unpairable)) || is_in_order(&f[i])) continue;
            warned[i] = 1;
            status = tool_fail(t, 1, "file %d is not in sorted order", i + 1);
            if (check == 2) return status;
        }
    }
    if (total) io_printf(t->out, "%lu%s%lu%s%lu%stotal%c", counts[1], gap, counts[2], gap, counts[3], gap, delim);
    if (status == 1 && check == 1) tool_fail(t, 1, "input is not in sorted order");
    io_unref(f[0].from);
    io_unref(f[1].from);
    return status;
}
