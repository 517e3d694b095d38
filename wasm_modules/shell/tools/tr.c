/* tr.c - translate, squeeze or delete bytes. Like GNU's it works on bytes, not characters. */
#include "buffer.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A set in order: the bytes it names, with what is needed to pair classes. */
typedef struct {
    unsigned char *at;
    size_t n, cap;
    int case_at[8], case_kind[8], cases;
    size_t fill_at;
    int fill, classes, equals;
} byte_list;

static void push(tool *t, byte_list *l, int c) {
    if (l->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 256;
        l->at = tool_realloc(t, l->at, l->cap);
    }
    l->at[l->n++] = (unsigned char)c;
}

/* One possibly escaped byte at *p. */
static int take_byte(const char **p, const char *end) {
    const char *s = *p;
    int c = (unsigned char)*s++;
    if (c == '\\' && s < end) {
        c = (unsigned char)*s++;
        switch (c) {
        case 'a': c = '\a'; break; case 'b': c = '\b'; break; case 'f': c = '\f'; break; case 'n': c = '\n'; break;
        case 'r': c = '\r'; break; case 't': c = '\t'; break; case 'v': c = '\v'; break;
        case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7':
            c -= '0';
            for (int i = 0; i < 2 && s < end && *s >= '0' && *s <= '7' && c * 8 + *s - '0' < 256; i++) c = c * 8 + *s++ - '0';
        }
    }
    *p = s;
    return c;
}

