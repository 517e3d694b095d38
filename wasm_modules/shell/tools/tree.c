/* tree.c - directories as a tree: as text, or as JSON (-J).
 *
 * A directory is read whole before it is drawn, since -P with --prune and --du must know what lies below.
 */
#include "buffer.h"
#include "dates.h"
#include "files.h"
#include "patterns.h"
#include "users.h"
#include "../utf8.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { DEEPEST_TREE = 300, TREE_GLOBS = 16 };

enum { HALF_YEAR_S = 15778476 };

typedef struct branch branch;
struct branch {
    const char *name, *path, *target;
    struct stat st;
    branch *children;
    size_t count;
    unsigned long long size;
    int unread, is_dir, too_many;
    int leads;                         /* a link to a directory */
    int again;                         /* a link that -l does not follow, to a directory that was seen before */
};

typedef struct {
    int all, dirs_only, full, no_lines, level, status, indicator, no_report, sizes, human, si, dirs_first, files_first, reverse,
        quote;
    int modes, owner, group, dates, inodes, prune, json, by_time, by_size, by_version, unsorted, ascii, fold, match_dirs, sum, raw,
        masked, follow;
    struct { dev_t device; ino_t inode; } *seen;      /* directories, while -l follows links */
    size_t seen_n;
    size_t most_entries;
    const char *ignore[TREE_GLOBS], *only[TREE_GLOBS], *output, *time_format;
    int ignores, onlys;
    int filtering;                     /* whether -P counts here: not right below a directory that --matchdirs found */
    unsigned long dirs, files;
} tree_state;

/* A pattern may have alternatives: "a|b"; one that ends in / is for directories only. */
static int listed(const tree_state *s, const char *const *patterns, int n, const char *name, int is_dir, tool *t) {
    for (int i = 0; i < n; i++)
        for (const char *p = patterns[i];; p++) {
            size_t len = strcspn(p, "|");
            int only_dir = len > 1 && p[len - 1] == '/';
            if ((is_dir || !only_dir) && glob_matches(tool_strndup(t, p, len - (size_t)only_dir), name, s->fold, 0)) return 1;
            p += len;
            if (!*p) break;
        }
    return 0;
}

/* A directory, or a link to one, which counts as such. */
static int is_place(const branch *b) { return b->is_dir || b->leads; }

static int compare(const tree_state *s, const branch *a, const branch *b) {
    int order = 0;
    if ((s->dirs_first || s->files_first) && is_place(a) != is_place(b)) return (is_place(a) ? -1 : 1) * (s->files_first ? -1 : 1);
    if (s->unsorted) return 0;
    if (s->by_time) order = a->st.st_mtime < b->st.st_mtime ? -1 : a->st.st_mtime > b->st.st_mtime;
    if (s->by_size) order = a->st.st_size > b->st.st_size ? -1 : a->st.st_size < b->st.st_size;
    if (s->by_version) order = strverscmp(a->name, b->name);
    if (!order) order = strcmp(a->name, b->name);
    return s->reverse ? -order : order;
}

static void sort_children(const tree_state *s, branch *v, size_t n) {
    for (size_t i = 1; i < n; i++) {
        branch x = v[i];
        size_t j = i;
        for (; j > 0 && compare(s, &v[j - 1], &x) > 0; j--) v[j] = v[j - 1];
        v[j] = x;
    }
}

static int shown(tool *t, const tree_state *s, const branch *b) {
    if (*b->name == '.' && !s->all) return 0;
    if (s->dirs_only && !is_place(b)) return 0;
    if (listed(s, s->ignore, s->ignores, b->name, b->is_dir, t)) return 0;
    return !s->onlys || !s->filtering || b->is_dir || listed(s, s->only, s->onlys, b->name, b->is_dir, t);
}

/* Whether the directory was seen before; it is from now on. */
static int seen_before(tool *t, tree_state *s, const struct stat *st) {
    for (size_t i = 0; i < s->seen_n; i++) if (s->seen[i].device == st->st_dev && s->seen[i].inode == st->st_ino) return 1;
    s->seen = tool_realloc(t, s->seen, (s->seen_n + 1) * sizeof *s->seen);
    s->seen[s->seen_n].device = st->st_dev;
    s->seen[s->seen_n++].inode = st->st_ino;
    return 0;
}

