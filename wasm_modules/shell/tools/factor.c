/* factor.c - prime factors: small ones by trial, large ones by Pollard's rho with a Miller-Rabin test. */
#include "../tool.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long whole;

static whole multiply(whole a, whole b, whole m) { return (whole)((unsigned __int128)a * b % m); }

static whole power(whole base, whole exponent, whole m) {
    whole r = 1;
    for (base %= m; exponent; exponent >>= 1, base = multiply(base, base, m)) if (exponent & 1) r = multiply(r, base, m);
    return r;
}

/* Exact for 64 bits with these witnesses. */
static int is_prime(whole n) {
    static const whole witnesses[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
    whole d = n - 1;
    int twos = 0;
    for (size_t i = 0; i < 12; i++) if (n % witnesses[i] == 0) return n == witnesses[i];
    for (; d % 2 == 0; d /= 2) twos++;
    for (size_t i = 0; i < 12; i++) {
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
        while (d == 1) {
            x = (multiply(x, x, n) + c) % n;
            y = (multiply(y, y, n) + c) % n;
            y = (multiply(y, y, n) + c) % n;
            d = common_divisor(x > y ? x - y : y - x, n);
        }
        if (d != n) return d;
    }
}

/* The primes of n, which has none below 65536: at most three. */
static void split_large(whole n, whole *found, int *count) {
    if (is_prime(n)) { found[(*count)++] = n; return; }
    whole d = find_divisor(n);
    split_large(d, found, count);
    split_large(n / d, found, count);
}

static int by_size(const void *a, const void *b) {
    whole x = *(const whole *)a, y = *(const whole *)b;
    return x < y ? -1 : x > y;
}

static int factor_one(tool *t, const char *text) {
    char *end;
    while (*text == ' ' || *text == '+') text++;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (*end || end == text || *text == '-') return tool_fail(t, 1, "%s is not a valid positive integer", tool_cite(t, text));
    if (errno == ERANGE) return tool_fail(t, 1, "%s is too large", tool_cite(t, text));
    io_printf(t->out, "%llu:", n);
    for (whole d = 2; d < 65536 && d * d <= n; d += d == 2 ? 1 : 2) while (n % d == 0) { io_printf(t->out, " %llu", d); n /= d; }
    whole found[64];
    int count = 0;
    if (n > 1) split_large(n, found, &count);
    qsort(found, (size_t)count, sizeof *found, by_size);
    for (int i = 0; i < count; i++) io_printf(t->out, " %llu", found[i]);
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
