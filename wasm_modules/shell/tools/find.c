/* find.c - walk directory trees and act on what matches. Options and the expression are parsed here, tests are in find_test.c. */
#include "find.h"
#include "files.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static fnode *make(find_state *f, int kind) {
    fnode *n = tool_alloc(f->t, sizeof *n);
    n->kind = kind;
    return n;
}

static const char *word(find_state *f) { return f->at < f->argc ? f->argv[f->at] : NULL; }

/* +N, N, -N with an optional unit letter; -1 when malformed. */
static int take_number(find_state *f, const char *arg, fnode *n, int units) {
    n->sign = *arg == '+' ? 1 : *arg == '-' ? -1 : 0;
    if (n->sign) arg++;
    char *end;
    n->number = strtoll(arg, &end, 10);
    n->unit = 1;
    if (end == arg) return -1;
    if (units) {
        n->unit = 512;
        switch (*end) {
        case 'c': n->unit = 1; end++; break;
        case 'w': n->unit = 2; end++; break;
        case 'b': n->unit = 512; end++; break;
        case 'k': n->unit = 1024; end++; break;
        case 'M': n->unit = 1024 * 1024; end++; break;
        case 'G': n->unit = 1024LL * 1024 * 1024; end++; break;
        }
    }
    (void)f;
    return *end ? -1 : 0;
}

static fnode *expression(find_state *f);

static fnode *take_exec(find_state *f, fnode *n) {
    int start = f->at;
    n->argv = f->argv + start;
    for (; f->at < f->argc; f->at++) {
        const char *w = f->argv[f->at];
        if (!strcmp(w, ";")) break;
        if (!strcmp(w, "+") && f->at > start && !strcmp(f->argv[f->at - 1], "{}")) { n->plus = 1; break; }
    }
    if (f->at >= f->argc || f->at == start) { f->failed = tool_fail(f->t, 1, "missing argument to `%s'", n->name); return NULL; }
    n->argc = f->at++ - start;
    if (n->plus) n->argc--;
    f->acts = 1;
    return n;
}

static const struct {
    const char *name;
    int kind, args;
} primaries[] = {{"-name", F_NAME, 1}, {"-iname", F_NAME, 1}, {"-path", F_PATH, 1}, {"-ipath", F_PATH, 1},
    {"-wholename", F_PATH, 1}, {"-regex", F_REGEX, 1}, {"-iregex", F_REGEX, 1}, {"-type", F_TYPE, 1}, {"-xtype", F_TYPE, 1},
    {"-size", F_SIZE, 1}, {"-empty", F_EMPTY, 0}, {"-mtime", F_TIME, 1}, {"-atime", F_TIME, 1}, {"-ctime", F_TIME, 1},
    {"-mmin", F_TIME, 1}, {"-amin", F_TIME, 1}, {"-cmin", F_TIME, 1}, {"-newer", F_NEWER, 1}, {"-perm", F_PERM, 1},
    {"-user", F_USER, 1}, {"-group", F_USER, 1}, {"-links", F_LINKS, 1}, {"-inum", F_INUM, 1}, {"-lname", F_LNAME, 1},
    {"-executable", F_ACCESS, 0}, {"-readable", F_ACCESS, 0}, {"-writable", F_ACCESS, 0}, {"-true", F_TRUE, 0},
    {"-false", F_FALSE, 0}, {"-prune", F_PRUNE, 0}, {"-quit", F_QUIT, 0}, {"-print", F_PRINT, 0}, {"-print0", F_PRINT, 0},
    {"-printf", F_PRINTF, 1}, {"-ls", F_LS, 0}, {"-delete", F_DELETE, 0}, {"-exec", F_EXEC, 0}, {"-execdir", F_EXEC, 0},
    {"-ok", F_EXEC, 0}, {"-maxdepth", F_OPTION, 1}, {"-mindepth", F_OPTION, 1}, {"-depth", F_OPTION, 0}, {"-d", F_OPTION, 0},
    {"-follow", F_OPTION, 0}, {"-mount", F_OPTION, 0}, {"-xdev", F_OPTION, 0}, {"-regextype", F_OPTION, 1},
    {"-nowarn", F_OPTION, 0}, {"-warn", F_OPTION, 0}, {"-noleaf", F_OPTION, 0}, {"-daystart", F_OPTION, 0},
    {"-ignore_readdir_race", F_OPTION, 0}, {"-newermt", F_NEWERMT, 1}, {"-samefile", F_SAMEFILE, 1}, {"-fprint", F_FPRINT, 1}};

