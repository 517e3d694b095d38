/* subshell.c - ( ), $( ) and & without fork: the state is saved, the commands run, the state is put back.
 *
 * Variables, functions and aliases come back through the undo log (scopes.c), which costs only what was changed. Everything else
 * is in the struct `shell`, which is copied whole; what a subshell may replace (descriptors, traps, directory) is duplicated or
 * tagged with the level that owns it.
 */
#include "sh.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Signals that were sent to shells around the one that runs: each gets its own when it runs again. */
enum { PENDING_MOST = 64 };
static struct { int level, sig; } pending[PENDING_MOST];
int signals_pending;

static void drop_pending(int i) { memmove(&pending[i], &pending[i + 1], (size_t)(--signals_pending - i) * sizeof *pending); }

void signal_for(int level, int sig)
{
    for (int i = 0; i < signals_pending; i++) if (pending[i].level == level && pending[i].sig == sig) return;
    if (signals_pending == PENDING_MOST) return;
    pending[signals_pending].level = level;
    pending[signals_pending++].sig = sig;
}

void signal_deliver(bool between)
{
    for (int i = 0; i < signals_pending && !sh.unwind;) {
        int level = pending[i].level, sig = pending[i].sig;
        bool waits = level == sh.level && !between && sh.traps[sig] && *sh.traps[sig];
        if (level < sh.level || waits) { i++; continue; }
        drop_pending(i);
        if (level > sh.level) continue;          /* that shell has ended */
        sh_signal(sig);
        i = 0;
    }
}

/* orphans: the jobs that it leaves behind go on in the shell around it; nothing waits for what they write. */
struct sub_state { shell saved; size_t undo, locals; unsigned mask; bool orphans; int heir_level; int64_t heir; };

/* Whether a subshell has this trap of its parent, too. */
static bool inherited(int i)
{
    if (i == TRAP_ERR) return sh.opt[O_ERRTRACE];
    if (i == TRAP_DEBUG || i == TRAP_RETURN) return sh.opt[O_FUNCTRACE];
    return i != TRAP_EXIT && !*sh.traps[i];
}

sub_state *subshell_enter(void)
{
    sub_state *st = xmalloc(sizeof *st);
    st->saved = sh;
    st->undo = undo_mark();
    st->locals = local_mark();
    st->mask = umask_now();
    st->orphans = false;
    if (!sh.parent_traps) sh.parent_traps = st->saved.traps;
    sh.jobs_level = ++sh.level;
    sh.subshells++;
    sh.bare_stage = false;
    sh.base_scope = sh.scope;
    sh.unwind = 0;
    sh.loop_depth = 0;
    sh.in_trap[TRAP_EXIT] = false;
    sh.fds = xmalloc((size_t)(sh.nfds ? sh.nfds : 1) * sizeof *sh.fds);
    for (int i = 0; i < sh.nfds; i++) sh.fds[i] = io_ref(st->saved.fds[i]);
    for (int i = 0; i < TRAP_MAX; i++) if (sh.traps[i]) sh.traps[i] = inherited(i) ? xstrdup(sh.traps[i]) : NULL;
    return st;
}

void subshell_orphans(sub_state *st, int level, int64_t heir)
{
    st->orphans = true;
    st->heir_level = level;
    st->heir = heir;
}

void subshell_traps(void)
{
    for (int i = 0; i < TRAP_MAX; i++) if (sh.traps[i] && !inherited(i)) { free(sh.traps[i]); sh.traps[i] = NULL; }
}

static void put_back_owned(shell *was)
{
    for (int i = 0; i < sh.nfds; i++) io_unref(sh.fds[i]);
    free(sh.fds);
    for (int i = 0; i < TRAP_MAX; i++) free(sh.traps[i]);
    if (sh.own_args && sh.own_level == sh.level) { for (char **a = sh.own_args; *a; a++) free(*a); free(sh.own_args); }
    if (sh.dirs && sh.dirs_level == sh.level) { for (int i = 0; i < sh.ndirs; i++) free(sh.dirs[i]); free(sh.dirs); }
    if (sh.cwd_level == sh.level && sh.cwd != was->cwd) {
        free(sh.cwd);
        if (shell_chdir(was->cwd) < 0) sh_error("%s: %s", was->cwd, strerror(errno));
    }
}

static void put_back(sub_state *st)
{
    put_back_owned(&st->saved);
    /* the saved struct takes the place of the current one, except for what subshells share */
    st->saved.slots = sh.slots; st->saved.nslots = sh.nslots; st->saved.slot_cap = sh.slot_cap;
    st->saved.aliases = sh.aliases;
    st->saved.tmp = sh.tmp;
    st->saved.func_gen = sh.func_gen;
    st->saved.in_trial = sh.in_trial;
    sh = st->saved;
}

int subshell_leave(sub_state *st, int status)
{
    if (sh.unwind == UW_EXIT || sh.unwind == UW_DISCARD || sh.unwind == UW_RETURN) status = sh.exit_status;
    if (sh.unwind != UW_TRIAL) {
        sh.unwind = 0;
        sh.status = status;
        if (jobs_fresh) background_begin();
        if (sh.traps[TRAP_EXIT]) {
            run_trap(TRAP_EXIT);
            if (sh.unwind == UW_EXIT) status = sh.exit_status;
        }
    }
    proc_release(true);
    if (sh.unwind != UW_TRIAL && st->orphans) background_leave(st->heir_level, st->heir); else if (sh.unwind != UW_TRIAL) background_finish();
    umask(st->mask);
    bool trial = sh.unwind == UW_TRIAL, overflow = sh.stack_overflow;
    put_back(st);
    local_drop(st->locals);
    undo_to(st->undo);
    sh.stack_overflow = overflow;
    if (trial) sh.unwind = UW_TRIAL;
    free(st);
    sh.status = status;
    if (!sh.in_turn) signal_deliver(false);
    return status;
}

