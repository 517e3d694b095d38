/* enclosure.c - what a walk can be inside of besides loops and lists: a call of a function, a subshell, a stage of a pipeline, a
 * child shell, redirections.
 *
 * A call keeps what it hides (calls.c) with its step. A subshell is the same job with other surroundings: those before it are
 * kept aside, and come back at its end. The stages of a pipeline are such subshells, one after the other; a child shell is one
 * that reads its commands one by one.
 *
 * INVARIANT: only what may stop in its middle is entered; all else runs as one piece, as outside of jobs.
 */
#include "walk.h"
#include "background.h"
#include "lookup.h"
#include <stdlib.h>
#include <string.h>

enum { LOOK_AT = 400 };          /* nodes that are looked at before a command is taken for one that does not stop */

typedef struct { bool reads; int budget; } search;

static bool stops_in(node *n, search *s);

static bool any_stops(node **items, int n, search *s)
{
    for (int i = 0; i < n; i++) if (stops_in(items[i], s)) return true;
    return false;
}

/* Whether the condition of a loop is one that others may change: [ -f file ], kill -0. */
static bool polls(node *n)
{
    while (n && (n->kind == N_NOT || n->kind == N_AND || n->kind == N_OR)) n = n->u.pair.a;
    if (n && n->kind == N_LIST) n = n->u.list.items[n->u.list.n - 1];
    if (!n || n->kind == N_COND) return n;
    word *first = n->kind == N_SIMPLE && n->u.simple.n ? n->u.simple.words[0] : NULL;
    if (!first || !(first->flags & W_PLAIN)) return false;
    const char *name = first->parts->u.lit.text;
    return !strcmp(name, "[") || !strcmp(name, "test") || !strcmp(name, "kill") || !strcmp(name, ":") || !strcmp(name, "true");
}

/* Whether a sleep, a loop that looks for something (or a read, in a coprocess) stands somewhere in the command, or in a function
 * that it calls. */
static bool stops_in(node *n, search *s)
{
    if (!n || --s->budget < 0) return false;
    switch (n->kind) {
    case N_SIMPLE: {
        word *first = n->u.simple.n ? n->u.simple.words[0] : NULL;
        if (!first || !(first->flags & W_PLAIN)) return false;
        const char *name = first->parts->u.lit.text;
        func *f = func_find(name);
        return f ? stops_in(f->body, s) : !strcmp(name, "sleep") || !strcmp(name, "wait") || (s->reads && !strcmp(name, "read"));
    }
    case N_LIST: case N_PIPE: return any_stops(n->u.list.items, n->u.list.n, s);
    case N_IF: return stops_in(n->u.iff.cond, s) || stops_in(n->u.iff.then, s) || stops_in(n->u.iff.other, s);
    case N_FOR: return stops_in(n->u.loop.body, s);
    case N_CFOR: return stops_in(n->u.cfor.body, s);
    case N_CASE:
        for (case_item *c = n->u.kase.items; c; c = c->next) if (stops_in(c->body, s)) return true;
        return false;
    case N_WHILE: case N_UNTIL:
        if (polls(n->u.pair.a)) return true;
        /* fall through */
    case N_AND: case N_OR: return stops_in(n->u.pair.a, s) || stops_in(n->u.pair.b, s);
    case N_GROUP: case N_SUBSHELL: return stops_in(n->u.pair.a, s);
    default: return false;
    }
}

/* A stage that may go on for ever must be stopped by its readers, which only a pipeline in one piece can do. */
static bool may_be_endless(node *n)
{
    while (n && (n->kind == N_SUBSHELL || n->kind == N_GROUP)) n = n->u.pair.a;
    if (!n) return false;
    if (n->kind == N_LIST) {
        for (int i = 0; i < n->u.list.n; i++) if (may_be_endless(n->u.list.items[i])) return true;
        return false;
    }
    return n->kind != N_SIMPLE && n->kind != N_FOR && n->kind != N_AND && n->kind != N_OR;
}

bool may_stop(walk *w, node *n) { return stops_in(n, &(search){ .reads = w->feed != NULL, .budget = LOOK_AT }); }

