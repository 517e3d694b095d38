/* awk_text.c - awk's functions of text: length, substr, index, split, match, case. Positions and lengths count characters. */
#include "awk_call.h"
#include "awk_message.h"
#include "../utf8.h"
#include <math.h>
#include <string.h>
#include <strings.h>

static int is_ascii(const astr *s) {
    for (size_t i = 0; i < s->n; i++) if ((signed char)s->text[i] < 0) return 0;
    return 1;
}

static size_t to_bytes(const awk *A, const astr *s, size_t chars) {
    return A->bytes || is_ascii(s) ? (chars < s->n ? chars : s->n) : utf8_offset(s->text, s->n, chars);
}
static size_t to_chars(const awk *A, const astr *s, size_t bytes) {
    return A->bytes || is_ascii(s) ? bytes : utf8_length(s->text, bytes);
}

size_t awk_chars(const awk *A, const char *text, size_t n) { return A->bytes ? n : utf8_length(text, n); }
size_t awk_char_offset(const awk *A, const char *text, size_t n, size_t chars) {
    return A->bytes ? (chars < n ? chars : n) : utf8_offset(text, n, chars);
}

cell awk_length(awk *A, anode *n) {
    if (!n->a) { astr *r = awk_record_text(A); return cell_num((double)awk_chars(A, r->text, r->n)); }
    anode *e = n->a;
    if (e->kind == E_VAR || e->kind == E_LOCAL) {
        cell *c = e->kind == E_VAR ? &A->vars[e->index] : &A->locals[e->index];
        if (c->type & V_ARRAY) {
            if (A->lint) awk_lint(A, A->line, "`length(array)' is a gawk extension");
            return cell_num(c->arr->count);
        }
    } else if (e->kind == E_INDEX) {
        cell *c = awk_element(A, e, 0);
        if (c && c->type & V_ARRAY) return cell_num(c->arr->count);
    }
    cell c = awk_eval(A, e);
    if (A->lint && c.type && !(c.type & (V_STR | V_REGEX))) awk_lint(A, A->line, "length: received non-string argument");
    astr *s = cell_string(A, &c, 0);
    cell_drop(A, c);
    double v = (double)awk_chars(A, s->text, s->n);
    astr_unref(A, s);
    return cell_num(v);
}

cell awk_substr(awk *A, anode *n) {
    astr *s = awk_eval_string(A, n->a);
    double from = trunc(awk_eval_number(A, n->a->next));
    size_t chars = to_chars(A, s, s->n);
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
        size_t start = to_bytes(A, s, (size_t)from - 1), stop = to_bytes(A, s, (size_t)to - 1);
        r = astr_new(A, s->text + start, stop - start);
    }
    astr_unref(A, s);
    return cell_str(r);
}

cell awk_index(awk *A, anode *n) {
    cell in = awk_eval(A, n->a), for_what = awk_eval(A, n->a->next);
    if (A->lint && !(in.type & V_STR)) awk_lint(A, A->line, "index: received non-string first argument");
    if (A->lint && !(for_what.type & V_STR)) awk_lint(A, A->line, "index: received non-string second argument");
    astr *s = cell_string(A, &in, 0), *what = cell_string(A, &for_what, 0);
    cell_drop(A, in);
    cell_drop(A, for_what);
    double at = 0;
    int fold = A->vars[VAR_IGNORECASE].type && cell_true(&A->vars[VAR_IGNORECASE]);
    if (!what->n) at = 1;
    else if (fold) {
        for (size_t i = 0; i + what->n <= s->n && !at; i++)
            if (!strncasecmp(s->text + i, what->text, what->n)) at = (double)to_chars(A, s, i) + 1;
    } else for (size_t i = 0; i + what->n <= s->n; i++) {
        const char *p = memchr(s->text + i, what->text[0], s->n - i - what->n + 1);
        if (!p) break;
        i = (size_t)(p - s->text);
        if (!memcmp(p, what->text, what->n)) { at = (double)to_chars(A, s, i) + 1; break; }
    }
    astr_unref(A, s);
    astr_unref(A, what);
    return cell_num(at);
}

