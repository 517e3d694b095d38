/* text.c - characters and quoting: UTF-8, numbers, escapes, and the four ways bash quotes a value when it prints one. */
#include "sh.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

size_t utf8_next(const char *s, uint32_t *cp)
{
    const unsigned char *u = (const unsigned char *)s;
    if (u[0] < 0x80 || sh.byte_locale) { *cp = u[0]; return u[0] ? 1 : 0; }
    int n = u[0] >= 0xf0 && u[0] < 0xf5 ? 4 : u[0] >= 0xe0 ? 3 : u[0] >= 0xc2 ? 2 : 0;
    if (u[0] >= 0xf5) n = 0;
    uint32_t c = n == 4 ? u[0] & 7u : n == 3 ? u[0] & 15u : u[0] & 31u;
    for (int i = 1; i < n; i++) {
        if ((u[i] & 0xc0) != 0x80) { n = 0; break; }
        c = c << 6 | (u[i] & 63u);
    }
    if (n == 0) { *cp = u[0]; return 1; }
    *cp = c;
    return (size_t)n;
}

size_t utf8_put(uint32_t c, char o[4])
{
    if (c < 0x80) { o[0] = (char)c; return 1; }
    if (c < 0x800) { o[0] = (char)(0xc0 | c >> 6); o[1] = (char)(0x80 | (c & 63)); return 2; }
    if (c < 0x10000) {
        o[0] = (char)(0xe0 | c >> 12);
        o[1] = (char)(0x80 | (c >> 6 & 63));
        o[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    o[0] = (char)(0xf0 | (c >> 18 & 7));
    o[1] = (char)(0x80 | (c >> 12 & 63));
    o[2] = (char)(0x80 | (c >> 6 & 63));
    o[3] = (char)(0x80 | (c & 63));
    return 4;
}

size_t utf8_count(const char *s)
{
    size_t n = 0;
    uint32_t c;
    for (;;) {
        const char *from = s;
        while (*s && !(*s & 0x80)) s++;
        n += (size_t)(s - from);
        if (!*s) return n;
        s += utf8_next(s, &c);
        n++;
    }
}

const char *utf8_skip(const char *s, size_t n)
{
    uint32_t c;
    for (; n > 0 && *s; n--) s += *s & 0x80 ? utf8_next(s, &c) : 1;
    return s;
}

size_t strip_nuls(char *s, size_t n)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++) if (s[i]) s[k++] = s[i];
    s[k] = 0;
    return k;
}

size_t name_len(const char *s)
{
    size_t n = 0;
    if (!isalpha((unsigned char)s[0]) && s[0] != '_') return 0;
    while (isalnum((unsigned char)s[n]) || s[n] == '_') n++;
    return n;
}

size_t separator_at(const char *s, const char *ifs)
{
    if (!*s) return 0;
    if (!(*s & 0x80) || sh.byte_locale) return strchr(ifs, *s) != NULL;
    if ((*s & 0xc0) == 0x80) return 0;   /* in the middle of a character */
    uint32_t cp;
    size_t n = utf8_next(s, &cp);
    for (const char *at = ifs; (at = strchr(at, *s)); at++) if (!strncmp(at, s, n)) return n;
    return 0;
}

bool is_name(const char *s) { size_t n = name_len(s); return n > 0 && s[n] == 0; }

char *fmt_int(int64_t v, char buf[24])
{
    char *p = buf + 23;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    *p = 0;
    do *--p = (char)('0' + u % 10); while (u /= 10);
    if (v < 0) *--p = '-';
    return p;
}

bool parse_int(const char *s, int64_t *out)
{
    while (isspace((unsigned char)*s)) s++;
    if (!*s) return false;
    char *end;
    errno = 0;
    long long v = strtoll(s, &end, 10);
    if (end == s || errno) return false;
    while (isspace((unsigned char)*end)) end++;
    if (*end) return false;
    *out = v;
    return true;
}

/* A character that a terminal would act upon: such values are printed as $'...'. Invalid UTF-8 counts too. */
static bool has_control(const char *s)
{
    uint32_t c;
    for (size_t k; (k = utf8_next(s, &c)) > 0; s += k)
        if (c < 0x20 || c == 0x7f || (k == 1 && c >= 0x80) || (c >= 0x80 && c < 0xa0)) return true;
    return false;
}

static void quote_ansi(strbuf *b, const char *s)
{
    uint32_t c;
    sb_puts(b, "$'");
    for (size_t k; (k = utf8_next(s, &c)) > 0; s += k) {
        static const char from[] = "\a\b\x1b\f\n\r\t\v\\'", to[] = "abEfnrtv\\'";
        const char *at = k == 1 ? strchr(from, (int)c) : NULL;
        if (at && c < 0x80) { sb_putc(b, '\\'); sb_putc(b, to[at - from]); }
        else if (c < 0x20 || c == 0x7f || (k == 1 && c >= 0x80)) sb_printf(b, "\\%03o", (unsigned)c & 0xff);
        else if (c >= 0x80 && c < 0xa0) for (size_t i = 0; i < k; i++) sb_printf(b, "\\%03o", (unsigned)(unsigned char)s[i]);
        else sb_add(b, s, k);
    }
    sb_putc(b, '\'');
}

void quote_plain(strbuf *b, const char *s)
{
    sb_putc(b, '\'');
    for (; *s; s++)
        if (*s == '\'') sb_puts(b, "'\\''"); else sb_putc(b, *s);
    sb_putc(b, '\'');
}

void quote_single(strbuf *b, const char *s)
{
    if (has_control(s)) quote_ansi(b, s);
    else if (s[0] == '\'' && !s[1]) sb_puts(b, "\\'");
    else quote_plain(b, s);
}

