/* serialize.c: see serialize.h. */
#include "serialize.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine.h"
#include "realm.h"

/* One container being written. `props` is unused for arrays. */
struct level {
    JSValue object;
    JSPropertyEnum *props;
    uint32_t count, next;
    bool is_array, wrote_one;
};

struct writer {
    JSContext *ctx;
    struct buffer *out;
    struct refusal *why;
    const char *subject;
    struct level levels[SERIALIZE_DEPTH_LIMIT];
    size_t depth;
    struct beginning {
        size_t len, depth;
        char closing[SERIALIZE_DEPTH_LIMIT];
    } beginning; /* as much as is kept of a value that turns out to be too large; `len` 0: there is not that much yet */
};

/* Appends ".name" or "[3]" for the value being written in `level` to `path`. */
static void append_step(struct writer *w, const struct level *level, char *path, size_t size)
{
    size_t used = strlen(path);
    if (level->is_array) {
        snprintf(path + used, size - used, "[%u]", (unsigned)(level->next - 1));
        return;
    }
    const char *key = JS_AtomToCString(w->ctx, level->props[level->next - 1].atom);
    snprintf(path + used, size - used, ".%.40s", key ? key : "?");
    JS_FreeCString(w->ctx, key);
}

/* Says that the value at the current position `is` something JSON has no word for. */
static enum serialized refuse(struct writer *w, const char *is, const char *hint)
{
    char path[160];
    size_t first = w->depth > 4 ? w->depth - 4 : 0;
    snprintf(path, sizeof path, "%s%s%s", w->depth ? "" : "the ", w->subject, first ? "…" : "");
    for (size_t i = first; i < w->depth; i++)
        append_step(w, &w->levels[i], path, sizeof path);
    snprintf(w->why->message, sizeof w->why->message, "%s is %s, which is not JSON", path, is);
    w->why->hint = hint;
    return SERIALIZED_REFUSED;
}

/* Writes a JSON string. `is` names what stands here, should it be no text. */
static enum serialized put_string(struct writer *w, const char *text, size_t len, const char *is)
{
    if (!is_well_formed(text, len))
        return refuse(w, is, "use text.toWellFormed()");
    buffer_put_json_string(w->out, text, len);
    return SERIALIZED_OK;
}

static enum serialized write_text(struct writer *w, JSValueConst value)
{
    size_t len;
    const char *text = JS_ToCStringLen(w->ctx, &len, value);
    if (!text)
        return SERIALIZED_THREW;
    enum serialized status = SERIALIZED_OK;
    if (JS_IsString(value))
        status = put_string(w, text, len, "text with half a surrogate pair");
    else
        buffer_put(w->out, text, len);
    JS_FreeCString(w->ctx, text);
    return status;
}

static enum serialized write_number(struct writer *w, JSValueConst value)
{
    if (JS_VALUE_GET_TAG(value) == JS_TAG_INT) {
        buffer_put_int(w->out, JS_VALUE_GET_INT(value));
        return SERIALIZED_OK;
    }
    double number = JS_VALUE_GET_FLOAT64(value);
    if (isfinite(number))
        return write_text(w, value);
    return refuse(w, isnan(number) ? "NaN" : "Infinity", "return null or a string in its place");
}

/* Opens `object` (owned by the writer from here on) as the next container. */
static enum serialized open_level(struct writer *w, JSValue object, bool is_array)
{
    for (size_t i = 0; i < w->depth; i++) {
        if (JS_VALUE_GET_PTR(w->levels[i].object) == JS_VALUE_GET_PTR(object)) {
            JS_FreeValue(w->ctx, object);
            return refuse(w, "a circular reference", "return a copy without the cycle");
        }
    }
    if (w->depth == SERIALIZE_DEPTH_LIMIT) {
        JS_FreeValue(w->ctx, object);
        return refuse(w, "nested too deeply", "flatten the value");
    }
    struct level *level = &w->levels[w->depth];
    *level = (struct level){.object = object, .is_array = is_array};
    int64_t length = 0;
    int failed;
    if (is_array)
        failed = JS_GetLength(w->ctx, object, &length);
    else
        failed = JS_GetOwnPropertyNames(w->ctx, &level->props, &level->count, object, JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY);
    w->depth++;
    if (failed)
        return SERIALIZED_THREW;
    if (is_array)
        level->count = length > UINT32_MAX ? UINT32_MAX : (uint32_t)length;
    buffer_put(w->out, is_array ? "[" : "{", 1);
    return SERIALIZED_OK;
}

