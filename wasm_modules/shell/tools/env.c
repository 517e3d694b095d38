/* env.c - env and printenv. A changed environment for one command is asked of the shell by running `env` as assignments before
 * it. */
#include "buffer.h"
#include <string.h>

/* The list without the names in drop, with NAME=value words put in. */
static char **changed(tool *t, char **list, int empty, char **drop, int drops, char **sets, int n) {
    size_t count = 0;
    while (list && list[count]) count++;
    char **result = tool_alloc(t, (count + (size_t)n + 1) * sizeof *result);
    size_t kept = 0;
    for (size_t i = 0; i < count && !empty; i++) {
        size_t len = strcspn(list[i], "=");
        int gone = 0;
        for (int d = 0; d < drops; d++) gone |= strlen(drop[d]) == len && !strncmp(drop[d], list[i], len);
        if (!gone) result[kept++] = list[i];
    }
    for (int s = 0; s < n; s++) {
        size_t len = strcspn(sets[s], "="), i = 0;
        while (i < kept && !(strcspn(result[i], "=") == len && !strncmp(result[i], sets[s], len))) i++;
        if (i == kept) kept++;
        result[i] = sets[s];
    }
    return result;
}

/* The character that \c stands for in env -S outside of single quotes; 0 where there is none. */
static char escaped(char c) {
    static const char from[] = "fnrtv#$_\"'\\", to[] = "\f\n\r\t\v#$ \"'\\";
    const char *at = c ? strchr(from, c) : NULL;
    return at ? to[at - from] : '\0';
}

/* The value of ${NAME} at *p, which is left on its last character; NULL after a message for any other use of $. */
static const char *value_at(tool *t, const char **p) {
    size_t n = 0;
    const char *name = *p + 2;
    if ((*p)[1] == '{') n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
    if (!n || name[n] != '}' || (*name >= '0' && *name <= '9')) {
        tool_fail(t, 125, "only ${VARNAME} expansion is supported, error at: %s", *p);
        return NULL;
    }
    const char *value = t->getenv ? t->getenv(t, tool_strndup(t, name, n)) : NULL;
    *p = name + n;
    return value ? value : "";
}

/* env -S: the words of text before the rest of the arguments; NULL after a message when text is not well formed. */
static char **split_words(tool *t, const char *text, char **rest, int rests, int *count) {
    char **words = tool_alloc(t, (strlen(text) / 2 + (size_t)rests + 3) * sizeof *words);
    buffer word = {.t = t};
    int n = 0, quote = 0, open = 0;
    words[n++] = "env";
    for (const char *p = text;; p++) {
        int blank = !quote && (*p == '\\' ? p[1] == '_' : *p && strchr(" \t\n\v\f\r", *p));
        if (!quote && !open && *p == '#') p += strlen(p);
        if (*p == '\\' && p[1] == 'c' && !quote) p += strlen(p);
        if (!*p || blank) {
            if (!*p && quote) { tool_fail(t, 125, "no terminating quote in -S string"); return NULL; }
            if (open) words[n++] = tool_strndup(t, word.p ? word.p : "", word.n);
            open = 0;
            word.n = 0;
            if (!*p) break;
            if (*p == '\\') p++;
            continue;
        }
        open = 1;
        if (quote ? *p == quote : *p == '\'' || *p == '"') quote = quote ? 0 : *p;
        else if (*p == '\\' && quote == '\'') {
            if (p[1] == '\'' || p[1] == '\\') p++;
            buffer_putc(&word, *p);
        } else if (*p == '\\') {
            char c = escaped(*++p);
            if (!c) {
                tool_fail(t, 125, *p ? "invalid sequence '\\%c' in -S" : "invalid backslash at end of string in -S", *p);
                return NULL;
            }
            buffer_putc(&word, c);
        } else if (*p == '$' && quote != '\'') {
            const char *value = value_at(t, &p);
            if (!value) return NULL;
            buffer_puts(&word, value);
        } else buffer_putc(&word, *p);
    }
    for (int i = 0; i < rests; i++) words[n++] = rest[i];
    words[n] = NULL;
    *count = n;
    return words;
}

