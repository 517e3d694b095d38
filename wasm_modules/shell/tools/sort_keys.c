/* sort_keys.c - see sort_keys.h. */
#include "sort_keys.h"
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int sort_key_option(sort_key *k, int c) {
    switch (c) {
    case 'b': k->skip_start = k->skip_end = 1; return 1;
    case 'd': k->dictionary = 1; return 1;
    case 'f': k->fold = 1; return 1;
    case 'g': k->general = 1; return 1;
    case 'h': k->human = 1; return 1;
    case 'i': k->printable = 1; return 1;
    case 'M': k->month = 1; return 1;
    case 'n': k->numeric = 1; return 1;
    case 'R': k->random = 1; return 1;
    case 'r': k->reverse = 1; return 1;
    case 'V': k->version = 1; return 1;
    }
    return 0;
}

/* F[.C] at *text; -1 when there is no number. */
static int position(const char **text, size_t *field, size_t *character, int *has_char) {
    char *end;
    if (!isdigit((unsigned char)**text)) return -1;
    *field = strtoul(*text, &end, 10);
    *has_char = 0;
    if (*end == '.') {
        if (!isdigit((unsigned char)end[1])) return -1;
        *character = strtoul(end + 1, &end, 10);
        *has_char = 1;
    }
    *text = end;
    return 0;
}

int sort_key_parse(tool *t, const char *text, sort_key *k) {
    const char *p = text;
    int has_char;
    memset(k, 0, sizeof *k);
    k->end_field = SIZE_MAX;
    size_t c = 1;
    if (position(&p, &k->start_field, &c, &has_char) < 0)
        return tool_fail(t, 2, "invalid number at field start: invalid count at start of %s", tool_cite(t, text));
    if (!k->start_field)
        return tool_fail(t, 2, "field number is zero: invalid field specification %s", tool_cite(t, text));
    if (has_char && !c) return tool_fail(t, 2, "character offset is zero: invalid field specification %s", tool_cite(t, text));
    k->start_field--;
    k->start_char = has_char ? c - 1 : 0;
    for (; *p && *p != ','; p++) {
        if (*p == 'b') k->skip_start = 1;
        else if (!sort_key_option(k, *p))
            return tool_fail(t, 2, "stray character in field spec: invalid field specification %s", tool_cite(t, text));
    }
    if (*p == ',') {
        p++;
        c = 0;
        if (position(&p, &k->end_field, &c, &has_char) < 0)
            return tool_fail(t, 2, "invalid number after ',': invalid count at start of %s", tool_cite(t, p));
        if (!k->end_field) return tool_fail(t, 2, "field number is zero: invalid field specification %s", tool_cite(t, text));
        k->end_char = has_char ? c : 0;
        if (k->end_char) k->end_field--;
        for (; *p; p++) {
            if (*p == 'b') k->skip_end = 1;
            else if (!sort_key_option(k, *p))
                return tool_fail(t, 2, "stray character in field spec: invalid field specification %s", tool_cite(t, text));
        }
    }
    return 0;
}

static int blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

static const char *skip_field(const char *p, const char *end, int tab, int keep_tab) {
    if (tab >= 0) {
        while (p < end && *p != (char)tab) p++;
        if (p < end && !keep_tab) p++;
    } else {
        while (p < end && blank(*p)) p++;
        while (p < end && !blank(*p)) p++;
    }
    return p;
}

span sort_key_span(const sort_order *o, const sort_key *k, span line) {
    const char *p = line.p, *end = line.p + line.n, *stop = end;
    for (size_t i = 0; i < k->start_field && p < end; i++) p = skip_field(p, end, o->tab, 0);
    if (k->skip_start) while (p < end && blank(*p)) p++;
    p = (size_t)(end - p) > k->start_char ? p + k->start_char : end;
    if (k->end_field != SIZE_MAX) {
        stop = line.p;
        /* with no character offset the end is the end of field end_field (its separator not included) */
        size_t fields = k->end_field;
        for (size_t i = 0; i < fields && stop < end; i++)
            stop = skip_field(stop, end, o->tab, !k->end_char && i + 1 == fields);
        if (k->end_char) {
            if (k->skip_end) while (stop < end && blank(*stop)) stop++;
            stop = (size_t)(end - stop) > k->end_char ? stop + k->end_char : end;
        }
    }
    if (stop < p) stop = p;
    return (span){(char *)p, (size_t)(stop - p)};
}

