/* sleep.c - sleep, timeout, sync: what has to do with waiting. A command cannot be interrupted from inside the guest, so timeout
 * runs it to its end; the host's own deadline stops what runs too long. */
#include "../tool.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* NUMBER[smhd] in seconds; -1 when malformed. */
static double parse_interval(const char *text) {
    char *end;
    double n = strtod(text, &end);
    if (end == text || n < 0 || n != n) return -1;
    double unit = !*end || *end == 's' ? 1 : *end == 'm' ? 60 : *end == 'h' ? 3600 : *end == 'd' ? 86400 : -1;
    if (unit < 0 || (*end && end[1])) return -1;
    return n * unit;
}

int tool_sleep(tool *t, int argc, char **argv) {
    tool_opts o;
    tool_opts_start(&o, argc, argv);
    if (tool_opts_next(t, &o, "", NULL) != -1) return 1;
    if (o.index >= argc) { tool_fail(t, 1, "missing operand"); return tool_usage(t, 1); }
    double total = 0;
    for (int i = o.index; i < argc; i++) {
        double n = strcmp(argv[i], "infinity") ? parse_interval(argv[i]) : 1e9;
        if (n < 0) { tool_fail(t, 1, "invalid time interval %s", tool_cite(t, argv[i])); return tool_usage(t, 1); }
        total += n;
    }
    if (total > 1e9) total = 1e9;
    io_flush(t->out);
    struct timespec left = {(time_t)total, (long)((total - floor(total)) * 1e9)};
    while (nanosleep(&left, &left) < 0 && errno == EINTR) {}
    return 0;
}

static int follows(char **command) {
    if (strcmp(command[0], "tail")) return 0;
    for (int i = 1; command[i]; i++)
        if (!strncmp(command[i], "--follow", 8)
            || (command[i][0] == '-' && command[i][1] != '-' && strpbrk(command[i], "fF"))) return 1;
    return 0;
}

int tool_timeout(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"signal", 1, 's'}, {"kill-after", 1, 'k'}, {"foreground", 0, 'f'},
        {"preserve-status", 0, 'p'}, {"verbose", 0, 'v'}, {0, 0, 0}};
    tool_opts o;
    int c, keep = 0, kill = 0;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "+s:k:fpv", longs)) != -1;) switch (c) {
        case '?': return 125;
        case 'p': keep = 1; break;
        case 's': kill = !strcmp(o.arg, "KILL") || !strcmp(o.arg, "SIGKILL") || !strcmp(o.arg, "9"); break;
    }
    if (argc - o.index < 2) {
        return tool_usage(t, 125);
    }
    double limit = parse_interval(argv[o.index]);
    if (limit < 0) { tool_fail(t, 125, "invalid time interval %s", tool_cite(t, argv[o.index])); return tool_usage(t, 125); }
    char **command = argv + o.index + 1;
    /* commands that outlast the limit, as far as that is known beforehand: a longer sleep, and a tail that follows its file */
    int sleeps = !strcmp(command[0], "sleep") && command[1] && !command[2]
                 && (!strcmp(command[1], "infinity") || parse_interval(command[1]) > limit);
    if (limit > 0 && (sleeps || follows(command))) {
        int status = sleeps || !t->run ? 0 : t->run(t, argc - o.index - 1, command);
        if (status) return status;
        char *words[] = {"sleep", argv[o.index], NULL};
        tool_sleep(t, 2, words);
        return kill ? 137 : keep ? 143 : 124;
    }
    if (t->knows && !t->knows(t, command[0]))
        return tool_fail(t, 127, "failed to run command %s: No such file or directory", tool_cite(t, command[0]));
    if (!t->run) return tool_fail(t, 126, "cannot run %s", command[0]);
    return t->run(t, argc - o.index - 1, command);
}

int tool_sync(tool *t, int argc, char **argv) {
    (void)argc; (void)argv;
    io_flush_all();
    io_flush(t->out);
    return 0;
}
