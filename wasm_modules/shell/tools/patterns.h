/* patterns.h - regular expressions that live as long as the tool's call, and shell globs. */
#ifndef HATCH_PATTERNS_H
#define HATCH_PATTERNS_H
#include "../regex.h"
#include "../tool.h"

regex *pattern_compile(
    tool *t, const char *text, size_t n, int flags, const char **error); /* freed with the arena; NULL: *error */
int glob_matches(
    const char *pattern, const char *name, int fold, int pathname); /* fnmatch: * ? [...] \; pathname: / only by itself */
#endif