/* What a link leads to. */
static void look_behind(tool *t, tree_state *s, branch *c) {
    char target[4096];
    struct stat real;
    ssize_t got = S_ISLNK(c->st.st_mode) ? readlink(c->path, target, sizeof target - 1) : -1;
    if (got < 0) return;
    c->target = tool_strndup(t, target, (size_t)got);
    c->leads = path_stat(c->path, &real) == 0 && S_ISDIR(real.st_mode);
    if (c->leads && s->follow) c->again = seen_before(t, s, &real);
}

/* Fills in what lies below b. */
static void grow(tool *t, tree_state *s, branch *b, int depth) {
    size_t n, kept = 0;
    b->size = (unsigned long long)b->st.st_size;
    if (s->follow && b->is_dir) seen_before(t, s, &b->st);
    if (!(b->is_dir || (b->leads && s->follow && !b->again)) || depth >= s->level || depth > DEEPEST_TREE || tool_too_deep(t)) return;
    char **names = directory_names(t, b->path, &n);
    if (!names) { b->unread = 1; s->status = 2; return; }
    b->children = tool_alloc(t, (n + 1) * sizeof *b->children);
    for (size_t i = 0; i < n; i++) {
        branch *c = &b->children[kept];
        *c = (branch){.name = names[i], .path = path_join(t, b->path, names[i])};
        if (path_lstat(c->path, &c->st) < 0) continue;
        c->is_dir = S_ISDIR(c->st.st_mode);
        look_behind(t, s, c);
        if (!shown(t, s, c)) continue;
        int own = s->filtering;
        s->filtering = !(s->match_dirs && c->is_dir && listed(s, s->only, s->onlys, c->name, 1, t));
        grow(t, s, c, depth + 1);
        s->filtering = own;
        b->size += c->size;
        if (s->prune && is_place(c) && !c->count) continue;
        kept++;
    }
    b->count = kept;
    if (s->most_entries && kept > s->most_entries) { b->too_many = (int)kept; b->count = 0; }
    sort_children(s, b->children, b->count);
}

static void put_details(tool *t, const tree_state *s, const branch *b, int json) {
    const char *gap = json ? "" : "[";
    char mode[16];
    moment when = {.tv_sec = b->st.st_mtime};
    buffer text = {.t = t};
    unsigned long long size = s->sum ? b->size : (unsigned long long)b->st.st_size;
#define PUT(key, format, ...) (json ? io_printf(t->out, ",\"" key "\":" format, __VA_ARGS__) : 0)
#define SAY(...) (io_puts(t->out, gap), gap = " ", io_printf(t->out, __VA_ARGS__))
    if (s->inodes) {
        if (json) PUT("inode", "%llu", (unsigned long long)b->st.st_ino);
        else SAY("%7llu", (unsigned long long)b->st.st_ino);
    }
    if (s->modes) {
        mode_text(&b->st, mode);
        if (json) {
            PUT("mode", "\"%04o\"", (unsigned)b->st.st_mode & 07777);
            PUT("prot", "\"%s\"", mode);
        } else SAY("%s", mode);
    }
    const char *user = user_name(t, b->st.st_uid), *group = group_name(t, b->st.st_gid);
    if (s->owner) { if (json) PUT("user", "\"%s\"", user); else SAY("%-8s", user); }
    if (s->group) { if (json) PUT("group", "\"%s\"", group); else SAY("%-8s", group); }
    if (s->sizes) {
        const char *human = s->human ? human_size(t, size, s->si) : NULL;
        if (json) PUT("size", "%llu", size);
        else if (human) SAY("%4s", human);
        else SAY("%11llu", size);
    }
    if (s->dates) {
        date_format(&text,
            s->time_format                                    ? s->time_format
            : moment_now().tv_sec - when.tv_sec > HALF_YEAR_S ? "%b %e  %Y"
                                                              : "%b %e %H:%M",
            when, 0);
        if (json) PUT("time", "\"%s\"", text.p); else SAY("%s", text.p);
    }
#undef SAY
#undef PUT
    if (!json && *gap == ' ') io_puts(t->out, "]  ");
}

/* A name on one line: what cannot be printed as \ooo, or ? with -q, or as it is with -N. */
static void put_text(tool *t, const tree_state *s, const char *text) {
    if (s->quote) io_putc(t->out, '"');
    for (int len; *text; text += len) {
        int point;
        len = utf8_decode(text, strlen(text), &point);
        unsigned char c = (unsigned char)*text;
        int odd = c < 32 || c == 127 || point < 0;
        if (odd && !s->raw && s->masked && c < 128) io_putc(t->out, '?');
        else if (odd && !s->raw && !s->masked) { len = 1; io_printf(t->out, "\\%03o", c); }
        else io_write(t->out, text, (size_t)len);
    }
    if (s->quote) io_putc(t->out, '"');
}

