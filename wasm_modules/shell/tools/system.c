/* system.c - tools that tell about the system: uname arch id groups whoami logname hostname nproc tty tput clear getconf locale;
 * and yes, uuidgen, and mkfifo, and what there is not (stty). The sandbox has one user, one processor and no terminal. */
#include "users.h"
#include "buffer.h"
#include "files.h"
#include "../fifo.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int tool_yes(tool *t, int argc, char **argv) {
    buffer line = {.t = t}, block = {.t = t};
    tool_opts o;
    tool_opts_start(&o, argc, argv);
    if (tool_opts_next(t, &o, "+", NULL) != -1) return 1;
    int first = o.index;
    for (int i = first; i < argc; i++) { if (i > first) buffer_putc(&line, ' '); buffer_puts(&line, argv[i]); }
    if (argc <= first) buffer_putc(&line, 'y');
    buffer_putc(&line, '\n');
    while (block.n < 4096) buffer_add(&block, line.p, line.n);
    while (!tool_time_is_up() && io_write(t->out, block.p, block.n) == 0) {}
    return 1;
}

/* For tools without operands: 0, or status after a message about the first one. */
static int extra_operand(tool *t, int argc, char **argv, int first, int status) {
    if (first >= argc) return 0;
    tool_fail(t, status, "extra operand %s", tool_cite(t, argv[first]));
    return tool_usage(t, status);
}

int tool_uname(tool *t, int argc, char **argv) {
    static const tool_long longs[]
        = {{"all", 0, 'a'}, {"kernel-name", 0, 's'}, {"nodename", 0, 'n'}, {"kernel-release", 0, 'r'}, {"kernel-version", 0, 'v'},
            {"machine", 0, 'm'}, {"processor", 0, 'p'}, {"hardware-platform", 0, 'i'}, {"operating-system", 0, 'o'}, {0, 0, 0}};
    static const struct {
        char letter;
        const char *text;
    } parts[] = {{'s', "Linux"}, {'n', "hatchway"}, {'r', "6.1.0"}, {'v', "#1 SMP"}, {'m', "x86_64"}, {'o', "GNU/Linux"}};
    char want[16] = "";
    int c, n = 0, all = 0;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "asnrvmpio", longs)) != -1;) {
        if (c == '?') return 1;
        if (c == 'a') all = 1; else if (n < 15) want[n++] = (char)c;
    }
    if (extra_operand(t, argc, argv, o.index, 1)) return 1;
    if (!n && !all) want[n++] = 's';
    int any = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (all || strchr(want, parts[i].letter)) io_printf(t->out, "%s%s", any++ ? " " : "", parts[i].text);
    if (strchr(want, 'p') || strchr(want, 'i')) io_printf(t->out, "%sunknown", any++ ? " " : "");
    return io_putc(t->out, '\n') < 0;
}

int tool_id(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"user", 0, 'u'}, {"group", 0, 'g'}, {"groups", 0, 'G'}, {"name", 0, 'n'}, {"real", 0, 'r'},
        {"zero", 0, 'z'}, {"context", 0, 'Z'}, {0, 0, 0}};
    int what = 0, name = 0, real = 0, end = '\n', c;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "ugGnrazZ", longs)) != -1;) switch (c) {
        case '?': return 1;
        case 'n': name = 1; break;
        case 'r': real = 1; break;
        case 'z': end = '\0'; break;
        case 'a': break;
        case 'Z': return tool_fail(t, 1, "--context (-Z) works only on an SELinux-enabled kernel");
        default:
            if (what && what != c) return tool_fail(t, 1, "cannot print \"only\" of more than one choice");
            what = c;
    }
    if (!what && (name || real)) return tool_fail(t, 1, "cannot print only names or real IDs in default format");
    if (!what && !end) return tool_fail(t, 1, "option --zero not permitted in default format");
    int status = 0, many = argc - o.index > 1;
    for (int i = o.index; i == o.index || i < argc; i++) {
        const char *who = i < argc ? argv[i] : user_name(t, user_id());
        int root = i < argc && !strcmp(who, "root");
        if (!root && strcmp(who, user_name(t, user_id()))) {
            status = tool_fail(t, 1, "%s: no such user", tool_cite(t, who));
            continue;
        }
        unsigned u = root ? 0 : user_id(), g = root ? 0 : group_id();
        const char *group = root ? "root" : group_name(t, g);
        if (what == 'u') io_puts(t->out, name ? who : tool_format(t, "%u", u));
        else if (what) io_puts(t->out, name ? group : tool_format(t, "%u", g));
        else io_printf(t->out, "uid=%u(%s) gid=%u(%s) groups=%u(%s)", u, who, g, group, g, group);
        if (io_putc(t->out, end) < 0) return 1;
        if (many && what == 'G' && !end) io_putc(t->out, '\0');
    }
    return status;
}

int tool_whoami(tool *t, int argc, char **argv) {
    if (argc > 1) { tool_fail(t, 1, "extra operand %s", tool_cite(t, argv[1])); return tool_usage(t, 1); }
    return io_printf(t->out, "%s\n", user_name(t, user_id())) < 0;
}

