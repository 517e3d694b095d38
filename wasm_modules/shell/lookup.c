/* lookup.c - what a command name stands for, in this order: function, builtin, built-in tool, capability, executable file; and
 * running tools. */
#include "sh.h"
#include "lookup.h"
#include "hashed.h"
#include "tool.h"
#include "utf8.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- tools ---- */

void programs_only(void)
{
    sh.as_program = true;
    sh.plain = sh.shopt[S_XPG_ECHO] = 0;
}

static int run_for_tool(tool *t, int argc, char **argv)
{
    (void)argc;
    io *in = io_ref(fd_get(0)), *out = io_ref(fd_get(1)), *err = io_ref(fd_get(2));
    fd_set_io(0, io_ref(t->in));
    fd_set_io(1, io_ref(t->out));
    fd_set_io(2, io_ref(t->err));
    /* What runs for a tool is a process of its own in bash: no functions, no effect on this shell. */
    sub_state *st = subshell_enter();
    programs_only();
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
    locale_refresh();
    programs_only();
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

/* What another program would find: no functions, and of the builtins only those that are programs too. */
static int knows_for_tool(tool *t, const char *name)
{
    struct stat st;
    (void)t;
    if (strchr(name, '/')) return stat(name, &st) == 0;
    return is_program_too(name) || command_exists(name);
}

/* JSON is UTF-8 in every locale, and iconv is told its encodings. */
static bool heeds_locale(const char *name) { return strcmp(name, "jq") && strcmp(name, "yq") && strcmp(name, "iconv"); }

int run_tool(const tool_entry *e, int argc, char **args)
{
    io *closed = NULL;
    if (jobs_fresh) background_begin();
    io_show();
    if (!strcmp(e->name, "sleep")) {
        pipeline_idle();
        int slept;
        if (background_sleep(argc, args, &slept)) return slept;
    }
    /* A tool may reorder and rewrite its arguments; the words of the tree are not its own. */
    char **argv = arena_alloc(&sh.tmp, ((size_t)argc + 1) * sizeof *argv);
    for (int i = 0; i < argc; i++) argv[i] = arena_strdup(&sh.tmp, args[i]);
    if (!fd_get(0) || !fd_get(1) || !fd_get(2)) closed = io_fd(-1, 1, 1);
    tool t = { .in = io_ref(fd_get(0) ? fd_get(0) : closed),
               .out = io_ref(fd_get(1) ? fd_get(1) : closed),
               .err = io_ref(fd_get(2) ? fd_get(2) : closed),
               .shell = &sh,
               .run = run_for_tool,
               .run_env = run_env_for_tool,
               .knows = knows_for_tool,
               .getenv = getenv_for_tool,
               .environ = environ_for_tool };
    if (utf8_bytes && !heeds_locale(e->name)) utf8_bytes = 0;
    int status = tool_call(&t, e, argc, argv);
    if (utf8_bytes != sh.byte_locale) utf8_bytes = sh.byte_locale;      /* what is not written stays clean memory */
    /* A writer whose reader is gone: the stage of the pipeline ends, as by SIGPIPE. */
    if (status == 141 && sh.level && io_failed(t.out) == EPIPE) sh_exit(141);
    io_unref(t.in);
    io_unref(t.out);
    io_unref(t.err);
    io_unref(closed);
    return status;
}

/* ---- finding and running ---- */

/* A file in PATH that can be executed, or, refused, one that cannot. */
static char *search(const char *name, const char *path, bool refused)
{
    if (!path) path = var_get("PATH");
    if (!path) return NULL;
    for (const char *p = path;; p++) {
        const char *end = strchr(p, ':');
        size_t n = end ? (size_t)(end - p) : strlen(p);
        strbuf b = { .a = &sh.tmp };
        sb_add(&b, n ? p : ".", n ? n : 1);
        sb_printf(&b, "/%s", name);
        struct stat st;
        if (stat(sb_str(&b), &st) == 0 && S_ISREG(st.st_mode) && executable(b.s, &st) != refused) return b.s;
        if (!end) return NULL;
        p = end;
    }
}

char *find_in_path(const char *name, const char *path) { return search(name, path, false); }

/* What to use in place of a command that reaches outside. The error itself stays bash's: scripts look for it. */
static void tell_instead(const char *name)
{
    static const struct { const char *names, *text; } all[] = {
        { " pip pip3 uv poetry conda ", "packages cannot be installed here: those of Python that are there can be imported" },
        { " npm npx yarn pnpm ", "packages cannot be installed here: node runs what is in the session's files" },
        { " curl wget ssh scp rsync ", "the sandbox has no network: what is outside is reached through capabilities (tools)" },
        { " apt apt-get sudo ", "nothing can be installed here: help lists the commands that are there" },
    };
    strbuf key = { .a = &sh.tmp };
    sb_printf(&key, " %s ", name);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strchr(name, ' ') && strstr(all[i].names, sb_str(&key))) sh_error("%s: %s", name, all[i].text);
}

