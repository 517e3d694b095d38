/* diff.h - what the files of diff share. */
#ifndef HATCH_DIFF_H
#define HATCH_DIFF_H
#include "compare.h"
#include "dates.h"
#include "../regex.h"

typedef struct { const char *name; buffer text; span_list lines; int no_newline, missing; moment when; } diff_file;

typedef struct {
    tool *t;
    int mode;                      /* 0 normal, u c y e */
    size_t context, width;
    int brief, report_same, recursive, new_file, fold, all_space, space_change, trailing, blank_lines, text, strip_cr, suppress, left_column, color;
    regex *ignore;
    const char *label[2], *exclude[32];
    int label_n, exclude_n;
    buffer options;                /* as given, for the titles of -r */
} diff_state;

void diff_print(diff_state *s, diff_file *f[2], const hunk_list *hunks, const char *title);
#endif
