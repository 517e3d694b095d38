/* csplit.c - cut a file into pieces where patterns or line numbers say. */
#include "buffer.h"
#include "patterns.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    tool *t;
    const char *prefix, *format;          /* format: of -b */
    int digits, quiet, elide, suppress, keep;
    span_list lines;
    size_t at;                            /* the first line that is in no piece yet */
    int files, matched;                   /* matched: a pattern has matched at line at */
    int open;                             /* the last line has no newline */
} csplit_state;

/* What one operand says: a line number, /pattern/offset or %pattern%offset. */
typedef struct { const char *text; char kind; regex *re; long offset; unsigned long line; } cut;

static char *piece_name(csplit_state *s, int number) {
    const char *percent = s->format ? strchr(s->format, '%') : NULL;
    if (!percent) return tool_format(s->t, "%s%0*d", s->prefix, s->digits, number);
    const char *p = percent + 1;
    int zero = *p == '0', left = *p == '-', width = (int)strtol(p + (left || zero), (char **)&p, 10);
    if (width > 99) width = 99;
    const char *digits = *p == 'x'   ? tool_format(s->t, "%x", (unsigned)number)
                         : *p == 'X' ? tool_format(s->t, "%X", (unsigned)number)
                         : *p == 'o' ? tool_format(s->t, "%o", (unsigned)number)
                                     : tool_format(s->t, "%d", number);
    const char *text
        = left   ? tool_format(s->t, "%-*s", width, digits)
          : zero ? tool_format(s->t, "%.*s%s", width > (int)strlen(digits) ? width - (int)strlen(digits) : 0,
                "000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000", digits)
                 : tool_format(s->t, "%*s", width, digits);
    return tool_format(s->t, "%s%.*s%s%s", s->prefix, (int)(percent - s->format), s->format, text, *p ? p + 1 : "");
}

/* The lines from s->at to to become a file. */
static int write_piece(csplit_state *s, size_t to) {
    if (to < s->at) to = s->at;
    if (to > s->lines.n) to = s->lines.n;
    unsigned long long size = 0;
    if (!(s->elide && to == s->at)) {
        char *name = piece_name(s, s->files++);
        io *out = io_open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        if (!out) return tool_fail_errno(s->t, 1, "%s", name);
        for (size_t k = s->at; k < to; k++) {
            io_write(out, s->lines.at[k].p, s->lines.at[k].n);
            size += s->lines.at[k].n;
            if (s->open && k + 1 == s->lines.n) break;
            io_putc(out, '\n');
            size++;
        }
        io_unref(out);
        if (!s->quiet) io_printf(s->t->out, "%llu\n", size);
    }
    s->at = to;
    return 0;
}

static int parse_cut(csplit_state *s, const char *text, cut *c) {
    const char *error;
    char *end;
    *c = (cut){.text = text, .kind = 'n'};
    if (*text != '/' && *text != '%') {
        c->line = strtoul(text, &end, 10);
        if (end == text || *end) return tool_fail(s->t, 1, "%s: invalid pattern", tool_cite(s->t, text));
        return c->line ? 0 : tool_fail(s->t, 1, "%s: line number must be greater than zero", text);
    }
    c->kind = *text;
    end = strrchr(text + 1, *text);
    if (!end) return tool_fail(s->t, 1, "%s: closing delimiter '%c' missing", text, *text);
    c->offset = atol(end + 1);
    c->re = pattern_compile(s->t, text + 1, (size_t)(end - text - 1), 0, &error);
    return c->re ? 0 : tool_fail(s->t, 1, "%s: invalid regular expression: %s", text, error);
}

/* {N} or {*} after an operand: how often more; -1 for ever, -2 when text is no repetition. */
static long repetition(const char *text) {
    if (*text != '{') return -2;
    return text[1] == '*' ? -1 : strtol(text + 1, NULL, 10);
}

static int fail_at(csplit_state *s, const cut *c, long round, const char *what) {
    int status = round ? tool_fail(s->t, 1, "%s: %s on repetition %ld", tool_cite(s->t, c->text), what, round)
                       : tool_fail(s->t, 1, "%s: %s", tool_cite(s->t, c->text), what);
    if (c->kind != '%') write_piece(s, s->lines.n);
    return status;
}

