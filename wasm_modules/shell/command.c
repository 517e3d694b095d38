/* command.c - simple commands: expansion, assignments, finding what the name means, running it. */
#include "sh.h"
#include "declare.h"
#include "tool.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static assign **arg_assigns;     /* parallel to the arguments of the declaring builtin that runs now */
static int arg_assigns_n;

assign *arg_assign(int i) { return i < arg_assigns_n && arg_assigns ? arg_assigns[i] : NULL; }

/* ---- tools ---- */

static int run_for_tool(tool *t, int argc, char **argv)
{
    (void)argc;
    io *in = io_ref(fd_get(0)), *out = io_ref(fd_get(1)), *err = io_ref(fd_get(2));
    fd_set_io(0, io_ref(t->in));
    fd_set_io(1, io_ref(t->out));
    fd_set_io(2, io_ref(t->err));
    /* What runs for a tool is a process of its own in bash: no functions, no effect on this shell. */
    sub_state *st = subshell_enter();
    int status = exec_argv(argc, argv, 1);
    status = subshell_leave(st, status);
    fd_set_io(0, in);
    fd_set_io(1, out);
    fd_set_io(2, err);
    return status;
}

static bool is_exported(slot *s, var *v) { (void)s; return (v->flags & V_EXPORT) != 0; }

/* env: exactly these variables, in dir. */
static int run_env_for_tool(tool *t, char **env, const char *dir, int argc, char **argv)
{
    slot **v;
    sub_state *st = subshell_enter();
    fd_set_io(0, io_ref(t->in));
    fd_set_io(1, io_ref(t->out));
    fd_set_io(2, io_ref(t->err));
    size_t n = slots_all(&v, is_exported);
    for (size_t i = 0; i < n; i++) { var *top = v[i]->top; chain_remove(v[i], top); undo_log_var(v[i], top->scope, top); }
    for (; *env; env++) {
        char *eq = strchr(*env, '='), *name = eq ? arena_strndup(&sh.tmp, *env, (size_t)(eq - *env)) : NULL;
        if (name && is_name(name)) { var_set_plain(name, eq + 1); var_export(name); }
    }
    int status = 125;
    char *cd[] = { "cd", (char *)dir, NULL };
    if (!dir || builtin_find("cd")->fn(2, cd) == 0) status = exec_argv(argc, argv, 5);
    return subshell_leave(st, status);
}

static const char *getenv_for_tool(tool *t, const char *name)
{
    (void)t;
    slot *s = slot_find(name);
    var *v = s ? var_top(s) : NULL;
    return v && v->flags & V_EXPORT ? var_scalar(s, v) : NULL;
}

static char **environ_for_tool(tool *t)
{
    arena_mark_t m = arena_mark(&sh.tmp);
    char **all = var_environ(&sh.tmp);
    size_t n = 0;
    while (all[n]) n++;
    char **copy = tool_alloc(t, (n + 1) * sizeof *copy);
    for (size_t i = 0; i < n; i++) copy[i] = tool_strdup(t, all[i]);
    arena_release(&sh.tmp, m);
    return copy;
}

static int run_tool(const tool_entry *e, int argc, char **args)
{
    io *closed = NULL;
    /* A tool may reorder and rewrite its arguments; the words of the tree are not its own. */
    char **argv = arena_alloc(&sh.tmp, ((size_t)argc + 1) * sizeof *argv);
    for (int i = 0; i < argc; i++) argv[i] = arena_strdup(&sh.tmp, args[i]);
    if (!fd_get(0) || !fd_get(1) || !fd_get(2)) closed = io_null();
    tool t = { .in = io_ref(fd_get(0) ? fd_get(0) : closed), .out = io_ref(fd_get(1) ? fd_get(1) : closed), .err = io_ref(fd_get(2) ? fd_get(2) : closed),
               .shell = &sh, .run = run_for_tool, .run_env = run_env_for_tool, .getenv = getenv_for_tool, .environ = environ_for_tool };
    if (!strcmp(e->name, "sleep")) pipeline_idle();
    int status = tool_call(&t, e, argc, argv);
    /* A writer whose reader is gone: the stage of the pipeline ends, as by SIGPIPE. */
    if (status == 141 && sh.level && io_failed(t.out) == EPIPE) sh_exit(141);
    io_unref(t.in);
    io_unref(t.out);
    io_unref(t.err);
    io_unref(closed);
    return status;
}

