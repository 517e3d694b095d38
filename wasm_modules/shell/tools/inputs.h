/* inputs.h - the loop most filters share: every file operand, or standard input when there is none. */
#ifndef HATCH_INPUTS_H
#define HATCH_INPUTS_H
#include "../tool.h"

/* As tool_open, but a directory cannot be opened: WASI would read it as empty. */
io *input_open(tool *t, const char *path, int status, int *failed);

/* Calls each for every operand from first on. A file that cannot be opened is reported and makes the result 1; a nonzero result
 * of each ends the loop and is returned. */
typedef int input_fn(tool *t, io *from, const char *name, void *context);
int for_each_input(tool *t, int argc, char **argv, int first, input_fn *each, void *context);

/* --files0-from: the names between NULs in a file ("-": standard input); NULL after a message. */
char **input_names(tool *t, const char *path, int *count);
#endif
