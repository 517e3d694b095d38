/* script.c - script files and the commands bash and sh: which text runs as a child shell, and how that is started. */
#include "sh.h"
#include "child.h"
#include "lookup.h"
#include "options.h"
#include "tool.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BINARY_LOOK = 80 };

/* The interpreter line of a script file: the name of the interpreter without its directory, or NULL. What stands behind it is
 * added to args: "-e" of #!/bin/bash -e, one argument unless env -S splits it. What env would run counts as the interpreter. */
static char *interpreter(const char *text, size_t len, strlist *args)
{
    bool split = false;
    if (len < 3 || text[0] != '#' || text[1] != '!') return NULL;
    const char *nl = memchr(text, '\n', len);
    char *line = arena_strndup(&sh.tmp, text + 2, (size_t)((nl ? nl : text + len) - text - 2)), *save;
    char *word = strtok_r(line, " \t", &save);
    if (!word) return NULL;
    char *base = strrchr(word, '/');
    base = base ? base + 1 : word;
    if (!strcmp(base, "env")) {
        word = strtok_r(NULL, " \t", &save);
        split = word && !strcmp(word, "-S");
        if (split) word = strtok_r(NULL, " \t", &save);
        if (!word) return NULL;
        base = word;
    }
    while ((word = strtok_r(NULL, split ? " \t" : "", &save))) {
        word += strspn(word, " \t");
        if (*word) sl_add(args, word);
    }
    return base;
}

/* Bash looks for NULs in the first line of what it is given. */
static bool is_binary(const char *text, size_t len)
{
    size_t n = len < BINARY_LOOK ? len : BINARY_LOOK;
    const char *nul = memchr(text, 0, n), *newline = memchr(text, '\n', n);
    return nul && (!newline || nul < newline);
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
    if (memchr(b.s, 0, b.len) && !is_binary(b.s, b.len)) *len = strip_nuls(b.s, b.len);
    return b.s;
}

char *read_file(const char *path, size_t *len)
{
    io *s = io_open(path, O_RDONLY, 0);
    if (!s) return NULL;
    char *text = read_stream(s, len);
    io_unref(s);
    return text;
}

static bool is_plain(const char *name) { return !strcmp(name, "sh") || !strcmp(name, "dash"); }

int exec_file(const char *path, const char *name, int argc, char **argv)
{
    struct stat st;
    if (stat(path, &st) < 0) { sh_error("%s: %s", name, strerror(errno)); return 127; }
    if (S_ISDIR(st.st_mode)) { sh_error("%s: Is a directory", name); return 126; }
    size_t len;
    char *text = read_file(path, &len);
    if (!text) { sh_error("%s: %s", name, strerror(errno)); return 126; }
    strlist given = { .a = &sh.tmp };
    char *prog = interpreter(text, len, &given);
    int status;
    if (!executable(path, &st)) { sh_error("%s: Permission denied", name); free(text); return 126; }
    if (!prog || !strcmp(prog, "bash") || !strcmp(prog, "sh") || !strcmp(prog, "dash") || !strcmp(prog, "zsh") ||
        !strcmp(prog, "ksh")) {
        if (is_binary(text, len)) {
            sh_error("%s: cannot execute binary file: Exec format error", name);
            free(text);
            return 126;
        }
        char **args = arena_alloc(&sh.tmp, ((size_t)argc + 1) * sizeof *args);
        memcpy(args, argv, (size_t)argc * sizeof *args);
        char *options = given.n && given.v[0][0] == '-' && given.v[0][1] != '-' ? given.v[0] + 1 : NULL;
        if (options) options[strcspn(options, " \t")] = 0;
        args[argc] = NULL;
        status = child_run(&(child){ text, len, argc, args, false, (start){ .options = options, .plain = prog && is_plain(prog) } });
    } else {
        const tool_entry *e = tool_find(prog);
        if (!e) { sh_error("%s: cannot execute: required file not found", name); status = 127; }
        else {
            char **args = arena_alloc(&sh.tmp, ((size_t)argc + given.n + 2) * sizeof *args);
            int n = 0;
            args[n++] = prog;
            for (size_t i = 0; i < given.n; i++) args[n++] = given.v[i];
            args[n++] = (char *)path;
            for (int i = 1; i < argc; i++) args[n++] = argv[i];
            child_pass();
            status = run_tool(e, n, args);
        }
    }
    free(text);
    return status;
}

