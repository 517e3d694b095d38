/* exec.c - walking the tree: lists, and-or, groups, functions' definitions; errexit; running text. */
#include "sh.h"
#include "tool.h"
#include "history.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Nested exec_node calls, and bytes of C stack below shell_run: whichever is reached first ends a runaway recursion cleanly. */
#ifdef __wasm__
enum { MAX_EVAL_DEPTH = 1200, MAX_STACK = 700 << 10 };
#else
enum { MAX_EVAL_DEPTH = 1200, MAX_STACK = 6 << 20 };
#endif
enum { TIMED_OUT = 124 };        /* the status of what timeout(1) stops */
char *stack_base;

static bool stack_is_short(void)
{
    char here;
    char *volatile now = &here;
    return stack_base && stack_base - now > MAX_STACK;
}
shell sh;
syntax_error sh_syntax;
extern const char *arith_who;

static void set_pipestatus(int status)
{
    sh.npipestatus = 1;
    sh.pipestatus[0] = status;
}

void after_command(int status, node *n, bool had_trap)
{
    if (status == 0 || sh.cond_depth || sh.unwind) return;
    if (signals_pending) {       /* their traps come before ERR and errexit */
        sh.status = status;
        signal_deliver(true);
        if (sh.unwind) return;
    }
    if (had_trap && sh.traps[TRAP_ERR] && !pipeline_stage(n)) run_trap(TRAP_ERR);
    if (sh.opt[O_ERREXIT] && !sh.unwind) sh_leave(status);
}

bool debug_trap(node *n)
{
    if (!sh.traps[TRAP_DEBUG] || sh.in_trap[TRAP_DEBUG]) return true;
    if (!sh.running_traps) sh.command_node = n;      /* in a trap it is what that interrupted */
    int status = run_trap(TRAP_DEBUG);
    if (!sh.shopt[S_EXTDEBUG] || !status || sh.unwind) return true;
    if (status == 2 && sh.frames) { sh.unwind = UW_RETURN; sh.before_return = sh.status; sh.exit_status = 0; }
    return false;
}

int exec_list(node *n)
{
    int status = 0;
    for (int i = 0; i < n->u.list.n && !sh.unwind; i++) {
        node *item = n->u.list.items[i];
        status = item->background ? exec_background(item) : exec_node(item);
    }
    return status;
}

/* a && b || c leans left; the chain is walked without recursion because only its length bounds it. */
static int exec_and_or(node *n)
{
    node *small[16], **spine = small;
    int depth = 0;
    for (node *x = n; x->kind == N_AND || x->kind == N_OR; x = x->u.pair.a) depth++;
    if (depth > 16) spine = xmalloc((size_t)depth * sizeof *spine);
    int i = 0;
    node *first = n;
    for (; first->kind == N_AND || first->kind == N_OR; first = first->u.pair.a) spine[i++] = first;
    sh.cond_depth++;
    int status = exec_node(first);
    sh.cond_depth--;
    while (i-- > 0 && !sh.unwind) {
        if ((status == 0) != (spine[i]->kind == N_AND)) continue;
        if (i > 0) sh.cond_depth++;
        status = exec_node(spine[i]->u.pair.b);
        if (i > 0) sh.cond_depth--;
    }
    if (spine != small) free(spine);
    return status;
}

