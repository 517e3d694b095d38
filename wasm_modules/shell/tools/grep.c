/* grep.c - grep, egrep, fgrep: print lines that match. Options are here; searching one stream is grep_search.c. */
#include "grep.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void add_pattern(grep_state *g, const char *text, size_t n) {
    if (g->patterns++) buffer_putc(&g->pattern, '\n');
    buffer_add(&g->pattern, text, n);
}

static int add_pattern_file(grep_state *g, const char *path) {
    int failed = 0;
    io *from = tool_open(g->t, path, 2, &failed);
    if (!from) return 2;
    buffer b = {.t = g->t};
    buffer_read_all(&b, from);
    io_unref(from);
    if (b.n && b.p[b.n - 1] == '\n') b.n--;
    else if (!b.n) { if (!g->patterns) g->no_patterns = 1; return 0; }
    add_pattern(g, b.p, b.n);
    return 0;
}

/* [:space:] alone is surely a slip for [[:space:]]: GNU refuses it. */
static int is_bare_class(const char *p, size_t n) {
    return n > 4 && p[0] == '[' && p[1] == ':' && p[n - 2] == ':' && p[n - 1] == ']' && !memchr(p + 1, '[', n - 1);
}

static int ends_in_bracket(const char *p, size_t n) {
    return (n >= 1 && p[n - 1] == '[') || (n >= 2 && p[n - 2] == '[' && p[n - 1] == '^');
}

static int compile(grep_state *g) {
    int flags = g->syntax | (g->icase ? REGEX_ICASE : 0) | (g->word ? REGEX_WORD : 0) | (g->whole_line ? REGEX_LINE : 0);
    const char *error;
    buffer_puts(&g->pattern, "");
    flags |= g->syntax & REGEX_PERL ? REGEX_ASCII : REGEX_NEWLINE_ALT;
    if (g->syntax & REGEX_PERL && memchr(g->pattern.p, '\n', g->pattern.n))
        return tool_fail(g->t, 2, "the -P option only supports a single pattern");
    if (!(g->syntax & (REGEX_PERL | REGEX_LITERAL)) && is_bare_class(g->pattern.p, g->pattern.n))
        return tool_fail(g->t, 2, "character class syntax is [[:space:]], not [:space:]");
    g->regex = pattern_compile(g->t, g->pattern.p, g->pattern.n, flags, &error);
    if (!g->regex && ends_in_bracket(g->pattern.p, g->pattern.n)) error = "Invalid regular expression";
    if (g->regex && error && g->syntax == REGEX_EXTENDED) tool_fail(g->t, 0, "%s", error);
    return g->regex ? 0 : tool_fail(g->t, 2, "%s", error);
}

/* -NUM as in -3. */
static void old_context(grep_state *g, int digit) {
    g->context = 1;
    g->before = g->after = (g->old_context ? g->before * 10 : 0) + (unsigned long)(digit - '0');
    g->old_context = 1;
}

static int take_count(grep_state *g, const char *arg, unsigned long *to, const char *what) {
    char *end;
    long n = strtol(arg, &end, 10);
    int is_context = what[0] == 'c';
    if (end == arg || *end || (is_context && n < 0))
        return is_context ? tool_fail(g->t, 2, "%s: invalid %s", arg, what) : tool_fail(g->t, 2, "invalid %s", what);
    *to = n < 0 ? (unsigned long)-1 / 2 : (unsigned long)n;
    return 0;
}

