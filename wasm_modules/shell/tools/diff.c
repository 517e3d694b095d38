/* diff.c - diff: what differs between files or directories; how it is shown is diff_output.c. */
#include "diff.h"
#include "files.h"
#include "patterns.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int load(diff_state *s, const char *path, diff_file *f) {
    f->name = path;
    f->text.t = s->t;
    if (!strcmp(path, "-")) { buffer_read_all(&f->text, s->t->in); f->when = moment_now(); }
    else {
        struct stat st;
        io *from = io_open(path, O_RDONLY, 0);
        if (!from) {
            if (s->new_file && errno == ENOENT) { f->missing = 1; f->when = (moment){0, 0}; buffer_puts(&f->text, ""); return 0; }
            return tool_fail_errno(s->t, 2, "%s", path);
        }
        f->when = path_stat(path, &st) == 0 ? st.st_mtim : moment_now();
        if (buffer_read_all(&f->text, from) < 0) { io_unref(from); return tool_fail(s->t, 2, "%s: read error", path); }
        io_unref(from);
    }
    f->no_newline = f->text.n && f->text.p[f->text.n - 1] != '\n';
    span_split(s->t, &f->lines, f->text.p ? f->text.p : "", f->text.n, '\n');
    return 0;
}

/* The line as -i, -w, -b and the like see it. */
static span normal(diff_state *s, span line) {
    if (!s->fold && !s->all_space && !s->space_change && !s->trailing && !s->strip_cr && !s->tab_expansion) return line;
    char *out = tool_alloc(s->t, (s->tab_expansion ? line.n * 8 : line.n) + 1);
    size_t n = 0;
    for (size_t i = 0; i < line.n; i++) {
        char c = line.p[i];
        if (c == '\t' && s->tab_expansion && !s->all_space && !s->space_change) {
            do out[n++] = ' '; while (n % 8);
            continue;
        }
        if (isspace((unsigned char)c)) {
            if (s->all_space) continue;
            if (s->space_change) {
                while (i + 1 < line.n && isspace((unsigned char)line.p[i + 1])) i++;
                if (i + 1 == line.n) break;
                c = ' ';
            }
        }
        out[n++] = s->fold ? (char)tolower((unsigned char)c) : c;
    }
    if (s->trailing) while (n && isspace((unsigned char)out[n - 1])) n--;
    if (s->strip_cr && n && out[n - 1] == '\r') n--;
    return (span){out, n};
}

typedef struct { span key; int next; } id_entry;

/* Gives equal lines equal numbers. A last line without newline equals none with one. */
static void number_lines(diff_state *s, diff_file *f[2], int *ids[2]) {
    size_t total = f[0]->lines.n + f[1]->lines.n, cap = 16;
    while (cap < total * 2) cap *= 2;
    int *heads = tool_alloc(s->t, cap * sizeof *heads), count = 0;
    id_entry *entries = tool_alloc(s->t, (total + 1) * sizeof *entries);
    for (int k = 0; k < 2; k++) {
        ids[k] = tool_alloc(s->t, (f[k]->lines.n + 1) * sizeof **ids);
        for (size_t i = 0; i < f[k]->lines.n; i++) {
            span key = normal(s, f[k]->lines.at[i]);
            int open = f[k]->no_newline && i + 1 == f[k]->lines.n && !s->all_space && !s->space_change && !s->trailing;
            unsigned h = 2166136261u + (unsigned)open;
            for (size_t j = 0; j < key.n; j++) h = (h ^ (unsigned char)key.p[j]) * 16777619u;
            int *head = &heads[h & (cap - 1)], e = *head;
            while (e && (span_compare(entries[e - 1].key, key) || (entries[e - 1].next < 0) != 0)) e = entries[e - 1].next;
            if (open) {
                /* compare only with another open line */
                int found = 0;
                for (int x = *head; x; x = entries[x - 1].next) if (!span_compare(entries[x - 1].key, key)) { found = x; break; }
                e = found;
            }
            if (!e) { entries[count] = (id_entry){key, *head}; *head = ++count; e = count; }
            ids[k][i] = e * 2 + open;
        }
    }
}

