/* diff3.c - diff3: three files compared, and the changes of one of them merged into another.
 *
 * Two comparisons with a common file (the third to show differences, OLDER to merge) give two lists of hunks; hunks that touch in
 * the common file become one block of all three.
 */
#include "compare.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum { MINE, OLDER, YOURS, TROUBLE = 2 };
enum { SHOW, ALL_FLAGGED, OVERLAPS_FLAGGED, EVERY_CHANGE, OVERLAPS_ONLY, EASY_ONLY };

typedef struct { const char *label; span_list lines; int *ids, unended; } side;
typedef struct { size_t low[3], n[3]; int odd; } block;              /* odd: the file that differs from the other two, 3: all do */
typedef struct {
    tool *t;
    side file[3];
    block *blocks;
    size_t block_n;
    int how, merge, conflicts;
    const char *indent;
} diff3_state;

/* ---- reading ---- */

static int load(diff3_state *s, int which, const char *path) {
    buffer b = {.t = s->t};
    io *from = strcmp(path, "-") ? io_open(path, O_RDONLY, 0) : io_ref(s->t->in);
    if (!from) return tool_fail_errno(s->t, TROUBLE, "%s", path);
    int failed = buffer_read_all(&b, from);
    errno = io_failed(from);
    io_unref(from);
    if (failed) return tool_fail_errno(s->t, TROUBLE, "%s", path);
    if (!s->file[which].label) s->file[which].label = path;
    s->file[which].unended = b.n && b.p[b.n - 1] != '\n';
    span_split(s->t, &s->file[which].lines, b.p ? b.p : "", b.n, '\n');
    return 0;
}

/* Numbers for lines, the same for the same line in any file; a last line without newline is another line. */
static void number_lines(diff3_state *s) {
    size_t total = 0, size = 64;
    for (int f = 0; f < 3; f++) total += s->file[f].lines.n;
    while (size < total * 2) size *= 2;
    typedef struct { span text; int id, unended; } slot;
    slot *table = tool_alloc(s->t, size * sizeof *table);
    int next = 1;
    for (int f = 0; f < 3; f++) {
        side *d = &s->file[f];
        d->ids = tool_alloc(s->t, (d->lines.n + 1) * sizeof *d->ids);
        for (size_t i = 0; i < d->lines.n; i++) {
            span line = d->lines.at[i];
            int unended = d->unended && i + 1 == d->lines.n;
            size_t h = 1469598103u;
            for (size_t k = 0; k < line.n; k++) h = (h ^ (unsigned char)line.p[k]) * 16777619u;
            for (h &= size - 1; table[h].id; h = (h + 1) & (size - 1))
                if (table[h].unended == unended && !span_compare(table[h].text, line)) break;
            if (!table[h].id) table[h] = (slot){line, next++, unended};
            d->ids[i] = table[h].id;
        }
    }
}

/* ---- blocks ---- */

static int same_lines(const diff3_state *s, const block *b, int x, int y) {
    if (b->n[x] != b->n[y]) return 0;
    for (size_t i = 0; i < b->n[x]; i++) if (s->file[x].ids[b->low[x] + i] != s->file[y].ids[b->low[y] + i]) return 0;
    return 1;
}

