/* regex.h - regular expressions for grep, sed, awk, jq and [[ =~ ]].
 *
 * One engine, three languages: POSIX basic and extended with GNU's additions (leftmost-longest), and the Perl-like one of jq and
 * grep -P (leftmost, first alternative). Text is UTF-8; a byte that is no character is matched by nothing but itself. Time and
 * memory are bounded: patterns without back-references run in time proportional to pattern size times text, the others give up
 * after a fixed number of steps.
 *
 * Reading order: regex_parse.c (pattern to tree), regex_sets.c (sets of characters), regex_program.c (tree to instructions),
 * regex_dfa.c (fast yes/no and end of match), regex_assert.c (^, $, \b), regex_search.c (captures), regex.c (the pattern as a
 * whole).
 */
#ifndef HATCH_REGEX_H
#define HATCH_REGEX_H
#include <stddef.h>
#include <sys/types.h>

enum {
    REGEX_EXTENDED = 1,        /* ERE; without it and without REGEX_PERL: BRE */
    REGEX_PERL = 2,
    REGEX_LITERAL = 4,         /* the pattern is plain text */
    REGEX_ICASE = 8,
    REGEX_MULTILINE = 16,      /* ^ and $ also match at newlines */
    REGEX_DOT_ALL = 32,        /* Perl: . also matches newline (POSIX: always does) */
    REGEX_BRACKET_ESCAPES = 64,/* awk: backslash escapes inside [...] */
    REGEX_FREE_SPACING = 128,  /* Perl's x */
    REGEX_NEWLINE_ALT = 256,   /* grep: a newline in the pattern separates alternatives */
    REGEX_WORD = 512,          /* grep -w */
    REGEX_LINE = 1024,         /* grep -x */
    REGEX_STRICT = 8192,       /* sed: a repetition needs something to repeat, and a BRE only one of them */
    REGEX_ASCII = 4096,        /* \w \d \s and [:classes:] know ASCII only: grep -P */
    REGEX_UNGREEDY = 16384,    /* Perl's U: x* takes as little as it can, x*? as much */
    REGEX_LONGEST = 2048       /* leftmost-longest also for Perl patterns */
};

typedef struct regex regex;
typedef struct { ssize_t start, end; } regex_span;   /* -1, -1: the group took no part */

/* NULL and a message in *error (static text, GNU's wording), which may be a warning when there is a result. The caller frees it
 * with regex_free. */
regex *regex_compile(const char *pattern, size_t n, int flags, const char **error);
void regex_free(regex *r);
int regex_groups(const regex *r);                    /* capturing groups, without group 0 */
const char *regex_group_name(const regex *r, int i); /* NULL when it has none */

/* Looks for a match in text[0..n) that begins at or after start; ^, \b and look-behind see what is before start. Fills
 * spans[0..count), 0 being the whole match. 1 found, 0 not found, -1 gave up. */
int regex_exec(regex *r, const char *text, size_t n, size_t start, regex_span *spans, int count);
int regex_test(regex *r, const char *text, size_t n); /* only whether there is a match anywhere */
/* Like regex_exec, but the match must begin exactly at start. */
int regex_match_at(regex *r, const char *text, size_t n, size_t start, regex_span *spans, int count);
/* The text every match must contain, when the pattern is nothing but that text; NULL otherwise. */
const char *regex_literal(const regex *r, size_t *n);
#endif
