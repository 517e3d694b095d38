/* du.c - du: what files take up, directory by directory. What is met again under another name counts once. */
#include "inputs.h"
#include "buffer.h"
#include "dates.h"
#include "files.h"
#include "patterns.h"
#include <stdlib.h>
#include <string.h>

enum { DU_GLOBS = 16, DEEPEST_DU = 500 };

typedef struct {
    int all, human, si, apparent, total, depth, status, end, separate, inodes, follow, time;
    unsigned long long unit;                              /* sizes are printed in these, rounded up */
    long long threshold;
    const char *exclude[DU_GLOBS];
    int excludes;
    int every_link, remember_all;                         /* -l; several operands, or links that are followed */
    struct { dev_t device; ino_t inode; } *met;           /* a hash table of what was counted; inode 0: free */
    size_t met_room, met_n;
} du_state;

typedef struct { unsigned long long size; long long newest; } amount;

static void print_size(tool *t, const du_state *s, amount a, const char *path) {
    if (s->threshold > 0 && a.size < (unsigned long long)s->threshold) return;
    if (s->threshold < 0 && a.size > (unsigned long long)-s->threshold) return;
    if (s->inodes) io_printf(t->out, "%llu", a.size);
    else if (s->human || s->si) io_puts(t->out, human_size(t, a.size, s->si));
    else io_printf(t->out, "%llu", (a.size + s->unit - 1) / s->unit);
    if (s->time) {
        buffer text = {.t = t};
        date_format(&text, "%Y-%m-%d %H:%M", (moment){.tv_sec = (time_t)a.newest}, 0);
        io_printf(t->out, "\t%s", text.p);
    }
    io_printf(t->out, "\t%s%c", path, s->end);
}

static int excluded(const du_state *s, const char *path) {
    for (int i = 0; i < s->excludes; i++)
        if (glob_matches(s->exclude[i], path_last(path), 0, 0) || glob_matches(s->exclude[i], path, 0, 0)) return 1;
    return 0;
}

static size_t place_of(const du_state *s, dev_t device, ino_t inode) {
    size_t i = (size_t)inode * 2654435761u % s->met_room;
    while (s->met[i].inode && (s->met[i].inode != inode || s->met[i].device != device)) i = (i + 1) % s->met_room;
    return i;
}

/* Whether the file was counted before; from now on it is. */
static int met_before(tool *t, du_state *s, const struct stat *st) {
    if (!st->st_ino) return 0;
    if (s->met_n * 2 >= s->met_room) {
        du_state old = *s;
        s->met_room = old.met_room ? old.met_room * 2 : 64;
        s->met = tool_alloc(t, s->met_room * sizeof *s->met);
        for (size_t i = 0; i < old.met_room; i++)
            if (old.met[i].inode) s->met[place_of(s, old.met[i].device, old.met[i].inode)] = old.met[i];
    }
    size_t i = place_of(s, st->st_dev, st->st_ino);
    if (s->met[i].inode) return 1;
    s->met[i].device = st->st_dev;
    s->met[i].inode = st->st_ino;
    s->met_n++;
    return 0;
}

static amount measure(tool *t, du_state *s, const char *path, int depth) {
    struct stat st;
    amount sum = {0, 0};
    if (excluded(s, path)) return sum;
    if ((s->follow ? path_stat : path_lstat)(path, &st) < 0) {
        s->status = tool_fail_errno(t, 1, "cannot access %s", tool_quote(t, path));
        return sum;
    }
    int several = !S_ISDIR(st.st_mode) && st.st_nlink > 1;
    if (!s->every_link && (s->remember_all || several) && met_before(t, s, &st)) return sum;
    sum.size = s->inodes ? 1 : s->apparent ? (unsigned long long)st.st_size : file_blocks(&st) * 512;
    sum.newest = st.st_mtime;
    int is_dir = S_ISDIR(st.st_mode);
    amount shown = sum;
    if (is_dir && depth < DEEPEST_DU && !tool_too_deep(t)) {
        size_t n;
        char **names = directory_names(t, path, &n);
        if (!names) s->status = tool_fail_errno(t, 1, "cannot read directory %s", tool_quote(t, path));
        for (size_t i = 0; names && i < n; i++) {
            struct stat below;
            char *child = path_join(t, path, names[i]);
            amount part = measure(t, s, child, depth + 1);
            sum.size += part.size;
            if (part.newest > sum.newest) sum.newest = part.newest;
            if (!s->separate || (path_lstat(child, &below) == 0 && !S_ISDIR(below.st_mode))) shown.size += part.size;
            shown.newest = sum.newest;
        }
    }
    if (depth == 0 || ((is_dir || s->all) && depth <= s->depth)) print_size(t, s, shown, path);
    return sum;
}

