/* calls.c - calling functions: what a call hides, and what it brings back. */
#include "calls.h"
#include <stdlib.h>
#include <string.h>

static const int inner[CALL_TRAPS] = { TRAP_DEBUG, TRAP_RETURN, TRAP_ERR };

/* f | f in f comes back from every overflow to overflow again, some 2^256 times: after this many nothing is called any more. */
enum { OVERFLOWS_MAX = 64 };
static int overflows;

void stack_overflowed(void)
{
    sh.stack_overflow = true;
    overflows++;
}

void stack_start(void)
{
    sh.stack_overflow = false;
    overflows = 0;
}

bool call_fits(func *f)
{
    const char *nest = var_get("FUNCNEST");
    int64_t limit = sh.max_depth, asked;
    if (nest && parse_int(nest, &asked) && asked > 0 && asked < limit) limit = asked;
    if (sh.depth < limit && overflows < OVERFLOWS_MAX) return true;
    if (overflows < OVERFLOWS_MAX) sh_error("%s: maximum function nesting level exceeded (%lld)", f->name, (long long)limit);
    if (limit == sh.max_depth) stack_overflowed();
    sh_fail(1);
    return false;
}

/* DEBUG, RETURN and ERR are not inherited unless asked for; what the function sets itself stays set. */
static void hide_traps(call *c)
{
    for (int i = 0; i < CALL_TRAPS; i++)
        if (sh.traps[inner[i]] && !(inner[i] == TRAP_ERR ? sh.opt[O_ERRTRACE] : sh.opt[O_FUNCTRACE] || c->f->traced)) {
            c->hidden[i] = sh.traps[inner[i]];
            sh.traps[inner[i]] = NULL;
        }
}

void call_begin(call *c, func *f, int argc, char **argv)
{
    *c = (call){ .fr = { .up = sh.frames, .func = f->name, .source = f->source, .call_line = sh.line },
                 .f = f,
                 .args = sh.args,
                 .own = sh.own_args,
                 .nargs = sh.nargs,
                 .own_level = sh.own_level,
                 .loops = sh.loop_depth,
                 .line = sh.line,
                 .line_base = sh.line_base,
                 .prog = sh.prog };
    if (sh.shopt[S_EXTDEBUG]) { c->fr.argv = argv + 1; c->fr.argc = argc - 1; }
    hide_traps(c);
    if (sh.bare_stage) { sh.bare_stage = false; sh.subshells++; }
    func_ref(f);
    if (f->prog) sh.prog = f->prog;
    sh.line_base = f->line_base;
    sh.frames = &c->fr;
    sh.args = argv + 1;
    sh.nargs = argc - 1;
    sh.own_args = NULL;
    sh.loop_depth = 0;
    sh.depth++;
    scope_push();
    if (sh.traps[TRAP_DEBUG] && sh.command_node) {
        sh.line = f->def->line + f->line_base;
        debug_trap(sh.command_node);
    }
}

int call_end(call *c, int status)
{
    sh.status = status;
    if (sh.unwind == UW_RETURN) { sh.unwind = 0; status = sh.exit_status; sh.status = sh.before_return; }
    if (sh.traps[TRAP_RETURN] && !sh.unwind) run_trap(TRAP_RETURN);
    for (int i = 0; i < CALL_TRAPS; i++) {
        if (!c->hidden[i]) continue;
        if (sh.traps[inner[i]]) free(c->hidden[i]); else sh.traps[inner[i]] = c->hidden[i];
        c->hidden[i] = NULL;
    }
    scope_pop();
    if (c->fr.options) { memcpy(sh.opt, c->fr.options, sizeof sh.opt); free(c->fr.options); c->fr.options = NULL; }
    sh.depth--;
    if (sh.own_args && sh.own_level == sh.level) { for (char **a = sh.own_args; *a; a++) free(*a); free(sh.own_args); }
    sh.args = c->args;
    sh.nargs = c->nargs;
    sh.own_args = c->own;
    sh.own_level = c->own_level;
    sh.prog = c->prog;
    sh.loop_depth = c->loops;
    sh.frames = c->fr.up;
    sh.line = c->line;
    sh.line_base = c->line_base;
    func_unref(c->f);
    c->f = NULL;
    return status;
}

int exec_function(func *f, int argc, char **argv)
{
    call c;
    if (!call_fits(f)) return 1;
    call_begin(&c, f, argc, argv);
    return call_end(&c, exec_node(f->body));
}
