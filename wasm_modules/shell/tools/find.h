/* find.h - find's expression and state, shared by find.c, find_parse.c, find_test.c and find_print.c. */
#ifndef HATCH_FIND_H
#define HATCH_FIND_H
#include "dates.h"
#include "patterns.h"
#include <sys/stat.h>

enum {
    F_AND,
    F_OR,
    F_COMMA,
    F_NOT,
    F_NAME,
    F_PATH,
    F_REGEX,
    F_TYPE,
    F_SIZE,
    F_EMPTY,
    F_TIME,
    F_NEWER,
    F_ID,
    F_FSTYPE,
    F_SAMEFILE,
    F_PERM,
    F_USER,
    F_LINKS,
    F_INUM,
    F_LNAME,
    F_ACCESS,
    F_TRUE,
    F_FALSE,
    F_PRUNE,
    F_QUIT,
    F_PRINT,
    F_PRINTF,
    F_LS,
    F_DELETE,
    F_EXEC,
    F_OPTION
};

typedef struct fnode {
    int kind, fold, sign, plus, argc;
    const char *name, *text;
    io *to;                            /* of -fprint and its kin; NULL: standard output */
    long long number, unit;
    moment when;
    regex *regex;
    char **argv;                       /* of -exec */
    char **batch;                      /* of -exec ... +: paths waiting */
    int batch_n, batch_cap;
    size_t batch_bytes;
    struct fnode *a, *b;
} fnode;

typedef struct fout { const char *path; io *to; struct fout *next; } fout;
typedef struct fentry {
    const char *path, *root;
    struct stat st;
    int depth;
    const struct fentry *up;           /* the directory it is in; NULL for a starting point */
} fentry;

typedef struct {
    tool *t;
    int argc, at, most, least, depth_first, follow, regex_flags, acts, failed, status, pruned, quit, depth;
    int regex_posix;                   /* -regextype named another language than Emacs's */
    int whole_days;                    /* -daystart came before */
    int deletes, prunes;               /* the expression has -delete, -prune */
    char **argv;
    moment now;
    fnode *tree;
    fout *outs;
} find_state;

fnode *find_parse(find_state *f);            /* NULL after a message */
fnode *find_make(find_state *f, int kind);
int find_check_format(find_state *f, const char *format);   /* of -printf: warns; 0 when it cannot be used */
io *find_output(find_state *f, const char *path);           /* the file of -fprint, opened once; NULL after a message */
void find_print_formatted(find_state *f, io *to, const char *format, const fentry *e);
void find_list(find_state *f, io *to, const fentry *e);     /* -ls */
char find_type_letter(const struct stat *st);
int find_test(find_state *f, fnode *n, fentry *e);
void find_flush(find_state *f, fnode *n);   /* runs what -exec ... + still holds */
#endif
