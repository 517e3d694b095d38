/* xargs.c - build command lines from standard input and run them. */
#include "buffer.h"
#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    tool *t;
    int delim, argc, max_args, max_lines, trace, no_empty, ask;
    const char *replace, *eof, *slot;   /* slot: the variable that says which of the commands at a time one is: the first */
    char **argv;
    io *inherited;               /* what commands read: nothing, unless -a leaves standard input to them */
    size_t max_chars;
    int status;
    buffer item;
} xargs_state;

/* The next item into s->item: words with quotes and backslashes, or what lies between delimiters. *line_end: a newline followed
 * it. */
static int next_item(xargs_state *s, int *line_end) {
    int c, any = 0;
    s->item.n = 0;
    buffer_puts(&s->item, "");
    *line_end = 0;
    if (s->delim >= 0) {
        while ((c = io_getc(s->t->in)) >= 0 && c != s->delim) { buffer_putc(&s->item, c); any = 1; }
        return any || c >= 0;
    }
    int lines = s->replace != NULL;
    while ((c = io_getc(s->t->in)) >= 0 && (isblank(c) || c == '\n')) {}
    for (; c >= 0; c = io_getc(s->t->in)) {
        if (c == '\n') { *line_end = 1; break; }
        if (isblank(c) && !lines) {
            int d;
            while ((d = io_getc(s->t->in)) >= 0 && isblank(d)) {}
            if (d == '\n') *line_end = 0; /* a trailing blank continues the line */
            else io_ungetc(s->t->in, d);
            break;
        }
        any = 1;
        if (c == '\\') { c = io_getc(s->t->in); if (c >= 0) buffer_putc(&s->item, c); }
        else if (c == '\'' || c == '"') {
            int quote = c;
            while ((c = io_getc(s->t->in)) >= 0 && c != quote && c != '\n') buffer_putc(&s->item, c);
            if (c != quote) {
                s->status = tool_fail(s->t, 1,
                    "unmatched %s quote; by default quotes are special to xargs unless you use the -0 option",
                    quote == '"' ? "double" : "single");
                return 0;
            }
        } else buffer_putc(&s->item, c);
    }
    return any;
}

/* The environment with the slot in it. */
static char **with_slot(xargs_state *s) {
    char **old = s->t->environ ? s->t->environ(s->t) : NULL, **list;
    size_t n = 0, kept = 0, len = strlen(s->slot);
    while (old && old[n]) n++;
    list = tool_alloc(s->t, (n + 2) * sizeof *list);
    for (size_t i = 0; i < n; i++) if (strncmp(old[i], s->slot, len) || old[i][len] != '=') list[kept++] = old[i];
    list[kept] = tool_format(s->t, "%s=0", s->slot);
    return list;
}

static int run(xargs_state *s, char **argv, int argc) {
    if (s->trace) {
        for (int i = 0; i < argc; i++) io_printf(s->t->err, "%s%s", i ? " " : "", tool_name(s->t, argv[i]));
        if (!s->ask) io_putc(s->t->err, '\n');
    }
    if (s->ask) {
        s->status = tool_fail(s->t, 1, "failed to open /dev/tty for reading: No such device or address");
        return -1;
    }
    if (s->t->knows && !s->t->knows(s->t, argv[0])) {
        s->status = tool_fail(s->t, 127, "%s: No such file or directory", argv[0]);
        return -1;
    }
    io *in = s->inherited ? io_ref(s->inherited) : io_null();
    if (!in) tool_oom();
    int status = tool_run_with(s->t, in, NULL, s->slot ? with_slot(s) : NULL, argc, argv);
    io_unref(in);
    if (status == 255) { s->status = tool_fail(s->t, 124, "%s: exited with status 255; aborting", argv[0]); return -1; }
    if (status == 126 || status == 127) { s->status = status; return -1; }
    if (status == 141) { s->status = 125; return -1; }
    if (status) s->status = 123;
    return 0;
}

