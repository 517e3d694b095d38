/* seq.c - print numbers from first to last. */
#include "../tool.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { long double value; int decimals, width, whole; } number;

static int take_number(tool *t, const char *text, number *n) {
    char *end;
    n->value = strtold(text, &end);
    if (end == text || *end) {
        tool_fail(t, 1, "invalid floating point argument: %s", tool_cite(t, text));
        return tool_usage(t, 1);
    }
    if (n->value != n->value) {
        tool_fail(t, 1, "invalid %s argument: %s", tool_cite(t, "not-a-number"), tool_cite(t, text));
        return tool_usage(t, 1);
    }
    const char *dot = strchr(text, '.'), *e = strpbrk(text, "eE");
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) e = NULL;
    int exponent = e ? atoi(e + 1) : 0;
    size_t len = strlen(text);
    n->decimals = dot ? (int)((e ? (size_t)(e - text) : len) - (size_t)(dot - text) - 1) : 0;
    n->decimals -= exponent;
    if (n->decimals < 0) n->decimals = 0;
    n->whole = !dot && !e && isfinite(n->value);
    n->width = (int)len - (*text == '+');
    if (dot && !e && dot[1] == '\0') n->width--;
    if (e) n->width = snprintf(NULL, 0, "%.*Lf", n->decimals, n->value);
    return 0;
}

/* Exactly one %[flags][width][.prec](eEfFgGaA), other percents doubled. Returns the format with L put in, or NULL. */
static char *check_format(tool *t, const char *f) {
    const char *p = f;
    for (; *p && (*p != '%' || p[1] == '%'); p++) if (*p == '%') p++;
    if (!*p) return tool_fail(t, 0, "format %s has no %% directive", tool_cite(t, f)), NULL;
    const char *q = p + 1 + strspn(p + 1, "-+#0 '");
    q += strspn(q, "0123456789");
    if (*q == '.') q += 1 + strspn(q + 1, "0123456789");
    if (!*q || !strchr("efgaEFGA", *q)) return tool_fail(t, 0, "format %s has unknown %%%c directive", tool_cite(t, f), *q), NULL;
    for (const char *r = q + 1; *r; r++) {
        if (*r != '%') continue;
        if (r[1] != '%') return tool_fail(t, 0, "format %s has too many %% directives", tool_cite(t, f)), NULL;
        r++;
    }
    return tool_format(t, "%.*sL%s", (int)(q - f), f, q);
}

static int count_whole(tool *t, long long first, long long step, long long last, const char *separator, int width) {
    int any = 0;
    for (long long i = first; step > 0 ? i <= last : i >= last; any = 1) {
        char text[64];
        int n = snprintf(text, sizeof text, "%0*lld", width, i);
        if (any && io_puts(t->out, separator) < 0) return 1;
        if (io_write(t->out, text, (size_t)n) < 0) return 1;
        if (__builtin_add_overflow(i, step, &i)) { any = 1; break; }
    }
    return any && io_putc(t->out, '\n') < 0;
}

int tool_seq(tool *t, int argc, char **argv) {
    const char *separator = "\n", *format = NULL;
    int equal = 0, i = 1;
    for (; i < argc; i++) {
        char *a = argv[i];
        if (a[0] != '-' || !a[1] || a[1] == '.' || (a[1] >= '0' && a[1] <= '9')) break;
        if (!strcmp(a, "--")) { i++; break; }
        while (a[1] == 'w' && a[2]) { equal = 1; a++; }              /* -ws, is -w -s, */
        if (a[1] == 'w' || !strcmp(a, "--equal-width")) equal = 1;
        else if (!strncmp(a, "--separator=", 12)) separator = a + 12;
        else if (!strncmp(a, "--format=", 9)) format = a + 9;
        else if (a[1] == 's' && a[2]) separator = a + 2;
        else if (a[1] == 'f' && a[2]) format = a + 2;
        else if ((a[1] == 's' || a[1] == 'f') && !a[2]) {
            if (i + 1 >= argc) { tool_fail(t, 1, "option requires an argument -- '%c'", a[1]); return tool_usage(t, 1); }
            if (a[1] == 's') separator = argv[++i]; else format = argv[++i];
        } else if (a[1] == '-') { tool_fail(t, 1, "unrecognized option '%s'", a); return tool_usage(t, 1); }
        else { tool_fail(t, 1, "invalid option -- '%c'", a[1]); return tool_usage(t, 1); }
    }
    int count = argc - i;
    if (count < 1) { tool_fail(t, 1, "missing operand"); return tool_usage(t, 1); }
    if (count > 3) { tool_fail(t, 1, "extra operand %s", tool_cite(t, argv[i + 3])); return tool_usage(t, 1); }
    number first = {1, 0, 1, 1}, step = {1, 0, 1, 1}, last;
    if (take_number(t, argv[argc - 1], &last)) return 1;
    if (count > 1 && take_number(t, argv[i], &first)) return 1;
    if (count > 2 && take_number(t, argv[i + 1], &step)) return 1;
    if (step.value == 0) {
        tool_fail(t, 1, "invalid Zero increment value: %s", tool_cite(t, argv[i + 1]));
        return tool_usage(t, 1);
    }
    if (format && equal) {
        tool_fail(t, 1, "format string may not be specified when printing equal width strings");
        return tool_usage(t, 1);
    }
    if (format && !(format = check_format(t, format))) return 1;
    int decimals = first.decimals > step.decimals ? first.decimals : step.decimals;
    int width = 0;
    if (equal) {
        int a = first.width + (decimals - first.decimals) + (!first.decimals && decimals ? 1 : 0);
        int b = last.width + (decimals - last.decimals) + (!last.decimals && decimals ? 1 : 0)
                - (last.decimals && !decimals ? 1 : 0);
        width = a > b ? a : b;
    }
    long double big = 9e18L;
    if (first.whole && step.whole && !format && fabsl(first.value) < big && fabsl(step.value) < big) {
        long double end = isfinite(last.value) ? (step.value > 0 ? floorl(last.value) : ceill(last.value)) : last.value;
        if (end > big) end = big;
        if (end < -big) end = -big;
        return count_whole(t, (long long)first.value, (long long)step.value, (long long)end, separator, width);
    }
    if (!format) format = equal ? tool_format(t, "%%0%d.%dLf", width, decimals) : tool_format(t, "%%.%dLf", decimals);
    int any = 0;
    for (long double k = 0;; k++, any = 1) {
        long double x = first.value + k * step.value;
        if (step.value > 0 ? x > last.value : x < last.value) {
            /* a value that prints like last counts, though rounding put it past */
            long double slack = fabsl(step.value) * 1e-9L;
            if (step.value > 0 ? x > last.value + slack : x < last.value - slack) break;
        }
        if (any && io_puts(t->out, separator) < 0) return 1;
        char text[512];
        _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wformat-nonliteral\"")
        int n = snprintf(text, sizeof text, format, x);
        _Pragma("GCC diagnostic pop")
        if (n < 0 || io_puts(t->out, text) < 0) return 1;
    }
    return any && io_putc(t->out, '\n') < 0;
}
