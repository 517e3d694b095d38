/* regex_bracket.c - bracket expressions, classes and the escapes that stand for one character. */
#include "regex_parse.h"
#include "utf8.h"
#include <stdlib.h>
#include <string.h>

/* The next character: its code point, or 0x110000 + byte for a byte that is none. */
int regexp_take_char(parser *s) {
    int c, n = utf8_decode(s->p, (size_t)(s->end - s->p), &c);
    if (c < 0) c = 0x110000 + (unsigned char)*s->p;
    s->p += n;
    return c;
}

int regexp_hex_digit(int c) {
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* A Perl escape that stands for one character, after the backslash; -1 when it is none. */
int regexp_perl_char_escape(parser *s) {
    int c = *s->p;
    switch (c) {
    case 't': s->p++; return '\t'; case 'n': s->p++; return '\n'; case 'r': s->p++; return '\r'; case 'f': s->p++; return '\f';
    case 'e': s->p++; return 27; case 'a': s->p++; return 7;
    case 'c': if (s->p + 1 < s->end) { s->p += 2; return s->p[-1] & 31; } return -1;
    case '0': {
        int v = 0;
        for (int i = 0; i < 3 && s->p < s->end && *s->p >= '0' && *s->p <= '7'; i++) v = v * 8 + *s->p++ - '0';
        return v;
    }
    case 'o': {
        int v = 0;
        const char *p = s->p + 1;
        if (p >= s->end || *p != '{') return -1;
        for (p++; p < s->end && *p >= '0' && *p <= '7' && v <= 0x10FFFF; p++) v = v * 8 + *p - '0';
        if (p >= s->end || *p != '}') return -1;
        s->p = p + 1;
        return v;
    }
    case 'u': case 'x': {
        int v = 0, digits = 0;
        const char *p = s->p + 1;
        if (p < s->end && *p == '{') {
            for (p++; p < s->end && regexp_hex_digit(*p) >= 0 && v <= 0x10FFFF; p++) v = v * 16 + regexp_hex_digit(*p);
            if (p >= s->end || *p != '}') return -1;
            s->p = p + 1;
            return v;
        }
        for (; digits < (c == 'u' ? 4 : 2) && p < s->end && regexp_hex_digit(*p) >= 0; p++, digits++)
            v = v * 16 + regexp_hex_digit(*p);
        if (c == 'u' && digits != 4) return -1;
        s->p = p;
        return v;
    }
    }
    return -1;
}

/* \p{Name}, \P{Name}: the classes that C.UTF-8 knows. At the letter after p. */
int regexp_property(parser *s, regex_set *set, int negated) {
    static const struct {
        const char *name;
        int cls;
    } table[] = {{"L", CLASS_ALPHA}, {"Letter", CLASS_ALPHA}, {"Alpha", CLASS_ALPHA}, {"Lu", CLASS_UPPER}, {"Upper", CLASS_UPPER},
        {"Ll", CLASS_LOWER}, {"Lower", CLASS_LOWER}, {"N", CLASS_DIGIT}, {"Nd", CLASS_DIGIT}, {"Digit", CLASS_DIGIT},
        {"P", CLASS_PUNCT}, {"Punct", CLASS_PUNCT}, {"S", CLASS_PUNCT}, {"Z", CLASS_SPACE}, {"Zs", CLASS_SPACE},
        {"Space", CLASS_SPACE}, {"Alnum", CLASS_ALNUM}, {"Word", CLASS_WORD}, {"Cntrl", CLASS_CNTRL}, {"XDigit", CLASS_XDIGIT}};
    const char *name = s->p, *stop;
    if (s->p < s->end && *s->p == '{') {
        name++;
        stop = memchr(name, '}', (size_t)(s->end - name));
        if (!stop) { regexp_fail(s, "malformed \\p{...}"); return -1; }
        s->p = stop + 1;
        if (*name == '^') { name++; negated = !negated; }
    } else { if (s->p >= s->end) { regexp_fail(s, "malformed \\p"); return -1; } stop = ++s->p; }
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strlen(table[i].name) == (size_t)(stop - name) && !memcmp(table[i].name, name, (size_t)(stop - name))) {
            regex_set_class(set, table[i].cls, negated);
            return 0;
        }
    regexp_fail(s, "unknown property name");
    return -1;
}

int regexp_class_letter(int c) {
    switch (c | 32) {
    case 'w': return CLASS_WORD;
    case 's': return CLASS_SPACE;
    case 'd': return CLASS_DIGIT;
    case 'h': return CLASS_BLANK;
    }
    return -1;
}

