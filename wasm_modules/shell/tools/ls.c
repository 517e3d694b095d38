/* ls.c - list directory contents. One name per line unless -C, -x or -m asks for more; a terminal is never assumed. */
#include "ls.h"
#include "files.h"
#include "sort_keys.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int compare(const ls_state *s, const ls_entry *a, const ls_entry *b) {
    int order = 0;
    if (s->dirs_first) {
        order = b->leads_to_dir - a->leads_to_dir;
        if (order) return order;
    }
    if (s->sort == SORT_TIME) {
        moment x = ls_time_of(s, &a->st), y = ls_time_of(s, &b->st);
        order = x.tv_sec != y.tv_sec     ? (x.tv_sec > y.tv_sec ? -1 : 1)
                : x.tv_nsec != y.tv_nsec ? (x.tv_nsec > y.tv_nsec ? -1 : 1)
                                         : 0;
    } else if (s->sort == SORT_SIZE) order = a->st.st_size > b->st.st_size ? -1 : a->st.st_size < b->st.st_size;
    else if (s->sort == SORT_VERSION) order = version_compare(a->name, strlen(a->name), b->name, strlen(b->name));
    else if (s->sort == SORT_EXTENSION) {
        const char *x = strrchr(a->name, '.'), *y = strrchr(b->name, '.');
        order = strcmp(x ? x : "", y ? y : "");
    } else if (s->sort == SORT_WIDTH) order = (int)strlen(a->name) - (int)strlen(b->name);
    if (!order) order = strcmp(a->name, b->name);
    return s->reverse ? -order : order;
}

static void sort_entries(const ls_state *s, ls_entry *v, ls_entry *scratch, size_t n) {
    if (n < 2) return;
    size_t half = n / 2, i = 0, j = half, k = 0;
    sort_entries(s, v, scratch, half);
    sort_entries(s, v + half, scratch, n - half);
    memcpy(scratch, v, half * sizeof *v);
    while (i < half && j < n) v[k++] = compare(s, &scratch[i], &v[j]) <= 0 ? scratch[i++] : v[j++];
    while (i < half) v[k++] = scratch[i++];
}

/* Whether names alone are not enough. */
static int needs_stat(const ls_state *s) {
    return s->format == 'l' || s->indicator || s->blocks || s->inode || s->recursive || s->sort == SORT_TIME
           || s->sort == SORT_SIZE;
}

static int fill_entry(tool *t, ls_state *s, ls_entry *e, char *name, char *path, int follow) {
    char target[4096];
    *e = (ls_entry){.name = name, .path = path};
    int failed = follow ? path_stat(path, &e->st) : path_lstat(path, &e->st);
    if (failed) {
        int inside = name != path;                          /* an operand that is not there is worse than an entry */
        if (!inside || needs_stat(s)) {
            tool_fail_errno(t, 2, "cannot access %s", tool_quote(t, inside && !strncmp(path, "./", 2) ? path + 2 : path));
            if (s->status < (inside ? 1 : 2)) s->status = inside ? 1 : 2;
        }
        if (!inside || !follow || path_lstat(path, &e->st) < 0) return -1;
    }
    e->ok = 1;
    e->leads_to_dir = S_ISDIR(e->st.st_mode);
    struct stat real;
    if (s->dirs_first && S_ISLNK(e->st.st_mode)) e->leads_to_dir = path_stat(path, &real) == 0 && S_ISDIR(real.st_mode);
    if (S_ISLNK(e->st.st_mode) && s->format == 'l') {
        ssize_t n = readlink(path, target, sizeof target - 1);
        if (n >= 0) e->target = tool_strndup(t, target, (size_t)n);
    }
    return 0;
}

static int print_entries(tool *t, ls_state *s, ls_entry *v, size_t n) {
    if (s->sort != SORT_NONE) sort_entries(s, v, tool_alloc(t, (n + 1) * sizeof *v), n);
    return s->format == 'l' ? ls_print_long(t, s, v, n) : ls_print_short(t, s, v, n);
}

/* Just enough of fnmatch for --ignore: * and ?. */
static int glob_match(const char *p, const char *s) {
    const char *star = NULL, *back = NULL;
    while (*s) {
        if (*p == '*') { star = p++; back = s; }
        else if (*p == '?' || *p == *s) { p++; s++; }
        else if (star) { p = star + 1; s = ++back; }
        else return 0;
    }
    while (*p == '*') p++;
    return !*p;
}

static int hidden(const ls_state *s, const char *name) {
    if (*name == '.' && !s->all && !s->almost) return 1;
    for (int i = 0; i < s->ignores; i++) if (glob_match(s->ignore[i], name)) return 1;
    return s->hide && !s->all && !s->almost && glob_match(s->hide, name);
}

