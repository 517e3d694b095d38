/* copying.c - see copying.h. */
#include "copying.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void keep_times(const char *to, const struct stat *st, int is_link) {
    struct timespec times[2] = {st->st_atim, st->st_mtim};
    utimensat(AT_FDCWD, to, times, is_link ? AT_SYMLINK_NOFOLLOW : 0);
}

int make_backup(tool *t, const char *path, const copy_options *o, const char **made) {
    struct stat st;
    *made = NULL;
    if (!o->backup || path_lstat(path, &st) < 0) return 0;
    char *name = tool_format(t, "%s%s", path, o->suffix ? o->suffix : "~");
    /* -b means numbered where there are numbered ones already */
    int numbered = o->backup == 2 || path_lstat(tool_format(t, "%s.~1~", path), &st) == 0;
    if (numbered) for (int i = 1; ; i++) {
        name = tool_format(t, "%s.~%d~", path, i);
        if (path_lstat(name, &st) < 0) break;
    }
    *made = name;
    return rename(path, name) < 0 ? tool_fail_errno(t, 1, "cannot backup %s", tool_quote(t, path)) : 0;
}

static int copy_bytes(tool *t, const char *from, const char *to, const struct stat *st, const copy_options *o) {
    io *in = io_open(from, O_RDONLY, 0);
    if (!in) return tool_fail_errno(t, 1, "cannot open %s for reading", tool_quote(t, from));
    struct stat old;
    int existed = path_stat(to, &old) == 0, flags = O_WRONLY | O_CREAT | (o->attributes_only ? 0 : O_TRUNC);
    int mode = o->plain_mode ? 0666 : (int)(st->st_mode & 0777);
    io *out = io_open(to, flags, mode);
    if (!out && o->force && existed && unlink(to) == 0) out = io_open(to, flags, mode);
    if (!out) {
        int err = errno;
        io_unref(in);
        errno = err;
        return tool_fail_errno(t, 1, "cannot create regular file %s", tool_quote(t, to));
    }
    char block[32768];
    ssize_t n = 0;
    int status = 0;
    while (!o->attributes_only && (n = io_read(in, block, sizeof block)) > 0)
        if (io_write(out, block, (size_t)n) < 0) { status = tool_fail_errno(t, 1, "error writing %s", tool_quote(t, to)); break; }
    if (n < 0) status = tool_fail_errno(t, 1, "error reading %s", tool_quote(t, from));
    if (!status && io_flush(out) < 0) status = tool_fail_errno(t, 1, "error writing %s", tool_quote(t, to));
    io_unref(in);
    io_unref(out);
    if (o->preserve) { chmod(to, st->st_mode & 07777); keep_times(to, st, 0); }
    else if (!existed && !o->plain_mode && (st->st_mode & 0777) != 0644) chmod(to, st->st_mode & 0777 & ~umask_now());
    return status;
}

static int copy_link(tool *t, const char *from, const char *to) {
    char target[4096];
    ssize_t n = readlink(from, target, sizeof target - 1);
    if (n < 0) return tool_fail_errno(t, 1, "cannot read symbolic link %s", tool_quote(t, from));
    target[n] = '\0';
    unlink(to);
    return symlink(target, to) < 0 ? tool_fail_errno(t, 1, "cannot create symbolic link %s", tool_quote(t, to)) : 0;
}

/* Makes to a link to the copy of the same file; 0 if there is none yet, and to will be that copy. */
static int copy_as_link(tool *t, const char *to, const struct stat *st, const copy_options *o) {
    if (!o->linked || st->st_nlink < 2 || !S_ISREG(st->st_mode)) return 0;
    for (const copied *c = *o->linked; c; c = c->next)
        if (c->ino == st->st_ino && c->dev == st->st_dev) {
            unlink(to);
            return link(c->to, to) == 0;
        }
    copied *c = tool_alloc(t, sizeof *c);
    *c = (copied){.next = *o->linked, .ino = st->st_ino, .dev = st->st_dev, .to = tool_strdup(t, to)};
    *o->linked = c;
    return 0;
}

