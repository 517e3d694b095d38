/* held.c - see held.h. */
#include "held.h"
#include <errno.h>

enum { HELD_BLOCK = 4096 };

static void write_down(held_out *h, size_t n) {
    size_t all;
    const char *text = io_bytes(h->t->out, &all);
    if (io_write(h->down, text, n) < 0) {
        io_fail(h->t->out, errno);
        io_close_reader(h->t->out);
    }
    io_skip(h->t->out, n);
}

/* Whole blocks go down; the last one only when something follows it. */
static void write_blocks(io *block, void *of) {
    size_t n;
    io_bytes(block, &n);
    write_down(of, (n - 1) / HELD_BLOCK * HELD_BLOCK);
}

void held_start(held_out *h, tool *t) {
    io *block = io_pipe();
    h->t = t;
    if (!block) return;
    io_watch_full(block, HELD_BLOCK, write_blocks, h);
    h->down = t->out;
    t->out = block;
}

int held_flush(held_out *h) {
    size_t n;
    if (!h->down) return io_flush(h->t->out);
    io_bytes(h->t->out, &n);
    if (n) write_down(h, n);
    if (io_flush(h->down) < 0) io_fail(h->t->out, errno);
    return io_failed(h->t->out) ? -1 : 0;
}

void held_end(held_out *h) {
    if (!h->down) return;
    held_flush(h);
    io_unref(h->t->out);
    h->t->out = h->down;
    h->down = NULL;
}
