/* find_parse.c - find's expression: from the words of the command line to a tree of tests and actions.
 *
 * RULES. A parsing function returns NULL after an error, which it has told and put into failed; its caller returns NULL too.
 */
#include "find.h"
#include "files.h"
#include "users.h"
#include <stdlib.h>
#include <string.h>

fnode *find_make(find_state *f, int kind) {
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

/* The end of the day that is now, where -daystart counts ages from. */
static moment day_end(find_state *f) {
    struct tm tm;
    long offset;
    const char *zone;
    date_fields(f->t, f->now.tv_sec, 0, &tm, &offset, &zone);
    long long local = (long long)f->now.tv_sec + offset;
    return (moment){.tv_sec = (local / 86400 + 1) * 86400 - offset};
}

static const long long AGE_MOST = 1000000000LL * 86400 * 40000;

/* The age of -mtime and its kin, in nanoseconds; -1 when malformed. */
static int take_age(find_state *f, const char *arg, fnode *n) {
    char *end;
    n->sign = *arg == '+' ? 1 : *arg == '-' ? -1 : 0;
    arg += n->sign != 0;
    n->unit = (strstr(n->name, "min") ? 60LL : 86400LL) * 1000000000LL;
    n->when = f->whole_days ? day_end(f) : f->now;
    double value = strtod(arg, &end) * (double)n->unit;
    if (end == arg || *end || !(value >= 0)) return -1;
    n->number = value > (double)AGE_MOST ? AGE_MOST : (long long)value;
    return 0;
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
    if (f->at == start && f->at < f->argc) { f->failed = tool_fail(f->t, 1, "invalid argument `;' to `%s'", n->name); return NULL; }
    if (f->at >= f->argc) { f->failed = tool_fail(f->t, 1, "missing argument to `%s'", n->name); return NULL; }
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
    {"-ignore_readdir_race", F_OPTION, 0}, {"-samefile", F_SAMEFILE, 1}, {"-fprint", F_PRINT, 1}, {"-fprint0", F_PRINT, 1},
    {"-fprintf", F_PRINTF, 2}, {"-fls", F_LS, 1}, {"-okdir", F_EXEC, 0}, {"-uid", F_ID, 1}, {"-gid", F_ID, 1},
    {"-nouser", F_FALSE, 0}, {"-nogroup", F_FALSE, 0}, {"-fstype", F_FSTYPE, 1}, {"-anewer", F_NEWER, 1}, {"-cnewer", F_NEWER, 1},
    {"-ilname", F_LNAME, 1}, {"-iwholename", F_PATH, 1}, {"-noignore_readdir_race", F_OPTION, 0}};

static const struct {
    const char *name;
    int flags, emacs;
} regex_types[] = {{"findutils-default", 0, 1}, {"ed", 0, 0}, {"emacs", 0, 1}, {"gnu-awk", REGEX_EXTENDED, 0}, {"grep", 0, 0},
    {"posix-awk", REGEX_EXTENDED, 0}, {"awk", REGEX_EXTENDED, 0}, {"posix-basic", 0, 0}, {"posix-egrep", REGEX_EXTENDED, 0},
    {"egrep", REGEX_EXTENDED, 0}, {"posix-extended", REGEX_EXTENDED, 0}, {"posix-minimal-basic", 0, 0}, {"sed", 0, 0}};

static int set_regex_type(find_state *f, const char *name) {
    size_t count = sizeof regex_types / sizeof *regex_types;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(regex_types[i].name, name)) continue;
        f->regex_flags = regex_types[i].flags;
        f->regex_posix = !regex_types[i].emacs;
        return 1;
    }
    buffer b = {.t = f->t};
    for (size_t i = 0; i < count; i++) buffer_printf(&b, "%s%s", i ? ", " : "", tool_cite(f->t, regex_types[i].name));
    f->failed = tool_fail(f->t, 1, "Unknown regular expression type %s; valid types are %s.", tool_cite(f->t, name), b.p);
    return 0;
}

/* Emacs's language as a basic regular expression: + and ? are operators, with a backslash they are not; there are no intervals.
 */
static char *from_emacs(tool *t, const char *p) {
    buffer b = {.t = t};
    int first = 1;                       /* nothing to repeat yet */
    buffer_puts(&b, "");
    while (*p) {
        if (*p == '[') {
            const char *close = p + 1 + (p[1] == '^');
            if (*close == ']') close++;
            while (*close && *close != ']') close++;
            if (*close) close++;
            buffer_add(&b, p, (size_t)(close - p));
            p = close;
        } else if (*p == '\\' && p[1]) {
            if (!strchr("+?{}", p[1])) buffer_putc(&b, '\\');
            buffer_putc(&b, p[1]);
            first = p[1] == '(' || p[1] == '|';
            p += 2;
            continue;
        } else {
            if ((*p == '+' || *p == '?') && !first) buffer_putc(&b, '\\');
            buffer_putc(&b, *p++);
        }
        first = 0;
    }
    return b.p;
}

