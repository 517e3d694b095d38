/* unzip.c - unzip and zipinfo: list, test and extract ZIP archives. THREAT: an entry never leaves the directory it is extracted
 * into: leading slashes and .. are left out of its name. */
#include "zip.h"
#include "files.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { ENDED_EARLY = 1, DAMAGED = 3, NO_ARCHIVE = 9, NOTHING_MATCHED = 11, USAGE = 10 };

typedef struct {
    tool *t;
    int action;                                  /* 0 extract, or l v t p c 1 */
    int overwrite, never, quiet, junk;
    const char *dir, *archive;
    char **patterns, **excludes;
    int pattern_n, exclude_n;
} unzip_state;

static int wanted(const unzip_state *s, const char *name) {
    return (!s->pattern_n || zip_chosen(s->patterns, s->pattern_n, name)) && !zip_chosen(s->excludes, s->exclude_n, name);
}

static void put_when(tool *t, const zip_entry *e) {
    io_printf(t->out, "%04u-%02u-%02u %02u:%02u", (e->date >> 9) + 1980, e->date >> 5 & 15, e->date & 31, e->time >> 11,
        e->time >> 5 & 63);
}

static int list_entries(unzip_state *s, const zip_list *list) {
    tool *t = s->t;
    size_t total = 0, packed = 0, n = 0;
    int verbose = s->action == 'v';
    if (s->action == '1') {
        for (size_t i = 0; i < list->n; i++)
            if (wanted(s, list->at[i].name) && io_printf(t->out, "%s\n", list->at[i].name) < 0) return 1;
        return 0;
    }
    io_printf(t->out, "Archive:  %s\n", s->archive);
    io_puts(t->out, verbose ? " Length   Method    Size  Cmpr    Date    Time   CRC-32   Name\n"
                              "--------  ------  ------- ---- ---------- ----- --------  ----\n"
                            : "  Length      Date    Time    Name\n---------  ---------- -----   ----\n");
    for (size_t i = 0; i < list->n; i++) {
        const zip_entry *e = &list->at[i];
        if (!wanted(s, e->name)) continue;
        if (verbose)
            io_printf(t->out, "%8zu  %s %8zu %3d%% ", e->size, e->method ? "Defl:N" : "Stored", e->packed,
                zip_percent(e->packed, e->size));
        else io_printf(t->out, "%9zu  ", e->size);
        put_when(t, e);
        if (verbose) io_printf(t->out, " %08x  %s\n", e->crc, e->name);
        else io_printf(t->out, "   %s\n", e->name);
        total += e->size;
        packed += e->packed;
        n++;
    }
    const char *plural = n == 1 ? "" : "s";
    if (verbose)
        io_printf(t->out,
            "--------          -------  ---                            -------\n%8zu         %8zu %3d%%%28s%zu file%s\n", total,
            packed, zip_percent(packed, total), "", n, plural);
    else io_printf(t->out, "---------                     -------\n%9zu                     %zu file%s\n", total, n, plural);
    return n || !s->pattern_n ? 0 : NOTHING_MATCHED;
}

/* Where the entry goes: below s->dir, without what would lead out of it; NULL for an entry without a name of its own. */
static char *place_of(const unzip_state *s, const char *name) {
    tool *t = s->t;
    char *clean = tool_alloc(t, strlen(name) + 1), *to = clean;
    if (s->junk) name = path_last(name);
    for (const char *p = name; *p;) {
        size_t n = strcspn(p, "/");
        int skip = !n || (n == 1 && *p == '.') || (n == 2 && !strncmp(p, "..", 2));
        if (!skip) { if (to > clean) *to++ = '/'; memcpy(to, p, n); to += n; }
        p += n + (p[n] == '/');
    }
    *to = '\0';
    if (!*clean) return NULL;
    return s->dir ? path_join(t, s->dir, clean) : clean;
}

static void make_parents(char *path, int whole) {
    for (char *p = path + 1; *p; p++) {
        if (*p != '/') continue;
        *p = '\0';
        mkdir(path, 0777);
        *p = '/';
    }
    if (whole) mkdir(path, 0777);
}

static int extract(unzip_state *s, const zip_entry *e) {
    tool *t = s->t;
    size_t len = strlen(e->name);
    int is_dir = len && e->name[len - 1] == '/';
    struct stat st;
    if (is_dir && s->junk) return 0;
    char *path = place_of(s, e->name);
    if (!path) return 0;
    int exists = path_lstat(path, &st) == 0;
    if (is_dir) {
        if (!exists && !s->quiet) io_printf(t->out, "   creating: %s/\n", path);
        make_parents(path, 1);
        return 0;
    }
    if (exists && s->never) return 0;
    if (exists && !s->overwrite) {
        const char *line;
        io_printf(t->err, "replace %s? [y]es, [n]o, [A]ll, [N]one, [r]ename: ", path);
        ssize_t n = io_line(t->in, &line, '\n');
        if (n <= 0) io_puts(t->err, " NULL\n(EOF or read error, treating as \"[N]one\" ...)\n");
        if (n <= 0 || *line == 'N') { s->never = 1; return n <= 0 ? ENDED_EARLY : 0; }
        if (*line == 'A') s->overwrite = 1;
        else if (*line != 'y' && *line != 'Y') return 0;
    }
    buffer out = {.t = t};
    if (!s->quiet) io_printf(t->out, "%s: %-22s  \n", e->method ? "  inflating" : " extracting", path);
    if (zip_unpack(e, &out) < 0) { io_printf(t->err, "  error:  invalid compressed data to inflate\n"); return DAMAGED; }
    make_parents(path, 0);
    io *to = io_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (!to) { io_printf(t->err, "error:  cannot create %s\n        %s\n", path, strerror(errno)); return 50; }
    io_write(to, out.p ? out.p : "", out.n);
    io_unref(to);
    if (e->mode & 0777) chmod(path, e->mode & 0777);
    return 0;
}

