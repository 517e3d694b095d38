/* realm.c: makes the interpreter. See realm.h. */
#include "realm.h"

#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <time.h>

#include "engine.h"
#include "loop.h"
#include "modules.h"
#include "natives.h"
#include "prelude.h"
#include "timers.h"

/* Measured: a simple JavaScript call takes about 150 bytes of the guest's stack, one with many locals several hundred. */
#define BYTES_PER_CALL 640
#define BASE_STACK_BYTES (24 * 1024)
#define PARSER_STACK_BYTES (160 * 1024)
#define LARGEST_STACK_BYTES (3 * 1024 * 1024)

#define RESERVE_BYTES (128 * 1024)
#define GC_HEADROOM_BYTES (4 * 1024 * 1024)

struct realm realm;
static void *reserve;

/* An allocation that fails gives the reserve back, so that throwing, reporting and cleaning up find memory. */
static void *after_failure(void)
{
    free(reserve);
    reserve = NULL;
    return NULL;
}

static void *guest_malloc(void *opaque, size_t size)
{
    (void)opaque;
    void *block = malloc(size);
    return block ? block : after_failure();
}

static void *guest_calloc(void *opaque, size_t count, size_t size)
{
    (void)opaque;
    void *block = calloc(count, size);
    return block ? block : after_failure();
}

static void *guest_realloc(void *opaque, void *old, size_t size)
{
    (void)opaque;
    void *block = realloc(old, size);
    return block || !size ? block : after_failure();
}

static void guest_free(void *opaque, void *block)
{
    (void)opaque;
    free(block);
}

void realm_renew_reserve(void)
{
    if (!reserve)
        reserve = malloc(RESERVE_BYTES);
}

bool realm_memory_failed(void)
{
    return !reserve;
}

void realm_limit_depth(unsigned depth)
{
    size_t bytes = BASE_STACK_BYTES + (size_t)depth * BYTES_PER_CALL;
    JS_SetMaxStackSize(realm.rt, bytes < LARGEST_STACK_BYTES ? bytes : LARGEST_STACK_BYTES);
}

void realm_limit_parser(void)
{
    JS_SetMaxStackSize(realm.rt, PARSER_STACK_BYTES);
}

bool realm_take_interrupt(void)
{
    bool asked = realm.interrupted != 0;
    realm.interrupted = 0;
    return asked;
}

/* Asked by the engine every few thousand steps of a program, between two of them. */
static int look_for_interrupt(JSRuntime *rt, void *opaque)
{
    (void)rt, (void)opaque;
    return realm_take_interrupt();
}

JSValue realm_hook(const char *name, int argc, JSValueConst *argv)
{
    JSValue function = JS_GetPropertyStr(realm.ctx, realm.hooks, name);
    JSValue value = JS_Call(realm.ctx, function, JS_UNDEFINED, argc, argv);
    JS_FreeValue(realm.ctx, function);
    return value;
}

static JSValue get_result(JSContext *ctx, JSValueConst self)
{
    (void)self;
    return JS_DupValue(ctx, realm.result);
}

static JSValue set_result(JSContext *ctx, JSValueConst self, JSValueConst value)
{
    (void)self;
    JS_FreeValue(ctx, realm.result);
    realm.result = JS_DupValue(ctx, value);
    realm.result_set = true;
    return JS_UNDEFINED;
}

static void intern_atoms(JSContext *ctx, struct atoms *atoms)
{
    *atoms = (struct atoms){
        .code = JS_NewAtom(ctx, "code"),
        .filename = JS_NewAtom(ctx, "filename"),
        .inputs = JS_NewAtom(ctx, "inputs"),
        .validate_only = JS_NewAtom(ctx, "validate_only"),
        .max_stack_depth = JS_NewAtom(ctx, "max_stack_depth"),
        .seed = JS_NewAtom(ctx, "seed"),
        .env = JS_NewAtom(ctx, "env"),
        .interruptible = JS_NewAtom(ctx, "interruptible"),
        .result = JS_NewAtom(ctx, "result"),
        .value = JS_NewAtom(ctx, "value"),
        .message = JS_NewAtom(ctx, "message"),
        .name = JS_NewAtom(ctx, "name"),
        .hint = JS_NewAtom(ctx, "hint"),
        .toJSON = JS_NewAtom(ctx, "toJSON"),
        .then = JS_NewAtom(ctx, "then"),
    };
}

