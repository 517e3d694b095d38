/* bzip.c - compressing as bzip2 does: runs of bytes, the sorted rotations of a block, move to front, Huffman codes. */
#include "bzip.h"
#include <string.h>

enum { CODE_MOST = 17 };                     /* bits of the longest code that the encoder makes */

typedef struct { buffer *to; uint64_t bits; int n; } bit_writer;

static void put_bits(bit_writer *w, uint32_t value, int n) {
    w->bits = w->bits << n | (value & (n == 32 ? 0xffffffffu : (1u << n) - 1));
    for (w->n += n; w->n >= 8; w->n -= 8) buffer_putc(w->to, (int)(w->bits >> (w->n - 8) & 255));
}

uint32_t bzip_crc(uint32_t crc, const unsigned char *p, size_t n) {
    while (n--) {
        crc ^= (uint32_t)*p++ << 24;
        for (int k = 0; k < 8; k++) crc = crc & 0x80000000u ? crc << 1 ^ 0x04c11db7u : crc << 1;
    }
    return crc;
}

/* The order of the rotations of p[0..n): ranks of ever longer beginnings, doubled each time, sorted by counting. */
static int *sort_rotations(tool *t, const unsigned char *p, int n) {
    int most = n > 256 ? n : 256;
    int *order = tool_alloc(t, (size_t)n * sizeof *order), *rank = tool_alloc(t, (size_t)n * sizeof *rank);
    int *next = tool_alloc(t, (size_t)n * sizeof *next), *count = tool_alloc(t, (size_t)(most + 1) * sizeof *count);
    for (int i = 0; i < n; i++) count[p[i] + 1]++;
    for (int i = 1; i <= most; i++) count[i] += count[i - 1];
    for (int i = 0; i < n; i++) { rank[i] = p[i]; order[count[p[i]]++] = i; }
    for (int length = 1, classes = 1; length < n && classes < n; length *= 2) {
        /* rotations in the order of their second half are those of order, moved back; then by the first half */
        for (int i = 0; i < n; i++) { next[i] = order[i] - length % n; if (next[i] < 0) next[i] += n; }
        memset(count, 0, (size_t)(most + 1) * sizeof *count);
        for (int i = 0; i < n; i++) count[rank[i] + 1]++;
        for (int i = 1; i <= most; i++) count[i] += count[i - 1];
        for (int i = 0; i < n; i++) order[count[rank[next[i]]]++] = next[i];
        classes = 0;
        for (int i = 0; i < n; i++) {
            int a = order[i], b = i ? order[i - 1] : a;
            if (i && (rank[a] != rank[b] || rank[(a + length) % n] != rank[(b + length) % n])) classes++;
            next[a] = classes;
        }
        classes++;
        memcpy(rank, next, (size_t)n * sizeof *rank);
    }
    tool_free(t, rank);
    tool_free(t, next);
    tool_free(t, count);
    return order;
}

/* Code lengths for n symbols by how often each comes; frequencies are flattened until the longest fits. */
static void code_lengths(const int *often, int n, unsigned char *length) {
    long weight[2 * BZIP_SYMBOLS];
    int parent[2 * BZIP_SYMBOLS];
    for (int flat = 0;; flat++) {
        int nodes = n, longest = 0;
        for (int i = 0; i < n; i++) { weight[i] = ((often[i] ? often[i] : 1) >> flat) + 1; parent[i] = -1; }
        for (int left = n; left > 1; left--, nodes++) {
            int a = -1, b = -1;
            for (int i = 0; i < nodes; i++) {
                if (parent[i] >= 0) continue;
                if (a < 0 || weight[i] < weight[a]) { b = a; a = i; } else if (b < 0 || weight[i] < weight[b]) b = i;
            }
            weight[nodes] = weight[a] + weight[b];
            parent[nodes] = -1;
            parent[a] = parent[b] = nodes;
        }
        for (int i = 0; i < n; i++) {
            int depth = 0;
            for (int k = i; parent[k] >= 0; k = parent[k]) depth++;
            length[i] = (unsigned char)depth;
            if (depth > longest) longest = depth;
        }
        if (longest <= CODE_MOST) return;
    }
}

static void put_lengths(bit_writer *w, const unsigned char *length, int n) {
    int now = length[0];
    put_bits(w, (uint32_t)now, 5);
    for (int i = 0; i < n; i++) {
        for (; now < length[i]; now++) put_bits(w, 2, 2);
        for (; now > length[i]; now--) put_bits(w, 3, 2);
        put_bits(w, 0, 1);
    }
}

