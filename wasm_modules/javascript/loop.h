/* loop.h: runs promise jobs, ticks (process.nextTick) and timers until a program is finished.
 *
 * Rules: jobs and ticks run before timers. Ticks come first after a timer and after a program that runs to its end at once;
 * while jobs run, ticks wait for the last of them. A rejection nobody handled by the time the job queue is empty ends the turn. Nothing is
 * left queued when a turn ends, whatever way it ended.
 */
#ifndef HATCHWAY_LOOP_H
#define HATCHWAY_LOOP_H

#include <stdbool.h>

#include "quickjs.h"

enum loop_end {
    LOOP_DONE,  /* the promise is fulfilled (or, for loop_finish, nothing is left to do) */
    LOOP_THREW, /* the exception is pending in the context */
    LOOP_STUCK, /* the promise waits for something that can never happen */
    LOOP_EXIT,  /* process.exit was called */
};

/* Starts watching for unhandled rejections. */
void loop_install(JSRuntime *rt);

/* Runs until `promise` settles; on LOOP_DONE *value is what it was fulfilled with. */
enum loop_end loop_await(JSContext *ctx, JSValueConst promise, JSValue *value);

/* Runs the functions given to process.nextTick, those that they add too. */
enum loop_end loop_run_ticks(JSContext *ctx);

/* Runs until no job and no timer is left. */
enum loop_end loop_finish(JSContext *ctx);

/* Forgets an unhandled rejection with this reason, which was the last to be reported; false when there is none. */
bool loop_forget(JSContext *ctx, JSValueConst reason);

/* Drops jobs, timers and remembered rejections. */
void loop_reset(JSContext *ctx);

#endif
