/* gzip.c - gzip, gunzip, zcat. */
#include "deflate.h"
#include "dates.h"
#include "files.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    int decompress, to_stdout, keep, force, level, quiet, test, verbose, recursive, list, no_name, restore_name;
    const char *suffix;
} gzip_state;

/* Messages about what is in a file begin with an empty line. */
static int bad_data(tool *t, const char *name, const char *error) {
    io_flush(t->out);
    io_printf(t->err, "\n%s: %s: %s\n", t->name, name, error);
    return 1;
}

static int trailing(tool *t, gzip_state *s, const char *name) {
    io_flush(t->out);
    if (!s->quiet) io_printf(t->err, "\n%s: %s: decompression OK, trailing garbage ignored\n", t->name, name);
    return 2;
}

/* st: of the file that is read, whose name and time the header keeps; NULL for standard input. */
static int gzip_stream(tool *t, gzip_state *s, io *from, const char *name, const struct stat *st) {
    buffer in = {.t = t}, out = {.t = t};
    const char *error;
    buffer_read_all(&in, from);
    buffer_puts(&out, "");
    int garbage = 0;
    if (s->decompress) {
        garbage = gunzip_bytes(t, in.p, in.n, &out, &error);
        if (garbage < 0) {
            /* zcat -f passes plain files through */
            if (s->force && s->to_stdout && !strcmp(error, "not in gzip format")) return io_write(t->out, in.p, in.n) < 0;
            return bad_data(t, name, error);
        }
        if (s->test) {
            if (s->verbose) io_printf(t->err, "%s:\t OK\n", name);
            return garbage ? trailing(t, s, name) : 0;
        }
    } else {
        int named = st && !s->no_name;
        gzip_bytes(in.p ? in.p : "", in.n, &out, s->level, named ? path_last(name) : NULL,
            named ? (unsigned long)st->st_mtim.tv_sec : 0);
    }
    int failed = io_write(t->out, out.p, out.n);
    buffer_free(&in);
    buffer_free(&out);
    return failed < 0 ? 1 : garbage ? trailing(t, s, name) : 0;
}

/* How many bytes of a gzip file are data: not its header, name and checks. */
static size_t deflated(const char *p, size_t n) {
    size_t rest = n - 18;
    return p[3] & 8 && n > 10 ? rest - strnlen(p + 10, n - 10) - 1 : rest;
}

/* The name that the header of compressed data keeps; NULL when there is none. */
static const char *header_name(tool *t, const buffer *in) {
    enum { HEADER_BYTES = 10, HAS_EXTRA = 4, HAS_NAME = 8 };
    size_t at = HEADER_BYTES;
    if (in->n < HEADER_BYTES + 2 || !(in->p[3] & HAS_NAME)) return NULL;
    if (in->p[3] & HAS_EXTRA) at += 2 + (unsigned char)in->p[10] + ((size_t)(unsigned char)in->p[11] << 8);
    const char *end = at < in->n ? memchr(in->p + at, 0, in->n - at) : NULL;
    return end && end > in->p + at ? tool_strndup(t, in->p + at, (size_t)(end - in->p - at)) : NULL;
}

static unsigned little32(const char *p) {
    return (unsigned char)p[0] | (unsigned)(unsigned char)p[1] << 8 | (unsigned)(unsigned char)p[2] << 16
           | (unsigned)(unsigned char)p[3] << 24;
}

/* -lv: the method, the check sum and the time of the file. */
static void put_details(tool *t, const buffer *in) {
    buffer when = {.t = t};
    date_format(&when, "%b %e %H:%M", (moment){.tv_sec = (time_t)little32(in->p + 4)}, 0);
    io_printf(t->out, "defla %08x %s ", little32(in->p + in->n - 8), when.p);
}

