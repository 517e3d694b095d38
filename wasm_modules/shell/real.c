/* real.c - floating point numbers with 64 bits of mantissa: read from text and written as text, both exactly rounded.
 *
 * Bash computes printf's %f in long double. That type differs between machines, and a double rounds other decimals up (1.005), so
 * the arithmetic is done here with big integers. Exponents are those of x86-64 but for the numbers below 10^-4932, which are 0.
 */
#include "real.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { LIMBS = 1400, MAX_DIGITS = 800, MAX_POWER = 4932, PRECISION_USUAL = 6, HEX_DIGITS = 16 };
typedef struct { uint32_t limb[LIMBS]; int n; } big;

static void big_set(big *b, uint64_t v)
{
    b->limb[0] = (uint32_t)v;
    b->limb[1] = (uint32_t)(v >> 32);
    b->n = v >> 32 ? 2 : v ? 1 : 0;
}

static void big_mul(big *b, uint32_t factor, uint32_t plus)
{
    uint64_t carry = plus;
    for (int i = 0; i < b->n; i++) {
        carry += (uint64_t)b->limb[i] * factor;
        b->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry && b->n < LIMBS) b->limb[b->n++] = (uint32_t)carry;
}

static void big_mul_power_of_5(big *b, int power)
{
    for (; power >= 13; power -= 13) big_mul(b, 1220703125, 0);
    for (; power > 0; power--) big_mul(b, 5, 0);
}

static void big_shift(big *b, int bits)
{
    int whole = bits / 32, part = bits % 32;
    if (!b->n || b->n + whole + 1 > LIMBS) return;
    memmove(b->limb + whole, b->limb, (size_t)b->n * sizeof *b->limb);
    memset(b->limb, 0, (size_t)whole * sizeof *b->limb);
    b->n += whole;
    if (part) big_mul(b, 1u << part, 0);
}

static int big_bits(const big *b) { return b->n ? b->n * 32 - __builtin_clz(b->limb[b->n - 1]) : 0; }

