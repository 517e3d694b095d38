/* split.c - split and csplit: cut a file into pieces; shuf: random order; tsort: topological order. */
#include "buffer.h"
#include "patterns.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    tool *t;
    const char *prefix, *suffix;
    int width, digits, hex, verbose;
    unsigned long number;
    io *to;
    int elide;
    unsigned long long size;
} pieces;

/* The name of piece n: prefix, then letters or digits of the width wanted. NULL when they run out. */
static char *piece_name(pieces *p, unsigned long n) {
    int base = p->hex ? 16 : p->digits ? 10 : 26;
    char code[32];
    for (int i = p->width - 1; i >= 0; i--) {
        int d = (int)(n % (unsigned)base);
        code[i] = (char)(p->digits || p->hex ? (d < 10 ? '0' + d : 'a' + d - 10) : 'a' + d);
        n /= (unsigned)base;
    }
    if (n) return NULL;
    return tool_format(p->t, "%s%.*s%s", p->prefix, p->width, code, p->suffix ? p->suffix : "");
}

static int next_piece(pieces *p) {
    io_unref(p->to);
    p->to = NULL;
    char *name = piece_name(p, p->number++);
    if (!name && p->width < 30 && p->elide) { p->width += 2; name = piece_name(p, p->number - 1); }
    if (!name) return tool_fail(p->t, -1, "output file suffixes exhausted");
    if (p->verbose) io_printf(p->t->out, "creating file %s\n", tool_quote(p->t, name));
    p->to = io_open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    return p->to ? 0 : tool_fail_errno(p->t, -1, "%s", name);
}

static int split_chunks(pieces *p, buffer *b, const char *spec) {
    int by_lines = spec[0] == 'l' && spec[1] == '/', round_robin = spec[0] == 'r' && spec[1] == '/';
    if (by_lines || round_robin) spec += 2;
    char *rest;
    unsigned long n = strtoul(spec, &rest, 10), only = 0;
    if (*rest == '/') { only = n; n = strtoul(rest + 1, NULL, 10); }
    if (!n || only > n) return tool_fail(p->t, 1, "invalid number of chunks: %s", tool_cite(p->t, spec));
    size_t at = 0;
    for (unsigned long i = 0; i < n; i++) {
        if (only) { io_unref(p->to); p->to = i + 1 == only ? io_ref(p->t->out) : io_open("/dev/null", O_WRONLY, 0); }
        else if (next_piece(p) < 0) return 1;
        if (round_robin) {
            span_list lines = {0};
            span_split(p->t, &lines, b->p, b->n, '\n');
            for (size_t k = i; k < lines.n; k += n) { io_write(p->to, lines.at[k].p, lines.at[k].n); io_putc(p->to, '\n'); }
            continue;
        }
        size_t end = i + 1 == n ? b->n : (size_t)((unsigned long long)b->n / n * (i + 1));
        if (by_lines && end < b->n && end > at) { while (end < b->n && b->p[end - 1] != '\n') end++; }
        if (end > at) { io_write(p->to, b->p + at, end - at); at = end; }
    }
    return 0;
}