static int gzip_file(tool *t, gzip_state *s, const char *path) {
    struct stat st;
    size_t n = strlen(path), k = strlen(s->suffix);
    if (path_lstat(path, &st) < 0 && s->decompress && n) {
        char *with = tool_format(t, "%s%s", path, s->suffix);
        if (path_lstat(with, &st) == 0) { path = with; n = strlen(path); }
    }
    if (path_stat(path, &st) < 0)
        return tool_fail_errno(t, 1, "%s%s", path, s->decompress && !strstr(path, s->suffix) ? s->suffix : "");
    if (S_ISDIR(st.st_mode)) {
        if (!s->recursive) { tool_fail(t, 2, "%s is a directory -- ignored", path); return 2; }
        size_t count;
        char **names = directory_names(t, path, &count);
        int status = 0;
        if (tool_too_deep(t)) return 1;
        for (size_t i = 0; names && i < count; i++) status |= gzip_file(t, s, path_join(t, path, names[i]));
        return status;
    }
    int has = n > k && !strcmp(path + n - k, s->suffix), tgz = n > 4 && !strcmp(path + n - 4, ".tgz");
    if (s->decompress && !has && !tgz && !s->to_stdout && !s->test) {
        tool_fail(t, 2, "%s: unknown suffix -- ignored", path);
        return 2;
    }
    if (!s->decompress && has && !s->force && !s->to_stdout) {
        if (!s->recursive) tool_fail(t, 2, "%s already has %s suffix -- unchanged", path, s->suffix);
        return 0;
    }
    io *from = io_open(path, O_RDONLY, 0);
    if (!from) return tool_fail_errno(t, 1, "%s", path);
    if (s->to_stdout || s->test) { int r = gzip_stream(t, s, from, path, &st); io_unref(from); return r; }
    char *target = s->decompress ? (tgz ? tool_format(t, "%.*s.tar", (int)n - 4, path) : tool_strndup(t, path, n - k))
                                 : tool_format(t, "%s%s", path, s->suffix);
    buffer in = {.t = t}, out = {.t = t};
    const char *error, *kept = s->decompress && s->restore_name ? NULL : "";
    int garbage = 0;
    buffer_read_all(&in, from);
    io_unref(from);
    buffer_puts(&out, "");
    if (!s->decompress)
        gzip_bytes(in.p ? in.p : "", in.n, &out, s->level, s->no_name ? NULL : path_last(path),
            s->no_name ? 0 : (unsigned long)st.st_mtim.tv_sec);
    else if ((garbage = gunzip_bytes(t, in.p, in.n, &out, &error)) < 0) return bad_data(t, path, error);
    if (!kept && (kept = header_name(t, &in)))
        target = tool_format(t, "%.*s%s", (int)(path_last(path) - path), path, path_last(kept));
    struct stat other;
    if (path_lstat(target, &other) == 0 && !s->force) {
        tool_fail(t, 2, "%s already exists;\tnot overwritten", target);
        return 2;
    }
    io *to = io_open(target, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (!to) return tool_fail_errno(t, 1, "%s", target);
    io_write(to, out.p, out.n);
    io_unref(to);
    chmod(target, st.st_mode & 07777);
    struct timespec times[2] = {st.st_atim, st.st_mtim};
    utimensat(AT_FDCWD, target, times, 0);
    if (s->verbose)
        io_printf(t->err, "%s:\t%5.1f%% -- %s %s\n", path,
            in.n ? 100.0
                       - 100.0 * (double)deflated(s->decompress ? in.p : out.p, s->decompress ? in.n : out.n)
                             / (double)(s->decompress ? out.n : in.n)
                 : 0.0,
            s->keep ? "created" : "replaced with", target);
    if (!s->keep) unlink(path);
    buffer_free(&in);
    buffer_free(&out);
    return garbage ? trailing(t, s, path) : 0;
}

typedef struct { size_t in, out, data; int files, verbose; } list_totals;

static int gzip_list(tool *t, const char *path, list_totals *sum) {
    size_t n = strlen(path);
    struct stat st;
    int standard = !strcmp(path, "-");
    if (!standard && path_stat(path, &st) < 0 && (n < 3 || strcmp(path + n - 3, ".gz"))) { path = tool_format(t, "%s.gz", path); n += 3; }
    io *from = standard ? io_ref(t->in) : io_open(path, O_RDONLY, 0);
    if (!from) return tool_fail_errno(t, 1, "%s", path);
    buffer in = {.t = t}, out = {.t = t};
    const char *error;
    buffer_read_all(&in, from);
    io_unref(from);
    if (standard) { path = "stdout"; n = strlen(path); }
    if (gunzip_bytes(t, in.p, in.n, &out, &error) < 0) return bad_data(t, path, error);
    if (!sum->files++)
        io_printf(t->out, "%s         compressed        uncompressed  ratio uncompressed_name\n",
            sum->verbose ? "method  crc     date  time  " : "");
    if (sum->verbose && in.n >= 18) put_details(t, &in);
    io_printf(t->out, "%19zu %19zu %5.1f%% %.*s\n", in.n, out.n,
        out.n ? 100.0 - 100.0 * (double)deflated(in.p, in.n) / (double)out.n : 0.0,
        (int)(n > 3 && !strcmp(path + n - 3, ".gz") ? n - 3 : n), path);
    sum->in += in.n;
    sum->out += out.n;
    sum->data += deflated(in.p, in.n);
    return 0;
}

static int gzip_main(tool *t, int argc, char **argv, int decompress, int to_stdout) {
    static const tool_long longs[]
        = {{"decompress", 0, 'd'}, {"uncompress", 0, 'd'}, {"stdout", 0, 'c'}, {"to-stdout", 0, 'c'}, {"keep", 0, 'k'},
            {"force", 0, 'f'}, {"fast", 0, '1'}, {"best", 0, '9'}, {"quiet", 0, 'q'}, {"test", 0, 't'}, {"verbose", 0, 'v'},
            {"recursive", 0, 'r'}, {"suffix", 1, 'S'}, {"no-name", 0, 'n'}, {"name", 0, 'N'}, {"list", 0, 'l'}, {0, 0, 0}};
    gzip_state s = {.decompress = decompress, .to_stdout = to_stdout, .level = 6, .suffix = ".gz"};
    list_totals sum = {0};
    int c, status = 0;
    tool_opts o;
    t->name = "gzip";
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "dckfqtvrS:nNlV123456789", longs)) != -1;) switch (c) {
        case 'd': s.decompress = 1; break;
        case 'c': s.to_stdout = 1; break;
        case 'k': s.keep = 1; break;
        case 'f': s.force = 1; break;
        case 'q': s.quiet = 1; break;
        case 't': s.test = s.decompress = 1; break;
        case 'v': s.verbose = 1; break;
        case 'r': s.recursive = 1; break;
        case 'S': s.suffix = o.arg; break;
        case 'n': s.no_name = 1; break;
        case 'N': s.restore_name = 1; break;
        case 'l': s.list = 1; break;
        case 'V': io_puts(t->out, "gzip 1.12\n"); return 0;
        case '?': return 1;
        default: s.level = c - '0';
    }
    sum.verbose = s.verbose;
    if (o.index >= argc && s.list) return gzip_list(t, "-", &sum);
    if (o.index >= argc) return gzip_stream(t, &s, t->in, "stdin", NULL);
    for (int i = o.index; i < argc; i++) {
        int r = s.list                 ? gzip_list(t, argv[i], &sum)
                : strcmp(argv[i], "-") ? gzip_file(t, &s, argv[i])
                                       : gzip_stream(t, &s, t->in, "stdin", NULL);
        if (r == 1 || !status) status = r;
        if (io_failed(t->out)) return 1;
    }
    if (s.list && argc - o.index > 1)
        io_printf(t->out, "%*s%19zu %19zu %5.1f%% (totals)\n", sum.verbose ? 28 : 0, "", sum.in, sum.out,
            sum.out ? 100.0 - 100.0 * (double)sum.data / (double)sum.out : 0.0);
    return status;
}

int tool_gzip(tool *t, int argc, char **argv) { return gzip_main(t, argc, argv, 0, 0); }
int tool_gunzip(tool *t, int argc, char **argv) { return gzip_main(t, argc, argv, 1, 0); }
int tool_zcat(tool *t, int argc, char **argv) { return gzip_main(t, argc, argv, 1, 1); }