static fnode *take_option(find_state *f, fnode *n) {
    if (!strcmp(n->name, "-maxdepth") || !strcmp(n->name, "-mindepth")) {
        char *end;
        long v = strtol(n->text, &end, 10);
        if (end == n->text || *end || v < 0) {
            f->failed = tool_fail(
                f->t, 1, "Expected a positive decimal integer argument to %s, but got %s", n->name, tool_cite(f->t, n->text));
            return NULL;
        }
        if (n->name[2] == 'a') f->most = (int)v; else f->least = (int)v;
    } else if (!strcmp(n->name, "-depth") || !strcmp(n->name, "-d")) f->depth_first = 1;
    else if (!strcmp(n->name, "-follow")) f->follow = 'L';
    else if (!strcmp(n->name, "-regextype"))
        f->regex_flags = strstr(n->text, "extended") || strstr(n->text, "egrep") || strstr(n->text, "awk") ? REGEX_EXTENDED : 0;
    n->kind = F_TRUE;
    return n;
}

static fnode *primary(find_state *f) {
    const char *w = word(f);
    if (!strcmp(w, "(") || !strcmp(w, "\\(")) {
        f->at++;
        if (++f->depth > 100) { f->failed = tool_fail(f->t, 1, "expression nests too deep"); return NULL; }
        fnode *n = expression(f);
        if (!n) return NULL;
        if (!word(f) || strcmp(word(f), ")")) {
            f->failed = tool_fail(f->t, 1, "invalid expression; I was expecting to find a ')' somewhere but did not see one.");
            return NULL;
        }
        f->at++;
        f->depth--;
        return n;
    }
    if (!strcmp(w, "!") || !strcmp(w, "-not")) {
        f->at++;
        fnode *n = make(f, F_NOT);
        if (!word(f)) { f->failed = tool_fail(f->t, 1, "expected an expression after '%s'", w); return NULL; }
        return (n->a = primary(f)) ? n : NULL;
    }
    for (size_t i = 0; i < sizeof primaries / sizeof *primaries; i++) {
        if (strcmp(primaries[i].name, w)) continue;
        fnode *n = make(f, primaries[i].kind);
        const char *error;
        n->name = w;
        f->at++;
        if (primaries[i].args) {
            if (!word(f)) { f->failed = tool_fail(f->t, 1, "missing argument to `%s'", w); return NULL; }
            n->text = f->argv[f->at++];
        }
        n->fold = w[1] == 'i' && strcmp(w, "-inum");
        struct stat st;
        int bad = 0;
        switch (n->kind) {
        case F_OPTION: return take_option(f, n);
        case F_EXEC: return take_exec(f, n);
        case F_SIZE: bad = take_number(f, n->text, n, 1) < 0; break;
        case F_TIME: case F_LINKS: case F_INUM: bad = take_number(f, n->text, n, 0) < 0; break;
        case F_REGEX:
            n->regex = pattern_compile(
                f->t, n->text, strlen(n->text), f->regex_flags | REGEX_LINE | (n->fold ? REGEX_ICASE : 0), &error);
            if (!n->regex) { f->failed = tool_fail(f->t, 1, "%s", error); return NULL; }
            break;
        case F_NEWER: case F_SAMEFILE:
            if (stat(n->text, &st) < 0) { f->failed = tool_fail_errno(f->t, 1, "%s", tool_cite(f->t, n->text)); return NULL; }
            n->when = st.st_mtim;
            n->number = (long long)st.st_ino;
            break;
        case F_NEWERMT: bad = date_parse(f->t, n->text, f->now, &n->when) < 0; break;
        case F_TYPE:
            for (const char *c = n->text; *c; c++)
                if (!strchr("bcdpflsD,", *c)) {
                    f->failed = tool_fail(f->t, 1, "Unknown argument to %s: %c", w, *c);
                    return NULL;
                }
            break;
        case F_PERM: {
            const char *p = n->text + (*n->text == '-' || *n->text == '/');
            unsigned bits = 0;
            n->sign = *n->text == '-' ? -1 : *n->text == '/' ? 1 : 0;
            bad = mode_apply(p, &bits, 0, 0) < 0;
            n->number = bits;
            break;
        }
        case F_PRINT: case F_PRINTF: case F_LS: case F_FPRINT: f->acts = 1; break;
        case F_DELETE: f->acts = f->depth_first = 1; break;
        }
        if (bad) { f->failed = tool_fail(f->t, 1, "invalid argument `%s' to `%s'", n->text, w); return NULL; }
        return n;
    }
    f->failed = *w == '-' ? tool_fail(f->t, 1, "unknown predicate `%s'", w)
                          : tool_fail(f->t, 1, "paths must precede expression: `%s'", w);
    return NULL;
}

