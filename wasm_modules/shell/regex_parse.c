/* regex_parse.c - from the text of a pattern to its tree, for the three languages of regex.h. */
#include "regex_program.h"
#include "utf8.h"
#include <stdlib.h>
#include <string.h>

typedef struct { const char *p, *end, *begin; regex_tree_info *info; int flags, depth, open; } parser;

static node *parse_alternatives(parser *s);

static node *fail(parser *s, const char *message) {
    if (!s->info->error) s->info->error = message;
    return NULL;
}

static node *make(parser *s, enum node_kind kind) {
    if (++s->info->nodes > REGEX_MOST_NODES) return fail(s, "Regular expression too big");
    node *n = regex_alloc(s->info->m, sizeof *n);
    if (!n) return fail(s, "Memory exhausted");
    n->kind = kind;
    return n;
}

static node *make_char(parser *s, int c) {
    node *n = make(s, N_CHAR);
    if (!n) return NULL;
    n->value = c;
    n->fold = (s->flags & REGEX_ICASE) != 0;
    return n;
}

static node *make_assert(parser *s, int kind) {
    node *n = make(s, N_ASSERT);
    if (n) n->value = kind;
    return n;
}

static regex_set *make_set(parser *s) {
    regex_set *set = regex_alloc(s->info->m, sizeof *set);
    if (!set) fail(s, "Memory exhausted");
    return set;
}

static node *set_node(parser *s, regex_set *set, int invert) {
    node *n = set ? make(s, N_SET) : NULL;
    if (!n) return NULL;
    regex_set_finish(set, invert, (s->flags & REGEX_ICASE) != 0);
    n->set = set;
    return n;
}

/* Adds a class, or with REGEX_ASCII its ASCII members (all characters that are none, when negated). */
static void add_class(parser *s, regex_set *set, int cls, int negated) {
    if (!(s->flags & REGEX_ASCII)) { regex_set_class(set, cls, negated); return; }
    for (int c = 0; c < 128; c++) if (regex_class_has(cls, c) != negated) regex_set_add(s->info->m, set, c, c);
    if (negated) regex_set_add(s->info->m, set, 128, 0x10FFFF);
}

static node *class_node(parser *s, int cls, int negated) {
    regex_set *set = make_set(s);
    if (!set) return NULL;
    add_class(s, set, cls, 0);
    return set_node(s, set, negated);
}

static node *any_node(parser *s) {
    regex_set *set = make_set(s);
    if (!set) return NULL;
    if (s->flags & REGEX_PERL && !(s->flags & REGEX_DOT_ALL)) regex_set_add(s->info->m, set, '\n', '\n');
    return set_node(s, set, 1);
}

static node *wrap(parser *s, enum node_kind kind, node *child) {
    node *n = child ? make(s, kind) : NULL;
    if (n) n->first = child;
    return n;
}

/* The next character: its code point, or 0x110000 + byte for a byte that is none. */
static int take_char(parser *s) {
    int c, n = utf8_decode(s->p, (size_t)(s->end - s->p), &c);
    if (c < 0) c = 0x110000 + (unsigned char)*s->p;
    s->p += n;
    return c;
}

static int hex_digit(int c) { return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1; }

/* A Perl escape that stands for one character, after the backslash; -1 when it is none. */
static int perl_char_escape(parser *s) {
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
    case 'u': case 'x': {
        int v = 0, digits = 0;
        const char *p = s->p + 1;
        if (p < s->end && *p == '{') {
            for (p++; p < s->end && hex_digit(*p) >= 0 && v <= 0x10FFFF; p++) v = v * 16 + hex_digit(*p);
            if (p >= s->end || *p != '}') return -1;
            s->p = p + 1;
            return v;
        }
        for (; digits < (c == 'u' ? 4 : 2) && p < s->end && hex_digit(*p) >= 0; p++, digits++) v = v * 16 + hex_digit(*p);
        if (c == 'u' && digits != 4) return -1;
        s->p = p;
        return v;
    }
    }
    return -1;
}

