/* patch.c - apply diffs to files. Hunks may have moved; fuzz drops up to two lines of context. Reading them is patch_read.c. */
#include "patch.h"
#include "files.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    tool *t;
    int strip, reverse, dry, silent, force, batch, forward, backup, no_mismatch_backup, remove_empty, fuzz;
    const char *output, *suffix, *file, *reject, *dir;
} patch_state;

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

/* Where the hunk applies with this much fuzz, nearest to where it should; -1. A hunk with less context before its changes than
 * after them was made at the beginning of a file, and one with less after them at the end: there alone it fits. */
static long locate_with(const target *f, const patch_hunk *h, long want, long fuzz, long lead, long tail) {
    long most = lead > tail ? lead : tail, top = fuzz + lead - most, bottom = fuzz + tail - most, old = 0, total = (long)f->lines.n;
    for (size_t i = 0; i < h->n; i++) old += h->lines[i].mark != '+';
    if (!old) return want <= total ? want : -1;
    if (top < 0 && h->old_at <= 1) {
        if (bottom < 0 && old != total) return -1;
        return fits(f, h, 0, 0, bottom < 0 ? 0 : (size_t)bottom) ? 0 : -1;
    }
    if (top < 0) top = 0;
    if (bottom < 0) return total >= old && fits(f, h, (size_t)(total - old), (size_t)top, 0) ? total - old : -1;
    long first = want > total ? want - total : want < 0 ? -want : 0;       /* how far the nearest place that there is lies */
    for (long d = first; d <= first + total + 1; d++)
        for (int sign = 0; sign < (d ? 2 : 1); sign++) {
            long at = want + (sign ? -d : d);
            if (at >= 0 && at <= total && at + old <= total + bottom && fits(f, h, (size_t)at, (size_t)top, (size_t)bottom))
                return at;
        }
    return -1;
}

/* Tries with more and more fuzz. */
static long locate(const target *f, const patch_hunk *h, long offset, int most_fuzz, int *fuzz) {
    long want = (long)h->old_at - (h->old_n ? 1 : 0) + offset, lead = 0, tail = 0, at = -1;
    while (lead < (long)h->n && h->lines[lead].mark == ' ') lead++;
    while (tail < (long)h->n && h->lines[h->n - 1 - (size_t)tail].mark == ' ') tail++;
    long most = lead > tail ? lead : tail;
    if (most > most_fuzz) most = most_fuzz;
    for (*fuzz = 0; at < 0 && *fuzz <= most; ++*fuzz) at = locate_with(f, h, want, *fuzz, lead, tail);
    --*fuzz;
    return at;
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
    io *to = strcmp(path, "-") ? io_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : io_ref(s->t->out);
    if (!to) return tool_fail_errno(s->t, 2, "Can't create file %s", path);
    for (size_t i = 0; i < f->lines.n; i++) {
        io_write(to, f->lines.at[i].p, f->lines.at[i].n);
        if (!(f->no_newline && i + 1 == f->lines.n)) io_putc(to, '\n');
    }
    io_unref(to);
    return 0;
}

static void add_reject(buffer *rejects, const patch_hunk *h) {
    buffer_printf(rejects, "@@ -%zu,%zu +%zu,%zu @@\n", h->old_at, h->old_n, h->new_at, h->new_n);
    for (size_t i = 0, end; i < h->n; i = end) {          /* of a run of changes, what goes comes first */
        for (end = i + 1; h->lines[i].mark != ' ' && end < h->n && h->lines[end].mark != ' '; end++) {}
        for (int pass = 0; pass < 2; pass++)
            for (size_t k = i; k < end; k++) {
                if ((h->lines[k].mark == '+') != pass) continue;
                buffer_putc(rejects, h->lines[k].mark);
                buffer_add(rejects, h->lines[k].text.p, h->lines[k].text.n);
                buffer_putc(rejects, '\n');
            }
    }
}

