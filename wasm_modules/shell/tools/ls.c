/* ls.c - list directory contents. One name per line unless -C, -x or -m asks for more; a terminal is never assumed. */
#include "files.h"
#include "buffer.h"
#include "dates.h"
#include "sort_keys.h"
#include "users.h"
#include "../modes.h"
#include "../utf8.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { char *name, *path, *target; struct stat st; int ok; } entry;

typedef struct {
    int all, almost, dirs_as_files, recursive, reverse, sort, time, format, human, si, kilo, inode, blocks, numeric, no_owner,
        no_group;
    int indicator, follow, follow_args, dirs_first, quote, escape, hide_control, color, zero, full_time, author, width;
    const char *time_style, *ignore[16], *hide;
    int ignores, status, printed;
} ls_state;

enum { SORT_NAME, SORT_TIME, SORT_SIZE, SORT_NONE, SORT_VERSION, SORT_EXTENSION, SORT_WIDTH };

static moment time_of(const ls_state *s, const struct stat *st) {
    return s->time == 'u' ? st->st_atim : s->time == 'c' ? st->st_ctim : st->st_mtim;
}

static int compare(const ls_state *s, const entry *a, const entry *b) {
    int order = 0;
    if (s->dirs_first) {
        order = S_ISDIR(b->st.st_mode) - S_ISDIR(a->st.st_mode);
        if (order) return order;
    }
    if (s->sort == SORT_TIME) {
        moment x = time_of(s, &a->st), y = time_of(s, &b->st);
        order = x.tv_sec != y.tv_sec     ? (x.tv_sec > y.tv_sec ? -1 : 1)
                : x.tv_nsec != y.tv_nsec ? (x.tv_nsec > y.tv_nsec ? -1 : 1)
                                         : 0;
    } else if (s->sort == SORT_SIZE) order = a->st.st_size > b->st.st_size ? -1 : a->st.st_size < b->st.st_size;
    else if (s->sort == SORT_VERSION) order = version_compare(a->name, strlen(a->name), b->name, strlen(b->name));
    else if (s->sort == SORT_EXTENSION) {
        const char *x = strrchr(a->name, '.'), *y = strrchr(b->name, '.');
        order = strcmp(x ? x : "", y ? y : "");
    } else if (s->sort == SORT_WIDTH) order = (int)strlen(a->name) - (int)strlen(b->name);
    if (!order) order = strcmp(a->name, b->name);
    return s->reverse ? -order : order;
}

static void sort_entries(const ls_state *s, entry *v, entry *scratch, size_t n) {
    if (n < 2) return;
    size_t half = n / 2, i = 0, j = half, k = 0;
    sort_entries(s, v, scratch, half);
    sort_entries(s, v + half, scratch, n - half);
    memcpy(scratch, v, half * sizeof *v);
    while (i < half && j < n) v[k++] = compare(s, &scratch[i], &v[j]) <= 0 ? scratch[i++] : v[j++];
    while (i < half) v[k++] = scratch[i++];
}

static const char *suffix_of(const ls_state *s, const struct stat *st, int ok) {
    if (!ok || !s->indicator) return "";
    if (S_ISDIR(st->st_mode)) return "/";
    if (s->indicator == 'p') return "";
    if (S_ISLNK(st->st_mode)) return s->format == 'l' && s->indicator == 'F' ? "" : "@";
    if (S_ISFIFO(st->st_mode)) return "|";
    return s->indicator == 'F' && S_ISREG(st->st_mode) && modes_get(st) & 0111 ? "*" : "";
}

static const char *color_of(const struct stat *st) {
    if (S_ISDIR(st->st_mode)) return "01;34";
    if (S_ISLNK(st->st_mode)) return "01;36";
    return S_ISREG(st->st_mode) && modes_get(st) & 0111 ? "01;32" : NULL;
}

