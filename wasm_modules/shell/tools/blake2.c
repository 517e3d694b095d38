/* blake2.c - BLAKE2b, for b2sum. */
#include "hash.h"
#include <string.h>

static const uint64_t start[8] = {0x6a09e667f3bcc908ULL, 0xbb67ae8584caa73bULL, 0x3c6ef372fe94f82bULL, 0xa54ff53a5f1d36f1ULL,
    0x510e527fade682d1ULL, 0x9b05688c2b3e6c1fULL, 0x1f83d9abfb41bd6bULL, 0x5be0cd19137e2179ULL};
static const unsigned char order[10][16]
    = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
        {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
        {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
        {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
        {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

static uint64_t turn(uint64_t x, int n) { return x >> n | x << (64 - n); }

static void mix(uint64_t *v, int a, int b, int c, int d, uint64_t x, uint64_t y) {
    v[a] += v[b] + x; v[d] = turn(v[d] ^ v[a], 32);
    v[c] += v[d]; v[b] = turn(v[b] ^ v[c], 24);
    v[a] += v[b] + y; v[d] = turn(v[d] ^ v[a], 16);
    v[c] += v[d]; v[b] = turn(v[b] ^ v[c], 63);
}

static void compress(blake2_state *s, int last) {
    uint64_t v[16], m[16];
    for (int i = 0; i < 8; i++) { v[i] = s->h[i]; v[i + 8] = start[i]; }
    v[12] ^= s->total;
    if (last) v[14] = ~v[14];
    for (int i = 0; i < 16; i++) { m[i] = 0; for (int j = 7; j >= 0; j--) m[i] = m[i] << 8 | s->block[i * 8 + j]; }
    for (int r = 0; r < 12; r++) {
        const unsigned char *o = order[r % 10];
        for (int i = 0; i < 4; i++) mix(v, i, i + 4, i + 8, i + 12, m[o[i * 2]], m[o[i * 2 + 1]]);
        for (int i = 0; i < 4; i++)
            mix(v, i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12, m[o[i * 2 + 8]], m[o[i * 2 + 9]]);
    }
    for (int i = 0; i < 8; i++) s->h[i] ^= v[i] ^ v[i + 8];
}

void blake2_start(blake2_state *s, size_t bytes) {
    memset(s, 0, sizeof *s);
    memcpy(s->h, start, sizeof start);
    s->h[0] ^= 0x01010000u ^ bytes;
    s->bytes = bytes;
}

void blake2_add(blake2_state *s, const void *data, size_t n) {
    const unsigned char *p = data;
    while (n) {
        if (s->used == sizeof s->block) { s->total += s->used; compress(s, 0); s->used = 0; }
        size_t part = sizeof s->block - s->used < n ? sizeof s->block - s->used : n;
        memcpy(s->block + s->used, p, part);
        s->used += part;
        p += part;
        n -= part;
    }
}

size_t blake2_finish(blake2_state *s, unsigned char *digest) {
    s->total += s->used;
    memset(s->block + s->used, 0, sizeof s->block - s->used);
    compress(s, 1);
    for (size_t i = 0; i < s->bytes; i++) digest[i] = (unsigned char)(s->h[i / 8] >> 8 * (i % 8));
    return s->bytes;
}
