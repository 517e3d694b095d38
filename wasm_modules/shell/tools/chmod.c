/* chmod.c - chmod, mktemp, realpath, readlink, which: small tools about single paths. */
#include "files.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

typedef struct { const char *mode; int recursive, verbose, changes, quiet; unsigned reference; int has_reference; } chmod_state;

static int change(tool *t, const chmod_state *s, const char *path, int depth) {
    struct stat st;
    if (path_stat(path, &st) < 0) return s->quiet ? 1 : tool_fail_errno(t, 1, "cannot access %s", tool_quote(t, path));
    unsigned old = st.st_mode & 07777, bits = old;
    if (s->has_reference) bits = s->reference;
    else mode_apply(s->mode, &bits, S_ISDIR(st.st_mode), umask_now());
    int status = 0;
    char a[11], b[11];
    mode_text(&st, a);                                 /* before the change: modes are looked up by inode */
    if (chmod(path, bits) < 0) status = tool_fail_errno(t, 1, "changing permissions of %s", tool_cite(t, path));
    else if (s->verbose || (s->changes && bits != old)) {
        struct stat now = st;
        path_stat(path, &now);
        mode_text(&now, b);
        if (bits == old) io_printf(t->out, "mode of %s retained as %04o (%s)\n", tool_quote(t, path), old, a + 1);
        else io_printf(t->out, "mode of %s changed from %04o (%s) to %04o (%s)\n", tool_quote(t, path), old, a + 1, bits, b + 1);
    }
    if (s->recursive && S_ISDIR(st.st_mode) && depth < 500 && !tool_too_deep(t)) {
        size_t n;
        char **names = directory_names(t, path, &n);
        for (size_t i = 0; names && i < n; i++) {
            struct stat link;
            char *child = path_join(t, path, names[i]);
            if (path_lstat(child, &link) < 0) continue;
            if (!S_ISLNK(link.st_mode)) status |= change(t, s, child, depth + 1);
            else if (s->verbose)
                io_printf(t->out, "neither symbolic link %s nor referent has been changed\n", tool_quote(t, child));
        }
    }
    return status;
}

int tool_chmod(tool *t, int argc, char **argv) {
    chmod_state s = {0};
    int status = 0, first = 1;
    unsigned probe = 0;
    /* -x and -w are modes, not options */
    for (; first < argc && argv[first][0] == '-' && argv[first][1] && !strchr("rwxXstugo0123456789+-=,", argv[first][1]);
         first++) {
        for (const char *p = argv[first] + 1; *p; p++) switch (*p) {
            case 'R': s.recursive = 1; break;
            case 'v': s.verbose = 1; break;
            case 'c': s.changes = 1; break;
            case 'f': s.quiet = 1; break;
            default: tool_fail(t, 1, "invalid option -- '%c'", *p); return tool_usage(t, 1);
        }
    }
    for (; first < argc && !strncmp(argv[first], "--", 2); first++) {
        const char *w = argv[first] + 2;
        if (!*w) { first++; break; }
        if (!strcmp(w, "recursive")) s.recursive = 1;
        else if (!strcmp(w, "verbose")) s.verbose = 1;
        else if (!strcmp(w, "changes")) s.changes = 1;
        else if (!strcmp(w, "preserve-root") || !strcmp(w, "no-preserve-root")) continue;
        else if (!strcmp(w, "quiet") || !strcmp(w, "silent")) s.quiet = 1;
        else if (!strncmp(w, "reference=", 10)) {
            struct stat st;
            if (path_stat(w + 10, &st) < 0) return tool_fail_errno(t, 1, "failed to get attributes of %s", tool_quote(t, w + 10));
            s.has_reference = 1;
            s.reference = st.st_mode & 07777;
        } else { tool_fail(t, 1, "unrecognized option '--%s'", w); return tool_usage(t, 1); }
    }
    if (!s.has_reference) {
        if (first >= argc) { tool_fail(t, 1, "missing operand"); return tool_usage(t, 1); }
        s.mode = argv[first++];
        if (mode_apply(s.mode, &probe, 0, 022) < 0) {
            tool_fail(t, 1, "invalid mode: %s", tool_cite(t, s.mode));
            return tool_usage(t, 1);
        }
        /* options may also stand behind the mode and the files */
        int kept = first;
        for (int i = first; i < argc; i++) {
            if (!strcmp(argv[i], "-R")) s.recursive = 1;
            else if (!strcmp(argv[i], "-v")) s.verbose = 1;
            else if (!strcmp(argv[i], "-f")) s.quiet = 1;
            else if (!strcmp(argv[i], "-c")) s.changes = 1;
            else argv[kept++] = argv[i];
        }
        argc = kept;
    }
    if (first >= argc) { tool_fail(t, 1, "missing operand after %s", tool_cite(t, argv[argc - 1])); return tool_usage(t, 1); }
    for (int i = first; i < argc; i++) status |= change(t, &s, argv[i], 0);
    return status;
}

