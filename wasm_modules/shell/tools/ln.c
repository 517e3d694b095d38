/* ln.c - hard and symbolic links. */
#include "copying.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

typedef struct { copy_options k; int symbolic, relative, no_deref; } ln_state;

/* The way from the directory of `to` to `from`. */
static const char *relative_path(tool *t, const char *from, const char *to) {
    char *a = path_real(t, from, 2), *dir = tool_strdup(t, to), *slash = strrchr(dir, '/');
    if (slash == dir) slash[1] = '\0'; else if (slash) *slash = '\0'; else dir = tool_strdup(t, ".");
    char *b = path_real(t, dir, 2);
    if (!a || !b) return from;
    size_t same = 0, i = 0;
    for (; a[i] && a[i] == b[i]; i++) if (a[i] == '/') same = i + 1;
    if ((!a[i] || a[i] == '/') && (!b[i] || b[i] == '/')) same = i + ((a[i] == '/' || b[i] == '/') ? 1 : 0);
    if (same > strlen(a)) same = strlen(a);
    const char *rest_b = same <= strlen(b) ? b + same : "";
    char *way = tool_strdup(t, "");
    for (const char *p = rest_b; *p; p++) if (p == rest_b || p[-1] == '/') way = tool_format(t, "%s../", way);
    way = tool_format(t, "%s%s", way, a + same);
    size_t n = strlen(way);
    while (n > 1 && way[n - 1] == '/') way[--n] = '\0';
    return *way ? way : ".";
}

static int link_pair(tool *t, const char *from, const char *to, void *context) {
    ln_state *s = context;
    const char *backup = NULL;
    struct stat st;
    if (!s->symbolic) {
        if (path_lstat(from, &st) < 0) return tool_fail_errno(t, 1, "failed to access %s", tool_quote(t, from));
        if (S_ISDIR(st.st_mode)) return tool_fail(t, 1, "%s: hard link not allowed for directory", from);
    }
    if (path_lstat(to, &st) == 0) {
        if (s->k.ask) {
            const char *line;
            io_printf(t->err, "%s: replace %s? ", t->name, tool_quote(t, to));
            ssize_t n = io_line(t->in, &line, '\n');
            if (n <= 0 || (*line != 'y' && *line != 'Y')) return 0;
        }
        if (s->k.backup) { if (make_backup(t, to, &s->k, &backup)) return 1; }
        else if ((s->k.force || s->k.ask) && !S_ISDIR(st.st_mode)) {
            struct stat source;
            if (path_stat(from, &source) == 0 && source.st_ino == st.st_ino && source.st_dev == st.st_dev
                && (st.st_nlink == 1 || !strcmp(from, to)))
                return tool_fail(t, 1, "%s and %s are the same file", tool_quote(t, from), tool_quote(t, to));
            unlink(to);
        }
    }
    const char *text = s->relative && s->symbolic ? relative_path(t, from, to) : from;
    if ((s->symbolic ? symlink(text, to) : link(from, to)) < 0) {
        const char *kind = s->symbolic ? "symbolic link" : "hard link";
        if (!*text) return tool_fail_errno(t, 1, "failed to create %s %s -> ''", kind, tool_quote(t, to));
        return errno == EEXIST || s->symbolic
                   ? tool_fail_errno(t, 1, "failed to create %s %s", kind, tool_quote(t, to))
                   : tool_fail_errno(t, 1, "failed to create %s %s => %s", kind, tool_quote(t, to), tool_quote(t, from));
    }
    if (s->k.verbose)
        io_printf(t->out, "%s%s %s %s\n", backup ? tool_format(t, "%s ~ ", tool_quote(t, backup)) : "", tool_quote(t, to), s->symbolic ? "->" : "=>", tool_quote(t, text));
    return 0;
}

int tool_ln(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"symbolic", 0, 's'}, {"force", 0, 'f'}, {"no-dereference", 0, 'n'}, {"relative", 0, 'r'},
        {"verbose", 0, 'v'}, {"target-directory", 1, 't'}, {"no-target-directory", 0, 'T'}, {"backup", 2, 'b'},
        {"suffix", 1, 'S'}, {"interactive", 0, 'i'}, {"logical", 0, 'L'}, {"physical", 0, 'P'}, {"directory", 0, 'd'}, {0, 0, 0}};
    ln_state s = {0};
    const char *dir = NULL;
    int plain = 0, c;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "sfnrvt:TbS:iLPdF", longs)) != -1;) switch (c) {
        case 's': s.symbolic = 1; break;
        case 'f': s.k.force = 1; s.k.ask = 0; break;
        case 'n': s.no_deref = 1; break;
        case 'r': s.relative = 1; break;
        case 'v': s.k.verbose = 1; break;
        case 't': dir = o.arg; break;
        case 'T': plain = 1; break;
        case 'b': s.k.backup = 1; break;
        case 'S': s.k.suffix = o.arg; s.k.backup = 1; break;
        case 'i': s.k.ask = 1; break;
        case 'L': case 'P': case 'd': case 'F': break;
        default: return 1;
    }
    int n = argc - o.index;
    struct stat st;
    if (n == 1 && !dir && !plain) {
        const char *last = path_join(t, ".", path_last(path_strip(t, argv[o.index])));
        return link_pair(t, argv[o.index], last, &s);
    }
    if (n == 2 && s.no_deref && !dir && path_lstat(argv[argc - 1], &st) == 0 && S_ISLNK(st.st_mode)) plain = 1;
    return for_each_pair(t, argv + o.index, n, dir, plain, link_pair, &s);
}