static int exec_time(node *n)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    int status = n->u.pair.a ? exec_node(n->u.pair.a) : 0;
    clock_gettime(CLOCK_MONOTONIC, &b);
    double s = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
    const char *format = var_get("TIMEFORMAT");
    arena_mark_t m = arena_mark(&sh.tmp);
    if (n->posix_time) format = "real %2R\nuser %2U\nsys %2S";
    else if (!format) format = "\nreal\t%3lR\nuser\t%3lU\nsys\t%3lS";
    strbuf out = { .a = &sh.tmp };
    for (const char *f = format; *f; f++) {
        if (*f != '%' || !f[1]) { sb_putc(&out, *f); continue; }
        int precision = 3;
        bool minutes = false;
        f++;
        if (*f >= '0' && *f <= '9') precision = *f++ - '0';
        if (*f == 'l') { minutes = true; f++; }
        double v = *f == 'S' ? 0 : s;
        if (!*f || !strchr("%PREUS", *f)) {
            sh_error("TIMEFORMAT: `%c': invalid format character", *f);
            arena_release(&sh.tmp, m);
            return status;
        }
        if (*f == '%') sb_putc(&out, '%');
        else if (*f == 'P') sb_puts(&out, "100.00");
        else if (minutes) sb_printf(&out, "%dm%.*fs", (int)(v / 60), precision, v - (int)(v / 60) * 60);
        else sb_printf(&out, "%.*f", precision, v);
    }
    if (out.len) sb_putc(&out, '\n');
    err_puts(sb_str(&out));
    arena_release(&sh.tmp, m);
    return status;
}

void trace_arith(arith *a)
{
    strbuf b = { .a = &sh.tmp };
    arena_mark_t m = arena_mark(&sh.tmp);
    sb_printf(&b, "(( %s ))", a->text);
    trace_text(sb_str(&b));
    arena_release(&sh.tmp, m);
}

static int exec_arith(node *n)
{
    int64_t v;
    sh.line = n->line + sh.line_base;
    if (!debug_trap(n)) return 0;
    if (sh.opt[O_XTRACE]) trace_arith(n->u.arith);
    const char *who = arith_who;
    arith_who = "((";
    bool ok = arith_eval(n->u.arith, &v);
    arith_who = who;
    int status = ok ? v == 0 : 1;
    return status;
}

static int define_function(node *n)
{
    if (strpbrk(n->u.func.name, "$\"'\\`")) { sh_error("`%s': not a valid identifier", n->u.func.name); return 1; }
    const builtin *b = sh.opt[O_POSIX] ? builtin_find(n->u.func.name) : NULL;
    if (b && b->flags & B_SPECIAL) { sh_error("`%s': is a special builtin", b->name); sh_exit(2); return 2; }
    func *old = func_find(n->u.func.name);
    if (old && old->readonly) { sh_error("%s: readonly function", old->name); return 1; }
    func_define(n->u.func.name, n->u.func.prog, n);
    if (sh.opt[O_ALLEXPORT]) func_find(n->u.func.name)->exported = 1;
    return 0;
}

static int exec_inner(node *n)
{
    int status = 0;
    bool shown = n->kind == N_SUBSHELL || n->kind == N_COND || n->kind == N_ARITH;
    if (shown && !sh.running_traps) sh.command_node = n;
    switch (n->kind) {
    case N_LIST: return exec_list(n);
    case N_AND: case N_OR: return exec_and_or(n);
    case N_GROUP: return exec_node(n->u.pair.a);
    case N_SUBSHELL:
        sh.line = n->line + sh.line_base;
        status = subshell_run(n->u.pair.a, 0);
        if (n->end_line && !sh.line_base) sh.line = n->end_line;   /* its failure is reported where it ends */
        break;
    case N_NOT:
        sh.cond_depth++;
        status = n->u.pair.a ? exec_node(n->u.pair.a) : 0;
        sh.cond_depth--;
        return !status;          /* PIPESTATUS stays that of the command itself */
    case N_TIME: return exec_time(n);
    case N_PIPE: status = exec_pipeline(n); break;
    case N_FUNC: return define_function(n);
    case N_COPROC: return coprocess_start(n->u.coproc.name, n->u.coproc.body);
    case N_COND: {
        sh.line = n->line + sh.line_base;
        if (!debug_trap(n)) return 0;
        arena_mark_t m = arena_mark(&sh.tmp);
        status = cond_eval(n->u.cond);
        arena_release(&sh.tmp, m);
        break;
    }
    case N_ARITH: status = exec_arith(n); break;
    default: return exec_loop(n);
    }
    sh.status = status;
    if (n->kind != N_PIPE) set_pipestatus(status);
    if (!sh.unwind) after_command(status, n, true);
    return status;
}

