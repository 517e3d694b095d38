/* awk_parse.h - what the three files of awk's parser share: awk_parse.c (program, rules, functions), awk_statement.c and
 * awk_expression.c (most loosely binding first).
 *
 * RULES. A parsing function returns NULL after an error, which it has reported; its caller returns NULL too.
 */
#ifndef HATCH_AWK_PARSE_H
#define HATCH_AWK_PARSE_H
#include "awk_lex.h"

#define CH(c) ((c) + 256)
enum { DEEPEST_GRAMMAR = 400 };

typedef struct {
    lexer L;
    awk *A;
    afunc *function;                      /* being defined */
    int rule;                             /* kind of the rule whose action is read, as in arule; 'r' for a pattern's */
    const char *space;                    /* of @namespace, NULL for awk's own */
    int no_in, no_gt, depth, loops, switches;
} parser;

static inline anode *error(parser *P, const char *message) { return lex_error(&P->L, message); }
static inline anode *syntax_error(parser *P) { return lex_error(&P->L, "syntax error"); }
static inline int token(const parser *P) { return P->L.token; }
static inline void advance(parser *P) { lex_next(&P->L); }
static inline int accept(parser *P, int t) { if (token(P) != t) return 0; advance(P); return 1; }
static inline int expect(parser *P, int t) { if (accept(P, t)) return 1; syntax_error(P); return 0; }
static inline void skip_newlines(parser *P) { while (token(P) == T_NEWLINE) advance(P); }
static inline void skip_terminators(parser *P) { while (token(P) == T_NEWLINE || token(P) == CH(';')) advance(P); }

/* awk_parse.c */
anode *awk_node(parser *P, int kind, anode *a, anode *b);
anode *awk_parse_name(parser *P, const char *name, size_t n);       /* a variable or parameter */
anode *awk_parse_regex(parser *P);                                  /* of the lexer's text, compiled */
int awk_parse_function(parser *P, const char *name, size_t n);      /* the function's number, made when new */

/* awk_expression.c */
anode *awk_parse_expression(parser *P);
anode *awk_parse_concatenation(parser *P);
anode *awk_parse_unary(parser *P);
anode *awk_parse_primary(parser *P);
anode *awk_parse_subscripts(parser *P, anode *base);

/* awk_statement.c */
anode *awk_parse_statement(parser *P);
anode *awk_parse_block(parser *P);
#endif