static void find_blocks(diff3_state *s) {
    int common = s->how == SHOW ? YOURS : OLDER, other[2] = {MINE, s->how == SHOW ? OLDER : YOURS};
    hunk_list lists[2] = {{0}, {0}};
    size_t at[2] = {0, 0};
    long shift[2] = {0, 0};                              /* how far the other file is ahead of the common one */
    for (int k = 0; k < 2; k++)
        compare_lines(s->t, s->file[common].ids, s->file[common].lines.n, s->file[other[k]].ids, s->file[other[k]].lines.n, 0,
            &lists[k]);
    s->blocks = tool_alloc(s->t, (lists[0].n + lists[1].n + 1) * sizeof *s->blocks);
    while (at[0] < lists[0].n || at[1] < lists[1].n) {
        size_t first[2] = {at[0], at[1]}, low = (size_t)-1, high;
        int changed = 1;
        for (int k = 0; k < 2; k++) if (at[k] < lists[k].n && lists[k].at[at[k]].a < low) low = lists[k].at[at[k]].a;
        high = low;
        while (changed) {
            changed = 0;
            for (int k = 0; k < 2; k++)
                while (at[k] < lists[k].n && lists[k].at[at[k]].a <= high) {
                    hunk *h = &lists[k].at[at[k]++];
                    if (h->a + h->a_n > high) high = h->a + h->a_n;
                    changed = 1;
                }
        }
        block *b = &s->blocks[s->block_n++];
        b->low[common] = low;
        b->n[common] = high - low;
        for (int k = 0; k < 2; k++) {
            b->low[other[k]] = (size_t)((long)low + shift[k]);
            if (at[k] > first[k]) {
                hunk *last = &lists[k].at[at[k] - 1];
                shift[k] = (long)(last->b + last->b_n) - (long)(last->a + last->a_n);
            }
            b->n[other[k]] = (size_t)((long)high + shift[k]) - b->low[other[k]];
        }
        int touched[2] = {at[0] > first[0], at[1] > first[1]};
        b->odd = !touched[0] ? other[1] : !touched[1] ? other[0] : same_lines(s, b, other[0], other[1]) ? common : 3;
    }
}

/* ---- output ---- */

static void put_line(diff3_state *s, int f, size_t i, const char *indent) {
    span line = s->file[f].lines.at[i];
    io_puts(s->t->out, indent);
    io_write(s->t->out, line.p, line.n);
    int last = s->file[f].unended && i + 1 == s->file[f].lines.n;
    if (!last || *indent || !s->merge) io_putc(s->t->out, '\n');
    if (last && *indent) io_puts(s->t->out, "\\ No newline at end of file\n");
}

static void put_lines(diff3_state *s, int f, const block *b) {
    for (size_t i = 0; i < b->n[f]; i++) put_line(s, f, b->low[f] + i, "");
}

static void show(diff3_state *s) {
    static const int after[] = {2, 3, 1};
    for (size_t k = 0; k < s->block_n; k++) {
        block *b = &s->blocks[k];
        if (b->odd == 3) io_puts(s->t->out, "====\n"); else io_printf(s->t->out, "====%d\n", b->odd + 1);
        int silent = b->odd == 3 ? 3 : b->odd == 0 ? 1 : 0;    /* the text of two files that are the same is shown once */
        for (int f = 0; f < 3; f = b->odd == 1 ? after[f] : f + 1) {
            size_t low = b->low[f] + 1, high = b->low[f] + b->n[f];
            if (low > high) io_printf(s->t->out, "%d:%zua\n", f + 1, high);
            else if (low == high) io_printf(s->t->out, "%d:%zuc\n", f + 1, low);
            else io_printf(s->t->out, "%d:%zu,%zuc\n", f + 1, low, high);
            for (size_t i = 0; f != silent && i < b->n[f]; i++) put_line(s, f, b->low[f] + i, s->indent);
        }
    }
}

enum { LEAVE, TAKE, FLAG };

static int decide(const diff3_state *s, const block *b) {
    switch (s->how) {
    case ALL_FLAGGED: return b->odd == 3 || b->odd == OLDER ? FLAG : b->odd == YOURS ? TAKE : LEAVE;
    case OVERLAPS_FLAGGED: return b->odd == 3 ? FLAG : b->odd == YOURS ? TAKE : LEAVE;
    case EVERY_CHANGE: return b->odd == 3 || b->odd == YOURS ? TAKE : LEAVE;
    case OVERLAPS_ONLY: return b->odd == 3 ? TAKE : LEAVE;
    default: return b->odd == YOURS ? TAKE : LEAVE;
    }
}

static void mark(diff3_state *s, const char *sign, int f) { io_printf(s->t->out, "%s %s\n", sign, s->file[f].label); }

static void merge(diff3_state *s) {
    size_t done = 0;
    for (size_t k = 0; k < s->block_n; k++) {
        block *b = &s->blocks[k];
        while (done < b->low[MINE]) put_line(s, MINE, done++, "");
        int what = decide(s, b);
        if (what == FLAG) {
            s->conflicts = 1;
            mark(s, "<<<<<<<", b->odd == OLDER ? OLDER : MINE);
            put_lines(s, b->odd == OLDER ? OLDER : MINE, b);
            if (s->how == ALL_FLAGGED && b->odd == 3) { mark(s, "|||||||", OLDER); put_lines(s, OLDER, b); }
            io_puts(s->t->out, "=======\n");
            put_lines(s, YOURS, b);
            mark(s, ">>>>>>>", YOURS);
        } else put_lines(s, what == TAKE ? YOURS : MINE, b);
        done = b->low[MINE] + b->n[MINE];
    }
    while (done < s->file[MINE].lines.n) put_line(s, MINE, done++, "");
}