int exec_compound(node *n)
{
    if (!n->redirs) return exec_inner(n);
    arena_mark_t m = arena_mark(&sh.tmp);
    int procs = proc_mark(), status = 1;
    redir_save save;
    sh.line = n->line + sh.line_base;
    if (redirect(n->redirs, &save)) status = exec_inner(n);
    else if (sh.unwind != UW_TRIAL) { sh.status = status; if (!sh.unwind) after_command(status, n, true); }
    redirect_undo(&save);
    proc_finish(procs);
    arena_release(&sh.tmp, m);
    return status;
}

int exec_node(node *n)
{
    if (!n || sh.unwind) return sh.status;
    if (sh.opt[O_NOEXEC]) return 0;
    if (tool_time_is_up()) { sh_exit(TIMED_OUT); return TIMED_OUT; }
    if (++sh.eval_depth > MAX_EVAL_DEPTH || stack_is_short()) {
        sh.eval_depth--;
        sh_error("maximum evaluation depth exceeded (%d)", sh.eval_depth);
        stack_overflowed();
        sh_fail(1);
        return 1;
    }
    static unsigned ticks;
    int status = n->kind == N_SIMPLE ? exec_simple(n) : exec_compound(n);
    if (!(++ticks & 63)) io_show();   /* not after each command: a loop of echoes would call the host for every line */
    sh.eval_depth--;
    if (n->kind != N_SIMPLE) sh.status = status;
    if (signals_pending) {
        signal_deliver(true);
        if (sh.unwind == UW_EXIT) return sh.exit_status;
    }
    return status;
}

void report_syntax(const syntax_error *e, const char *what)
{
    io *err = fd_get(2);
    if (!err || e->silent) return;
    bool sourced = sh.frames && sh.frames->is_source;
    const char *name = sourced ? sh.frames->source : sh.arg0, *prefix = what                               ? what
                                                                        : sh.is_command_string && !sourced ? "-c"
                                                                                                           : NULL;
    int line = e->line;
    if (e->at_eof && !e->quoted_eof) line = e->eof_line;
    io_printf(err, "%s: %s%sline %d: %s\n", name, prefix ? prefix : "", prefix ? ": " : "", line, e->message);
    if (!e->at_eof && e->near_line && !e->in_cond)
        io_printf(err, "%s: %s%sline %d: %s`%s'\n", name, prefix ? prefix : "", prefix ? ": " : "", line,
                  e->cited ? "syntax error: " : "", e->near_line);
}

/* The status with which a text ends that cannot be parsed. Bash gives up on [[ ]] without touching $?, and at an open quote with
 * that of a command that failed before. nested: eval, a trap, a sourced file. */
static int syntax_status(const syntax_error *e, bool inner, bool nested)
{
    if (e->in_subst && !e->at_eof && sh.is_command_string) { sh_exit(127); return 127; }
    if (e->quoted_eof && !nested && sh.status) return sh.status;
    return e->in_cond && !e->at_eof && !inner ? sh.status : 2;
}

/* An interactive shell runs PROMPT_COMMAND, a text or an array of them, before it reads a command. */
static void run_prompt_command(void)
{
    slot *s = slot_find("PROMPT_COMMAND");
    var *v = s ? var_top(s) : NULL;
    int status = sh.status;
    size_t n = !v ? 0 : v->flags & V_ARRAY ? v->u.a->n : (v->flags & V_SET) != 0;
    for (size_t i = 0; i < n && !sh.unwind; i++) {
        char *text = xstrdup(v->flags & V_ARRAY ? v->u.a->e[i].val : v->str);
        exec_text(text, strlen(text), "PROMPT_COMMAND", sh.line);
        free(text);
        v = var_top(s);
        if (!v || (v->flags & V_ARRAY && v->u.a->n < n)) break;
    }
    sh.status = status;
}

