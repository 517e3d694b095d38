/* numfmt.c - numbers to and from human-readable sizes. */
#include "buffer.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int from, to, round, header, padding, grouping, delim, invalid;
    double from_unit, to_unit;
    const char *suffix, *format;
    int first_field, last_field, all;
} numfmt_state;
static const char units[] = "KMGTPEZY";

static int scale_named(const char *name) {
    return !strcmp(name, "none")    ? 0
           : !strcmp(name, "si")    ? 's'
           : !strcmp(name, "iec")   ? 'i'
           : !strcmp(name, "iec-i") ? 'I'
           : !strcmp(name, "auto")  ? 'a'
                                    : -1;
}

static double unit_of(const char *arg) {
    unsigned long long v;
    if (isalpha((unsigned char)*arg))
        arg = arg[0] == 'K' && arg[1] == 'i' ? "1024" : !strcmp(arg, "K") ? "1000" : !strcmp(arg, "M") ? "1000000" : arg;
    return size_parse(arg, &v) < 0 ? 1 : (double)v;
}

static double rounded(const numfmt_state *s, double v) {
    switch (s->round) {
    case 'u': return ceil(v);
    case 'd': return floor(v);
    case 't': return trunc(v);
    case 'n': return round(v);
    }
    return v < 0 ? floor(v) : ceil(v);
}

static void print_value(tool *t, const numfmt_state *s, double v, int decimals, buffer *b) {
    (void)t;
    v /= s->to_unit;
    if (!s->to) { buffer_printf(b, "%.*f", decimals, decimals ? v : rounded(s, v)); return; }
    double base = s->to == 's' ? 1000 : 1024;
    int power = 0;
    double x = v;
    while (fabs(x) >= base && power < 8) { x /= base; power++; }
    /* one decimal below ten, none above; rounding may carry over */
    double shown = fabs(x) < 10 && power ? rounded(s, x * 10) / 10 : rounded(s, x);
    if (fabs(shown) >= base && power < 8) { shown /= base; power++; }
    if (fabs(shown) < 10 && power) buffer_printf(b, "%.1f", shown); else buffer_printf(b, "%.0f", shown);
    if (power) { buffer_putc(b, s->to == 's' && power == 1 ? 'K' : units[power - 1]); if (s->to == 'I') buffer_putc(b, 'i'); }
}

/* One number; 0, or 2 after a message. */
static int convert(tool *t, const numfmt_state *s, const char *text, buffer *b) {
    char *end;
    const char *p = text + strspn(text, " \t");
    double v = strtod(p, &end), scale = 1;
    if (end == p || (p[0] == '0' && (p[1] | 32) == 'x')) return tool_fail(t, 2, "invalid number: %s", tool_cite(t, text));
    const char *dot = memchr(p, '.', (size_t)(end - p));
    int decimals = dot && !s->to ? (int)(end - dot - 1) : 0;
    if (s->suffix && !strncmp(end, s->suffix, strlen(s->suffix)) && !end[strlen(s->suffix)]) end += strlen(s->suffix);
    if (*end) {
        const char *at = strchr(units, *end == 'k' ? 'K' : *end);
        if (!at || !s->from)
            return s->from ? tool_fail(t, 2, "invalid suffix in input: %s", tool_cite(t, text))
                           : tool_fail(t, 2,
                               at ? "rejecting suffix in input: %s (consider using --from)" : "invalid suffix in input: %s",
                               tool_cite(t, text));
        int binary = s->from == 'i' || s->from == 'I' || (s->from == 'a' && end[1] == 'i');
        scale = pow(binary ? 1024 : 1000, (double)(at - units) + 1);
        end++;
        if ((s->from == 'I' || s->from == 'a') && *end == 'i') end++;
        decimals = 0;
        if (s->suffix && !strcmp(end, s->suffix)) end += strlen(s->suffix);
        if (*end) return tool_fail(t, 2, "invalid suffix in input: %s", tool_cite(t, text));
    }
    v *= scale * s->from_unit;
    if (s->format) {
        const char *f = strchr(s->format, '%');
        int left = 0, width = 0, precision = -1, zero = 0;
        for (f++; strchr("-0' ", *f) && *f; f++) { left |= *f == '-'; zero |= *f == '0'; }
        width = (int)strtol(f, (char **)&f, 10);
        if (*f == '.') precision = (int)strtol(f + 1, (char **)&f, 10);
        buffer one = {.t = t};
        buffer_add(b, s->format, (size_t)(strchr(s->format, '%') - s->format));
        if (precision >= 0 && !s->to) {
            double p10 = pow(10, precision);
            buffer_printf(&one, "%.*f", precision, rounded(s, v / s->to_unit * p10) / p10);
        } else print_value(t, s, v, precision >= 0 ? precision : decimals, &one);
        if (s->suffix) buffer_puts(&one, s->suffix);
        if (!left) for (int i = (int)one.n; i < width; i++) buffer_putc(b, zero ? '0' : ' ');
        buffer_add(b, one.p, one.n);
        if (left) for (int i = (int)one.n; i < width; i++) buffer_putc(b, ' ');
        if (*f) buffer_puts(b, f + 1);
        return 0;
    }
    buffer one = {.t = t};
    print_value(t, s, v, decimals, &one);
    if (s->suffix) buffer_puts(&one, s->suffix);
    int pad = s->padding < 0 ? -s->padding : s->padding;
    if (s->padding > 0) for (int i = (int)one.n; i < pad; i++) buffer_putc(b, ' ');
    buffer_add(b, one.p, one.n);
    if (s->padding < 0) for (int i = (int)one.n; i < pad; i++) buffer_putc(b, ' ');
    return 0;
}

