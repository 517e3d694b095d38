/* copying.h - copy a file or a tree: what cp does, and mv where rename(2) cannot. */
#ifndef HATCH_COPYING_H
#define HATCH_COPYING_H
#include "files.h"

/* Where a file with several names was copied to: its other names become links to that. */
typedef struct copied {
    struct copied *next;
    ino_t ino;
    dev_t dev;
    const char *to;
} copied;

typedef struct {
    int recursive, preserve, keep_links, follow_args, no_clobber, update, force, verbose, ask, link, symlink, remove_destination;
    int plain_mode, attributes_only;                /* a new file gets the usual mode; no bytes are copied */
    int backup;                                     /* 0 none, 1 simple ~, 2 numbered */
    const char *suffix;
    copied **linked;                                /* files with several names so far; NULL: each name is a file of its own */
    const char *whole, *into;                       /* a directory that is being copied into itself, and its copy */
    struct stat copy;                               /* of into */
} copy_options;

int copy_path(tool *t, const char *from, const char *to, const copy_options *o, int depth); /* 0, or 1 after a message */
/* Moves an existing path out of the way; its new name, or NULL, in *made. 0, or 1 after a message. */
int make_backup(tool *t, const char *path, const copy_options *o, const char **made);
/* The shape cp, mv and ln share: SOURCE DEST, SOURCE... DIRECTORY, -t DIRECTORY SOURCE... Calls each for every pair. */
typedef int pair_fn(tool *t, const char *from, const char *to, void *context);
int for_each_pair(tool *t, char **operands, int n, const char *target_dir, int no_target_dir, pair_fn *each, void *context);
#endif
