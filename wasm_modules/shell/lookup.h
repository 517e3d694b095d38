/* lookup.h - the boundary between lookup.c and script.c. */
#ifndef HATCH_LOOKUP_H
#define HATCH_LOOKUP_H
#include "tool.h"
int run_tool(const tool_entry *e, int argc, char **args);   /* with the shell's streams; the arguments are copied */
bool is_shell_command(const char *name);                 /* bash, sh, or a file that may be a script */
#endif
