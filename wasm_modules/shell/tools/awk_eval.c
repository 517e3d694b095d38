/* awk_eval.c - expressions. Every value returned is owned by the caller. */
#include "awk.h"
#include "awk_lex.h"
#include "awk_message.h"
#include <errno.h>
#include <math.h>
#include <string.h>

double awk_eval_number(awk *A, anode *n) {
    cell c = awk_eval(A, n);
    double v = cell_number(&c);
    cell_drop(A, c);
    return v;
}

astr *awk_eval_string(awk *A, anode *n) {
    cell c = awk_eval(A, n);
    astr *s = cell_string(A, &c, 0);
    cell_drop(A, c);
    return s;
}

int awk_eval_true(awk *A, anode *n) {
    cell c = awk_eval(A, n);
    int v = cell_true(&c);
    cell_drop(A, c);
    return v;
}

static int matches(awk *A, anode *text, anode *pattern) {
    astr *s;
    if (text) s = awk_eval_string(A, text); else s = astr_ref(awk_record_text(A));
    regex *re = awk_eval_regex(A, pattern);
    int hit = re ? regex_test(re, s->text, s->n) : 0;
    astr_unref(A, s);
    return hit > 0;
}

astr *awk_subscript(awk *A, anode *list) {
    if (!list->next) {
        cell c = awk_eval(A, list);
        astr *s = cell_string(A, &c, 0);
        cell_drop(A, c);
        return s;
    }
    buffer b = {.t = A->t};
    astr *sep = cell_string(A, &A->vars[VAR_SUBSEP], 0);
    for (anode *n = list; n; n = n->next) {
        astr *s = awk_eval_string(A, n);
        if (n != list) buffer_add(&b, sep->text, sep->n);
        buffer_add(&b, s->text, s->n);
        astr_unref(A, s);
    }
    astr_unref(A, sep);
    astr *s = astr_new(A, b.p, b.n);
    buffer_free(&b);
    return s;
}

/* The variable behind a name. An untyped argument whose original has become an array meanwhile is that array. */
static cell *variable(awk *A, anode *n) {
    cell *c = n->kind == E_LOCAL ? &A->locals[n->index] : &A->vars[n->index];
    if (c->type != V_NONE || !c->origin) return c;
    cell *origin = c->origin;
    while (origin->type == V_NONE && origin->origin) origin = origin->origin;
    if (!(origin->type & V_ARRAY)) return c;
    origin->arr->refs++;
    *c = (cell){.type = V_ARRAY, .arr = origin->arr, .origin = c->origin};
    return c;
}

/* An untyped variable whose value counts is no array any more, nor is what a caller gave for it. */
static void make_scalar(cell *c) { for (; c && c->type == V_NONE; c = c->origin) c->was_read = 1; }

cell *awk_array_cell(awk *A, array *a, astr *key, int make) {
    if (A->uses_tables && a == A->vars[VAR_SYMTAB].arr)
        for (int i = 0; i < A->var_count; i++) if (!strcmp(A->var_names[i], key->text)) return &A->vars[i];
    if (!make || !A->uses_tables || (a != A->vars[VAR_SYMTAB].arr && a != A->vars[VAR_FUNCTAB].arr)) return amap_get(A, a, key, make);
    cell *c = amap_get(A, a, key, 0);
    int is_symtab = a == A->vars[VAR_SYMTAB].arr;
    if (make == MAKE_TO_ASSIGN && is_symtab) return awk_fatal(A, "cannot assign to arbitrary elements of SYMTAB");
    if (make == MAKE_TO_ASSIGN) return awk_fatal(A, "cannot assign to elements of FUNCTAB");
    if (!c) awk_fatal(A, "reference to uninitialized element `%s[\"%s\"] is not allowed'", is_symtab ? "SYMTAB" : "FUNCTAB", key->text);
    return c;
}

