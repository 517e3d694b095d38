/* regex_parse.c - from the text of a pattern to its tree, for the three languages of regex.h. */
#include "regex_parse.h"
#include "utf8.h"
#include <stdlib.h>
#include <string.h>

node *regexp_fail(parser *s, const char *message) {
    if (!s->info->error) s->info->error = message;
    return NULL;
}

node *regexp_make(parser *s, enum node_kind kind) {
    if (++s->info->nodes > REGEX_MOST_NODES) return regexp_fail(s, "Regular expression too big");
    node *n = regex_alloc(s->info->m, sizeof *n);
    if (!n) return regexp_fail(s, "Memory exhausted");
    n->kind = kind;
    return n;
}

node *regexp_make_char(parser *s, int c) {
    node *n = regexp_make(s, N_CHAR);
    if (!n) return NULL;
    n->value = c;
    n->fold = (s->flags & REGEX_ICASE) != 0;
    return n;
}

node *regexp_make_assert(parser *s, int kind) {
    node *n = regexp_make(s, N_ASSERT);
    if (n) n->value = kind;
    return n;
}

regex_set *regexp_make_set(parser *s) {
    regex_set *set = regex_alloc(s->info->m, sizeof *set);
    if (!set) regexp_fail(s, "Memory exhausted");
    return set;
}

node *regexp_set_node(parser *s, regex_set *set, int invert) {
    node *n = set ? regexp_make(s, N_SET) : NULL;
    if (!n) return NULL;
    regex_set_finish(set, invert, (s->flags & REGEX_ICASE) != 0);
    n->set = set;
    return n;
}

/* Adds a class, or with REGEX_ASCII its ASCII members (all characters that are none, when negated). */
void regexp_add_class(parser *s, regex_set *set, int cls, int negated) {
    if (!(s->flags & REGEX_ASCII)) { regex_set_class(set, cls, negated); return; }
    for (int c = 0; c < 128; c++) if (regex_class_has(cls, c) != negated) regex_set_add(s->info->m, set, c, c);
    if (negated) regex_set_add(s->info->m, set, 128, 0x10FFFF);
}

node *regexp_class_node(parser *s, int cls, int negated) {
    regex_set *set = regexp_make_set(s);
    if (!set) return NULL;
    regexp_add_class(s, set, cls, 0);
    return regexp_set_node(s, set, negated);
}

static node *any_node(parser *s) {
    regex_set *set = regexp_make_set(s);
    if (!set) return NULL;
    if (s->flags & REGEX_PERL && !(s->flags & REGEX_DOT_ALL)) regex_set_add(s->info->m, set, '\n', '\n');
    return regexp_set_node(s, set, 1);
}

node *regexp_wrap(parser *s, enum node_kind kind, node *child) {
    node *n = child ? regexp_make(s, kind) : NULL;
    if (n) n->first = child;
    return n;
}

/* regcomp's extended language, of sed and [[ =~ ]]: grep's takes a brace that is no interval for what it is, and so does awk's. */
static int is_regcomp(const parser *s) {
    return s->flags & REGEX_EXTENDED && !(s->flags & (REGEX_BRACKET_ESCAPES | REGEX_NEWLINE_ALT));
}

static int bad_interval(parser *s) {
    regexp_fail(s, memchr(s->p, '}', (size_t)(s->end - s->p)) ? "Invalid content of \\{\\}" : "Unmatched \\{");
    return -1;
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
        for (; p < s->end && *p >= '0' && *p <= '9'; p++, digits++) {
            if (high < 0) high = 0;
            if (high <= REGEX_MOST_REPEAT) high = high * 10 + *p - '0';
        }
    }
    int perl = s->flags & REGEX_PERL, basic = !(s->flags & (REGEX_PERL | REGEX_EXTENDED)), strict = basic || is_regcomp(s);
    if (!have_low && (!comma || perl)) return strict ? bad_interval(s) : 0;
    if (basic) {
        if (p + 1 >= s->end || p[0] != '\\' || p[1] != '}') return bad_interval(s);
        p += 2;
    } else {
        if (p >= s->end || *p != '}') return strict ? bad_interval(s) : 0;
        p++;
    }
    if (low > REGEX_MOST_REPEAT || high > REGEX_MOST_REPEAT) { regexp_fail(s, "Regular expression too big"); return -1; }
    if (high >= 0 && high < low) { regexp_fail(s, "Invalid content of \\{\\}"); return -1; }
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

