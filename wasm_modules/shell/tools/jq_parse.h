/* jq_parse.h - what the files of jq's parser share: jq_lex.c, jq_names.c, jq_terms.c, jq_module.c, jq_parse.c. After an error the
 * functions return NULL or 0, and so do their callers. */
#ifndef HATCH_JQ_PARSE_H
#define HATCH_JQ_PARSE_H
#include "jq.h"

/* A name in scope; kind: 'v'ariable, 'd'efinition, 'p'arameter, 'l'abel. */
typedef struct scope { struct scope *up; int kind; const char *name; int arity; jdef *def; } scope;

typedef struct {
    jq *q;
    const char *p, *end, *begin, *start;             /* start: of the token */
    int tok, depth;
    char text[256];                                  /* of the token, when it is a word */
    double num;
    jv number;
    scope *scope;
    jdef *imports;                                   /* definitions of modules and, in a module, its own */
    const char *module, *folder;                     /* its file and where that lies; NULL for the program */
} parser;

enum {
    T_END = 256,
    T_NUM,
    T_STR,
    T_IDENT,
    T_FIELD,
    T_VAR,
    T_FORMAT,
    T_KEYWORD,
    T_EQ,
    T_NE,
    T_LE,
    T_GE,
    T_ALT,
    T_ALTEQ,
    T_ALTPAT,
    T_ADDEQ,
    T_SUBEQ,
    T_MULEQ,
    T_DIVEQ,
    T_MODEQ,
    T_UPDATE,
    T_RECURSE
};

/* jq_lex.c */
void *jqp_fail(parser *s, const char *message);
void *jqp_unexpected(parser *s);
void *jqp_unexpected_for(parser *s, const char *expected);
void jqp_next(parser *s);
int jqp_keyword(parser *s, const char *w);
int jqp_accept(parser *s, int tok);
int jqp_accept_word(parser *s, const char *w);
int jqp_expect(parser *s, int tok);
int jqp_expect_word(parser *s, const char *w);

/* jq_names.c */
scope *jqp_push_new(parser *s, int kind, const char *name);
jnode *jqp_variable(parser *s, const char *name);
jnode *jqp_call_expression(parser *s);
jdef *jqp_definition(parser *s);
int jqp_patterns(parser *s, jnode *n);

/* jq_terms.c */
jnode *jqp_postfix(parser *s);
jnode *jqp_string_literal(parser *s, const char *format);
jnode *jqp_keyword_term(parser *s);
jnode *jqp_identity(parser *s);

/* jq_module.c */
int jqp_imports(parser *s);                          /* import and include at the start; 0 after an error */

/* jq_parse.c */
void jqp_begin(parser *s, jq *q, const char *text, size_t n);
jnode *jqp_make(parser *s, int kind, jnode *a, jnode *b);
jnode *jqp_literal(parser *s, jv v);
jnode *jqp_pipe_expr(parser *s);
jnode *jqp_object_value(parser *s);
#endif
