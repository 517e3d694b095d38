/* bc_call.c - calling functions: those of bc -l, computed in doubles first and refined to the scale, and the program's own. */
#include "bc_run.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ORDER = 10000, MOST_POWER = 4000 };

/* The natural functions work in doubles first and are refined to the scale asked for. */
static num series(bc_state *s, char name, num x) {
    tool *t = s->t;
    size_t want = s->scale, work = want + 8;
    num r = bc_zero(s), term, q;
    if (name == 'e') {
        /* e^x: halve until small, sum, square back */
        int halvings = 0, negative = x.negative;
        num small = num_cut(t, x, work + 10);
        small.negative = 0;
        num one = num_from(t, 1), two = num_from(t, 2);
        long long size = num_to_int(small);              /* e^x has that many times log10 e digits before the point */
        size_t before = size > MOST_POWER ? MOST_POWER / 2 : (size_t)size / 2 + 1;
        while (num_compare(small, one) > 0 && halvings < 64) {
            num_div(t, small, two, work + 10 + before + (size_t)halvings, &q);
            small = q;
            halvings++;
        }
        size_t deep = work + 10 + before + (size_t)halvings;
        r = one;
        term = one;
        for (long k = 1; k < 2000; k++) {
            num_div(t, num_mul(t, term, small, deep), num_from(t, k), deep, &q);
            term = num_cut(t, q, deep);
            if (num_is_zero(term)) break;
            r = num_add(t, r, term);
        }
        while (halvings--) r = num_cut(t, num_mul(t, r, r, deep), deep);
        if (negative) { num_div(t, one, r, deep, &q); r = q; }
    } else if (name == 'l') {
        /* ln x = 2 atanh((y-1)/(y+1)) * 2^n after square roots bring y near 1 */
        if (x.negative || num_is_zero(x)) {
            num p;
            num_pow(t, num_from(t, 10), num_from(t, (long long)want), 0, &p);
            p.negative = 1;
            return num_cut(t, num_add(t, num_from(t, 1), p), want);
        }
        num y = num_cut(t, x, work + 10), low = num_parse(t, "0.5", 3, 10), high = num_from(t, 2);
        long doublings = 1;
        while ((num_compare(y, low) < 0 || num_compare(y, high) > 0) && doublings < 1L << 30) {
            num_sqrt(t, y, work + 10, &q);
            y = q;
            doublings *= 2;
        }
        num up = num_sub(t, y, num_from(t, 1)), down = num_add(t, y, num_from(t, 1)), z, z2;
        num_div(t, up, down, work + 10, &z);
        z2 = num_cut(t, num_mul(t, z, z, work + 10), work + 10);
        term = z;
        r = z;
        for (long k = 3; k < 20000; k += 2) {
            term = num_cut(t, num_mul(t, term, z2, work + 10), work + 10);
            num_div(t, term, num_from(t, k), work + 10, &q);
            if (num_is_zero(q)) break;
            r = num_add(t, r, q);
        }
        r = num_mul(t, r, num_from(t, 2 * doublings), work + 10);
    } else if (name == 'a') {
        num y = num_cut(t, x, work + 10), half = num_parse(t, "0.2", 3, 10), one = num_from(t, 1);
        int negative = y.negative, halvings = 0;
        y.negative = 0;
        /* atan x = 2 atan(x / (1 + sqrt(1 + x^2))) */
        while (num_compare(y, half) > 0 && halvings < 60) {
            num root;
            num_sqrt(t, num_add(t, one, num_mul(t, y, y, work + 10)), work + 10, &root);
            num_div(t, y, num_add(t, one, root), work + 10, &q);
            y = q;
            halvings++;
        }
        num y2 = num_cut(t, num_mul(t, y, y, work + 10), work + 10);
        y2.negative = 1;
        term = y;
        r = y;
        for (long k = 3; k < 20000; k += 2) {
            term = num_cut(t, num_mul(t, term, y2, work + 10), work + 10);
            num_div(t, term, num_from(t, k), work + 10, &q);
            if (num_is_zero(q)) break;
            r = num_add(t, r, q);
        }
        while (halvings--) r = num_add(t, r, r);
        r.negative = negative && !num_is_zero(r);
    } else {
        /* s and c: reduce by multiples of 2 pi */
        size_t save = s->scale;
        s->scale = work + x.whole + 10;
        num pi = num_mul(t, series(s, 'a', num_from(t, 1)), num_from(t, 4), s->scale), y = num_cut(t, x, s->scale),
            two_pi = num_mul(t, pi, num_from(t, 2), s->scale);
        num_div(t, y, two_pi, 0, &q);
        y = num_sub(t, y, num_mul(t, num_cut(t, q, 0), two_pi, s->scale));
        s->scale = save;
        num y2 = num_cut(t, num_mul(t, y, y, work + 10), work + 10);
        y2.negative = !num_is_zero(y2);
        term = name == 's' ? num_cut(t, y, work + 10) : num_from(t, 1);
        r = term;
        for (long k = name == 's' ? 2 : 1; k < 20000; k += 2) {
            num_div(t, num_mul(t, term, y2, work + 10), num_from(t, k * (k + 1)), work + 10, &q);
            term = q;
            if (num_is_zero(term)) break;
            r = num_add(t, r, term);
        }
    }
    return num_cut(t, r, want);
}

