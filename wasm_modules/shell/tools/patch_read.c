/* patch_read.c - reading patches: unified, context and normal diffs, each hunk as lines marked as in a unified one. */
#include "patch.h"
#include "files.h"
#include <stdlib.h>
#include <string.h>

static void add_line(tool *t, patch_hunk *h, char mark, span text) {
    if (h->n == h->cap) h->lines = tool_realloc(t, h->lines, (h->cap = h->cap ? h->cap * 2 : 16) * sizeof *h->lines);
    h->lines[h->n++] = (patch_line){mark, text, 0};
}

int patch_line_starts(span s, const char *text) { size_t n = strlen(text); return s.n >= n && !memcmp(s.p, text, n); }

/* "NAME" with C's escapes at p, in place of which it is put; what is no such thing stays. */
static void unquote(char *p) {
    static const char from[] = "abfnrtv\\\"", to[] = "\a\b\f\n\r\t\v\\\"";
    char *out = p, *in = p + 1, *close = in;
    while (*close && *close != '"') close += *close == '\\' && close[1] ? 2 : 1;
    if (*p != '"' || *close != '"') return;
    while (in < close) {
        const char *at = *in == '\\' ? strchr(from, in[1]) : NULL;
        if (at) { *out++ = to[at - from]; in += 2; }
        else if (*in == '\\' && in[1] >= '0' && in[1] <= '7') {
            int v = 0, digits = 0;
            for (in++; digits < 3 && *in >= '0' && *in <= '7'; digits++) v = v * 8 + *in++ - '0';
            *out++ = (char)v;
        } else *out++ = *in++;
    }
    *out = '\0';
}

/* The path of a "--- name<tab>date" line with -p applied; empty when it has not so many parts. */
const char *patch_name(tool *t, span line, int strip) {
    size_t n = line.n - 4;
    char *name = tool_strndup(t, line.p + 4, n), *tab = strchr(name, '\t');
    if (tab) *tab = '\0';
    else { char *end = name + strlen(name); while (end > name && (end[-1] == ' ' || end[-1] == '\r')) *--end = '\0'; }
    unquote(name);
    if (!strcmp(name, "/dev/null")) return name;
    if (strip < 0) return path_last(name);
    for (; strip > 0; strip--) {
        char *slash = strchr(name, '/');
        if (!slash) return "";
        while (*slash == '/') slash++;
        name = slash;
    }
    return name;
}

int patch_is_epoch(tool *t, span line) {
    char *text = tool_strndup(t, line.p, line.n), *tab = strchr(text, '\t');
    return tab && !strncmp(tab + 1, "1970-01-01 00:00:00", 19);
}

/* @@ -a,b +c,d @@ and its lines. 0 when there is none at the cursor. */
static int read_unified(tool *t, patch_text *p, patch_hunk *h) {
    memset(h, 0, sizeof *h);
    if (p->at >= p->lines.n || !patch_line_starts(p->lines.at[p->at], "@@ -")) return 0;
    char *end, *text = tool_strndup(t, p->lines.at[p->at].p, p->lines.at[p->at].n);
    h->old_at = strtoul(text + 4, &end, 10);
    h->old_n = *end == ',' ? strtoul(end + 1, &end, 10) : 1;
    while (*end && *end != '+') end++;
    h->new_at = strtoul(*end ? end + 1 : end, &end, 10);
    h->new_n = *end == ',' ? strtoul(end + 1, &end, 10) : 1;
    p->at++;
    size_t old = 0, new = 0;
    while (p->at < p->lines.n && (old < h->old_n || new < h->new_n || patch_line_starts(p->lines.at[p->at], "\\"))) {
        span l = p->lines.at[p->at];
        char mark = l.n ? l.p[0] : ' ';
        if (mark == '\\') { if (h->n) h->lines[h->n - 1].no_newline = 1; p->at++; continue; }
        if (mark != ' ' && mark != '-' && mark != '+' && mark != '\t') break;
        span body = l.n ? (span){l.p + 1, l.n - 1} : l;
        if (mark == '\t') { mark = ' '; body = l; }
        add_line(t, h, mark, body);
        if (mark != '+') old++;
        if (mark != '-') new++;
        p->at++;
    }
    return 1;
}

