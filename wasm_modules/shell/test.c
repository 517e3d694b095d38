/* test.c - the test and [ commands: bash's rules by the number of arguments, then a small grammar for longer ones. */
#include "sh.h"
#include <string.h>

typedef struct { char **v; int n, at; const char *who; bool bad; int depth; } tst;

static bool is_unary(const char *s) { return s[0] == '-' && s[1] && !s[2] && strchr("abcdefghknoprstuvwxzGLNORS", s[1]); }

static bool is_binary(const char *s)
{
    static const char *const ops[] = { "=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef" };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) if (!strcmp(s, ops[i])) return true;
    return false;
}

static int fail(tst *t, const char *what, const char *arg)
{
    if (!t->bad) {
        if (arg) b_error(t->who, 2, "%s: %s", arg, what); else b_error(t->who, 2, "%s", what);
    }
    t->bad = true;
    return 2;
}

/* [ still has its closing bracket to find instead. */
static int no_paren(tst *t)
{
    const char *found = t->at < t->n ? t->v[t->at] : !strcmp(t->who, "[") ? "]" : NULL;
    if (!found) return fail(t, "`)' expected", NULL);
    strbuf b = { .a = &sh.tmp };
    sb_printf(&b, "`)' expected, found %s", found);
    return fail(t, sb_str(&b), NULL);
}

static int parse_or(tst *t);

static int by_count(tst *t, char **v, int n)
{
    if (n == 0) return 1;
    if (n == 1) return v[0][0] == 0;
    if (n == 2) {
        if (!strcmp(v[0], "!")) return v[1][0] != 0;
        if (is_unary(v[0])) return cond_unary(v[0][1], v[1], t->who);
        return fail(t, "unary operator expected", v[0]);
    }
    if (n == 3) {
        if (is_binary(v[1])) return cond_binary(v[1], v[0], v[2], t->who);
        if (!strcmp(v[1], "-a")) return !(v[0][0] && v[2][0]);
        if (!strcmp(v[1], "-o")) return !(v[0][0] || v[2][0]);
        if (!strcmp(v[0], "!")) { int r = by_count(t, v + 1, 2); return r > 1 ? r : !r; }
        if (!strcmp(v[0], "(") && !strcmp(v[2], ")")) return v[1][0] == 0;
        return fail(t, "binary operator expected", v[1]);
    }
    if (n == 4 && !strcmp(v[0], "!")) { int r = by_count(t, v + 1, 3); return r > 1 ? r : !r; }
    if (n == 4 && !strcmp(v[0], "(") && !strcmp(v[3], ")")) return by_count(t, v + 1, 2);
    int r = parse_or(t);
    if (!t->bad && t->at < t->n && v[t->at][0] == '-') return b_error(t->who, 2, "syntax error: `%s' unexpected", v[t->at]);
    if (!t->bad && t->at < t->n) return fail(t, "too many arguments", NULL);
    return t->bad ? 2 : r;
}

static int parse_primary(tst *t)
{
    if (t->at >= t->n || ++t->depth > 100) return fail(t, "argument expected", NULL);
    char *s = t->v[t->at];
    int left = t->n - t->at, r;
    if (!strcmp(s, "!")) { t->at++; r = parse_primary(t); t->depth--; return r > 1 ? r : !r; }
    if (!strcmp(s, "(")) {
        t->at++;
        r = parse_or(t);
        t->depth--;
        if (t->at >= t->n || strcmp(t->v[t->at], ")")) return no_paren(t);
        t->at++;
        return r;
    }
    t->depth--;
    if (left >= 3 && is_binary(t->v[t->at + 1])) {
        r = cond_binary(t->v[t->at + 1], s, t->v[t->at + 2], t->who);
        t->at += 3;
        t->bad |= r > 1;
        return r;
    }
    if (left >= 2 && is_unary(s)) { r = cond_unary(s[1], t->v[t->at + 1], t->who); t->at += 2; return r; }
    t->at++;
    return s[0] == 0;
}

static int parse_and(tst *t)
{
    int r = parse_primary(t);
    while (!t->bad && t->at < t->n && !strcmp(t->v[t->at], "-a")) { t->at++; int b = parse_primary(t); r = r || b; }
    return r;
}

static int parse_or(tst *t)
{
    int r = parse_and(t);
    while (!t->bad && t->at < t->n && !strcmp(t->v[t->at], "-o")) { t->at++; int b = parse_and(t); r = r && b; }
    return r;
}

int test_command(int argc, char **argv, const char *name)
{
    tst t = { .v = argv, .n = argc, .who = name };
    int r = by_count(&t, argv, argc);
    return r < 0 ? 2 : r;
}
