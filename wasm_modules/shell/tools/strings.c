/* strings.c - strings: the printable runs in a file. */
#include "od.h"
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct { size_t least; int names, radix; } strings_state;

static int strings_stream(tool *t, io *from, const char *name, const strings_state *s) {
    buffer b = {.t = t};
    buffer_read_all(&b, from);
    for (size_t i = 0, start = 0; i <= b.n; i++) {
        unsigned char c = i < b.n ? (unsigned char)b.p[i] : 0;
        if (i < b.n && ((c >= 32 && c < 127) || c == '\t')) continue;
        if (i - start >= s->least) {
            if (s->names) io_printf(t->out, "%s: ", name);
            if (s->radix) io_printf(t->out, s->radix == 'x' ? "%7zx " : s->radix == 'o' ? "%7zo " : "%7zu ", start);
            io_write(t->out, b.p + start, i - start);
            if (io_putc(t->out, '\n') < 0) return 1;
        }
        start = i + 1;
    }
    return 0;
}

int tool_strings(tool *t, int argc, char **argv) {
    static const tool_long longs[]
        = {{"bytes", 1, 'n'}, {"print-file-name", 0, 'f'}, {"radix", 1, 't'}, {"all", 0, 'a'}, {"encoding", 1, 'e'}, {0, 0, 0}};
    strings_state s = {.least = 4};
    tool_opts o;
    int c;
    if (argc > 1 && argv[1][0] == '-' && isdigit((unsigned char)argv[1][1])) argv[1] = tool_format(t, "-n%s", argv[1] + 1);
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "n:ft:aoe:", longs)) != -1;) switch (c) {
        case 'n':
            s.least = strtoul(o.arg, NULL, 10);
            if (!s.least) return tool_fail(t, 1, "invalid minimum string length %s", o.arg);
            break;
        case 'f': s.names = 1; break;
        case 't': s.radix = *o.arg; break;
        case 'o': s.radix = 'o'; break;
        case 'a': case 'e': break;
        default: return 1;
    }
    if (o.index >= argc) return strings_stream(t, t->in, "{standard input}", &s);
    int status = 0;
    for (int i = o.index; i < argc && !io_failed(t->out); i++) {
        io *from = io_open(argv[i], O_RDONLY, 0);
        if (!from) { status = tool_fail(t, 1, "'%s': No such file", argv[i]); continue; }
        struct stat st;
        if (path_stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode)) {
            io_unref(from);
            status = tool_fail(t, 1, "Warning: '%s' is a directory", argv[i]);
            continue;
        }
        if (strings_stream(t, from, argv[i], &s)) status = 1;
        io_unref(from);
    }
    return status;
}