int tool_split(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"lines", 1, 'l'}, {"bytes", 1, 'b'}, {"line-bytes", 1, 'C'}, {"number", 1, 'n'},
        {"suffix-length", 1, 'a'}, {"numeric-suffixes", 2, 'd'}, {"hex-suffixes", 2, 'x'}, {"additional-suffix", 1, 'S'},
        {"verbose", 0, 'v'}, {"elide-empty-files", 0, 'e'}, {0, 0, 0}};
    pieces p = {.t = t, .prefix = "x", .width = 2, .elide = 1};
    unsigned long long lines = 1000, bytes = 0, line_bytes = 0;
    const char *chunks = NULL;
    tool_opts o;
    int c, status = 0;
    if (argc > 1 && argv[1][0] == '-' && argv[1][1] >= '0' && argv[1][1] <= '9') argv[1] = tool_format(t, "-l%s", argv[1] + 1);
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "l:b:C:n:a:dxve", longs)) != -1;) switch (c) {
        case 'l':
            if (size_parse(o.arg, &lines) < 0 || !lines)
                return tool_fail(t, 1, "invalid number of lines: %s", tool_cite(t, o.arg));
            break;
        case 'b':
            if (size_parse(o.arg, &bytes) < 0 || !bytes)
                return tool_fail(t, 1, "invalid number of bytes: %s", tool_cite(t, o.arg));
            break;
        case 'C':
            if (size_parse(o.arg, &line_bytes) < 0 || !line_bytes)
                return tool_fail(t, 1, "invalid number of bytes: %s", tool_cite(t, o.arg));
            break;
        case 'n': chunks = o.arg; break;
        case 'a':
            p.width = atoi(o.arg);
            p.elide = 0;
            if (p.width < 1 || p.width > 30) return tool_fail(t, 1, "invalid suffix length: %s", tool_cite(t, o.arg));
            break;
        case 'd': p.digits = 1; if (o.arg) p.number = strtoul(o.arg, NULL, 10); break;
        case 'x': p.hex = 1; if (o.arg) p.number = strtoul(o.arg, NULL, 16); break;
        case 'S': p.suffix = o.arg; break;
        case 'v': p.verbose = 1; break;
        case 'e': break;
        default: return 1;
    }
    const char *path = o.index < argc ? argv[o.index] : "-";
    if (o.index + 1 < argc) p.prefix = argv[o.index + 1];
    io *from = strcmp(path, "-") ? io_open(path, O_RDONLY, 0) : io_ref(t->in);
    if (!from) return tool_fail_errno(t, 1, "cannot open %s for reading", tool_quote(t, path));
    buffer b = {.t = t};
    buffer_read_all(&b, from);
    io_unref(from);
    if (chunks) status = split_chunks(&p, &b, chunks);
    else for (size_t at = 0; at < b.n && !status;) {
        size_t end = at;
        if (bytes) end = b.n - at < bytes ? b.n : at + (size_t)bytes;
        else if (line_bytes) {
            size_t limit = b.n - at < line_bytes ? b.n : at + (size_t)line_bytes;
            end = limit;
            if (limit < b.n) { while (end > at && b.p[end - 1] != '\n') end--; if (end == at) end = limit; }
        } else
            for (unsigned long long k = 0; k < lines && end < b.n; k++) {
                char *nl = memchr(b.p + end, '\n', b.n - end);
                end = nl ? (size_t)(nl - b.p) + 1 : b.n;
            }
        if (next_piece(&p) < 0 || io_write(p.to, b.p + at, end - at) < 0) status = 1;
        at = end;
    }
    io_unref(p.to);
    return status;
}

int tool_csplit(tool *t, int argc, char **argv) {
    static const tool_long longs[]
        = {{"prefix", 1, 'f'}, {"digits", 1, 'n'}, {"quiet", 0, 's'}, {"silent", 0, 's'}, {"elide-empty-files", 0, 'z'},
            {"keep-files", 0, 'k'}, {"suffix-format", 1, 'b'}, {"suppress-matched", 0, 'm'}, {0, 0, 0}};
    const char *prefix = "xx", *error;
    int digits = 2, quiet = 0, elide = 0, c, suppress = 0;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "f:n:szkb:", longs)) != -1;) switch (c) {
        case 'f': prefix = o.arg; break;
        case 'n': digits = atoi(o.arg); break;
        case 's': quiet = 1; break;
        case 'z': elide = 1; break;
        case 'm': suppress = 1; break;
        case 'k': case 'b': break;
        default: return 1;
    }
    if (argc - o.index < 2) {
        if (o.index >= argc) tool_fail(t, 1, "missing operand");
        else tool_fail(t, 1, "missing operand after %s", tool_cite(t, argv[argc - 1]));
        return tool_usage(t, 1);
    }
    int status = 0;
    io *from = tool_open(t, argv[o.index], 1, &status);
    if (!from) return 1;
    buffer b = {.t = t};
    buffer_read_all(&b, from);
    io_unref(from);
    span_list lines = {0};
    span_split(t, &lines, b.p ? b.p : "", b.n, '\n');
    size_t at = 0;
    int files = 0;
    regex *re = NULL;
    for (int i = o.index + 1; i <= argc && !status; i++) {
        size_t to = lines.n;
        int repeat = 0, skip = 0;
        if (i < argc && argv[i][0] == '{') {
            repeat = argv[i][1] == '*' ? 1000000000 : atoi(argv[i] + 1);
            i--;
            argv[i + 1] = repeat > 1 ? (repeat > 1000000 ? "{*}" : tool_format(t, "{%d}", repeat - 1)) : "";
            if (!*argv[i + 1]) { memmove(argv + i + 1, argv + i + 2, (size_t)(argc - i - 2) * sizeof *argv); argc--; }
        }
        const char *spec = i < argc ? argv[i] : NULL;
        if (spec) {
            if (*spec == '/' || *spec == '%') {
                const char *end = strrchr(spec + 1, *spec);
                if (!end) return tool_fail(t, 1, "%s: closing delimiter '%c' missing", spec, *spec);
                re = pattern_compile(t, spec + 1, (size_t)(end - spec - 1), 0, &error);
                if (!re) return tool_fail(t, 1, "%s: invalid regular expression: %s", spec, error);
                size_t k = at + (files || at ? 1 : 0);
                if (!files && !at) k = 0;
                while (k < lines.n && regex_test(re, lines.at[k].p, lines.at[k].n) <= 0) k++;
                if (k >= lines.n) {
                    if (repeat > 1000000) {
                        memmove(argv + i + 1, argv + i + 2, (size_t)(argc - i - 2) * sizeof *argv);
                        argc--;
                        continue;
                    }
                    status = tool_fail(t, 1, "%s: match not found", tool_cite(t, spec));
                    to = lines.n;
                } else to = k + (size_t)atol(end + 1);
                skip = *spec == '%';
            } else {
                to = strtoul(spec, NULL, 10);
                to = to ? to - 1 : 0;
                if (to > lines.n) {
                    status = tool_fail(t, 1, "%s: line number out of range", tool_cite(t, spec));
                    to = lines.n;
                }
            }
        }
        if (to < at) to = at;
        if (!skip && !(elide && to == at)) {
            char *name = tool_format(t, "%s%0*d", prefix, digits, files++);
            io *out = io_open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
            if (!out) return tool_fail_errno(t, 1, "%s", name);
            unsigned long long size = 0;
            for (size_t k = at; k < to; k++) {
                io_write(out, lines.at[k].p, lines.at[k].n);
                io_putc(out, '\n');
                size += lines.at[k].n + 1;
            }
            io_unref(out);
            if (!quiet) io_printf(t->out, "%llu\n", size);
        }
        at = to + (suppress && spec && *spec == '/' && to < lines.n ? 1 : 0);
        if (i >= argc) break;
    }
    return status;
}

