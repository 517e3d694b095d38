/* deflate.c - compression: matches found through chains of equal three-byte hashes, then one Huffman block per 32K symbols,
 * with codes of its own or with the format's fixed ones, whichever is shorter. */
#include "deflate.h"
#include "hash.h"
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 32768, HASHES = 32768, BLOCK = 32768 };
typedef struct { buffer *out; unsigned long bits; int count; } bit_sink;
typedef struct { unsigned short length, distance; } item;               /* distance 0: length is a literal byte */

static void put(bit_sink *s, unsigned v, int n) {
    s->bits |= (unsigned long)v << s->count;
    for (s->count += n; s->count >= 8; s->count -= 8) { buffer_putc(s->out, (int)(s->bits & 255)); s->bits >>= 8; }
}

static const unsigned short base[]
    = {3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258},
    dist_base[] = {1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097,
        6145, 8193, 12289, 16385, 24577};
static const unsigned char extra[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0},
                           dist_extra[]
                           = {0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};

static int length_code(int len) { int i = 28; while (base[i] > len) i--; return i; }
static int distance_code(int d) { int i = 29; while (dist_base[i] > d) i--; return i; }

typedef struct { unsigned weight; int symbol; } leaf;
static int by_weight(const void *a, const void *b) {
    const leaf *x = a, *y = b;
    return x->weight < y->weight ? -1 : x->weight > y->weight ? 1 : x->symbol - y->symbol;
}

/* Code lengths of at most limit bits: Huffman by repeated halving of weights until they fit. */
static void make_lengths(const unsigned *freq, int n, int limit, unsigned char *lengths) {
    unsigned weights[320];
    for (int i = 0; i < n; i++) weights[i] = freq[i];
    for (;;) {
        leaf leaves[320];
        int count = 0, parent[640], longest = 0;
        unsigned w[640];
        for (int i = 0; i < n; i++) if (weights[i]) leaves[count++] = (leaf){weights[i], i};
        memset(lengths, 0, (size_t)n);
        if (count <= 1) {
            lengths[count ? leaves[0].symbol : 0] = 1;
            if (n > 1 && count <= 1) lengths[count && leaves[0].symbol == 0 ? 1 : 0] |= 1;
            return;
        }
        qsort(leaves, (size_t)count, sizeof *leaves, by_weight);
        for (int i = 0; i < count; i++) w[i] = leaves[i].weight;
        int a = 0, b = count, made = count;
        while (made < 2 * count - 1) {
            int pick[2];
            for (int k = 0; k < 2; k++) pick[k] = a < count && (b >= made || w[a] <= w[b]) ? a++ : b++;
            w[made] = w[pick[0]] + w[pick[1]];
            parent[pick[0]] = parent[pick[1]] = made++;
        }
        int depth[640];
        depth[made - 1] = 0;
        for (int i = made - 2; i >= 0; i--) {
            depth[i] = depth[parent[i]] + 1;
            if (i < count) {
                lengths[leaves[i].symbol] = (unsigned char)depth[i];
                if (depth[i] > longest) longest = depth[i];
            }
        }
        if (longest <= limit) return;
        for (int i = 0; i < n; i++) if (weights[i]) weights[i] = weights[i] / 2 + 1;
    }
}

static void make_codes(const unsigned char *lengths, int n, unsigned short *codes) {
    unsigned short next[17] = {0}, count[17] = {0};
    for (int i = 0; i < n; i++) count[lengths[i]]++;
    count[0] = 0;
    for (int i = 1; i <= 15; i++) next[i + 1] = (unsigned short)((next[i] + count[i]) << 1);
    for (int i = 0; i < n; i++) {
        unsigned short c = lengths[i] ? next[lengths[i]]++ : 0, r = 0;
        for (int k = 0; k < lengths[i]; k++) r = (unsigned short)(r << 1 | (c >> k & 1));
        codes[i] = r;
    }
}

