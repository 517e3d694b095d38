/* launch.c - commands that run another command under some condition that the sandbox has none of: nohup nice stdbuf setsid
 * ionice. */
#include "../tool.h"
#include <string.h>

/* Skips the options in shorts (letters that take a value are followed by :) and runs the rest. */
static int launch(tool *t, int argc, char **argv, const char *shorts, const tool_long *longs, int missing) {
    tool_opts o;
    tool_opts_start(&o, argc, argv);
    for (int c; (c = tool_opts_next(t, &o, shorts, longs)) != -1;) if (c == '?') return missing;
    if (o.index >= argc) { tool_fail(t, missing, "missing operand"); return tool_usage(t, missing); }
    if (t->knows && !t->knows(t, argv[o.index]))
        return tool_fail(t, 127, "failed to run command %s: No such file or directory", tool_cite(t, argv[o.index]));
    if (!t->run) return tool_fail(t, 126, "cannot run %s", argv[o.index]);
    return t->run(t, argc - o.index, argv + o.index);
}

int tool_nohup(tool *t, int argc, char **argv) { return launch(t, argc, argv, "+", NULL, 125); }
int tool_setsid(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"ctty", 0, 'c'}, {"fork", 0, 'f'}, {"wait", 0, 'w'}, {0, 0, 0}};
    return launch(t, argc, argv, "+cfw", longs, 1);
}

int tool_stdbuf(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"input", 1, 'i'}, {"output", 1, 'o'}, {"error", 1, 'e'}, {0, 0, 0}};
    return launch(t, argc, argv, "+i:o:e:", longs, 125);
}

int tool_nice(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"adjustment", 1, 'n'}, {0, 0, 0}};
    if (argc == 1) return io_puts(t->out, "0\n") < 0;
    return launch(t, argc, argv, "+n:", longs, 125);
}