/* The symbols of a block: runs of the front byte as numbers of two digits, others by their place in the list. */
static int move_to_front(const unsigned char *last, int n, const unsigned char *used, int used_n, unsigned short *to) {
    unsigned char list[256];
    int count = 0, run = 0;
    memcpy(list, used, (size_t)used_n);
    for (int i = 0; i <= n; i++) {
        int at = 0;
        while (i < n && list[at] != last[i]) at++;
        if (i < n && !at) { run++; continue; }
        for (; run > 0; run = (run - 1) / 2) to[count++] = (unsigned short)((run - 1) & 1);
        if (i == n) break;
        memmove(list + 1, list, (size_t)at);
        list[0] = last[i];
        to[count++] = (unsigned short)(at + 1);
    }
    to[count++] = (unsigned short)(used_n + 1);
    return count;
}

static void put_block(tool *t, bit_writer *w, const unsigned char *p, int n, uint32_t crc) {
    int *order = sort_rotations(t, p, n), origin = 0, used_n = 0, often[BZIP_SYMBOLS] = {0};
    unsigned char *last = tool_alloc(t, (size_t)n), seen[256] = {0}, used[256], length[BZIP_SYMBOLS];
    unsigned short *symbols = tool_alloc(t, ((size_t)n + 2) * sizeof *symbols);
    for (int i = 0; i < n; i++) {
        if (!order[i]) origin = i;
        last[i] = p[order[i] ? order[i] - 1 : n - 1];
        seen[p[i]] = 1;
    }
    for (int i = 0; i < 256; i++) if (seen[i]) used[used_n++] = (unsigned char)i;
    int count = move_to_front(last, n, used, used_n, symbols), kinds = used_n + 2;
    for (int i = 0; i < count; i++) often[symbols[i]]++;
    code_lengths(often, kinds, length);
    put_bits(w, 0x314159, 24);
    put_bits(w, 0x265359, 24);
    put_bits(w, crc, 32);
    put_bits(w, 0, 1);
    put_bits(w, (uint32_t)origin, 24);
    uint32_t rows[16] = {0}, some = 0;
    for (int i = 0; i < 256; i++) rows[i / 16] = rows[i / 16] << 1 | seen[i];
    for (int i = 0; i < 16; i++) some = some << 1 | (rows[i] != 0);
    put_bits(w, some, 16);
    for (int i = 0; i < 16; i++) if (rows[i]) put_bits(w, rows[i], 16);
    int groups = (count + BZIP_GROUP - 1) / BZIP_GROUP;
    put_bits(w, 2, 3);                       /* two tables are the least; both are the same, and the first is used */
    put_bits(w, (uint32_t)groups, 15);
    for (int i = 0; i < groups; i++) put_bits(w, 0, 1);
    put_lengths(w, length, kinds);
    put_lengths(w, length, kinds);
    uint32_t codes[BZIP_SYMBOLS] = {0}, code = 0;
    for (int bits = 1; bits <= CODE_MOST; bits++, code <<= 1)
        for (int i = 0; i < kinds; i++) if (length[i] == bits) codes[i] = code++;
    for (int i = 0; i < count; i++) put_bits(w, codes[symbols[i]], length[symbols[i]]);
    tool_free(t, order);
    tool_free(t, last);
    tool_free(t, symbols);
}

void bzip_bytes(tool *t, const char *in, size_t n, buffer *out) {
    bit_writer w = {.to = out};
    uint32_t whole = 0;
    unsigned char *block = tool_alloc(t, BZIP_BLOCK);
    buffer_puts(out, "BZh9");
    for (size_t at = 0; at < n;) {
        size_t start = at;
        int filled = 0;
        while (at < n && filled < BZIP_BLOCK - 24) {
            size_t run = 1;
            while (run < 255 && at + run < n && in[at + run] == in[at]) run++;
            for (size_t i = 0; i < run && i < 4; i++) block[filled++] = (unsigned char)in[at];
            if (run >= 4) block[filled++] = (unsigned char)(run - 4);
            at += run;
        }
        uint32_t crc = ~bzip_crc(0xffffffffu, (const unsigned char *)in + start, at - start);
        whole = (whole << 1 | whole >> 31) ^ crc;
        put_block(t, &w, block, filled, crc);
    }
    put_bits(&w, 0x177245, 24);
    put_bits(&w, 0x385090, 24);
    put_bits(&w, whole, 32);
    if (w.n) put_bits(&w, 0, 8 - w.n);
}
