/* ls.h - what the files of ls share: ls.c (directories, order), ls_options.c (command line) and ls_print.c (lines and columns).
 */
#ifndef HATCH_LS_H
#define HATCH_LS_H
#include "buffer.h"
#include "dates.h"
#include <sys/stat.h>

typedef struct { char *name, *path, *target; struct stat st; int ok, leads_to_dir; } ls_entry;

typedef struct {
    int all, almost, dirs_as_files, recursive, reverse, sort, time, format, human, si, kilo, inode, blocks, numeric, no_owner,
        no_group;
    int indicator, follow, follow_args, dirs_first, quote, escape, hide_control, color, zero, full_time, author, width,
        shell_quote, no_tabs;
    int blanks;                        /* -b leaves them as they are */
    int cite;                          /* ‘names’ as in messages */
    int plain_quote;                   /* the shell's quotes alone, without $'\n' */
    unsigned long long unit_bytes;         /* --block-size, 0 for none */
    const char *unit;                      /* its name, shown behind the size; "" when it was a number */
    const char *time_style, *ignore[16], *hide;
    int ignores, status, printed;
    const ls_entry *beside;                /* operands that are listed later, but count for the widths of columns */
    size_t beside_n;
} ls_state;

enum { NO_WIDTH = 1000000 };               /* -w0: all in one line */
enum { SORT_NAME, SORT_TIME, SORT_SIZE, SORT_NONE, SORT_VERSION, SORT_EXTENSION, SORT_WIDTH };

int ls_options(tool *t, tool_opts *o, ls_state *s);                              /* 0, or the status after a message */
moment ls_time_of(const ls_state *s, const struct stat *st);                     /* the one of -c, -u or neither */
char *ls_blocks_text(tool *t, const ls_state *s, unsigned long long blocks);
int ls_print_long(tool *t, const ls_state *s, ls_entry *v, size_t n);            /* -1 when a write fails */
void ls_print_title(tool *t, const ls_state *s, const char *path);               /* the line above a directory's entries */
int ls_print_short(tool *t, const ls_state *s, ls_entry *v, size_t n);
#endif
