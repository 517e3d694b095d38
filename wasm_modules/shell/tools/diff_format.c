/* diff_format.c - diff's formats of the user's own: --line-format and its kin, --GTYPE-group-format, and -D for the C
 * preprocessor. */
#include "diff.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One line by a line format: %l %L %dn %% %c'C'. */
static void put_line_as(diff_state *s, const char *format, diff_file *f, size_t i) {
    span l = f->lines.at[i];
    int open = f->no_newline && i + 1 == f->lines.n;
    for (const char *p = format; *p; p++) {
        if (*p != '%') { io_putc(s->t->out, *p); continue; }
        p++;
        if (*p == 'l' || *p == 'L') {
            io_write(s->t->out, l.p, l.n);
            if (*p == 'L' && !open) io_putc(s->t->out, '\n');
        } else if (*p == '%') io_putc(s->t->out, '%');
        else if (*p == 'c' && p[1] == '\'' && p[2]) {
            io_putc(s->t->out, p[2]);
            p += p[3] == '\'' ? 3 : 2;
        } else {
            const char *start = p;
            while (*p && strchr("-'0123456789.", *p)) p++;
            if (*p && strchr("doxX", *p) && p[1] == 'n') {
                char spec[32];
                snprintf(spec, sizeof spec, "%%%.*sl%c", (int)(p - start) < 16 ? (int)(p - start) : 16, start, *p);
                _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wformat-nonliteral\"")
                io_printf(s->t->out, spec, (long)i + 1);
                _Pragma("GCC diagnostic pop")
                p++;
            }
            if (!*p) return;
        }
    }
}

typedef struct { size_t from, n; } lines_of;

static void put_lines(diff_state *s, int kind, diff_file *f, lines_of g) {
    const char *format = s->line_format[kind] ? s->line_format[kind] : "%l\n";
    for (size_t i = 0; i < g.n; i++) put_line_as(s, format, f, g.from + i);
}

/* e f l m n of the first file's group, or of the second's in capitals. */
static long group_number(lines_of g, int letter) {
    switch (letter | 32) {
    case 'e': return (long)g.from;
    case 'f': return (long)g.from + 1;
    case 'l': return (long)(g.from + g.n);
    case 'm': return (long)(g.from + g.n) + 1;
    default: return (long)g.n;
    }
}

static void put_group(diff_state *s, const char *format, diff_file *f[2], lines_of a, lines_of b) {
    for (const char *p = format; *p; p++) {
        if (*p != '%') { io_putc(s->t->out, *p); continue; }
        p++;
        if (*p == '<') put_lines(s, 0, f[0], a);
        else if (*p == '>') put_lines(s, 1, f[1], b);
        else if (*p == '=') put_lines(s, 2, f[0], a);
        else if (*p == '%') io_putc(s->t->out, '%');
        else if (*p == 'c' && p[1] == '\'' && p[2]) { io_putc(s->t->out, p[2]); p += p[3] == '\'' ? 3 : 2; }
        else if (*p && strchr("doxX", *p) && p[1] && strchr("eflmnEFLMN", p[1])) {
            long v = group_number(p[1] >= 'a' ? a : b, p[1]);
            io_printf(s->t->out, *p == 'o' ? "%lo" : *p == 'x' ? "%lx" : *p == 'X' ? "%lX" : "%ld", v);
            p++;
        }
        if (!*p) return;
    }
}

void diff_print_formatted(diff_state *s, diff_file *f[2], const hunk_list *hunks) {
    const char *changed = s->group_format[3], *same = s->group_format[2] ? s->group_format[2] : "%=";
    const char *old = s->group_format[0] ? s->group_format[0] : changed ? changed : "%<";
    const char *new = s->group_format[1] ? s->group_format[1] : changed ? changed : "%>";
    if (!changed) changed = tool_format(s->t, "%s%s", old, new);
    size_t a = 0, b = 0;
    for (size_t i = 0; i <= hunks->n; i++) {
        hunk h = i < hunks->n ? hunks->at[i] : (hunk){f[0]->lines.n, 0, f[1]->lines.n, 0};
        if (h.a > a) put_group(s, same, f, (lines_of){a, h.a - a}, (lines_of){b, h.b - b});
        if (h.a_n || h.b_n)
            put_group(s, h.a_n && h.b_n ? changed : h.a_n ? old : new, f, (lines_of){h.a, h.a_n}, (lines_of){h.b, h.b_n});
        a = h.a + h.a_n;
        b = h.b + h.b_n;
    }
}

void diff_use_ifdef(diff_state *s, const char *name) {
    s->mode = 'f';
    s->group_format[0] = tool_format(s->t, "#ifndef %s\n%%<#endif /* ! %s */\n", name, name);
    s->group_format[1] = tool_format(s->t, "#ifdef %s\n%%>#endif /* %s */\n", name, name);
    s->group_format[3] = tool_format(s->t, "#ifndef %s\n%%<#else /* %s */\n%%>#endif /* %s */\n", name, name, name);
}
