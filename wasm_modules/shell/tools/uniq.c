/* uniq.c - report or drop repeated neighbouring lines. */
#include "buffer.h"
#include "../utf8.h"
#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

typedef struct { int count, repeated, only_unique, fold, delim, all, group; size_t skip_fields, skip_chars, width; } uniq_state;

static span key_of(const uniq_state *s, const char *line, size_t n) {
    size_t i = 0;
    for (size_t f = 0; f < s->skip_fields && i < n; f++) {
        while (i < n && (line[i] == ' ' || line[i] == '\t')) i++;
        while (i < n && line[i] != ' ' && line[i] != '\t') i++;
    }
    i += s->skip_chars < n - i ? s->skip_chars : n - i;
    size_t len = n - i;
    if (len > s->width) len = s->width;
    return (span){(char *)line + i, len};
}

static int same(const uniq_state *s, span a, span b) {
    if (a.n != b.n) return 0;
    if (!s->fold) return !memcmp(a.p, b.p, a.n);
    for (size_t i = 0; i < a.n; i++)
        if (utf8_lower((unsigned char)a.p[i] & 127) != utf8_lower((unsigned char)b.p[i] & 127)
            || (a.p[i] & 128) != (b.p[i] & 128))
            return 0;
    return 1;
}

static int emit(io *to, const uniq_state *s, span line, unsigned long long times) {
    if (times == 1 ? s->repeated : s->only_unique) return 0;
    if (s->count && io_printf(to, "%7llu ", times) < 0) return -1;
    return io_write(to, line.p, line.n) < 0 || io_putc(to, s->delim) < 0 ? -1 : 0;
}

/* The main pass: one group of equal lines at a time. */
static int run(io *from, io *to, const uniq_state *s, tool *t) {
    buffer held = {.t = t};
    unsigned long long times = 0;
    const char *line;
    ssize_t n;
    int groups = 0;
    while ((n = io_line(from, &line, s->delim)) > 0) {
        if (line[n - 1] == s->delim) n--;
        int equal = times && same(s, key_of(s, held.p, held.n), key_of(s, line, (size_t)n));
        if (equal) {
            times++;
            if (s->all) {
                if (times == 2) {
                    if (groups++ && s->all == 2) io_putc(to, s->delim); else if (s->all == 3) io_putc(to, s->delim);
                    io_write(to, held.p, held.n);
                    io_putc(to, s->delim);
                }
                io_write(to, line, (size_t)n);
                if (io_putc(to, s->delim) < 0) return -1;
            } else if (s->group) {
                io_write(to, line, (size_t)n);
                if (io_putc(to, s->delim) < 0) return -1;
            }
            continue;
        }
        if (s->group) {
            if (times || s->group == 2 || s->group == 3) io_putc(to, s->delim);
            io_write(to, line, (size_t)n);
            if (io_putc(to, s->delim) < 0) return -1;
        } else if (times && !s->all && emit(to, s, (span){held.p, held.n}, times) < 0) return -1;
        held.n = 0;
        buffer_add(&held, line, (size_t)n);
        times = 1;
    }
    if (times && s->group >= 3) return io_putc(to, s->delim);
    if (times && !s->all && !s->group) return emit(to, s, (span){held.p, held.n}, times);
    return 0;
}

static int take_number(tool *t, const char *arg, size_t *to, const char *what) {
    char *end;
    *to = strtoul(arg, &end, 10);
    return *arg && !*end ? 0 : tool_fail(t, 1, "%s: invalid number of %s", arg, what);
}

int tool_uniq(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"count", 0, 'c'}, {"repeated", 0, 'd'}, {"all-repeated", 2, 'D'}, {"skip-fields", 1, 'f'},
        {"ignore-case", 0, 'i'}, {"skip-chars", 1, 's'}, {"unique", 0, 'u'}, {"zero-terminated", 0, 'z'}, {"check-chars", 1, 'w'},
        {"group", 2, 'g'}, {0, 0, 0}};
    uniq_state s = {.delim = '\n', .width = (size_t)-1};
    tool_opts o;
    int c;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "cdDf:is:uzw:0123456789", longs)) != -1;) switch (c) {
        case 'c': s.count = 1; break;
        case 'd': s.repeated = 1; break;
        case 'D': {
            static const char *const ways[] = {"none", "prepend", "separate", NULL};
            static const int codes[] = {1, 3, 2};
            int way = o.arg ? tool_choice(t, "--all-repeated", o.arg, ways) : 0;
            if (way < 0) return 1;
            s.all = codes[way];
            break;
        }
        case 'f': if (take_number(t, o.arg, &s.skip_fields, "fields to skip")) return 1; break;
        case 's': if (take_number(t, o.arg, &s.skip_chars, "bytes to skip")) return 1; break;
        case 'w': if (take_number(t, o.arg, &s.width, "bytes to compare")) return 1; break;
        case 'i': s.fold = 1; break;
        case 'u': s.only_unique = 1; break;
        case 'z': s.delim = '\0'; break;
        case 'g': {
            static const char *const ways[] = {"prepend", "append", "separate", "both", NULL};
            static const int codes[] = {2, 4, 1, 3};
            int way = o.arg ? tool_choice(t, "--group", o.arg, ways) : 2;
            if (way < 0) return 1;
            s.group = codes[way];
            break;
        }
        case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
            s.skip_fields = s.skip_fields * 10 + (size_t)(c - '0');
            break;
        default: return 1;
    }
    if (s.group && (s.count || s.repeated || s.all || s.only_unique)) {
        tool_fail(t, 1, "--group is mutually exclusive with -c/-d/-D/-u");
        return tool_usage(t, 1);
    }
    if (s.all && s.count) {
        tool_fail(t, 1, "printing all duplicated lines and repeat counts is meaningless");
        return tool_usage(t, 1);
    }
    if (o.index < argc && argv[o.index][0] == '+' && isdigit((unsigned char)argv[o.index][1]))
        s.skip_chars = strtoul(argv[o.index++] + 1, NULL, 10);
    if (o.index + 2 < argc) {
        tool_fail(t, 1, "extra operand %s", tool_cite(t, argv[o.index + 2]));
        return tool_usage(t, 1);
    }
    int status = 0;
    io *from = o.index < argc ? tool_open(t, argv[o.index], 1, &status) : io_ref(t->in);
    if (!from) return status;
    io *to = io_ref(t->out);
    if (o.index + 1 < argc && strcmp(argv[o.index + 1], "-")) {
        io_unref(to);
        to = io_open(argv[o.index + 1], O_WRONLY | O_CREAT | O_TRUNC, 0666);
        if (!to) status = tool_fail_errno(t, 1, "%s", argv[o.index + 1]);
    }
    if (!status && run(from, to, &s, t) < 0) status = 1;
    if (io_failed(from)) status = tool_fail(t, 1, "error reading %s", tool_quote(t, o.index < argc ? argv[o.index] : "-"));
    io_unref(from);
    io_unref(to);
    return status;
}
