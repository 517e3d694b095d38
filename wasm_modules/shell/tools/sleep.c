/* sleep.c - sleep, timeout, sync: what has to do with waiting.
 *
 * There are no signals: a command under timeout is not interrupted, it stops by itself when its time is up. The shell looks between
 * commands, sleep sleeps no longer than it may, and tools that can go on for ever look now and then.
 */
#include "../tool.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

enum { TIMED_OUT = 124, STOPPED = 143, KILLED = 137, CANCELED = 125 };

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
    double left = tool_time_left();
    int cut = total > left;
    if (cut) total = left;
    io_flush(t->out);
    struct timespec rest = {(time_t)total, (long)((total - floor(total)) * 1e9)};
    while (nanosleep(&rest, &rest) < 0 && errno == EINTR) {}
    while (cut && tool_time_left() > 0) {}
    return cut ? STOPPED : 0;
}

static int follows(char **command) {
    if (strcmp(command[0], "tail")) return 0;
    for (int i = 1; command[i]; i++)
        if (!strncmp(command[i], "--follow", 8)
            || (command[i][0] == '-' && command[i][1] != '-' && strpbrk(command[i], "fF"))) return 1;
    return 0;
}

/* The number of a signal by its number or name, with or without SIG; 0 when there is none. */
static int signal_number(const char *word) {
    static const char *const names[] = {"HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
        "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF",
        "WINCH", "IO", "PWR", "SYS"};
    char *end;
    long n = strtol(word, &end, 10);
    if (*word && !*end) return n > 0 && n <= 64 ? (int)n : 0;
    if (!strncasecmp(word, "SIG", 3)) word += 3;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) if (!strcasecmp(word, names[i])) return (int)i + 1;
    return 0;
}

int tool_timeout(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"signal", 1, 's'}, {"kill-after", 1, 'k'}, {"foreground", 0, 'f'},
        {"preserve-status", 0, 'p'}, {"verbose", 0, 'v'}, {0, 0, 0}};
    tool_opts o;
    int c, keep = 0, verbose = 0, signal = STOPPED - 128;
    const char *name = "TERM";
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "+s:k:fpv", longs)) != -1;) switch (c) {
        case '?': return CANCELED;
        case 'p': keep = 1; break;
        case 'v': verbose = 1; break;
        case 'k':
            if (parse_interval(o.arg) < 0) {
                tool_fail(t, CANCELED, "invalid time interval %s", tool_cite(t, o.arg));
                return tool_usage(t, CANCELED);
            }
            break;
        case 's':
            signal = signal_number(o.arg);
            name = strncasecmp(o.arg, "SIG", 3) ? o.arg : o.arg + 3;
            if (signal) break;
            tool_fail(t, CANCELED, "%s: invalid signal", tool_cite(t, o.arg));
            return tool_usage(t, CANCELED);
    }
    if (argc - o.index < 2) return tool_usage(t, CANCELED);
    double limit = parse_interval(argv[o.index]);
    if (limit < 0) {
        tool_fail(t, CANCELED, "invalid time interval %s", tool_cite(t, argv[o.index]));
        return tool_usage(t, CANCELED);
    }
    char **command = argv + o.index + 1;
    if (t->knows && !t->knows(t, command[0]))
        return tool_fail(t, 127, "failed to run command %s: No such file or directory", tool_cite(t, command[0]));
    if (!t->run) return tool_fail(t, 126, "cannot run %s", command[0]);
    tool_limit l;
    if (limit > 0) tool_limit_begin(&l, limit);
    int status = t->run(t, argc - o.index - 1, command);
    if (limit > 0 && !status && follows(command)) {          /* tail -f has shown what there is, and would wait */
        char *forever[] = {"sleep", "infinity", NULL};
        tool_sleep(t, 2, forever);
    }
    if (!(limit > 0) || !tool_limit_end(&l)) return status;
    if (verbose) tool_fail(t, 0, "sending signal %s to command %s", name, tool_cite(t, command[0]));
    return signal == KILLED - 128 ? KILLED : keep ? 128 + signal : TIMED_OUT;
}

int tool_sync(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"data", 0, 'd'}, {"file-system", 0, 'f'}, {0, 0, 0}};
    tool_opts o;
    int status = 0;
    tool_opts_start(&o, argc, argv);
    for (int c; (c = tool_opts_next(t, &o, "df", longs)) != -1;) if (c == '?') return 1;
    io_flush_all();
    io_flush(t->out);
    for (int i = o.index; i < argc; i++) {
        struct stat st;
        if (path_stat(argv[i], &st) < 0) status = tool_fail_errno(t, 1, "error opening %s", tool_quote(t, argv[i]));
    }
    return status;
}
