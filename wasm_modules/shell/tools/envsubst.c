/* envsubst.c - $NAME and ${NAME} in text replaced by the values of environment variables; nothing else of the shell's language.
 */
#include "buffer.h"
#include <ctype.h>
#include <string.h>

/* The name of a reference at p (a dollar sign) and how long the reference is; 0 when it is none. */
static size_t reference(const char *p, const char *end, const char **name, size_t *n) {
    int braces = p + 1 < end && p[1] == '{';
    const char *q = p + 1 + braces;
    *name = q;
    if (q >= end || !(isalpha((unsigned char)*q) || *q == '_')) return 0;
    while (q < end && (isalnum((unsigned char)*q) || *q == '_')) q++;
    *n = (size_t)(q - *name);
    if (braces && (q >= end || *q != '}')) return 0;
    return (size_t)(q - p) + (size_t)braces;
}

static int listed(const char *format, const char *name, size_t n) {
    const char *end = format + strlen(format), *found;
    size_t length, step;
    for (const char *p = format; p < end; p += step) {
        step = *p == '$' ? reference(p, end, &found, &length) : 0;
        if (step && length == n && !memcmp(found, name, n)) return 1;
        if (!step) step = 1;
    }
    return 0;
}

/* -v: the variables that format refers to, one per line. */
static int print_names(tool *t, const char *format) {
    const char *end = format + strlen(format), *name;
    size_t n, step;
    for (const char *p = format; p < end; p += step ? step : 1) {
        step = *p == '$' ? reference(p, end, &name, &n) : 0;
        if (step && (io_write(t->out, name, n) < 0 || io_putc(t->out, '\n') < 0)) return 1;
    }
    return 0;
}

int tool_envsubst(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"variables", 0, 'v'}, {0, 0, 0}};
    tool_opts o;
    int c, names = 0;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "v", longs)) != -1;) if (c == '?') return 1; else names = 1;
    if (argc - o.index > 1) return tool_fail(t, 1, "too many arguments");
    const char *format = o.index < argc ? argv[o.index] : NULL;
    if (names) return print_names(t, format ? format : "");
    buffer in = {.t = t}, out = {.t = t};
    buffer_read_all(&in, t->in);
    for (const char *p = in.p, *end = p + in.n; p < end;) {
        const char *name = NULL;
        size_t n = 0, step = *p == '$' ? reference(p, end, &name, &n) : 0;
        if (!step || (format && !listed(format, name, n))) { buffer_putc(&out, *p++); continue; }
        const char *value = t->getenv ? t->getenv(t, tool_strndup(t, name, n)) : NULL;
        if (value) buffer_puts(&out, value);
        p += step;
    }
    return io_write(t->out, out.p ? out.p : "", out.n) < 0;
}