/* The lengths that the format fixes, two literals more than are ever used. */
static void fixed_literals(unsigned char table[288]) {
    for (int i = 0; i < 288; i++) table[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
}

static void fixed_lengths(unsigned char lengths[320]) {
    unsigned char literals[288];
    fixed_literals(literals);
    memcpy(lengths, literals, 286);
    memset(lengths + 286, 5, 30);
    memset(lengths + 316, 0, 4);
}

static void write_block(bit_sink *s, const item *items, size_t n, int last) {
    unsigned freq[286] = {0}, dist_freq[30] = {0}, code_freq[19] = {0};
    unsigned char lengths[320] = {0}, code_lengths[19] = {0};
    unsigned short codes[288], dist_codes[30], code_codes[19];
    static const unsigned char order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    freq[256] = 1;
    for (size_t i = 0; i < n; i++) {
        if (!items[i].distance) freq[items[i].length]++;
        else {
            freq[257 + length_code(items[i].length)]++;
            dist_freq[distance_code(items[i].distance)]++;
        }
    }
    make_lengths(freq, 286, 15, lengths);
    make_lengths(dist_freq, 30, 15, lengths + 286);
    make_codes(lengths, 286, codes);
    make_codes(lengths + 286, 30, dist_codes);
    for (int i = 0; i < 316; i++) code_freq[lengths[i]]++;
    make_lengths(code_freq, 19, 7, code_lengths);
    make_codes(code_lengths, 19, code_codes);
    unsigned char fixed[320];
    fixed_lengths(fixed);
    size_t dynamic = 14 + 19 * 3, plain = 0;
    for (int i = 0; i < 316; i++) dynamic += code_lengths[lengths[i]];
    for (int i = 0; i < 286; i++) { dynamic += (size_t)freq[i] * lengths[i]; plain += (size_t)freq[i] * fixed[i]; }
    for (int i = 0; i < 30; i++) {
        dynamic += (size_t)dist_freq[i] * lengths[286 + i];
        plain += (size_t)dist_freq[i] * fixed[286 + i];
    }
    put(s, (unsigned)last, 1);
    if (plain <= dynamic) {
        /* the codes that need not be sent are no longer: the usual case for short texts */
        memcpy(lengths, fixed, sizeof fixed);
        unsigned char literals[288];
        fixed_literals(literals);
        make_codes(literals, 288, codes);
        make_codes(lengths + 286, 30, dist_codes);
        put(s, 1, 2);
    } else {
        put(s, 2, 2);
        put(s, 286 - 257, 5);
        put(s, 30 - 1, 5);
        put(s, 19 - 4, 4);
        for (int i = 0; i < 19; i++) put(s, code_lengths[order[i]], 3);
        for (int i = 0; i < 316; i++) put(s, code_codes[lengths[i]], code_lengths[lengths[i]]);
    }
    for (size_t i = 0; i < n; i++) {
        if (!items[i].distance) { put(s, codes[items[i].length], lengths[items[i].length]); continue; }
        int l = length_code(items[i].length), d = distance_code(items[i].distance);
        put(s, codes[257 + l], lengths[257 + l]);
        put(s, (unsigned)(items[i].length - base[l]), extra[l]);
        put(s, dist_codes[d], lengths[286 + d]);
        put(s, (unsigned)(items[i].distance - dist_base[d]), dist_extra[d]);
    }
    put(s, codes[256], lengths[256]);
}

static unsigned hash3(const unsigned char *p) {
    return ((unsigned)p[0] << 10 ^ (unsigned)p[1] << 5 ^ p[2]) * 2654435761u >> 17 & (HASHES - 1);
}

void deflate_bytes(const unsigned char *in, size_t n, buffer *out, int level) {
    tool *t = out->t;
    int *head = tool_alloc(t, HASHES * sizeof *head), *previous = tool_alloc(t, WINDOW * sizeof *previous),
        tries = level >= 9   ? 1024
                : level >= 6 ? 128
                             : 8 * level;
    item *items = tool_alloc(t, BLOCK * sizeof *items);
    bit_sink s = {out, 0, 0};
    size_t count = 0, at = 0;
    if (!n) { put(&s, 1, 1); put(&s, 1, 2); put(&s, 0, 7); }
    while (at < n) {
        size_t best = 0, back = 0, most = n - at < 258 ? n - at : 258;
        if (most >= 3) {
            unsigned h = hash3(in + at);
            int candidate = head[h] - 1, left = tries;
            while (candidate >= 0 && at - (size_t)candidate < WINDOW && left--) {
                size_t len = 0;
                if (!best || in[(size_t)candidate + best] == in[at + best])
                    while (len < most && in[(size_t)candidate + len] == in[at + len]) len++;
                if (len > best) { best = len; back = at - (size_t)candidate; if (len == most) break; }
                int next = previous[candidate % WINDOW] - 1;
                if (next >= candidate) break;
                candidate = next;
            }
        }
        size_t step = best >= 3 ? best : 1;
        items[count++] = best >= 3 ? (item){(unsigned short)best, (unsigned short)back} : (item){in[at], 0};
        for (size_t k = 0; k < step; k++, at++)
            if (n - at >= 3) {
                unsigned h = hash3(in + at);
                previous[at % WINDOW] = head[h];
                head[h] = (int)at + 1;
            }
        if (count == BLOCK || at == n) { write_block(&s, items, count, at == n); count = 0; }
    }
    if (s.count) put(&s, 0, 8 - s.count);
    tool_free(t, head);
    tool_free(t, previous);
    tool_free(t, items);
}

static void put32(buffer *b, unsigned long v) { for (int i = 0; i < 4; i++) buffer_putc(b, (int)(v >> (8 * i) & 255)); }

void gzip_bytes(const char *in, size_t n, buffer *out, int level, const char *name, unsigned long mtime) {
    buffer_add(out, "\x1F\x8B\x08", 3);
    buffer_putc(out, name ? 8 : 0);
    put32(out, mtime);
    buffer_putc(out, level >= 9 ? 2 : level <= 1 ? 4 : 0);
    buffer_putc(out, 3);
    if (name) buffer_add(out, name, strlen(name) + 1);
    deflate_bytes((const unsigned char *)in, n, out, level);
    put32(out, crc32_update(0, in, n));
    put32(out, (unsigned long)n);
}
