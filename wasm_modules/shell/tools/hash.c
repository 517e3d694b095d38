/* hash.c - MD5, SHA-1 and SHA-2 as their standards give them, and the CRC of zip and gzip. */
#include "hash.h"
#include <math.h>
#include <string.h>

static uint32_t left(uint32_t x, int n) { return x << n | x >> (32 - n); }
static uint32_t right(uint32_t x, int n) { return x >> n | x << (32 - n); }
static uint64_t right64(uint64_t x, int n) { return x >> n | x << (64 - n); }

static const uint64_t k64[80]
    = {0x428a2f98d728ae22ull, 0x7137449123ef65cdull, 0xb5c0fbcfec4d3b2full, 0xe9b5dba58189dbbcull, 0x3956c25bf348b538ull,
        0x59f111f1b605d019ull, 0x923f82a4af194f9bull, 0xab1c5ed5da6d8118ull, 0xd807aa98a3030242ull, 0x12835b0145706fbeull,
        0x243185be4ee4b28cull, 0x550c7dc3d5ffb4e2ull, 0x72be5d74f27b896full, 0x80deb1fe3b1696b1ull, 0x9bdc06a725c71235ull,
        0xc19bf174cf692694ull, 0xe49b69c19ef14ad2ull, 0xefbe4786384f25e3ull, 0x0fc19dc68b8cd5b5ull, 0x240ca1cc77ac9c65ull,
        0x2de92c6f592b0275ull, 0x4a7484aa6ea6e483ull, 0x5cb0a9dcbd41fbd4ull, 0x76f988da831153b5ull, 0x983e5152ee66dfabull,
        0xa831c66d2db43210ull, 0xb00327c898fb213full, 0xbf597fc7beef0ee4ull, 0xc6e00bf33da88fc2ull, 0xd5a79147930aa725ull,
        0x06ca6351e003826full, 0x142929670a0e6e70ull, 0x27b70a8546d22ffcull, 0x2e1b21385c26c926ull, 0x4d2c6dfc5ac42aedull,
        0x53380d139d95b3dfull, 0x650a73548baf63deull, 0x766a0abb3c77b2a8ull, 0x81c2c92e47edaee6ull, 0x92722c851482353bull,
        0xa2bfe8a14cf10364ull, 0xa81a664bbc423001ull, 0xc24b8b70d0f89791ull, 0xc76c51a30654be30ull, 0xd192e819d6ef5218ull,
        0xd69906245565a910ull, 0xf40e35855771202aull, 0x106aa07032bbd1b8ull, 0x19a4c116b8d2d0c8ull, 0x1e376c085141ab53ull,
        0x2748774cdf8eeb99ull, 0x34b0bcb5e19b48a8ull, 0x391c0cb3c5c95a63ull, 0x4ed8aa4ae3418acbull, 0x5b9cca4f7763e373ull,
        0x682e6ff3d6b2b8a3ull, 0x748f82ee5defb2fcull, 0x78a5636f43172f60ull, 0x84c87814a1f0ab72ull, 0x8cc702081a6439ecull,
        0x90befffa23631e28ull, 0xa4506cebde82bde9ull, 0xbef9a3f7b2c67915ull, 0xc67178f2e372532bull, 0xca273eceea26619cull,
        0xd186b8c721c0c207ull, 0xeada7dd6cde0eb1eull, 0xf57d4f7fee6ed178ull, 0x06f067aa72176fbaull, 0x0a637dc5a2c898a6ull,
        0x113f9804bef90daeull, 0x1b710b35131c471bull, 0x28db77f523047d84ull, 0x32caab7b40c72493ull, 0x3c9ebe0a15c9bebcull,
        0x431d67c49c100d4cull, 0x4cc5d4becb3e42b6ull, 0x597f299cfc657e2aull, 0x5fcb6fab3ad6faecull, 0x6c44198c4a475817ull};

