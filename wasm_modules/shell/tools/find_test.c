/* find_test.c - find's tests and actions on one file. */
#include "find.h"
#include "files.h"
#include "users.h"
#include "../modes.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int compare(const fnode *n, long long value) {
    return n->sign > 0 ? value > n->number : n->sign < 0 ? value < n->number : value == n->number;
}

static char type_letter(const struct stat *st) {
    return S_ISDIR(st->st_mode)    ? 'd'
           : S_ISLNK(st->st_mode)  ? 'l'
           : S_ISREG(st->st_mode)  ? 'f'
           : S_ISCHR(st->st_mode)  ? 'c'
           : S_ISBLK(st->st_mode)  ? 'b'
           : S_ISFIFO(st->st_mode) ? 'p'
                                   : 's';
}

static int test_time(find_state *f, const fnode *n, const fentry *e) {
    const struct timespec *t = n->name[1] == 'a' ? &e->st.st_atim : n->name[1] == 'c' ? &e->st.st_ctim : &e->st.st_mtim;
    long long age = (long long)f->now.tv_sec - (long long)t->tv_sec;
    if (strstr(n->name, "min")) {
        /* minutes round up when compared for "more than" */
        double minutes = (double)age / 60;
        return n->sign > 0   ? minutes > (double)n->number
               : n->sign < 0 ? minutes < (double)n->number
                             : (long long)(minutes + 0.999999) == n->number;
    }
    return compare(n, age / 86400);
}

static int is_empty(find_state *f, const fentry *e) {
    if (S_ISREG(e->st.st_mode)) return e->st.st_size == 0;
    if (!S_ISDIR(e->st.st_mode)) return 0;
    size_t n;
    char **names = directory_names(f->t, e->path, &n);
    return names && !n;
}

static void put_time(find_state *f, buffer *b, struct timespec t, int letter) {
    (void)f;
    if (letter == '@') buffer_printf(b, "%lld.%09ld0", (long long)t.tv_sec, (long)t.tv_nsec);
    else if (letter == 'S') { date_format(b, "%S.%N0", t, 0); }
    else if (letter == 'T') { date_format(b, "%H:%M:%S.%N0", t, 0); }
    else if (letter == '+') { date_format(b, "%Y-%m-%d+%H:%M:%S.%N0", t, 0); }
    else { char format[3] = {'%', (char)letter, 0}; date_format(b, format, t, 0); }
}

/* One %-directive of -printf, at p (after flags and width). */
static const char *put_directive(find_state *f, buffer *b, const char *p, const fentry *e) {
    char mode[11], target[4096];
    switch (*p) {
    case 'p': buffer_puts(b, e->path); break;
    case 'f': {
        const char *last = path_last(e->path);
        buffer_add(b, last, strcspn(last, "/") ? strcspn(last, "/") : strlen(last));
        break;
    }
    case 'h': {
        const char *last = path_last(e->path);
        size_t n = (size_t)(last - e->path);
        while (n > 1 && e->path[n - 1] == '/') n--;
        if (last == e->path) buffer_putc(b, '.');
        else buffer_add(b, e->path, n);
        break;
    }
    case 'P': {
        size_t n = strlen(e->root);
        const char *rest = e->path + n;
        while (*rest == '/') rest++;
        buffer_puts(b, rest);
        break;
    }
    case 'H': buffer_puts(b, e->root); break;
    case 's': buffer_printf(b, "%lld", (long long)e->st.st_size); break;
    case 'k': buffer_printf(b, "%llu", (file_blocks(&e->st) + 1) / 2); break;
    case 'b': buffer_printf(b, "%llu", file_blocks(&e->st)); break;
    case 'd': buffer_printf(b, "%d", e->depth); break;
    case 'y': case 'Y': buffer_putc(b, type_letter(&e->st)); break;
    case 'm': buffer_printf(b, "%o", modes_get(&e->st)); break;
    case 'M': mode_text(&e->st, mode); buffer_puts(b, mode); break;
    case 'u': buffer_puts(b, user_name(f->t, file_owner(&e->st))); break;
    case 'g': buffer_puts(b, group_name(f->t, file_group(&e->st))); break;
    case 'U': buffer_printf(b, "%u", file_owner(&e->st)); break;
    case 'G': buffer_printf(b, "%u", file_group(&e->st)); break;
    case 'i': buffer_printf(b, "%llu", (unsigned long long)e->st.st_ino); break;
    case 'n': buffer_printf(b, "%llu", (unsigned long long)e->st.st_nlink); break;
    case 'l':
        if (S_ISLNK(e->st.st_mode)) {
            ssize_t n = readlink(e->path, target, sizeof target);
            if (n > 0) buffer_add(b, target, (size_t)n);
        }
        break;
    case 't': date_format(b, "%a %b %e %H:%M:%S.%N0 %Y", e->st.st_mtim, 0); break;
    case 'T': case 'A': case 'C': {
        struct timespec t = *p == 'T' ? e->st.st_mtim : *p == 'A' ? e->st.st_atim : e->st.st_ctim;
        if (p[1]) put_time(f, b, t, *++p);
        break;
    }
    case '%': buffer_putc(b, '%'); break;
    default: buffer_putc(b, '%'); if (*p) buffer_putc(b, *p);
    }
    return p;
}