struct outside { shell inner; var **locals; };

static void keep_common(const shell *from)
{
    sh.slots = from->slots; sh.nslots = from->nslots; sh.slot_cap = from->slot_cap;
    sh.aliases = from->aliases;
    sh.tmp = from->tmp;
    sh.func_gen = from->func_gen;
    sh.in_trial = from->in_trial;
    sh.eval_depth = from->eval_depth;
}

static void go_to(const char *cwd)
{
    if (shell_chdir(cwd) < 0) sh_error("%s: %s", cwd, strerror(errno));
}

outside *subshell_step_out(sub_state *st)
{
    outside *o = xmalloc(sizeof *o);
    o->inner = sh;
    sh = st->saved;
    keep_common(&o->inner);
    o->locals = scopes_suspend(st->undo, st->locals);
    if (strcmp(sh.cwd, o->inner.cwd)) go_to(sh.cwd);
    return o;
}

void subshell_step_in(sub_state *st, outside *o)
{
    shell now = sh;
    sh = o->inner;
    int eval_depth = sh.eval_depth;
    keep_common(&now);
    sh.eval_depth = eval_depth;
    scopes_resume(st->undo, st->locals, o->locals);
    if (strcmp(sh.cwd, now.cwd)) go_to(sh.cwd);
    free(o);
}

int subshell_run(node *body, int background)
{
    if (jobs_fresh) background_begin();
    sub_state *st = subshell_enter();
    subshell_orphans(st, st->saved.level, 0);
    if (background) {
        fd_set_io(0, io_null());
        for (int i = 0; i < TRAP_MAX; i++) if (sh.traps[i] && !*sh.traps[i]) { free(sh.traps[i]); sh.traps[i] = NULL; }
    }
    int status = exec_node(body);
    return subshell_leave(st, status);
}

/* $(<file): the file, without running anything. NULL when the body is something else. */
static io *only_input(node *body, bool *failed)
{
    if (body->kind != N_SIMPLE || body->u.simple.n || body->u.simple.assigns || !body->redirs || body->redirs->next ||
        body->redirs->kind != R_IN || body->redirs->fd > 0)
        return NULL;
    strlist l = { .a = &sh.tmp };
    if (!expand_word(body->redirs->target, X_WORDS, &l) || l.n != 1) { *failed = true; return NULL; }
    io *s = shell_open(l.v[0], O_RDONLY);
    if (s) return s;
    sh_error("%s: %s", l.v[0], strerror(errno));
    *failed = true;
    return NULL;
}

/* What s holds, without NULs and trailing newlines, in sh.tmp. */
static char *take_text(io *s, size_t *len)
{
    size_t n;
    const char *bytes = io_bytes(s, &n);
    char *text = arena_strndup(&sh.tmp, bytes, n);
    size_t k = n;
    if (memchr(bytes, 0, n)) {
        k = 0;
        for (size_t i = 0; i < n; i++) if (bytes[i]) text[k++] = bytes[i];
        sh_error("warning: command substitution: ignored null byte in input");
    }
    while (k > 0 && text[k - 1] == '\n') k--;
    text[k] = 0;
    *len = k;
    return text;
}

/* The whole of a file, as command_subst gives it. Not inlined: its buffer must not lie on the stack of every nested $(...). */
static __attribute__((noinline)) char *file_text(io *file, size_t *len)
{
    strbuf b = { .a = &sh.tmp };
    char buf[4096];
    for (ssize_t n; (n = io_read(file, buf, sizeof buf)) > 0;) sb_add(&b, buf, (size_t)n);
    io *copy = io_text(sb_str(&b), b.len);
    char *text = take_text(copy, len);
    io_unref(copy);
    return text;
}

char *command_subst(node *body, size_t *len)
{
    *len = 0;
    sh.had_subst = true;
    sh.subst_status = 0;
    if (!body) { sh.status = 0; return ""; }
    bool failed = false;
    io *file = only_input(body, &failed);
    if (file || failed) {
        sh.subst_status = sh.status = failed;
        if (failed) return "";
        char *text = file_text(file, len);
        io_unref(file);
        return text;
    }
    if (jobs_fresh) background_begin();
    io *pipe = io_pipe();
    int line = sh.line, jobs_level = sh.jobs_level;
    sub_state *st = subshell_enter();
    sh.jobs_level = jobs_level;
    fd_set_io(1, io_ref(pipe));
    sh.trace_level++;
    sh.captured = true;
    sh.line_base = line;
    if (!sh.shopt[S_INHERIT_ERREXIT] && !sh.opt[O_POSIX]) sh.opt[O_ERREXIT] = 0;
    int status = exec_node(body);
    status = subshell_leave(st, status);
    sh.line = line;
    sh.had_subst = true;
    sh.subst_status = status;
    char *text = take_text(pipe, len);
    io_unref(pipe);
    return sh.unwind == UW_TRIAL ? NULL : text;
}
