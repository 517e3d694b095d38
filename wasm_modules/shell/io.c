/* io.c - the streams of io.h.
 *
 * A file stream has one read buffer and one write buffer, each allocated at first use, never both non-empty: reading flushes
 * what was written, writing gives unread bytes back with lseek. A memory stream is one growing buffer with a read offset.
 *
 * INVARIANT: every file stream with unwritten bytes and a descriptor above 2 is on the dirty list, so that io_open can flush
 * them before anybody reads the same file by name. When something is written to the host's stderr, nothing is unwritten for its
 * stdout: who reads both sees them in order.
 */
#include "io.h"
#include "fifo.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUF_SIZE = 32768, OUT_SIZE = 16384, PIPE_BLOCK = 65536 };
enum kind { K_FILE, K_MEM, K_END, K_NULL, K_ZERO, K_FULL, K_RANDOM };

struct io {
    enum kind kind;
    int refs, fd, can_read, can_write, err, reader_gone, is_view;
    char *buf;                 /* bytes to read: buf[start..end) */
    size_t start, end, cap;
    char *out;                 /* bytes to write: out[0..out_len) */
    size_t out_len;
    io *dirty_next, *dirty_prev;
    int is_dirty;
    io *to;                    /* the pipe that this is an end of */
    int ends, ends_open;       /* of this pipe: how many there have been, how many are left */
    size_t limit;              /* of a watched pipe */
    void (*full)(io *s, void *ctx);
    int (*dry)(io *s, void *ctx);
    void *watch;
};

static io *dirty;              /* head of the dirty list: session state, empty between commands that flush */
static io *host_stdout;        /* the stream around descriptor 1 */
io *(*io_shell_fd)(int n);
bool (*io_in_fds)(void);
void (*io_no_room)(void);

static void set_dirty(io *s) {
    if (s->is_dirty || s->fd <= 2) return;
    s->is_dirty = 1;
    s->dirty_prev = NULL;
    s->dirty_next = dirty;
    if (dirty) dirty->dirty_prev = s;
    dirty = s;
}

static void set_clean(io *s) {
    if (!s->is_dirty) return;
    s->is_dirty = 0;
    if (s->dirty_prev) s->dirty_prev->dirty_next = s->dirty_next; else dirty = s->dirty_next;
    if (s->dirty_next) s->dirty_next->dirty_prev = s->dirty_prev;
}

static int fail(io *s, int err) {
    if (!s->err) s->err = err;
    errno = err;
    return -1;
}

static io *make(enum kind kind) {
    io *s = calloc(1, sizeof *s);
    if (!s) { errno = ENOMEM; return NULL; }
    s->kind = kind;
    s->refs = 1;
    s->fd = -1;
    s->can_read = s->can_write = 1;
    return s;
}

io *io_fd(int fd, int can_read, int can_write) {
    io *s = make(K_FILE);
    if (!s) return NULL;
    s->fd = fd;
    s->can_read = can_read;
    s->can_write = can_write;
    if (fd == 1) host_stdout = s;
    return s;
}

int io_device_fd(const char *path) {
    if (!strcmp(path, "/dev/stdin")) return 0;
    if (!strcmp(path, "/dev/stdout")) return 1;
    if (!strcmp(path, "/dev/stderr")) return 2;
    const char *name = !strncmp(path, "/dev/fd/", 8)          ? path + 8
                       : !strncmp(path, "/proc/self/fd/", 14) ? path + 14
                       : io_in_fds && io_in_fds()             ? path
                                                              : "";
    if (!*name) return -1;
    int n = 0;
    for (const char *p = name; *p; p++) {
        if (*p < '0' || *p > '9' || n > 100000) return -1;
        n = n * 10 + (*p - '0');
    }
    return n;
}