/* The file with the fewest slashes, then the shortest last part, then the shortest name; NULL when neither is there. */
static const char *choose_name(const char *old, const char *new) {
    const char *names[2] = {old, new}, *best = NULL;
    size_t best_slashes = 0;
    for (int i = 0; i < 2; i++) {
        struct stat st;
        size_t slashes = 0;
        if (!names[i] || !strcmp(names[i], "/dev/null") || path_stat(names[i], &st) < 0) continue;
        for (const char *p = names[i]; *p; p++) slashes += *p == '/';
        if (best) {
            size_t mine = strlen(path_last(names[i])), its = strlen(path_last(best));
            if (slashes > best_slashes) continue;
            if (slashes == best_slashes && (mine > its || (mine == its && strlen(names[i]) >= strlen(best)))) continue;
        }
        best = names[i];
        best_slashes = slashes;
    }
    return best;
}

/* The first hunk does not fit: does it fit the other way round? Then the patch was applied already, or is reversed. */
static int is_reversed(const patch_state *s, const target *f, const patch_hunk *h) {
    patch_hunk other = *h;
    int fuzz;
    other.lines = tool_alloc(s->t, (h->n + 1) * sizeof *other.lines);
    memcpy(other.lines, h->lines, h->n * sizeof *h->lines);
    patch_reverse(&other);
    return h->n && locate(f, &other, 0, 0, &fuzz) >= 0;
}

/* What to do about a patch that looks applied: 'R' apply it reversed, 'S' skip it, 0 go on. Without a terminal nobody is asked.
 */
static int settle_reversed(const patch_state *s, const char *finding) {
    if (s->force) return 0;
    io_printf(s->t->out, "%s!  ", finding);
    if (s->forward) io_puts(s->t->out, "Skipping patch.\n");
    else if (s->batch) io_puts(s->t->out, s->reverse ? "Ignoring -R.\n" : "Assuming -R.\n");
    else
        io_puts(s->t->out, s->reverse ? "Ignore -R? [n] \nApply anyway? [n] \nSkipping patch.\n"
                                      : "Assume -R? [n] \nApply anyway? [n] \nSkipping patch.\n");
    return s->batch && !s->forward ? 'R' : 'S';
}

static void make_parents(tool *t, const char *path) {
    char *dir = tool_strdup(t, path);
    for (char *c = dir + 1; *c; c++) {
        if (*c != '/') continue;
        *c = '\0';
        mkdir(dir, 0777);
        *c = '/';
    }
}

static void save_bytes(const char *path, const char *head, const buffer *b) {
    io *to = io_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (!to) return;
    io_puts(to, head);
    io_write(to, b->p ? b->p : "", b->n);
    io_unref(to);
}

typedef struct { int count, failed, ignored, moved, reverse; buffer rejects; char *header; } patch_result;

static void apply_all(patch_state *s, patch_text *p, int kind, target *f, patch_result *r) {
    patch_hunk h;
    long offset = 0;
    while (patch_next_hunk(s->t, p, kind, &h)) {
        int fuzz;
        r->count++;
        if (r->reverse) patch_reverse(&h);
        long at = r->ignored ? -1 : locate(f, &h, offset, s->fuzz, &fuzz);
        if (at < 0 && r->count == 1 && is_reversed(s, f, &h)) {
            int what = settle_reversed(
                s, s->reverse ? "Unreversed patch detected" : "Reversed (or previously applied) patch detected");
            if (what == 'R') { r->reverse = !r->reverse; patch_reverse(&h); at = locate(f, &h, offset, s->fuzz, &fuzz); }
            r->ignored = what == 'S';
        }
        if (at < 0) {
            r->failed++;
            if (!s->silent && !r->ignored) io_printf(s->t->out, "Hunk #%d FAILED at %zu.\n", r->count, h.old_at);
            add_reject(&r->rejects, &h);
            continue;
        }
        long want = (long)h.old_at - (h.old_n ? 1 : 0) + offset;
        if (at != want || fuzz) r->moved = 1;
        if (!s->silent && (at != want || fuzz)) {
            io_printf(s->t->out, "Hunk #%d succeeded at %ld", r->count, at + 1);
            if (fuzz) io_printf(s->t->out, " with fuzz %d", fuzz);
            if (at != want) io_printf(s->t->out, " (offset %ld line%s)", at - want, at - want == 1 ? "" : "s");
            io_puts(s->t->out, ".\n");
        }
        offset += at - want;
        size_t before = f->lines.n;
        apply_hunk(s->t, f, &h, (size_t)at);
        offset += (long)f->lines.n - (long)before;
    }
}

