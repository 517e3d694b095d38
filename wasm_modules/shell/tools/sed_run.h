/* sed_run.h - the running script: what sed_run.c, sed_input.c and sed_replace.c share. */
#ifndef HATCH_SED_RUN_H
#define HATCH_SED_RUN_H
#include "held.h"
#include "sed.h"

/* What is to be written at the end of the cycle. */
typedef struct appended { const char *text; size_t n; const char *path; io *line_from; struct appended *next; } appended;

typedef struct {
    sed_script *s;
    tool *t;
    char **files;
    int file_n, next_file, status, delim;
    io *in;                              /* the open input, NULL before the first and after the last */
    const char *name;                    /* of the open input; with --follow-symlinks what it leads to */
    buffer ahead;                        /* the line read ahead, to know the last one */
    int have_ahead, ahead_newline;
    buffer space, hold;
    int newline;                         /* whether the line in the pattern space ended with the delimiter */
    int hold_newline;
    unsigned long line;
    int replaced, quit, exit_code, at_q; /* at_q: quit by q, which ends the last line with a newline */
    appended *queue, **queue_end;
    regex *last;
    char *temp;                          /* in-place: the new file, */
    sed_output edit;                     /* ... and the stream to it */
    int failed_write;
    held_out held;                       /* standard output */
} machine;

/* sed_input.c */
sed_output *sed_target(machine *m);
void sed_put(machine *m, sed_output *o, const char *text, size_t n, int newline);
void sed_put_raw(machine *m, sed_output *o, const char *text, size_t n);
void sed_close_input(machine *m);
int sed_is_last(machine *m);
int sed_read_line(machine *m, int append);

/* sed_replace.c */
void sed_run_shell(machine *m, const char *command, buffer *output);
void sed_run_space(machine *m);
int sed_substitute(machine *m, sed_command *k);
void sed_transliterate(machine *m, const sed_command *k);
void sed_list_space(machine *m, int width);
#endif
