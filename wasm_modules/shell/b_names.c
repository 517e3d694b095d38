/* b_names.c - what a name means: type, command, builtin, alias. */
#include "builtins.h"
#include "hashed.h"
#include "tool.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *const shell_keywords[] = { "if",     "then",  "else",  "elif", "fi",   "case",  "esac",     "for",
                                        "select", "while", "until", "do",   "done", "in",    "function", "time",
                                        "{",      "}",     "!",     "[[",   "]]",   "coproc", NULL };

static bool is_keyword(const char *s)
{
    for (const char *const *k = shell_keywords; *k; k++) if (!strcmp(*k, s)) return true;
    return false;
}

/* The files a name may stand for, in PATH's order; where none can be executed, the first that cannot. */
static strlist files_of(const char *name)
{
    strlist found = { .a = &sh.tmp };
    char *refused = NULL;
    struct stat st;
    if (strchr(name, '/')) {
        if (command_path(name) || (stat(name, &st) == 0 && S_ISREG(st.st_mode) && executable(name, &st)))
            sl_add(&found, (char *)name);
        return found;
    }
    const char *path = var_get("PATH");
    for (const char *p = path, *end; p; p = *end ? end + 1 : NULL) {
        end = p + strcspn(p, ":");
        strbuf b = { .a = &sh.tmp };
        if (end > p) { sb_add(&b, p, (size_t)(end - p)); sb_putc(&b, '/'); }
        sb_puts(&b, name);
        bool usual = !strncmp(sb_str(&b), "/usr/bin/", 9) || !strncmp(b.s, "/bin/", 5);
        bool is_file = stat(b.s, &st) == 0 && S_ISREG(st.st_mode);
        if ((usual && command_path(b.s)) || (is_file && executable(b.s, &st))) sl_add(&found, b.s);
        else if (is_file && !refused) refused = b.s;
    }
    if (!found.n && (tool_find(name) || capability_has(name) || is_program_too(name))) {
        strbuf b = { .a = &sh.tmp };
        sb_printf(&b, "/usr/bin/%s", name);
        sl_add(&found, sb_str(&b));
    }
    if (!found.n && refused) sl_add(&found, refused);
    return found;
}

char *command_file(const char *name)
{
    strlist files = files_of(name);
    return files.n ? files.v[0] : NULL;
}

static void print_file(const char *name, const char *path, char how)
{
    if (how == 't') out_puts("file\n");
    else if (how == 'v') out_printf("%s\n", path);
    else out_printf("%s is %s\n", name, path);
}

/* Prints one line on what the name is. how: 't' the kind, 'v' as command -v, 'V' in words. True when found. */
static bool describe(const char *name, char how, bool functions, bool all, bool path_only)
{
    bool any = false;
    const char *text = alias_find(name);
    func *f;
    if (!path_only) {
        if (text && sh.shopt[S_EXPAND_ALIASES]) {
            any = true;
            if (how == 't') out_puts("alias\n");
            else if (how == 'v') {
                strbuf b = { .a = &sh.tmp };
                quote_plain(&b, text);
                out_printf("alias %s=%s\n", name, sb_str(&b));
            } else out_printf("%s is aliased to `%s'\n", name, text);
            if (!all) return true;
        }
        if (is_keyword(name)) {
            any = true;
            if (how == 't') out_puts("keyword\n");
            else if (how == 'v') out_printf("%s\n", name);
            else out_printf("%s is a shell keyword\n", name);
            if (!all) return true;
        }
        if (functions && (f = func_find(name))) {
            any = true;
            if (how == 't') out_puts("function\n");
            else if (how == 'v') out_printf("%s\n", name);
            else {
                strbuf b = { .a = &sh.tmp };
                sb_printf(&b, "%s is a function\n", name);
                print_function(&b, f);
                out_write(b.s, b.len);
            }
            if (!all) return true;
        }
        if (builtin_find(name) && builtin_find(name)->fn != b_bash) {
            any = true;
            if (how == 't') out_puts("builtin\n"); else if (how == 'v') out_printf("%s\n", name);
            else
                out_printf(builtin_find(name)->flags & B_SPECIAL && sh.opt[O_POSIX] ? "%s is a special shell builtin\n"
                                                                                    : "%s is a shell builtin\n",
                           name);
            if (!all) return true;
        }
    }
    const char *remembered = all || strchr(name, '/') ? NULL : hashed_path(name);
    if (remembered) {
        if (how == 'V') out_printf("%s is hashed (%s)\n", name, remembered); else print_file(name, remembered, how);
        return true;
    }
    strlist files = files_of(name);
    for (size_t i = 0; i < files.n && (all || i == 0); i++) print_file(name, files.v[i], how);
    return any || files.n;
}

