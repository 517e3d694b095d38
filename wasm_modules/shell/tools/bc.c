/* bc.c - the calculator language: expressions, variables, arrays, functions, if while for, scale ibase obase, -l with s c a l e j. Statements run as they are
 * parsed; bodies are kept as text and parsed again each time round, which keeps this one pass. */
#include "bc.h"
#include "inputs.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct bc_var { char *name; num value; struct bc_var *next; } bc_var;
typedef struct bc_func { char *name; char **params; int params_n; char **autos; int autos_n; char *body; struct bc_func *next; } bc_func;
typedef struct { tool *t; const char *p, *end; size_t scale; int ibase, obase, error, skip, depth, status, quit, line_start; bc_var *vars; bc_func *funcs; num last, result; enum { GO, BREAK, CONTINUE, RETURN } flow; long steps; } bc_state;

static num expression(bc_state *s);
static void statement(bc_state *s);

static num zero(bc_state *s) { return num_from(s->t, 0); }

static num fail(bc_state *s, const char *message) {
    if (!s->error) {
        s->error = 1;
        io_flush(s->t->out);
        if (!strncmp(message, "Runtime", 7) || !strcmp(message, "syntax error")) io_printf(s->t->err, "(standard_in) %d: %s\n", 1, message);
        else io_printf(s->t->err, "Runtime error (func=(main), adr=%d): %s\n", 3, message);
    }
    return zero(s);
}

static void space(bc_state *s) {
    for (;;) {
        if (s->p < s->end && (*s->p == ' ' || *s->p == '\t')) s->p++;
        else if (s->end - s->p >= 2 && s->p[0] == '\\' && s->p[1] == '\n') s->p += 2;
        else if (s->end - s->p >= 2 && s->p[0] == '/' && s->p[1] == '*') { s->p += 2; while (s->end - s->p >= 2 && !(s->p[0] == '*' && s->p[1] == '/')) s->p++; s->p = s->end - s->p >= 2 ? s->p + 2 : s->end; }
        else if (s->p < s->end && *s->p == '#') while (s->p < s->end && *s->p != '\n') s->p++;
        else return;
    }
}

static void space_lines(bc_state *s) { for (space(s); s->p < s->end && (*s->p == '\n' || *s->p == ';'); space(s)) s->p++; }
static int peek(bc_state *s, const char *w) { space(s); size_t n = strlen(w); return (size_t)(s->end - s->p) >= n && !memcmp(s->p, w, n); }
static int accept(bc_state *s, const char *w) { if (!peek(s, w)) return 0; s->p += strlen(w); return 1; }

static size_t word_length(bc_state *s) {
    space(s);
    const char *q = s->p;
    if (q >= s->end || !islower((unsigned char)*q)) return 0;
    while (q < s->end && (islower((unsigned char)*q) || isdigit((unsigned char)*q) || *q == '_')) q++;
    return (size_t)(q - s->p);
}

static int accept_word(bc_state *s, const char *w) { size_t n = word_length(s); if (n != strlen(w) || memcmp(s->p, w, n)) return 0; s->p += n; return 1; }

static bc_var *variable(bc_state *s, const char *name) {
    for (bc_var *v = s->vars; v; v = v->next) if (!strcmp(v->name, name)) return v;
    bc_var *v = tool_alloc(s->t, sizeof *v);
    v->name = tool_strdup(s->t, name);
    v->value = zero(s);
    v->next = s->vars;
    s->vars = v;
    return v;
}

