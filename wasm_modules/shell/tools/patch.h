/* patch.h - a patch as read: files, and hunks of lines marked ' ', '-' and '+'. patch_read.c reads it, patch.c applies it; scripts
 * of diff -e are read and applied by patch_ed.c. */
#ifndef HATCH_PATCH_H
#define HATCH_PATCH_H
#include "buffer.h"

typedef struct { char mark; span text; int no_newline; } patch_line;
typedef struct { size_t old_at, old_n, new_at, new_n; patch_line *lines; size_t n, cap; } patch_hunk;
typedef struct { span_list lines; size_t at; } patch_text;
enum { PATCH_UNIFIED, PATCH_CONTEXT, PATCH_NORMAL };

int patch_line_starts(span line, const char *text);
const char *patch_name(tool *t, span line, int strip); /* of a "--- name<tab>date" line; strip as -p, -1 for the last part */
int patch_is_epoch(tool *t, span line);          /* its date is the beginning of time: there is no such file */
int patch_next_hunk(tool *t, patch_text *p, int kind, patch_hunk *h); /* 0 when there is none at the cursor */
int patch_is_ed(span line);                     /* whether it is a command of diff -e */
int patch_ed_apply(tool *t, patch_text *p, span_list *lines); /* patch_ed.c: all edits at the cursor; -1: no such lines */
void patch_reverse(patch_hunk *h);
#endif
