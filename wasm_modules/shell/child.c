/* child.c - child shells: what a script file, bash and sh run in, inside of this shell, in a subshell that keeps only what is exported.
 *
 * A child shell runs from its beginning to its end, but in a job it may stop in its middle: then the walk that the job is
 * takes what would be run (child_catch) and reads it command by command (enclosure.c).
 */
#include "child.h"
#include "hashed.h"
#include "options.h"
#include "param.h"
#include <stdlib.h>
#include <string.h>

static bool is_computed(const slot *s) { return s->special && s->special->get; }

static bool not_exported(slot *s, var *v)
{
    return !is_computed(s) && (!(v->flags & V_EXPORT) || v->flags & (V_ARRAY | V_ASSOC));
}

static bool is_exported(slot *s, var *v) { return !is_computed(s) && v->flags & V_EXPORT; }

/* Makes the current subshell look like a new shell: only exported variables and functions stay. */
static void forget_unexported(void)
{
    slot **v;
    size_t n = slots_all(&v, not_exported);
    for (size_t i = 0; i < n; i++) {
        static const char *const keep[] = { "IFS",    "BASH_VERSION", "BASH_VERSINFO", "PPID",     "UID",  "EUID",           "GROUPS",
                                            "HOSTNAME", "HOSTTYPE",   "MACHTYPE",      "OSTYPE",   "BASH", "COMP_WORDBREAKS", "_" };
        bool stay = false;
        for (size_t k = 0; k < sizeof keep / sizeof *keep; k++) if (!strcmp(v[i]->name, keep[k])) stay = true;
        if (stay) continue;
        while (v[i]->top) { var *top = v[i]->top; chain_remove(v[i], top); undo_log_var(v[i], top->scope, top); }
    }
    n = slots_all(&v, is_exported);   /* an environment has texts, and no attributes of theirs */
    for (size_t i = 0; i < n; i++)
        if (v[i]->top->flags & ~(V_EXPORT | V_SET | V_TEMP)) var_writable(v[i], -1)->flags &= V_EXPORT | V_SET | V_TEMP;
    if (!var_get("PWD")) var_set_plain("PWD", sh.cwd);
    var_export("PWD");
    func **f;
    n = funcs_all(&f);
    for (size_t i = 0; i < n; i++) if (f[i]->exported) func_import(f[i]); else func_unset(f[i]->name);
    while (sh.aliases) alias_set(sh.aliases->name, NULL);
    var_set_plain("IFS", " \t\n");
    var_set_int("OPTIND", 1);
    var_set_int("OPTERR", 1);
    if (!var_get("PS4")) var_set_plain("PS4", "+ ");
    locale_refresh();
}

/* What a new shell begins with, whatever the shell around it has: options, traps (signals that are ignored stay so), $?, $!,
 * the directory stack. */
static void forget_state(void)
{
    bool share_options = slot_of("SHELLOPTS")->top->flags & V_EXPORT;
    uint8_t was[O_COUNT];
    memcpy(was, sh.opt, sizeof was);
    options_start();
    if (share_options) memcpy(sh.opt, was, sizeof was);
    for (int i = 0; i < TRAP_MAX; i++) {
        if (!sh.traps[i] || (i > 0 && i < TRAP_ERR && !*sh.traps[i])) continue;
        free(sh.traps[i]);
        sh.traps[i] = NULL;
    }
    memset(sh.in_trap, 0, sizeof sh.in_trap);
    sh.running_traps = sh.cond_depth = sh.status = sh.npipestatus = sh.getopts_at = 0;
    sh.last_bg = 0;
    sh.has_bg = false;
    sh.dirs = NULL;
    sh.ndirs = 0;
}

/* Runs a file that need not be there. False when it is not. */
static bool run_if_there(const char *name)
{
    char *path, *text = NULL;
    size_t len;
    if (name && *name && expand_string(name, '"', &path)) text = read_file(path, &len);
    if (!text) return false;
    frame fr = { .up = sh.frames, .source = arena_strdup(&sh.tmp, path), .call_line = 0, .is_source = true };
    sh.frames = &fr;
    exec_text(text, len, NULL, 1);
    if (sh.unwind == UW_RETURN) sh.unwind = 0;
    sh.frames = fr.up;
    free(text);
    return true;
}

/* The profile of a login shell; what an interactive one reads; for any other, what BASH_ENV names. */
static void run_startup_files(const start *how, const char *name)
{
    if (how->login && !how->no_profile && !run_if_there("$HOME/.bash_profile") && !run_if_there("$HOME/.bash_login"))
        run_if_there("$HOME/.profile");
    if (!sh.interactive) { if (strcmp(name, "sh") && !sh.opt[O_POSIX]) run_if_there(var_get("BASH_ENV")); }
    else if (!how->login && !how->no_rc) run_if_there(how->rc_file ? how->rc_file : "$HOME/.bashrc");
}

/* What an interactive shell has and others have not. */
static void become_interactive(void)
{
    sh.shopt[S_EXPAND_ALIASES] = 1;
    sh.opt[O_HISTEXPAND] = sh.opt[O_HISTORY] = sh.opt[O_EMACS] = 1;
    if (!var_get("PS1")) var_set_plain("PS1", "\\s-\\v\\$ ");
    if (!var_get("PS2")) var_set_plain("PS2", "> ");
}

void shell_restrict(void)
{
    static const char *const fixed[] = { "PATH", "SHELL", "ENV", "BASH_ENV", "HISTFILE" };
    sh.restricted = true;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) var_writable(slot_of(fixed[i]), -1)->flags |= V_READONLY;
}

bool child_fits(const char *name)
{
    if (sh.depth < sh.max_depth) return true;
    sh_error("%s: maximum shell nesting level exceeded (%d)", name, sh.max_depth);
    stack_overflowed();
    return false;
}