/* The natural functions work in doubles first and are refined to the scale asked for. */
static num series(bc_state *s, char name, num x) {
    tool *t = s->t;
    size_t want = s->scale, work = want + 8;
    num r = zero(s), term, q;
    if (name == 'e') {
        /* e^x: halve until small, sum, square back */
        int halvings = 0, negative = x.negative;
        num small = num_cut(t, x, work + 10);
        small.negative = 0;
        num one = num_from(t, 1), two = num_from(t, 2);
        while (num_compare(small, one) > 0 && halvings < 64) { num_div(t, small, two, work + 10 + (size_t)halvings, &q); small = q; halvings++; }
        size_t deep = work + 10 + (size_t)halvings;
        r = one;
        term = one;
        for (long k = 1; k < 2000; k++) { num_div(t, num_mul(t, term, small, deep), num_from(t, k), deep, &q); term = num_cut(t, q, deep); if (num_is_zero(term)) break; r = num_add(t, r, term); }
        while (halvings--) r = num_cut(t, num_mul(t, r, r, deep), deep);
        if (negative) { num_div(t, one, r, deep, &q); r = q; }
    } else if (name == 'l') {
        /* ln x = 2 atanh((y-1)/(y+1)) * 2^n after square roots bring y near 1 */
        if (x.negative || num_is_zero(x)) { num p; num_pow(t, num_from(t, 10), num_from(t, (long long)want), 0, &p); p.negative = 1; return num_cut(t, num_add(t, num_from(t, 1), p), want); }
        num y = num_cut(t, x, work + 10), low = num_parse(t, "0.5", 3, 10), high = num_from(t, 2);
        long doublings = 1;
        while ((num_compare(y, low) < 0 || num_compare(y, high) > 0) && doublings < 1L << 30) { num_sqrt(t, y, work + 10, &q); y = q; doublings *= 2; }
        num up = num_sub(t, y, num_from(t, 1)), down = num_add(t, y, num_from(t, 1)), z, z2;
        num_div(t, up, down, work + 10, &z);
        z2 = num_cut(t, num_mul(t, z, z, work + 10), work + 10);
        term = z;
        r = z;
        for (long k = 3; k < 20000; k += 2) { term = num_cut(t, num_mul(t, term, z2, work + 10), work + 10); num_div(t, term, num_from(t, k), work + 10, &q); if (num_is_zero(q)) break; r = num_add(t, r, q); }
        r = num_mul(t, r, num_from(t, 2 * doublings), work + 10);
    } else if (name == 'a') {
        num y = num_cut(t, x, work + 10), half = num_parse(t, "0.2", 3, 10), one = num_from(t, 1);
        int negative = y.negative, halvings = 0;
        y.negative = 0;
        /* atan x = 2 atan(x / (1 + sqrt(1 + x^2))) */
        while (num_compare(y, half) > 0 && halvings < 60) { num root; num_sqrt(t, num_add(t, one, num_mul(t, y, y, work + 10)), work + 10, &root); num_div(t, y, num_add(t, one, root), work + 10, &q); y = q; halvings++; }
        num y2 = num_cut(t, num_mul(t, y, y, work + 10), work + 10);
        y2.negative = 1;
        term = y;
        r = y;
        for (long k = 3; k < 20000; k += 2) { term = num_cut(t, num_mul(t, term, y2, work + 10), work + 10); num_div(t, term, num_from(t, k), work + 10, &q); if (num_is_zero(q)) break; r = num_add(t, r, q); }
        while (halvings--) r = num_add(t, r, r);
        r.negative = negative && !num_is_zero(r);
    } else {
        /* s and c: reduce by multiples of 2 pi */
        size_t save = s->scale;
        s->scale = work + x.whole + 10;
        num pi = num_mul(t, series(s, 'a', num_from(t, 1)), num_from(t, 4), s->scale), y = num_cut(t, x, s->scale), two_pi = num_mul(t, pi, num_from(t, 2), s->scale);
        num_div(t, y, two_pi, 0, &q);
        y = num_sub(t, y, num_mul(t, num_cut(t, q, 0), two_pi, s->scale));
        s->scale = save;
        num y2 = num_cut(t, num_mul(t, y, y, work + 10), work + 10);
        y2.negative = !num_is_zero(y2);
        term = name == 's' ? num_cut(t, y, work + 10) : num_from(t, 1);
        r = term;
        for (long k = name == 's' ? 2 : 1; k < 20000; k += 2) { num_div(t, num_mul(t, term, y2, work + 10), num_from(t, k * (k + 1)), work + 10, &q); term = q; if (num_is_zero(term)) break; r = num_add(t, r, term); }
    }
    return num_cut(t, r, want);
}