/* ---- scripts ---- */

/* The interpreter line of a script file: the name of the interpreter without its directory, or NULL. */
static char *interpreter(const char *text, size_t len)
{
    if (len < 3 || text[0] != '#' || text[1] != '!') return NULL;
    const char *nl = memchr(text, '\n', len);
    char *line = arena_strndup(&sh.tmp, text + 2, (size_t)((nl ? nl : text + len) - text - 2)), *save;
    char *word = strtok_r(line, " \t\r", &save);
    if (!word) return NULL;
    char *base = strrchr(word, '/');
    base = base ? base + 1 : word;
    if (!strcmp(base, "env")) {
        word = strtok_r(NULL, " \t\r", &save);
        if (word && !strcmp(word, "-S")) word = strtok_r(NULL, " \t\r", &save);
        if (!word) return NULL;
        base = word;
    }
    return base;
}

/* All of a stream, malloc'ed; NULL on an error. Not inlined: the buffer must not stay on the stack while the text runs. */
static __attribute__((noinline)) char *read_stream(io *s, size_t *len)
{
    strbuf b = { 0 };
    char buf[4096];
    ssize_t n = s ? 0 : -1;
    while (s && (n = io_read(s, buf, sizeof buf)) > 0) sb_add(&b, buf, (size_t)n);
    if (n < 0) { free(b.s); return NULL; }
    sb_str(&b);
    *len = b.len;
    if (memchr(b.s, 0, b.len) && !memchr(b.s, 0, b.len < 80 ? b.len : 80)) *len = strip_nuls(b.s, b.len);
    return b.s;
}

static char *read_file(const char *path, size_t *len)
{
    io *s = io_open(path, O_RDONLY, 0);
    if (!s) return NULL;
    char *text = read_stream(s, len);
    io_unref(s);
    return text;
}

static bool not_exported(slot *s, var *v) { (void)s; return !(v->flags & V_EXPORT) && !s->special; }

/* Makes the current subshell look like a new shell: only exported variables and functions stay. */
static void forget_unexported(void)
{
    slot **v;
    size_t n = slots_all(&v, not_exported);
    for (size_t i = 0; i < n; i++) {
        static const char *const keep[] = { "IFS", "BASH_VERSION", "BASH_VERSINFO", "OPTIND", "PPID", "UID", "EUID", "HOSTNAME", "HOSTTYPE", "MACHTYPE", "OSTYPE", "PS4", "BASH", "OPTERR", "_" };
        bool stay = false;
        for (size_t k = 0; k < sizeof keep / sizeof *keep; k++) if (!strcmp(v[i]->name, keep[k])) stay = true;
        if (stay) continue;
        while (v[i]->top) { var *top = v[i]->top; chain_remove(v[i], top); undo_log_var(v[i], top->scope, top); }
    }
    func **f;
    n = funcs_all(&f);
    for (size_t i = 0; i < n; i++) if (!f[i]->exported) func_unset(f[i]->name);
    var_set_plain("IFS", " \t\n");
    memset(sh.opt, 0, sizeof sh.opt);
    sh.opt[O_BRACEEXPAND] = sh.opt[O_HASHALL] = sh.opt[O_COMMENTS] = 1;
    sh.shopt[S_EXTGLOB] = sh.shopt[S_NULLGLOB] = sh.shopt[S_DOTGLOB] = sh.shopt[S_GLOBSTAR] = sh.shopt[S_NOCASEMATCH] = sh.shopt[S_NOCASEGLOB] = sh.shopt[S_EXPAND_ALIASES] = 0;
    sh.cond_depth = 0;
}

