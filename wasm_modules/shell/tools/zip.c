/* zip.c - zip: put files into a ZIP archive, or take entries out of it. The archive is read whole, changed, and written anew. */
#include "zip.h"
#include "dates.h"
#include "deflate.h"
#include "files.h"
#include "hash.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NOTHING_TO_DO = 12, USAGE = 16, CANNOT_WRITE = 15, BAD_ARCHIVE = 3, DEEPEST_ZIP = 500 };

typedef struct {
    tool *t;
    int recursive, quiet, junk, remove, level, update, freshen, verbose;
    size_t bytes, packed;                        /* of what was added */
    char **excludes, **includes;
    int exclude_n, include_n, added;
    zip_list list;
} zip_state;

static void dos_time(tool *t, moment when, zip_entry *e) {
    unsigned year, month, day, hour, minute, second;
    buffer b = {.t = t};
    date_format(&b, "%Y %m %d %H %M %S", when, 0);
    if (sscanf(b.p, "%u %u %u %u %u %u", &year, &month, &day, &hour, &minute, &second) != 6 || year < 1980) return;
    e->date = (year - 1980) << 9 | month << 5 | day;
    e->time = hour << 11 | minute << 5 | second / 2;
}

static size_t find_entry(const zip_state *s, const char *name) {
    size_t i = 0;
    while (i < s->list.n && strcmp(s->list.at[i].name, name)) i++;
    return i;
}

/* Whether -u or -f leave the archive's entry as it is: -u takes what is new or newer, -f only what is newer. */
static int is_kept(const zip_state *s, const zip_entry *e) {
    size_t i = find_entry(s, e->name);
    if (i == s->list.n) return s->freshen;
    const zip_entry *old = &s->list.at[i];
    return (s->update || s->freshen) && (e->date << 16 | e->time) <= (old->date << 16 | old->time);
}

/* An entry of the same name is replaced where it stands. */
static void place(zip_state *s, zip_entry e) {
    size_t i = find_entry(s, e.name);
    int old = i < s->list.n;
    if (!s->quiet)
        io_printf(s->t->out, "%s: %s%s (%s %d%%)\n", old ? "updating" : "  adding", e.name,
            s->verbose ? tool_format(s->t, "\t(in=%zu) (out=%zu)", e.size, e.packed) : "",
            e.method == ZIP_DEFLATED ? "deflated" : "stored", e.method == ZIP_DEFLATED ? zip_percent(e.packed, e.size) : 0);
    s->bytes += e.size;
    s->packed += e.packed;
    if (old) s->list.at[i] = e; else zip_add(s->t, &s->list, e);
    s->added++;
}

static int add_path(zip_state *s, const char *path, int depth) {
    tool *t = s->t;
    struct stat st;
    if (path_stat(path, &st) < 0) {
        io_printf(t->out, "\tzip warning: name not matched: %s\n", path);
        return 0;
    }
    int is_dir = S_ISDIR(st.st_mode);
    const char *name = path;
    while (*name == '/' || !strncmp(name, "./", 2)) name += *name == '/' ? 1 : 2;
    char *shown = path_strip(t, s->junk ? path_last(name) : name);
    if (is_dir) shown = tool_format(t, "%s/", shown);
    zip_entry e = {.name = shown, .mode = (unsigned)st.st_mode, .data = ""};
    int chosen = !zip_chosen(s->excludes, s->exclude_n, shown) && (!s->include_n || zip_chosen(s->includes, s->include_n, shown));
    dos_time(t, st.st_mtim, &e);
    chosen = chosen && !is_kept(s, &e);
    if (chosen && !is_dir) {
        io *from = io_open(path, O_RDONLY, 0);
        buffer in = {.t = t}, out = {.t = t};
        if (!from) { io_printf(t->out, "\tzip warning: could not open for reading: %s\n", path); return 0; }
        buffer_read_all(&in, from);
        io_unref(from);
        e.size = e.packed = in.n;
        e.data = in.p ? in.p : "";
        e.crc = crc32_update(0, e.data, in.n);
        if (s->level && in.n) deflate_bytes((const unsigned char *)in.p, in.n, &out, s->level);
        if (s->level && in.n && out.n < in.n) { e.method = ZIP_DEFLATED; e.packed = out.n; e.data = out.p; }
    }
    if (chosen && !(is_dir && (s->junk || !*path_strip(t, name) || !strcmp(name, ".")))) place(s, e);
    if (is_dir && s->recursive && depth < DEEPEST_ZIP && !tool_too_deep(t)) {
        size_t n;
        char **names = directory_names(t, path, &n);
        for (size_t i = 0; names && i < n; i++) add_path(s, path_join(t, path, names[i]), depth + 1);
    }
    if (chosen && s->remove && !is_dir) unlink(path);
    return 0;
}

static int remove_entries(zip_state *s, char **patterns, int n) {
    size_t kept = 0;
    for (size_t i = 0; i < s->list.n; i++) {
        if (!zip_chosen(patterns, n, s->list.at[i].name)) { s->list.at[kept++] = s->list.at[i]; continue; }
        if (!s->quiet) io_printf(s->t->out, "deleting: %s\n", s->list.at[i].name);
        s->added++;
    }
    s->list.n = kept;
    return 0;
}

