/* timers.h: setTimeout and its relatives.
 *
 * Rules: timers run in the order of their due time, then of their creation; they never outlive a turn. Sleeping is one
 * WASI poll, so the host sees and may cut it short. It does not know about promises.
 */
#ifndef HATCHWAY_TIMERS_H
#define HATCHWAY_TIMERS_H

#include <stdbool.h>

#include "quickjs.h"

#define TIMERS_LIMIT 100000

/* Installs setTimeout, setInterval, setImmediate and the clear functions on `global`. Returns 0, or -1 with an exception. */
int timers_install(JSContext *ctx, JSValueConst global);

/* True while a timer waits. */
bool timers_waiting(void);

/* Sleeps until the next timer is due and runs it. Returns 0, or -1 when its callback threw. */
int timers_run_next(JSContext *ctx);

/* Drops all timers. */
void timers_clear(JSContext *ctx);

#endif