io *io_open(const char *path, int flags, int mode) {
    if (!*path) { errno = ENOENT; return NULL; }         /* WASI takes it for the current directory */
    if (!strncmp(path, "/dev/", 5) || !strncmp(path, "/proc/self/fd/", 14) || (io_in_fds && *path <= '9' && io_in_fds())) {
        if (!strcmp(path, "/dev/null")) return make(K_NULL);
        if (!strcmp(path, "/dev/zero")) return make(K_ZERO);
        if (!strcmp(path, "/dev/full")) return make(K_FULL);
        if (!strcmp(path, "/dev/urandom") || !strcmp(path, "/dev/random")) return make(K_RANDOM);
        int n = io_device_fd(path);
        if (n >= 0 && io_shell_fd) {
            io *s = io_shell_fd(n);
            if (!s) { errno = ENOENT; return NULL; }
            return io_ref(s);
        }
        if (n >= 0 && n <= 2) return io_fd(n, n == 0, n != 0);
    }
    io *named = fifo_open(path, flags);
    if (named) return named;
    io_flush_all();
    if (!(flags & O_ACCMODE)) flags |= O_RDONLY;   /* not 0 in WASI */
    int fd = open(path, flags, mode);
    if (fd < 0) return NULL;
    int access = flags & O_ACCMODE;
    io *s = io_fd(fd, access != O_WRONLY, access != O_RDONLY);
    if (!s) close(fd);
    return s;
}

io *io_pipe(void) { return make(K_MEM); }

io *io_writer(io *pipe) {
    io *s = make(K_END);
    if (!s) return NULL;
    s->can_read = 0;
    s->to = io_ref(pipe);
    pipe->ends++;
    pipe->ends_open++;
    return s;
}

void io_await_writer(io *pipe) { if (!pipe->ends_open && pipe->start == pipe->end) pipe->ends = 0; }

bool io_written_out(io *pipe) { return pipe->ends && !pipe->ends_open; }

io *io_text(const char *bytes, size_t len) {
    io *s = make(K_MEM);
    if (!s) return NULL;
    s->buf = malloc(len ? len : 1);
    if (!s->buf) { free(s); errno = ENOMEM; return NULL; }
    memcpy(s->buf, bytes, len);
    s->end = s->cap = len;
    s->can_write = 0;
    return s;
}

io *io_view(const char *bytes, size_t len) {
    io *s = make(K_MEM);
    if (!s) return NULL;
    s->buf = (char *)bytes;
    s->end = s->cap = len;
    s->can_write = 0;
    s->is_view = 1;
    return s;
}

io *io_null(void) { return make(K_NULL); }

io *io_ref(io *s) {
    if (s) s->refs++;
    return s;
}

void io_unref(io *s) {
    if (!s || --s->refs > 0) return;
    io_flush(s);
    set_clean(s);
    if (s == host_stdout) host_stdout = NULL;
    if (s->kind == K_FILE && s->fd > 2) close(s->fd);
    if (s->to) { s->to->ends_open--; io_unref(s->to); }
    if (!s->is_view) free(s->buf);
    free(s->out);
    free(s);
}

static int write_all(io *s, const char *from, size_t n) {
    while (n) {
        ssize_t w = write(s->fd, from, n);
        if (w < 0) {
            if (errno == EINTR) continue;
            return fail(s, errno);
        }
        from += w;
        n -= (size_t)w;
    }
    return 0;
}

int io_flush(io *s) {
    if (s->kind != K_FILE || !s->out_len) return s->err && s->can_write && !s->can_read ? -1 : 0;
    size_t n = s->out_len;
    s->out_len = 0;
    set_clean(s);
    return write_all(s, s->out, n);
}

int io_show(void) { return host_stdout ? io_flush(host_stdout) : 0; }

int io_flush_all(void) {
    int status = 0;
    while (dirty) if (io_flush(dirty) < 0) status = -1;
    return status;
}

static int resize(io *s, size_t cap) {
    char *grown = realloc(s->buf, cap);
    if (!grown) return -1;
    s->buf = grown;
    s->cap = cap;
    return 0;
}

/* Room for at least that many bytes: twice what there was, or less where that is too much. */
static int grow(io *s, size_t least) {
    size_t twice = s->cap < 128 ? 256 : s->cap * 2, quarter = s->cap + s->cap / 4;
    if (twice > s->cap && resize(s, twice > least ? twice : least) == 0) return 0;
    if (quarter > least && resize(s, quarter) == 0) return 0;
    return resize(s, least);
}

/* Data that has no place must not look like data that has ended. */
static int no_room(io *s) {
    if (io_no_room) io_no_room();
    return fail(s, ENOMEM);
}