/* Runs text as a new shell would: argv[0] becomes $0. */
static int new_shell(const char *text, size_t len, int argc, char **argv, bool is_command, const char *options)
{
    if (sh.depth >= sh.max_depth) { sh_error("%s: maximum shell nesting level exceeded (%d)", argv[0], sh.max_depth); return 1; }
    sub_state *st = subshell_enter();
    forget_unexported();
    sh.arg0 = arena_strdup(&sh.tmp, argv[0]);
    sh.args = argv + 1;
    sh.nargs = argc - 1;
    sh.own_args = NULL;
    sh.frames = NULL;
    sh.is_command_string = is_command;
    sh.subshells = 0;
    sh.depth++;
    const char *named = options ? strchr(options, ' ') : NULL;
    if (named) {
        char *copy = arena_strdup(&sh.tmp, named), *save;
        for (char *o = strtok_r(copy, " ", &save); o; o = strtok_r(NULL, " ", &save)) opt_set(o + 1, *o == '-');
    }
    for (; options && *options && *options != ' '; options++) {
        char *args[3] = { "set", (char[]){ '-', *options, 0 }, NULL };
        if (strchr("euxfvnaCbhmBET", *options)) builtin_find("set")->fn(2, args);
    }
    const char *lvl = var_get("SHLVL");
    int64_t n;
    if (lvl && parse_int(lvl, &n)) { var_set_int("SHLVL", n + 1); var_export("SHLVL"); }
    int status = exec_text(text, len, NULL, 1);
    sh_syntax.message[0] = 0;    /* an error of that shell, not of this program */
    return subshell_leave(st, status);
}

int exec_file(const char *path, const char *name, int argc, char **argv)
{
    struct stat st;
    if (stat(path, &st) < 0) { sh_error("%s: %s", name, strerror(errno)); return 127; }
    if (S_ISDIR(st.st_mode)) { sh_error("%s: Is a directory", name); return 126; }
    const char *base = strrchr(path, '/');
    size_t len;
    char *text = read_file(path, &len);
    if (!text) { sh_error("%s: %s", name, strerror(errno)); return 126; }
    char *prog = interpreter(text, len);
    int status;
    (void)base;
    if (!executable(path, &st)) { sh_error("%s: Permission denied", name); free(text); return 126; }
    if (!prog || !strcmp(prog, "bash") || !strcmp(prog, "sh") || !strcmp(prog, "dash") || !strcmp(prog, "zsh") || !strcmp(prog, "ksh")) {
        if (len && memchr(text, 0, len < 80 ? len : 80)) { sh_error("%s: cannot execute binary file: Exec format error", name); free(text); return 126; }
        char **args = arena_alloc(&sh.tmp, ((size_t)argc + 1) * sizeof *args);
        memcpy(args, argv, (size_t)argc * sizeof *args);
        status = new_shell(text, len, argc, args, false, NULL);
    } else {
        const tool_entry *e = tool_find(prog);
        if (!e) { sh_error("%s: %s: bad interpreter: No such file or directory", name, prog); status = 126; }
        else {
            char **args = arena_alloc(&sh.tmp, ((size_t)argc + 3) * sizeof *args);
            args[0] = prog;
            args[1] = "-f";
            args[2] = (char *)path;
            for (int i = 1; i < argc; i++) args[i + 2] = argv[i];
            status = run_tool(e, argc + 2, args);
        }
    }
    free(text);
    return status;
}