static num call(bc_state *s, const char *name, num *args, char **names, int n) {
    tool *t = s->t;
    num r = zero(s);
    (void)names;
    if (!strcmp(name, "sqrt") && n == 1) { if (num_sqrt(t, args[0], s->scale, &r) < 0) return fail(s, "Square root of a negative number"); return r; }
    if (!strcmp(name, "length") && n == 1) return num_from(t, (long long)num_digits(args[0]));
    if (!strcmp(name, "scale") && n == 1) return num_from(t, (long long)args[0].scale);
    bc_func *f = s->funcs;
    while (f && strcmp(f->name, name)) f = f->next;
    if (!f) {
        if (n == 1 && !name[1] && strchr("scale", *name)) return series(s, *name, args[0]);
        return fail(s, tool_format(t, "Function %s not defined.", name));
    }
    if (n != f->params_n) return fail(s, "Parameter number mismatch");
    if (++s->depth > 500 || tool_too_deep(t)) { s->depth--; return fail(s, "Function calls nest too deep"); }
    num *saved = tool_alloc(t, (size_t)(f->params_n + f->autos_n + 1) * sizeof *saved);
    for (int i = 0; i < f->params_n; i++) { bc_var *v = variable(s, f->params[i]); saved[i] = v->value; v->value = args[i]; }
    for (int i = 0; i < f->autos_n; i++) { bc_var *v = variable(s, f->autos[i]); saved[f->params_n + i] = v->value; v->value = zero(s); }
    const char *p = s->p, *end = s->end;
    s->p = f->body;
    s->end = f->body + strlen(f->body);
    s->result = zero(s);
    for (space_lines(s); s->p < s->end && !s->error && s->flow == GO && !s->quit; space_lines(s)) statement(s);
    s->flow = GO;
    s->p = p;
    s->end = end;
    for (int i = f->autos_n - 1; i >= 0; i--) variable(s, f->autos[i])->value = saved[f->params_n + i];
    for (int i = f->params_n - 1; i >= 0; i--) variable(s, f->params[i])->value = saved[i];
    s->depth--;
    return s->result;
}

/* A place to assign to: a name, an element name[i], or scale ibase obase last. */
static char *place_name(bc_state *s) {
    size_t n = word_length(s);
    char *name = tool_strndup(s->t, s->p, n);
    s->p += n;
    if (accept(s, "[")) {
        num i = expression(s);
        if (!accept(s, "]")) fail(s, "syntax error");
        return tool_format(s->t, "%s[%lld]", name, num_to_int(i));
    }
    return name;
}

static num get_place(bc_state *s, const char *name) {
    if (!strcmp(name, "scale")) return num_from(s->t, (long long)s->scale);
    if (!strcmp(name, "ibase")) return num_from(s->t, s->ibase);
    if (!strcmp(name, "obase")) return num_from(s->t, s->obase);
    if (!strcmp(name, "last")) return s->last;
    return variable(s, name)->value;
}

static void set_place(bc_state *s, const char *name, num v) {
    if (s->skip) return;
    long long n = num_to_int(v);
    if (!strcmp(name, "scale")) { if (n < 0 || n > 10000) fail(s, "scale out of range"); else s->scale = (size_t)n; }
    else if (!strcmp(name, "ibase")) s->ibase = n < 2 ? 2 : n > 16 ? 16 : (int)n;
    else if (!strcmp(name, "obase")) { if (n < 2) n = 2; s->obase = n > 9999 ? 9999 : (int)n; }
    else if (!strcmp(name, "last")) s->last = v;
    else variable(s, name)->value = v;
}

static num unary(bc_state *s);