/* Compares decimal numbers of any length as text: [blanks][-]digits[.digits]. */
static int compare_numeric(span a, span b) {
    const char *p[2] = {a.p, b.p}, *e[2] = {a.p + a.n, b.p + b.n};
    int negative[2], zero[2];
    const char *whole[2], *frac[2];
    size_t whole_n[2], frac_n[2];
    for (int i = 0; i < 2; i++) {
        while (p[i] < e[i] && blank(*p[i])) p[i]++;
        negative[i] = p[i] < e[i] && *p[i] == '-';
        p[i] += negative[i];
        while (p[i] < e[i] && *p[i] == '0') p[i]++;
        whole[i] = p[i];
        while (p[i] < e[i] && isdigit((unsigned char)*p[i])) p[i]++;
        whole_n[i] = (size_t)(p[i] - whole[i]);
        frac[i] = p[i];
        if (p[i] < e[i] && *p[i] == '.') {
            frac[i] = ++p[i];
            while (p[i] < e[i] && isdigit((unsigned char)*p[i])) p[i]++;
        }
        frac_n[i] = (size_t)(p[i] - frac[i]);
        while (frac_n[i] && frac[i][frac_n[i] - 1] == '0') frac_n[i]--;
        zero[i] = !whole_n[i] && !frac_n[i];
        if (zero[i]) negative[i] = 0;
    }
    if (negative[0] != negative[1]) return negative[0] ? -1 : 1;
    int order = whole_n[0] != whole_n[1] ? (whole_n[0] < whole_n[1] ? -1 : 1) : memcmp(whole[0], whole[1], whole_n[0]);
    if (!order) order = span_compare((span){(char *)frac[0], frac_n[0]}, (span){(char *)frac[1], frac_n[1]});
    return negative[0] ? -order : order;
}

static int human_unit(span s) {
    size_t i = 0;
    int negative = 0, nonzero = 0;
    while (i < s.n && blank(s.p[i])) i++;
    if (i < s.n && s.p[i] == '-') { negative = 1; i++; }
    for (; i < s.n && (isdigit((unsigned char)s.p[i]) || s.p[i] == '.'); i++) nonzero |= s.p[i] > '0';
    if (!nonzero || i >= s.n) return 0;
    const char *units = "KMGTPEZY", *at = strchr(units, s.p[i] == 'k' ? 'K' : s.p[i]);
    int order = at && *at ? (int)(at - units) + 1 : 0;
    return negative ? -order : order;
}

int sort_month(span s) {
    static const char names[] = "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC";
    size_t i = 0;
    while (i < s.n && blank(s.p[i])) i++;
    for (int m = 0; m < 12; m++) if (s.n - i >= 3 && !strncasecmp(s.p + i, names + m * 3, 3)) return m + 1;
    return 0;
}

static long double general_value(const sort_order *o, span s, int *kind) {
    char *text = tool_strndup(o->t, s.p, s.n), *end;
    long double v = strtold(text, &end);
    *kind = end == text ? 0 : v != v ? 1 : 2;
    tool_free(o->t, text);
    return v;
}

static unsigned long long scramble(const sort_order *o, span s) {
    unsigned long long h = o->salt ^ 0xcbf29ce484222325ull;
    for (size_t i = 0; i < s.n; i++) h = (h ^ (unsigned char)s.p[i]) * 0x100000001b3ull;
    h ^= h >> 32;
    return h * 0x9E3779B97F4A7C15ull;
}

/* Whether -d and -i let a character count. */
static int counts(const sort_key *k, unsigned char c) {
    return (!k->dictionary || isalnum(c) || blank((char)c)) && (!k->printable || isprint(c));
}

/* Byte order with -d, -f and -i applied. */
static int compare_text(const sort_key *k, span a, span b) {
    if (!k->dictionary && !k->fold && !k->printable) return span_compare(a, b);
    size_t i = 0, j = 0;
    for (;;) {
        unsigned char x = 0, y = 0;
        int have_x = 0, have_y = 0;
        for (; i < a.n && !have_x; i++) have_x = counts(k, x = (unsigned char)a.p[i]);
        for (; j < b.n && !have_y; j++) have_y = counts(k, y = (unsigned char)b.p[j]);
        if (!have_x || !have_y) return have_x - have_y;
        if (k->fold) { x = (unsigned char)toupper(x); y = (unsigned char)toupper(y); }
        if (x != y) return x < y ? -1 : 1;
    }
}

