/* awk_call.c - awk's built-in functions: their names, the call, and those for numbers, time, arrays and the outside. */
#include "awk_call.h"
#include "awk_message.h"
#include "dates.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    B_ATAN2,
    B_COS,
    B_SIN,
    B_EXP,
    B_LOG,
    B_SQRT,
    B_INT,
    B_RAND,
    B_SRAND,
    B_LENGTH,
    B_SUBSTR,
    B_INDEX,
    B_SPLIT,
    B_SUB,
    B_GSUB,
    B_GENSUB,
    B_MATCH,
    B_SPRINTF,
    B_TOLOWER,
    B_TOUPPER,
    B_SYSTEM,
    B_CLOSE,
    B_FFLUSH,
    B_SYSTIME,
    B_STRFTIME,
    B_MKTIME,
    B_ASORT,
    B_ASORTI,
    B_AND,
    B_OR,
    B_XOR,
    B_LSHIFT,
    B_RSHIFT,
    B_COMPL,
    B_STRTONUM,
    B_TYPEOF,
    B_ISARRAY,
    B_PATSPLIT,
    B_MKBOOL,
    B_DCGETTEXT,
    B_DCNGETTEXT,
    B_BINDTEXTDOMAIN,
    B_COUNT
};
static const char *const names[]
    = {"atan2", "cos", "sin", "exp", "log", "sqrt", "int", "rand", "srand", "length", "substr", "index", "split", "sub", "gsub",
        "gensub", "match", "sprintf", "tolower", "toupper", "system", "close", "fflush", "systime", "strftime", "mktime", "asort",
        "asorti", "and", "or", "xor", "lshift", "rshift", "compl", "strtonum", "typeof", "isarray", "patsplit", "mkbool", "dcgettext",
        "dcngettext", "bindtextdomain"};

int awk_builtin_named(const char *name, size_t n) {
    for (int i = 0; i < B_COUNT; i++) if (strlen(names[i]) == n && !memcmp(names[i], name, n)) return i;
    return -1;
}

int awk_builtin_count(void) { return B_COUNT; }

const char *awk_builtin_name(int index) { return names[index]; }

int awk_builtin_takes(int index, int count) {
    enum { ANY = 127 };
    static const signed char least[]
        = {2, 1, 1, 1, 1, 1, 1, 0, 0, 0, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 1, 1, 1, 1, 2, 1, 1, 3, 1};
    static const signed char most[] = {2, 1, 1, 1, 1, 1, 1, 0, 1, 1, 3, 2, 4, 3, 3, 4, 3, ANY, 1, 1, 1, 2, 1, 0, 3, 2, 3, 3, ANY,
        ANY, ANY, 2, 2, 1, 1, 2, 1, 4, 1, 3, 5, 2};
    return count >= least[index] && count <= most[index];
}

/* The element that e names, when it is there; NULL otherwise. */
cell *awk_element(awk *A, anode *e, int make) {
    if (e->kind != E_INDEX) return NULL;
    array *a = awk_eval_array(A, e->a);
    if (!a) return NULL;
    astr *key = awk_subscript(A, e->b);
    cell *c = awk_array_cell(A, a, key, make);
    astr_unref(A, key);
    return c;
}

/* The number that the argument e is; position 0: the only one. */
static double take_number(awk *A, anode *n, anode *e, int position) {
    static const char *const ordinals[] = {"", "first ", "second ", "third "};
    cell c = awk_eval(A, e);
    if (A->lint && c.type & (V_STR | V_REGEX) && !cell_is_number(&c))
        awk_lint(A, A->line, "%s: received non-numeric %sargument", awk_builtin_name(n->index), ordinals[position]);
    double v = cell_number(&c);
    cell_drop(A, c);
    return v;
}

static cell seed(awk *A, anode *n) {
    double old = A->seed_number;
    A->seed_number = n->a ? awk_eval_number(A, n->a) : (double)moment_now().tv_sec;
    awk_random_seed(&A->random, A->seed_number);
    return cell_num(old);
}

