/* awk_call.c - awk's built-in functions. Positions and lengths count characters. */
#include "awk.h"
#include "dates.h"
#include "../utf8.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { B_ATAN2, B_COS, B_SIN, B_EXP, B_LOG, B_SQRT, B_INT, B_RAND, B_SRAND, B_LENGTH, B_SUBSTR, B_INDEX, B_SPLIT, B_SUB, B_GSUB, B_GENSUB, B_MATCH, B_SPRINTF, B_TOLOWER,
    B_TOUPPER, B_SYSTEM, B_CLOSE, B_FFLUSH, B_SYSTIME, B_STRFTIME, B_MKTIME, B_ASORT, B_ASORTI, B_AND, B_OR, B_XOR, B_LSHIFT, B_RSHIFT, B_COMPL, B_STRTONUM, B_TYPEOF, B_ISARRAY,
    B_PATSPLIT, B_COUNT };
static const char *const names[] = {"atan2", "cos", "sin", "exp", "log", "sqrt", "int", "rand", "srand", "length", "substr", "index", "split", "sub", "gsub", "gensub", "match", "sprintf",
    "tolower", "toupper", "system", "close", "fflush", "systime", "strftime", "mktime", "asort", "asorti", "and", "or", "xor", "lshift", "rshift", "compl", "strtonum", "typeof",
    "isarray", "patsplit"};

int awk_builtin_named(const char *name, size_t n) {
    for (int i = 0; i < B_COUNT; i++) if (strlen(names[i]) == n && !memcmp(names[i], name, n)) return i;
    return -1;
}

static int is_ascii(const astr *s) {
    for (size_t i = 0; i < s->n; i++) if ((signed char)s->text[i] < 0) return 0;
    return 1;
}

static size_t to_bytes(const astr *s, size_t chars) { return is_ascii(s) ? (chars < s->n ? chars : s->n) : utf8_offset(s->text, s->n, chars); }
static size_t to_chars(const astr *s, size_t bytes) { return is_ascii(s) ? bytes : utf8_length(s->text, bytes); }

static cell length(awk *A, anode *n) {
    if (!n->a) { astr *r = awk_record_text(A); return cell_num((double)utf8_length(r->text, r->n)); }
    anode *e = n->a;
    if (e->kind == E_VAR || e->kind == E_LOCAL) {
        cell *c = e->kind == E_VAR ? &A->vars[e->index] : &A->locals[e->index];
        if (c->type & V_ARRAY) return cell_num(c->arr->count);
    }
    astr *s = awk_eval_string(A, e);
    double v = (double)utf8_length(s->text, s->n);
    astr_unref(A, s);
    return cell_num(v);
}

static cell substr(awk *A, anode *n) {
    astr *s = awk_eval_string(A, n->a);
    double from = trunc(awk_eval_number(A, n->a->next));
    size_t chars = to_chars(s, s->n);
    double to = INFINITY;
    if (n->count > 2) {
        double len = trunc(awk_eval_number(A, n->a->next->next));
        if (from < 1) from = 1;
        to = len != len ? from : from + len;
    }
    if (from < 1) from = 1;
    if (to > (double)chars + 1) to = (double)chars + 1;
    astr *r;
    if (to <= from || from != from) r = astr_ref(A->empty);
    else {
        size_t start = to_bytes(s, (size_t)from - 1), stop = to_bytes(s, (size_t)to - 1);
        r = astr_new(A, s->text + start, stop - start);
    }
    astr_unref(A, s);
    return cell_str(r);
}

static cell find_index(awk *A, anode *n) {
    astr *s = awk_eval_string(A, n->a), *what = awk_eval_string(A, n->a->next);
    double at = 0;
    if (!what->n) at = 1;
    else for (size_t i = 0; i + what->n <= s->n; i++) {
        const char *p = memchr(s->text + i, what->text[0], s->n - i - what->n + 1);
        if (!p) break;
        i = (size_t)(p - s->text);
        if (!memcmp(p, what->text, what->n)) { at = (double)to_chars(s, i) + 1; break; }
    }
    astr_unref(A, s);
    astr_unref(A, what);
    return cell_num(at);
}