/* -sf: the names that the archive holds. */
static int print_contents(const zip_state *s) {
    size_t bytes = 0;
    io_puts(s->t->out, "Archive contains:\n");
    for (size_t i = 0; i < s->list.n; i++) {
        io_printf(s->t->out, "  %s\n", s->list.at[i].name);
        bytes += s->list.at[i].size;
    }
    return io_printf(s->t->out, "Total %zu entries (%zu bytes)\n", s->list.n, bytes) < 0;
}

static int save(zip_state *s, const char *path) {
    buffer b = {.t = s->t};
    zip_write(&b, &s->list);
    io *to = strcmp(path, "-") ? io_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : io_ref(s->t->out);
    if (!to) {
        io_printf(s->t->out, "zip I/O error: %s\nzip error: Could not create output file (%s)\n", strerror(errno), path);
        return CANNOT_WRITE;
    }
    int status = io_write(to, b.p, b.n) < 0 || io_flush(to) < 0 ? CANNOT_WRITE : 0;
    io_unref(to);
    return status;
}

/* The words from argv[i] on that are patterns of -x or -i, up to the next option or @; returns the first that is not. */
static int take_patterns(int argc, char **argv, int i, char ***list, int *n) {
    *list = argv + i;
    while (i < argc && argv[i][0] != '-' && strcmp(argv[i], "@")) { i++; ++*n; }
    return i < argc && !strcmp(argv[i], "@") ? i + 1 : i;
}

int tool_zip(tool *t, int argc, char **argv) {
    zip_state s = {.t = t, .level = 6};
    int deletes = 0, tests = 0, lists = 0, names = 0, n = 0;
    char **words = tool_alloc(t, ((size_t)argc + 1) * sizeof *words);
    for (int i = 1; i < argc;) {
        const char *w = argv[i++];
        if (w[0] != '-' || !w[1]) { words[n++] = argv[i - 1]; continue; }
        if (w[1] == '-') {
            if (!strcmp(w, "--quiet")) s.quiet = 1;
            else if (!strcmp(w, "--recurse-paths")) s.recursive = 1;
            else if (!strcmp(w, "--junk-paths")) s.junk = 1;
            else if (!strcmp(w, "--delete")) deletes = 1;
            else if (!strcmp(w, "--update")) s.update = 1;
            else if (!strcmp(w, "--freshen")) s.freshen = 1;
            else if (!strcmp(w, "--exclude")) i = take_patterns(argc, argv, i, &s.excludes, &s.exclude_n);
            continue;
        }
        for (w++; *w; w++) switch (*w) {
            case 'r': s.recursive = 1; break;
            case 'q': s.quiet = 1; break;
            case 'j': s.junk = 1; break;
            case 'm': s.remove = 1; break;
            case 'd': deletes = 1; break;
            case 'u': s.update = 1; break;
            case 'f': s.freshen = 1; break;
            case '@': names = 1; break;
            case 'T': tests = 1; break;
            case 'v': s.verbose = 1; break;
            case 'x': i = take_patterns(argc, argv, i, &s.excludes, &s.exclude_n); break;
            case 'i': i = take_patterns(argc, argv, i, &s.includes, &s.include_n); break;
            case 's':
                if (w[1] == 'f') { lists = 1; w++; break; }
                [[fallthrough]];
            case 'e': case 'P':
                io_printf(t->out, "\nzip error: Invalid command arguments (option -%c is not supported here)\n", *w);
                return USAGE;
            default: if (*w >= '0' && *w <= '9') s.level = *w - '0';
        }
    }
    if (!n) { io_puts(t->out, "\nzip error: Nothing to do!\n"); return NOTHING_TO_DO; }
    int to_output = !strcmp(words[0], "-");
    struct stat st;
    char *path = to_output || strchr(path_last(words[0]), '.') ? words[0] : tool_format(t, "%s.zip", words[0]);
    if (!to_output && path_stat(path, &st) == 0) {
        buffer old = {.t = t};
        io *from = io_open(path, O_RDONLY, 0);
        if (from) { buffer_read_all(&old, from); io_unref(from); }
        if (zip_read(t, &old, &s.list) < 0) {
            io_printf(t->out, "\nzip error: Zip file structure invalid (%s)\n", path);
            return BAD_ARCHIVE;
        }
    }
    int renews = s.update || s.freshen;
    if (renews && !s.list.n) io_printf(t->out, "\tzip warning: %s not found or empty\n", path);
    if (lists) return print_contents(&s);
    s.quiet |= to_output;
    if (deletes) remove_entries(&s, words + 1, n - 1);
    for (int i = 1; i < n && !deletes; i++) add_path(&s, words[i], 0);
    const char *line;
    for (ssize_t len; names && (len = io_line(t->in, &line, '\n')) > 0;)
        add_path(&s, tool_strndup(t, line, (size_t)len - (line[len - 1] == '\n')), 0);
    if (!s.added && tests && n == 1 && s.list.n) return !s.quiet && io_printf(t->out, "test of %s OK\n", path) < 0;
    if (!s.added) {
        if (!renews) io_printf(t->out, "\nzip error: Nothing to do! (%s)\n", path);
        return NOTHING_TO_DO;
    }
    if (s.verbose && !s.quiet && !deletes)
        io_printf(t->out, "total bytes=%zu, compressed=%zu -> %d%% savings\n", s.bytes, s.packed, zip_percent(s.packed, s.bytes));
    int status = save(&s, path);
    if (!status && tests && !s.quiet) io_printf(t->out, "test of %s OK\n", path);
    return status;
}
