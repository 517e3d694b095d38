/* builtins.c - the table of builtins, their option scanner, and those too small for a family. */
#include "builtins.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { USAGE = 2 };

const builtin builtin_table[] = {
#define ENTRY(name, fn, flags) { name, fn, flags },
    BUILTINS(ENTRY)
#undef ENTRY
    { NULL, NULL, 0 } };

const builtin *builtin_find(const char *name)
{
    size_t lo = 0, hi = sizeof builtin_table / sizeof *builtin_table - 1;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int c = strcmp(name, builtin_table[mid].name);
        if (c == 0) return sh.shopt[S_COUNT - 1] && builtin_disabled(name) ? NULL : &builtin_table[mid];
        if (c < 0) hi = mid; else lo = mid + 1;
    }
    return NULL;
}

/* In posix mode a special builtin that was not used as it must be ends the shell; in sh any error of one does. */
int builtin_call(const builtin *b, int argc, char **argv)
{
    if (argc > 1 && argv[1][0] == '-' && !strcmp(argv[1], "--help") && !(b->flags & B_LITERAL)) { show_help(b->name); return 2; }
    bool strict = (sh.plain || sh.opt[O_POSIX]) && b->flags & B_SPECIAL;
    if (!strict) return b->fn(argc, argv);
    unsigned before = sh.complaints;
    int status = b->fn(argc, argv);
    bool own = sh.complaints != before && b->fn != b_eval && b->fn != b_source;
    if (own && (sh.plain ? status != 0 : status == USAGE) && !sh.unwind) sh_exit(PLAIN_FAILURE);
    return status;
}

bool is_program_too(const char *name)
{
    static const char *const both[] = { "[",      "bash", "dash",  "echo", "false", "kill",
                                        "printf", "pwd",  "rbash", "sh",   "test",  "true" };
    for (size_t i = 0; i < sizeof both / sizeof *both; i++) if (!strcmp(name, both[i])) return true;
    return false;
}

int next_opt(opts *o, const char *letters)
{
    if (!o->in || !*o->in) {
        if (o->at >= o->argc) return 0;
        const char *a = o->argv[o->at];
        if (a[0] != '-' || !a[1]) return 0;
        o->at++;
        if (!strcmp(a, "--")) return 0;
        o->in = a + 1;
    }
    char c = *o->in++;
    const char *spec = c == ':' ? NULL : strchr(letters, c);
    if (!spec) {
        b_error(o->argv[0], 2, "-%c: invalid option", c);
        b_usage(o->argv[0], o->usage);
        return '?';
    }
    if (spec[1] != ':') return c;
    if (*o->in) { o->arg = (char *)o->in; o->in = NULL; return c; }
    o->in = NULL;
    if (o->at >= o->argc) {
        b_error(o->argv[0], 2, "-%c: option requires an argument", c);
        b_usage(o->argv[0], o->usage);
        return '?';
    }
    o->arg = o->argv[o->at++];
    return c;
}

int b_true(int argc, char **argv) { (void)argc; (void)argv; return 0; }
int b_false(int argc, char **argv) { (void)argc; (void)argv; return 1; }

/* There is no line editing, and there are no lines to remember: only the options are looked at. */
int b_bind(int argc, char **argv)
{
    opts o = OPTS("bind [-lpsvPSVX] [-m keymap] [-f filename] [-q name] [-u name] [-r keyseq] [-x keyseq:shell-command] "
                  "[keyseq:readline-function or readline-command]");
    b_error("bind", 0, "warning: line editing not enabled");
    for (int c; (c = next_opt(&o, "lpsvPSVXm:f:q:u:r:x:"));) if (c == '?') return 2;
    return 0;
}

int b_test(int argc, char **argv)
{
    if (argv[0][0] == '[' && !argv[0][1]) {
        if (strcmp(argv[argc - 1], "]")) return b_error("[", 2, "missing `]'");
        argc--;
    }
    return test_command(argc - 1, argv + 1, argv[0]);
}

int b_let(int argc, char **argv)
{
    int64_t v = 0;
    if (argc < 2) return b_error("let", 1, "expression expected");
    const char *who = arith_who;
    arith_who = "let";
    bool ok = true;
    for (int i = 1; i < argc && ok; i++) {
        if (!strcmp(argv[i], "--") && i == 1) continue;
        ok = arith_eval_text(argv[i], &v);
    }
    arith_who = who;
    return ok ? v == 0 : 1;
}

int b_times(int argc, char **argv)
{
    opts o = OPTS("times");
    if (next_opt(&o, "")) return 2;
    return out_puts("0m0.000s 0m0.000s\n0m0.000s 0m0.000s\n") ? 1 : 0;
}