static int run_replacing(xargs_state *s) {
    int end;
    while (next_item(s, &end)) {
        if (s->eof && !strcmp(s->item.p, s->eof)) break;
        char **argv = tool_alloc(s->t, ((size_t)s->argc + 1) * sizeof *argv);
        size_t n = strlen(s->replace);
        for (int i = 0; i < s->argc; i++) {
            buffer b = {.t = s->t};
            buffer_puts(&b, "");
            for (const char *p = s->argv[i]; *p;) {
                if (n && !strncmp(p, s->replace, n)) { buffer_add(&b, s->item.p, s->item.n); p += n; } else buffer_putc(&b, *p++);
            }
            argv[i] = b.p;
        }
        if (run(s, argv, s->argc) < 0) break;
    }
    return s->status;
}

static int run_batches(xargs_state *s) {
    int cap = 64, count = 0, ran = 0, lines = 0, more = 1;
    char **argv = tool_alloc(s->t, ((size_t)s->argc + (size_t)cap + 1) * sizeof *argv);
    size_t bytes = 0;
    memcpy(argv, s->argv, (size_t)s->argc * sizeof *argv);
    while (more) {
        int end;
        more = next_item(s, &end);
        if (more && s->eof && !strcmp(s->item.p, s->eof)) more = 0;
        int too_long = more && s->item.n + 1 > s->max_chars;
        if (more && count && bytes + s->item.n + 1 > s->max_chars) {
            argv[s->argc + count] = NULL;
            if (run(s, argv, s->argc + count) < 0) return s->status;
            ran = 1;
            count = lines = 0;
            bytes = 0;
        }
        if (too_long) return tool_fail(s->t, 1, "argument line too long");
        if (more) {
            if (count == cap) { cap *= 2; argv = tool_realloc(s->t, argv, ((size_t)s->argc + (size_t)cap + 1) * sizeof *argv); }
            argv[s->argc + count++] = tool_strndup(s->t, s->item.p, s->item.n);
            bytes += s->item.n + 1;
            lines += end || s->delim >= 0;
        }
        int full = (s->max_args && count >= s->max_args) || (s->max_lines && lines >= s->max_lines);
        if ((full || (!more && (count || (!ran && !s->no_empty))))) {
            if (s->status && !count) break;
            argv[s->argc + count] = NULL;
            if (run(s, argv, s->argc + count) < 0) return s->status;
            ran = 1;
            count = lines = 0;
            bytes = 0;
        }
    }
    return s->status;
}

/* -d: one character, or an escape for one; -1 after a message. */
static int parse_delimiter(tool *t, const char *arg) {
    static const char letters[] = "abfnrtv0123456789x\\";
    if (*arg && !arg[1]) return (unsigned char)*arg;
    if (*arg != '\\' || !arg[1]) {
        tool_fail(t, 1,
            "Invalid input delimiter specification %s: the delimiter must be either a single character or an escape sequence "
            "starting with \\.",
            arg);
        return -1;
    }
    const char *at = strchr(letters, arg[1]);
    if (!at || (*at == arg[1] && at - letters < 7 && arg[2])) {
        tool_fail(t, 1, "Invalid escape sequence %s in input delimiter specification.", arg);
        return -1;
    }
    if (at - letters < 7) return "\a\b\f\n\r\t\v"[at - letters];
    if (arg[1] == '\\') return '\\';
    return (int)(strtol(arg[1] == 'x' ? arg + 2 : arg + 1, NULL, arg[1] == 'x' ? 16 : 8) & 255);
}

/* A count of at least 1 for an option; 0 after a message. */
static int parse_count(tool *t, int option, const char *text) {
    char *end;
    long n = strtol(text, &end, 10);
    if (*end || end == text) { tool_fail(t, 0, "invalid number \"%s\" for -%c option", text, option); return tool_usage(t, 0); }
    if (n < 1) { tool_fail(t, 0, "value %s for -%c option should be >= 1", text, option); return tool_usage(t, 0); }
    return n > 1000000000 ? 1000000000 : (int)n;
}

/* -I, -L and -n exclude each other: the last one stays. */
static void exclude(tool *t, int given, const char *old, const char *now) {
    if (given)
        tool_fail(t, 0, "warning: options --%s and %s are mutually exclusive, ignoring previous --%s value", old, now, old);
}

