/* rg.c - rg: grep through a tree, as ripgrep does when its output is no terminal. It leaves out what .gitignore (below a
 * repository's top), .ignore and .rgignore name, hidden files and binary ones. Searching one file is grep_search.c.
 */
#include "files.h"
#include "grep.h"
#include "ignores.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    grep_state g;
    ignore_list ignored, globs, types;
    int hidden, no_ignore, no_vcs, list_files, follow, smart, numbers, in_repository;
    long depth;                                      /* -1: any */
    const char *base;                                /* the current directory, from the top of its repository */
} rg_state;

static const struct { const char *name, *globs; } kinds[] = {
    {"c", "*.c *.h"}, {"cpp", "*.cpp *.cc *.cxx *.hpp *.hh *.hxx *.h *.inl"}, {"css", "*.css *.scss"}, {"csv", "*.csv"},
    {"docker", "Dockerfile *.dockerfile"}, {"go", "*.go"}, {"html", "*.html *.htm"}, {"java", "*.java"},
    {"js", "*.js *.jsx *.mjs *.cjs *.vue"}, {"json", "*.json"}, {"log", "*.log"}, {"make", "Makefile makefile GNUmakefile *.mk"},
    {"markdown", "*.md *.markdown"}, {"md", "*.md *.markdown"}, {"php", "*.php"}, {"py", "*.py *.pyi"}, {"python", "*.py *.pyi"},
    {"ruby", "*.rb Gemfile Rakefile"}, {"rust", "*.rs"}, {"sh", "*.sh *.bash *.zsh"}, {"sql", "*.sql"}, {"toml", "*.toml"},
    {"ts", "*.ts *.tsx *.mts *.cts"}, {"txt", "*.txt"}, {"xml", "*.xml *.xsl *.svg"}, {"yaml", "*.yaml *.yml"}};

static int add_kind(rg_state *r, const char *name, int negated) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, name)) continue;
        char *copy = tool_strdup(r->g.t, kinds[i].globs), *save;
        for (char *one = strtok_r(copy, " ", &save); one; one = strtok_r(NULL, " ", &save))
            ignore_add(&r->types, "", negated ? tool_format(r->g.t, "!%s", one) : one, 0);
        return 0;
    }
    return tool_fail(r->g.t, 2, "unrecognized file type: %s", name);
}

/* Whether a list of globs to take lets the path through; with only exceptions, all but those. */
static int is_taken(const ignore_list *l, const char *path, int is_directory) {
    int found = ignore_find(l, path, is_directory), positive = 0;
    for (size_t i = 0; i < l->n; i++) positive |= !l->rules[i].negated;
    return found > 0 || (found == 0 && (is_directory || !positive));
}

/* path from the top of the repository, below from where the search began. */
static int is_left_out(rg_state *r, const char *path, const char *below, int is_directory) {
    int named = ignore_find(&r->globs, below, is_directory);
    if (named < 0 || !is_taken(&r->globs, below, is_directory) || (!is_directory && !is_taken(&r->types, path, 0))) return 1;
    if (named > 0) return 0;
    if (!r->hidden && path_last(path)[0] == '.') return 1;
    return !r->no_ignore && ignore_find(&r->ignored, path, is_directory) > 0;
}

static void read_rules(rg_state *r, const char *dir, const char *base) {
    static const char *const names[] = {".gitignore", ".ignore", ".rgignore"};
    struct stat st;
    tool *t = r->g.t;
    if (r->no_ignore) return;
    if (path_stat(path_join(t, dir, ".git"), &st) == 0) r->in_repository = 1;
    for (int i = r->in_repository && !r->no_vcs ? 0 : 1; i < 3; i++) ignore_read(&r->ignored, base, path_join(t, dir, names[i]));
}

static void take_file(rg_state *r, const char *path) {
    if (!r->list_files) { grep_path(&r->g, path, 1, 0); return; }
    io_puts(r->g.t->out, path);
    io_putc(r->g.t->out, r->g.null_names ? '\0' : '\n');
    r->g.matched = 1;
    if (io_failed(r->g.t->out)) r->g.stop = 1;
}

/* dir as it is opened; shown as it is printed, "" for what is searched without being named; base as rules see it. */
static void search_tree(rg_state *r, const char *dir, const char *shown, const char *base, long depth) {
    size_t n, rules = r->ignored.n;
    tool *t = r->g.t;
    int repository = r->in_repository;
    if (r->depth >= 0 && depth >= r->depth) return;
    char **names = tool_too_deep(t) ? NULL : directory_names(t, dir, &n);
    if (!names) { r->g.failed = 1; tool_fail_errno(t, 2, "%s", dir); return; }
    read_rules(r, dir, base);
    for (size_t i = 0; i < n && !r->g.stop; i++) {
        char *path = path_join(t, dir, names[i]), *of_top = *base ? path_join(t, base, names[i]) : names[i];
        char *name = *shown ? path_join(t, shown, names[i]) : names[i];
        struct stat st;
        if ((r->follow ? path_stat : path_lstat)(path, &st) < 0) continue;
        if (is_left_out(r, of_top, name, S_ISDIR(st.st_mode))) continue;
        if (S_ISDIR(st.st_mode)) search_tree(r, path, name, of_top, depth + 1);
        else if (S_ISREG(st.st_mode)) take_file(r, name);
    }
    r->ignored.n = rules;
    r->in_repository = repository;
}

