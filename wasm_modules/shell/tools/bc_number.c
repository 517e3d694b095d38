/* bc_number.c - see bc.h. School arithmetic on decimal digits. */
#include "bc.h"
#include <ctype.h>
#include <string.h>

static num make(tool *t, size_t whole, size_t scale) {
    num r = {0, whole, scale, tool_alloc(t, whole + scale + 1)};
    return r;
}

/* Without leading zeros, and zero without a sign. */
static num trim(num a) {
    while (a.whole > 1 && !*a.d) { a.d++; a.whole--; }
    if (num_is_zero(a)) a.negative = 0;
    return a;
}

num num_from(tool *t, long long v) {
    char text[32];
    int n = 0;
    unsigned long long u = v < 0 ? 0ull - (unsigned long long)v : (unsigned long long)v;
    do text[n++] = (char)(u % 10); while (u /= 10);
    num r = make(t, (size_t)n, 0);
    for (int i = 0; i < n; i++) r.d[i] = (unsigned char)text[n - 1 - i];
    r.negative = v < 0;
    return r;
}

static int digit(char c) { return isdigit((unsigned char)c) ? c - '0' : c >= 'A' && c <= 'Z' ? c - 'A' + 10 : 0; }

num num_parse(tool *t, const char *text, size_t n, int base) {
    const char *dot = memchr(text, '.', n);
    size_t whole = dot ? (size_t)(dot - text) : n, scale = dot ? n - whole - 1 : 0;
    if (base == 10 || n == 1) {
        num r = make(t, whole ? whole : 1, scale);
        for (size_t i = 0; i < whole; i++) { int d = digit(text[i]); r.d[i] = (unsigned char)(d > 9 && n > 1 ? 9 : d); }
        for (size_t i = 0; i < scale; i++) { int d = digit(dot[1 + i]); r.d[r.whole + i] = (unsigned char)(d > 9 ? 9 : d); }
        if (n == 1 && digit(*text) > 9) return num_from(t, digit(*text));
        return trim(r);
    }
    num r = num_from(t, 0), b = num_from(t, base);
    for (size_t i = 0; i < whole; i++) {
        int d = digit(text[i]);
        r = num_add(t, num_mul(t, r, b, 0), num_from(t, d >= base ? base - 1 : d));
    }
    num unit = num_from(t, 1), frac = num_from(t, 0);
    for (size_t i = 0; i < scale; i++) {
        int d = digit(dot[1 + i]);
        frac = num_add(t, num_mul(t, frac, b, 0), num_from(t, d >= base ? base - 1 : d));
        unit = num_mul(t, unit, b, 0);
    }
    if (scale) { num q; if (num_div(t, frac, unit, scale, &q) == 0) r = num_add(t, r, q); }
    return trim(r);
}

int num_is_zero(num a) {
    for (size_t i = 0; i < a.whole + a.scale; i++) if (a.d[i]) return 0;
    return 1;
}

static int at(num a, long place) {
    /* place 0 is the units digit, 1 the tens, -1 the tenths */
    long i = (long)a.whole - 1 - place;
    return i >= 0 && i < (long)(a.whole + a.scale) ? a.d[i] : 0;
}

static int compare_size(num a, num b) {
    long top = (long)(a.whole > b.whole ? a.whole : b.whole), low = -(long)(a.scale > b.scale ? a.scale : b.scale);
    for (long p = top; p >= low; p--) { int d = at(a, p) - at(b, p); if (d) return d < 0 ? -1 : 1; }
    return 0;
}

int num_compare(num a, num b) {
    if (num_is_zero(a)) a.negative = 0;
    if (num_is_zero(b)) b.negative = 0;
    if (a.negative != b.negative) return a.negative ? -1 : 1;
    int order = compare_size(a, b);
    return a.negative ? -order : order;
}

static num add_sizes(tool *t, num a, num b) {
    size_t whole = (a.whole > b.whole ? a.whole : b.whole) + 1, scale = a.scale > b.scale ? a.scale : b.scale;
    num r = make(t, whole, scale);
    int carry = 0;
    for (long p = -(long)scale; p < (long)whole; p++) {
        int s = at(a, p) + at(b, p) + carry;
        r.d[(long)whole - 1 - p] = (unsigned char)(s % 10);
        carry = s / 10;
    }
    return r;
}

