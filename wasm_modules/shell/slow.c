/* slow.c - writers run before their readers here, so what a reader finds has always been written. This remembers how long the
 * writer had slept by then; as in background.c, time is what has been slept. */
#include "slow.h"
#include "background.h"

enum { KEPT = 16 };

typedef struct {
    io *s;                       /* with a reference of ours once the writer has ended */
    double begun_s;              /* when the writer began; when it ended */
    double wait_s;               /* from its begin to its first byte, or to its end */
    bool written, ended;
    size_t limit;
    void (*full)(io *s, void *ctx);
    void *ctx;
} slow;

static slow kept[KEPT];
static unsigned next;

static void forget(slow *e)
{
    if (e->ended) io_unref(e->s);
    *e = (slow){ 0 };
}

static slow *find(io *s)
{
    for (int i = 0; i < KEPT; i++) if (kept[i].s == s) return &kept[i];
    return NULL;
}

static void first_byte(io *s, void *ctx)
{
    slow *e = ctx;
    if (e->s != s || e->ended) { io_watch_full(s, (size_t)-1, NULL, NULL); return; }
    e->written = true;
    e->wait_s = time_slept() - e->begun_s;
    io_watch_full(s, e->limit, e->full, e->ctx);
    size_t len;
    io_bytes(s, &len);
    if (len > e->limit) e->full(s, e->ctx);
}

void slow_begin(io *s, size_t limit, void (*full)(io *s, void *ctx), void *ctx)
{
    slow *e = &kept[next++ % KEPT];
    if (e->s && !e->ended) { io_watch_full(s, limit, full, ctx); return; }   /* too many writers inside each other */
    forget(e);
    *e = (slow){ .s = s, .begun_s = time_slept(), .limit = limit, .full = full, .ctx = ctx };
    io_watch_full(s, 0, first_byte, e);
}

void slow_end(io *s)
{
    io_watch_full(s, (size_t)-1, NULL, NULL);
    slow *e = find(s);
    if (!e) return;
    if (!e->written) e->wait_s = time_slept() - e->begun_s;
    if (e->wait_s <= 0) { forget(e); return; }
    e->begun_s = time_slept();
    e->ended = true;
    io_ref(s);
}

bool slow_beyond(io *s, double seconds)
{
    slow *e = find(s);
    if (!e || !e->ended) return false;
    if (e->wait_s - (time_slept() - e->begun_s) <= seconds) { forget(e); return false; }
    e->wait_s -= seconds;
    return true;
}
