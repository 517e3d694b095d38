/* utf8.c - see utf8.h. Case and classes come from libc's wide-character tables, which need no locale in musl; natively the
 * program must have set LC_CTYPE to C.UTF-8. */
#include "utf8.h"
#include <string.h>
#include <wchar.h>
#include <wctype.h>
int wcwidth(wchar_t c);

int utf8_bytes;

int utf8_decode(const char *text, size_t n, int *point) {
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80) { *point = s[0]; return 1; }
    if (utf8_bytes) { *point = s[0]; return 1; }
    int need = s[0] >= 0xC2 && s[0] < 0xE0 ? 1 : s[0] >= 0xE0 && s[0] < 0xF0 ? 2 : s[0] >= 0xF0 && s[0] < 0xF5 ? 3 : 0;
    *point = -1;
    if (!need || (size_t)need >= n) return 1;
    int c = s[0] & (0x3F >> need);
    for (int i = 1; i <= need; i++) {
        if ((s[i] & 0xC0) != 0x80) return 1;
        c = c << 6 | (s[i] & 0x3F);
    }
    if ((need == 2 && c < 0x800) || (need == 3 && (c < 0x10000 || c > 0x10FFFF)) || (c >= 0xD800 && c < 0xE000)) return 1;
    *point = c;
    return need + 1;
}

int utf8_encode(int c, char to[4]) {
    if (c < 0 || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) c = 0xFFFD;
    if (c < 0x80 || (utf8_bytes && c < 0x100)) { to[0] = (char)c; return 1; }
    if (c < 0x800) { to[0] = (char)(0xC0 | c >> 6); to[1] = (char)(0x80 | (c & 63)); return 2; }
    if (c < 0x10000) {
        to[0] = (char)(0xE0 | c >> 12); to[1] = (char)(0x80 | (c >> 6 & 63)); to[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    to[0] = (char)(0xF0 | c >> 18); to[1] = (char)(0x80 | (c >> 12 & 63));
    to[2] = (char)(0x80 | (c >> 6 & 63)); to[3] = (char)(0x80 | (c & 63));
    return 4;
}

size_t utf8_length(const char *s, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; count++) {
        int c;
        i += (signed char)s[i] >= 0 ? 1 : (size_t)utf8_decode(s + i, n - i, &c);
    }
    return count;
}

size_t utf8_offset(const char *s, size_t n, size_t chars) {
    size_t i = 0;
    for (; i < n && chars; chars--) {
        int c;
        i += (signed char)s[i] >= 0 ? 1 : (size_t)utf8_decode(s + i, n - i, &c);
    }
    return i;
}

int utf8_valid(const char *s, size_t n) {
    for (size_t i = 0; i < n;) {
        int c;
        i += (size_t)utf8_decode(s + i, n - i, &c);
        if (c < 0) return 0;
    }
    return 1;
}

int utf8_width(int c) {
    if (c >= 0x20 && c < 0x7F) return 1;
    return c < 0 || (utf8_bytes && c >= 0x80) ? -1 : wcwidth((wchar_t)c);
}

int utf8_upper(int c) {
    enum { SHARP_S = 0xDF };            /* has no capital of its own length in GNU's locales, while musl knows one */
    if (c < 128) return c >= 'a' && c <= 'z' ? c - 32 : c;
    return c == SHARP_S || utf8_bytes ? c : (int)towupper((wint_t)c);
}
int utf8_lower(int c) {
    if (c < 128) return c >= 'A' && c <= 'Z' ? c + 32 : c;
    return utf8_bytes ? c : (int)towlower((wint_t)c);
}

int utf8_is_alpha(int c) {
    if (c < 128) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return !utf8_bytes && iswalpha((wint_t)c) != 0;
}

int utf8_is_space(int c) {
    if (c < 128) return c == ' ' || (c >= 9 && c <= 13);
    return !utf8_bytes && iswspace((wint_t)c) != 0;
}