/* A parameter that is an untyped element of the caller's becomes an array: so does the element. */
static void fill_element(awk *A, int parameter, array *made) {
    aelement *e = A->frame && A->frame->elements ? &A->frame->elements[parameter] : NULL;
    if (!e || !e->in) return;
    cell *c = amap_get(A, e->in, e->key, 1);
    if (c->type != V_NONE) return;
    made->refs++;
    *c = (cell){.type = V_ARRAY, .arr = made};
}

array *awk_eval_array(awk *A, anode *n) {
    cell *c;
    if (n->kind == E_GROUP && n->count == 1) n = n->a;
    if (n->kind == E_INDEX) {
        array *outer = awk_eval_array(A, n->a);
        if (!outer) return NULL;
        astr *key = awk_subscript(A, n->b);
        c = awk_array_cell(A, outer, key, 1);
        astr_unref(A, key);
        if (!c) return NULL;
    } else if (n->kind == E_VAR || n->kind == E_LOCAL) c = variable(A, n);
    else return awk_fatal(A, "attempt to use a scalar value as array");
    if (c->type & V_ARRAY) return c->arr;
    int is_scalar = c->type != V_NONE || c->was_read;
    for (cell *up = c->origin; up && !is_scalar; up = up->origin) is_scalar = up->type != V_NONE || up->was_read;
    if (is_scalar) {
        const char *name = awk_name_of(A, n);
        return awk_fatal(A, "attempt to use scalar %s`%s' as an array", n->kind == E_LOCAL ? "parameter " : "", name ? name : "");
    }
    array *made = amap_new(A);
    if (n->kind == E_LOCAL) fill_element(A, n->index, made);
    cell *origin = c->origin;
    *c = (cell){.type = V_ARRAY, .arr = made, .origin = origin};
    while (origin && origin->type == V_NONE) {
        cell *up = origin->origin;
        made->refs++;
        *origin = (cell){.type = V_ARRAY, .arr = made, .origin = up};
        origin = up;
    }
    return made;
}

static void *array_misused(awk *A, anode *n) {
    const char *name = awk_name_of(A, n);
    if (!name) return awk_fatal(A, "attempt to use array in a scalar context");
    return awk_fatal(A, "attempt to use array `%s' in a scalar context", name);
}

static void lint_unset(awk *A, const anode *n) {
    if (A->lint) awk_lint(A, A->line, "reference to uninitialized %s `%s'", n->kind == E_LOCAL ? "argument" : "variable", awk_name_of(A, n));
}

cell *awk_eval_place(awk *A, anode *n, int *special) {
    *special = -1;
    if (n->kind == E_GROUP && n->count == 1) n = n->a;
    cell *c;
    switch (n->kind) {
    case E_VAR:
        if (n->index < VAR_SPECIAL) *special = n->index;
        if (n->index == VAR_NF || n->index == VAR_FS || n->index == VAR_FPAT || n->index == VAR_FIELDWIDTHS) awk_fields_split(A);
        if (n->index == VAR_OFS) awk_record_text(A); /* fields that were set are joined by what it was */
        c = &A->vars[n->index];
        break;
    case E_LOCAL: c = &A->locals[n->index]; make_scalar(c->origin); break;
    case E_INDEX: {
        array *a = awk_eval_array(A, n->a);
        if (!a) return NULL;
        astr *key = awk_subscript(A, n->b);
        c = awk_array_cell(A, a, key, MAKE_TO_ASSIGN);
        astr_unref(A, key);
        if (!c) return NULL;
        break;
    }
    case E_FIELD: {
        double i = awk_eval_number(A, n->a);
        if (i < 0) return awk_fatal(A, "attempt to access field %d", (int)i);
        *special = (int)i;
        if (i >= 1) return awk_field_get(A, (int)i, 1);
        awk_fields_split(A);
        if (!A->fields_cap) awk_field_get(A, 1, 0);
        if (!A->fields) { A->fields_cap = 32; A->fields = tool_alloc(A->t, 32 * sizeof *A->fields); }
        cell_drop(A, A->fields[0]);
        A->fields[0] = cell_input(A, astr_ref(awk_record_text(A)));
        return &A->fields[0];
    }
    default: return awk_fatal(A, "cannot assign to this expression");
    }
    return c->type & V_ARRAY ? array_misused(A, n) : c;
}