int tool_mktemp(tool *t, int argc, char **argv) {
    static const tool_long longs[]
        = {{"directory", 0, 'd'}, {"dry-run", 0, 'u'}, {"quiet", 0, 'q'}, {"tmpdir", 2, 'p'}, {"suffix", 1, 's'}, {0, 0, 0}};
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    int directory = 0, dry = 0, quiet = 0, in_tmp = 0, named_by_t = 0, c;
    const char *base = NULL, *suffix = "";
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "duqp:t", longs)) != -1;) switch (c) {
        case 'd': directory = 1; break;
        case 'u': dry = 1; break;
        case 'q': quiet = 1; break;
        case 'p': base = o.arg ? o.arg : ""; in_tmp = 1; break;
        case 't': in_tmp = named_by_t = 1; break;
        case 's': suffix = o.arg; break;
        default: return 1;
    }
    const char *template = o.index < argc ? argv[o.index] : NULL;
    if (o.index + 1 < argc) { tool_fail(t, 1, "too many templates"); return tool_usage(t, 1); }
    if (!template) { template = "tmp.XXXXXXXXXX"; in_tmp = 1; }
    if (in_tmp && template[0] == '/' && !named_by_t)
        return tool_fail(t, 1, "invalid template, %s; with --tmpdir, it may not be absolute", tool_cite(t, template));
    if (strchr(suffix, '/')) return tool_fail(t, 1, "invalid suffix %s, contains directory separator", tool_cite(t, suffix));
    if (*suffix && *template && template[strlen(template) - 1] != 'X')
        return tool_fail(t, 1, "with --suffix, template %s must end in X", tool_cite(t, template));
    if (in_tmp && strchr(template, '/') && template[0] != '/' && named_by_t)
        return tool_fail(t, 1, "invalid template, %s, contains directory separator", tool_cite(t, template));
    const char *last_x = strrchr(template, 'X');
    if (!*suffix && last_x && strchr(last_x, '/'))
        return tool_fail(t, 1, "invalid suffix %s, contains directory separator", tool_cite(t, last_x + 1));
    if (in_tmp && (!base || !*base)) { base = t->getenv ? t->getenv(t, "TMPDIR") : NULL; if (!base || !*base) base = "/tmp"; }
    char *name = in_tmp ? path_join(t, base, template) : tool_strdup(t, template), *end = name + strlen(name), *x;
    if (!*suffix) {
        char *tail = end;
        while (tail > name && tail[-1] != 'X' && tail[-1] != '/') tail--;
        if (tail > name && tail[-1] == 'X') {
            suffix = tool_strdup(t, tail);
            *tail = '\0';
            end = tail;
        }
    }
    for (x = end; x > name && x[-1] == 'X'; x--) {}
    if (end - x < 3) return tool_fail(t, 1, "too few X's in template %s", tool_cite(t, template));
    for (int tries = 0; tries < 1000; tries++) {
        unsigned char random[64] = {0};
        if (getentropy(random, sizeof random) < 0) random[0] = (unsigned char)tries;
        for (char *p = x; p < end; p++) *p = letters[random[(p - x) % 64] % 62];
        char *path = tool_format(t, "%s%s", name, suffix);
        int made = dry ? 0 : directory ? mkdir(path, 0700) : open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (made >= 0) {
            if (!dry) { if (!directory) close(made); chmod(path, directory ? 0700 : 0600); }
            return io_printf(t->out, "%s\n", path) < 0;
        }
        if (errno != EEXIST)
            return quiet ? 1
                         : tool_fail_errno(t, 1, "failed to create %s via template %s", directory ? "directory" : "file",
                             tool_cite(t, tool_format(t, "%s%s", in_tmp ? path_join(t, base, template) : template, suffix)));
    }
    return tool_fail(t, 1, "failed to create file via template %s: File exists", tool_cite(t, template));
}

