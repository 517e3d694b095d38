/* nl.c - number lines. */
#include "buffer.h"
#include "inputs.h"
#include "patterns.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    char style[3];
    regex *pattern[3];
    long start, number, step;
    long join;
    int width, justify, section, blanks, keep;
    const char *separator;
    char mark[4];
} nl_state;

static int numbered(nl_state *s, const char *line, size_t n) {
    switch (s->style[s->section]) {
    case 'a':
        if (n) { s->blanks = 0; return 1; }
        if (++s->blanks < s->join) return 0;
        s->blanks = 0;
        return 1;
    case 't': return n > 0;
    case 'p': return s->pattern[s->section] && regex_test(s->pattern[s->section], line, n) > 0;
    }
    return 0;
}

static int nl_stream(tool *t, io *from, const char *name, void *context) {
    nl_state *s = context;
    const char *line;
    ssize_t got;
    (void)name;
    while ((got = io_line(from, &line, '\n')) > 0) {
        size_t n = (size_t)got - (line[got - 1] == '\n'), m = strlen(s->mark);
        int marks = 0;
        while (m && (size_t)(marks + 1) * m <= n && !memcmp(line + (size_t)marks * m, s->mark, m)) marks++;
        if (marks && marks <= 3 && (size_t)marks * m == n) {
            s->section = marks == 3 ? 0 : marks == 2 ? 1 : 2;
            if (!s->keep) s->number = s->start;
            if (io_putc(t->out, '\n') < 0) return 1;
            continue;
        }
        if (numbered(s, line, n)) {
            io_printf(t->out,
                s->justify == 'l'   ? "%-*ld%s"
                : s->justify == 'z' ? "%0*ld%s"
                                    : "%*ld%s",
                s->width, s->number, s->separator);
            s->number += s->step;
        } else io_printf(t->out, "%*s", s->width + (int)strlen(s->separator), "");
        if (io_write(t->out, line, n) < 0 || io_putc(t->out, '\n') < 0) return 1;
    }
    return 0;
}

static int take_style(tool *t, nl_state *s, int section, const char *arg) {
    const char *error;
    if (!strchr("atnp", *arg) || !*arg) {
        tool_fail(t, 1, "invalid %s numbering style: %s",
            section == 0   ? "header"
            : section == 1 ? "body"
                           : "footer",
            tool_cite(t, arg));
        return tool_usage(t, 1);
    }
    s->style[section] = *arg;
    if (*arg == 'p' && !(s->pattern[section] = pattern_compile(t, arg + 1, strlen(arg + 1), 0, &error)))
        return tool_fail(t, 1, "%s", error);
    return 0;
}

/* The number an option gives; 0, or 1 after saying that what is invalid. */
static int take_number(tool *t, const char *arg, long *to, const char *what) {
    char *end;
    *to = strtol(arg, &end, 10);
    return end != arg && !*end ? 0 : tool_fail(t, 1, "invalid %s: %s", what, tool_cite(t, arg));
}

int tool_nl(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"body-numbering", 1, 'b'}, {"header-numbering", 1, 'h'}, {"footer-numbering", 1, 'f'},
        {"starting-line-number", 1, 'v'}, {"line-increment", 1, 'i'}, {"join-blank-lines", 1, 'l'}, {"number-format", 1, 'n'},
        {"number-separator", 1, 's'}, {"number-width", 1, 'w'}, {"no-renumber", 0, 'p'}, {"section-delimiter", 1, 'd'},
        {0, 0, 0}};
    nl_state s = {.style = {'n', 't', 'n'},
        .start = 1,
        .step = 1,
        .width = 6,
        .justify = 'r',
        .join = 1,
        .section = 1,
        .separator = "\t",
        .mark = "\\:"};
    tool_opts o;
    int c;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "b:h:f:v:i:l:n:s:w:pd:", longs)) != -1;) switch (c) {
        case 'b': if (take_style(t, &s, 1, o.arg)) return 1; break;
        case 'h': if (take_style(t, &s, 0, o.arg)) return 1; break;
        case 'f': if (take_style(t, &s, 2, o.arg)) return 1; break;
        case 'v': if (take_number(t, o.arg, &s.start, "starting line number")) return 1; break;
        case 'i': if (take_number(t, o.arg, &s.step, "line number increment")) return 1; break;
        case 'l':
            if (take_number(t, o.arg, &s.join, "line number of blank lines")) return 1;
            if (s.join < 1)
                return tool_fail(
                    t, 1, "invalid line number of blank lines: %s: Numerical result out of range", tool_cite(t, o.arg));
            break;
        case 'n':
            if (strcmp(o.arg, "ln") && strcmp(o.arg, "rn") && strcmp(o.arg, "rz")) {
                tool_fail(t, 1, "invalid line numbering format: %s", tool_cite(t, o.arg));
                return tool_usage(t, 1);
            }
            s.justify = !strcmp(o.arg, "ln") ? 'l' : !strcmp(o.arg, "rz") ? 'z' : 'r'; break;
        case 's': s.separator = o.arg; break;
        case 'w':
            s.width = atoi(o.arg);
            if (s.width < 1) 
                return tool_fail(t, 1, "invalid line number field width: %s%s", tool_cite(t, o.arg),
                    strcmp(o.arg, "0") ? "" : ": Numerical result out of range");
            break;
        case 'p': s.keep = 1; break;
        case 'd': s.mark[0] = o.arg[0]; s.mark[1] = o.arg[0] && o.arg[1] ? o.arg[1] : ':'; break;
        default: return 1;
    }
    s.number = s.start;
    return for_each_input(t, argc, argv, o.index, nl_stream, &s);
}