/* Puts more bytes behind buf[end) of a file stream; keeps what is unread. Returns how many, 0 at the end, -1 on error. */
static ssize_t fill(io *s) {
    if (s->kind == K_MEM && s->dry) {
        size_t before = s->end - s->start;   /* what is unread may move when more is written */
        int more = s->dry(s, s->watch);
        if (more < 0) return fail(s, EINTR);
        return more && s->end - s->start > before ? (ssize_t)(s->end - s->start - before) : 0;
    }
    if (s->kind != K_FILE) return 0;
    if (!s->can_read) return fail(s, EBADF);
    if (s->out_len && io_flush(s) < 0) return -1;
    if (s->start == s->end) s->start = s->end = 0;
    if (s->start && s->end == s->cap) {
        memmove(s->buf, s->buf + s->start, s->end - s->start);
        s->end -= s->start;
        s->start = 0;
    }
    if (s->end == s->cap && grow(s, s->cap + BUF_SIZE) < 0) return no_room(s);
    for (;;) {
        ssize_t n = read(s->fd, s->buf + s->end, s->cap - s->end);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail(s, errno);
        s->end += (size_t)n;
        return n;
    }
}

ssize_t io_read(io *s, void *to, size_t n) {
    if (!n) return 0;
    if (s->kind == K_ZERO) { memset(to, 0, n); return (ssize_t)n; }
    if (s->kind == K_FULL) { memset(to, 0, n); return (ssize_t)n; }
    if (s->kind == K_RANDOM) {
        if (n > 256) n = 256;
        return getentropy(to, n) < 0 ? fail(s, errno) : (ssize_t)n;
    }
    if (!s->can_read) return fail(s, EBADF);
    if (s->start == s->end) {
        ssize_t got = fill(s);
        if (got <= 0) return got;
    }
    size_t have = s->end - s->start;
    if (n > have) n = have;
    memcpy(to, s->buf + s->start, n);
    s->start += n;
    return (ssize_t)n;
}

int io_getc(io *s) {
    if (s->start < s->end) return (unsigned char)s->buf[s->start++];
    unsigned char c;
    return io_read(s, &c, 1) == 1 ? c : -1;
}

void io_ungetc(io *s, int c) {
    if (c >= 0 && s->start > 0) s->buf[--s->start] = (char)c;
}

ssize_t io_line(io *s, const char **line, int delim) {
    if (s->kind == K_NULL) return -1;
    if (s->kind == K_ZERO || s->kind == K_FULL || s->kind == K_RANDOM) { fail(s, EINVAL); return -1; }
    if (!s->can_read) return fail(s, EBADF);
    size_t seen = 0;
    for (;;) {
        size_t have = s->end - s->start;
        if (have > seen) {
            char *at = memchr(s->buf + s->start + seen, delim, have - seen);
            if (at) {
                *line = s->buf + s->start;
                size_t n = (size_t)(at - *line) + 1;
                s->start += n;
                return (ssize_t)n;
            }
            seen = have;
        }
        ssize_t got = fill(s);
        if (got > 0) continue;
        if (!seen || got < 0) return -1;
        *line = s->buf + s->start;
        s->start = s->end;
        return (ssize_t)seen;
    }
}

ssize_t io_getdelim(io *s, char **line, size_t *cap, int delim) {
    const char *view;
    ssize_t n = io_line(s, &view, delim);
    if (n < 0) return -1;
    if (!*line || *cap < (size_t)n + 1) {
        size_t want = (size_t)n + 1 < 128 ? 128 : (size_t)n + 1 + (size_t)n / 2;
        char *grown = realloc(*line, want);
        if (!grown) return no_room(s);
        *line = grown;
        *cap = want;
    }
    memcpy(*line, view, (size_t)n);
    (*line)[n] = '\0';
    return n;
}

/* Makes room for n more bytes at the end of a memory stream. */
static int reserve(io *s, size_t n) {
    if (s->cap - s->end >= n) return 0;
    if (s->start && s->start >= s->end / 2) {
        memmove(s->buf, s->buf + s->start, s->end - s->start);
        s->end -= s->start;
        s->start = 0;
        if (s->cap - s->end >= n) return 0;
    }
    return s->end + n < n ? -1 : grow(s, s->end + n);
}

/* A pipe that cannot hold more: if its readers have enough, its writer may stop. */
static int overflow(io *s, size_t n) {
    if (s->full) {
        s->full(s, s->watch);
        if (s->reader_gone) return fail(s, EPIPE);
        if (reserve(s, n) == 0) return 0;
    }
    return no_room(s);
}