static bool is_long_option(const char *s)
{
    static const char *const names[] = { "debug", "debugger", "noediting", "pretty-print" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) if (!strcmp(s, names[i])) return true;
    return false;
}

static void usage(io *to, const char *name)
{
    io_printf(to, "Usage:\t%s [GNU long option] [option] ...\n\t%s [GNU long option] [option] script-file ...\n", name, name);
    io_puts(
        to,
        "GNU long options:\n\t--debug\n\t--debugger\n\t--dump-po-strings\n\t--dump-strings\n\t--help\n\t--init-file\n\t--login\n"
        "\t--noediting\n\t--noprofile\n\t--norc\n\t--posix\n\t--pretty-print\n\t--rcfile\n\t--restricted\n\t--verbose\n\t--"
        "version\n"
        "Shell options:\n\t-ilrsD or -c command or -O shopt_option\t\t(invocation only)\n\t-abefhkmnptuvxBCEHPT or -o option\n");
}

static int bad_option(const char *name, const char *option, size_t n)
{
    io *e = fd_get(2);
    if (!e) return 2;
    io_printf(e, "%s: %.*s: invalid option\n", name, (int)n, option);
    usage(e, name);
    return 2;
}

static int show_help(const char *name)
{
    io *o = fd_get(1);
    if (!o) return 1;
    io_puts(o, "GNU bash, version 5.2.15(1)-release-(x86_64-pc-linux-gnu)\n");
    usage(o, name);
    io_printf(o,
              "Type `%s -c \"help set\"' for more information about shell options.\n"
              "Type `%s -c help' for more information about shell builtin commands.\n"
              "Use the `bashbug' command to report bugs.\n\n"
              "bash home page: <http://www.gnu.org/software/bash>\n"
              "General help using GNU software: <http://www.gnu.org/gethelp/>\n",
              name, name);
    return 0;
}

static int unknown_option(const char *name, char kind, const char *option)
{
    if (fd_get(2) && kind == 'o') io_printf(fd_get(2), "%s: line 0: %s: %s: invalid option name\n", name, name, option);
    else if (fd_get(2)) io_printf(fd_get(2), "%s: line 0: %s: invalid shell option name\n", name, option);
    return 2;
}

/* -o or -O without a name. */
static int list_options(char kind, char sign)
{
    char *set[] = { "set", sign == '-' ? "-o" : "+o", NULL }, *shopt[] = { "shopt", sign == '-' ? NULL : "-p", NULL };
    return kind == 'o' ? builtin_find("set")->fn(2, set) : builtin_find("shopt")->fn(sign == '-' ? 1 : 2, shopt);
}

/* The text of a script that bash or sh is given: next to where they are, else, for a bare name, a file in PATH. */
static char *read_script(const char *name, size_t *len)
{
    char *text = read_file(name, len);
    const char *path = var_get("PATH");
    if (text || errno != ENOENT || strchr(name, '/') || !path) return text;
    for (size_t n; !text && *path; path += n + (path[n] == ':')) {
        n = strcspn(path, ":");
        strbuf b = { .a = &sh.tmp };
        sb_add(&b, path, n);
        sb_printf(&b, "%s%s", n ? "/" : "", name);
        struct stat st;
        if (stat(sb_str(&b), &st) == 0 && S_ISREG(st.st_mode)) text = read_file(b.s, len);
    }
    if (!text) errno = ENOENT;
    return text;
}