void awk_place_assigned(awk *A, anode *n, int special) {
    if (n->kind == E_GROUP) n = n->a;
    if (n->kind == E_FIELD) { awk_field_assigned(A, special); return; }
    if (n->kind != E_VAR) return;
    switch (special) {
    case VAR_NF: awk_nf_assigned(A); break;
    case VAR_FS: awk_split_by(A, 'F'); break;
    case VAR_FPAT: awk_split_by(A, 'P'); break;
    case VAR_FIELDWIDTHS: awk_widths_check(A); awk_split_by(A, 'W'); break;
    case VAR_LINT: awk_lint_set(A); break;
    }
}

/* Whole powers by squaring, as gawk has them: their last digits differ from pow's. */
static double power(double x, double exponent) {
    if (exponent != floor(exponent) || fabs(exponent) > 1e9) return pow(x, exponent);
    if (exponent == 0) return 1;
    double rest = 1;
    long n = (long)fabs(exponent);
    for (; n > 1; n /= 2, x *= x) if (n % 2) rest *= x;
    return exponent < 0 ? 1 / (rest * x) : rest * x;
}

static double arithmetic(awk *A, int op, double a, double b) {
    switch (op) {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    case '/': if (b == 0) { awk_fatal(A, "division by zero attempted"); return 0; } return a / b;
    case '%': if (b == 0) { awk_fatal(A, "division by zero attempted in `%%'"); return 0; } return fmod(a, b);
    case '^': return power(a, b);
    }
    return 0;
}

static cell assign(awk *A, anode *n) {
    int special;
    cell value = awk_eval(A, n->b);
    if (A->fatal) return value;
    if (value.type & V_ARRAY) { awk_fatal(A, "attempt to use array in a scalar context"); return cell_num(0); }
    cell *place = awk_eval_place(A, n->a, &special);
    if (place && n->op != '=') { /* the place is found once: its subscript may have effects */
        if (!place->type && (n->a->kind == E_VAR || n->a->kind == E_LOCAL)) lint_unset(A, n->a);
        double result = arithmetic(A, n->op, cell_number(place), cell_number(&value));
        cell_drop(A, value);
        value = cell_num(result);
    }
    if (!place || A->fatal) { cell_drop(A, value); return cell_num(0); }
    cell old = *place;
    *place = cell_copy(value);
    if (!(old.type & V_ARRAY)) cell_drop(A, old);
    if (special >= 0) awk_place_assigned(A, n->a, special);
    return value;
}

static cell increment(awk *A, anode *n, double by, int post) {
    int special;
    cell *place = awk_eval_place(A, n->a, &special);
    if (!place) return cell_num(0);
    if (!place->type && (n->a->kind == E_VAR || n->a->kind == E_LOCAL)) lint_unset(A, n->a);
    double old = cell_number(place);
    cell_drop(A, *place);
    *place = cell_num(old + by);
    if (special >= 0) awk_place_assigned(A, n->a, special);
    return cell_num(post ? old : old + by);
}

static int compare(awk *A, anode *n) {
    cell a = awk_eval(A, n->a), b = awk_eval(A, n->b);
    int order = cell_compare(A, &a, &b), yes = 0;
    cell_drop(A, a);
    cell_drop(A, b);
    switch (n->op) {
    case '<' + 256: yes = order == -1; break;
    case '>' + 256: yes = order == 1; break;
    case T_LE: yes = order == -1 || order == 0; break;
    case T_GE: yes = order == 1 || order == 0; break;
    case T_EQ: yes = order == 0; break;
    case T_NE: yes = order != 0; break;
    }
    return yes;
}