static node *caret(parser *s) { return regexp_make_assert(s, s->flags & REGEX_MULTILINE ? A_LINE_START : A_TEXT_START); }

static node *dollar(parser *s) {
    if (s->flags & REGEX_MULTILINE) return regexp_make_assert(s, A_LINE_END);
    return regexp_make_assert(s, s->flags & REGEX_PERL ? A_TEXT_END_NL : A_TEXT_END);
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
        if (s->p + 1 >= s->end) return regexp_fail(s, s->flags & REGEX_PERL ? "\\ at end of pattern" : "Trailing backslash");
        s->p++;
        if (basic && *s->p == '(') { s->p++; return regexp_parse_group(s); }
        if (basic && *s->p == '{') {
            if (first && !(s->flags & REGEX_STRICT)) return regexp_make_char(s, regexp_take_char(s));
            return regexp_fail(s, "Invalid preceding regular expression");
        }
        return s->flags & REGEX_PERL ? regexp_perl_escape(s) : regexp_posix_escape(s);
    }
    if (c == '[') { s->p++; return regexp_parse_bracket(s); }
    if (c == '.') { s->p++; return any_node(s); }
    if (basic) {
        if (c == '^' && first) { s->p++; return caret(s); }
        if (c == '$' && basic_stop(s, s->p + 1)) { s->p++; return dollar(s); }
        return regexp_make_char(s, regexp_take_char(s));
    }
    if (c == '^') { s->p++; return caret(s); }
    if (c == '$') { s->p++; return dollar(s); }
    if (c == '(') { s->p++; return regexp_parse_group(s); }
    if (s->flags & REGEX_PERL && (c == '*' || c == '+' || c == '?'))
        return regexp_fail(s, "quantifier does not follow a repeatable item");
    return regexp_make_char(s, regexp_take_char(s));
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
        node *n = regexp_make(s, N_REPEAT);
        if (!n) return NULL;
        n->first = atom;
        n->min = min;
        n->max = max;
        n->lazy = (s->flags & REGEX_UNGREEDY) != 0;
        if (s->flags & REGEX_PERL && s->p < s->end) {
            if (*s->p == '?') { n->lazy = !n->lazy; s->p++; s->info->has_lazy = 1; }
            else if (*s->p == '+') {
                s->p++;
                s->info->has_looks = 1;
                if (!(n = regexp_wrap(s, N_ATOMIC, n))) return NULL;
            }
        }
        atom = n;
        int again = s->end - s->p >= 1 && (*s->p == '*' || (s->end - s->p >= 2 && s->p[0] == '\\' && s->p[1] == '{'));
        if (again && s->flags & REGEX_STRICT && !(s->flags & REGEX_EXTENDED))
            return regexp_fail(s, "Invalid preceding regular expression");
    }
}

/* Skips a repetition that has nothing to repeat; grep warns of it. 0 when there is none, or it stands for itself as in awk. */
static int lone_repeat(parser *s) {
    static const char operators[] = "*+?{";
    static const char *const warnings[] = {"warning: * at start of expression", "warning: + at start of expression",
        "warning: ? at start of expression", "warning: {...} at start of expression"};
    const char *at = *s->p ? strchr(operators, *s->p) : NULL;
    int min, max;
    if (!at || s->flags & REGEX_BRACKET_ESCAPES) return 0;
    if (*at != '{') s->p++;
    else if (!is_regcomp(s) && take_repeat(s, &min, &max) <= 0) return 0;
    s->info->warning = warnings[at - operators];
    return 1;
}

