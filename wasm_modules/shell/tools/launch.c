/* launch.c - commands that run another command under some condition that the sandbox has none of: nohup nice stdbuf setsid
 * ionice. */
#include "buffer.h"
#include <stdlib.h>
#include <string.h>

/* Runs argv[first] and what follows it. */
static int run_rest(tool *t, int argc, char **argv, int first, const char *what) {
    if (t->knows && !t->knows(t, argv[first]))
        return tool_fail(t, 127, "%s%s: No such file or directory", what, tool_cite(t, argv[first]));
    if (!t->run) return tool_fail(t, 126, "cannot run %s", argv[first]);
    return t->run(t, argc - first, argv + first);
}

/* Skips the options in shorts (letters that take a value are followed by :) and runs the rest. */
static int launch(tool *t, int argc, char **argv, const char *shorts, const tool_long *longs, int missing) {
    tool_opts o;
    tool_opts_start(&o, argc, argv);
    for (int c; (c = tool_opts_next(t, &o, shorts, longs)) != -1;) if (c == '?') return missing;
    if (o.index >= argc) { tool_fail(t, missing, "missing operand"); return tool_usage(t, missing); }
    return run_rest(t, argc, argv, o.index, "failed to run command ");
}

int tool_nohup(tool *t, int argc, char **argv) { return launch(t, argc, argv, "+", NULL, 125); }
int tool_setsid(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"ctty", 0, 'c'}, {"fork", 0, 'f'}, {"wait", 0, 'w'}, {0, 0, 0}};
    return launch(t, argc, argv, "+cfw", longs, 1);
}

int tool_stdbuf(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"input", 1, 'i'}, {"output", 1, 'o'}, {"error", 1, 'e'}, {0, 0, 0}};
    tool_opts o;
    int modes = 0;
    tool_opts_start(&o, argc, argv);
    for (int c; (c = tool_opts_next(t, &o, "+i:o:e:", longs)) != -1; modes++) {
        unsigned long long bytes;
        if (c == '?') return 125;
        if (!strcmp(o.arg, "L") ? c == 'i' : size_parse(o.arg, &bytes) < 0)
            return c == 'i' && *o.arg == 'L' ? tool_fail(t, 125, "line buffering stdin is meaningless"),
                   tool_usage(t, 125)        : tool_fail(t, 125, "invalid mode %s", tool_cite(t, o.arg));
    }
    if (o.index >= argc) { tool_fail(t, 125, "missing operand"); return tool_usage(t, 125); }
    if (!modes) { tool_fail(t, 125, "you must specify a buffering mode option"); return tool_usage(t, 125); }
    return run_rest(t, argc, argv, o.index, "failed to run command ");
}

int tool_ionice(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"class", 1, 'c'}, {"classdata", 1, 'n'}, {"ignore", 0, 't'}, {0, 0, 0}};
    if (argc == 1) return io_puts(t->out, "none: prio 0\n") < 0;
    return launch(t, argc, argv, "+c:n:t", longs, 1);
}

/* nice, also with the old -5 for -n 5. What it sets, a nice inside of it shows. */
int tool_nice(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"adjustment", 1, 'n'}, {0, 0, 0}};
    static int niceness;
    const char *adjustment = NULL;
    int first = 1, outer = niceness;
    for (; first < argc && argv[first][0] == '-'; first++) {
        const char *digits = argv[first] + 1 + (argv[first][1] == '-' || argv[first][1] == '+');
        if (*digits < '0' || *digits > '9') break;
        adjustment = argv[first] + 1;
    }
    tool_opts o;
    tool_opts_start(&o, argc, argv);
    o.index = first;
    for (int c; (c = tool_opts_next(t, &o, "+n:", longs)) != -1; adjustment = o.arg) if (c == '?') return 125;
    char *end = "";
    long by = adjustment ? strtol(adjustment, &end, 10) : 10;
    if (*end || end == adjustment) return tool_fail(t, 125, "invalid adjustment %s", tool_cite(t, adjustment));
    if (o.index >= argc && !adjustment) return io_printf(t->out, "%d\n", niceness) < 0;
    if (o.index >= argc) { tool_fail(t, 125, "a command must be given with an adjustment"); return tool_usage(t, 125); }
    by = by > 39 ? 39 : by < -39 ? -39 : by;
    niceness = niceness + (int)by > 19 ? 19 : niceness + (int)by < -20 ? -20 : niceness + (int)by;
    int status = run_rest(t, argc, argv, o.index, "");
    niceness = outer;
    return status;
}
