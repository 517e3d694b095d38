/* cp.c - cp and mv. */
#include "copying.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int copy_pair(tool *t, const char *from, const char *to, void *context) {
    return copy_path(t, from, path_strip(t, to), context, 0);
}

/* --backup=WORD into o; 0, or 1 after a message. */
static int set_backup(tool *t, copy_options *o, const char *word) {
    static const char *const kinds[] = {"none|off", "simple|never", "existing|nil", "numbered|t", NULL};
    static const int codes[] = {0, 1, 1, 2};
    int kind = word ? tool_choice(t, "backup type", word, kinds) : 1;
    if (kind < 0) return 1;
    o->backup = codes[kind];
    return 0;
}

/* A list of what to preserve, or not to, into o; 0, or 1 after a message. */
static int set_preserved(tool *t, copy_options *o, const char *option, const char *list, int keep) {
    static const char *const kinds[] = {"mode", "timestamps", "ownership", "links", "context", "xattr", "all", NULL};
    for (const char *p = list; p;) {
        size_t n = strcspn(p, ",");
        int kind = tool_choice(t, option, tool_strndup(t, p, n), kinds);
        if (kind < 0) return 1;
        if (kind == 6) { o->preserve = keep; if (keep) o->keep_links = 1; }
        if (keep && kind < 2) o->preserve = 1;
        if (!keep && (kind == 0 || kind == 6)) o->plain_mode = 1;
        p = p[n] ? p + n + 1 : NULL;
    }
    return 0;
}

/* cp --parents SOURCE DIR: DIR/SOURCE with the directories in between. */
static int copy_with_parents(tool *t, char **operands, int n, const char *dir, copy_options *o) {
    int status = 0;
    for (int i = 0; i < n; i++) {
        char *to = path_join(t, dir, operands[i]);
        for (char *p = to + strlen(dir) + 1; *p; p++) {
            if (*p != '/') continue;
            *p = '\0';
            if (mkdir(to, 0777) < 0 && errno != EEXIST) {
                status = tool_fail_errno(t, 1, "cannot make directory %s", tool_quote(t, to));
                break;
            }
            *p = '/';
        }
        status |= copy_path(t, operands[i], to, o, 0);
    }
    return status;
}

int tool_cp(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"archive", 0, 'a'}, {"recursive", 0, 'r'}, {"force", 0, 'f'}, {"interactive", 0, 'i'},
        {"no-clobber", 0, 'n'}, {"dereference", 0, 'L'}, {"no-dereference", 0, 'P'}, {"preserve", 2, '1'},
        {"no-preserve", 1, '2'}, {"target-directory", 1, 't'}, {"no-target-directory", 0, 'T'}, {"update", 2, 'u'},
        {"verbose", 0, 'v'}, {"link", 0, 'l'}, {"symbolic-link", 0, 's'}, {"backup", 2, '3'}, {"suffix", 1, 'S'},
        {"parents", 0, '4'}, {"remove-destination", 0, '5'}, {"reflink", 2, '6'}, {"sparse", 1, '6'},
        {"strip-trailing-slashes", 0, '6'}, {"one-file-system", 0, 'x'}, {"copy-contents", 0, '6'},
        {"attributes-only", 0, '7'}, {"context", 2, '6'}, {0, 0, 0}};
    copy_options k = {0};
    copied *linked = NULL;
    const char *dir = NULL;
    int plain = 0, parents = 0, c, deref = 0;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "abdfHilLnpPrRsS:t:TuvxZ", longs)) != -1;) switch (c) {
        case 'a': k.recursive = k.preserve = k.keep_links = 1; k.linked = &linked; break;
        case 'b': k.backup = 1; break;
        case 'd': k.keep_links = 1; k.linked = &linked; break;
        case 'f': k.force = 1; break;
        case 'H': k.follow_args = 1; break;
        case 'i': k.ask = 1; k.no_clobber = 0; break;
        case 'l': k.link = 1; break;
        case 'L': deref = 1; k.keep_links = 0; break;
        case 'n': k.no_clobber = 1; k.ask = 0; break;
        case '1':
            if (o.arg && set_preserved(t, &k, "--preserve", o.arg, 1)) return 1;
            if (!o.arg) k.preserve = 1;
            break;
        case 'p': k.preserve = 1; break;
        case 'P': k.keep_links = 1; break;
        case 'r': case 'R': k.recursive = 1; if (!deref) k.keep_links = 1; break;
        case 's': k.symlink = 1; break;
        case 'S': k.suffix = o.arg; if (!k.backup) k.backup = 1; break;
        case 't': dir = o.arg; break;
        case 'T': plain = 1; break;
        case 'u': k.update = 1; break;
        case 'v': k.verbose = 1; break;
        case '3': if (set_backup(t, &k, o.arg)) return 1; break;
        case '4': parents = 1; break;
        case '5': k.remove_destination = 1; break;
        case '2': if (set_preserved(t, &k, "--no-preserve", o.arg, 0)) return 1; break;
        case '7': k.attributes_only = 1; break;
        case '6': case 'x': case 'Z': break;
        default: return 1;
    }
    struct stat st;
    if (parents && argc - o.index >= 2 && !dir && !(path_stat(argv[argc - 1], &st) == 0 && S_ISDIR(st.st_mode))) {
        tool_fail(t, 1, "with --parents, the destination must be a directory");
        return tool_usage(t, 1);
    }
    if (parents && argc - o.index >= 2 && !dir)
        return copy_with_parents(t, argv + o.index, argc - o.index - 1, argv[argc - 1], &k);
    return for_each_pair(t, argv + o.index, argc - o.index, dir, plain, copy_pair, &k);
}