static num primary(bc_state *s) {
    space(s);
    if (s->error) return zero(s);
    if (s->p >= s->end) return fail(s, "syntax error");
    char c = *s->p;
    if (accept(s, "(")) {
        num v = expression(s);
        return accept(s, ")") && !peek(s, "--") && !peek(s, "++") ? v : fail(s, "syntax error");
    }
    if (isdigit((unsigned char)c) || c == '.' || (c >= 'A' && c <= 'F')) {
        const char *start = s->p;
        buffer b = {.t = s->t};
        int dots = 0;
        for (; s->p < s->end; s->p++) {
            if (s->end - s->p >= 2 && s->p[0] == '\\' && s->p[1] == '\n') { s->p++; continue; }
            if (*s->p == '.' ? dots++ > 0 : !(isdigit((unsigned char)*s->p) || (*s->p >= 'A' && *s->p <= 'F'))) break;
            buffer_putc(&b, *s->p);
        }
        if (s->end - s->p >= 2 && (!memcmp(s->p, "--", 2) || !memcmp(s->p, "++", 2))) return fail(s, "syntax error");   /* of a number */
        if (b.n == 1 && *start == '.') return s->last;
        return num_parse(s->t, b.p, b.n, s->ibase);
    }
    size_t n = word_length(s);
    if (!n) return fail(s, "syntax error");
    const char *after = s->p + n;
    while (after < s->end && (*after == ' ' || *after == '\t')) after++;
    if (after < s->end && *after == '(') {
        char *name = tool_strndup(s->t, s->p, n), *names[16] = {0};
        num args[16];
        int count = 0;
        s->p = after + 1;
        if (!accept(s, ")")) {
            do { if (count == 16) return fail(s, "too many arguments"); args[count++] = expression(s); } while (accept(s, ","));
            if (!accept(s, ")")) return fail(s, "syntax error");
        }
        if (!strcmp(name, "read")) { const char *line; ssize_t got = io_line(s->t->in, &line, '\n'); return got > 0 ? num_parse(s->t, line, (size_t)got - (line[got - 1] == '\n'), s->ibase) : zero(s); }
        return s->skip ? zero(s) : call(s, name, args, names, count);
    }
    char *name = place_name(s);
    if (peek(s, "++") || peek(s, "--")) {
        int up = *s->p == '+';
        s->p += 2;
        num v = get_place(s, name);
        set_place(s, name, up ? num_add(s->t, v, num_from(s->t, 1)) : num_sub(s->t, v, num_from(s->t, 1)));
        return v;
    }
    return get_place(s, name);
}

static num unary(bc_state *s) {
    if (++s->depth > 800 || tool_too_deep(s->t)) { s->depth--; return fail(s, "expression nests too deep"); }
    num v;
    if (peek(s, "++") || peek(s, "--")) {
        int up = *s->p == '+';
        s->p += 2;
        char *name = place_name(s);
        v = get_place(s, name);
        v = up ? num_add(s->t, v, num_from(s->t, 1)) : num_sub(s->t, v, num_from(s->t, 1));
        set_place(s, name, v);
    } else if (accept(s, "-")) { v = unary(s); v.negative = !v.negative && !num_is_zero(v); }
    else v = primary(s);
    s->depth--;
    return v;
}

static num power(bc_state *s) {
    num base = unary(s);
    if (!peek(s, "^=") && accept(s, "^")) {
        num r = zero(s), e = power(s);
        if (s->error || s->skip) return r;
        if (num_pow(s->t, base, e, s->scale, &r) < 0) return fail(s, "exponent too large in raise");
        return r;
    }
    return base;
}

static num product(bc_state *s) {
    num a = power(s);
    for (;;) {
        space(s);
        if (s->p >= s->end || s->error || !strchr("*/%", *s->p) || (s->p + 1 < s->end && s->p[1] == '=')) return a;
        char op = *s->p++;
        num b = power(s), r = zero(s);
        if (s->error) return r;
        if (s->skip) continue;
        if (op == '*') a = num_mul(s->t, a, b, s->scale);
        else if ((op == '/' ? num_div(s->t, a, b, s->scale, &r) : num_mod(s->t, a, b, s->scale, &r)) < 0) return fail(s, op == '/' ? "Divide by zero" : "Modulo by zero");
        else a = r;
    }
}

static num sum(bc_state *s) {
    num a = product(s);
    for (;;) {
        space(s);
        if (s->p >= s->end || s->error || (*s->p != '+' && *s->p != '-') || (s->p + 1 < s->end && s->p[1] == '=')) return a;
        char op = *s->p++;
        num b = product(s);
        a = op == '+' ? num_add(s->t, a, b) : num_sub(s->t, a, b);
    }
}