/* The way from directory a to path b, both absolute. */
static char *relative(tool *t, const char *b, const char *a) {
    size_t same = 0, i = 0;
    for (; a[i] && a[i] == b[i]; i++) if (a[i] == '/') same = i;
    if ((!a[i] || a[i] == '/') && (!b[i] || b[i] == '/')) same = i;
    const char *rest = a + same, *to = b + same;
    char *way = tool_strdup(t, "");
    for (const char *p = rest; *p; p++) if (*p == '/' && p[1]) way = tool_format(t, "%s../", way);
    if (!strcmp(a, "/")) { way = tool_strdup(t, ""); to = b; }
    while (*to == '/') to++;
    way = tool_format(t, "%s%s", way, to);
    size_t n = strlen(way);
    while (n > 1 && way[n - 1] == '/') way[--n] = '\0';
    return *way ? way : ".";
}

/* Absolute and without . and .., by text alone. */
static char *normal(tool *t, const char *path) {
    char cwd[4096] = "/";
    if (*path != '/' && !getcwd(cwd, sizeof cwd)) return NULL;
    char *full = *path == '/' ? tool_strdup(t, path) : path_join(t, cwd, path), *out = tool_alloc(t, strlen(full) + 2), *to = out;
    for (char *p = full; *p;) {
        while (*p == '/') p++;
        size_t n = strcspn(p, "/");
        if (!n) break;
        if (n == 2 && !strncmp(p, "..", 2)) { while (to > out && *--to != '/') {} *to = '\0'; }
        else if (!(n == 1 && *p == '.')) { *to++ = '/'; memcpy(to, p, n); to += n; *to = '\0'; }
        p += n;
    }
    return *out ? out : "/";
}

int tool_realpath(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"canonicalize-existing", 0, 'e'}, {"canonicalize-missing", 0, 'm'},
        {"no-symlinks", 0, 's'}, {"strip", 0, 's'}, {"quiet", 0, 'q'}, {"zero", 0, 'z'}, {"relative-to", 1, 'r'},
        {"relative-base", 1, 'b'}, {"logical", 0, 'L'}, {"physical", 0, 'P'}, {0, 0, 0}};
    int missing = 1, text = 0, logical = 0, quiet = 0, end = '\n', c, status = 0;
    const char *to = NULL, *base = NULL;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "emsqzLP", longs)) != -1;) switch (c) {
        case 'e': missing = 0; break;
        case 'm': missing = 2; break;
        case 's': text = 1; break;
        case 'q': quiet = 1; break;
        case 'z': end = '\0'; break;
        case 'r': to = o.arg; break;
        case 'b': base = o.arg; break;
        case 'L': logical = 1; break;
        case 'P': logical = 0; break;
        default: return 1;
    }
    if (o.index >= argc) { tool_fail(t, 1, "missing operand"); return tool_usage(t, 1); }
    const char *named = to;
    if (to && !(to = text ? normal(t, to) : path_real(t, to, missing))) return tool_fail_errno(t, 1, "%s", named);
    if (base && !(base = text ? normal(t, base) : path_real(t, base, 2))) return 1;
    for (int i = o.index; i < argc; i++) {
        struct stat st;
        char *r = text ? normal(t, argv[i]) : path_real(t, logical ? normal(t, argv[i]) : argv[i], missing);
        if (r && text && !missing && path_stat(argv[i], &st) < 0) r = NULL;
        if (!r) { status = 1; if (!quiet) tool_fail_errno(t, 1, "%s", *argv[i] ? argv[i] : "''"); continue; }
        size_t n = base ? strlen(base) : 0;
        if (base && !strncmp(r, base, n) && (r[n] == '/' || !r[n])) r = relative(t, r, to ? to : base);
        else if (to && !base) r = relative(t, r, to);
        io_puts(t->out, r);
        if (io_putc(t->out, end) < 0) return 1;
    }
    return status;
}

