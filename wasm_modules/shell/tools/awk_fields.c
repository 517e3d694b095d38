/* awk_fields.c - how a record falls into fields, and how changed fields become a record again; split. */
#include "awk.h"
#include "../utf8.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void reserve_fields(awk *A, int n) {
    if (n < A->fields_cap) return;
    int cap = A->fields_cap ? A->fields_cap : 32;
    while (cap <= n) cap *= 2;
    A->fields = tool_realloc(A->t, A->fields, (size_t)cap * sizeof *A->fields);
    A->fields_cap = cap;
}

/* FIELDWIDTHS as it is assigned: widths, SKIP:WIDTH, and a * that only stands at the end. */
void awk_widths_check(awk *A) {
    astr *widths = cell_string(A, &A->vars[VAR_FIELDWIDTHS], 0);
    int field = 1;
    for (const char *w = widths->text; !A->fatal; field++) {
        w += strspn(w, " \t\n");
        if (!*w) break;
        const char *start = w;
        size_t digits = strspn(w, "0123456789");
        if (digits && w[digits] == ':') { start = w += digits + 1; digits = strspn(w, "0123456789"); }
        if (*w == '*' && (!w[1] || isspace((unsigned char)w[1]))) {
            w++;
            if (w[strspn(w, " \t\n")]) awk_fatal(A, "`*' must be the last designator in FIELDWIDTHS");
            continue;
        }
        if (!digits || (w[digits] && !isspace((unsigned char)w[digits])))
            awk_fatal(A, "invalid FIELDWIDTHS value, for field %d, near `%s'", field, start);
        w += digits;
    }
    astr_unref(A, widths);
}

static void add_field(awk *A, void *context, const char *text, size_t n, const char *sep, size_t sep_n) {
    (void)context; (void)sep; (void)sep_n;
    reserve_fields(A, A->nf + 1);
    cell *f = &A->fields[++A->nf];
    cell_drop(A, *f);
    *f = cell_input(A, astr_new(A, text, n));
}

/* Cuts text by fs ("" each character, " " blanks, one character, or re) and hands out the pieces. */
static void cut(awk *A, const char *p, size_t n, const astr *fs, regex *re, int newline_too, awk_piece_fn *each, void *context) {
    const char *end = p + n;
    if (fs && fs->n == 1 && fs->text[0] == ' ') {
        const char *sep = p;
        for (;;) {
            sep = p;
            while (p < end && (*p == ' ' || *p == '\t' || *p == '\n')) p++;
            if (p >= end) return;
            (void)sep;
            const char *start = p;
            while (p < end && *p != ' ' && *p != '\t' && *p != '\n') p++;
            const char *gap = p;
            while (gap < end && (*gap == ' ' || *gap == '\t' || *gap == '\n')) gap++;
            each(A, context, start, (size_t)(p - start), p, (size_t)(gap - p));
        }
    }
    if (!n) return;
    if (fs && !fs->n) {
        while (p < end) {
            int c, len = utf8_decode(p, (size_t)(end - p), &c);
            each(A, context, p, (size_t)len, p, 0);
            p += len;
        }
        return;
    }
    if (fs && fs->n == 1 && !re) {
        char mark = fs->text[0];
        for (;;) {
            const char *stop = memchr(p, mark, (size_t)(end - p));
            if (newline_too) {
                const char *nl = memchr(p, '\n', (size_t)((stop ? stop : end) - p));
                if (nl) stop = nl;
            }
            each(A, context, p, (size_t)((stop ? stop : end) - p), stop ? stop : end, stop ? 1 : 0);
            if (!stop) return;
            p = stop + 1;
        }
    }
    const char *base = p;
    size_t at = 0, piece = 0;
    regex_span m;
    while (at <= n && regex_exec(re, base, n, at, &m, 1) > 0) {
        if (m.end == m.start) { at = (size_t)m.end + 1; continue; }
        size_t stop = (size_t)m.start;
        if (newline_too) {
            const char *nl = memchr(base + piece, '\n', stop - piece);
            if (nl) {
                each(A, context, base + piece, (size_t)(nl - base) - piece, nl, 1);
                piece = at = (size_t)(nl - base) + 1;
                continue;
            }
        }
        each(A, context, base + piece, stop - piece, base + stop, (size_t)(m.end - m.start));
        piece = at = (size_t)m.end;
    }
    while (newline_too) {
        const char *nl = memchr(base + piece, '\n', n - piece);
        if (!nl) break;
        each(A, context, base + piece, (size_t)(nl - base) - piece, nl, 1);
        piece = (size_t)(nl - base) + 1;
    }
    each(A, context, base + piece, n - piece, end, 0);
}