bool starts_shell(node *n)
{
    if (n->kind != N_SIMPLE || !n->u.simple.n || n->u.simple.assigns) return false;
    word *first = n->u.simple.words[0];
    return first->flags & W_PLAIN && is_shell_command(first->parts->u.lit.text);
}

bool has_process(redir *r)
{
    for (; r; r = r->next)
        for (part *p = r->target ? r->target->parts : NULL; p; p = p->next)
            if (p->kind == P_PROC_IN || p->kind == P_PROC_OUT) return true;
    return false;
}

bool encloses(walk *w, node *n)
{
    if (sh.traps[TRAP_DEBUG] || sh.in_trial) return false;
    if (n->redirs) {
        if (has_process(n->redirs) || (n->kind == N_SIMPLE && n->u.simple.assigns)) return false;
        node bare = *n;
        bare.redirs = NULL;
        return n->kind == N_SIMPLE ? encloses(w, &bare) : may_stop(w, &bare);
    }
    if (n->kind == N_SIMPLE) {
        word *first = n->u.simple.n && !n->u.simple.assigns ? n->u.simple.words[0] : NULL;
        func *f = first && first->flags & W_PLAIN ? func_find(first->parts->u.lit.text) : NULL;
        if (!f && first && !w->feed) return starts_shell(n);
        return f && sh.depth < sh.max_depth && !var_get("FUNCNEST") && may_stop(w, f->body);
    }
    if (n->kind == N_PIPE) {
        if (sh.shopt[S_LASTPIPE]) return false;
        for (int i = 0; i + 1 < n->u.list.n; i++) if (may_be_endless(n->u.list.items[i])) return false;
    }
    return (n->kind == N_SUBSHELL || n->kind == N_PIPE) && may_stop(w, n);
}

/* ---- calls ---- */

static char **copy_list(char **v, int n)
{
    char **copy = xmalloc(((size_t)n + 1) * sizeof *copy);
    for (int i = 0; i < n; i++) copy[i] = xstrdup(v[i]);
    copy[n] = NULL;
    return copy;
}

static void free_list(char **v)
{
    for (char **a = v; a && *a; a++) free(*a);
    free(v);
}

enclosure *call_new(func *f, int argc, char **argv)
{
    enclosure *e = xmalloc(sizeof *e);
    *e = (enclosure){ .argv = copy_list(argv, argc), .outer_args = copy_list(sh.args, sh.nargs) };
    call_begin(&e->call, f, argc, e->argv);
    if (e->call.own && e->call.own_level == sh.level) free_list(e->call.own);
    return e;
}

/* The words of the command; NULL when they cannot be expanded (sh.unwind). */
enclosure *call_enter(node *n)
{
    arena_mark_t m = arena_mark(&sh.tmp);
    strlist argv = { .a = &sh.tmp };
    enclosure *e = NULL;
    sh.line = n->line + sh.line_base;
    if (!sh.running_traps) sh.command_node = n;
    if (expand_words(n->u.simple.words, n->u.simple.n, &argv)) {
        char **v = sl_end(&argv);
        if (sh.opt[O_XTRACE]) trace_command((int)argv.n, v);
        e = call_new(func_find(v[0]), (int)argv.n, v);
    }
    arena_release(&sh.tmp, m);
    return e;
}

int call_leave(enclosure *e, int status)
{
    e->call.args = e->call.own = e->outer_args;    /* the shell's own from here on */
    e->call.own_level = sh.level;
    e->outer_args = NULL;
    return call_end(&e->call, status);
}

/* ---- subshells ---- */

enclosure *stage_enter(enclosure *e)
{
    if (!e) { e = xmalloc(sizeof *e); *e = (enclosure){ 0 }; }
    e->outer = state_keep();
    e->loops = sh.loop_depth;
    sh.loop_depth = 0;
    sh.subshells++;
    subshell_traps();
    return e;
}

int stage_leave(enclosure *e, int status)
{
    sh.status = status;
    if (sh.traps[TRAP_EXIT]) {
        run_trap(TRAP_EXIT);
        if (sh.unwind == UW_EXIT) { status = sh.exit_status; sh.unwind = 0; }
    }
    if (sh.own_args && sh.own_level == sh.level) free_list(sh.own_args);
    state *outer = e->outer;
    state_resume(outer);
    sh.own_args = sh.args;       /* the shell's own from here on */
    sh.own_level = sh.level;
    outer->sh.args = NULL;
    outer->sh.nargs = 0;
    state_free(outer, false);
    e->outer = NULL;
    sh.loop_depth = e->loops;
    return status;
}

