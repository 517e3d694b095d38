/* complete.h - the names of completion's options and actions: between b_complete.c, which keeps them, and b_compgen.c. */
#ifndef HATCH_COMPLETE_H
#define HATCH_COMPLETE_H
/* One bit each; 0 when there is no such name. */
unsigned completion_option(const char *name);
unsigned completion_action(const char *name);
unsigned completion_letter(int letter);
#endif
