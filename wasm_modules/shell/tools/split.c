/* split.c - cut a file into pieces of so many lines or bytes. */
#include "buffer.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    tool *t;
    const char *prefix, *suffix;
    int width, digits, hex, verbose, mark, elide_empty;
    const char *filter;                /* --filter: a command that gets the piece, instead of a file */
    char *name;                        /* of the present piece */
    unsigned long number;
    io *to;
    int elide;
    unsigned long long size;
} pieces;

#define OUT_OF_RANGE ": Numerical result out of range"

static int is_zero(const char *text) { return *text && strspn(text, "0") == strlen(text); }

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

/* The piece is complete; with --filter, its command runs now. */
static int end_piece(pieces *p) {
    int status = 0;
    if (p->to && p->filter && p->name) {
        char **env = p->t->environ(p->t), *words[] = {"bash", "-c", (char *)p->filter, NULL};
        int n = 0;
        while (env[n]) n++;
        char **with = tool_alloc(p->t, ((size_t)n + 2) * sizeof *with);
        memcpy(with, env, (size_t)n * sizeof *with);
        with[n] = tool_format(p->t, "FILE=%s", p->name);
        status = tool_run_with(p->t, p->to, NULL, with, 3, words);
        if (status) tool_fail(p->t, 1, "with FILE=%s, exit %d from command: %s", p->name, status, p->filter);
    }
    io_unref(p->to);
    p->to = NULL;
    p->name = NULL;
    return status ? -1 : 0;
}

static int next_piece(pieces *p) {
    if (end_piece(p) < 0) return -1;
    char *name = piece_name(p, p->number++);
    if (!name && p->width < 30 && p->elide) { p->width += 2; name = piece_name(p, p->number - 1); }
    if (!name) return tool_fail(p->t, -1, "output file suffixes exhausted");
    p->name = name;
    if (p->filter) {
        if (p->verbose) io_printf(p->t->out, "executing with FILE=%s\n", tool_quote(p->t, name));
        p->to = io_pipe();
        return p->to ? 0 : -1;
    }
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
    if (only > n)
        return tool_fail(p->t, 1, "invalid chunk number: %s%s", tool_cite(p->t, tool_format(p->t, "%lu", only)), OUT_OF_RANGE);
    if (!n) return tool_fail(p->t, 1, "invalid number of chunks: %s%s", tool_cite(p->t, spec), is_zero(spec) ? OUT_OF_RANGE : "");
    if (p->elide_empty && !by_lines && !round_robin && !only && n > b->n) n = b->n ? b->n : 1;
    size_t at = 0;
    for (unsigned long i = 0; i < n; i++) {
        size_t end = i + 1 == n ? b->n : (size_t)((unsigned long long)b->n / n * (i + 1));
        if (by_lines && end < b->n && end > at) { while (end < b->n && b->p[end - 1] != (char)p->mark) end++; }
        if (p->elide_empty && !round_robin && end <= at) continue;
        if (only) { io_unref(p->to); p->to = i + 1 == only ? io_ref(p->t->out) : io_open("/dev/null", O_WRONLY, 0); }
        else if (next_piece(p) < 0) return 1;
        if (round_robin) {
            span_list lines = {0};
            span_split(p->t, &lines, b->p, b->n, p->mark);
            for (size_t k = i; k < lines.n; k += n) { io_write(p->to, lines.at[k].p, lines.at[k].n); io_putc(p->to, p->mark); }
            continue;
        }
        if (end > at) { io_write(p->to, b->p + at, end - at); at = end; }
    }
    return 0;
}

