/* base64.c - base64, base32 and basenc, both ways. */
#include "buffer.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct { const char *letters; int bits, unit; } alphabet;       /* unit: characters per group */
static const alphabet base64 = {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 6, 4};
static const alphabet base32 = {"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 5, 8};

static const alphabet base64url = {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", 6, 4};
static const alphabet base32hex = {"0123456789ABCDEFGHIJKLMNOPQRSTUV", 5, 8};
static const alphabet base16 = {"0123456789ABCDEF", 4, 2};
static const alphabet base2 = {"01", 1, 8};

static void put_wrapped(buffer *b, char c, size_t wrap, size_t *column) {
    if (wrap && *column == wrap) { buffer_putc(b, '\n'); *column = 0; }
    buffer_putc(b, c);
    ++*column;
}

typedef struct { const alphabet *a; size_t wrap, column, count; unsigned long long x; int bits; } encoder;

static void encode_some(encoder *e, const buffer *in, buffer *out) {
    size_t mask = ((size_t)1 << e->a->bits) - 1;
    for (size_t i = 0; i < in->n; i++) {
        e->x = e->x << 8 | (unsigned char)in->p[i];
        for (e->bits += 8; e->bits >= e->a->bits; e->count++) {
            e->bits -= e->a->bits;
            put_wrapped(out, e->a->letters[e->x >> e->bits & mask], e->wrap, &e->column);
        }
    }
}

static void encode_end(encoder *e, buffer *out) {
    size_t mask = ((size_t)1 << e->a->bits) - 1;
    if (e->bits) { put_wrapped(out, e->a->letters[e->x << (e->a->bits - e->bits) & mask], e->wrap, &e->column); e->count++; }
    for (; e->count % (size_t)e->a->unit; e->count++) put_wrapped(out, '=', e->wrap, &e->column);
    if (e->column && e->wrap) buffer_putc(out, '\n');
}

/* Each byte with its bits in the other order: base2lsbf is base2msbf of that. */
static void mirror_bits(buffer *b) {
    for (size_t i = 0; i < b->n; i++) {
        unsigned in = (unsigned char)b->p[i], out = 0;
        for (int k = 0; k < 8; k++) out |= (in >> k & 1) << (7 - k);
        b->p[i] = (char)out;
    }
}

/* Block by block, so that what reads the output may stop an input without end. */
static int encode_stream(tool *t, const alphabet *a, io *from, size_t wrap, int mirrored) {
    char block[12288];
    encoder e = {.a = a, .wrap = wrap};
    buffer out = {.t = t};
    ssize_t n;
    while ((n = io_read(from, block, sizeof block)) > 0) {
        buffer in = {.t = t, .p = block, .n = (size_t)n};
        if (mirrored) mirror_bits(&in);
        encode_some(&e, &in, &out);
        if (io_write(t->out, out.p, out.n) < 0) return 1;
        out.n = 0;
    }
    if (n < 0) { errno = io_failed(from); return tool_fail_errno(t, 1, "read error"); }
    encode_end(&e, &out);
    return out.n && io_write(t->out, out.p, out.n) < 0;
}

/* 0, or -1 at the first character that does not belong; what came before is decoded. */
static int decode(const alphabet *a, const buffer *in, buffer *out, int garbage) {
    unsigned long long x = 0;
    int bits = 0, padded = 0, count = 0;
    size_t whole = out->n;                 /* what complete units gave */
    for (size_t i = 0; i < in->n; i++) {
        char c = in->p[i];
        if (c == '\n') continue;
        if (c == '=') {
            if (!count) return -1;
            padded++;
            count++;
            if (count % a->unit == 0) {
                count = padded = 0;
                bits = 0;
                whole = out->n;
            }
            continue;
        }
        const char *at = c ? strchr(a->letters, c) : NULL;
        if (!at || padded) { if (garbage && !at) continue; return -1; }
        x = x << a->bits | (unsigned)(at - a->letters);
        count++;
        if ((bits += a->bits) >= 8) { bits -= 8; buffer_putc(out, (int)(x >> bits & 255)); }
        if (count % a->unit == 0) { count = 0; whole = out->n; }
    }
    if (count && a->bits == 5) out->n = whole;      /* base32 gives nothing of a unit that breaks off, base64 what it can */
    return count ? -1 : 0;
}

static const char z85[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

/* ZeroMQ's way: four bytes are five digits of base 85. */
static int z85_encode(tool *t, const buffer *in, buffer *out, size_t wrap) {
    size_t column = 0;
    if (in->n % 4) return tool_fail(t, -1, "invalid input (length must be multiple of 4 characters)");
    for (size_t i = 0; i < in->n; i += 4) {
        unsigned long v = 0, power = 85ul * 85 * 85 * 85;
        for (int k = 0; k < 4; k++) v = v << 8 | (unsigned char)in->p[i + (size_t)k];
        for (; power; power /= 85) put_wrapped(out, z85[v / power % 85], wrap, &column);
    }
    if (column && wrap) buffer_putc(out, '\n');
    return 0;
}

static int z85_decode(const buffer *in, buffer *out, int garbage) {
    unsigned long long v = 0;
    int count = 0;
    for (size_t i = 0; i < in->n; i++) {
        const char *at = in->p[i] ? strchr(z85, in->p[i]) : NULL;
        if (in->p[i] == '\n' || (!at && garbage)) continue;
        if (!at) return -1;
        v = v * 85 + (unsigned)(at - z85);
        if (++count < 5) continue;
        if (v > 0xffffffffull) return -1;
        for (int k = 24; k >= 0; k -= 8) buffer_putc(out, (int)(v >> k & 255));
        v = 0;
        count = 0;
    }
    return count ? -1 : 0;
}

static int base_main(tool *t, int argc, char **argv, const alphabet *a) {
    static const tool_long longs[] = {{"decode", 0, 'd'}, {"ignore-garbage", 0, 'i'}, {"wrap", 1, 'w'}, {"base64", 0, 1},
        {"base64url", 0, 2}, {"base32", 0, 3}, {"base32hex", 0, 4}, {"base16", 0, 5}, {"base2msbf", 0, 6}, {"z85", 0, 7},
        {"base2lsbf", 0, 8},
        {0, 0, 0}};
    static const alphabet *const named[] = {&base64, &base64url, &base32, &base32hex, &base16, &base2};
    int decoding = 0, garbage = 0, is_z85 = 0, mirrored = 0, c, status = 0;
    size_t wrap = 76;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "diw:", longs)) != -1;) switch (c) {
        case 'd': decoding = 1; break;
        case 'i': garbage = 1; break;
        case 1: case 2: case 3: case 4: case 5: case 6: a = named[c - 1]; is_z85 = 0; break;
        case 7: is_z85 = 1; break;
        case 8: a = &base2; is_z85 = 0; mirrored = 1; break;
        case 'w': {
            char *end;
            wrap = strtoul(o.arg, &end, 10);
            if (*end || !*o.arg || *o.arg == '-') return tool_fail(t, 1, "invalid wrap size: %s", tool_cite(t, o.arg));
            break;
        }
        default: return 1;
    }
    if (!a && !is_z85) { tool_fail(t, 1, "missing encoding type"); return tool_usage(t, 1); }
    if (o.index + 1 < argc) { tool_fail(t, 1, "extra operand %s", tool_cite(t, argv[o.index + 1])); return tool_usage(t, 1); }
    io *from = o.index < argc ? tool_open(t, argv[o.index], 1, &status) : io_ref(t->in);
    if (!from) return 1;
    if (!decoding && !is_z85) {
        status = encode_stream(t, a, from, wrap, mirrored);
        io_unref(from);
        return status;
    }
    buffer in = {.t = t}, out = {.t = t};
    if (buffer_read_all(&in, from) < 0) { errno = io_failed(from); status = tool_fail_errno(t, 1, "read error"); }
    io_unref(from);
    if (status) return status;
    if (is_z85 && !decoding) { if (z85_encode(t, &in, &out, wrap) < 0) return 1; }
    else if (is_z85) status = z85_decode(&in, &out, garbage) < 0;
    else if (decode(a, &in, &out, garbage) < 0) status = 1;
    if (mirrored && decoding) mirror_bits(&out);
    if (io_write(t->out, out.p ? out.p : "", out.n) < 0) return 1;
    return status ? tool_fail(t, 1, "invalid input") : 0;
}

int tool_base64(tool *t, int argc, char **argv) { return base_main(t, argc, argv, &base64); }
int tool_base32(tool *t, int argc, char **argv) { return base_main(t, argc, argv, &base32); }
int tool_basenc(tool *t, int argc, char **argv) { return base_main(t, argc, argv, NULL); }
