/* tar.c - archives: create, list, extract, append, in the ustar format with GNU long names and pax paths; -z through gzip.
 *
 * THREAT: names in an archive choose where files land. Absolute names lose their slash and names with .. are refused, as GNU
 * does.
 */
#include "deflate.h"
#include "dates.h"
#include "files.h"
#include "patterns.h"
#include "users.h"
#include "../modes.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    tool *t;
    int mode, gzip, verbose, to_stdout, keep, strip, status, absolute, deref, no_recursion;
    const char *file, *dir, *exclude[32], *transform;
    int exclude_n;
    buffer data;
    char **names;
    int name_n;
} tar_state;
typedef struct {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100], magic[8], user[32], group[32],
        major[8], minor[8], prefix[155], pad[12];
} tar_header;

static void put_octal(char *to, size_t n, unsigned long long v) {
    to[n - 1] = '\0';
    for (size_t i = n - 1; i-- > 0; v >>= 3) to[i] = (char)('0' + (v & 7));
}

static unsigned long long get_octal(const char *p, size_t n) {
    unsigned long long v = 0;
    if ((unsigned char)*p & 0x80) { for (size_t i = 1; i < n; i++) v = v << 8 | (unsigned char)p[i]; return v; }
    for (size_t i = 0; i < n && p[i]; i++) if (p[i] >= '0' && p[i] <= '7') v = v * 8 + (unsigned)(p[i] - '0');
    return v;
}

static unsigned checksum(const tar_header *h) {
    const unsigned char *p = (const unsigned char *)h;
    unsigned sum = 0;
    for (size_t i = 0; i < 512; i++) sum += i >= 148 && i < 156 ? ' ' : p[i];
    return sum;
}

static void put_header(tar_state *s, tar_header *h) {
    memcpy(h->magic, "ustar  ", 8);
    unsigned sum = checksum(h);
    put_octal(h->sum, 7, sum);
    h->sum[7] = ' ';
    buffer_add(&s->data, h, 512);
}

static void pad_block(tar_state *s) { while (s->data.n % 512) buffer_putc(&s->data, 0); }

/* A name longer than the field goes ahead in a block of its own. */
static void put_long(tar_state *s, char type, const char *text) {
    tar_header h;
    memset(&h, 0, sizeof h);
    memcpy(h.name, "././@LongLink", 13);
    put_octal(h.mode, 8, 0644);
    put_octal(h.uid, 8, 0);
    put_octal(h.gid, 8, 0);
    put_octal(h.size, 12, strlen(text) + 1);
    put_octal(h.mtime, 12, 0);
    h.type = type;
    put_header(s, &h);
    buffer_add(&s->data, text, strlen(text) + 1);
    pad_block(s);
}

static int excluded(const tar_state *s, const char *path) {
    for (int i = 0; i < s->exclude_n; i++) {
        if (glob_matches(s->exclude[i], path, 0, 0) || glob_matches(s->exclude[i], path_last(path), 0, 0)) return 1;
        for (const char *p = path; (p = strchr(p, '/')); p++) if (glob_matches(s->exclude[i], p + 1, 0, 0)) return 1;
    }
    return 0;
}