static int is_binary(const buffer *b) { return b->n && memchr(b->p, 0, b->n < 32768 ? b->n : 32768) != NULL; }

/* Whether all lines of a hunk are blank (-B) or match -I. */
static int ignorable(diff_state *s, const hunk *h, diff_file *f[2]) {
    size_t starts[2] = {h->a, h->b}, counts[2] = {h->a_n, h->b_n};
    for (int k = 0; k < 2; k++) for (size_t i = 0; i < counts[k]; i++) {
        span line = f[k]->lines.at[starts[k] + i];
        if (s->blank_lines && !line.n) continue;
        if (s->ignore && regex_test(s->ignore, line.p, line.n) > 0) continue;
        return 0;
    }
    return s->blank_lines || s->ignore;
}

/* 0 same, 1 different, 2 trouble. */
static int diff_files(diff_state *s, const char *a, const char *b, const char *title) {
    diff_file left = {0}, right = {0}, *f[2] = {&left, &right};
    int bad = load(s, a, &left);
    if (load(s, b, &right) || bad) return 2;         /* both are tried, for a message about each */
    int same
        = left.text.n == right.text.n && !memcmp(left.text.p ? left.text.p : "", right.text.p ? right.text.p : "", left.text.n);
    if (same) {
        if (s->report_same) io_printf(s->t->out, "Files %s and %s are identical\n", a, b);
        if (s->mode == 'y') {
            hunk_list none = {0};
            diff_print(s, f, &none, title);
        }
        return 0;
    }
    if (!s->text && (is_binary(&left.text) || is_binary(&right.text))) {
        io_printf(s->t->out, s->brief ? "Files %s and %s differ\n" : "Binary files %s and %s differ\n", a, b);
        return 1;
    }
    int *ids[2];
    hunk_list hunks = {0};
    number_lines(s, f, ids);
    compare_lines(s->t, ids[0], left.lines.n, ids[1], right.lines.n, s->mode == 'u' || s->mode == 'c' ? s->context : 0, &hunks);
    size_t kept = 0;
    for (size_t i = 0; i < hunks.n; i++) if (!ignorable(s, &hunks.at[i], f)) hunks.at[kept++] = hunks.at[i];
    hunks.n = kept;
    if (!hunks.n) {
        if (s->report_same) io_printf(s->t->out, "Files %s and %s are identical\n", a, b);
        if (s->mode == 'y') diff_print(s, f, &hunks, title);
        return 0;
    }
    if (s->brief) {
        const char *first = s->label_n > 0 ? s->label[0] : a, *second = s->label_n > 1 ? s->label[1] : b;
        io_printf(s->t->out, "Files %s and %s differ\n", first, second);
        return 1;
    }
    diff_print(s, f, &hunks, title);
    buffer_free(&left.text);
    buffer_free(&right.text);
    return 1;
}

static int excluded(const diff_state *s, const char *name) {
    for (int i = 0; i < s->exclude_n; i++) if (glob_matches(s->exclude[i], name, 0, 0)) return 1;
    return 0;
}

static int diff_any(diff_state *s, const char *a, const char *b, int depth);

static int diff_directories(diff_state *s, const char *a, const char *b, int depth) {
    size_t an, bn, i = 0, j = 0;
    char **x = directory_names(s->t, a, &an), **y = directory_names(s->t, b, &bn);
    int status = 0;
    if (!x) return tool_fail_errno(s->t, 2, "%s", a);
    if (!y) return tool_fail_errno(s->t, 2, "%s", b);
    while (i < an || j < bn) {
        int order = i >= an ? 1 : j >= bn ? -1 : strcmp(x[i], y[j]);
        const char *name = order <= 0 ? x[i] : y[j];
        if (excluded(s, name) || (!depth && s->starting && strcmp(name, s->starting) < 0)) {
            if (order <= 0) i++;
            if (order >= 0) j++;
            continue;
        }
        if (order && !s->new_file && !(order > 0 && s->new_second)) {
            io_printf(s->t->out, "Only in %s: %s\n", order < 0 ? a : b, name);
            if (!status) status = 1;
        } else {
            int both = s->new_file;
            s->new_file |= order > 0;              /* -P: only what the first lacks counts as empty */
            int r = diff_any(s, path_join(s->t, a, name), path_join(s->t, b, name), depth + 1);
            s->new_file = both;
            if (r > status) status = r;
        }
        if (order <= 0) i++;
        if (order >= 0) j++;
    }
    return status;
}