static fnode *take_regex(find_state *f, fnode *n) {
    const char *error, *text = f->regex_posix ? n->text : from_emacs(f->t, n->text);
    n->regex = pattern_compile(f->t, text, strlen(text), f->regex_flags | REGEX_LINE | (n->fold ? REGEX_ICASE : 0), &error);
    if (n->regex) return n;
    f->failed = tool_fail(f->t, 1, "failed to compile regular expression '%s': %s", n->text, error);
    return NULL;
}

/* -newerXY: X is the file's time, Y the reference's, or t for a time in words. */
static fnode *take_newer(find_state *f, fnode *n) {
    char mine = n->name[1] == 'a' || n->name[1] == 'c' ? n->name[1] : n->name[6] ? n->name[6] : 'm',
         theirs = n->name[1] == 'n' && n->name[6] ? n->name[7] : 'm';
    n->unit = mine;
    if (theirs == 't') {
        if (date_parse(f->t, n->text, f->now, &n->when) >= 0) return n;
        f->failed = tool_fail(f->t, 1, "I cannot figure out how to interpret %s as a date or time", tool_cite(f->t, n->text));
        return NULL;
    }
    struct stat st;
    if (path_stat(n->text, &st) < 0) { f->failed = tool_fail_errno(f->t, 1, "%s", tool_cite(f->t, n->text)); return NULL; }
    n->when = theirs == 'a' ? st.st_atim : theirs == 'c' ? st.st_ctim : st.st_mtim;
    return n;
}

/* The number of a user or group; -1 when there is none of that name. */
static long long owner_number(find_state *f, const char *text, int is_user) {
    char *end;
    long long id = strtoll(text, &end, 10);
    if (*text && !*end) return id;
    unsigned known = is_user ? user_id() : group_id();
    const char *candidates[] = {is_user ? user_name(f->t, known) : group_name(f->t, known), "root"};
    if (!strcmp(candidates[0], text)) return known;
    return strcmp(candidates[1], text) ? -1 : 0;
}

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
    else if (!strcmp(n->name, "-daystart")) f->whole_days = 1;
    else if (!strcmp(n->name, "-follow")) f->follow = 'L';
    else if (!strcmp(n->name, "-regextype") && !set_regex_type(f, n->text)) return NULL;
    n->kind = F_TRUE;
    return n;
}

static int is_binary(const char *w) {
    return !strcmp(w, "-o") || !strcmp(w, "-or") || !strcmp(w, "-a") || !strcmp(w, "-and") || !strcmp(w, ",");
}

