/* shred.c - shred and fallocate: writing over files, and making room in them. What the host keeps of old bytes is not ours to
 * erase. */
#include "buffer.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK_BYTES = 4096 };

static int overwrite(int fd, unsigned long long size, int random) {
    unsigned char block[256];
    memset(block, 0, sizeof block);
    if (lseek(fd, 0, SEEK_SET) < 0) return -1;
    while (size) {
        size_t n = size < sizeof block ? (size_t)size : sizeof block;
        if (random && getentropy(block, sizeof block) < 0) return -1;
        ssize_t w = write(fd, block, n);
        if (w <= 0) return -1;
        size -= (unsigned long long)w;
    }
    return 0;
}

typedef struct { int passes, zero, remove, verbose, exact; unsigned long long size; } shred_state;

static int shred_file(tool *t, const char *path, const shred_state *s) {
    struct stat st;
    int fd = open(path, O_WRONLY);
    if (fd < 0) return tool_fail_errno(t, 1, "%s: failed to open for writing", tool_name(t, path));
    unsigned long long size = s->size;
    if (!size && fstat(fd, &st) == 0) {
        size = (unsigned long long)st.st_size;
        if (!s->exact && size) size = (size + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
    }
    int status = 0, total = s->passes + s->zero;
    for (int i = 1; i <= total && !status; i++) {
        int random = i <= s->passes;
        if (s->verbose) tool_fail(t, 0, "%s: pass %d/%d (%s)...", path, i, total, random ? "random" : "000000");
        if (overwrite(fd, size, random) < 0) status = tool_fail_errno(t, 1, "%s: error writing", tool_name(t, path));
    }
    close(fd);
    if (!status && s->remove) {
        if (s->verbose) tool_fail(t, 0, "%s: removing", path);
        if (unlink(path) < 0) status = tool_fail_errno(t, 1, "%s: failed to remove", tool_name(t, path));
        else if (s->verbose) tool_fail(t, 0, "%s: removed", path);
    }
    return status;
}

int tool_shred(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"exact", 0, 'x'}, {"force", 0, 'f'}, {"iterations", 1, 'n'}, {"size", 1, 's'},
        {"remove", 2, 'u'}, {"verbose", 0, 'v'}, {"zero", 0, 'z'}, {"random-source", 1, 'R'}, {0, 0, 0}};
    shred_state s = {.passes = 3};
    int status = 0, c;
    unsigned long long n;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "fn:s:uvxz", longs)) != -1;) switch (c) {
        case 'n':
            if (size_parse(o.arg, &n) < 0) return tool_fail(t, 1, "invalid number of passes: %s", tool_cite(t, o.arg));
            s.passes = n > 1000 ? 1000 : (int)n;
            break;
        case 's':
            if (size_parse(o.arg, &s.size) < 0) return tool_fail(t, 1, "invalid file size: %s", tool_cite(t, o.arg));
            break;
        case 'u': s.remove = 1; break;
        case 'v': s.verbose = 1; break;
        case 'x': s.exact = 1; break;
        case 'z': s.zero = 1; break;
        case 'f': case 'R': break;
        default: return 1;
    }
    if (o.index >= argc) { tool_fail(t, 1, "missing file operand"); return tool_usage(t, 1); }
    for (int i = o.index; i < argc; i++) status |= shred_file(t, argv[i], &s);
    return status;
}

int tool_fallocate(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"length", 1, 'l'}, {"offset", 1, 'o'}, {"keep-size", 0, 'n'}, {"posix", 0, 'x'},
        {"verbose", 0, 'v'}, {"punch-hole", 0, 'p'}, {"zero-range", 0, 'z'}, {0, 0, 0}};
    unsigned long long length = 0, offset = 0;
    int has_length = 0, keep = 0, c;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "l:o:nxvpz", longs)) != -1;) switch (c) {
        case 'l':
            if (size_parse(o.arg, &length) < 0 || !length) return tool_fail(t, 1, "invalid length value specified");
            has_length = 1;
            break;
        case 'o': if (size_parse(o.arg, &offset) < 0) return tool_fail(t, 1, "invalid offset value specified"); break;
        case 'n': case 'p': keep = 1; break;
        case '?': return 1;
    }
    if (o.index >= argc) return tool_fail(t, 1, "no filename specified");
    if (!has_length) return tool_fail(t, 1, "no length argument specified");
    int fd = open(argv[o.index], O_RDWR | O_CREAT, 0666);
    if (fd < 0) return tool_fail_errno(t, 1, "cannot open %s", argv[o.index]);
    struct stat st;
    int status = 0;
    if (!keep && fstat(fd, &st) == 0 && (unsigned long long)st.st_size < offset + length
        && ftruncate(fd, (off_t)(offset + length)) < 0)
        status = tool_fail_errno(t, 1, "fallocate failed");
    close(fd);
    return status;
}