/* What ran last stays until the next: an EXIT trap may ask for its BASH_COMMAND. */
static program *last_program;

/* in: the stream that text is the unread rest of, when the commands may read from it too. */
static int run_text(const char *text, size_t len, const char *what, int line, io *in)
{
    syntax_error err = { 0 };
    parser *p = parser_new(text, len, line);
    int status = 0, line_before = sh.line, base_before = sh.line_base;
    sh.line_base = 0;
    node *command_before = sh.command_node;
    bool nested = what || (sh.frames && sh.frames->is_source);
    size_t shown = 0;
    sh.trace_level += nested;
    for (;;) {
        if (sh.interactive && !nested && !sh.is_command_string) run_prompt_command();
        program *prog = parse_next(p, &err);
        if (sh.opt[O_VERBOSE] && !what && fd_get(2) && parser_offset(p) > shown) {
            io_write(fd_get(2), text + shown, parser_offset(p) - shown);
            if (text[parser_offset(p) - 1] != '\n') io_putc(fd_get(2), '\n');
        }
        if (prog && sh.opt[O_HISTORY] && !nested && parser_offset(p) > shown)
            history_record(text + shown, parser_offset(p) - shown);
        shown = parser_offset(p);
        if (!prog && err.message[0] && err.in_array &&
            !err.in_subst) { /* a bad name=( ) costs the line it is on, not the script */
            report_syntax(&err, what);
            free(err.near_line);
            status = sh.status = 1;
            err = (syntax_error){ 0 };
            if (parser_resume(p)) continue;
        }
        if (!prog) break;
        program *outer = sh.prog;
        size_t unread = 0;
        if (in && (io_bytes(in, &unread), unread > parser_left(p))) io_skip(in, unread - parser_left(p));
        sh.prog = prog;
        sh.has_run = true;
        status = exec_node(prog->root);
        sh.prog = outer;
        program_unref(what ? prog : last_program);
        if (!what) last_program = prog;
        if (in && fd_get(0) != in) break;           /* exec < file: the script goes on there */
        if (in) { io_bytes(in, &unread); if (unread < parser_left(p)) parser_skip(p, parser_left(p) - unread); }
        if (sh.unwind == UW_DISCARD && !sh.stack_overflow && !(nested && sh.level > sh.shell_level)) {   /* a subshell is over */
            sh.unwind = 0;
            status = sh.status = sh.exit_status;
            continue;
        }
        if (sh.unwind) break;
        if (sh.opt[O_ONECMD] && !sh.is_command_string) { sh_exit(status); break; }
    }
    sh.trace_level -= nested;
    sh.line_base = base_before;
    if (err.message[0]) {
        report_syntax(&err, what);
        status = sh.status = syntax_status(&err, what != NULL, nested);
        free(sh_syntax.near_line);
        sh_syntax = err;
        sh_syntax.near_line = NULL;
        if (!what) sh_syntax.at_eof = err.at_eof; else sh_syntax.message[0] = 0;
    }
    free(err.near_line);
    parser_free(p);
    if (what) { sh.line = line_before; sh.command_node = command_before; }
    return status;
}

int exec_text(const char *text, size_t len, const char *what, int line) { return run_text(text, len, what, line, NULL); }

static int run_input(io *in)
{
    size_t len = 0;
    const char *rest = io_rest(in, &len);
    if (!rest) return 0;
    char *text = xstrndup(rest, len);
    bool whole = memchr(text, 0, len) != NULL;     /* stripped of NULs, offsets say nothing about the stream any more */
    if (whole) { io_skip(in, len); len = strip_nuls(text, len); }
    int status = run_text(text, len, NULL, 1, whole ? NULL : in);
    free(text);
    return status;
}

int exec_input(void)
{
    int status = 0;
    for (io *in = NULL; !sh.unwind && fd_get(0) && fd_get(0) != in;) {
        in = io_ref(fd_get(0));
        status = run_input(in);
        io_unref(in);
    }
    return status;
}
