/* jq.c - jq's command line and its outputs. Inputs are jq_input.c. */
#include "jq.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Output is held back as stdio holds it back, so that messages of the same run come first where both go to one place. */
enum { HELD_MOST = 4096 };
typedef struct {
    jout o;
    json_style style;
    int raw, join, seq, exit_status, raw_zero;
    int last;
    int any;
    io *to;
    buffer held;
} printer;

static int print_held(printer *w) {
    int failed = w->held.n ? io_write(w->to, w->held.p, w->held.n) : 0;
    w->held.n = 0;
    return failed;
}

static int print_out(jq *q, jout *self, jv v, jpath *p) {
    printer *w = (printer *)self;
    (void)p;
    buffer b = w->held;
    if (w->raw_zero && v.kind == J_STRING && memchr(v.s->text, 0, v.s->n)) {
        jv_drop(&q->C, v);
        return jq_raise(q, jv_cstr(&q->C, "Cannot dump a string containing NUL with --raw-output0 option"));
    }
    w->any = 1;
    w->last = jv_true(v);
    if (w->seq) buffer_putc(&b, 30);
    if (w->raw && v.kind == J_STRING && !(w->style.ascii && !w->join)) buffer_add(&b, v.s->text, v.s->n);
    else json_write(&q->C, &b, v, &w->style);
    if (w->raw_zero) buffer_putc(&b, 0); else if (!w->join) buffer_putc(&b, '\n');
    w->held = b;
    jv_drop(&q->C, v);
    if (b.n > HELD_MOST && print_held(w) < 0) { q->halted = 1; q->halt_code = 2; return jq_raise(q, jv_null()); }
    return RUN_ON;
}

typedef struct {
    printer out;
    int named_count;
    jv args, positional;
    const char *program, *program_file;
    int exit_flag, positional_mode;
} options;

static int read_file_value(jq *q, const char *name, const char *path, int raw, jv *v) {
    io *from = io_open(path, 0, 0);
    if (!from)
        return tool_fail(q->t, 2, "Bad JSON in --%s %s %s: Could not open %s: %s", raw ? "rawfile" : "slurpfile", name, path,
            path, strerror(errno));
    buffer b = {.t = q->t};
    buffer_read_all(&b, from);
    io_unref(from);
    if (raw) { *v = jv_text(&q->C, b.p, b.n); return 0; }
    json_reader r;
    json_reader_start(&r, &q->C, b.p, b.n);
    *v = jv_array(&q->C, 0);
    for (jv x; (x = json_next(&r)).kind != J_INVALID;) *v = jv_push(&q->C, *v, x);
    return r.error ? tool_fail(
               q->t, 2, "Bad JSON in --slurpfile %s %s: %s at line %d, column %d", name, path, r.error, r.line, r.column)
                   : 0;
}

static int parse_json_text(jq *q, const char *text, jv *v) {
    json_reader r;
    json_reader_start(&r, &q->C, text, strlen(text));
    *v = json_next(&r);
    if (v->kind == J_INVALID) return -1;
    jv more = json_next(&r);
    if (more.kind != J_INVALID) { jv_drop(&q->C, more); return -1; }
    return r.error ? -1 : 0;
}

static void short_option(jq *q, options *o, char c, int *bad) {
    switch (c) {
    case 'n': q->null_input = 1; break;
    case 'r': o->out.raw = 1; break;
    case 'j': o->out.raw = o->out.join = 1; break;
    case 'a': o->out.style.ascii = 1; break;
    case 'c': o->out.style.indent = 0; o->out.style.tab = 0; break;
    case 'C': o->out.style.color = 1; break;
    case 'M': o->out.style.color = 0; break;
    case 'S': o->out.style.sort = 1; break;
    case 's': q->slurp = 1; break;
    case 'R': q->raw_input = 1; break;
    case 'e': o->exit_flag = 1; break;
    case 'f': break;
    case 'h': case 'V': break;
    default: *bad = 1;
    }
}