int tool_env(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"ignore-environment", 0, 'i'}, {"null", 0, '0'}, {"unset", 1, 'u'}, {"chdir", 1, 'C'},
        {"split-string", 1, 'S'}, {"debug", 0, 'v'}, {"default-signal", 2, 's'},
        {"ignore-signal", 2, 's'}, {"block-signal", 2, 's'}, {"list-signal-handling", 0, 's'}, {0, 0, 0}};
    int empty = 0, end = '\n', drops = 0, explain = 0, c;
    char **drop = tool_alloc(t, (size_t)argc * sizeof *drop);
    char *dir = NULL;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "+i0u:C:S:v", longs)) != -1;) switch (c) {
        case 'S':
            argv = split_words(t, o.arg, argv + o.index, argc - o.index, &argc);
            if (!argv) return 125;
            tool_opts_start(&o, argc, argv);
            drop = tool_realloc(t, drop, (size_t)(argc + drops) * sizeof *drop);
            break;
        case 'i': empty = 1; break;
        case '0': end = '\0'; break;
        case 'u':
            if (!*o.arg || strchr(o.arg, '=')) return tool_fail(t, 125, "cannot unset %s: Invalid argument", tool_cite(t, o.arg));
            drop[drops++] = o.arg;
            break;
        case 'C': dir = o.arg; break;
        case 'v': explain = 1; break;
        case 's': break;                  /* there are no signals */
        default: return 125;
    }
    int first = o.index;
    if (first < argc && !strcmp(argv[first], "-")) { empty = 1; first++; }
    int command = first;
    while (command < argc && strchr(argv[command], '=')) command++;
    char **list = changed(t, t->environ ? t->environ(t) : NULL, empty, drop, drops, argv + first, command - first);
    if (command >= argc) {
        for (; *list; list++) if (io_puts(t->out, *list) < 0 || io_putc(t->out, end) < 0) return 1;
        return 0;
    }
    if (!end) { tool_fail(t, 125, "cannot specify --null (-0) with command"); return tool_usage(t, 125); }
    if (t->knows && !t->knows(t, argv[command]))
        return tool_fail(t, 127, "%s: No such file or directory", tool_cite(t, argv[command]));
    if (explain) {
        if (empty) io_puts(t->err, "cleaning environ\n");
        for (int i = 0; i < drops && !empty; i++) io_printf(t->err, "unset:    %s\n", drop[i]);
        for (int i = first; i < command; i++) io_printf(t->err, "setenv:   %s\n", argv[i]);
        if (dir) io_printf(t->err, "chdir:    %s\n", tool_quote(t, dir));
        io_printf(t->err, "executing: %s\n", argv[command]);
        for (int i = command; i < argc; i++) io_printf(t->err, "   arg[%d]= %s\n", i - command, tool_cite(t, argv[i]));
    }
    if (!t->run_env) return tool_fail(t, 126, "cannot run %s", argv[command]);
    return t->run_env(t, list, dir, argc - command, argv + command);
}

int tool_printenv(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"null", 0, '0'}, {0, 0, 0}};
    int end = '\n', c, status = 0;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "+0", longs)) != -1;) {
        if (c != '0') return 2;
        end = '\0';
    }
    if (o.index >= argc) {
        for (char **list = t->environ ? t->environ(t) : NULL; list && *list; list++)
            if (io_puts(t->out, *list) < 0 || io_putc(t->out, end) < 0) return 1;
        return 0;
    }
    for (int i = o.index; i < argc; i++) {
        const char *value = t->getenv && !strchr(argv[i], '=') ? t->getenv(t, argv[i]) : NULL;
        if (!value) status = 1;
        else if (io_puts(t->out, value) < 0 || io_putc(t->out, end) < 0) return 1;
    }
    return status;
}