static cell format_time(awk *A, anode *n) {
    astr *f = n->a ? awk_eval_string(A, n->a) : astr_new(A, "%a %b %e %H:%M:%S %Z %Y", 23);
    moment when = moment_now();
    int utc = 0;
    if (n->count > 1) { when.tv_sec = (time_t)awk_eval_number(A, n->a->next); when.tv_nsec = 0; }
    if (n->count > 2) utc = awk_eval_true(A, n->a->next->next);
    buffer b = {.t = A->t};
    date_format(&b, f->text, when, utc);
    astr *r = astr_new(A, b.p ? b.p : "", b.n);
    buffer_free(&b);
    astr_unref(A, f);
    return cell_str(r);
}

static cell make_time(awk *A, anode *n) {
    astr *s = awk_eval_string(A, n->a);
    int v[6] = {0}, k = 0;
    char *p = s->text;
    for (; k < 6; k++) {
        char *end;
        v[k] = (int)strtol(p, &end, 10);
        if (end == p) break;
        p = end;
    }
    astr_unref(A, s);
    if (k < 6) return cell_num(-1);
    struct tm tm = {.tm_year = v[0] - 1900, .tm_mon = v[1] - 1, .tm_mday = v[2], .tm_hour = v[3], .tm_min = v[4], .tm_sec = v[5]};
    return cell_num((double)date_seconds(A->t, &tm, n->count > 1 && awk_eval_true(A, n->a->next)));
}

static int can_be_array(awk *A, anode *e) {
    cell *c = e->kind == E_VAR ? &A->vars[e->index] : e->kind == E_LOCAL ? &A->locals[e->index] : NULL;
    return e->kind == E_INDEX || (c && (c->type == V_NONE || c->type & V_ARRAY));
}

static cell sort_array(awk *A, anode *n, int by_index) {
    for (int i = 0; i < 2 && i < n->count; i++) {
        if (can_be_array(A, i ? n->a->next : n->a)) continue;
        awk_fatal(A, "%s: %s argument is not an array", awk_builtin_name(n->index), i ? "second" : "first");
        return cell_num(0);
    }
    array *from = awk_eval_array(A, n->a), *to = n->count > 1 ? awk_eval_array(A, n->a->next) : from;
    astr *how = n->count > 2 ? awk_eval_string(A, n->a->next->next)
                             : astr_new(A, by_index ? "@ind_str_asc" : "@val_type_asc", by_index ? 12 : 13);
    if (!from || !to) { astr_unref(A, how); return cell_num(0); }
    int count;
    astr **keys = amap_keys(A, from, &count);
    awk_keys_sort(A, from, keys, count, how->text);
    cell *values = tool_alloc(A->t, ((size_t)count + 1) * sizeof *values);
    for (int i = 0; i < count; i++) {
        if (by_index) values[i] = cell_str(astr_ref(keys[i]));
        else values[i] = cell_copy(*amap_get(A, from, keys[i], 1));
        astr_unref(A, keys[i]);
    }
    amap_clear(A, to);
    for (int i = 0; i < count; i++) *amap_at(A, to, tool_format(A->t, "%d", i + 1)) = values[i];
    tool_free(A->t, values);
    tool_free(A->t, keys);
    astr_unref(A, how);
    return cell_num(count);
}

static cell string_to_number(awk *A, anode *n) {
    cell c = awk_eval(A, n->a);
    double v;
    if (c.type & V_STR && !(c.type & V_NUM)) {
        const char *p = c.str->text;
        while (isspace((unsigned char)*p)) p++;
        if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) v = (double)strtoull(p + 2, NULL, 16);
        else if (p[0] == '0' && !strpbrk(p, "89.eE")) v = (double)strtoull(p, NULL, 8);
        else v = awk_text_number(p, strlen(p));
    } else v = cell_number(&c);
    cell_drop(A, c);
    return cell_num(v);
}

/* Whether nothing was ever put into the field: it is beyond the last one, or was made by one behind it. */
static int is_missing_field(awk *A, anode *n) {
    double i = awk_eval_number(A, n->a);
    if (i < 1) return awk_record_text(A) == A->empty;
    const cell *c = awk_field_get(A, i > 1e9 ? 1000000000 : (int)i, 0);
    return !c || (c->type & V_STR && c->str == A->empty);
}