static void put_name(tool *t, const tree_state *s, const branch *b, int root) {
    if (!root || !b->unread) put_details(t, s, b, 0);
    put_text(t, s, s->full || root ? b->path : b->name);
    if (b->target) { io_puts(t->out, " -> "); put_text(t, s, b->target); }
    if (s->indicator)
        io_puts(t->out, is_place(b)                                            ? (b->path[strlen(b->path) - 1] == '/' ? "" : "/")
                        : S_ISREG(b->st.st_mode) && b->st.st_mode & 0111 ? "*"
                                                                             : "");
    if (b->again) io_puts(t->out, "  [recursive, not followed]");
    if (b->unread) io_puts(t->out, "  [error opening dir]");
    if (b->too_many) io_printf(t->out, "  [%d entries exceeds filelimit, not opening dir]", b->too_many);
    io_putc(t->out, '\n');
}

static void draw(tool *t, tree_state *s, const branch *b, const char *prefix) {
    const char *tee = s->ascii ? "|-- " : "\342\224\234\342\224\200\342\224\200 ";
    const char *corner = s->ascii ? "`-- " : "\342\224\224\342\224\200\342\224\200 ";
    const char *bar = s->ascii ? "|   " : "\342\224\202\302\240\302\240 ";
    for (size_t i = 0; i < b->count && !io_failed(t->out); i++) {
        const branch *c = &b->children[i];
        int last = i + 1 == b->count;
        if (!s->no_lines) io_printf(t->out, "%s%s", prefix, last ? corner : tee);
        put_name(t, s, c, 0);
        if (is_place(c)) s->dirs++; else s->files++;
        if (c->count) draw(t, s, c, tool_format(t, "%s%s", prefix, last ? "    " : bar));
    }
}

static void put_json_text(io *out, const char *text) {
    io_putc(out, '"');
    for (; *text; text++) {
        static const char from[] = "\b\f\n\r\t", to[] = "bfnrt";
        const char *at = strchr(from, *text);
        if (at) { io_printf(out, "\\%c", to[at - from]); continue; }
        if (*text == '"' || *text == '\\') io_putc(out, '\\');
        if ((unsigned char)*text < 32) io_printf(out, "\\u%04x", (unsigned)*text); else io_putc(out, *text);
    }
    io_putc(out, '"');
}

static void draw_json(tool *t, tree_state *s, const branch *b, int depth, int last) {
    io_printf(t->out, "%*s{\"type\":\"%s\",\"name\":", depth * 2, "", b->is_dir ? "directory" : b->target ? "link" : "file");
    put_json_text(t->out, s->full || depth == 1 ? b->path : b->name);
    if (b->target) { io_puts(t->out, ",\"target\":"); put_json_text(t->out, b->target); }
    put_details(t, s, b, 1);
    if (depth > 1) { if (is_place(b)) s->dirs++; else s->files++; }
    if (b->count) {
        io_puts(t->out, ",\"contents\":[\n");
        for (size_t i = 0; i < b->count; i++) draw_json(t, s, &b->children[i], depth + 1, i + 1 == b->count);
        io_printf(t->out, "%*s]", depth * 2, "");
    }
    io_puts(t->out, last ? "}\n" : "},\n");
}

static void report(tool *t, const tree_state *s, unsigned long long used) {
    if (s->json) {
        io_printf(t->out, ",\n  {\"type\":\"report\",\"directories\":%lu", s->dirs);
        if (!s->dirs_only) io_printf(t->out, ",\"files\":%lu", s->files);
        io_puts(t->out, "}\n");
        return;
    }
    io_putc(t->out, '\n');
    if (s->sum && s->human) io_printf(t->out, "%4s used in ", human_size(t, used, s->si));
    else if (s->sum) io_printf(t->out, "%12llu bytes used in ", used);
    io_printf(t->out, "%lu director%s", s->dirs, s->dirs == 1 ? "y" : "ies");
    if (!s->dirs_only) io_printf(t->out, ", %lu file%s", s->files, s->files == 1 ? "" : "s");
    io_putc(t->out, '\n');
}

