/* cmp.c - cmp: compare files byte by byte. */
#include "buffer.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A byte as cat -v shows it. */
static const char *visible(int c, char to[8]) {
    char *p = to;
    if (c >= 128) { *p++ = 'M'; *p++ = '-'; c -= 128; }
    if (c < 32) { *p++ = '^'; c += 64; } else if (c == 127) { *p++ = '^'; c = '?'; }
    *p++ = (char)c;
    *p = '\0';
    return to;
}

int tool_cmp(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"silent", 0, 's'}, {"quiet", 0, 's'}, {"verbose", 0, 'l'}, {"print-bytes", 0, 'b'},
        {"bytes", 1, 'n'}, {"ignore-initial", 1, 'i'}, {0, 0, 0}};
    int silent = 0, verbose = 0, bytes = 0, c, status = 0;
    unsigned long long most = ~0ull, skip[2] = {0, 0};
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "slbn:i:", longs)) != -1;) switch (c) {
        case 's': silent = 1; break;
        case 'l': verbose = 1; break;
        case 'b': bytes = 1; break;
        case 'n':
            if (size_parse(o.arg, &most) < 0) return tool_fail(t, 2, "invalid --bytes value %s", tool_quote(t, o.arg));
            break;
        case 'i': {
            char *colon = strchr(o.arg, ':');
            skip[0] = strtoull(o.arg, NULL, 10);
            skip[1] = colon ? strtoull(colon + 1, NULL, 10) : skip[0];
            break;
        }
        default: return 2;
    }
    if (verbose && silent) { tool_fail(t, 2, "options -l and -s are incompatible"); return tool_usage(t, 2); }
    if (o.index >= argc) { tool_fail(t, 2, "missing operand after '%s'", argv[argc - 1]); return tool_usage(t, 2); }
    const char *names[2] = {argv[o.index], o.index + 1 < argc ? argv[o.index + 1] : "-"};
    for (int i = 0; i < 2 && o.index + 2 + i < argc; i++) skip[i] += strtoull(argv[o.index + 2 + i], NULL, 0);
    if (o.index + 4 < argc) { tool_fail(t, 2, "extra operand '%s'", argv[o.index + 4]); return tool_usage(t, 2); }
    io *f[2];
    struct stat st;
    unsigned long long largest = most;        /* byte number that may be printed */
    for (int i = 0; i < 2; i++) {
        f[i] = strcmp(names[i], "-") ? io_open(names[i], O_RDONLY, 0) : io_ref(t->in);
        if (!f[i]) { if (!silent) tool_fail_errno(t, 2, "%s", names[i]); if (i) io_unref(f[0]); return 2; }
        if (strcmp(names[i], "-") && path_stat(names[i], &st) == 0) {
            if (S_ISDIR(st.st_mode)) {
                if (!silent) tool_fail(t, 2, "%s: Is a directory", names[i]);
                for (int k = 0; k <= i; k++) io_unref(f[k]);
                return 2;
            }
            if (S_ISREG(st.st_mode) && (unsigned long long)st.st_size < largest) largest = (unsigned long long)st.st_size;
        }
        for (unsigned long long k = 0; k < skip[i] && io_getc(f[i]) >= 0; k++) {}
    }
    int width = 1;
    for (unsigned long long v = largest; v > 9; v /= 10) width++;
    if (width > 19) width = 19;
    unsigned long long at = 1, line = 1;
    char one[8], two[8];
    int last = '\n';
    for (; at <= most; at++) {
        int a = io_getc(f[0]), b = io_getc(f[1]);
        if (a < 0 && b < 0) break;
        if (a < 0 || b < 0) {
            status = 1;
            if (!silent) {
                const char *shorter = names[a < 0 ? 0 : 1];
                if (at == 1) io_printf(t->err, "cmp: EOF on %s which is empty\n", shorter);
                else if (verbose) io_printf(t->err, "cmp: EOF on %s after byte %llu\n", shorter, at - 1);
                else
                    io_printf(t->err, "cmp: EOF on %s after byte %llu, %s%llu\n", shorter, at - 1,
                        last == '\n' ? "line " : "in line ", last == '\n' ? line - 1 : line);
            }
            break;
        }
        if (a != b) {
            status = 1;
            if (silent) break;
            if (verbose && bytes) io_printf(t->out, "%*llu %3o %-4s %3o %s\n", width, at, a, visible(a, one), b, visible(b, two));
            else if (verbose) io_printf(t->out, "%*llu %3o %3o\n", width, at, a, b);
            else {
                io_printf(t->out, "%s %s differ: byte %llu, line %llu", names[0], names[1], at, line);
                if (bytes) io_printf(t->out, " is %3o %s %3o %s", a, visible(a, one), b, visible(b, two));
                io_putc(t->out, '\n');
                break;
            }
        }
        last = a;
        if (a == '\n') line++;
    }
    io_unref(f[0]);
    io_unref(f[1]);
    return status;
}
