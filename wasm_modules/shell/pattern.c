/* pattern.c - matching text against shell patterns: * ? [...] \x and the extended forms ?(a|b) *(..) +(..) @(..) !(..).
 *
 * Plain stars are matched with one backtrack point, in time |pattern| x |text|. Extended patterns recurse; how deep is capped.
 */
#include "sh.h"
#include <string.h>
#include <wctype.h>

enum { MAX_RECURSION = 400 };
typedef struct { int flags; int depth; } ctx;
static bool match(const char *p, const char *pe, const char *s, const char *se, ctx *c);

static uint32_t fold(uint32_t ch, ctx *c) { return c->flags & PM_NOCASE ? (uint32_t)towlower((wint_t)ch) : ch; }

static size_t next_in(const char *s, const char *se, uint32_t *cp)
{
    size_t k = utf8_next(s, cp);
    if (k == 0) { *cp = 0; k = 1; }
    if (s + k > se) { *cp = (unsigned char)*s; k = 1; }
    return k;
}

static bool in_class(const char *name, size_t n, uint32_t ch)
{
    static const char *const names[] = { "alnum", "alpha", "blank", "cntrl", "digit", "graph",
                                         "lower", "print", "punct", "space", "upper", "xdigit" };
    if (n == 4 && !strncmp(name, "word", 4)) return iswalnum((wint_t)ch) || ch == '_';
    if (n == 5 && !strncmp(name, "ascii", 5)) return ch < 0x80;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == n && !strncmp(names[i], name, n)) return iswctype((wint_t)ch, wctype(names[i])) != 0;
    return false;
}

/* One end of a range, or a single member; *p moves behind it. */
static uint32_t member(const char **p, const char *pe)
{
    uint32_t cp;
    const char *s = *p;
    if (s + 1 < pe && s[0] == '[' && (s[1] == '.' || s[1] == '=')) {
        char kind = s[1];
        const char *end = s + 2;
        while (end + 1 < pe && !(end[0] == kind && end[1] == ']')) end++;
        if (end + 1 < pe) { utf8_next(s + 2, &cp); *p = end + 2; return cp; }
    }
    if (*s == '\\' && s + 1 < pe) s++;
    size_t k = next_in(s, pe, &cp);
    *p = s + k;
    return cp;
}

/* [...] at p against ch. Returns what follows the bracket, NULL when it is not closed (then [ is an ordinary character). */
static const char *bracket(const char *p, const char *pe, uint32_t ch, bool *hit, ctx *c)
{
    bool negate = false, found = false;
    p++;
    if (p < pe && (*p == '!' || *p == '^')) { negate = true; p++; }
    uint32_t want = fold(ch, c);
    for (bool first = true;; first = false) {
        if (p >= pe) return NULL;
        if (*p == ']' && !first) break;
        if (p + 1 < pe && p[0] == '[' && p[1] == ':') {
            const char *end = p + 2;
            while (end + 1 < pe && !(end[0] == ':' && end[1] == ']')) end++;
            if (end + 1 < pe) {
                if (in_class(p + 2, (size_t)(end - p - 2), ch)) found = true;
                p = end + 2;
                continue;
            }
        }
        uint32_t lo = member(&p, pe), hi = lo;
        if (p + 1 < pe && *p == '-' && p[1] != ']') { p++; hi = member(&p, pe); }
        if (lo <= ch && ch <= hi) found = true;
        if (c->flags & PM_NOCASE && ((fold(lo, c) <= want && want <= fold(hi, c)) || (lo <= want && want <= hi))) found = true;
    }
    *hit = found != negate;
    return p + 1;
}

/* The ')' that closes the group whose '(' is at p[-1], NULL when there is none. */
static const char *group_end(const char *p, const char *pe)
{
    int depth = 0;
    for (; p < pe; p++) {
        if (*p == '\\' && p + 1 < pe) { p++; continue; }
        if (*p == '[') {
            const char *q = p + 1;
            if (q < pe && (*q == '!' || *q == '^')) q++;
            if (q < pe && *q == ']') q++;
            while (q < pe && *q != ']' && *q != ')' && *q != '|') q++;
            if (q < pe && *q == ']') { p = q; continue; }
        }
        if (*p == '(') depth++;
        else if (*p == ')' && depth-- == 0) return p;
    }
    return NULL;
}