static int in_class(const char *name, size_t n, int c) {
    static const struct {
        const char *name;
        int (*is)(int);
    } table[] = {{"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank}, {"cntrl", iscntrl}, {"digit", isdigit},
        {"graph", isgraph}, {"lower", islower}, {"print", isprint}, {"punct", ispunct}, {"space", isspace}, {"upper", isupper},
        {"xdigit", isxdigit}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strlen(table[i].name) == n && !memcmp(table[i].name, name, n)) return c < 128 && table[i].is(c) != 0;
    return -1;
}

static int add_class(tool *t, byte_list *l, const char *name, size_t n) {
    if (in_class(name, n, 'a') < 0) return tool_fail(t, -1, "invalid character class %s", tool_cite(t, tool_strndup(t, name, n)));
    int kind = n == 5 && !memcmp(name, "upper", 5) ? 'U' : n == 5 && !memcmp(name, "lower", 5) ? 'L' : 0;
    if (kind && l->cases < 8) { l->case_at[l->cases] = (int)l->n; l->case_kind[l->cases++] = kind; }
    if (!kind) l->classes = 1;
    for (int c = 0; c < 256; c++) if (in_class(name, n, c) > 0) push(t, l, c);
    return 0;
}

static int expand(tool *t, const char *text, byte_list *l, int second) {
    const char *p = text, *end = text + strlen(text);
    while (p < end) {
        if (*p == '[' && p + 1 < end && p[1] == ':') {
            const char *close = strstr(p + 2, ":]");
            if (close) {
                if (add_class(t, l, p + 2, (size_t)(close - p - 2)) < 0) return -1;
                p = close + 2;
                continue;
            }
        }
        if (*p == '[' && p + 4 < end && p[1] == '=' && p[3] == '=' && p[4] == ']') {
            push(t, l, (unsigned char)p[2]);
            l->equals = 1;
            p += 5;
            continue;
        }
        if (*p == '[' && p + 2 < end) {
            const char *q = p + 1;
            int c = take_byte(&q, end);
            const char *close = q < end && *q == '*' ? strchr(q, ']') : NULL;
            int digits = close != NULL;
            for (const char *d = q + 1; close && d < close; d++) digits &= isdigit((unsigned char)*d) != 0;
            if (digits) {
                if (!second && close == q + 1) return tool_fail(t, -1, "the [c*] repeat construct may not appear in string1");
                size_t times = close > q + 1 ? strtoul(q + 1, NULL, q[1] == '0' ? 8 : 10) : 0;
                if (!times) { l->fill = 1 + c; l->fill_at = l->n; }
                if (times > 65536) times = 65536;
                while (times--) push(t, l, c);
                p = close + 1;
                continue;
            }
        }
        const char *start = p;
        int c = take_byte(&p, end);
        if (p < end && *p == '-' && p + 1 < end) {
            const char *q = p + 1;
            int d = take_byte(&q, end);
            if (d < c)
                return tool_fail(
                    t, -1, "range-endpoints of '%.*s' are in reverse collating sequence order", (int)(q - start), start);
            for (; c <= d; c++) push(t, l, c);
            p = q;
        } else push(t, l, c);
    }
    return 0;
}

static void complement(tool *t, byte_list *l) {
    unsigned char in[256] = {0};
    for (size_t i = 0; i < l->n; i++) in[l->at[i]] = 1;
    byte_list r = {0};
    for (int c = 0; c < 256; c++) if (!in[c]) push(t, &r, c);
    r.classes = l->classes;
    *l = r;
}

static int translate_map(tool *t, byte_list *a, byte_list *b, int truncate, unsigned char map[256]) {
    if (b->fill) {
        byte_list r = {0};
        for (size_t i = 0; i < b->fill_at; i++) push(t, &r, b->at[i]);
        for (size_t i = b->n; i < a->n; i++) push(t, &r, b->fill - 1);
        for (size_t i = b->fill_at; i < b->n; i++) push(t, &r, b->at[i]);
        r.cases = b->cases;
        memcpy(r.case_at, b->case_at, sizeof r.case_at);
        memcpy(r.case_kind, b->case_kind, sizeof r.case_kind);
        r.equals = b->equals;
        *b = r;
    }
    if (!b->n) {
        if (a->n && !truncate) return tool_fail(t, -1, "when not truncating set1, string2 must be non-empty");
        return 0;
    }
    if (b->equals) return tool_fail(t, -1, "[=c=] expressions may not appear in string2 when translating");
    if (b->classes)
        return tool_fail(
            t, -1, "when translating, the only character classes that may appear in\nstring2 are 'upper' and 'lower'");
    for (int i = 0; i < b->cases; i++) {
        int paired = 0;
        for (int j = 0; j < a->cases; j++) paired |= a->case_at[j] == b->case_at[i];
        if (!paired) return tool_fail(t, -1, "misaligned [:upper:] and/or [:lower:] construct");
    }
    for (size_t i = 0; i < a->n; i++) {
        if (i >= b->n && truncate) break;
        map[a->at[i]] = b->at[i < b->n ? i : b->n - 1];
    }
    return 0;
}

/* Whether all that set2 gives is one character. */
static int is_single(const byte_list *b) {
    for (size_t i = 1; i < b->n; i++) if (b->at[i] != b->at[0]) return 0;
    return !b->fill || !b->n || b->at[0] == (unsigned char)(b->fill - 1);
}

int tool_tr(tool *t, int argc, char **argv) {
    static const tool_long longs[]
        = {{"complement", 0, 'c'}, {"delete", 0, 'd'}, {"squeeze-repeats", 0, 's'}, {"truncate-set1", 0, 't'}, {0, 0, 0}};
    int flip = 0, del = 0, squeeze = 0, truncate = 0, c;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "+cCdst", longs)) != -1;) switch (c) {
        case 'c': case 'C': flip = 1; break;
        case 'd': del = 1; break;
        case 's': squeeze = 1; break;
        case 't': truncate = 1; break;
        default: return 1;
    }
    int sets = argc - o.index, least = del == squeeze ? 2 : 1, most = del && !squeeze ? 1 : 2;
    if (sets < least) {
        if (!sets) tool_fail(t, 1, "missing operand");
        else {
            tool_fail(t, 1, "missing operand after %s", tool_cite(t, argv[argc - 1]));
            io_printf(t->err, squeeze && del ? "Two strings must be given when both deleting and squeezing repeats.\n"
                                             : "Two strings must be given when translating.\n");
        }
        return tool_usage(t, 1);
    }
    if (sets > most) {
        tool_fail(t, 1, "extra operand %s", tool_cite(t, argv[o.index + most]));
        if (sets == 2) io_puts(t->err, "Only one string may be given when deleting without squeezing repeats.\n");
        return tool_usage(t, 1);
    }
    byte_list a = {0}, b = {0};
    if (expand(t, argv[o.index], &a, 0) < 0 || (sets > 1 && expand(t, argv[o.index + 1], &b, 1) < 0)) return 1;
    if (del && b.fill) return tool_fail(t, 1, "the [c*] construct may appear in string2 only when translating");
    if (flip && !del && sets > 1 && (a.classes || a.cases) && !is_single(&b)) {
        tool_fail(t, 1, "when translating with complemented character classes,");
        io_puts(t->err, "string2 must map all characters in the domain to one\n");
        return 1;
    }
    if (flip) complement(t, &a);
    unsigned char map[256], drop[256] = {0}, once[256] = {0};
    for (int i = 0; i < 256; i++) map[i] = (unsigned char)i;
    if (del) for (size_t i = 0; i < a.n; i++) drop[a.at[i]] = 1;
    if (!del && sets > 1 && translate_map(t, &a, &b, truncate, map) < 0) return 1;
    if (squeeze) {
        const byte_list *l = sets > 1 ? &b : &a;
        for (size_t i = 0; i < l->n; i++) once[l->at[i]] = 1;
    }
    unsigned char block[8192];
    ssize_t n;
    int last = -1;
    while ((n = io_read(t->in, block, sizeof block)) > 0) {
        size_t kept = 0;
        for (ssize_t i = 0; i < n; i++) {
            if (drop[block[i]]) continue;
            unsigned char x = map[block[i]];
            if (once[x] && last == x) continue;
            last = x;
            block[kept++] = x;
        }
        if (io_write(t->out, block, kept) < 0) return 1;
    }
    return n < 0 ? tool_fail_errno(t, 1, "read error") : 0;
}
