/* find_test.c - find's tests and actions on one file. */
#include "find.h"
#include "files.h"
#include "users.h"
#include "../fifo.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

static int compare(const fnode *n, long long value) {
    return n->sign > 0 ? value > n->number : n->sign < 0 ? value < n->number : value == n->number;
}

char find_type_letter(const struct stat *st) {
    return S_ISDIR(st->st_mode)    ? 'd'
           : S_ISLNK(st->st_mode)  ? 'l'
           : fifo_is(st)           ? 'p'
           : S_ISREG(st->st_mode)  ? 'f'
           : S_ISCHR(st->st_mode)  ? 'c'
           : S_ISBLK(st->st_mode)  ? 'b'
                                   : 's';
}

/* Ages in minutes are rounded up: N is the minute that ends N minutes ago. In days they are rounded down, and -N gives a second's
 * grace. */
static int test_time(const fnode *n, const fentry *e) {
    const struct timespec *t = n->name[1] == 'a' ? &e->st.st_atim : n->name[1] == 'c' ? &e->st.st_ctim : &e->st.st_mtim;
    long long second = 1000000000LL, minutes = n->unit < 3600 * second;
    long long age = ((long long)n->when.tv_sec - (long long)t->tv_sec) * second + (n->when.tv_nsec - t->tv_nsec);
    long long from = minutes ? n->number - n->unit : n->number, to = from + n->unit;
    if (n->sign > 0) return minutes ? age > n->number : age > to;
    if (n->sign < 0) return age < n->number + (minutes ? 0 : second);
    return age >= from && age < to;
}

static int is_empty(find_state *f, const fentry *e) {
    if (S_ISREG(e->st.st_mode)) return e->st.st_size == 0 && !fifo_is(&e->st);
    if (!S_ISDIR(e->st.st_mode)) return 0;
    size_t n;
    char **names = directory_names(f->t, e->path, &n);
    return names && !n;
}

/* argv with every {} replaced by path, in dir (NULL: here). */
static int run_one(find_state *f, fnode *n, const char *path, const char *dir) {
    int count = n->argc + n->plus;
    char **argv = tool_alloc(f->t, ((size_t)count + 1) * sizeof *argv);
    if (n->plus) argv[n->argc] = tool_strdup(f->t, path);
    for (int i = 0; i < n->argc; i++) {
        buffer b = {.t = f->t};
        buffer_puts(&b, "");
        for (const char *p = n->argv[i]; *p;) {
            if (p[0] == '{' && p[1] == '}') { buffer_puts(&b, path); p += 2; } else buffer_putc(&b, *p++);
        }
        argv[i] = b.p;
    }
    if (f->t->knows && !f->t->knows(f->t, argv[0])) {
        tool_fail(f->t, 1, "%s: No such file or directory", tool_cite(f->t, argv[0]));
        return 0;
    }
    if (dir) return f->t->run_env && f->t->run_env(f->t, f->t->environ(f->t), dir, count, argv) == 0;
    return f->t->run && f->t->run(f->t, count, argv) == 0;
}

static void run_batch(find_state *f, fnode *n) {
    if (!n->batch_n) return;
    int fixed = n->argc;
    char **argv = tool_alloc(f->t, ((size_t)fixed + (size_t)n->batch_n + 1) * sizeof *argv);
    memcpy(argv, n->argv, (size_t)fixed * sizeof *argv);
    memcpy(argv + fixed, n->batch, (size_t)n->batch_n * sizeof *argv);
    if (!f->t->run || f->t->run(f->t, fixed + n->batch_n, argv) != 0) f->status = 1;
    n->batch_n = 0;
    n->batch_bytes = 0;
}

void find_flush(find_state *f, fnode *n) {
    if (!n) return;
    if (n->kind == F_EXEC && n->plus) run_batch(f, n);
    if (n->kind <= F_NOT) { find_flush(f, n->a); find_flush(f, n->b); }
}

static int execute(find_state *f, fnode *n, fentry *e) {
    const char *path = e->path;
    const char *dir = NULL;
    if (!strcmp(n->name, "-execdir") || !strcmp(n->name, "-okdir")) {
        const char *last = path_last(e->path);
        path = tool_format(f->t, "./%s", last);
        if (last > e->path) dir = tool_strndup(f->t, e->path, (size_t)(last - e->path));
    }
    if (!strncmp(n->name, "-ok", 3)) {
        const char *line;
        io_printf(f->t->err, "< %s ... %s > ? ", n->argv[0], e->path);
        ssize_t got = io_line(f->t->in, &line, '\n');
        if (got <= 0 || (*line != 'y' && *line != 'Y')) return 0;
    }
    if (!n->plus || dir) return run_one(f, n, path, dir);
    if (n->batch_n == n->batch_cap)
        n->batch = tool_realloc(f->t, n->batch, (size_t)(n->batch_cap = n->batch_cap ? n->batch_cap * 2 : 32) * sizeof *n->batch);
    n->batch[n->batch_n++] = tool_strdup(f->t, path);
    n->batch_bytes += strlen(path) + 1;
    if (n->batch_bytes > 100000) run_batch(f, n);
    return 1;
}