/* Calls match for each alternative between p and close on s..k. */
static bool any_alternative(const char *p, const char *close, const char *s, const char *k, ctx *c)
{
    const char *from = p;
    int depth = 0;
    for (;; p++) {
        if (p < close && *p == '\\' && p + 1 < close) { p++; continue; }
        if (p < close && *p == '(') depth++;
        if (p < close && *p == ')') depth--;
        if (p == close || (*p == '|' && depth == 0)) {
            if (match(from, p, s, k, c)) return true;
            if (p == close) return false;
            from = p + 1;
        }
    }
}

static bool extended(char kind, const char *body, const char *close, const char *pe, const char *s, const char *se, ctx *c)
{
    const char *rest = close + 1;
    if ((kind == '?' || kind == '*') && match(rest, pe, s, se, c)) return true;
    if (kind == '!') {
        for (const char *k = se;; k--) {
            if (!any_alternative(body, close, s, k, c) && match(rest, pe, k, se, c)) return true;
            if (k == s) return false;
        }
    }
    for (const char *k = s; k <= se; k++) {
        if (!any_alternative(body, close, s, k, c)) continue;
        if (match(rest, pe, k, se, c)) return true;
        if ((kind == '*' || kind == '+') && k > s && ++c->depth < MAX_RECURSION) {
            bool ok = extended('*', body, close, pe, k, se, c);
            c->depth--;
            if (ok) return true;
        }
    }
    return false;
}

static bool match(const char *p, const char *pe, const char *s, const char *se, ctx *c)
{
    const char *star = NULL, *star_s = NULL;
    uint32_t a, b;
    if (++c->depth > MAX_RECURSION) { c->depth--; return false; }
    for (;;) {
        bool ok = false;
        if (p < pe && c->flags & PM_EXTGLOB && p + 1 < pe && p[1] == '(' && strchr("?*+@!", *p)) {
            const char *close = group_end(p + 2, pe);
            if (close) {
                if (extended(*p, p + 2, close, pe, s, se, c)) { c->depth--; return true; }
                goto backtrack;
            }
        }
        if (p == pe) { if (s == se) { c->depth--; return true; } goto backtrack; }
        if (*p == '*') { star = ++p; star_s = s; if (p == pe) { c->depth--; return true; } continue; }
        if (s == se) goto backtrack;
        size_t k = next_in(s, se, &a);
        if (*p == '?') { p++; s += k; continue; }
        if (*p == '[') {
            const char *after = bracket(p, pe, a, &ok, c);
            if (after) {
                if (!ok) goto backtrack;
                p = after;
                s += k;
                continue;
            }
        }
        const char *lit = *p == '\\' && p + 1 < pe ? p + 1 : p;
        size_t n = next_in(lit, pe, &b);
        if (fold(a, c) == fold(b, c)) { p = lit + n; s += k; continue; }
    backtrack:
        if (!star || star_s >= se) { c->depth--; return false; }
        star_s += next_in(star_s, se, &a);
        s = star_s;
        p = star;
    }
}

bool pattern_match_n(const char *pat, const char *s, size_t n, int flags)
{
    ctx c = { flags, 0 };
    return match(pat, pat + strlen(pat), s, s + n, &c);
}

bool pattern_match(const char *pat, const char *s, int flags) { return pattern_match_n(pat, s, strlen(s), flags); }

bool has_glob(const char *p)
{
    for (; *p; p++) {
        if (*p == '\\' && p[1]) { p++; continue; }
        if (*p == '*' || *p == '?') return true;
        if (*p == '[' && strchr(p + 1, ']')) return true;
        if (sh.shopt[S_EXTGLOB] && strchr("+@!", *p) && p[1] == '(') return true;
    }
    return false;
}

char *unescape_pattern(const char *pat)
{
    strbuf b = { .a = &sh.tmp };
    for (; *pat; pat++) {
        if (*pat == '\\' && pat[1]) pat++;
        sb_putc(&b, *pat);
    }
    return sb_str(&b);
}

char *pattern_quote(const char *s)
{
    strbuf b = { .a = &sh.tmp };
    for (; *s; s++) {
        if (strchr("*?[]\\()|+@!", *s)) sb_putc(&b, '\\');
        sb_putc(&b, *s);
    }
    return sb_str(&b);
}
