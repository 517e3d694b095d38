/* mkdir.c - make and remove directories. */
#include "files.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Creates the parents of path that are missing. */
static int make_parents(tool *t, const char *path, int verbose) {
    char *copy = tool_strdup(t, path);
    for (char *p = copy + 1; *p; p++) {
        if (*p != '/' || p[-1] == '/') continue;
        if (!p[strspn(p, "/")]) break;
        *p = '\0';
        struct stat st;
        if (path_stat(copy, &st) == 0) {
            if (!S_ISDIR(st.st_mode)) {
                errno = ENOTDIR;
                return tool_fail_errno(t, -1, "cannot create directory %s", tool_cite(t, copy));
            }
        } else if (mkdir(copy, 0777) < 0) {
            return tool_fail_errno(t, -1, "cannot create directory %s", tool_cite(t, copy));
        } else if (verbose) io_printf(t->out, "%s: created directory %s\n", t->name, tool_quote(t, copy));
        *p = '/';
    }
    return 0;
}

int tool_mkdir(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"parents", 0, 'p'}, {"mode", 1, 'm'}, {"verbose", 0, 'v'}, {"context", 2, 'Z'}, {0, 0, 0}};
    int parents = 0, verbose = 0, c, status = 0;
    const char *mode = NULL;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "pm:vZ", longs)) != -1;) switch (c) {
        case 'p': parents = 1; break;
        case 'm': mode = o.arg; break;
        case 'v': verbose = 1; break;
        case 'Z': break;
        default: return 1;
    }
    unsigned bits = 0777;
    if (mode && mode_apply(mode, &bits, 1, umask_now()) < 0) return tool_fail(t, 1, "invalid mode %s", tool_cite(t, mode));
    if (o.index >= argc) { tool_fail(t, 1, "missing operand"); return tool_usage(t, 1); }
    for (int i = o.index; i < argc; i++) {
        struct stat st;
        if (!*argv[i]) {                                 /* WASI's C library would take it for the current directory */
            status = tool_fail(t, 1, "cannot create directory %s: No such file or directory", tool_cite(t, ""));
            continue;
        }
        if (parents && make_parents(t, argv[i], verbose) < 0) { status = 1; continue; }
        if (mkdir(argv[i], 0777) < 0) {
            int err = errno;
            if (parents && path_stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode)) continue;
            errno = err;
            status = tool_fail_errno(t, 1, "cannot create directory %s", tool_cite(t, argv[i]));
            continue;
        }
        if (verbose) io_printf(t->out, "%s: created directory %s\n", t->name, tool_quote(t, argv[i]));
        if (mode) chmod(argv[i], bits);
    }
    return status;
}

int tool_rmdir(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"parents", 0, 'p'}, {"verbose", 0, 'v'}, {"ignore-fail-on-non-empty", 0, 'i'}, {0, 0, 0}};
    int parents = 0, verbose = 0, ignore = 0, c, status = 0;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "pv", longs)) != -1;) switch (c) {
        case 'p': parents = 1; break;
        case 'v': verbose = 1; break;
        case 'i': ignore = 1; break;
        default: return 1;
    }
    if (o.index >= argc) { tool_fail(t, 1, "missing operand"); return tool_usage(t, 1); }
    for (int i = o.index; i < argc; i++) {
        char *path = tool_strdup(t, argv[i]);
        for (;;) {
            if (verbose) io_printf(t->out, "%s: removing directory, %s\n", t->name, tool_quote(t, path));
            if (rmdir(path) < 0) {
                if (ignore && (errno == ENOTEMPTY || errno == EEXIST)) break;
                status = tool_fail_errno(t, 1, "failed to remove %s%s",
                    path == argv[i] || !strcmp(path, argv[i]) ? "" : "directory ", tool_quote(t, path));
                break;
            }
            if (!parents) break;
            path = path_strip(t, path);
            char *slash = strrchr(path, '/');
            if (!slash || slash == path) break;
            *slash = '\0';
        }
    }
    return status;
}