/* bash and sh as commands. */
int b_bash(int argc, char **argv)
{
    int i = 1;
    bool command = false, from_stdin = false;
    strbuf options = { .a = &sh.tmp }, names = { .a = &sh.tmp };
    char *name = argv[0];
    const char *base = strrchr(name, '/');
    start how = { .login = name[0] == '-', .plain = is_plain(base ? base + 1 : name),
                  .restricted = !strcmp(base ? base + 1 : name, "rbash") };
    for (; i < argc && (argv[i][0] == '-' || argv[i][0] == '+'); i++) {
        if (!strcmp(argv[i], "--") || !strcmp(argv[i], "-")) { i++; break; }
        if (!argv[i][1]) break;
        if (!strcmp(argv[i], "--help")) return show_help(name);
        if (!strcmp(argv[i], "--rcfile") || !strcmp(argv[i], "--init-file")) {
            if (++i < argc) { how.rc_file = argv[i]; continue; }
            if (fd_get(2)) io_printf(fd_get(2), "%s: %s: option requires an argument\n", name, argv[i - 1]);
            return 2;
        }
        if (!strcmp(argv[i], "--login")) { how.login = true; continue; }
        if (!strcmp(argv[i], "--noprofile")) { how.no_profile = true; continue; }
        if (!strcmp(argv[i], "--restricted")) { how.restricted = true; continue; }
        if (!strcmp(argv[i], "--norc")) { how.no_rc = true; continue; }
        if (!strcmp(argv[i], "--version")) {
            return out_puts("GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)\n"
                            "Copyright (C) 2022 Free Software Foundation, Inc.\n"
                            "License GPLv3+: GNU GPL version 3 or later <http://gnu.org/licenses/gpl.html>\n\n"
                            "This is free software; you are free to change and redistribute it.\n"
                            "There is NO WARRANTY, to the extent permitted by law.\n") < 0;
        }
        if (!strcmp(argv[i], "--posix")) { sb_puts(&names, "-posix "); continue; }
        if (!strcmp(argv[i], "--verbose")) { sb_putc(&options, 'v'); continue; }
        if (argv[i][1] == '-') { if (is_long_option(argv[i] + 2)) continue; return bad_option(name, argv[i], strlen(argv[i])); }
        char sign = argv[i][0], *letters = argv[i] + 1;
        for (char *c = letters; *c; c++) {
            if (*c == 'c' && sign == '-') command = true;
            else if (*c == 's') from_stdin = true;
            else if (*c == 'l') how.login = sign == '-';
            else if (*c == 'r' && sign == '-') how.restricted = true;
            else if (*c == 'o' || *c == 'O') {
                if (++i >= argc) return list_options(*c, sign);
                const option *known = option_find(*c == 'o' ? set_options : shopt_options, argv[i]);
                if (!known) return unknown_option(name, *c, argv[i]);
                sb_printf(&names, "%c%s%s ", sign, *c == 'O' ? "O" : "", argv[i]);
            } else if (!strchr("abefhiklmnprtuvxBCDEHPT", *c)) return bad_option(name, (char[]){ sign, *c, 0 }, 2);
            else if (sign == '-') sb_putc(&options, *c);
            else for (const option *o = set_options; o->name; o++) if (o->letter == *c) sb_printf(&names, "+%s ", o->name);
        }
    }
    if (names.len) { sb_putc(&options, ' '); sb_puts(&options, sb_str(&names)); }
    how.options = sb_str(&options);
    if (command) {
        if (i >= argc) { io_printf(fd_get(2), "%s: -c: option requires an argument\n", name); return 2; }
        char *text = argv[i++];
        if (i < argc) return child_run(&(child){ text, strlen(text), argc - i, argv + i, true, how });
        char *only[2] = { name, NULL };
        return child_run(&(child){ text, strlen(text), 1, only, true, how });
    }
    if (i < argc && !from_stdin) {
        size_t len;
        struct stat st;
        if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode)) {
            io_printf(fd_get(2), "%s: %s: Is a directory\n", argv[i], argv[i]);
            return 126;
        }
        char *text = read_script(argv[i], &len);
        if (!text) { if (fd_get(2)) io_printf(fd_get(2), "%s: %s: %s\n", name, argv[i], strerror(errno)); return how.plain ? PLAIN_FAILURE : 127; }
        if (is_binary(text, len)) {
            if (fd_get(2)) io_printf(fd_get(2), "%s: %s: cannot execute binary file\n", argv[i], argv[i]);
            free(text);
            return 126;
        }
        int status = child_run(&(child){ text, len, argc - i, argv + i, false, how });
        free(text);
        return status;
    }
    char **args = arena_alloc(&sh.tmp, ((size_t)(argc - i) + 2) * sizeof *args);
    args[0] = name;
    for (int k = i; k < argc; k++) args[k - i + 1] = argv[k];
    args[argc - i + 1] = NULL;
    return child_run(&(child){ NULL, 0, argc - i + 1, args, false, how });
}