static void close_level(struct writer *w)
{
    struct level *level = &w->levels[--w->depth];
    if (level->props)
        JS_FreePropertyEnum(w->ctx, level->props, level->count);
    JS_FreeValue(w->ctx, level->object);
}

/* Writes or opens an object; consumes it. */
static enum serialized write_object(struct writer *w, JSValue object)
{
    enum serialized status;
    switch (engine_kind(object)) {
    case KIND_ARRAY:
        return open_level(w, object, true);
    case KIND_FUNCTION:
        status = refuse(w, "a function", "call it and return what it gives");
        break;
    case KIND_MAP:
        status = refuse(w, "a Map", "use Object.fromEntries(map) or [...map]");
        break;
    case KIND_SET:
        status = refuse(w, "a Set", "use [...set]");
        break;
    case KIND_PROMISE:
        status = refuse(w, "a Promise", "await it first");
        break;
    case KIND_ERROR:
        status = refuse(w, "an Error", "return its message, or throw it");
        break;
    case KIND_REGEXP:
        status = refuse(w, "a RegExp", "return its source");
        break;
    case KIND_BUFFER:
    case KIND_TYPED_ARRAY:
        status = refuse(w, "binary data", "use Array.from(bytes) or encode it as text");
        break;
    case KIND_WEAK:
    case KIND_GENERATOR:
    case KIND_ITERATOR:
        status = refuse(w, "an iterator or weak collection", "use [...iterator]");
        break;
    case KIND_BOXED: {
        if (JS_IsBigInt(engine_boxed(object))) {
            status = refuse(w, "a BigInt", "use Number(value) or String(value)");
            break;
        }
        JSValue text = JS_JSONStringify(w->ctx, object, JS_UNDEFINED, JS_UNDEFINED);
        status = JS_IsException(text) ? SERIALIZED_THREW : SERIALIZED_OK;
        size_t len;
        const char *json = status == SERIALIZED_OK ? JS_ToCStringLen(w->ctx, &len, text) : NULL;
        if (json)
            buffer_put(w->out, json, len);
        JS_FreeCString(w->ctx, json);
        JS_FreeValue(w->ctx, text);
        break;
    }
    default:
        return open_level(w, object, false);
    }
    JS_FreeValue(w->ctx, object);
    return status;
}

/* Replaces an object that has toJSON by what toJSON gives. */
static JSValue apply_to_json(struct writer *w, JSValue object)
{
    JSValue method = JS_GetProperty(w->ctx, object, realm.atoms.toJSON);
    if (JS_IsException(method) || !JS_IsFunction(w->ctx, method)) {
        JSValue kept = JS_IsException(method) ? JS_EXCEPTION : object;
        if (JS_IsException(method))
            JS_FreeValue(w->ctx, object);
        JS_FreeValue(w->ctx, method);
        return kept;
    }
    JSValue replaced = JS_Call(w->ctx, method, object, 0, NULL);
    JS_FreeValue(w->ctx, method);
    JS_FreeValue(w->ctx, object);
    return replaced;
}

/* Writes one value, or opens it when it is a container; consumes it. */
static enum serialized write_value(struct writer *w, JSValue value)
{
    if (JS_IsObject(value)) {
        value = apply_to_json(w, value);
        if (JS_IsException(value))
            return SERIALIZED_THREW;
        if (JS_IsObject(value))
            return write_object(w, value);
    }
    enum serialized status = SERIALIZED_OK;
    if (JS_IsNumber(value))
        status = write_number(w, value);
    else if (JS_IsString(value))
        status = write_text(w, value);
    else if (JS_IsBool(value))
        buffer_put_text(w->out, JS_VALUE_GET_BOOL(value) ? "true" : "false");
    else if (JS_IsBigInt(value))
        status = refuse(w, "a BigInt", "use Number(value) or String(value)");
    else if (JS_IsSymbol(value))
        status = refuse(w, "a Symbol", "use its description");
    else
        buffer_put_text(w->out, "null");
    JS_FreeValue(w->ctx, value);
    return status;
}

