/* stat.c - stat, du, df, tree: about files and how much they take. */
#include "buffer.h"
#include "dates.h"
#include "files.h"
#include "patterns.h"
#include "users.h"
#include "../modes.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void put_directive(tool *t, buffer *b, int c, const char *path, const struct stat *st) {
    char mode[11], target[4096];
    switch (c) {
    case 'n': buffer_puts(b, path); break;
    case 'N': {
        buffer_puts(b, tool_quote(t, path));
        ssize_t n = S_ISLNK(st->st_mode) ? readlink(path, target, sizeof target - 1) : -1;
        if (n >= 0) { target[n] = '\0'; buffer_printf(b, " -> %s", tool_quote(t, target)); }
        break;
    }
    case 's': buffer_printf(b, "%lld", (long long)st->st_size); break;
    case 'a': buffer_printf(b, "%o", modes_get(st)); break;
    case 'A': mode_text(st, mode); buffer_puts(b, mode); break;
    case 'f': buffer_printf(b, "%x", (unsigned)((st->st_mode & S_IFMT) | modes_get(st))); break;
    case 'F': buffer_puts(b, type_text(st)); break;
    case 'u': buffer_printf(b, "%u", file_owner(st)); break;
    case 'U': buffer_puts(b, user_name(t, file_owner(st))); break;
    case 'g': buffer_printf(b, "%u", file_group(st)); break;
    case 'G': buffer_puts(b, group_name(t, file_group(st))); break;
    case 'h': buffer_printf(b, "%llu", (unsigned long long)st->st_nlink); break;
    case 'i': buffer_printf(b, "%llu", (unsigned long long)st->st_ino); break;
    case 'd': case 'D': buffer_printf(b, "%llu", (unsigned long long)st->st_dev); break;
    case 'b': buffer_printf(b, "%llu", file_blocks(st)); break;
    case 'B': buffer_puts(b, "512"); break;
    case 'o': buffer_puts(b, "4096"); break;
    case 't': case 'T': buffer_puts(b, "0"); break;
    case 'm': buffer_puts(b, "/"); break;
    case 'x': date_format(b, "%Y-%m-%d %H:%M:%S.%N %z", st->st_atim, 0); break;
    case 'y': date_format(b, "%Y-%m-%d %H:%M:%S.%N %z", st->st_mtim, 0); break;
    case 'z': date_format(b, "%Y-%m-%d %H:%M:%S.%N %z", st->st_ctim, 0); break;
    case 'X': buffer_printf(b, "%lld", (long long)st->st_atim.tv_sec); break;
    case 'Y': buffer_printf(b, "%lld", (long long)st->st_mtim.tv_sec); break;
    case 'Z': buffer_printf(b, "%lld", (long long)st->st_ctim.tv_sec); break;
    case 'w': buffer_puts(b, "-"); break;
    case 'W': buffer_puts(b, "0"); break;
    default: buffer_putc(b, '?');
    }
}

static void put_format(tool *t, buffer *b, const char *p, int escapes, const char *path, const struct stat *st) {
    for (; *p; p++) {
        if (*p == '\\' && escapes && p[1]) {
            static const char from[] = "abfnrtv\\\"", to[] = "\a\b\f\n\r\t\v\\\"";
            const char *at = strchr(from, *++p);
            buffer_putc(b, at ? to[at - from] : *p);
        } else if (*p == '%' && p[1]) {
            int left = 0, zero = 0, width = 0;
            for (p++; *p && strchr("-0#+ '", *p); p++) { left |= *p == '-'; zero |= *p == '0'; }
            for (; isdigit((unsigned char)*p); p++) if (width < 10000) width = width * 10 + *p - '0';
            if (*p == '.') for (p++; isdigit((unsigned char)*p); p++) {}
            if (*p == 'H' || *p == 'L') p++;
            if (*p == '%') { buffer_putc(b, '%'); continue; }
            if (!*p) break;
            buffer one = {.t = t};
            put_directive(t, &one, *p, path, st);
            if (!left) for (int i = (int)one.n; i < width; i++) buffer_putc(b, zero ? '0' : ' ');
            buffer_add(b, one.p, one.n);
            if (left) for (int i = (int)one.n; i < width; i++) buffer_putc(b, ' ');
        } else buffer_putc(b, *p);
    }
}

