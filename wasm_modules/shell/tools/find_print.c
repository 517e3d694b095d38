/* find_print.c - what find prints: -printf, -ls, and the files of -fprint and its kin. */
#include "find.h"
#include "files.h"
#include "users.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define STAMP "%a %b %e %H:%M:%S.%N0 %Y"
enum { HALF_YEAR_S = 15778476 };

int find_check_format(find_state *f, const char *p) {
    for (; *p; p++) {
        if (*p == '\\' && p[1]) { p++; continue; }
        if (*p != '%') continue;
        for (p++; *p && strchr("-0# +.123456789", *p); p++) {}
        if (!*p) { f->failed = tool_fail(f->t, 1, "error: %% at end of format string"); return 0; }
        if (strchr("TABC", *p)) { if (p[1]) p++; continue; }
        if (!strchr("%abcdDfFgGhHiklmMnpPstuUyYSZ", *p)) tool_fail(f->t, 0, "warning: unrecognized format directive `%%%c'", *p);
    }
    return 1;
}

io *find_output(find_state *f, const char *path) {
    if (!strcmp(path, "/dev/stdout")) return f->t->out;
    if (!strcmp(path, "/dev/stderr")) return f->t->err;
    for (fout *o = f->outs; o; o = o->next) if (!strcmp(o->path, path)) return o->to;
    io *to = io_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (!to) { f->failed = tool_fail_errno(f->t, 1, "%s", tool_cite(f->t, path)); return NULL; }
    fout *o = tool_alloc(f->t, sizeof *o);
    *o = (fout){path, to, f->outs};
    f->outs = o;
    return to;
}

static void put_time(find_state *f, buffer *b, struct timespec t, int letter) {
    (void)f;
    if (letter == '@') buffer_printf(b, "%lld.%09ld0", (long long)t.tv_sec, (long)t.tv_nsec);
    else if (letter == 'S') { date_format(b, "%S.%N0", t, 0); }
    else if (letter == 'T' || letter == 'X') { date_format(b, "%H:%M:%S.%N0", t, 0); }
    else if (letter == '+') { date_format(b, "%Y-%m-%d+%H:%M:%S.%N0", t, 0); }
    else { char format[3] = {'%', (char)letter, 0}; date_format(b, format, t, 0); }
}

/* %f: the last part of the path, with one of the slashes that end it. */
static void put_last(buffer *b, const char *path) {
    const char *last = path_last(path);
    size_t n = strcspn(last, "/");
    buffer_add(b, last, n + (last[n] == '/'));
}

/* %h: what stands before the last part; a starting point d/ is said to be in d. */
static void put_directory(buffer *b, const char *path) {
    size_t n = strlen(path), bare = n;
    while (bare > 1 && path[bare - 1] == '/') bare--;
    size_t slash = bare;
    while (slash && path[slash - 1] != '/') slash--;
    if (!slash) { if (bare == n) buffer_putc(b, '.'); else buffer_add(b, path, bare); return; }
    while (slash > 1 && path[slash - 1] == '/') slash--;
    if (slash > 1 || *path != '/') buffer_add(b, path, slash);
    else if (bare == 1 && n > 1) buffer_putc(b, '/');
}

