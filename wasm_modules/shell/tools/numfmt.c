/* numfmt.c - numbers to and from human-readable sizes. */
#include "buffer.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int from, to, round, header, padding, grouping, delim, invalid, end, open; /* end: of a line; open: the last has none */
    double from_unit, to_unit;
    const char *suffix, *format;
    struct { int first, last; } fields[32];
    int field_n;
} numfmt_state;
enum { LONGEST_UNSCALED = 18 };                                           /* digits that are printed without --to */
enum { FIELDS_MOST = 32, LAST_FIELD = 1000000, FAILED_LATER = -2 };      /* --invalid=fail: go on, but end with 2 */
static const char units[] = "KMGTPEZY";

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

static void put_unit(const numfmt_state *s, int power, buffer *b) {
    if (!power) return;
    buffer_putc(b, units[power - 1]);
    if (s->to == 'I') buffer_putc(b, 'i');
}

/* precision: of the format, -1 when it has none; decimals: as many as the input had. */
static void print_value(const numfmt_state *s, long double exact_value, int decimals, int precision, buffer *b) {
    exact_value /= (long double)s->to_unit;
    double v = (double)exact_value;
    if (!s->to && !decimals && fabs(v) < 9e18 && (long double)(long long)exact_value == exact_value) {
        buffer_printf(b, "%lld", (long long)exact_value);
        return;
    }
    if (!s->to) { buffer_printf(b, "%.*f", decimals, decimals ? v : rounded(s, v)); return; }
    double base = s->to == 's' ? 1000 : 1024;
    int power = 0;
    double x = v;
    while (fabs(x) >= base && power < 8) { x /= base; power++; }
    if (precision >= 0) {
        double p10 = pow(10, precision), exact = rounded(s, x * p10) / p10;
        if (fabs(exact) >= base && power < 8) { exact /= base; power++; }
        buffer_printf(b, "%.*f", precision, exact);
        put_unit(s, power, b);
        return;
    }
    if (!power && x != trunc(x)) {
        buffer_printf(b, "%.0f", fabs(x) < 10 ? rounded(s, x * 10) / 10 : rounded(s, x));
        return;
    }
    /* one decimal below ten, none above; rounding may carry over */
    double shown = fabs(x) < 10 && power ? rounded(s, x * 10) / 10 : rounded(s, x);
    if (fabs(shown) >= base && power < 8) { shown /= base; power++; }
    if (fabs(shown) < 10 && power) buffer_printf(b, "%.1f", shown); else buffer_printf(b, "%.0f", shown);
    put_unit(s, power, b);
}

/* --invalid=ignore says nothing. */
static int refuse(tool *t, const numfmt_state *s, const char *message, const char *text) {
    if (s->invalid != 'i') tool_fail(t, 2, message, tool_cite(t, text));
    return 2;
}

/* Of digits with a point among them; more digits than a double has. */
static long double exact(const char *digits, size_t n) {
    long double v = 0, unit = 1;
    int is_negative = n && *digits == '-', is_fraction = 0;
    for (size_t i = (size_t)is_negative; i < n; i++) {
        if (digits[i] == '.') { is_fraction = 1; continue; }
        v = v * 10 + (digits[i] - '0');
        if (is_fraction) unit *= 10;
    }
    return (is_negative ? -v : v) / unit;
}

static int refuse_large(tool *t, const numfmt_state *s, double v, int precision) {
    if (s->to || fabs(v) < 1 || (int)floor(log10(fabs(v))) + precision <= LONGEST_UNSCALED) return 0;
    if (s->invalid == 'i') return 2;
    return precision ? tool_fail(t, 2, "value/precision too large to be printed: '%g/%d' (consider using --to)", v, precision)
                     : tool_fail(t, 2, "value too large to be printed: '%g' (consider using --to)", v);
}

