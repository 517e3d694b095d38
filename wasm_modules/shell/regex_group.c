/* regex_group.c - groups: (...) in its three spellings, and Perl's (?...). */
#include "regex_parse.h"
#include "utf8.h"
#include <stdlib.h>
#include <string.h>

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

int regexp_expect_close(parser *s) {
    int basic = !(s->flags & (REGEX_PERL | REGEX_EXTENDED));
    if (basic ? s->end - s->p < 2 || s->p[0] != '\\' || s->p[1] != ')' : s->p >= s->end || *s->p != ')') {
        regexp_fail(s, s->flags & REGEX_PERL ? "missing closing parenthesis"
                       : basic               ? "Unmatched ( or \\("
                                             : "Unmatched ( or \\(");
        return -1;
    }
    s->p += basic ? 2 : 1;
    return 0;
}

/* How many characters every match of n has; -1 when they differ. */
static int fixed_length(const node *n) {
    int sum = 0, one;
    switch (n->kind) {
    case N_CHAR: case N_SET: return 1;
    case N_CAT:
        for (const node *c = n->first; c; c = c->next) {
            if ((one = fixed_length(c)) < 0) return -1;
            sum += one;
        }
        return sum;
    case N_ALT:
        sum = fixed_length(n->first);
        for (const node *c = n->first->next; c; c = c->next) if (fixed_length(c) != sum) return -1;
        return sum;
    case N_REPEAT:
        one = fixed_length(n->first);
        return one < 0 || n->min != n->max ? -1 : one * n->min;
    case N_GROUP: case N_ATOMIC: return fixed_length(n->first);
    case N_BACKREF: case N_CALL: case N_COND: return -1;
    default: return 0;
    }
}

/* grep -P looks behind for alternatives of one length each. */
static int can_look_behind(const node *body) {
    if (body->kind != N_ALT) return fixed_length(body) >= 0;
    for (const node *c = body->first; c; c = c->next) if (fixed_length(c) < 0) return 0;
    return 1;
}

/* Perl's (?...) after the question mark. */
static node *parse_special_group(parser *s) {
    int saved = s->flags;
    node *body, *n;
    if (s->p >= s->end) return regexp_fail(s, "unrecognized character after (?");
    char c = *s->p;
    const char *name_end = NULL;
    if (c == '#') {
        while (s->p < s->end && *s->p != ')') s->p++;
        if (s->p < s->end) s->p++;
        return regexp_make(s, N_EMPTY);
    }
    if (regexp_has_call(s)) {
        const char *name = s->p + (c == '&') + 2 * (c == 'P');
        s->p = (const char *)memchr(name, ')', (size_t)(s->end - name)) + 1;
        return regexp_call(s, name, (size_t)(s->p - 1 - name));
    }
    if (c == '(') { s->p++; return regexp_parse_condition(s); }
    if (c == ':' || c == '|') {
        s->p++;
        s->reset = c == '|';
        body = regexp_parse_alternatives(s);
        s->flags = saved;
        return body && regexp_expect_close(s) == 0 ? regexp_wrap(s, N_GROUP, body) : NULL;
    }
    if (c == '>') {
        s->p++;
        body = regexp_parse_alternatives(s);
        s->flags = saved;
        s->info->has_looks = 1;
        return body && regexp_expect_close(s) == 0 ? regexp_wrap(s, N_ATOMIC, body) : NULL;
    }
    int behind = c == '<' && s->p + 1 < s->end && (s->p[1] == '=' || s->p[1] == '!');
    if (c == '=' || c == '!' || behind) {
        char kind = behind ? s->p[1] : c;
        s->p += 1 + behind;
        body = regexp_parse_alternatives(s);
        s->flags = saved;
        if (!body || regexp_expect_close(s) < 0 || !(n = regexp_wrap(s, N_LOOK, body))) return NULL;
        if (behind && s->flags & REGEX_ASCII && !can_look_behind(body))
            return regexp_fail(s, "lookbehind assertion is not fixed length");
        n->behind = behind;
        n->negated = kind == '!';
        s->info->has_looks = 1;
        return n;
    }
    if (c == 'P' && s->p + 1 < s->end && s->p[1] == '=') {
        const char *name = s->p + 2;
        name_end = memchr(name, ')', (size_t)(s->end - name));
        if (!name_end) return regexp_fail(s, "missing closing parenthesis");
        s->p = name_end + 1;
        return regexp_named_backref(s, name, (size_t)(name_end - name));
    }
    if (c == 'P' && s->p + 1 < s->end && s->p[1] == '<') { s->p++; c = '<'; }
    if (c == '<' || c == '\'') {
        const char *name = s->p + 1;
        name_end = memchr(name, c == '<' ? '>' : '\'', (size_t)(s->end - name));
        if (!name_end || name_end == name) return regexp_fail(s, "group name is empty");
        int group = ++s->info->groups;
        if (add_name(s, name, (size_t)(name_end - name), group) < 0) return regexp_fail(s, "Memory exhausted");
        s->p = name_end + 1;
        body = regexp_parse_alternatives(s);
        s->flags = saved;
        if (!body || regexp_expect_close(s) < 0 || !(n = regexp_wrap(s, N_GROUP, body))) return NULL;
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
        case 'U': bit = REGEX_UNGREEDY; break;
        case '-': on = 0; continue;
        case ')': s->p++; return regexp_make(s, N_EMPTY); /* holds to the end of the enclosing group, which restores the flags */
        case ':':
            s->p++;
            body = regexp_parse_alternatives(s);
            s->flags = saved;
            return body && regexp_expect_close(s) == 0 ? regexp_wrap(s, N_GROUP, body) : NULL;
        default: return regexp_fail(s, "unrecognized character after (? or (?-");
        }
        if (on) s->flags |= bit; else s->flags &= ~bit;
    }
    return regexp_fail(s, "missing closing parenthesis");
}

