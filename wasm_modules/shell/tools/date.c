/* date.c - print a date. The clock cannot be set. */
#include "dates.h"
#include <string.h>
#include <sys/stat.h>

static const char *iso_format(const char *precision) {
    static const struct {
        const char *word, *format;
    } table[] = {{"date", "%Y-%m-%d"}, {"hours", "%Y-%m-%dT%H%:z"}, {"minutes", "%Y-%m-%dT%H:%M%:z"},
        {"seconds", "%Y-%m-%dT%H:%M:%S%:z"}, {"ns", "%Y-%m-%dT%H:%M:%S,%N%:z"}};
    if (!precision) return table[0].format;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strncmp(table[i].word, precision, strlen(precision))) return table[i].format;
    return NULL;
}

static int print_date(tool *t, const char *format, moment when, int utc) {
    buffer b = {.t = t};
    date_format(&b, format, when, utc);
    buffer_putc(&b, '\n');
    return io_write(t->out, b.p, b.n) < 0;
}

/* The moment that text says, in UTC after -u unless it names its zone itself. */
static int read_date(tool *t, const char *text, int utc, moment *when) {
    if (utc && strncmp(text, "TZ=", 3)) text = tool_format(t, "TZ=\"UTC0\" %s", text);
    return date_parse(t, text, moment_now(), when);
}

static int print_file_dates(tool *t, const char *path, const char *format, int utc) {
    int status = 0;
    io *from = tool_open(t, path, 1, &status);
    const char *line;
    ssize_t n;
    if (!from) return status;
    while ((n = io_line(from, &line, '\n')) > 0) {
        char *text = tool_strndup(t, line, (size_t)n - (line[n - 1] == '\n'));
        moment when;
        if (read_date(t, text, utc, &when) < 0) {
            status = tool_fail(t, 1, "invalid date %s", tool_cite(t, text));
            continue;
        }
        if (print_date(t, format, when, utc)) { status = 1; break; }
    }
    io_unref(from);
    return status;
}

int tool_date(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"date", 1, 'd'}, {"file", 1, 'f'}, {"iso-8601", 2, 'I'}, {"rfc-email", 0, 'R'},
        {"rfc-2822", 0, 'R'}, {"rfc-822", 0, 'R'}, {"rfc-3339", 1, '3'}, {"reference", 1, 'r'}, {"set", 1, 's'}, {"utc", 0, 'u'},
        {"universal", 0, 'u'}, {"debug", 0, '9'}, {"resolution", 0, '8'}, {0, 0, 0}};
    static const char *const iso_units[] = {"hours", "minutes", "date", "seconds", "ns", NULL};
    static const char *const rfc_units[] = {"date", "seconds", "ns", NULL};
    const char *format = NULL, *text = NULL, *reference = NULL, *file = NULL;
    int utc = 0, c;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "d:f:I::Rr:s:u", longs)) != -1;) switch (c) {
        case 'd': text = o.arg; break;
        case 'f': file = o.arg; break;
        case 'I':
            if (!(format = iso_format(o.arg))) return tool_choice(t, "--iso-8601", o.arg, iso_units) < 0;
            break;
        case 'R': format = "%a, %d %b %Y %H:%M:%S %z"; break;
        case '3':
            if (tool_choice(t, "--rfc-3339", o.arg, rfc_units) < 0) return 1;
            format = *o.arg == 'd' ? "%Y-%m-%d" : *o.arg == 's' ? "%Y-%m-%d %H:%M:%S%:z" : "%Y-%m-%d %H:%M:%S.%N%:z"; break;
        case 'r': reference = o.arg; break;
        case 's': return tool_fail(t, 1, "cannot set date: Operation not permitted");
        case 'u': utc = 1; break;
        case '8': return io_puts(t->out, "0.000000001\n") < 0;
        case '9': break;
        default: return 1;
    }
    if (o.index < argc) {
        if (argv[o.index][0] != '+')
            return text || reference ? tool_fail(t, 1,
                       "the argument %s lacks a leading '+';\nwhen using an option to specify date(s), any non-option\nargument "
                       "must be a format string beginning with '+'",
                       tool_cite(t, argv[o.index])),
                   tool_usage(t, 1)  : tool_fail(t, 1, "invalid date %s", tool_cite(t, argv[o.index]));
        if (o.index + 1 < argc) { tool_fail(t, 1, "extra operand %s", tool_cite(t, argv[o.index + 1])); return tool_usage(t, 1); }
        if (format) { tool_fail(t, 1, "multiple output formats specified"); return 1; }
        format = argv[o.index] + 1;
    }
    if (!format) format = "%a %b %e %H:%M:%S %Z %Y";
    if (file) return print_file_dates(t, file, format, utc);
    moment when = moment_now();
    if (reference) {
        struct stat st;
        if (path_stat(reference, &st) < 0) return tool_fail_errno(t, 1, "%s", reference);
        when = st.st_mtim;
    } else if (text && read_date(t, text, utc, &when) < 0) return tool_fail(t, 1, "invalid date %s", tool_cite(t, text));
    return print_date(t, format, when, utc);
}
