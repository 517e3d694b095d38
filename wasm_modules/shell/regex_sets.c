/* regex_sets.c - sets of characters: bracket expressions, \w and friends. */
#include "regex_program.h"
#include "utf8.h"
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

void *regex_alloc(regex_memory *m, size_t n) {
    regex_block *b = calloc(1, sizeof(regex_block) + 8 + n);
    if (!b) { m->failed = 1; return NULL; }
    b->next = m->blocks;
    m->blocks = b;
    return (char *)b + ((sizeof(regex_block) + 7) & ~(size_t)7);
}

static const char *const class_names[]
    = {"alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit", "word"};

int regex_class_named(const char *name, size_t n) {
    for (int i = 0; i < CLASS_COUNT; i++) if (strlen(class_names[i]) == n && !memcmp(class_names[i], name, n)) return i;
    return -1;
}

int regex_class_has(int cls, int c) {
    if (c < 0) return 0;
    if (c < 128) {
        int lower = c >= 'a' && c <= 'z', upper = c >= 'A' && c <= 'Z', digit = c >= '0' && c <= '9', graph = c > 32 && c < 127;
        switch (cls) {
        case CLASS_ALNUM: return lower || upper || digit;
        case CLASS_ALPHA: return lower || upper;
        case CLASS_BLANK: return c == ' ' || c == '\t';
        case CLASS_CNTRL: return c < 32 || c == 127;
        case CLASS_DIGIT: return digit;
        case CLASS_GRAPH: return graph;
        case CLASS_LOWER: return lower;
        case CLASS_PRINT: return graph || c == 32;
        case CLASS_PUNCT: return graph && !(lower || upper || digit);
        case CLASS_SPACE: return c == 32 || (c >= 9 && c <= 13);
        case CLASS_UPPER: return upper;
        case CLASS_XDIGIT: return digit || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        case CLASS_WORD: return lower || upper || digit || c == '_';
        }
        return 0;
    }
    if (utf8_bytes) return 0;
    wint_t w = (wint_t)c;
    switch (cls) {
    case CLASS_ALNUM: case CLASS_WORD: return iswalnum(w) != 0;
    case CLASS_ALPHA: return iswalpha(w) != 0;
    case CLASS_BLANK: return iswblank(w) != 0;
    case CLASS_CNTRL: return iswcntrl(w) != 0;
    case CLASS_GRAPH: return iswgraph(w) != 0;
    case CLASS_LOWER: return iswlower(w) != 0;
    case CLASS_PRINT: return iswprint(w) != 0;
    case CLASS_PUNCT: return iswpunct(w) != 0;
    case CLASS_SPACE: return iswspace(w) != 0;
    case CLASS_UPPER: return iswupper(w) != 0;
    }
    return 0;
}

int regex_is_word(int c) { return regex_class_has(CLASS_WORD, c); }

void regex_set_add(regex_memory *m, regex_set *s, int low, int high) {
    for (; low < 128 && low <= high; low++) s->ascii[low >> 5] |= 1u << (low & 31);
    if (low > high) return;
    if (s->range_count == s->range_cap) {
        int cap = s->range_cap ? s->range_cap * 2 : 4;
        regex_range *grown = regex_alloc(m, (size_t)cap * sizeof *grown);
        if (!grown) return;
        if (s->range_count) memcpy(grown, s->ranges, (size_t)s->range_count * sizeof *grown);
        s->ranges = grown;
        s->range_cap = cap;
    }
    s->ranges[s->range_count++] = (regex_range){low, high};
}

void regex_set_class(regex_set *s, int cls, int negated) {
    for (int c = 0; c < 128; c++) if (regex_class_has(cls, c) != negated) s->ascii[c >> 5] |= 1u << (c & 31);
    if (negated) s->not_classes |= 1u << cls; else s->classes |= 1u << cls;
}

static int high_member(const regex_set *s, int c) {
    for (int i = 0; i < s->range_count; i++) if (c >= s->ranges[i].low && c <= s->ranges[i].high) return 1;
    for (int k = 0; k < CLASS_COUNT; k++) {
        if (s->classes >> k & 1 && regex_class_has(k, c)) return 1;
        if (s->not_classes >> k & 1 && !regex_class_has(k, c)) return 1;
    }
    return 0;
}

int regex_set_has(const regex_set *s, int c) {
    if (c < 0) return 0;
    if (c < 128) return s->ascii[c >> 5] >> (c & 31) & 1;
    if (s->high != 1) return s->high == 2;
    int in = high_member(s, c);
    if (!in && s->fold) in = high_member(s, utf8_lower(c)) || high_member(s, utf8_upper(c));
    return in != s->inverted;
}

void regex_set_finish(regex_set *s, int invert, int fold) {
    s->fold = fold;
    if (fold) for (int c = 'a'; c <= 'z'; c++) {
        int u = c - 32, has = (s->ascii[c >> 5] >> (c & 31) & 1) | (s->ascii[u >> 5] >> (u & 31) & 1);
        if (has) { s->ascii[c >> 5] |= 1u << (c & 31); s->ascii[u >> 5] |= 1u << (u & 31); }
    }
    if (fold && (s->classes & (1u << CLASS_UPPER | 1u << CLASS_LOWER))) s->classes |= 1u << CLASS_UPPER | 1u << CLASS_LOWER;
    if (invert) {
        for (int i = 0; i < 4; i++) s->ascii[i] = ~s->ascii[i];
        s->inverted = 1;
    }
    int plain = !s->range_count && !s->not_classes && !(s->classes & ~(1u << CLASS_DIGIT | 1u << CLASS_XDIGIT));
    s->high = plain ? (invert ? 2 : 0) : 1;
    if (s->range_count == 1 && s->ranges[0].low <= 128 && s->ranges[0].high >= 0x10FFFF) s->high = invert ? 0 : 2;
}
