/* regex_refer.c - what refers to a group from elsewhere: back-references, and Perl's calls and conditions.
 *
 * A reference may come before its group; regex_parse.c checks at the end that the highest one exists.
 */
#include "regex_parse.h"
#include <stdlib.h>
#include <string.h>

static void note(parser *s, int group) { if (group > s->info->most_reference) s->info->most_reference = group; }

node *regexp_backref(parser *s, int group) {
    if (!(s->flags & REGEX_PERL)) {
        if (!(s->closed >> group & 1)) return regexp_fail(s, "Invalid back reference");
        group += s->before;
    }
    node *n = regexp_make(s, N_BACKREF);
    if (!n) return NULL;
    note(s, group);
    n->value = group;
    n->fold = (s->flags & REGEX_ICASE) != 0;
    s->info->has_backrefs = 1;
    return n;
}

/* The group a name or number in text stands for, +1 and -1 counted from here; -1 when there is none. */
static int group_of(const parser *s, const char *name, size_t n) {
    const regex_tree_info *info = s->info;
    for (int g = 1; g <= info->groups && g < info->name_cap; g++)
        if (info->names[g] && strlen(info->names[g]) == n && !memcmp(info->names[g], name, n)) return g;
    char sign = n && (*name == '+' || *name == '-') ? *name : 0;
    size_t i = sign != 0;
    long g = 0;
    if (i == n) return -1;
    for (; i < n; i++) {
        if (name[i] < '0' || name[i] > '9' || g > REGEX_MOST_REPEAT) return -1;
        g = g * 10 + name[i] - '0';
    }
    if (sign == '+') g += info->groups;
    if (sign == '-') g = info->groups + 1 - g;
    return sign && g < 1 ? -1 : (int)g;
}

/* The number of a group that is named further on in the pattern: opening parentheses are counted up to its name. */
static int group_ahead(const parser *s, const char *name, size_t n) {
    int group = s->info->groups, in_set = 0;
    for (const char *p = s->p; p < s->end; p++) {
        if (*p == '\\') { p++; continue; }
        if (*p == '[') in_set = 1;
        else if (*p == ']') in_set = 0;
        if (*p != '(' || in_set) continue;
        const char *q = p + 1;
        int named = q < s->end && *q == '?';
        if (named) {
            q += 1 + (s->end - q > 2 && q[1] == 'P');
            if (s->end - q < 2 || !((*q == '<' && q[1] != '=' && q[1] != '!') || *q == '\'')) continue;
            q++;
        }
        group++;
        if (named && (size_t)(s->end - q) > n && !memcmp(q, name, n) && (q[n] == '>' || q[n] == '\'')) return group;
    }
    return -1;
}

static int group_anywhere(const parser *s, const char *name, size_t n) {
    int g = group_of(s, name, n);
    return g < 0 ? group_ahead(s, name, n) : g;
}

node *regexp_named_backref(parser *s, const char *name, size_t n) {
    int g = group_anywhere(s, name, n);
    return g > 0 ? regexp_backref(s, g) : regexp_fail(s, "reference to non-existent subpattern");
}

node *regexp_call(parser *s, const char *name, size_t n) {
    int g = n == 1 && *name == 'R' ? 0 : group_anywhere(s, name, n);
    if (g < 0) return regexp_fail(s, "reference to non-existent subpattern");
    node *call = regexp_make(s, N_CALL);
    if (!call) return NULL;
    note(s, g);
    call->value = g;
    s->info->has_calls = s->info->has_looks = 1;
    return call;
}

int regexp_has_call(const parser *s) {
    const char *p = s->p;
    size_t left = (size_t)(s->end - p);
    if (!left || !memchr(p, ')', left)) return 0;
    if (*p == '&' || (left > 1 && *p == 'P' && p[1] == '>')) return 1;
    if (*p == 'R') return left > 1 && p[1] == ')';
    if ((*p == '+' || *p == '-') && left > 1) p++;
    return *p >= '0' && *p <= '9';
}

/* Gives a condition its ways: body is one sequence, or an alternative of two. */
static int take_ways(parser *s, node *body, node **yes, node **no) {
    *yes = body;
    *no = NULL;
    if (body->kind != N_ALT) return 0;
    *yes = body->first;
    *no = (*yes)->next;
    if ((*no)->next) { regexp_fail(s, "conditional subpattern contains more than two branches"); return -1; }
    (*yes)->next = NULL;
    return 0;
}

/* (?(?=x)yes|no) is (?=x)yes|(?!x)no. */
static node *look_condition(parser *s, node *look) {
    node *body = regexp_parse_alternatives(s), *yes, *no;
    if (!body || regexp_expect_close(s) < 0 || take_ways(s, body, &yes, &no) < 0) return NULL;
    if (!no && !(no = regexp_make(s, N_EMPTY))) return NULL;
    node *contrary = regexp_wrap(s, N_LOOK, look->first), *alt = regexp_make(s, N_ALT);
    node *first = regexp_wrap(s, N_CAT, look), *second = contrary ? regexp_wrap(s, N_CAT, contrary) : NULL;
    if (!alt || !first || !second) return NULL;
    contrary->behind = look->behind;
    contrary->negated = !look->negated;
    look->next = yes;
    contrary->next = no;
    alt->first = first;
    first->next = second;
    return alt;
}

node *regexp_parse_condition(parser *s) {
    if (s->p < s->end && *s->p == '?') {
        node *look = regexp_parse_group(s);
        if (!look || look->kind != N_LOOK) return regexp_fail(s, "assertion expected after (?( or (?(?C)");
        return look_condition(s, look);
    }
    const char *name = s->p, *close = memchr(name, ')', (size_t)(s->end - name));
    if (!close || close == name) return regexp_fail(s, "missing closing parenthesis for condition");
    size_t n = (size_t)(close - name);
    int never = n == 6 && !memcmp(name, "DEFINE", 6);
    if (n > 2 && (*name == '<' || *name == '\'')) { name++; n -= 2; }
    int group = never ? 0 : group_anywhere(s, name, n);
    if (group < 0) return regexp_fail(s, "reference to non-existent subpattern");
    note(s, group);
    s->p = close + 1;
    node *body = regexp_parse_alternatives(s), *yes, *no;
    if (!body || regexp_expect_close(s) < 0 || take_ways(s, body, &yes, &no) < 0) return NULL;
    node *n_cond = regexp_wrap(s, N_COND, yes);
    if (!n_cond) return NULL;
    n_cond->value = group;
    yes->next = no;
    s->info->has_looks = 1;
    return n_cond;
}
