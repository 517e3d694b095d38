/* derivation.c: what makes deriving keys from passwords slow on purpose, for the prelude: HMAC again and again, and scrypt's
 * mixing. The prelude checks the arguments. */
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "natives.h"

#define DIGEST_LIMIT_BYTES 64

/* iterateHmac(inner, outer, first, iterations): the digests of `first` and of what follows from it, all of them xored. `inner`
 * and `outer` are states that have had their padded keys. */
static JSValue iterate_hmac(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    size_t inner_len, outer_len, len;
    uint8_t *inner = JS_GetArrayBuffer(ctx, &inner_len, argv[0]), *outer = inner ? JS_GetArrayBuffer(ctx, &outer_len, argv[1]) : NULL;
    uint8_t *first = outer ? JS_GetUint8Array(ctx, &len, argv[2]) : NULL;
    uint32_t iterations;
    if (!first || JS_ToUint32(ctx, &iterations, argv[3]))
        return JS_EXCEPTION;
    if (inner_len != sizeof(hash_state) || outer_len != sizeof(hash_state) || len > DIGEST_LIMIT_BYTES)
        return JS_ThrowRangeError(ctx, "not a digest");
    unsigned char last[DIGEST_LIMIT_BYTES], sum[DIGEST_LIMIT_BYTES];
    memcpy(last, first, len);
    memcpy(sum, first, len);
    for (uint32_t i = 1; i < iterations; i++) {
        hash_state state;
        memcpy(&state, inner, sizeof state);
        hash_add(&state, last, len);
        size_t made = hash_finish(&state, last);
        memcpy(&state, outer, sizeof state);
        hash_add(&state, last, made);
        hash_finish(&state, last);
        for (size_t j = 0; j < len; j++)
            sum[j] ^= last[j];
    }
    return JS_NewUint8ArrayCopy(ctx, sum, len);
}

static uint32_t turn_left(uint32_t word, int bits)
{
    return word << bits | word >> (32 - bits);
}

/* Salsa20/8 of RFC 7914, in place. */
static void salsa(uint32_t b[16])
{
    static const unsigned char quarters[8][4] = {
        {0, 4, 8, 12}, {5, 9, 13, 1}, {10, 14, 2, 6}, {15, 3, 7, 11}, {0, 1, 2, 3}, {5, 6, 7, 4}, {10, 11, 8, 9}, {15, 12, 13, 14}};
    uint32_t x[16];
    memcpy(x, b, sizeof x);
    for (int round = 0; round < 4; round++)
        for (int q = 0; q < 8; q++) {
            const unsigned char *at = quarters[q];
            x[at[1]] ^= turn_left(x[at[0]] + x[at[3]], 7);
            x[at[2]] ^= turn_left(x[at[1]] + x[at[0]], 9);
            x[at[3]] ^= turn_left(x[at[2]] + x[at[1]], 13);
            x[at[0]] ^= turn_left(x[at[3]] + x[at[2]], 18);
        }
    for (int i = 0; i < 16; i++)
        b[i] += x[i];
}

/* scryptBlockMix: 2r pieces of 16 words, the even ones first. */
static void mix_block(const uint32_t *in, uint32_t *out, size_t r)
{
    uint32_t x[16];
    memcpy(x, in + (2 * r - 1) * 16, sizeof x);
    for (size_t i = 0; i < 2 * r; i++) {
        for (int j = 0; j < 16; j++)
            x[j] ^= in[i * 16 + (size_t)j];
        salsa(x);
        memcpy(out + (i / 2 + (i % 2 ? r : 0)) * 16, x, sizeof x);
    }
}

/* mixScrypt(bytes, cost, r): scryptROMix of 128·r bytes, in place. `cost` is a power of two. */
static JSValue mix_scrypt(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    size_t len;
    uint32_t cost, r;
    uint8_t *bytes = JS_GetUint8Array(ctx, &len, argv[0]);
    if (!bytes || JS_ToUint32(ctx, &cost, argv[1]) || JS_ToUint32(ctx, &r, argv[2]))
        return JS_EXCEPTION;
    size_t words = (size_t)r * 32;
    if (!r || len != words * 4 || cost > SIZE_MAX / len / 2)
        return JS_ThrowRangeError(ctx, "not a block");
    uint32_t *table = malloc((size_t)cost * len), *x = malloc(2 * len), *y = x ? x + words : NULL;
    if (table && x) {
        memcpy(x, bytes, len);
        for (uint32_t i = 0; i < cost; i++) {
            memcpy(table + i * words, x, len);
            mix_block(x, y, r);
            memcpy(x, y, len);
        }
        for (uint32_t i = 0; i < cost; i++) {
            const uint32_t *other = table + (x[(2 * r - 1) * 16] & (cost - 1)) * words;
            for (size_t j = 0; j < words; j++)
                x[j] ^= other[j];
            mix_block(x, y, r);
            memcpy(x, y, len);
        }
        memcpy(bytes, x, len);
    }
    bool failed = !table || !x;
    free(table);
    free(x);
    return failed ? JS_ThrowOutOfMemory(ctx) : JS_UNDEFINED;
}

int derivation_install(JSContext *ctx, JSValueConst native)
{
    static const JSCFunctionListEntry functions[] = {
        JS_CFUNC_DEF("iterateHmac", 4, iterate_hmac),
        JS_CFUNC_DEF("mixScrypt", 3, mix_scrypt),
    };
    return JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