/* One element of a bracket expression: stores its code point, or adds a class to set and returns 1. -1 on error. */
static int bracket_element(parser *s, regex_set *set, int *c) {
    if (*s->p == '[' && s->p + 1 < s->end && (s->p[1] == ':' || s->p[1] == '.' || s->p[1] == '=')) {
        char mark = s->p[1];
        const char *name = s->p + 2, *q = name;
        while (q + 1 < s->end && !(q[0] == mark && q[1] == ']')) q++;
        if (q + 1 >= s->end) {
            if (mark != ':' || s->flags & REGEX_PERL) { *c = regexp_take_char(s); return 0; }
            regexp_fail(s, "Unmatched [, [^, [:, [., or [=");
            return -1;
        }
        size_t n = (size_t)(q - name);
        if (mark == ':') {
            int negated = s->flags & REGEX_PERL && n && *name == '^';
            int cls = regex_class_named(name + negated, n - (size_t)negated);
            if (cls < 0) { regexp_fail(s, "Invalid character class name"); return -1; }
            regexp_add_class(s, set, cls, negated);
            s->p = q + 2;
            return 1;
        }
        if (utf8_decode(name, n ? n : 1, c) != (int)n) { regexp_fail(s, "Invalid collation character"); return -1; }
        s->p = q + 2;
        return 0;
    }
    if (*s->p == '\\' && s->flags & (REGEX_PERL | REGEX_BRACKET_ESCAPES) && s->p + 1 < s->end) {
        s->p++;
        if (s->flags & REGEX_PERL) {
            int letter = *s->p, cls = regexp_class_letter(letter);
            if (cls >= 0) { s->p++; regexp_add_class(s, set, cls, letter < 'a'); return 1; }
            if (letter == 'p' || letter == 'P') { s->p++; return regexp_property(s, set, letter == 'P') < 0 ? -1 : 1; }
            if (letter == 'b') { s->p++; *c = 8; return 0; }
            if (letter == 'v') { s->p++; *c = 11; return 0; }
            *c = regexp_perl_char_escape(s);
            if (*c >= 0) return 0;
        } else {
            static const char from[] = "abfnrtv/\"", to[] = "\a\b\f\n\r\t\v/\"";
            const char *at = *s->p ? strchr(from, *s->p) : NULL;
            if (at) { s->p++; *c = to[at - from]; return 0; }
            if (*s->p >= '0' && *s->p <= '7') {
                int v = 0;
                for (int i = 0; i < 3 && s->p < s->end && *s->p >= '0' && *s->p <= '7'; i++) v = v * 8 + *s->p++ - '0';
                *c = v & 255;
                return 0;
            }
        }
    }
    *c = regexp_take_char(s);
    return 0;
}

node *regexp_parse_bracket(parser *s) {
    regex_set *set = regexp_make_set(s);
    if (!set) return NULL;
    int invert = s->p < s->end && *s->p == '^', first = 1;
    s->p += invert;
    for (;; first = 0) {
        if (s->p >= s->end)
            return regexp_fail(
                s, s->flags & REGEX_PERL ? "missing terminating ] for character class" : "Unmatched [, [^, [:, [., or [=");
        if (*s->p == ']' && !first) break;
        int low, high, kind = bracket_element(s, set, &low);
        if (kind < 0) return NULL;
        if (kind) continue;
        high = low;
        if (s->end - s->p >= 2 && *s->p == '-' && s->p[1] != ']') {
            const char *back = s->p++;
            kind = bracket_element(s, set, &high);
            if (kind < 0) return NULL;
            if (kind) {
                if (!(s->flags & REGEX_PERL)) return regexp_fail(s, "Invalid range end");
                regex_set_add(s->info->m, set, '-', '-');
                high = low;
                (void)back;
            }
            /* as glibc in C.UTF-8, which has no order of characters beyond ASCII */
            if (!kind && (low > 127 || high > 127) && !(s->flags & (REGEX_PERL | REGEX_BRACKET_ESCAPES)))
                return regexp_fail(s, "Invalid collation character");
            if (high < low) return regexp_fail(s, "Invalid range end");
        }
        if (low >= 0x110000) continue;
        if (high >= 0x110000) high = 0x10FFFF;
        regex_set_add(s->info->m, set, low, high);
        if (s->flags & REGEX_ICASE && low == high && low >= 128) {
            int l = utf8_lower(low), u = utf8_upper(low);
            regex_set_add(s->info->m, set, l, l);
            regex_set_add(s->info->m, set, u, u);
        }
    }
    s->p++;
    return regexp_set_node(s, set, invert);
}
