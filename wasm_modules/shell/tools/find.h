/* find.h - find's expression and state, shared by find.c and find_test.c. */
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
    F_NEWERMT,
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
    F_OPTION,
    F_FPRINT
};

typedef struct fnode {
    int kind, fold, sign, plus, argc;
    const char *name, *text;
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
typedef struct { const char *path, *root; struct stat st; int depth; } fentry;

typedef struct {
    tool *t;
    int argc, at, most, least, depth_first, follow, regex_flags, acts, failed, status, pruned, quit, depth;
    char **argv;
    moment now;
    fnode *tree;
    fout *outs;
} find_state;

int find_test(find_state *f, fnode *n, fentry *e);
void find_flush(find_state *f, fnode *n);   /* runs what -exec ... + still holds */
#endif