void child_become(const child *c, int64_t pid)
{
    const start *how = &c->how;
    char **argv = c->argv;
    int64_t parent = sh.shell_pid;             /* the subshell around it has become it */
    forget_unexported();
    forget_state();
    var_set_int("PPID", parent);
    var_writable(slot_of("PPID"), -1)->flags |= V_READONLY | V_INT;
    if (!var_get("TERM")) var_set_plain("TERM", "dumb");
    sh.arg0 = argv[0];
    sh.args = sh.first_args = argv + 1;
    sh.nargs = sh.nfirst_args = c->argc - 1;
    sh.execution_string = c->is_command ? c->text : NULL;
    sh.execution_len = c->len;
    sh.own_args = NULL;
    sh.frames = NULL;
    sh.is_command_string = c->is_command;
    sh.from_input = !c->text;
    sh.restricted = sh.as_program = false;
    for (int i = 1; i < TRAP_ERR - 1; i++) if (sh.traps[i] && !*sh.traps[i]) sh.deaf |= 1ull << i;
    sh.plain = sh.shopt[S_XPG_ECHO] = how->plain;
    if (sh.plain) sh.opt[O_BRACEEXPAND] = sh.opt[O_HASHALL] = 0;
    const char *options = how->options;
    sh.interactive = options && memchr(options, 'i', strcspn(options, " "));
    if (sh.interactive) become_interactive();
    sh.shopt[option_find(shopt_options, "login_shell")->index] = how->login;
    sh.subshells = sh.trace_level = 0;
    sh.parent_traps = NULL;
    sh.shell_level = sh.level;
    sh.shell_pid = pid;
    sh.killed_by = 0;
    sh.captured = false;
    sh.depth++;
    const char *named = options ? strchr(options, ' ') : NULL;
    if (named) {
        char *copy = arena_strdup(&sh.tmp, named), *save;
        for (char *o = strtok_r(copy, " ", &save); o; o = strtok_r(NULL, " ", &save)) {
            if (!strcmp(o, "-posix")) { var_set_plain("POSIXLY_CORRECT", "y"); }
            if (o[1] == 'O') sh.shopt[option_find(shopt_options, o + 2)->index] = *o == '-'; else opt_set(o + 1, *o == '-');
        }
    }
    for (; options && *options && *options != ' '; options++) {
        char *args[3] = { "set", (char[]){ '-', *options, 0 }, NULL };
        if (strchr("aefhkmnptuvxBCEHPT", *options)) builtin_find("set")->fn(2, args);
    }
    if (var_get("POSIXLY_CORRECT")) opt_set("posix", true);
    const char *lvl = var_get("SHLVL");
    int64_t n;
    var_set_int("SHLVL", lvl && parse_int(lvl, &n) ? n + 1 : 1);
    var_export("SHLVL");
    if (!var_get("PATH")) var_set_plain("PATH", "/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin:.");
    run_startup_files(how, argv[0]);
    if (how->restricted) shell_restrict();
}

static child *catcher;           /* what is to be run goes here, and does not run */

/* One that reads itself, or shows what it reads, runs in one piece. */
static bool can_be_caught(const child *c)
{
    const char *options = c->how.options;
    return c->text && !(options && options[strcspn(options, "itv")] && strcspn(options, "itv") < strcspn(options, " "));
}

static char *copy_text(const char *s) { return s ? xstrdup(s) : NULL; }

int child_catch(int argc, char **argv, child *c)
{
    *c = (child){ 0 };
    catcher = c;
    int status = exec_argv(argc, argv, 0);
    catcher = NULL;
    return status;
}

void child_pass(void) { catcher = NULL; }

static void fill(child *to, const child *c)
{
    *to = *c;
    to->text = xstrndup(c->text, c->len);
    to->argv = xmalloc(((size_t)c->argc + 1) * sizeof *to->argv);
    for (int i = 0; i < c->argc; i++) to->argv[i] = xstrdup(c->argv[i]);
    to->argv[c->argc] = NULL;
    to->how.options = copy_text(c->how.options);
    to->how.rc_file = copy_text(c->how.rc_file);
}

void child_free(child *c)
{
    for (char **a = c->argv; a && *a; a++) free(*a);
    free(c->argv);
    free((char *)(uintptr_t)c->text);
    free((char *)(uintptr_t)c->how.options);
    free((char *)(uintptr_t)c->how.rc_file);
    *c = (child){ 0 };
}

int child_run(const child *c)
{
    child *to = catcher;
    catcher = NULL;
    if (to && can_be_caught(c)) { fill(to, c); return 0; }
    if (!child_fits(c->argv[0])) return 1;
    if (jobs_fresh) background_begin();
    int level = sh.level;
    sub_state *st = subshell_enter();
    subshell_orphans(st, level, 0);
    hashed *remembered = hashed_suspend();
    child own = *c;
    own.argv = arena_alloc(&sh.tmp, ((size_t)c->argc + 1) * sizeof *own.argv);
    memcpy(own.argv, c->argv, (size_t)c->argc * sizeof *own.argv);
    own.argv[c->argc] = NULL;
    own.argv[0] = arena_strdup(&sh.tmp, c->argv[0]);
    child_become(&own, SHELL_PID + sh.level);
    int status = sh.unwind ? sh.status : c->text ? exec_text(c->text, c->len, NULL, 1) : exec_input();
    sh_syntax.message[0] = 0;    /* an error of that shell, not of this program */
    int killed_by = sh.killed_by;
    status = subshell_leave(st, status);
    hashed_resume(remembered);
    if (status == 128 + killed_by) sh.child_killed_by = killed_by;
    return status;
}