static num relation(bc_state *s) {
    static const char *const ops[] = {"<=", ">=", "==", "!=", "<", ">"};
    num a = sum(s);
    for (;;) {
        int op = -1;
        for (int i = 0; i < 6; i++) if (accept(s, ops[i])) { op = i; break; }
        if (op < 0 || s->error) return a;
        num b = sum(s);
        int order = num_compare(a, b), yes = op == 0 ? order <= 0 : op == 1 ? order >= 0 : op == 2 ? order == 0 : op == 3 ? order != 0 : op == 4 ? order < 0 : order > 0;
        a = num_from(s->t, yes);
    }
}

static num logical(bc_state *s, int level) {
    if (level == 2) { if (!peek(s, "!=") && accept(s, "!")) return num_from(s->t, num_is_zero(logical(s, 2))); return relation(s); }
    num a = logical(s, level + 1);
    while (!s->error && accept(s, level ? "&&" : "||")) { num b = logical(s, level + 1); int x = !num_is_zero(a), y = !num_is_zero(b); a = num_from(s->t, level ? x && y : x || y); }
    return a;
}

/* Assignment when a place and an assignment operator stand here, else the rest. */
static num expression(bc_state *s) {
    const char *start = s->p;
    if (s->error) return zero(s);
    if (++s->steps > 50000000) return fail(s, "too many steps");
    if (word_length(s)) {
        char *name = place_name(s);
        space(s);
        if (!s->error && s->p < s->end) {
            char op = *s->p;
            if (op == '=' && !(s->p + 1 < s->end && s->p[1] == '=')) { s->p++; num v = expression(s); set_place(s, name, v); return get_place(s, name); }
            if (strchr("+-*/%^", op) && s->p + 1 < s->end && s->p[1] == '=') {
                s->p += 2;
                num b = expression(s), a = get_place(s, name), r = zero(s);
                int bad = 0;
                switch (op) {
                case '+': r = num_add(s->t, a, b); break;
                case '-': r = num_sub(s->t, a, b); break;
                case '*': r = num_mul(s->t, a, b, s->scale); break;
                case '/': bad = num_div(s->t, a, b, s->scale, &r) < 0; break;
                case '%': bad = num_mod(s->t, a, b, s->scale, &r) < 0; break;
                default: bad = num_pow(s->t, a, b, s->scale, &r) < 0;
                }
                if (bad) return fail(s, "Divide by zero");
                set_place(s, name, r);
                return r;
            }
        }
        if (s->error) return zero(s);
        s->p = start;
    }
    return logical(s, 0);
}

static void print_number(bc_state *s, num v) {
    buffer b = {.t = s->t};
    num_write(&b, v, s->obase);
    /* .5 and not 0.5 */
    char *text = b.p;
    if (s->obase == 10 && !num_is_zero(v) && v.whole == 1 && !v.d[0]) { char *dot = strchr(text, '.'); if (dot && dot > text && dot[-1] == '0') memmove(dot - 1, dot, strlen(dot) + 1); }
    if (io_puts(s->t->out, text) < 0) s->quit = 1;
}

static void print_list(bc_state *s) {
    do {
        space(s);
        if (s->p < s->end && *s->p == '"') {
            for (s->p++; s->p < s->end && *s->p != '"'; s->p++) {
                char c = *s->p;
                if (c == '\\' && s->p + 1 < s->end) { static const char from[] = "nqtrabf\\", to[] = "\n\"\t\r\a\b\f\\"; const char *at = strchr(from, s->p[1]); if (at) { c = to[at - from]; s->p++; } }
                io_putc(s->t->out, c);
            }
            if (s->p < s->end) s->p++;
        } else { num v = expression(s); if (!s->error) { print_number(s, v); s->last = v; } }
    } while (!s->error && accept(s, ","));
}

/* Skips one statement without running it; leaves s->p behind it. */
static void skip_statement(bc_state *s) {
    space(s);
    int parens = 0, braces = 0;
    for (; s->p < s->end; s->p++) {
        char c = *s->p;
        if (c == '"') { for (s->p++; s->p < s->end && *s->p != '"'; s->p++) {} continue; }
        if (c == '(') parens++;
        if (c == ')') parens--;
        if (c == '{') braces++;
        if (c == '}') { if (!braces) return; if (!--braces && !parens) { s->p++; return; } }
        if ((c == ';' || c == '\n') && !parens && !braces) return;
    }
}

