/* tar.h - what the files of tar share: tar.c (command line), tar_operands.c (what is meant), tar_write.c (create, append, delete), tar_read.c (list, extract,
 * compare) and tar_archive.c (headers, names, the archive as a whole).
 */
#ifndef HATCH_TAR_H
#define HATCH_TAR_H
#include "buffer.h"
#include "dates.h"
#include <sys/stat.h>

enum { TAR_BLOCK = 512 };

enum { TAR_GZIP = 1, TAR_BZIP2 };

/* An option whose place counts: kind is its letter, 'E' --exclude, TAR_FLAT --no-recursion; at: operands that came before it. */
enum { TAR_FLAT = 1 };
typedef struct { int kind, at; const char *text; } tar_event;
/* What holds for one operand: the directory to be in, how many of the patterns that exclude, whether directories stay empty. */
typedef struct { const char *dir; int exclude_n, flat; } tar_place;

typedef struct {
    tool *t;
    int wildcards, full_time;
    int update;                       /* append only what is newer than in the archive */
    int has_list;                     /* -T: names come from a file, which may be empty */
    int packing;                                     /* how the archive is compressed: TAR_GZIP, TAR_BZIP2, 0 not at all */
    int mode, verbose, to_stdout, strip, absolute, deref, no_recursion, touch, remove, ignore_unreadable, numeric, totals;
    int keep;                         /* existing files: 'k' are an error, 's' stay, 'n' stay when newer, 'o' are written into; 0 are replaced */
    int copy_links;                   /* --hard-dereference: each name of a file with its content */
    int show_changed;                 /* list names as they would be extracted */
    size_t record_bytes;              /* the archive is filled up to a multiple */
    struct late_directory { struct late_directory *next; const char *path; struct timespec time; unsigned bits; } *late;
    int same_bits;
    const char *file, *dir, **exclude, *transform, *top;   /* top: everything is extracted below it */
    int exclude_n;
    const char *owner, *group, *set_mode;
    moment mtime, newer;              /* to store; the oldest that is stored */
    int has_mtime, has_newer;
    buffer data;                      /* the archive */
    char **names;
    tar_place *places;                /* of each name */
    int name_n;
    tar_event *events;
    int event_n, null_lists, misplaced;
    struct tar_linked *linked;        /* files with several names that are in the archive already */
    size_t linked_n;
} tar_state;

typedef struct {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100], magic[8], user[32], group[32],
        major[8], minor[8], prefix[155], pad[12];
} tar_header;

/* One member as it lies in the archive: begin..end are its blocks, with those of its long name. */
typedef struct {
    const tar_header *h;
    char *name, *link;
    const char *content;
    unsigned long long size;
    size_t begin, end;
} tar_member;

/* tar_operands.c */
void tar_option_at(tar_state *s, int kind, int at, const char *text);
int tar_take_operands(tar_state *s, char **operands, int n, int writes);    /* 0, or 2 after a message */

/* tar_archive.c */
void tar_put_octal(char *to, size_t n, unsigned long long v);
unsigned long long tar_get_octal(const char *p, size_t n);
void tar_put_header(tar_state *s, tar_header *h);
void tar_pad(tar_state *s);
int tar_excluded(const tar_state *s, const char *path);
int tar_wanted(tar_state *s, const char *name, int *seen);       /* seen[i]: operand i was found */
/* As --transform says, which is substitutions in sed's language (with x for -E), done by sed. kind: r for a member's own name,
 * s and h for what a symbolic and a hard link lead to. */
char *tar_renamed(tar_state *s, const char *name, int kind);
int tar_next(tar_state *s, size_t *at, tar_member *m);           /* 1, 0 at the end, -1 after a message */
int tar_load(tar_state *s);
int tar_store(tar_state *s);
int tar_failed(tar_state *s);                                    /* "Exiting with failure status ..."; 2 */

/* tar_write.c, tar_read.c */
int tar_create(tar_state *s, int append);
int tar_concatenate(tar_state *s);
int tar_delete(tar_state *s);
int tar_read(tar_state *s);                                      /* t x d */
#endif
