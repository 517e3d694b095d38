/* tail.c - the last lines or bytes of files. -f is accepted and ends at the end of the file: nobody else writes while we run. */
#include "buffer.h"
#include <errno.h>
#include <string.h>

typedef struct { unsigned long long count; int bytes, from_start, quiet, verbose, delim; } tail_state;

static int take_count(tool *t, tail_state *s, const char *arg, int bytes) {
    s->bytes = bytes;
    s->from_start = *arg == '+';
    if (s->from_start || *arg == '-') arg++;
    if (size_parse(arg, &s->count) < 0)
        return tool_fail(t, -1, "invalid number of %s: %s", bytes ? "bytes" : "lines", tool_cite(t, arg));
    return 0;
}

/* Whether the first word may be an option of the old kind, such as -5 or +3c: only with at most one file. */
static int may_be_old(int argc, char **argv) {
    if (argc < 2 || (argv[1][0] != '-' && argv[1][0] != '+')) return 0;
    int operand = argc == 3 && !(argv[2][0] == '-' && argv[2][1]), marked = argc <= 4 && argc > 2 && !strcmp(argv[2], "--");
    return argc == 2 || operand || marked;
}

/* +N or -N, a unit (b: 512 bytes, c: bytes, l: lines), then f. 1 when it is one, 0 when not, -1 after a message. */
static int take_old(tool *t, tail_state *s, const char *arg, int *follow) {
    const char *p = arg + 1;
    size_t digits = strspn(p, "0123456789");
    char unit = p[digits] && strchr("bcl", p[digits]) ? p[digits] : 0;
    const char *rest = p + digits + (unit != 0);
    if (!digits || strcmp(rest, *rest == 'f' ? "f" : "")) return 0;
    *follow = *rest == 'f';
    char *count = tool_format(t, "%s%.*s%s", *arg == '+' ? "+" : "", (int)digits, p, unit == 'b' ? "b" : "");
    return take_count(t, s, count, unit == 'b' || unit == 'c') < 0 ? -1 : 1;
}

/* Where the part to print begins in b. */
static size_t find_start(const buffer *b, const tail_state *s) {
    if (s->bytes) return s->count >= b->n ? 0 : b->n - (size_t)s->count;
    if (!s->count) return b->n;
    unsigned long long left = s->count + (b->n && b->p[b->n - 1] == s->delim);
    for (size_t at = b->n; at > 0; at--)
        if (b->p[at - 1] == s->delim && !--left) return at;
    return 0;
}

static int tail_one(tool *t, io *from, tail_state *s) {
    if (s->from_start) {
        unsigned long long skip = s->count ? s->count - 1 : 0;
        const char *line;
        if (s->bytes) for (; skip && io_getc(from) >= 0; skip--) {}
        else for (; skip && io_line(from, &line, s->delim) > 0; skip--) {}
        char block[16384];
        ssize_t n;
        while ((n = io_read(from, block, sizeof block)) > 0) if (io_write(t->out, block, (size_t)n) < 0) return -1;
        return (int)n;
    }
    buffer b = {.t = t};
    if (buffer_read_all(&b, from) < 0) return -1;
    size_t start = find_start(&b, s);
    int failed = io_write(t->out, b.p + start, b.n - start);
    buffer_free(&b);
    return failed;
}

int tool_tail(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"lines", 1, 'n'}, {"bytes", 1, 'c'}, {"quiet", 0, 'q'}, {"silent", 0, 'q'},
        {"verbose", 0, 'v'}, {"zero-terminated", 0, 'z'}, {"follow", 2, 'f'}, {"retry", 0, 's'}, {"pid", 1, 's'},
        {"sleep-interval", 1, 's'}, {"max-unchanged-stats", 1, 's'}, {0, 0, 0}};
    tail_state s = {.count = 10, .delim = '\n'};
    tool_opts o;
    int c, status = 0, follow = 0, opened = 0;
    int old = may_be_old(argc, argv) ? take_old(t, &s, argv[1], &follow) : 0;
    if (old < 0) return 1;
    argc -= old;
    argv += old;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "n:c:qvzfFs:0123456789", longs)) != -1;) switch (c) {
        case 'n': case 'c': if (take_count(t, &s, o.arg, c == 'c') < 0) return 1; break;
        case 'q': s.quiet = 1; s.verbose = 0; break;
        case 'v': s.verbose = 1; s.quiet = 0; break;
        case 'z': s.delim = '\0'; break;
        case 'f': case 'F': follow = 1; break;
        case 's': break;
        case '?': return 1;
        default: return tool_fail(t, 1, "option used in invalid context -- %c", c);
    }
    static char *standard[] = {"-"};
    char **files = o.index < argc ? argv + o.index : standard;
    int count = o.index < argc ? argc - o.index : 1, shown = 0;
    for (int i = 0; i < count; i++) {
        io *from;
        if (!strcmp(files[i], "-")) from = io_ref(t->in);
        else if (!(from = io_open(files[i], 0, 0))) {
            status = tool_fail_errno(t, 1, "cannot open %s for reading", tool_quote(t, files[i]));
            continue;
        }
        opened++;
        if (s.verbose || (count > 1 && !s.quiet))
            io_printf(t->out, "%s==> %s <==\n", shown++ ? "\n" : "", strcmp(files[i], "-") ? files[i] : "standard input");
        int failed = tail_one(t, from, &s);
        if (failed && io_failed(from)) {
            errno = io_failed(from);
            status = tool_fail_errno(t, 1, "error reading %s", tool_quote(t, files[i]));
        }
        io_unref(from);
        if (io_failed(t->out)) return 1;
    }
    if (follow && !opened) tool_fail(t, 1, "no files remaining");
    return status;
}
