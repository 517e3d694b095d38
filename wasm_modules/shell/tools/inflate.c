/* inflate.c - decompression: canonical Huffman codes read bit by bit through small tables. Output is bounded by memory, input
 * never read past its end. */
#include "deflate.h"
#include "hash.h"
#include <string.h>

typedef struct { const unsigned char *p, *end; unsigned long bits; int count, failed; } bit_source;
typedef struct { unsigned short count[16], symbol[320]; } huffman;

static unsigned take(bit_source *s, int n) {
    while (s->count < n) {
        if (s->p >= s->end) { s->failed = 1; return 0; }
        s->bits |= (unsigned long)*s->p++ << s->count;
        s->count += 8;
    }
    unsigned v = (unsigned)(s->bits & ((1ul << n) - 1));
    s->bits >>= n;
    s->count -= n;
    return v;
}

static void build(huffman *h, const unsigned char *lengths, int n) {
    unsigned short offset[16];
    memset(h->count, 0, sizeof h->count);
    for (int i = 0; i < n; i++) h->count[lengths[i]]++;
    h->count[0] = 0;
    offset[1] = 0;
    for (int i = 1; i < 15; i++) offset[i + 1] = (unsigned short)(offset[i] + h->count[i]);
    for (int i = 0; i < n; i++) if (lengths[i]) h->symbol[offset[lengths[i]]++] = (unsigned short)i;
}

static int decode(bit_source *s, const huffman *h) {
    int code = 0, first = 0, index = 0;
    for (int len = 1; len <= 15; len++) {
        code |= (int)take(s, 1);
        if (s->failed) return -1;
        int count = h->count[len];
        if (code - count < first) return h->symbol[index + (code - first)];
        index += count;
        first = (first + count) << 1;
        code <<= 1;
    }
    return -1;
}

static int codes(bit_source *s, buffer *out, const huffman *lit, const huffman *dist) {
    static const unsigned short base[]
        = {3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258},
        dist_base[] = {1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073,
            4097, 6145, 8193, 12289, 16385, 24577};
    static const unsigned char extra[]
        = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0},
        dist_extra[] = {0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};
    for (;;) {
        int symbol = decode(s, lit);
        if (symbol < 0) return -1;
        if (symbol < 256) { buffer_putc(out, symbol); continue; }
        if (symbol == 256) return 0;
        symbol -= 257;
        if (symbol >= 29) return -1;
        size_t len = base[symbol] + take(s, extra[symbol]);
        int d = decode(s, dist);
        if (d < 0 || d >= 30) return -1;
        size_t back = dist_base[d] + take(s, dist_extra[d]);
        if (s->failed || back > out->n) return -1;
        buffer_reserve(out, len);
        for (size_t i = 0; i < len; i++) { out->p[out->n] = out->p[out->n - back]; out->n++; }
    }
}

static int dynamic(bit_source *s, huffman *lit, huffman *dist) {
    static const unsigned char order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    unsigned char lengths[320] = {0};
    int nlen = (int)take(s, 5) + 257, ndist = (int)take(s, 5) + 1, ncode = (int)take(s, 4) + 4, i = 0;
    if (nlen > 286 || ndist > 30) return -1;
    for (; i < ncode; i++) lengths[order[i]] = (unsigned char)take(s, 3);
    huffman h;
    build(&h, lengths, 19);
    memset(lengths, 0, sizeof lengths);
    for (i = 0; i < nlen + ndist;) {
        int symbol = decode(s, &h), repeat, value = 0;
        if (symbol < 0) return -1;
        if (symbol < 16) { lengths[i++] = (unsigned char)symbol; continue; }
        if (symbol == 16) { if (!i) return -1; value = lengths[i - 1]; repeat = 3 + (int)take(s, 2); }
        else repeat = symbol == 17 ? 3 + (int)take(s, 3) : 11 + (int)take(s, 7);
        if (i + repeat > nlen + ndist) return -1;
        while (repeat--) lengths[i++] = (unsigned char)value;
    }
    build(lit, lengths, nlen);
    build(dist, lengths + nlen, ndist);
    return s->failed ? -1 : 0;
}

int inflate_bytes(const unsigned char *in, size_t n, size_t *used, buffer *out) {
    bit_source s = {in, in + n, 0, 0, 0};
    huffman lit, dist;
    int last;
    do {
        last = (int)take(&s, 1);
        int kind = (int)take(&s, 2);
        if (s.failed || kind == 3) return -1;
        if (kind == 0) {
            s.bits = 0;
            s.count = 0;
            if (s.end - s.p < 4) return -1;
            size_t len = s.p[0] | (size_t)s.p[1] << 8;
            if ((len ^ 0xFFFF) != (s.p[2] | (size_t)s.p[3] << 8) || (size_t)(s.end - s.p) < 4 + len) return -1;
            buffer_add(out, s.p + 4, len);
            s.p += 4 + len;
            continue;
        }
        if (kind == 1) {
            unsigned char lengths[320];
            for (int i = 0; i < 288; i++) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
            build(&lit, lengths, 288);
            memset(lengths, 5, 30);
            build(&dist, lengths, 30);
        } else if (dynamic(&s, &lit, &dist) < 0) return -1;
        if (codes(&s, out, &lit, &dist) < 0) return -1;
    } while (!last);
    *used = (size_t)(s.p - in) - (size_t)(s.count / 8);
    return 0;
}

int gunzip_bytes(tool *t, const char *in, size_t n, buffer *out, const char **error) {
    const unsigned char *p = (const unsigned char *)in;
    size_t at = 0;
    (void)t;
    int is_gzip = n >= 2 && p[0] == 0x1F && p[1] == 0x8B;
    if (!is_gzip || n < 18) { *error = n && !is_gzip ? "not in gzip format" : "unexpected end of file"; return -1; }
    while (n - at >= 18 && p[at] == 0x1F && p[at + 1] == 0x8B) {
        int flags = p[at + 3];
        size_t k = at + 10, used = 0, start = out->n;
        if (flags & 4) k += 2 + (k + 2 <= n ? p[k] | (size_t)p[k + 1] << 8 : n);
        if (flags & 8) { while (k < n && p[k]) k++; k++; }
        if (flags & 16) { while (k < n && p[k]) k++; k++; }
        if (flags & 2) k += 2;
        if (k >= n) { *error = "unexpected end of file"; return -1; }
        if (inflate_bytes(p + k, n - k, &used, out) < 0) { *error = "invalid compressed data--format violated"; return -1; }
        k += used;
        if (k + 8 > n) { *error = "unexpected end of file"; return -1; }
        uint32_t crc = p[k] | (uint32_t)p[k + 1] << 8 | (uint32_t)p[k + 2] << 16 | (uint32_t)p[k + 3] << 24;
        if (crc != crc32_update(0, out->p ? out->p + start : "", out->n - start)) {
            *error = "invalid compressed data--crc error";
            return -1;
        }
        at = k + 8;
    }
    while (at < n && !p[at]) at++;          /* padding */
    return at < n;
}