void hash_start(hash_state *h, int kind) {
    static const uint32_t md5[]
        = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0},
        sha224[] = {0xc1059ed8, 0x367cd507, 0x3070dd17, 0xf70e5939, 0xffc00b31, 0x68581511, 0x64f98fa7, 0xbefa4fa4},
        sha256[] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    static const uint64_t sha384[] = {0xcbbb9d5dc1059ed8ull, 0x629a292a367cd507ull, 0x9159015a3070dd17ull, 0x152fecd8f70e5939ull,
        0x67332667ffc00b31ull, 0x8eb44a8768581511ull, 0xdb0c2e0d64f98fa7ull, 0x47b5481dbefa4fa4ull},
                          sha512[] = {0x6a09e667f3bcc908ull, 0xbb67ae8584caa73bull, 0x3c6ef372fe94f82bull, 0xa54ff53a5f1d36f1ull,
                              0x510e527fade682d1ull, 0x9b05688c2b3e6c1full, 0x1f83d9abfb41bd6bull, 0x5be0cd19137e2179ull};
    static const size_t sizes[] = {16, 20, 28, 32, 48, 64};
    memset(h, 0, sizeof *h);
    h->kind = kind;
    h->block_size = kind >= HASH_SHA384 ? 128 : 64;
    h->digest_size = sizes[kind];
    switch (kind) {
    case HASH_MD5: case HASH_SHA1: memcpy(h->h32, md5, sizeof md5); break;
    case HASH_SHA224: memcpy(h->h32, sha224, sizeof sha224); break;
    case HASH_SHA256: memcpy(h->h32, sha256, sizeof sha256); break;
    case HASH_SHA384: memcpy(h->h64, sha384, sizeof sha384); break;
    case HASH_SHA512: memcpy(h->h64, sha512, sizeof sha512); break;
    }
}

static void md5_block(hash_state *h, const unsigned char *p) {
    static const unsigned char shift[] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};
    uint32_t w[16], a = h->h32[0], b = h->h32[1], c = h->h32[2], d = h->h32[3];
    for (int i = 0; i < 16; i++)
        w[i] = p[i * 4] | (uint32_t)p[i * 4 + 1] << 8 | (uint32_t)p[i * 4 + 2] << 16 | (uint32_t)p[i * 4 + 3] << 24;
    for (int i = 0; i < 64; i++) {
        uint32_t f, k = (uint32_t)(fabs(sin(i + 1)) * 4294967296.0);
        int g;
        if (i < 16) { f = (b & c) | (~b & d); g = i; }
        else if (i < 32) { f = (d & b) | (~d & c); g = (5 * i + 1) & 15; }
        else if (i < 48) { f = b ^ c ^ d; g = (3 * i + 5) & 15; }
        else { f = c ^ (b | ~d); g = (7 * i) & 15; }
        f += a + k + w[g];
        a = d; d = c; c = b;
        b += left(f, shift[i / 16 * 4 + i % 4]);
    }
    h->h32[0] += a; h->h32[1] += b; h->h32[2] += c; h->h32[3] += d;
}

