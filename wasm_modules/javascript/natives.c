/* natives.c: see natives.h. */
#include "natives.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"
#include "engine.h"
#include "host.h"
#include "modules.h"
#include "realm.h"
#include "serialize.h"

#define RANDOM_CHUNK_BYTES 256

/* print(descriptor, text): writes the text whole; output that the host refuses is dropped, as on a closed pipe. */
static JSValue print(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    int32_t fd;
    size_t len;
    if (JS_ToInt32(ctx, &fd, argv[0]))
        return JS_EXCEPTION;
    const char *text = JS_ToCStringLen(ctx, &len, argv[1]);
    if (!text)
        return JS_EXCEPTION;
    /* Only a text that is not ASCII can change here, and of those the engine hands out a copy. */
    make_well_formed((char *)(uintptr_t)text, len);
    for (size_t done = 0; done < len;) {
        ssize_t n = write(fd, text + done, len - done);
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    JS_FreeCString(ctx, text);
    return JS_UNDEFINED;
}

/* kind(value): the engine_kind of an object as a number. */
static JSValue kind(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    return JS_NewInt32(ctx, engine_kind(argv[0]));
}

/* promiseState(promise): [state, value] with state 0 pending, 1 fulfilled, 2 rejected. */
static JSValue promise_state(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    JSValue pair[2] = {JS_NewInt32(ctx, JS_PromiseState(ctx, argv[0])), JS_PromiseResult(ctx, argv[0])};
    return JS_NewArrayFrom(ctx, 2, pair);
}

/* proxyTarget(proxy): what it stands for, without running its traps. */
static JSValue proxy_target(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    return JS_GetProxyTarget(ctx, argv[0]);
}

/* encode(text): its UTF-8 as a Uint8Array. */
static JSValue encode(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    size_t len;
    const char *text = JS_ToCStringLen(ctx, &len, argv[0]);
    if (!text)
        return JS_EXCEPTION;
    make_well_formed((char *)(uintptr_t)text, len);
    JSValue bytes = JS_NewUint8ArrayCopy(ctx, (const uint8_t *)text, len);
    JS_FreeCString(ctx, text);
    return bytes;
}

/* How many bytes at `p` are one character or, with `*valid` false, one mistake: as much as begins a character (WHATWG, Unicode). */
static size_t sequence_length(const uint8_t *p, size_t left, bool *valid)
{
    size_t len = p[0] < 0x80 ? 1 : p[0] < 0xC2 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : p[0] < 0xF5 ? 4 : 0;
    uint8_t low = p[0] == 0xE0 ? 0xA0 : p[0] == 0xF0 ? 0x90 : 0x80, high = p[0] == 0xED ? 0x9F : p[0] == 0xF4 ? 0x8F : 0xBF;
    size_t got = 1;
    for (; got < len && got < left && p[got] >= low && p[got] <= high; got++)
        low = 0x80, high = 0xBF;
    *valid = len != 0 && got == len;
    return got;
}

/* decode(bytes, fatal): text of UTF-8 bytes; what is not UTF-8 becomes U+FFFD, or throws when `fatal`. */
static JSValue decode(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    size_t len;
    const uint8_t *bytes = JS_GetUint8Array(ctx, &len, argv[0]);
    if (!bytes)
        return JS_EXCEPTION;
    bool fatal = JS_ToBool(ctx, argv[1]) > 0;
    struct buffer text = {0};
    size_t start = 0;
    for (size_t i = 0; i < len;) {
        bool valid;
        size_t n = sequence_length(bytes + i, len - i, &valid);
        if (valid) {
            i += n;
            continue;
        }
        if (fatal) {
            buffer_free(&text);
            return JS_ThrowTypeError(ctx, "The encoded data was not valid for encoding utf-8");
        }
        buffer_put(&text, bytes + start, i - start);
        buffer_put_text(&text, "\xEF\xBF\xBD");
        start = i += n;
    }
    if (!start)
        return JS_NewStringLen(ctx, (const char *)bytes, len);
    buffer_put(&text, bytes + start, len - start);
    JSValue string = text.failed ? JS_ThrowOutOfMemory(ctx) : JS_NewStringLen(ctx, text.bytes, text.len);
    buffer_free(&text);
    return string;
}

/* random(bytes): fills a Uint8Array from the host's randomness. */
static JSValue fill_random(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    size_t len;
    uint8_t *bytes = JS_GetUint8Array(ctx, &len, argv[0]);
    if (!bytes)
        return JS_EXCEPTION;
    for (size_t done = 0; done < len;) {
        size_t n = len - done < RANDOM_CHUNK_BYTES ? len - done : RANDOM_CHUNK_BYTES;
        if (getentropy(bytes + done, n))
            return JS_ThrowInternalError(ctx, "no randomness: %s", strerror(errno));
        done += n;
    }
    return JS_UNDEFINED;
}

/* Sends a message and parses the JSON reply. */
static JSValue ask_host(JSContext *ctx, const struct buffer *message)
{
    char *reply;
    size_t len;
    if (message->failed)
        return JS_ThrowOutOfMemory(ctx);
    if (host_send(message->bytes, message->len, &reply, &len) || !reply)
        return JS_ThrowInternalError(ctx, "the host refused the call");
    JSValue value = JS_ParseJSON(ctx, reply, len, "<reply>");
    free(reply);
    return value;
}

/* start(message): runs a command; the host's reply as bytes. */
static JSValue start_command(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self;
    size_t len, reply_len;
    char *reply;
    const uint8_t *bytes = argc > 0 ? JS_GetUint8Array(ctx, &len, argv[0]) : NULL;
    if (!bytes)
        return JS_EXCEPTION;
    if (host_send((const char *)bytes, len, &reply, &reply_len) || !reply)
        return JS_ThrowInternalError(ctx, "the host refused the command");
    JSValue value = JS_NewUint8ArrayCopy(ctx, (const uint8_t *)reply, reply_len);
    free(reply);
    return value;
}

/* The reply to a call that never left, because its arguments are no JSON. */
static JSValue refused_call(JSContext *ctx, const struct refusal *why)
{
    char message[sizeof why->message + 64];
    snprintf(message, sizeof message, "arguments of a tool must be plain JSON: %s", why->message);
    JSValue reply = JS_NewObject(ctx), error = JS_NewObject(ctx);
    if (JS_IsException(reply) || JS_IsException(error) ||
        JS_SetPropertyStr(ctx, error, "code", JS_NewString(ctx, "INVALID_ARGUMENT")) < 0 ||
        JS_SetPropertyStr(ctx, error, "message", JS_NewString(ctx, message)) < 0 ||
        JS_SetPropertyStr(ctx, error, "hint", JS_NewString(ctx, why->hint)) < 0 ||
        JS_SetPropertyStr(ctx, reply, "error", JS_DupValue(ctx, error)) < 0) {
        JS_FreeValue(ctx, reply);
        reply = JS_EXCEPTION;
    }
    JS_FreeValue(ctx, error);
    return reply;
}

/* call(name, args, kwargs): the host's reply, {value} or {error: {code, message}}. */
static JSValue call_tool(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    struct buffer message = {0};
    struct refusal why;
    static const char *const before[3] = {"C{\"name\":", ",\"args\":", ",\"kwargs\":"};
    JSValue reply = JS_UNDEFINED;
    for (int i = 0; i < 3; i++) {
        buffer_put_text(&message, before[i]);
        enum serialized status = serialize(ctx, argv[i], i == 1 ? "arguments" : "argument", &message, &why);
        if (status == SERIALIZED_REFUSED)
            reply = refused_call(ctx, &why);
        else if (status == SERIALIZED_THREW)
            reply = JS_EXCEPTION;
        if (status != SERIALIZED_OK)
            break;
    }
    buffer_put_text(&message, "}");
    if (JS_IsUndefined(reply))
        reply = ask_host(ctx, &message);
    buffer_free(&message);
    return reply;
}

/* names(): the names of the registered tools, sorted. */
static JSValue tool_names(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc, (void)argv;
    struct buffer message = {0};
    buffer_put_text(&message, "N");
    JSValue names = ask_host(ctx, &message);
    buffer_free(&message);
    return names;
}

/* erase(path, source): the host's reply {code} or {error: {message, span?}} for TypeScript source. */
static JSValue erase_types(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    struct buffer message = {0};
    struct refusal why;
    buffer_put_text(&message, "E{\"path\":");
    serialize(ctx, argv[0], "path", &message, &why);
    buffer_put_text(&message, ",\"source\":");
    serialize(ctx, argv[1], "source", &message, &why);
    buffer_put_text(&message, "}");
    JSValue reply = ask_host(ctx, &message);
    buffer_free(&message);
    return reply;
}

/* exit(code): ends the turn; no catch or finally of the program runs any more. */
static JSValue exit_program(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    int32_t code;
    if (JS_ToInt32(ctx, &code, argv[0]))
        return JS_EXCEPTION;
    realm.exiting = true;
    realm.exit_code = code & 0xFF;
    JSValue error = JS_NewInternalError(ctx, "process.exit");
    JS_SetUncatchableError(ctx, error);
    return JS_Throw(ctx, error);
}

/* exitCode(code): what the turn ends with when nothing fails. */
static JSValue set_exit_code(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    int32_t code;
    if (JS_ToInt32(ctx, &code, argv[0]))
        return JS_EXCEPTION;
    realm.exit_code = code & 0xFF;
    return JS_UNDEFINED;
}

/* watchExit(): the program wants to be told when it ends. */
static JSValue watch_exit(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)ctx, (void)self, (void)argc, (void)argv;
    realm.exit_watched = true;
    return JS_UNDEFINED;
}