int tool_stat(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"format", 1, 'c'}, {"printf", 1, 'p'}, {"dereference", 0, 'L'}, {"file-system", 0, 'f'}, {"terse", 0, 't'}, {0, 0, 0}};
    static const char full[] = "  File: %N\n  Size: %-10s\tBlocks: %-10b IO Block: %-6o %F\nDevice: %d\tInode: %-11i Links: %h\nAccess: (%04a/%A)  Uid: (%5u/%8U)   Gid: (%5g/%8G)\nAccess: %x\nModify: %y\nChange: %z\n Birth: %w\n";
    const char *format = NULL;
    int escapes = 0, follow = 0, terse = 0, c, status = 0;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "c:Lft", longs)) != -1;) switch (c) {
        case 'c': format = o.arg; escapes = 0; break;
        case 'p': format = o.arg; escapes = 1; break;
        case 'L': follow = 1; break;
        case 't': terse = 1; break;
        case 'f': break;
        default: return 1;
    }
    if (o.index >= argc) { tool_fail(t, 1, "missing operand"); return tool_usage(t, 1); }
    for (int i = o.index; i < argc; i++) {
        struct stat st;
        if ((follow ? stat(argv[i], &st) : lstat(argv[i], &st)) < 0) { status = tool_fail_errno(t, 1, "cannot statx %s", tool_quote(t, argv[i])); continue; }
        buffer b = {.t = t};
        put_format(t, &b, format ? format : terse ? "%n %s %b %f %u %g %D %i %h %t %T %X %Y %Z %W %o\n" : full, escapes, argv[i], &st);
        if (format && !escapes) buffer_putc(&b, '\n');
        if (io_write(t->out, b.p, b.n) < 0) return 1;
    }
    return status;
}

typedef struct { int all, summary, human, si, apparent, total, depth, bytes, status, end, unit_k; } du_state;

static void print_size(tool *t, const du_state *s, unsigned long long bytes, const char *path) {
    if (s->human || s->si) io_puts(t->out, human_size(t, bytes, s->si));
    else if (s->bytes) io_printf(t->out, "%llu", bytes);
    else io_printf(t->out, "%llu", (bytes + (unsigned)s->unit_k * 1024ull - 1) / ((unsigned)s->unit_k * 1024ull));
    io_printf(t->out, "\t%s%c", path, s->end);
}

static unsigned long long measure(tool *t, du_state *s, const char *path, int depth) {
    struct stat st;
    if (lstat(path, &st) < 0) { s->status = tool_fail_errno(t, 1, "cannot access %s", tool_quote(t, path)); return 0; }
    unsigned long long size = s->apparent ? (unsigned long long)st.st_size : file_blocks(&st) * 512;
    int is_dir = S_ISDIR(st.st_mode);
    if (is_dir && depth < 500 && !tool_too_deep(t)) {
        size_t n;
        char **names = directory_names(t, path, &n);
        if (!names) s->status = tool_fail_errno(t, 1, "cannot read directory %s", tool_quote(t, path));
        for (size_t i = 0; names && i < n; i++) size += measure(t, s, path_join(t, path, names[i]), depth + 1);
    }
    if (depth == 0 || ((is_dir || s->all) && depth <= s->depth)) print_size(t, s, size, path);
    return size;
}

int tool_du(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"all", 0, 'a'}, {"summarize", 0, 's'}, {"human-readable", 0, 'h'}, {"si", 0, 'S'}, {"apparent-size", 0, 'A'}, {"total", 0, 'c'}, {"max-depth", 1, 'd'}, {"bytes", 0, 'b'}, {"null", 0, '0'}, {"kibibytes", 0, 'k'}, {0, 0, 0}};
    du_state s = {.depth = 1000000, .end = '\n', .unit_k = 1};
    unsigned long long total = 0;
    int c;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "ashcd:b0kmxLPHD", longs)) != -1;) switch (c) {
        case 'a': s.all = 1; break;
        case 's': s.depth = 0; break;
        case 'h': s.human = 1; break;
        case 'S': s.si = 1; break;
        case 'A': s.apparent = 1; break;
        case 'c': s.total = 1; break;
        case 'd': s.depth = atoi(o.arg); break;
        case 'b': s.apparent = s.bytes = 1; break;
        case '0': s.end = '\0'; break;
        case 'm': s.unit_k = 1024; break;
        case '?': return 1;
        default: break;
    }
    if (o.index >= argc) total = measure(t, &s, ".", 0);
    for (int i = o.index; i < argc; i++) total += measure(t, &s, argv[i], 0);
    if (s.total) print_size(t, &s, total, "total");
    return s.status;
}