int tool_arch(tool *t, int argc, char **argv) {
    return extra_operand(t, argc, argv, 1, 1) || io_puts(t->out, "x86_64\n") < 0;
}

int tool_groups(tool *t, int argc, char **argv) {
    int status = 0;
    if (argc < 2) return io_printf(t->out, "%s\n", group_name(t, group_id())) < 0;
    for (int i = 1; i < argc; i++) {
        int root = !strcmp(argv[i], "root");
        if (!root && strcmp(argv[i], user_name(t, user_id()))) status = tool_fail(t, 1, "%s: no such user", tool_cite(t, argv[i]));
        else io_printf(t->out, "%s : %s\n", argv[i], root ? "root" : group_name(t, group_id()));
    }
    return status;
}

int tool_logname(tool *t, int argc, char **argv) {
    (void)argc;
    (void)argv;
    return io_printf(t->out, "%s\n", user_name(t, user_id())) < 0;
}

int tool_tty(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"silent", 0, 's'}, {"quiet", 0, 's'}, {0, 0, 0}};
    tool_opts o;
    int c, silent = 0;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "s", longs)) != -1;) {
        if (c == '?') return 2;
        silent = 1;
    }
    if (extra_operand(t, argc, argv, o.index, 2)) return 2;
    if (!silent) io_puts(t->out, "not a tty\n");
    return 1;
}

int tool_hostname(tool *t, int argc, char **argv) {
    if (argc > 1 && argv[1][0] != '-') return tool_fail(t, 1, "you must be root to change the host name");
    int domain = argc > 1 && (!strcmp(argv[1], "-d") || !strcmp(argv[1], "--domain"));      /* there is none */
    return !domain && io_puts(t->out, "hatchway\n") < 0;
}

int tool_nproc(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"all", 0, 'a'}, {"ignore", 1, 'i'}, {0, 0, 0}};
    tool_opts o;
    char *end = "";
    const char *asked = t->getenv ? t->getenv(t, "OMP_NUM_THREADS") : NULL;
    long count = asked && atoi(asked) > 0 ? atoi(asked) : 1, ignored = 0;
    tool_opts_start(&o, argc, argv);
    for (int c; (c = tool_opts_next(t, &o, "", longs)) != -1;) {
        if (c == '?') return 1;
        if (c == 'a') count = 1;
        else if ((ignored = strtol(o.arg, &end, 10)) < 0 || *end || end == o.arg)
            return tool_fail(t, 1, "invalid number: %s", tool_cite(t, o.arg));
    }
    if (extra_operand(t, argc, argv, o.index, 1)) return 1;
    return io_printf(t->out, "%ld\n", count > ignored ? count - ignored : 1) < 0;
}

static int has_terminal_name(tool *t) {
    const char *name = t->getenv ? t->getenv(t, "TERM") : NULL;
    return name && *name;
}

int tool_clear(tool *t, int argc, char **argv) {
    (void)argv;
    if (argc < 2 && !has_terminal_name(t)) { io_puts(t->err, "TERM environment variable not set.\n"); return 1; }
    return io_puts(t->out, "\033[H\033[2J\033[3J") < 0;
}

/* The capabilities scripts ask for, as xterm has them. */
int tool_tput(tool *t, int argc, char **argv) {
    static const struct {
        const char *name, *text;
    } table[] = {{"bold", "\033[1m"}, {"dim", "\033[2m"}, {"smul", "\033[4m"}, {"rmul", "\033[24m"}, {"rev", "\033[7m"},
        {"smso", "\033[7m"}, {"rmso", "\033[27m"}, {"sgr0", "\033(B\033[m"}, {"clear", "\033[H\033[2J\033[3J"}, {"cols", "80\n"},
        {"lines", "24\n"}, {"civis", "\033[?25l"}, {"cnorm", "\033[?12l\033[?25h"}, {"home", "\033[H"},
        {"el", "\033[K"}, {"ed", "\033[J"}, {"cr", "\r"}, {"bel", "\a"}, {"sc", "\0337"}, {"rc", "\0338"}};
    int first = 1;
    if (first < argc && !strncmp(argv[first], "-T", 2)) first += argv[first][2] ? 1 : 2;
    else if (!has_terminal_name(t)) { io_puts(t->err, "tput: No value for $TERM and no -T specified\n"); return 2; }
    const char *terminal = first > 1 ? (argv[1][2] ? argv[1] + 2 : argc > 2 ? argv[2] : "") : t->getenv(t, "TERM");
    int many = strstr(terminal, "256color") != NULL, none = !strcmp(terminal, "dumb");
    if (first >= argc) { io_puts(t->err, "usage: tput [-V] [-S] [-T term] capname\n"); return 2; }
    if (!strcmp(argv[first], "colors")) return io_puts(t->out, none ? "-1\n" : many ? "256\n" : "8\n") < 0;
    if (none && strcmp(argv[first], "cols") && strcmp(argv[first], "lines")) return 1;
    if (first + 1 < argc && many && (!strcmp(argv[first], "setaf") || !strcmp(argv[first], "setab")) && atoi(argv[first + 1]) > 7) {
        int color = atoi(argv[first + 1]), back = argv[first][4] == 'b';
        if (color < 16) return io_printf(t->out, "\033[%d%dm", back ? 10 : 9, color - 8) < 0;
        return io_printf(t->out, "\033[%d;5;%dm", back ? 48 : 38, color) < 0;
    }
    if (first + 1 < argc && (!strcmp(argv[first], "setaf") || !strcmp(argv[first], "setab")))
        return io_printf(t->out, "\033[%c%sm", argv[first][4] == 'f' ? '3' : '4', argv[first + 1]) < 0;
    if (first + 2 < argc && !strcmp(argv[first], "cup"))
        return io_printf(t->out, "\033[%d;%dH", 1 + atoi(argv[first + 1]), 1 + atoi(argv[first + 2])) < 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].name, argv[first])) return io_puts(t->out, table[i].text) < 0;
    io_printf(t->err, "tput: unknown terminfo capability '%s'\n", argv[first]);
    return 4;
}

