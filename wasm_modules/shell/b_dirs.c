/* b_dirs.c - cd, pwd, pushd, popd, dirs. The working directory is kept as the logical path, symbolic links included. */
#include "builtins.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* base and path joined, with . and .. taken out; in sh.tmp. */
static char *logical(const char *base, const char *path)
{
    strbuf b = { .a = &sh.tmp };
    char *all = NULL;
    strbuf in = { .a = &sh.tmp };
    if (path[0] != '/') { sb_puts(&in, base); sb_putc(&in, '/'); }
    sb_puts(&in, path);
    all = sb_str(&in);
    for (char *save, *part = strtok_r(all, "/", &save); part; part = strtok_r(NULL, "/", &save)) {
        if (!strcmp(part, ".")) continue;
        if (!strcmp(part, "..")) { while (b.len > 0 && b.s[--b.len] != '/') { } continue; }
        sb_putc(&b, '/');
        sb_puts(&b, part);
    }
    if (!b.len) sb_putc(&b, '/');
    const char *start = path[0] == '/' ? path : base;
    if (start[0] != '/' || start[1] != '/' || start[2] == '/') return sb_str(&b);
    strbuf twice = { .a = &sh.tmp };               /* two slashes in front, and only two, are kept */
    sb_printf(&twice, "/%s", sb_str(&b));
    return sb_str(&twice);
}

static void set_cwd(const char *path)
{
    var_set_plain("OLDPWD", sh.cwd);
    var_export("OLDPWD");
    char *old = sh.cwd;
    sh.cwd = xstrdup(path);
    if (sh.cwd_level == sh.level) free(old);
    sh.cwd_level = sh.level;
    var_set_plain("PWD", sh.cwd);
    var_export("PWD");
}

/* The descriptors have no folder among the files; one can still be in it, and its names are numbers (io.c). */
static bool is_fd_folder(const char *path)
{
    if (!strcmp(path, "/dev/fd") || !strcmp(path, "/proc/self/fd")) return true;
    int64_t pid;
    size_t n = strlen(path);
    if (strncmp(path, "/proc/", 6) || n < 10 || strcmp(path + n - 3, "/fd")) return false;
    return parse_int(arena_strndup(&sh.tmp, path + 6, n - 9), &pid) && pid == sh.shell_pid;
}

bool shell_in_fds(void) { return is_fd_folder(sh.cwd); }
int shell_chdir(const char *path) { return chdir(is_fd_folder(path) ? "/dev" : path); }

static int change(const char *who, const char *path, bool quiet)
{
    char *to = logical(sh.cwd, path);
    struct stat st;
    if (is_fd_folder(to)) { shell_chdir(to); set_cwd(to); return 0; }
    if (stat(to, &st) < 0) return quiet ? 1 : b_error(who, 1, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode)) return quiet ? 1 : b_error(who, 1, "%s: Not a directory", path);
    if (chdir(to) < 0) return quiet ? 1 : b_error(who, 1, "%s: %s", path, strerror(errno));
    set_cwd(to);
    return 0;
}

enum { LINKS_MOST = 40 };

/* path without symbolic links; as it is when it leads nowhere. In sh.tmp. There is no working directory below us that could tell.
 */
static const char *real_path(const char *path)
{
    strbuf done = { .a = &sh.tmp };
    char *rest = logical(sh.cwd, path);
    for (int links = 0; *rest;) {
        size_t n = strcspn(rest, "/");
        if (!n) { rest++; continue; }
        size_t before = done.len;
        char *part = arena_strndup(&sh.tmp, rest, n), target[4096];
        rest += n;
        if (!strcmp(part, ".")) continue;
        if (!strcmp(part, "..")) { while (done.len > 0 && done.s[--done.len] != '/') { } continue; }
        sb_printf(&done, "/%s", part);
        ssize_t got = readlink(sb_str(&done), target, sizeof target - 1);
        if (got < 0) continue;
        if (++links > LINKS_MOST) return path;
        target[got] = 0;
        strbuf next = { .a = &sh.tmp };
        sb_printf(&next, "%s%s", target, rest);
        rest = sb_str(&next);
        done.len = *target == '/' ? 0 : before;
    }
    if (!done.len) sb_putc(&done, '/');
    return sb_str(&done);
}

