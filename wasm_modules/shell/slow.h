/* slow.h - pipes whose writer slept before it wrote: for read -t, which must not wait that long. */
#ifndef HATCH_SLOW_H
#define HATCH_SLOW_H
#include "sh.h"
/* around the run of the writer of s; limit, full and ctx as of io_watch_full, which this takes the place of */
void slow_begin(io *s, size_t limit, void (*full)(io *s, void *ctx), void *ctx);
void slow_end(io *s);
bool slow_beyond(io *s, double seconds);         /* true: nothing comes from s within these seconds, which have now passed */
#endif
