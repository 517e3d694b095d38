/* bc_expression.c - bc's expressions, from assignment down to names and numbers; each is computed as it is read. */
#include "bc_run.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A point by itself is the last value that was printed. */
static int is_point(const bc_state *s) {
    if (s->p >= s->end || *s->p != '.') return 0;
    return s->p + 1 == s->end || !(isdigit((unsigned char)s->p[1]) || isupper((unsigned char)s->p[1]));
}

/* A place to assign to: a point, a name, an element name[i], or scale ibase obase last. */
char *bc_place_name(bc_state *s) {
    size_t n = bc_word_length(s);
    if (is_point(s)) {
        s->p++;
        return tool_strdup(s->t, "last");
    }
    char *name = tool_strndup(s->t, s->p, n);
    s->p += n;
    if (bc_accept(s, "[")) {
        num i = bc_expression(s);
        if (!bc_accept(s, "]")) bc_fail(s, "syntax error");
        return tool_format(s->t, "%s[%lld]", name, num_to_int(i));
    }
    return name;
}

static num get_place(bc_state *s, const char *name) {
    if (!strcmp(name, "scale")) return num_from(s->t, (long long)s->scale);
    if (!strcmp(name, "ibase")) return num_from(s->t, s->ibase);
    if (!strcmp(name, "obase")) return num_from(s->t, s->obase);
    if (!strcmp(name, "last")) return s->last;
    return bc_variable(s, name)->value;
}

static void set_place(bc_state *s, const char *name, num v) {
    if (s->skip) return;
    long long n = num_to_int(v);
    if (!strcmp(name, "scale")) { s->scale = n < 0 ? 0 : n > 10000 ? 10000 : (size_t)n; }
    else if (!strcmp(name, "ibase")) s->ibase = n < 2 ? 2 : n > 36 ? 36 : (int)n;
    else if (!strcmp(name, "obase")) { if (n < 2) n = 2; s->obase = n > 9999 ? 9999 : (int)n; }
    else if (!strcmp(name, "last")) s->last = v;
    else bc_variable(s, name)->value = v;
}

/* name[] as an argument; NULL when something else stands here. */
static char *array_name(bc_state *s) {
    const char *start = s->p;
    size_t n = bc_word_length(s);
    char *name = tool_strndup(s->t, s->p, n);
    s->p += n;
    if (n && bc_accept(s, "[") && bc_accept(s, "]")) return name;
    s->p = start;
    return NULL;
}

static int is_void(bc_state *s, const char *name) {
    for (bc_func *f = s->funcs; f; f = f->next) if (!strcmp(f->name, name)) return f->is_void;
    return 0;
}

static num primary(bc_state *s) {
    bc_space(s);
    if (s->error) return bc_zero(s);
    if (s->p >= s->end) return bc_fail(s, "syntax error");
    char c = *s->p;
    if (bc_accept(s, "(")) {
        num v = bc_expression(s);
        return bc_accept(s, ")") && !bc_peek(s, "--") && !bc_peek(s, "++") ? v : bc_fail(s, "syntax error");
    }
    if (isdigit((unsigned char)c) || c == '.' || (c >= 'A' && c <= 'Z')) {
        const char *start = s->p;
        buffer b = {.t = s->t};
        int dots = 0;
        for (; s->p < s->end; s->p++) {
            if (s->end - s->p >= 2 && s->p[0] == '\\' && s->p[1] == '\n') { s->p++; continue; }
            if (*s->p == '.' ? dots++ > 0 : !(isdigit((unsigned char)*s->p) || (*s->p >= 'A' && *s->p <= 'Z'))) break;
            buffer_putc(&b, *s->p);
        }
        if (s->end - s->p >= 2 && (!memcmp(s->p, "--", 2) || !memcmp(s->p, "++", 2)))
            return bc_fail(s, "syntax error"); /* of a number */
        if (b.n == 1 && *start == '.') return s->last;
        size_t zeros = 0;                                /* 0A is the digit A, whatever ibase is */
        while (zeros + 1 < b.n && b.p[zeros] == '0') zeros++;
        return num_parse(s->t, b.p + zeros, b.n - zeros, s->ibase);
    }
    size_t n = bc_word_length(s);
    if (!n) return bc_fail(s, "syntax error");
    const char *after = s->p + n;
    while (after < s->end && (*after == ' ' || *after == '\t')) after++;
    if (after < s->end && *after == '(') {
        char *name = tool_strndup(s->t, s->p, n), *names[16] = {0};
        num args[16];
        int count = 0;
        s->p = after + 1;
        if (!bc_accept(s, ")")) {
            do {
                if (count == 16) return bc_fail(s, "too many arguments");
                names[count] = array_name(s);
                args[count] = names[count] ? bc_zero(s) : bc_expression(s);
                count++;
            } while (bc_accept(s, ","));
            if (!bc_accept(s, ")")) return bc_fail(s, "syntax error");
        }
        if (!strcmp(name, "read") && !s->skip) {
            const char *line;
            ssize_t got = io_line(s->t->in, &line, '\n');
            return got > 0 ? num_parse(s->t, line, (size_t)got - (line[got - 1] == '\n'), s->ibase) : bc_zero(s);
        }
        if (s->skip) return bc_zero(s);
        num r = bc_call(s, name, args, names, count);
        s->void_call = is_void(s, name);
        return r;
    }
    char *name = bc_place_name(s);
    if (bc_peek(s, "++") || bc_peek(s, "--")) {
        int up = *s->p == '+';
        s->p += 2;
        num v = get_place(s, name);
        set_place(s, name, up ? num_add(s->t, v, num_from(s->t, 1)) : num_sub(s->t, v, num_from(s->t, 1)));
        return v;
    }
    return get_place(s, name);
}