/* Whether directory dir is to itself or lies inside it. */
static int inside(tool *t, const char *dir, const char *to) {
    char *a = path_real(t, dir, 0), *b = path_real(t, to, 2);
    size_t n = a ? strlen(a) : 0;
    return a && b && !strncmp(a, b, n) && (b[n] == '/' || !b[n]);
}

static int copy_tree(tool *t, const char *from, const char *to, const struct stat *st, const copy_options *o, int depth) {
    struct stat target;
    int made = 0, status = 0;
    if (depth > 500 || tool_too_deep(t)) return tool_fail(t, 1, "cannot copy %s: directories nest too deep", tool_quote(t, from));
    copy_options within;
    int itself = !depth && inside(t, from, to);
    if (path_stat(to, &target) < 0) {
        if (mkdir(to, 0777) < 0) return tool_fail_errno(t, 1, "cannot create directory %s", tool_quote(t, to));
        made = 1;
    } else if (!S_ISDIR(target.st_mode)) {
        return tool_fail(t, 1, "cannot overwrite non-directory %s with directory %s", tool_quote(t, to), tool_quote(t, from));
    }
    if (o->verbose && made) io_printf(t->out, "%s -> %s\n", tool_quote(t, from), tool_quote(t, to));
    if (itself) {
        within = *o;
        within.whole = from;
        within.into = to;
        if (path_stat(to, &within.copy) < 0) return 1;
        o = &within;
    }
    size_t n;
    char **names = directory_names(t, from, &n);
    if (!names) return tool_fail_errno(t, 1, "cannot access %s", tool_quote(t, from));
    for (size_t i = 0; i < n; i++) status |= copy_path(t, path_join(t, from, names[i]), path_join(t, to, names[i]), o, depth + 1);
    if (o->preserve) { chmod(to, st->st_mode & 07777); keep_times(to, st, 0); }
    else if (made && (st->st_mode & 0777) != 0755) chmod(to, st->st_mode & 0777 & ~umask_now());
    return status;
}

static int newer_or_same(const struct stat *a, const struct stat *b) {
    return a->st_mtim.tv_sec != b->st_mtim.tv_sec ? a->st_mtim.tv_sec > b->st_mtim.tv_sec
                                                  : a->st_mtim.tv_nsec >= b->st_mtim.tv_nsec;
}

