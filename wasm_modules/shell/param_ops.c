/* param_ops.c - the operators of ${x op word}: removal, replacement, case, substrings, transformations. */
#include "param.h"
#include <string.h>
#include <wctype.h>

extern const char *arith_who;

static int match_flags(void) { return (sh.shopt[S_EXTGLOB] ? PM_EXTGLOB : 0) | (sh.shopt[S_NOCASEMATCH] ? PM_NOCASE : 0); }

/* Not in the middle of a character. */
static bool at_boundary(const char *s, size_t n) { return ((unsigned char)s[n] & 0xc0) != 0x80 || sh.byte_locale; }

/* Characters that every match of the pattern has, -1 when that varies. */
static int fixed_length(const char *pat)
{
    int n = 0;
    uint32_t cp;
    for (size_t k; *pat; pat += k) {
        if (*pat == '*' || *pat == '[' || (strchr("?+@!", *pat) && pat[1] == '(')) return -1;
        if (*pat == '\\' && pat[1]) pat++;
        k = utf8_next(pat, &cp);
        n++;
    }
    return n;
}

static char *strip_prefix(const char *s, const char *pat, bool longest)
{
    size_t len = strlen(s);
    int flags = match_flags() & ~PM_NOCASE;
    if (longest) {
        for (size_t n = len + 1; n-- > 0;)
            if (at_boundary(s, n) && pattern_match_n(pat, s, n, flags)) return (char *)s + n;
    } else {
        for (size_t n = 0; n <= len; n++)
            if (at_boundary(s, n) && pattern_match_n(pat, s, n, flags)) return (char *)s + n;
    }
    return (char *)s;
}

static char *strip_suffix(const char *s, const char *pat, bool longest)
{
    size_t len = strlen(s);
    int flags = match_flags() & ~PM_NOCASE;
    for (size_t i = 0; i <= len; i++) {
        size_t at = longest ? i : len - i;
        if (!at_boundary(s, at)) continue;
        if (pattern_match(pat, s + at, flags)) return arena_strndup(&sh.tmp, s, at);
    }
    return (char *)s;
}

/* Length in bytes of the longest match at s, -1 for none. */
static ssize_t longest_match(const char *pat, const char *s, int fixed, int flags)
{
    if (fixed >= 0) {
        const char *end = utf8_skip(s, (size_t)fixed);
        return pattern_match_n(pat, s, (size_t)(end - s), flags) ? end - s : -1;
    }
    for (size_t n = strlen(s) + 1; n-- > 0;)
        if (at_boundary(s, n) && pattern_match_n(pat, s, n, flags)) return (ssize_t)n;
    return -1;
}

/* The replacement, with & standing for what matched. */
static void add_replacement(strbuf *b, const char *rep, const char *match, size_t n)
{
    for (; *rep; rep++) {
        if (*rep == '\\' && (rep[1] == '&' || rep[1] == '\\')) sb_putc(b, *++rep);
        else if (*rep == '&' && sh.shopt[S_PATSUB]) sb_add(b, match, n);
        else sb_putc(b, *rep);
    }
}

static char *replace(const char *s, const char *pat, const char *rep, int op)
{
    strbuf b = { .a = &sh.tmp };
    int flags = match_flags(), fixed = fixed_length(pat);
    if (op == OP_REPLACE_HEAD) {
        ssize_t n = *pat ? longest_match(pat, s, fixed, flags) : 0;
        if (n < 0) return (char *)s;
        add_replacement(&b, rep, s, (size_t)n);
        sb_puts(&b, s + n);
        return sb_str(&b);
    }
    if (op == OP_REPLACE_TAIL) {
        size_t len = strlen(s);
        for (size_t at = 0; at <= len; at++)
            if (at_boundary(s, at) && (*pat ? pattern_match(pat, s + at, flags) : at == len)) {
                sb_add(&b, s, at);
                add_replacement(&b, rep, s + at, len - at);
                return sb_str(&b);
            }
        return (char *)s;
    }
    if (!*pat) return (char *)s;
    bool any = false;
    uint32_t cp;
    while (*s || !any) {
        ssize_t n = longest_match(pat, s, fixed, flags);
        if (n >= 0) {
            add_replacement(&b, rep, s, (size_t)n);
            any = true;
            s += n;
            if (op == OP_REPLACE) break;
            if (n > 0) continue;
        }
        if (!*s) break;
        size_t k = utf8_next(s, &cp);
        sb_add(&b, s, k);
        s += k;
    }
    sb_puts(&b, s);
    return sb_str(&b);
}

static char *change_case(const char *s, const char *pat, int op)
{
    strbuf b = { .a = &sh.tmp };
    uint32_t cp;
    bool first = true;
    for (size_t k; (k = utf8_next(s, &cp)) > 0; s += k, first = false) {
        bool all = op == OP_UPPER_ALL || op == OP_LOWER_ALL || op == OP_TOGGLE_ALL;
        if ((!all && !first) || (k == 1 && cp >= 0x80) || (*pat && !pattern_match_n(pat, s, k, PM_EXTGLOB))) {
            sb_add(&b, s, k);
            continue;
        }
        bool up = op == OP_UPPER || op == OP_UPPER_ALL || ((op == OP_TOGGLE || op == OP_TOGGLE_ALL) && iswlower((wint_t)cp));
        char out[4];
        sb_add(&b, out, utf8_put((uint32_t)(up ? towupper((wint_t)cp) : towlower((wint_t)cp)), out));
    }
    return sb_str(&b);
}

