/* paste.c - paste: merge lines of files; rev: reverse the characters of lines. */
#include "buffer.h"
#include "inputs.h"
#include "../utf8.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* The -d list with its escapes; \0 is an empty delimiter, marked by length 0. */
static span_list parse_delimiters(tool *t, const char *text) {
    span_list list = {0};
    for (const char *p = text; *p;) {
        char *one = tool_alloc(t, 8);
        size_t n = 1;
        if (*p == '\\' && p[1]) {
            static const char from[] = "ntbfrv\\", to[] = "\n\t\b\f\r\v\\";
            const char *at = strchr(from, p[1]);
            if (p[1] == '0') n = 0; else one[0] = at ? to[at - from] : p[1];
            p += 2;
        } else {
            one[0] = *p++;             /* a byte, also of a longer character: as GNU's */
        }
        span_add(t, &list, one, n);
    }
    if (!list.n) span_add(t, &list, "", 0);
    return list;
}

static int paste_serial(tool *t, io **from, int n, const span_list *d, int end) {
    for (int i = 0; i < n; i++) {
        const char *line;
        ssize_t got;
        size_t k = 0;
        for (; (got = io_line(from[i], &line, end)) > 0; k++) {
            if (k) io_write(t->out, d->at[(k - 1) % d->n].p, d->at[(k - 1) % d->n].n);
            if (io_write(t->out, line, (size_t)got - (line[got - 1] == end)) < 0) return 1;
        }
        if (io_putc(t->out, end) < 0) return 1;
    }
    return 0;
}

static int paste_parallel(tool *t, io **from, int n, const span_list *d, int end) {
    buffer b = {.t = t};
    int *done = tool_alloc(t, (size_t)n * sizeof *done);
    for (;;) {
        int any = 0;
        b.n = 0;
        for (int i = 0; i < n; i++) {
            const char *line;
            ssize_t got = done[i] ? -1 : io_line(from[i], &line, end);
            if (i) buffer_add(&b, d->at[(size_t)(i - 1) % d->n].p, d->at[(size_t)(i - 1) % d->n].n);
            if (got <= 0) { done[i] = 1; continue; }
            any = 1;
            buffer_add(&b, line, (size_t)got - (line[got - 1] == end));
        }
        if (!any) return 0;
        buffer_putc(&b, end);
        if (io_write(t->out, b.p, b.n) < 0) return 1;
    }
}

int tool_paste(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"delimiters", 1, 'd'}, {"serial", 0, 's'}, {"zero-terminated", 0, 'z'}, {0, 0, 0}};
    const char *delimiters = "\t";
    int serial = 0, end = '\n', c, status = 0;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "d:sz", longs)) != -1;) switch (c) {
        case 'd': delimiters = o.arg; break;
        case 's': serial = 1; break;
        case 'z': end = '\0'; break;
        default: return 1;
    }
    size_t slashes = 0, length = strlen(delimiters);
    while (slashes < length && delimiters[length - 1 - slashes] == '\\') slashes++;
    if (slashes % 2) return tool_fail(t, 1, "delimiter list ends with an unescaped backslash: %s", delimiters);
    span_list d = parse_delimiters(t, delimiters);
    int n = o.index < argc ? argc - o.index : 1;
    io **from = tool_alloc(t, (size_t)n * sizeof *from);
    int opened = 0;
    for (int i = 0; i < n; i++) {
        from[opened] = o.index < argc ? input_open(t, argv[o.index + i], 1, &status) : io_ref(t->in);
        if (from[opened]) opened++; else if (!serial) break;
    }
    if (!status || serial) {
        int failed = serial ? paste_serial(t, from, opened, &d, end) : paste_parallel(t, from, opened, &d, end);
        if (failed) status = 1;
    }
    for (int i = 0; i < opened; i++) io_unref(from[i]);
    return status;
}

static int rev_stream(tool *t, io *from, const char *name, void *context) {
    const char *line;
    ssize_t got;
    buffer b = {.t = t};
    (void)name; (void)context;
    while ((got = io_line(from, &line, '\n')) > 0) {
        int ended = line[got - 1] == '\n';
        size_t n = (size_t)got - (size_t)ended;
        const char *nul = memchr(line, 0, n);            /* the line ends there, and not as lines do */
        if (nul) { n = (size_t)(nul - line); ended = 0; }
        b.n = 0;
        buffer_reserve(&b, n + 1);
        for (size_t i = 0; i < n;) {
            int c, len = utf8_decode(line + i, n - i, &c);
            memcpy(b.p + n - i - (size_t)len, line + i, (size_t)len);
            i += (size_t)len;
        }
        b.n = n;
        if (ended) buffer_putc(&b, '\n');
        if (io_write(t->out, b.p, b.n) < 0) return 1;
    }
    return 0;
}

int tool_rev(tool *t, int argc, char **argv) {
    tool_opts o;
    tool_opts_start(&o, argc, argv);
    if (tool_opts_next(t, &o, "", NULL) != -1) return 1;
    if (o.index >= argc) return rev_stream(t, t->in, "-", NULL);
    int status = 0;
    for (int i = o.index; i < argc && !io_failed(t->out); i++) {
        io *from = io_open(argv[i], O_RDONLY, 0);
        if (!from) { status = tool_fail_errno(t, 1, "cannot open %s", argv[i]); continue; }
        if (rev_stream(t, from, argv[i], NULL)) status = 1;
        if (io_failed(from)) { errno = io_failed(from); status = tool_fail_errno(t, 1, "%s: 0", argv[i]); }
        io_unref(from);
    }
    return status;
}
