/* file.c - file: what files seem to hold. */
#include "file.h"
#include "files.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { MIME_TYPE = 1, MIME_ENCODING, MIME_BOTH };

int tool_file(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"brief", 0, 'b'}, {"mime-type", 0, MIME_TYPE}, {"mime", 0, 'i'},
        {"mime-encoding", 0, MIME_ENCODING}, {"dereference", 0, 'L'}, {"separator", 1, 'F'}, {"no-pad", 0, 'N'},
        {"no-dereference", 0, 'h'}, {"special-files", 0, 's'}, {0, 0, 0}};
    const char *separator = ":";
    int brief = 0, mime = 0, follow = 0, narrow = 0, c;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "biLhszkF:N", longs)) != -1;) switch (c) {
        case 'b': brief = 1; break;
        case MIME_TYPE: case MIME_ENCODING: mime = c; break;
        case 'i': mime = MIME_BOTH; break;
        case 'F': separator = o.arg; break;
        case 'N': narrow = 1; break;
        case 'L': follow = 1; break;
        case '?': return 1;
        default: break;
    }
    if (o.index >= argc) { io_printf(t->err, "Usage: file [-bcCdEhikLlNnprsSvzZ0] file ...\n"); return 1; }
    size_t widest = 0;
    for (int i = o.index; i < argc; i++) if (strlen(argv[i]) > widest) widest = strlen(argv[i]);
    for (int i = o.index; i < argc; i++) {
        struct stat st;
        file_kind k = {NULL, NULL, "binary"};
        int standard = !strcmp(argv[i], "-");
        if (!standard && (follow ? path_stat(argv[i], &st) : path_lstat(argv[i], &st)) < 0)
            k.text = k.mime = k.charset = tool_format(t, "cannot open `%s' (%s)", argv[i], strerror(errno));
        else if (!standard && S_ISDIR(st.st_mode)) k = (file_kind){"directory", "inode/directory", "binary"};
        else if (!standard && S_ISCHR(st.st_mode)) k = (file_kind){"character special", "inode/chardevice", "binary"};
        else if (!standard && S_ISLNK(st.st_mode)) {
            char target[4096];
            ssize_t n = readlink(argv[i], target, sizeof target - 1);
            target[n < 0 ? 0 : n] = '\0';
            struct stat real;
            k.text = tool_format(t, path_stat(argv[i], &real) < 0 ? "broken symbolic link to %s" : "symbolic link to %s", target);
            k.mime = "inode/symlink";
        } else {
            io *from = standard ? io_ref(t->in) : io_open(argv[i], O_RDONLY, 0);
            buffer b = {.t = t};
            if (from) buffer_read_all(&b, from);
            io_unref(from);
            if (!from) k = (file_kind){"regular file, no read permission", "application/octet-stream", "binary"};
            else if (!b.n) k = (file_kind){"empty", "inode/x-empty", "binary"};
            else { k = file_binary(t, (const unsigned char *)b.p, b.n); if (!k.text) k = file_text(t, b.p, b.n); }
        }
        int pad = narrow ? 1 : (int)(widest - strlen(argv[i]) + 1);
        if (!brief) io_printf(t->out, "%s%s%*s", standard ? "/dev/stdin" : argv[i], separator, pad, "");
        int failed = mime == MIME_BOTH       ? io_printf(t->out, "%s; charset=%s\n", k.mime, k.charset)
                     : mime == MIME_ENCODING ? io_printf(t->out, "%s\n", k.charset)
                                             : io_printf(t->out, "%s\n", mime ? k.mime : k.text);
        if (failed < 0) return 1;
    }
    return 0;
}