static void report_failures(const patch_state *s, const patch_result *r, const char *path, const char *out) {
    char *name = s->reject ? tool_strdup(s->t, s->reject) : tool_format(s->t, "%s.rej", out);
    if (!s->silent) {
        io_printf(s->t->out, "%d out of %d hunk%s %s", r->failed, r->count, r->count == 1 ? "" : "s",
            r->ignored ? "ignored" : "FAILED");
        if (s->dry) io_puts(s->t->out, "\n"); else io_printf(s->t->out, " -- saving rejects to file %s\n", name);
    }
    if (!s->dry) save_bytes(name, r->header ? r->header : tool_format(s->t, "--- %s\n+++ %s\n", path, path), &r->rejects);
}

/* The names of a patched file as the head of its rejects. */
static char *reject_header(const patch_state *s, const patch_text *p, int kind) {
    if (kind == PATCH_NORMAL || p->at < 2) return NULL;
    span old = p->lines.at[p->at - 2], new = p->lines.at[p->at - 1];
    if (s->reverse) { span swap = old; old = new; new = swap; }
    return tool_format(s->t, "--- %.*s\n+++ %.*s\n", (int)old.n - 4, old.p + 4, (int)new.n - 4, new.p + 4);
}

/* A patch that creates a file which is there already is skipped, and so is one that deletes a file which is not. */
static int skip_pointless(patch_state *s, patch_text *p, const char *path, int creates, int kind, patch_result *r) {
    patch_hunk h;
    int what = settle_reversed(s, tool_format(s->t, "The next patch%s would %s the file %s,\nwhich %s",
                                      s->reverse ? ", when reversed," : "", creates ? "create" : "delete", path,
                                      creates ? "already exists" : "does not exist"));
    if (what == 'R') r->reverse = !r->reverse;
    if (what != 'S') return 0;
    while (patch_next_hunk(s->t, p, kind, &h)) r->count++;
    io_printf(s->t->out, "%d out of %d hunk%s ignored\n", r->count, r->count, r->count == 1 ? "" : "s");
    return 1;
}

/* All hunks for one file. */
static int patch_file(patch_state *s, patch_text *p, const char *path, int creates, int deletes, int kind) {
    target f = {0};
    buffer text = {.t = s->t};
    patch_result r = {.reverse = s->reverse, .rejects = {.t = s->t}, .header = reject_header(s, p, kind)};
    io *from = io_open(path, O_RDONLY, 0);
    if (from) { buffer_read_all(&text, from); io_unref(from); }
    f.no_newline = text.n && text.p[text.n - 1] != '\n';
    span_split(s->t, &f.lines, text.p ? text.p : "", text.n, '\n');
    int pointless = creates ? text.n > 0 : deletes && !from;
    if (pointless && skip_pointless(s, p, path, creates, kind, &r)) return 1;
    int to_standard = s->output && !strcmp(s->output, "-");
    io *messages = to_standard ? s->t->err : s->t->out;
    if (!s->silent) {
        io_printf(messages, "%s file %s", s->dry ? "checking" : "patching", tool_shell_word(s->t, s->output ? s->output : path, 0));
        io_puts(messages, s->output ? tool_format(s->t, " (read from %s)\n", path) : "\n");
    }
    apply_all(s, p, kind, &f, &r);
    const char *out = s->output ? s->output : path;
    if (r.failed && !from && !creates && !s->dry) {
        io_printf(s->t->err, "%s: **** Can't reopen file %s : No such file or directory\n", s->t->name, path);
        return 2;
    }
    if (r.failed) report_failures(s, &r, path, out);
    if (s->dry || r.ignored) return r.failed > 0;
    if (from && !to_standard && !s->no_mismatch_backup && (s->backup || r.failed || r.moved))
        save_bytes(tool_format(s->t, "%s%s", out, s->suffix ? s->suffix : ".orig"), "", &text);
    if (!f.lines.n && !r.failed && (deletes || s->remove_empty)) { unlink(out); return 0; }
    if (creates) make_parents(s->t, out);
    return write_lines(s, out, &f) ? 2 : r.failed > 0;
}