static void print_formatted(find_state *f, const char *p, const fentry *e) {
    buffer b = {.t = f->t};
    buffer_puts(&b, "");
    for (; *p; p++) {
        if (*p == '\\' && p[1]) {
            static const char from[] = "abfnrtv\\", to[] = "\a\b\f\n\r\t\v\\";
            const char *at = strchr(from, *++p);
            if (at) buffer_putc(&b, to[at - from]);
            else if (*p == 'c') break;
            else if (*p >= '0' && *p <= '7') {
                int v = 0;
                for (int i = 0; i < 3 && *p >= '0' && *p <= '7'; i++) v = v * 8 + *p++ - '0';
                p--;
                buffer_putc(&b, v);
            } else { buffer_putc(&b, '\\'); buffer_putc(&b, *p); }
        } else if (*p == '%' && p[1]) {
            int left = 0, width = 0, zero = 0;
            for (p++; *p == '-' || *p == '0' || *p == '#' || *p == ' ' || *p == '+'; p++) {
                left |= *p == '-';
                zero |= *p == '0';
            }
            for (; *p >= '0' && *p <= '9'; p++) if (width < 10000) width = width * 10 + *p - '0';
            buffer one = {.t = f->t};
            buffer_puts(&one, "");
            p = put_directive(f, &one, p, e);
            if (!left) for (int i = (int)one.n; i < width; i++) buffer_putc(&b, zero ? '0' : ' ');
            buffer_add(&b, one.p, one.n);
            if (left) for (int i = (int)one.n; i < width; i++) buffer_putc(&b, ' ');
            if (!*p) break;
        } else buffer_putc(&b, *p);
    }
    io_write(f->t->out, b.p, b.n);
}