static int add_path(tar_state *s, const char *path, int depth) {
    struct stat st;
    tool *t = s->t;
    char target[4096] = "";
    if ((s->deref ? stat : lstat)(path, &st) < 0) { tool_fail_errno(t, 2, "%s: Cannot stat", path); return 2; }
    if (excluded(s, path)) return 0;
    int is_dir = S_ISDIR(st.st_mode), is_link = S_ISLNK(st.st_mode), status = 0;
    const char *name = path;
    if (!s->absolute && *name == '/') {
        while (*name == '/') name++;
        if (!depth) tool_fail(t, 0, "Removing leading `/' from member names");
    }
    if (is_dir && *name && name[strlen(name) - 1] != '/') name = tool_format(t, "%s/", name);
    if (!*name) name = "./";
    if (is_link) { ssize_t n = readlink(path, target, sizeof target - 1); if (n >= 0) target[n] = '\0'; }
    if (s->verbose) io_printf(s->file && strcmp(s->file, "-") ? t->out : t->err, "%s\n", name);
    tar_header h;
    memset(&h, 0, sizeof h);
    if (strlen(name) > 100) put_long(s, 'L', name);
    if (strlen(target) > 100) put_long(s, 'K', target);
    memcpy(h.name, name, strlen(name) < 100 ? strlen(name) : 100);
    memcpy(h.link, target, strlen(target) < 100 ? strlen(target) : 100);
    put_octal(h.mode, 8, modes_get(&st));
    put_octal(h.uid, 8, file_owner(&st));
    put_octal(h.gid, 8, file_group(&st));
    put_octal(h.mtime, 12, (unsigned long long)st.st_mtim.tv_sec);
    strncpy(h.user, user_name(t, file_owner(&st)), 31);
    strncpy(h.group, group_name(t, file_group(&st)), 31);
    h.type = is_dir ? '5' : is_link ? '2' : '0';
    buffer content = {.t = t};
    if (h.type == '0') {
        io *from = io_open(path, O_RDONLY, 0);
        if (!from) return tool_fail_errno(t, 2, "%s: Cannot open", path);
        buffer_read_all(&content, from);
        io_unref(from);
    }
    put_octal(h.size, 12, content.n);
    put_header(s, &h);
    if (content.n) { buffer_add(&s->data, content.p, content.n); pad_block(s); }
    buffer_free(&content);
    if (is_dir && !s->no_recursion && depth < 300 && !tool_too_deep(t)) {
        size_t n;
        char **names = directory_names(t, path, &n);
        for (size_t i = 0; names && i < n; i++) {
            int r = add_path(s, path_join(t, path, names[i]), depth + 1);
            if (r > status) status = r;
        }
    }
    return status;
}