static int write_file(io *s, const char *from, size_t n) {
    if (s->start != s->end && s->can_read) {
        lseek(s->fd, -(off_t)(s->end - s->start), SEEK_CUR);
        s->start = s->end = 0;
    }
    if (s->fd == 2) { io_show(); return write_all(s, from, n); }
    if (!s->out && !(s->out = malloc(OUT_SIZE))) return no_room(s);
    if (n > OUT_SIZE - s->out_len && io_flush(s) < 0) return -1;
    if (n >= OUT_SIZE) return write_all(s, from, n);
    memcpy(s->out + s->out_len, from, n);
    s->out_len += n;
    set_dirty(s);
    return 0;
}

int io_write(io *s, const void *from, size_t n) {
    switch (s->kind) {
    case K_NULL: case K_ZERO: case K_RANDOM: return 0;
    case K_FULL: return n ? fail(s, ENOSPC) : 0;
    case K_END: return io_write(s->to, from, n);
    case K_MEM:
        if (!s->can_write) return fail(s, EBADF);
        if (s->reader_gone) return fail(s, EPIPE);
        if (!n) return 0;
        if (reserve(s, n) < 0 && overflow(s, n) < 0) return -1;
        memcpy(s->buf + s->end, from, n);
        s->end += n;
        if (s->full && s->end - s->start > s->limit) {
            s->full(s, s->watch);
            if (s->reader_gone) return fail(s, EPIPE);
        }
        return 0;
    case K_FILE: break;
    }
    if (!s->can_write) return fail(s, EBADF);
    if (s->err) { errno = s->err; return -1; }
    return n ? write_file(s, from, n) : 0;
}

int io_puts(io *s, const char *text) { return io_write(s, text, strlen(text)); }

int io_putc(io *s, int c) {
    char byte = (char)c;
    if (s->kind == K_FILE && s->out && s->out_len && s->out_len < OUT_SIZE) {
        s->out[s->out_len++] = byte;
        return 0;
    }
    return io_write(s, &byte, 1);
}

off_t io_seek(io *s, off_t offset, int whence) {
    if (s->kind == K_MEM && !s->can_write) {
        off_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? (off_t)s->start : (off_t)s->end;
        off_t to = base + offset;
        if (to < 0 || to > (off_t)s->end) { errno = EINVAL; return -1; }
        s->start = (size_t)to;
        return to;
    }
    if (s->kind == K_NULL || s->kind == K_ZERO) return 0;
    if (s->kind != K_FILE) { errno = ESPIPE; return -1; }
    if (s->out_len && io_flush(s) < 0) return -1;
    if (whence == SEEK_CUR) offset -= (off_t)(s->end - s->start);
    off_t to = lseek(s->fd, offset, whence);
    if (to >= 0) s->start = s->end = 0;
    return to;
}

int io_fileno(io *s) { return s->kind == K_FILE ? s->fd : -1; }

int io_is_pipe(io *s) {
    struct stat st;
    return s->kind == K_MEM || s->kind == K_END || (s->kind == K_FILE && fstat(s->fd, &st) == 0 && S_ISFIFO(st.st_mode));
}

int io_failed(io *s) { return s->err; }
int io_fail(io *s, int err) { return fail(s, err); }
void io_close_reader(io *s) { s->reader_gone = 1; }

void io_watch_full(io *s, size_t limit, void (*full)(io *s, void *ctx), void *ctx) {
    s->limit = limit;
    s->full = full;
    s->watch = ctx;
}

void io_watch_dry(io *s, int (*dry)(io *s, void *ctx), void *ctx) {
    s->dry = dry;
    s->watch = ctx;
}

const char *io_bytes(io *s, size_t *len) {
    *len = s->end - s->start;
    return *len ? s->buf + s->start : "";
}

const char *io_rest(io *s, size_t *len) {
    ssize_t got;
    while ((got = fill(s)) > 0) {}
    return got < 0 ? NULL : io_bytes(s, len);
}

void io_take_block(io *s) {
    size_t there;
    io_bytes(s, &there);
    if (io_is_pipe(s)) io_skip(s, there < PIPE_BLOCK ? there : PIPE_BLOCK);
}

void io_skip(io *s, size_t n) { s->start += n < s->end - s->start ? n : s->end - s->start; }