static int convert_line(tool *t, const numfmt_state *s, const char *line) {
    buffer b = {.t = t};
    int status = 0, field = 0;
    for (const char *p = line; *p || !field;) {
        size_t lead = s->delim ? 0 : strspn(p, " \t"),
               n = s->delim ? strcspn(p, (char[]){(char)s->delim, 0}) : strcspn(p + lead, " \t");
        field++;
        if (s->all || (field >= s->first_field && field <= s->last_field)) {
            char *text = tool_strndup(t, p + lead, n);
            size_t before = b.n;
            status |= convert(t, s, text, &b);
            if (lead && !s->padding && field > 1) {
                /* keep the column: white space counts as padding */
                char *value = tool_strndup(t, b.p + before, b.n - before);
                b.n = before;
                buffer_printf(&b, "%*s", (int)(lead + n), value);
            }
            if (status) { if (s->invalid) { b.n = before; buffer_add(&b, p, lead + n); status = 0; } else return status; }
        } else buffer_add(&b, p, lead + n);
        p += lead + n;
        if (s->delim && *p) buffer_putc(&b, *p++);
        if (!*p) break;
    }
    buffer_putc(&b, '\n');
    return io_write(t->out, b.p, b.n) < 0 ? 1 : status;
}

int tool_numfmt(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"from", 1, 'f'}, {"to", 1, 't'}, {"from-unit", 1, 'F'}, {"to-unit", 1, 'T'},
        {"round", 1, 'r'}, {"suffix", 1, 's'}, {"padding", 1, 'p'}, {"format", 1, 'o'}, {"field", 1, 'i'}, {"delimiter", 1, 'd'},
        {"header", 2, 'h'}, {"invalid", 1, 'v'}, {"grouping", 0, 'g'}, {0, 0, 0}};
    numfmt_state s = {.from_unit = 1, .to_unit = 1, .first_field = 1, .last_field = 1};
    tool_opts o;
    int c, status = 0;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "d:z", longs)) != -1;) switch (c) {
        case 'f':
            if ((s.from = scale_named(o.arg)) < 0) {
                tool_fail(t, 1, "invalid argument %s for '--from'", tool_cite(t, o.arg));
                return tool_usage(t, 1);
            }
            break;
        case 't':
            if ((s.to = scale_named(o.arg)) < 0) {
                tool_fail(t, 1, "invalid argument %s for '--to'", tool_cite(t, o.arg));
                return tool_usage(t, 1);
            }
            break;
        case 'F': s.from_unit = unit_of(o.arg); break;
        case 'T': s.to_unit = unit_of(o.arg); break;
        case 'r': s.round = *o.arg; break;
        case 's': s.suffix = o.arg; break;
        case 'p': s.padding = atoi(o.arg); break;
        case 'o':
            s.format = o.arg;
            if (!strchr(o.arg, '%')) return tool_fail(t, 1, "format %s has no %% directive", tool_cite(t, o.arg));
            break;
        case 'i': {
            char *end;
            if (*o.arg == '-') { s.all = !o.arg[1]; s.last_field = o.arg[1] ? atoi(o.arg + 1) : 1; break; }
            s.first_field = s.last_field = (int)strtol(o.arg, &end, 10);
            if (*end == '-') s.last_field = end[1] ? atoi(end + 1) : 1000000;
            break;
        }
        case 'd': s.delim = (unsigned char)*o.arg; break;
        case 'h': s.header = o.arg ? atoi(o.arg) : 1; break;
        case 'v': s.invalid = strcmp(o.arg, "abort") && strcmp(o.arg, "fail"); break;
        case 'g': case 'z': break;
        default: return 1;
    }
    if (o.index < argc) { for (int i = o.index; i < argc && !status; i++) status = convert_line(t, &s, argv[i]); return status; }
    const char *line;
    for (ssize_t n; !status && (n = io_line(t->in, &line, '\n')) > 0;) {
        char *text = tool_strndup(t, line, (size_t)n - (line[n - 1] == '\n'));
        if (s.header) { s.header--; io_printf(t->out, "%s\n", text); continue; }
        status = convert_line(t, &s, text);
        tool_free(t, text);
    }
    return status;
}
