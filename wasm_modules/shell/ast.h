/* ast.h - the syntax tree that the parser builds and the executor walks.
 *
 * Every node lives in the arena of its `program` and is immutable after parsing, except for the caches marked so. A function
 * definition keeps its program alive by a reference; nothing else outlives the unit it was parsed in.
 */
#ifndef HATCH_AST_H
#define HATCH_AST_H
#include <stddef.h>
#include <stdint.h>

typedef struct word word;
typedef struct part part;
typedef struct node node;
typedef struct assign assign;
typedef struct redir redir;
typedef struct anode anode;
struct slot;

/* An arithmetic expression. `text` is what stood in the source. When it holds $, ` or quotes, `w` is that text as a word to be
 * expanded first, and the tree is used only while every expansion is a plain number (see arith.c). */
typedef struct arith {
    char *text;
    word *w;
    anode *tree;                 /* cache: parsed at first use */
    struct arena_s *mem;         /* where the tree goes; NULL: this expression is short-lived, do not keep one */
    uint8_t state;               /* 0 not parsed yet, 1 tree is good, 2 must go through the text */
} arith;

enum part_kind { P_LIT, P_PARAM, P_CMD, P_ARITH, P_PROC_IN, P_PROC_OUT, P_BAD };

enum param_op {
    OP_NONE, OP_DEFAULT, OP_ASSIGN, OP_ERROR, OP_ALT, OP_PREFIX, OP_PREFIX_LONG, OP_SUFFIX, OP_SUFFIX_LONG, OP_REPLACE,
    OP_REPLACE_ALL,
    OP_REPLACE_HEAD, OP_REPLACE_TAIL, OP_UPPER, OP_UPPER_ALL, OP_LOWER, OP_LOWER_ALL, OP_TOGGLE, OP_TOGGLE_ALL, OP_SUBSTR,
    OP_TRANSFORM
};

enum sub_kind { SUB_NONE, SUB_AT, SUB_STAR, SUB_EXPR };

enum { NO_TRANSFORM = 1 };

/* ${...}: example ${!a[@]#*.} has name a, indirect 1, sub SUB_AT, op OP_PREFIX. */
typedef struct param {
    char *name;                  /* a name, digits, or one of @*#?-$!_ */
    struct slot *slot;           /* cache for names */
    uint8_t special;             /* the character when the name is not an identifier; '1' for digits */
    uint8_t sub;                 /* enum sub_kind */
    uint8_t op;
    uint8_t colon;               /* :- rather than - */
    uint8_t indirect;            /* ${!x} */
    uint8_t length;              /* ${#x} */
    uint8_t names;               /* ${!x*} '*' or ${!x@} '@' */
    uint8_t transform;           /* the letter after @, or NO_TRANSFORM */
    int32_t number;              /* of a positional parameter */
    int64_t plain;               /* its value in the arithmetic expression that is being evaluated: $x is read before x++ happens */
    arith *index;                /* subscript of an indexed array */
    word *key;                   /* the same subscript as a word, for associative arrays */
    word *arg, *arg2;            /* operand; replacement */
    arith *off, *len;            /* of a substring */
    char *text;                  /* source, for messages */
} param;

struct part {
    part *next;
    uint8_t kind;
    uint8_t quoted;              /* inside quotes or after a backslash: not split, not a pattern */
    uint8_t backquote;
    union {
        struct { char *text; size_t len; } lit;
        param *param;
        node *cmd;
        arith *arith;
    } u;
};

enum { W_PLAIN = 1,              /* one unquoted literal without anything to expand */
       W_BRACE = 2,              /* may hold a brace expansion */
       W_GLOB = 4,               /* an unquoted literal holds pattern characters */
       W_QUOTED = 8,             /* some part was quoted */
       W_TILDE = 16,             /* begins with an unquoted ~, or has one after = or : */
       W_DOLLAR = 32 };          /* an unquoted $ that begins nothing comes last: bash forgets that it must split */

struct word {
    part *parts;
    assign *as;                  /* an assignment argument of declare and its kin */
    char *raw;                   /* source text, for printing */
    uint8_t flags;
    int line;
};

/* name=value, name+=value, name[sub]=value, name=(elements) */
struct assign {
    assign *next;
    char *name;
    struct slot *slot;           /* cache */
    uint8_t append, is_array;
    uint8_t has_sub;
    arith *index;
    word *key;
    word *value;                 /* NULL for an array */
    assign *elems;               /* of an array: value words, with has_sub for [k]=v */
    char *raw;
};

enum redir_kind { R_IN, R_OUT, R_APPEND, R_CLOBBER, R_RDWR, R_DUP_IN, R_DUP_OUT, R_BOTH, R_BOTH_APPEND, R_HEREDOC, R_HERESTR };

struct redir {
    redir *next;
    uint8_t kind;
    uint8_t strip, quoted;       /* <<- ; a quoted delimiter */
    int fd;                      /* -1: the default of the kind */
    char *var;                   /* {name}> */
    word *target;                /* file, descriptor, here-string, or the body of a here-document */
    char *delim;
    int line;
};

enum node_kind {
    N_SIMPLE, N_PIPE, N_AND, N_OR, N_LIST, N_SUBSHELL, N_GROUP, N_IF, N_WHILE, N_UNTIL, N_FOR, N_CFOR, N_SELECT, N_CASE, N_FUNC,
    N_COND, N_ARITH, N_NOT, N_TIME, N_COPROC
};

typedef struct case_item {
    struct case_item *next;
    word **pats;
    int npats;
    node *body;                  /* may be NULL */
    uint8_t end;                 /* ';' for ;;   '&' for ;&   'c' for ;;& */
} case_item;

/* [[ ... ]] */
enum cond_kind { C_AND, C_OR, C_NOT, C_UNARY, C_BINARY, C_WORD, C_PAREN };
typedef struct cond {
    uint8_t kind;
    char op[4];                  /* "-f", "==", "=~", "-eq" ... */
    struct cond *a, *b;
    word *l, *r;
} cond;

struct node {
    uint8_t kind;
    uint8_t background;          /* followed by & */
    uint8_t posix_time;          /* time -p */
    int line, end_line;
    redir *redirs;
    union {
        struct { assign *assigns; word **words; int n; void *cached; uint32_t cached_gen; } simple;
        struct { node **items; int n; } list;                 /* N_LIST, N_PIPE */
        /* N_AND N_OR; N_WHILE N_UNTIL: condition, body; N_NOT N_TIME N_SUBSHELL N_GROUP: a */
        struct { node *a, *b; } pair;
        struct { node *cond, *then, *other; } iff;
        struct { char *var; struct slot *slot; word **words; int n; uint8_t has_in; node *body; } loop;
        struct { arith *init, *test, *step; node *body; } cfor;
        struct { word *subject; case_item *items; } kase;
        struct { char *name; node *body; uint8_t keyword; void *prog; } func;
        struct { char *name; node *body; } coproc;
        cond *cond;
        arith *arith;
    } u;
};
#endif
