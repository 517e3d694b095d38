/* patch.c - apply unified, normal and context-free diffs to files. Hunks may have moved; fuzz drops up to two lines of context. */
#include "buffer.h"
#include "files.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { char mark; span text; int no_newline; } patch_line;
typedef struct { size_t old_at, old_n, new_at, new_n; patch_line *lines; size_t n, cap; } patch_hunk;
typedef struct { tool *t; int strip, reverse, dry, silent, force, backup, remove_empty, status; const char *output, *file, *reject, *dir; } patch_state;
typedef struct { span_list lines; size_t at; } patch_text;

static void add_line(tool *t, patch_hunk *h, char mark, span text) {
    if (h->n == h->cap) h->lines = tool_realloc(t, h->lines, (h->cap = h->cap ? h->cap * 2 : 16) * sizeof *h->lines);
    h->lines[h->n++] = (patch_line){mark, text, 0};
}

static int starts(span s, const char *text) { size_t n = strlen(text); return s.n >= n && !memcmp(s.p, text, n); }

/* The path of a "--- name<tab>date" line with -p applied. */
static char *header_name(patch_state *s, span line) {
    size_t n = line.n - 4;
    char *name = tool_strndup(s->t, line.p + 4, n), *tab = strchr(name, '\t');
    if (tab) *tab = '\0';
    else { char *end = name + strlen(name); while (end > name && (end[-1] == ' ' || end[-1] == '\r')) *--end = '\0'; }
    if (!strcmp(name, "/dev/null")) return name;
    int strip = s->strip;
    if (strip < 0) return (char *)path_last(name);
    for (char *p = name; strip > 0; strip--) { char *slash = strchr(p, '/'); if (!slash) return name; while (*slash == '/') slash++; name = p = slash; }
    return name;
}

/* @@ -a,b +c,d @@ and its lines. 0 when there is none at the cursor. */
static int read_hunk(patch_state *s, patch_text *p, patch_hunk *h) {
    memset(h, 0, sizeof *h);
    if (p->at >= p->lines.n || !starts(p->lines.at[p->at], "@@ -")) return 0;
    char *end, *text = tool_strndup(s->t, p->lines.at[p->at].p, p->lines.at[p->at].n);
    h->old_at = strtoul(text + 4, &end, 10);
    h->old_n = *end == ',' ? strtoul(end + 1, &end, 10) : 1;
    while (*end && *end != '+') end++;
    h->new_at = strtoul(*end ? end + 1 : end, &end, 10);
    h->new_n = *end == ',' ? strtoul(end + 1, &end, 10) : 1;
    p->at++;
    size_t old = 0, new = 0;
    while (p->at < p->lines.n && (old < h->old_n || new < h->new_n || starts(p->lines.at[p->at], "\\"))) {
        span l = p->lines.at[p->at];
        char mark = l.n ? l.p[0] : ' ';
        if (mark == '\\') { if (h->n) h->lines[h->n - 1].no_newline = 1; p->at++; continue; }
        if (mark != ' ' && mark != '-' && mark != '+' && mark != '\t') break;
        span body = l.n ? (span){l.p + 1, l.n - 1} : l;
        if (mark == '\t') { mark = ' '; body = l; }
        if (s->reverse) mark = mark == '-' ? '+' : mark == '+' ? '-' : mark;
        add_line(s->t, h, mark, body);
        char original = s->reverse ? (mark == '-' ? '+' : mark == '+' ? '-' : mark) : mark;
        if (original != '+') old++;
        if (original != '-') new++;
        p->at++;
    }
    if (s->reverse) { size_t a = h->old_at, n = h->old_n; h->old_at = h->new_at; h->old_n = h->new_n; h->new_at = a; h->new_n = n; }
    return 1;
}

