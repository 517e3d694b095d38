/* report.c: see report.h. */
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine.h"
#include "realm.h"

#define SHOWN_LINE_LIMIT_BYTES 400

/* A string, or NULL for anything else; consumes it. Free with JS_FreeCString. Never leaves an exception behind. */
static const char *text_of(JSContext *ctx, JSValue value)
{
    const char *text = JS_IsString(value) ? JS_ToCString(ctx, value) : NULL;
    if (JS_IsException(value) || JS_HasException(ctx))
        JS_FreeValue(ctx, JS_GetException(ctx));
    JS_FreeValue(ctx, value);
    return text;
}

static const char *text_property(JSContext *ctx, JSValueConst object, JSAtom name)
{
    return text_of(ctx, JS_IsObject(object) ? JS_GetProperty(ctx, object, name) : JS_UNDEFINED);
}

/* The frames of a stack, after the line or lines that say what happened. */
static const char *frames_of(const char *stack)
{
    static const char frame[] = "\n    at ";
    if (!stack || !strncmp(stack, frame + 1, sizeof frame - 2))
        return stack ? stack : "";
    const char *found = strstr(stack, frame);
    return found ? found + 1 : "";
}

struct position find_position(const char *stack, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = stack; len && at && (at = strstr(at, name)) != NULL; at += len) {
        char before = at == stack ? '\n' : at[-1];
        struct position found = {0, 0};
        if ((before == '(' || before == ' ') && sscanf(at + len, ":%u:%u", &found.line, &found.column) == 2)
            return found;
    }
    return (struct position){0, 0};
}

/* The bytes of line `line` of the program. */
static const char *program_line(uint32_t line, size_t *len)
{
    const char *at = realm.program_text, *end = at + realm.program_len;
    for (uint32_t i = 1; i < line; i++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline) {
            *len = 0;
            return end;
        }
        at = newline + 1;
    }
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    *len = (size_t)((newline ? newline : end) - at);
    return at;
}