/* In a directory below the top of a repository: the rules of those above it hold, too. */
static void read_rules_above(rg_state *r) {
    tool *t = r->g.t;
    struct stat st;
    char cwd[4096];
    if (r->no_ignore || !getcwd(cwd, sizeof cwd)) return;
    size_t top = strlen(cwd);
    while (top && path_stat(tool_format(t, "%.*s/.git", (int)top, cwd), &st) < 0) while (top && cwd[--top] != '/') { }
    if (!top || !cwd[top]) return;
    r->base = tool_strdup(t, cwd + top + 1);
    for (size_t at = top; cwd[at]; at += 1 + strcspn(cwd + at + 1, "/"))
        read_rules(r, tool_strndup(t, cwd, at), at > top ? tool_strndup(t, cwd + top + 1, at - top - 1) : "");
}

static void add_pattern(rg_state *r, const char *text) {
    buffer *b = &r->g.pattern;
    int literal = r->g.syntax == REGEX_LITERAL;
    if (r->g.patterns++) buffer_puts(b, literal ? "\n" : "|");
    buffer_puts(b, tool_format(r->g.t, literal ? "%s" : "(?:%s)", text));
}

static int add_pattern_file(rg_state *r, const char *path) {
    int failed = 0;
    io *from = tool_open(r->g.t, path, 2, &failed);
    char *line = NULL;
    size_t cap = 0;
    for (ssize_t n; from && (n = io_getdelim(from, &line, &cap, '\n')) >= 0;) {
        if (n && line[n - 1] == '\n') line[n - 1] = 0;
        add_pattern(r, line);
    }
    io_unref(from);
    free(line);
    return failed;
}

static int compile(rg_state *r) {
    grep_state *g = &r->g;
    const char *error;
    buffer_puts(&g->pattern, "");
    if (r->smart) {
        g->icase = 1;
        for (size_t i = 0; i < g->pattern.n; i++) {
            if (g->pattern.p[i] == '\\') i++;
            else if (isupper((unsigned char)g->pattern.p[i])) g->icase = 0;
        }
    }
    int flags = g->syntax | (g->icase ? REGEX_ICASE : 0) | (g->word ? REGEX_WORD : 0) | (g->whole_line ? REGEX_LINE : 0);
    if (g->syntax == REGEX_LITERAL) flags |= REGEX_NEWLINE_ALT;
    g->regex = pattern_compile(g->t, g->pattern.p, g->pattern.n, flags, &error);
    return g->regex ? 0 : tool_fail(g->t, 2, "regex parse error: %s", error);
}

enum { FILES = 128, NO_MATCH, HIDDEN, NO_IGNORE, GLOB_FOLDED, COLUMN, IGNORED, IGNORED_WORD, COLOR, VCS, SENSITIVE, SEPARATOR, DEPTH };

static const tool_long longs[] = {{"after-context", 1, 'A'}, {"before-context", 1, 'B'}, {"context", 1, 'C'}, {"count", 0, 'c'},
    {"case-sensitive", 0, 's'}, {"color", 1, IGNORED_WORD}, {"column", 0, COLUMN}, {"context-separator", 1, SEPARATOR},
    {"file", 1, 'f'}, {"files", 0, FILES}, {"files-with-matches", 0, 'l'}, {"files-without-match", 0, NO_MATCH},
    {"fixed-strings", 0, 'F'}, {"follow", 0, 'L'}, {"glob", 1, 'g'}, {"hidden", 0, HIDDEN}, {"iglob", 1, GLOB_FOLDED},
    {"ignore-case", 0, 'i'}, {"invert-match", 0, 'v'}, {"line-number", 0, 'n'}, {"line-regexp", 0, 'x'}, {"max-count", 1, 'm'},
    {"max-depth", 1, DEPTH}, {"maxdepth", 1, DEPTH}, {"no-config", 0, IGNORED}, {"no-filename", 0, 'I'}, {"no-heading", 0, IGNORED},
    {"no-ignore", 0, NO_IGNORE}, {"no-ignore-vcs", 0, VCS}, {"no-line-number", 0, 'N'}, {"no-messages", 0, IGNORED},
    {"null", 0, '0'}, {"only-matching", 0, 'o'}, {"pcre2", 0, 'P'}, {"quiet", 0, 'q'}, {"regexp", 1, 'e'}, {"replace", 1, 'r'},
    {"smart-case", 0, 'S'}, {"sort", 1, IGNORED_WORD}, {"text", 0, 'a'}, {"threads", 1, 'j'}, {"type", 1, 't'},
    {"type-not", 1, 'T'}, {"unrestricted", 0, 'u'}, {"with-filename", 0, 'H'}, {"word-regexp", 0, 'w'}, {0, 0, 0}};