static int parse_options(tool *t, tool_opts *o, tree_state *s) {
    static const tool_long longs[]
        = {{"noreport", 0, 128}, {"dirsfirst", 0, 129}, {"filesfirst", 0, 130}, {"prune", 0, 131}, {"du", 0, 132}, {"si", 0, 133},
            {"inodes", 0, 134}, {"charset", 1, 135}, {"filelimit", 1, 136}, {"ignore-case", 0, 137}, {"matchdirs", 0, 138},
            {"timefmt", 1, 139}, {"sort", 1, 140}, {"gitignore", 0, 141}, {"fromfile", 0, 142}, {"info", 0, 141}, {0, 0, 0}};
    int c;
    while ((c = tool_opts_next(t, o, "adfFL:I:P:nCishpugDQNqrRtcUvJX:o:Alx", longs)) != -1) switch (c) {
        case 'a': s->all = 1; break;
        case 'd': s->dirs_only = 1; break;
        case 'f': s->full = 1; break;
        case 'F': s->indicator = 1; break;
        case 'i': s->no_lines = 1; break;
        case 's': s->sizes = 1; break;
        case 'h': s->sizes = s->human = 1; break;
        case 'p': s->modes = 1; break;
        case 'u': s->owner = 1; break;
        case 'g': s->group = 1; break;
        case 'D': s->dates = 1; break;
        case 'Q': s->quote = 1; break;
        case 'N': s->raw = 1; break;
        case 'q': s->masked = 1; break;
        case 'l': s->follow = 1; break;
        case 'r': s->reverse = 1; break;
        case 't': case 'c': s->by_time = 1; break;
        case 'v': s->by_version = 1; break;
        case 'U': s->unsorted = 1; break;
        case 'J': s->json = 1; break;
        case 'o': s->output = o->arg; break;
        case 'L': if ((s->level = atoi(o->arg)) < 1) return tool_fail(t, 1, "Invalid level, must be greater than 0."); break;
        case 'I': if (s->ignores < TREE_GLOBS) s->ignore[s->ignores++] = o->arg; break;
        case 'P': if (s->onlys < TREE_GLOBS) s->only[s->onlys++] = o->arg; break;
        case 128: s->no_report = 1; break;
        case 129: s->dirs_first = 1; break;
        case 130: s->files_first = 1; break;
        case 131: s->prune = 1; break;
        case 132: s->sum = s->sizes = 1; break;
        case 133: s->si = s->human = s->sizes = 1; break;
        case 134: s->inodes = 1; break;
        case 135: s->ascii = !strcasecmp(o->arg, "ascii") || !strcasecmp(o->arg, "us-ascii"); break;
        case 136: s->most_entries = strtoul(o->arg, NULL, 10); break;
        case 137: s->fold = 1; break;
        case 138: s->match_dirs = 1; break;
        case 139: s->dates = 1; s->time_format = o->arg; break;
        case 140:
            s->by_size = *o->arg == 's';
            s->by_time = *o->arg == 'm' || *o->arg == 'c';
            s->by_version = *o->arg == 'v';
            break;
        case 'X': return tool_fail(t, 1, "XML is not supported; use -J for JSON");
        case 142: return tool_fail(t, 1, "--fromfile is not supported");
        case '?': return 1;
        default: break;
    }
    return 0;
}

int tool_tree(tool *t, int argc, char **argv) {
    tree_state s = {.level = 1000000, .filtering = 1};
    tool_opts o;
    tool_opts_start(&o, argc, argv);
    if (parse_options(t, &o, &s)) return 1;
    static char *here[] = {"."};
    char **roots = o.index < argc ? argv + o.index : here;
    int count = o.index < argc ? argc - o.index : 1;
    unsigned long long used = 0;
    io *saved = t->out;
    if (s.output && !(t->out = io_open(s.output, O_WRONLY | O_CREAT | O_TRUNC, 0666))) {
        t->out = saved;
        return tool_fail(t, 1, "invalid filename '%s'", s.output);
    }
    if (s.json) io_puts(t->out, "[\n");
    for (int i = 0; i < count; i++) {
        branch root = {.name = roots[i], .path = roots[i]};
        if (path_stat(roots[i], &root.st) < 0) { root.unread = 1; s.status = 2; }
        else {
            root.is_dir = S_ISDIR(root.st.st_mode);
            if (!root.is_dir) { root.unread = 1; s.files++; }
            grow(t, &s, &root, 0);
            s.dirs += root.is_dir && (root.count || root.too_many);   /* an empty root does not count */
        }
        used += root.size;
        if (s.json) draw_json(t, &s, &root, 1, i + 1 == count);
        else { put_name(t, &s, &root, 1); draw(t, &s, &root, ""); }
    }
    if (!s.no_report) report(t, &s, used);
    if (s.json) io_puts(t->out, "]\n");
    if (s.output) { io_unref(t->out); t->out = saved; }
    return s.status;
}