/* --name options; returns how many words they took beyond themselves, -1 on error, -2 when nothing is to be added to what was
 * said. */
static int long_option(jq *q, options *o, char **argv, int left) {
    const char *name = argv[0] + 2;
    static const struct {
        const char *name;
        char letter;
    } plain[] = {{"null-input", 'n'}, {"raw-output", 'r'}, {"join-output", 'j'}, {"ascii-output", 'a'}, {"compact-output", 'c'},
        {"color-output", 'C'}, {"monochrome-output", 'M'}, {"sort-keys", 'S'}, {"slurp", 's'}, {"raw-input", 'R'},
        {"exit-status", 'e'}};
    int bad = 0;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (!strcmp(plain[i].name, name)) {
            short_option(q, o, plain[i].letter, &bad);
            return 0;
        }
    if (!strcmp(name, "tab")) { o->out.style.tab = 1; return 0; }
    if (!strcmp(name, "seq")) { o->out.seq = q->reader.seq = 1; return 0; }
    if (!strcmp(name, "stream")) { q->stream = 1; return 0; }
    if (!strcmp(name, "stream-errors")) { q->stream = q->stream_errors = 1; return 0; }
    if (!strcmp(name, "unbuffered")) return 0;
    if (!strcmp(name, "raw-output0")) { o->out.raw = o->out.raw_zero = 1; return 0; }
    if (!strcmp(name, "args")) { o->positional_mode = 1; return 0; }
    if (!strcmp(name, "jsonargs")) { o->positional_mode = 2; return 0; }
    if (!strcmp(name, "indent") && left >= 1) {
        int n = atoi(argv[1]);
        if (n < -1 || n > 7) return tool_fail(q->t, -1, "--indent takes a number between -1 and 7");
        o->out.style.indent = n;
        o->out.style.tab = n < 0;
        return 1;
    }
    if (!strcmp(name, "indent")) return tool_fail(q->t, -1, "--indent takes one parameter");
    if (!strcmp(name, "from-file") && left >= 1) { o->program_file = argv[1]; return 1; }
    if ((!strcmp(name, "arg") || !strcmp(name, "argjson") || !strcmp(name, "slurpfile") || !strcmp(name, "rawfile")) && left < 2)
        return tool_fail(q->t, -1, "--%s takes two parameters (e.g. --%s varname %s)", name, name,
            !strcmp(name, "argjson") ? "text"
            : !strcmp(name, "arg")   ? "value"
                                     : "filename");
    jv v = jv_null();
    if (!strcmp(name, "arg")) v = jv_cstr(&q->C, argv[2]);
    else if (!strcmp(name, "argjson")) {
        if (parse_json_text(q, argv[2], &v) < 0) return tool_fail(q->t, -1, "invalid JSON text passed to --argjson");
    } else if (!strcmp(name, "slurpfile")) {
        if (read_file_value(q, argv[1], argv[2], 0, &v)) return -2;
    } else if (!strcmp(name, "rawfile")) {
        if (read_file_value(q, argv[1], argv[2], 1, &v)) return -2;
    } else return tool_fail(q->t, -1, "Unknown option --%s", name);
    if (jv_find(o->args, argv[1], (uint32_t)strlen(argv[1]))) { jv_drop(&q->C, v); return 2; }
    o->args = jv_put(&q->C, o->args, argv[1], v);
    return 2;
}

/* What jq adds to every message about its command line. */
static int use_help(tool *t) {
    io_printf(t->err, "Use %s --help for help with command-line options,\n", t->name);
    io_puts(t->err, "or see the jq manpage, or online docs  at https://jqlang.github.io/jq\n");
    return 2;
}