static void set_replace(xargs_state *s, const char *text) {
    exclude(s->t, s->max_args, "max-args", "--replace/-I/-i");
    exclude(s->t, s->max_lines, "max-lines", "--replace/-I/-i");
    s->max_args = s->max_lines = 0;
    s->replace = text;
}

static void set_lines(xargs_state *s, int lines, const char *option) {
    exclude(s->t, s->max_args, "max-args", option);
    exclude(s->t, s->replace != NULL, "replace", option);
    s->max_args = 0;
    s->replace = NULL;
    s->max_lines = lines;
}

static void set_args(xargs_state *s, int args) {
    exclude(s->t, s->max_lines, "max-lines", "--max-args/-n");
    s->max_lines = 0;
    if (s->replace && args == 1) return;         /* one argument is what -I takes anyway */
    exclude(s->t, s->replace != NULL, "replace", "--max-args/-n");
    s->replace = NULL;
    s->max_args = args;
}

int tool_xargs(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"null", 0, '0'}, {"arg-file", 1, 'a'}, {"delimiter", 1, 'd'}, {"eof", 2, 'e'},
        {"replace", 2, 'i'}, {"max-lines", 2, 'l'}, {"max-args", 1, 'n'}, {"max-procs", 1, 'P'}, {"interactive", 0, 'p'},
        {"no-run-if-empty", 0, 'r'}, {"max-chars", 1, 's'}, {"verbose", 0, 't'}, {"exit", 0, 'x'}, {"open-tty", 0, 'o'},
        {"show-limits", 0, 128}, {"process-slot-var", 1, 129}, {0, 0, 0}};
    static char *echo[] = {"echo", NULL};
    xargs_state s = {.t = t, .delim = -1, .max_chars = 128 * 1024, .item = {.t = t}};
    tool_opts o;
    io *standard = t->in, *file = NULL;
    int c, number, limited = 0;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "+0a:d:E:e::I:i::L:l::n:oP:prs:tx", longs)) != -1;)
        switch (c) {
        case '0': s.delim = 0; break;
        case 'a': {
            if (file) io_unref(file);
            file = io_open(o.arg, O_RDONLY, 0);
            if (!file) return tool_fail_errno(t, 1, "Cannot open input file %s", tool_cite(t, o.arg));
            break;
        }
        case 'd':
            if ((s.delim = parse_delimiter(t, o.arg)) < 0) return 1;
            break;
        case 'E': case 'e': s.eof = o.arg; break;
        case 'I': set_replace(&s, o.arg); break;
        case 'i': set_replace(&s, o.arg ? o.arg : "{}"); break;
        case 'L': case 'l':
            if (o.arg && !(number = parse_count(t, c, o.arg))) return 1;
            set_lines(&s, o.arg ? number : 1, c == 'L' ? "-L" : "--max-lines/-l");
            break;
        case 'n':
            if (!(number = parse_count(t, c, o.arg))) return 1;
            set_args(&s, number);
            break;
        case 'r': s.no_empty = 1; break;
        case 's':
            if (!(number = parse_count(t, c, o.arg))) return 1;
            s.max_chars = (size_t)number;
            limited = 1;
            break;
        case 't': s.trace = 1; break;
        case 'p': s.trace = s.ask = 1; break;
        case 129:
            if (strchr(o.arg, '=')) return tool_fail(t, 1, "option --process-slot-var may not be set to a value which includes `='");
            s.slot = o.arg;
            break;
        case 'P': case 'x': case 'o': case 128: break;
        default: return 1;
        }
    if (file) { t->in = file; s.inherited = standard; }
    s.argv = o.index < argc ? argv + o.index : echo;
    s.argc = o.index < argc ? argc - o.index : 1;
    for (int i = 0; limited && i < s.argc; i++) {
        size_t n = strlen(s.argv[i]) + 1;
        if (s.max_chars < n) return tool_fail(t, 1, "cannot fit single argument within argument list size limit");
        s.max_chars -= n;
    } /* the command counts */
    int status = s.replace ? run_replacing(&s) : run_batches(&s);
    t->in = standard;
    io_unref(file);
    return status;
}