/* bash and sh as commands. */
int b_bash(int argc, char **argv)
{
    int i = 1;
    bool command = false, from_stdin = false;
    strbuf options = { .a = &sh.tmp }, names = { .a = &sh.tmp };
    for (; i < argc && (argv[i][0] == '-' || argv[i][0] == '+') && argv[i][1]; i++) {
        if (!strcmp(argv[i], "--")) { i++; break; }
        if (!strcmp(argv[i], "--version")) { out_puts("GNU bash, version 5.2.15(1)-release (wasm32-unknown-wasi)\n"); return 0; }
        if (argv[i][1] == '-') continue;
        if (!strcmp(argv[i], "-o") || !strcmp(argv[i], "-O") || !strcmp(argv[i], "+O") || !strcmp(argv[i], "+o")) {
            if (++i < argc && (argv[i - 1][1] == 'o')) sb_printf(&names, "%c%s ", argv[i - 1][0], argv[i]);
            continue;
        }
        for (char *c = argv[i] + 1; *c; c++) { if (*c == 'c') command = true; else if (*c == 's') from_stdin = true; else sb_putc(&options, *c); }
    }
    char *name = argv[0];
    if (names.len) { sb_putc(&options, ' '); sb_puts(&options, sb_str(&names)); }
    if (command) {
        if (i >= argc) { sh_error("%s: -c: option requires an argument", name); return 2; }
        char *text = argv[i++];
        if (i < argc) return new_shell(text, strlen(text), argc - i, argv + i, true, sb_str(&options));
        char *only[2] = { name, NULL };
        return new_shell(text, strlen(text), 1, only, true, sb_str(&options));
    }
    if (i < argc && !from_stdin) {
        size_t len;
        struct stat st;
        if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode)) { io_printf(fd_get(2), "%s: %s: Is a directory\n", argv[i], argv[i]); return 126; }
        char *text = read_file(argv[i], &len);
        if (!text) { if (fd_get(2)) io_printf(fd_get(2), "%s: %s: %s\n", name, argv[i], strerror(errno)); return 127; }
        int status = new_shell(text, len, argc - i, argv + i, false, sb_str(&options));
        free(text);
        return status;
    }
    size_t len;
    char *text = read_stream(fd_get(0), &len);
    char **args = arena_alloc(&sh.tmp, ((size_t)(argc - i) + 2) * sizeof *args);
    args[0] = name;
    for (int k = i; k < argc; k++) args[k - i + 1] = argv[k];
    int status = new_shell(text ? text : "", text ? len : 0, argc - i + 1, args, false, sb_str(&options));
    free(text);
    return status;
}

/* ---- finding and running ---- */

char *find_in_path(const char *name, const char *path)
{
    if (!path) path = var_get("PATH");
    if (!path) return NULL;
    for (const char *p = path;; p++) {
        const char *end = strchr(p, ':');
        size_t n = end ? (size_t)(end - p) : strlen(p);
        strbuf b = { .a = &sh.tmp };
        if (n) { sb_add(&b, p, n); sb_putc(&b, '/'); }
        sb_puts(&b, name);
        struct stat st;
        if (stat(sb_str(&b), &st) == 0 && S_ISREG(st.st_mode) && executable(b.s, &st)) return b.s;
        if (!end) return NULL;
        p = end;
    }
}

static int not_found(int argc, char **argv)
{
    if (!var_get("PATH")) { sh_error("%s: No such file or directory", argv[0]); return 127; }
    func *f = func_find("command_not_found_handle");
    if (f) {
        char **args = arena_alloc(&sh.tmp, ((size_t)argc + 2) * sizeof *args);
        args[0] = "command_not_found_handle";
        memcpy(args + 1, argv, (size_t)argc * sizeof *args);
        sub_state *st = subshell_enter();
        int status = exec_function(f, argc + 1, args);
        return subshell_leave(st, status);
    }
    sh_error("%s: command not found", argv[0]);
    return 127;
}

/* Built-in tools are found where programs usually are: in PATH, if it names one of those directories. */
static bool tools_in_path(void)
{
    const char *path = var_get("PATH");
    if (!path) return false;
    for (const char *p = path;; p++) {
        size_t n = strcspn(p, ":");
        if ((n == 4 && !strncmp(p, "/bin", 4)) || (n == 8 && !strncmp(p, "/usr/bin", 8)) || (n == 14 && !strncmp(p, "/usr/local/bin", 14))) return true;
        p += n;
        if (!*p) return false;
    }
}

/* True for /bin/ls and the like: the built-in tool answers to the paths where programs usually are. */
static const char *usual_path(const char *name)
{
    static const char *const dirs[] = { "/bin/", "/usr/bin/", "/usr/local/bin/" };
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) if (!strncmp(name, dirs[i], strlen(dirs[i])) && !strchr(name + strlen(dirs[i]), '/')) return name + strlen(dirs[i]);
    return NULL;
}

bool command_exists(const char *name) { return (tool_find(name) && tools_in_path()) || capability_has(name) || find_in_path(name, NULL); }