/* Code points among the first `len` bytes. */
static uint32_t count_code_points(const char *text, size_t len)
{
    uint32_t count = 0;
    for (size_t i = 0; i < len; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

struct position in_code_points(struct position bytes)
{
    if (!bytes.line || !realm.program_text)
        return bytes;
    size_t len, before = bytes.column ? bytes.column - 1 : 0;
    const char *text = program_line(bytes.line, &len);
    return (struct position){bytes.line, 1 + count_code_points(text, before < len ? before : len)};
}

/* Shows the line of the program with a caret under the column, as Node does. */
static void show_source_line(struct position at, struct buffer *out)
{
    size_t len;
    const char *text = program_line(at.line, &len);
    if (!len || len > SHOWN_LINE_LIMIT_BYTES)
        return;
    buffer_put_text(out, realm.program_name);
    buffer_put_text(out, ":");
    buffer_put_int(out, at.line);
    buffer_put_text(out, "\n");
    buffer_put(out, text, len);
    buffer_put_text(out, "\n");
    for (uint32_t column = 1, i = 0; column < at.column && i < len; i++) {
        if (((unsigned char)text[i] & 0xC0) == 0x80)
            continue;
        buffer_put(out, text[i] == '\t' ? "\t" : " ", 1);
        column++;
    }
    buffer_put_text(out, "^\n\n");
}

static void write_stderr(const struct buffer *text)
{
    for (size_t done = 0; !text->failed && done < text->len;) {
        ssize_t n = write(2, text->bytes + done, text->len - done);
        if (n <= 0)
            return;
        done += (size_t)n;
    }
}

/* The text the prelude's console would show for the exception; falls back to the bare message. */
static void show_exception(JSContext *ctx, JSValueConst exception, const char *message, struct buffer *out)
{
    JSValue shown = realm_hook("showError", 1, &exception);
    size_t len;
    const char *text = JS_IsException(shown) ? NULL : JS_ToCStringLen(ctx, &len, shown);
    if (text) {
        buffer_put(out, text, len);
        if (!out->failed)
            make_well_formed(out->bytes, out->len);
    } else {
        JS_FreeValue(ctx, JS_GetException(ctx));
        buffer_put_text(out, message);
    }
    buffer_put_text(out, "\n");
    JS_FreeCString(ctx, text);
    JS_FreeValue(ctx, shown);
}

/* The code the prelude branded this error with (capability failures, missing packages), into `code`. */
static bool branded_code(JSContext *ctx, JSValueConst exception, char *code, size_t size)
{
    JSValue branded = realm_hook("brandedCode", 1, &exception);
    const char *text = JS_IsString(branded) ? JS_ToCString(ctx, branded) : NULL;
    if (JS_IsException(branded))
        JS_FreeValue(ctx, JS_GetException(ctx));
    if (text)
        snprintf(code, size, "%s", text);
    JS_FreeCString(ctx, text);
    JS_FreeValue(ctx, branded);
    return text != NULL;
}

/* True for the engine's words for one value that is larger than it can ever hold. */
static bool names_size_limit(const char *message)
{
    static const char *const words[] = {"string too long", "invalid string length", "BigInt is too large to allocate",
                                        "invalid array buffer length"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(message, words[i]))
            return true;
    return false;
}

/* Did the engine throw this SyntaxError for source it was given, by an import or by eval? JSON.parse throws one for data. */
static bool is_of_source(const char *stack)
{
    static const char file[] = "    at /", text[] = "    at <input>:", parse[] = "\n    at parse (native)";
    if (!strncmp(stack, file, sizeof file - 1) || (realm.importing && !*stack))
        return true;
    const char *next = strchr(stack, '\n');
    return !strncmp(stack, text, sizeof text - 1) && next && strncmp(next, parse, sizeof parse - 1);
}

/* Chooses the contract's code for an exception. */
static void choose_code(JSContext *ctx, JSValueConst exception, const char *name, const char *message, const char *stack,
                        bool compiling, char *code, size_t size)
{
    const char *chosen = "RUNTIME_ERROR";
    bool internal = !strcmp(name, "InternalError"), range = !strcmp(name, "RangeError");
    if (internal && strstr(message, "out of memory"))
        chosen = "MEMORY_EXCEEDED";
    else if ((internal || range || compiling) && (strstr(message, "call stack size exceeded") || strstr(message, "stack overflow")))
        chosen = "STACK_OVERFLOW";
    else if (names_size_limit(message))
        chosen = "MEMORY_EXCEEDED";
    else if (!strcmp(name, "SyntaxError") && (compiling || is_of_source(stack)))
        chosen = "SYNTAX_ERROR";
    else if (branded_code(ctx, exception, code, size))
        return;
    else if (!strcmp(name, "ReferenceError") && strstr(message, "is not defined"))
        chosen = "NAME_ERROR";
    snprintf(code, size, "%s", chosen);
}

static void put_field(struct buffer *b, const char *prefix, const char *text)
{
    buffer_put_text(b, prefix);
    buffer_put_json_string(b, text, strlen(text));
}

/* The hint for an error: its own `hint` property when the prelude branded it, or what the prelude can suggest. */
static void put_hint(JSContext *ctx, JSValueConst exception, const char *code, struct buffer *error)
{
    JSValue args[3] = {exception, JS_NewString(ctx, code), engine_declarations(ctx)};
    JSValue hint = realm_hook("hintFor", 3, args);
    const char *text = JS_IsString(hint) ? JS_ToCString(ctx, hint) : NULL;
    if (JS_IsException(hint))
        JS_FreeValue(ctx, JS_GetException(ctx));
    if (text)
        put_field(error, ",\"hint\":", text);
    JS_FreeCString(ctx, text);
    JS_FreeValue(ctx, hint);
    JS_FreeValue(ctx, args[1]);
    JS_FreeValue(ctx, args[2]);
}

static void put_span(struct position at, struct buffer *error)
{
    if (!at.line)
        return;
    buffer_put_text(error, ",\"span\":{\"line\":");
    buffer_put_int(error, at.line);
    buffer_put_text(error, ",\"column\":");
    buffer_put_int(error, at.column ? at.column : 1);
    buffer_put_text(error, "}");
}

void report_exception(JSContext *ctx, JSValueConst exception, bool compiling, bool to_stderr, struct buffer *error)
{
    char code[64];
    const char *name = text_property(ctx, exception, realm.atoms.name);
    const char *message = text_property(ctx, exception, realm.atoms.message);
    const char *stack = text_of(ctx, engine_stack(ctx, exception));
    const char *thrown = NULL;
    if (!message) {
        JSValue shown = realm_hook("inspect", 1, &exception);
        thrown = JS_IsException(shown) ? NULL : JS_ToCString(ctx, shown);
        if (JS_HasException(ctx))
            JS_FreeValue(ctx, JS_GetException(ctx));
        JS_FreeValue(ctx, shown);
    }
    const char *text = message ? message : thrown ? thrown : "unknown error", *kind = name ? name : "";
    /* With no memory left the engine throws null, or an error whose message could not be made. */
    bool exhausted = realm_memory_failed() && (!JS_IsObject(exception) || !strcmp(kind, "InternalError"));
    if (exhausted) {
        kind = "InternalError";
        text = "out of memory";
    }
    const char *frames = frames_of(stack);
    choose_code(ctx, exception, kind, text, frames, compiling, code, sizeof code);
    struct position at = {0, 0};
    if (realm.program_name)
        at = find_position(frames, realm.program_name);
    bool is_moved = at.line && !compiling; /* compiled code has the positions of the source already */
    if (!at.line && realm.importing)
        at = *realm.importing;
    if (!is_moved)
        at.column = moves_undo(&realm.moves, at.line, at.column);
    at = in_code_points(at);

    buffer_put_text(error, "{\"code\":");
    buffer_put_json_string(error, code, strlen(code));
    buffer_put_text(error, ",\"message\":");
    struct buffer full = {0};
    if ((message || exhausted) && *kind && strcmp(kind, "Error")) {
        buffer_put_text(&full, kind);
        buffer_put_text(&full, *text ? ": " : "");
    } else if (!message) {
        buffer_put_text(&full, "Uncaught ");
    }
    buffer_put_text(&full, text);
    buffer_put_json_string(error, full.bytes ? full.bytes : "", full.len);
    buffer_free(&full);
    put_hint(ctx, exception, code, error);
    put_span(at, error);
    buffer_put_text(error, "}");

    if (to_stderr) {
        struct buffer shown = {0};
        if (at.line)
            show_source_line(at, &shown);
        show_exception(ctx, exception, text, &shown);
        write_stderr(&shown);
        buffer_free(&shown);
    }
    JS_FreeCString(ctx, name);
    JS_FreeCString(ctx, message);
    JS_FreeCString(ctx, stack);
    JS_FreeCString(ctx, thrown);
}

void report_plain(const char *code, const char *message, const char *hint, struct buffer *error)
{
    put_field(error, "{\"code\":", code);
    put_field(error, ",\"message\":", message);
    if (hint)
        put_field(error, ",\"hint\":", hint);
    buffer_put_text(error, "}");
}
