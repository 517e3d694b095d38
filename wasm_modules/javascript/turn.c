/* turn.c: the whole way of one turn: read the request, compile, import, run, await, answer.
 *
 * Rules: every turn ends by sending exactly one outcome, and leaves no job, timer or exception behind. What the messages
 * look like is said in ../ABI.md.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "engine.h"
#include "host.h"
#include "loop.h"
#include "modules.h"
#include "outcome.h"
#include "program.h"
#include "realm.h"
#include "report.h"

#define DEFAULT_STACK_DEPTH 256
#define RUN_NAME_BYTES 24

struct request {
    const char *code, *filename;
    size_t code_len;
    unsigned max_stack_depth;
    bool validate_only;
};

#ifdef __wasm__
/* Start-up happens inside `_initialize`, so that the frozen image holds a realm that is ready. */
__attribute__((constructor)) static void boot(void)
{
    if (realm_open() < 0)
        abort();
}
#endif

/* Spreads the digits of the seed over 64 bits. */
static uint64_t mix_seed(const char *digits)
{
    uint64_t state = 0xCBF29CE484222325u;
    for (; *digits; digits++)
        state = (state ^ (unsigned char)*digits) * 0x100000001B3u;
    return state ^ state >> 29;
}

/* Defines each input as a global variable, in place of any declaration of that name. */
static int define_inputs(JSContext *ctx, JSValueConst inputs)
{
    JSPropertyEnum *props;
    uint32_t count;
    if (!JS_IsObject(inputs))
        return 0;
    if (JS_GetOwnPropertyNames(ctx, &props, &count, inputs, JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY))
        return -1;
    int status = 0;
    for (uint32_t i = 0; i < count && status >= 0; i++) {
        status = engine_release_name(ctx, props[i].atom);
        if (status >= 0)
            status = JS_SetProperty(ctx, realm.global, props[i].atom, JS_GetProperty(ctx, inputs, props[i].atom));
    }
    JS_FreePropertyEnum(ctx, props, count);
    realm.result_set = false; /* an input named `result` is not a result */
    return status;
}

/* Tells the host where the flag is by which it asks the program to end. */
static void offer_interrupt(void)
{
    uint32_t address = (uint32_t)(uintptr_t)&realm.interrupted;
    const char message[] = {'K', 0, (char)address, (char)(address >> 8), (char)(address >> 16), (char)(address >> 24)};
    char *reply;
    size_t len;
    host_send(message, sizeof message, &reply, &len);
    free(reply);
}

/* Reads the fields of a request. Texts must be freed with free_request. Returns -1 with an exception. */
static int read_request(JSContext *ctx, JSValueConst json, struct request *request)
{
    JSValue code = JS_GetProperty(ctx, json, realm.atoms.code), filename = JS_GetProperty(ctx, json, realm.atoms.filename);
    JSValue depth = JS_GetProperty(ctx, json, realm.atoms.max_stack_depth), seed = JS_GetProperty(ctx, json, realm.atoms.seed);
    JSValue check = JS_GetProperty(ctx, json, realm.atoms.validate_only), env = JS_GetProperty(ctx, json, realm.atoms.env);
    JSValue interruptible = JS_GetProperty(ctx, json, realm.atoms.interruptible);
    *request = (struct request){.max_stack_depth = DEFAULT_STACK_DEPTH};
    request->code = JS_IsString(code) ? JS_ToCStringLen(ctx, &request->code_len, code) : NULL;
    request->filename = JS_IsString(filename) ? JS_ToCString(ctx, filename) : NULL;
    request->validate_only = JS_ToBool(ctx, check) > 0;
    if (JS_IsNumber(depth))
        JS_ToUint32(ctx, &request->max_stack_depth, depth);
    if (JS_IsString(seed)) {
        const char *digits = JS_ToCString(ctx, seed);
        if (digits)
            engine_seed_random(ctx, mix_seed(digits));
        engine_restart_clock(ctx);
        JS_FreeCString(ctx, digits);
    }
    if (JS_IsObject(env))
        JS_FreeValue(ctx, realm_hook("setEnvironment", 1, &env));
    realm.interrupted = 0;
    if (JS_ToBool(ctx, interruptible) > 0)
        offer_interrupt();
    JS_FreeValue(ctx, interruptible);
    JS_FreeValue(ctx, code);
    JS_FreeValue(ctx, filename);
    JS_FreeValue(ctx, depth);
    JS_FreeValue(ctx, seed);
    JS_FreeValue(ctx, check);
    JS_FreeValue(ctx, env);
    return request->code ? 0 : -1;
}

static void free_request(JSContext *ctx, struct request *request)
{
    JS_FreeCString(ctx, request->code);
    JS_FreeCString(ctx, request->filename);
}

