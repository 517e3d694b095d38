/* fifo.c - see fifo.h. A file is known by its inode and by the time it was made: one that takes the inode over later is newer. */
#include "fifo.h"
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum { FIFOS_KEPT = 64 };

typedef struct { struct stat made; io *pipe; } fifo;

static fifo fifos[FIFOS_KEPT];   /* the last ones made; an older one has become an ordinary empty file */
static unsigned made_n;
int (*fifo_dry)(io *s, void *ctx);

static fifo *find(const struct stat *st)
{
    for (unsigned i = 0; i < made_n && i < FIFOS_KEPT; i++) {
        const struct stat *m = &fifos[i].made;
        if (m->st_ino == st->st_ino && m->st_dev == st->st_dev && m->st_mtim.tv_sec == st->st_mtim.tv_sec &&
            m->st_mtim.tv_nsec == st->st_mtim.tv_nsec)
            return &fifos[i];
    }
    return NULL;
}

static fifo *find_path(const char *path)
{
    struct stat st;
    return made_n && stat(path, &st) == 0 ? find(&st) : NULL;
}

static int dry(io *s, void *ctx) { return fifo_dry ? fifo_dry(s, ctx) : 0; }

int fifo_make(const char *path)
{
    struct stat st;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (fd < 0) return -1;
    int status = fstat(fd, &st);
    close(fd);
    if (status < 0) return -1;
    io *pipe = io_pipe();
    if (!pipe) return -1;
    io_watch_dry(pipe, dry, NULL);
    fifo *f = &fifos[made_n++ % FIFOS_KEPT];
    if (f->pipe) { io_watch_dry(f->pipe, NULL, NULL); io_unref(f->pipe); }
    *f = (fifo){ .made = st, .pipe = pipe };
    return 0;
}

bool fifo_any(void) { return made_n > 0; }

bool fifo_is(const struct stat *st) { return S_ISFIFO(st->st_mode) || (made_n && find(st)); }

io *fifo_open(const char *path, int flags)
{
    fifo *f = find_path(path);
    if (!f) return NULL;
    if ((flags & O_ACCMODE) == O_WRONLY) return io_writer(f->pipe);
    io_await_writer(f->pipe);
    return io_ref(f->pipe);
}

bool fifo_is_empty(const char *path)
{
    size_t len = 0;
    fifo *f = find_path(path);
    if (f) io_bytes(f->pipe, &len);
    return f && !len;
}

bool fifo_lacks_line(io *s)
{
    size_t len = 0;
    for (unsigned i = 0; i < made_n && i < FIFOS_KEPT; i++) {
        if (fifos[i].pipe != s) continue;
        const char *bytes = io_bytes(s, &len);
        return !(len && memchr(bytes, '\n', len)) && !io_written_out(s);
    }
    return false;
}
