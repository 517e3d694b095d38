/* bzip2.c - bzip2, bunzip2 and bzcat: compress files, or bring them back. */
#include "bzip.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TROUBLE = 1, NOT_BZIP2 = 2 };

typedef struct { int decompress, to_stdout, keep, force, test, verbose, quiet; } bzip2_state;

static int usage(tool *t, const char *flag) {
    tool_fail(t, TROUBLE, "Bad flag `%s'", flag);
    io_puts(t->err, "usage: bzip2 [flags and input files in any order]\n");
    return TROUBLE;
}

static int ends_with(const char *name, const char *end) {
    size_t n = strlen(name), k = strlen(end);
    return n > k && !strcmp(name + n - k, end);
}

/* The name of what a compressed file holds; NULL when its own does not tell. */
static char *plain_name(tool *t, const char *name) {
    static const char *const from[] = {".bz2", ".bz", ".tbz2", ".tbz"}, *const to[] = {"", "", ".tar", ".tar"};
    for (int i = 0; i < 4; i++)
        if (ends_with(name, from[i])) return tool_format(t, "%.*s%s", (int)(strlen(name) - strlen(from[i])), name, to[i]);
    return NULL;
}

static int refuse_data(tool *t, const bzip2_state *s, const char *name, int why) {
    if (s->test && why == -1) return tool_fail(t, NOT_BZIP2, "%s: bad magic number (file not created by bzip2)", name);
    if (why == -1) return tool_fail(t, NOT_BZIP2, "%s is not a bzip2 file.", name);
    return tool_fail(t, NOT_BZIP2, "Data integrity error when decompressing.\n\tInput file = %s", name);
}

static void report(tool *t, const char *name, size_t in, size_t out) {
    if (!in) { io_printf(t->err, "  %s: no data compressed.\n", name); return; }
    io_printf(t->err, "  %s: %6.3f:1, %6.3f bits/byte, %5.2f%% saved, %zu in, %zu out.\n", name, (double)in / (double)out,
        8.0 * (double)out / (double)in, 100.0 * (1.0 - (double)out / (double)in), in, out);
}

static int convert(tool *t, const bzip2_state *s, io *from, const char *name, buffer *out) {
    buffer in = {.t = t};
    if (buffer_read_all(&in, from) < 0) return tool_fail(t, TROUBLE, "I/O or other error, bailing out.");
    if (!s->decompress) {
        bzip_bytes(t, in.p ? in.p : "", in.n, out);
        if (s->verbose) report(t, name, in.n, out->n);
        return 0;
    }
    int why = bunzip_bytes(t, in.p ? in.p : "", in.n, out);
    if (why == -1 && s->force && s->to_stdout) { buffer_add(out, in.p, in.n); return 0; }
    if (why < 0) return refuse_data(t, s, name, why);
    if (s->verbose) io_printf(t->err, "  %s: %s\n", name, s->test ? "ok" : "done");
    return 0;
}

static int one_file(tool *t, const bzip2_state *s, const char *name) {
    struct stat st, old;
    char *target = s->decompress ? plain_name(t, name) : tool_format(t, "%s.bz2", name);
    if (path_stat(name, &st) < 0) return tool_fail(t, TROUBLE, "Can't open input file %s: %s.", name, strerror(errno));
    if (S_ISDIR(st.st_mode)) return tool_fail(t, TROUBLE, "Input file %s is a directory.", name);
    if (!s->decompress && !s->to_stdout && plain_name(t, name)) {
        const char *dot = strrchr(name, '.');
        return tool_fail(t, TROUBLE, "Input file %s already has %s suffix.", name, dot);
    }
    int writes = !s->to_stdout && !s->test;
    if (writes && !target) {
        target = tool_format(t, "%s.out", name);
        if (!s->quiet) tool_fail(t, 0, "Can't guess original name for %s -- using %s", name, target);
    }
    if (writes && path_lstat(target, &old) == 0 && !s->force)
        return tool_fail(t, TROUBLE, "Output file %s already exists.", target);
    io *from = io_open(name, O_RDONLY, 0);
    if (!from) return tool_fail(t, TROUBLE, "Can't open input file %s: %s.", name, strerror(errno));
    buffer out = {.t = t};
    int status = convert(t, s, from, name, &out);
    io_unref(from);
    if (status || s->test) return status;
    io *to = writes ? io_open(target, O_WRONLY | O_CREAT | O_TRUNC, 0666) : io_ref(t->out);
    if (!to) return tool_fail(t, TROUBLE, "Can't create output file %s: %s.", target, strerror(errno));
    status = io_write(to, out.p ? out.p : "", out.n) < 0 || io_flush(to) < 0;
    io_unref(to);
    if (status || !writes) return status;
    struct timespec times[2] = {st.st_atim, st.st_mtim};
    utimensat(AT_FDCWD, target, times, 0);
    chmod(target, st.st_mode & 07777);
    if (!s->keep) unlink(name);
    return 0;
}

static int bzip2_main(tool *t, int argc, char **argv, bzip2_state s) {
    int status = 0, files = 0, only_files = 0;
    static const struct { const char *word; char letter; } words[] = {{"--decompress", 'd'}, {"--compress", 'z'}, {"--keep", 'k'},
        {"--force", 'f'}, {"--test", 't'}, {"--stdout", 'c'}, {"--quiet", 'q'}, {"--verbose", 'v'}, {"--small", 's'},
        {"--fast", '1'}, {"--best", '9'}};
    for (int i = 1; i < argc; i++) {
        char *w = argv[i];
        if (only_files || w[0] != '-' || !w[1]) { files++; continue; }
        if (!strcmp(w, "--")) { only_files = 1; continue; }
        char letter[2] = {0, 0};
        for (size_t k = 0; k < sizeof words / sizeof *words; k++) if (!strcmp(w, words[k].word)) letter[0] = words[k].letter;
        if (w[1] == '-' && !*letter) return usage(t, w);
        for (const char *p = *letter ? letter : w + 1; *p; p++) switch (*p) {
            case 'd': s.decompress = 1; break;
            case 'z': s.decompress = 0; break;
            case 'c': s.to_stdout = 1; break;
            case 'k': s.keep = 1; break;
            case 'f': s.force = 1; break;
            case 't': s.test = s.decompress = 1; break;
            case 'v': s.verbose = 1; break;
            case 'q': s.quiet = 1; break;
            case 's': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9': break;
            case 'L': case 'V':
                io_puts(t->err, "bzip2, a block-sorting file compressor.  Version 1.0.8, 13-Jul-2019.\n");
                return 0;
            default: return usage(t, tool_format(t, "-%c", *p));
        }
    }
    if (!files) {
        buffer out = {.t = t};
        status = convert(t, &s, t->in, "(stdin)", &out);
        return status || s.test ? status : io_write(t->out, out.p ? out.p : "", out.n) < 0;
    }
    only_files = 0;
    for (int i = 1; i < argc; i++) {
        if (!only_files && argv[i][0] == '-' && argv[i][1]) { only_files |= !strcmp(argv[i], "--"); continue; }
        int got = one_file(t, &s, argv[i]);
        if (got > status) status = got;
    }
    return status;
}

int tool_bzip2(tool *t, int argc, char **argv) { return bzip2_main(t, argc, argv, (bzip2_state){0}); }
int tool_bunzip2(tool *t, int argc, char **argv) { return bzip2_main(t, argc, argv, (bzip2_state){.decompress = 1}); }
int tool_bzcat(tool *t, int argc, char **argv) { return bzip2_main(t, argc, argv, (bzip2_state){.decompress = 1, .to_stdout = 1}); }
