/* bunzip.c - reading what bzip2 wrote. THREAT: the data comes from anywhere; every count and index is checked before it is used. */
#include "bzip.h"
#include <string.h>

enum { TABLES_MOST = 6, LENGTH_MOST = 20, SELECTORS_MOST = 18002 };

typedef struct { const unsigned char *p, *end; uint32_t bits; int n, bad; } bit_reader;
typedef struct { int limit[LENGTH_MOST + 2], base[LENGTH_MOST + 2], least; unsigned short symbol[BZIP_SYMBOLS]; } code_table;

static uint32_t get_bit(bit_reader *r) {
    if (!r->n) {
        if (r->p >= r->end) { r->bad = 1; return 0; }
        r->bits = *r->p++;
        r->n = 8;
    }
    return r->bits >> --r->n & 1;
}

static uint32_t get_bits(bit_reader *r, int n) {
    uint32_t v = 0;
    while (n--) v = v << 1 | get_bit(r);
    return v;
}

static void make_table(code_table *c, const unsigned char *length, int n) {
    int count[LENGTH_MOST + 2] = {0}, code = 0, at = 0;
    memset(c, 0, sizeof *c);
    for (int i = 0; i < n; i++) count[length[i]]++;
    for (int bits = 1; bits <= LENGTH_MOST; bits++) {
        if (count[bits] && !c->least) c->least = bits;
        c->base[bits] = at - code;
        for (int i = 0; i < n; i++) if (length[i] == bits) c->symbol[at++] = (unsigned short)i;
        code += count[bits];
        c->limit[bits] = code - 1;
        code <<= 1;
    }
}

/* The next symbol, or -1. */
static int get_symbol(bit_reader *r, const code_table *c, int kinds) {
    int code = 0;
    for (int bits = 1; bits <= LENGTH_MOST && !r->bad; bits++) {
        code = code << 1 | (int)get_bit(r);
        if (bits < c->least || code > c->limit[bits]) continue;
        int at = code + c->base[bits];
        return at >= 0 && at < kinds ? c->symbol[at] : -1;
    }
    return -1;
}

static int get_lengths(bit_reader *r, unsigned char *length, int n) {
    int now = (int)get_bits(r, 5);
    for (int i = 0; i < n; i++) {
        while (get_bit(r)) {
            now += get_bit(r) ? -1 : 1;
            if (now < 1 || now > LENGTH_MOST || r->bad) return -1;
        }
        if (now < 1 || now > LENGTH_MOST) return -1;
        length[i] = (unsigned char)now;
    }
    return 0;
}

/* Which of the tables each group of symbols uses; how many groups there are, or -1. */
static int get_selectors(bit_reader *r, int tables, unsigned char *selector) {
    unsigned char list[TABLES_MOST];
    int n = (int)get_bits(r, 15);
    for (int i = 0; i < TABLES_MOST; i++) list[i] = (unsigned char)i;
    for (int i = 0; i < n; i++) {
        int at = 0;
        while (get_bit(r)) if (++at >= tables || r->bad) return -1;
        unsigned char chosen = list[at];
        memmove(list + 1, list, (size_t)at);
        list[0] = chosen;
        if (i < SELECTORS_MOST) selector[i] = chosen;
    }
    return n < 1 ? -1 : n < SELECTORS_MOST ? n : SELECTORS_MOST;
}

/* The bytes of the last column into column; how many, or -1. */
static int get_column(bit_reader *r, uint32_t *column, int most) {
    unsigned char list[256], length[BZIP_SYMBOLS], selector[SELECTORS_MOST];
    code_table table[TABLES_MOST];
    int used = 0, n = 0, run = 0, weight = 1;
    uint32_t rows = get_bits(r, 16);
    for (int i = 0; i < 16; i++) {
        if (!(rows >> (15 - i) & 1)) continue;
        uint32_t row = get_bits(r, 16);
        for (int k = 0; k < 16; k++) if (row >> (15 - k) & 1) list[used++] = (unsigned char)(16 * i + k);
    }
    int kinds = used + 2, tables = (int)get_bits(r, 3);
    if (!used || tables < 2 || tables > TABLES_MOST) return -1;
    int groups = get_selectors(r, tables, selector);
    if (groups < 0) return -1;
    for (int i = 0; i < tables; i++) { if (get_lengths(r, length, kinds) < 0) return -1; make_table(&table[i], length, kinds); }
    for (int i = 0;; i++) {
        if (i / BZIP_GROUP >= groups) return -1;
        int s = get_symbol(r, &table[selector[i / BZIP_GROUP]], kinds);
        if (s < 0) return -1;
        if (s < 2) {
            if (weight > most) return -1;
            run += weight << s;
            weight *= 2;
            continue;
        }
        if (run > most - n) return -1;
        while (run > 0) { column[n++] = list[0]; run--; }
        weight = 1;
        if (s == kinds - 1) return n;
        if (n == most) return -1;
        unsigned char byte = list[s - 1];
        memmove(list + 1, list, (size_t)(s - 1));
        list[0] = byte;
        column[n++] = byte;
    }
}

static int get_block(tool *t, bit_reader *r, int most, buffer *out, uint32_t *crc_to) {
    uint32_t crc = get_bits(r, 32), randomised = get_bit(r), origin = get_bits(r, 24);
    uint32_t *column = tool_alloc(t, (size_t)most * sizeof *column), starts[257] = {0};
    int n = randomised ? -1 : get_column(r, column, most);
    if (n <= 0 || r->bad || origin >= (uint32_t)n) { tool_free(t, column); return -1; }
    for (int i = 0; i < n; i++) starts[(column[i] & 255) + 1]++;
    for (int i = 1; i <= 256; i++) starts[i] += starts[i - 1];
    for (int i = 0; i < n; i++) column[starts[column[i] & 255]++] |= (uint32_t)i << 8;
    size_t from = out->n;
    uint32_t at = column[origin] >> 8;
    int last = -1, same = 0;
    for (int i = 0; i < n; i++) {
        int byte = (int)(column[at] & 255);
        at = column[at] >> 8;
        if (same == 4) {                                 /* after four of a kind: how many more */
            for (int k = 0; k < byte; k++) buffer_putc(out, last);
            same = 0;
            last = -1;
            continue;
        }
        same = byte == last ? same + 1 : 1;
        last = byte;
        buffer_putc(out, byte);
    }
    tool_free(t, column);
    *crc_to = crc;
    return ~bzip_crc(0xffffffffu, (const unsigned char *)out->p + from, out->n - from) == crc ? 0 : -1;
}

int bunzip_bytes(tool *t, const char *in, size_t n, buffer *out) {
    bit_reader r = {.p = (const unsigned char *)in, .end = (const unsigned char *)in + n};
    int streams = 0;
    while (r.end - r.p >= 4 && !memcmp(r.p, "BZh", 3) && r.p[3] >= '1' && r.p[3] <= '9') {
        int most = (r.p[3] - '0') * BZIP_BLOCK;
        uint32_t whole = 0, crc;
        r.p += 4;
        r.n = 0;
        streams++;
        for (;;) {
            uint32_t high = get_bits(&r, 24), low = get_bits(&r, 24);
            if (r.bad) return -2;
            if (high == 0x177245 && low == 0x385090) {
                if (get_bits(&r, 32) != whole || r.bad) return -2;
                break;
            }
            if (high != 0x314159 || low != 0x265359 || get_block(t, &r, most, out, &crc) < 0) return -2;
            whole = (whole << 1 | whole >> 31) ^ crc;
        }
    }
    return streams ? 0 : -1;
}
