/* factor.c - prime factors: small ones by trial, large ones by Pollard's rho with a Miller-Rabin test.
 *
 * A number is read as decimal limbs, so that small primes may be divided out of one of any length; what is left must fit 128 bits.
 */
#include "../tool.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 whole;

enum { LIMB_DIGITS = 9, LIMB = 1000000000, SMALL = 65536, MOST_LARGE = 8 };
typedef struct { unsigned *limbs; int n; } decimal;      /* the least first; n counts no leading zeros */

static whole add(whole a, whole b, whole m) { return a >= m - b ? a - (m - b) : a + b; }

static whole multiply(whole a, whole b, whole m) {
    if (!(m >> 64)) return a * b % m;
    whole r = 0;
    for (; b; b >>= 1, a = add(a, a, m)) if (b & 1) r = add(r, a, m);
    return r;
}

static whole power(whole base, whole exponent, whole m) {
    whole r = 1;
    for (base %= m; exponent; exponent >>= 1, base = multiply(base, base, m)) if (exponent & 1) r = multiply(r, base, m);
    return r;
}

/* Exact for 64 bits with the first twelve primes as witnesses; no composite of 128 bits is known to pass all. */
static int is_prime(whole n) {
    static const unsigned char witnesses[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};
    whole d = n - 1;
    int twos = 0;
    for (size_t i = 0; i < sizeof witnesses; i++) if (n % witnesses[i] == 0) return n == witnesses[i];
    for (; d % 2 == 0; d /= 2) twos++;
    for (size_t i = 0; i < sizeof witnesses; i++) {
        whole x = power(witnesses[i], d, n);
        int passes = x == 1 || x == n - 1;
        for (int k = 1; k < twos && !passes; k++) passes = (x = multiply(x, x, n)) == n - 1;
        if (!passes) return 0;
    }
    return 1;
}

static whole common_divisor(whole a, whole b) { while (b) { whole r = a % b; a = b; b = r; } return a; }

/* A divisor of the composite n other than 1 and n. */
static whole find_divisor(whole n) {
    for (whole c = 1;; c++) {
        whole x = 2, y = 2, d = 1;
        while (d == 1 && !tool_time_is_up()) {
            x = add(multiply(x, x, n), c, n);
            y = add(multiply(y, y, n), c, n);
            y = add(multiply(y, y, n), c, n);
            d = common_divisor(x > y ? x - y : y - x, n);
        }
        if (d != n) return d;
    }
}

/* The primes of n, which has none below SMALL: at most seven. */
static void split_large(whole n, whole *found, int *count) {
    if (is_prime(n)) { found[(*count)++] = n; return; }
    whole d = find_divisor(n);
    if (d == 1) return;
    split_large(d, found, count);
    split_large(n / d, found, count);
}

static int by_size(const void *a, const void *b) {
    whole x = *(const whole *)a, y = *(const whole *)b;
    return x < y ? -1 : x > y;
}

static decimal read_decimal(tool *t, const char *digits, size_t n) {
    decimal d = {tool_alloc(t, (n / LIMB_DIGITS + 1) * sizeof *d.limbs), 0};
    for (size_t left = n; left;) {
        size_t take = left < LIMB_DIGITS ? left : LIMB_DIGITS;
        unsigned limb = 0;
        for (size_t i = left - take; i < left; i++) limb = limb * 10 + (unsigned)(digits[i] - '0');
        d.limbs[d.n++] = limb;
        left -= take;
    }
    return d;
}

/* Divides d in place; the remainder. */
static unsigned divide(decimal *d, unsigned by) {
    unsigned long long rest = 0;
    for (int i = d->n - 1; i >= 0; i--) {
        rest = rest * LIMB + d->limbs[i];
        d->limbs[i] = (unsigned)(rest / by);
        rest %= by;
    }
    while (d->n && !d->limbs[d->n - 1]) d->n--;
    return (unsigned)rest;
}

static unsigned remainder_of(const decimal *d, unsigned by) {
    unsigned long long rest = 0;
    for (int i = d->n - 1; i >= 0; i--) rest = (rest * LIMB + d->limbs[i]) % by;
    return (unsigned)rest;
}

/* The value when it fits, 0 otherwise. */
static whole value_of(const decimal *d) {
    whole v = 0;
    for (int i = d->n - 1; i >= 0; i--) {
        if (v > (~(whole)0 - d->limbs[i]) / LIMB) return 0;
        v = v * LIMB + d->limbs[i];
    }
    return v;
}

static void put_whole(io *out, whole v) {
    char text[48], *p = text + sizeof text - 1;
    *p = '\0';
    do *--p = (char)('0' + (int)(v % 10)); while (v /= 10);
    io_putc(out, ' ');
    io_puts(out, p);
}

static int factor_one(tool *t, const char *text) {
    while (*text == ' ' || *text == '+') text++;
    size_t n = strspn(text, "0123456789");
    if (!n || text[n]) return tool_fail(t, 1, "%s is not a valid positive integer", tool_cite(t, text));
    while (n > 1 && *text == '0') { text++; n--; }
    decimal d = read_decimal(t, text, n);
    decimal large = read_decimal(t, text, n);
    for (unsigned p = 2; p < SMALL && large.n > 4; p += p == 2 ? 1 : 2) while (!remainder_of(&large, p)) divide(&large, p);
    if (large.n && !value_of(&large) && n > 1) return tool_fail(t, 1, "%s is too large", tool_cite(t, text));
    io_printf(t->out, "%.*s:", (int)n, text);
    unsigned p = 2;
    for (; p < SMALL && !value_of(&d) && n > 1; p += p == 2 ? 1 : 2)
        while (!remainder_of(&d, p)) { put_whole(t->out, p); divide(&d, p); }
    whole v = value_of(&d), found[MOST_LARGE];
    for (; p < SMALL && (whole)p * p <= v; p += p == 2 ? 1 : 2) while (v % p == 0) { put_whole(t->out, p); v /= p; }
    int count = 0;
    if (v > 1) split_large(v, found, &count);
    qsort(found, (size_t)count, sizeof *found, by_size);
    for (int i = 0; i < count; i++) put_whole(t->out, found[i]);
    return io_putc(t->out, '\n') < 0;
}

int tool_factor(tool *t, int argc, char **argv) {
    int status = 0;
    tool_opts o;
    tool_opts_start(&o, argc, argv);
    if (tool_opts_next(t, &o, "", NULL) != -1) return 1;
    if (o.index < argc) { for (int i = o.index; i < argc; i++) status |= factor_one(t, argv[i]); return status; }
    const char *line;
    ssize_t n;
    while ((n = io_line(t->in, &line, '\n')) > 0) {
        char *copy = tool_strndup(t, line, (size_t)n);
        for (char *p = copy; *p;) {
            p += strspn(p, " \t\n");
            size_t len = strcspn(p, " \t\n");
            if (!len) break;
            status |= factor_one(t, tool_strndup(t, p, len));
            p += len;
        }
    }
    return status;
}
