/* digests.c: message digests for the prelude, with the shell guest's implementation of them. */
#include <string.h>

#include "hash.h"
#include "natives.h"

static const struct {
    const char *name;
    int kind;
} algorithms[] = {
    {"md5", HASH_MD5},       {"sha1", HASH_SHA1},     {"sha224", HASH_SHA224},
    {"sha256", HASH_SHA256}, {"sha384", HASH_SHA384}, {"sha512", HASH_SHA512},
};

/* startDigest(name): a digest's state as an ArrayBuffer, or undefined when there is no such algorithm. */
static JSValue start_digest(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    const char *name = JS_ToCString(ctx, argv[0]);
    if (!name)
        return JS_EXCEPTION;
    JSValue made = JS_UNDEFINED;
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++)
        if (!strcmp(name, algorithms[i].name)) {
            hash_state state;
            hash_start(&state, algorithms[i].kind);
            made = JS_NewArrayBufferCopy(ctx, (const uint8_t *)&state, sizeof state);
        }
    JS_FreeCString(ctx, name);
    return made;
}

/* The state in an ArrayBuffer that startDigest gave. The prelude keeps it from programs. */
static hash_state *state_of(JSContext *ctx, JSValueConst buffer)
{
    size_t len;
    uint8_t *bytes = JS_GetArrayBuffer(ctx, &len, buffer);
    return bytes && len == sizeof(hash_state) ? (hash_state *)bytes : NULL;
}

/* addToDigest(state, bytes). */
static JSValue add_to_digest(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    size_t len;
    hash_state *state = state_of(ctx, argv[0]);
    uint8_t *bytes = state ? JS_GetUint8Array(ctx, &len, argv[1]) : NULL;
    if (!bytes)
        return JS_EXCEPTION;
    hash_add(state, bytes, len);
    return JS_UNDEFINED;
}

/* copyDigest(state): another state with the same beginning. */
static JSValue copy_digest(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    hash_state *state = state_of(ctx, argv[0]);
    return state ? JS_NewArrayBufferCopy(ctx, (const uint8_t *)state, sizeof *state) : JS_EXCEPTION;
}

/* finishDigest(state): the digest as an ArrayBuffer. The state is of no use afterwards. */
static JSValue finish_digest(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    hash_state *state = state_of(ctx, argv[0]);
    unsigned char made[64];
    return state ? JS_NewArrayBufferCopy(ctx, made, hash_finish(state, made)) : JS_EXCEPTION;
}

int digests_install(JSContext *ctx, JSValueConst native)
{
    static const JSCFunctionListEntry functions[] = {
        JS_CFUNC_DEF("startDigest", 1, start_digest),
        JS_CFUNC_DEF("addToDigest", 2, add_to_digest),
        JS_CFUNC_DEF("copyDigest", 1, copy_digest),
        JS_CFUNC_DEF("finishDigest", 1, finish_digest),
    };
    return JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
