/* awk_lex.h - tokens of the awk language. */
#ifndef HATCH_AWK_LEX_H
#define HATCH_AWK_LEX_H
#include "awk.h"

enum {
    T_EOF,
    T_NEWLINE,
    T_NUM,
    T_STR,
    T_REGEX,
    T_NAME,
    T_FUNC_NAME,
    T_BUILTIN,
    T_LENGTH, /* T_FUNC_NAME: a name right before '(' */
    T_BEGIN,
    T_END,
    T_BEGINFILE,
    T_ENDFILE,
    T_FUNCTION,
    T_IF,
    T_ELSE,
    T_WHILE,
    T_FOR,
    T_DO,
    T_BREAK,
    T_CONTINUE,
    T_NEXT,
    T_NEXTFILE,
    T_EXIT,
    T_RETURN,
    T_DELETE,
    T_IN,
    T_GETLINE,
    T_PRINT,
    T_PRINTF,
    T_SWITCH,
    T_CASE,
    T_DEFAULT,
    T_AND,
    T_OR,
    T_EQ,
    T_NE,
    T_LE,
    T_GE,
    T_APPEND,
    T_COPROCESS,
    T_INC,
    T_DEC,
    T_ADD_EQ,
    T_SUB_EQ,
    T_MUL_EQ,
    T_DIV_EQ,
    T_MOD_EQ,
    T_POW_EQ,
    T_NOMATCH,
    T_POW
};

typedef struct {
    awk *A;
    const char *p, *end, *start, *text_start;   /* start: of the token; text_start: of the program */
    const apart *part;                /* which is read */
    int line, token_line, token, previous;
    double num;
    buffer text;                      /* of T_STR, T_REGEX, T_NAME */
    int index;                        /* of T_BUILTIN */
    int error;
} lexer;

void lex_next(lexer *L);
void lex_regex(lexer *L);            /* the token was / or /=: reads the rest of a regular expression */
void *lex_error(lexer *L, const char *message); /* NULL */
#endif