/* The name with quoting, colour and indicator, at the end of b. */
static void put_name(const ls_state *s, buffer *b, const char *name, const struct stat *st, int ok) {
    const char *color = s->color && ok ? color_of(st) : NULL;
    if (color) buffer_printf(b, "\033[0m\033[%sm", color);
    if (s->quote) buffer_putc(b, '"');
    for (const unsigned char *p = (const unsigned char *)name; *p; p++) {
        if (s->hide_control && (*p < 32 || *p == 127)) { buffer_putc(b, '?'); continue; }
        if (s->quote || s->escape) {
            const char *from = "\a\b\f\n\r\t\v", *at = strchr(from, *p);
            if (at) { buffer_putc(b, '\\'); buffer_putc(b, "abfnrtv"[at - from]); continue; }
            if (*p < 32 || *p == 127) { buffer_printf(b, "\\%03o", *p); continue; }
            if (*p == '\\' || (*p == '"' && s->quote) || (*p == ' ' && !s->quote)) buffer_putc(b, '\\');
        }
        buffer_putc(b, *p);
    }
    if (s->quote) buffer_putc(b, '"');
    if (color) buffer_puts(b, "\033[0m");
    buffer_puts(b, suffix_of(s, st, ok));
}

static char *size_text(tool *t, const ls_state *s, const struct stat *st) {
    unsigned long long n = (unsigned long long)st->st_size;
    return s->human || s->si ? human_size(t, n, s->si) : tool_format(t, "%llu", n);
}

static char *blocks_text(tool *t, const ls_state *s, unsigned long long blocks) {
    return s->human || s->si ? human_size(t, blocks * 512, s->si) : tool_format(t, "%llu", (blocks + 1) / 2);
}

static void put_time(tool *t, const ls_state *s, buffer *b, const struct stat *st) {
    moment when = time_of(s, st), now = moment_now();
    const char *style = s->time_style;
    (void)t;
    if (style && *style == '+') { date_format(b, style + 1, when, 0); return; }
    if (s->full_time || (style && !strcmp(style, "full-iso"))) { date_format(b, "%Y-%m-%d %H:%M:%S.%N %z", when, 0); return; }
    if (style && !strcmp(style, "long-iso")) { date_format(b, "%Y-%m-%d %H:%M", when, 0); return; }
    int recent = when.tv_sec <= now.tv_sec && now.tv_sec - when.tv_sec < 31556952 / 2;
    if (style && !strcmp(style, "iso")) date_format(b, recent ? "%m-%d %H:%M" : "%Y-%m-%d ", when, 0);
    else date_format(b, recent ? "%b %e %H:%M" : "%b %e  %Y", when, 0);
}

static size_t widest(size_t now, const char *text) { size_t n = strlen(text); return n > now ? n : now; }

static int print_long(tool *t, const ls_state *s, entry *v, size_t n) {
    size_t links = 0, owner = 0, group = 0, size = 0, inode = 0, blocks = 0;
    for (size_t i = 0; i < n; i++) {
        links = widest(links, tool_format(t, "%llu", (unsigned long long)v[i].st.st_nlink));
        owner = widest(owner, s->numeric ? tool_format(t, "%u", file_owner(&v[i].st)) : user_name(t, file_owner(&v[i].st)));
        group = widest(group, s->numeric ? tool_format(t, "%u", file_group(&v[i].st)) : group_name(t, file_group(&v[i].st)));
        size = widest(size, size_text(t, s, &v[i].st));
        inode = widest(inode, tool_format(t, "%llu", (unsigned long long)v[i].st.st_ino));
        blocks = widest(blocks, blocks_text(t, s, file_blocks(&v[i].st)));
    }
    buffer b = {.t = t};
    for (size_t i = 0; i < n; i++) {
        char mode[11];
        entry *e = &v[i];
        b.n = 0;
        mode_text(&e->st, mode);
        if (s->inode) buffer_printf(&b, "%*llu ", (int)inode, (unsigned long long)e->st.st_ino);
        if (s->blocks) buffer_printf(&b, "%*s ", (int)blocks, blocks_text(t, s, file_blocks(&e->st)));
        buffer_printf(&b, "%s %*llu ", mode, (int)links, (unsigned long long)e->st.st_nlink);
        if (!s->no_owner)
            buffer_printf(&b, s->numeric ? "%*s " : "%-*s ", (int)owner,
                s->numeric ? tool_format(t, "%u", file_owner(&e->st)) : user_name(t, file_owner(&e->st)));
        if (!s->no_group)
            buffer_printf(&b, s->numeric ? "%*s " : "%-*s ", (int)group,
                s->numeric ? tool_format(t, "%u", file_group(&e->st)) : group_name(t, file_group(&e->st)));
        buffer_printf(&b, "%*s ", (int)size, size_text(t, s, &e->st));
        put_time(t, s, &b, &e->st);
        buffer_putc(&b, ' ');
        put_name(s, &b, e->name, &e->st, e->ok);
        if (e->target) {
            struct stat real;
            buffer_puts(&b, " -> ");
            int ok = stat(e->path, &real) == 0;
            put_name(s, &b, e->target, ok ? &real : &e->st, ok);
        }
        buffer_putc(&b, s->zero ? '\0' : '\n');
        if (io_write(t->out, b.p, b.n) < 0) return -1;
    }
    return 0;
}