int tool_stty(tool *t, int argc, char **argv) {
    (void)argc;
    (void)argv;
    return tool_fail(t, 1, "'standard input': Inappropriate ioctl for device");
}

int tool_mkfifo(tool *t, int argc, char **argv) {
    int status = 0, i = 1;
    const char *mode = NULL;
    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        if (!strcmp(argv[i], "--")) { i++; break; }
        if (!strncmp(argv[i], "--mode=", 7)) mode = argv[i] + 7;
        else if (!strcmp(argv[i], "-m") && i + 1 < argc) mode = argv[++i];
    }
    if (i >= argc) { tool_fail(t, 1, "missing operand"); return tool_usage(t, 1); }
    unsigned bits = 0666;
    if (mode && mode_apply(mode, &bits, 0, umask_now()) < 0) return tool_fail(t, 1, "invalid mode");
    for (; i < argc; i++)
        if (fifo_make(argv[i]) == 0) { if (mode) chmod(argv[i], bits); }
        else status = tool_fail(t, 1, "cannot create fifo %s: %s", tool_quote(t, argv[i]), strerror(errno));
    return status;
}

int tool_getconf(tool *t, int argc, char **argv) {
    static const struct {
        const char *name, *value;
    } table[] = {{"PAGE_SIZE", "4096"}, {"PAGESIZE", "4096"}, {"_NPROCESSORS_ONLN", "1"}, {"_NPROCESSORS_CONF", "1"},
        {"LONG_BIT", "64"}, {"ARG_MAX", "2097152"}, {"PATH_MAX", "4096"}, {"NAME_MAX", "255"}, {"CLK_TCK", "100"},
        {"OPEN_MAX", "1024"}, {"INT_MAX", "2147483647"}, {"CHAR_BIT", "8"}, {"PATH", "/bin:/usr/bin"},
        {"GNU_LIBC_VERSION", "glibc 2.36"}};
    if (argc < 2) { io_puts(t->err, "Usage: getconf [-v specification] variable_name [pathname]\n"); return 2; }
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].name, argv[1])) return io_printf(t->out, "%s\n", table[i].value) < 0;
    io_printf(t->err, "getconf: Unrecognized variable `%s'\n", argv[1]);
    return 2;
}

int tool_locale(tool *t, int argc, char **argv) {
    static const char *const kinds[] = {"CTYPE", "NUMERIC", "TIME", "COLLATE", "MONETARY", "MESSAGES", "PAPER", "NAME", "ADDRESS",
        "TELEPHONE", "MEASUREMENT", "IDENTIFICATION"};
    const char *lang = t->getenv ? t->getenv(t, "LANG") : NULL, *all = t->getenv ? t->getenv(t, "LC_ALL") : NULL;
    if (argc > 1 && !strcmp(argv[1], "-a")) return io_puts(t->out, "C\nC.utf8\nPOSIX\n") < 0;
    if (argc > 1 && !strcmp(argv[1], "charmap")) return io_puts(t->out, "UTF-8\n") < 0;
    io_printf(t->out, "LANG=%s\nLANGUAGE=\n", lang ? lang : "");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *own = t->getenv ? t->getenv(t, tool_format(t, "LC_%s", kinds[i])) : NULL;
        if (own && !(all && *all)) io_printf(t->out, "LC_%s=%s\n", kinds[i], own);
        else io_printf(t->out, "LC_%s=\"%s\"\n", kinds[i], all && *all ? all : lang && *lang ? lang : "POSIX");
    }
    return io_printf(t->out, "LC_ALL=%s\n", all ? all : "") < 0;
}

int tool_uuidgen(tool *t, int argc, char **argv) {
    unsigned char b[16];
    (void)argc; (void)argv;
    if (getentropy(b, sizeof b) < 0) return tool_fail_errno(t, 1, "no randomness");
    b[6] = (b[6] & 15) | 64;
    b[8] = (b[8] & 63) | 128;
    for (int i = 0; i < 16; i++) io_printf(t->out, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", b[i]);
    return io_putc(t->out, '\n') < 0;
}