static void block(bc_state *s) {
    for (space_lines(s); s->p < s->end && *s->p != '}' && !s->error && s->flow == GO && !s->quit; space_lines(s)) statement(s);
    if (s->flow != GO || s->quit) { int depth = 0; for (; s->p < s->end; s->p++) { if (*s->p == '{') depth++; if (*s->p == '}' && !depth--) break; } }
    if (!s->error && !accept(s, "}")) fail(s, "syntax error");
}

static void if_statement(bc_state *s) {
    if (!accept(s, "(")) { fail(s, "syntax error"); return; }
    int yes = !num_is_zero(expression(s));
    if (!accept(s, ")")) { fail(s, "syntax error"); return; }
    while (s->p < s->end && (*s->p == '\n' || *s->p == ' ')) s->p++;
    if (yes) statement(s); else skip_statement(s);
    const char *back = s->p;
    space_lines(s);
    if (accept_word(s, "else")) { while (s->p < s->end && (*s->p == '\n' || *s->p == ' ')) s->p++; if (yes) skip_statement(s); else statement(s); } else s->p = back;
}

static void while_statement(bc_state *s) {
    const char *test = s->p, *end = NULL;
    while (!s->error && !s->quit) {
        s->p = test;
        if (!accept(s, "(")) { fail(s, "syntax error"); return; }
        int yes = !num_is_zero(expression(s));
        if (!accept(s, ")")) { fail(s, "syntax error"); return; }
        while (s->p < s->end && (*s->p == '\n' || *s->p == ' ')) s->p++;
        if (!end) { const char *body = s->p; skip_statement(s); end = s->p; s->p = body; }
        if (!yes) break;
        statement(s);
        if (s->flow == BREAK) { s->flow = GO; break; }
        if (s->flow == CONTINUE) s->flow = GO;
        if (s->flow == RETURN) break;
        if (io_failed(s->t->out)) s->quit = 1;
    }
    if (end) s->p = end;
}

static void for_statement(bc_state *s) {
    if (!accept(s, "(")) { fail(s, "syntax error"); return; }
    if (!peek(s, ";")) expression(s);
    if (!accept(s, ";")) { fail(s, "syntax error"); return; }
    const char *test = s->p, *step, *body, *end;
    int parens = 0;
    for (; s->p < s->end && *s->p != ';'; s->p++) {}
    step = ++s->p;
    for (; s->p < s->end && !(*s->p == ')' && !parens); s->p++) { if (*s->p == '(') parens++; if (*s->p == ')') parens--; }
    body = s->p < s->end ? ++s->p : s->p;
    while (body < s->end && (*body == '\n' || *body == ' ')) body++;
    s->p = body;
    skip_statement(s);
    end = s->p;
    while (!s->error && !s->quit) {
        s->p = test;
        if (!peek(s, ";") && num_is_zero(expression(s))) break;
        s->p = body;
        statement(s);
        if (s->flow == BREAK) { s->flow = GO; break; }
        if (s->flow == CONTINUE) s->flow = GO;
        if (s->flow == RETURN) break;
        s->p = step;
        if (!peek(s, ")")) expression(s);
        if (io_failed(s->t->out)) s->quit = 1;
    }
    s->p = end;
}

static char **name_list(bc_state *s, int *n) {
    char **list = NULL;
    *n = 0;
    while (word_length(s)) {
        size_t len = word_length(s);
        list = tool_realloc(s->t, list, (size_t)(*n + 1) * sizeof *list);
        list[(*n)++] = tool_strndup(s->t, s->p, len);
        s->p += len;
        accept(s, "[]");
        if (!accept(s, ",")) break;
    }
    return list;
}