static size_t columns_of(const char *text) {
    size_t width = 0, n = strlen(text);
    for (size_t i = 0; i < n;) {
        int c;
        i += (size_t)utf8_decode(text + i, n - i, &c);
        int w = utf8_width(c);
        width += w > 0 ? (size_t)w : 0;
    }
    return width;
}

/* Moves from one column to another, with tabs where they save something. */
static void pad(tool *t, size_t from, size_t to) {
    while (from < to) {
        if (to / 8 > (from + 1) / 8) { io_putc(t->out, '\t'); from += 8 - from % 8; } else { io_putc(t->out, ' '); from++; }
    }
}

/* Rows of names that fit in s->width, filled down (-C) or across (-x). */
static int print_columns(tool *t, const ls_state *s, char **cells, size_t n, int across) {
    size_t width = (size_t)s->width, best = 1, rows = n;
    size_t *wide = tool_alloc(t, (n + 1) * sizeof *wide);
    for (size_t cols = n < width / 3 + 1 ? n : width / 3 + 1; cols > 1; cols--) {
        size_t r = (n + cols - 1) / cols, total = 0, used = across ? cols : (n + r - 1) / r;
        if (used != cols) continue;
        memset(wide, 0, cols * sizeof *wide);
        for (size_t i = 0; i < n; i++) {
            size_t c = across ? i % cols : i / r, w = columns_of(cells[i]) + (c + 1 < cols ? 2 : 0);
            if (w > wide[c]) wide[c] = w;
        }
        for (size_t c = 0; c < cols; c++) total += wide[c];
        if (total <= width) { best = cols; rows = r; break; }
    }
    if (best == 1) rows = n;
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0, start = 0; c < best; c++) {
            size_t i = across ? r * best + c : c * rows + r;
            if (i >= n) break;
            size_t next = across ? i + 1 : i + rows;
            int last = c + 1 == best || next >= n;
            if (io_puts(t->out, cells[i]) < 0) return -1;
            if (!last) pad(t, start + columns_of(cells[i]), start + wide[c]);
            start += wide[c];
        }
        if (io_putc(t->out, '\n') < 0) return -1;
    }
    return 0;
}

static int print_short(tool *t, const ls_state *s, entry *v, size_t n) {
    char **cells = tool_alloc(t, (n + 1) * sizeof *cells);
    size_t inode = 0, blocks = 0;
    for (size_t i = 0; i < n; i++) {
        inode = widest(inode, tool_format(t, "%llu", (unsigned long long)v[i].st.st_ino));
        blocks = widest(blocks, blocks_text(t, s, file_blocks(&v[i].st)));
    }
    for (size_t i = 0; i < n; i++) {
        buffer b = {.t = t};
        buffer_puts(&b, "");
        if (s->inode) buffer_printf(&b, "%*llu ", (int)inode, (unsigned long long)v[i].st.st_ino);
        if (s->blocks) buffer_printf(&b, "%*s ", (int)blocks, blocks_text(t, s, file_blocks(&v[i].st)));
        put_name(s, &b, v[i].name, &v[i].st, v[i].ok);
        cells[i] = b.p;
    }
    if (s->format == 'C' || s->format == 'x') return n ? print_columns(t, s, cells, n, s->format == 'x') : 0;
    if (s->format == 'm') {
        size_t column = 0;
        for (size_t i = 0; i < n; i++) {
            size_t w = columns_of(cells[i]);
            if (i) {
                if (column + w + 3 > (size_t)s->width) { io_puts(t->out, ",\n"); column = 0; }
                else { io_puts(t->out, ", "); column += 2; }
            }
            if (io_puts(t->out, cells[i]) < 0) return -1;
            column += w;
        }
        return n ? io_putc(t->out, '\n') : 0;
    }
    for (size_t i = 0; i < n; i++) if (io_puts(t->out, cells[i]) < 0 || io_putc(t->out, s->zero ? '\0' : '\n') < 0) return -1;
    return 0;
}