/* (*FAIL), (*SKIP) and the like, after the parenthesis. Those that only set options of the whole pattern change nothing here. */
static node *parse_verb(parser *s) {
    static const struct {
        const char *name;
        enum node_kind kind;
        int value;
    } verbs[] = {{"*FAIL)", N_FAIL, 0}, {"*F)", N_FAIL, 0}, {"*SKIP)", N_VERB, VERB_SKIP}, {"*PRUNE)", N_VERB, VERB_PRUNE},
        {"*COMMIT)", N_VERB, VERB_COMMIT}, {"*UTF)", N_EMPTY, 0}, {"*UCP)", N_EMPTY, 0}};
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        size_t n = strlen(verbs[i].name);
        if ((size_t)(s->end - s->p) < n || memcmp(s->p, verbs[i].name, n)) continue;
        s->p += n;
        s->info->has_looks = 1;
        node *verb = regexp_make(s, verbs[i].kind);
        if (verb) verb->value = verbs[i].value;
        return verb;
    }
    return regexp_fail(s, "(*VERB) not recognized or malformed");
}

node *regexp_parse_group(parser *s) {
    if (++s->depth > REGEX_DEEPEST) return regexp_fail(s, "Regular expression too big");
    node *result;
    if (s->flags & REGEX_PERL && s->p < s->end && *s->p == '?') {
        s->p++;
        s->open++;
        result = parse_special_group(s);
        s->open--;
    } else if (s->flags & REGEX_PERL && s->p + 1 < s->end && *s->p == '*' && s->p[1] >= 'A' && s->p[1] <= 'Z') {
        result = parse_verb(s);
    } else {
        int saved = s->flags, group = ++s->info->groups;
        s->open++;
        node *body = regexp_parse_alternatives(s);
        s->open--;
        s->flags = saved;
        result = body && regexp_expect_close(s) == 0 ? regexp_wrap(s, N_GROUP, body) : NULL;
        if (result) result->value = group;
        if (group - s->before <= 9) s->closed |= 1u << (group - s->before);
    }
    s->depth--;
    return result;
}