/* Writes the next entry of the innermost container, or closes it. */
static enum serialized advance(struct writer *w)
{
    struct level *level = &w->levels[w->depth - 1];
    if (level->next == level->count) {
        buffer_put(w->out, level->is_array ? "]" : "}", 1);
        close_level(w);
        return SERIALIZED_OK;
    }
    uint32_t index = level->next++;
    JSValue value = level->is_array ? JS_GetPropertyUint32(w->ctx, level->object, index)
                                    : JS_GetProperty(w->ctx, level->object, level->props[index].atom);
    if (JS_IsException(value))
        return SERIALIZED_THREW;
    if (!level->is_array && JS_IsUndefined(value))
        return SERIALIZED_OK;
    if (level->wrote_one)
        buffer_put(w->out, ",", 1);
    level->wrote_one = true;
    if (!level->is_array) {
        size_t len;
        const char *key = JS_AtomToCStringLen(w->ctx, &len, level->props[index].atom);
        if (!key) {
            JS_FreeValue(w->ctx, value);
            return SERIALIZED_THREW;
        }
        enum serialized status = put_string(w, key, len, "under a name with half a surrogate pair");
        JS_FreeCString(w->ctx, key);
        if (status != SERIALIZED_OK) {
            JS_FreeValue(w->ctx, value);
            return status;
        }
        buffer_put(w->out, ":", 1);
    }
    return write_value(w, value);
}

/* Remembers where the text could end, between two entries. */
static void mark_beginning(struct writer *w)
{
    w->beginning.len = w->out->len;
    w->beginning.depth = w->depth;
    for (size_t i = 0; i < w->depth; i++)
        w->beginning.closing[i] = w->levels[w->depth - 1 - i].is_array ? ']' : '}';
}

/* Goes back to the beginning that was marked, if there is one. */
static bool cut_to_beginning(struct writer *w)
{
    if (!w->beginning.len)
        return false;
    w->out->failed = w->out->full = false;
    w->out->len = w->beginning.len;
    buffer_put(w->out, w->beginning.closing, w->beginning.depth);
    return !w->out->failed;
}

enum serialized serialize(JSContext *ctx, JSValueConst value, const char *subject, struct buffer *out, struct refusal *why)
{
    /* Static because it is too large for the guest's stack; a guest is single-threaded and toJSON cannot get back here
       while it is in use, except through a capability call, which `busy` turns into a refusal. */
    static struct writer w;
    static bool busy;
    if (busy) {
        snprintf(why->message, sizeof why->message, "toJSON may not call tools");
        why->hint = "call the tool before returning the value";
        return SERIALIZED_REFUSED;
    }
    busy = true;
    w.ctx = ctx;
    w.out = out;
    w.why = why;
    w.subject = subject;
    w.depth = 0;
    w.beginning.len = 0;
    why->is_cut = false;
    enum serialized status = write_value(&w, JS_DupValue(ctx, value));
    while (status == SERIALIZED_OK && w.depth > 0 && !out->failed) {
        if (!w.beginning.len && out->len >= SERIALIZE_BEGINNING_BYTES)
            mark_beginning(&w);
        status = advance(&w);
    }
    while (w.depth > 0)
        close_level(&w);
    busy = false;
    if (status == SERIALIZED_OK && out->full) {
        snprintf(why->message, sizeof why->message, "the %s has more than %zu bytes of JSON", subject, out->limit);
        why->hint = "write large data to a file";
        why->is_cut = cut_to_beginning(&w);
        return SERIALIZED_REFUSED;
    }
    if (status == SERIALIZED_OK && out->failed) {
        JS_ThrowOutOfMemory(ctx);
        return SERIALIZED_THREW;
    }
    return status;
}