/* A chain a b c d is nested to the left: collect it, then join once. */
static cell concatenate(awk *A, anode *n) {
    anode *parts[64];
    int count = 0;
    while (n->kind == E_CONCAT && count < 63) { parts[count++] = n->b; n = n->a; }
    parts[count++] = n;
    astr *texts[64];
    size_t total = 0;
    for (int i = count - 1; i >= 0; i--) { texts[i] = awk_eval_string(A, parts[i]); total += texts[i]->n; }
    astr *s = astr_room(A, total);
    char *to = s->text;
    for (int i = count - 1; i >= 0; i--) {
        memcpy(to, texts[i]->text, texts[i]->n);
        to += texts[i]->n;
        astr_unref(A, texts[i]);
    }
    return cell_str(s);
}

static cell get_line(awk *A, anode *n) {
    astr *record = NULL;
    int got, main = !n->op, special = -1;
    /* a subscript counts on even when nothing is read; SYMTAB's variables may move meanwhile */
    cell *element = n->a && n->a->kind == E_INDEX && !A->uses_tables ? awk_eval_place(A, n->a, &special) : NULL;
    if (A->fatal) return cell_num(-1);
    if (main) {
        if (n->a) {
            do {
                if (!A->input) { /* let awk_record_next open the first file */
                    astr *keep = astr_ref(awk_record_text(A));
                    if (!awk_record_next(A)) { awk_record_set(A, keep); return cell_num(0); }
                    record = astr_ref(awk_record_text(A));
                    awk_record_set(A, keep);
                    A->vars[VAR_NR].num -= 1;
                    A->vars[VAR_FNR].num -= 1;
                    got = 1;
                    break;
                }
                got = awk_record_read(A, A->input, &record);
                if (got <= 0) awk_file_next(A);
            } while (got <= 0);
        } else return cell_num(awk_record_next(A));
    } else {
        astr *name = awk_eval_string(A, n->b);
        if (!name->n) {
            awk_fatal(A, "expression for `%s' redirection has null string value", n->op == '&' ? "|&" : n->op == '|' ? "|" : "<");
            return cell_num(-1);
        }
        if (A->is_sandboxed) { awk_fatal(A, "redirection not allowed in sandbox mode"); return cell_num(-1); }
        astream *s = n->op == '&' ? awk_coprocess_turn(A, name) : awk_stream_find(A, name, n->op == '|' ? 'p' : '<', 1);
        astr_unref(A, name);
        if (!s) { awk_errno_set(A, errno); return cell_num(-1); }
        if (s->read_closed) { awk_fatal(A, "getline: attempt to read from closed read end of two-way pipe"); return cell_num(-1); }
        got = awk_record_read(A, s, &record);
        if (got < 0) awk_errno_set(A, errno);
        if (got <= 0) return cell_num(got);
    }
    if (main) {
        A->vars[VAR_NR] = cell_num(cell_number(&A->vars[VAR_NR]) + 1);
        A->vars[VAR_FNR] = cell_num(cell_number(&A->vars[VAR_FNR]) + 1);
    }
    if (!n->a) { awk_record_set(A, record); return cell_num(1); }
    cell *place = element ? element : awk_eval_place(A, n->a, &special);
    if (!place) { astr_unref(A, record); return cell_num(-1); }
    cell_drop(A, *place);
    *place = cell_input(A, record);
    if (special >= 0) awk_place_assigned(A, n->a, special);
    return cell_num(1);
}

static int member(awk *A, anode *n) {
    array *a = awk_eval_array(A, n->b);
    if (!a) return 0;
    astr *key = awk_subscript(A, n->a->kind == E_GROUP ? n->a->a : n->a);
    int found = amap_get(A, a, key, 0) != NULL;
    astr_unref(A, key);
    return found;
}

cell awk_record_cell(awk *A) {
    astr *s = awk_record_text(A);
    if (s == A->empty) awk_lint(A, A->line, "reference to uninitialized field `$0'");
    cell c = cell_input(A, astr_ref(s));
    if (A->record_is_text) c.type = V_STR;
    return c;
}