static int print_mask(unsigned m, bool symbolic, const char *prefix)
{
    char t[3][4];
    if (!symbolic) return out_printf("%s%04o\n", prefix, m) < 0;
    for (int i = 0; i < 3; i++) {
        unsigned bits = ~m >> (6 - 3 * i) & 7;
        char *p = t[i];
        if (bits & 4) *p++ = 'r';
        if (bits & 2) *p++ = 'w';
        if (bits & 1) *p++ = 'x';
        *p = 0;
    }
    return out_printf("%su=%s,g=%s,o=%s\n", prefix, t[0], t[1], t[2]) < 0;
}

/* u=rwx,g-w ...: changes the bits that are allowed; false after a message. */
static bool symbolic_mask(char *text, unsigned *allow)
{
    for (char *save, *clause = strtok_r(text, ",", &save); clause; clause = strtok_r(NULL, ",", &save)) {
        unsigned who = 0, bits = 0;
        char *p = clause;
        for (; *p && strchr("ugoa", *p); p++) who |= *p == 'u' ? 0700u : *p == 'g' ? 070u : *p == 'o' ? 07u : 0777u;
        if (!who) who = 0777;
        char op = *p;
        if (!op || !strchr("+-=", op)) { b_error("umask", 1, "`%c': invalid symbolic mode operator", op); return false; }
        for (p++; *p; p++) {
            if (!strchr("rwx", *p)) { b_error("umask", 1, "`%c': invalid symbolic mode character", *p); return false; }
            bits |= *p == 'r' ? 0444u : *p == 'w' ? 0222u : 0111u;
        }
        if (op == '+') *allow |= bits & who;
        else if (op == '-') *allow &= ~(bits & who);
        else *allow = (*allow & ~who) | (bits & who);
    }
    return true;
}

int b_umask(int argc, char **argv)
{
    opts o = OPTS("umask [-p] [-S] [mode]");
    bool symbolic = false, code = false;
    for (int c; (c = next_opt(&o, "pS"));) {
        if (c == '?') return 2;
        if (c == 'p') code = true; else symbolic = true;
    }
    unsigned m = umask_now();
    if (o.at >= argc) return print_mask(m, symbolic, !code ? "" : symbolic ? "umask -S " : "umask ");
    char *s = arena_strdup(&sh.tmp, argv[o.at]), *end;
    unsigned allow = ~m & 0777;
    if (*s >= '0' && *s <= '9') {
        unsigned long v = strtoul(s, &end, 8);
        if (*end || v > 07777) return b_error("umask", 1, "%s: octal number out of range", s);
        allow = ~(unsigned)v & 0777;
    } else if (!symbolic_mask(s, &allow)) return 1;
    umask(~allow & 0777);
    return symbolic ? print_mask(~allow & 0777, true, "") : 0;
}

/* Disabled builtins are remembered in a variable-free bitmap: enable -n is rare. */
static uint8_t disabled[sizeof builtin_table / sizeof *builtin_table];

bool builtin_disabled(const char *name)
{
    for (size_t i = 0; builtin_table[i].name; i++) if (!strcmp(builtin_table[i].name, name)) return disabled[i];
    return false;
}

static int cannot_load(const char *file)
{
    const char *why = strerror(ENOENT);
    return b_error("enable", 1, "cannot open shared object %s: %s: cannot open shared object file: %s", file, file, why);
}

int b_enable(int argc, char **argv)
{
    opts o = OPTS("enable [-a] [-dnps] [-f filename] [name ...]");
    bool off = false, all = false, special_only = false;
    for (int c; (c = next_opt(&o, "adf:nps"));) {
        if (c == '?') return 2;
        if (c == 'f') return sh.restricted ? b_error("enable", 1, "restricted") : cannot_load(o.arg);
        if (c == 'n') off = true;
        if (c == 'a') all = true;
        if (c == 's') special_only = true;
    }
    if (o.at >= argc) {
        for (size_t i = 0; builtin_table[i].name; i++) {
            if (builtin_table[i].fn == b_bash || (special_only && !(builtin_table[i].flags & B_SPECIAL)))
                continue;
            if (disabled[i] ? off || all : !off) out_printf("enable %s%s\n", disabled[i] ? "-n " : "", builtin_table[i].name);
        }
        return 0;
    }
    int status = 0;
    for (int k = o.at; k < argc; k++) {
        bool found = false;
        for (size_t i = 0; builtin_table[i].name; i++)
            if (!strcmp(builtin_table[i].name, argv[k])) {
                disabled[i] = off;
                found = true;
            }
        if (!found) status = b_error("enable", 1, "%s: not a shell builtin", argv[k]);
    }
    sh.shopt[S_COUNT - 1] = 0;
    for (size_t i = 0; i < sizeof disabled; i++) if (disabled[i]) sh.shopt[S_COUNT - 1] = 1;
    sh.func_gen++;
    return status;
}
