/* awk_format.c - printf for awk: widths and precisions of %s and %c count characters, integers may be as large as a double. */
#include "awk_message.h"
#include "../utf8.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { char flags[8]; int flag_n, width, precision, left, zero; } spec;

enum { WIDEST = 1 << 20 };

static void pad_text(const awk *A, buffer *b, const char *text, size_t n, const spec *s) {
    size_t chars = awk_chars(A, text, n);
    if (s->precision >= 0 && chars > (size_t)s->precision) {
        n = awk_char_offset(A, text, n, (size_t)s->precision);
        chars = (size_t)s->precision;
    }
    size_t pad = s->width > 0 && (size_t)s->width > chars ? (size_t)s->width - chars : 0;
    if (!s->left) for (size_t i = 0; i < pad; i++) buffer_putc(b, ' ');
    buffer_add(b, text, n);
    if (s->left) for (size_t i = 0; i < pad; i++) buffer_putc(b, ' ');
}

static int has_flag(const spec *s, char flag) { return memchr(s->flags, flag, (size_t)s->flag_n) != NULL; }

static void put_repeated(buffer *b, char c, int n) { for (int i = 0; i < n; i++) buffer_putc(b, c); }

static void put_number(buffer *b, const spec *s, double v, int letter) {
    char f[48], small[512];
    int precision = s->precision > WIDEST ? WIDEST : s->precision;
    snprintf(f, sizeof f, "%%%.*s*.*%c", s->flag_n, s->flags, letter);
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wformat-nonliteral\"")
    int n = snprintf(small, sizeof small, f, s->width, precision, v);
    if (n >= (int)sizeof small) {
        buffer_reserve(b, (size_t)n + 1);
        snprintf(b->p + b->n, (size_t)n + 1, f, s->width, precision, v);
        b->n += (size_t)n;
    } else if (n > 0) buffer_add(b, small, (size_t)n);
    _Pragma("GCC diagnostic pop")
}

/* d i u o x X, as gawk has them and C has not: only d and i show a sign, and to the others what is no whole
 * number is no zero, for %.0x and for the prefix of %#x. */
static void put_integer(buffer *b, const spec *s, double v, int letter) {
    char digits[512], sign = 0;
    const char *prefix = "";
    int is_signed = letter == 'd' || letter == 'i';
    double whole = trunc(v);
    if (is_signed) {
        snprintf(digits, sizeof digits, "%.0f", fabs(whole));       /* a double beyond 64 bits still shows all its digits */
        sign = whole < 0 ? '-' : has_flag(s, '+') ? '+' : has_flag(s, ' ') ? ' ' : 0;
    } else {
        unsigned long long bits = whole < 0 ? (unsigned long long)(long long)whole : (unsigned long long)whole;
        snprintf(digits, sizeof digits, letter == 'o' ? "%llo" : letter == 'x' ? "%llx" : letter == 'X' ? "%llX" : "%llu", bits);
        if (has_flag(s, '#') && v != 0) prefix = letter == 'o' ? "0" : letter == 'x' ? "0x" : letter == 'X' ? "0X" : "";
    }
    if (!s->precision && (is_signed ? whole == 0 : v == 0 && !has_flag(s, '#'))) digits[0] = sign = '\0';
    int n = (int)strlen(digits), zeros = s->precision > n ? s->precision - n : 0;
    int pad = s->width - n - zeros - (sign != 0) - (int)strlen(prefix);
    if (has_flag(s, '0') && !s->left && s->precision < 0 && pad > 0) { zeros += pad; pad = 0; }
    if (!s->left) put_repeated(b, ' ', pad);
    if (sign) buffer_putc(b, sign);
    buffer_puts(b, prefix);
    put_repeated(b, '0', zeros);
    buffer_puts(b, digits);
    if (s->left) put_repeated(b, ' ', pad);
}

static void put_char(awk *A, buffer *b, cell *c, const spec *s) {
    char bytes[4];
    spec plain = *s;
    plain.precision = -1;
    if (c->type & V_MAYBE) cell_is_number(c);
    if (c->type & V_NUM) {
        double v = cell_number(c);
        int is_byte = A->bytes || v < 0 || v > 0x10FFFF, n = is_byte ? 1 : utf8_encode((int)v, bytes);
        if (is_byte) bytes[0] = (char)(int)fmod(v, 256);
        if (plain.width) plain.width -= n - 1;                      /* of a number's character, gawk counts the bytes */
        pad_text(A, b, bytes, (size_t)n, &plain);
        return;
    }
    astr *text = cell_string(A, c, 0);
    pad_text(
        A, b, text->text, text->n ? awk_char_offset(A, text->text, text->n, 1) : 1, &plain); /* of no text: the NUL behind it */
    astr_unref(A, text);
}

