/* hash.h - message digests and checksums over a stream of bytes. */
#ifndef HATCH_HASH_H
#define HATCH_HASH_H
#include <stddef.h>
#include <stdint.h>

enum { HASH_MD5, HASH_SHA1, HASH_SHA224, HASH_SHA256, HASH_SHA384, HASH_SHA512, HASH_BLAKE2B };
typedef struct {
    int kind;
    uint64_t length;
    uint32_t h32[8];
    uint64_t h64[8];
    unsigned char block[128];
    size_t fill, block_size, digest_size;
} hash_state;

typedef struct { uint64_t h[8], total; unsigned char block[128]; size_t used, bytes; } blake2_state;      /* blake2.c */
void blake2_start(blake2_state *s, size_t bytes);
void blake2_add(blake2_state *s, const void *data, size_t n);
size_t blake2_finish(blake2_state *s, unsigned char *digest);

void hash_start(hash_state *h, int kind);
void hash_add(hash_state *h, const void *bytes, size_t n);
size_t hash_finish(hash_state *h, unsigned char digest[64]);            /* the digest's size */
uint32_t crc32_update(uint32_t crc, const void *bytes, size_t n);       /* zlib's; start with 0 */
#endif