/* What -d, -f and -i leave of a text, in memory of its own. */
static span reduced(const sort_order *o, const sort_key *k, span s) {
    char *to = tool_alloc(o->t, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        if (counts(k, (unsigned char)s.p[i])) to[n++] = (char)(k->fold ? toupper((unsigned char)s.p[i]) : s.p[i]);
    return (span){to, n};
}

static int compare_versions(const sort_order *o, const sort_key *k, span a, span b) {
    if (!k->dictionary && !k->fold && !k->printable) return version_compare(a.p, a.n, b.p, b.n);
    span x = reduced(o, k, a), y = reduced(o, k, b);
    int order = version_compare(x.p, x.n, y.p, y.n);
    tool_free(o->t, (char *)x.p);
    tool_free(o->t, (char *)y.p);
    return order;
}

static int compare_key(const sort_order *o, const sort_key *k, span a, span b) {
    if (k->numeric) return compare_numeric(a, b);
    if (k->human) {
        int x = human_unit(a), y = human_unit(b);
        return x != y ? (x < y ? -1 : 1) : compare_numeric(a, b);
    }
    if (k->general) {
        int ka, kb;
        long double x = general_value(o, a, &ka), y = general_value(o, b, &kb);
        if (ka != kb || ka < 2) return ka - kb;
        return x < y ? -1 : x > y;
    }
    if (k->month) return sort_month(a) - sort_month(b);
    if (k->version) return compare_versions(o, k, a, b);
    if (k->random) {
        unsigned long long x = scramble(o, a), y = scramble(o, b);
        if (x != y) return x < y ? -1 : 1;
    }
    return compare_text(k, a, b);
}

static int has_kind(const sort_key *k) {
    return k->numeric || k->general || k->human || k->month || k->version || k->random || k->dictionary || k->fold
           || k->printable;
}

int sort_compare_keys(const sort_order *o, span a, span b) {
    if (!o->keys) {
        const sort_key *g = &o->global;
        span x = a, y = b;
        if (g->skip_start) {
            while (x.n && blank(*x.p)) { x.p++; x.n--; }
            while (y.n && blank(*y.p)) { y.p++; y.n--; }
        }
        int order = has_kind(g) || g->skip_start || g->reverse || o->unique || o->stable ? compare_key(o, g, x, y) : 0;
        return g->reverse ? -order : order;
    }
    for (const sort_key *k = o->keys; k; k = k->next) {
        int order = compare_key(o, k, sort_key_span(o, k, a), sort_key_span(o, k, b));
        if (order) return k->reverse ? -order : order;
    }
    return 0;
}

int sort_compare(const sort_order *o, span a, span b) {
    int order = sort_compare_keys(o, a, b);
    if (order || o->stable || o->unique) return order;
    order = span_compare(a, b);
    return o->global.reverse ? -order : order;
}

/* filevercmp: digits compare by value, '~' before everything, letters before the rest. */
static int version_rank(const char *s, size_t n, size_t i) {
    if (i >= n) return -1;
    unsigned char c = (unsigned char)s[i];
    if (isdigit(c)) return 0;
    if (isalpha(c)) return c;
    if (c == '~') return -2;
    return c + 256;
}

static int version_walk(const char *a, size_t an, const char *b, size_t bn) {
    size_t i = 0, j = 0;
    while (i < an || j < bn) {
        while ((i < an && !isdigit((unsigned char)a[i])) || (j < bn && !isdigit((unsigned char)b[j]))) {
            int x = version_rank(a, an, i), y = version_rank(b, bn, j);
            if (x != y) return x < y ? -1 : 1;
            i++;
            j++;
        }
        while (i < an && a[i] == '0') i++;
        while (j < bn && b[j] == '0') j++;
        int first = 0;
        while (i < an && j < bn && isdigit((unsigned char)a[i]) && isdigit((unsigned char)b[j])) {
            if (!first) first = a[i] - b[j];
            i++;
            j++;
        }
        if (i < an && isdigit((unsigned char)a[i])) return 1;
        if (j < bn && isdigit((unsigned char)b[j])) return -1;
        if (first) return first;
    }
    return 0;
}

/* Length without a suffix (\.[A-Za-z~][A-Za-z0-9~]*)*. */
static size_t stem(const char *s, size_t n) {
    size_t cut = n;
    for (size_t i = 0; i < n;) {
        if (s[i] == '.' && i + 1 < n && (isalpha((unsigned char)s[i + 1]) || s[i + 1] == '~')) {
            size_t j = i + 2;
            while (j < n && (isalnum((unsigned char)s[j]) || s[j] == '~')) j++;
            if (j == n) { cut = i; break; }
            if (s[j] == '.') {
                size_t k = j;
                int all = 1;
                while (k < n && all) {
                    if (s[k] != '.' || k + 1 >= n || !(isalpha((unsigned char)s[k + 1]) || s[k + 1] == '~')) { all = 0; break; }
                    for (k += 2; k < n && (isalnum((unsigned char)s[k]) || s[k] == '~'); k++) {}
                }
                if (all) { cut = i; break; }
            }
        }
        i++;
    }
    return cut;
}

int version_compare(const char *a, size_t an, const char *b, size_t bn) {
    if (!an || !bn) return an ? 1 : bn ? -1 : 0;
    int dot_a = *a == '.', dot_b = *b == '.';
    if (dot_a != dot_b) return dot_a ? -1 : 1;
    if (dot_a) {                                        /* . and .. come before all other hidden names */
        int plain_a = an == 1 ? 0 : an == 2 && a[1] == '.' ? 1 : 2, plain_b = bn == 1 ? 0 : bn == 2 && b[1] == '.' ? 1 : 2;
        if (plain_a != plain_b) return plain_a - plain_b;
    }
    size_t ap = stem(a, an), bp = stem(b, bn);
    int order = version_walk(a, ap, b, bp);
    return order || (ap == an && bp == bn) ? order : version_walk(a, an, b, bn);
}