int exec_argv(int argc, char **argv, int flags)
{
    const char *name = argv[0];
    func *f;
    if (!(flags & 3) && (f = func_find(name))) return exec_function(f, argc, argv);
    const builtin *b = builtin_find(name);
    if (b) { int status = b->fn(argc, argv); return status; }
    if (flags & 2) return b_error("builtin", 1, "%s: not a shell builtin", name);
    if (!*name) return not_found(argc, argv);
    const tool_entry *e = tool_find(name);
    if (e && (flags & 4 || tools_in_path())) return tool_allowed(name, argc, argv) ? run_tool(e, argc, argv) : 1;
    const char *base = usual_path(name);
    struct stat st;
    if (base && stat(name, &st) < 0) {
        if ((e = tool_find(base))) return tool_allowed(base, argc, argv) ? run_tool(e, argc, argv) : 1;
        if ((b = builtin_find(base)) && is_program_too(base)) return b->fn(argc, argv);
    }
    if (!strchr(name, '/')) {
        if (capability_has(name)) return trial_effect() ? 1 : capability_run(argc, argv);
        char *path = find_in_path(name, NULL);
        return path ? exec_file(path, name, argc, argv) : not_found(argc, argv);
    }
    return exec_file(name, name, argc, argv);
}

int exec_function(func *f, int argc, char **argv)
{
    const char *nest = var_get("FUNCNEST");
    int64_t limit = sh.max_depth, asked;
    if (nest && parse_int(nest, &asked) && asked > 0 && asked < limit) limit = asked;
    if (sh.depth >= limit) {
        sh_error("%s: maximum function nesting level exceeded (%lld)", f->name, (long long)limit);
        if (limit == sh.max_depth) sh.stack_overflow = true;
        sh_fail(1);
        return 1;
    }
    frame fr = { .up = sh.frames, .func = f->name, .source = f->source, .call_line = sh.line };
    char **args = sh.args, **own = sh.own_args;
    int nargs = sh.nargs, own_level = sh.own_level, loops = sh.loop_depth, line = sh.line, getopts_at = sh.getopts_at;
    /* DEBUG, RETURN and ERR are not inherited unless asked for; what the function sets itself stays set. */
    static const int inner[] = { TRAP_DEBUG, TRAP_RETURN, TRAP_ERR };
    char *hidden[3] = { NULL };
    for (int i = 0; i < 3; i++)
        if (sh.traps[inner[i]] && !(inner[i] == TRAP_ERR ? sh.opt[O_ERRTRACE] : sh.opt[O_FUNCTRACE] || f->traced)) { hidden[i] = sh.traps[inner[i]]; sh.traps[inner[i]] = NULL; }
    program *prog = sh.prog;
    func_ref(f);
    if (f->prog) sh.prog = f->prog;
    sh.frames = &fr;
    sh.args = argv + 1;
    sh.nargs = argc - 1;
    sh.own_args = NULL;
    sh.loop_depth = 0;
    sh.depth++;
    scope_push();
    int status = exec_node(f->body);
    if (sh.unwind == UW_RETURN) { sh.unwind = 0; status = sh.exit_status; }
    sh.status = status;
    if (sh.traps[TRAP_RETURN] && !sh.unwind) run_trap(TRAP_RETURN);
    for (int i = 0; i < 3; i++) {
        if (!hidden[i]) continue;
        if (sh.traps[inner[i]]) free(hidden[i]); else sh.traps[inner[i]] = hidden[i];
    }
    scope_pop();
    if (fr.options) { memcpy(sh.opt, fr.options, sizeof sh.opt); free(fr.options); }
    sh.depth--;
    if (sh.own_args && sh.own_level == sh.level) { for (char **a = sh.own_args; *a; a++) free(*a); free(sh.own_args); }
    sh.args = args;
    sh.nargs = nargs;
    sh.own_args = own;
    sh.own_level = own_level;
    sh.prog = prog;
    sh.loop_depth = loops;
    sh.frames = fr.up;
    sh.line = line;
    (void)getopts_at;
    func_unref(f);
    return status;
}

/* ---- the command itself ---- */