/* A script of diff -e. Without a word, as ed has it. */
static int patch_by_script(patch_state *s, patch_text *p) {
    target f = {0};
    buffer text = {.t = s->t};
    io *from = io_open(s->file, O_RDONLY, 0);
    if (from) { buffer_read_all(&text, from); io_unref(from); }
    span_split(s->t, &f.lines, text.p ? text.p : "", text.n, '\n');
    if (patch_ed_apply(s->t, p, &f.lines) < 0) {
        p->at = p->lines.n;
        io_puts(s->t->out, "?\n");
        return tool_fail(s->t, 2, "**** ed FAILED");
    }
    if (s->dry) return 0;
    if (from && s->backup) save_bytes(tool_format(s->t, "%s%s", s->file, s->suffix ? s->suffix : ".orig"), "", &text);
    return write_lines(s, s->output ? s->output : s->file, &f) ? 2 : 0;
}

/* No such file: what was looked for is shown, and its hunks are skipped. */
static int skip_file(patch_state *s, patch_text *p, size_t header, int kind) {
    patch_hunk h;
    int count = 0;
    size_t at = p->at + 1;
    io_printf(s->t->out, "can't find file to patch at input line %zu\n", at);
    io_printf(s->t->out, "Perhaps you %s the %s-p or --strip option?\n", s->strip < 0 ? "should have used" : "used",
        s->strip < 0 ? "" : "wrong ");
    io_puts(s->t->out, "The text leading up to this was:\n--------------------------\n");
    for (size_t i = header; i < p->at; i++) io_printf(s->t->out, "|%.*s\n", (int)p->lines.at[i].n, p->lines.at[i].p);
    io_puts(s->t->out, "--------------------------\nFile to patch: \nSkip this patch? [y] \nSkipping patch.\n");
    while (patch_next_hunk(s->t, p, kind, &h)) count++;
    io_printf(s->t->out, "%d out of %d hunk%s ignored\n", count, count, count == 1 ? "" : "s");
    return 1;
}

/* The line pair that begins a file: "--- " and "+++ ", or "*** " and "--- ". */
static int begins_file(const patch_text *p, int *kind) {
    if (p->at + 1 >= p->lines.n) return 0;
    span a = p->lines.at[p->at], b = p->lines.at[p->at + 1];
    *kind = patch_line_starts(a, "*** ") ? PATCH_CONTEXT : PATCH_UNIFIED;
    return (patch_line_starts(a, "--- ") && patch_line_starts(b, "+++ "))
           || (patch_line_starts(a, "*** ") && patch_line_starts(b, "--- "));
}

static int is_normal_command(span l) {
    size_t i = 0;
    while (i < l.n && ((l.p[i] >= '0' && l.p[i] <= '9') || l.p[i] == ',')) i++;
    return i && i < l.n && strchr("acd", l.p[i]) != NULL;
}