/* Takes the value out of the {value: …} a script with top-level await is fulfilled with. */
static JSValue unwrap_completion(JSContext *ctx, JSValue completion)
{
    JSValue value = JS_IsObject(completion) ? JS_GetProperty(ctx, completion, realm.atoms.value) : JS_UNDEFINED;
    JS_FreeValue(ctx, completion);
    return value;
}

/* Runs a compiled program to its end. On LOOP_DONE *value is the value of its last expression; of a promise that nothing can
 * settle any more, and that the program itself does not await, it is undefined. */
static enum loop_end run_program(JSContext *ctx, struct program *program, const char *filename, bool *declared, JSValue *value)
{
    *declared = false;
    enum loop_end end = modules_import(ctx, program, filename);
    if (end != LOOP_DONE)
        return end;
    if (engine_release_declared(ctx, program->script, realm.atoms.result, declared) < 0)
        return LOOP_THREW;
    JSValue promise = JS_EvalFunction(ctx, program->script);
    program->script = JS_UNDEFINED;
    if (JS_IsException(promise))
        return realm.exiting ? LOOP_EXIT : LOOP_THREW;
    /* What imports or awaits is a module to Node, and modules run as jobs do. What threw has ended. */
    bool ticks_first = program->import_count == 0 && JS_PromiseState(ctx, promise) == JS_PROMISE_FULFILLED;
    end = ticks_first ? loop_run_ticks(ctx) : LOOP_DONE;
    if (end == LOOP_DONE)
        end = loop_await(ctx, promise, value);
    JS_FreeValue(ctx, promise);
    if (end != LOOP_DONE)
        return end;
    *value = unwrap_completion(ctx, *value);
    if (JS_IsPromise(*value)) {
        promise = *value;
        *value = JS_UNDEFINED;
        end = loop_await(ctx, promise, value);
        JS_FreeValue(ctx, promise);
        if (end != LOOP_DONE && end != LOOP_STUCK)
            return end;
    }
    end = loop_finish(ctx);
    if (end != LOOP_DONE) {
        JS_FreeValue(ctx, *value);
        *value = JS_UNDEFINED;
    }
    return end;
}

/* The global `result` when the program set it to something other than a function (then it is `meant`), else the last
 * expression's value. A declared `result` is moved into the global, so that later turns may assign it. Consumes `last`. */
static JSValue choose_result(JSContext *ctx, bool declared, JSValue last, bool *meant)
{
    JSValue lexical = engine_take_lexical(ctx, realm.atoms.result);
    if (!JS_IsUninitialized(lexical)) {
        JS_FreeValue(ctx, realm.result);
        realm.result = lexical;
        realm.result_set |= declared;
    }
    if (!realm.result_set || JS_IsFunction(ctx, realm.result))
        return last;
    *meant = true;
    JS_FreeValue(ctx, last);
    return JS_DupValue(ctx, realm.result);
}

/* Hands the exception nobody caught to the program's listeners for such. False when none took it: it is pending still, or
 * what a listener threw is. */
static bool hand_over(JSContext *ctx)
{
    JSValue exception = JS_GetException(ctx);
    JSValue args[2] = {exception, JS_NewBool(ctx, loop_forget(ctx, exception))};
    JSValue taken = realm_hook("handOver", 2, args);
    bool threw = JS_IsException(taken), is_taken = threw ? realm.exiting : JS_ToBool(ctx, taken) > 0;
    if (!threw && !is_taken)
        JS_Throw(ctx, exception);
    else
        JS_FreeValue(ctx, exception);
    JS_FreeValue(ctx, taken);
    return is_taken;
}

/* Tells the program's listeners that it ends. */
static void announce_exit(JSContext *ctx, struct outcome *outcome)
{
    JSValue code = JS_NewInt32(ctx, outcome->error.len ? 1 : realm.exit_code);
    realm.exiting = false;
    JSValue done = realm_hook("announceExit", 1, &code);
    if (JS_IsException(done) && !realm.exiting && !outcome->error.len)
        outcome_report(ctx, false, true, outcome);
    JS_FreeValue(ctx, done);
}

