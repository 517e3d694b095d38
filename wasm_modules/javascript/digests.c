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

/* digest(name, chunks): the digest of an array of Uint8Arrays as an ArrayBuffer, or undefined when there is no such algorithm. */
static JSValue digest(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    const char *name = JS_ToCString(ctx, argv[0]);
    if (!name)
        return JS_EXCEPTION;
    int kind = -1;
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++)
        if (!strcmp(name, algorithms[i].name))
            kind = algorithms[i].kind;
    JS_FreeCString(ctx, name);
    if (kind < 0)
        return JS_UNDEFINED;
    hash_state state;
    hash_start(&state, kind);
    int64_t count;
    if (JS_GetLength(ctx, argv[1], &count))
        return JS_EXCEPTION;
    for (int64_t i = 0; i < count; i++) {
        JSValue chunk = JS_GetPropertyInt64(ctx, argv[1], i);
        size_t len = 0;
        uint8_t *bytes = JS_IsException(chunk) ? NULL : JS_GetUint8Array(ctx, &len, chunk);
        if (bytes)
            hash_add(&state, bytes, len);
        JS_FreeValue(ctx, chunk);
        if (!bytes)
            return JS_EXCEPTION;
    }
    unsigned char made[64];
    size_t size = hash_finish(&state, made);
    return JS_NewArrayBufferCopy(ctx, made, size);
}

int digests_install(JSContext *ctx, JSValueConst native)
{
    static const JSCFunctionListEntry functions[] = {JS_CFUNC_DEF("digest", 2, digest)};
    return JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
