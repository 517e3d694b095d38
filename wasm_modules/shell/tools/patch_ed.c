/* patch_ed.c - the edit scripts of diff -e: FROM[,TO] followed by a, c or d, with the new lines up to a single dot.
 *
 * diff -e writes a line that is a single dot as two, and then takes one away with s/.//. No other commands of ed are known.
 */
#include "patch.h"
#include <string.h>

typedef struct { size_t from, to; char op; } edit;

static int read_edit(span l, edit *e) {
    size_t i = 0, at[2] = {0};
    int n = 0;
    for (; i < l.n; i++) {
        if (l.p[i] >= '0' && l.p[i] <= '9') { if (at[n] < 100000000) at[n] = at[n] * 10 + (size_t)(l.p[i] - '0'); }
        else if (l.p[i] == ',' && i && !n) n = 1;
        else break;
    }
    if (!i || i + 1 != l.n || !strchr("acd", l.p[i])) return 0;
    *e = (edit){at[0], n ? at[1] : at[0], l.p[i]};
    return 1;
}

int patch_is_ed(span line) { edit e; return read_edit(line, &e); }

static int is_text(span l, const char *text) { return l.n == strlen(text) && !memcmp(l.p, text, l.n); }

/* The lines of an a or c command into to. */
static void take_lines(tool *t, patch_text *p, span_list *to) {
    for (; p->at < p->lines.n && !is_text(p->lines.at[p->at], "."); p->at++)
        span_add(t, to, p->lines.at[p->at].p, p->lines.at[p->at].n);
    p->at += p->at < p->lines.n;
    if (p->at >= p->lines.n || !is_text(p->lines.at[p->at], "s/.//")) return;
    p->at++;
    if (to->n && to->at[to->n - 1].n) { to->at[to->n - 1].p++; to->at[to->n - 1].n--; }
    if (p->at < p->lines.n && is_text(p->lines.at[p->at], "a")) { p->at++; take_lines(t, p, to); }
}

int patch_ed_apply(tool *t, patch_text *p, span_list *lines) {
    edit e;
    while (p->at < p->lines.n && read_edit(p->lines.at[p->at], &e)) {
        span_list made = {0}, fresh = {0};
        if (e.to > lines->n || e.to < e.from || (!e.from && e.op != 'a')) return -1;
        p->at++;
        if (e.op != 'd') take_lines(t, p, &fresh);
        size_t keep = e.op == 'a' ? e.from : e.from - 1;
        for (size_t i = 0; i < keep; i++) span_add(t, &made, lines->at[i].p, lines->at[i].n);
        for (size_t i = 0; i < fresh.n; i++) span_add(t, &made, fresh.at[i].p, fresh.at[i].n);
        for (size_t i = e.op == 'a' ? e.from : e.to; i < lines->n; i++) span_add(t, &made, lines->at[i].p, lines->at[i].n);
        *lines = made;
    }
    return 0;
}