/* There is one file system and its size is the host's business: what is known is what lies in it. */
int tool_df(tool *t, int argc, char **argv) {
    int human = 0;
    for (int i = 1; i < argc; i++) if (argv[i][0] == '-' && strchr(argv[i], 'h')) human = 1;
    io_puts(t->out, human ? "Filesystem      Size  Used Avail Use% Mounted on\n" : "Filesystem     1K-blocks  Used Available Use% Mounted on\n");
    return io_puts(t->out, human ? "sandbox            -     -     -    - /\n" : "sandbox                -     -         -    - /\n") < 0;
}

typedef struct { int all, dirs_only, full, level, status, indicator, no_report, sizes, dirs_first; unsigned long dirs, files; const char *ignore, *only; } tree_state;

static void draw(tool *t, tree_state *s, const char *path, const char *prefix, int depth) {
    size_t n, kept = 0;
    if (depth >= s->level || depth > 300 || tool_too_deep(t)) return;
    char **names = directory_names(t, path, &n);
    if (!names) { io_puts(t->out, " [error opening dir]"); return; }
    struct stat st;
    for (size_t i = 0; i < n; i++) {
        if (*names[i] == '.' && !s->all) continue;
        if (s->ignore && glob_matches(s->ignore, names[i], 0, 0)) continue;
        int is_dir = lstat(path_join(t, path, names[i]), &st) == 0 && S_ISDIR(st.st_mode);
        if (s->dirs_only && !is_dir) continue;
        if (s->only && !is_dir && !glob_matches(s->only, names[i], 0, 0)) continue;
        names[kept++] = names[i];
    }
    for (int pass = s->dirs_first ? 0 : 2; pass < 3; pass++) {
        for (size_t i = 0; i < kept; i++) {
            char *child = path_join(t, path, names[i]), target[4096];
            if (lstat(child, &st) < 0) continue;
            if (pass < 2 && S_ISDIR(st.st_mode) != (pass == 0)) continue;
            int last = i + 1 == kept;
            io_printf(t->out, "\n%s%s%s", prefix, last ? "\342\224\224\342\224\200\342\224\200 " : "\342\224\234\342\224\200\342\224\200 ", s->full ? child : names[i]);
            if (S_ISLNK(st.st_mode)) { ssize_t got = readlink(child, target, sizeof target - 1); if (got >= 0) { target[got] = '\0'; io_printf(t->out, " -> %s", target); } }
            if (s->indicator) io_puts(t->out, S_ISDIR(st.st_mode) ? "/" : S_ISREG(st.st_mode) && modes_get(&st) & 0111 ? "*" : "");
            if (S_ISDIR(st.st_mode)) { s->dirs++; draw(t, s, child, tool_format(t, "%s%s", prefix, last ? "    " : "\342\224\202\302\240\302\240 "), depth + 1); }
            else s->files++;
        }
        if (pass == 1) break;
    }
}

int tool_tree(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"noreport", 0, 'R'}, {"dirsfirst", 0, 'D'}, {0, 0, 0}};
    tree_state s = {.level = 1000000};
    int c;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "adfFL:I:P:nCi", longs)) != -1;) switch (c) {
        case 'a': s.all = 1; break;
        case 'd': s.dirs_only = 1; break;
        case 'f': s.full = 1; break;
        case 'F': s.indicator = 1; break;
        case 'L': s.level = atoi(o.arg); if (s.level < 1) return tool_fail(t, 1, "Invalid level, must be greater than 0."); break;
        case 'I': s.ignore = o.arg; break;
        case 'P': s.only = o.arg; break;
        case 'R': s.no_report = 1; break;
        case 'D': s.dirs_first = 1; break;
        case '?': return 1;
        default: break;
    }
    static char *here[] = {"."};
    char **roots = o.index < argc ? argv + o.index : here;
    int count = o.index < argc ? argc - o.index : 1;
    for (int i = 0; i < count; i++) {
        struct stat st;
        io_printf(t->out, "%s", roots[i]);
        if (stat(roots[i], &st) < 0) { io_puts(t->out, "  [error opening dir]"); s.status = 2; } else { if (s.indicator && S_ISDIR(st.st_mode)) io_puts(t->out, "/"); draw(t, &s, roots[i], "", 0); s.dirs++; }
        io_putc(t->out, '\n');
    }
    if (!s.no_report) {
        io_printf(t->out, "\n%lu director%s", s.dirs, s.dirs == 1 ? "y" : "ies");
        if (!s.dirs_only) io_printf(t->out, ", %lu file%s", s.files, s.files == 1 ? "" : "s");
        io_putc(t->out, '\n');
    }
    return s.status;
}
