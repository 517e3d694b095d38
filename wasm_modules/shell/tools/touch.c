/* touch.c - set the times of files, creating them when missing; truncate - set their size. */
#include "buffer.h"
#include "dates.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* [[CC]YY]MMDDhhmm[.ss] */
static int parse_stamp(tool *t, const char *s, moment *to) {
    size_t n = strspn(s, "0123456789");
    const char *rest = s + n;
    struct tm tm;
    long offset;
    const char *zone;
    if ((n != 8 && n != 10 && n != 12) || (*rest && (*rest != '.' || strspn(rest + 1, "0123456789") != 2 || rest[3]))) return -1;
    date_fields(t, (long long)moment_now().tv_sec, 0, &tm, &offset, &zone);
    int v[6], k = 0;
    for (size_t i = 0; i < n; i += 2) v[k++] = (s[i] - '0') * 10 + s[i + 1] - '0';
    int *p = v;
    if (n == 12) { tm.tm_year = v[0] * 100 + v[1] - 1900; p = v + 2; }
    else if (n == 10) { tm.tm_year = v[0] < 69 ? v[0] + 100 : v[0]; p = v + 1; }
    tm.tm_mon = p[0] - 1; tm.tm_mday = p[1]; tm.tm_hour = p[2]; tm.tm_min = p[3];
    tm.tm_sec = *rest ? atoi(rest + 1) : 0;
    if (tm.tm_mon < 0 || tm.tm_mon > 11 || tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour > 23 || tm.tm_min > 59) return -1;
    to->tv_sec = (time_t)date_seconds(t, &tm, 0);
    to->tv_nsec = 0;
    return 0;
}

int tool_touch(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {
        {"no-create", 0, 'c'}, {"date", 1, 'd'}, {"reference", 1, 'r'}, {"time", 1, 'T'}, {"no-dereference", 0, 'h'}, {0, 0, 0}};
    static const char *const kinds[] = {"atime|access|use", "mtime|modify", NULL};
    int create = 1, which = 0, stamped = 0, nofollow = 0, fixed = 0, c, status = 0;
    moment times[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
    const char *text = NULL;
    struct stat st;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "acd:fhmr:t:", longs)) != -1;) switch (c) {
        case 'a': which |= 1; break;
        case 'm': which |= 2; break;
        case 'c': create = 0; break;
        case 'd': text = o.arg; break;
        case 'f': break;
        case 'h': nofollow = 1; break;
        case 'r':
            if (path_stat(o.arg, &st) < 0) return tool_fail_errno(t, 1, "failed to get attributes of %s", tool_quote(t, o.arg));
            times[0] = st.st_atim;
            times[1] = st.st_mtim;
            fixed = 1;
            break;
        case 't':
            if (parse_stamp(t, o.arg, &times[0]) < 0) return tool_fail(t, 1, "invalid date format %s", tool_cite(t, o.arg));
            times[1] = times[0];
            fixed = stamped = 1;
            break;
        case 'T':
            if ((c = tool_choice(t, "--time", o.arg, kinds)) < 0) return 1;
            which |= c == 1 ? 2 : 1;
            break;
        default: return 1;
    }
    if (o.index >= argc) { tool_fail(t, 1, "missing file operand"); return tool_usage(t, 1); }
    if (text && stamped) { tool_fail(t, 1, "cannot specify times from more than one source"); return tool_usage(t, 1); }
    if (text) {
        moment base = fixed ? times[1] : moment_now();
        if (date_parse(t, text, base, &times[0]) < 0) return tool_fail(t, 1, "invalid date format %s", tool_cite(t, text));
        times[1] = times[0];
    }
    if (which == 1) times[1].tv_nsec = UTIME_OMIT;
    if (which == 2) times[0].tv_nsec = UTIME_OMIT;
    for (int i = o.index; i < argc; i++) {
        if (!strcmp(argv[i], "-")) continue;
        int flag = nofollow ? AT_SYMLINK_NOFOLLOW : 0;
        if (!*argv[i]) {                                 /* WASI would take it for the directory itself */
            errno = ENOENT;
            status = tool_fail_errno(t, 1, "cannot touch ''");
            continue;
        }
        if (path_stat(argv[i], &st) < 0 && errno == ENOENT && !(nofollow && path_lstat(argv[i], &st) == 0)) {
            if (!create) continue;
            int fd = open(argv[i], O_WRONLY | O_CREAT, 0666);
            if (fd < 0) { status = tool_fail_errno(t, 1, "cannot touch %s", tool_quote(t, argv[i])); continue; }
            close(fd);
            if (!fixed && !text) continue;
        }
        if (utimensat(AT_FDCWD, argv[i], times, flag) < 0)
            status = tool_fail_errno(t, 1, "cannot touch %s", tool_quote(t, argv[i]));
    }
    return status;
}

int tool_truncate(tool *t, int argc, char **argv) {
    static const tool_long longs[]
        = {{"no-create", 0, 'c'}, {"size", 1, 's'}, {"reference", 1, 'r'}, {"io-blocks", 0, 'o'}, {0, 0, 0}};
    enum { BLOCK_BYTES = 4096 };
    int create = 1, op = 0, blocks = 0, c, status = 0;
    unsigned long long size = 0;
    const char *size_text = NULL, *reference = NULL;
    tool_opts o;
    struct stat st;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "cs:r:o", longs)) != -1;) switch (c) {
        case 'c': create = 0; break;
        case 's': size_text = o.arg; break;
        case 'r': reference = o.arg; break;
        case 'o': blocks = 1; break;
        default: return 1;
    }
    if (!size_text && !reference) {
        tool_fail(t, 1, "you must specify either %s or %s", tool_cite(t, "--size"), tool_cite(t, "--reference"));
        return tool_usage(t, 1);
    }
    if (o.index >= argc) { tool_fail(t, 1, "missing file operand"); return tool_usage(t, 1); }
    if (reference) {
        if (path_stat(reference, &st) < 0) return tool_fail_errno(t, 1, "cannot stat %s", tool_quote(t, reference));
        size = (unsigned long long)st.st_size;
    }
    if (size_text) {
        const char *p = size_text;
        if (*p && strchr("+-<>/%", *p)) op = *p++;
        if (size_parse(p, &size) < 0) return tool_fail(t, 1, "Invalid number: %s", tool_cite(t, size_text));
        if (blocks) size *= BLOCK_BYTES;
    }
    for (int i = o.index; i < argc; i++) {
        int fd = open(argv[i], O_WRONLY | (create ? O_CREAT : 0), 0666);
        if (fd < 0) {
            if (!create && errno == ENOENT) continue;
            status = tool_fail_errno(t, 1, "cannot open %s for writing", tool_quote(t, argv[i]));
            continue;
        }
        unsigned long long now = fstat(fd, &st) == 0 ? (unsigned long long)st.st_size : 0, to = size;
        switch (op) {
        case '+': to = now + size; break;
        case '-': to = now > size ? now - size : 0; break;
        case '<': to = now < size ? now : size; break;
        case '>': to = now > size ? now : size; break;
        case '/': if (size) to = now / size * size; break;
        case '%': if (size) to = (now + size - 1) / size * size; break;
        }
        if (ftruncate(fd, (off_t)to) < 0)
            status = tool_fail_errno(t, 1, "failed to truncate %s at %llu bytes", tool_cite(t, argv[i]), to);
        close(fd);
    }
    return status;
}
