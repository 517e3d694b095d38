/* arith.h - the tree of an arithmetic expression, between arith_parse.c and arith.c. */
#ifndef HATCH_ARITH_H
#define HATCH_ARITH_H
#include "sh.h"

enum {
    A_NUM, A_VAR, A_TEXT,        /* A_TEXT: $x whose value is known to be plain digits */
    A_NEG, A_POS, A_NOT, A_INV, A_PRE_INC, A_PRE_DEC, A_POST_INC, A_POST_DEC,
    A_MUL, A_DIV, A_MOD, A_ADD, A_SUB, A_SHL, A_SHR, A_LT, A_LE, A_GT, A_GE, A_EQ, A_NE, A_AND, A_XOR, A_OR,   /* strict binary */
    A_POW, A_LAND, A_LOR, A_COND, A_COMMA, A_ASSIGN,
    A_FAIL                       /* evaluating it tells the mistake */
};

struct anode {
    uint8_t op, assign_op;       /* assign_op: 0 for =, else the binary operator */
    slot *slot;
    char *sub;                   /* text of the subscript, NULL for none */
    anode *index;                /* the same parsed, NULL when it does not parse */
    union { param *text; const char *message; };   /* of A_TEXT, of A_FAIL */
    int64_t num;
    anode *a, *b, *c;
    const char *at;              /* into the expression, for error tokens */
};

/* Parses text; `params` are the $x of it in order (NULL when the text has none). *error is a message or NULL, *where the error
 * token; with an error, the tree is what is to be evaluated before it is told. */
anode *arith_tree(arena *a, const char *text, param **params, int nparams, const char **error, const char **where);
size_t arith_number_length(const char *s);       /* of the number at s, right or wrong */
bool is_number_error(const char *message);       /* one of those arith_number gives */
bool arith_number(const char *s, size_t n, int64_t *out, const char **error);   /* 12, 0x1f, 017, 16#ff */
#endif
