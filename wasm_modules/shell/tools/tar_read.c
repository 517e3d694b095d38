/* tar_read.c - archives that are read: listed, extracted, compared.
 *
 * THREAT: names in an archive choose where files land. Absolute names lose their slash and names with .. are refused, as GNU
 * does.
 */
#include "files.h"
#include "tar.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static char *owner_text(tar_state *s, const tar_header *h) {
    if (!s->numeric && h->user[0] && h->group[0]) return tool_format(s->t, "%.32s/%.32s", h->user, h->group);
    return tool_format(s->t, "%llu/%llu", tar_get_octal(h->uid, 8), tar_get_octal(h->gid, 8));
}

static void list_member(tar_state *s, const tar_header *h, const char *name, const char *link, unsigned long long size) {
    if (s->verbose) {
        struct stat st = {0};
        char mode[11];
        st.st_mode = (mode_t)tar_get_octal(h->mode, 8) & 07777;
        st.st_mode |= h->type == '5' ? S_IFDIR : h->type == '2' ? S_IFLNK : S_IFREG;
        mode_text(&st, mode);
        if (h->type == '1') mode[0] = 'h';
        buffer when = {.t = s->t};
        date_format(
            &when, s->full_time ? "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d %H:%M", (moment){(time_t)tar_get_octal(h->mtime, 12), 0}, 0);
        char *owner = owner_text(s, h), *length = tool_format(s->t, "%llu", size);
        int pad = 19 - (int)strlen(owner) - (int)strlen(length);
        io_printf(s->t->out, "%s %s%*s%s %s ", mode, owner, pad > 1 ? pad : 1, "", length, when.p);
    }
    io_printf(s->t->out, "%s%s%s\n", name, !s->verbose ? "" : h->type == '2' ? " -> " : h->type == '1' ? " link to " : "",
        s->verbose && (h->type == '2' || h->type == '1') ? link : "");
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

/* Without the first parts of the name that --strip-components names; NULL when nothing is left. */
static const char *stripped(tar_state *s, const char *name) {
    for (int i = 0; i < s->strip; i++) {
        const char *slash = strchr(name, '/');
        if (!slash) return NULL;
        name = slash + 1;
    }
    return *name ? name : NULL;
}

static const char *below_top(tar_state *s, const char *name) {
    size_t n = strlen(s->top);
    return !strncmp(name, s->top, n) && (!name[n] || name[n] == '/') ? name : path_join(s->t, s->top, name);
}

static int differs(tar_state *s, const char *name, const char *how) {
    io_printf(s->t->out, "%s: %s\n", name, how);
    return 1;
}

/* -d: what the file system has instead. */
static int compare_member(tar_state *s, const tar_member *m) {
    char *path = path_strip(s->t, s->dir ? path_join(s->t, s->dir, m->name) : m->name), target[4096];
    struct stat st;
    int changed = 0;
    if (s->verbose) io_printf(s->t->out, "%s\n", m->name);
    if (path_lstat(path, &st) < 0) { tool_fail_errno(s->t, 1, "%s: Warning: Cannot stat", m->name); return 1; }
    int is_file = m->h->type == '0' || !m->h->type;
    if (m->h->type == '1') return 0;
    if (is_file != !!S_ISREG(st.st_mode) || (m->h->type == '5') != !!S_ISDIR(st.st_mode))
        return differs(s, m->name, "File type differs");
    if (m->h->type == '2') {
        ssize_t n = readlink(path, target, sizeof target);
        return n != (ssize_t)strlen(m->link) || memcmp(target, m->link, (size_t)n) ? differs(s, m->name, "Symlink differs") : 0;
    }
    if ((st.st_mode & 07777) != (unsigned)tar_get_octal(m->h->mode, 8)) changed = differs(s, m->name, "Mode differs");
    if (!is_file) return changed;
    if ((unsigned long long)st.st_mtim.tv_sec != tar_get_octal(m->h->mtime, 12))
        changed = differs(s, m->name, "Mod time differs");
    if ((unsigned long long)st.st_size != m->size) return differs(s, m->name, "Size differs");
    buffer content = {.t = s->t};
    io *from = io_open(path, O_RDONLY, 0);
    if (!from) return tool_fail_errno(s->t, 1, "%s: Cannot open", m->name);
    buffer_read_all(&content, from);
    io_unref(from);
    if (content.n != m->size || (m->size && memcmp(content.p, m->content, content.n)))
        changed = differs(s, m->name, "Contents differ");
    buffer_free(&content);
    return changed;
}

/* A directory gets its permissions and its time when everything below it is there. */
static void finish_later(tar_state *s, const char *path, unsigned bits, struct timespec time) {
    struct late_directory *d = tool_alloc(s->t, sizeof *d);
    *d = (struct late_directory){.next = s->late, .path = path, .bits = bits, .time = time};
    s->late = d;
}

static int extract_member(
    tar_state *s, const tar_header *h, const char *name, const char *aim, const char *content, unsigned long long size) {
    tool *t = s->t;
    while (*name == '/' && !s->absolute) name++;
    if (!(name = stripped(s, tar_renamed(s, name, 'r')))) return 0;
    if (h->type == '2' || h->type == '1') aim = tar_renamed(s, aim, h->type == '2' ? 's' : 'h');
    char *framed = tool_format(t, "/%s/", name);
    if (strstr(framed, "/../")) return tool_fail(t, 2, "%s: Member name contains '..'", name);
    if (s->verbose > 1) list_member(s, h, name, aim, size);
    else if (s->verbose) io_printf(s->to_stdout ? t->err : t->out, "%s\n", name);
    if (s->to_stdout) return h->type == '0' || !h->type ? io_write(t->out, content, size) < 0 : 0;
    const char *place = s->top ? below_top(s, name) : name;
    char *path = s->dir ? path_join(t, s->dir, place) : tool_strdup(t, place);
    unsigned bits = (unsigned)tar_get_octal(h->mode, 8) & 07777;
    if (!s->same_bits) bits &= 0777 & ~umask_now();
    struct timespec times[2] = {{(time_t)tar_get_octal(h->mtime, 12), 0}, {(time_t)tar_get_octal(h->mtime, 12), 0}};
    struct stat st;
    path = path_strip(t, path);
    make_parents(t, path);
    if (h->type == '5') {
        if (mkdir(path, 0777) < 0 && errno != EEXIST) return tool_fail_errno(t, 2, "%s: Cannot mkdir", name);
        finish_later(s, path, bits, times[1]);
        return 0;
    }
    if (path_lstat(path, &st) == 0) {
        if (s->keep == 'k') return tool_fail(t, 2, "%s: Cannot open: File exists", name);
        if (s->keep == 's') return 0;
        if (s->keep == 'n' && st.st_mtim.tv_sec >= times[1].tv_sec)
            return tool_fail(t, 0, "Current %s is newer or same age", tool_cite(t, name));
        if (S_ISDIR(st.st_mode)) rmdir(path);          /* an empty one gives way */
        if (!S_ISDIR(st.st_mode) && !(s->keep == 'o' && S_ISREG(st.st_mode))) unlink(path);
    }
    if (h->type == '2')
        return symlink(aim, path) < 0 ? tool_fail_errno(t, 2, "%s: Cannot create symlink to %s", name, tool_quote(t, aim)) : 0;
    if (h->type == '1') {
        char *to = s->dir ? path_join(t, s->dir, aim) : tool_strdup(t, aim);
        return link(to, path) < 0
                   ? tool_fail_errno(t, 2, "%s: Cannot hard link to %s", name, tool_quote(t, aim))
                   : 0;
    }
    io *to = io_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (!to) return tool_fail_errno(t, 2, "%s: Cannot open", name);
    int failed = io_write(to, content, size);
    io_unref(to);
    chmod(path, bits);
    if (!s->touch) utimensat(AT_FDCWD, path, times, 0);
    return failed < 0 ? 2 : 0;
}

int tar_read(tar_state *s) {
    int *seen = tool_alloc(s->t, ((size_t)s->name_n + 1) * sizeof *seen), status = 0, more;
    struct stat st;
    tar_member m;
    if (tar_load(s)) return 2;
    if (s->dir && path_stat(s->dir, &st) < 0) {
        tool_fail_errno(s->t, 2, "%s: Cannot open", s->dir);
        return tool_fail(s->t, 2, "Error is not recoverable: exiting now");
    }
    for (size_t at = 0; (more = tar_next(s, &at, &m)) > 0;) {
        if (!tar_wanted(s, m.name, seen)) continue;
        int r = 0;
        if (s->mode == 'x') r = extract_member(s, m.h, m.name, m.link, m.content, m.size);
        else if (s->mode == 'd') r = compare_member(s, &m);
        else {
            const char *name = s->show_changed ? stripped(s, tar_renamed(s, m.name, 'r')) : m.name;
            if (s->show_changed && (m.h->type == '2' || m.h->type == '1'))
                m.link = tar_renamed(s, m.link, m.h->type == '2' ? 's' : 'h');
            if (name) list_member(s, m.h, name, m.link, m.size);
        }
        if (r > status) status = r;
        if (io_failed(s->t->out)) return 2;
    }
    for (const struct late_directory *d = s->late; d; d = d->next) {
        chmod(d->path, d->bits);
        if (!s->touch) utimensat(AT_FDCWD, d->path, (struct timespec[]){d->time, d->time}, 0);
    }
    if (more == -1) return tar_failed(s);
    if (more < 0) return 2;
    for (int i = 0, warned = 0; i < s->name_n; i++) {
        if (seen[i]) continue;
        if (!s->wildcards && strpbrk(s->names[i], "*?[") && !warned++) {
            tool_fail(s->t, 0, "Pattern matching characters used in file names");
            tool_fail(s->t, 0, "Use --wildcards to enable pattern matching, or --no-wildcards to suppress this warning");
        }
        status = tool_fail(s->t, 2, "%s: Not found in archive", s->names[i]);
    }
    return status == 2 ? tar_failed(s) : status;
}
