/* flock.c - flock and time: run a command while holding a lock, or measuring it. Nobody else runs here, so a lock is always free;
 * measuring shows elapsed time, and no share of it as spent elsewhere.
 */
#include "buffer.h"
#include <fcntl.h>
#include <string.h>
#include <time.h>

int tool_flock(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"shared", 0, 's'}, {"exclusive", 0, 'x'}, {"unlock", 0, 'u'}, {"nonblock", 0, 'n'},
        {"nb", 0, 'n'}, {"timeout", 1, 'w'}, {"wait", 1, 'w'}, {"close", 0, 'o'}, {"conflict-exit-code", 1, 'E'},
        {"command", 1, 'c'}, {"no-fork", 0, 'F'}, {"verbose", 0, 'v'}, {0, 0, 0}};
    enum { USAGE = 64, NO_FILE = 66, NO_PROGRAM = 69 };
    tool_opts o;
    int c;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "+sexunw:oE:c:F", longs)) != -1;) if (c == '?') return USAGE;
    if (o.index >= argc) { tool_fail(t, USAGE, "not enough arguments"); return tool_usage(t, USAGE); }
    const char *name = argv[o.index++];
    if (o.index >= argc) {
        if (*name && strspn(name, "0123456789") == strlen(name)) return 0;
        return tool_fail(t, USAGE, "bad file descriptor: '%s'", name);
    }
    io *file = io_open(name, O_RDONLY | O_CREAT, 0666);
    if (!file) return tool_fail_errno(t, NO_FILE, "cannot open lock file %s", name);
    int status;
    if (!strcmp(argv[o.index], "-c") || !strcmp(argv[o.index], "--command")) {
        char *words[] = {"sh", "-c", o.index + 1 < argc ? argv[o.index + 1] : "", NULL};
        status = t->run ? t->run(t, 3, words) : 126;
    } else if (t->knows && !t->knows(t, argv[o.index])) {
        status = tool_fail(t, NO_PROGRAM, "failed to execute %s: No such file or directory", argv[o.index]);
    } else status = t->run ? t->run(t, argc - o.index, argv + o.index) : 126;
    io_unref(file);
    return status;
}

/* The format of time -f: what is known of a command that has run. */
static void put_report(buffer *b, const char *format, double seconds, int status, char **command) {
    for (const char *p = format; *p; p++) {
        if (*p == '\\' && p[1]) { p++; buffer_putc(b, *p == 'n' ? '\n' : *p == 't' ? '\t' : *p); continue; }
        if (*p != '%' || !p[1]) { buffer_putc(b, *p); continue; }
        switch (*++p) {
        case 'e': buffer_printf(b, "%.2f", seconds); break;
        case 'E': buffer_printf(b, "%d:%05.2f", (int)(seconds / 60), seconds - 60 * (int)(seconds / 60)); break;
        case 'U': buffer_printf(b, "%.2f", seconds); break;
        case 'S': buffer_puts(b, "0.00"); break;
        case 'P': buffer_puts(b, "100%"); break;
        case 'x': buffer_printf(b, "%d", status); break;
        case 'C': for (int i = 0; command[i]; i++) buffer_printf(b, i ? " %s" : "%s", command[i]); break;
        case '%': buffer_putc(b, '%'); break;
        default: buffer_putc(b, '0');
        }
    }
    buffer_putc(b, '\n');
}

int tool_time(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"format", 1, 'f'}, {"output", 1, 'o'}, {"append", 0, 'a'}, {"portability", 0, 'p'},
        {"verbose", 0, 'v'}, {"quiet", 0, 'q'}, {0, 0, 0}};
    const char *format = "%Uuser %Ssystem %Eelapsed %PCPU (0avgtext+0avgdata 0maxresident)k\n"
                         "0inputs+0outputs (0major+0minor)pagefaults 0swaps", *output = NULL;
    int c, append = 0, quiet = 0;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "+f:o:apvq", longs)) != -1;) switch (c) {
        case 'f': format = o.arg; break;
        case 'o': output = o.arg; break;
        case 'a': append = 1; break;
        case 'p': format = "real %e\nuser %U\nsys %S"; break;
        case 'q': quiet = 1; break;
        case '?': return 125;
    }
    if (o.index >= argc) {
        io_puts(t->err, "Usage: time [-apvV] [-f format] [-o file] [--append] [--verbose]\n"
                        "       [--portability] [--format=format] [--output=file] [--version]\n"
                        "       [--quiet] [--help] command [arg...]\n");
        return 125;
    }
    if (t->knows && !t->knows(t, argv[o.index])) {
        tool_fail(t, 127, "cannot run %s: No such file or directory", argv[o.index]);
        return 127;
    }
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    int status = t->run ? t->run(t, argc - o.index, argv + o.index) : 126;
    clock_gettime(CLOCK_MONOTONIC, &b);
    double seconds = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
    buffer text = {.t = t};
    if (status && !quiet) buffer_printf(&text, "Command exited with non-zero status %d\n", status);
    put_report(&text, format, seconds, status, argv + o.index);
    io *to = output ? io_open(output, O_WRONLY | O_CREAT | (append ? O_APPEND : O_TRUNC), 0666) : io_ref(t->err);
    if (!to) return tool_fail_errno(t, 1, "%s", output);
    io_write(to, text.p, text.n);
    io_unref(to);
    return status;
}