static int print_help(tool *t) {
    static const char *const options[] = {"-n, --null-input", "-R, --raw-input", "-s, --slurp", "-c, --compact-output",
        "-r, --raw-output", "--raw-output0", "-j, --join-output", "-a, --ascii-output", "-S, --sort-keys", "-C, --color-output",
        "-M, --monochrome-output", "--tab", "--indent n", "--unbuffered", "--stream", "--seq", "-f, --from-file file",
        "-L directory", "-e, --exit-status", "--arg name value", "--argjson name value", "--slurpfile name file",
        "--rawfile name file", "--args", "--jsonargs", "-h, --help", "-V, --version"};
    io_printf(
        t->out, "jq - commandline JSON processor [version 1.7.1]\n\nUsage:\t%s [options] <jq filter> [file...]\n\n", t->name);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) io_printf(t->out, "  %s\n", options[i]);
    return io_failed(t->out) ? 2 : 0;
}

static int parse_options(jq *q, options *o, int argc, char **argv) {
    int only_operands = 0, library_n = 0;
    q->library = tool_alloc(q->t, ((size_t)argc + 1) * sizeof *q->library);
    q->files = tool_alloc(q->t, (size_t)argc * sizeof *q->files);
    for (int i = 1; i < argc; i++) {
        char *a = argv[i];
        if (only_operands || a[0] != '-' || !a[1]) {
            if (!o->program && !o->program_file) o->program = a;
            else if (o->positional_mode == 1) o->positional = jv_push(&q->C, o->positional, jv_cstr(&q->C, a));
            else if (o->positional_mode == 2) {
                jv v;
                if (parse_json_text(q, a, &v) < 0) {
                    tool_fail(q->t, 2, "invalid JSON text passed to --jsonargs");
                    return use_help(q->t);
                }
                o->positional = jv_push(&q->C, o->positional, v);
            } else q->files[q->file_count++] = a;
            continue;
        }
        if (!strcmp(a, "--")) { only_operands = 1; continue; }
        if (a[1] == '-') {
            int took = long_option(q, o, argv + i, argc - i - 1);
            if (took == -2) return 2;
            if (took < 0) return use_help(q->t);
            i += took;
            continue;
        }
        if (!o->program && !o->program_file && !strchr("nrjacCMSsRefLhV", a[1])) { o->program = a; continue; }   /* such as -. */
        for (char *c = a + 1; *c; c++) {
            int bad = 0;
            if (*c == 'f') {
                if (i + 1 >= argc) return tool_fail(q->t, 2, "-f takes a parameter (e.g. -f file)");
                if (o->program) { q->files[q->file_count++] = (char *)o->program; o->program = NULL; }
                o->program_file = argv[++i];
                break;
            }
            if (*c == 'L') {
                if (!c[1] && i + 1 >= argc)
                    return tool_fail(q->t, 2, "-L takes a parameter: (e.g. -L /search/path or -L/search/path)");
                q->library[library_n++] = c[1] ? c + 1 : argv[++i];
                break;
            }
            short_option(q, o, *c, &bad);
            if (bad) { tool_fail(q->t, 2, "Unknown option %s", a); return use_help(q->t); }
        }
    }
    return 0;
}

static int report_error(jq *q) {
    jv e = q->error;
    q->error = jv_null();
    if (q->input_failed == -2) {
        io_printf(q->t->err, "%s: parse error: %s\n", q->t->name, e.kind == J_STRING ? e.s->text : "");
        jv_drop(&q->C, e);
        return 5;
    }
    jv *mark = e.kind == J_OBJECT ? jv_find(e, "__jq", 4) : NULL;
    int unknown = (q->null_input && !q->reader.begin) || q->exhausted;
    const char *where = unknown ? "<unknown>" : q->file_name ? q->file_name : "<stdin>";
    char *at = unknown ? tool_format(q->t, "(at %s)", where) : tool_format(q->t, "(at %s:%d)", where, jq_input_line(q));
    if (mark) io_printf(q->t->err, "%s: error %s: break\n", q->t->name, at);
    else if (e.kind == J_STRING) io_printf(q->t->err, "%s: error %s: %s\n", q->t->name, at, e.s->text);
    else {
        jv s = json_text(&q->C, e);
        io_printf(q->t->err, "%s: error %s (not a string): %s\n", q->t->name, at, s.s->text);
        jv_drop(&q->C, s);
    }
    jv_drop(&q->C, e);
    return 5;
}

