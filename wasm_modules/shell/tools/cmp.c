/* cmp.c - cmp: compare files byte by byte; dd: copy with blocks and offsets. */
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

typedef struct {
    const char *in, *out;
    unsigned long long in_size, out_size, count, skip, seek;
    int no_trunc, append, sync, upper, lower, swap, quiet, count_bytes, skip_bytes, seek_bytes, no_error;
} dd_state;

static int bad_operand(tool *t, const char *arg) {
    tool_fail(t, 1, "unrecognized operand %s", tool_cite(t, arg));
    return tool_usage(t, 1);
}

static int take_operand(tool *t, dd_state *s, char *arg) {
    char *eq = strchr(arg, '=');
    unsigned long long v = 0;
    if (!eq) return bad_operand(t, arg);
    size_t n = (size_t)(eq - arg);
    const char *value = eq + 1;
#define IS(name) (n == strlen(name) && !strncmp(arg, name, n))
    if (IS("if")) s->in = value;
    else if (IS("of")) s->out = value;
    else if (IS("status"))
        s->quiet = !strcmp(value, "none") || !strcmp(value, "noxfer") ? (*value == 'n' && value[2] == 'n' ? 1 : 2) : 0;
    else if (IS("conv") || IS("iflag") || IS("oflag")) {
        s->no_trunc |= strstr(value, "notrunc") != NULL;
        s->append |= strstr(value, "append") != NULL;
        s->upper |= strstr(value, "ucase") != NULL;
        s->lower |= strstr(value, "lcase") != NULL;
        s->swap |= strstr(value, "swab") != NULL;
        s->sync |= IS("conv") && strstr(value, "sync") && !strstr(value, "fsync") && !strstr(value, "fdatasync");
        s->count_bytes |= strstr(value, "count_bytes") != NULL;
        s->skip_bytes |= strstr(value, "skip_bytes") != NULL;
        s->seek_bytes |= strstr(value, "seek_bytes") != NULL;
    } else {
        const char *x = strchr(value, 'x');
        if (x && x > value) {
            unsigned long long a, b;
            if (size_parse(tool_strndup(t, value, (size_t)(x - value)), &a) < 0 || size_parse(x + 1, &b) < 0)
                return tool_fail(t, 1, "invalid number: %s", tool_cite(t, value));
            v = a * b;
        } else if (size_parse(value, &v) < 0) return tool_fail(t, 1, "invalid number: %s", tool_cite(t, value));
        if (IS("bs")) s->in_size = s->out_size = v;
        else if (IS("ibs")) s->in_size = v;
        else if (IS("obs")) s->out_size = v;
        else if (IS("cbs")) {}
        else if (IS("count")) s->count = v;
        else if (IS("skip") || IS("iseek")) s->skip = v;
        else if (IS("seek") || IS("oseek")) s->seek = v;
        else return bad_operand(t, arg);
        if ((IS("bs") || IS("ibs") || IS("obs")) && !v) return tool_fail(t, 1, "invalid number: %s", tool_cite(t, value));
    }
#undef IS
    return 0;
}

int tool_dd(tool *t, int argc, char **argv) {
    dd_state s = {.in_size = 512, .out_size = 512, .count = ~0ull};
    tool_opts o;
    tool_opts_start(&o, argc, argv);
    if (tool_opts_next(t, &o, "", NULL) != -1) return 1;
    for (int i = o.index; i < argc; i++) if (take_operand(t, &s, argv[i])) return 1;
    if (s.in_size > 64u << 20) return tool_fail(t, 1, "memory exhausted by input buffer of size %llu bytes", s.in_size);
    io *from = s.in ? io_open(s.in, O_RDONLY, 0) : io_ref(t->in);
    if (!from) return tool_fail_errno(t, 1, "failed to open %s", tool_quote(t, s.in));
    struct stat st;
    if (s.in && path_stat(s.in, &st) == 0 && S_ISDIR(st.st_mode)) {
        io_unref(from);
        tool_fail(t, 1, "error reading %s: Is a directory", tool_quote(t, s.in));
        io_puts(t->err, "0+0 records in\n0+0 records out\n");
        return 1;
    }
    io *to = s.out ? io_open(s.out,
                 O_WRONLY | O_CREAT
                     | (s.append                ? O_APPEND
                         : s.no_trunc || s.seek ? 0
                                                : O_TRUNC),
                 0666)
                   : io_ref(t->out);
    if (!to) { tool_fail_errno(t, 1, "failed to open %s", tool_quote(t, s.out)); io_unref(from); return 1; }
    unsigned long long skip = s.skip_bytes ? s.skip : s.skip * s.in_size, seek = s.seek_bytes ? s.seek : s.seek * s.out_size,
                       full = 0, part = 0, total = 0;
    if (skip && io_seek(from, (off_t)skip, SEEK_CUR) < 0) for (; skip && io_getc(from) >= 0; skip--) {}
    if (seek && s.out) {
        if (!s.no_trunc && truncate(s.out, (off_t)seek) < 0) { /* sizes of devices cannot change */ }
        io_seek(to, (off_t)seek, SEEK_SET);
    }
    char *block = tool_alloc(t, (size_t)s.in_size);
    unsigned long long left = s.count_bytes ? s.count : ~0ull;
    int status = 0;
    for (unsigned long long k = 0; (s.count_bytes ? left > 0 : k < s.count) && !status; k++) {
        size_t want = s.in_size < left ? (size_t)s.in_size : (size_t)left, n = 0;
        while (n < want) { ssize_t got = io_read(from, block + n, want - n); if (got <= 0) break; n += (size_t)got; }
        if (!n) break;
        if (n == s.in_size) full++; else part++;
        if (s.sync && n < s.in_size) { memset(block + n, 0, (size_t)s.in_size - n); n = (size_t)s.in_size; }
        for (size_t i = 0; i < n && (s.upper || s.lower); i++) {
            char c = block[i];
            if (s.upper && c >= 'a' && c <= 'z') block[i] = (char)(c - 32);
            if (s.lower && c >= 'A' && c <= 'Z') block[i] = (char)(c + 32);
        }
        for (size_t i = 0; s.swap && i + 1 < n; i += 2) { char c = block[i]; block[i] = block[i + 1]; block[i + 1] = c; }
        if (io_write(to, block, n) < 0) status = s.out ? tool_fail_errno(t, 1, "error writing %s", tool_quote(t, s.out)) : 1;
        total += n;
        if (left != ~0ull) left -= n < left ? n : left;
    }
    io_unref(from);
    io_unref(to);
    if (s.quiet != 1) {
        unsigned long long out_full = s.in_size == s.out_size ? full : total / s.out_size,
                           out_part = s.in_size == s.out_size ? part : total % s.out_size > 0;
        io_printf(t->err, "%llu+%llu records in\n%llu+%llu records out\n", full, part, out_full, out_part);
        if (!s.quiet) io_printf(t->err, "%llu byte%s copied, 0.000 s, Infinity B/s\n", total, total == 1 ? "" : "s");
    }
    return status;
}