/* ---- pipelines ---- */

void pipe_stage_enter(enclosure *e, node *n, int i)
{
    if (!e->statuses) {
        e->statuses = xmalloc((size_t)n->u.list.n * sizeof *e->statuses);
        memset(e->statuses, 0, (size_t)n->u.list.n * sizeof *e->statuses);
    }
    stage_enter(e);
    if (e->pipe) { fd_set_io(0, e->pipe); e->pipe = NULL; }
    if (i + 1 == n->u.list.n) return;
    e->pipe = io_pipe();
    fd_set_io(1, io_ref(e->pipe));
}

int pipe_leave(enclosure *e, node *n)
{
    int count = n->u.list.n, status = e->statuses[count - 1];
    if (sh.opt[O_PIPEFAIL])
        for (int i = 0; i < count; i++) if (e->statuses[i]) status = e->statuses[i];
    sh.npipestatus = count > 64 ? 64 : count;
    for (int i = 0; i < sh.npipestatus; i++) sh.pipestatus[i] = e->statuses[i];
    return status;
}

/* ---- child shells ---- */

enclosure *child_start(int argc, char **argv, int64_t pid, int *status)
{
    child c = { 0 };
    *status = child_catch(argc, argv, &c);
    if (c.text && !child_fits(c.argv[0])) { child_free(&c); *status = 1; }
    if (!c.text) return NULL;
    enclosure *e = stage_enter(NULL);
    e->shell = c;
    e->outer_prog = sh.prog;
    e->outer_frames = sh.frames;
    child_become(&e->shell, pid ? pid : job_new_pid());
    sh.line_base = 0;
    e->reader = parser_new(e->shell.text, e->shell.len, 1);
    return e;
}

enclosure *child_enter(node *n, int *status)
{
    arena_mark_t m = arena_mark(&sh.tmp);
    strlist argv = { .a = &sh.tmp };
    enclosure *e = NULL;
    sh.line = n->line + sh.line_base;
    if (!sh.running_traps) sh.command_node = n;
    if (!expand_words(n->u.simple.words, n->u.simple.n, &argv)) *status = sh.exit_status;
    else {
        char **v = sl_end(&argv);
        if (sh.opt[O_XTRACE]) trace_command((int)argv.n, v);
        e = child_start((int)argv.n, v, 0, status);
    }
    arena_release(&sh.tmp, m);
    return e;
}

program *child_next(enclosure *e, int *status)
{
    syntax_error err = { 0 };
    program_unref(e->prog);
    e->prog = e->over ? NULL : parse_next(e->reader, &err);
    if (err.message[0]) { report_syntax(&err, NULL); *status = 2; }
    free(err.near_line);
    return e->prog;
}

int child_leave(enclosure *e, int status)
{
    status = stage_leave(e, status);
    sh.depth--;
    sh.prog = e->outer_prog;
    sh.frames = e->outer_frames;
    return status;
}

/* ---- redirections ---- */

enclosure *redirection_enter(node *n)
{
    enclosure *e = xmalloc(sizeof *e);
    *e = (enclosure){ .redirected = true };
    sh.line = n->line + sh.line_base;
    if (redirect(n->redirs, &e->save)) return e;
    redirect_undo(&e->save);
    free(e);
    return NULL;
}

void enclosure_free(enclosure *e)
{
    if (!e) return;
    if (e->reader) parser_free(e->reader);
    program_unref(e->prog);
    child_free(&e->shell);
    if (e->redirected) redirect_forget(&e->save);
    for (int i = 0; i < CALL_TRAPS; i++) free(e->call.hidden[i]);
    free(e->call.fr.options);
    func_unref(e->call.f);
    free_list(e->argv);
    free_list(e->outer_args);
    state_free(e->outer, true);
    io_unref(e->pipe);
    free(e->statuses);
    free(e);
}