cell awk_split(awk *A, anode *n) {
    astr *s = awk_eval_string(A, n->a);
    array *to = awk_eval_array(A, n->a->next), *seps = NULL;
    int count = 0;
    anode *by = n->count > 2 ? n->a->next->next : NULL;
    if (n->count > 3) seps = awk_eval_array(A, by->next);
    if (to && !A->fatal) {
        if (by && by->kind == E_REGEX && by->str->n) {
            regex *re = awk_eval_regex(A, by);
            if (re) count = awk_split_text(A, s, to, seps, NULL, re);
        } else if (by) {
            cell fs = by->kind == E_REGEX ? cell_str(astr_ref(by->str)) : awk_eval(A, by);
            count = awk_split_text(A, s, to, seps, &fs, NULL);
            cell_drop(A, fs);
        } else count = awk_split_text(A, s, to, seps, &A->vars[VAR_FS], NULL);
    }
    astr_unref(A, s);
    return cell_num(count);
}

static void put_piece(awk *A, array *to, int index, const char *text, size_t n) {
    if (!to) return;
    cell k = cell_num(index);
    astr *key = cell_string(A, &k, 0);
    *amap_get(A, to, key, 1) = cell_input(A, astr_new(A, text, n));
    astr_unref(A, key);
}

typedef struct { array *to, *seps; int count; } matched_pieces;

static void put_match(awk *A, void *context, const char *text, size_t n, const char *sep, size_t sep_n) {
    matched_pieces *all = context;
    put_piece(A, all->seps, all->count, sep, sep_n);
    if (text) put_piece(A, all->to, ++all->count, text, n);
}

cell awk_patsplit(awk *A, anode *n) {
    astr *s = awk_eval_string(A, n->a);
    array *to = awk_eval_array(A, n->a->next);
    astr *own = NULL;
    regex *re;
    if (n->count > 2) re = awk_eval_regex(A, n->a->next->next);
    else { own = cell_string(A, &A->vars[VAR_FPAT], 0); re = awk_regex_cached(A, own); }
    array *seps = n->count > 3 ? awk_eval_array(A, n->a->next->next->next) : NULL;
    int count = 0;
    if (to && re) {
        matched_pieces all = {to, seps, 0};
        amap_clear(A, to);
        if (seps) amap_clear(A, seps);
        count = awk_split_fields(A, re, s->text, s->n, put_match, &all);
    }
    if (own) astr_unref(A, own);
    astr_unref(A, s);
    return cell_num(count);
}

cell awk_match(awk *A, anode *n) {
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
        start = (double)to_chars(A, s, (size_t)g[0].start) + 1;
        len = (double)to_chars(A, s, (size_t)g[0].end) - start + 1;
    }
    for (int i = 0; found && to && i <= groups; i++) {
        if (g[i].start < 0) continue;
        char *k = tool_format(A->t, "%d", i);
        cell *c = amap_at(A, to, k);
        *c = cell_input(A, astr_new(A, s->text + g[i].start, (size_t)(g[i].end - g[i].start)));
        astr *sep = cell_string(A, &A->vars[VAR_SUBSEP], 0);
        double at = (double)to_chars(A, s, (size_t)g[i].start) + 1;
        *amap_at(A, to, tool_format(A->t, "%d%sstart", i, sep->text)) = cell_num(at);
        *amap_at(A, to, tool_format(A->t, "%d%slength", i, sep->text))
            = cell_num((double)to_chars(A, s, (size_t)g[i].end) - at + 1);
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

cell awk_change_case(awk *A, anode *n, int upper) {
    astr *s = awk_eval_string(A, n->a);
    buffer b = {.t = A->t};
    buffer_puts(&b, "");
    for (size_t i = 0; i < s->n;) {
        int c, len = utf8_decode(s->text + i, s->n - i, &c);
        char bytes[4];
        if (c < 0) buffer_putc(&b, s->text[i]);
        else buffer_add(&b, bytes, (size_t)utf8_encode(upper ? utf8_upper(c) : utf8_lower(c), bytes));
        i += (size_t)len;
    }
    astr *r = astr_new(A, b.p, b.n);
    buffer_free(&b);
    astr_unref(A, s);
    return cell_str(r);
}

cell awk_sprintf(awk *A, anode *n) {
    cell *args = tool_alloc(A->t, ((size_t)n->count + 1) * sizeof *args);
    int i = 0;
    for (anode *e = n->a; e; e = e->next) args[i++] = awk_eval(A, e);
    astr *f = cell_string(A, &args[0], 0), *r = awk_format_text(A, f, args + 1, i - 1);
    astr_unref(A, f);
    while (i--) cell_drop(A, args[i]);
    tool_free(A->t, args);
    return cell_str(r);
}
