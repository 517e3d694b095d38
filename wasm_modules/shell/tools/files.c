/* files.c - see files.h. */
#include "files.h"
#include "../fifo.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *path_join(tool *t, const char *dir, const char *name) {
    size_t n = strlen(dir);
    return tool_format(t, n && dir[n - 1] == '/' ? "%s%s" : "%s/%s", dir, name);
}

const char *path_last(const char *path) {
    const char *end = path + strlen(path);
    while (end > path + 1 && end[-1] == '/') end--;
    while (end > path && end[-1] != '/') end--;
    return *end ? end : path;
}

char *path_strip(tool *t, const char *path) {
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    return tool_strndup(t, path, n);
}

enum { MOST_LINKS = 40 };

char *path_real(tool *t, const char *path, int missing) {
    char cwd[4096];
    char *done = tool_strdup(t, "/"), *rest = NULL;
    int links = 0;
    if (!*path) { errno = ENOENT; return NULL; }
    if (*path == '/') rest = tool_strdup(t, path);
    else {
        if (!getcwd(cwd, sizeof cwd)) return NULL;
        rest = path_join(t, cwd, path);
    }
    while (*rest) {
        while (*rest == '/') rest++;
        size_t n = strcspn(rest, "/");
        if (!n) break;
        char *part = tool_strndup(t, rest, n);
        rest += n;
        if (!strcmp(part, ".")) continue;
        if (!strcmp(part, "..")) {
            char *slash = strrchr(done, '/');
            if (slash == done) done[1] = '\0'; else *slash = '\0';
            continue;
        }
        char *next = path_join(t, done, part), target[4096];
        struct stat st;
        int last = !rest[strspn(rest, "/")];
        if (path_lstat(next, &st) < 0) {
            if (errno != ENOENT || missing == 0 || (missing == 1 && !last)) {
                if (!(missing == 2)) return NULL;
            }
            done = next;
            continue;
        }
        if (S_ISLNK(st.st_mode)) {
            if (++links > MOST_LINKS) { errno = ELOOP; return NULL; }
            ssize_t got = readlink(next, target, sizeof target - 1);
            if (got < 0) return NULL;
            target[got] = '\0';
            rest = tool_format(t, "%s%s", target, rest);
            if (*target == '/') done = tool_strdup(t, "/");
            continue;
        }
        if (*rest && !S_ISDIR(st.st_mode) && missing != 2) { errno = ENOTDIR; return NULL; }
        if (!S_ISDIR(st.st_mode) && !last && missing < 2) { errno = ENOTDIR; return NULL; }
        done = next;
    }
    return done;
}

static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

char **directory_names(tool *t, const char *path, size_t *count) {
    DIR *dir = opendir(path);
    if (!dir) return NULL;
    size_t n = 0, cap = 16;
    char **names = tool_alloc(t, cap * sizeof *names);
    struct dirent *e;
    while ((e = readdir(dir))) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        if (n == cap) names = tool_realloc(t, names, (cap *= 2) * sizeof *names);
        names[n++] = tool_strdup(t, e->d_name);
    }
    closedir(dir);
    qsort(names, n, sizeof *names, by_bytes);
    *count = n;
    return names;
}

void mode_text(const struct stat *st, char to[11]) {
    unsigned m = st->st_mode & 07777;
    to[0] = S_ISDIR(st->st_mode) ? 'd' : S_ISLNK(st->st_mode) ? 'l' : S_ISCHR(st->st_mode) ? 'c' : S_ISBLK(st->st_mode) ? 'b'
        : fifo_is(st) ? 'p' : S_ISSOCK(st->st_mode) ? 's' : '-';
    for (int i = 0; i < 9; i++) to[1 + i] = m & (0400u >> i) ? "rwx"[i % 3] : '-';
    if (m & 04000) to[3] = m & 0100 ? 's' : 'S';
    if (m & 02000) to[6] = m & 0010 ? 's' : 'S';
    if (m & 01000) to[9] = m & 0001 ? 't' : 'T';
    to[10] = '\0';
}