static int not_found(int argc, char **argv)
{
    if (argv[0][0] == '%') { char *job[] = { "fg", argv[0], NULL }; return builtin_find("fg")->fn(2, job); }
    strbuf name = { .a = &sh.tmp };
    if (strpbrk(argv[0], "\n\t\r\033")) quote_backslash(&name, argv[0]); else sb_puts(&name, argv[0]);
    const char *path = var_get("PATH");
    if (!path || !*path) { sh_error("%s: No such file or directory", sb_str(&name)); return 127; }
    char *refused = *argv[0] && !strchr(argv[0], '/') ? search(argv[0], NULL, true) : NULL;
    if (refused) { sh_error("%s: Permission denied", refused); return 126; }
    func *f = func_find("command_not_found_handle");
    if (f) {
        char **args = arena_alloc(&sh.tmp, ((size_t)argc + 2) * sizeof *args);
        args[0] = "command_not_found_handle";
        memcpy(args + 1, argv, (size_t)argc * sizeof *args);
        sub_state *st = subshell_enter();
        int status = exec_function(f, argc + 1, args);
        return subshell_leave(st, status);
    }
    tell_instead(argv[0]);
    sh_error("%s: command not found", sb_str(&name));
    return 127;
}

/* Built-in tools are found where programs usually are: the first of those directories in PATH, NULL when there is none. */
static const char *tools_in_path(void)
{
    const char *path = var_get("PATH");
    if (!path) return NULL;
    for (const char *p = path;; p++) {
        size_t n = strcspn(p, ":");
        if ((n == 4 && !strncmp(p, "/bin", 4)) || (n == 8 && !strncmp(p, "/usr/bin", 8)) ||
            (n == 14 && !strncmp(p, "/usr/local/bin", 14)))
            return p;
        p += n;
        if (!*p) return NULL;
    }
}

/* True when a file of this name stands in PATH before the tools do, and the tool is not remembered from an earlier run. */
static bool tool_hidden(const char *name)
{
    const char *path = var_get("PATH"), *tools = tools_in_path(), *remembered = hashed_path(name);
    if (!tools || tools == path) return false;
    if (remembered) return !command_path(remembered);
    arena_mark_t m = arena_mark(&sh.tmp);
    bool found = find_in_path(name, arena_strndup(&sh.tmp, path, (size_t)(tools - path - 1))) != NULL;
    arena_release(&sh.tmp, m);
    return found;
}

/* True for /bin/ls and the like: the built-in tool answers to the paths where programs usually are. */
static const char *usual_path(const char *name)
{
    static const char *const dirs[] = { "/bin/", "/usr/bin/", "/usr/local/bin/" };
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
        if (!strncmp(name, dirs[i], strlen(dirs[i])) && !strchr(name + strlen(dirs[i]), '/')) return name + strlen(dirs[i]);
    return NULL;
}

bool command_path(const char *path)
{
    const char *base = usual_path(path);
    return base && (tool_find(base) || is_program_too(base));
}

bool command_exists(const char *name)
{
    return (tool_find(name) && tools_in_path()) || capability_has(name) || find_in_path(name, NULL);
}

bool is_shell_command(const char *name)
{
    const builtin *b = builtin_find(name);
    if (func_find(name) || (b && b->fn != b_bash)) return false;
    if (b) return true;
    const char *base = usual_path(name);
    if (base && (b = builtin_find(base))) return b->fn == b_bash;
    if ((base && tool_find(base)) || (tool_find(name) && tools_in_path() && !tool_hidden(name)) || capability_has(name)) return false;
    struct stat st;
    return strchr(name, '/') ? stat(name, &st) == 0 && S_ISREG(st.st_mode) : find_in_path(name, NULL) != NULL;
}

int exec_argv(int argc, char **argv, int flags)
{
    const char *name = argv[0];
    func *f;
    if (!(flags & 3) && (f = func_find(name))) return exec_function(f, argc, argv);
    const builtin *b = builtin_find(name);
    if (b) return builtin_call(b, argc, argv);
    if (flags & 2) return b_error("builtin", 1, "%s: not a shell builtin", name);
    if (!*name) return not_found(argc, argv);
    if (sh.restricted && strchr(name, '/')) {
        sh_error("%s: restricted: cannot specify `/' in command names", name);
        return 1;
    }
    const tool_entry *e = tool_find(name);
    if (e && (flags & 4 || (tools_in_path() && !tool_hidden(name)))) {
        hashed_hit(name);
        return tool_allowed(name, argc, argv) ? run_tool(e, argc, argv) : 1;
    }
    const char *base = usual_path(name);
    if (base) {
        if ((e = tool_find(base))) return tool_allowed(base, argc, argv) ? run_tool(e, argc, argv) : 1;
        if ((b = builtin_find(base)) && is_program_too(base)) return b->fn(argc, argv);
    }
    const char *remembered = strchr(name, '/') ? NULL : hashed_path(name);
    struct stat st;
    if (remembered && sh.shopt[S_CHECKHASH] && stat(remembered, &st) < 0) { hashed_set(name, NULL); remembered = NULL; }
    if (remembered && strcmp(remembered, name)) {   /* hash -p PATH NAME */
        hashed_hit(name);
        argv[0] = (char *)remembered;
        return exec_argv(argc, argv, flags | 1);
    }
    if (!strchr(name, '/')) {
        if (capability_has(name)) { io_show(); return trial_effect() ? 1 : capability_run(argc, argv); }
        char *path = find_in_path(name, NULL);
        if (!path) return not_found(argc, argv);
        if (!sh.level && sh.opt[O_HASHALL]) { hashed_set(name, path); hashed_hit(name); }
        argv[0] = path;
        return exec_file(path, name, argc, argv);
    }
    return exec_file(name, name, argc, argv);
}