static void split_widths(awk *A, const char *p, size_t n) {
    astr *widths = cell_string(A, &A->vars[VAR_FIELDWIDTHS], 0);
    const char *w = widths->text;
    size_t at = 0;
    while (at < n) {
        while (isspace((unsigned char)*w)) w++;
        if (!*w) break;
        size_t skip = 0, width;
        char *end;
        if (*w == '*') { width = n; w++; }
        else {
            width = strtoul(w, &end, 10);
            if (end == w) break;
            if (*end == ':') { skip = width; w = end + 1; width = *w == '*' ? (end = (char *)w + 1, n) : strtoul(w, &end, 10); }
            w = end;
        }
        at += utf8_offset(p + at, n - at, skip);
        size_t len = utf8_offset(p + at, n - at, width);
        if (at >= n) break;
        add_field(A, NULL, p + at, len, NULL, 0);
        at += len;
    }
    astr_unref(A, widths);
}

int awk_split_fields(awk *A, regex *re, const char *p, size_t n, awk_piece_fn *each, void *context) {
    const char *scan = p, *end = p + n, *start = p;
    int count = 0, found = 0;
    regex_span m;
    while (scan < end) {
        start = scan;
        found = regex_exec(re, scan, (size_t)(end - scan), 0, &m, 1) > 0;
        if (count && found && !m.end) {         /* no field is empty right behind another */
            int c;
            scan += utf8_decode(scan, (size_t)(end - scan), &c);
            found = regex_exec(re, scan, (size_t)(end - scan), 0, &m, 1) > 0;
        }
        if (!found) break;
        each(A, context, scan + m.start, (size_t)(m.end - m.start), start, (size_t)(scan + m.start - start));
        count++;
        scan += m.end;
    }
    if (n) each(A, context, NULL, 0, found ? end : start, found ? 0 : (size_t)(end - start));
    return count;
}

static void add_matched_field(awk *A, void *context, const char *text, size_t n, const char *sep, size_t sep_n) {
    if (text) add_field(A, context, text, n, sep, sep_n);
}

static void split_pattern(awk *A, const char *p, size_t n) {
    astr *pattern = cell_string(A, &A->vars[VAR_FPAT], 0);
    regex *re = awk_regex_cached(A, pattern);
    if (re) awk_split_fields(A, re, p, n, add_matched_field, NULL);
    astr_unref(A, pattern);
}

/* --csv: commas part the fields; between quotes they do not, and two quotes stand for one. */
static void split_csv(awk *A, const char *p, size_t n) {
    const char *end = p + n;
    buffer b = {.t = A->t};
    while (n) {
        int quoted = p < end && *p == '"';
        b.n = 0;
        buffer_puts(&b, "");
        for (p += quoted; p < end && (quoted || *p != ','); p++) {
            if (*p != '"' || !quoted) { buffer_putc(&b, *p); continue; }
            if (p + 1 < end && p[1] == '"') buffer_putc(&b, *p++);
            else quoted = 0;
        }
        add_field(A, NULL, b.p, b.n, NULL, 0);
        if (p >= end) break;
        p++;
    }
    buffer_free(&b);
}

void awk_fields_split(awk *A) {
    if (A->split_done) return;
    A->split_done = 1;
    A->nf = 0;
    if (A->split_mode == 'W') split_widths(A, A->record->text, A->record->n);
    else if (A->split_mode == 'C') split_csv(A, A->record->text, A->record->n);
    else if (A->split_mode == 'P') split_pattern(A, A->record->text, A->record->n);
    else {
        astr *fs = cell_string(A, &A->vars[VAR_FS], 0), *rs = cell_string(A, &A->vars[VAR_RS], 0);
        regex *re = NULL;
        int is_typed = A->vars[VAR_FS].type & V_REGEX && fs->n;
        if (fs->n > 1 || is_typed || (fs->n == 1 && fs->text[0] == '\\')) {
            if (fs->n == 1 && !is_typed) { astr *two = astr_new(A, "\\\\", 2); re = awk_regex_cached(A, two); astr_unref(A, two); }
            else re = awk_regex_cached(A, fs);
        }
        if (fs->n <= 1 || re) cut(A, A->record->text, A->record->n, fs->n <= 1 && !is_typed ? fs : NULL, re, !rs->n && fs->n <= 1, add_field, NULL);
        astr_unref(A, fs);
        astr_unref(A, rs);
    }
    cell_drop(A, A->vars[VAR_NF]);
    A->vars[VAR_NF] = cell_num(A->nf);
}

