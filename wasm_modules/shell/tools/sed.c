/* sed.c - the stream editor's command line. */
#include "sed.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* From here on the script is what this -e, or -f file, says. */
static void begin_part(sed_script *s, buffer *script, const char *file) {
    if (s->part_count && !(script->n && script->p[script->n - 1] == '\n')) buffer_putc(script, '\n');
    s->parts = tool_realloc(s->t, s->parts, ((size_t)s->part_count + 1) * sizeof *s->parts);
    s->parts[s->part_count++] = (sed_part){script->n, file};
}

static int add_script_file(sed_script *s, buffer *script, const char *path) {
    tool *t = s->t;
    io *from = strcmp(path, "-") ? io_open(path, O_RDONLY, 0) : io_ref(t->in);
    if (!from) return tool_fail_errno(t, 4, "couldn't open file %s", path);
    buffer b = {.t = t};
    buffer_read_all(&b, from);
    io_unref(from);
    begin_part(s, script, path);
    buffer_add(script, b.p, b.n);
    return 0;
}

int tool_sed(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"quiet", 0, 'n'}, {"silent", 0, 'n'}, {"expression", 1, 'e'}, {"file", 1, 'f'},
        {"regexp-extended", 0, 'E'}, {"in-place", 2, 'i'}, {"line-length", 1, 'l'}, {"separate", 0, 's'}, {"null-data", 0, 'z'},
        {"zero-terminated", 0, 'z'}, {"posix", 0, 'p'}, {"unbuffered", 0, 'u'}, {"debug", 0, 'd'}, {"sandbox", 0, 'S'},
        {"follow-symlinks", 0, 'F'}, {"binary", 0, 'b'}, {"version", 0, 'V'}, {0, 0, 0}};
    sed_script s = {.t = t, .wrap = 70, .out = {.to = t->out}, .standard = {.to = t->out}};
    s.correct = t->getenv && t->getenv(t, "POSIXLY_CORRECT");
    buffer script = {.t = t};
    const char *columns = t->getenv ? t->getenv(t, "COLS") : NULL;
    int c;
    tool_opts o;
    if (columns && atoi(columns) > 1) s.wrap = atoi(columns) - 1;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "bsnrzuEe:f:l:i::", longs)) != -1;) switch (c) {
        case 'n': s.quiet = 1; break;
        case 'e': begin_part(&s, &script, NULL); buffer_puts(&script, o.arg); break;
        case 'f': if (add_script_file(&s, &script, o.arg)) return 4; break;
        case 'r': case 'E': s.extended = 1; break;
        case 'i': s.in_place = s.separate = 1; s.suffix = o.arg && *o.arg ? o.arg : NULL; break;
        case 'l': s.wrap = atoi(o.arg); break;
        case 's': s.separate = 1; break;
        case 'z': s.zero = 1; break;
        case 'S': s.sandbox = 1; break;
        case 'p': s.posix = 1; break;
        case 'u': s.unbuffered = 1; break;
        case 'V': io_puts(t->out, "sed (GNU sed) 4.9\n"); return 0;
        case 'F': s.follow = 1; break;
        case 'b': case 'd': break;
        default: return 1;
    }
    if (!s.part_count) {
        if (o.index >= argc) {
            io_printf(t->err, "Usage: %s [OPTION]... {script-only-if-no-other-script} [input-file]...\n", t->name);
            return 1;
        }
        buffer_puts(&script, argv[o.index++]);
    }
    buffer_puts(&script, "");
    s.text = script.p;
    int status = sed_parse(&s, script.p, script.n);
    if (!status) status = sed_finish(&s);
    if (status) {
        for (sed_output *f = s.outputs; f; f = f->next) io_unref(f->to);
        return status;
    }
    if (s.in_place && o.index >= argc) return tool_fail(t, 4, "no input files");
    static char *standard[] = {"-"};
    return o.index < argc ? sed_run(&s, argv + o.index, argc - o.index) : sed_run(&s, standard, 1);
}