static int parse_options(grep_state *g, tool_opts *o) {
    static const tool_long longs[] = {{"extended-regexp", 0, 'E'}, {"fixed-strings", 0, 'F'}, {"basic-regexp", 0, 'G'},
        {"perl-regexp", 0, 'P'}, {"regexp", 1, 'e'}, {"file", 1, 'f'}, {"ignore-case", 0, 'i'}, {"no-ignore-case", 0, 128},
        {"invert-match", 0, 'v'}, {"word-regexp", 0, 'w'}, {"line-regexp", 0, 'x'}, {"count", 0, 'c'}, {"color", 2, 129},
        {"colour", 2, 129}, {"files-without-match", 0, 'L'}, {"files-with-matches", 0, 'l'}, {"max-count", 1, 'm'},
        {"only-matching", 0, 'o'}, {"quiet", 0, 'q'}, {"silent", 0, 'q'}, {"no-messages", 0, 's'}, {"byte-offset", 0, 'b'},
        {"with-filename", 0, 'H'}, {"no-filename", 0, 'h'}, {"label", 1, 130}, {"line-number", 0, 'n'}, {"initial-tab", 0, 'T'},
        {"null", 0, 'Z'}, {"after-context", 1, 'A'}, {"before-context", 1, 'B'}, {"context", 1, 'C'}, {"text", 0, 'a'},
        {"binary-files", 1, 131}, {"exclude", 1, 132}, {"exclude-dir", 1, 133}, {"include", 1, 134}, {"recursive", 0, 'r'},
        {"dereference-recursive", 0, 'R'}, {"null-data", 0, 'z'}, {"line-buffered", 0, 135}, {"binary", 0, 'U'},
        {"directories", 1, 'd'}, {"devices", 1, 'D'}, {"exclude-from", 1, 135}, {"group-separator", 1, 136},
        {"no-group-separator", 0, 137}, {0, 0, 0}};
    int c;
    while ((c = tool_opts_next(g->t, o, "EFGPe:f:ivwxyclLqsnHhoIm:A:B:C:rRabzZTUVud:D:0123456789", longs)) != -1) switch (c) {
        case 'E': case 'F': case 'G': case 'P':
            if (g->matcher && g->matcher != c) return tool_fail(g->t, 2, "conflicting matchers specified");
            g->matcher = c;
            g->syntax = c == 'E' ? REGEX_EXTENDED : c == 'F' ? REGEX_LITERAL : c == 'P' ? REGEX_PERL : 0;
            break;
        case 'e': add_pattern(g, o->arg, strlen(o->arg)); g->have_pattern = 1; break;
        case 'f': if (add_pattern_file(g, o->arg)) return 2; g->have_pattern = 1; break;
        case 'i': case 'y': g->icase = 1; break;
        case 128: g->icase = 0; break;
        case 'v': g->invert = 1; break;
        case 'w': g->word = 1; break;
        case 'x': g->whole_line = 1; break;
        case 'c': g->count_only = 1; break;
        case 'l': g->list = 'l'; break;
        case 'L': g->list = 'L'; break;
        case 'q': g->quiet = 1; break;
        case 's': g->silent = 1; break;
        case 'n': g->numbers = 1; break;
        case 'H': g->names = 1; break;
        case 'h': g->names = -1; break;
        case 'o': g->only = 1; break;
        case 'm': if (take_count(g, o->arg, &g->most, "max count")) return 2; break;
        case 'A': g->context = 1; if (take_count(g, o->arg, &g->after, "context length argument")) return 2; break;
        case 'B': g->context = 1; if (take_count(g, o->arg, &g->before, "context length argument")) return 2; break;
        case 'C':
            g->context = 1;
            if (take_count(g, o->arg, &g->after, "context length argument")) return 2;
            g->before = g->after;
            break;
        case 'r': g->recursive = 1; break;
        case 'R': g->recursive = 2; break;
        case 'a': g->text = 1; break;
        case 'b': g->offsets = 1; break;
        case 'z': g->delim = '\0'; break;
        case 'Z': g->null_names = 1; break;
        case 'T': g->tab = 1; break;
        case 'V': tool_about(g->t, g->t->name, "--version"); return -1;
        case 129: g->color = !o->arg ? 0 : !strcmp(o->arg, "always"); break;
        case 130: g->label = o->arg; break;
        case 131:
            g->text = !strcmp(o->arg, "text");
            g->skip_binary = !strcmp(o->arg, "without-match");
            if (!g->text && !g->skip_binary && strcmp(o->arg, "binary")) return tool_fail(g->t, 2, "unknown binary-files type");
            break;
        case 'I': g->skip_binary = 1; break;
        case 132: case 133: case 134:
            if (g->globs < GREP_GLOBS) {
                g->glob[g->globs].kind = c == 132 ? 'x' : c == 133 ? 'd' : 'i';
                g->glob[g->globs++].pattern = o->arg;
            }
            break;
        case 136: g->separator = o->arg; break;
        case 137: g->separator = NULL; break;
        case 'd': {
            static const char *const actions[] = {"read", "recurse", "skip", NULL};
            int action = tool_choice(g->t, "--directories", o->arg, actions);
            if (action < 0) return 1;
            g->skip_dirs = action == 2;
            if (action == 1) g->recursive = 1;
            break;
        }
        case 'u': tool_fail(g->t, 0, "warning: --unix-byte-offsets (-u) is obsolete"); break;
        case 'D':
            if (strcmp(o->arg, "read") && strcmp(o->arg, "skip")) return tool_fail(g->t, 2, "unknown devices method");
            break;
        case 'U': case 135: break;
        case '?':
            return 2;
        default: old_context(g, c);
    }
    return 0;
}