/* One number; 0, or 2 after a message. */
static int convert(tool *t, const numfmt_state *s, const char *text, buffer *b) {
    char *end;
    const char *p = text + strspn(text, " \t");
    size_t digits = strspn(p + (*p == '-'), "0123456789.") + (*p == '-');
    char *plain = tool_strndup(t, p, digits);
    double scale = 1;
    strtod(plain, &end);
    if (end == plain || end[-1] == '.') return refuse(t, s, "invalid number: %s", text);
    long double v = exact(plain, (size_t)(end - plain));
    end = (char *)p + (end - plain);
    const char *dot = memchr(p, '.', (size_t)(end - p));
    int decimals = dot && !s->to ? (int)(end - dot - 1) : 0;
    if (s->suffix && !strncmp(end, s->suffix, strlen(s->suffix)) && !end[strlen(s->suffix)]) end += strlen(s->suffix);
    if (*end) {
        const char *at = strchr(units, *end);
        if (!at || !s->from)
            return refuse(t, s,
                at && !s->from ? "rejecting suffix in input: %s (consider using --from)" : "invalid suffix in input: %s", text);
        int binary = s->from == 'i' || s->from == 'I' || (s->from == 'a' && end[1] == 'i');
        scale = pow(binary ? 1024 : 1000, (double)(at - units) + 1);
        end++;
        if (s->from == 'I' && *end != 'i') return refuse(t, s, "missing 'i' suffix in input: %s (e.g Ki/Mi/Gi)", text);
        if ((s->from == 'I' || s->from == 'a') && *end == 'i') end++;
        decimals = 0;
        if (s->suffix && !strcmp(end, s->suffix)) end += strlen(s->suffix);
        if (*end) return s->invalid == 'i' ? 2
                         : tool_fail(t, 2, "invalid suffix in input %s: %s", tool_cite(t, text), tool_cite(t, end));
    } else if (s->from == 'I') return refuse(t, s, "missing 'i' suffix in input: %s (e.g Ki/Mi/Gi)", text);
    v *= (long double)(scale * s->from_unit);
    if (s->format) {
        const char *f = strchr(s->format, '%');
        int left = 0, width = 0, precision = -1, zero = 0;
        for (f++; strchr("-0' ", *f) && *f; f++) { left |= *f == '-'; zero |= *f == '0'; }
        width = (int)strtol(f, (char **)&f, 10);
        if (*f == '.') precision = (int)strtol(f + 1, (char **)&f, 10);
        if (!width && s->padding) { width = s->padding < 0 ? -s->padding : s->padding; left = s->padding < 0; }
        if (refuse_large(t, s, (double)(v / s->to_unit), precision >= 0 ? precision : decimals)) return 2;
        buffer one = {.t = t};
        buffer_add(b, s->format, (size_t)(strchr(s->format, '%') - s->format));
        if (precision >= 0 && !s->to) {
            double p10 = pow(10, precision);
            buffer_printf(&one, "%.*f", precision, rounded(s, (double)v / s->to_unit * p10) / p10);
        } else print_value(s, v, decimals, precision, &one);
        if (s->suffix) buffer_puts(&one, s->suffix);
        if (!left) for (int i = (int)one.n; i < width; i++) buffer_putc(b, zero ? '0' : ' ');
        buffer_add(b, one.p, one.n);
        if (left) for (int i = (int)one.n; i < width; i++) buffer_putc(b, ' ');
        if (*f) buffer_puts(b, f + 1);
        return 0;
    }
    if (refuse_large(t, s, (double)(v / s->to_unit), decimals)) return 2;
    buffer one = {.t = t};
    print_value(s, v, decimals, -1, &one);
    if (s->suffix) buffer_puts(&one, s->suffix);
    int pad = s->padding < 0 ? -s->padding : s->padding;
    if (s->padding > 0) for (int i = (int)one.n; i < pad; i++) buffer_putc(b, ' ');
    buffer_add(b, one.p, one.n);
    if (s->padding < 0) for (int i = (int)one.n; i < pad; i++) buffer_putc(b, ' ');
    return 0;
}

