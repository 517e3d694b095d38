/* jq_regex.c - match: everything else about regular expressions is written in jq over it. */
#include "jq.h"
#include "patterns.h"
#include "../utf8.h"
#include <string.h>

static jv capture_value(jq *q, jv in, regex_span g, const char *name, size_t base_chars, size_t base_bytes, int with_name) {
    jctx *C = &q->C;
    jv o = jv_object(C);
    if (g.start < 0) {
        o = jv_put(C, o, "offset", jv_num(-1));
        o = jv_put(C, o, "string", jv_null());
        o = jv_put(C, o, "length", jv_num(0));
    } else {
        double at = (double)(base_chars
                             + ((size_t)g.start >= base_bytes ? utf8_length(in.s->text + base_bytes, (size_t)g.start - base_bytes)
                                                              : 0));
        if ((size_t)g.start < base_bytes) at = (double)utf8_length(in.s->text, (size_t)g.start);
        o = jv_put(C, o, "offset", jv_num(at));
        o = jv_put(C, o, "length", jv_num((double)utf8_length(in.s->text + g.start, (size_t)(g.end - g.start))));
        o = jv_put(C, o, "string", jv_text(C, in.s->text + g.start, (size_t)(g.end - g.start)));
    }
    if (with_name) o = jv_put(C, o, "name", name ? jv_cstr(C, name) : jv_null());
    return o;
}

/* What Oniguruma says where our engine says error. */
static const char *failure_of(const char *error) {
    static const char *const said[][2] = {{"missing closing parenthesis", "end pattern with unmatched parenthesis"},
        {"unmatched closing parenthesis", "unmatched close parenthesis"},
        {"quantifier does not follow a repeatable item", "target of repeat operator is not specified"},
        {"missing terminating ] for character class", "premature end of char-class"},
        {"Invalid range end", "empty range in char class"}, {"\\ at end of pattern", "end pattern at escape"},
        {"reference to non-existent subpattern", "invalid backref number/name"},
        {"Invalid character class name", "invalid POSIX bracket type"},
        {"unrecognized character after (? or (?-", "undefined group option"},
        {"lookbehind assertion is not fixed length", "invalid pattern in look-behind"}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) if (!strcmp(said[i][0], error)) return said[i][1];
    return error;
}

static regex *compiled(jq *q, jv pattern, int flags) {
    char *key = tool_format(q->t, "%d/%s", flags, pattern.s->text);
    unsigned h = jstr_hash(pattern.s) % 32;
    if (q->regexes[h].key && !strcmp(q->regexes[h].key, key)) { tool_free(q->t, key); return q->regexes[h].re; }
    const char *error;
    regex *re = pattern_compile(q->t, pattern.s->text, pattern.s->n, flags, &error);
    if (!re) { jq_errorf(q, "Regex failure: %s", failure_of(error)); return NULL; }
    q->regexes[h].key = key;
    q->regexes[h].re = re;
    return re;
}

/* g, and REGEX_ flags of the letters; -1 for an unknown one. */
static int parse_flags(jv flags, int *global, int *no_empty) {
    int f = REGEX_PERL;
    *global = *no_empty = 0;
    for (uint32_t i = 0; flags.kind == J_STRING && i < flags.s->n; i++) switch (flags.s->text[i]) {
        case 'g': *global = 1; break;
        case 'i': f |= REGEX_ICASE; break;
        case 'x': f |= REGEX_FREE_SPACING; break;
        case 's': break;
        case 'n': *no_empty = 1; break;
        case 'p': f |= REGEX_DOT_ALL; break;
        case 'l': f |= REGEX_LONGEST; break;
        default: return -1;
    }
    return f;
}

static jv all_matches(jq *q, jv in, regex *re, int global, int no_empty) {
    int groups = regex_groups(re), found;
    regex_span *g = tool_alloc(q->t, ((size_t)groups + 1) * sizeof *g);
    jv list = jv_array(&q->C, 0);
    size_t at = 0, chars = 0, bytes = 0;
    while ((found = at <= in.s->n ? regex_exec(re, in.s->text, in.s->n, at, g, groups + 1) : 0) > 0) {
        if (g[0].start != g[0].end || !no_empty) {
            jv m = capture_value(q, in, g[0], NULL, chars, bytes, 0), captures = jv_array(&q->C, (uint32_t)groups);
            for (int i = 1; i <= groups; i++) {
                if (g[0].start == g[0].end && g[i].start < 0) g[i] = g[0];      /* of an empty match all groups are empty */
                captures = jv_push(&q->C, captures, capture_value(q, in, g[i], regex_group_name(re, i), chars, bytes, 1));
            }
            m = jv_put(&q->C, m, "captures", captures);
            list = jv_push(&q->C, list, m);
        }
        if ((size_t)g[0].start >= bytes) {
            chars += utf8_length(in.s->text + bytes, (size_t)g[0].start - bytes);
            bytes = (size_t)g[0].start;
        }
        at = (size_t)g[0].end;
        if (g[0].end == g[0].start) {
            int c;
            at += at < in.s->n ? (size_t)utf8_decode(in.s->text + at, in.s->n - at, &c) : 1;
        }
        if (!global) break;
    }
    tool_free(q->t, g);
    if (found < 0) { jv_drop(&q->C, list); return jq_errorf(q, "regular expression too complex"); }
    return list;
}

jv jq_fn_match(jq *q, jv in, jv *args) {
    jv pattern = args[0], flags = args[1], result = jv_of(J_INVALID);
    int test = jv_true(args[2]), global, no_empty;
    if (in.kind != J_STRING) {
        jv text = jq_error_text(q, in);
        jq_errorf(q, "%s (%s) cannot be matched, as it is not a string", jv_kind_name(in), text.s->text);
        jv_drop(&q->C, text);
    } else if (pattern.kind != J_STRING) {
        jq_refuse(q, jv_copy(pattern), "is not a string");
    } else if (flags.kind != J_STRING && flags.kind != J_NULL) {
        jq_refuse(q, jv_copy(flags), "is not a string");
    } else {
        int f = parse_flags(flags, &global, &no_empty);
        if (f < 0) jq_errorf(q, "%s is not a valid modifier string", flags.s->text);
        else {
            regex *re = compiled(q, pattern, f);
            if (re && test && no_empty) {
                jv found = all_matches(q, in, re, 1, 1);
                result = found.kind == J_INVALID ? found : jv_bool(found.a->n > 0);
                jv_drop(&q->C, found);
            } else if (re && test) {
                int hit = regex_test(re, in.s->text, in.s->n);
                result = hit < 0 ? jq_errorf(q, "regular expression too complex") : jv_bool(hit);
            } else if (re) result = all_matches(q, in, re, global, no_empty);
        }
    }
    jv_drop(&q->C, in);
    for (int i = 0; i < 3; i++) jv_drop(&q->C, args[i]);
    return result;
}
