/* rm.c - remove files and trees. Nothing is ever asked for: there is no terminal; -i and -I read the answer from standard input.
 */
#include "files.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

typedef struct { int force, recursive, verbose, ask, dirs, once; } rm_state;

static int confirmed(tool *t, const char *question, const char *path) {
    io_printf(t->err, "%s: %s %s? ", t->name, question, tool_quote(t, path));
    const char *line;
    ssize_t n = io_line(t->in, &line, '\n');
    return n > 0 && (*line == 'y' || *line == 'Y');
}

static int remove_path(tool *t, const char *path, const rm_state *s, int depth) {
    struct stat st;
    if (path_lstat(path, &st) < 0) {
        if (s->force && (errno == ENOENT || errno == ENOTDIR)) return 0;
        return tool_fail_errno(t, 1, "cannot remove %s", tool_quote(t, path));
    }
    if (!S_ISDIR(st.st_mode)) {
        const char *guarded = !S_ISLNK(st.st_mode) && !(st.st_mode & 0222) ? "write-protected " : "";
        const char *kind = S_ISLNK(st.st_mode) ? "symbolic link" : st.st_size ? "regular file" : "regular empty file";
        if (s->ask && !confirmed(t, tool_format(t, "remove %s%s", guarded, kind), path)) return 0;
        if (unlink(path) < 0) return tool_fail_errno(t, 1, "cannot remove %s", tool_quote(t, path));
        if (s->verbose) io_printf(t->out, "removed %s\n", tool_quote(t, path));
        return 0;
    }
    if (!s->recursive && !s->dirs) return tool_fail(t, 1, "cannot remove %s: Is a directory", tool_quote(t, path));
    int status = 0;
    if (s->recursive) {
        if (depth > 500 || tool_too_deep(t))
            return tool_fail(t, 1, "cannot remove %s: directories nest too deep", tool_quote(t, path));
        size_t n;
        char **names = directory_names(t, path, &n);
        if (!names) return tool_fail_errno(t, 1, "cannot remove %s", tool_quote(t, path));
        if (n && s->ask && !confirmed(t, "descend into directory", path)) return 0;
        for (size_t i = 0; i < n; i++) status |= remove_path(t, path_join(t, path, names[i]), s, depth + 1);
    }
    if (status) return status;
    if (s->ask && !confirmed(t, "remove directory", path)) return 0;
    if (rmdir(path) < 0) return tool_fail_errno(t, 1, "cannot remove %s", tool_quote(t, path));
    if (s->verbose) io_printf(t->out, "removed directory %s\n", tool_quote(t, path));
    return 0;
}

static int refused(tool *t, const char *path, int preserve_root) {
    const char *last = path_last(path);
    size_t n = strcspn(last, "/");
    if ((n == 1 && last[0] == '.') || (n == 2 && last[0] == '.' && last[1] == '.'))
        return tool_fail(t, 1, "refusing to remove '.' or '..' directory: skipping %s", tool_quote(t, path));
    if (preserve_root && *path && !path[strspn(path, "/")]) {
        tool_fail(t, 1, "it is dangerous to operate recursively on '/'");
        return tool_fail(t, 1, "use --no-preserve-root to override this failsafe");
    }
    return 0;
}

int tool_rm(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"force", 0, 'f'}, {"recursive", 0, 'r'}, {"verbose", 0, 'v'}, {"interactive", 2, 'i'},
        {"dir", 0, 'd'}, {"one-file-system", 0, 'o'}, {"preserve-root", 2, 'P'}, {"no-preserve-root", 0, 'N'}, {0, 0, 0}};
    static const char *const whens[] = {"never|no|none", "once", "always|yes", NULL};
    rm_state s = {0};
    int c, status = 0, preserve = 1;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "frRviId", longs)) != -1;) switch (c) {
        case 'f': s.force = 1; s.ask = s.once = 0; break;
        case 'r': case 'R': s.recursive = 1; break;
        case 'v': s.verbose = 1; break;
        case 'i':
            c = o.arg ? tool_choice(t, "--interactive", o.arg, whens) : 2;
            if (c < 0) return 1;
            s.force = 0;
            s.ask = c == 2;
            s.once = c == 1;
            break;
        case 'I': s.once = 1; s.force = 0; break;
        case 'd': s.dirs = 1; break;
        case 'o': case 'P': break;
        case 'N': preserve = 0; break;
        default: return 1;
    }
    if (o.index >= argc) {
        if (s.force) return 0;
        tool_fail(t, 1, "missing operand");
        return tool_usage(t, 1);
    }
    if (s.once && (argc - o.index > 3 || s.recursive)) {
        io_printf(t->err, "%s: remove %d argument%s%s? ", t->name, argc - o.index, argc - o.index > 1 ? "s" : "",
            s.recursive ? " recursively" : "");
        const char *line;
        ssize_t n = io_line(t->in, &line, '\n');
        if (n <= 0 || (*line != 'y' && *line != 'Y')) return 0;
    }
    for (int i = o.index; i < argc; i++) {
        if (s.recursive && refused(t, argv[i], preserve)) { status = 1; continue; }
        status |= remove_path(t, argv[i], &s, 0);
    }
    return status;
}