static int run(patch_state *s, patch_text *p) {
    int status = 0, files = 0, kind, r;
    size_t header = 0;                                    /* where the text that leads up to a file begins */
    while (p->at < p->lines.n) {
        if (begins_file(p, &kind)) {
            const char *old = patch_name(s->t, p->lines.at[p->at], s->strip);
            const char *new = patch_name(s->t, p->lines.at[p->at + 1], s->strip);
            int creates = !strcmp(s->reverse ? new : old, "/dev/null"), deletes = !strcmp(s->reverse ? old : new, "/dev/null");
            int old_missing = patch_is_epoch(s->t, p->lines.at[p->at]),
                new_missing = patch_is_epoch(s->t, p->lines.at[p->at + 1]);
            creates |= s->reverse ? new_missing : old_missing;
            deletes |= s->reverse ? old_missing : new_missing;
            p->at += 2;
            if (p->at < p->lines.n && patch_line_starts(p->lines.at[p->at], s->reverse ? "@@ -1 +0,0" : "@@ -0,0")) creates = 1;
            const char *path = s->file ? s->file : choose_name(old, new);
            if (!path && (creates || deletes)) path = strcmp(new, "/dev/null") && s->reverse == deletes ? new : old;
            if (path && !*path) path = NULL;
            r = path ? patch_file(s, p, path, creates, deletes, kind) : skip_file(s, p, header, kind);
            header = p->at;
        } else if (s->file && patch_is_ed(p->lines.at[p->at])) r = patch_by_script(s, p);
        else if (s->file && is_normal_command(p->lines.at[p->at])) r = patch_file(s, p, s->file, 0, 0, PATCH_NORMAL);
        else { p->at++; continue; }
        if (r > status) status = r;
        files++;
    }
    if (!files && p->lines.n) {
        io_printf(s->t->err, "%s: **** Only garbage was found in the patch input.\n", s->t->name);
        return 2;
    }
    return status;
}

int tool_patch(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"strip", 1, 'p'}, {"reverse", 0, 'R'}, {"dry-run", 0, 'D'}, {"input", 1, 'i'},
        {"output", 1, 'o'}, {"silent", 0, 's'}, {"quiet", 0, 's'}, {"force", 0, 'f'}, {"batch", 0, 't'}, {"forward", 0, 'N'},
        {"backup", 0, 'b'}, {"directory", 1, 'd'}, {"remove-empty-files", 0, 'E'}, {"reject-file", 1, 'r'}, {"unified", 0, 'u'},
        {"context", 0, 'c'}, {"normal", 0, 'n'}, {"fuzz", 1, 'F'}, {"verbose", 0, 'v'}, {"no-backup-if-mismatch", 0, 'M'},
        {"binary", 0, 'B'}, {"suffix", 1, 'z'}, {"ignore-whitespace", 0, 'B'},
        {"backup-if-mismatch", 0, 'B'}, {"posix", 0, 'B'}, {"quoting-style", 1, 'B'}, {"read-only", 1, 'B'}, {"reject-format", 1, 'B'},
        {0, 0, 0}};
    patch_state s = {.t = t, .strip = -1, .fuzz = 2};
    const char *input = NULL;
    tool_opts o;
    int c, status = 0;
    char saved[4096];
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "p:Ri:o:sftNbd:Er:uF:clneg:z:", longs)) != -1;) switch (c) {
        case 'p':
            s.strip = atoi(o.arg);
            if (strspn(o.arg, "0123456789") != strlen(o.arg)) return tool_fail(t, 2, "**** strip count %s is not a number", o.arg);
            break;
        case 'R': s.reverse = 1; break;
        case 'D': s.dry = 1; break;
        case 'z': s.suffix = o.arg; break;
        case 'B': break;
        case 'i': input = o.arg; break;
        case 'o': s.output = o.arg; break;
        case 's': s.silent = 1; break;
        case 'f': s.force = 1; break;
        case 't': s.batch = 1; break;
        case 'N': s.forward = 1; break;
        case 'M': s.no_mismatch_backup = 1; break;
        case 'F': s.fuzz = atoi(o.arg); break;
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
    if (s.dir) {
        if (!getcwd(saved, sizeof saved) || chdir(s.dir) < 0)
            return tool_fail_errno(t, 2, "**** Can't change to directory %s", s.dir);
    }
    status = run(&s, &p);
    if (s.dir && chdir(saved) < 0) status = 2;
    return status;
}