static int remove_entry(find_state *f, fentry *e) {
    if (!strcmp(e->path, ".")) return 1;
    if ((S_ISDIR(e->st.st_mode) ? rmdir(e->path) : unlink(e->path)) == 0) return 1;
    f->status = tool_fail_errno(f->t, 1, "cannot delete %s", tool_cite(f->t, e->path));
    return 0;
}

int find_test(find_state *f, fnode *n, fentry *e) {
    char target[4096];
    struct stat st;
    io *to = n->to ? n->to : f->t->out;
    if (io_failed(f->t->out)) { f->quit = 1; return 0; }
    switch (n->kind) {
    case F_AND: return find_test(f, n->a, e) && !f->quit && find_test(f, n->b, e);
    case F_OR: return find_test(f, n->a, e) || f->quit || find_test(f, n->b, e);
    case F_COMMA: find_test(f, n->a, e); return f->quit ? 0 : find_test(f, n->b, e);
    case F_NOT: return !find_test(f, n->a, e);
    case F_NAME: {
        char *clean = path_strip(f->t, e->path);
        int hit = glob_matches(n->text, path_last(clean), n->fold, 0);
        return hit;
    }
    case F_PATH: return glob_matches(n->text, e->path, n->fold, 0);
    case F_REGEX: return regex_test(n->regex, e->path, strlen(e->path)) > 0;
    case F_TYPE:
        st = e->st;
        if (n->name[1] == 'x') {                /* the other of the two: the link where links are followed, else its target */
            if (f->follow == 'L' || (f->follow == 'H' && !e->depth)) path_lstat(e->path, &st);
            else if (S_ISLNK(st.st_mode) && path_stat(e->path, &st) < 0) st = e->st;
        }
        return strchr(n->text, find_type_letter(&st)) != NULL;
    case F_SIZE: return compare(n, ((long long)e->st.st_size + n->unit - 1) / n->unit);
    case F_EMPTY: return is_empty(f, e);
    case F_TIME: return test_time(n, e);
    case F_NEWER: {
        const struct timespec *mine = n->unit == 'a' ? &e->st.st_atim : n->unit == 'c' ? &e->st.st_ctim : &e->st.st_mtim;
        return mine->tv_sec != n->when.tv_sec ? mine->tv_sec > n->when.tv_sec : mine->tv_nsec > n->when.tv_nsec;
    }
    case F_ID: return compare(n, n->name[1] == 'u' ? e->st.st_uid : e->st.st_gid);
    case F_FSTYPE: return 0;
    case F_SAMEFILE: return (long long)e->st.st_ino == n->number;
    case F_PERM: {
        unsigned have = e->st.st_mode & 07777, want = (unsigned)n->number;
        return n->sign < 0 ? (have & want) == want : n->sign > 0 ? !want || have & want : have == want;
    }
    case F_USER:
        return n->number == (long long)(n->name[1] == 'u' ? e->st.st_uid : e->st.st_gid);
    case F_LINKS: return compare(n, (long long)link_count(f->t, e->path, &e->st));
    case F_INUM: return compare(n, (long long)e->st.st_ino);
    case F_LNAME: {
        ssize_t got = S_ISLNK(e->st.st_mode) ? readlink(e->path, target, sizeof target - 1) : -1;
        if (got < 0) return 0;
        target[got] = '\0';
        return glob_matches(n->text, target, n->fold, 0);
    }
    case F_ACCESS: {                                     /* asks about what a link leads to */
        struct stat real;
        if (path_stat(e->path, &real) < 0) return 0;
        return user_may(&real, n->name[1] == 'e' ? 1 : n->name[1] == 'r' ? 4 : 2);
    }
    case F_TRUE: return 1;
    case F_FALSE: return 0;
    case F_PRUNE: f->pruned = 1; return 1;
    case F_QUIT: f->quit = 1; return 0;
    case F_PRINT:
        io_puts(to, e->path);
        io_putc(to, n->name[strlen(n->name) - 1] == '0' ? '\0' : '\n');
        return 1;
    case F_PRINTF: find_print_formatted(f, to, n->text, e); return 1;
    case F_LS: find_list(f, to, e); return 1;
    case F_DELETE: return remove_entry(f, e);
    case F_EXEC: return execute(f, n, e);
    }
    return 1;
}