static unsigned long long random_below(unsigned long long n, io *source) {
    unsigned long long x = 0;
    if (source) {
        for (int i = 0; i < 8; i++) {
            int c = io_getc(source);
            x = x << 8 | (unsigned)(c < 0 ? 0 : c);
        }
        return n ? x % n : 0;
    }
    for (;;) {
        if (getentropy(&x, sizeof x) < 0) x = 0;
        if (!n || x < ~0ull - ~0ull % n) return n ? x % n : x;
    }
}

int tool_shuf(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"echo", 0, 'e'}, {"input-range", 1, 'i'}, {"head-count", 1, 'n'}, {"output", 1, 'o'},
        {"random-source", 1, 'R'}, {"repeat", 0, 'r'}, {"zero-terminated", 0, 'z'}, {0, 0, 0}};
    int echo = 0, repeat = 0, delim = '\n', c, status = 0;
    const char *range = NULL, *output = NULL;
    unsigned long long most = ~0ull;
    io *source = NULL;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "ei:n:o:rz", longs)) != -1;) switch (c) {
        case 'e': echo = 1; break;
        case 'i': range = o.arg; break;
        case 'n': if (size_parse(o.arg, &most) < 0) return tool_fail(t, 1, "invalid line count: %s", tool_cite(t, o.arg)); break;
        case 'o': output = o.arg; break;
        case 'r': repeat = 1; break;
        case 'z': delim = '\0'; break;
        case 'R': source = tool_open(t, o.arg, 1, &status); if (!source) return 1; break;
        default: return 1;
    }
    span_list items = {0};
    if (range) {
        char *end;
        unsigned long long low = strtoull(range, &end, 10), high = *end == '-' ? strtoull(end + 1, NULL, 10) : low;
        if (*end != '-' || (high < low && high + 1 != low))
            return tool_fail(t, 1, "invalid input range: %s", tool_cite(t, range));
        if (high - low > 20000000) return tool_fail(t, 1, "memory exhausted");
        for (unsigned long long i = low; i <= high && high + 1 != low; i++) {
            char *s = tool_format(t, "%llu", i);
            span_add(t, &items, s, strlen(s));
        }
    } else if (echo) for (int i = o.index; i < argc; i++) span_add(t, &items, argv[i], strlen(argv[i]));
    else {
        io *from = o.index < argc ? tool_open(t, argv[o.index], 1, &status) : io_ref(t->in);
        if (!from) return 1;
        buffer b = {.t = t};
        buffer_read_all(&b, from);
        io_unref(from);
        span_split(t, &items, b.p, b.n, delim);
    }
    io *to = output ? io_open(output, O_WRONLY | O_CREAT | O_TRUNC, 0666) : io_ref(t->out);
    if (!to) return tool_fail_errno(t, 1, "%s", output);
    if (repeat && !items.n && most) { io_unref(to); return tool_fail(t, 1, "no lines to repeat"); }
    for (unsigned long long i = 0; i < most && (repeat || i < items.n); i++) {
        size_t pick = repeat ? (size_t)random_below(items.n, source) : (size_t)i + (size_t)random_below(items.n - i, source);
        span chosen = items.at[pick];
        if (!repeat) { items.at[pick] = items.at[i]; items.at[i] = chosen; }
        if (io_write(to, chosen.p, chosen.n) < 0 || io_putc(to, delim) < 0) { status = 1; break; }
    }
    io_unref(to);
    io_unref(source);
    return status;
}

