/* awk_replace.c - sub, gsub and gensub. */
#include "awk_call.h"
#include "awk_message.h"
#include "../utf8.h"
#include <string.h>

enum { FOR_SUB, FOR_GENSUB, FOR_POSIX };        /* whose rules for backslashes; POSIX has \\\\ and \\& alone */

/* What sub and gsub put in: & is the match, \\& a literal &; for gensub also \\0..\\9. */
static void add_replacement(buffer *b, const astr *with, const char *text, const regex_span *g, int how) {
    int numbered = how == FOR_GENSUB;
    for (size_t i = 0; i < with->n; i++) {
        char c = with->text[i];
        if (c == '\\' && how == FOR_POSIX) {
            if (i + 1 < with->n && strchr("\\&", with->text[i + 1])) c = with->text[++i];
            buffer_putc(b, c);
            continue;
        }
        if (c == '\\' && !numbered) {
            /* backslashes count in pairs, but only before an & */
            size_t run = 1;
            while (i + run < with->n && with->text[i + run] == '\\') run++;
            int marked = i + run < with->n && with->text[i + run] == '&';
            for (size_t k = 0; k < (marked ? run / 2 : run); k++) buffer_putc(b, '\\');
            i += run - 1;
            if (marked && run % 2) { buffer_putc(b, '&'); i++; }
            continue;
        }
        if (c == '\\' && i + 1 < with->n) {
            char d = with->text[i + 1];
            if (d == '&') { buffer_putc(b, '&'); i++; continue; }
            if (d >= '0' && d <= '9') {
                if (g[d - '0'].start >= 0) buffer_add(b, text + g[d - '0'].start, (size_t)(g[d - '0'].end - g[d - '0'].start));
                i++;
                continue;
            }
            if (d == '\\') { buffer_putc(b, '\\'); i++; continue; }
            buffer_putc(b, d);
            i++;
            continue;
        }
        if (c == '&') buffer_add(b, text + g[0].start, (size_t)(g[0].end - g[0].start));
        else buffer_putc(b, c);
    }
}

/* Replaces the which-th match, or all when which is 0. Returns how many; the result is in b. */
static int replace(regex *re, const astr *s, const astr *with, int which, int how, buffer *b) {
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
            add_replacement(b, with, s->text, g, how);
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

cell awk_substitute(awk *A, anode *n, int all) {
    regex *re = awk_eval_regex(A, n->a);
    astr *with = awk_eval_string(A, n->a->next);
    anode whole = {.kind = E_FIELD}, zero = {.kind = E_NUM}, *target = n->a->next->next;
    whole.a = &zero;
    if (!target) target = &whole;
    cell old = awk_eval(A, target);
    int is_regex = old.type & V_REGEX;
    astr *s = cell_string(A, &old, 0);
    cell_drop(A, old);
    int count = 0;
    if (re && !A->fatal) {
        buffer b = {.t = A->t};
        count = replace(re, s, with, all ? 0 : 1, A->is_posix ? FOR_POSIX : FOR_SUB, &b);
        if (count) {
            int special;
            int assignable
                = target->kind == E_VAR || target->kind == E_LOCAL || target->kind == E_INDEX || target->kind == E_FIELD;
            cell *place = assignable ? awk_eval_place(A, target, &special) : NULL;
            if (place) {
                cell_drop(A, *place);
                *place = cell_str(astr_new(A, b.p, b.n));
                if (is_regex) place->type = V_REGEX;
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

cell awk_gensub(awk *A, anode *n) {
    regex *re = awk_eval_regex(A, n->a);
    anode *third = n->a->next->next;
    astr *with = awk_eval_string(A, n->a->next), *how = awk_eval_string(A, third),
         *s = third->next ? awk_eval_string(A, third->next) : astr_ref(awk_record_text(A));
    int which = how->n && (how->text[0] == 'g' || how->text[0] == 'G') ? 0 : (int)awk_text_number(how->text, how->n);
    if (which < 0 || (which == 0 && !(how->n && (how->text[0] | 32) == 'g'))) {
        awk_warn(A, A->line, "gensub: third argument `%s' treated as 1", how->text);
        which = 1;
    }
    buffer b = {.t = A->t};
    if (re) replace(re, s, with, which, FOR_GENSUB, &b);
    astr *r = astr_new(A, b.p ? b.p : "", b.n);
    buffer_free(&b);
    astr_unref(A, with);
    astr_unref(A, how);
    astr_unref(A, s);
    return cell_str(r);
}
