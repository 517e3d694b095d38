/* loop.c: see loop.h. */
#include "loop.h"

#include "engine.h"
#include "realm.h"
#include "timers.h"

#define REJECTIONS_LIMIT 64

/* Rejected promises nobody has handled yet. When more come than fit, the first ones are enough to report. */
static struct {
    JSValue promise, reason;
} rejections[REJECTIONS_LIMIT];
static int rejection_count;

static void forget_rejection(JSContext *ctx, int at)
{
    JS_FreeValue(ctx, rejections[at].promise);
    JS_FreeValue(ctx, rejections[at].reason);
    rejection_count--;
    for (int i = at; i < rejection_count; i++)
        rejections[i] = rejections[i + 1];
}

static int find_rejection(JSValueConst promise)
{
    for (int i = 0; i < rejection_count; i++)
        if (JS_VALUE_GET_PTR(rejections[i].promise) == JS_VALUE_GET_PTR(promise))
            return i;
    return -1;
}

static void track_rejection(JSContext *ctx, JSValueConst promise, JSValueConst reason, bool handled, void *opaque)
{
    (void)opaque;
    int at = find_rejection(promise);
    if (handled && at >= 0) {
        forget_rejection(ctx, at);
    } else if (!handled && at < 0 && rejection_count < REJECTIONS_LIMIT) {
        rejections[rejection_count].promise = JS_DupValue(ctx, promise);
        rejections[rejection_count].reason = JS_DupValue(ctx, reason);
        rejection_count++;
    }
}

void loop_install(JSRuntime *rt)
{
    JS_SetHostPromiseRejectionTracker(rt, track_rejection, NULL);
}

enum loop_end loop_run_ticks(JSContext *ctx)
{
    if (!realm.ticks_waiting)
        return LOOP_DONE;
    realm.ticks_waiting = false;
    JSValue done = realm_hook("runTicks", 0, NULL);
    bool threw = JS_IsException(done);
    JS_FreeValue(ctx, done);
    return realm.exiting ? LOOP_EXIT : threw ? LOOP_THREW : LOOP_DONE;
}

/* Runs queued jobs, and ticks after them, until none is left; then reports a rejection nobody handled. */
static enum loop_end drain_jobs(JSContext *ctx)
{
    JSContext *job_ctx;
    int status;
    do {
        while ((status = JS_ExecutePendingJob(realm.rt, &job_ctx)) > 0)
            if (realm.exiting)
                return LOOP_EXIT;
        if (realm.exiting)
            return LOOP_EXIT;
        if (status < 0)
            return LOOP_THREW;
        enum loop_end end = loop_run_ticks(ctx);
        if (end != LOOP_DONE)
            return end;
    } while (JS_IsJobPending(realm.rt) || realm.ticks_waiting);
    if (rejection_count > 0) {
        JS_Throw(ctx, JS_DupValue(ctx, rejections[0].reason));
        return LOOP_THREW;
    }
    return LOOP_DONE;
}

/* One timer, then the ticks and jobs it caused. */
static enum loop_end run_timer(JSContext *ctx)
{
    if (timers_run_next(ctx) < 0)
        return realm.exiting ? LOOP_EXIT : LOOP_THREW;
    enum loop_end end = realm.exiting ? LOOP_EXIT : loop_run_ticks(ctx);
    return end == LOOP_DONE ? drain_jobs(ctx) : end;
}

enum loop_end loop_await(JSContext *ctx, JSValueConst promise, JSValue *value)
{
    int at = find_rejection(promise);
    if (at >= 0)
        forget_rejection(ctx, at);
    JS_PromiseMarkAsHandled(ctx, promise);
    enum loop_end end = realm.exiting ? LOOP_EXIT : LOOP_DONE;
    if (end == LOOP_DONE && JS_PromiseState(ctx, promise) != JS_PROMISE_REJECTED)
        end = drain_jobs(ctx);
    while (end == LOOP_DONE) {
        switch (JS_PromiseState(ctx, promise)) {
        case JS_PROMISE_FULFILLED:
            *value = JS_PromiseResult(ctx, promise);
            return LOOP_DONE;
        case JS_PROMISE_REJECTED:
            JS_Throw(ctx, JS_PromiseResult(ctx, promise));
            return LOOP_THREW;
        default:
            if (!timers_waiting())
                return LOOP_STUCK;
            end = run_timer(ctx);
        }
    }
    return end;
}

enum loop_end loop_finish(JSContext *ctx)
{
    enum loop_end end = drain_jobs(ctx);
    while (end == LOOP_DONE && timers_waiting())
        end = run_timer(ctx);
    return end;
}

bool loop_forget(JSContext *ctx, JSValueConst reason)
{
    if (rejection_count == 0 || !JS_IsStrictEqual(ctx, rejections[0].reason, reason))
        return false;
    forget_rejection(ctx, 0);
    return true;
}

void loop_reset(JSContext *ctx)
{
    while (rejection_count > 0)
        forget_rejection(ctx, rejection_count - 1);
    timers_clear(ctx);
    realm.ticks_waiting = false;
    engine_drop_jobs(realm.rt);
    while (rejection_count > 0)
        forget_rejection(ctx, rejection_count - 1);
}