static int test_or_print(unzip_state *s, const zip_entry *e) {
    buffer out = {.t = s->t};
    int bad = zip_unpack(e, &out) < 0;
    int named = s->action == 'c' && !s->quiet;
    if (named) io_printf(s->t->out, "%s: %-22s  \n", e->method ? "  inflating" : " extracting", e->name);
    if (s->action != 't' && bad) return DAMAGED;
    if (s->action != 't') return io_write(s->t->out, out.p ? out.p : "", out.n) < 0 || (named && io_putc(s->t->out, '\n') < 0);
    if (!s->quiet) io_printf(s->t->out, "    testing: %-22s  %s\n", e->name, bad ? "bad CRC" : " OK");
    return bad ? DAMAGED : 0;
}

static int work(unzip_state *s, const zip_list *list) {
    int status = 0, matched = 0;
    if (s->action != 'p' && !s->quiet) io_printf(s->t->out, "Archive:  %s\n", s->archive);
    for (size_t i = 0; i < list->n && !io_failed(s->t->out); i++) {
        if (!wanted(s, list->at[i].name)) continue;
        int got = s->action ? test_or_print(s, &list->at[i]) : extract(s, &list->at[i]);
        matched = 1;
        if (got) status = got;
    }
    for (int k = 0; k < s->pattern_n; k++) {
        int found = 0;
        for (size_t i = 0; i < list->n && !found; i++) found = zip_chosen(s->patterns + k, 1, list->at[i].name);
        if (found) continue;
        io_printf(s->t->err, "caution: filename not matched:  %s\n", s->patterns[k]);
        status = NOTHING_MATCHED;
    }
    if (s->action == 't' && matched && !status)
        io_printf(s->t->out, "No errors detected in compressed data of %s.\n", s->archive);
    return status;
}

static int open_archive(unzip_state *s, const char *name, zip_list *list) {
    tool *t = s->t;
    buffer b = {.t = t};
    io *from = io_open(name, O_RDONLY, 0);
    s->archive = name;
    if (!from) from = io_open(s->archive = tool_format(t, "%s.zip", name), O_RDONLY, 0);
    if (!from) {
        io_printf(t->err, "unzip:  cannot find or open %s, %s.zip or %s.ZIP.\n", name, name, name);
        return NO_ARCHIVE;
    }
    buffer_read_all(&b, from);
    io_unref(from);
    if (zip_read(t, &b, list) == 0) return 0;
    if (s->action != 'p') io_printf(t->out, "Archive:  %s\n", s->archive);
    io_printf(t->err,
        "  End-of-central-directory signature not found.  Either this file is not\n"
        "  a zipfile, or it constitutes one disk of a multi-part archive.  In the\n"
        "  latter case the central directory and zipfile comment will be found on\n"
        "  the last disk(s) of this archive.\n"
        "unzip:  cannot find zipfile directory in one of %s or\n        %s.zip, and cannot find %s.ZIP, period.\n",
        name, name, name);
    return NO_ARCHIVE;
}

static int unzip_main(tool *t, int argc, char **argv, int action) {
    unzip_state s = {.t = t, .action = action};
    char **words = tool_alloc(t, ((size_t)argc + 1) * sizeof *words);
    int n = 0;
    for (int i = 1; i < argc;) {
        const char *w = argv[i++];
        if (w[0] != '-' || !w[1]) { words[n++] = argv[i - 1]; continue; }
        if (!strcmp(w, "-Z1") || (!strcmp(w, "-1") && action)) { s.action = '1'; continue; }
        for (w++; *w; w++) switch (*w) {
            case 'l': case 'v': case 't': case 'p': case 'c': s.action = *w; break;
            case 'Z': s.action = 'l'; break;
            case 'o': s.overwrite = 1; break;
            case 'n': s.never = 1; break;
            case 'q': s.quiet++; break;
            case 'j': s.junk = 1; break;
            case 'd':
                if (w[1]) s.dir = w + 1;
                else if (i < argc) s.dir = argv[i++];
                w = "d";
                break;
            case 'x': s.excludes = argv + i; while (i < argc && argv[i][0] != '-') { i++; s.exclude_n++; } break;
        }
    }
    if (!n) {
        io_puts(t->out, "Usage: unzip [-opts[modifiers]] file[.zip] [list] [-x xlist] [-d exdir]\n");
        return argc < 2 ? 0 : USAGE;
    }
    s.patterns = words + 1;
    s.pattern_n = n - 1;
    zip_list list = {0};
    int status = open_archive(&s, words[0], &list);
    if (status) return status;
    return s.action == 'l' || s.action == 'v' || s.action == '1' ? list_entries(&s, &list) : work(&s, &list);
}

int tool_unzip(tool *t, int argc, char **argv) { return unzip_main(t, argc, argv, 0); }
int tool_zipinfo(tool *t, int argc, char **argv) { return unzip_main(t, argc, argv, 'l'); }
