/* machine.c - what tells about the machine and who uses it: uptime, free, who, users, w, hostid, getent, whereis, mountpoint. The
 * sandbox is a machine with one user, nobody logged in, and as much memory as its run may use, which it does not know.
 */
#include "buffer.h"
#include "files.h"
#include "users.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void put_uptime(tool *t) {
    struct timespec up;
    time_t now = time(NULL);
    struct tm tm;
    clock_gettime(CLOCK_MONOTONIC, &up);
    long minutes = (long)(up.tv_sec / 60);
    gmtime_r(&now, &tm);
    io_printf(t->out, " %02d:%02d:%02d up ", tm.tm_hour, tm.tm_min, tm.tm_sec);
    if (minutes >= 1440) io_printf(t->out, "%ld day%s, ", minutes / 1440, minutes < 2880 ? "" : "s");
    if (minutes % 1440 >= 60) io_printf(t->out, "%2ld:%02ld", minutes % 1440 / 60, minutes % 60);
    else io_printf(t->out, "%ld min", minutes % 60);
    io_puts(t->out, ",  0 users,  load average: 0.00, 0.00, 0.00\n");
}

int tool_uptime(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"pretty", 0, 'p'}, {"since", 0, 's'}, {0, 0, 0}};
    tool_opts o;
    struct timespec up;
    int c = 0, how = 0;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "ps", longs)) != -1;) {
        if (c == '?') return 1;
        how = c;
    }
    if (!how) { put_uptime(t); return 0; }
    clock_gettime(CLOCK_MONOTONIC, &up);
    long minutes = (long)(up.tv_sec / 60);
    if (how == 'p') {
        io_puts(t->out, "up ");
        if (minutes >= 60) io_printf(t->out, "%ld hour%s, ", minutes / 60, minutes < 120 ? "" : "s");
        return io_printf(t->out, "%ld minute%s\n", minutes % 60, minutes % 60 == 1 ? "" : "s") < 0;
    }
    time_t since = time(NULL) - up.tv_sec;
    struct tm tm;
    gmtime_r(&since, &tm);
    return io_printf(t->out, "%04d-%02d-%02d %02d:%02d:%02d\n", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
               tm.tm_sec)
           < 0;
}

int tool_w(tool *t, int argc, char **argv) {
    (void)argc;
    (void)argv;
    put_uptime(t);
    return io_puts(t->out, "USER     TTY      FROM             LOGIN@   IDLE   JCPU   PCPU WHAT\n") < 0;
}

int tool_free_memory(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"bytes", 0, 'b'}, {"kibi", 0, 'k'}, {"mebi", 0, 'm'}, {"gibi", 0, 'g'}, {"human", 0, 'h'},
        {"total", 0, 't'}, {"wide", 0, 'w'}, {"si", 0, 'S'}, {0, 0, 0}};
    tool_opts o;
    int c, total = 0;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "bkmghtw", longs)) != -1;) {
        if (c == '?') return 1;
        total |= c == 't';
    }
    io_puts(t->out, "               total        used        free      shared  buff/cache   available\n");
    io_printf(t->out, "Mem:    %12s%12s%12s%12s%12s%12s\n", "-", "-", "-", "-", "-", "-");
    io_printf(t->out, "Swap:   %12d%12d%12d\n", 0, 0, 0);
    if (total) io_printf(t->out, "Total:  %12s%12s%12s\n", "-", "-", "-");
    return io_failed(t->out) != 0;
}

int tool_who(tool *t, int argc, char **argv) {
    tool_opts o;
    tool_opts_start(&o, argc, argv);
    for (int c; (c = tool_opts_next(t, &o, "abdHlmpqrstTu", NULL)) != -1;) {
        if (c == '?') return 1;
        if (c == 'H') io_puts(t->out, "NAME     LINE         TIME             COMMENT\n");
        if (c == 'q') io_puts(t->out, "\n# users=0\n");
    }
    return 0;
}

int tool_users(tool *t, int argc, char **argv) { (void)t; (void)argc; (void)argv; return 0; }
int tool_hostid(tool *t, int argc, char **argv) { (void)argc; (void)argv; return io_puts(t->out, "007f0100\n") < 0; }

/* Prints the lines of a file like /etc/passwd whose first or third field is the key; all of them without one. How many. */
static int print_entries(tool *t, const char *path, const char *key) {
    const char *line;
    int shown = 0;
    io *file = io_open(path, O_RDONLY, 0);
    for (ssize_t n; file && (n = io_line(file, &line, '\n')) > 0;) {
        const char *name = memchr(line, ':', (size_t)n), *end = line + n;
        const char *number = name ? memchr(name + 1, ':', (size_t)(end - name - 1)) : NULL;
        size_t len = key ? strlen(key) : 0;
        int same = name && (size_t)(name - line) == len && !memcmp(line, key, len);
        same |= number && len < (size_t)(end - number - 1) && number[len + 1] == ':' && !memcmp(number + 1, key, len);
        if ((!key || same) && ++shown) io_write(t->out, line, (size_t)n);
    }
    io_unref(file);
    return shown;
}

/* getent passwd and group: what the files in /etc say. */
int tool_getent(tool *t, int argc, char **argv) {
    enum { UNKNOWN_DATABASE = 1, NOT_FOUND = 2 };
    if (argc < 2) { io_puts(t->err, "Usage: getent [OPTION...] database [key ...]\n"); return UNKNOWN_DATABASE; }
    int groups = !strcmp(argv[1], "group"), status = 0;
    if (!groups && strcmp(argv[1], "passwd")) {
        if (!strcmp(argv[1], "hosts") || !strcmp(argv[1], "ahosts") || !strcmp(argv[1], "services")
            || !strcmp(argv[1], "protocols"))
            return argc > 2 ? NOT_FOUND : 0;
        io_printf(t->err, "Unknown database: %s\nTry `getent --help' or `getent --usage' for more information.\n", argv[1]);
        return UNKNOWN_DATABASE;
    }
    const char *path = groups ? "/etc/group" : "/etc/passwd";
    if (argc == 2) print_entries(t, path, NULL);
    for (int i = 2; i < argc; i++) if (!*argv[i] || !print_entries(t, path, argv[i])) status = NOT_FOUND;
    return io_failed(t->out) ? 1 : status;
}

int tool_whereis(tool *t, int argc, char **argv) {
    tool_opts o;
    tool_opts_start(&o, argc, argv);
    for (int c; (c = tool_opts_next(t, &o, "bmsu", NULL)) != -1;) if (c == '?') return 1;
    if (o.index >= argc) return tool_fail(t, 1, "not enough arguments");
    for (int i = o.index; i < argc; i++) {
        int known = tool_find(argv[i]) != NULL || (t->knows && t->knows(t, argv[i]));
        if (io_printf(t->out, known ? "%s: /usr/bin/%s\n" : "%s:\n", argv[i], argv[i]) < 0) return 1;
    }
    return 0;
}

int tool_mountpoint(tool *t, int argc, char **argv) {
    tool_opts o;
    struct stat st;
    int c, quiet = 0;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "dqx", NULL)) != -1;) {
        if (c == '?') return 1;
        quiet |= c == 'q';
    }
    if (o.index >= argc) return tool_fail(t, 1, "bad usage");
    if (path_stat(argv[o.index], &st) < 0) return quiet ? 1 : tool_fail_errno(t, 1, "%s", argv[o.index]);
    char *real = path_real(t, argv[o.index], 0);
    int is = real && !strcmp(real, "/");
    if (!quiet) io_printf(t->out, "%s is %sa mountpoint\n", argv[o.index], is ? "" : "not ");
    return is ? 0 : 32;
}