int b_cd(int argc, char **argv)
{
    opts o = OPTS("cd [-L|[-P [-e]] [-@]] [dir]");
    bool physical = sh.opt[O_PHYSICAL];
    if (sh.restricted) return b_error("cd", 1, "restricted");
    for (int c; (c = next_opt(&o, "LPe@"));) {
        if (c == '?') return 2;
        if (c == 'P') physical = true;
        else if (c == 'L') physical = false;
    }
    if (argc - o.at > 1) return b_error("cd", 1, "too many arguments");
    const char *to = o.at < argc ? argv[o.at] : var_get("HOME");
    bool print = false;
    if (!to) return b_error("cd", 1, "HOME not set");
    if (!strcmp(to, "-")) {
        to = var_get("OLDPWD");
        if (!to) return b_error("cd", 1, "OLDPWD not set");
        print = true;
    }
    if (!*to) return 0;
    to = arena_strdup(&sh.tmp, to);
    const char *cdpath = var_get("CDPATH");
    if (cdpath && *cdpath && to[0] != '/' && strncmp(to, "./", 2) && strncmp(to, "../", 3) && strcmp(to, ".") &&
        strcmp(to, "..")) {
        char *copy = arena_strdup(&sh.tmp, cdpath);
        for (char *save, *dir = strtok_r(copy, ":", &save); dir; dir = strtok_r(NULL, ":", &save)) {
            strbuf b = { .a = &sh.tmp };
            sb_printf(&b, "%s%s%s", dir, dir[strlen(dir) - 1] == '/' ? "" : "/", to);
            if (change("cd", sb_str(&b), true) == 0) { out_printf("%s\n", sh.cwd); return 0; }
        }
    }
    if (physical) to = real_path(to);
    const char *named = sh.shopt[S_CDABLE_VARS] && is_name(to) ? var_get(to) : NULL;
    if (named && change("cd", to, true) && change("cd", named, true) == 0) return out_printf("%s\n", sh.cwd) < 0;
    int status = change("cd", to, false);
    if (status == 0 && print) out_printf("%s\n", sh.cwd);
    return status;
}

int b_pwd(int argc, char **argv)
{
    opts o = OPTS("pwd [-LP]");
    bool physical = false;
    for (int c; (c = next_opt(&o, "LP"));) { if (c == '?') return 2; physical = c == 'P'; }
    return out_printf("%s\n", physical ? real_path(sh.cwd) : sh.cwd) ? 1 : 0;
}

static void own_dirs(void)
{
    if (sh.dirs_level == sh.level || !sh.dirs) { sh.dirs_level = sh.level; return; }
    char **copy = xmalloc((size_t)(sh.ndirs ? sh.ndirs : 1) * sizeof *copy);
    for (int i = 0; i < sh.ndirs; i++) copy[i] = xstrdup(sh.dirs[i]);
    sh.dirs = copy;
    sh.dirs_level = sh.level;
}

void dirs_assign(arr *a)
{
    own_dirs();
    for (int i = 1; i <= sh.ndirs; i++) {
        char *text = arr_get(a, i), **at = &sh.dirs[sh.ndirs - i];
        if (!text || !strcmp(text, *at)) continue;
        free(*at);
        *at = xstrdup(text);
    }
}

static char *with_tilde(const char *path)
{
    const char *home = var_get("HOME");
    size_t n = home ? strlen(home) : 0;
    if (n > 1 && !strncmp(path, home, n) && (!path[n] || path[n] == '/')) {
        strbuf b = { .a = &sh.tmp };
        sb_printf(&b, "~%s", path + n);
        return sb_str(&b);
    }
    return (char *)path;
}

/* Entry k as dirs counts: 0 is the current directory. */
static const char *entry(int k) { return k == 0 ? sh.cwd : sh.dirs[sh.ndirs - k]; }

int b_dirs(int argc, char **argv)
{
    bool full = false, lines = false, numbers = false;
    int pick = -1;
    for (int i = 1; i < argc; i++) {
        if ((argv[i][0] == '+' || argv[i][0] == '-') && argv[i][1] >= '0' && argv[i][1] <= '9') {
            int k = atoi(argv[i] + 1);
            if (k > sh.ndirs && !sh.ndirs) return b_error("dirs", 1, "directory stack empty");
            if (k > sh.ndirs) return b_error("dirs", 1, "%s: directory stack index out of range", argv[i] + 1);
            pick = argv[i][0] == '+' ? k : sh.ndirs - k;
            continue;
        }
        if (argv[i][0] != '-') {
            b_error("dirs", 2, "%s: invalid option", argv[i]);
            return b_usage("dirs", "dirs [-clpv] [+N] [-N]");
        }
        for (char *c = argv[i] + 1; *c; c++) {
            if (*c == 'c') { own_dirs(); for (int k = 0; k < sh.ndirs; k++) free(sh.dirs[k]); sh.ndirs = 0; return 0; }
            if (*c == 'l') full = true; else if (*c == 'p') lines = true; else if (*c == 'v') lines = numbers = true;
            else { b_error("dirs", 2, "%s: invalid number", argv[i]); return b_usage("dirs", "dirs [-clpv] [+N] [-N]"); }
        }
    }
    if (pick >= 0) { out_printf("%s\n", full ? entry(pick) : with_tilde(entry(pick))); return 0; }
    for (int k = 0; k <= sh.ndirs; k++) {
        const char *path = full ? entry(k) : with_tilde(entry(k));
        if (numbers) out_printf("%2d  %s\n", k, path);
        else out_printf("%s%s", path, lines || k == sh.ndirs ? "\n" : " ");
    }
    return 0;
}