int copy_path(tool *t, const char *from, const char *to, const copy_options *o, int depth) {
    const char *backup = NULL;
    struct stat st, target;
    int nofollow = o->keep_links && !(o->follow_args && !depth);
    if ((nofollow ? path_lstat : path_stat)(from, &st) < 0) {
        if (!strncmp(from, "/dev/", 5)) { memset(&st, 0, sizeof st); st.st_mode = S_IFREG | 0644; }
        else return tool_fail_errno(t, 1, "cannot stat %s", tool_quote(t, from));
    }
    if (S_ISDIR(st.st_mode)) {
        if (!o->recursive) return tool_fail(t, 1, "-r not specified; omitting directory %s", tool_quote(t, from));
        if (o->whole && st.st_ino == o->copy.st_ino && st.st_dev == o->copy.st_dev)
            return tool_fail(t, 1, "cannot copy a directory, %s, into itself, %s", tool_quote(t, o->whole), tool_quote(t, o->into));
        return copy_tree(t, from, to, &st, o, depth);
    }
    if (path_lstat(to, &target) == 0) {
        struct stat real;
        if (path_stat(to, &real) == 0) {
            struct stat source;
            int through = path_lstat(from, &source) == 0 && S_ISLNK(source.st_mode);
            if (real.st_ino && real.st_ino == st.st_ino && real.st_dev == st.st_dev && !o->link && !o->remove_destination
                && (!o->backup || through || !strcmp(from, to)))
                return tool_fail(t, 1, "%s and %s are the same file", tool_quote(t, from), tool_quote(t, to));
            if (S_ISDIR(real.st_mode))
                return tool_fail(t, 1, "cannot overwrite directory %s with non-directory", tool_quote(t, to));
        }
        if (o->no_clobber) return 0;
        if (o->update && newer_or_same(&target, &st)) return 0;
        if (o->ask) {
            const char *line;
            io_printf(t->err, "%s: overwrite %s? ", t->name, tool_quote(t, to));
            ssize_t n = io_line(t->in, &line, '\n');
            if (n <= 0 || (*line != 'y' && *line != 'Y')) return 0;
        }
        if (make_backup(t, to, o, &backup)) return 1;
        if (o->remove_destination) unlink(to);
    }
    if (o->verbose)
        io_printf(t->out, "%s -> %s%s\n", tool_quote(t, from), tool_quote(t, to),
            backup ? tool_format(t, " (backup: %s)", tool_quote(t, backup)) : "");
    if (o->link) {
        if (o->force) unlink(to);
        return link(from, to) < 0
                   ? tool_fail_errno(t, 1, "cannot create hard link %s to %s", tool_quote(t, to), tool_quote(t, from))
                   : 0;
    }
    if (o->symlink) {
        if (o->force) unlink(to);
        return symlink(from, to) < 0
                   ? tool_fail_errno(t, 1, "cannot create symbolic link %s to %s", tool_quote(t, to), tool_quote(t, from))
                   : 0;
    }
    if (copy_as_link(t, to, &st, o)) return 0;
    return S_ISLNK(st.st_mode) ? copy_link(t, from, to) : copy_bytes(t, from, to, &st, o);
}

int for_each_pair(tool *t, char **operands, int n, const char *target_dir, int no_target_dir, pair_fn *each, void *context) {
    struct stat st;
    if (n < 1) { tool_fail(t, 1, "missing file operand"); return tool_usage(t, 1); }
    if (n < 2 && !target_dir) {
        tool_fail(t, 1, "missing destination file operand after %s", tool_quote(t, operands[0]));
        return tool_usage(t, 1);
    }
    if (no_target_dir) {
        if (n > 2) { tool_fail(t, 1, "extra operand %s", tool_quote(t, operands[2])); return tool_usage(t, 1); }
        return each(t, operands[0], operands[1], context);
    }
    int explicit = target_dir != NULL;
    if (!explicit) {
        const char *last = operands[n - 1];
        int is_dir = path_stat(last, &st) == 0 && S_ISDIR(st.st_mode);
        if (!is_dir && n == 2) {
            size_t len = strlen(last);
            struct stat source;
            if (len && last[len - 1] == '/' && !(path_lstat(operands[0], &source) == 0 && S_ISDIR(source.st_mode)))
                return strcmp(t->name, "mv")
                           ? tool_fail(t, 1, "cannot create regular file %s: Not a directory", tool_quote(t, last))
                           : tool_fail(t, 1, "cannot move %s to %s: Not a directory", tool_quote(t, operands[0]),
                               tool_quote(t, last));
            return each(t, operands[0], last, context);
        }
        if (!is_dir) {
            return path_stat(last, &st) < 0 ? tool_fail(t, 1, "target %s: No such file or directory", tool_quote(t, last))
                                       : tool_fail(t, 1, "target %s: Not a directory", tool_quote(t, last));
        }
        target_dir = last;
        n--;
    } else if (path_stat(target_dir, &st) < 0) {
        return tool_fail_errno(t, 1, "target directory %s", tool_quote(t, target_dir));
    } else if (!S_ISDIR(st.st_mode)) return tool_fail(t, 1, "target directory %s: Not a directory", tool_quote(t, target_dir));
    int status = 0;
    for (int i = 0; i < n; i++) {
        const char *last = path_last(path_strip(t, operands[i]));
        status |= each(t, operands[i], path_join(t, target_dir, last), context);
    }
    return status;
}
