/* strings.c - strings: the printable runs in a file. */
#include "od.h"
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct {
    size_t least;
    int names, radix, unit, low, spaces;
    const char *separator;
} strings_state; /* unit: bytes per character; low: which one counts */

/* Whether the character at p is printable: its other bytes are zero, as in UTF-16 and UTF-32. */
static int is_text(const char *p, const strings_state *s) {
    unsigned char c = (unsigned char)p[s->low];
    for (int i = 0; i < s->unit; i++) if (i != s->low && p[i]) return 0;
    return (c >= 32 && c < 127) || c == '\t' || (s->spaces && c && strchr("\n\v\f\r", c));
}

static int strings_stream(tool *t, io *from, const char *name, const strings_state *s) {
    buffer b = {.t = t};
    buffer_read_all(&b, from);
    size_t unit = (size_t)s->unit;
    for (size_t i = 0, start = 0; i <= b.n; i += unit) {
        if (i + unit <= b.n && is_text(b.p + i, s)) continue;
        if ((i - start) / unit >= s->least) {
            if (s->names) io_printf(t->out, "%s: ", name);
            if (s->radix) io_printf(t->out, s->radix == 'x' ? "%7zx " : s->radix == 'o' ? "%7zo " : "%7zu ", start);
            for (size_t k = start; k < i; k += unit) io_putc(t->out, b.p[k + (size_t)s->low]);
            if (io_puts(t->out, s->separator) < 0) return 1;
        }
        start = i + unit;
    }
    return 0;
}

int tool_strings(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"bytes", 1, 'n'}, {"print-file-name", 0, 'f'}, {"radix", 1, 't'}, {"all", 0, 'a'},
        {"encoding", 1, 'e'}, {"output-separator", 1, 's'}, {"include-all-whitespace", 0, 'w'}, {"data", 0, 'a'}, {"target", 1, 'T'},
        {"unicode", 1, 'U'}, {0, 0, 0}};
    static const struct {
        char letter;
        int unit, low;
    } encodings[] = {{'s', 1, 0}, {'S', 1, 0}, {'l', 2, 0}, {'b', 2, 1}, {'L', 4, 0}, {'B', 4, 3}};
    strings_state s = {.least = 4, .unit = 1, .separator = "\n"};
    tool_opts o;
    int c;
    if (argc > 1 && argv[1][0] == '-' && isdigit((unsigned char)argv[1][1])) argv[1] = tool_format(t, "-n%s", argv[1] + 1);
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "n:ft:aoe:s:wdT:U:", longs)) != -1;) switch (c) {
        case 'n':
            s.least = strtoul(o.arg, NULL, 10);
            if (!s.least)
                return tool_fail(t, 1,
                    isdigit((unsigned char)*o.arg) ? "invalid minimum string length %s" : "invalid integer argument %s", o.arg);
            break;
        case 'f': s.names = 1; break;
        case 't': s.radix = *o.arg; break;
        case 'o': s.radix = 'o'; break;
        case 's': s.separator = o.arg; break;
        case 'w': s.spaces = 1; break;
        case 'a': case 'd': break;
        case 'e':
            for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++)
                if (encodings[i].letter == *o.arg) { s.unit = encodings[i].unit; s.low = encodings[i].low; }
            break;
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