static num sub_sizes(tool *t, num a, num b) {
    size_t whole = a.whole > b.whole ? a.whole : b.whole, scale = a.scale > b.scale ? a.scale : b.scale;
    num r = make(t, whole, scale);
    int borrow = 0;
    for (long p = -(long)scale; p < (long)whole; p++) {
        int s = at(a, p) - at(b, p) - borrow;
        borrow = s < 0;
        r.d[(long)whole - 1 - p] = (unsigned char)(s < 0 ? s + 10 : s);
    }
    return r;
}

num num_add(tool *t, num a, num b) {
    num r;
    if (a.negative == b.negative) { r = add_sizes(t, a, b); r.negative = a.negative; }
    else if (compare_size(a, b) >= 0) { r = sub_sizes(t, a, b); r.negative = a.negative; }
    else { r = sub_sizes(t, b, a); r.negative = b.negative; }
    return trim(r);
}

num num_sub(tool *t, num a, num b) { b.negative = !b.negative; return num_add(t, a, b); }

num num_cut(tool *t, num a, size_t scale) {
    num r = make(t, a.whole, scale);
    memcpy(r.d, a.d, a.whole + (a.scale < scale ? a.scale : scale));
    r.negative = a.negative;
    return trim(r);
}

num num_mul(tool *t, num a, num b, size_t scale) {
    size_t full = a.scale + b.scale, an = a.whole + a.scale, bn = b.whole + b.scale, want = a.scale > b.scale ? a.scale : b.scale;
    if (scale > want) want = scale;
    if (want > full) want = full;
    if (an + bn > NUM_LONGEST) return num_from(t, 0);
    unsigned *acc = tool_alloc(t, (an + bn + 1) * sizeof *acc);
    for (size_t i = an; i-- > 0;) {
        if (!a.d[i]) continue;
        for (size_t j = bn; j-- > 0;) acc[i + j + 1] += (unsigned)a.d[i] * b.d[j];
        if ((an - i) % 1000000 == 0) for (size_t k = an + bn; k-- > 1;) { acc[k - 1] += acc[k] / 10; acc[k] %= 10; }
    }
    for (size_t k = an + bn; k-- > 1;) { acc[k - 1] += acc[k] / 10; acc[k] %= 10; }
    num r = make(t, an + bn - full, full);
    for (size_t k = 0; k < an + bn; k++) r.d[k] = (unsigned char)acc[k];
    r.negative = a.negative != b.negative;
    tool_free(t, acc);
    return num_cut(t, r, want);
}

int num_div(tool *t, num a, num b, size_t scale, num *q) {
    if (num_is_zero(b)) return -1;
    /* whole numbers: A = a * 10^(b.scale + scale) / B, digit by digit */
    size_t an = a.whole + b.scale + scale, bn = b.whole + b.scale;
    unsigned char *A = tool_alloc(t, an + 1), *B = b.d;
    while (bn > 1 && !*B) { B++; bn--; }
    for (size_t i = 0; i < an; i++) A[i] = i < a.whole + a.scale ? a.d[i] : 0;
    num r = make(t, an > scale ? an - scale : 1, scale);
    unsigned char *rem = tool_alloc(t, bn + 2);      /* the running remainder, bn + 1 digits */
    for (size_t i = 0; i < an; i++) {
        memmove(rem, rem + 1, bn);
        rem[bn] = A[i];
        int d = 0;
        for (;;) {
            int less = 0;
            if (!rem[0]) less = memcmp(rem + 1, B, bn) < 0;
            if (less) break;
            int borrow = 0;
            for (size_t k = bn; k-- > 0;) {
                int x = rem[k + 1] - B[k] - borrow;
                borrow = x < 0;
                rem[k + 1] = (unsigned char)(x < 0 ? x + 10 : x);
            }
            rem[0] = (unsigned char)(rem[0] - borrow);
            d++;
        }
        size_t place = i + (r.whole + r.scale) - an;
        r.d[place] = (unsigned char)d;
    }
    r.negative = a.negative != b.negative;
    *q = trim(r);
    tool_free(t, A);
    tool_free(t, rem);
    return 0;
}

int num_mod(tool *t, num a, num b, size_t scale, num *r) {
    num q;
    size_t full = a.scale > b.scale + scale ? a.scale : b.scale + scale;
    if (num_div(t, a, b, scale, &q) < 0) return -1;
    num back = num_mul(t, q, b, q.scale + b.scale);
    *r = num_sub(t, a, back);
    if (r->scale < full) *r = num_cut(t, *r, full);
    return 0;
}

