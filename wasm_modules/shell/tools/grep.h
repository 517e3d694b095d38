/* grep.h - what the files of grep and rg share. */
#ifndef HATCH_GREP_H
#define HATCH_GREP_H
#include "buffer.h"
#include "patterns.h"

enum { GREP_GLOBS = 64 };

enum {
    COLOR_MATCH,
    COLOR_CONTEXT_MATCH,
    COLOR_NAME,
    COLOR_NUMBER,
    COLOR_OFFSET,
    COLOR_SEPARATOR,
    COLOR_SELECTED,
    COLOR_CONTEXT,
    COLORS
};

typedef struct {
    tool *t;
    int matcher;                                     /* the letter of -E -F -G -P, 0 when none was given */
    const char *colors[COLORS];
    regex *regex;
    buffer pattern;
    int patterns, have_pattern, no_patterns, syntax, icase, invert, word, whole_line, count_only, list, quiet, silent, numbers,
        only, recursive, text, offsets, delim;
    int null_names, tab, color, skip_binary, skip_dirs, names,
        old_context; /* names: 1 always, -1 never, 2 only below directories */
    unsigned long most, before, after;
    int context;                                     /* -A -B -C were given, even as 0 */
    const char *label, *separator;
    const char *replace;                             /* rg: printed for each match, with $1 for its groups */
    int columns, found_only;                         /* rg: where the first match begins; no counts of 0 */
    struct { int kind; const char *pattern; } glob[GREP_GLOBS];
    int globs;
    int matched, failed, stop, printed_any;
} grep_state;

void grep_path(grep_state *g, const char *path, int depth, int implied); /* a file, "-", or with -r a directory */
#endif