/* Normal diff: 3c4, 5,6d7, 8a9,10. */
static int read_normal(patch_state *s, patch_text *p, patch_hunk *h) {
    memset(h, 0, sizeof *h);
    if (p->at >= p->lines.n || !p->lines.at[p->at].n || p->lines.at[p->at].p[0] < '0' || p->lines.at[p->at].p[0] > '9') return 0;
    char *end, *text = tool_strndup(s->t, p->lines.at[p->at].p, p->lines.at[p->at].n);
    size_t a = strtoul(text, &end, 10), b = *end == ',' ? strtoul(end + 1, &end, 10) : a;
    char op = *end;
    if (!strchr("acd", op) || !op) return 0;
    p->at++;
    h->old_at = a;
    h->old_n = op == 'a' ? 0 : b - a + 1;
    for (; p->at < p->lines.n; p->at++) {
        span l = p->lines.at[p->at];
        if (starts(l, "< ")) add_line(s->t, h, s->reverse ? '+' : '-', (span){l.p + 2, l.n - 2});
        else if (starts(l, "> ")) add_line(s->t, h, s->reverse ? '-' : '+', (span){l.p + 2, l.n - 2});
        else if (starts(l, "\\")) { if (h->n) h->lines[h->n - 1].no_newline = 1; }
        else if (!starts(l, "---")) break;
    }
    return 1;
}

typedef struct { span_list lines; int no_newline; } target;

static int fits(const target *f, const patch_hunk *h, size_t at, size_t fuzz_top, size_t fuzz_bottom) {
    size_t k = at, i = 0, n = h->n;
    for (size_t skipped = 0; skipped < fuzz_top && i < n && h->lines[i].mark == ' '; skipped++, i++) k++;
    while (fuzz_bottom && n > i && h->lines[n - 1].mark == ' ') { n--; fuzz_bottom--; }
    for (; i < n; i++) {
        if (h->lines[i].mark == '+') continue;
        if (k >= f->lines.n || span_compare(f->lines.at[k], h->lines[i].text)) return 0;
        k++;
    }
    return 1;
}

/* Where the hunk applies, nearest to where it should; -1. */
static long locate(const target *f, const patch_hunk *h, long offset, int *fuzz) {
    long want = (long)h->old_at - (h->old_n ? 1 : 0) + offset;
    size_t old = 0;
    for (size_t i = 0; i < h->n; i++) old += h->lines[i].mark != '+';
    for (*fuzz = 0; *fuzz <= 2; ++*fuzz)
        for (long d = 0; d <= (long)f->lines.n + 1; d++) {
            for (int sign = 0; sign < (d ? 2 : 1); sign++) {
                long at = want + (sign ? -d : d);
                if (at < 0 || (size_t)at > f->lines.n || (size_t)at + old > f->lines.n + (size_t)*fuzz * 2) continue;
                if (fits(f, h, (size_t)at, (size_t)*fuzz, (size_t)*fuzz)) return at;
            }
        }
    return -1;
}

static void apply_hunk(tool *t, target *f, const patch_hunk *h, size_t at) {
    span_list made = {0};
    for (size_t i = 0; i < at; i++) span_add(t, &made, f->lines.at[i].p, f->lines.at[i].n);
    size_t k = at;
    for (size_t i = 0; i < h->n; i++) {
        if (h->lines[i].mark == '-') k++;
        else if (h->lines[i].mark == ' ') { if (k < f->lines.n) span_add(t, &made, f->lines.at[k].p, f->lines.at[k].n); k++; }
        else span_add(t, &made, h->lines[i].text.p, h->lines[i].text.n);
    }
    int at_end = k >= f->lines.n;
    for (; k < f->lines.n; k++) span_add(t, &made, f->lines.at[k].p, f->lines.at[k].n);
    if (at_end && h->n) {
        f->no_newline = 0;
        for (size_t i = 0; i < h->n; i++) if (h->lines[i].mark != '-' && h->lines[i].no_newline) f->no_newline = 1;
    }
    f->lines = made;
}

static int write_lines(patch_state *s, const char *path, const target *f) {
    io *to = io_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (!to) return tool_fail_errno(s->t, 2, "Can't create file %s", path);
    for (size_t i = 0; i < f->lines.n; i++) {
        io_write(to, f->lines.at[i].p, f->lines.at[i].n);
        if (!(f->no_newline && i + 1 == f->lines.n)) io_putc(to, '\n');
    }
    io_unref(to);
    return 0;
}

