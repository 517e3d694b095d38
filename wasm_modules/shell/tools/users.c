/* users.c - see users.h. */
#include "users.h"
#ifndef __wasi__
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

unsigned user_id(void) { return geteuid(); }
unsigned group_id(void) { return getegid(); }
unsigned file_owner(const struct stat *st) { return st->st_uid; }
unsigned file_group(const struct stat *st) { return st->st_gid; }

const char *user_name(tool *t, unsigned id) {
    struct passwd *p = getpwuid(id);
    return p ? tool_strdup(t, p->pw_name) : tool_format(t, "%u", id);
}

const char *group_name(tool *t, unsigned id) {
    struct group *g = getgrgid(id);
    return g ? tool_strdup(t, g->gr_name) : tool_format(t, "%u", id);
}
#else
unsigned user_id(void) { return 1000; }
unsigned group_id(void) { return 1000; }
unsigned file_owner(const struct stat *st) { (void)st; return 1000; }
unsigned file_group(const struct stat *st) { (void)st; return 1000; }
const char *user_name(tool *t, unsigned id) { return id == 1000 ? "user" : tool_format(t, "%u", id); }
const char *group_name(tool *t, unsigned id) { return id == 1000 ? "user" : tool_format(t, "%u", id); }
#endif
