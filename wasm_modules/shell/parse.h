/* parse.h - what the lexer's and the parser's files share; nobody else includes it.
 *
 * The parser pulls tokens, one ahead. Words come out of the lexer already cut into parts, because $(...) inside a word is
 * parsed in place by the same parser on the same text. Recursion is bounded by MAX_NESTING, whatever nests.
 */
#ifndef HATCH_PARSE_H
#define HATCH_PARSE_H
#include "sh.h"

enum { MAX_NESTING = 320 };

enum token_kind {
    T_EOF, T_NEWLINE, T_WORD, T_IONUM, T_IOVAR, T_SEMI, T_DSEMI, T_SEMI_AND, T_DSEMI_AND, T_AMP, T_AND, T_OR, T_PIPE,
    T_PIPE_AMP, T_LPAREN,
    T_RPAREN, T_LESS, T_GREAT, T_DGREAT, T_DLESS, T_DLESS_DASH, T_TLESS, T_LESS_AND, T_GREAT_AND, T_CLOBBER, T_LESS_GREAT,
    T_AND_GREAT,
    T_AND_DGREAT
};

typedef struct { int kind; word *w; int line; size_t start, end; int fd; char *name; } token;

/* How text is read: which characters end it and which quote. */
enum lex_mode {
    M_WORD,                      /* a shell word */
    M_REGEX,                     /* right side of =~ */
    M_DQUOTE,                    /* between double quotes */
    M_HEREDOC,                   /* body of a here-document */
    M_ARITH,                     /* inside $(( )) */
    M_BRACE,                     /* operand in ${...} outside quotes, and patterns everywhere */
    M_BRACE_DQ,                  /* operand in "${...}" */
    M_BRACE_DOC                  /* operand in ${...} of a here-document */
};
static inline bool operand_mode(int mode) { return mode == M_BRACE_DQ || mode == M_BRACE_DOC; }
static inline bool quoting(int mode) { return mode == M_DQUOTE || mode == M_HEREDOC || mode == M_ARITH || operand_mode(mode); }

typedef struct alias_use { struct alias_use *next; const char *name; size_t tail; } alias_use;

struct parser {
    const char *src;
    size_t len, pos;
    int line;
    arena *a;
    token tok;
    bool have;                   /* tok holds a token that was not taken */
    redir *pending[32];          /* here-documents whose bodies come after the next newline */
    int npending;
    int depth;
    int substs;                  /* inside how many $( */
    int cond_depth;              /* inside [[ ]]: extglob patterns are on */
    int arrays;                  /* inside name=( ) */
    bool failed;
    syntax_error *err;
    const char *origin;          /* text as given, for messages */
    size_t origin_len;
    alias_use *aliases;
    char *spliced;               /* malloc'ed src after an alias expansion */
    program *prog;
    bool alias_next;             /* the text of the last alias ended in a blank: the word behind it may be an alias too */
    size_t alias_end;
};

/* lexer.c */
token *peek(parser *p);
void take(parser *p);
void skip_newlines(parser *p);
void read_pending(parser *p);                             /* bodies of the here-documents seen on the line that just ended */
void skip_blanks(parser *p);                             /* blanks, line continuations and comments */
void syntax_fail(parser *p, size_t at, size_t end, const char *format, ...) __attribute__((format(printf, 4, 5)));
void unexpected(parser *p, token *t);
void unexpected_here(parser *p, token *t);               /* the same where no newline may stand: the end counts as one */
void eof_looking_for(parser *p, char c, size_t from);
bool enter(parser *p);                                   /* one level deeper; false (and failed) at the cap */
char *slice(parser *p, size_t from, size_t to);
/* lex_word.c */
word *lex_word(parser *p, int mode);
part *lex_parts(parser *p, int mode, const char *stops);
word *make_word(parser *p, part *parts, size_t from);
word *sub_word(parser *p, const char *text, int mode);   /* text read in another mode, in the same arena */
arith *make_arith(parser *p, char *text);
bool skip_balanced(parser *p, char open, char close);    /* pos after open; leaves pos at the matching close */
/* lex_param.c */
void lex_dollar(parser *p, int mode, part ***tail);
void lex_backquote(parser *p, int mode, part ***tail);
part *add_part(parser *p, part ***tail, int kind, int quoted);
size_t subscript_end(parser *p, size_t at);              /* at points behind '['; the index of the matching ']', or 0 */
void make_subscript(parser *p, char *text, arith **index, word **key);
/* parser.c */
node *parse_list(parser *p, bool to_line_end);
node *parse_subst(parser *p);                            /* after "$(": up to and with the closing parenthesis */
node *new_node(parser *p, int kind, int line);
bool word_is(word *w, const char *text);
/* lines.c */
void number_printed(node *body);                         /* the body of $(...): its lines, from 0, as bash prints it */
void number_from(node *body, int first_line);            /* the body of backquotes that began on this line: its lines, from 0 */
/* parse_words.c */
bool is_redir(int kind);
redir *parse_redir(parser *p);                           /* NULL when the next token is none */
assign *parse_assign(parser *p, size_t start);           /* at a name that begins an assignment, else NULL and nothing consumed */
/* parse_cond.c */
node *parse_cond_command(parser *p);
#endif