/* Compiles and runs the program of a request. */
static void run_request(JSContext *ctx, const struct request *request, const char *filename, struct outcome *outcome)
{
    struct program program;
    realm_limit_parser();
    if (program_compile(ctx, request->code, request->code_len, filename, &program) < 0 ||
        engine_move_positions(ctx, program.script, &realm.moves) < 0) {
        outcome->diagnose = request->validate_only;
        outcome->unread = true;
        outcome_report(ctx, true, !request->validate_only, outcome);
        program_free(ctx, &program);
        return;
    }
    if (request->validate_only) {
        program_free(ctx, &program);
        return;
    }
    realm_limit_depth(request->max_stack_depth);
    JSValue value = JS_UNDEFINED;
    bool declared, meant = engine_ends_in_expression(program.script);
    enum loop_end end = run_program(ctx, &program, filename, &declared, &value);
    while (end == LOOP_THREW && hand_over(ctx))
        end = realm.exiting ? LOOP_EXIT : loop_finish(ctx);
    if (end == LOOP_THREW) {
        outcome_report(ctx, false, true, outcome);
    } else if (end == LOOP_STUCK) {
        static const char message[] = "the program awaits a promise that can never settle";
        report_plain("RUNTIME_ERROR", message, "nothing is left that could resolve it: no timer, no job, no tool call", &outcome->error);
        fprintf(stderr, "Error: %s\n", message);
    }
    realm.importing = NULL;
    program_free(ctx, &program);
    value = choose_result(ctx, declared, value, &meant);
    if (end == LOOP_DONE)
        outcome_write(ctx, value, meant, outcome);
    JS_FreeValue(ctx, value);
    if (realm.exit_watched)
        announce_exit(ctx, outcome);
}

/* Writes `<run N>` at the end of `own` and gives its beginning. Every turn does this, and snprintf would cost it microseconds. */
static const char *number_run(unsigned number, char own[RUN_NAME_BYTES])
{
    char *at = own + RUN_NAME_BYTES;
    *--at = '\0';
    *--at = '>';
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    at -= sizeof "<run " - 1;
    memcpy(at, "<run ", sizeof "<run " - 1);
    return at;
}

/* The name of the program of this turn, which tells it from every earlier one in the stacks of errors: `<run N>`, or the name
 * that was asked for. Code of an earlier run that had that name is called "name (run N)" from now on. `own` is room for one. */
static const char *name_program(JSContext *ctx, const char *asked, char own[RUN_NAME_BYTES])
{
    if (!asked || !*asked)
        return number_run(realm.run, own);
    JSValue before = JS_GetPropertyStr(ctx, realm.names, asked);
    if (JS_IsNumber(before)) {
        struct buffer renamed = {0};
        buffer_put_text(&renamed, asked);
        buffer_put_text(&renamed, " (run ");
        buffer_put_int(&renamed, JS_VALUE_GET_INT(before));
        buffer_put(&renamed, ")", sizeof ")");
        if (!renamed.failed)
            engine_rename_source(ctx, asked, renamed.bytes);
        buffer_free(&renamed);
    }
    JS_SetPropertyStr(ctx, realm.names, asked, JS_NewInt32(ctx, (int32_t)realm.run));
    if (JS_HasException(ctx))
        JS_FreeValue(ctx, JS_GetException(ctx));
    return asked;
}

/* Runs the request in the `len` bytes at `text`, which the guest frees. See ../ABI.md. */
#ifdef __wasm__
__attribute__((export_name("turn")))
#endif
int turn(char *text, uint32_t len);

int turn(char *text, uint32_t len)
{
    JSContext *ctx = realm.ctx;
    struct request request = {0};
    struct outcome outcome = {0};
    realm.turn++;
    realm.exiting = realm.exit_watched = false;
    realm.exit_code = 0;
    realm.result_set = false;
    realm_renew_reserve();
    JS_UpdateStackTop(realm.rt);
    realm_limit_parser();

    JSValue json = JS_ParseJSON(ctx, text, len, "<request>");
    free(text);
    JSValue inputs = JS_IsException(json) ? JS_EXCEPTION : JS_GetProperty(ctx, json, realm.atoms.inputs);
    if (JS_IsException(inputs) || read_request(ctx, json, &request) < 0 ||
        (!request.validate_only && define_inputs(ctx, inputs) < 0)) {
        JS_FreeValue(ctx, JS_GetException(ctx));
        report_plain("RUNTIME_ERROR", "the request could not be read", NULL, &outcome.error);
    } else {
        char own[RUN_NAME_BYTES];
        realm.run += request.code_len > 0;
        const char *filename = name_program(ctx, request.filename, own);
        realm.program_name = filename;
        realm.program_len = request.code_len;
        realm.moves = moves_read(request.code, request.code_len);
        char *stripped = realm.moves.count ? moves_strip(&realm.moves, request.code, &realm.program_len) : NULL;
        realm.program_text = stripped ? stripped : request.code;
        run_request(ctx, &request, filename, &outcome);
        realm.program_name = realm.program_text = NULL;
        free(stripped);
        moves_free(&realm.moves);
    }
    free_request(ctx, &request);
    JS_FreeValue(ctx, inputs);
    JS_FreeValue(ctx, json);
    if (JS_HasException(ctx))
        JS_FreeValue(ctx, JS_GetException(ctx));
    loop_reset(ctx);
    outcome_send(&outcome);
    outcome_free(&outcome);
    return 0;
}
