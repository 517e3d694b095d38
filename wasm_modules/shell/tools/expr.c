/* expr.c - evaluate the expression given as words. */
#include "bc.h"
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
    const char *digits = text + (*text == '-');
    if (!*digits || digits[strspn(digits, "0123456789")]) return 0;
    *v = strtoll(text, NULL, 10);
    return 1;
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

/* Numbers that 64 bits do not hold are computed digit by digit. */
static int is_large(const char *text) { return strlen(text) > 18; }

static num to_number(expr_state *s, const char *text) {
    int negative = *text == '-';
    num n = num_parse(s->t, text + negative, strlen(text + negative), 10);
    n.negative = negative && !num_is_zero(n);
    return n;
}

static const char *large(expr_state *s, const char *l, int op, const char *r) {
    num a = to_number(s, l), b = to_number(s, r), v = a;
    if (a.whole > NUM_LONGEST / 2 || b.whole > NUM_LONGEST / 2) return fail(s, "number too large");
    if (op == '+') v = num_add(s->t, a, b);
    else if (op == '-') v = num_sub(s->t, a, b);
    else if (op == '*') v = num_mul(s->t, a, b, 0);
    else if (op == '/') num_div(s->t, a, b, 0, &v);
    else num_mod(s->t, a, b, 0, &v);
    buffer text = {.t = s->t};
    num_write(&text, v, 10);
    buffer_puts(&text, "");
    /* long lines of bc are folded; these are not */
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) if (text.p[i] != '\\' && text.p[i] != '\n') text.p[n++] = text.p[i];
    text.p[n] = '\0';
    return text.p;
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
        if ((op == '/' || op == '%') && is_null(r)) return fail(s, "division by zero");
        int over = is_large(l) || is_large(r);
        if (over) { l = large(s, l, op, r); continue; }
        if (op == '+') over = __builtin_add_overflow(a, b, &v);
        else if (op == '-') over = __builtin_sub_overflow(a, b, &v);
        else if (op == '*') over = __builtin_mul_overflow(a, b, &v);
        else if (b == -1) { if (op == '/') over = __builtin_sub_overflow(0LL, a, &v); }
        else v = op == '/' ? a / b : a % b;
        l = over ? large(s, l, op, r) : from_integer(s, v);
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
        int numbers = to_integer(l, &a) && to_integer(r, &b), yes,
            order = !numbers                       ? strcmp(l, r)
                    : is_large(l) || is_large(r) ? num_compare(to_number(s, l), to_number(s, r))
                                                   : (a < b ? -1 : a > b);
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
    if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "--version"))) return tool_about(t, t->name, argv[1]);
    if (argc > 1 && !strcmp(argv[1], "--")) s.at = 2;
    if (s.at >= argc) { tool_fail(t, 2, "missing operand"); return tool_usage(t, 2); }
    const char *v = or_expr(&s);
    if (!s.failed && s.at < argc) fail(&s, tool_format(t, "syntax error: unexpected argument %s", tool_cite(t, argv[s.at])));
    if (s.failed) return s.failed;
    io_puts(t->out, v);
    io_putc(t->out, '\n');
    return is_null(v);
}