static void write_reject(patch_state *s, buffer *rejects, const patch_hunk *h) {
    buffer_printf(rejects, "@@ -%zu,%zu +%zu,%zu @@\n", h->old_at, h->old_n, h->new_at, h->new_n);
    for (size_t i = 0; i < h->n; i++) { buffer_putc(rejects, h->lines[i].mark); buffer_add(rejects, h->lines[i].text.p, h->lines[i].text.n); buffer_putc(rejects, '\n'); }
    (void)s;
}

/* All hunks for one file. */
static int patch_file(patch_state *s, patch_text *p, const char *path, int creates, int deletes, int normal) {
    target f = {0};
    buffer text = {.t = s->t}, rejects = {.t = s->t};
    io *from = io_open(path, O_RDONLY, 0);
    if (from) { buffer_read_all(&text, from); io_unref(from); }
    else if (!creates) {
        patch_hunk skip;
        io_printf(s->t->out, "can't find file to patch at input line %zu\n", p->at);
        while (normal ? read_normal(s, p, &skip) : read_hunk(s, p, &skip)) {}
        return 1;
    }
    f.no_newline = text.n && text.p[text.n - 1] != '\n';
    span_split(s->t, &f.lines, text.p ? text.p : "", text.n, '\n');
    if (!s->silent) {
        io_printf(s->t->out, "%s file %s", s->dry ? "checking" : "patching", s->output ? s->output : path);
        io_puts(s->t->out, s->output ? tool_format(s->t, " (read from %s)\n", path) : "\n");
    }
    patch_hunk h;
    long offset = 0;
    int count = 0, failed = 0;
    while (normal ? read_normal(s, p, &h) : read_hunk(s, p, &h)) {
        int fuzz;
        count++;
        long at = locate(&f, &h, offset, &fuzz);
        if (at < 0) {
            failed++;
            if (!s->silent) io_printf(s->t->out, "Hunk #%d FAILED at %zu.\n", count, h.old_at);
            write_reject(s, &rejects, &h);
            continue;
        }
        long want = (long)h.old_at - (h.old_n ? 1 : 0) + offset;
        if (!s->silent && (at != want || fuzz || 0)) {
            io_printf(s->t->out, "Hunk #%d succeeded at %ld", count, at + 1);
            if (fuzz) io_printf(s->t->out, " with fuzz %d", fuzz);
            if (at != want) io_printf(s->t->out, " (offset %ld line%s)", at - want, at - want == 1 || at - want == -1 ? "" : "s");
            io_puts(s->t->out, ".\n");
        }
        offset += at - want;
        size_t before = f.lines.n;
        apply_hunk(s->t, &f, &h, (size_t)at);
        offset += (long)f.lines.n - (long)before;
    }
    if (s->dry) return failed > 0;
    const char *out = s->output ? s->output : path;
    if (failed) {
        char *name = s->reject ? tool_strdup(s->t, s->reject) : tool_format(s->t, "%s.rej", out);
        if (!s->silent) io_printf(s->t->out, "%d out of %d hunk%s FAILED -- saving rejects to file %s\n", failed, count, count == 1 ? "" : "s", name);
        io *to = io_open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        if (to) { io_printf(to, "--- %s\n+++ %s\n", path, path); io_write(to, rejects.p, rejects.n); io_unref(to); }
    }
    if (s->backup || failed) { if (from) { io *to = io_open(tool_format(s->t, "%s.orig", out), O_WRONLY | O_CREAT | O_TRUNC, 0666); if (to) { io_write(to, text.p ? text.p : "", text.n); io_unref(to); } } }
    if (!f.lines.n && !failed && (deletes || s->remove_empty)) { unlink(out); return 0; }
    if (creates && strchr(out, '/')) { char *dir = tool_strdup(s->t, out); for (char *c = dir + 1; *c; c++) if (*c == '/') { *c = '\0'; mkdir(dir, 0777); *c = '/'; } }
    return write_lines(s, out, &f) ? 2 : failed > 0;
}