int tool_split(tool *t, int argc, char **argv) {
    static const tool_long longs[]
        = {{"lines", 1, 'l'}, {"bytes", 1, 'b'}, {"line-bytes", 1, 'C'}, {"number", 1, 'n'}, {"suffix-length", 1, 'a'},
            {"numeric-suffixes", 2, 'd'}, {"hex-suffixes", 2, 'x'}, {"additional-suffix", 1, 'S'}, {"verbose", 0, 'v'},
            {"elide-empty-files", 0, 'e'}, {"filter", 1, 'F'}, {"separator", 1, 't'}, {"unbuffered", 0, 'u'}, {0, 0, 0}};
    pieces p = {.t = t, .prefix = "x", .width = 2, .elide = 1, .mark = '\n'};
    unsigned long long lines = 1000, bytes = 0, line_bytes = 0;
    const char *chunks = NULL;
    tool_opts o;
    int c, status = 0, ways = 0;
    if (argc > 1 && argv[1][0] == '-' && argv[1][1] >= '0' && argv[1][1] <= '9') argv[1] = tool_format(t, "-l%s", argv[1] + 1);
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "l:b:C:n:a:dxvet:u", longs)) != -1;) switch (c) {
        case 'l':
            ways++;
            if (size_parse(o.arg, &lines) < 0 || !lines)
                return tool_fail(t, 1, "invalid number of lines: %s%s", tool_cite(t, o.arg), is_zero(o.arg) ? OUT_OF_RANGE : "");
            break;
        case 'b':
            ways++;
            if (size_parse(o.arg, &bytes) < 0 || !bytes)
                return tool_fail(t, 1, "invalid number of bytes: %s%s", tool_cite(t, o.arg), is_zero(o.arg) ? OUT_OF_RANGE : "");
            break;
        case 'C':
            ways++;
            if (size_parse(o.arg, &line_bytes) < 0 || !line_bytes)
                return tool_fail(t, 1, "invalid number of bytes: %s%s", tool_cite(t, o.arg), is_zero(o.arg) ? OUT_OF_RANGE : "");
            break;
        case 'n': chunks = o.arg; ways++; break;
        case 'a':
            p.width = atoi(o.arg);
            p.elide = 0;
            if (is_zero(o.arg)) { p.width = 2; p.elide = 1; }
            else if (p.width < 1 || p.width > 30) return tool_fail(t, 1, "invalid suffix length: %s", tool_cite(t, o.arg));
            break;
        case 'd': p.digits = 1; if (o.arg) p.number = strtoul(o.arg, NULL, 10); break;
        case 'x': p.hex = 1; if (o.arg) p.number = strtoul(o.arg, NULL, 16); break;
        case 'S': p.suffix = o.arg; break;
        case 'v': p.verbose = 1; break;
        case 'e': p.elide_empty = 1; break;
        case 'F': p.filter = o.arg; break;
        case 't':
            if (o.arg[0] && o.arg[1] && strcmp(o.arg, "\\0"))
                return tool_fail(t, 1, "multi-character separator %s", tool_cite(t, o.arg));
            p.mark = strcmp(o.arg, "\\0") ? (unsigned char)*o.arg : 0;
            break;
        case 'u': break;
        default: return 1;
    }
    if (ways > 1) { tool_fail(t, 1, "cannot split in more than one way"); return tool_usage(t, 1); }
    const char *path = o.index < argc ? argv[o.index] : "-";
    if (o.index + 1 < argc) p.prefix = argv[o.index + 1];
    io *from = strcmp(path, "-") ? io_open(path, O_RDONLY, 0) : io_ref(t->in);
    if (!from) return tool_fail_errno(t, 1, "cannot open %s for reading", tool_quote(t, path));
    buffer b = {.t = t};
    if (buffer_read_all(&b, from) < 0) { errno = io_failed(from); status = tool_fail_errno(t, 1, "%s", path); }
    io_unref(from);
    if (status) return status;
    if (chunks) status = split_chunks(&p, &b, chunks);
    else for (size_t at = 0; at < b.n && !status;) {
        size_t end = at;
        if (bytes) end = b.n - at < bytes ? b.n : at + (size_t)bytes;
        else if (line_bytes) {
            size_t limit = b.n - at < line_bytes ? b.n : at + (size_t)line_bytes;
            end = limit;
            if (limit < b.n) { while (end > at && b.p[end - 1] != (char)p.mark) end--; if (end == at) end = limit; }
        } else
            for (unsigned long long k = 0; k < lines && end < b.n; k++) {
                char *nl = memchr(b.p + end, p.mark, b.n - end);
                end = nl ? (size_t)(nl - b.p) + 1 : b.n;
            }
        if (next_piece(&p) < 0 || io_write(p.to, b.p + at, end - at) < 0) status = 1;
        at = end;
    }
    if (end_piece(&p) < 0) status = 1;
    return status;
}
