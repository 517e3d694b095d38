/* newlines.c - dos2unix and unix2dos: the ends of lines, in place or from standard input to standard output. */
#include "buffer.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static void convert(const buffer *in, buffer *out, int to_dos) {
    buffer_puts(out, "");
    for (size_t i = 0; i < in->n; i++) {
        if (in->p[i] == '\r' && !to_dos && i + 1 < in->n && in->p[i + 1] == '\n') continue;
        if (in->p[i] == '\n' && to_dos && !(i && in->p[i - 1] == '\r')) buffer_putc(out, '\r');
        buffer_putc(out, in->p[i]);
    }
}

static int convert_file(tool *t, const char *from_path, const char *to_path, int to_dos, int quiet) {
    buffer in = {.t = t}, out = {.t = t};
    struct stat st;
    io *from = io_open(from_path, O_RDONLY, 0);
    if (!from) return tool_fail_errno(t, 2, "%s", from_path);
    if (path_stat(from_path, &st) == 0 && S_ISDIR(st.st_mode)) {
        io_unref(from);
        return tool_fail(t, 0, "Skipping %s, not a regular file.", from_path);
    }
    buffer_read_all(&in, from);
    io_unref(from);
    convert(&in, &out, to_dos);
    io *to = io_open(to_path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (!to) return tool_fail_errno(t, 2, "%s", to_path);
    int status = io_write(to, out.p, out.n) < 0 || io_flush(to) < 0;
    io_unref(to);
    const char *format = to_dos ? "DOS" : "Unix";
    if (!quiet && from_path == to_path) tool_fail(t, 0, "converting file %s to %s format...", from_path, format);
    else if (!quiet) tool_fail(t, 0, "converting file %s to file %s in %s format...", from_path, to_path, format);
    return status;
}

static int newlines(tool *t, int argc, char **argv, int to_dos) {
    static const tool_long longs[] = {{"quiet", 0, 'q'}, {"newfile", 0, 'n'}, {"oldfile", 0, 'o'}, {"force", 0, 'f'},
        {"keepdate", 0, 'k'}, {"safe", 0, 's'}, {0, 0, 0}};
    int c, quiet = 0, pairs = 0, status = 0;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "qnofks", longs)) != -1;) switch (c) {
        case 'q': quiet = 1; break;
        case 'n': pairs = 1; break;
        case '?': return 1;
    }
    if (o.index >= argc) {
        buffer in = {.t = t}, out = {.t = t};
        buffer_read_all(&in, t->in);
        convert(&in, &out, to_dos);
        return io_write(t->out, out.p, out.n) < 0;
    }
    if (pairs && (argc - o.index) % 2) return tool_fail(t, 1, "target of file %s not specified in new-file mode", argv[argc - 1]);
    for (int i = o.index; i < argc; i += 1 + pairs) {
        int got = convert_file(t, argv[i], argv[i + pairs], to_dos, quiet);
        if (got) status = got;
    }
    return status;
}

int tool_dos2unix(tool *t, int argc, char **argv) { return newlines(t, argc, argv, 0); }
int tool_unix2dos(tool *t, int argc, char **argv) { return newlines(t, argc, argv, 1); }