/* -B SIZE: a number with a suffix, or a suffix alone. */
static int take_unit(tool *t, du_state *s, const char *arg) {
    const char *text = *arg >= '0' && *arg <= '9' ? arg : tool_format(t, "1%s", arg);
    if (size_parse(text, &s->unit) < 0 || !s->unit) return tool_fail(t, 1, "invalid -B argument %s", tool_quote(t, arg));
    return 0;
}

static int take_threshold(tool *t, du_state *s, const char *arg) {
    unsigned long long v;
    if (size_parse(arg + (*arg == '-'), &v) < 0) return tool_fail(t, 1, "invalid -t argument %s", tool_quote(t, arg));
    s->threshold = *arg == '-' ? -(long long)v : (long long)v;
    return 0;
}

/* -X: patterns from a file, one per line. */
static int read_excludes(tool *t, du_state *s, const char *path) {
    int failed = 0;
    const char *line;
    io *from = tool_open(t, path, 1, &failed);
    if (!from) return failed;
    for (ssize_t n; s->excludes < DU_GLOBS && (n = io_line(from, &line, '\n')) > 0;)
        s->exclude[s->excludes++] = tool_strndup(t, line, (size_t)n - (line[n - 1] == '\n'));
    io_unref(from);
    return 0;
}

int tool_du(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"all", 0, 'a'}, {"summarize", 0, 's'}, {"human-readable", 0, 'h'}, {"si", 0, 128},
        {"apparent-size", 0, 129}, {"total", 0, 'c'}, {"max-depth", 1, 'd'}, {"bytes", 0, 'b'}, {"null", 0, '0'},
        {"kibibytes", 0, 'k'}, {"block-size", 1, 'B'}, {"exclude", 1, 130}, {"threshold", 1, 't'}, {"separate-dirs", 0, 'S'},
        {"inodes", 0, 131}, {"dereference", 0, 'L'}, {"time", 2, 132}, {"one-file-system", 0, 'x'}, {"count-links", 0, 'l'},
        {"exclude-from", 1, 'X'}, {"dereference-args", 0, 'D'}, {"no-dereference", 0, 'P'}, {"time-style", 1, 133},
        {"files0-from", 1, 134}, {0, 0, 0}};
    du_state s = {.depth = 1000000, .end = '\n', .unit = 1024};
    amount total = {0, 0};
    int c, summarize = 0, deepest = -1;
    const char *list = NULL;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "ashcd:b0kmxLPHDlSB:t:X:", longs)) != -1;) switch (c) {
        case 'a': s.all = 1; break;
        case 's': s.depth = 0; summarize = 1; break;
        case 'h': s.human = 1; break;
        case 128: s.si = 1; break;
        case 129: s.apparent = 1; break;
        case 'c': s.total = 1; break;
        case 'd':
            s.depth = deepest = atoi(o.arg);
            if (strspn(o.arg, "0123456789") != strlen(o.arg)) {
                tool_fail(t, 1, "invalid maximum depth %s", tool_cite(t, o.arg));
                return tool_usage(t, 1);
            }
            break;
        case 'b': s.apparent = 1; s.unit = 1; break;
        case '0': s.end = '\0'; break;
        case 'k': s.unit = 1024; break;
        case 'm': s.unit = 1048576; break;
        case 'B': if (take_unit(t, &s, o.arg)) return 1; break;
        case 't': if (take_threshold(t, &s, o.arg)) return 1; break;
        case 'S': s.separate = 1; break;
        case 'L': s.follow = 1; break;
        case 'l': s.every_link = 1; break;
        case 130: if (s.excludes < DU_GLOBS) s.exclude[s.excludes++] = o.arg; break;
        case 'X': if (read_excludes(t, &s, o.arg)) return 1; break;
        case 131: s.inodes = 1; break;
        case 132: s.time = 1; break;
        case 134: list = o.arg; break;
        case '?': return 1;
        default: break;
    }
    if (summarize && s.all) {
        tool_fail(t, 1, "cannot both summarize and show all entries");
        return tool_usage(t, 1);
    }
    if (summarize && deepest > 0) {
        tool_fail(t, 1, "warning: summarizing conflicts with --max-depth=%d", deepest);
        return tool_usage(t, 1);
    }
    static char *here[] = {"."};
    char **paths = o.index < argc ? argv + o.index : here;
    int count = o.index < argc ? argc - o.index : 1;
    if (list && !(paths = input_names(t, list, &count))) return 1;
    s.remember_all = count > 1 || s.follow;
    for (int i = 0; i < count; i++) {
        amount part = measure(t, &s, paths[i], 0);
        total.size += part.size;
        if (part.newest > total.newest) total.newest = part.newest;
    }
    if (s.total) print_size(t, &s, total, "total");
    return s.status;
}