static cell split(awk *A, anode *n) {
    astr *s = awk_eval_string(A, n->a);
    array *to = awk_eval_array(A, n->a->next), *seps = NULL;
    int count = 0;
    anode *by = n->count > 2 ? n->a->next->next : NULL;
    if (n->count > 3) seps = awk_eval_array(A, by->next);
    if (to && !A->fatal) {
        if (by && by->kind == E_REGEX) { regex *re = awk_eval_regex(A, by); if (re) count = awk_split_text(A, s, to, seps, NULL, re); }
        else if (by) {
            cell fs = awk_eval(A, by);
            count = awk_split_text(A, s, to, seps, &fs, NULL);
            cell_drop(A, fs);
        } else count = awk_split_text(A, s, to, seps, &A->vars[VAR_FS], NULL);
    }
    astr_unref(A, s);
    return cell_num(count);
}

static cell patsplit(awk *A, anode *n) {
    astr *s = awk_eval_string(A, n->a);
    array *to = awk_eval_array(A, n->a->next);
    astr *own = NULL;
    regex *re;
    if (n->count > 2) re = awk_eval_regex(A, n->a->next->next);
    else { own = cell_string(A, &A->vars[VAR_FPAT], 0); re = awk_regex_cached(A, own); }
    int count = 0;
    if (to && re) {
        regex_span m;
        amap_clear(A, to);
        for (size_t at = 0; at <= s->n && regex_exec(re, s->text, s->n, at, &m, 1) > 0;) {
            if (m.end == m.start) { at = (size_t)m.end + 1; continue; }
            cell k = cell_num(++count);
            astr *key = cell_string(A, &k, 0);
            *amap_get(A, to, key, 1) = cell_input(astr_new(A, s->text + m.start, (size_t)(m.end - m.start)));
            astr_unref(A, key);
            at = (size_t)m.end;
        }
    }
    if (own) astr_unref(A, own);
    astr_unref(A, s);
    return cell_num(count);
}

/* What sub and gsub put in: & is the match, \\& a literal &; for gensub also \\0..\\9. */
static void add_replacement(buffer *b, const astr *with, const char *text, const regex_span *g, int numbered) {
    for (size_t i = 0; i < with->n; i++) {
        char c = with->text[i];
        if (c == '\\' && i + 1 < with->n) {
            char d = with->text[i + 1];
            if (d == '&') { buffer_putc(b, '&'); i++; continue; }
            if (numbered && d >= '0' && d <= '9') {
                if (g[d - '0'].start >= 0) buffer_add(b, text + g[d - '0'].start, (size_t)(g[d - '0'].end - g[d - '0'].start));
                i++;
                continue;
            }
            if (d == '\\') { buffer_putc(b, '\\'); i++; continue; }
            if (numbered) { buffer_putc(b, d); i++; continue; }
        }
        if (c == '&') buffer_add(b, text + g[0].start, (size_t)(g[0].end - g[0].start));
        else buffer_putc(b, c);
    }
}

/* Replaces the which-th match, or all when which is 0. Returns how many; the result is in b. */
static int replace(regex *re, const astr *s, const astr *with, int which, int numbered, buffer *b) {
    regex_span g[10];
    size_t at = 0, copied = 0;
    ssize_t previous = -1;
    int seen = 0, done = 0;
    while (at <= s->n && regex_exec(re, s->text, s->n, at, g, 10) > 0) {
        if (g[0].end == g[0].start && g[0].start == previous) {
            int c;
            if (at >= s->n) break;
            at += (size_t)utf8_decode(s->text + at, s->n - at, &c);
            previous = -1;
            continue;
        }
        seen++;
        if (!which || seen == which) {
            buffer_add(b, s->text + copied, (size_t)g[0].start - copied);
            add_replacement(b, with, s->text, g, numbered);
            copied = (size_t)g[0].end;
            done++;
            if (which) break;
        }
        previous = g[0].end;
        at = (size_t)g[0].end;
        if (g[0].end == g[0].start) {
            int c;
            if (at >= s->n) break;
            at += (size_t)utf8_decode(s->text + at, s->n - at, &c);
            previous = -1;
        }
    }
    buffer_add(b, s->text + copied, s->n - copied);
    return done;
}