static int run(patch_state *s, patch_text *p) {
    int status = 0, files = 0;
    while (p->at < p->lines.n) {
        span l = p->lines.at[p->at];
        if (starts(l, "--- ") && p->at + 1 < p->lines.n && starts(p->lines.at[p->at + 1], "+++ ")) {
            char *old = header_name(s, l), *new = header_name(s, p->lines.at[p->at + 1]);
            if (s->reverse) { char *swap = old; old = new; new = swap; }
            int creates = !strcmp(old, "/dev/null"), deletes = !strcmp(new, "/dev/null");
            struct stat st;
            const char *path = s->file ? s->file : creates ? new : deletes ? old : stat(old, &st) == 0 && (strlen(old) <= strlen(new) || stat(new, &st) < 0) ? old : stat(new, &st) == 0 ? new : old;
            p->at += 2;
            int r = patch_file(s, p, path, creates || (p->at < p->lines.n && starts(p->lines.at[p->at], "@@ -0,0")), deletes, 0);
            if (r > status) status = r;
            files++;
        } else if (s->file && l.n && l.p[0] >= '0' && l.p[0] <= '9' && memchr(l.p, 'a', l.n)) {
            int r = patch_file(s, p, s->file, 0, 0, 1);
            if (r > status) status = r;
            files++;
            break;
        } else if (s->file && l.n && l.p[0] >= '0' && l.p[0] <= '9' && (memchr(l.p, 'c', l.n) || memchr(l.p, 'd', l.n))) {
            int r = patch_file(s, p, s->file, 0, 0, 1);
            if (r > status) status = r;
            files++;
            break;
        } else p->at++;
    }
    if (!files && p->lines.n) { io_printf(s->t->err, "%s: **** Only garbage was found in the patch input.\n", s->t->name); return 2; }
    return status;
}

int tool_patch(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"strip", 1, 'p'}, {"reverse", 0, 'R'}, {"dry-run", 0, 'D'}, {"input", 1, 'i'}, {"output", 1, 'o'}, {"silent", 0, 's'}, {"quiet", 0, 's'}, {"force", 0, 'f'}, {"batch", 0, 't'}, {"forward", 0, 'N'},
        {"backup", 0, 'b'}, {"directory", 1, 'd'}, {"remove-empty-files", 0, 'E'}, {"reject-file", 1, 'r'}, {"unified", 0, 'u'}, {"verbose", 0, 'v'}, {"no-backup-if-mismatch", 0, 'M'}, {0, 0, 0}};
    patch_state s = {.t = t, .strip = -1};
    const char *input = NULL;
    tool_opts o;
    int c, status = 0;
    char saved[4096];
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "p:Ri:o:sftNbd:Er:uF:clneg:", longs)) != -1;) switch (c) {
        case 'p': s.strip = atoi(o.arg); break;
        case 'R': s.reverse = 1; break;
        case 'D': s.dry = 1; break;
        case 'i': input = o.arg; break;
        case 'o': s.output = o.arg; break;
        case 's': s.silent = 1; break;
        case 'b': s.backup = 1; break;
        case 'd': s.dir = o.arg; break;
        case 'E': s.remove_empty = 1; break;
        case 'r': s.reject = o.arg; break;
        case '?': return 2;
        default: break;
    }
    if (o.index < argc) s.file = argv[o.index];
    if (o.index + 1 < argc) input = argv[o.index + 1];
    io *from = input ? tool_open(t, input, 2, &status) : io_ref(t->in);
    if (!from) return 2;
    buffer b = {.t = t};
    buffer_read_all(&b, from);
    io_unref(from);
    patch_text p = {0};
    span_split(t, &p.lines, b.p ? b.p : "", b.n, '\n');
    if (s.dir) { if (!getcwd(saved, sizeof saved) || chdir(s.dir) < 0) return tool_fail_errno(t, 2, "**** Can't change to directory %s", s.dir); }
    status = run(&s, &p);
    if (s.dir && chdir(saved) < 0) status = 2;
    return status;
}
