/* files.h - what the file tools share: path joining, walking directories in order, describing a file's type and bits. */
#ifndef HATCH_FILES_H
#define HATCH_FILES_H
#include "../tool.h"
#include <sys/stat.h>

char *path_join(tool *t, const char *dir, const char *name);
const char *path_last(const char *path);                    /* what follows the last slash that something follows */
char *path_strip(tool *t, const char *path);                /* without trailing slashes */
char *path_real(tool *t, const char *path, int missing); /* absolute, no links, no . or ..; missing: 0 all must exist, 1 all but
                                                            the last, 2 none need to; NULL and errno */
char **directory_names(tool *t, const char *path, size_t *n); /* sorted by bytes, without . and ..; NULL and errno */
void mode_text(const struct stat *st, char to[11]);         /* drwxr-xr-x */
const char *type_text(const struct stat *st);               /* "regular file", "directory", ... as stat(1) says */
unsigned long long file_blocks(const struct stat *st);      /* of 512 bytes */
/* Names a file has. WASI says 1 for directories: each has its name, its own . and a .. in every directory it holds. */
unsigned long long link_count(tool *t, const char *path, const struct stat *st);
char *human_size(tool *t, unsigned long long bytes, int si);  /* 1.5K, as ls -h rounds up */
/* chmod's language: 755, u+x,go=r, a+X, =rw; 0, or -1 when malformed. bits is changed in place. */
int mode_apply(const char *text, unsigned *bits, int is_dir, unsigned mask);
#endif
