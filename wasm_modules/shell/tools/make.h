/* make.h - what the files of make share: its variables, targets and rules. make_read.c reads makefiles, make_expand.c expands
 * variables and functions, make.c brings targets up to date. */
#ifndef HATCH_MAKE_H
#define HATCH_MAKE_H
#include "buffer.h"

typedef struct { char **v; size_t n, cap; } make_words;

enum { FROM_DEFAULT, FROM_ENVIRONMENT, FROM_FILE, FROM_COMMAND, FROM_OVERRIDE };
typedef struct make_variable {
    struct make_variable *next;
    const char *name;
    char *value;
    int simple, exported, from;
} make_variable;

typedef struct { char **lines; int *at; int n, cap; const char *file; } make_recipe;

typedef struct make_target {
    struct make_target *next;
    const char *name, *stem;
    make_words needs, order;
    make_recipe *recipe;
    make_variable *own;          /* target: NAME = value */
    int phony, state, changed;   /* state: 0 not looked at, 1 being made, 2 made, 3 failed */
} make_target;

typedef struct make_pattern {
    struct make_pattern *next;
    const char *target;
    make_words needs, order;
    make_recipe *recipe;
} make_pattern;

typedef struct {
    tool *t;
    make_variable *variables;
    make_target *targets, *last_target;
    make_pattern *patterns, *last_pattern;
    const make_target *now;      /* whose recipe is expanded */
    const char *now_newer, *goal;
    int dry, silent, keep_going, always, ignore, export_all, one_shell, level, depth, failed, was_read;
    const char *file;            /* being read */
    int line;
} make;

/* make_expand.c */
char *make_expand(make *m, const char *text, size_t n);
char *make_expand_text(make *m, const char *text);
make_variable *make_variable_find(make *m, const char *name);
void make_set(make *m, const char *name, const char *value, int simple, int from);
void make_word_add(make *m, make_words *w, const char *text, size_t n);
void make_split(make *m, make_words *w, const char *text);           /* at blanks */
/* text with % in pattern replaced by with; NULL when the pattern does not match */
char *make_replace(make *m, const char *text, const char *pattern, const char *with);
char *make_stem(make *m, const char *text, const char *pattern);     /* what % stands for; NULL when it does not match */
char *make_shell(make *m, const char *command);                      /* its output, newlines as blanks */
void make_globs(make *m, make_words *to, const char *pattern);       /* the files of a pattern, sorted */

/* make_read.c */
int make_read_file(make *m, const char *path, int optional);         /* 0, or 2 after a message */
int make_read_text(make *m, char *text);                             /* the same, of lines that are at hand */
make_target *make_target_find(make *m, const char *name, int add);
int make_assign(make *m, const char *line, make_target *to, int from);  /* whether the line is NAME = value */

int make_fail(make *m, const char *format, ...) __attribute__((format(printf, 2, 3)));  /* FILE:LINE: *** message.  Stop. */
#endif