/* ${x:off:len} of characters, array elements or positional parameters. */
static bool substring(param *pm, values *o)
{
    int64_t off, len = 0;
    if (!o->n && !o->list) return true;
    const char *who = arith_who;
    arith_who = pm->name;
    if (pm->sub == SUB_AT || pm->sub == SUB_STAR) {
        strbuf name = { .a = &sh.tmp };
        sb_printf(&name, "%s[%c]", pm->name, pm->sub == SUB_AT ? '@' : '*');
        arith_who = sb_str(&name);
    }
    bool ok = arith_eval(pm->off, &off) && (!pm->len || arith_eval(pm->len, &len));
    arith_who = who;
    if (!ok) return false;
    bool text = o->n && o->var && !(o->var->flags & (V_ARRAY | V_ASSOC));   /* also as ${x[@]:1} */
    if (!o->list || text) {
        int64_t count = (int64_t)utf8_count(o->v[0]);
        if (off < 0) off += count;
        if (o->list && (off < 0 || off > count)) { o->n = 0; return true; }
        o->list = 0;
        if (off < 0 || off > count) { o->v[0] = ""; return true; }
        int64_t end = !pm->len ? count : len < 0 ? count + len : off + (len > count - off ? count - off : len);
        if (end < off) {
            if (len < 0) { sh_error("%s: substring expression < 0", pm->len->text); return false; }
            end = off;
        }
        const char *from = utf8_skip(o->v[0], (size_t)off), *to = utf8_skip(from, (size_t)(end - off));
        char *piece = arena_strndup(&sh.tmp, from, (size_t)(to - from));
        o->v = arena_alloc(&sh.tmp, sizeof(char *));
        o->v[0] = piece;
        return true;
    }
    size_t first = 0, n = o->n;
    if (pm->special) {   /* $0 counts as element 0 */
        char **with0 = arena_alloc(&sh.tmp, (n + 2) * sizeof(char *));
        with0[0] = (char *)sh.arg0;
        if (n) memcpy(with0 + 1, o->v, n * sizeof(char *));
        o->v = with0;
        o->n = ++n;
        if (off < 0) off += (int64_t)n;
        if (off < 0) { o->n = 0; return true; }
        first = (uint64_t)off > n ? n : (size_t)off;
    } else if (o->var && o->var->flags & V_ASSOC) {   /* counted from 1 */
        if (off < 0) off += (int64_t)n + 1;
        if (off < 0) { o->n = 0; return true; }
        off -= off > 0;
        first = (uint64_t)off > n ? n : (size_t)off;
    } else {
        int64_t top = o->index ? (n ? o->index[n - 1] + 1 : 0) : (int64_t)n;
        if (off < 0) off += top;
        if (off < 0) { o->n = 0; return true; }
        while (first < n && (o->index ? o->index[first] : (int64_t)first) < off) first++;
    }
    if (first >= n) { o->n = 0; return true; }
    if (pm->len && len < 0) { sh_error("%s: substring expression < 0", pm->len->text); return false; }
    size_t count = n - first;
    if (pm->len && (uint64_t)len < count) count = (size_t)len;
    if (!count && o->var && o->var->flags & V_ASSOC) count = 1;   /* bash gives one where none is asked for */
    o->v += first;
    o->n = count;
    return true;
}

static char *map(param *pm, const char *s, const char *pat, const char *rep)
{
    switch (pm->op) {
    case OP_PREFIX: case OP_PREFIX_LONG: return strip_prefix(s, pat, pm->op == OP_PREFIX_LONG);
    case OP_SUFFIX: case OP_SUFFIX_LONG: return strip_suffix(s, pat, pm->op == OP_SUFFIX_LONG);
    case OP_REPLACE: case OP_REPLACE_ALL: case OP_REPLACE_HEAD: case OP_REPLACE_TAIL: return replace(s, pat, rep, pm->op);
    default: return change_case(s, pat, pm->op);
    }
}

bool param_ops(param *pm, values *o)
{
    if (pm->op == OP_SUBSTR) return substring(pm, o);
    if (pm->op == OP_TRANSFORM) return param_transform(pm, o);
    char *pat = expand_one(pm->arg, X_PATTERN), *rep = "";
    if (!pat || (pm->arg2 && !(rep = expand_one(pm->arg2, X_REPLACE)))) return false;
    param anchored = *pm;
    if (pm->op == OP_REPLACE && (*pat == '#' || *pat == '%')) {   /* of ${x/$p/y}, when $p begins with one */
        anchored.op = *pat++ == '#' ? OP_REPLACE_HEAD : OP_REPLACE_TAIL;
        pm = &anchored;
    }
    if (!o->n) return true;
    char **v = arena_alloc(&sh.tmp, (o->n + 1) * sizeof(char *));
    for (size_t i = 0; i < o->n; i++) v[i] = map(pm, o->v[i], pat, rep);
    o->v = v;
    return true;
}