int num_pow(tool *t, num a, num b, size_t scale, num *r) {
    long long e = num_to_int(b);
    if (e > 100000 || e < -100000) return -1;
    int inverse = e < 0;
    unsigned long n = (unsigned long)(inverse ? -e : e);
    size_t want = a.scale * n;
    if (!inverse && want > (scale > a.scale ? scale : a.scale)) want = scale > a.scale ? scale : a.scale;
    num result = num_from(t, 1), base = a;
    if ((a.whole + a.scale) * n > NUM_LONGEST) return -1;
    for (; n; n >>= 1) {
        if (n & 1) result = num_mul(t, result, base, result.scale + base.scale);
        if (n > 1) base = num_mul(t, base, base, base.scale * 2);
    }
    if (inverse) return num_div(t, num_from(t, 1), result, scale, r);
    *r = num_cut(t, result, want > result.scale ? result.scale : want);
    return 0;
}

int num_sqrt(tool *t, num a, size_t scale, num *r) {
    if (a.negative && !num_is_zero(a)) return -1;
    if (scale < a.scale) scale = a.scale;
    if (num_is_zero(a)) { *r = num_cut(t, num_from(t, 0), scale); return 0; }
    /* Newton from above, with guard digits */
    size_t work = scale + 3;
    num x = make(t, a.whole / 2 + 2, 0);
    x.d[0] = 1;
    num half = num_parse(t, "0.5", 3, 10);
    for (int i = 0; i < 1000; i++) {
        num q, y;
        if (num_div(t, a, x, work, &q) < 0) break;
        y = num_cut(t, num_mul(t, num_add(t, x, q), half, work + 1), work);
        if (num_compare(y, x) >= 0 && i) break;
        x = y;
    }
    *r = num_cut(t, x, scale);
    /* the cut may be one too high */
    num square = num_mul(t, *r, *r, r->scale * 2);
    if (num_compare(square, a) > 0) {
        num unit = make(t, 1, scale);
        unit.d[scale ? scale : 0] = 1;
        *r = num_sub(t, *r, unit);
    }
    return 0;
}

long long num_to_int(num a) {
    long long v = 0;
    for (size_t i = 0; i < a.whole; i++) { if (v > 900000000000000000LL) break; v = v * 10 + a.d[i]; }
    return a.negative ? -v : v;
}

size_t num_digits(num a) {
    size_t i = 0, n = a.whole + a.scale;
    while (i < a.whole && !a.d[i]) i++;
    return n - i ? n - i : 1;
}

static int digit_width(int base) { return base > 1000 ? 4 : base > 100 ? 3 : 2; }

void num_write(buffer *b, num a, int base) {
    if (num_is_zero(a)) { buffer_putc(b, '0'); return; }
    if (a.negative) buffer_putc(b, '-');
    if (base == 10) {
        size_t i = 0;
        while (i < a.whole && !a.d[i]) i++;
        for (; i < a.whole; i++) buffer_putc(b, '0' + a.d[i]);
        if (a.scale) buffer_putc(b, '.');
        for (i = 0; i < a.scale; i++) buffer_putc(b, '0' + a.d[a.whole + i]);
        return;
    }
    tool *t = b->t;
    num whole = num_cut(t, a, 0), B = num_from(t, base), q, r;
    whole.negative = 0;
    int digits[8192], n = 0;
    while (!num_is_zero(whole) && n < 8192) {
        num_div(t, whole, B, 0, &q);
        r = num_sub(t, whole, num_mul(t, q, B, 0));
        digits[n++] = (int)num_to_int(r);
        whole = q;
    }
    for (int i = n; i-- > 0;) {
        if (base <= 16) buffer_putc(b, "0123456789ABCDEF"[digits[i]]);
        else buffer_printf(b, " %0*d", digit_width(base), digits[i]);
    }
    if (!a.scale) return;
    num frac = num_sub(t, a, num_cut(t, a, 0)), unit = num_from(t, 1);
    frac.negative = 0;
    buffer_putc(b, '.');
    int first = 1;
    while (num_digits(unit) <= a.scale) {
        frac = num_mul(t, frac, B, frac.scale);
        num d = num_cut(t, frac, 0);
        int v = (int)num_to_int(d);
        if (base <= 16) buffer_putc(b, "0123456789ABCDEF"[v]);
        else buffer_printf(b, "%s%0*d", first ? "" : " ", digit_width(base), v);
        first = 0;
        frac = num_sub(t, frac, d);
        unit = num_mul(t, unit, B, 0);
    }
}
