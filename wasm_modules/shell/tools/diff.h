/* diff.h - what the files of diff share. */
#ifndef HATCH_DIFF_H
#define HATCH_DIFF_H
#include "compare.h"
#include "dates.h"
#include "../regex.h"

typedef struct { const char *name; buffer text; span_list lines; int no_newline, missing; moment when; } diff_file;

typedef struct {
    tool *t;
    int mode;                      /* 0 or N normal, u c y e n, F: forward ed, f: formats of the user's own */
    int styles;                    /* how many different ones were asked for */
    size_t context, width, tab_columns;
    int brief, report_same, recursive, new_file, new_second, no_follow, fold, all_space, space_change, trailing, blank_lines, text, strip_cr,
        suppress, left_column, color;
    regex *ignore, *function;      /* function: -p and -F, lines that title what follows them */
    const char *label[2], *exclude[32], *starting;
    int label_n, exclude_n;
    buffer options;                /* as given, for the titles of -r */
    const char *line_format[3], *group_format[4]; /* of old, new, unchanged and (groups) changed lines; NULL: the default */
    int initial_tab, expand_tabs, tab_expansion;
} diff_state;

/* diff_format.c */
void diff_print_formatted(diff_state *s, diff_file *f[2], const hunk_list *hunks);
void diff_use_ifdef(diff_state *s, const char *name);                       /* -D */

void diff_print(diff_state *s, diff_file *f[2], const hunk_list *hunks, const char *title);
#endif