/* watchTicks(): functions wait for runTicks. */
static JSValue watch_ticks(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)ctx, (void)self, (void)argc, (void)argv;
    realm.ticks_waiting = true;
    return JS_UNDEFINED;
}

/* stack(error): see engine_stack. */
static JSValue error_stack(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    return engine_stack(ctx, argv[0]);
}

/* evaluate(source, filename): runs a classic script whose second line counts as its first. */
static JSValue evaluate(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    size_t len;
    const char *source = JS_ToCStringLen(ctx, &len, argv[0]), *name = source ? JS_ToCString(ctx, argv[1]) : NULL;
    JSValue value = name ? engine_eval_at(ctx, source, len, name, 0) : JS_EXCEPTION;
    JS_FreeCString(ctx, name);
    JS_FreeCString(ctx, source);
    return value;
}

/* requireModule(path): the namespace of an ES module, for require(). */
static JSValue require_module(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    const char *path = JS_ToCString(ctx, argv[0]);
    JSValue ns = path ? modules_require(ctx, path) : JS_EXCEPTION;
    JS_FreeCString(ctx, path);
    return ns;
}

/* forgetModules(): the next import of a file reads it again. */
static JSValue forget_modules(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc, (void)argv;
    engine_forget_file_modules(ctx);
    return JS_UNDEFINED;
}