/* One round of an operand. 1 after a message, 2 when a pattern repeated for ever is not found any more. */
static int apply(csplit_state *s, const cut *c, long round, int forever) {
    if (c->kind == 'n') {
        size_t to = (size_t)c->line * (size_t)(round + 1) - 1;
        if (to >= s->lines.n) return fail_at(s, c, round, "line number out of range");
        if (write_piece(s, to)) return 1;
        if (s->suppress && s->at < s->lines.n) s->at++;
        s->matched = 0;
        return 0;
    }
    size_t k = s->at + (s->matched ? 1 : 0);
    while (k < s->lines.n && regex_test(c->re, s->lines.at[k].p, s->lines.at[k].n) <= 0) k++;
    if (k >= s->lines.n) return forever ? 2 : fail_at(s, c, round, "match not found");
    size_t to = c->offset < 0 && (size_t)-c->offset > k ? 0 : (size_t)((long)k + c->offset);
    s->matched = !c->offset && !s->suppress;
    if (c->kind == '%') s->at = to > s->lines.n ? s->lines.n : to;
    else if (write_piece(s, to)) return 1;
    if (s->suppress && s->at < s->lines.n) s->at++;
    return 0;
}

static int cut_all(csplit_state *s, int argc, char **argv) {
    unsigned long before = 0;
    cut *cuts = tool_alloc(s->t, ((size_t)argc + 1) * sizeof *cuts);
    for (int i = 0; i < argc; i++) {
        if (repetition(argv[i]) >= -1) continue;
        if (parse_cut(s, argv[i], &cuts[i])) return 2;
        if (cuts[i].kind != 'n') continue;
        if (cuts[i].line < before)
            return tool_fail(
                s->t, 2, "line number %s is smaller than preceding line number, %lu", tool_cite(s->t, argv[i]), before);
        if (cuts[i].line == before)
            tool_fail(s->t, 0, "warning: line number %s is the same as preceding line number", tool_cite(s->t, argv[i]));
        before = cuts[i].line;
    }
    for (int i = 0; i < argc; i++) {
        long times = i + 1 < argc ? repetition(argv[i + 1]) : -2;
        if (repetition(argv[i]) >= -1) continue;
        for (long round = 0; times == -1 || round <= (times < 0 ? 0 : times); round++) {
            int done = apply(s, &cuts[i], round, times == -1);
            if (done == 2) break;
            if (done) return 1;
        }
    }
    return write_piece(s, s->lines.n);
}

int tool_csplit(tool *t, int argc, char **argv) {
    static const tool_long longs[]
        = {{"prefix", 1, 'f'}, {"digits", 1, 'n'}, {"quiet", 0, 's'}, {"silent", 0, 's'}, {"elide-empty-files", 0, 'z'},
            {"keep-files", 0, 'k'}, {"suffix-format", 1, 'b'}, {"suppress-matched", 0, 'm'}, {0, 0, 0}};
    csplit_state s = {.t = t, .prefix = "xx", .digits = 2};
    tool_opts o;
    int c;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "f:n:szkb:q", longs)) != -1;) switch (c) {
        case 'f': s.prefix = o.arg; break;
        case 'n': s.digits = atoi(o.arg); break;
        case 's': case 'q': s.quiet = 1; break;
        case 'z': s.elide = 1; break;
        case 'm': s.suppress = 1; break;
        case 'k': s.keep = 1; break;
        case 'b': s.format = o.arg; break;
        default: return 1;
    }
    if (argc - o.index < 2) {
        if (o.index >= argc) tool_fail(t, 1, "missing operand");
        else tool_fail(t, 1, "missing operand after %s", tool_cite(t, argv[argc - 1]));
        return tool_usage(t, 1);
    }
    const char *path = argv[o.index];
    io *from = strcmp(path, "-") ? io_open(path, O_RDONLY, 0) : io_ref(t->in);
    if (!from) return tool_fail_errno(t, 1, "cannot open %s for reading", tool_quote(t, path));
    buffer b = {.t = t};
    buffer_read_all(&b, from);
    io_unref(from);
    s.open = b.n && b.p[b.n - 1] != '\n';
    span_split(t, &s.lines, b.p ? b.p : "", b.n, '\n');
    int status = cut_all(&s, argc - o.index - 1, argv + o.index + 1);
    if (status && !s.keep) for (int i = 0; i < s.files; i++) unlink(piece_name(&s, i));
    return status ? 1 : 0;
}
