/* timers.h: what setTimeout and its relatives (prelude/timers.js) are made of.
 *
 * Rules: timers run in the order of their due time, then of their creation; they never outlive a turn. Those that one
 * callback starts count from the same instant, as in Node: their delays alone decide which is first. Sleeping is one WASI poll, so the host sees and may cut it short. A turn waits for timers that are held only. It does not know about
 * promises.
 */
#ifndef HATCHWAY_TIMERS_H
#define HATCHWAY_TIMERS_H

#include <stdbool.h>

#include "quickjs.h"

#define TIMERS_LIMIT 100000

/* Adds startTimer, stopTimer and holdTimer to `native`. Returns 0, or -1 with an exception. */
int timers_install(JSContext *ctx, JSValueConst native);

/* True while a timer waits that is held. */
bool timers_waiting(void);

/* Sleeps until the next timer is due and runs it. Returns 0, or -1 when its callback threw. */
int timers_run_next(JSContext *ctx);

/* Drops all timers. */
void timers_clear(JSContext *ctx);

#endif