static void sha1_block(hash_state *h, const unsigned char *p) {
    uint32_t w[80], a = h->h32[0], b = h->h32[1], c = h->h32[2], d = h->h32[3], e = h->h32[4];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[i * 4] << 24 | (uint32_t)p[i * 4 + 1] << 16 | (uint32_t)p[i * 4 + 2] << 8 | p[i * 4 + 3];
    for (int i = 16; i < 80; i++) w[i] = left(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (int i = 0; i < 80; i++) {
        uint32_t f = i < 20 ? (b & c) | (~b & d) : i < 40 || i >= 60 ? b ^ c ^ d : (b & c) | (b & d) | (c & d);
        uint32_t k = i < 20   ? 0x5a827999
                     : i < 40 ? 0x6ed9eba1
                     : i < 60 ? 0x8f1bbcdc
                              : 0xca62c1d6,
                 next = left(a, 5) + f + e + k + w[i];
        e = d; d = c; c = left(b, 30); b = a; a = next;
    }
    h->h32[0] += a; h->h32[1] += b; h->h32[2] += c; h->h32[3] += d; h->h32[4] += e;
}

static void sha256_block(hash_state *h, const unsigned char *p) {
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[i * 4] << 24 | (uint32_t)p[i * 4 + 1] << 16 | (uint32_t)p[i * 4 + 2] << 8 | p[i * 4 + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t x = w[i - 15], y = w[i - 2];
        w[i] = w[i - 16] + (right(x, 7) ^ right(x, 18) ^ x >> 3) + w[i - 7] + (right(y, 17) ^ right(y, 19) ^ y >> 10);
    }
    memcpy(s, h->h32, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t t1 = s[7] + (right(s[4], 6) ^ right(s[4], 11) ^ right(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6]))
                      + (uint32_t)(k64[i] >> 32) + w[i];
        uint32_t t2 = (right(s[0], 2) ^ right(s[0], 13) ^ right(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++) h->h32[i] += s[i];
}

static void sha512_block(hash_state *h, const unsigned char *p) {
    uint64_t w[80], s[8];
    for (int i = 0; i < 16; i++) { w[i] = 0; for (int j = 0; j < 8; j++) w[i] = w[i] << 8 | p[i * 8 + j]; }
    for (int i = 16; i < 80; i++) {
        uint64_t x = w[i - 15], y = w[i - 2];
        w[i] = w[i - 16] + (right64(x, 1) ^ right64(x, 8) ^ x >> 7) + w[i - 7] + (right64(y, 19) ^ right64(y, 61) ^ y >> 6);
    }
    memcpy(s, h->h64, sizeof s);
    for (int i = 0; i < 80; i++) {
        uint64_t t1 = s[7] + (right64(s[4], 14) ^ right64(s[4], 18) ^ right64(s[4], 41)) + ((s[4] & s[5]) ^ (~s[4] & s[6]))
                      + k64[i] + w[i];
        uint64_t t2
            = (right64(s[0], 28) ^ right64(s[0], 34) ^ right64(s[0], 39)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++) h->h64[i] += s[i];
}

static void run_block(hash_state *h, const unsigned char *p) {
    if (h->kind == HASH_MD5) md5_block(h, p);
    else if (h->kind == HASH_SHA1) sha1_block(h, p);
    else if (h->block_size == 64) sha256_block(h, p);
    else sha512_block(h, p);
}

void hash_add(hash_state *h, const void *bytes, size_t n) {
    const unsigned char *p = bytes;
    h->length += n;
    while (n) {
        size_t take = h->block_size - h->fill < n ? h->block_size - h->fill : n;
        memcpy(h->block + h->fill, p, take);
        h->fill += take;
        p += take;
        n -= take;
        if (h->fill == h->block_size) { run_block(h, h->block); h->fill = 0; }
    }
}

size_t hash_finish(hash_state *h, unsigned char digest[64]) {
    uint64_t bits = h->length * 8;
    size_t tail = h->block_size == 128 ? 16 : 8;
    h->block[h->fill++] = 0x80;
    if (h->fill > h->block_size - tail) {
        memset(h->block + h->fill, 0, h->block_size - h->fill);
        run_block(h, h->block);
        h->fill = 0;
    }
    memset(h->block + h->fill, 0, h->block_size - h->fill);
    for (int i = 0; i < 8; i++)
        h->block[h->block_size - 8 + (size_t)i] = (unsigned char)(h->kind == HASH_MD5 ? bits >> (8 * i) : bits >> (56 - 8 * i));
    run_block(h, h->block);
    for (size_t i = 0; i < h->digest_size; i++)
        digest[i] = (unsigned char)(h->kind == HASH_MD5   ? h->h32[i / 4] >> (8 * (i % 4))
                                    : h->block_size == 64 ? h->h32[i / 4] >> (24 - 8 * (i % 4))
                                                          : h->h64[i / 8] >> (56 - 8 * (i % 8)));
    return h->digest_size;
}

uint32_t crc32_update(uint32_t crc, const void *bytes, size_t n) {
    const unsigned char *p = bytes;
    crc = ~crc;
    while (n--) {
        crc ^= *p++;
        for (int k = 0; k < 8; k++) crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
    }
    return ~crc;
}