static int list_directory(tool *t, ls_state *s, const char *path, int titled, int depth) {
    size_t count, n = 0;
    if (depth > 500 || tool_too_deep(t)) return tool_fail(t, 2, "%s: directories nest too deep", path);
    char **names = directory_names(t, path, &count);
    if (!names) { s->status = tool_fail_errno(t, depth ? 1 : 2, "cannot open directory %s", tool_quote(t, path)); return 0; }
    ls_entry *v = tool_alloc(t, (count + 3) * sizeof *v);
    if (s->all) {
        if (!fill_entry(t, s, &v[n], ".", path_join(t, path, "."), s->follow)) n++;
        /* the root of the sandbox has no parent to ask: it is its own */
        struct stat up;
        int has_parent = path_stat(path_join(t, path, ".."), &up) == 0;
        if (!fill_entry(t, s, &v[n], "..", path_join(t, path, has_parent ? ".." : "."), s->follow)) n++;
    }
    for (size_t i = 0; i < count; i++)
        if (!hidden(s, names[i]) && !fill_entry(t, s, &v[n], names[i], path_join(t, path, names[i]), s->follow)) n++;
    if (s->printed++ && titled) io_putc(t->out, '\n');
    if (titled) ls_print_title(t, s, path);
    if (s->format == 'l' || s->blocks) {
        unsigned long long total = 0;
        for (size_t i = 0; i < n; i++) total += file_blocks(&v[i].st);
        if (io_printf(t->out, "total %s\n", ls_blocks_text(t, s, total)) < 0) return -1;
    }
    if (print_entries(t, s, v, n) < 0) return -1;
    for (size_t i = 0; s->recursive && i < n; i++) {
        if (!S_ISDIR(v[i].st.st_mode) || !strcmp(v[i].name, ".") || !strcmp(v[i].name, "..")) continue;
        if (list_directory(t, s, v[i].path, 1, depth + 1) < 0) return -1;
    }
    return 0;
}

int tool_ls(tool *t, int argc, char **argv) {
    ls_state s = {.format = '1', .width = 80};
    const char *columns = t->getenv ? t->getenv(t, "COLUMNS") : NULL;
    if (columns && atoi(columns) > 0) s.width = atoi(columns);
    tool_opts o;
    tool_opts_start(&o, argc, argv);
    int bad = ls_options(t, &o, &s);
    if (bad) return bad;
    static char *here[] = {"."};
    char **args = o.index < argc ? argv + o.index : here;
    size_t n = o.index < argc ? (size_t)(argc - o.index) : 1, files = 0, dirs = 0;
    ls_entry *file = tool_alloc(t, (n + 1) * sizeof *file), *dir = tool_alloc(t, (n + 1) * sizeof *dir), e;
    int follow_dirs = s.format != 'l' || s.follow_args;
    for (size_t i = 0; i < n; i++) {
        struct stat real;
        if (fill_entry(t, &s, &e, args[i], args[i], s.follow || s.follow_args) < 0) continue;
        if (S_ISLNK(e.st.st_mode) && follow_dirs && !s.dirs_as_files && s.indicator != 'F' && path_stat(args[i], &real) == 0
            && S_ISDIR(real.st_mode))
            e.st = real;
        if (S_ISLNK(e.st.st_mode) && args[i][strlen(args[i]) - 1] == '/' && path_stat(args[i], &real) == 0) e.st = real;
        if (S_ISDIR(e.st.st_mode) && !s.dirs_as_files) dir[dirs++] = e; else file[files++] = e;
    }
    s.beside = dir;
    s.beside_n = dirs;
    if (files && print_entries(t, &s, file, files) < 0) return 2;
    s.beside_n = 0;
    s.printed = files > 0;
    ls_entry *scratch = tool_alloc(t, (dirs + 1) * sizeof *scratch);
    if (s.sort != SORT_NONE) sort_entries(&s, dir, scratch, dirs);
    for (size_t i = 0; i < dirs; i++) if (list_directory(t, &s, dir[i].path, n > 1 || s.recursive, 0) < 0) return 2;
    return s.status;
}

/* dir and vdir: ls in columns or long, whatever it writes to. */
static int ls_as(tool *t, int argc, char **argv, char *how) {
    char **words = tool_alloc(t, ((size_t)argc + 3) * sizeof *words);
    words[0] = argv[0];
    words[1] = how;
    memcpy(words + 2, argv + 1, (size_t)(argc - 1) * sizeof *words);
    return tool_ls(t, argc + 1, words);
}

int tool_dir(tool *t, int argc, char **argv) { return ls_as(t, argc, argv, "-Cb"); }
int tool_vdir(tool *t, int argc, char **argv) { return ls_as(t, argc, argv, "-lb"); }
