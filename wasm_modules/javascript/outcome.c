/* outcome.c: what a turn came to, as the host is told it: the result or what comes nearest to it, the error, and how it is shown.
 */
#include "outcome.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "host.h"
#include "realm.h"
#include "report.h"
#include "serialize.h"

#define RESULT_LIMIT_BYTES ((size_t)4 << 20) /* the host refuses more */
#define NEAREST_CHARS (1 << 20)              /* of what is made of a value that is no JSON, or too large */
#define NEAREST_CHARS_LEAST (1 << 11)        /* where memory is short, less is made of it, but not less than this */

void outcome_report(JSContext *ctx, bool compiling, bool to_stderr, struct outcome *outcome)
{
    JSValue exception = JS_GetException(ctx);
    realm_limit_parser(); /* room to format the error after a stack overflow */
    report_exception(ctx, exception, compiling, to_stderr, &outcome->error);
    JS_FreeValue(ctx, exception);
}

/* Shows the value as console.log would. Where that fails there is nothing to look at. */
static void show_text(JSContext *ctx, JSValueConst value, struct buffer *display)
{
    struct refusal why;
    JSValue text = realm_hook("display", 1, &value);
    buffer_put_text(display, "{\"mime\":\"text/plain\",\"data\":");
    bool shown = JS_IsString(text) && serialize(ctx, text, "display", display, &why) == SERIALIZED_OK;
    buffer_put_text(display, "}");
    if (!shown || display->failed)
        buffer_free(display);
    if (JS_HasException(ctx))
        JS_FreeValue(ctx, JS_GetException(ctx));
    JS_FreeValue(ctx, text);
}

/* Writes the JSON that comes nearest to `value`, of about `room` characters, to `result`. False where there is none. */
static bool put_nearest(JSContext *ctx, JSValueConst value, int room, bool *is_cut, struct buffer *result)
{
    struct refusal why;
    JSValue args[2] = {value, JS_NewInt32(ctx, room)};
    JSValue found = realm_hook("simplify", 2, args);
    JSValue plain = JS_IsObject(found) ? JS_GetProperty(ctx, found, realm.atoms.value) : JS_NULL;
    JSValue cut = JS_IsObject(found) ? JS_GetPropertyStr(ctx, found, "isCut") : JS_FALSE;
    *is_cut = JS_ToBool(ctx, cut) > 0;
    buffer_free(result);
    result->limit = RESULT_LIMIT_BYTES;
    bool written = !JS_IsNull(plain) && serialize(ctx, plain, "result", result, &why) == SERIALIZED_OK;
    if (!written)
        buffer_free(result);
    if (JS_HasException(ctx))
        JS_FreeValue(ctx, JS_GetException(ctx));
    JS_FreeValue(ctx, cut);
    JS_FreeValue(ctx, plain);
    JS_FreeValue(ctx, found);
    return written;
}

/* The program ran, and its value is no JSON: it is shown as text, and the outcome says how near its result is to it. */
static void write_nearest(JSContext *ctx, JSValueConst value, const struct refusal *why, struct outcome *outcome)
{
    bool is_cut = why->is_cut, written = is_cut;
    for (int room = NEAREST_CHARS; !written && room >= NEAREST_CHARS_LEAST; room /= 8) /* a character may take six bytes */
        written = put_nearest(ctx, value, room, &is_cut, &outcome->result);
    struct buffer told = {0};
    buffer_put_text(&told, why->message);
    buffer_put_text(&told, !written ? "; it is shown as text"
                           : is_cut ? "; `result` is the beginning of it"
                                    : "; `result` is the JSON that comes nearest");
    buffer_put(&told, "", 1);
    buffer_put_text(&outcome->warning, "{\"severity\":\"warning\",");
    struct buffer plain = {0};
    report_plain("RESULT_NOT_SERIALIZABLE", told.bytes ? told.bytes : why->message, why->hint, &plain);
    if (plain.len)
        buffer_put(&outcome->warning, plain.bytes + 1, plain.len - 1);
    buffer_free(&plain);
    buffer_free(&told);
    show_text(ctx, value, &outcome->display);
}

/* What there is to say of a value that could not be read: a getter of it threw, or there is too little memory left for its text.
 * False if that was the end of the program: it exited, or was interrupted. */