/* Rebuilds $0 from the fields when one has changed. */
astr *awk_record_text(awk *A) {
    if (!A->record_stale) return A->record;
    astr *ofs = cell_string(A, &A->vars[VAR_OFS], 0);
    buffer b = {.t = A->t};
    buffer_puts(&b, "");
    for (int i = 1; i <= A->nf; i++) {
        astr *s = cell_string(A, &A->fields[i], 0);
        if (i > 1) buffer_add(&b, ofs->text, ofs->n);
        buffer_add(&b, s->text, s->n);
        astr_unref(A, s);
    }
    astr_unref(A, ofs);
    astr_unref(A, A->record);
    A->record = astr_new(A, b.p, b.n);
    A->record_stale = 0;
    buffer_free(&b);
    return A->record;
}

static void set_count(awk *A, int n) {
    reserve_fields(A, n + 1);
    for (int i = A->nf + 1; i <= n; i++) {
        cell_drop(A, A->fields[i]);
        A->fields[i] = cell_str(astr_ref(A->empty));
        A->fields[i].type |= V_MAYBE;
    }
    A->nf = n;
    A->record_stale = 1;
}

cell *awk_field_get(awk *A, int i, int make) {
    awk_fields_split(A);
    if (i > A->nf) {
        if (!make) return NULL;
        if (i > 10000000) { awk_fatal(A, "field index too big"); return NULL; }
        set_count(A, i);
        A->vars[VAR_NF] = cell_num(i);
    }
    return &A->fields[i];
}

void awk_field_assigned(awk *A, int i) {
    if (i) { A->record_stale = 1; return; }
    cell c = A->fields[0];
    A->fields[0] = (cell){0};
    awk_record_set(A, cell_string(A, &c, 0));
    A->record_is_text = c.type == V_STR;
    cell_drop(A, c);
}

void awk_nf_assigned(awk *A) {
    double want = cell_number(&A->vars[VAR_NF]);
    awk_fields_split(A);
    if (want < 0) { awk_fatal(A, "NF set to negative value"); return; }
    if (want > 10000000) { awk_fatal(A, "NF too big"); return; }
    set_count(A, (int)want);
    cell_drop(A, A->vars[VAR_NF]);
    A->vars[VAR_NF] = cell_num((int)want);
}

typedef struct { array *to, *seps; int n, by_char; } split_target;

static astr *index_key(awk *A, int i) {
    cell c = cell_num(i);
    return cell_string(A, &c, 0);
}

static void add_piece(awk *A, void *context, const char *text, size_t n, const char *sep, size_t sep_n) {
    split_target *t = context;
    astr *key = index_key(A, ++t->n);
    cell *c = amap_get(A, t->to, key, 1);
    *c = cell_input(A, astr_new(A, text, n));
    if (t->seps && (sep_n || t->by_char)) { c = amap_get(A, t->seps, key, 1); cell_drop(A, *c); *c = cell_str(astr_new(A, sep, sep_n)); }
    astr_unref(A, key);
}

int awk_split_text(awk *A, astr *s, array *to, array *seps, const cell *fs, regex *re) {
    astr *by = re ? NULL : cell_string(A, fs, 0);
    split_target t = {to, seps, 0, by && !by->n};
    amap_clear(A, to);
    if (seps) amap_clear(A, seps);
    if (by && (by->n > 1 || (by->n && fs->type & V_REGEX))) re = awk_regex_cached(A, by);
    if (by && by->n == 1 && by->text[0] == '\\') {
        astr *two = astr_new(A, "\\\\", 2);
        re = awk_regex_cached(A, two);
        astr_unref(A, two);
    }
    size_t lead = by && by->n == 1 && by->text[0] == ' ' ? strspn(s->text, " \t\n") : 0;
    if (seps && lead) *amap_at(A, seps, "0") = cell_str(astr_new(A, s->text, lead));
    if (re || (by && by->n <= 1)) cut(A, s->text, s->n, re ? NULL : by, re, 0, add_piece, &t);
    if (t.by_char && seps && t.n) {             /* nothing follows the last one */
        astr *key = index_key(A, t.n);
        amap_delete(A, seps, key);
        astr_unref(A, key);
    }
    if (by) astr_unref(A, by);
    return t.n;
}