/* argv with every {} replaced by path. */
static int run_one(find_state *f, fnode *n, const char *path) {
    char **argv = tool_alloc(f->t, ((size_t)n->argc + 1) * sizeof *argv);
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
    if (!f->t->run) return 0;
    return f->t->run(f->t, n->argc, argv) == 0;
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
    if (!strcmp(n->name, "-execdir")) path = tool_format(f->t, "./%s", path_last(e->path));
    if (!strcmp(n->name, "-ok")) {
        const char *line;
        io_printf(f->t->err, "< %s ... %s > ? ", n->argv[0], e->path);
        ssize_t got = io_line(f->t->in, &line, '\n');
        if (got <= 0 || (*line != 'y' && *line != 'Y')) return 0;
    }
    if (!n->plus) return run_one(f, n, path);
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

static int print_to_file(find_state *f, fnode *n, fentry *e) {
    fout *o = f->outs;
    while (o && strcmp(o->path, n->text)) o = o->next;
    if (!o) {
        o = tool_alloc(f->t, sizeof *o);
        o->path = n->text;
        o->to = io_open(n->text, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        if (!o->to) { f->status = tool_fail_errno(f->t, 1, "%s", n->text); return 0; }
        o->next = f->outs;
        f->outs = o;
    }
    io_puts(o->to, e->path);
    return io_putc(o->to, '\n') == 0;
}

static void list_entry(find_state *f, fentry *e) {
    char mode[11];
    buffer b = {.t = f->t};
    mode_text(&e->st, mode);
    buffer_printf(&b, "%9llu %6llu %s %3llu %-8s %-8s %8lld ", (unsigned long long)e->st.st_ino, (file_blocks(&e->st) + 1) / 2,
        mode, (unsigned long long)e->st.st_nlink, user_name(f->t, file_owner(&e->st)), group_name(f->t, file_group(&e->st)),
        (long long)e->st.st_size);
    date_format(&b, "%b %e %H:%M", e->st.st_mtim, 0);
    buffer_printf(&b, " %s\n", e->path);
    io_write(f->t->out, b.p, b.n);
}

int find_test(find_state *f, fnode *n, fentry *e) {
    char target[4096];
    struct stat st;
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
        if (n->name[1] == 'x')
            return S_ISLNK(e->st.st_mode)
                       ? (stat(e->path, &st) == 0 ? strchr(n->text, type_letter(&st)) != NULL : strchr(n->text, 'l') != NULL)
                       : strchr(n->text, type_letter(&e->st)) != NULL;
        return strchr(n->text, type_letter(&e->st)) != NULL;
    case F_SIZE: return compare(n, ((long long)e->st.st_size + n->unit - 1) / n->unit);
    case F_EMPTY: return is_empty(f, e);
    case F_TIME: return test_time(f, n, e);
    case F_NEWER:
    case F_NEWERMT:
        return e->st.st_mtim.tv_sec != n->when.tv_sec ? e->st.st_mtim.tv_sec > n->when.tv_sec
                                                      : e->st.st_mtim.tv_nsec > n->when.tv_nsec;
    case F_SAMEFILE: return (long long)e->st.st_ino == n->number;
    case F_PERM: {
        unsigned have = modes_get(&e->st), want = (unsigned)n->number;
        return n->sign < 0 ? (have & want) == want : n->sign > 0 ? !want || have & want : have == want;
    }
    case F_USER:
        return !strcmp(n->text, n->name[1] == 'u' ? user_name(f->t, file_owner(&e->st)) : group_name(f->t, file_group(&e->st)));
    case F_LINKS: return compare(n, (long long)e->st.st_nlink);
    case F_INUM: return compare(n, (long long)e->st.st_ino);
    case F_LNAME: {
        ssize_t got = S_ISLNK(e->st.st_mode) ? readlink(e->path, target, sizeof target - 1) : -1;
        if (got < 0) return 0;
        target[got] = '\0';
        return glob_matches(n->text, target, 0, 0);
    }
    case F_ACCESS:
        return n->name[1] == 'e'   ? (modes_get(&e->st) & 0111) != 0
               : n->name[1] == 'r' ? (modes_get(&e->st) & 0444) != 0
                                   : (modes_get(&e->st) & 0222) != 0;
    case F_TRUE: return 1;
    case F_FALSE: return 0;
    case F_PRUNE: f->pruned = 1; return 1;
    case F_QUIT: f->quit = 1; return 0;
    case F_PRINT: io_puts(f->t->out, e->path); io_putc(f->t->out, n->name[6] == '0' ? '\0' : '\n'); return 1;
    case F_PRINTF: print_formatted(f, n->text, e); return 1;
    case F_LS: list_entry(f, e); return 1;
    case F_DELETE: return remove_entry(f, e);
    case F_EXEC: return execute(f, n, e);
    case F_FPRINT: return print_to_file(f, n, e);
    }
    return 1;
}