/* Arguments; those of declare and its kin may be assignments, whose values are not split. */
static bool expand_args(node *n, strlist *argv)
{
    arg_assigns = NULL;
    arg_assigns_n = 0;
    bool any = false;
    for (int i = 0; i < n->u.simple.n; i++) if (n->u.simple.words[i]->as) any = true;
    if (!any) return expand_words(n->u.simple.words, n->u.simple.n, argv);
    strlist marks = { .a = &sh.tmp };
    for (int i = 0; i < n->u.simple.n; i++) {
        word *w = n->u.simple.words[i];
        if (!w->as) { if (!expand_word(w, X_WORDS, argv)) return false; }
        else {
            strbuf b = { .a = &sh.tmp };
            sb_puts(&b, w->as->name);
            if (w->as->has_sub) {
                char *key = expand_one(w->as->key, X_NOTILDE);
                if (!key) return false;
                sb_printf(&b, "[%s]", key);
            }
            sb_puts(&b, w->as->append ? "+=" : "=");
            if (!w->as->is_array) {
                char *value = expand_one(w->as->value, X_ASSIGN);
                if (!value) return false;
                sb_puts(&b, value);
            }
            sl_add(argv, sb_str(&b));
        }
        while (marks.n + 1 < argv->n) sl_add(&marks, NULL);
        if (marks.n < argv->n) sl_add(&marks, (char *)(w->as && w->as->is_array ? w->as : NULL));
    }
    arg_assigns = (assign **)(void *)marks.v;
    arg_assigns_n = (int)marks.n;
    return true;
}

static void trace_assign(assign *a, const char *value)
{
    strbuf b = { .a = &sh.tmp };
    if (a->is_array) { sb_puts(&b, a->raw); trace_text(sb_str(&b)); return; }
    sb_printf(&b, "%s%s", a->name, a->has_sub ? "[" : "");
    if (a->has_sub) sb_printf(&b, "%s]", a->key->raw);
    sb_puts(&b, a->append ? "+=" : "=");
    if (*value) quote_trace(&b, value);
    trace_text(sb_str(&b));
}

bool assign_one(assign *a, int scope_local)
{
    (void)scope_local;
    if (a->is_array) {
        if (sh.opt[O_XTRACE]) trace_assign(a, "");
        return assign_array(a->slot, a, false);
    }
    char *value = expand_one(a->value, X_ASSIGN);
    if (!value) return false;
    if (sh.opt[O_XTRACE]) trace_assign(a, value);
    if (!a->has_sub) return var_set_slot(a->slot, value, a->append);
    slot *s = a->slot;
    char *sub;
    var *v = var_deref(&s, &sub);
    if (v && v->flags & V_ASSOC) {
        char *key = expand_one(a->key, X_NOTILDE);
        return key && var_set_elem(s, key, value, a->append);
    }
    int64_t i;
    if (!arith_eval(a->index, &i)) return false;
    if (i < 0) {
        int64_t n = v && v->flags & V_ARRAY ? arr_next(v->u.a) : v && v->flags & V_SET ? 1 : 0;
        if (i + n < 0) { sh_error("%s[%s]: bad array subscript", a->name, a->key->raw); return false; }
        i += n;
    }
    return var_set_index(s, i, value, a->append);
}

static int only_assignments(node *n)
{
    redir_save save;
    int status = 0;
    bool ok = redirect(n->redirs, &save);
    for (assign *a = n->u.simple.assigns; a && ok; a = a->next)
        if (!assign_one(a, 0)) { sh_fail(1); ok = false; }
    redirect_undo(&save);
    if (sh.unwind == UW_TRIAL) return 1;
    if (!ok) return sh.unwind ? sh.exit_status : 1;
    if (sh.had_subst) status = sh.subst_status;
    return status;
}