static int store(tar_state *s) {
    for (int i = 0; i < 1024; i++) buffer_putc(&s->data, 0);
    while (s->data.n % 10240) buffer_putc(&s->data, 0);
    buffer out = {.t = s->t};
    if (s->gzip) gzip_bytes(s->data.p, s->data.n, &out, 6, NULL, 0);
    io *to = !s->file || !strcmp(s->file, "-") ? io_ref(s->t->out) : io_open(s->file, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (!to) return tool_fail_errno(s->t, 2, "%s: Cannot open", s->file);
    int failed = s->gzip ? io_write(to, out.p, out.n) : io_write(to, s->data.p, s->data.n);
    io_unref(to);
    return failed < 0 ? 2 : 0;
}

static int load(tar_state *s) {
    io *from = !s->file || !strcmp(s->file, "-") ? io_ref(s->t->in) : io_open(s->file, O_RDONLY, 0);
    if (!from) {
        tool_fail_errno(s->t, 2, "%s: Cannot open", s->file);
        return tool_fail(s->t, 2, "Error is not recoverable: exiting now");
    }
    buffer_read_all(&s->data, from);
    io_unref(from);
    if (s->data.n >= 2 && (unsigned char)s->data.p[0] == 0x1F && (unsigned char)s->data.p[1] == 0x8B) {
        buffer out = {.t = s->t};
        const char *error;
        if (gunzip_bytes(s->t, s->data.p, s->data.n, &out, &error) < 0) return tool_fail(s->t, 2, "%s", error);
        buffer_free(&s->data);
        s->data = out;
    }
    return 0;
}

static int wanted(tar_state *s, const char *name, int *seen) {
    if (excluded(s, name)) return 0;
    if (!s->name_n) return 1;
    for (int i = 0; i < s->name_n; i++) {
        char *want = path_strip(s->t, s->names[i]);
        size_t n = strlen(want);
        if ((!strncmp(name, want, n) && (!name[n] || name[n] == '/')) || glob_matches(want, path_strip(s->t, name), 0, 0)) {
            seen[i] = 1;
            return 1;
        }
    }
    return 0;
}

static void list_member(tar_state *s, const tar_header *h, const char *name, const char *link, unsigned long long size) {
    if (s->verbose) {
        struct stat st = {0};
        char mode[11];
        st.st_mode = (mode_t)get_octal(h->mode, 8) & 07777;
        st.st_mode |= h->type == '5' ? S_IFDIR : h->type == '2' ? S_IFLNK : S_IFREG;
        mode_text(&st, mode);
        buffer when = {.t = s->t};
        date_format(&when, "%Y-%m-%d %H:%M", (moment){(time_t)get_octal(h->mtime, 12), 0}, 0);
        char *owner = tool_format(s->t, "%.32s/%.32s", h->user, h->group), *length = tool_format(s->t, "%llu", size);
        int pad = 19 - (int)strlen(owner) - (int)strlen(length);
        io_printf(s->t->out, "%s %s%*s%s %s ", mode, owner, pad > 1 ? pad : 1, "", length, when.p);
    }
    io_printf(s->t->out, "%s%s%s\n", name, s->verbose && h->type == '2' ? " -> " : "", s->verbose && h->type == '2' ? link : "");
}

static int make_parents(tool *t, const char *path) {
    char *copy = tool_strdup(t, path);
    for (char *p = copy + 1; *p; p++)
        if (*p == '/') {
            *p = '\0';
            if (mkdir(copy, 0777) < 0 && errno != EEXIST) return -1;
            *p = '/';
        }
    return 0;
}

static int extract_member(
    tar_state *s, const tar_header *h, const char *name, const char *link, const char *content, unsigned long long size) {
    tool *t = s->t;
    while (*name == '/' && !s->absolute) name++;
    for (int i = 0; i < s->strip; i++) { const char *slash = strchr(name, '/'); if (!slash) return 0; name = slash + 1; }
    if (!*name) return 0;
    char *framed = tool_format(t, "/%s/", name);
    if (strstr(framed, "/../")) return tool_fail(t, 2, "%s: Member name contains '..'", name);
    if (s->verbose) io_printf(t->out, "%s\n", name);
    if (s->to_stdout) return h->type == '0' || !h->type ? io_write(t->out, content, size) < 0 : 0;
    char *path = s->dir ? path_join(t, s->dir, name) : tool_strdup(t, name);
    unsigned bits = (unsigned)get_octal(h->mode, 8);
    struct timespec times[2] = {{(time_t)get_octal(h->mtime, 12), 0}, {(time_t)get_octal(h->mtime, 12), 0}};
    struct stat st;
    path = path_strip(t, path);
    make_parents(t, path);
    if (h->type == '5') {
        if (mkdir(path, 0777) < 0 && errno != EEXIST) return tool_fail_errno(t, 2, "%s: Cannot mkdir", name);
        modes_set(path, bits & ~modes_umask_get());
        return 0;
    }
    if (lstat(path, &st) == 0) {
        if (s->keep) return tool_fail(t, 2, "%s: Cannot open: File exists", name);
        if (!S_ISDIR(st.st_mode)) unlink(path);
    }
    if (h->type == '2')
        return symlink(link, path) < 0 ? tool_fail_errno(t, 2, "%s: Cannot create symlink to %s", name, tool_quote(t, link)) : 0;
    if (h->type == '1') {
        char *to = s->dir ? path_join(t, s->dir, link) : tool_strdup(t, link);
        return linkat(AT_FDCWD, to, AT_FDCWD, path, 0) < 0
                   ? tool_fail_errno(t, 2, "%s: Cannot hard link to %s", name, tool_quote(t, link))
                   : 0;
    }
    io *to = io_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (!to) return tool_fail_errno(t, 2, "%s: Cannot open", name);
    int failed = io_write(to, content, size);
    io_unref(to);
    modes_set(path, bits & ~modes_umask_get());
    utimensat(AT_FDCWD, path, times, 0);
    return failed < 0 ? 2 : 0;
}

/* The path= record of a pax header. */
static char *pax_value(tool *t, const char *p, size_t n, const char *key) {
    char *found = NULL;
    for (const char *end = p + n; p < end;) {
        char *space;
        unsigned long len = strtoul(p, &space, 10);
        if (!len || len > (unsigned long)(end - p) || *space != ' ') break;
        size_t k = strlen(key);
        if (!strncmp(space + 1, key, k) && space[1 + k] == '=')
            found = tool_strndup(t, space + 2 + k, (size_t)(p + len - 1 - (space + 2 + k)));
        p += len;
    }
    return found;
}

static int each_member(tar_state *s, int extract) {
    char *long_name = NULL, *long_link = NULL;
    int *seen = tool_alloc(s->t, ((size_t)s->name_n + 1) * sizeof *seen), status = 0;
    size_t at = 0;
    if (s->data.n && s->data.n < 512) {
        tool_fail(s->t, 2, "This does not look like a tar archive");
        return tool_fail(s->t, 2, "Exiting with failure status due to previous errors");
    }
    for (; at + 512 <= s->data.n;) {
        const tar_header *h = (const tar_header *)(s->data.p + at);
        if (!h->name[0] && !h->sum[0]) break;
        if (get_octal(h->sum, 8) != checksum(h)) {
            tool_fail(s->t, 2, "This does not look like a tar archive");
            return tool_fail(s->t, 2, "Exiting with failure status due to previous errors");
        }
        unsigned long long size = get_octal(h->size, 12);
        const char *content = s->data.p + at + 512;
        if (h->type == '5' || h->type == '2' || h->type == '1') size = 0;
        if (size > s->data.n - at - 512) {
            tool_fail(s->t, 2, "Unexpected EOF in archive");
            return tool_fail(s->t, 2, "Error is not recoverable: exiting now");
        }
        at += 512 + (size_t)((size + 511) / 512 * 512);
        if (h->type == 'L') { long_name = tool_strndup(s->t, content, (size_t)size); continue; }
        if (h->type == 'K') { long_link = tool_strndup(s->t, content, (size_t)size); continue; }
        if (h->type == 'x') {
            char *v = pax_value(s->t, content, (size_t)size, "path");
            if (v) long_name = v;
            v = pax_value(s->t, content, (size_t)size, "linkpath");
            if (v) long_link = v;
            continue;
        }
        if (h->type == 'g') continue;
        char *name = long_name                                         ? long_name
                     : !memcmp(h->magic, "ustar\0", 6) && h->prefix[0] ? tool_format(s->t, "%.155s/%.100s", h->prefix, h->name)
                                                                       : tool_format(s->t, "%.100s", h->name);
        char *link = long_link ? long_link : tool_format(s->t, "%.100s", h->link);
        long_name = long_link = NULL;
        if (!wanted(s, name, seen)) continue;
        if (!extract) list_member(s, h, name, link, size);
        else { int r = extract_member(s, h, name, link, content, size); if (r > status) status = r; }
        if (io_failed(s->t->out)) return 2;
    }
    for (int i = 0; i < s->name_n; i++) if (!seen[i]) status = tool_fail(s->t, 2, "%s: Not found in archive", s->names[i]);
    if (status == 2) tool_fail(s->t, 2, "Exiting with failure status due to previous errors");
    return status;
}

static int create(tar_state *s, int append) {
    char saved[4096];
    int status = 0;
    if (!s->name_n && !append) { tool_fail(s->t, 2, "Cowardly refusing to create an empty archive"); return tool_usage(s->t, 2); }
    if (append) {
        if (load(s)) return 2;
        while (s->data.n >= 512) {
            size_t k = s->data.n - 512, i = 0;
            while (i < 512 && !s->data.p[k + i]) i++;
            if (i < 512) break;
            s->data.n = k;
        }
    }
    if (s->dir && (!getcwd(saved, sizeof saved) || chdir(s->dir) < 0)) return tool_fail_errno(s->t, 2, "%s: Cannot open", s->dir);
    for (int i = 0; i < s->name_n; i++) { int r = add_path(s, s->names[i], 0); if (r > status) status = r; }
    if (s->dir && chdir(saved) < 0) return 2;
    int failed = store(s);
    if (status == 2) tool_fail(s->t, 2, "Exiting with failure status due to previous errors");
    return failed ? failed : status;
}

int tool_tar(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"create", 0, 'c'}, {"extract", 0, 'x'}, {"get", 0, 'x'}, {"list", 0, 't'},
        {"append", 0, 'r'}, {"update", 0, 'r'}, {"file", 1, 'f'}, {"directory", 1, 'C'}, {"gzip", 0, 'z'}, {"verbose", 0, 'v'},
        {"to-stdout", 0, 'O'}, {"keep-old-files", 0, 'k'}, {"strip-components", 1, 1}, {"exclude", 1, 2}, {"files-from", 1, 'T'},
        {"absolute-names", 0, 'P'}, {"dereference", 0, 'h'}, {"no-recursion", 0, 3}, {"preserve-permissions", 0, 'p'},
        {"auto-compress", 0, 'a'}, {"owner", 1, 4}, {"group", 1, 4}, {"mtime", 1, 4}, {"sort", 1, 4}, {"numeric-owner", 0, 4},
        {"format", 1, 4}, {"no-same-owner", 0, 4}, {"warning", 1, 4}, {"overwrite", 0, 4}, {"wildcards", 0, 4},
        {"transform", 1, 4}, {0, 0, 0}};
    tar_state s = {.t = t, .data = {.t = t}};
    const char *from_file = NULL;
    int by_name = 0;
    /* old style: tar xzf name */
    if (argc > 1 && argv[1][0] != '-') {
        char **words = tool_alloc(t, ((size_t)argc + strlen(argv[1]) + 2) * sizeof *words);
        int n = 0, next = 2;
        words[n++] = argv[0];
        for (const char *p = argv[1]; *p; p++) {
            words[n++] = tool_format(t, "-%c", *p);
            if (strchr("fCT", *p) && next < argc) words[n++] = argv[next++];
        }
        while (next < argc) words[n++] = argv[next++];
        argv = words;
        argc = n;
    }
    tool_opts o;
    int c;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "cxtruf:C:zvOkT:PhpajJSomb:X:", longs)) != -1;) switch (c) {
        case 'c': case 'x': case 't': case 'r': case 'u': s.mode = c == 'u' ? 'r' : c; break;
        case 'f': s.file = o.arg; break;
        case 'C': s.dir = o.arg; break;
        case 'z': s.gzip = 1; break;
        case 'a': by_name = 1; break;
        case 'v': s.verbose++; break;
        case 'O': s.to_stdout = 1; break;
        case 'k': s.keep = 1; break;
        case 1: s.strip = atoi(o.arg); break;
        case 2: if (s.exclude_n < 32) s.exclude[s.exclude_n++] = o.arg; break;
        case 3: s.no_recursion = 1; break;
        case 'T': from_file = o.arg; break;
        case 'P': s.absolute = 1; break;
        case 'h': s.deref = 1; break;
        case 'j': case 'J': return tool_fail(t, 2, "only gzip compression is supported");
        case '?': return 2;
        default: break;
    }
    if (by_name) s.gzip |= s.file && (strstr(s.file, ".gz") || strstr(s.file, ".tgz"));
    if (!s.mode) {
        tool_fail(t, 2, "You must specify one of the '-Acdtrux', '--delete' or '--test-label' options");
        return tool_usage(t, 2);
    }
    s.names = argv + o.index;
    s.name_n = argc - o.index;
    if (from_file) {
        int failed = 0;
        io *from = tool_open(t, from_file, 2, &failed);
        if (!from) return 2;
        const char *line;
        ssize_t n;
        char **list = tool_alloc(t, ((size_t)s.name_n + 1) * sizeof *list);
        memcpy(list, s.names, (size_t)s.name_n * sizeof *list);
        while ((n = io_line(from, &line, '\n')) > 0) {
            list = tool_realloc(t, list, ((size_t)s.name_n + 2) * sizeof *list);
            list[s.name_n++] = tool_strndup(t, line, (size_t)n - (line[n - 1] == '\n'));
        }
        io_unref(from);
        s.names = list;
    }
    if (s.mode == 'c' || s.mode == 'r') return create(&s, s.mode == 'r');
    if (load(&s)) return 2;
    return each_member(&s, s.mode == 'x');
}