static cell substitute(awk *A, anode *n, int all) {
    regex *re = awk_eval_regex(A, n->a);
    astr *with = awk_eval_string(A, n->a->next);
    anode whole = {.kind = E_FIELD}, zero = {.kind = E_NUM}, *target = n->a->next->next;
    whole.a = &zero;
    if (!target) target = &whole;
    cell old = awk_eval(A, target);
    astr *s = cell_string(A, &old, 0);
    cell_drop(A, old);
    int count = 0;
    if (re && !A->fatal) {
        buffer b = {.t = A->t};
        count = replace(re, s, with, all ? 0 : 1, 0, &b);
        if (count) {
            int special;
            int assignable = target->kind == E_VAR || target->kind == E_LOCAL || target->kind == E_INDEX || target->kind == E_FIELD;
            cell *place = assignable ? awk_eval_place(A, target, &special) : NULL;
            if (place) {
                cell_drop(A, *place);
                *place = cell_str(astr_new(A, b.p, b.n));
                if (target->kind == E_FIELD) place->type |= V_MAYBE;
                if (special >= 0) awk_place_assigned(A, target, special);
            }
        }
        buffer_free(&b);
    }
    astr_unref(A, s);
    astr_unref(A, with);
    return cell_num(count);
}

static cell gensub(awk *A, anode *n) {
    regex *re = awk_eval_regex(A, n->a);
    anode *third = n->a->next->next;
    astr *with = awk_eval_string(A, n->a->next), *how = awk_eval_string(A, third), *s = third->next ? awk_eval_string(A, third->next) : astr_ref(awk_record_text(A));
    int which = how->n && (how->text[0] == 'g' || how->text[0] == 'G') ? 0 : (int)awk_text_number(how->text, how->n);
    if (which < 0 || (which == 0 && !(how->n && (how->text[0] | 32) == 'g'))) which = 1;
    buffer b = {.t = A->t};
    if (re) replace(re, s, with, which, 1, &b);
    astr *r = astr_new(A, b.p ? b.p : "", b.n);
    buffer_free(&b);
    astr_unref(A, with);
    astr_unref(A, how);
    astr_unref(A, s);
    return cell_str(r);
}

static cell match(awk *A, anode *n) {
    astr *s = awk_eval_string(A, n->a);
    regex *re = awk_eval_regex(A, n->a->next);
    anode *third = n->a->next->next;
    array *to = third ? awk_eval_array(A, third) : NULL;
    int groups = re ? regex_groups(re) : 0;
    regex_span *g = tool_alloc(A->t, ((size_t)groups + 1) * sizeof *g);
    int found = re && !A->fatal ? regex_exec(re, s->text, s->n, 0, g, groups + 1) > 0 : 0;
    double start = 0, len = -1;
    if (to) amap_clear(A, to);
    if (found) {
        start = (double)to_chars(s, (size_t)g[0].start) + 1;
        len = (double)to_chars(s, (size_t)g[0].end) - start + 1;
    }
    for (int i = 0; found && to && i <= groups; i++) {
        if (g[i].start < 0) continue;
        char *k = tool_format(A->t, "%d", i);
        cell *c = amap_at(A, to, k);
        *c = cell_input(astr_new(A, s->text + g[i].start, (size_t)(g[i].end - g[i].start)));
        astr *sep = cell_string(A, &A->vars[VAR_SUBSEP], 0);
        double at = (double)to_chars(s, (size_t)g[i].start) + 1;
        *amap_at(A, to, tool_format(A->t, "%d%sstart", i, sep->text)) = cell_num(at);
        *amap_at(A, to, tool_format(A->t, "%d%slength", i, sep->text)) = cell_num((double)to_chars(s, (size_t)g[i].end) - at + 1);
        astr_unref(A, sep);
    }
    cell_drop(A, A->vars[VAR_RSTART]);
    cell_drop(A, A->vars[VAR_RLENGTH]);
    A->vars[VAR_RSTART] = cell_num(start);
    A->vars[VAR_RLENGTH] = cell_num(len);
    tool_free(A->t, g);
    astr_unref(A, s);
    return cell_num(start);
}