/* Evaluates one prelude file, an expression `(function (native, hooks) {…})`, and calls it. Returns 0, or -1 with an exception. */
static int run_prelude(JSContext *ctx, const struct prelude_file *file)
{
    JSValue function = JS_Eval(ctx, file->text, strlen(file->text), file->name, JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_STRICT);
    JSValue args[2] = {realm.native, realm.hooks};
    JSValue done = JS_IsException(function) ? JS_EXCEPTION : JS_Call(ctx, function, JS_UNDEFINED, 2, args);
    int failed = JS_IsException(done);
    JS_FreeValue(ctx, function);
    JS_FreeValue(ctx, done);
    return failed ? -1 : 0;
}

int realm_load(const char *name)
{
    for (size_t i = 0; i < prelude_count; i++)
        if (prelude_files[i].waits && !strcmp(prelude_files[i].name, name))
            return run_prelude(realm.ctx, &prelude_files[i]);
    JS_ThrowInternalError(realm.ctx, "there is no prelude file %s", name);
    return -1;
}

/* Says why the prelude did not start. */
static void show_failure(JSContext *ctx)
{
    JSValue exception = JS_GetException(ctx), stack = JS_GetPropertyStr(ctx, exception, "stack");
    const char *text = JS_ToCString(ctx, exception), *where = JS_ToCString(ctx, stack);
    fprintf(stderr, "prelude: %s\n%s", text ? text : "?", where ? where : "");
    JS_FreeCString(ctx, text);
    JS_FreeCString(ctx, where);
    JS_FreeValue(ctx, stack);
    JS_FreeValue(ctx, exception);
}

int realm_open(void)
{
    static const JSMallocFunctions memory = {guest_calloc, guest_malloc, guest_free, guest_realloc, NULL};
    static const JSCFunctionListEntry globals[] = {
        JS_CGETSET_DEF("result", get_result, set_result),
    };
    realm_renew_reserve();
    realm.result = JS_UNDEFINED;
    memcpy(realm.cwd, "/workspace", sizeof "/workspace");
    realm.rt = JS_NewRuntime2(&memory, NULL);
    realm.ctx = realm.rt ? JS_NewContext(realm.rt) : NULL;
    JSContext *ctx = realm.ctx;
    if (!ctx || JS_AddIntrinsicDOMException(ctx) < 0)
        return -1;
    realm_limit_parser();
    realm.global = JS_GetGlobalObject(ctx);
    intern_atoms(ctx, &realm.atoms);
    loop_install(realm.rt);
    JS_SetInterruptHandler(realm.rt, look_for_interrupt, NULL);
    modules_install(realm.rt);
    realm.hooks = JS_NewObjectProto(ctx, JS_NULL);
    realm.names = JS_NewObjectProto(ctx, JS_NULL);
    JSValue native = realm.native = JS_NewObjectProto(ctx, JS_NULL);
    int status = JS_SetPropertyFunctionList(ctx, realm.global, globals, 1);
    if (status >= 0)
        status = timers_install(ctx, native);
    if (status >= 0)
        status = natives_install(ctx, native);
    if (status >= 0)
        status = files_install(ctx, native);
    if (status >= 0)
        status = handles_install(ctx, native);
    if (status >= 0)
        status = digests_install(ctx, native);
    if (status >= 0)
        status = derivation_install(ctx, native);
    if (status >= 0)
        status = deflating_install(ctx, native);
    if (status >= 0)
        status = urls_install(ctx, native);
    for (size_t i = 0; status >= 0 && i < prelude_count; i++)
        if (!prelude_files[i].waits)
            status = run_prelude(ctx, &prelude_files[i]);
    if (status < 0)
        show_failure(ctx);
    JS_RunGC(realm.rt);
    JS_SetGCThreshold(realm.rt, engine_allocated_bytes(realm.rt) + GC_HEADROOM_BYTES);
    return status;
}
