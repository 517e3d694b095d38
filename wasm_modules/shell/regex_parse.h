/* regex_parse.h - what the files of the regex parser share: regex_parse.c, regex_bracket.c, regex_group.c, regex_refer.c,
 * regex_escape.c. */
#ifndef HATCH_REGEX_PARSE_H
#define HATCH_REGEX_PARSE_H
#include "regex_program.h"

typedef struct {
    const char *p, *end, *begin;
    regex_tree_info *info;
    int flags, depth, open, reset, before;
    unsigned closed;
} parser;
/* reset: the next alternatives number their groups alike, (?|...). before: groups of other patterns, that a newline parted from
 * this one. closed: bits of this pattern's groups that a back-reference may name here: those closed before it in the same
 * alternatives. */

/* regex_bracket.c */
int regexp_take_char(parser *s);
int regexp_hex_digit(int c);
int regexp_perl_char_escape(parser *s);
int regexp_property(parser *s, regex_set *set, int negated);
int regexp_class_letter(int c);
node *regexp_parse_bracket(parser *s);

/* regex_group.c */
node *regexp_parse_group(parser *s);

int regexp_expect_close(parser *s);                                  /* 0, or -1 after a message */

/* regex_refer.c */
node *regexp_backref(parser *s, int group);
node *regexp_named_backref(parser *s, const char *name, size_t n);   /* or a number in text, -1 for the last group */
node *regexp_call(parser *s, const char *name, size_t n);            /* the group of that name or number, R for all */
node *regexp_parse_condition(parser *s);                             /* (?(... after the second parenthesis */
int regexp_has_call(const parser *s);                                /* whether (? is followed by a call such as R) or 1) */

/* regex_escape.c */
node *regexp_perl_escape(parser *s);
node *regexp_posix_escape(parser *s);

/* regex_parse.c */
node *regexp_fail(parser *s, const char *message);
node *regexp_make(parser *s, enum node_kind kind);
node *regexp_make_char(parser *s, int c);
node *regexp_make_assert(parser *s, int kind);
regex_set *regexp_make_set(parser *s);
node *regexp_set_node(parser *s, regex_set *set, int invert);
void regexp_add_class(parser *s, regex_set *set, int cls, int negated);
node *regexp_class_node(parser *s, int cls, int negated);
node *regexp_wrap(parser *s, enum node_kind kind, node *child);
node *regexp_parse_alternatives(parser *s);
#endif