int tool_readlink(tool *t, int argc, char **argv) {
    static const tool_long longs[]
        = {{"canonicalize", 0, 'f'}, {"canonicalize-existing", 0, 'e'}, {"canonicalize-missing", 0, 'm'}, {"no-newline", 0, 'n'},
            {"quiet", 0, 'q'}, {"silent", 0, 's'}, {"verbose", 0, 'v'}, {"zero", 0, 'z'}, {0, 0, 0}};
    int mode = -1, newline = 1, verbose = 0, end = '\n', c, status = 0;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "femnqsvz", longs)) != -1;) switch (c) {
        case 'f': mode = 1; break;
        case 'e': mode = 0; break;
        case 'm': mode = 2; break;
        case 'n': newline = 0; break;
        case 'v': verbose = 1; break;
        case 'z': end = '\0'; break;
        case 'q': case 's': break;
        default: return 1;
    }
    if (o.index >= argc) { tool_fail(t, 1, "missing operand"); return tool_usage(t, 1); }
    if (argc - o.index > 1 && !newline) {
        tool_fail(t, 0, "ignoring --no-newline with multiple arguments");
        newline = 1;
    }
    for (int i = o.index; i < argc; i++) {
        char target[4096], *r = target;
        if (mode >= 0) r = path_real(t, argv[i], mode);
        else { ssize_t n = readlink(argv[i], target, sizeof target - 1); if (n < 0) r = NULL; else target[n] = '\0'; }
        if (!r) { status = 1; if (verbose) tool_fail_errno(t, 1, "%s", argv[i]); continue; }
        io_puts(t->out, r);
        if (newline && io_putc(t->out, end) < 0) return 1;
    }
    return status;
}

int tool_which(tool *t, int argc, char **argv) {
    int all = 0, status = 0, c;
    tool_opts o;
    o.index = 1;
    for (; o.index < argc && argv[o.index][0] == '-' && argv[o.index][1]; o.index++) {
        if (!strcmp(argv[o.index], "--")) { o.index++; break; }
        if ((c = argv[o.index][1]) == 'a') { all = 1; continue; }
        io_printf(t->err, "Illegal option -%c\n", c);
        io_puts(t->out, "Usage: /usr/bin/which [-a] args\n");
        return 2;
    }
    if (o.index >= argc) return 1;
    for (int i = o.index; i < argc; i++) {
        struct stat st;
        int found = 0;
        if (strchr(argv[i], '/')) {
            if (path_stat(argv[i], &st) == 0 && S_ISREG(st.st_mode) && st.st_mode & 0111) {
                found = 1;
                io_printf(t->out, "%s\n", argv[i]);
            }
        } else {
            const char *path = t->getenv ? t->getenv(t, "PATH") : NULL;
            for (const char *p = path; p && *p && (all || !found);) {
                size_t n = strcspn(p, ":");
                char *full = path_join(t, n ? tool_strndup(t, p, n) : ".", argv[i]);
                if (path_stat(full, &st) == 0 && S_ISREG(st.st_mode) && st.st_mode & 0111) {
                    found = 1;
                    io_printf(t->out, "%s\n", full);
                }
                p += n;
                if (*p == ':') p++;
            }
            /* what is built in shows as if it were installed */
            if (!found
                && (tool_find(argv[i]) || !strcmp(argv[i], "bash") || !strcmp(argv[i], "sh") || !strcmp(argv[i], "echo")
                    || !strcmp(argv[i], "printf") || !strcmp(argv[i], "test") || !strcmp(argv[i], "true")
                    || !strcmp(argv[i], "false") || !strcmp(argv[i], "pwd"))) {
                found = 1;
                io_printf(t->out, "/usr/bin/%s\n", argv[i]);
            }
        }
        if (!found) status = 1;
    }
    return status;
}