/* cwd() and cwd(path). */
static JSValue working_directory(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self;
    if (argc > 0 && JS_IsString(argv[0])) {
        size_t len;
        const char *path = JS_ToCStringLen(ctx, &len, argv[0]);
        if (path && len < sizeof realm.cwd)
            memcpy(realm.cwd, path, len + 1);
        JS_FreeCString(ctx, path);
    }
    return JS_NewString(ctx, realm.cwd);
}

/* turn(): the number of the running turn. */
static JSValue turn_number(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc, (void)argv;
    return JS_NewUint32(ctx, realm.turn);
}

/* programName(): the file name of the running program. */
static JSValue program_name(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc, (void)argv;
    return JS_NewString(ctx, realm.program_name ? realm.program_name : "");
}

/* collect(): runs the garbage collector. */
static JSValue collect(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc, (void)argv;
    JS_RunGC(JS_GetRuntime(ctx));
    return JS_UNDEFINED;
}

/* memoryUsage(): what Node's process.memoryUsage() gives, as far as there is such a thing. */
static JSValue memory_usage(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc, (void)argv;
    JSMemoryUsage used;
    JS_ComputeMemoryUsage(JS_GetRuntime(ctx), &used);
    double pages = (double)__builtin_wasm_memory_size(0) * 65536;
    const struct { const char *name; double bytes; } fields[] = {
        {"rss", pages}, {"heapTotal", pages}, {"heapUsed", (double)used.malloc_size}, {"external", 0}, {"arrayBuffers", 0},
    };
    JSValue made = JS_NewObject(ctx);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        JS_SetPropertyStr(ctx, made, fields[i].name, JS_NewFloat64(ctx, fields[i].bytes));
    return made;
}

/* load(name): evaluates a prelude file that waited until it was needed. */
static JSValue load(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    const char *name = JS_ToCString(ctx, argv[0]);
    int status = name ? realm_load(name) : -1;
    JS_FreeCString(ctx, name);
    return status < 0 ? JS_EXCEPTION : JS_UNDEFINED;
}

int natives_install(JSContext *ctx, JSValueConst native)
{
    static const JSCFunctionListEntry functions[] = {
        JS_CFUNC_DEF("print", 2, print),
        JS_CFUNC_DEF("kind", 1, kind),
        JS_CFUNC_DEF("promiseState", 1, promise_state),
        JS_CFUNC_DEF("proxyTarget", 1, proxy_target),
        JS_CFUNC_DEF("encode", 1, encode),
        JS_CFUNC_DEF("decode", 2, decode),
        JS_CFUNC_DEF("random", 1, fill_random),
        JS_CFUNC_DEF("call", 3, call_tool),
        JS_CFUNC_DEF("names", 0, tool_names),
        JS_CFUNC_DEF("start", 1, start_command),
        JS_CFUNC_DEF("erase", 2, erase_types),
        JS_CFUNC_DEF("exit", 1, exit_program),
        JS_CFUNC_DEF("exitCode", 1, set_exit_code),
        JS_CFUNC_DEF("watchExit", 0, watch_exit),
        JS_CFUNC_DEF("watchTicks", 0, watch_ticks),
        JS_CFUNC_DEF("stack", 1, error_stack),
        JS_CFUNC_DEF("evaluate", 2, evaluate),
        JS_CFUNC_DEF("requireModule", 1, require_module),
        JS_CFUNC_DEF("forgetModules", 0, forget_modules),
        JS_CFUNC_DEF("load", 1, load),
        JS_CFUNC_DEF("cwd", 1, working_directory),
        JS_CFUNC_DEF("turn", 0, turn_number),
        JS_CFUNC_DEF("programName", 0, program_name),
        JS_CFUNC_DEF("collect", 0, collect),
        JS_CFUNC_DEF("memoryUsage", 0, memory_usage),
    };
    return JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
