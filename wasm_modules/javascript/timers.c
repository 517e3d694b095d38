/* timers.c: see timers.h. A binary heap ordered by (due, id); cancelled timers keep their place with no callback. */
#include "timers.h"

#include "realm.h"

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define NS_PER_MS 1000000
#define LONGEST_DELAY_MS 2147483647.0

struct timer {
    int64_t due_ns;
    uint32_t id;
    bool is_held;
    JSValue callback; /* undefined once cancelled */
};

static struct timer *heap;
static uint32_t heap_len, heap_size, last_id;
static uint32_t live, held; /* timers that wait, and those among them that are held */
static int64_t task_ns;     /* when the running callback, or the program, first looked at the clock; 0: not yet */

static int64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static bool before(const struct timer *a, const struct timer *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->id < b->id;
}

static void swap(uint32_t a, uint32_t b)
{
    struct timer t = heap[a];
    heap[a] = heap[b];
    heap[b] = t;
}

/* Adds a timer. Returns false when there is no room. */
static bool push(struct timer timer)
{
    if (heap_len == heap_size) {
        uint32_t size = heap_size ? heap_size * 2 : 16;
        struct timer *grown = size <= TIMERS_LIMIT * 2 ? realloc(heap, size * sizeof *heap) : NULL;
        if (!grown)
            return false;
        heap = grown;
        heap_size = size;
    }
    uint32_t at = heap_len++;
    heap[at] = timer;
    while (at > 0 && before(&heap[at], &heap[(at - 1) / 2])) {
        swap(at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
    return true;
}

/* Takes the earliest timer out. The heap must not be empty. */
static struct timer pop(void)
{
    struct timer first = heap[0];
    heap[0] = heap[--heap_len];
    for (uint32_t at = 0;;) {
        uint32_t least = at, left = 2 * at + 1, right = left + 1;
        if (left < heap_len && before(&heap[left], &heap[least]))
            least = left;
        if (right < heap_len && before(&heap[right], &heap[least]))
            least = right;
        if (least == at)
            return first;
        swap(at, least);
        at = least;
    }
}

static void release(JSContext *ctx, struct timer *timer)
{
    if (!JS_IsUndefined(timer->callback)) {
        live--;
        held -= timer->is_held;
    }
    JS_FreeValue(ctx, timer->callback);
    timer->callback = JS_UNDEFINED;
}

/* Takes cancelled timers out of the heap once they are the larger part of it. */
static void compact(JSContext *ctx)
{
    if (heap_len < 2 * live + 64)
        return;
    uint32_t len = heap_len;
    heap_len = 0;
    for (uint32_t i = 0; i < len; i++) {
        if (JS_IsUndefined(heap[i].callback))
            release(ctx, &heap[i]);
        else
            push(heap[i]);
    }
}

/* startTimer(number, isImmediate, callback, delay): gives the timer's number, which is a new one where 0 was given. */
static JSValue start_timer(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    double delay_ms = 0;
    uint32_t id;
    if (JS_ToUint32(ctx, &id, argv[0]))
        return JS_EXCEPTION;
    if (live >= TIMERS_LIMIT)
        return JS_ThrowRangeError(ctx, "too many timers");
    if (JS_ToBool(ctx, argv[1]) <= 0) {
        if (!JS_IsUndefined(argv[3]) && JS_ToFloat64(ctx, &delay_ms, argv[3]))
            return JS_EXCEPTION;
        if (!(delay_ms >= 1 && delay_ms <= LONGEST_DELAY_MS))
            delay_ms = 1;
    }
    struct timer timer = {.id = id ? id : ++last_id, .is_held = true, .callback = JS_UNDEFINED};
    if (!task_ns)
        task_ns = now_ns();
    timer.due_ns = task_ns + (int64_t)(delay_ms * NS_PER_MS);
    timer.callback = JS_DupValue(ctx, argv[2]);
    live++;
    held++;
    if (!push(timer)) {
        release(ctx, &timer);
        return JS_ThrowOutOfMemory(ctx);
    }
    return JS_NewUint32(ctx, timer.id);
}

/* The timer that waits under that number, or NULL. */
static struct timer *find(uint32_t id)
{
    for (uint32_t i = 0; i < heap_len; i++)
        if (heap[i].id == id && !JS_IsUndefined(heap[i].callback))
            return &heap[i];
    return NULL;
}

/* stopTimer(number): unknown numbers are ignored. */
static JSValue stop_timer(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    uint32_t id;
    if (JS_ToUint32(ctx, &id, argv[0]))
        return JS_EXCEPTION;
    struct timer *timer = find(id);
    if (timer)
        release(ctx, timer);
    compact(ctx);
    return JS_UNDEFINED;
}

/* holdTimer(number, whether): does the turn wait for that timer? */
static JSValue hold_timer(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    uint32_t id;
    if (JS_ToUint32(ctx, &id, argv[0]))
        return JS_EXCEPTION;
    struct timer *timer = find(id);
    bool is_held = JS_ToBool(ctx, argv[1]) > 0;
    if (timer && timer->is_held != is_held) {
        timer->is_held = is_held;
        held = is_held ? held + 1 : held - 1;
    }
    return JS_UNDEFINED;
}

int timers_install(JSContext *ctx, JSValueConst native)
{
    static const JSCFunctionListEntry functions[] = {
        JS_CFUNC_DEF("startTimer", 4, start_timer),
        JS_CFUNC_DEF("stopTimer", 1, stop_timer),
        JS_CFUNC_DEF("holdTimer", 2, hold_timer),
    };
    return JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}

bool timers_waiting(void)
{
    return held > 0;
}

int timers_run_next(JSContext *ctx)
{
    struct timer timer = pop();
    if (JS_IsUndefined(timer.callback))
        return 0;
    int64_t wait_ns = timer.due_ns - now_ns();
    if (wait_ns > 0) {
        struct timespec ts = {.tv_sec = (time_t)(wait_ns / 1000000000), .tv_nsec = (long)(wait_ns % 1000000000)};
        nanosleep(&ts, NULL);
        if (realm_take_interrupt()) {
            release(ctx, &timer);
            JS_ThrowInternalError(ctx, "interrupted");
            return -1;
        }
    }
    task_ns = now_ns();
    JSValue callback = JS_DupValue(ctx, timer.callback);
    release(ctx, &timer);
    JSValue returned = JS_Call(ctx, callback, JS_UNDEFINED, 0, NULL);
    JS_FreeValue(ctx, callback);
    if (JS_IsException(returned))
        return -1;
    JS_FreeValue(ctx, returned);
    return 0;
}

void timers_clear(JSContext *ctx)
{
    for (uint32_t i = 0; i < heap_len; i++)
        release(ctx, &heap[i]);
    heap_len = 0;
    task_ns = 0;
}
