/* pathchk.c - pathchk: whether names of files are valid here (no option), or everywhere (-p, -P). */
#include "../tool.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { HERE_NAME = 255, HERE_PATH = 4096, POSIX_NAME = 14, POSIX_PATH = 256 };

static const char portable[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/";

/* The first character of path that is not portable, cited; NULL when there is none. */
static const char *odd_character(tool *t, const char *path) {
    size_t n = strspn(path, portable), len = 1;
    if (!path[n]) return NULL;
    while (((unsigned char)path[n + len] & 0xC0) == 0x80) len++;
    return tool_cite(t, tool_strndup(t, path + n, len));
}

static int check_lengths(tool *t, const char *path, size_t name_most, size_t path_most) {
    if (strlen(path) >= path_most)
        return tool_fail(
            t, 1, "limit %zu exceeded by length %zu of file name %s", path_most - 1, strlen(path), tool_quote(t, path));
    for (const char *p = path; *p; p += strspn(p, "/")) {
        size_t n = strcspn(p, "/");
        if (n > name_most)
            return tool_fail(t, 1, "limit %zu exceeded by length %zu of file name component %s", name_most, n,
                tool_cite(t, tool_strndup(t, p, n)));
        p += n;
    }
    return 0;
}

static int check(tool *t, const char *path, int everywhere, int basic) {
    struct stat st;
    if (basic) {
        if (!*path) return tool_fail(t, 1, "empty file name");
        for (const char *p = path; (p = strchr(p, '-')); p++)
            if (p == path || p[-1] == '/')
                return tool_fail(t, 1, "leading '-' in a component of file name %s", tool_quote(t, path));
    }
    if (everywhere) {
        const char *odd = odd_character(t, path);
        if (!*path) return tool_fail(t, 1, "empty file name");
        if (odd) return tool_fail(t, 1, "nonportable character %s in file name %s", odd, tool_quote(t, path));
        return check_lengths(t, path, POSIX_NAME, POSIX_PATH);
    }
    if (path_lstat(path, &st) < 0 && (errno != ENOENT || !*path)) return tool_fail_errno(t, 1, "%s", tool_name(t, path));
    return check_lengths(t, path, HERE_NAME, HERE_PATH);
}

int tool_pathchk(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"portability", 0, 'a'}, {0, 0, 0}};
    int everywhere = 0, basic = 0, status = 0, c;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "+pP", longs)) != -1;) switch (c) {
        case 'a': everywhere = basic = 1; break;
        case 'p': everywhere = 1; break;
        case 'P': basic = 1; break;
        default: return 1;
    }
    if (o.index >= argc) { tool_fail(t, 1, "missing operand"); return tool_usage(t, 1); }
    for (int i = o.index; i < argc; i++) status |= check(t, argv[i], everywhere, basic);
    return status;
}