static cell type_of(awk *A, anode *n) {
    const char *name = "untyped";
    anode *e = n->a;
    cell *c = e->kind == E_VAR ? &A->vars[e->index] : e->kind == E_LOCAL ? &A->locals[e->index] : awk_element(A, e, 0);
    if (c && c->type & V_ARRAY) name = "array";
    else if (e->kind == E_FIELD && is_missing_field(A, e)) name = "unassigned";
    else if (e->kind != E_INDEX || c) {
        if (c && c->type == V_NONE) return c->was_read ? cell_str(astr_new(A, "unassigned", 10)) : cell_str(astr_new(A, name, 7));
        cell v = awk_eval(A, e);
        int maybe = v.type & V_MAYBE, number = cell_is_number(&v);
        name = v.type == V_NONE || v.was_read                     ? "unassigned"
               : v.type & V_BOOL                                  ? "number|bool"
               : v.type & V_REGEX                                 ? "regexp"
               : (maybe && number) || (v.type == (V_NUM | V_STR)) ? "strnum"
               : number                                           ? "number"
                                                                  : "string";
        cell_drop(A, v);
    }
    return cell_str(astr_new(A, name, strlen(name)));
}

/* and, or, xor, compl and the shifts know no negative numbers. */
static int refuse_negative(awk *A, int function, int position, double v) {
    const char *name = awk_builtin_name(function);
    if (!(v < 0)) return 0;
    if (function == B_LSHIFT || function == B_RSHIFT || function == B_COMPL)
        awk_fatal(A, "%s(%f): negative value%s not allowed", name, v, function == B_COMPL ? " is" : "s are");
    else awk_fatal(A, "%s: argument %d negative value %g is not allowed", name, position, v);
    return 1;
}

static cell bits(awk *A, anode *n) {
    int position = 1;
    double first = awk_eval_number(A, n->a);
    if (refuse_negative(A, n->index, position, first)) return cell_num(0);
    unsigned long long v = (unsigned long long)first;
    if (n->index == B_COMPL) return cell_num((double)(~v & 0x1FFFFFFFFFFFFFull));
    for (anode *e = n->a->next; e; e = e->next) {
        double next = awk_eval_number(A, e);
        if (refuse_negative(A, n->index, ++position, next)) return cell_num(0);
        unsigned long long w = (unsigned long long)next;
        switch (n->index) {
        case B_AND: v &= w; break;
        case B_OR: v |= w; break;
        case B_XOR: v ^= w; break;
        case B_LSHIFT: v = w < 64 ? v << w : 0; break;
        case B_RSHIFT: v = w < 64 ? v >> w : 0; break;
        }
    }
    return cell_num((double)v);
}

static cell run_system(awk *A, anode *n) {
    if (A->is_sandboxed) { awk_fatal(A, "'system' function not allowed in sandbox mode"); return cell_num(0); }
    astr *command = awk_eval_string(A, n->a);
    awk_out_flush(A);
    int status = awk_run_command(A, command, NULL, NULL);
    astr_unref(A, command);
    return cell_num(status);
}

static cell flush(awk *A, anode *n) {
    astr *name = n->a ? awk_eval_string(A, n->a) : NULL;
    astream *s = name ? awk_stream_find(A, name, 'p', 0) : NULL;
    int failed = s && s->write_closed;
    if (failed) awk_warn(A, A->line, "fflush: cannot flush: two-way pipe `%s' has closed write end", name->text);
    if (name) astr_unref(A, name);
    awk_streams_flush(A);
    awk_out_flush(A);
    return cell_num(failed ? -1 : 0);
}

static cell close_stream(awk *A, anode *n) {
    astr *name = awk_eval_string(A, n->a);
    int status;
    if (n->count > 1) {
        /* close(command, "to"): no more input for a coprocess, which may now be read */
        astr *how = awk_eval_string(A, n->a->next);
        int to = !strcmp(how->text, "to");
        astr_unref(A, how);
        astream *s = to ? awk_coprocess_turn(A, name) : awk_stream_find(A, name, 'p', 0);
        if (s && to) s->write_closed = 1;
        else if (s && awk_stream_find(A, name, 'p', 0)) s->read_closed = 1;
        status = s ? 0 : to ? -1 : awk_stream_close(A, name);
    } else status = awk_stream_close(A, name);
    if (status == -1) {
        awk_errno_set(A, 0);
        cell_drop(A, A->vars[VAR_ERRNO]);
        A->vars[VAR_ERRNO] = cell_str(astr_new(A, "close of redirection that was never opened", 42));
    }
    astr_unref(A, name);
    return cell_num(status);
}