cell awk_eval(awk *A, anode *n) {
    cell *c;
    if (A->fatal) return cell_num(0);
    switch (n->kind) {
    case E_NUM: return cell_num(n->num);
    case E_STR: return (cell){.type = V_STR | (A->any_base ? V_BASES : 0), .str = astr_ref(n->str)};
    case E_REGEX: return n->op == '@' ? (cell){.type = V_REGEX, .str = astr_ref(n->str)} : cell_num(matches(A, NULL, n));
    case E_VAR:
        if (n->index == VAR_NF) awk_fields_split(A);
        c = &A->vars[n->index];
        if (c->type & V_ARRAY) { array_misused(A, n); return cell_num(0); }
        if (!c->type) lint_unset(A, n);
        make_scalar(c);
        return cell_copy(*c);
    case E_LOCAL:
        c = variable(A, n);
        if (c->type & V_ARRAY) { array_misused(A, n); return cell_num(0); }
        if (!c->type) lint_unset(A, n);
        make_scalar(c);
        return cell_copy(*c);
    case E_INDEX: {
        array *in = awk_eval_array(A, n->a);
        if (!in) return cell_num(0);
        astr *key = awk_subscript(A, n->b);
        c = awk_array_cell(A, in, key, 1);
        astr_unref(A, key);
        if (c && c->type & V_ARRAY) array_misused(A, n);
        if (!c || A->fatal) return cell_num(0);
        cell value = cell_copy(*c);
        if (!value.type) value.was_read = 1;
        return value;
    }
    case E_FIELD: {
        double i = awk_eval_number(A, n->a);
        if (i < 0) { awk_fatal(A, "attempt to access field %d", (int)i); return cell_num(0); }
        if (i < 1) return awk_record_cell(A);
        c = awk_field_get(A, i > 1e9 ? 1000000000 : (int)i, 0);
        if (!c || (c->type & V_STR && c->str == A->empty)) awk_lint(A, A->line, "reference to uninitialized field `$%.0f'", i);
        if (c) return cell_copy(*c);
        return (cell){.type = V_STR, .was_read = 1, .str = astr_ref(A->empty)}; /* unlike a variable never set, it is no number */
    }
    case E_GROUP:
        if (n->count > 1) { awk_fatal(A, "syntax error: list used as a value"); return cell_num(0); }
        return awk_eval(A, n->a);
    case E_ASSIGN: return assign(A, n);
    case E_COND: return awk_eval(A, awk_eval_true(A, n->a) ? n->b : n->c);
    case E_AND: return cell_num(awk_eval_true(A, n->a) && awk_eval_true(A, n->b));
    case E_OR: return cell_num(awk_eval_true(A, n->a) || awk_eval_true(A, n->b));
    case E_NOT: return cell_num(!awk_eval_true(A, n->a));
    case E_NEG: return cell_num(-awk_eval_number(A, n->a));
    case E_PLUS: return cell_num(awk_eval_number(A, n->a));
    case E_BIN: { double a = awk_eval_number(A, n->a); return cell_num(arithmetic(A, n->op, a, awk_eval_number(A, n->b))); }
    case E_COMPARE: return cell_num(compare(A, n));
    case E_MATCH: return cell_num(matches(A, n->a, n->b));
    case E_NOMATCH: return cell_num(!matches(A, n->a, n->b));
    case E_IN: return cell_num(member(A, n));
    case E_CONCAT: return concatenate(A, n);
    case E_PREINC: return increment(A, n, 1, 0);
    case E_PREDEC: return increment(A, n, -1, 0);
    case E_POSTINC: return increment(A, n, 1, 1);
    case E_POSTDEC: return increment(A, n, -1, 1);
    case E_CALL: return awk_call_function(A, n);
    case E_BUILTIN: return awk_call_builtin(A, n);
    case E_GETLINE: return get_line(A, n);
    }
    return cell_num(0);
}