/* \p{Name}, \P{Name}: the classes that C.UTF-8 knows. At the letter after p. */
static int property(parser *s, regex_set *set, int negated) {
    static const struct { const char *name; int cls; } table[] = {{"L", CLASS_ALPHA}, {"Letter", CLASS_ALPHA}, {"Alpha", CLASS_ALPHA}, {"Lu", CLASS_UPPER}, {"Upper", CLASS_UPPER},
        {"Ll", CLASS_LOWER}, {"Lower", CLASS_LOWER}, {"N", CLASS_DIGIT}, {"Nd", CLASS_DIGIT}, {"Digit", CLASS_DIGIT}, {"P", CLASS_PUNCT}, {"Punct", CLASS_PUNCT}, {"S", CLASS_PUNCT},
        {"Z", CLASS_SPACE}, {"Zs", CLASS_SPACE}, {"Space", CLASS_SPACE}, {"Alnum", CLASS_ALNUM}, {"Word", CLASS_WORD}, {"Cntrl", CLASS_CNTRL}, {"XDigit", CLASS_XDIGIT}};
    const char *name = s->p, *stop;
    if (s->p < s->end && *s->p == '{') {
        name++;
        stop = memchr(name, '}', (size_t)(s->end - name));
        if (!stop) { fail(s, "malformed \\p{...}"); return -1; }
        s->p = stop + 1;
        if (*name == '^') { name++; negated = !negated; }
    } else { if (s->p >= s->end) { fail(s, "malformed \\p"); return -1; } stop = ++s->p; }
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strlen(table[i].name) == (size_t)(stop - name) && !memcmp(table[i].name, name, (size_t)(stop - name))) {
            regex_set_class(set, table[i].cls, negated);
            return 0;
        }
    fail(s, "unknown property name");
    return -1;
}

static int class_letter(int c) {
    switch (c | 32) { case 'w': return CLASS_WORD; case 's': return CLASS_SPACE; case 'd': return CLASS_DIGIT; case 'h': return CLASS_BLANK; }
    return -1;
}