cell awk_call_builtin(awk *A, anode *n) {
    if (tool_too_deep(A->t)) { awk_fatal(A, "expression nests too deep"); return cell_num(0); }
    switch (n->index) {
    case B_ATAN2: { double y = take_number(A, n, n->a, 1); return cell_num(atan2(y, take_number(A, n, n->a->next, 2))); }
    case B_COS: return cell_num(cos(take_number(A, n, n->a, 0)));
    case B_SIN: return cell_num(sin(take_number(A, n, n->a, 0)));
    case B_EXP: {
        double v = take_number(A, n, n->a, 0), e = exp(v);
        if (isinf(e) && !isinf(v)) awk_warn(A, A->line, "exp: argument %g is out of range", v);
        return cell_num(e);
    }
    case B_LOG: {
        double v = take_number(A, n, n->a, 0);
        if (v < 0) awk_warn(A, A->line, "log: received negative argument %g", v);
        return cell_num(v < 0 ? -(double)NAN : log(v));
    }
    case B_SQRT: {
        double v = take_number(A, n, n->a, 0);
        if (v < 0) awk_warn(A, A->line, "sqrt: received negative argument %g", v);
        return cell_num(v < 0 ? -(double)NAN : sqrt(v));
    }
    case B_INT: return cell_num(trunc(take_number(A, n, n->a, 0)));
    case B_RAND:
        if (!A->random.is_seeded) awk_random_seed(&A->random, A->seed_number);
        return cell_num(awk_random_next(&A->random));
    case B_SRAND: return seed(A, n);
    case B_LENGTH: return awk_length(A, n);
    case B_SUBSTR: return awk_substr(A, n);
    case B_INDEX: return awk_index(A, n);
    case B_SPLIT: return awk_split(A, n);
    case B_SUB: return awk_substitute(A, n, 0);
    case B_GSUB: return awk_substitute(A, n, 1);
    case B_GENSUB: return awk_gensub(A, n);
    case B_MATCH: return awk_match(A, n);
    case B_SPRINTF: return awk_sprintf(A, n);
    case B_TOLOWER: return awk_change_case(A, n, 0);
    case B_TOUPPER: return awk_change_case(A, n, 1);
    case B_SYSTEM: return run_system(A, n);
    case B_CLOSE: return close_stream(A, n);
    case B_FFLUSH: return flush(A, n);
    case B_SYSTIME: return cell_num((double)moment_now().tv_sec);
    case B_STRFTIME: return format_time(A, n);
    case B_MKTIME: return make_time(A, n);
    case B_ASORT: return sort_array(A, n, 0);
    case B_ASORTI: return sort_array(A, n, 1);
    case B_AND: case B_OR: case B_XOR: case B_LSHIFT: case B_RSHIFT: case B_COMPL: return bits(A, n);
    case B_STRTONUM: return string_to_number(A, n);
    case B_TYPEOF: return type_of(A, n);
    case B_ISARRAY: {
        anode *e = n->a;
        cell *c = e->kind == E_VAR ? &A->vars[e->index] : e->kind == E_LOCAL ? &A->locals[e->index] : awk_element(A, e, 0);
        return cell_num(c && c->type & V_ARRAY ? 1 : 0);
    }
    case B_MKBOOL: return (cell){.type = V_NUM | V_BOOL, .num = awk_eval_true(A, n->a)};
    case B_PATSPLIT: return awk_patsplit(A, n);
    case B_DCGETTEXT: return cell_str(awk_eval_string(A, n->a));            /* there are no translations */
    case B_DCNGETTEXT: return cell_str(awk_eval_string(A, awk_eval_number(A, n->a->next->next) == 1 ? n->a : n->a->next));
    case B_BINDTEXTDOMAIN: return cell_str(awk_eval_string(A, n->a));
    }
    return cell_num(0);
}
