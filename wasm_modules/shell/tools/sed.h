/* sed.h - the stream editor: commands as parsed (sed_parse.c), and their execution (sed_run.c). */
#ifndef HATCH_SED_H
#define HATCH_SED_H
#include "buffer.h"
#include "patterns.h"

typedef enum { ADDR_NONE, ADDR_LINE, ADDR_STEP, ADDR_LAST, ADDR_REGEX, ADDR_PLUS, ADDR_MULTIPLE, ADDR_ZERO } addr_kind;
typedef struct { addr_kind kind; unsigned long n, step; regex *regex; } sed_addr;     /* regex NULL: the last one used */

/* A piece of a replacement: text, or a group, and a change of case before it. */
typedef struct { char *text; size_t n; int group; int change; } sed_piece;            /* group -1: text; change: 0 U L u l E */

typedef struct sed_output { const char *path; io *to; int missing_newline; struct sed_output *next; } sed_output;

enum { PRINT_BEFORE = 1, PRINT_AFTER = 2 };     /* s///p: before and after what s///e runs */

typedef struct sed_command {
    sed_addr a1, a2;
    int negate, name, active, closed;    /* closed: of a range, that it will not begin again */
    int at;                              /* where in the script it stands, for messages */
    unsigned long end;                   /* of an active range that ends at a line number */
    char *text;                          /* a i c: text; b t T :: label; r R: file name */
    size_t text_n;
    int target;                          /* b t T { } : index */
    int number;                          /* q Q exit status, l width, L */
    regex *regex;                        /* s */
    sed_piece *pieces;
    int piece_n, global, print, which, eval;   /* print: PRINT_BEFORE, PRINT_AFTER */
    int *map_from, *map_to, map_n;       /* y */
    sed_output *output;                  /* w W, s///w */
    io *source;                          /* R */
} sed_command;

typedef struct { size_t at; const char *file; } sed_part;         /* what one -e or -f gave to the script; file NULL: -e */

typedef struct {
    tool *t;
    const char *text;                    /* the script, all parts of it */
    sed_part *parts;
    int part_count;
    sed_command *commands;
    int count, cap;
    int depth;                           /* blocks that are open while the script is read */
    int quiet, extended, separate, in_place, zero, unbuffered, wrap, sandbox, debug, follow;
    int posix;                           /* --posix: no commands, addresses and escapes but those of POSIX */
    int correct;                         /* POSIXLY_CORRECT is set */
    const char *suffix;
    sed_output *outputs, out, standard;  /* out: what is printed; standard: w /dev/stdout */
} sed_script;

/* Says what is wrong, and in which part of the script: `at` bytes from its beginning. 1 */
int sed_wrong(sed_script *s, size_t at, int has_column, const char *format, ...) __attribute__((format(printf, 4, 5)));
int sed_parse(sed_script *s, const char *text, size_t n);       /* 0, or 1 after a message */
int sed_finish(sed_script *s);                                    /* resolves labels and braces */
int sed_run(sed_script *s, char **files, int n);                  /* the exit status */
#endif
