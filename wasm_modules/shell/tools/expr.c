/* expr.c - evaluate the expression given as words. */
#include "buffer.h"
#include "patterns.h"
#include "../utf8.h"
#include <stdlib.h>
#include <string.h>

typedef struct { tool *t; char **argv; int argc, at, failed, depth; } expr_state;

static const char *or_expr(expr_state *s);

static const char *fail(expr_state *s, const char *message) {
    if (!s->failed) { s->failed = 2; tool_fail(s->t, 2, "%s", message); }
    return "";
}

static const char *word(expr_state *s) { return s->at < s->argc ? s->argv[s->at] : NULL; }
static int accept(expr_state *s, const char *w) { if (!word(s) || strcmp(word(s), w)) return 0; s->at++; return 1; }

static int to_integer(const char *text, long long *v) {
    char *end;
    if (!*text || *text == '+' || *text == ' ') return 0;
    *v = strtoll(text, &end, 10);
    return !*end && end != text;
}

static const char *from_integer(expr_state *s, long long v) { return tool_format(s->t, "%lld", v); }
static int is_null(const char *v) { long long n; return !*v || (to_integer(v, &n) && n == 0); }

static const char *match(expr_state *s, const char *text, const char *pattern) {
    const char *error;
    char *anchored = tool_format(s->t, "%s", pattern);
    regex *re = pattern_compile(s->t, anchored, strlen(anchored), 0, &error);
    if (!re) return fail(s, error);
    regex_span g[2];
    int found = regex_match_at(re, text, strlen(text), 0, g, 2) > 0;
    if (regex_groups(re))
        return found && g[1].start >= 0 ? tool_strndup(s->t, text + g[1].start, (size_t)(g[1].end - g[1].start)) : "";
    return from_integer(s, found ? (long long)utf8_length(text, (size_t)g[0].end) : 0);
}

static const char *primary(expr_state *s) {
    if (s->failed) return "";
    if (!word(s))
        return s->at && s->argv[s->at - 1]
                   ? fail(s, tool_format(s->t, "syntax error: missing argument after %s", tool_cite(s->t, s->argv[s->at - 1])))
                   : fail(s, "missing operand");
    if (++s->depth > 200) return fail(s, "expression nests too deep");
    const char *r;
    if (accept(s, "(")) {
        r = or_expr(s);
        if (!accept(s, ")") && !s->failed)
            fail(s, word(s) ? tool_format(s->t, "syntax error: expecting ')' instead of %s", tool_cite(s->t, word(s)))
                            : tool_format(s->t, "syntax error: expecting ')' after %s", tool_cite(s->t, s->argv[s->at - 1])));
    } else if (accept(s, "+")) r = word(s) ? s->argv[s->at++] : fail(s, "syntax error: missing argument after '+'");
    else if (accept(s, "length")) { const char *v = primary(s); r = from_integer(s, (long long)utf8_length(v, strlen(v))); }
    else if (accept(s, "match")) { const char *a = primary(s), *b = primary(s); r = match(s, a, b); }
    else if (accept(s, "index")) {
        const char *a = primary(s), *b = primary(s);
        size_t at = strcspn(a, b);
        r = from_integer(s, a[at] ? (long long)utf8_length(a, at) + 1 : 0);
    } else if (accept(s, "substr")) {
        const char *a = primary(s);
        long long from = 0, n = 0, ok = to_integer(primary(s), &from);
        ok &= to_integer(primary(s), &n);
        size_t len = strlen(a), chars = utf8_length(a, len);
        if (!ok || from < 1 || n < 1 || (unsigned long long)from > chars) r = "";
        else {
            size_t x = utf8_offset(a, len, (size_t)from - 1), y = x + utf8_offset(a + x, len - x, (size_t)n);
            r = tool_strndup(s->t, a + x, y - x);
        }
    } else {
        if (!strcmp(word(s), ")")) return fail(s, "syntax error: unexpected ')'");
        r = s->argv[s->at++];
    }
    s->depth--;
    return r;
}

static const char *matching(expr_state *s) {
    const char *l = primary(s);
    while (accept(s, ":")) { const char *r = primary(s); l = match(s, l, r); }
    return l;
}

static const char *arithmetic(expr_state *s, int level) {
    const char *l = level ? arithmetic(s, 0) : matching(s);
    for (;;) {
        int op = 0;
        const char *ops = level ? "+-" : "*/%";
        if (s->failed || !word(s) || strlen(word(s)) != 1 || !strchr(ops, *word(s))) return l;
        op = *s->argv[s->at++];
        const char *r = level ? arithmetic(s, 0) : matching(s);
        long long a, b, v = 0;
        if (s->failed) return "";
        if (!to_integer(l, &a) || !to_integer(r, &b)) return fail(s, "non-integer argument");
        if ((op == '/' || op == '%') && !b) return fail(s, "division by zero");
        int over = 0;
        if (op == '+') over = __builtin_add_overflow(a, b, &v);
        else if (op == '-') over = __builtin_sub_overflow(a, b, &v);
        else if (op == '*') over = __builtin_mul_overflow(a, b, &v);
        else if (b == -1) { if (op == '/') over = __builtin_sub_overflow(0LL, a, &v); }
        else v = op == '/' ? a / b : a % b;
        if (over) return fail(s, "arithmetic overflow");
        l = from_integer(s, v);
    }
}

static const char *comparison(expr_state *s) {
    static const char *const ops[] = {"<", "<=", "=", "==", "!=", ">=", ">"};
    const char *l = arithmetic(s, 1);
    for (;;) {
        int op = -1;
        for (int i = 0; i < 7 && !s->failed; i++) if (accept(s, ops[i])) { op = i; break; }
        if (op < 0) return l;
        const char *r = arithmetic(s, 1);
        long long a, b;
        int order = to_integer(l, &a) && to_integer(r, &b) ? (a < b ? -1 : a > b) : strcmp(l, r), yes;
        yes = op == 0   ? order < 0
              : op == 1 ? order <= 0
              : op <= 3 ? order == 0
              : op == 4 ? order != 0
              : op == 5 ? order >= 0
                        : order > 0;
        l = yes ? "1" : "0";
    }
}

static const char *and_expr(expr_state *s) {
    const char *l = comparison(s);
    while (accept(s, "&")) { const char *r = comparison(s); if (is_null(l) || is_null(r)) l = "0"; }
    return l;
}

static const char *or_expr(expr_state *s) {
    const char *l = and_expr(s);
    while (accept(s, "|")) { const char *r = and_expr(s); if (is_null(l)) l = is_null(r) ? "0" : r; }
    return l;
}

int tool_expr(tool *t, int argc, char **argv) {
    expr_state s = {.t = t, .argv = argv, .argc = argc, .at = 1};
    if (argc > 1 && !strcmp(argv[1], "--")) s.at = 2;
    if (s.at >= argc) { tool_fail(t, 2, "missing operand"); return tool_usage(t, 2); }
    const char *v = or_expr(&s);
    if (!s.failed && s.at < argc) fail(&s, tool_format(t, "syntax error: unexpected argument %s", tool_cite(t, argv[s.at])));
    if (s.failed) return s.failed;
    io_puts(t->out, v);
    io_putc(t->out, '\n');
    return is_null(v);
}