static bool explain_unreadable(JSContext *ctx, struct refusal *why)
{
    if (realm.exiting)
        return false;
    JSValue exception = JS_GetException(ctx);
    if (JS_IsUncatchableError(exception)) {
        JS_Throw(ctx, exception);
        return false;
    }
    realm_limit_parser(); /* room to look at the exception after a stack overflow */
    JSValue text = realm_hook("describeThrown", 1, &exception);
    const char *told = JS_IsString(text) ? JS_ToCString(ctx, text) : NULL;
    snprintf(why->message, sizeof why->message, "the result could not be read: %.200s", told ? told : "out of memory");
    why->hint = NULL;
    why->is_cut = false;
    JS_FreeCString(ctx, told);
    if (JS_HasException(ctx))
        JS_FreeValue(ctx, JS_GetException(ctx));
    JS_FreeValue(ctx, text);
    JS_FreeValue(ctx, exception);
    return true;
}

/* A loop whose body adds to a Map means nothing by its value. */
void outcome_write(JSContext *ctx, JSValueConst value, bool meant, struct outcome *outcome)
{
    struct refusal why;
    outcome->result.limit = RESULT_LIMIT_BYTES;
    switch (serialize(ctx, value, "result", &outcome->result, &why)) {
    case SERIALIZED_OK:
        return;
    case SERIALIZED_REFUSED:
        break;
    case SERIALIZED_THREW:
        if (!explain_unreadable(ctx, &why)) {
            if (!realm.exiting)
                outcome_report(ctx, false, true, outcome);
            return;
        }
    }
    if (!meant || !why.is_cut)
        buffer_free(&outcome->result);
    if (meant)
        write_nearest(ctx, value, &why, outcome);
}

void outcome_send(const struct outcome *outcome)
{
    static const char exhausted[] =
        "D{\"result\":null,\"exit_code\":1,\"error\":{\"code\":\"MEMORY_EXCEEDED\",\"message\":\"out of memory\"},"
        "\"diagnostics\":[],\"displays\":[]}";
    static const char without_result[] =
        "D{\"result\":null,\"exit_code\":%d,\"error\":null,\"diagnostics\":[{\"severity\":\"warning\","
        "\"code\":\"RESULT_NOT_SERIALIZABLE\",\"message\":\"no memory is left to hand over the result\"}],\"displays\":[]}";
    struct buffer message = {0};
    bool failed = outcome->error.len > 0;
    buffer_put_text(&message, "D{\"result\":");
    if (failed || !outcome->result.len)
        buffer_put_text(&message, "null");
    else
        buffer_put(&message, outcome->result.bytes, outcome->result.len);
    buffer_put_text(&message, ",\"exit_code\":");
    buffer_put_int(&message, failed ? 1 : realm.exit_code);
    buffer_put_text(&message, ",\"error\":");
    if (failed)
        buffer_put(&message, outcome->error.bytes, outcome->error.len);
    else
        buffer_put_text(&message, "null");
    buffer_put_text(&message, ",\"diagnostics\":[");
    if (failed && outcome->diagnose) {
        buffer_put_text(&message, "{\"severity\":\"error\",");
        buffer_put(&message, outcome->error.bytes + 1, outcome->error.len - 1);
    } else {
        buffer_put(&message, outcome->warning.bytes, outcome->warning.len);
    }
    buffer_put_text(&message, "],\"displays\":[");
    buffer_put(&message, outcome->display.bytes, outcome->display.len);
    buffer_put_text(&message, outcome->unread ? "],\"ran\":false}" : "]}");
    char *reply;
    size_t len;
    if (outcome->error.failed || (failed && message.failed)) {
        host_send(exhausted, sizeof exhausted - 1, &reply, &len);
    } else if (message.failed || outcome->result.failed) {
        char shorter[sizeof without_result + 16];
        int wrote = snprintf(shorter, sizeof shorter, without_result, realm.exit_code);
        host_send(shorter, (size_t)wrote, &reply, &len);
    } else {
        host_send(message.bytes, message.len, &reply, &len);
    }
    free(reply);
    buffer_free(&message);
}

void outcome_free(struct outcome *outcome)
{
    buffer_free(&outcome->result);
    buffer_free(&outcome->error);
    buffer_free(&outcome->display);
    buffer_free(&outcome->warning);
}