static int fill_entry(tool *t, ls_state *s, entry *e, char *name, char *path, int follow) {
    char target[4096];
    *e = (entry){.name = name, .path = path};
    int failed = follow ? stat(path, &e->st) : lstat(path, &e->st);
    if (failed && follow) failed = lstat(path, &e->st);
    if (failed) {
        s->status = tool_fail_errno(t, 2, "cannot access %s", tool_quote(t, path));
        return -1;
    }
    e->ok = 1;
    if (S_ISLNK(e->st.st_mode) && s->format == 'l') {
        ssize_t n = readlink(path, target, sizeof target - 1);
        if (n >= 0) e->target = tool_strndup(t, target, (size_t)n);
    }
    return 0;
}

static int print_entries(tool *t, ls_state *s, entry *v, size_t n) {
    if (s->sort != SORT_NONE) sort_entries(s, v, tool_alloc(t, (n + 1) * sizeof *v), n);
    return s->format == 'l' ? print_long(t, s, v, n) : print_short(t, s, v, n);
}

/* Just enough of fnmatch for --ignore: * and ?. */
static int glob_match(const char *p, const char *s) {
    const char *star = NULL, *back = NULL;
    while (*s) {
        if (*p == '*') { star = p++; back = s; }
        else if (*p == '?' || *p == *s) { p++; s++; }
        else if (star) { p = star + 1; s = ++back; }
        else return 0;
    }
    while (*p == '*') p++;
    return !*p;
}

static int hidden(const ls_state *s, const char *name) {
    if (*name == '.' && !s->all && !s->almost) return 1;
    for (int i = 0; i < s->ignores; i++) if (glob_match(s->ignore[i], name)) return 1;
    return s->hide && !s->all && !s->almost && glob_match(s->hide, name);
}

static int list_directory(tool *t, ls_state *s, const char *path, int titled, int depth) {
    size_t count, n = 0;
    if (depth > 500 || tool_too_deep(t)) return tool_fail(t, 2, "%s: directories nest too deep", path);
    char **names = directory_names(t, path, &count);
    if (!names) { s->status = tool_fail_errno(t, depth ? 1 : 2, "cannot open directory %s", tool_quote(t, path)); return 0; }
    entry *v = tool_alloc(t, (count + 3) * sizeof *v);
    if (s->all) {
        if (!fill_entry(t, s, &v[n], ".", path_join(t, path, "."), s->follow)) n++;
        /* the root of the sandbox has no parent to ask: it is its own */
        struct stat up;
        int has_parent = stat(path_join(t, path, ".."), &up) == 0;
        if (!fill_entry(t, s, &v[n], "..", path_join(t, path, has_parent ? ".." : "."), s->follow)) n++;
    }
    for (size_t i = 0; i < count; i++)
        if (!hidden(s, names[i]) && !fill_entry(t, s, &v[n], names[i], path_join(t, path, names[i]), s->follow)) n++;
    if (s->printed++ && titled) io_putc(t->out, '\n');
    if (titled) io_printf(t->out, "%s:\n", path);
    if (s->format == 'l' || s->blocks) {
        unsigned long long total = 0;
        for (size_t i = 0; i < n; i++) total += file_blocks(&v[i].st);
        if (io_printf(t->out, "total %s\n", blocks_text(t, s, total)) < 0) return -1;
    }
    if (print_entries(t, s, v, n) < 0) return -1;
    for (size_t i = 0; s->recursive && i < n; i++) {
        if (!S_ISDIR(v[i].st.st_mode) || !strcmp(v[i].name, ".") || !strcmp(v[i].name, "..")) continue;
        if (list_directory(t, s, v[i].path, 1, depth + 1) < 0) return -1;
    }
    return 0;
}