static int chosen(const numfmt_state *s, int field) {
    for (int i = 0; i < s->field_n; i++) if (field >= s->fields[i].first && field <= s->fields[i].last) return 1;
    return 0;
}

/* A field as it was; the blank that parts it from the one before is a space now, whatever it was. */
static void put_unchanged(buffer *b, const char *text, size_t n, int is_parted) {
    if (is_parted) buffer_putc(b, ' ');
    buffer_add(b, text + is_parted, n - (size_t)is_parted);
}

static int convert_line(tool *t, const numfmt_state *s, const char *line) {
    buffer b = {.t = t};
    int status = 0, field = 0, failed = 0;
    for (const char *p = line; *p || !field;) {
        size_t lead = s->delim ? 0 : strspn(p, " \t"),
               n = s->delim ? strcspn(p, (char[]){(char)s->delim, 0}) : strcspn(p + lead, " \t");
        field++;
        if (chosen(s, field)) {
            char *text = tool_strndup(t, p + lead, n);
            size_t before = b.n;
            status |= convert(t, s, text, &b);
            if (lead && !s->padding) {
                /* keep the column: white space counts as padding */
                char *value = tool_strndup(t, b.p + before, b.n - before);
                b.n = before;
                buffer_printf(&b, "%*s", (int)(lead + n), value);
            }
            if (status) {
                if (!s->invalid) {                        /* what came before in the line is out already */
                    b.n = before;
                    if (field > 1 && !s->delim) buffer_putc(&b, ' ');
                    if (b.n) io_write(t->out, b.p, b.n);
                    return status;
                }
                b.n = before;
                put_unchanged(&b, p, lead + n, field > 1 && lead);
                failed |= s->invalid == 'f';
                status = 0;
            }
        } else put_unchanged(&b, p, lead + n, field > 1 && lead);
        p += lead + n;
        if (s->delim && *p) buffer_putc(&b, *p++);
        if (!*p) break;
    }
    if (!s->open) buffer_putc(&b, s->end);
    return b.n && io_write(t->out, b.p, b.n) < 0 ? 1 : failed ? FAILED_LATER : status;
}

static int check_format(tool *t, const char *format) {
    const char *p = strchr(format, '%');
    while (p && p[1] == '%') p = strchr(p + 2, '%');
    if (!p) { tool_fail(t, 1, "format %s has no %% directive", tool_cite(t, format)); return 0; }
    p += 1 + strspn(p + 1, "0'- ");
    p += strspn(p, "0123456789");
    if (*p == '.') p += 1 + strspn(p + 1, "0123456789");
    if (*p != 'f') {
        tool_fail(t, 1, "invalid format %s, directive must be %%[0]['][-][N][.][N]f", tool_cite(t, format));
        return 0;
    }
    p = strchr(p, '%');
    while (p && p[1] == '%') p = strchr(p + 2, '%');
    if (p) { tool_fail(t, 1, "format %s has too many %% directives", tool_cite(t, format)); return 0; }
    return 1;
}

/* N, N-, N-M, -M, - and lists of these. */
static int take_fields(tool *t, numfmt_state *s, const char *p) {
    s->field_n = 0;
    while (s->field_n < FIELDS_MOST) {
        char *end = (char *)p;
        long first = *p == '-' ? 1 : strtol(p, &end, 10), last = first;
        if (*p != '-' && (end == p || first < 1)) {
            if (end == p) tool_fail(t, 1, "invalid field value %s", tool_cite(t, p));
            else tool_fail(t, 1, "fields are numbered from 1");
            tool_usage(t, 1);
            return 0;
        }
        if (*end == '-') last = isdigit((unsigned char)end[1]) ? strtol(end + 1, &end, 10) : (end++, LAST_FIELD);
        s->fields[s->field_n].first = (int)first;
        s->fields[s->field_n++].last = (int)last;
        if (*end != ',') break;
        p = end + 1;
    }
    return 1;
}

