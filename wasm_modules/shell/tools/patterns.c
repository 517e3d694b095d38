/* patterns.c - see patterns.h. */
#include "patterns.h"
#include "../utf8.h"
#include <string.h>

static void drop(void *r) { regex_free(r); }

regex *pattern_compile(tool *t, const char *text, size_t n, int flags, const char **error) {
    regex *r = regex_compile(text, n, flags, error);
    if (r) tool_defer(t, drop, r);
    return r;
}

static int take(const char **p) {
    int c, n = utf8_decode(*p, strlen(*p), &c);
    if (c < 0) c = (unsigned char)**p;
    *p += n;
    return c;
}

/* Whether c is in the bracket expression at *p (after '['); moves *p behind it. -1 when it is not closed. */
static int in_bracket(const char **p, int c, int fold) {
    const char *s = *p;
    int invert = *s == '!' || *s == '^', found = 0, first = 1;
    s += invert;
    for (; *s && (*s != ']' || first); first = 0) {
        if (s[0] == '[' && s[1] == ':') {
            const char *close = strstr(s + 2, ":]");
            if (close) {
                char name[32];
                size_t n = (size_t)(close - s - 2);
                if (n < sizeof name) {
                    char wrapped[64] = "[[:";
                    const char *error;
                    memcpy(wrapped + 3, s + 2, n);
                    memcpy(wrapped + 3 + n, ":]]", 4);
                    regex *r = regex_compile(wrapped, strlen(wrapped), REGEX_EXTENDED, &error);
                    char bytes[4];
                    int len = utf8_encode(c, bytes);
                    if (r) found |= regex_test(r, bytes, (size_t)len) > 0;
                    regex_free(r);
                }
                s = close + 2;
                continue;
            }
        }
        if (*s == '\\' && s[1]) s++;
        int low = take(&s), high = low;
        if (*s == '-' && s[1] && s[1] != ']') {
            s++;
            if (*s == '\\' && s[1]) s++;
            high = take(&s);
        }
        found |= c >= low && c <= high;
        if (fold) found |= (utf8_lower(c) >= low && utf8_lower(c) <= high) || (utf8_upper(c) >= low && utf8_upper(c) <= high);
    }
    if (!*s) return -1;
    *p = s + 1;
    return found != invert;
}

int glob_matches(const char *p, const char *s, int fold, int pathname) {
    const char *star = NULL, *back = NULL;
    for (;;) {
        if (*p == '*') {
            while (*p == '*') p++;
            star = p;
            back = s;
            continue;
        }
        if (!*s) {
            if (!*p) return 1;
            return 0;
        }
        const char *before_p = p, *next = s;
        int c = take(&next), ok = 0;
        if (*p == '?') { p++; ok = !(pathname && c == '/'); }
        else if (*p == '[') {
            const char *q = p + 1;
            ok = in_bracket(&q, c, fold);
            if (ok < 0) { ok = c == '['; p++; } else p = q;
            if (pathname && c == '/') ok = 0;
        } else if (*p) {
            if (*p == '\\' && p[1]) p++;
            int want = take(&p);
            ok = want == c || (fold && utf8_lower(want) == utf8_lower(c));
        }
        if (ok) { s = next; continue; }
        (void)before_p;
        if (!star || !*back || (pathname && *back == '/')) return 0;
        take(&back);
        s = back;
        p = star;
    }
}
