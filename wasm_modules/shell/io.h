/* io.h - byte streams: what commands read from and write to.
 *
 * WASI preview 1 has no pipe(2) and no dup(2), so the shell has streams of its own. A stream is a file (a WASI descriptor), a
 * memory buffer (a pipe between two commands of a pipeline, a here-document, the output of $(...)), or nothing (/dev/null). All
 * are buffered; all are reference counted; none ever blocks. Errors are returned and leave errno set.
 *
 * RULES. Nothing outside io.c touches a descriptor for reading or writing text. Writing to a pipe whose reader is gone gives -1
 * and EPIPE: the writer stops at once and quietly, as after SIGPIPE (status 141).
 */
#ifndef HATCH_IO_H
#define HATCH_IO_H
#include <stddef.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct io io;

io *io_fd(int fd, int can_read, int can_write);      /* wrap a descriptor; closed with the stream unless it is 0, 1 or 2 */
io *io_open(const char *path, int flags,
    int mode); /* open(2); knows /dev/null, /dev/stdin, /dev/stdout, /dev/stderr, /dev/fd/N via the shell; NULL and errno */
io *io_pipe(void);                                   /* a memory buffer: written at the end, read from the start */
io *io_writer(io *pipe);                             /* an end of it that can only be written to */
void io_await_writer(io *pipe);                      /* forgets ends that are closed: a new reader waits for a new writer */
bool io_written_out(io *pipe);                       /* such ends there were, and all are closed: nothing more will come */
io *io_text(const char *bytes, size_t len);          /* a read-only buffer holding a copy */
io *io_view(const char *bytes, size_t len);          /* the same without a copy: the bytes must outlive the stream, and stay */
io *io_null(void);
io *io_ref(io *s);
void io_unref(io *s);                                /* flushes and frees at the last reference; NULL is fine */

ssize_t io_read(io *s, void *to, size_t n);          /* 1..n bytes, 0 at the end, -1 on error */
int io_getc(io *s);                                  /* a byte, or -1 at the end or on error */
void io_ungetc(io *s, int c);                        /* one byte, right after io_getc */
ssize_t io_getdelim(io *s, char **line, size_t *cap, int delim); /* like getdelim(3): the delimiter is kept; -1 at the end */
ssize_t io_line(io *s, const char **line, int delim); /* as io_getdelim, but a view that lives until the next call on s */
int io_write(io *s, const void *from, size_t n);     /* 0, or -1: stop writing */
int io_puts(io *s, const char *text);
int io_putc(io *s, int c);
int io_printf(io *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
int io_vprintf(io *s, const char *format, va_list args);
int io_flush(io *s);
off_t io_seek(io *s, off_t offset, int whence);      /* files and read-only buffers; -1 otherwise */
int io_fileno(io *s);                                /* the descriptor of a file stream, or -1 */
int io_is_pipe(io *s);                               /* a memory buffer, as pipes and here-documents are, or a FIFO */
int io_failed(io *s);                                /* the sticky errno of the first failed operation, 0 if none */
int io_fail(io *s, int err);                            /* remembers the error, as a write that fails does; -1 */
void io_close_reader(io *s);                         /* further writes to this pipe give EPIPE */
const char *io_bytes(io *s, size_t *len);            /* what a pipe or buffer still holds unread */
const char *io_rest(io *s, size_t *len);             /* all up to the end, left unread; NULL on error */
void io_skip(io *s, size_t n);                       /* n of the bytes that io_rest showed are read */
/* For a reader that stops early and would have read a block: what lies in a pipe behind its last line is gone for the next reader,
 * as after head, grep -m or sed q. A file stays where it is. */
void io_take_block(io *s);
/* For pipelines: `full` is called when a write leaves more than limit bytes unread in a pipe; `dry` when a read finds a memory
 * stream empty, before it would report the end: it returns 0 for the end, 1 when it may have written more, -1 to fail the read.
 */
void io_watch_full(io *s, size_t limit, void (*full)(io *s, void *ctx), void *ctx);
void io_watch_dry(io *s, int (*dry)(io *s, void *ctx), void *ctx);
int io_flush_all(void);                              /* every file stream with unwritten bytes, except 0, 1 and 2 */
int io_show(void);                                   /* what was written for the host's stdout */
extern void (*io_no_room)(void);  /* set by the shell: a memory stream cannot grow; may not return. After it the write fails */
extern io *(*io_shell_fd)(int n); /* set by the shell: descriptor N of the running command (borrowed), or NULL */
/* N when path is /dev/stdin, /dev/stdout, /dev/stderr, /dev/fd/N or /proc/self/fd/N, else -1. */
int io_device_fd(const char *path);
extern bool (*io_in_fds)(void);    /* set by the shell: whether its folder is /dev/fd, where 63 is a descriptor */
#endif