int tool_numfmt(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"from", 1, 'f'}, {"to", 1, 't'}, {"from-unit", 1, 'F'}, {"to-unit", 1, 'T'},
        {"round", 1, 'r'}, {"suffix", 1, 's'}, {"padding", 1, 'p'}, {"format", 1, 'o'}, {"field", 1, 'i'}, {"delimiter", 1, 'd'},
        {"header", 2, 'h'}, {"invalid", 1, 'v'}, {"grouping", 0, 'g'}, {"debug", 0, 'D'}, {"zero-terminated", 0, 'z'}, {0, 0, 0}};
    static const char *const from_scales[] = {"none", "auto", "si", "iec", "iec-i", NULL}, *const to_scales[]
                                                                                           = {"none", "si", "iec", "iec-i", NULL};
    static const char *const roundings[] = {"up", "down", "from-zero", "towards-zero", "nearest", NULL};
    static const char *const invalids[] = {"abort", "fail", "warn", "ignore", NULL};
    numfmt_state s = {.from_unit = 1, .to_unit = 1, .fields = {{1, 1}}, .field_n = 1, .end = '\n'};
    tool_opts o;
    int c, status = 0, failed = 0, debug = 0, grouping = 0;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "d:z", longs)) != -1;) switch (c) {
        case 'f': if ((c = tool_choice(t, "--from", o.arg, from_scales)) < 0) return 1; s.from = "\0asiI"[c]; break;
        case 't': if ((c = tool_choice(t, "--to", o.arg, to_scales)) < 0) return 1; s.to = "\0siI"[c]; break;
        case 'F': s.from_unit = unit_of(o.arg); break;
        case 'T': s.to_unit = unit_of(o.arg); break;
        case 'r': if ((c = tool_choice(t, "--round", o.arg, roundings)) < 0) return 1; s.round = "udftn"[c]; break;
        case 's': s.suffix = o.arg; break;
        case 'p':
            s.padding = atoi(o.arg);
            if (!s.padding) return tool_fail(t, 1, "invalid padding value %s", tool_cite(t, o.arg));
            break;
        case 'o':
            s.format = o.arg;
            if (!check_format(t, o.arg)) return 1;
            break;
        case 'i': if (!take_fields(t, &s, o.arg)) return 1; break;
        case 'd': s.delim = (unsigned char)*o.arg; break;
        case 'h': s.header = o.arg ? atoi(o.arg) : 1; break;
        case 'v': if ((c = tool_choice(t, "--invalid", o.arg, invalids)) < 0) return 1; s.invalid = "\0fwi"[c]; break;
        case 'z': s.end = '\0'; break;
        case 'D': debug = 1; break;
        case 'g': grouping = 1; break;
        default: return 1;
    }
    if (grouping && s.format) return tool_fail(t, 1, "--grouping cannot be combined with --format");
    if (grouping && s.to) return tool_fail(t, 1, "grouping cannot be combined with --to");
    if (debug && !s.from && !s.to && !s.format && !s.padding) tool_fail(t, 0, "no conversion option specified");
    for (int i = o.index; i < argc && !status; i++) {
        status = convert_line(t, &s, argv[i]);
        if (status == FAILED_LATER) { failed = 2; status = 0; }
    }
    if (o.index < argc) return status ? status : failed;
    const char *line;
    for (ssize_t n; !status && (n = io_line(t->in, &line, (char)s.end)) > 0;) {
        s.open = line[n - 1] != (char)s.end;
        char *text = tool_strndup(t, line, (size_t)n - !s.open);
        for (char *p = text; s.end != '\n' && *p; p++) if (*p == '\n') *p = ' ';
        if (s.header) { s.header--; io_printf(t->out, "%s\n", text); continue; }
        status = convert_line(t, &s, text);
        if (status == FAILED_LATER) { failed = 2; status = 0; }
        tool_free(t, text);
    }
    return status ? status : failed;
}