const char *type_text(const struct stat *st) {
    if (fifo_is(st)) return "fifo";
    if (S_ISREG(st->st_mode)) return st->st_size ? "regular file" : "regular empty file";
    return S_ISDIR(st->st_mode)    ? "directory"
           : S_ISLNK(st->st_mode)  ? "symbolic link"
           : S_ISCHR(st->st_mode)  ? "character special file"
           : S_ISBLK(st->st_mode)  ? "block special file"
                                   : "socket";
}

unsigned long long link_count(tool *t, const char *path, const struct stat *st) {
    if (!S_ISDIR(st->st_mode) || st->st_nlink > 1) return (unsigned long long)st->st_nlink;
    size_t n;
    unsigned long long links = 2;
    char **names = directory_names(t, path, &n);
    struct stat child;
    for (size_t i = 0; names && i < n; i++)
        links += path_lstat(path_join(t, path, names[i]), &child) == 0 && S_ISDIR(child.st_mode);
    return links;
}

unsigned long long file_blocks(const struct stat *st) {
    if (S_ISLNK(st->st_mode)) return 0;                  /* a short target lies in the inode */
    if (st->st_blocks || !st->st_size) return (unsigned long long)st->st_blocks;
    return ((unsigned long long)st->st_size + 4095) / 4096 * 8;
}

char *human_size(tool *t, unsigned long long bytes, int si) {
    static const char units[] = "KMGTPE";
    unsigned long long base = si ? 1000 : 1024, scale = 1;
    int unit = -1;
    while (bytes / scale >= base && unit < 5) { scale *= base; unit++; }
    if (unit < 0) return tool_format(t, "%llu", bytes);
    unsigned long long tenths = bytes / scale * 10 + (bytes % scale * 10 + scale - 1) / scale;
    char letter = si && !unit ? 'k' : units[unit];
    if (tenths < 100) return tool_format(t, "%llu.%llu%c", tenths / 10, tenths % 10, letter);
    unsigned long long whole = (bytes + scale - 1) / scale;
    if (whole >= base && unit < 5) return tool_format(t, "1.0%c", units[unit + 1]);
    return tool_format(t, "%llu%c", whole, letter);
}

int mode_apply(const char *p, unsigned *bits, int is_dir, unsigned mask) {
    if (*p >= '0' && *p <= '7') {
        unsigned value = 0;
        int digits = 0;
        for (; *p >= '0' && *p <= '7'; p++, digits++) if ((value = value * 8 + (unsigned)(*p - '0')) > 07777) return -1;
        if (*p) return -1;
        *bits = is_dir && digits < 5 ? value | (*bits & 06000) : value;
        return 0;
    }
    for (;;) {
        unsigned who = 0;
        for (; *p && strchr("ugoa", *p); p++) who |= *p == 'u' ? 04700u : *p == 'g' ? 02070u : *p == 'o' ? 01007u : 07777u;
        if (!*p || !strchr("+-=", *p)) return -1;
        unsigned reach = who ? who : 07777;
        while (*p && strchr("+-=", *p)) {
            char op = *p++;
            unsigned value = 0;
            if (*p && strchr("ugo", *p)) {
                unsigned from = *bits >> (*p == 'u' ? 6 : *p == 'g' ? 3 : 0) & 7;
                value = from * 0111;
                p++;
            } else for (; *p && strchr("rwxXst", *p); p++) switch (*p) {
                case 'r': value |= 0444; break;
                case 'w': value |= 0222; break;
                case 'x': value |= 0111; break;
                case 'X': if (is_dir || *bits & 0111) value |= 0111; break;
                case 's': value |= 06000; break;
                case 't': value |= 01000; break;
            }
            value &= reach;
            if (!who) value &= ~mask | 07000;
            if (op == '+') *bits |= value;
            else if (op == '-') *bits &= ~value;
            else *bits = (*bits & ~(reach & (is_dir ? 01777u : 07777u))) | value;
        }
        if (!*p) return 0;
        if (*p++ != ',') return -1;
    }
}