static int parse_options(tool *t, tool_opts *o, ls_state *s) {
    static const tool_long longs[] = {{"all", 0, 'a'}, {"almost-all", 0, 'A'}, {"author", 0, '1' + 128}, {"escape", 0, 'b'},
        {"block-size", 1, 140}, {"ignore-backups", 0, 'B'}, {"color", 2, 141}, {"directory", 0, 'd'}, {"classify", 2, 'F'},
        {"file-type", 0, 142}, {"format", 1, 143}, {"full-time", 0, 144}, {"group-directories-first", 0, 145},
        {"no-group", 0, 'G'}, {"human-readable", 0, 'h'}, {"si", 0, 146}, {"dereference-command-line", 0, 'H'}, {"hide", 1, 147},
        {"indicator-style", 1, 148}, {"inode", 0, 'i'}, {"ignore", 1, 'I'}, {"kibibytes", 0, 'k'}, {"dereference", 0, 'L'},
        {"numeric-uid-gid", 0, 'n'}, {"literal", 0, 'N'}, {"quote-name", 0, 'Q'}, {"reverse", 0, 'r'}, {"recursive", 0, 'R'},
        {"quoting-style", 1, 153}, {"size", 0, 's'}, {"sort", 1, 149}, {"time", 1, 150}, {"time-style", 1, 151},
        {"width", 1, 'w'}, {"zero", 0, 152}, {"hide-control-chars", 0, 'q'}, {"show-control-chars", 0, 'N'}, {0, 0, 0}};
    int c;
    while ((c = tool_opts_next(t, o, "aAbBcCdfFgGhHiI:klLmnNopqQrRsStT:uUvw:xXZ1", longs)) != -1) switch (c) {
        case 'a': s->all = 1; break;
        case 'A': s->almost = 1; break;
        case 'b': s->escape = 1; break;
        case 'B': if (s->ignores < 16) s->ignore[s->ignores++] = "*~"; break;
        case 'c': s->time = 'c'; if (s->sort == SORT_NAME) s->sort = -1; break;
        case 'u': s->time = 'u'; if (s->sort == SORT_NAME) s->sort = -1; break;
        case 'C': case 'x': case 'm': s->format = c; break;
        case 'd': s->dirs_as_files = 1; break;
        case 'f': s->all = 1; s->sort = SORT_NONE; break;
        case 'F': s->indicator = o->arg && !strcmp(o->arg, "never") ? 0 : o->arg && !strcmp(o->arg, "auto") ? 0 : 'F'; break;
        case 'g': s->format = 'l'; s->no_owner = 1; break;
        case 'G': s->no_group = 1; break;
        case 'h': s->human = 1; break;
        case 'H': s->follow_args = 1; break;
        case 'i': s->inode = 1; break;
        case 'I': if (s->ignores < 16) s->ignore[s->ignores++] = o->arg; break;
        case 'l': s->format = 'l'; break;
        case 'L': s->follow = 1; break;
        case 'n': s->format = 'l'; s->numeric = 1; break;
        case 'o': s->format = 'l'; s->no_group = 1; break;
        case 'p': s->indicator = 'p'; break;
        case 'q': s->hide_control = 1; break;
        case 'Q': s->quote = 1; break;
        case 'r': s->reverse = 1; break;
        case 'R': s->recursive = 1; break;
        case 's': s->blocks = 1; break;
        case 'S': s->sort = SORT_SIZE; break;
        case 't': s->sort = SORT_TIME; break;
        case 'U': s->sort = SORT_NONE; break;
        case 'v': s->sort = SORT_VERSION; break;
        case 'w': s->width = atoi(o->arg); if (!s->width) s->width = 1000000; break;
        case 'X': s->sort = SORT_EXTENSION; break;
        case '1': if (s->format != 'l') s->format = '1'; break;
        case 'k': case 'N': case 'T': case 'Z': case 140: case '1' + 128: break;
        case 141: s->color = !o->arg || !strcmp(o->arg, "always") || !strcmp(o->arg, "yes"); break;
        case 142: s->indicator = 't'; break;
        case 143:
            s->format = *o->arg == 'l' || *o->arg == 'v'   ? (*o->arg == 'l' ? 'l' : 'C')
                        : *o->arg == 'a' || *o->arg == 'h' ? 'x'
                        : *o->arg == 'c'                   ? 'm'
                                                           : '1';
            break;
        case 144: s->format = 'l'; s->full_time = 1; break;
        case 145: s->dirs_first = 1; break;
        case 146: s->si = 1; break;
        case 147: s->hide = o->arg; break;
        case 148: s->indicator = *o->arg == 's' ? 'p' : *o->arg == 'f' ? 't' : *o->arg == 'c' ? 'F' : 0; break;
        case 149:
            s->sort = *o->arg == 't'   ? SORT_TIME
                      : *o->arg == 's' ? SORT_SIZE
                      : *o->arg == 'v' ? SORT_VERSION
                      : *o->arg == 'e' ? SORT_EXTENSION
                      : *o->arg == 'w' ? SORT_WIDTH
                      : *o->arg == 'n' ? (o->arg[1] == 'o' ? SORT_NONE : SORT_NAME)
                                       : SORT_NAME;
            break;
        case 150: s->time = *o->arg == 'a' || *o->arg == 'u' ? 'u' : *o->arg == 'c' || *o->arg == 's' ? 'c' : 0; break;
        case 151: s->time_style = o->arg; break;
        case 153:
            s->escape = *o->arg == 'e';
            s->quote = *o->arg == 'c';
            break;
        case 152: s->zero = 1; if (s->format != 'l') s->format = '1'; break;
        default: return -1;
    }
    if (s->sort == -1) s->sort = s->format == 'l' ? SORT_NAME : SORT_TIME;
    return 0;
}

