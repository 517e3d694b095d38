/* fifo.h - pipes with a name (mkfifo), which WASI preview 1 does not have.
 *
 * In the file system each is an empty file; this file remembers which ones they are, and what was written to them and not read
 * yet. Whoever opens one by its name gets the same memory stream or an end of it, so nobody waits for the other side: a reader
 * that finds nothing asks fifo_dry, which the shell sets, to let somebody write first.
 */
#ifndef HATCH_FIFO_H
#define HATCH_FIFO_H
#include "io.h"
#include <stdbool.h>
#include <sys/stat.h>

bool fifo_any(void);                                     /* one was made at some time */
int fifo_make(const char *path);                         /* 0, or -1 and errno */
bool fifo_is(const struct stat *st);
io *fifo_open(const char *path, int flags);              /* a new reference; NULL when the path is none */
bool fifo_is_empty(const char *path);                    /* it is one, and there is nothing to read */
bool fifo_lacks_line(io *s);                             /* it is one without a whole line, and somebody may still write it */
extern int (*fifo_dry)(io *s, void *ctx);                /* as io_watch_dry */
#endif
