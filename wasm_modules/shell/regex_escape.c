/* regex_escape.c - what a backslash means outside brackets, in Perl's and in POSIX's languages. */
#include "regex_parse.h"
#include "utf8.h"
#include <stdlib.h>
#include <string.h>

/* What the escapes \R and \X stand for, written out: any end of a line, any character with the marks that follow it. */
static node *spelled_out(parser *s, const char *pattern) {
    parser inner = {.p = pattern, .begin = pattern, .end = pattern + strlen(pattern), .info = s->info,
        .flags = s->flags & ~(REGEX_FREE_SPACING | REGEX_ASCII), .depth = s->depth};
    s->p++;
    return regexp_parse_alternatives(&inner);
}

node *regexp_perl_escape(parser *s) {
    char c = *s->p;
    int cls = regexp_class_letter(c);
    if (cls >= 0) { s->p++; return regexp_class_node(s, cls, c < 'a'); }
    if (c == 'p' || c == 'P') {
        s->p++;
        regex_set *set = regexp_make_set(s);
        if (!set || regexp_property(s, set, c == 'P') < 0) return NULL;
        return regexp_set_node(s, set, 0);
    }
    if (c == 'N') {
        s->p++;
        regex_set *set = regexp_make_set(s);
        if (!set) return NULL;
        regex_set_add(s->info->m, set, '\n', '\n');
        return regexp_set_node(s, set, 1);
    }
    if (c == 'R') return spelled_out(s, "(?>\\r\\n|[\\n-\\r\\x{85}\\x{2028}\\x{2029}])");
    if (c == 'X') return spelled_out(s, "(?>\\r\\n|(?s:.)[\\x{300}-\\x{36f}\\x{200d}\\x{fe0f}\\x{1f3fb}-\\x{1f3ff}]*)");
    if (c == 'v') {
        s->p++;
        regex_set *set = regexp_make_set(s);
        if (!set) return NULL;
        regex_set_add(s->info->m, set, '\n', '\r');
        return regexp_set_node(s, set, 0);
    }
    if (c == 'A' || c == 'G') { s->p++; return regexp_make_assert(s, A_TEXT_START); }
    if (c == 'z') { s->p++; return regexp_make_assert(s, A_TEXT_END); }
    if (c == 'Z') { s->p++; return regexp_make_assert(s, A_TEXT_END_NL); }
    if (c == 'b') { s->p++; return regexp_make_assert(s, A_WORD_EDGE); }
    if (c == 'B') { s->p++; return regexp_make_assert(s, A_NOT_EDGE); }
    if (c == 'K') { s->p++; s->info->has_looks = 1; return regexp_make(s, N_KEEP); }
    if (c >= '1' && c <= '9') {
        int g = 0;
        const char *p = s->p;
        for (; p < s->end && *p >= '0' && *p <= '9' && g < 1000; p++) g = g * 10 + *p - '0';
        s->p = p;
        return regexp_backref(s, g);
    }
    if ((c == 'k' || c == 'g') && s->p + 1 < s->end && strchr("<{'", s->p[1])) {
        char close = s->p[1] == '<' ? '>' : s->p[1] == '{' ? '}' : '\'';
        const char *name = s->p + 2, *stop = memchr(name, close, (size_t)(s->end - name));
        if (!stop) return regexp_fail(s, "malformed back reference");
        s->p = stop + 1;
        if (c == 'g' && close != '}') return regexp_call(s, name, (size_t)(stop - name));
        return regexp_named_backref(s, name, (size_t)(stop - name));
    }
    if (c == 'g' && s->p + 1 < s->end && s->p[1] >= '1' && s->p[1] <= '9') {
        s->p += 2;
        return regexp_backref(s, s->p[-1] - '0');
    }
    int v = regexp_perl_char_escape(s);
    if (v < 0) v = regexp_take_char(s);
    return regexp_make_char(s, v);
}

node *regexp_posix_escape(parser *s) {
    char c = *s->p;
    switch (c) {
    case 'w': case 'W': s->p++; return regexp_class_node(s, CLASS_WORD, c == 'W');
    case 's': case 'S': s->p++; return regexp_class_node(s, CLASS_SPACE, c == 'S');
    case 'b': if (s->flags & REGEX_BRACKET_ESCAPES) break; s->p++; return regexp_make_assert(s, A_WORD_EDGE);
    case 'y': if (!(s->flags & REGEX_BRACKET_ESCAPES)) break; s->p++; return regexp_make_assert(s, A_WORD_EDGE);
    case 'B': s->p++; return regexp_make_assert(s, A_NOT_EDGE);
    case '<': s->p++; return regexp_make_assert(s, A_WORD_START);
    case '>': s->p++; return regexp_make_assert(s, A_WORD_END);
    case '`': s->p++; return regexp_make_assert(s, A_TEXT_START);
    case '\'': s->p++; return regexp_make_assert(s, A_TEXT_END);
    }
    if (c >= '1' && c <= '9' && !(s->flags & REGEX_BRACKET_ESCAPES)) { s->p++; return regexp_backref(s, c - '0'); }
    if (s->flags & REGEX_BRACKET_ESCAPES) {
        static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
        const char *at = strchr(from, c);
        if (at && c) { s->p++; return regexp_make_char(s, to[at - from]); }
        if (c >= '0' && c <= '7') {
            int v = 0;
            for (int i = 0; i < 3 && s->p < s->end && *s->p >= '0' && *s->p <= '7'; i++) v = v * 8 + *s->p++ - '0';
            return regexp_make_char(s, v & 127);
        }
        if (c == 'x' && s->p + 1 < s->end && regexp_hex_digit(s->p[1]) >= 0) {
            int v = 0;
            s->p++;
            for (int i = 0; i < 2 && s->p < s->end && regexp_hex_digit(*s->p) >= 0; i++) v = v * 16 + regexp_hex_digit(*s->p++);
            return regexp_make_char(s, v & 127);
        }
    }
    return regexp_make_char(s, regexp_take_char(s));
}