int tool_ls(tool *t, int argc, char **argv) {
    ls_state s = {.format = '1', .width = 80};
    const char *columns = t->getenv ? t->getenv(t, "COLUMNS") : NULL;
    if (columns && atoi(columns) > 0) s.width = atoi(columns);
    tool_opts o;
    tool_opts_start(&o, argc, argv);
    if (parse_options(t, &o, &s) < 0) return 2;
    static char *here[] = {"."};
    char **args = o.index < argc ? argv + o.index : here;
    size_t n = o.index < argc ? (size_t)(argc - o.index) : 1, files = 0, dirs = 0;
    entry *file = tool_alloc(t, (n + 1) * sizeof *file), *dir = tool_alloc(t, (n + 1) * sizeof *dir), e;
    int follow_dirs = s.format != 'l' || s.follow_args;
    for (size_t i = 0; i < n; i++) {
        struct stat real;
        if (fill_entry(t, &s, &e, args[i], args[i], s.follow || s.follow_args) < 0) continue;
        if (S_ISLNK(e.st.st_mode) && follow_dirs && !s.dirs_as_files && s.indicator != 'F' && stat(args[i], &real) == 0
            && S_ISDIR(real.st_mode))
            e.st = real;
        if (S_ISLNK(e.st.st_mode) && args[i][strlen(args[i]) - 1] == '/' && stat(args[i], &real) == 0) e.st = real;
        if (S_ISDIR(e.st.st_mode) && !s.dirs_as_files) dir[dirs++] = e; else file[files++] = e;
    }
    if (files && print_entries(t, &s, file, files) < 0) return 2;
    s.printed = files > 0;
    entry *scratch = tool_alloc(t, (dirs + 1) * sizeof *scratch);
    if (s.sort != SORT_NONE) sort_entries(&s, dir, scratch, dirs);
    for (size_t i = 0; i < dirs; i++) if (list_directory(t, &s, dir[i].path, n > 1 || s.recursive, 0) < 0) return 2;
    return s.status;
}

/* dir and vdir: ls in columns or long, whatever it writes to. */
static int ls_as(tool *t, int argc, char **argv, char *how) {
    char **words = tool_alloc(t, ((size_t)argc + 3) * sizeof *words);
    words[0] = argv[0];
    words[1] = how;
    memcpy(words + 2, argv + 1, (size_t)(argc - 1) * sizeof *words);
    return tool_ls(t, argc + 1, words);
}

int tool_dir(tool *t, int argc, char **argv) { return ls_as(t, argc, argv, "-Cb"); }
int tool_vdir(tool *t, int argc, char **argv) { return ls_as(t, argc, argv, "-lb"); }
