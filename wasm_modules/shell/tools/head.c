/* head.c - the first lines or bytes of files. */
#include "buffer.h"
#include <errno.h>
#include <string.h>

typedef struct { unsigned long long count; int bytes, all_but, quiet, verbose, delim; } head_state;

/* Parses [-]NUM[suffix] of -n or -c into s. */
static int take_count(tool *t, head_state *s, const char *arg, int bytes) {
    s->bytes = bytes;
    s->all_but = *arg == '-';
    if (s->all_but || *arg == '+') arg++;
    if (size_parse(arg, &s->count) < 0)
        return tool_fail(t, -1, "invalid number of %s: %s", bytes ? "bytes" : "lines", tool_cite(t, arg));
    return 0;
}

/* The old way to say it, after the dash: a number, then letters c, b, k, m (bytes, blocks of them), l (lines), q, v, z. */
static int take_old(tool *t, head_state *s, const char *arg) {
    size_t digits = strspn(arg, "0123456789");
    const char *unit = "";
    for (const char *p = arg + digits; *p; p++) switch (*p) {
        case 'c': s->bytes = 1; unit = ""; break;
        case 'b': case 'k': case 'm': s->bytes = 1; unit = *p == 'b' ? "b" : *p == 'k' ? "K" : "M"; break;
        case 'l': s->bytes = 0; break;
        case 'q': s->quiet = 1; s->verbose = 0; break;
        case 'v': s->verbose = 1; s->quiet = 0; break;
        case 'z': s->delim = '\0'; break;
        default: return tool_fail(t, -1, "invalid trailing option -- %c", *p);
    }
    return take_count(t, s, tool_format(t, "%.*s%s", (int)digits, arg, unit), s->bytes);
}

static int head_all_but(tool *t, io *from, head_state *s) {
    buffer b = {.t = t};
    if (buffer_read_all(&b, from) < 0) return -1;
    size_t end = b.n;
    if (s->bytes) {
        end = s->count < end ? end - (size_t)s->count : 0;
    } else if (s->count) {
        unsigned long long left = s->count + (b.n && b.p[b.n - 1] == s->delim);
        while (end > 0 && left) if (b.p[--end] == s->delim) left--;
        if (!left) end++; else end = 0;
    }
    int failed = io_write(t->out, b.p, end);
    buffer_free(&b);
    return failed;
}

static int head_one(tool *t, io *from, head_state *s) {
    if (s->all_but) return head_all_but(t, from, s);
    unsigned long long left = s->count;
    if (s->bytes) {
        char block[16384];
        while (left) {
            ssize_t n = io_read(from, block, left < sizeof block ? (size_t)left : sizeof block);
            if (n <= 0) return (int)n;
            if (io_write(t->out, block, (size_t)n) < 0) return -1;
            left -= (unsigned long long)n;
        }
        return 0;
    }
    const char *line;
    ssize_t n;
    for (; left && (n = io_line(from, &line, s->delim)) > 0; left--)
        if (io_write(t->out, line, (size_t)n) < 0) return -1;
    if (s->count) io_take_block(from);
    return io_failed(from) ? -1 : 0;
}

int tool_head(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"lines", 1, 'n'}, {"bytes", 1, 'c'}, {"quiet", 0, 'q'}, {"silent", 0, 'q'},
        {"verbose", 0, 'v'}, {"zero-terminated", 0, 'z'}, {0, 0, 0}};
    head_state s = {.count = 10, .delim = '\n'};
    tool_opts o;
    int c, status = 0;
    if (argc > 1 && argv[1][0] == '-' && argv[1][1] >= '0' && argv[1][1] <= '9') {
        if (take_old(t, &s, argv[1] + 1) < 0) return 1;
        argc--;
        argv++;
    }
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "n:c:qvz", longs)) != -1;) switch (c) {
        case 'n': case 'c': if (take_count(t, &s, o.arg, c == 'c') < 0) return 1; break;
        case 'q': s.quiet = 1; s.verbose = 0; break;
        case 'v': s.verbose = 1; s.quiet = 0; break;
        case 'z': s.delim = '\0'; break;
        default: return 1;
    }
    static char *standard[] = {"-"};
    char **files = o.index < argc ? argv + o.index : standard;
    int count = o.index < argc ? argc - o.index : 1, shown = 0;
    for (int i = 0; i < count; i++) {
        int failed = 0;
        io *from;
        if (!strcmp(files[i], "-")) from = io_ref(t->in);
        else if (!(from = io_open(files[i], 0, 0))) {
            status = tool_fail_errno(t, 1, "cannot open %s for reading", tool_quote(t, files[i]));
            continue;
        }
        if (s.verbose || (count > 1 && !s.quiet))
            io_printf(t->out, "%s==> %s <==\n", shown++ ? "\n" : "", strcmp(files[i], "-") ? files[i] : "standard input");
        failed = head_one(t, from, &s);
        if (failed && io_failed(from)) {
            errno = io_failed(from);
            status = tool_fail_errno(t, 1, "error reading %s", tool_quote(t, files[i]));
        }
        io_unref(from);
        if (io_failed(t->out)) return 1;
    }
    return status;
}
