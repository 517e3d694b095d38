/* awk_regex.c - awk's regular expressions: constants, texts that are used as one (kept compiled), and what is said of backslashes
 * that mean nothing.
 */
#include "awk_message.h"
#include <string.h>

static int ignores_case(awk *A) { return A->vars[VAR_IGNORECASE].type && cell_true(&A->vars[VAR_IGNORECASE]); }

/* Warns of each backslash, once for each character, before one that it gives no meaning. */
static void check_escapes(awk *A, const char *text, size_t n, int line) {
    static const char known[] = "abfnrtvx01234567y<>`'BwWsS{}()|*+?.^$\\[]/-\n";
    for (size_t i = 0; i + 1 < n; i++) {
        if (text[i] != '\\') continue;
        unsigned char c = (unsigned char)text[++i];
        if (c >= 128 || memchr(known, c, sizeof known - 1) || A->warned_regex[c]++) continue;
        if (c == '8' || c == '9') awk_warn(A, line, "regexp escape sequence `\\%c' treated as plain `%c'", c, c);
        else awk_warn(A, line, "regexp escape sequence `\\%c' is not a known regexp operator", c);
    }
}

regex *awk_regex_constant(awk *A, const char *text, size_t n, int line, const char **message) {
    check_escapes(A, text, n, line);
    return pattern_compile(A->t, text, n, REGEX_EXTENDED | REGEX_BRACKET_ESCAPES, message);
}

regex *awk_regex_cached(awk *A, astr *text) {
    unsigned h = 5381;
    int fold = ignores_case(A);
    for (size_t i = 0; i < text->n; i++) h = h * 33 ^ (unsigned char)text->text[i];
    regex_slot *s = &A->cache[h % REGEX_CACHE];
    if (s->re && s->fold == fold && s->key->n == text->n && !memcmp(s->key->text, text->text, text->n)) return s->re;
    check_escapes(A, text->text, text->n, A->line);
    const char *error;
    regex *re
        = pattern_compile(A->t, text->text, text->n, REGEX_EXTENDED | REGEX_BRACKET_ESCAPES | (fold ? REGEX_ICASE : 0), &error);
    if (!re) return awk_fatal(A, "invalid regexp: %s: /%s/", error, text->text);
    if (s->key) astr_unref(A, s->key);
    s->key = astr_ref(text);
    s->re = re;
    s->fold = fold;
    return re;
}

regex *awk_eval_regex(awk *A, anode *n) {
    if (n->kind == E_REGEX) return ignores_case(A) ? awk_regex_cached(A, n->str) : n->re;
    astr *s = awk_eval_string(A, n);
    regex *re = awk_regex_cached(A, s);
    astr_unref(A, s);
    return re;
}