/* One element of a bracket expression: stores its code point, or adds a class to set and returns 1. -1 on error. */
static int bracket_element(parser *s, regex_set *set, int *c) {
    if (*s->p == '[' && s->p + 1 < s->end && (s->p[1] == ':' || s->p[1] == '.' || s->p[1] == '=')) {
        char mark = s->p[1];
        const char *name = s->p + 2, *q = name;
        while (q + 1 < s->end && !(q[0] == mark && q[1] == ']')) q++;
        if (q + 1 >= s->end) {
            if (mark != ':' || s->flags & REGEX_PERL) { *c = take_char(s); return 0; }
            fail(s, "Unmatched [, [^, [:, [., or [=");
            return -1;
        }
        size_t n = (size_t)(q - name);
        if (mark == ':') {
            int negated = s->flags & REGEX_PERL && n && *name == '^';
            int cls = regex_class_named(name + negated, n - (size_t)negated);
            if (cls < 0) { fail(s, "Invalid character class name"); return -1; }
            add_class(s, set, cls, negated);
            s->p = q + 2;
            return 1;
        }
        if (utf8_decode(name, n ? n : 1, c) != (int)n) { fail(s, "Invalid collation character"); return -1; }
        s->p = q + 2;
        return 0;
    }
    if (*s->p == '\\' && s->flags & (REGEX_PERL | REGEX_BRACKET_ESCAPES) && s->p + 1 < s->end) {
        s->p++;
        if (s->flags & REGEX_PERL) {
            int letter = *s->p, cls = class_letter(letter);
            if (cls >= 0) { s->p++; add_class(s, set, cls, letter < 'a'); return 1; }
            if (letter == 'p' || letter == 'P') { s->p++; return property(s, set, letter == 'P') < 0 ? -1 : 1; }
            if (letter == 'b') { s->p++; *c = 8; return 0; }
            if (letter == 'v') { s->p++; *c = 11; return 0; }
            *c = perl_char_escape(s);
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
    *c = take_char(s);
    return 0;
}

static node *parse_bracket(parser *s) {
    regex_set *set = make_set(s);
    if (!set) return NULL;
    int invert = s->p < s->end && *s->p == '^', first = 1;
    s->p += invert;
    for (;; first = 0) {
        if (s->p >= s->end) return fail(s, s->flags & REGEX_PERL ? "missing terminating ] for character class" : "Unmatched [, [^, [:, [., or [=");
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
                if (!(s->flags & REGEX_PERL)) return fail(s, "Invalid range end");
                regex_set_add(s->info->m, set, '-', '-');
                high = low;
                (void)back;
            }
            /* as glibc in C.UTF-8, which has no order of characters beyond ASCII */
            if (!kind && (low > 127 || high > 127) && !(s->flags & (REGEX_PERL | REGEX_BRACKET_ESCAPES))) return fail(s, "Invalid collation character");
            if (high < low) return fail(s, "Invalid range end");
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
    return set_node(s, set, invert);
}

/* {n}, {n,}, {,m}, {n,m} at s->p, after the brace. 0 when it is no interval (s->p unmoved), -1 on error. */
static int parse_interval(parser *s, int *min, int *max) {
    const char *p = s->p;
    int digits = 0;
    long low = 0, high = 0;
    for (; p < s->end && *p >= '0' && *p <= '9'; p++, digits++) if (low <= REGEX_MOST_REPEAT) low = low * 10 + *p - '0';
    int have_low = digits > 0, comma = p < s->end && *p == ',';
    high = comma ? -1 : low;
    if (comma) {
        p++;
        digits = 0;
        for (; p < s->end && *p >= '0' && *p <= '9'; p++, digits++) { if (high < 0) high = 0; if (high <= REGEX_MOST_REPEAT) high = high * 10 + *p - '0'; }
    }
    int perl = s->flags & REGEX_PERL, basic = !(s->flags & (REGEX_PERL | REGEX_EXTENDED));
    if (!have_low && (!comma || perl)) {
        if (basic) { fail(s, "Invalid preceding regular expression"); return -1; }
        return 0;
    }
    if (basic) {
        if (p + 1 >= s->end || p[0] != '\\' || p[1] != '}') { fail(s, p >= s->end ? "Unmatched \\{" : "Invalid content of \\{\\}"); return -1; }
        p += 2;
    } else {
        if (p >= s->end || *p != '}') return 0;
        p++;
    }
    if (low > REGEX_MOST_REPEAT || high > REGEX_MOST_REPEAT) { fail(s, "Regular expression too big"); return -1; }
    if (high >= 0 && high < low) { fail(s, "Invalid content of \\{\\}"); return -1; }
    *min = (int)low;
    *max = (int)high;
    s->p = p;
    return 1;
}

/* Whether a repetition operator follows; consumes it. */
static int take_repeat(parser *s, int *min, int *max) {
    if (s->p >= s->end) return 0;
    int basic = !(s->flags & (REGEX_PERL | REGEX_EXTENDED));
    const char *start = s->p;
    int escaped = basic && *s->p == '\\' && s->p + 1 < s->end;
    char c = escaped ? s->p[1] : *s->p;
    if (c == '*' && !escaped) { s->p++; *min = 0; *max = -1; return 1; }
    if (basic && !escaped) return 0;
    if (c == '+') { s->p += 1 + escaped; *min = 1; *max = -1; return 1; }
    if (c == '?') { s->p += 1 + escaped; *min = 0; *max = 1; return 1; }
    if (c != '{') return 0;
    s->p += 1 + escaped;
    int got = parse_interval(s, min, max);
    if (!got) s->p = start;
    return got;
}

static int add_name(parser *s, const char *name, size_t n, int group) {
    regex_tree_info *info = s->info;
    if (group >= info->name_cap) {
        int cap = group * 2 + 8;
        char **grown = regex_alloc(info->m, (size_t)cap * sizeof *grown);
        if (!grown) return -1;
        if (info->names) memcpy(grown, info->names, (size_t)info->name_cap * sizeof *grown);
        info->names = grown;
        info->name_cap = cap;
    }
    info->names[group] = regex_alloc(info->m, n + 1);
    if (!info->names[group]) return -1;
    memcpy(info->names[group], name, n);
    return 0;
}

static int expect_close(parser *s) {
    int basic = !(s->flags & (REGEX_PERL | REGEX_EXTENDED));
    if (basic ? s->end - s->p < 2 || s->p[0] != '\\' || s->p[1] != ')' : s->p >= s->end || *s->p != ')') {
        fail(s, s->flags & REGEX_PERL ? "missing closing parenthesis" : basic ? "Unmatched ( or \\(" : "Unmatched ( or \\(");
        return -1;
    }
    s->p += basic ? 2 : 1;
    return 0;
}

/* Perl's (?...) after the question mark. */
static node *parse_special_group(parser *s) {
    int saved = s->flags;
    node *body, *n;
    if (s->p >= s->end) return fail(s, "unrecognized character after (?");
    char c = *s->p;
    const char *name_end = NULL;
    if (c == '#') {
        while (s->p < s->end && *s->p != ')') s->p++;
        if (s->p < s->end) s->p++;
        return make(s, N_EMPTY);
    }
    if (c == ':') { s->p++; body = parse_alternatives(s); s->flags = saved; return body && expect_close(s) == 0 ? wrap(s, N_GROUP, body) : NULL; }
    if (c == '>' ) { s->p++; body = parse_alternatives(s); s->flags = saved; s->info->has_looks = 1; return body && expect_close(s) == 0 ? wrap(s, N_ATOMIC, body) : NULL; }
    int behind = c == '<' && s->p + 1 < s->end && (s->p[1] == '=' || s->p[1] == '!');
    if (c == '=' || c == '!' || behind) {
        char kind = behind ? s->p[1] : c;
        s->p += 1 + behind;
        body = parse_alternatives(s);
        s->flags = saved;
        if (!body || expect_close(s) < 0 || !(n = wrap(s, N_LOOK, body))) return NULL;
        n->behind = behind;
        n->negated = kind == '!';
        s->info->has_looks = 1;
        return n;
    }
    if (c == 'P' && s->p + 1 < s->end && s->p[1] == '<') { s->p++; c = '<'; }
    if (c == '<' || c == '\'') {
        const char *name = s->p + 1;
        name_end = memchr(name, c == '<' ? '>' : '\'', (size_t)(s->end - name));
        if (!name_end || name_end == name) return fail(s, "group name is empty");
        int group = ++s->info->groups;
        if (add_name(s, name, (size_t)(name_end - name), group) < 0) return fail(s, "Memory exhausted");
        s->p = name_end + 1;
        body = parse_alternatives(s);
        s->flags = saved;
        if (!body || expect_close(s) < 0 || !(n = wrap(s, N_GROUP, body))) return NULL;
        n->value = group;
        return n;
    }
    int on = 1;
    for (; s->p < s->end; s->p++) {
        int bit = 0;
        switch (*s->p) {
        case 'i': bit = REGEX_ICASE; break;
        case 's': bit = REGEX_DOT_ALL; break;
        case 'm': bit = REGEX_MULTILINE; break;
        case 'x': bit = REGEX_FREE_SPACING; break;
        case '-': on = 0; continue;
        case ')':
            s->p++;
            return make(s, N_EMPTY);                      /* holds to the end of the enclosing group, which restores the flags */
        case ':':
            s->p++;
            body = parse_alternatives(s);
            s->flags = saved;
            return body && expect_close(s) == 0 ? wrap(s, N_GROUP, body) : NULL;
        default: return fail(s, "unrecognized character after (? or (?-");
        }
        if (on) s->flags |= bit; else s->flags &= ~bit;
    }
    return fail(s, "missing closing parenthesis");
}

static node *parse_group(parser *s) {
    if (++s->depth > REGEX_DEEPEST) return fail(s, "Regular expression too big");
    node *result;
    if (s->flags & REGEX_PERL && s->p < s->end && *s->p == '?') {
        s->p++;
        s->open++;
        result = parse_special_group(s);
        s->open--;
    } else {
        int saved = s->flags, group = ++s->info->groups;
        s->open++;
        node *body = parse_alternatives(s);
        s->open--;
        s->flags = saved;
        result = body && expect_close(s) == 0 ? wrap(s, N_GROUP, body) : NULL;
        if (result) result->value = group;
    }
    s->depth--;
    return result;
}

static node *backref(parser *s, int group) {
    if (group > s->info->groups) return fail(s, s->flags & REGEX_PERL ? "reference to non-existent subpattern" : "Invalid back reference");
    node *n = make(s, N_BACKREF);
    if (!n) return NULL;
    n->value = group;
    n->fold = (s->flags & REGEX_ICASE) != 0;
    s->info->has_backrefs = 1;
    return n;
}

static node *perl_escape(parser *s) {
    char c = *s->p;
    int cls = class_letter(c);
    if (cls >= 0) { s->p++; return class_node(s, cls, c < 'a'); }
    if (c == 'p' || c == 'P') {
        s->p++;
        regex_set *set = make_set(s);
        if (!set || property(s, set, c == 'P') < 0) return NULL;
        return set_node(s, set, 0);
    }
    if (c == 'N') { s->p++; regex_set *set = make_set(s); if (!set) return NULL; regex_set_add(s->info->m, set, '\n', '\n'); return set_node(s, set, 1); }
    if (c == 'R' || c == 'v') { s->p++; regex_set *set = make_set(s); if (!set) return NULL; regex_set_add(s->info->m, set, '\n', '\r'); return set_node(s, set, 0); }
    if (c == 'A' || c == 'G') { s->p++; return make_assert(s, A_TEXT_START); }
    if (c == 'z') { s->p++; return make_assert(s, A_TEXT_END); }
    if (c == 'Z') { s->p++; return make_assert(s, A_TEXT_END_NL); }
    if (c == 'b') { s->p++; return make_assert(s, A_WORD_EDGE); }
    if (c == 'B') { s->p++; return make_assert(s, A_NOT_EDGE); }
    if (c == 'K') { s->p++; s->info->has_looks = 1; return make(s, N_KEEP); }
    if (c >= '1' && c <= '9') {
        int g = 0;
        const char *p = s->p;
        for (; p < s->end && *p >= '0' && *p <= '9' && g < 1000; p++) g = g * 10 + *p - '0';
        s->p = p;
        return backref(s, g);
    }
    if ((c == 'k' || c == 'g') && s->p + 1 < s->end && strchr("<{'", s->p[1])) {
        char close = s->p[1] == '<' ? '>' : s->p[1] == '{' ? '}' : '\'';
        const char *name = s->p + 2, *stop = memchr(name, close, (size_t)(s->end - name));
        if (!stop) return fail(s, "malformed back reference");
        s->p = stop + 1;
        for (int g = 1; g <= s->info->groups; g++)
            if (g < s->info->name_cap && s->info->names[g] && strlen(s->info->names[g]) == (size_t)(stop - name) && !memcmp(s->info->names[g], name, (size_t)(stop - name)))
                return backref(s, g);
        int g = atoi(name);
        return g > 0 ? backref(s, g) : fail(s, "reference to non-existent subpattern");
    }
    int v = perl_char_escape(s);
    if (v < 0) v = take_char(s);
    return make_char(s, v);
}

static node *posix_escape(parser *s) {
    char c = *s->p;
    switch (c) {
    case 'w': case 'W': s->p++; return class_node(s, CLASS_WORD, c == 'W');
    case 's': case 'S': s->p++; return class_node(s, CLASS_SPACE, c == 'S');
    case 'b': if (s->flags & REGEX_BRACKET_ESCAPES) break; s->p++; return make_assert(s, A_WORD_EDGE);
    case 'y': if (!(s->flags & REGEX_BRACKET_ESCAPES)) break; s->p++; return make_assert(s, A_WORD_EDGE);
    case 'B': s->p++; return make_assert(s, A_NOT_EDGE);
    case '<': s->p++; return make_assert(s, A_WORD_START);
    case '>': s->p++; return make_assert(s, A_WORD_END);
    case '`': s->p++; return make_assert(s, A_TEXT_START);
    case '\'': s->p++; return make_assert(s, A_TEXT_END);
    }
    if (c >= '1' && c <= '9' && !(s->flags & REGEX_BRACKET_ESCAPES)) { s->p++; return backref(s, c - '0'); }
    if (s->flags & REGEX_BRACKET_ESCAPES) {
        static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
        const char *at = strchr(from, c);
        if (at && c) { s->p++; return make_char(s, to[at - from]); }
        if (c >= '0' && c <= '7') {
            int v = 0;
            for (int i = 0; i < 3 && s->p < s->end && *s->p >= '0' && *s->p <= '7'; i++) v = v * 8 + *s->p++ - '0';
            return make_char(s, v & 127);
        }
        if (c == 'x' && s->p + 1 < s->end && hex_digit(s->p[1]) >= 0) {
            int v = 0;
            s->p++;
            for (int i = 0; i < 2 && s->p < s->end && hex_digit(*s->p) >= 0; i++) v = v * 16 + hex_digit(*s->p++);
            return make_char(s, v & 127);
        }
    }
    return make_char(s, take_char(s));
}

static node *caret(parser *s) { return make_assert(s, s->flags & REGEX_MULTILINE ? A_LINE_START : A_TEXT_START); }

static node *dollar(parser *s) {
    if (s->flags & REGEX_MULTILINE) return make_assert(s, A_LINE_END);
    return make_assert(s, s->flags & REGEX_PERL ? A_TEXT_END_NL : A_TEXT_END);
}

/* Whether what begins at p closes the group or alternative, so that $ before it is an anchor in a BRE. */
static int basic_stop(const parser *s, const char *p) {
    if (p >= s->end) return 1;
    if (*p == '\n' && s->flags & REGEX_NEWLINE_ALT) return 1;
    return p + 1 < s->end && *p == '\\' && (p[1] == ')' || p[1] == '|');
}

static node *parse_atom(parser *s, int first) {
    int basic = !(s->flags & (REGEX_PERL | REGEX_EXTENDED));
    char c = *s->p;
    if (c == '\\') {
        if (s->p + 1 >= s->end) return fail(s, s->flags & REGEX_PERL ? "\\ at end of pattern" : "Trailing backslash");
        s->p++;
        if (basic && *s->p == '(') { s->p++; return parse_group(s); }
        if (basic && *s->p == '{') { if (first) return make_char(s, take_char(s)); return fail(s, "Invalid preceding regular expression"); }
        return s->flags & REGEX_PERL ? perl_escape(s) : posix_escape(s);
    }
    if (c == '[') { s->p++; return parse_bracket(s); }
    if (c == '.') { s->p++; return any_node(s); }
    if (basic) {
        if (c == '^' && first) { s->p++; return caret(s); }
        if (c == '$' && basic_stop(s, s->p + 1)) { s->p++; return dollar(s); }
        return make_char(s, take_char(s));
    }
    if (c == '^') { s->p++; return caret(s); }
    if (c == '$') { s->p++; return dollar(s); }
    if (c == '(') { s->p++; return parse_group(s); }
    if (s->flags & REGEX_PERL && (c == '*' || c == '+' || c == '?')) return fail(s, "quantifier does not follow a repeatable item");
    return make_char(s, take_char(s));
}

/* Skips white space and comments of free spacing, and \Q...\E is handled by the caller. */
static void skip_free(parser *s) {
    if (!(s->flags & REGEX_FREE_SPACING)) return;
    while (s->p < s->end) {
        if (*s->p == ' ' || (*s->p >= 9 && *s->p <= 13)) s->p++;
        else if (*s->p == '#') while (s->p < s->end && *s->p++ != '\n') {}
        else return;
    }
}

static int at_stop(const parser *s) {
    int basic = !(s->flags & (REGEX_PERL | REGEX_EXTENDED));
    if (s->p >= s->end) return 1;
    if (*s->p == '\n' && s->flags & REGEX_NEWLINE_ALT && !s->open) return 1;
    if (basic) return s->p + 1 < s->end && *s->p == '\\' && ((s->p[1] == ')' && s->open) || s->p[1] == '|');
    return *s->p == '|' || (*s->p == ')' && s->open);
}

static node *repeat(parser *s, node *atom) {
    int min, max, got;
    for (;;) {
        skip_free(s);
        got = take_repeat(s, &min, &max);
        if (got < 0) return NULL;
        if (!got) return atom;
        node *n = make(s, N_REPEAT);
        if (!n) return NULL;
        n->first = atom;
        n->min = min;
        n->max = max;
        if (s->flags & REGEX_PERL && s->p < s->end) {
            if (*s->p == '?') { n->lazy = 1; s->p++; s->info->has_lazy = 1; }
            else if (*s->p == '+') {
                s->p++;
                s->info->has_looks = 1;
                if (!(n = wrap(s, N_ATOMIC, n))) return NULL;
            }
        }
        atom = n;
    }
}

static node *parse_sequence(parser *s) {
    node *cat = make(s, N_CAT), **tail;
    if (!cat) return NULL;
    tail = &cat->first;
    int first = 1, quoting = 0, basic = !(s->flags & (REGEX_PERL | REGEX_EXTENDED));
    for (;;) {
        skip_free(s);
        if (s->flags & REGEX_PERL && s->end - s->p >= 2 && *s->p == '\\' && (s->p[1] == 'Q' || s->p[1] == 'E')) { quoting = s->p[1] == 'Q'; s->p += 2; continue; }
        if (quoting ? s->p >= s->end : at_stop(s)) break;
        node *atom;
        if (quoting) atom = make_char(s, take_char(s));
        else if (first && *s->p == '*' && basic) { atom = make_char(s, take_char(s)); }
        else if (first && s->flags & REGEX_EXTENDED && (*s->p == '*' || *s->p == '+' || *s->p == '?')) { s->p++; continue; }
        else if (*s->p == ')' && !s->open && !basic) return fail(s, s->flags & REGEX_PERL ? "unmatched closing parenthesis" : "Unmatched ) or \\)");
        else if (basic && !s->open && s->end - s->p >= 2 && s->p[0] == '\\' && s->p[1] == ')') return fail(s, "Unmatched ) or \\)");
        else atom = parse_atom(s, first);
        if (!atom) return NULL;
        int anchor = basic && atom->kind == N_ASSERT && first && (atom->value == A_TEXT_START || atom->value == A_LINE_START);
        if (anchor) { *tail = atom; tail = &atom->next; continue; }
        first = 0;
        if (!quoting && !(atom = repeat(s, atom))) return NULL;
        *tail = atom;
        tail = &atom->next;
    }
    return cat;
}

static node *parse_alternatives(parser *s) {
    node *one = parse_sequence(s);
    if (!one) return NULL;
    node *alt = NULL, **tail = NULL;
    for (;;) {
        int basic = !(s->flags & (REGEX_PERL | REGEX_EXTENDED));
        if (s->p < s->end && *s->p == '\n' && s->flags & REGEX_NEWLINE_ALT && !s->open) s->p++;
        else if (basic ? s->end - s->p >= 2 && s->p[0] == '\\' && s->p[1] == '|' : s->p < s->end && *s->p == '|') s->p += basic ? 2 : 1;
        else break;
        if (!alt) {
            if (!(alt = wrap(s, N_ALT, one))) return NULL;
            tail = &one->next;
        }
        node *next = parse_sequence(s);
        if (!next) return NULL;
        *tail = next;
        tail = &next->next;
    }
    return alt ? alt : one;
}

static node *parse_literal(parser *s) {
    node *alt = make(s, N_ALT), **alt_tail = alt ? &alt->first : NULL;
    if (!alt) return NULL;
    for (;;) {
        node *cat = make(s, N_CAT), **tail;
        if (!cat) return NULL;
        tail = &cat->first;
        while (s->p < s->end && !(*s->p == '\n' && s->flags & REGEX_NEWLINE_ALT)) {
            if (!(*tail = make_char(s, take_char(s)))) return NULL;
            tail = &(*tail)->next;
        }
        *alt_tail = cat;
        alt_tail = &cat->next;
        if (s->p >= s->end) break;
        s->p++;
    }
    return alt->first->next ? alt : alt->first;
}

node *regex_parse(const char *p, size_t n, regex_tree_info *info) {
    parser s = {.p = p, .begin = p, .end = p + n, .info = info, .flags = info->flags};
    node *tree = info->flags & REGEX_LITERAL ? parse_literal(&s) : parse_alternatives(&s);
    if (tree && s.p < s.end) {
        info->error = info->flags & REGEX_PERL ? "unmatched closing parenthesis" : "Unmatched ) or \\)";
        return NULL;
    }
    if (!tree || !(info->flags & (REGEX_WORD | REGEX_LINE))) return tree;
    int line = info->flags & REGEX_LINE;
    node *before = make_assert(&s, line ? A_TEXT_START : A_NO_WORD_BEFORE), *after = make_assert(&s, line ? A_TEXT_END : A_NO_WORD_AFTER);
    node *group = wrap(&s, N_GROUP, tree), *cat = make(&s, N_CAT);
    if (!before || !after || !group || !cat) return NULL;
    cat->first = before;
    before->next = group;
    group->next = after;
    return cat;
}