/* The width or precision that an argument gives, behind the *: the next one, or the one that a count as in *2$ names. */
static int take_star(const char **p, cell *args, int n, int *used) {
    size_t digits = strspn(*p, "0123456789");
    int at;
    if (digits && (*p)[digits] == '$') { at = atoi(*p) - 1; *p += digits + 1; }
    else at = (*used)++;
    double v = at >= 0 && at < n ? cell_number(&args[at]) : 0;
    return v != v ? 0 : v > WIDEST ? WIDEST : v < -WIDEST ? -WIDEST : (int)v;
}

astr *awk_format_text(awk *A, astr *format, cell *args, int n) {
    buffer b = {.t = A->t};
    const char *p = format->text, *end = format->text + format->n;
    int used = 0, counted = -1;         /* counted: the formats say which argument they take, as in %2$s */
    buffer_puts(&b, "");
    while (p < end) {
        const char *percent = memchr(p, '%', (size_t)(end - p));
        if (!percent) { buffer_add(&b, p, (size_t)(end - p)); break; }
        buffer_add(&b, p, (size_t)(percent - p));
        p = percent + 1;
        if (p < end && *p == '%') { buffer_putc(&b, '%'); p++; continue; }
        spec s = {.width = 0, .precision = -1};
        int position = 0;
        const char *dollar = p + strspn(p, "0123456789");
        if (dollar > p && dollar < end && *dollar == '$') { position = atoi(p); p = dollar + 1; }
        if (counted < 0) counted = position > 0;
        if (counted != (position > 0) || (counted && position > n)) {
            awk_fatal(A, counted == (position > 0) ? "argument index greater than total number of supplied arguments"
                                                   : "fatal: must use `count$' on all formats or none");
            break;
        }
        if (counted) used = position - 1;
        for (; p < end && strchr("-+ #0'", *p); p++) {
            if (*p == '-') s.left = 1;
            if (*p != '\'' && s.flag_n < 7 && !memchr(s.flags, *p, (size_t)s.flag_n)) s.flags[s.flag_n++] = *p;
        }
        if (p < end && *p == '*') {
            p++;
            s.width = take_star(&p, args, n, &used);
            if (s.width < 0) { s.left = 1; if (s.flag_n < 7) s.flags[s.flag_n++] = '-'; s.width = -s.width; }
        } else for (; p < end && isdigit((unsigned char)*p); p++) if (s.width < WIDEST) s.width = s.width * 10 + *p - '0';
        if (s.width > WIDEST) s.width = WIDEST;
        if (p < end && *p == '.') {
            p++;
            s.precision = 0;
            if (p < end && *p == '*') { p++; s.precision = take_star(&p, args, n, &used); }
            else
                for (; p < end && isdigit((unsigned char)*p); p++)
                    if (s.precision < WIDEST) s.precision = s.precision * 10 + *p - '0';
        }
        for (char seen[] = "lhLjzt", *at; p < end && (at = strchr(seen, *p)) && *p; p++) *at = ' ';   /* each once */
        if (p >= end || !isalpha((unsigned char)*p)) awk_lint(A, A->line, "[s]printf: format specifier does not have control letter");
        if (p >= end) { buffer_add(&b, percent, (size_t)(end - percent)); break; }
        char letter = *p++;
        if (letter == '%') { buffer_putc(&b, '%'); continue; }
        if (!strchr("diouxXeEfFgGaAcs", letter)) { buffer_add(&b, percent, (size_t)(p - percent)); continue; }
        cell none = {0}, *c = used < n ? &args[used] : &none;
        if (used >= n) { 
            int at = (int)(p - 1 - format->text);
            awk_fatal(
                A, "not enough arguments to satisfy format string\n\t`%s'\n\t%*s^ ran out for this one", format->text, at, "");
            break;
        }
        used++;
        if (letter == 'c') put_char(A, &b, c, &s);
        else if (letter == 's') {
            astr *text = cell_string(A, c, 0);
            pad_text(A, &b, text->text, text->n, &s);
            astr_unref(A, text);
        } else {
            double v = cell_number(c);
            int is_integer = strchr("diouxX", letter) != NULL;
            if (isinf(v) || v != v) {
                buffer_puts(&b, isinf(v) ? v < 0 ? "-inf" : "+inf" : signbit(v) ? "-nan" : "+nan");
                continue;
            }
            if ((v >= 18446744073709551616.0 || v <= -9223372036854775809.0) && strchr("uoxX", letter)) { letter = 'g'; is_integer = 0; }   /* no bits to show */
            if (is_integer) put_integer(&b, &s, v, letter); else put_number(&b, &s, v, letter);
        }
    }
    astr *result = astr_new(A, b.p, b.n);
    buffer_free(&b);
    return result;
}
