/* state.c - what a subshell is made of, kept aside while a job or a coprocess in it waits, and brought back.
 *
 * Who waits for what, walk.c and background.c know.
 */
#include "walk.h"
#include "utf8.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_plain(slot *s) { return !s->special || !s->special->get; }

state *state_keep(void)
{
    state *st = xmalloc(sizeof *st);
    size_t cap = sh.nslots;
    *st = (state){ .sh = sh, .vars = xmalloc((cap + 1) * sizeof(kept)), .mask = umask_now() };
    for (size_t i = 0; i < sh.slot_cap; i++)
        for (slot *s = sh.slots[i]; s; s = s->next) {
            if (!is_plain(s)) continue;
            for (var *v = s->top; v; v = v->scope > sh.base_scope ? v->outer : NULL) {
                if (st->n == cap) st->vars = xrealloc(st->vars, ((cap *= 2) + 1) * sizeof(kept));
                st->vars[st->n] = (kept){ s, var_copy(v) };
                st->vars[st->n++].v->scope = v->scope > sh.base_scope ? v->scope - sh.base_scope : 0;
            }
        }
    for (size_t i = 0; i < sh.slot_cap; i++)
        for (slot *s = sh.slots[i]; s; s = s->next) st->func_n += s->fn != NULL;
    st->funcs = xmalloc((st->func_n + 1) * sizeof *st->funcs);
    for (size_t i = 0, n = 0; i < sh.slot_cap; i++)
        for (slot *s = sh.slots[i]; s; s = s->next)
            if (s->fn) { st->funcs[n++] = (kept_func){ s, s->fn }; func_ref(s->fn); }
    st->sh.fds = xmalloc((size_t)(sh.nfds + 1) * sizeof *sh.fds);
    for (int i = 0; i < sh.nfds; i++) st->sh.fds[i] = io_ref(sh.fds[i]);
    st->sh.args = xmalloc((size_t)(sh.nargs + 1) * sizeof *sh.args);
    for (int i = 0; i < sh.nargs; i++) st->sh.args[i] = xstrdup(sh.args[i]);
    st->sh.args[sh.nargs] = NULL;
    st->sh.cwd = xstrdup(sh.cwd);
    for (int i = 0; i < TRAP_MAX; i++) st->sh.traps[i] = sh.traps[i] ? xstrdup(sh.traps[i]) : NULL;
    return st;
}

/* Frees it; the variables have gone where state_resume put them. */
void state_free(state *st, bool with_vars)
{
    if (!st) return;
    for (size_t i = 0; with_vars && i < st->n; i++) var_free(st->vars[i].v);
    for (size_t i = 0; i < st->func_n; i++) func_unref(st->funcs[i].f);
    for (int i = 0; i < st->sh.nfds; i++) io_unref(st->sh.fds[i]);
    for (int i = 0; i < st->sh.nargs; i++) free(st->sh.args[i]);
    for (int i = 0; i < TRAP_MAX; i++) free(st->sh.traps[i]);
    free(st->sh.fds);
    free(st->sh.args);
    free(st->sh.cwd);
    free(st->vars);
    free(st->funcs);
    free(st);
}

static void resume_functions(state *st)
{
    for (size_t i = 0; i < st->func_n; i++) st->funcs[i].s->keeps = true;
    for (size_t i = 0; i < sh.slot_cap; i++)
        for (slot *s = sh.slots[i]; s; s = s->next)
            if (s->fn && !s->keeps) { undo_log_func(s, s->fn); s->fn = NULL; sh.func_gen++; }
    for (size_t i = 0; i < st->func_n; i++) {
        slot *s = st->funcs[i].s;
        s->keeps = false;
        if (s->fn == st->funcs[i].f) continue;
        undo_log_func(s, s->fn);
        func_ref(s->fn = st->funcs[i].f);
        sh.func_gen++;
    }
}

/* Which shell it is: the outermost one, or a child. */
static void resume_identity(const shell *was)
{
    sh.arg0 = was->arg0;
    sh.first_args = was->first_args;
    sh.nfirst_args = was->nfirst_args;
    sh.execution_string = was->execution_string;
    sh.execution_len = was->execution_len;
    sh.is_command_string = was->is_command_string;
    sh.from_input = was->from_input;
    sh.plain = was->plain;
    sh.restricted = was->restricted;
    sh.deaf = was->deaf;
    sh.subshells = was->subshells;
    sh.shell_level = was->shell_level == was->level ? sh.level : was->shell_level;
    sh.shell_pid = was->shell_pid;
    sh.last_bg = was->last_bg;
    sh.has_bg = was->has_bg;
    sh.getopts_at = was->getopts_at;
    sh.interactive = was->interactive;
    sh.as_program = was->as_program;
    sh.trace_level = was->trace_level;
    sh.dirs = was->dirs;
    sh.ndirs = was->ndirs;
    sh.dirs_level = was->dirs_level;
}

/* Locals of the calls that the subshell made come back as such; those around it as globals: nothing is left of what they hid. */
void state_resume(state *st)
{
    int deepest = 0;
    for (size_t i = 0; i < sh.slot_cap; i++)
        for (slot *s = sh.slots[i]; s; s = s->next)
            while (s->top && is_plain(s)) { var *top = s->top; chain_remove(s, top); undo_log_var(s, top->scope, top); }
    for (size_t i = 0; i < st->n; i++) {
        var *v = st->vars[i].v;
        if (v->scope > deepest) deepest = v->scope;
        if (v->scope) v->scope += sh.base_scope;
        v->level = sh.level;
        undo_log_var(st->vars[i].s, v->scope, NULL);
        chain_insert(st->vars[i].s, v);
    }
    for (int scope = sh.base_scope + 1; scope <= sh.base_scope + deepest; scope++)
        for (size_t i = 0; i < st->n; i++) if (st->vars[i].v->scope == scope) local_remember(st->vars[i].s, scope);
    for (int i = 0; i < sh.nfds; i++) fd_set_io(i, NULL);
    for (int i = 0; i < st->sh.nfds; i++) if (st->sh.fds[i]) fd_set_io(i, io_ref(st->sh.fds[i]));
    for (int i = 0; i < TRAP_MAX; i++) { free(sh.traps[i]); sh.traps[i] = st->sh.traps[i] ? xstrdup(st->sh.traps[i]) : NULL; }
    memcpy(sh.opt, st->sh.opt, sizeof sh.opt);
    memcpy(sh.shopt, st->sh.shopt, sizeof sh.shopt);
    umask(st->mask);
    sh.args = st->sh.args;
    sh.nargs = st->sh.nargs;
    sh.own_args = NULL;
    resume_identity(&st->sh);
    resume_functions(st);
    sh.line = st->sh.line;
    sh.line_base = st->sh.line_base;
    sh.byte_locale = st->sh.byte_locale;
    if (utf8_bytes != sh.byte_locale) utf8_bytes = sh.byte_locale;
    sh.rng = st->sh.rng;
    if (st->sh.rng_level == st->sh.level) sh.rng_level = sh.level;
    sh.cond_depth = 0;
    if (strcmp(sh.cwd, st->sh.cwd) && shell_chdir(st->sh.cwd) == 0) {
        if (sh.cwd_level == sh.level) free(sh.cwd);
        sh.cwd = xstrdup(st->sh.cwd);
        sh.cwd_level = sh.level;
    }
}