/* GREP_COLORS, such as ms=01;32:fn=35: the colours it names take the place of the usual ones. */
static void read_colors(grep_state *g) {
    static const char *const usual[COLORS]
        = {[COLOR_MATCH] = "01;31", [COLOR_CONTEXT_MATCH] = "01;31", [COLOR_NAME] = "35", [COLOR_NUMBER] = "32",
            [COLOR_OFFSET] = "32", [COLOR_SEPARATOR] = "36", [COLOR_SELECTED] = "", [COLOR_CONTEXT] = ""};
    static const char *const names[COLORS]
        = {[COLOR_MATCH] = "ms", [COLOR_CONTEXT_MATCH] = "mc", [COLOR_NAME] = "fn", [COLOR_NUMBER] = "ln",
            [COLOR_OFFSET] = "bn", [COLOR_SEPARATOR] = "se", [COLOR_SELECTED] = "sl", [COLOR_CONTEXT] = "cx"};
    memcpy(g->colors, usual, sizeof usual);
    const char *old = g->t->getenv ? g->t->getenv(g->t, "GREP_COLOR") : NULL;
    if (old && *old) {
        tool_fail(g->t, 0, "warning: GREP_COLOR='%s' is deprecated; use GREP_COLORS='mt=%s'", old, old);
        g->colors[COLOR_MATCH] = g->colors[COLOR_CONTEXT_MATCH] = old;
    }
    const char *p = g->t->getenv ? g->t->getenv(g->t, "GREP_COLORS") : NULL;
    while (p && *p) {
        size_t n = strcspn(p, ":"), key = strcspn(p, "=:");
        for (int i = 0; i < COLORS && key == 2 && key < n; i++)
            if (!memcmp(p, names[i], 2) || (i <= COLOR_CONTEXT_MATCH && !memcmp(p, "mt", 2)))
                g->colors[i] = tool_strndup(g->t, p + 3, n - 3);
        p += n + (p[n] == ':');
    }
}

static int grep_main(tool *t, int argc, char **argv, int syntax) {
    t->name = "grep";
    grep_state g = {.t = t,
        .syntax = syntax,
        .matcher = syntax == REGEX_EXTENDED  ? 'E'
                   : syntax == REGEX_LITERAL ? 'F'
                                             : 0,
        .most = (unsigned long)-1,
        .delim = '\n',
        .separator = "--",
        .pattern = {.t = t}};
    tool_opts o;
    tool_opts_start(&o, argc, argv);
    int stop = parse_options(&g, &o);
    if (stop) return stop < 0 ? 0 : 2;
    if (!g.have_pattern) {
        if (o.index >= argc) return tool_usage(t, 2);
        add_pattern(&g, argv[o.index], strlen(argv[o.index]));
        o.index++;
    }
    if (g.patterns) g.no_patterns = 0;
    if (g.color) read_colors(&g);
    if (!g.no_patterns && compile(&g)) return 2;
    if ((!g.most || (g.no_patterns && !g.invert)) && g.list != 'L') return 1;      /* nothing can be found */
    int count = argc - o.index;
    if (!g.names) g.names = count > 1 || (g.recursive && count != 1) ? 1 : g.recursive ? 2 : 0;
    if (!count) {
        if (g.recursive) grep_path(&g, ".", 0, 1); else grep_path(&g, "-", 0, 0);
    }
    for (int i = 0; i < count && !g.stop; i++) grep_path(&g, argv[o.index + i], 0, 0);
    if (g.quiet && g.matched) return 0;
    return g.failed ? 2 : g.matched ? 0 : 1;
}

int tool_grep(tool *t, int argc, char **argv) { return grep_main(t, argc, argv, 0); }
int tool_egrep(tool *t, int argc, char **argv) { return grep_main(t, argc, argv, REGEX_EXTENDED); }
int tool_fgrep(tool *t, int argc, char **argv) { return grep_main(t, argc, argv, REGEX_LITERAL); }
