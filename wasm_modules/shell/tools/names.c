/* names.c - basename and dirname: the parts of path names, by text alone. */
#include "../tool.h"
#include <string.h>

/* Length of s without trailing slashes, at least 1 for "/". */
static size_t trimmed(const char *s) {
    size_t n = strlen(s);
    while (n > 1 && s[n - 1] == '/') n--;
    return n;
}

static int print_base(tool *t, const char *s, const char *suffix, int end) {
    size_t n = trimmed(s), start = n;
    while (start > 0 && s[start - 1] != '/') start--;
    if (n == 1 && s[0] == '/') start = 0;
    size_t len = n - start, cut = suffix ? strlen(suffix) : 0;
    if (cut && cut < len && !memcmp(s + n - cut, suffix, cut)) len -= cut;
    return io_write(t->out, s + start, len) < 0 || io_putc(t->out, end) < 0;
}

int tool_basename(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"multiple", 0, 'a'}, {"suffix", 1, 's'}, {"zero", 0, 'z'}, {0, 0, 0}};
    int many = 0, end = '\n', c;
    const char *suffix = NULL;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "+as:z", longs)) != -1;) switch (c) {
        case 'a': many = 1; break;
        case 's': many = 1; suffix = o.arg; break;
        case 'z': end = '\0'; break;
        default: return 1;
    }
    int count = argc - o.index;
    if (!count) { tool_fail(t, 1, "missing operand"); return tool_usage(t, 1); }
    if (!many && count > 2) { tool_fail(t, 1, "extra operand %s", tool_cite(t, argv[o.index + 2])); return tool_usage(t, 1); }
    if (!many) return print_base(t, argv[o.index], count == 2 ? argv[o.index + 1] : NULL, end);
    for (int i = o.index; i < argc; i++) if (print_base(t, argv[i], suffix, end)) return 1;
    return 0;
}

int tool_dirname(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"zero", 0, 'z'}, {0, 0, 0}};
    int end = '\n', c;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "z", longs)) != -1;) {
        if (c != 'z') return 1;
        end = '\0';
    }
    if (o.index >= argc) { tool_fail(t, 1, "missing operand"); return tool_usage(t, 1); }
    for (int i = o.index; i < argc; i++) {
        const char *s = argv[i];
        size_t n = trimmed(s);
        while (n > 0 && s[n - 1] != '/') n--;
        while (n > 1 && s[n - 1] == '/') n--;
        if (!n) { s = "."; n = 1; }
        if (io_write(t->out, s, n) < 0 || io_putc(t->out, end) < 0) return 1;
    }
    return 0;
}
