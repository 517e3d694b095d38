/* find.c - walk directory trees and act on what matches. The expression is parsed in find_parse.c, tests are in find_test.c, what
 * is printed in find_print.c. */
#include "find.h"
#include "files.h"
#include <errno.h>
#include <string.h>

/* Whether a followed link leads back into a directory above; says so. */
static int is_loop(find_state *f, const fentry *e) {
    if (f->follow != 'L' || !S_ISDIR(e->st.st_mode)) return 0;
    for (const fentry *up = e->up; up; up = up->up) {
        if (up->st.st_ino != e->st.st_ino || up->st.st_dev != e->st.st_dev) continue;
        f->status = tool_fail(f->t, 1, "File system loop detected; %s is part of the same file system loop as %s.",
            tool_cite(f->t, e->path), tool_cite(f->t, up->path));
        return 1;
    }
    return 0;
}

static void walk(find_state *f, const char *path, const char *root, const fentry *up) {
    int depth = up ? up->depth + 1 : 0;
    fentry e = {.path = path, .root = root, .depth = depth, .up = up};
    int failed = f->follow == 'L' || (f->follow == 'H' && !depth) ? path_stat(path, &e.st) : path_lstat(path, &e.st);
    if (failed && f->follow) failed = path_lstat(path, &e.st);
    if (failed) { f->status = tool_fail_errno(f->t, 1, "%s", tool_cite(f->t, path)); return; }
    if (is_loop(f, &e)) return;
    if (depth > 500 || tool_too_deep(f->t)) { f->status = tool_fail(f->t, 1, "%s: directories nest too deep", path); return; }
    f->pruned = 0;
    if (!f->depth_first && depth >= f->least) find_test(f, f->tree, &e);
    int pruned = f->pruned;
    f->pruned = 0;
    if (S_ISDIR(e.st.st_mode) && !pruned && depth < f->most && !f->quit) {
        size_t n;
        char **names = directory_names(f->t, path, &n);
        if (!names) f->status = tool_fail_errno(f->t, 1, "%s", tool_cite(f->t, path));
        for (size_t i = 0; names && i < n && !f->quit; i++) {
            char *child = path_join(f->t, path, names[i]);
            walk(f, child, root, &e);
        }
    }
    if (f->depth_first && depth >= f->least && !f->quit) find_test(f, f->tree, &e);
}

int tool_find_files(tool *t, int argc, char **argv) {
    find_state f = {.t = t, .argc = argc, .argv = argv, .most = 1000000, .now = moment_now(), .at = 1};
    for (; f.at < argc && argv[f.at][0] == '-' && argv[f.at][1] && strchr("LHPOD", argv[f.at][1]); f.at++) {
        int letter = argv[f.at][1];
        if (letter != 'O' && argv[f.at][2]) break;
        if (letter == 'D') f.at += f.at + 1 < argc;
        else if (letter != 'O') f.follow = letter == 'P' ? 0 : letter;
    }
    int first = f.at;
    while (f.at < argc && argv[f.at][0] != '-' && strcmp(argv[f.at], "(") && strcmp(argv[f.at], "!") && strcmp(argv[f.at], ")")
           && strcmp(argv[f.at], ","))
        f.at++;
    int roots = f.at - first;
    if (f.at < argc) {
        f.tree = find_parse(&f);
        if (!f.tree) return f.failed ? f.failed : 1;
    } else f.tree = find_make(&f, F_TRUE);
    if (!f.acts) {
        fnode *both = find_make(&f, F_AND);
        both->a = f.tree;
        both->b = find_make(&f, F_PRINT);
        both->b->name = "-print";
        f.tree = both;
    }
    if (!roots) walk(&f, ".", ".", NULL);
    for (int i = 0; i < roots && !f.quit; i++) walk(&f, argv[first + i], argv[first + i], NULL);
    find_flush(&f, f.tree);
    for (fout *o = f.outs; o; o = o->next) io_unref(o->to);
    return io_failed(t->out) ? 1 : f.status;
}