/* A name in a title: as C writes it, between quotes, if it has a blank or something that needs a backslash. */
static const char *title_name(tool *t, const char *name) {
    buffer b = {.t = t};
    if (!name[strcspn(name, " \"\\\a\b\f\n\r\t\v")]) return name;
    buffer_putc(&b, '"');
    for (; *name; name++) {
        static const char from[] = "\"\\\a\b\f\n\r\t\v", to[] = "\"\\abfnrtv";
        const char *at = strchr(from, *name);
        if (at) buffer_printf(&b, "\\%c", to[at - from]);
        else buffer_putc(&b, *name);
    }
    buffer_puts(&b, "\"");
    return b.p;
}

static const char *kind_name(const struct stat *st) {
    return S_ISLNK(st->st_mode) ? "symbolic link" : S_ISDIR(st->st_mode) ? "directory" : S_ISFIFO(st->st_mode) ? "fifo"
           : st->st_size ? "regular file" : "regular empty file";
}

/* --no-dereference: links differ when they lead elsewhere, and from all else. -1: neither is a link. */
static int diff_links(diff_state *s, const char *a, const char *b) {
    struct stat sa = {.st_mode = S_IFIFO}, sb = {.st_mode = S_IFIFO};
    char to_a[4096], to_b[4096];
    if ((strcmp(a, "-") && path_lstat(a, &sa) < 0) || (strcmp(b, "-") && path_lstat(b, &sb) < 0)) return -1;
    if (!S_ISLNK(sa.st_mode) && !S_ISLNK(sb.st_mode)) return -1;
    if ((sa.st_mode & S_IFMT) != (sb.st_mode & S_IFMT)) {
        io_printf(s->t->out, "File %s is a %s while file %s is a %s\n", a, kind_name(&sa), b, kind_name(&sb));
        return 1;
    }
    ssize_t n = readlink(a, to_a, sizeof to_a), m = readlink(b, to_b, sizeof to_b);
    if (n == m && n >= 0 && !memcmp(to_a, to_b, (size_t)n)) return 0;
    io_printf(s->t->out, "Symbolic links %s and %s differ\n", a, b);
    return 1;
}

static int diff_any(diff_state *s, const char *a, const char *b, int depth) {
    struct stat sa, sb;
    if (!strcmp(a, "-") && !strcmp(b, "-")) return 0;      /* the same, and not read */
    if (depth > 300 || tool_too_deep(s->t)) return tool_fail(s->t, 2, "%s: directories nest too deep", a);
    int linked = s->no_follow ? diff_links(s, a, b) : -1;
    if (linked >= 0) return linked;
    int da = strcmp(a, "-") && path_stat(a, &sa) == 0 && S_ISDIR(sa.st_mode),
        db = strcmp(b, "-") && path_stat(b, &sb) == 0 && S_ISDIR(sb.st_mode);
    if (da && db && sa.st_ino && sa.st_ino == sb.st_ino && sa.st_dev == sb.st_dev) return 0;
    if (da && db) {
        if (!depth || s->recursive) return diff_directories(s, a, b, depth);
        io_printf(s->t->out, "Common subdirectories: %s and %s\n", a, b);
        return 0;
    }
    if (da != db && !depth && path_stat(da ? b : a, da ? &sb : &sa) < 0 && strcmp(da ? b : a, "-"))
        return tool_fail_errno(s->t, 2, "%s", da ? b : a);
    if (da != db && !depth) {
        const char *file = da ? b : a;
        if (da) a = path_join(s->t, a, path_last(file)); else b = path_join(s->t, b, path_last(file));
    } else if (da != db) {
        io_printf(s->t->out, "File %s is a %s while file %s is a %s\n", a, da ? "directory" : "regular file", b,
            db ? "directory" : "regular file");
        return 1;
    }
    char *title = NULL;
    if (depth && !s->brief) title = tool_format(s->t, "diff%s %s %s\n", s->options.n ? s->options.p : "",
        title_name(s->t, a), title_name(s->t, b));
    return diff_files(s, a, b, title);
}