int b_type(int argc, char **argv)
{
    opts o = OPTS("type [-afptP] name [name ...]");
    char how = 'V';
    bool functions = true, all = false, paths = false, force = false;
    int status = 0;
    for (int c; (c = next_opt(&o, "aftpP"));) {
        if (c == '?') return 2;
        if (c == 't') how = 't';
        if (c == 'a') all = true;
        if (c == 'f') functions = false;
        if (c == 'p') paths = true;
        if (c == 'P') paths = force = true;
    }
    for (int i = o.at; i < argc; i++) {
        if (paths) {
            const builtin *b = builtin_find(argv[i]);
            bool known = func_find(argv[i]) || (b && b->fn != b_bash) || is_keyword(argv[i]) || alias_find(argv[i]);
            if (known && !force && !all) continue;
            strlist files = files_of(argv[i]);
            for (size_t k = 0; k < files.n && (all || k == 0); k++) out_printf("%s\n", files.v[k]);
            if (!files.n) status = 1;
            continue;
        }
        if (describe(argv[i], how, functions, all, false)) continue;
        status = 1;
        if (how != 't') b_error("type", 1, "%s: not found", argv[i]);
    }
    return status;
}

int b_command(int argc, char **argv)
{
    opts o = OPTS("command [-pVv] command [arg ...]");
    char how = 0;
    bool default_path = false;
    int status = 1;
    for (int c; (c = next_opt(&o, "pvV"));) {
        if (c == '?') return 2;
        if (c == 'p' && sh.restricted) return b_error("command", 1, "-p: restricted");
        if (c != 'p') how = (char)c; else default_path = true;
    }
    if (o.at >= argc) return 0;
    if (!how) return exec_argv(argc - o.at, argv + o.at, default_path ? 5 : 1);
    for (int i = o.at; i < argc; i++) {
        if (describe(argv[i], how, true, false, false)) status = 0;
        else if (how == 'V') b_error("command", 1, "%s: not found", argv[i]);
    }
    return status;
}

int b_builtin(int argc, char **argv)
{
    opts o = OPTS("builtin [shell-builtin [arg ...]]");
    if (next_opt(&o, "")) return 2;
    return o.at < argc ? exec_argv(argc - o.at, argv + o.at, 2) : 0;
}

static void print_alias(const char *name, const char *text, bool reusable)
{
    strbuf b = { .a = &sh.tmp };
    quote_plain(&b, text);
    out_printf("%s%s=%s\n", reusable ? "alias " : "", name, sb_str(&b));
}

int b_alias(int argc, char **argv)
{
    opts o = OPTS("alias [-p] [name[=value] ... ]");
    bool all = argc == 1, reusable = !sh.opt[O_POSIX];
    for (int c; (c = next_opt(&o, "p"));) { if (c == '?') return 2; all = reusable = true; }
    int status = 0, i = o.at;
    if (all) for (alias *a = sh.aliases; a; a = a->next) print_alias(a->name, a->text, reusable);
    for (; i < argc; i++) {
        char *eq = strchr(argv[i], '=');
        if (eq && eq > argv[i]) {
            char *name = arena_strndup(&sh.tmp, argv[i], (size_t)(eq - argv[i]));
            if (strpbrk(name, " \t\n|&;()<>/$`\"'\\")) status = b_error("alias", 1, "`%s': invalid alias name", name);
            else alias_set(name, eq + 1);
        }
        else {
            const char *text = alias_find(argv[i]);
            if (text) print_alias(argv[i], text, reusable); else status = b_error("alias", 1, "%s: not found", argv[i]);
        }
    }
    return status;
}

int b_unalias(int argc, char **argv)
{
    int status = 0;
    opts o = OPTS("unalias [-a] name [name ...]");
    bool all = false;
    for (int c; (c = next_opt(&o, "a"));) { if (c == '?') return 2; all = true; }
    if (all) { while (sh.aliases) alias_set(arena_strdup(&sh.tmp, sh.aliases->name), NULL); return 0; }
    if (o.at >= argc) return b_usage("unalias", o.usage);
    for (int i = o.at; i < argc; i++) {
        if (!alias_find(argv[i])) status = b_error("unalias", 1, "%s: not found", argv[i]);
        else alias_set(argv[i], NULL);
    }
    return status;
}