static int show(void) { char *args[] = { "dirs", NULL }; return b_dirs(1, args); }

static void push_dir(const char *path)
{
    own_dirs();
    sh.dirs = xrealloc(sh.dirs, (size_t)(sh.ndirs + 1) * sizeof *sh.dirs);
    sh.dirs[sh.ndirs++] = xstrdup(path);
}

int b_pushd(int argc, char **argv)
{
    bool stay = false;
    int i = 1;
    if (i < argc && !strcmp(argv[i], "-n")) { stay = true; i++; }
    if (i < argc && !strcmp(argv[i], "--")) i++;
    if (argc - i > 1) return b_error("pushd", 1, "too many arguments");
    if (i >= argc) {
        if (!sh.ndirs) return b_error("pushd", 1, "no other directory");
        char *top = arena_strdup(&sh.tmp, sh.dirs[sh.ndirs - 1]), *here = arena_strdup(&sh.tmp, sh.cwd);
        if (change("pushd", top, false)) return 1;
        own_dirs();
        free(sh.dirs[sh.ndirs - 1]);
        sh.dirs[sh.ndirs - 1] = xstrdup(here);
        return show();
    }
    if ((argv[i][0] == '+' || argv[i][0] == '-') && argv[i][1] >= '0' && argv[i][1] <= '9') {
        int k = atoi(argv[i] + 1), total = sh.ndirs + 1;
        if (k >= total && !sh.ndirs) return b_error("pushd", 1, "directory stack empty");
        if (k >= total) return b_error("pushd", 1, "%s: directory stack index out of range", argv[i]);
        if (argv[i][0] == '-') k = total - 1 - k;
        char **all = arena_alloc(&sh.tmp, (size_t)total * sizeof *all);
        for (int j = 0; j < total; j++) all[j] = arena_strdup(&sh.tmp, entry((k + j) % total));
        if (change("pushd", all[0], false)) return 1;
        own_dirs();
        for (int j = 0; j < sh.ndirs; j++) { free(sh.dirs[j]); sh.dirs[j] = xstrdup(all[total - 1 - j]); }
        return show();
    }
    if (argv[i][0] == '-' && argv[i][1] && strcmp(argv[i - 1], "--")) {
        b_error("pushd", 2, "%s: invalid number", argv[i]);
        return b_usage("pushd", "pushd [-n] [+N | -N | dir]");
    }
    char *here = arena_strdup(&sh.tmp, sh.cwd);
    if (stay) { push_dir(logical(sh.cwd, argv[i])); return show(); }
    if (change("pushd", argv[i], false)) return 1;
    push_dir(here);
    return show();
}

int b_popd(int argc, char **argv)
{
    bool counted = argc > 1 && argv[1][0] && strchr("+-", argv[1][0]) && argv[1][1] >= '0' && argv[1][1] <= '9';
    if (argc > 1 && strcmp(argv[1], "-n") && strcmp(argv[1], "--") && !counted) {
        b_error("popd", 2, argv[1][0] == '-' ? "%s: invalid number" : "%s: invalid argument", argv[1]);
        return b_usage("popd", "popd [-n] [+N | -N]");
    }
    if (!sh.ndirs) return b_error("popd", 1, "directory stack empty");
    if (counted) {
        int k = atoi(argv[1] + 1), total = sh.ndirs + 1;
        if (k >= total) return b_error("popd", 1, "%s: directory stack index out of range", argv[1]);
        if (argv[1][0] == '-') k = total - 1 - k;
        if (k > 0) {
            own_dirs();
            int at = sh.ndirs - k;
            free(sh.dirs[at]);
            memmove(sh.dirs + at, sh.dirs + at + 1, (size_t)(sh.ndirs - at - 1) * sizeof *sh.dirs);
            sh.ndirs--;
            return show();
        }
    }
    char *top = arena_strdup(&sh.tmp, sh.dirs[sh.ndirs - 1]);
    if (!(argc > 1 && !strcmp(argv[1], "-n")) && change("popd", top, false)) return 1;
    own_dirs();
    free(sh.dirs[--sh.ndirs]);
    return show();
}