static node *parse_sequence(parser *s) {
    node *cat = regexp_make(s, N_CAT), **tail;
    if (!cat) return NULL;
    tail = &cat->first;
    int first = 1, anchored = 0, quoting = 0, basic = !(s->flags & (REGEX_PERL | REGEX_EXTENDED));
    for (;;) {
        skip_free(s);
        if (s->flags & REGEX_PERL && s->end - s->p >= 2 && *s->p == '\\' && (s->p[1] == 'Q' || s->p[1] == 'E')) {
            quoting = s->p[1] == 'Q';
            s->p += 2;
            continue;
        }
        if (quoting ? s->p >= s->end : at_stop(s)) break;
        node *atom;
        if (quoting) atom = regexp_make_char(s, regexp_take_char(s));
        else if (first && basic && (*s->p == '*' || (anchored && *s->p == '^')))
            atom = regexp_make_char(s, regexp_take_char(s));
        else if (first && s->flags & REGEX_EXTENDED && lone_repeat(s)) {
            if (is_regcomp(s)) return regexp_fail(s, "Invalid preceding regular expression");
            continue;
        } else if (*s->p == ')' && !s->open && s->flags & REGEX_EXTENDED && !(s->flags & REGEX_STRICT))
            atom = regexp_make_char(s, regexp_take_char(s));       /* only sed minds */
        else if (*s->p == ')' && !s->open && !basic)
            return regexp_fail(s, s->flags & REGEX_PERL ? "unmatched closing parenthesis" : "Unmatched ) or \\)");
        else if (basic && !s->open && s->end - s->p >= 2 && s->p[0] == '\\' && s->p[1] == ')')
            return regexp_fail(s, "Unmatched ) or \\)");
        else atom = parse_atom(s, first);
        if (!atom) return NULL;
        int anchor = basic && atom->kind == N_ASSERT && first && (atom->value == A_TEXT_START || atom->value == A_LINE_START);
        if (anchor) { *tail = atom; tail = &atom->next; anchored = 1; continue; }
        int bound = s->flags & REGEX_EXTENDED && atom->kind == N_ASSERT && (s->p[-1] == '^' || s->p[-1] == '$');
        if (bound && is_regcomp(s) && s->p < s->end && *s->p && strchr("*+?{", *s->p))
            return regexp_fail(s, "Invalid preceding regular expression");
        if (bound && s->flags & REGEX_BRACKET_ESCAPES) { *tail = atom; tail = &atom->next; first = 1; continue; }
        first = 0;
        if (!quoting && !(atom = repeat(s, atom))) return NULL;
        *tail = atom;
        tail = &atom->next;
    }
    return cat;
}

node *regexp_parse_alternatives(parser *s) {
    int reset = s->reset, base = s->info->groups;
    unsigned closed_before = s->closed, closed = 0;
    s->reset = 0;
    node *one = parse_sequence(s);
    if (!one) return NULL;
    int most = s->info->groups;
    node *alt = NULL, **tail = NULL;
    for (;;) {
        int basic = !(s->flags & (REGEX_PERL | REGEX_EXTENDED));
        closed |= s->closed;
        if (s->p < s->end && *s->p == '\n' && s->flags & REGEX_NEWLINE_ALT && !s->open) {
            s->p++;
            s->before = s->info->groups;
            closed_before = 0;
        } else if (basic ? s->end - s->p >= 2 && s->p[0] == '\\' && s->p[1] == '|' : s->p < s->end && *s->p == '|')
            s->p += basic ? 2 : 1;
        else break;
        if (!alt) {
            if (!(alt = regexp_wrap(s, N_ALT, one))) return NULL;
            tail = &one->next;
        }
        s->closed = closed_before;
        if (reset) s->info->groups = base;
        node *next = parse_sequence(s);
        if (!next) return NULL;
        if (s->info->groups > most) most = s->info->groups;
        *tail = next;
        tail = &next->next;
    }
    s->info->groups = most;
    s->closed = closed;
    return alt ? alt : one;
}

static node *parse_literal(parser *s) {
    node *alt = regexp_make(s, N_ALT), **alt_tail = alt ? &alt->first : NULL;
    if (!alt) return NULL;
    for (;;) {
        node *cat = regexp_make(s, N_CAT), **tail;
        if (!cat) return NULL;
        tail = &cat->first;
        while (s->p < s->end && !(*s->p == '\n' && s->flags & REGEX_NEWLINE_ALT)) {
            if (!(*tail = regexp_make_char(s, regexp_take_char(s)))) return NULL;
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
    node *tree = info->flags & REGEX_LITERAL ? parse_literal(&s) : regexp_parse_alternatives(&s);
    if (tree && s.p < s.end) {
        info->error = info->flags & REGEX_PERL ? "unmatched closing parenthesis" : "Unmatched ) or \\)";
        return NULL;
    }
    if (tree && info->most_reference > info->groups) return regexp_fail(&s, "reference to non-existent subpattern");
    if (!tree || !(info->flags & (REGEX_WORD | REGEX_LINE))) return tree;
    int line = info->flags & REGEX_LINE;
    node *before = regexp_make_assert(&s, line ? A_TEXT_START : A_NO_WORD_BEFORE),
         *after = regexp_make_assert(&s, line ? A_TEXT_END : A_NO_WORD_AFTER);
    node *group = regexp_wrap(&s, N_GROUP, tree), *cat = regexp_make(&s, N_CAT);
    if (!before || !after || !group || !cat) return NULL;
    cat->first = before;
    before->next = group;
    group->next = after;
    return cat;
}