/* Commands for ed that do what merge does, from the last line to the first. */
static void script(diff3_state *s) {
    tool *t = s->t;
    for (size_t k = s->block_n; k--;) {
        block *b = &s->blocks[k];
        size_t low = b->low[MINE] + 1, high = b->low[MINE] + b->n[MINE];
        int what = decide(s, b);
        if (what == LEAVE) continue;
        if (what == FLAG) {
            s->conflicts = 1;
            io_printf(t->out, "%zua\n", high);
            if (b->odd == 3) {
                if (s->how == ALL_FLAGGED) { mark(s, "|||||||", OLDER); put_lines(s, OLDER, b); }
                io_puts(t->out, "=======\n");
                put_lines(s, YOURS, b);
            }
            mark(s, ">>>>>>>", YOURS);
            io_printf(t->out, ".\n%zua\n", low - 1);
            mark(s, "<<<<<<<", b->odd == OLDER ? OLDER : MINE);
            if (b->odd == OLDER) { put_lines(s, OLDER, b); io_puts(t->out, "=======\n"); }
            io_puts(t->out, ".\n");
            continue;
        }
        char command = !b->n[YOURS] ? 'd' : !b->n[MINE] ? 'a' : 'c';
        if (command == 'a') io_printf(t->out, "%zua\n", high);
        else if (low == high) io_printf(t->out, "%zu%c\n", low, command);
        else io_printf(t->out, "%zu,%zu%c\n", low, high, command);
        if (command == 'd') continue;
        put_lines(s, YOURS, b);
        io_puts(t->out, ".\n");
    }
}

static int usage(tool *t) {
    io_printf(t->err, "%s: Try '%s --help' for more information.\n", t->name, t->name);
    return TROUBLE;
}

int tool_diff3(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"show-all", 0, 'A'}, {"ed", 0, 'e'}, {"show-overlap", 0, 'E'}, {"overlap-only", 0, 'x'},
        {"easy-only", 0, '3'}, {"merge", 0, 'm'}, {"label", 1, 'L'}, {"text", 0, 'a'}, {"initial-tab", 0, 'T'},
        {"strip-trailing-cr", 0, 'a'}, {0, 0, 0}};
    diff3_state s = {.t = t, .indent = "  "};
    int c, labels = 0, finish = 0;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "AeExX3miL:aT", longs)) != -1;) switch (c) {
        case 'A': s.how = ALL_FLAGGED; break;
        case 'e': s.how = EVERY_CHANGE; break;
        case 'E': s.how = OVERLAPS_FLAGGED; break;
        case 'x': case 'X': s.how = OVERLAPS_ONLY; break;
        case '3': s.how = EASY_ONLY; break;
        case 'm': s.merge = 1; break;
        case 'i': finish = 1; break;
        case 'L':
            if (labels == 3) { tool_fail(t, TROUBLE, "too many file label options"); return usage(t); }
            s.file[labels++].label = o.arg;
            break;
        case 'T': s.indent = "\t"; break;
        case 'a': break;
        default: return TROUBLE;
    }
    if (argc - o.index != 3) {
        if (argc - o.index < 3) tool_fail(t, TROUBLE, "missing operand after '%s'", argv[argc - 1]);
        else tool_fail(t, TROUBLE, "extra operand '%s'", argv[o.index + 3]);
        return usage(t);
    }
    if (s.merge && s.how == SHOW) s.how = ALL_FLAGGED;
    for (int f = 0; f < 3; f++) if (load(&s, f, argv[o.index + f])) return TROUBLE;
    number_lines(&s);
    find_blocks(&s);
    if (s.merge) merge(&s); else if (s.how == SHOW) show(&s); else script(&s);
    if (finish && !s.merge && s.how != SHOW) io_puts(t->out, "w\nq\n");
    return io_failed(t->out) ? TROUBLE : s.conflicts;
}
