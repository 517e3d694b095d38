/* tar_write.c - archives that are written: created, appended to, joined, or freed of members. */
#include "files.h"
#include "tar.h"
#include "users.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A name longer than the field goes ahead in a block of its own. */
static void put_long(tar_state *s, char type, const char *text) {
    tar_header h;
    memset(&h, 0, sizeof h);
    memcpy(h.name, "././@LongLink", 13);
    tar_put_octal(h.mode, 8, 0644);
    tar_put_octal(h.uid, 8, 0);
    tar_put_octal(h.gid, 8, 0);
    tar_put_octal(h.size, 12, strlen(text) + 1);
    tar_put_octal(h.mtime, 12, 0);
    h.type = type;
    memcpy(h.user, "root", 4);
    memcpy(h.group, "root", 4);
    tar_put_header(s, &h);
    buffer_add(&s->data, text, strlen(text) + 1);
    tar_pad(s);
}

/* The numbers that Debian gives to names on every machine. */
static const char users[] = " root=0 daemon=1 bin=2 sys=3 sync=4 games=5 man=6 lp=7 mail=8 news=9 uucp=10 proxy=13 www-data=33 backup=34"
                            " list=38 nobody=65534 ";
static const char groups[] = " root=0 daemon=1 bin=2 sys=3 adm=4 tty=5 disk=6 lp=7 mail=8 news=9 uucp=10 man=12 proxy=13 kmem=15"
                             " dialout=20 cdrom=24 floppy=25 tape=26 sudo=27 audio=29 dip=30 www-data=33 backup=34 operator=37 list=38"
                             " src=40 shadow=42 utmp=43 video=44 plugdev=46 staff=50 games=60 users=100 nogroup=65534 ";

static unsigned number_of(const char *list, const char *name, unsigned other) {
    size_t n = strlen(name);
    for (const char *p = list; n && (p = strchr(p, ' ')) && *++p;)
        if (!strncmp(p, name, n) && p[n] == '=') return (unsigned)strtoul(p + n + 1, NULL, 10);
    return other;
}

static const char *name_of(tool *t, const char *list, unsigned id) {
    for (const char *p = list; (p = strchr(p, '=')); p++) {
        const char *name = p;
        while (name[-1] != ' ') name--;
        if (strtoul(p + 1, NULL, 10) == id) return tool_strndup(t, name, (size_t)(p - name));
    }
    return "";
}

/* --owner and --group: a name, a number, or name:number; else what the file has. */
static void put_owner(
    tar_state *s, char number[8], char name[32], const char *given, unsigned id, const char *known, int is_group) {
    const char *colon = given ? strchr(given, ':') : NULL, *digits = colon ? colon + 1 : given;
    if (given && *digits >= '0' && *digits <= '9') id = (unsigned)strtoul(digits, NULL, 10);
    else if (given) id = number_of(is_group ? groups : users, given, id);
    if (given && (colon || digits != given || !(*given >= '0' && *given <= '9')))
        known = colon ? tool_strndup(s->t, given, (size_t)(colon - given)) : given;
    else if (given) known = name_of(s->t, is_group ? groups : users, id);
    tar_put_octal(number, 8, id);
    if (!s->numeric) strncpy(name, known, 31);
}

typedef struct tar_linked { dev_t device; ino_t inode; const char *name; } tar_linked;

/* The name under which the same file went in before; NULL, and remembered, when it is the first. */
static const char *linked_name(tar_state *s, const struct stat *st, const char *name) {
    for (size_t i = 0; i < s->linked_n; i++)
        if (s->linked[i].inode == st->st_ino && s->linked[i].device == st->st_dev) return s->linked[i].name;
    s->linked = tool_realloc(s->t, s->linked, (s->linked_n + 1) * sizeof *s->linked);
    s->linked[s->linked_n++] = (tar_linked){st->st_dev, st->st_ino, name};
    return NULL;
}

