/* glob.c - path names: a pattern with slashes to the sorted list of existing files it matches. */
#include "sh.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_DIRS = 64 };
typedef struct { strlist *out; int depth; bool globbed; } walk;   /* globbed: behind the first component that is a pattern */
static void step(walk *w, const char *prefix, const char *pat);

static bool is_dir(const char *path, bool follow)
{
    struct stat st;
    return (follow ? stat(*path ? path : ".", &st) : lstat(*path ? path : ".", &st)) == 0 && S_ISDIR(st.st_mode);
}

static char *joined(const char *prefix, const char *name, bool slash)
{
    strbuf b = { .a = &sh.tmp };
    sb_puts(&b, prefix);
    sb_puts(&b, name);
    if (slash) sb_putc(&b, '/');
    return sb_str(&b);
}

static int match_flags(void) { return PM_EXTGLOB * (sh.shopt[S_EXTGLOB] != 0) | (sh.shopt[S_NOCASEGLOB] ? PM_NOCASE : 0); }

static bool hidden_ok(const char *name, const char *comp)
{
    if (name[0] != '.') return true;
    bool self = !strcmp(name, ".") || !strcmp(name, "..");
    if (self && sh.shopt[S_GLOBSKIPDOTS]) return false;
    if (sh.shopt[S_DOTGLOB] && !self) return true;
    if (comp[0] == '.' || (comp[0] == '\\' && comp[1] == '.')) return true;
    return sh.shopt[S_EXTGLOB] && comp[0] && comp[1] == '(' && strchr("@+?*", comp[0]) && (comp[2] == '.' || strstr(comp, "|."));
}

/* Names in the directory that match one component, sorted. */
static void list_matches(const char *dir, const char *comp, strlist *names)
{
    DIR *d = opendir(*dir ? dir : ".");
    if (!d) return;
    for (struct dirent *e; (e = readdir(d));)
        if (hidden_ok(e->d_name, comp) && pattern_match(comp, e->d_name, match_flags()))
            sl_add(names, arena_strdup(&sh.tmp, e->d_name));
    closedir(d);
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* ** : this directory and every one below it; rest NULL at the end of the pattern. */
static void globstar(walk *w, const char *prefix, const char *rest)
{
    if (w->depth > MAX_DIRS) return;
    strlist names = { .a = &sh.tmp };
    list_matches(prefix, "*", &names);
    if (names.n) qsort(names.v, names.n, sizeof *names.v, by_text);
    if (rest && *rest) step(w, prefix, rest);
    else if (rest) { if (*prefix) sl_add(w->out, (char *)prefix); }
    w->depth++;
    for (size_t i = 0; i < names.n; i++) {
        char *path = joined(prefix, names.v[i], false);
        if (!rest) sl_add(w->out, path);
        if (is_dir(path, false)) globstar(w, joined(prefix, names.v[i], true), rest);
    }
    w->depth--;
}

/* Matches pat below prefix (which is "" or ends in a slash). */
static void step(walk *w, const char *prefix, const char *pat)
{
    if (w->depth > MAX_DIRS * 4) return;
    size_t n = 0;
    int parens = 0;
    while (pat[n] && (pat[n] != '/' || parens > 0)) {
        if (pat[n] == '\\' && pat[n + 1]) { n += 2; continue; }
        if (pat[n] == '(' && n && strchr("?*+@!", pat[n - 1]) && sh.shopt[S_EXTGLOB]) parens++;
        else if (pat[n] == ')' && parens) parens--;
        n++;
    }
    char *comp = arena_strndup(&sh.tmp, pat, n);
    const char *rest = pat + n;
    bool more = *rest == '/';
    size_t slashes = strspn(rest, "/");
    rest += slashes;
    if (sh.shopt[S_GLOBSTAR] && !strcmp(comp, "**")) {
        while (more && !strncmp(rest, "**", 2) && (rest[2] == '/' || !rest[2])) {   /* ** / ** is one ** */
            if (!rest[2]) { more = false; break; }
            rest += 2;
            rest += strspn(rest, "/");
        }
        if (!more && *prefix) {   /* the directory itself, without its slash when a pattern found it */
            size_t len = strlen(prefix);
            while (w->globbed && len > 1 && prefix[len - 1] == '/') len--;
            sl_add(w->out, arena_strndup(&sh.tmp, prefix, len));
        }
        w->globbed = true;
        globstar(w, prefix, more ? rest : NULL);
        return;
    }
    if (!has_glob(comp)) {
        char *name = unescape_pattern(comp);
        char *path = joined(prefix, name, false);
        struct stat st;
        if (!more) { if (lstat(path, &st) == 0) sl_add(w->out, path); return; }
        if (*path && !is_dir(path, true)) return;
        strbuf b = { .a = &sh.tmp };
        sb_puts(&b, path);
        for (size_t i = 0; i < slashes; i++) sb_putc(&b, '/');
        if (!*rest) sl_add(w->out, sb_str(&b)); else { w->depth++; step(w, sb_str(&b), rest); w->depth--; }
        return;
    }
    strlist names = { .a = &sh.tmp };
    list_matches(prefix, comp, &names);
    w->globbed = true;
    for (size_t i = 0; i < names.n; i++) {
        char *path = joined(prefix, names.v[i], false);
        if (!more) { sl_add(w->out, path); continue; }
        if (!is_dir(path, true)) continue;
        path = joined(prefix, names.v[i], true);
        if (!*rest) sl_add(w->out, path); else { w->depth++; step(w, path, rest); w->depth--; }
    }
}

/* A pattern of GLOBIGNORE against a whole path: it has as many slashes, and nothing else matches them. */
static bool match_path(const char *pat, const char *path)
{
    for (;;) {
        size_t k = strcspn(pat, "/"), n = strcspn(path, "/");
        if (!pattern_match_n(arena_strndup(&sh.tmp, pat, k), path, n, match_flags()) || pat[k] != path[n]) return false;
        if (!pat[k]) return true;
        pat += k + 1;
        path += n + 1;
    }
}

static bool ignored(const char *path, const char *list)
{
    char *copy = arena_strdup(&sh.tmp, list);
    for (char *save, *pat = strtok_r(copy, ":", &save); pat; pat = strtok_r(NULL, ":", &save))
        if (match_path(pat, path)) return true;
    return false;
}

void glob_expand(const char *pat, strlist *out)
{
    strlist found = { .a = &sh.tmp };
    walk w = { &found, 0, false };
    const char *ignore = var_get("GLOBIGNORE");
    uint8_t dot = sh.shopt[S_DOTGLOB];
    if (ignore) sh.shopt[S_DOTGLOB] = 1;
    step(&w, "", pat);
    sh.shopt[S_DOTGLOB] = dot;
    if (found.n) qsort(found.v, found.n, sizeof *found.v, by_text);
    for (size_t i = 0; i < found.n; i++)
        if (!ignore || !*ignore || !ignored(found.v[i], ignore)) sl_add(out, found.v[i]);
}