/* Normal diff: 3c4, 5,6d7, 8a9,10. */
static int read_normal(tool *t, patch_text *p, patch_hunk *h) {
    memset(h, 0, sizeof *h);
    if (p->at >= p->lines.n || !p->lines.at[p->at].n || p->lines.at[p->at].p[0] < '0' || p->lines.at[p->at].p[0] > '9') return 0;
    char *end, *text = tool_strndup(t, p->lines.at[p->at].p, p->lines.at[p->at].n);
    size_t a = strtoul(text, &end, 10), b = *end == ',' ? strtoul(end + 1, &end, 10) : a;
    char op = *end;
    size_t c = op ? strtoul(end + 1, &end, 10) : 0, d = *end == ',' ? strtoul(end + 1, &end, 10) : c;
    if (!strchr("acd", op) || !op) return 0;
    p->at++;
    h->old_at = a;
    h->old_n = op == 'a' ? 0 : b - a + 1;
    h->new_at = c;
    h->new_n = op == 'd' ? 0 : d - c + 1;
    for (; p->at < p->lines.n; p->at++) {
        span l = p->lines.at[p->at];
        if (patch_line_starts(l, "< ")) add_line(t, h, '-', (span){l.p + 2, l.n - 2});
        else if (patch_line_starts(l, "> ")) add_line(t, h, '+', (span){l.p + 2, l.n - 2});
        else if (patch_line_starts(l, "\\")) { if (h->n) h->lines[h->n - 1].no_newline = 1; }
        else if (!patch_line_starts(l, "---")) break;
    }
    return 1;
}

/* The lines of one half of a context hunk, after its "*** a,b ****" or "--- a,b ----" line. */
static void read_half(tool *t, patch_text *p, patch_hunk *half, const char *marks) {
    for (; p->at < p->lines.n; p->at++) {
        span l = p->lines.at[p->at];
        if (patch_line_starts(l, "\\")) { if (half->n) half->lines[half->n - 1].no_newline = 1; continue; }
        if (l.n < 2 || l.p[1] != ' ' || !strchr(marks, l.p[0])) return;
        add_line(t, half, l.p[0], (span){l.p + 2, l.n - 2});
    }
}

static int read_range(tool *t, span line, size_t *at, size_t *n) {
    char *end, *text = tool_strndup(t, line.p, line.n);
    *at = strtoul(text + 4, &end, 10);
    *n = *end == ',' ? strtoul(end + 1, NULL, 10) - *at + 1 : *at ? 1 : 0;
    return end > text + 4;
}

/* Context diff: the old half and the new half of a hunk, merged; a half without changes may be left out. */
static int read_context(tool *t, patch_text *p, patch_hunk *h) {
    patch_hunk old = {0}, new = {0};
    memset(h, 0, sizeof *h);
    if (p->at + 1 >= p->lines.n || !patch_line_starts(p->lines.at[p->at], "***************")) return 0;
    if (!patch_line_starts(p->lines.at[p->at + 1], "*** ") || !read_range(t, p->lines.at[p->at + 1], &h->old_at, &h->old_n))
        return 0;
    p->at += 2;
    read_half(t, p, &old, " -!");
    if (p->at >= p->lines.n || !patch_line_starts(p->lines.at[p->at], "--- ")) return 0;
    read_range(t, p->lines.at[p->at++], &h->new_at, &h->new_n);
    read_half(t, p, &new, " +!");
    size_t i = 0, j = 0;
    while (i < old.n || j < new.n) {
        patch_line *from;
        char mark = ' ';
        if (i < old.n && old.lines[i].mark != ' ') { from = &old.lines[i++]; mark = '-'; }
        else if (j < new.n && new.lines[j].mark != ' ') { from = &new.lines[j++]; mark = '+'; }
        else {
            from = i < old.n ? &old.lines[i] : &new.lines[j];
            i += i < old.n;
            j += j < new.n;
        }
        add_line(t, h, mark, from->text);
        h->lines[h->n - 1].no_newline = from->no_newline;
    }
    return 1;
}

int patch_next_hunk(tool *t, patch_text *p, int kind, patch_hunk *h) {
    return kind == PATCH_NORMAL ? read_normal(t, p, h) : kind == PATCH_CONTEXT ? read_context(t, p, h) : read_unified(t, p, h);
}

void patch_reverse(patch_hunk *h) {
    for (size_t i = 0; i < h->n; i++) h->lines[i].mark = h->lines[i].mark == '-' ? '+' : h->lines[i].mark == '+' ? '-' : ' ';
    size_t at = h->old_at, n = h->old_n;
    h->old_at = h->new_at;
    h->old_n = h->new_n;
    h->new_at = at;
    h->new_n = n;
}
