/* history.h - the list of commands that history and fc show, and who adds to it. */
#ifndef HATCH_HISTORY_H
#define HATCH_HISTORY_H
#include "sh.h"
/* under set -o history: the text of commands about to run, as it was read; each that HISTCONTROL and HISTIGNORE let through */
void history_record(const char *text, size_t n);
#endif