static void define(bc_state *s) {
    size_t n = word_length(s);
    bc_func *f = tool_alloc(s->t, sizeof *f);
    f->name = tool_strndup(s->t, s->p, n);
    s->p += n;
    if (!n || !accept(s, "(")) { fail(s, "syntax error"); return; }
    f->params = name_list(s, &f->params_n);
    if (!accept(s, ")")) { fail(s, "syntax error"); return; }
    while (s->p < s->end && isspace((unsigned char)*s->p)) s->p++;
    if (!accept(s, "{")) { fail(s, "syntax error"); return; }
    space_lines(s);
    if (accept_word(s, "auto")) f->autos = name_list(s, &f->autos_n);
    const char *body = s->p;
    int depth = 0;
    for (; s->p < s->end && !(*s->p == '}' && !depth); s->p++) { if (*s->p == '{') depth++; if (*s->p == '}') depth--; }
    f->body = tool_strndup(s->t, body, (size_t)(s->p - body));
    accept(s, "}");
    f->next = s->funcs;
    s->funcs = f;
}

static void statement(bc_state *s) {
    space(s);
    if (s->error || s->quit || s->p >= s->end) return;
    if (++s->depth > 400 || tool_too_deep(s->t)) { s->depth--; fail(s, "statements nest too deep"); return; }
    if (accept(s, "{")) block(s);
    else if (*s->p == '"') { print_list(s); }
    else if (accept_word(s, "if")) if_statement(s);
    else if (accept_word(s, "while")) while_statement(s);
    else if (accept_word(s, "for")) for_statement(s);
    else if (accept_word(s, "define")) define(s);
    else if (accept_word(s, "print")) print_list(s);
    else if (accept_word(s, "break")) s->flow = BREAK;
    else if (accept_word(s, "continue")) s->flow = CONTINUE;
    else if (accept_word(s, "quit") || accept_word(s, "halt")) s->quit = 1;
    else if (accept_word(s, "return")) {
        space(s);
        s->result = s->p < s->end && !strchr(";\n}", *s->p) ? expression(s) : zero(s);
        s->flow = RETURN;
    } else {
        /* an assignment prints nothing, anything else does */
        const char *start = s->p;
        int assigns = 0;
        if (word_length(s)) {
            int error = s->error;
            s->skip++;
            place_name(s);
            s->skip--;
            space(s);
            s->error = error;
            if (s->p < s->end) assigns = (*s->p == '=' && !(s->p + 1 < s->end && s->p[1] == '=')) || (strchr("+-*/%^", *s->p) && s->p + 1 < s->end && s->p[1] == '=');
        }
        s->p = start;
        num v = expression(s);
        if (!s->error && !assigns) { print_number(s, v); io_putc(s->t->out, '\n'); s->last = v; }
    }
    s->depth--;
}

static int run_text(bc_state *s, const char *text, size_t n) {
    s->p = text;
    s->end = text + n;
    for (space_lines(s); s->p < s->end && !s->quit; space_lines(s)) {
        s->error = 0;
        s->depth = 0;
        s->flow = GO;
        statement(s);
        if (!s->error) {
            space(s);
            if (s->p < s->end && *s->p != '\n' && *s->p != ';' && *s->p != '}' ) { if (s->p[-1] != '}') fail(s, "syntax error"); }
            else if (s->p < s->end && *s->p == '}') { fail(s, "syntax error"); }
        }
        if (s->error) while (s->p < s->end && *s->p != '\n') s->p++;
    }
    return 0;
}

static int gather(tool *t, io *from, const char *name, void *context) { (void)t; (void)name; buffer *b = context; buffer_read_all(b, from); if (b->n && b->p[b->n - 1] != '\n') buffer_putc(b, '\n'); return 0; }

int tool_bc(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"mathlib", 0, 'l'}, {"quiet", 0, 'q'}, {"standard", 0, 's'}, {"warn", 0, 'w'}, {"interactive", 0, 'i'}, {0, 0, 0}};
    bc_state s = {.t = t, .ibase = 10, .obase = 10};
    tool_opts o;
    int c, status = 0;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "lqswi", longs)) != -1;) { if (c == '?') return 1; if (c == 'l') s.scale = 20; }
    s.last = s.result = zero(&s);
    buffer b = {.t = t};
    if (o.index < argc) { status = for_each_input(t, argc, argv, o.index, gather, &b); if (status) return status; run_text(&s, b.p, b.n); b.n = 0; }
    if (!s.quit) { buffer in = {.t = t}; buffer_read_all(&in, t->in); run_text(&s, in.p ? in.p : "", in.n); }
    return status;
}
