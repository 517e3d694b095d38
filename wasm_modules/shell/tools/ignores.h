/* ignores.h - lists of paths as .gitignore writes them: which of a tree's files a search leaves out. */
#ifndef HATCH_IGNORES_H
#define HATCH_IGNORES_H
#include "../tool.h"

typedef struct {
    const char *base;            /* the directory that the pattern is of, "" for the top */
    char *pattern;
    int negated, directories, anchored, fold;
} ignore_rule;

typedef struct { tool *t; ignore_rule *rules; size_t n, cap; } ignore_list;

void ignore_add(ignore_list *l, const char *base, const char *pattern, int fold);  /* one line of such a file */
void ignore_read(ignore_list *l, const char *base, const char *path);              /* all its lines; none when it is not there */
/* What the last rule says that the path matches: 1 it is on the list, -1 it was taken off with !, 0 no rule speaks of it. */
int ignore_find(const ignore_list *l, const char *path, int is_directory);
#endif
