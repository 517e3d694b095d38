/* install.c - install, link, unlink, chown and chgrp. There is one user: giving a file to that user succeeds, to another fails.
 */
#include "copying.h"
#include "users.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int make_directories(tool *t, const char *path, int verbose) {
    char *copy = tool_strdup(t, path);
    struct stat st;
    for (char *p = copy + 1;; p++) {
        if (*p && *p != '/') continue;
        char c = *p;
        *p = '\0';
        if (mkdir(copy, 0777) == 0) {
            if (verbose) io_printf(t->out, "%s: creating directory %s\n", t->name, tool_quote(t, copy));
        } else if (errno == EEXIST && path_stat(copy, &st) == 0 && !S_ISDIR(st.st_mode)) {
            return tool_fail(t, 1, "cannot create directory %s: File exists", tool_cite(t, copy));
        } else if (errno != EEXIST)
            return tool_fail_errno(t, 1, "cannot create directory %s", tool_quote(t, copy));
        *p = c;
        if (!c) return 0;
    }
}

typedef struct { unsigned bits; int verbose; copy_options copy; } install_state;

static int install_one(tool *t, const char *from, const char *to, void *context) {
    install_state *s = context;
    struct stat st;
    if (path_stat(from, &st) == 0 && S_ISDIR(st.st_mode)) return tool_fail(t, 1, "omitting directory %s", tool_quote(t, from));
    struct stat old;
    if (path_stat(from, &st) == 0 && path_stat(to, &old) == 0 && st.st_ino == old.st_ino && st.st_dev == old.st_dev)
        return tool_fail(t, 1, "%s and %s are the same file", tool_quote(t, from), tool_quote(t, to));
    if (s->verbose && !s->copy.backup && path_stat(from, &st) == 0 && path_lstat(to, &old) == 0) io_printf(t->out, "removed %s\n", tool_quote(t, to));
    s->copy.verbose = s->verbose;
    if (copy_path(t, from, to, &s->copy, 0)) return 1;
    return chmod(to, s->bits) < 0 ? tool_fail_errno(t, 1, "cannot change permissions of %s", tool_quote(t, to)) : 0;
}

int tool_install(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"directory", 0, 'd'}, {"mode", 1, 'm'}, {"verbose", 0, 'v'}, {"owner", 1, 'o'},
        {"group", 1, 'g'}, {"target-directory", 1, 't'}, {"no-target-directory", 0, 'T'}, {"compare", 0, 'C'},
        {"preserve-timestamps", 0, 'p'}, {"strip", 0, 's'}, {"backup", 2, 'b'}, {"suffix", 1, 'S'}, {0, 0, 0}};
    install_state s = {.bits = 0755, .copy = {.force = 1, .remove_destination = 1}};
    int directories = 0, leading = 0, c, status = 0, no_target = 0;
    const char *target = NULL;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "dm:vo:g:t:TCDpsbcS:", longs)) != -1;) switch (c) {
        case 'd': directories = 1; break;
        case 'D': leading = 1; break;
        case 'm':
            s.bits = 0;
            if (mode_apply(o.arg, &s.bits, 0, 0) < 0) return tool_fail(t, 1, "invalid mode %s", tool_cite(t, o.arg));
            break;
        case 'v': s.verbose = 1; break;
        case 't': target = o.arg; break;
        case 'T': no_target = 1; break;
        case 'p': s.copy.preserve = 1; break;
        case 'b': s.copy.backup = 1; break;
        case 'S': s.copy.suffix = o.arg; s.copy.backup = 1; break;
        case '?': return 1;
    }
    if (o.index >= argc) { tool_fail(t, 1, "missing file operand"); return tool_usage(t, 1); }
    if (directories) {
        for (int i = o.index; i < argc; i++) { if (make_directories(t, argv[i], s.verbose)) status = 1; else chmod(argv[i], s.bits); }
        return status;
    }
    if (leading) {
        char *to = tool_strdup(t, target ? target : argv[argc - 1]), *slash = strrchr(to, '/');
        if (!target && slash) *slash = '\0';
        if ((target || slash) && make_directories(t, to, s.verbose)) return 1;
    }
    return for_each_pair(t, argv + o.index, argc - o.index, target, no_target, install_one, &s);
}

