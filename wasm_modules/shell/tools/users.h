/* users.h - who we are. The sandbox has a single user and group, "user" with the number 1000. */
#ifndef HATCH_USERS_H
#define HATCH_USERS_H
#include "../tool.h"
#include <sys/stat.h>

unsigned user_id(void);
unsigned group_id(void);
const char *user_name(tool *t, unsigned id);       /* its number as text when it has no name */
const char *group_name(tool *t, unsigned id);
bool user_may(const struct stat *st, unsigned want);   /* read (4), write (2), execute or search (1) */
#endif