void quote_double(strbuf *b, const char *s)
{
    if (has_control(s)) { quote_ansi(b, s); return; }
    sb_putc(b, '"');
    for (; *s; s++) {
        if (strchr("\"$`\\", *s)) sb_putc(b, '\\');
        sb_putc(b, *s);
    }
    sb_putc(b, '"');
}

void quote_backslash(strbuf *b, const char *s)
{
    if (!*s) { sb_puts(b, "''"); return; }
    if (has_control(s)) { quote_ansi(b, s); return; }
    for (const char *p = s; *p; p++) {
        if (strchr(" \t\n'\"\\|&;()<>!{}*[]?^$`,", *p) || (p == s && (*p == '#' || *p == '~'))) sb_putc(b, '\\');
        else if (*p == '~' && p > s && (p[-1] == ':' || p[-1] == '=')) sb_putc(b, '\\');
        sb_putc(b, *p);
    }
}

/* A character that the shell would act upon. */
static bool has_metas(const char *s)
{
    for (const char *p = s; *p; p++) {
        if (strchr(" \t\n'\"\\|&;()<>!{}*[]?^$`", *p)) return true;
        if ((*p == '~' || *p == '#') && p == s) return true;
        if (*p == '~' && (p[-1] == ':' || p[-1] == '=')) return true;
    }
    return false;
}

bool needs_quotes(const char *s) { return !*s || has_metas(s) || has_control(s); }

void quote_xtrace(strbuf *b, const char *s)
{
    if (!*s || (has_metas(s) && strcmp(s, "'"))) quote_plain(b, s);
    else if (*s == '\'') sb_puts(b, "\\'");
    else if (has_control(s)) quote_ansi(b, s);
    else sb_puts(b, s);
}

void quote_trace(strbuf *b, const char *s)
{
    if (needs_quotes(s)) quote_single(b, s); else sb_puts(b, s);
}

static int hex_digit(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? (c | 32) - 'a' + 10 : -1;
}

size_t decode_escape(const char *s, char mode, strbuf *out, bool *stop)
{
    static const char from[] = "abeEfnrtv\\", to[] = "\a\b\x1b\x1b\f\n\r\t\v\\";
    const char *at;
    char utf[4];
    if (!*s) { sb_putc(out, '\\'); return 0; }
    if ((at = strchr(from, *s))) { sb_putc(out, to[at - from]); return 1; }
    if (mode == '\'' && (*s == '\'' || *s == '"' || *s == '?')) { sb_putc(out, *s); return 1; }
    if (mode == 'f' && (*s == '"' || *s == '\'' || *s == '?')) { sb_putc(out, *s); return 1; }
    if (mode == 'b' && (*s == '"' || *s == '\'' || *s == '?')) {
        sb_putc(out, '\\');
        sb_putc(out, *s);
        return 1;
    }
    if (*s == 'c') {
        if (mode == 'f') { sb_putc(out, '\\'); return 0; }
        if (mode != '\'') { if (stop) *stop = true; return 1; }
        if (!s[1]) { sb_puts(out, "\\c"); return 1; }
        sb_putc(out, (char)(s[1] == '?' ? 0x7f : toupper((unsigned char)s[1]) & 0x1f));
        return s[1] == '\\' && s[2] == '\\' ? 3 : 2;
    }
    if (*s >= '0' && *s <= '7') {
        /* echo -e and %b want \0nnn; $'...' and printf formats \nnn. echo -e takes \nnn only with the leading 0. */
        size_t i = 0, max = 3;
        if (mode == 'e' || mode == 'b') { if (*s == '0') max = 4; else if (mode == 'e') { sb_putc(out, '\\'); return 0; } }
        unsigned v = 0;
        while (i < max && s[i] >= '0' && s[i] <= '7') v = v * 8 + (unsigned)(s[i++] - '0');
        if (!(v & 0xff) && mode == '\'') *stop = true;   /* $'a\0b' ends at the NUL */
        else sb_putc(out, (char)v);
        return i;
    }
    if (*s == 'x' && s[1] == '{' && mode == '\'') {   /* \x{41} */
        size_t i = 2;
        uint32_t v = 0;
        for (; hex_digit(s[i]) >= 0; i++) v = v * 16 + (uint32_t)hex_digit(s[i]);
        if (v & 0xff) sb_putc(out, (char)v); else *stop = true;
        return i + (s[i] == '}');
    }
    if (*s == 'x' || *s == 'u' || *s == 'U') {
        size_t max = *s == 'x' ? 2 : *s == 'u' ? 4 : 8, i = 1;
        uint32_t v = 0;
        while (i <= max && hex_digit(s[i]) >= 0) v = v * 16 + (uint32_t)hex_digit(s[i++]);
        if (i == 1 && (mode == 'b' || mode == 'f'))
            b_error("printf", 0, "missing %s digit for \\%c", max == 2 ? "hex" : "unicode", *s);
        if (i == 1) { sb_putc(out, '\\'); return 0; }
        if (!v && mode == '\'') *stop = true;
        else if (*s == 'x') sb_putc(out, (char)v);
        else sb_add(out, utf, utf8_put(v > 0x10ffff ? 0xfffd : v, utf));
        return i;
    }
    sb_putc(out, '\\');
    return 0;
}

char *decode_ansi(arena *a, const char *s, size_t n)
{
    strbuf b = { .a = a };
    char *copy = arena_strndup(a, s, n);
    bool stop = false;
    for (const char *p = copy; *p && !stop;)
        if (*p == '\\') p += 1 + decode_escape(p + 1, '\'', &b, &stop);
        else sb_putc(&b, *p++);
    return sb_str(&b);
}