typedef struct { span name; int before, done; int *after, after_n, after_cap; } task;

int tool_tsort(tool *t, int argc, char **argv) {
    int status = 0, n = 0, cap = 0, left = -1, queue_at = 0, queue_n = 0;
    io *from = argc > 1 ? tool_open(t, argv[1], 1, &status) : io_ref(t->in);
    if (!from) return 1;
    buffer b = {.t = t};
    buffer_read_all(&b, from);
    io_unref(from);
    task *tasks = NULL;
    for (size_t i = 0; i < b.n;) {
        while (i < b.n && strchr(" \t\n", b.p[i])) i++;
        size_t start = i;
        while (i < b.n && !strchr(" \t\n", b.p[i])) i++;
        if (i == start) break;
        span name = {b.p + start, i - start};
        int k = 0;
        while (k < n && span_compare(tasks[k].name, name)) k++;
        if (k == n) {
            if (n == cap) tasks = tool_realloc(t, tasks, (size_t)(cap = cap ? cap * 2 : 32) * sizeof *tasks);
            memset(&tasks[n], 0, sizeof *tasks);
            tasks[n++].name = name;
        }
        if (left < 0) { left = k; continue; }
        if (left != k) {
            task *l = &tasks[left];
            if (l->after_n == l->after_cap)
                l->after
                    = tool_realloc(t, l->after, (size_t)(l->after_cap = l->after_cap ? l->after_cap * 2 : 4) * sizeof *l->after);
            l->after[l->after_n++] = k;
            tasks[k].before++;
        }
        left = -1;
    }
    if (left >= 0) return tool_fail(t, 1, "%s: input contains an odd number of tokens", argc > 1 ? argv[1] : "-");
    int *queue = tool_alloc(t, ((size_t)n + 1) * sizeof *queue);
    int *order = tool_alloc(t, ((size_t)n + 1) * sizeof *order);
    for (int i = 0; i < n; i++) order[i] = i;
    /* GNU starts from names in byte order */
    for (int i = 1; i < n; i++) {
        int x = order[i], j = i;
        for (; j > 0 && span_compare(tasks[order[j - 1]].name, tasks[x].name) > 0; j--) order[j] = order[j - 1];
        order[j] = x;
    }
    for (int i = 0; i < n; i++) if (!tasks[order[i]].before) queue[queue_n++] = order[i];
    for (int printed = 0; printed < n;) {
        if (queue_at == queue_n) {
            status = tool_fail(t, 1, "%s: input contains a loop:", argc > 1 ? argv[1] : "-");
            int k = 0;
            while (k < n && (tasks[order[k]].done || !tasks[order[k]].before)) k++;
            if (k == n) break;
            tool_fail(t, 1, "%.*s", (int)tasks[order[k]].name.n, tasks[order[k]].name.p);
            tasks[order[k]].before = 0;
            queue[queue_n++] = order[k];
            continue;
        }
        task *k = &tasks[queue[queue_at++]];
        if (k->done) continue;
        k->done = 1;
        printed++;
        if (io_write(t->out, k->name.p, k->name.n) < 0 || io_putc(t->out, '\n') < 0) return 1;
        for (int i = k->after_n - 1; i >= 0; i--)
            if (tasks[k->after[i]].before > 0 && !--tasks[k->after[i]].before && queue_n < n) queue[queue_n++] = k->after[i];
    }
    return status;
}
