/* getopt.c - getopt of util-linux: puts a script's arguments in order, options first, quoted for the shell. */
#include "buffer.h"
#include <string.h>

typedef struct {
    tool *t;
    const char *shorts, *longs, *name;
    int plain, quiet, silent, in_order, posix, alternative, csh, bad;
    buffer out, rest;
} getopt_state;

static void put_value(getopt_state *s, buffer *b, const char *text) {
    buffer_putc(b, ' ');
    if (s->plain) { buffer_puts(b, text); return; }
    buffer_putc(b, '\'');
    for (; *text; text++) {
        if (*text == '\'') buffer_puts(b, "'\\''");
        else if (s->csh && strchr("\\!\n \t", *text)) buffer_printf(b, "'\\%c'", *text == '\n' ? 'n' : *text);
        else buffer_putc(b, *text);
    }
    buffer_putc(b, '\'');
}

static void complain(getopt_state *s, const char *what, const char *option, int is_long) {
    s->bad = 1;
    if (!s->quiet) io_printf(s->t->err, is_long ? "%s: %s '--%s'\n" : "%s: %s -- '%s'\n", s->name, what, option);
}

/* The entry of a long option in the comma-separated list: exact, or the only one it begins. NULL when there is none, or several.
 */
static const char *find_long(getopt_state *s, const char *name, size_t n, size_t *length) {
    const char *found = NULL;
    int several = 0;
    for (const char *p = s->longs; p && *p;) {
        size_t entry = strcspn(p, ", \t\n"), bare = entry;
        while (bare && p[bare - 1] == ':') bare--;
        if (n <= bare && !strncmp(p, name, n)) {
            if (n == bare) { *length = bare; return p; }
            several = found != NULL;
            found = p;
            *length = bare;
        }
        p += entry + (p[entry] != 0);
    }
    return several ? NULL : found;
}

/* --name[=value]; returns how many further words it took. */
static int take_long(getopt_state *s, const char *word, char **next) {
    size_t n = strcspn(word, "="), length;
    const char *entry = find_long(s, word, n, &length), *value = word[n] ? word + n + 1 : NULL;
    char *name = tool_strndup(s->t, word, n);
    if (!entry) { complain(s, "unrecognized option", name, 1); return 0; }
    int takes = entry[length] != ':' ? 0 : entry[length + 1] == ':' ? 2 : 1;
    char *full = tool_strndup(s->t, entry, length);
    if (!takes && value) {
        s->bad = 1;
        if (!s->quiet) io_printf(s->t->err, "%s: option '--%s' doesn't allow an argument\n", s->name, full);
        return 0;
    }
    if (takes == 1 && !value && !*next) {
        s->bad = 1;
        if (!s->quiet) io_printf(s->t->err, "%s: option '--%s' requires an argument\n", s->name, full);
        return 0;
    }
    buffer_printf(&s->out, " --%s", full);
    if (takes) put_value(s, &s->out, value ? value : takes == 1 ? *next : "");
    return takes == 1 && !value;
}

/* A cluster -abc; returns how many further words it took. */
static int take_shorts(getopt_state *s, const char *word, char **next) {
    for (const char *p = word; *p; p++) {
        const char *entry = *p == ':' ? NULL : strchr(s->shorts, *p);
        char letter[2] = {*p, 0};
        if (!entry) { complain(s, "invalid option", letter, 0); continue; }
        int takes = entry[1] != ':' ? 0 : entry[2] == ':' ? 2 : 1;
        if (takes == 1 && !p[1] && !*next) { complain(s, "option requires an argument", letter, 0); return 0; }
        buffer_printf(&s->out, " -%c", *p);
        if (!takes) continue;
        put_value(s, &s->out, p[1] ? p + 1 : takes == 1 ? *next : "");
        return takes == 1 && !p[1];
    }
    return 0;
}

static int arrange(getopt_state *s, int argc, char **argv) {
    s->posix = s->t->getenv && s->t->getenv(s->t, "POSIXLY_CORRECT");
    if (*s->shorts == '+') { s->posix = 1; s->shorts++; }
    else if (*s->shorts == '-') { s->in_order = 1; s->shorts++; }
    int i = 0;
    for (; i < argc; i++) {
        char *word = argv[i];
        if (!strcmp(word, "--")) { i++; break; }
        size_t length;
        if (word[0] == '-' && word[1] == '-') i += take_long(s, word + 2, argv + i + 1);
        else if (s->alternative && word[0] == '-' && word[1] && (word[2] || !strchr(s->shorts, word[1]))
                 && find_long(s, word + 1, strcspn(word + 1, "="), &length))
            i += take_long(s, word + 1, argv + i + 1);
        else if (word[0] == '-' && word[1]) i += take_shorts(s, word + 1, argv + i + 1);
        else if (s->posix) break;
        else put_value(s, s->in_order ? &s->out : &s->rest, word);
    }
    for (; i < argc; i++) put_value(s, &s->rest, argv[i]);
    buffer_puts(&s->out, " --");
    if (s->rest.n) buffer_add(&s->out, s->rest.p, s->rest.n);
    buffer_putc(&s->out, '\n');
    if (s->silent) return s->bad;
    return io_write(s->t->out, s->out.p, s->out.n) < 0 ? 3 : s->bad;
}

int tool_getopt(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"options", 1, 'o'}, {"longoptions", 1, 'l'}, {"longoption", 1, 'l'}, {"name", 1, 'n'},
        {"quiet", 0, 'q'}, {"quiet-output", 0, 'Q'}, {"unquoted", 0, 'u'}, {"test", 0, 'T'}, {"alternative", 0, 'a'},
        {"shell", 1, 's'}, {0, 0, 0}};
    getopt_state s = {.t = t, .name = "getopt", .out = {.t = t}, .rest = {.t = t}};
    if (argc < 2) { tool_fail(t, 2, "missing optstring argument"); return tool_usage(t, 2); }
    if (argv[1][0] != '-') {
        s.plain = 1;
        s.shorts = argv[1];
        return arrange(&s, argc - 2, argv + 2);
    }
    tool_opts o;
    buffer names = {.t = t};
    for (int c = (tool_opts_start(&o, argc, argv), 0); (c = tool_opts_next(t, &o, "+o:l:n:qQuTas:", longs)) != -1;) switch (c) {
        case 'o': s.shorts = o.arg; break;
        case 'l': buffer_printf(&names, "%s,", o.arg); s.longs = names.p; break;
        case 'n': s.name = o.arg; break;
        case 'q': s.quiet = 1; break;
        case 'Q': s.silent = 1; break;
        case 'a': s.alternative = 1; break;
        case 's':
            s.csh = strstr(o.arg, "csh") != NULL;
            if (!s.csh && strcmp(o.arg, "sh") && strcmp(o.arg, "bash")) {
                tool_fail(t, 2, "unknown shell after -s or --shell argument");
                return tool_usage(t, 2);
            }
            break;
        case 'u': s.plain = 1; break;
        case 'T': return 4;
        case '?': return 2;
    }
    if (!s.shorts) {
        if (o.index >= argc) { tool_fail(t, 2, "missing optstring argument"); return tool_usage(t, 2); }
        s.shorts = argv[o.index++];
    }
    return arrange(&s, argc - o.index, argv + o.index);
}