static int big_compare(const big *a, const big *b)
{
    if (a->n != b->n) return a->n < b->n ? -1 : 1;
    for (int i = a->n; i-- > 0;) if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

/* a - b; a is not smaller. */
static void big_subtract(big *a, const big *b)
{
    int64_t borrow = 0;
    for (int i = 0; i < a->n; i++) {
        borrow += (int64_t)a->limb[i] - (i < b->n ? b->limb[i] : 0);
        a->limb[i] = (uint32_t)borrow;
        borrow >>= 32;
    }
    while (a->n && !a->limb[a->n - 1]) a->n--;
}

static uint32_t big_divide(big *b, uint32_t by)
{
    uint64_t rest = 0;
    for (int i = b->n; i-- > 0;) {
        rest = rest << 32 | b->limb[i];
        b->limb[i] = (uint32_t)(rest / by);
        rest %= by;
    }
    while (b->n && !b->limb[b->n - 1]) b->n--;
    return (uint32_t)rest;
}

/* ---- reading ---- */

/* The nearest number to num / den. */
static void quotient(big *num, big *den, real *out)
{
    int scale = big_bits(num) - big_bits(den);
    if (scale > 0) big_shift(den, scale); else big_shift(num, -scale);
    if (big_compare(num, den) < 0) { big_shift(num, 1); scale--; }
    uint64_t m = 0;
    for (int i = 0; i < 64; i++) {
        bool bit = big_compare(num, den) >= 0;
        if (bit) big_subtract(num, den);
        m = m << 1 | bit;
        big_shift(num, 1);
    }
    int rest = big_compare(num, den);
    if ((rest > 0 || (rest == 0 && m & 1)) && ++m == 0) { m = 1ull << 63; scale++; }
    out->mantissa = m;
    out->exponent = scale - 63;
}

/* e+12 at s; returns what follows, s when there is none. */
static const char *read_exponent(const char *s, char letter, int *out)
{
    const char *at = s;
    if (tolower((unsigned char)*at++) != letter) return s;
    bool minus = *at == '-';
    if (*at == '-' || *at == '+') at++;
    if (!isdigit((unsigned char)*at)) return s;
    int e = 0;
    for (; isdigit((unsigned char)*at); at++) if (e < 99999) e = e * 10 + (*at - '0');
    *out += minus ? -e : e;
    return at;
}

static const char *read_decimal(const char *s, real *out)
{
    big num = { .n = 0 }, den;
    int power = 0, kept = 0;
    bool any = false, point = false, dropped = false;
    for (;; s++) {
        if (*s == '.' && !point) { point = true; continue; }
        if (!isdigit((unsigned char)*s)) break;
        any = true;
        if (kept < MAX_DIGITS) {
            if (num.n || *s != '0') {
                kept++;
                if (!num.n) big_set(&num, (uint64_t)(*s - '0')); else big_mul(&num, 10, (uint32_t)(*s - '0'));
            }
            power -= point;
        } else {
            dropped |= *s != '0';
            power += !point;
        }
    }
    if (!any) return NULL;
    if (dropped) { big_mul(&num, 10, 1); power--; kept++; }
    s = read_exponent(s, 'e', &power);
    if (!num.n || kept + power < -MAX_POWER) return s;
    if (kept + power > MAX_POWER + 1) { out->kind = REAL_INF; return s; }
    big_set(&den, 1);
    big_mul_power_of_5(power < 0 ? &den : &num, power < 0 ? -power : power);
    big_shift(power < 0 ? &den : &num, power < 0 ? -power : power);
    quotient(&num, &den, out);
    return s;
}

static const char *read_hex(const char *s, real *out)
{
    unsigned __int128 m = 0;
    int exponent = 0;
    bool any = false, point = false, dropped = false;
    for (;; s++) {
        if (*s == '.' && !point) { point = true; continue; }
        if (!isxdigit((unsigned char)*s)) break;
        int digit = isdigit((unsigned char)*s) ? *s - '0' : tolower((unsigned char)*s) - 'a' + 10;
        any = true;
        if (m >> 124) { exponent += point ? 0 : 4; dropped |= digit != 0; }
        else { m = m << 4 | (unsigned)digit; exponent -= point ? 4 : 0; }
    }
    if (!any) return NULL;
    s = read_exponent(s, 'p', &exponent);
    if (!m) return s;
    for (; !(m >> 127); m <<= 1) exponent--;
    uint64_t rest = (uint64_t)m | dropped, half = 1ull << 63;
    out->mantissa = (uint64_t)(m >> 64);
    out->exponent = exponent + 64;
    if (rest > half || (rest == half && out->mantissa & 1)) {
        if (!++out->mantissa) { out->mantissa = half; out->exponent++; }
    }
    if (out->exponent > 16383 - 63) out->kind = REAL_INF;
    if (out->exponent < -16445) out->mantissa = 0;
    return s;
}

const char *real_parse(const char *s, real *out)
{
    const char *from = s, *end;
    *out = (real){ .kind = REAL_FINITE };
    while (isspace((unsigned char)*s)) s++;
    out->negative = *s == '-';
    if (*s == '-' || *s == '+') s++;
    if (!strncasecmp(s, "nan", 3)) { out->kind = REAL_NAN; return s + 3; }
    if (!strncasecmp(s, "inf", 3)) { out->kind = REAL_INF; return s + (!strncasecmp(s, "infinity", 8) ? 8 : 3); }
    if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X') && (end = read_hex(s + 2, out))) return end;
    end = read_decimal(s, out);
    return end ? end : from;
}

/* ---- writing ---- */

/* All decimal digits of the number, of which `point` stand before the point (0 or less: zeros follow it). In sh.tmp. */
typedef struct { char *digit; int n, point; } decimal;

static decimal decimal_of(const real *r)
{
    decimal d = { .digit = "", .n = 0, .point = 0 };
    if (!r->mantissa) return d;
    int zeros = __builtin_ctzll(r->mantissa), exponent = r->exponent + zeros;
    big b;
    big_set(&b, r->mantissa >> zeros);
    if (exponent >= 0) big_shift(&b, exponent); else big_mul_power_of_5(&b, -exponent);
    int room = b.n * 10 + 9, at = room;
    d.digit = arena_alloc(&sh.tmp, (size_t)room + 1);
    while (b.n) {
        uint32_t part = big_divide(&b, 1000000000);
        for (int i = 0; i < 9; i++, part /= 10) d.digit[--at] = (char)('0' + part % 10);
    }
    while (d.digit[at] == '0') at++;
    d.digit += at;
    d.n = room - at;
    d.point = d.n + (exponent < 0 ? exponent : 0);
    return d;
}

/* Keeps the first `keep` digits, rounded to the nearest, halves to even. */
static void round_to(decimal *d, int keep)
{
    if (keep >= d->n) return;
    if (keep < 0) { d->n = 0; return; }
    bool half = d->digit[keep] == '5', more = d->digit[keep] > '5';
    for (int i = keep + 1; half && !more && i < d->n; i++) more = d->digit[i] != '0';
    bool odd = keep > 0 && (d->digit[keep - 1] - '0') % 2;
    d->n = keep;
    if (!more && !(half && odd)) return;
    int i = keep;
    while (i > 0 && d->digit[i - 1] == '9') d->digit[--i] = '0';
    if (i > 0) { d->digit[i - 1]++; return; }
    char *grown = arena_alloc(&sh.tmp, (size_t)keep + 2);
    memcpy(grown + 1, d->digit, (size_t)keep);
    grown[0] = '1';
    *d = (decimal){ grown, keep + 1, d->point + 1 };
}

static char digit_at(const decimal *d, int i) { return i >= 0 && i < d->n ? d->digit[i] : '0'; }

static void put_fixed(strbuf *b, decimal *d, int precision, bool sharp)
{
    round_to(d, d->point + precision);
    if (d->point <= 0) sb_putc(b, '0');
    for (int i = 0; i < d->point; i++) sb_putc(b, digit_at(d, i));
    if (precision || sharp) sb_putc(b, '.');
    for (int i = 0; i < precision; i++) sb_putc(b, digit_at(d, d->point + i));
}

static void put_scientific(strbuf *b, decimal *d, int precision, bool sharp, bool upper)
{
    round_to(d, precision + 1);
    int exponent = d->n ? d->point - 1 : 0;
    sb_putc(b, digit_at(d, 0));
    if (precision || sharp) sb_putc(b, '.');
    for (int i = 1; i <= precision; i++) sb_putc(b, digit_at(d, i));
    sb_printf(b, "%c%c%02d", upper ? 'E' : 'e', exponent < 0 ? '-' : '+', exponent < 0 ? -exponent : exponent);
}

static void put_general(strbuf *b, decimal *d, int precision, bool sharp, bool upper)
{
    if (precision == 0) precision = 1;
    round_to(d, precision);
    int exponent = d->n ? d->point - 1 : 0, places = precision - 1;
    if (!sharp) {
        int used = d->n;
        while (used > 0 && d->digit[used - 1] == '0') used--;
        places = used > 0 ? used - 1 : 0;
    }
    if (exponent < -4 || exponent >= precision) put_scientific(b, d, places, sharp, upper);
    else put_fixed(b, d, places - exponent > 0 ? places - exponent : 0, sharp);
}

/* 0xc.8p-3: sixteen hexadecimal digits, the first of them in front of the point. */
static void put_hex(strbuf *b, const real *r, int precision, bool sharp, bool upper)
{
    uint64_t m = r->mantissa;
    int exponent = m ? r->exponent + 60 : 0, places = precision;
    if (precision >= 0 && precision < HEX_DIGITS - 1) {
        int drop = (HEX_DIGITS - 1 - precision) * 4;
        uint64_t unit = 1ull << drop, rest = m & (unit - 1);
        m -= rest;
        if (rest > unit / 2 || (rest == unit / 2 && m & unit)) { m += unit; if (!m) { m = 1ull << 60; exponent += 4; } }
    }
    const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    if (precision < 0) for (places = HEX_DIGITS - 1; places > 0 && !(m >> (HEX_DIGITS - 1 - places) * 4 & 15);) places--;
    sb_puts(b, upper ? "0X" : "0x");
    sb_putc(b, digits[m >> 60]);
    if (places || sharp) sb_putc(b, '.');
    for (int i = 1; i <= places; i++) sb_putc(b, i < HEX_DIGITS ? digits[m >> (HEX_DIGITS - 1 - i) * 4 & 15] : '0');
    sb_printf(b, "%c%+d", upper ? 'P' : 'p', exponent);
}

void real_format(strbuf *b, const real *r, char conv, const char *flags, int precision)
{
    bool upper = isupper((unsigned char)conv), sharp = strchr(flags, '#') != NULL;
    if (r->negative) sb_putc(b, '-');
    else if (strchr(flags, '+')) sb_putc(b, '+');
    else if (strchr(flags, ' ')) sb_putc(b, ' ');
    if (r->kind != REAL_FINITE) { sb_puts(b, r->kind == REAL_INF ? (upper ? "INF" : "inf") : upper ? "NAN" : "nan"); return; }
    if (tolower((unsigned char)conv) == 'a') { put_hex(b, r, precision, sharp, upper); return; }
    if (precision < 0) precision = PRECISION_USUAL;
    decimal d = decimal_of(r);
    switch (tolower((unsigned char)conv)) {
    case 'f': put_fixed(b, &d, precision, sharp); break;
    case 'e': put_scientific(b, &d, precision, sharp, upper); break;
    default: put_general(b, &d, precision, sharp, upper);
    }
}