static int exclude_from(diff_state *s, const char *path) {
    int failed = 0;
    const char *line;
    io *from = tool_open(s->t, path, 2, &failed);
    if (!from) return 2;
    for (ssize_t n; (n = io_line(from, &line, '\n')) > 0;)
        if (s->exclude_n < 32) s->exclude[s->exclude_n++] = tool_strndup(s->t, line, (size_t)n - (line[n - 1] == '\n'));
    io_unref(from);
    return 0;
}

static void set_style(diff_state *s, int style) {
    if (!s->styles || s->mode != style) s->styles++;
    s->mode = style;
}

int tool_diff(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"unified", 2, 'U'}, {"context", 2, 'C'}, {"brief", 0, 'q'},
        {"report-identical-files", 0, 's'}, {"side-by-side", 0, 'y'}, {"width", 1, 'W'}, {"recursive", 0, 'r'},
        {"new-file", 0, 'N'}, {"ignore-case", 0, 'i'}, {"ignore-all-space", 0, 'w'}, {"ignore-space-change", 0, 'b'},
        {"ignore-trailing-space", 0, 'Z'}, {"ignore-blank-lines", 0, 'B'}, {"ignore-matching-lines", 1, 'I'}, {"text", 0, 'a'},
        {"label", 1, 'L'}, {"exclude", 1, 'x'}, {"strip-trailing-cr", 0, 1}, {"suppress-common-lines", 0, 2},
        {"left-column", 0, 3}, {"color", 2, 4}, {"normal", 0, 5}, {"minimal", 0, 'd'}, {"ed", 0, 'e'},
        {"forward-ed", 0, 'f'}, {"rcs", 0, 'n'},
        {"show-c-function", 0, 'p'}, {"show-function-line", 1, 'F'}, {"expand-tabs", 0, 't'}, {"initial-tab", 0, 'T'},
        {"ifdef", 1, 'D'}, {"paginate", 0, 'l'},
        {"ignore-tab-expansion", 0, 'E'}, {"line-format", 1, 10}, {"old-line-format", 1, 11}, {"new-line-format", 1, 12},
        {"unchanged-line-format", 1, 13}, {"old-group-format", 1, 14}, {"new-group-format", 1, 15},
        {"unchanged-group-format", 1, 16}, {"changed-group-format", 1, 17}, {"tabsize", 1, 18}, {"speed-large-files", 0, 'H'},
        {"no-dereference", 0, 6}, {"exclude-from", 1, 'X'}, {"starting-file", 1, 'S'}, {"unidirectional-new-file", 0, 'P'},
        {"from-file", 1, 7}, {"to-file", 1, 8}, {"horizon-lines", 1, 9}, {"ignore-file-name-case", 0, 9},
        {"no-ignore-file-name-case", 0, 9}, {"suppress-blank-empty", 0, 19},
        {0, 0, 0}};
    diff_state s = {.t = t, .context = 3, .width = 130, .tab_columns = 8, .options = {.t = t}};
    const char *error;
    tool_opts o;
    const char *fixed = NULL;
    int is_first = 0, status = 0, c;
    for (tool_opts_start(&o, argc, argv);
         (c = tool_opts_next(t, &o, "uU:cC:qsyW:rNPiwbZBI:aL:x:X:S:defnpF:tTD:lE0123456789H", longs)) != -1;) {
        switch (c) {
        case 'u': set_style(&s, 'u'); break;
        case 'U': case 'C':
            set_style(&s, c == 'U' ? 'u' : 'c');
            s.context = o.arg ? strtoul(o.arg, NULL, 10) : 3;
            if (o.arg && (!*o.arg || strspn(o.arg, "0123456789") != strlen(o.arg))) {
                tool_fail(t, 2, "invalid context length '%s'", o.arg);
                return tool_usage(t, 2);
            }
            break;
        case 'c': set_style(&s, 'c'); break;
        case 'q': s.brief = 1; break;
        case 's': s.report_same = 1; break;
        case 'y': set_style(&s, 'y'); break;
        case 'W': s.width = strtoul(o.arg, NULL, 10); break;
        case 'r': s.recursive = 1; break;
        case 'N': s.new_file = 1; break;
        case 'i': s.fold = 1; break;
        case 'w': s.all_space = 1; break;
        case 'b': s.space_change = 1; break;
        case 'Z': s.trailing = 1; break;
        case 'B': s.blank_lines = 1; break;
        case 'I':
            if (!(s.ignore = pattern_compile(t, o.arg, strlen(o.arg), 0, &error))) return tool_fail(t, 2, "%s: %s", o.arg, error);
            break;
        case 'p': case 'F': {
            const char *title = c == 'p' ? "^[[:alpha:]$_]" : o.arg;
            if (!(s.function = pattern_compile(t, title, strlen(title), 0, &error)))
                return tool_fail(t, 2, "%s: %s", title, error);
            break;
        }
        case 'a': s.text = 1; break;
        case 'L': if (s.label_n < 2) s.label[s.label_n++] = o.arg; break;
        case 'x': if (s.exclude_n < 32) s.exclude[s.exclude_n++] = o.arg; break;
        case 'X': if (exclude_from(&s, o.arg)) return 2; break;
        case 'S': s.starting = o.arg; break;
        case 'P': s.new_second = 1; break;
        case 6: s.no_follow = 1; break;
        case 1: s.strip_cr = 1; break;
        case 2: s.suppress = 1; break;
        case 3: s.left_column = 1; break;
        case 4: s.color = o.arg && !strcmp(o.arg, "always"); break;
        case 5: set_style(&s, 'N'); break;
        case 'e': set_style(&s, 'e'); break;
        case 'f': set_style(&s, 'F'); break;
        case 'n': set_style(&s, 'n'); break;
        case 't': s.expand_tabs = 1; break;
        case 'T': s.initial_tab = 1; break;
        case 'E': s.tab_expansion = 1; break;
        case 'D': diff_use_ifdef(&s, o.arg); break;
        case 10: s.line_format[0] = s.line_format[1] = s.line_format[2] = o.arg; s.mode = 'f'; break;
        case 11: case 12: case 13: s.line_format[c - 11] = o.arg; s.mode = 'f'; break;
        case 14: case 15: case 16: case 17: s.group_format[c - 14] = o.arg; s.mode = 'f'; break;
        case 7: case 8: fixed = o.arg; is_first = c == 7; break;
        case 18:
            s.tab_columns = strtoul(o.arg, NULL, 10);
            if (!s.tab_columns || s.tab_columns > 512) return tool_fail(t, 2, "invalid tabsize '%s'", o.arg);
            break;
        case '?': return 2;
        default: break;
        }
    }
    if (s.function && !s.mode) s.mode = 'c';
    if (s.styles > 1) { tool_fail(t, 2, "conflicting output style options"); return tool_usage(t, 2); }
    for (int i = 1; i < o.index; i++) buffer_printf(&s.options, " %s", tool_name(t, argv[i]));
    for (int i = o.index; fixed && i < argc; i++) {
        int r = diff_any(&s, is_first ? fixed : argv[i], is_first ? argv[i] : fixed, 0);
        if (r > status) status = r;
    }
    if (fixed) return status;
    if (argc - o.index < 2) {
        tool_fail(t, 2, "missing operand after '%s'", argv[argc - 1]);
        return tool_usage(t, 2);
    }
    if (argc - o.index > 2) { tool_fail(t, 2, "extra operand '%s'", argv[o.index + 2]); return tool_usage(t, 2); }
    return diff_any(&s, argv[o.index], argv[o.index + 1], 0);
}