static int remove_tree(tool *t, const char *path) {
    struct stat st;
    if (path_lstat(path, &st) < 0) return -1;
    if (!S_ISDIR(st.st_mode)) return unlink(path);
    size_t n;
    char **names = directory_names(t, path, &n);
    if (!names || tool_too_deep(t)) return -1;
    for (size_t i = 0; i < n; i++) if (remove_tree(t, path_join(t, path, names[i])) < 0) return -1;
    return rmdir(path);
}

static int move_pair(tool *t, const char *from, const char *to, void *context) {
    const copy_options *k = context;
    const char *backup = NULL;
    struct stat source, target;
    if (path_lstat(from, &source) < 0) return tool_fail_errno(t, 1, "cannot stat %s", tool_quote(t, from));
    if (path_lstat(to, &target) == 0) {
        if (k->no_clobber) return 0;
        if (source.st_ino && source.st_ino == target.st_ino && source.st_dev == target.st_dev
            && (!k->backup || !strcmp(path_strip(t, from), path_strip(t, to))))
            return tool_fail(t, 1, "%s and %s are the same file", tool_quote(t, from), tool_quote(t, to));
        if (S_ISDIR(target.st_mode) && !S_ISDIR(source.st_mode))
            return tool_fail(t, 1, "cannot overwrite directory %s with non-directory", tool_quote(t, to));
        if (!S_ISDIR(target.st_mode) && S_ISDIR(source.st_mode))
            return tool_fail(t, 1, "cannot overwrite non-directory %s with directory %s", tool_quote(t, to), tool_quote(t, from));
        if (k->update
            && (target.st_mtim.tv_sec > source.st_mtim.tv_sec
                || (target.st_mtim.tv_sec == source.st_mtim.tv_sec && target.st_mtim.tv_nsec >= source.st_mtim.tv_nsec)))
            return 0;
        if (k->ask) {
            const char *line;
            io_printf(t->err, "%s: overwrite %s? ", t->name, tool_quote(t, to));
            ssize_t n = io_line(t->in, &line, '\n');
            if (n <= 0 || (*line != 'y' && *line != 'Y')) return 0;
        }
        if (make_backup(t, to, k, &backup)) return 1;
    }
    if (S_ISDIR(source.st_mode)) {
        char *a = path_real(t, from, 0), *b = path_real(t, to, 2);
        size_t n = a ? strlen(a) : 0;
        if (a && b && !strncmp(a, b, n) && (b[n] == '/' || !b[n]))
            return tool_fail(t, 1, "cannot move %s to a subdirectory of itself, %s", tool_quote(t, from), tool_quote(t, to));
    }
    if (rename(from, path_strip(t, to)) < 0) {
        if (errno != EXDEV) return tool_fail_errno(t, 1, "cannot move %s to %s", tool_quote(t, from), tool_quote(t, to));
        copy_options all = {.recursive = 1, .preserve = 1, .keep_links = 1, .force = 1};
        if (copy_path(t, from, to, &all, 0)) return 1;
        if (remove_tree(t, from) < 0) return tool_fail_errno(t, 1, "cannot remove %s", tool_quote(t, from));
    }
    if (k->verbose)
        io_printf(t->out, "renamed %s -> %s%s\n", tool_quote(t, from), tool_quote(t, to),
            backup ? tool_format(t, " (backup: %s)", tool_quote(t, backup)) : "");
    return 0;
}

int tool_mv(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"force", 0, 'f'}, {"interactive", 0, 'i'}, {"no-clobber", 0, 'n'},
        {"target-directory", 1, 't'}, {"no-target-directory", 0, 'T'}, {"update", 2, 'u'}, {"verbose", 0, 'v'},
        {"backup", 2, '3'}, {"suffix", 1, 'S'}, {"strip-trailing-slashes", 0, '6'}, {"context", 2, '6'}, {0, 0, 0}};
    copy_options k = {0};
    const char *dir = NULL;
    int plain = 0, c;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "bfinS:t:Tuv", longs)) != -1;) switch (c) {
        case 'b': k.backup = 1; break;
        case 'f': k.force = 1; k.ask = k.no_clobber = 0; break;
        case 'i': k.ask = 1; k.no_clobber = 0; break;
        case 'n': k.no_clobber = 1; k.ask = 0; break;
        case 'S': k.suffix = o.arg; if (!k.backup) k.backup = 1; break;
        case 't': dir = o.arg; break;
        case 'T': plain = 1; break;
        case 'u': k.update = 1; break;
        case 'v': k.verbose = 1; break;
        case '3': if (set_backup(t, &k, o.arg)) return 1; break;
        case '6': break;
        default: return 1;
    }
    return for_each_pair(t, argv + o.index, argc - o.index, dir, plain, move_pair, &k);
}