static cell change_case(awk *A, anode *n, int upper) {
    astr *s = awk_eval_string(A, n->a);
    buffer b = {.t = A->t};
    buffer_puts(&b, "");
    for (size_t i = 0; i < s->n;) {
        int c, len = utf8_decode(s->text + i, s->n - i, &c);
        char bytes[4];
        if (c < 0) buffer_putc(&b, s->text[i]); else buffer_add(&b, bytes, (size_t)utf8_encode(upper ? utf8_upper(c) : utf8_lower(c), bytes));
        i += (size_t)len;
    }
    astr *r = astr_new(A, b.p, b.n);
    buffer_free(&b);
    astr_unref(A, s);
    return cell_str(r);
}

static cell format(awk *A, anode *n) {
    cell *args = tool_alloc(A->t, ((size_t)n->count + 1) * sizeof *args);
    int i = 0;
    for (anode *e = n->a; e; e = e->next) args[i++] = awk_eval(A, e);
    astr *f = cell_string(A, &args[0], 0), *r = awk_format_text(A, f, args + 1, i - 1);
    astr_unref(A, f);
    while (i--) cell_drop(A, args[i]);
    tool_free(A->t, args);
    return cell_str(r);
}

static double next_random(awk *A) {
    unsigned long long a = A->seed[0], b = A->seed[1];
    A->seed[0] = b;
    a ^= a << 23;
    A->seed[1] = a ^ b ^ (a >> 17) ^ (b >> 26);
    return (double)((A->seed[1] + b) >> 11) / 9007199254740992.0;
}

static void seed_random(awk *A, double n) {
    unsigned long long x = (unsigned long long)(long long)n + 0x9E3779B97F4A7C15ull;
    for (int i = 0; i < 2; i++) {
        x += 0x9E3779B97F4A7C15ull;
        unsigned long long z = x;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ z >> 27) * 0x94D049BB133111EBull;
        A->seed[i] = z ^ z >> 31;
    }
}

static cell seed(awk *A, anode *n) {
    double old = A->seed_number;
    A->seed_number = n->a ? awk_eval_number(A, n->a) : (double)moment_now().tv_sec;
    seed_random(A, A->seed_number);
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

static cell sort_array(awk *A, anode *n, int by_index) {
    array *from = awk_eval_array(A, n->a), *to = n->count > 1 ? awk_eval_array(A, n->a->next) : from;
    astr *how = n->count > 2 ? awk_eval_string(A, n->a->next->next) : astr_new(A, by_index ? "@ind_str_asc" : "@val_type_asc", by_index ? 12 : 13);
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
        int sign = 1;
        while (isspace((unsigned char)*p)) p++;
        if (*p == '-') { sign = -1; p++; }
        if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) v = sign * (double)strtoull(p + 2, NULL, 16);
        else if (p[0] == '0' && !strpbrk(p, "89.eE")) v = sign * (double)strtoull(p, NULL, 8);
        else v = sign * awk_text_number(p, strlen(p));
    } else v = cell_number(&c);
    cell_drop(A, c);
    return cell_num(v);
}

/* The element that e names, when it is there; NULL otherwise. */
static cell *element_of(awk *A, anode *e) {
    if (e->kind != E_INDEX) return NULL;
    array *a = awk_eval_array(A, e->a);
    if (!a) return NULL;
    astr *key = awk_subscript(A, e->b);
    cell *c = amap_get(A, a, key, 0);
    astr_unref(A, key);
    return c;
}

static cell type_of(awk *A, anode *n) {
    const char *name = "unassigned";
    anode *e = n->a;
    cell *c = e->kind == E_VAR ? &A->vars[e->index] : e->kind == E_LOCAL ? &A->locals[e->index] : element_of(A, e);
    if (c && c->type & V_ARRAY) name = "array";
    else if (c && c->type == V_NONE) name = c->origin ? "untyped" : "untyped";
    else {
        cell v = awk_eval(A, e);
        int maybe = v.type & V_MAYBE, number = cell_is_number(&v);
        name = v.type == V_NONE ? "unassigned" : v.type & V_REGEX ? "regexp" : (maybe && number) || (v.type == (V_NUM | V_STR)) ? "strnum" : number ? "number" : "string";
        cell_drop(A, v);
    }
    return cell_str(astr_new(A, name, strlen(name)));
}