static fnode *primary(find_state *f) {
    const char *w = word(f);
    if (!strcmp(w, "(") || !strcmp(w, "\\(")) {
        f->at++;
        if (word(f) && !strcmp(word(f), ")")) {
            f->failed = tool_fail(f->t, 1, "invalid expression; empty parentheses are not allowed.");
            return NULL;
        }
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
        fnode *n = find_make(f, F_NOT);
        if (!word(f)) { f->failed = tool_fail(f->t, 1, "expected an expression after '%s'", w); return NULL; }
        return (n->a = primary(f)) ? n : NULL;
    }
    if (is_binary(w)) {
        f->failed = tool_fail(f->t, 1, "invalid expression; you have used a binary operator '%s' with nothing before it.", w);
        return NULL;
    }
    int is_newer = !strncmp(w, "-newer", 6) && strlen(w) == 8;
    if (is_newer && (!strchr("amcB", w[6]) || !strchr("amcBt", w[7]))) {
        f->failed = tool_fail(f->t, 1, "invalid predicate `%s'", w);
        return NULL;
    }
    for (size_t i = 0; i < sizeof primaries / sizeof *primaries; i++) {
        if (strcmp(primaries[i].name, is_newer ? "-newer" : w)) continue;
        fnode *n = find_make(f, primaries[i].kind);
        n->name = w;
        f->at++;
        if (primaries[i].args) {
            if (!word(f)) { f->failed = tool_fail(f->t, 1, "missing argument to `%s'", w); return NULL; }
            n->text = f->argv[f->at++];
        }
        n->fold = w[1] == 'i' && strcmp(w, "-inum");
        if (w[1] == 'f' && (n->kind == F_PRINT || n->kind == F_PRINTF || n->kind == F_LS) && !(n->to = find_output(f, n->text)))
            return NULL;
        if (primaries[i].args == 2) {
            if (!word(f)) { f->failed = tool_fail(f->t, 1, "missing argument to `%s'", w); return NULL; }
            n->text = f->argv[f->at++];
        }
        struct stat st;
        int bad = 0;
        switch (n->kind) {
        case F_OPTION: return take_option(f, n);
        case F_EXEC: return take_exec(f, n);
        case F_SIZE:
            if (take_number(f, n->text, n, 1) == 0) break;
            f->failed = !*n->text ? tool_fail(f->t, 1, "invalid null argument to -size")
                        : strchr("0123456789bcwkMG", n->text[strlen(n->text) - 1])
                            ? tool_fail(f->t, 1, "Invalid argument `%s' to -size", n->text)
                            : tool_fail(f->t, 1, "invalid -size type `%c'", n->text[strlen(n->text) - 1]);
            return NULL;
        case F_TIME: bad = take_age(f, n->text, n) < 0; break;
        case F_LINKS: case F_INUM: case F_ID: bad = take_number(f, n->text, n, 0) < 0; break;
        case F_REGEX: return take_regex(f, n);
        case F_NEWER: return take_newer(f, n);
        case F_SAMEFILE:
            if (path_stat(n->text, &st) < 0) {
                f->failed = tool_fail_errno(f->t, 1, "%s", tool_cite(f->t, n->text));
                return NULL;
            }
            n->number = (long long)st.st_ino;
            break;
        case F_USER:
            if ((n->number = owner_number(f, n->text, w[1] == 'u')) >= 0) break;
            f->failed = w[1] == 'u'
                            ? tool_fail(f->t, 1, "%s is not the name of a known user", tool_cite(f->t, n->text))
                            : tool_fail(f->t, 1, "%s is not the name of an existing group", tool_cite(f->t, n->text));
            return NULL;
        case F_TYPE:
            if (!*n->text) {
                f->failed = tool_fail(f->t, 1, "Arguments to %s should contain at least one letter", w);
                return NULL;
            }
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
            if (mode_apply(p, &bits, 0, 0) < 0) {
                f->failed = tool_fail(f->t, 1, "invalid mode %s", tool_cite(f->t, n->text));
                return NULL;
            }
            n->number = bits;
            break;
        }
        case F_PRINTF:
            f->acts = 1;
            if (!find_check_format(f, n->text)) return NULL;
            break;
        case F_PRINT: case F_LS: f->acts = 1; break;
        case F_PRUNE: f->prunes = 1; break;
        case F_DELETE: f->deletes = f->acts = 1; break;
        }
        if (bad) { f->failed = tool_fail(f->t, 1, "invalid argument `%s' to `%s'", n->text, w); return NULL; }
        return n;
    }
    f->failed = *w == '-' ? tool_fail(f->t, 1, "unknown predicate `%s'", w)
                          : tool_fail(f->t, 1, "paths must precede expression: `%s'", w);
    if (*w != '-' && f->at >= 2 && f->argv[f->at - 2][0] == '-'
        && strstr("-name -iname -path -ipath -wholename -lname", f->argv[f->at - 2]))
        tool_fail(f->t, 1, "possible unquoted pattern after predicate `%s'?", f->argv[f->at - 2]);
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
        fnode *n = find_make(f, F_AND);
        n->a = left;
        if (!(n->b = primary(f))) return NULL;
        left = n;
    }
    return left;
}

static fnode *expression(find_state *f) {
    if (!word(f)) {
        f->failed = tool_fail(f->t, 1,
            "invalid expression; expected to find a ')' but didn't see one. Perhaps you need an extra predicate after '('");
        return NULL;
    }
    fnode *left = conjunction(f);
    while (left && word(f) && strcmp(word(f), ")")) {
        fnode *n = find_make(f, !strcmp(word(f), ",") ? F_COMMA : F_OR);
        f->at++;
        n->a = left;
        if (!word(f)) { f->failed = tool_fail(f->t, 1, "expected an expression after '%s'", f->argv[f->at - 1]); return NULL; }
        if (!(n->b = conjunction(f))) return NULL;
        left = n;
    }
    return left;
}

fnode *find_parse(find_state *f) {
    if (!strcmp(word(f), ")")) { f->failed = tool_fail(f->t, 1, "invalid expression; you have too many ')'"); return NULL; }
    fnode *tree = expression(f);
    if (tree && f->at < f->argc) { f->failed = tool_fail(f->t, 1, "you have too many ')'"); return NULL; }
    if (tree && f->deletes && f->prunes && !f->depth_first) {
        f->failed = tool_fail(f->t, 1,
            "The -delete action automatically turns on -depth, but -prune does nothing when -depth is in effect.  If you want to "
            "carry on anyway, just explicitly use the -depth option.");
        return NULL;
    }
    f->depth_first |= f->deletes;
    return tree;
}