/* Whether the archive does not hold the name yet, or holds an older one. */
static int is_newer(tar_state *s, const char *name, long long mtime) {
    tar_member m;
    for (size_t at = 0; tar_next(s, &at, &m) > 0;)
        if (!strcmp(m.name, name) && (long long)tar_get_octal(m.h->mtime, 12) >= mtime) return 0;
    return 1;
}

/* One file, link or directory without what is in it, under the name it has in the archive. */
static int add_member(tar_state *s, const char *path, const char *plain, const struct stat *st) {
    tool *t = s->t;
    char link[4096] = "";
    int is_dir = S_ISDIR(st->st_mode), is_link = S_ISLNK(st->st_mode);
    const char *target = link, *twin = NULL, *name = tar_renamed(s, plain, 'r');
    if (is_link) { ssize_t n = readlink(path, link, sizeof link - 1); if (n >= 0) link[n] = '\0'; target = tar_renamed(s, link, 's'); }
    if (!is_dir && st->st_nlink > 1 && !s->copy_links && (twin = linked_name(s, st, plain))) target = tar_renamed(s, twin, 'h');
    if (s->verbose) io_printf(s->file && strcmp(s->file, "-") ? t->out : t->err, "%s\n", name);
    tar_header h;
    memset(&h, 0, sizeof h);
    if (strlen(name) > 100) put_long(s, 'L', name);
    if (strlen(target) > 100) put_long(s, 'K', target);
    memcpy(h.name, name, strlen(name) < 100 ? strlen(name) : 100);
    memcpy(h.link, target, strlen(target) < 100 ? strlen(target) : 100);
    unsigned bits = st->st_mode & 07777;
    if (s->set_mode) mode_apply(s->set_mode, &bits, is_dir, 0);
    tar_put_octal(h.mode, 8, bits);
    tar_put_octal(h.mtime, 12, (unsigned long long)(s->has_mtime ? s->mtime.tv_sec : st->st_mtim.tv_sec));
    put_owner(s, h.uid, h.user, s->owner, st->st_uid, user_name(t, st->st_uid), 0);
    put_owner(s, h.gid, h.group, s->group, st->st_gid, group_name(t, st->st_gid), 1);
    h.type = is_dir ? '5' : twin ? '1' : is_link ? '2' : S_ISFIFO(st->st_mode) ? '6' : '0';
    buffer content = {.t = t};
    if (h.type == '0') {
        io *from = io_open(path, O_RDONLY, 0);
        if (!from) return tool_fail_errno(t, 2, "%s: Cannot open", path);
        buffer_read_all(&content, from);
        io_unref(from);
    }
    tar_put_octal(h.size, 12, content.n);
    tar_put_header(s, &h);
    if (content.n) { buffer_add(&s->data, content.p, content.n); tar_pad(s); }
    buffer_free(&content);
    return 0;
}

/* What is left of a path without a leading / and what leads upwards. */
static const char *safe_name(const char *path) {
    const char *name = path;
    for (const char *p = path; *p;) {
        size_t n = strcspn(p, "/");
        int upwards = n == 2 && p[0] == '.' && p[1] == '.';
        p += n;
        while (*p == '/') p++;
        if (upwards || (p > path && !n && name == path && *path == '/')) name = p;
    }
    return name;
}