static cell bits(awk *A, anode *n) {
    unsigned long long v = (unsigned long long)awk_eval_number(A, n->a);
    if (n->index == B_COMPL) return cell_num((double)(~v & 0x1FFFFFFFFFFFFFull));
    for (anode *e = n->a->next; e; e = e->next) {
        unsigned long long w = (unsigned long long)awk_eval_number(A, e);
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
    astr *command = awk_eval_string(A, n->a);
    io_flush(A->t->out);
    int status = awk_run_command(A, command, NULL, NULL);
    astr_unref(A, command);
    return cell_num(status);
}

static cell close_stream(awk *A, anode *n) {
    astr *name = awk_eval_string(A, n->a);
    int status;
    if (n->count > 1) {
        /* close(command, "to"): no more input for a coprocess, which may now be read */
        astr *how = awk_eval_string(A, n->a->next);
        int to = !strcmp(how->text, "to");
        astr_unref(A, how);
        status = to && awk_coprocess_turn(A, name) ? 0 : to ? -1 : awk_stream_close(A, name);
    } else status = awk_stream_close(A, name);
    astr_unref(A, name);
    return cell_num(status);
}

cell awk_call_builtin(awk *A, anode *n) {
    static const signed char least[] = {2, 1, 1, 1, 1, 1, 1, 0, 0, 0, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 1, 1, 1, 1, 2};
    if (n->count < least[n->index]) { awk_fatal(A, "%d is invalid as number of arguments for %s", n->count, names[n->index]); return cell_num(0); }
    if (tool_too_deep(A->t)) { awk_fatal(A, "expression nests too deep"); return cell_num(0); }
    switch (n->index) {
    case B_ATAN2: { double y = awk_eval_number(A, n->a); return cell_num(atan2(y, awk_eval_number(A, n->a->next))); }
    case B_COS: return cell_num(cos(awk_eval_number(A, n->a)));
    case B_SIN: return cell_num(sin(awk_eval_number(A, n->a)));
    case B_EXP: return cell_num(exp(awk_eval_number(A, n->a)));
    case B_LOG: { double v = awk_eval_number(A, n->a); return cell_num(v < 0 ? -(double)NAN : log(v)); }
    case B_SQRT: { double v = awk_eval_number(A, n->a); return cell_num(v < 0 ? -(double)NAN : sqrt(v)); }
    case B_INT: return cell_num(trunc(awk_eval_number(A, n->a)));
    case B_RAND: if (!A->seed[0] && !A->seed[1]) seed_random(A, 0); return cell_num(next_random(A));
    case B_SRAND: return seed(A, n);
    case B_LENGTH: return length(A, n);
    case B_SUBSTR: return substr(A, n);
    case B_INDEX: return find_index(A, n);
    case B_SPLIT: return split(A, n);
    case B_SUB: return substitute(A, n, 0);
    case B_GSUB: return substitute(A, n, 1);
    case B_GENSUB: return gensub(A, n);
    case B_MATCH: return match(A, n);
    case B_SPRINTF: return format(A, n);
    case B_TOLOWER: return change_case(A, n, 0);
    case B_TOUPPER: return change_case(A, n, 1);
    case B_SYSTEM: return run_system(A, n);
    case B_CLOSE: return close_stream(A, n);
    case B_FFLUSH: awk_streams_flush(A); io_flush(A->t->out); return cell_num(0);
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
        cell *c = e->kind == E_VAR ? &A->vars[e->index] : e->kind == E_LOCAL ? &A->locals[e->index] : element_of(A, e);
        return cell_num(c && c->type & V_ARRAY ? 1 : 0);
    }
    case B_PATSPLIT: return patsplit(A, n);
    }
    return cell_num(0);
}