static num unary(bc_state *s) {
    if (++s->depth > 800 || tool_too_deep(s->t)) { s->depth--; return bc_fail(s, "expression nests too deep"); }
    num v;
    int void_call = 0;
    if (bc_peek(s, "++") || bc_peek(s, "--")) {
        int up = *s->p == '+';
        s->p += 2;
        char *name = bc_place_name(s);
        v = get_place(s, name);
        v = up ? num_add(s->t, v, num_from(s->t, 1)) : num_sub(s->t, v, num_from(s->t, 1));
        set_place(s, name, v);
    } else if (bc_accept(s, "-")) { v = unary(s); v.negative = !v.negative && !num_is_zero(v); }
    else {
        s->void_call = 0;
        v = primary(s);
        void_call = s->void_call;
    }
    s->silent = void_call;
    s->void_call = 0;
    s->depth--;
    return v;
}

static num power(bc_state *s) {
    num base = unary(s);
    if (!bc_peek(s, "^=") && bc_accept(s, "^")) {
        num r = bc_zero(s), e = power(s);
        if (s->error || s->skip) return r;
        if (num_pow(s->t, base, e, s->scale, &r) < 0) return bc_fail(s, "exponent too large in raise");
        return r;
    }
    return base;
}

static num product(bc_state *s) {
    num a = power(s);
    for (;;) {
        bc_space(s);
        if (s->p >= s->end || s->error || !strchr("*/%", *s->p) || (s->p + 1 < s->end && s->p[1] == '=')) return a;
        char op = *s->p++;
        num b = power(s), r = bc_zero(s);
        if (s->error) return r;
        if (s->skip) continue;
        if (op == '*') a = num_mul(s->t, a, b, s->scale);
        else if ((op == '/' ? num_div(s->t, a, b, s->scale, &r) : num_mod(s->t, a, b, s->scale, &r)) < 0)
            return bc_fail(s, op == '/' ? "Divide by zero" : "Modulo by zero");
        else a = r;
    }
}

static num sum(bc_state *s) {
    num a = product(s);
    for (;;) {
        bc_space(s);
        if (s->p >= s->end || s->error || (*s->p != '+' && *s->p != '-') || (s->p + 1 < s->end && s->p[1] == '=')) return a;
        char op = *s->p++;
        num b = product(s);
        a = op == '+' ? num_add(s->t, a, b) : num_sub(s->t, a, b);
    }
}

static num assignment(bc_state *s);

static num relation(bc_state *s) {
    static const char *const ops[] = {"<=", ">=", "==", "!=", "<", ">"};
    num a = assignment(s);
    for (;;) {
        int op = -1;
        for (int i = 0; i < 6; i++) if (bc_accept(s, ops[i])) { op = i; break; }
        if (op < 0 || s->error) return a;
        num b = assignment(s);
        s->silent = 0;
        int order = num_compare(a, b), yes = op == 0   ? order <= 0
                                             : op == 1 ? order >= 0
                                             : op == 2 ? order == 0
                                             : op == 3 ? order != 0
                                             : op == 4 ? order < 0
                                                       : order > 0;
        a = num_from(s->t, yes);
    }
}

static num logical(bc_state *s, int level) {
    if (level == 2) {
        if (!bc_peek(s, "!=") && bc_accept(s, "!")) {
            num v = num_from(s->t, num_is_zero(logical(s, 2)));
            s->silent = 0;
            return v;
        }
        return relation(s);
    }
    num a = logical(s, level + 1);
    while (!s->error && bc_accept(s, level ? "&&" : "||")) {
        num b = logical(s, level + 1);
        int x = !num_is_zero(a), y = !num_is_zero(b);
        a = num_from(s->t, level ? x && y : x || y);
        s->silent = 0;
    }
    return a;
}

/* Assignment when a place and an assignment operator stand here, else a sum: it binds more than comparisons do. */
static num assignment(bc_state *s) {
    const char *start = s->p;
    if (s->error) return bc_zero(s);
    if (bc_word_length(s) || is_point(s)) {
        char *name = bc_place_name(s);
        bc_space(s);
        if (!s->error && s->p < s->end) {
            char op = *s->p;
            if (op == '=' && !(s->p + 1 < s->end && s->p[1] == '=')) {
                s->p++;
                num v = assignment(s);
                set_place(s, name, v);
                s->silent = 1;
                return get_place(s, name);
            }
            if (strchr("+-*/%^", op) && s->p + 1 < s->end && s->p[1] == '=') {
                s->p += 2;
                num b = assignment(s), a = get_place(s, name), r = bc_zero(s);
                int bad = 0;
                switch (op) {
                case '+': r = num_add(s->t, a, b); break;
                case '-': r = num_sub(s->t, a, b); break;
                case '*': r = num_mul(s->t, a, b, s->scale); break;
                case '/': bad = num_div(s->t, a, b, s->scale, &r) < 0; break;
                case '%': bad = num_mod(s->t, a, b, s->scale, &r) < 0; break;
                default: bad = num_pow(s->t, a, b, s->scale, &r) < 0;
                }
                if (bad && !s->skip) return bc_fail(s, "Divide by zero");
                set_place(s, name, r);
                s->silent = 1;
                return r;
            }
        }
        if (s->error) return bc_zero(s);
        s->p = start;
    }
    return sum(s);
}

num bc_expression(bc_state *s) {
    if (s->error) return bc_zero(s);
    if (++s->steps > 50000000) return bc_fail(s, "too many steps");
    return logical(s, 0);
}