static int take_option(rg_state *r, int c, const char *arg) {
    grep_state *g = &r->g;
    switch (c) {
        case 'A': g->after = strtoul(arg, NULL, 10); g->context = 1; break;
        case 'B': g->before = strtoul(arg, NULL, 10); g->context = 1; break;
        case 'C': g->before = g->after = strtoul(arg, NULL, 10); g->context = 1; break;
        case 'F': g->syntax = REGEX_LITERAL; break;
        case 'H': g->names = 1; break;
        case 'I': g->names = -1; break;
        case 'L': r->follow = 1; break;
        case 'N': g->numbers = 0; break;
        case 'S': r->smart = 1; break;
        case 'T': return add_kind(r, arg, 1);
        case '0': g->null_names = 1; break;
        case 'a': g->text = 1; g->skip_binary = 0; break;
        case 'c': g->count_only = 1; break;
        case 'g': case GLOB_FOLDED: ignore_add(&r->globs, "", arg, c == GLOB_FOLDED); break;
        case 'i': g->icase = 1; r->smart = 0; break;
        case 'l': g->list = 'l'; break;
        case 'm': g->most = strtoul(arg, NULL, 10); break;
        case 'n': g->numbers = 1; break;
        case 'o': g->only = 1; break;
        case 'q': g->quiet = 1; break;
        case 'r': g->replace = arg; break;
        case 's': g->icase = r->smart = 0; break;
        case 't': return add_kind(r, arg, 0);
        case 'u': if (r->hidden) { g->text = 1; g->skip_binary = 0; } if (r->no_ignore) r->hidden = 1; r->no_ignore = 1; break;
        case 'v': g->invert = 1; break;
        case 'w': g->word = 1; break;
        case 'x': g->whole_line = 1; break;
        case '.': case HIDDEN: r->hidden = 1; break;
        case FILES: r->list_files = 1; break;
        case NO_MATCH: g->list = 'L'; break;
        case NO_IGNORE: r->no_ignore = 1; break;
        case VCS: r->no_vcs = 1; break;
        case COLUMN: g->columns = g->numbers = 1; break;
        case SEPARATOR: g->separator = arg; break;
        case DEPTH: case 'd': r->depth = strtol(arg, NULL, 10); break;
        case '?': return 2;
        default: break;                              /* what makes no difference here: threads, sorting, colours, -P */
    }
    return 0;
}

static int parse_options(rg_state *r, tool_opts *o) {
    buffer patterns = {.t = r->g.t};
    for (int c; (c = tool_opts_next(r->g.t, o, "A:B:C:FHILNPST:0acd:e:f:g:ij:lm:noqr:st:uvwx.", longs)) != -1;) {
        if (c == 'e') { buffer_add(&patterns, o->arg, strlen(o->arg) + 1); r->g.have_pattern = 1; }
        else if (c == 'f') { if (add_pattern_file(r, o->arg)) return 2; r->g.have_pattern = 1; }
        else if (take_option(r, c, o->arg)) return 2;
    }
    for (size_t at = 0; at < patterns.n; at += strlen(patterns.p + at) + 1) add_pattern(r, patterns.p + at);
    return 0;
}

static void search_operand(rg_state *r, const char *path, int alone) {
    struct stat st;
    if (!strcmp(path, "-")) { r->g.label = "<stdin>"; grep_path(&r->g, path, 0, 0); return; }
    if (path_stat(path, &st) < 0) { r->g.failed = 1; tool_fail_errno(r->g.t, 2, "%s", path); return; }
    if (!r->g.names) r->g.names = !alone || S_ISDIR(st.st_mode) ? 1 : 0;
    if (S_ISDIR(st.st_mode)) search_tree(r, path, path, r->base, 0); else take_file(r, path);
}

int tool_rg(tool *t, int argc, char **argv) {
    ignore_list none = {.t = t};
    rg_state r = {.g = {.t = t, .syntax = REGEX_PERL, .most = (unsigned long)-1, .delim = '\n', .separator = "--",
                      .pattern = {.t = t}, .skip_binary = 1, .found_only = 1},
        .ignored = none, .globs = none, .types = none, .depth = -1, .base = ""};
    tool_opts o;
    tool_opts_start(&o, argc, argv);
    if (parse_options(&r, &o)) return 2;
    if (!r.list_files && !r.g.have_pattern) {
        if (o.index >= argc) return tool_fail(t, 2, "a pattern is needed: rg [OPTION]... PATTERN [PATH]...");
        add_pattern(&r, argv[o.index++]);
    }
    if (!r.list_files && compile(&r)) return 2;
    read_rules_above(&r);
    int count = argc - o.index;
    if (!count && !r.list_files && io_is_pipe(t->in) && io_fileno(t->in) != 0) grep_path(&r.g, "-", 0, 0);
    else if (!count) { if (!r.g.names) r.g.names = 1; search_tree(&r, ".", "", r.base, 0); }
    for (int i = 0; i < count && !r.g.stop; i++) search_operand(&r, argv[o.index + i], count == 1);
    if (r.g.quiet && r.g.matched) return 0;
    return r.g.failed ? 2 : r.g.matched ? 0 : 1;
}
