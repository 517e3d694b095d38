/* users.c - see users.h. */
#include "users.h"
#ifndef __wasi__
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

unsigned user_id(void) { return geteuid(); }
unsigned group_id(void) { return getegid(); }

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
const char *user_name(tool *t, unsigned id) { return id == 1000 ? "user" : id == 0 ? "root" : tool_format(t, "%u", id); }
const char *group_name(tool *t, unsigned id) { return user_name(t, id); }
#endif

bool user_may(const struct stat *st, unsigned want)
{
    if (user_id() == 0) return want != 1 || st->st_mode & 0111;
    return (st->st_mode >> (st->st_uid == user_id() ? 6 : st->st_gid == group_id() ? 3 : 0) & want) == want;
}
