/* regex_program.h - inside the regex engine: the tree, the sets, the instructions. Nobody else includes this. */
#ifndef HATCH_REGEX_PROGRAM_H
#define HATCH_REGEX_PROGRAM_H
#include "regex.h"
#include <stdint.h>

enum {
    REGEX_MOST_NODES = 200000,
    REGEX_MOST_CODE = 60000,
    REGEX_DEEPEST = 200,
    REGEX_MOST_REPEAT = 32767,
    REGEX_MOST_STEPS = 20000000,
    REGEX_MOST_CALLS = 1 << 16
};

/* Memory of one regex: blocks freed together. On failure the flag is set and the caller unwinds. */
typedef struct regex_block { struct regex_block *next; } regex_block;
typedef struct { regex_block *blocks; int failed; } regex_memory;
void *regex_alloc(regex_memory *m, size_t n);                      /* zeroed, NULL on failure */

/* A set of characters. ASCII is a bitmap; the rest is ranges and classes, possibly inverted as a whole. */
typedef struct { int low, high; } regex_range;
typedef struct {
    uint32_t ascii[4];
    regex_range *ranges;
    int range_count, range_cap;
    unsigned classes, not_classes;                                 /* bits of enum regex_class, for non-ASCII characters */
    int inverted;                                                  /* non-ASCII: member when nothing above says so */
    int fold;                                                      /* ignore case */
    int high;                                                      /* of non-ASCII characters matches 0 none, 1 some, 2 all */
} regex_set;
enum regex_class {
    CLASS_ALNUM,
    CLASS_ALPHA,
    CLASS_BLANK,
    CLASS_CNTRL,
    CLASS_DIGIT,
    CLASS_GRAPH,
    CLASS_LOWER,
    CLASS_PRINT,
    CLASS_PUNCT,
    CLASS_SPACE,
    CLASS_UPPER,
    CLASS_XDIGIT,
    CLASS_WORD,
    CLASS_COUNT
};
int regex_class_named(const char *name, size_t n);                 /* -1 when unknown */
int regex_class_has(int cls, int c);
int regex_is_word(int c);                                          /* c may be -1 */
int regex_set_has(const regex_set *s, int c);
void regex_set_add(regex_memory *m, regex_set *s, int low, int high);
void regex_set_class(regex_set *s, int cls, int negated);
void regex_set_finish(regex_set *s, int invert, int fold);         /* after the last addition */

enum node_kind {
    N_EMPTY,
    N_CHAR,
    N_SET,
    N_CAT,
    N_ALT,
    N_REPEAT,
    N_GROUP,
    N_ASSERT,
    N_BACKREF,
    N_LOOK,
    N_ATOMIC,
    N_KEEP,
    N_FAIL,
    N_CALL,                    /* runs group value here; 0: the whole pattern */
    N_VERB,                    /* going back over it ends the attempt; value: enum verb_kind */
    N_COND                     /* the first child when group value took part (0: never), else the second, if there is one */
};
enum assert_kind {
    A_TEXT_START,
    A_TEXT_END,
    A_TEXT_END_NL,
    A_LINE_START,
    A_LINE_END,
    A_WORD_EDGE,
    A_NOT_EDGE,
    A_WORD_START,
    A_WORD_END,
    A_NO_WORD_BEFORE,
    A_NO_WORD_AFTER
};

enum verb_kind { VERB_PRUNE, VERB_SKIP, VERB_COMMIT };   /* the next attempt: one further, from here, none */

typedef struct node node;
struct node {
    enum node_kind kind;
    int value; /* N_CHAR: code point (or 0x110000 + byte), N_GROUP: number or 0, N_ASSERT: kind, N_BACKREF: group */
    int fold;                  /* N_CHAR, N_BACKREF: ignore case */
    int min, max, lazy, possessive; /* N_REPEAT; max -1: no limit */
    int behind, negated;       /* N_LOOK */
    regex_set *set;
    node *first, *next;        /* children, sibling */
};

typedef struct {
    regex_memory *m;
    int flags, groups, has_backrefs, has_looks, has_lazy, has_calls, nodes;
    int most_reference;                                            /* the highest group that is referred to */
    char **names;
    int name_cap;
    const char *error, *warning;
} regex_tree_info;
node *regex_parse(const char *p, size_t n, regex_tree_info *info); /* NULL: info->error */

enum op {
    OP_BYTE,
    OP_SET,
    OP_SPLIT,
    OP_JUMP,
    OP_SAVE,
    OP_ASSERT,
    OP_BACKREF,
    OP_LOOK,
    OP_ATOMIC,
    OP_MARK,
    OP_CHECK,
    OP_KEEP,
    OP_FAIL,
    OP_VERB,
    OP_COND,
    OP_CALL,
    OP_RETURN,
    OP_MATCH
};
typedef struct {
    unsigned char op, flag;
    int x, y;
    const regex_set *set;
} instruction; /* SPLIT: x first, y second; LOOK, ATOMIC: body at pc+1 up to
                  MATCH, then x; COND: on when group x took part, else y; CALL: group y, which begins at x; RETURN: from
                  group x; flag bits: 1 negated, 2 behind, 4 fold */
struct regex_dfa;
struct regex {
    regex_memory memory;
    instruction *code;
    int length, groups, marks, flags, simple;    /* simple: no back-references, looks, atomics: the DFA and memo are allowed */
    int longest, has_asserts, has_calls, anchored, splits;
    char **names;
    unsigned char first[256];                    /* possible first bytes */
    int any_first;                               /* may match empty: every position is a candidate */
    int only_first;                              /* the single possible first byte, or -1 */
    char *literal;                               /* the whole pattern when it is plain text */
    size_t literal_length;
    char *prefix;                                /* every match begins with this */
    size_t prefix_length;
    struct regex_dfa *dfa;
    struct {
        void *frames;
        size_t frame_cap;
        uint32_t *memo;
        size_t memo_cap;
        ssize_t *caps;
        void *calls;
        size_t call_cap;
    } work; /* search buffers, kept between calls */
};
int regex_emit(regex *r, node *tree, regex_tree_info *info); /* 0, -1: too big or no memory */
/* The next place at or after at where a match could begin; n + 1 when there is none. */
size_t regex_candidate(const regex *r, const char *text, size_t n, size_t at);

/* regex_assert.c */
int regex_assert_holds(int kind, const char *text, size_t n, size_t at);

/* regex_dfa.c. Results: >= 0 position, -1 no match, -2 the automaton cannot say. */
ssize_t regex_dfa_longest(regex *r, const char *text, size_t n, size_t start); /* end of the longest match that begins at start */
ssize_t regex_dfa_any(
    regex *r, const char *text, size_t n, size_t start); /* a position by which some match at or after start has ended */
void regex_dfa_free(struct regex_dfa *d);
#endif