static int add_path(tar_state *s, const char *path, int depth) {
    struct stat st;
    tool *t = s->t;
    if ((s->deref ? path_stat : path_lstat)(path, &st) < 0) {
        if (s->ignore_unreadable) return tool_fail_errno(t, 0, "%s: Warning: Cannot stat", path);
        return tool_fail_errno(t, 2, "%s: Cannot stat", path);
    }
    if (tar_excluded(s, path)) return 0;
    int is_dir = S_ISDIR(st.st_mode), status = 0;
    const char *name = path;
    if (!s->absolute) {
        name = safe_name(name);
        int cut = (int)(name - path);
        if (cut && !depth) tool_fail(t, 0, "Removing leading `%.*s' from member names", cut, path);
    }
    if (is_dir && *name && name[strlen(name) - 1] != '/') name = tool_format(t, "%s/", name);
    if (!*name) name = "./";
    if (s->has_newer && !is_dir && st.st_mtim.tv_sec < s->newer.tv_sec) return 0;
    if (!s->update || is_newer(s, tar_renamed(s, name, 'r'), st.st_mtim.tv_sec)) status = add_member(s, path, name, &st);
    if (status) return status;
    if (is_dir && !s->no_recursion && depth < 300 && !tool_too_deep(t)) {
        size_t n;
        char **names = directory_names(t, path, &n);
        for (size_t i = 0; names && i < n; i++) {
            int r = add_path(s, path_join(t, path, names[i]), depth + 1);
            if (r > status) status = r;
        }
    }
    if (s->remove && !status) (is_dir ? rmdir : unlink)(path);
    return status;
}

/* The blocks of zeros that end an archive. */
static void drop_end(buffer *data) {
    while (data->n >= TAR_BLOCK) {
        size_t k = data->n - TAR_BLOCK, i = 0;
        while (i < TAR_BLOCK && !data->p[k + i]) i++;
        if (i < TAR_BLOCK) break;
        data->n = k;
    }
}

/* 1: there is nothing to store, which is for the caller to explain. */
int tar_create(tar_state *s, int append) {
    char saved[4096];
    int status = s->misplaced;
    if (!s->name_n && !append && !s->has_list) {
        tool_fail(s->t, 2, "Cowardly refusing to create an empty archive");
        return 1;
    }
    if (append) {
        if (s->file && access(s->file, F_OK) == 0 && tar_load(s)) return 2;
        drop_end(&s->data);
    }
    if (!getcwd(saved, sizeof saved)) return tool_fail_errno(s->t, 2, "Cannot get working directory");
    for (int i = 0; i < s->name_n; i++) {
        const tar_place *place = &s->places[i];
        if (place->dir && chdir(place->dir) < 0) {
            tool_fail_errno(s->t, 2, "%s: Cannot open", place->dir);
            return tool_fail(s->t, 2, "Error is not recoverable: exiting now");
        }
        s->exclude_n = place->exclude_n;
        s->no_recursion = place->flat;
        int r = add_path(s, s->names[i], 0);
        if (r > status) status = r;
        if (place->dir && chdir(saved) < 0) return 2;
    }
    int failed = tar_store(s);
    if (!failed && s->totals) io_printf(s->t->err, "Total bytes written: %zu\n", s->data.n);
    if (status == 2) tar_failed(s);
    return failed ? failed : status;
}

int tar_concatenate(tar_state *s) {
    if (tar_load(s)) return 2;
    drop_end(&s->data);
    for (int i = 0; i < s->name_n; i++) {
        tar_state other = {.t = s->t, .data = {.t = s->t}, .file = s->names[i]};
        if (tar_load(&other)) return 2;
        drop_end(&other.data);
        buffer_add(&s->data, other.data.p, other.data.n);
        buffer_free(&other.data);
    }
    return tar_store(s);
}

int tar_delete(tar_state *s) {
    int *seen = tool_alloc(s->t, ((size_t)s->name_n + 1) * sizeof *seen), status = 0, more;
    buffer kept = {.t = s->t};
    tar_member m;
    if (tar_load(s)) return 2;
    for (size_t at = 0; (more = tar_next(s, &at, &m)) > 0;)
        if (!s->name_n || !tar_wanted(s, m.name, seen)) buffer_add(&kept, s->data.p + m.begin, m.end - m.begin);
    if (more < 0) return tar_failed(s);
    for (int i = 0; i < s->name_n; i++) if (!seen[i]) status = tool_fail(s->t, 2, "%s: Not found in archive", s->names[i]);
    buffer_free(&s->data);
    s->data = kept;
    int failed = tar_store(s);
    return failed ? failed : status ? tar_failed(s) : 0;
}