/* Runs the program over all inputs; the exit status. */
static int run_all(jq *q, jnode *program, options *o) {
    int status = 0, more = 1;
    while (!q->halted) {
        jv in = q->null_input ? jv_null() : jq_input(q, &more);
        if (in.kind == J_INVALID) { if (!more) break; status = report_error(q); break; }
        int run = jq_eval(q, program, NULL, in, NULL, &o->out.o);
        if (q->halted) break;
        status = 0;
        if (run == RUN_ERROR) status = report_error(q);
        else if (run == RUN_BREAK) { jq_error(q, jv_cstr(&q->C, "break")); status = report_error(q); }
        if (q->null_input) break;
    }
    if (print_held(&o->out) < 0 && !q->halted) status = 2;
    if (q->halted) return q->halt_code;
    if (q->input_failed == 2) status = 2;
    if (o->exit_flag && !status) return !o->out.any ? 4 : o->out.last ? 0 : 1;
    return status;
}

/* JQ_COLORS: what stands between ESC[ and m for each kind of value, in order, with colons between them. */
static void take_colors(tool *t, json_style *style) {
    const char *p = t->getenv ? t->getenv(t, "JQ_COLORS") : NULL;
    if (!p) return;
    if (p[strspn(p, "0123456789;:")]) { io_puts(t->err, "Failed to set $JQ_COLORS\n"); return; }
    for (int i = 0; i < COLORS; i++) {
        size_t n = strcspn(p, ":");
        style->colors[i] = tool_format(t, "\033[%.*sm", (int)n, p);
        if (!*(p += n)) return;
        p++;
    }
}

int tool_jq(tool *t, int argc, char **argv) {
    jq state, *q = &state;
    memset(q, 0, sizeof *q);
    json_start(&q->C, t);
    q->t = t;
    q->text.t = t;
    q->error = q->env = q->pending = q->stream_fault = jv_null();
    options o = {.out = {.o = {print_out}, .style = {.indent = 2}, .to = t->out, .held = {.t = t}},
        .args = jv_object(&q->C),
        .positional = jv_array(&q->C, 0)};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--version") || !strcmp(argv[i], "-V")) return io_puts(t->out, "jq-1.7.1\n") < 0;
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) return print_help(t);
    }
    if (parse_options(q, &o, argc, argv)) return 2;
    if (o.out.style.color) take_colors(t, &o.out.style);
    if (!o.program && !o.program_file) o.program = ".";
    q->named = o.args;
    jv named = jv_object(&q->C);
    named = jv_put(&q->C, named, "positional", o.positional);
    named = jv_put(&q->C, named, "named", jv_copy(o.args));
    q->named = jv_put(&q->C, q->named, "ARGS", named);
    buffer text = {.t = t};
    if (o.program_file) {
        io *from = io_open(o.program_file, 0, 0);
        if (!from) return tool_fail(t, 2, "error: Could not open %s: %s", o.program_file, strerror(errno));
        buffer_read_all(&text, from);
        io_unref(from);
    } else buffer_puts(&text, o.program);
    jnode *program = jq_parse(q, text.p, text.n);
    if (!program) {
        io_printf(t->err, "%s: %s", t->name, q->parse_error ? q->parse_error : "error: syntax error");
        if (q->parse_text)
            io_printf(t->err, " at %s, line %d:\n%s%*s", q->parse_where ? q->parse_where : "<top-level>", q->parse_line,
                q->parse_text, q->parse_column, "");
        io_printf(t->err, "\n%s: 1 compile error\n", t->name);
        return 3;
    }
    return run_all(q, program, &o);
}