/* NAME=value in front of a command: visible to it as exported variables, gone afterwards. */
static bool assign_temporarily(assign *a)
{
    scope_push();
    for (; a; a = a->next) {
        if (a->is_array) { if (!assign_array(a->slot, a, false)) return false; continue; }
        char *value = expand_one(a->value, X_ASSIGN);
        if (!value) return false;
        if (sh.opt[O_XTRACE]) trace_assign(a, value);
        if (a->slot->top && a->slot->top->flags & V_READONLY) { check_readonly(a->slot, a->slot->top); continue; }
        if (a->append) {
            const char *old = var_get(a->name);
            strbuf b = { .a = &sh.tmp };
            sb_printf(&b, "%s%s", old ? old : "", value);
            value = sb_str(&b);
        }
        temp_assign(a->slot, value);
    }
    return true;
}

/* What a command wrote to the host's stdout and stderr is seen when it ends, also if the next one never does. */
static void show_output(void)
{
    for (int fd = 1; fd <= 2; fd++)
        if (sh.nfds > fd && sh.fds[fd] && io_fileno(sh.fds[fd]) > 0 && io_fileno(sh.fds[fd]) <= 2) io_flush(sh.fds[fd]);
}

static int run_words(node *n, strlist *argv, int procs)
{
    redir_save save = { 0 };
    int status = 1;
    char **v = sl_end(argv);
    int argc = (int)argv->n;
    bool temp = n->u.simple.assigns != NULL;
    assign **assigns = arg_assigns;
    int assigns_n = arg_assigns_n;
    if (sh.opt[O_XTRACE] && !temp) trace_command(argc, v);
    if (!n->redirs || redirect(n->redirs, &save)) {
        if (!temp || assign_temporarily(n->u.simple.assigns)) {
            if (sh.opt[O_XTRACE] && temp) trace_command(argc, v);
            arg_assigns = assigns;
            arg_assigns_n = assigns_n;
            const builtin *b = NULL;
            if (n->u.simple.words[0]->flags & W_PLAIN) {   /* the common case: a builtin by its literal name */
                if (n->u.simple.cached_gen != sh.func_gen + 1) {
                    n->u.simple.cached = func_find(v[0]) ? NULL : (void *)(uintptr_t)builtin_find(v[0]);
                    n->u.simple.cached_gen = sh.func_gen + 1;
                }
                b = n->u.simple.cached;
            }
            status = b ? b->fn(argc, v) : exec_argv(argc, v, 0);
        } else if (!sh.unwind) sh_fail(1);
        if (temp) scope_pop();
    }
    if (save.n) {
        if (!strcmp(v[0], "exec") && argc == 1 && !sh.unwind) { redirect_forget(&save); proc_hold(procs); proc_release(false); }
        else redirect_undo(&save);
    }
    show_output();
    return status;
}

int exec_simple(node *n)
{
    arena_mark_t m = arena_mark(&sh.tmp);
    int procs = proc_mark(), status;
    strlist argv = { .a = &sh.tmp };
    assign **assigns = arg_assigns;
    int assigns_n = arg_assigns_n;
    sh.line = n->line;
    if (sh.traps[TRAP_DEBUG]) { debug_trap(n); if (sh.unwind) { arena_release(&sh.tmp, m); return sh.status; } }
    if (!sh.in_trap[TRAP_DEBUG] && !sh.in_trap[TRAP_ERR]) sh.command_node = n;
    sh.had_subst = false;
    if (n->u.simple.n == 0) {
        status = only_assignments(n);
        if (sh.underscore->top && sh.underscore->top->level == sh.level) var_put(sh.underscore->top, "");
    } else if (!expand_args(n, &argv)) status = sh.unwind ? sh.exit_status : 1;
    else if (argv.n == 0) status = only_assignments(n);
    else {
        char *last = argv.v[argv.n - 1];
        status = run_words(n, &argv, procs);
        if (sh.underscore->top) var_put(sh.underscore->top && sh.underscore->top->level == sh.level ? sh.underscore->top : var_writable(sh.underscore, -1), last);
    }
    if (proc_mark() > procs) proc_finish(procs);
    arena_release(&sh.tmp, m);
    arg_assigns = assigns;
    arg_assigns_n = assigns_n;
    if (sh.unwind == UW_DISCARD && status == 0) status = 1;
    sh.status = status;
    sh.npipestatus = 1;
    sh.pipestatus[0] = status;
    if (status && !sh.unwind) after_command(status, n);
    return status;
}