int tool_link(tool *t, int argc, char **argv) {
    if (argc != 3) {
        if (argc < 3) tool_fail(t, 1, argc < 2 ? "missing operand" : "missing operand after %s", tool_cite(t, argv[argc - 1]));
        else tool_fail(t, 1, "extra operand %s", tool_cite(t, argv[3]));
        return tool_usage(t, 1);
    }
    return link(argv[1], argv[2]) < 0
               ? tool_fail_errno(t, 1, "cannot create link %s to %s", tool_quote(t, argv[2]), tool_quote(t, argv[1]))
               : 0;
}

int tool_unlink(tool *t, int argc, char **argv) {
    if (argc != 2) {
        if (argc < 2) tool_fail(t, 1, "missing operand");
        else tool_fail(t, 1, "extra operand %s", tool_cite(t, argv[2]));
        return tool_usage(t, 1);
    }
    return unlink(argv[1]) < 0 ? tool_fail_errno(t, 1, "cannot unlink %s", tool_quote(t, argv[1])) : 0;
}

/* chown [OWNER][:[GROUP]] FILE..., chgrp GROUP FILE... */
static int give(tool *t, int argc, char **argv, int group_only) {
    static const tool_long longs[] = {{"recursive", 0, 'R'}, {"verbose", 0, 'v'}, {"silent", 0, 'f'}, {"quiet", 0, 'f'},
        {"no-dereference", 0, 'h'}, {"changes", 0, 'c'}, {"reference", 1, 'r'}, {"from", 1, 'F'}, {"dereference", 0, 'd'},
        {"preserve-root", 0, 'd'}, {"no-preserve-root", 0, 'd'}, {0, 0, 0}};
    tool_opts o;
    int c, status = 0, like = 0, verbose = 0;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "RvfhcHLP", longs)) != -1;) {
        if (c == '?') return 1;
        like |= c == 'r';
        verbose |= c == 'v';
    }
    const char *shown = group_only ? group_name(t, group_id()) : user_name(t, user_id());
    if (!group_only && o.index < argc && !like && strchr(argv[o.index], ':'))
        shown = tool_format(t, "%s:%s", shown, group_name(t, group_id()));
    if (argc - o.index < 2 - like) {
        if (o.index >= argc) tool_fail(t, 1, "missing operand");
        else tool_fail(t, 1, "missing operand after %s", tool_cite(t, argv[o.index]));
        return tool_usage(t, 1);
    }
    if (!like) {
        char *whole = tool_strdup(t, argv[o.index++]), *user = group_only ? "" : whole,
             *group = group_only ? whole : whole + strcspn(whole, ":.");
        if (!group_only && *group) *group++ = '\0';
        char uid[16], gid[16];
        snprintf(uid, sizeof uid, "%u", user_id());
        snprintf(gid, sizeof gid, "%u", group_id());
        if (!strcmp(user, "root") && strcmp(uid, "0"))
            return tool_fail(t, 1, "changing ownership of %s: Operation not permitted", tool_quote(t, argv[o.index]));
        if (*user && strcmp(user, user_name(t, user_id())) && strcmp(user, uid))
            return tool_fail(t, 1, "invalid user: %s", tool_cite(t, whole));
        if (*group && strcmp(group, group_name(t, group_id())) && strcmp(group, gid))
            return tool_fail(t, 1, "invalid group: %s", tool_cite(t, group));
    }
    for (int i = o.index; i < argc; i++) {
        struct stat st;
        if (path_lstat(argv[i], &st) < 0) status = tool_fail_errno(t, 1, "cannot access %s", tool_quote(t, argv[i]));
        else if (verbose)
            io_printf(t->out, "%s of %s retained as %s\n", group_only ? "group" : "ownership", tool_quote(t, argv[i]), shown);
    }
    return status;
}

int tool_chown(tool *t, int argc, char **argv) { return give(t, argc, argv, 0); }
int tool_chgrp(tool *t, int argc, char **argv) { return give(t, argc, argv, 1); }
