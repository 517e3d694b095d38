/* child.h - a shell that is to run inside this one, between script.c, which finds out what it is, child.c, which runs it, and
 * enclosure.c, where a job runs it in pieces. */
#ifndef HATCH_CHILD_H
#define HATCH_CHILD_H
#include "sh.h"

/* How a new shell is started: option letters, then, behind a blank, names with their signs; and the file it reads first. */
typedef struct { const char *options, *rc_file; bool login, no_profile, no_rc, plain, restricted; } start;

/* text NULL: what is on its input. argv[0] becomes $0; it ends with a NULL. */
typedef struct { const char *text; size_t len; int argc; char **argv; bool is_command; start how; } child;

char *read_file(const char *path, size_t *len);         /* script.c: malloc'ed, NULL on an error */
int child_run(const child *c);                          /* to its end; its status */
bool child_fits(const char *name);                      /* false after a message: shells are nested too deeply */
void child_become(const child *c, int64_t pid);         /* the subshell that is running turns into it, with this $$ */
int child_catch(int argc, char **argv, child *c);       /* runs the command, unless that is a child shell: then c->text is set */
void child_pass(void);                                  /* the command that was to be caught is no shell */
void child_free(child *c);
#endif