/* One %-directive of -printf, at p (after flags and width). */
static const char *put_directive(find_state *f, buffer *b, const char *p, const fentry *e, int alternate) {
    char mode[11], target[4096];
    switch (*p) {
    case 'p': buffer_puts(b, e->path); break;
    case 'f': put_last(b, e->path); break;
    case 'h': put_directory(b, e->path); break;
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
    case 'y': buffer_putc(b, find_type_letter(&e->st)); break;
    case 'Y': {
        struct stat st;
        int missing = S_ISLNK(e->st.st_mode) && path_stat(e->path, &st) < 0;
        buffer_putc(b, missing ? (errno == ELOOP ? 'L' : 'N') : find_type_letter(S_ISLNK(e->st.st_mode) ? &st : &e->st));
        break;
    }
    case 'm': buffer_printf(b, alternate ? "0%o" : "%o", e->st.st_mode & 07777); break;
    case 'M': mode_text(&e->st, mode); buffer_puts(b, mode); break;
    case 'u': buffer_puts(b, user_name(f->t, e->st.st_uid)); break;
    case 'g': buffer_puts(b, group_name(f->t, e->st.st_gid)); break;
    case 'U': buffer_printf(b, "%u", e->st.st_uid); break;
    case 'G': buffer_printf(b, "%u", e->st.st_gid); break;
    case 'i': buffer_printf(b, "%llu", (unsigned long long)e->st.st_ino); break;
    case 'D': buffer_printf(b, "%llu", (unsigned long long)e->st.st_dev); break;
    case 'F': buffer_puts(b, "hatchway"); break;
    case 'S': buffer_puts(b, "1"); break;
    case 'a': date_format(b, STAMP, e->st.st_atim, 0); break;
    case 'c': date_format(b, STAMP, e->st.st_ctim, 0); break;
    case 'n': buffer_printf(b, "%llu", link_count(b->t, e->path, &e->st)); break;
    case 'l':
        if (S_ISLNK(e->st.st_mode)) {
            ssize_t n = readlink(e->path, target, sizeof target);
            if (n > 0) buffer_add(b, target, (size_t)n);
        }
        break;
    case 't': date_format(b, STAMP, e->st.st_mtim, 0); break;
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

void find_print_formatted(find_state *f, io *to, const char *p, const fentry *e) {
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
            int left = 0, width = 0, zero = 0, alternate = 0, most = -1;
            for (p++; *p == '-' || *p == '0' || *p == '#' || *p == ' ' || *p == '+'; p++) {
                left |= *p == '-';
                zero |= *p == '0';
                alternate |= *p == '#';
            }
            for (; *p >= '0' && *p <= '9'; p++) if (width < 10000) width = width * 10 + *p - '0';
            if (*p == '.') for (p++, most = 0; *p >= '0' && *p <= '9'; p++) if (most < 10000) most = most * 10 + *p - '0';
            buffer one = {.t = f->t};
            buffer_puts(&one, "");
            zero = zero && (*p == 'd' || *p == 'm');        /* the others are texts, even of numbers */
            p = put_directive(f, &one, p, e, alternate);
            if (most >= 0 && one.n > (size_t)most) one.n = (size_t)most;
            if (!left) for (int i = (int)one.n; i < width; i++) buffer_putc(&b, zero ? '0' : ' ');
            buffer_add(&b, one.p, one.n);
            if (left) for (int i = (int)one.n; i < width; i++) buffer_putc(&b, ' ');
            if (!*p) break;
        } else buffer_putc(&b, *p);
    }
    io_write(to, b.p, b.n);
}

/* A name as -ls shows it: blanks and what is not ASCII behind backslashes. */
static void put_escaped(buffer *b, const char *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        static const char from[] = "\b\f\n\r\t \\\"", to[] = "bfnrt \\\"";
        unsigned char c = (unsigned char)s[i];
        const char *at = c ? strchr(from, c) : NULL;
        if (at) buffer_printf(b, "\\%c", to[at - from]);
        else if (c < 32 || c > 126) buffer_printf(b, "\\%03o", c);
        else buffer_putc(b, (char)c);
    }
}

void find_list(find_state *f, io *to, const fentry *e) {
    char mode[11];
    buffer b = {.t = f->t};
    mode_text(&e->st, mode);
    buffer_printf(&b, "%9llu %6llu %s %3llu %-8s %-8s %8lld ", (unsigned long long)e->st.st_ino, (file_blocks(&e->st) + 1) / 2,
        mode, link_count(f->t, e->path, &e->st), user_name(f->t, e->st.st_uid), group_name(f->t, e->st.st_gid),
        (long long)e->st.st_size);
    date_format(&b, (long long)f->now.tv_sec - (long long)e->st.st_mtim.tv_sec > HALF_YEAR_S ? "%b %e  %Y" : "%b %e %H:%M",
        e->st.st_mtim, 0);
    buffer_putc(&b, ' ');
    put_escaped(&b, e->path, strlen(e->path));
    char target[4096];
    ssize_t n = S_ISLNK(e->st.st_mode) ? readlink(e->path, target, sizeof target) : -1;
    if (n > 0) { buffer_puts(&b, " -> "); put_escaped(&b, target, (size_t)n); }
    buffer_putc(&b, '\n');
    io_write(to, b.p, b.n);
}