static fnode *conjunction(find_state *f) {
    fnode *left = primary(f);
    while (left && word(f)) {
        const char *w = word(f);
        if (!strcmp(w, "-o") || !strcmp(w, "-or") || !strcmp(w, ",") || !strcmp(w, ")")) break;
        if (!strcmp(w, "-a") || !strcmp(w, "-and")) {
            f->at++;
            if (!word(f)) {
                f->failed = tool_fail(f->t, 1, "expected an expression after '%s'", w);
                return NULL;
            }
        }
        fnode *n = make(f, F_AND);
        n->a = left;
        if (!(n->b = primary(f))) return NULL;
        left = n;
    }
    return left;
}

static fnode *expression(find_state *f) {
    if (!word(f)) { f->failed = tool_fail(f->t, 1, "invalid expression; empty parentheses are not allowed."); return NULL; }
    fnode *left = conjunction(f);
    while (left && word(f) && strcmp(word(f), ")")) {
        fnode *n = make(f, !strcmp(word(f), ",") ? F_COMMA : F_OR);
        f->at++;
        n->a = left;
        if (!word(f)) { f->failed = tool_fail(f->t, 1, "expected an expression after '%s'", f->argv[f->at - 1]); return NULL; }
        if (!(n->b = conjunction(f))) return NULL;
        left = n;
    }
    return left;
}

static void walk(find_state *f, const char *path, const char *root, int depth) {
    fentry e = {.path = path, .root = root, .depth = depth};
    int failed = f->follow == 'L' || (f->follow == 'H' && !depth) ? stat(path, &e.st) : lstat(path, &e.st);
    if (failed && f->follow) failed = lstat(path, &e.st);
    if (failed) { f->status = tool_fail_errno(f->t, 1, "%s", tool_cite(f->t, path)); return; }
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
            walk(f, child, root, depth + 1);
        }
    }
    if (f->depth_first && depth >= f->least && !f->quit) find_test(f, f->tree, &e);
}

int tool_find_files(tool *t, int argc, char **argv) {
    find_state f = {.t = t, .argc = argc, .argv = argv, .most = 1000000, .now = moment_now(), .at = 1};
    for (; f.at < argc
           && (!strcmp(argv[f.at], "-L") || !strcmp(argv[f.at], "-H") || !strcmp(argv[f.at], "-P")
               || !strncmp(argv[f.at], "-O", 2));
         f.at++)
        f.follow = argv[f.at][1] == 'P' || argv[f.at][1] == 'O' ? 0 : argv[f.at][1];
    int first = f.at;
    while (f.at < argc && argv[f.at][0] != '-' && strcmp(argv[f.at], "(") && strcmp(argv[f.at], "!") && strcmp(argv[f.at], ")")
           && strcmp(argv[f.at], ","))
        f.at++;
    int roots = f.at - first;
    if (f.at < argc) {
        f.tree = expression(&f);
        if (!f.tree) return f.failed ? f.failed : 1;
        if (f.at < argc) return tool_fail(t, 1, "invalid expression; you have too many ')'");
    } else f.tree = make(&f, F_TRUE);
    if (!f.acts) {
        fnode *both = make(&f, F_AND);
        both->a = f.tree;
        both->b = make(&f, F_PRINT);
        both->b->name = "-print";
        f.tree = both;
    }
    if (!roots) walk(&f, ".", ".", 0);
    for (int i = 0; i < roots && !f.quit; i++) walk(&f, argv[first + i], argv[first + i], 0);
    find_flush(&f, f.tree);
    for (fout *o = f.outs; o; o = o->next) io_unref(o->to);
    return io_failed(t->out) ? 1 : f.status;
}
