/* deflating.c: compression for the prelude, with the shell guest's implementation of it.
 *
 * That implementation writes into a buffer of the shell's; here is as much of that buffer as it needs, in plain memory.
 * INVARIANT: memory that runs out is kept in mind and told afterwards: what is written then is dropped.
 */
#include <stdlib.h>
#include <string.h>

#include "deflate.h"
#include "hash.h"
#include "natives.h"

static bool is_out_of_memory;

void buffer_reserve(buffer *b, size_t more)
{
    size_t cap = b->cap ? b->cap : 256;
    while (cap - b->n <= more)
        cap *= 2;
    char *grown = cap == b->cap ? b->p : realloc(b->p, cap);
    if (!grown) {
        is_out_of_memory = true;
        b->n = 0;
        return;
    }
    b->p = grown;
    b->cap = cap;
}

void buffer_add(buffer *b, const void *from, size_t n)
{
    buffer_reserve(b, n);
    if (b->cap - b->n <= n)
        return;
    memcpy(b->p + b->n, from, n);
    b->n += n;
}

void buffer_putc(buffer *b, int c)
{
    char byte = (char)c;
    buffer_add(b, &byte, 1);
}

/* The tables of the compression, some hundred kilobytes; a guest that has no more is at its end. */
void *tool_alloc(tool *t, size_t n)
{
    (void)t;
    void *block = calloc(1, n);
    if (!block)
        abort();
    return block;
}

void tool_free(tool *t, void *p)
{
    (void)t;
    free(p);
}

static JSValue take(JSContext *ctx, buffer *out)
{
    JSValue made = is_out_of_memory ? JS_ThrowOutOfMemory(ctx) : JS_NewUint8ArrayCopy(ctx, (const uint8_t *)out->p, out->n);
    free(out->p);
    return made;
}

/* deflate(bytes, level): compressed by RFC 1951. */
static JSValue deflate(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    size_t len;
    int32_t level;
    uint8_t *bytes = JS_GetUint8Array(ctx, &len, argv[0]);
    if (!bytes || JS_ToInt32(ctx, &level, argv[1]))
        return JS_EXCEPTION;
    buffer out = {0};
    is_out_of_memory = false;
    deflate_bytes(bytes, len, &out, level);
    return take(ctx, &out);
}

/* inflate(bytes): [what they hold, how many of them it took], or null when they are malformed. */
static JSValue inflate(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    size_t len, used = 0;
    uint8_t *bytes = JS_GetUint8Array(ctx, &len, argv[0]);
    if (!bytes)
        return JS_EXCEPTION;
    buffer out = {0};
    is_out_of_memory = false;
    if (inflate_bytes(bytes, len, &used, &out) < 0 && !is_out_of_memory) {
        free(out.p);
        return JS_NULL;
    }
    JSValue made = take(ctx, &out);
    if (JS_IsException(made))
        return made;
    JSValue both = JS_NewArray(ctx);
    JS_SetPropertyUint32(ctx, both, 0, made);
    JS_SetPropertyUint32(ctx, both, 1, JS_NewInt64(ctx, (int64_t)used));
    return both;
}

/* crc32(bytes, before). */
static JSValue crc32_of(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    size_t len;
    uint32_t before;
    uint8_t *bytes = JS_GetUint8Array(ctx, &len, argv[0]);
    if (!bytes || JS_ToUint32(ctx, &before, argv[1]))
        return JS_EXCEPTION;
    return JS_NewUint32(ctx, crc32_update(before, bytes, len));
}

int deflating_install(JSContext *ctx, JSValueConst native)
{
    static const JSCFunctionListEntry functions[] = {
        JS_CFUNC_DEF("deflate", 2, deflate),
        JS_CFUNC_DEF("inflate", 1, inflate),
        JS_CFUNC_DEF("crc32", 2, crc32_of),
    };
    return JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