/* j(n, x), Bessel's function of whole order: the sum of (-1)^k (x/2)^(2k+n) / (k! (k+n)!). */
static num bessel(bc_state *s, num order, num x) {
    tool *t = s->t;
    long n = (long)num_to_int(order), odd = n % 2 != 0, flip = n < 0 && odd;
    if (n < 0) n = -n;
    if (n > MOST_ORDER) return bc_fail(s, "order of Bessel's function too large");
    size_t deep = s->scale + 10 + 3 * x.whole + (size_t)n;
    num half, q, term = num_from(t, 1);
    num_div(t, num_cut(t, x, deep), num_from(t, 2), deep, &half);
    for (long k = 1; k <= n; k++) {
        num_div(t, num_mul(t, term, half, deep), num_from(t, k), deep, &q);
        term = q;
    }
    num square = num_cut(t, num_mul(t, half, half, deep), deep), sum = term;
    square.negative = !num_is_zero(square);
    for (long k = 1; k < 100000 && !num_is_zero(term); k++) {
        num_div(t, num_mul(t, term, square, deep), num_from(t, k * (k + n)), deep, &q);
        term = q;
        sum = num_add(t, sum, term);
    }
    sum = num_cut(t, sum, s->scale);
    if (flip && !num_is_zero(sum)) sum.negative = !sum.negative;
    return sum;
}

/* What a parameter or auto variable hides while its function runs: one value, or the elements of an array. */
typedef struct { num value; bc_var *elements; } hidden;

static int is_element(const bc_var *v, const char *array) {
    size_t n = strlen(array);
    return !strncmp(v->name, array, n) && v->name[n] == '[';
}

/* Takes the elements of an array out of the variables. */
static bc_var *take_array(bc_state *s, const char *array) {
    bc_var *taken = NULL;
    for (bc_var **link = &s->vars; *link;) {
        bc_var *v = *link;
        if (!is_element(v, array)) { link = &v->next; continue; }
        *link = v->next;
        v->next = taken;
        taken = v;
    }
    return taken;
}

static void put_array(bc_state *s, bc_var *elements) {
    for (bc_var *v = elements, *next; v; v = next) {
        next = v->next;
        v->next = s->vars;
        s->vars = v;
    }
}

/* Elements of `from`, found in a list, as elements of `to` among the variables. */
static void copy_array(bc_state *s, const bc_var *list, const char *from, const char *to) {
    for (const bc_var *v = list; v; v = v->next)
        if (is_element(v, from)) bc_variable(s, tool_format(s->t, "%s%s", to, v->name + strlen(from)))->value = v->value;
}

static hidden hide(bc_state *s, const bc_param *p, num value, const char *array) {
    hidden h = {0};
    if (p->kind == SCALAR) {
        bc_var *v = bc_variable(s, p->name);
        h.value = v->value;
        v->value = value;
        return h;
    }
    h.elements = take_array(s, p->name);
    if (array) copy_array(s, strcmp(array, p->name) ? s->vars : h.elements, array, p->name);
    return h;
}

static void unhide(bc_state *s, const bc_param *p, hidden h, const char *array) {
    if (p->kind == SCALAR) { bc_variable(s, p->name)->value = h.value; return; }
    bc_var *own = take_array(s, p->name);
    put_array(s, h.elements);
    if (p->kind == ARRAY_REF && array) copy_array(s, own, p->name, array);
}

static int arguments_fit(const bc_func *f, char **names, int n) {
    if (n != f->params_n) return 0;
    for (int i = 0; i < n; i++) if ((f->params[i].kind == SCALAR) != !names[i]) return 0;
    return 1;
}

num bc_call(bc_state *s, const char *name, num *args, char **names, int n) {
    tool *t = s->t;
    num r = bc_zero(s);
    if (!strcmp(name, "sqrt") && n == 1) {
        if (num_sqrt(t, args[0], s->scale, &r) < 0) return bc_fail(s, "Square root of a negative number");
        return r;
    }
    if (!strcmp(name, "length") && n == 1) return num_from(t, (long long)num_digits(args[0]));
    if (!strcmp(name, "scale") && n == 1) return num_from(t, (long long)args[0].scale);
    bc_func *f = s->funcs;
    while (f && strcmp(f->name, name)) f = f->next;
    if (!f) {
        if (n == 1 && !name[1] && strchr("scale", *name)) return series(s, *name, args[0]);
        if (n == 2 && !strcmp(name, "j")) return bessel(s, args[0], args[1]);
        return bc_fail(s, tool_format(t, "Function %s not defined.", name));
    }
    if (!arguments_fit(f, names, n)) return bc_fail(s, "Parameter number mismatch");
    if (++s->depth > 500 || tool_too_deep(t)) { s->depth--; return bc_fail(s, "Function calls nest too deep"); }
    hidden *saved = tool_alloc(t, (size_t)(f->params_n + f->autos_n + 1) * sizeof *saved);
    for (int i = 0; i < f->params_n; i++) saved[i] = hide(s, &f->params[i], args[i], names[i]);
    for (int i = 0; i < f->autos_n; i++) saved[f->params_n + i] = hide(s, &f->autos[i], bc_zero(s), NULL);
    const char *p = s->p, *end = s->end, *caller = s->function;
    s->p = f->body;
    s->end = f->body + strlen(f->body);
    s->function = f->name;
    s->result = bc_zero(s);
    for (bc_space_lines(s); s->p < s->end && !s->error && s->flow == GO && !s->quit; bc_space_lines(s)) bc_statement(s);
    s->flow = GO;
    s->p = p;
    s->end = end;
    s->function = caller;
    for (int i = f->autos_n - 1; i >= 0; i--) unhide(s, &f->autos[i], saved[f->params_n + i], NULL);
    for (int i = f->params_n - 1; i >= 0; i--) unhide(s, &f->params[i], saved[i], names[i]);
    s->depth--;
    return s->result;
}
