/* b_names.c - what a name means: type, command, builtin, alias, compgen. */
#include "builtins.h"
#include "hashed.h"
#include "tool.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const keywords[] = { "if",     "then",  "else",  "elif", "fi",   "case",  "esac",     "for",
                                        "select", "while", "until", "do",   "done", "in",    "function", "time",
                                        "{",      "}",     "!",     "[[",   "]]",   "coproc" };

static bool is_keyword(const char *s)
{
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) if (!strcmp(keywords[i], s)) return true;
    return false;
}

/* The files a name may stand for, in PATH's order. */
static strlist files_of(const char *name)
{
    strlist found = { .a = &sh.tmp };
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
        if ((usual && command_path(b.s)) || (stat(b.s, &st) == 0 && S_ISREG(st.st_mode) && executable(b.s, &st)))
            sl_add(&found, b.s);
    }
    if (!found.n && (tool_find(name) || capability_has(name) || is_program_too(name))) {
        strbuf b = { .a = &sh.tmp };
        sb_printf(&b, "/usr/bin/%s", name);
        sl_add(&found, sb_str(&b));
    }
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
                quote_single(&b, text);
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
        if (builtin_find(name) && strcmp(name, "bash") && strcmp(name, "sh")) {
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
    int i = argc > 1 && !strcmp(argv[1], "--") ? 2 : 1;
    return i < argc ? exec_argv(argc - i, argv + i, 2) : 0;
}

static void print_alias(const char *name, const char *text)
{
    strbuf b = { .a = &sh.tmp };
    quote_single(&b, text);
    out_printf("alias %s=%s\n", name, sb_str(&b));
}

int b_alias(int argc, char **argv)
{
    int status = 0, i = 1;
    bool all = argc == 1;
    if (i < argc && !strcmp(argv[i], "-p")) { i++; all = true; }
    if (all) for (alias *a = sh.aliases; a; a = a->next) print_alias(a->name, a->text);
    for (; i < argc; i++) {
        char *eq = strchr(argv[i], '=');
        if (eq && eq > argv[i]) alias_set(arena_strndup(&sh.tmp, argv[i], (size_t)(eq - argv[i])), eq + 1);
        else {
            const char *text = alias_find(argv[i]);
            if (text) print_alias(argv[i], text); else status = b_error("alias", 1, "%s: not found", argv[i]);
        }
    }
    return status;
}

int b_unalias(int argc, char **argv)
{
    int status = 0;
    if (argc < 2) return b_usage("unalias", "unalias [-a] name [name ...]");
    if (!strcmp(argv[1], "-a")) { while (sh.aliases) alias_set(arena_strdup(&sh.tmp, sh.aliases->name), NULL); return 0; }
    for (int i = 1; i < argc; i++) {
        if (!alias_find(argv[i])) status = b_error("unalias", 1, "%s: not found", argv[i]);
        else alias_set(argv[i], NULL);
    }
    return status;
}

/* ---- compgen, the part that scripts use ---- */

static bool is_variable(slot *s, var *v) { return s->name[0] != ' ' && (v->flags & V_SET || v->flags & (V_ARRAY | V_ASSOC)); }

int b_compgen(int argc, char **argv)
{
    const char *prefix = "", *words = NULL;
    char what = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-W") && i + 1 < argc) words = argv[++i];
        else if (!strcmp(argv[i], "-A") && i + 1 < argc) {
            i++;
            what = !strcmp(argv[i], "function")    ? 'F'
                   : !strcmp(argv[i], "variable")  ? 'v'
                   : !strcmp(argv[i], "builtin")   ? 'b'
                   : !strcmp(argv[i], "keyword")   ? 'k'
                   : !strcmp(argv[i], "alias")     ? 'a'
                   : !strcmp(argv[i], "command")   ? 'c'
                   : !strcmp(argv[i], "file")      ? 'f'
                   : !strcmp(argv[i], "directory") ? 'd'
                                                   : 0;
        } else if (argv[i][0] == '-' && argv[i][1] && strchr("abcdefkv", argv[i][1]) && !argv[i][2])
            what = argv[i][1] == 'e' ? 'x' : argv[i][1];
        else if (strcmp(argv[i], "--")) prefix = argv[i];
    }
    strlist found = { .a = &sh.tmp };
    if (words) {
        word *w = parse_word_text(&sh.tmp, words, 'b');
        char *flat = w ? expand_one(w, 0) : NULL;
        const char *ifs = var_get("IFS");
        if (flat) flat = arena_strdup(&sh.tmp, flat);
        for (char *save, *t = flat ? strtok_r(flat, ifs ? ifs : " \t\n", &save) : NULL; t;
             t = strtok_r(NULL, ifs ? ifs : " \t\n", &save))
            sl_add(&found, t);
    }
    func **f;
    if (what == 'F' || what == 'c') { size_t n = funcs_all(&f); for (size_t i = 0; i < n; i++) sl_add(&found, f[i]->name); }
    if (what == 'v') {
        slot **v;
        size_t n = slots_all(&v, is_variable);
        for (size_t i = 0; i < n; i++) sl_add(&found, v[i]->name);
    }
    if (what == 'b' || what == 'c') for (size_t i = 0; builtin_table[i].name; i++) sl_add(&found, (char *)builtin_table[i].name);
    if (what == 'k' || what == 'c')
        for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) sl_add(&found, (char *)keywords[i]);
    if (what == 'a' || what == 'c') for (alias *a = sh.aliases; a; a = a->next) sl_add(&found, a->name);
    if (what == 'c') for (const tool_entry *t = tool_table; t->name; t++) sl_add(&found, (char *)t->name);
    if (what == 'f' || what == 'd') {
        strbuf b = { .a = &sh.tmp };
        sb_printf(&b, "%s*", pattern_quote(prefix));
        strlist files = { .a = &sh.tmp };
        glob_expand(sb_str(&b), &files);
        struct stat st;
        for (size_t i = 0; i < files.n; i++)
            if (what == 'f' || (stat(files.v[i], &st) == 0 && S_ISDIR(st.st_mode))) sl_add(&found, files.v[i]);
    }
    int status = 1;
    for (size_t i = 0; i < found.n; i++)
        if (!strncmp(found.v[i], prefix, strlen(prefix))) {
            out_printf("%s\n", found.v[i]);
            status = 0;
        }
    return status;
}
