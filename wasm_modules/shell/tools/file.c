/* file.c - file: what files seem to hold. */
#include "file.h"
#include "files.h"
#include "../fifo.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { MIME_TYPE = 1, MIME_ENCODING, MIME_BOTH };
enum { READ_MOST = 1 << 20 };                          /* as the real one: what it says is of the beginning */

static file_kind describe_content(tool *t, io *from) {
    buffer b = {.t = t};
    if (!from) return (file_kind){"regular file, no read permission", "application/octet-stream", "binary"};
    buffer_read_upto(&b, from, READ_MOST);
    io_unref(from);
    if (!b.n) return (file_kind){"empty", "inode/x-empty", "binary"};
    file_kind k = file_binary(t, (const unsigned char *)b.p, b.n);
    return k.text ? k : file_text(t, b.p, b.n);
}

static file_kind describe(tool *t, const char *path, int follow) {
    struct stat st, real;
    char target[4096];
    if (!strcmp(path, "-")) return describe_content(t, io_ref(t->in));
    if ((follow ? path_stat(path, &st) : path_lstat(path, &st)) < 0) {
        const char *why = tool_format(t, "cannot open `%s' (%s)", path, strerror(errno));
        return (file_kind){why, why, why};
    }
    if (S_ISDIR(st.st_mode)) return (file_kind){"directory", "inode/directory", "binary"};
    if (S_ISCHR(st.st_mode)) {
        const char *text = !strcmp(path, "/dev/null") ? "character special (1/3)" : !strcmp(path, "/dev/zero") ? "character special (1/5)" : "character special";
        return (file_kind){text, "inode/chardevice", "binary"};
    }
    if (fifo_is(&st)) return (file_kind){"fifo (named pipe)", "inode/fifo", "binary"};
    if (!S_ISLNK(st.st_mode)) return describe_content(t, io_open(path, O_RDONLY, 0));
    ssize_t n = readlink(path, target, sizeof target - 1);
    target[n < 0 ? 0 : n] = '\0';
    const char *how = path_stat(path, &real) < 0 ? "broken symbolic link to" : "symbolic link to";
    return (file_kind){tool_format(t, "%s %s", how, target), "inode/symlink", "binary"};
}

/* -f: the lines of a file are the names of others. */
static int read_names(tool *t, const char *path, span_list *names) {
    int failed = 0;
    const char *line;
    io *from = tool_open(t, path, 1, &failed);
    if (!from) return 1;
    for (ssize_t n; (n = io_line(from, &line, '\n')) > 0;) {
        n -= line[n - 1] == '\n';
        span_add(t, names, tool_strndup(t, line, (size_t)n), (size_t)n);
    }
    io_unref(from);
    return 0;
}

int tool_file(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"brief", 0, 'b'}, {"mime-type", 0, MIME_TYPE}, {"mime", 0, 'i'},
        {"mime-encoding", 0, MIME_ENCODING}, {"dereference", 0, 'L'}, {"separator", 1, 'F'}, {"no-pad", 0, 'N'},
        {"no-dereference", 0, 'h'}, {"special-files", 0, 's'}, {"files-from", 1, 'f'},
        {"print0", 0, '0'}, {"uncompress", 0, 'z'}, {"keep-going", 0, 'k'}, {"extension", 0, 'k'}, {"raw", 0, 'k'}, {0, 0, 0}};
    const char *separator = ":";
    int brief = 0, mime = 0, follow = 0, narrow = 0, nul = 0, c;
    const char *list = NULL;
    span_list names = {0};
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "biLhszkrF:Nf:0", longs)) != -1;) switch (c) {
        case 'b': brief = 1; break;
        case MIME_TYPE: case MIME_ENCODING: mime = c; break;
        case 'i': mime = MIME_BOTH; break;
        case 'F': separator = o.arg; break;
        case 'N': narrow = 1; break;
        case 'L': follow = 1; break;
        case 'f': list = o.arg; break;
        case '0': nul++; break;
        case '?': return 1;
        default: break;
    }
    if (list && read_names(t, list, &names)) return 1;
    for (int i = o.index; i < argc; i++) span_add(t, &names, argv[i], strlen(argv[i]));
    if (!names.n) { io_printf(t->err, "Usage: file [-bcCdEhikLlNnprsSvzZ0] file ...\n"); return 1; }
    size_t widest = 0;
    for (size_t i = 0; i < names.n; i++) if (names.at[i].n > widest) widest = names.at[i].n;
    for (size_t i = 0; i < names.n; i++) {
        const char *path = names.at[i].p;
        file_kind k = describe(t, path, follow);
        int pad = narrow ? 1 : (int)(widest - names.at[i].n + 1);
        if (!brief) {
            io_puts(t->out, strcmp(path, "-") ? path : "/dev/stdin");
            if (nul) io_putc(t->out, '\0');
            if (nul < 2) io_printf(t->out, "%s%*s", separator, pad, "");
        }
        int failed = mime == MIME_BOTH       ? io_printf(t->out, "%s; charset=%s\n", k.mime, k.charset)
                     : mime == MIME_ENCODING ? io_printf(t->out, "%s\n", k.charset)
                                             : io_printf(t->out, "%s\n", mime ? k.mime : k.text);
        if (failed < 0) return 1;
    }
    return 0;
}
