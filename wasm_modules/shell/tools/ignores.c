/* ignores.c - the language of .gitignore: globs of which the last that matches counts, ! for exceptions, ** for any directories. */
#include "ignores.h"
#include "files.h"
#include "patterns.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

void ignore_add(ignore_list *l, const char *base, const char *pattern, int fold) {
    size_t n = strcspn(pattern, "\r\n");
    while (n && pattern[n - 1] == ' ' && (n < 2 || pattern[n - 2] != '\\')) n--;
    ignore_rule r = {.base = base, .fold = fold};
    if (n && *pattern == '!') { r.negated = 1; pattern++; n--; }
    if (n && pattern[n - 1] == '/') { r.directories = 1; n--; }
    if (!n) return;
    r.anchored = memchr(pattern, '/', n) != NULL;
    if (*pattern == '/') { pattern++; n--; }
    r.pattern = tool_strndup(l->t, pattern, n);
    if (l->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 16;
        l->rules = tool_realloc(l->t, l->rules, l->cap * sizeof *l->rules);
    }
    l->rules[l->n++] = r;
}

void ignore_read(ignore_list *l, const char *base, const char *path) {
    struct stat st;
    io *from = path_stat(path, &st) == 0 && S_ISREG(st.st_mode) ? io_open(path, O_RDONLY, 0) : NULL;
    char *line = NULL;
    size_t cap = 0;
    while (from && io_getdelim(from, &line, &cap, '\n') >= 0) if (*line != '#') ignore_add(l, base, line, 0);
    io_unref(from);
    free(line);
}

/* One step of a path against one of a pattern; both end at a slash. */
static int step_matches(const ignore_list *l, const char *pattern, size_t n, const char *name, size_t m, int fold) {
    char *p = tool_strndup(l->t, pattern, n), *s = tool_strndup(l->t, name, m);
    int hit = glob_matches(p, s, fold, 1);
    tool_free(l->t, p);
    tool_free(l->t, s);
    return hit;
}

/* A whole pattern with slashes against a whole path. Like any matcher of *, it comes back to the last ** only. */
static int path_matches(const ignore_list *l, const char *p, const char *s, int fold) {
    const char *star = NULL, *again = NULL;
    for (;;) {
        size_t n = strcspn(p, "/"), m = strcspn(s, "/");
        if (n == 2 && !memcmp(p, "**", 2)) {
            if (!p[2]) return *s != 0;
            star = p + 3;
            again = s;
            p = star;
            continue;
        }
        if (*p && *s && step_matches(l, p, n, s, m, fold)) {
            p += n + (p[n] == '/');
            s += m + (s[m] == '/');
            if (!*p && !*s) return 1;
            if (*p && *s) continue;
        }
        if (!star || !*again) return 0;
        again += strcspn(again, "/");
        if (!*again) return 0;
        s = ++again;
        p = star;
    }
}

static int rule_matches(const ignore_list *l, const ignore_rule *r, const char *path, int is_directory) {
    size_t n = strlen(r->base);
    if (r->directories && !is_directory) return 0;
    if (n && (strncmp(path, r->base, n) || path[n] != '/')) return 0;
    const char *below = n ? path + n + 1 : path;
    if (!r->anchored) return glob_matches(r->pattern, path_last(below), r->fold, 1);
    return path_matches(l, r->pattern, below, r->fold);
}

int ignore_find(const ignore_list *l, const char *path, int is_directory) {
    for (size_t i = l->n; i-- > 0;)
        if (rule_matches(l, &l->rules[i], path, is_directory)) return l->rules[i].negated ? -1 : 1;
    return 0;
}
