/* od.c - od: bytes in octal and other types. */
#include "od.h"
#include "inputs.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int dump_gather(tool *t, io *from, const char *name, void *context) {
    enum { WINDOW = 65536 };
    dump_source *d = context;
    char block[16384];
    ssize_t n = 0;
    (void)name;
    while (d->most && !io_failed(t->out)) {
        unsigned long long room = d->most < sizeof block ? d->most + d->skip : sizeof block;
        n = io_read(from, block, room < sizeof block ? (size_t)room : sizeof block);
        if (n <= 0) break;
        size_t drop = d->skip < (size_t)n ? (size_t)d->skip : (size_t)n, take = (size_t)n - drop;
        if (take > d->most) take = (size_t)d->most;
        d->skip -= drop;
        d->most -= take;
        buffer_add(d->to, block + drop, take);
        if (d->full && d->to->n >= WINDOW && d->full(d->context)) return 1;
    }
    return n < 0;
}

/* -t argument: a c d[124 8] f[48] o[1248] u[1248] x[1248], each with an optional z. */
int dump_take_types(tool *t, od_state *s, const char *p) {
    while (*p) {
        od_format f = {.kind = *p++, .size = 4};
        if (!strchr("acdfoux", f.kind))
            return tool_fail(t, 1, "invalid character '%c' in type string %s", f.kind, tool_cite(t, p - 1));
        if (f.kind == 'a' || f.kind == 'c') f.size = 1;
        else if (f.kind == 'f') f.size = 8;
        if (isdigit((unsigned char)*p)) f.size = (int)strtol(p, (char **)&p, 10);
        else if (*p == 'C') {
            f.size = 1;
            p++;
        } else if (*p == 'S') {
            f.size = 2;
            p++;
        } else if (*p == 'I') {
            f.size = 4;
            p++;
        } else if (*p == 'L') {
            f.size = 8;
            p++;
        } else if (*p == 'F') {
            f.size = 4;
            p++;
        } else if (*p == 'D') {
            f.size = 8;
            p++;
        }
        if (f.size != 1 && f.size != 2 && f.size != 4 && f.size != 8)
            return tool_fail(
                t, 1, "invalid type string %s;\nthis system doesn't provide a %d-byte integral type", tool_cite(t, p), f.size);
        if (*p == 'z') { f.dump = 1; p++; }
        if (s->n < 16) s->f[s->n++] = f;
    }
    return 0;
}

static int field_width(od_format f) {
    static const int octal[] = {0, 3, 6, 0, 11, 0, 0, 0, 22}, decimal[] = {0, 4, 6, 0, 11, 0, 0, 0, 20},
                     plain[] = {0, 3, 5, 0, 10, 0, 0, 0, 20};
    switch (f.kind) {
    case 'a': case 'c': return 3;
    case 'o': return octal[f.size];
    case 'd': return decimal[f.size];
    case 'u': return plain[f.size];
    case 'x': return f.size * 2;
    default: return f.size == 4 ? 15 : 24;
    }
}

/* The shortest text that reads back as the same number. */
static void put_float(char *text, size_t room, const unsigned char *p, int size) {
    float single = 0;
    double x = 0;
    if (size == 4) { memcpy(&single, p, 4); x = (double)single; } else memcpy(&x, p, 8);
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, room, "%.*g", digits, x);
        if (x != x || (size == 4 ? strtof(text, NULL) == single : strtod(text, NULL) == x)) return;
    }
}

void dump_put_value(buffer *b, od_format f, const unsigned char *p, int width) {
    char text[64];
    unsigned long long v = 0;
    static const char *const names[]
        = {"nul", "soh", "stx", "etx", "eot", "enq", "ack", "bel", "bs", "ht", "nl", "vt", "ff", "cr", "so", "si", "dle", "dc1",
            "dc2", "dc3", "dc4", "nak", "syn", "etb", "can", "em", "sub", "esc", "fs", "gs", "rs", "us", "sp"};
    for (int i = f.size - 1; i >= 0; i--) v = v << 8 | p[i];
    switch (f.kind) {
    case 'a': {
        int c = p[0] & 127;
        if (c <= 32) snprintf(text, sizeof text, "%s", names[c]);
        else if (c == 127) snprintf(text, sizeof text, "del");
        else snprintf(text, sizeof text, "%c", c);
        break;
    }
    case 'c': {
        static const char from[] = "\a\b\f\n\r\t\v", to[] = "abfnrtv";
        const char *at = *p ? strchr(from, *p) : NULL;
        if (!*p) snprintf(text, sizeof text, "\\0");
        else if (at) snprintf(text, sizeof text, "\\%c", to[at - from]);
        else if (*p >= 32 && *p < 127) snprintf(text, sizeof text, "%c", *p);
        else snprintf(text, sizeof text, "%03o", *p);
        break;
    }
    case 'o': snprintf(text, sizeof text, "%0*llo", field_width(f), v); break;
    case 'x': snprintf(text, sizeof text, "%0*llx", f.size * 2, v); break;
    case 'u': snprintf(text, sizeof text, "%llu", v); break;
    case 'd': {
        long long s = f.size == 8 ? (long long)v : (long long)(v << (64 - 8 * f.size)) >> (64 - 8 * f.size);
        snprintf(text, sizeof text, "%lld", s);
        break;
    }
    default: put_float(text, sizeof text, p, f.size);
    }
    buffer_printf(b, "%*s", width, text);
}

static void put_address(buffer *b, int radix, unsigned long long at) {
    if (radix == 'o') buffer_printf(b, "%07llo", at);
    else if (radix == 'x') buffer_printf(b, "%06llx", at);
    else if (radix == 'd') buffer_printf(b, "%07llu", at);
}

/* Prints the lines that have come, whole ones only unless it is the end. */
static int dump(od_state *s, int end) {
    tool *t = s->t;
    buffer b = {.t = t};
    const unsigned char *p = (const unsigned char *)s->data.p;
    size_t n = end ? s->data.n : s->data.n / s->width * s->width, at = s->shown;
    int widest[16];
    /* all formats line up on the widest, per the largest unit */
    double per_byte = 0;
    for (int i = 0; i < s->n; i++) { double w = (field_width(s->f[i]) + 1.0) / s->f[i].size; if (w > per_byte) per_byte = w; }
    for (int i = 0; i < s->n; i++) widest[i] = (int)(per_byte * s->f[i].size + 0.5);
    for (; at < n; at += s->width) {
        size_t len = n - at < s->width ? n - at : s->width;
        if (!s->all && at && len == s->width && !memcmp(p + at, p + at - s->width, s->width)) {
            if (!s->starred) buffer_puts(&b, "*\n");
            s->starred = 1;
            continue;
        }
        s->starred = 0;
        for (int i = 0; i < s->n; i++) {
            if (!i) put_address(&b, s->radix, s->base + at);
            else
                for (int k = 0; k < (s->radix == 'n' ? 0 : s->radix == 'x' ? 6 : 7); k++) buffer_putc(&b, ' ');
            for (size_t k = 0; k < s->width; k += (size_t)s->f[i].size) {
                unsigned char unit[8] = {0};
                if (k >= len) { if (s->f[i].dump) buffer_printf(&b, "%*s", widest[i], ""); continue; }
                memcpy(unit, p + at + k, len - k < (size_t)s->f[i].size ? len - k : (size_t)s->f[i].size);
                for (int e = 0; s->big && e < s->f[i].size / 2; e++) {
                    unsigned char swap = unit[e];
                    unit[e] = unit[s->f[i].size - 1 - e];
                    unit[s->f[i].size - 1 - e] = swap;
                }
                dump_put_value(&b, s->f[i], unit, widest[i]);
            }
            if (s->f[i].dump) {
                buffer_puts(&b, "  >");
                for (size_t k = 0; k < len; k++) buffer_putc(&b, isprint(p[at + k]) && p[at + k] < 127 ? p[at + k] : '.');
                buffer_putc(&b, '<');
            }
            buffer_putc(&b, '\n');
        }
        if (b.n > 16384) { if (io_write(t->out, b.p, b.n) < 0) return 1; b.n = 0; }
    }
    if (end && s->radix != 'n') { put_address(&b, s->radix, s->base + n); buffer_putc(&b, '\n'); }
    if (!end && n) {                                 /* the last line stays, for the next to be compared with */
        size_t gone = n - s->width;
        s->data.n -= gone;
        memmove(s->data.p, s->data.p + gone, s->data.n);
        s->base += gone;
        s->shown = s->width;
    }
    int failed = b.n && io_write(t->out, b.p, b.n) < 0;
    buffer_free(&b);
    return failed;
}

static int dump_window(void *context) { return dump(context, 0); }

/* -S: texts of at least so many printable characters that a NUL ends. */
static int dump_strings(tool *t, const od_state *s, size_t least) {
    buffer b = {.t = t};
    for (size_t at = 0, start = 0; at < s->data.n; at++) {
        unsigned char c = (unsigned char)s->data.p[at];
        if (isprint(c) && c < 127) continue;
        if (!c && at - start >= least) {
            put_address(&b, s->radix, s->base + start);
            if (s->radix != 'n') buffer_putc(&b, ' ');
            buffer_add(&b, s->data.p + start, at - start);
            buffer_putc(&b, '\n');
        }
        start = at + 1;
    }
    return io_write(t->out, b.p ? b.p : "", b.n) < 0;
}

/* The traditional +OFFSET[.][b]: octal, decimal with a point, in blocks of 512 with b. */
static int take_offset(const char *text, unsigned long long *skip) {
    char *end;
    size_t digits = strspn(text, "0123456789");
    int decimal = text[digits] == '.', blocks = text[digits + (size_t)decimal] == 'b';
    if (!digits || text[digits + (size_t)decimal + (size_t)blocks]) return 0;
    *skip = strtoull(text, &end, decimal ? 10 : 8) * (blocks ? 512 : 1);
    return end == text + digits;
}

int tool_od(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"address-radix", 1, 'A'}, {"skip-bytes", 1, 'j'}, {"read-bytes", 1, 'N'},
        {"format", 1, 't'}, {"output-duplicates", 0, 'v'}, {"width", 2, 'w'}, {"endian", 1, 'E'}, {"strings", 2, 'S'},
        {"traditional", 0, 'T'}, {0, 0, 0}};
    static const struct {
        char letter;
        const char *type;
    } old[] = {{'h', "x2"}, {'e', "fD"}, {'a', "a"}, {'b', "o1"}, {'c', "c"}, {'d', "u2"}, {'f', "fF"}, {'i', "dI"}, {'l', "dL"},
        {'o', "o2"}, {'s', "d2"}, {'x', "x2"}, {'B', "o2"}, {'D', "u4"}, {'F', "fD"}, {'H', "x4"}, {'I', "dL"},
        {'L', "dL"}, {'O', "o4"}, {'X', "x4"}};
    od_state s = {.t = t, .radix = 'o', .width = 16, .data = {.t = t}};
    dump_source source = {.to = &s.data, .most = ~0ull};
    unsigned long long strings = 0;
    tool_opts o;
    int modern = 0, traditional = 0, is_sized = 0, c;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "A:j:N:t:vw::S:abcdefhilosxBDFHILOX", longs)) != -1;) {
        modern |= strchr("AEjNtvwS", c) != NULL;
        switch (c) {
        case 'T': traditional = 1; break;
        case 'E': s.big = *o.arg == 'b'; break;
        case 'A':
            s.radix = *o.arg;
            if (!strchr("doxn", *o.arg))
                return tool_fail(t, 1, "invalid output address radix '%c'; it must be one character from [doxn]", *o.arg);
            break;
        case 'j':
            if (size_parse(o.arg, &s.skip) < 0) {
                if (!strncmp(o.arg, "0x", 2)) s.skip = strtoull(o.arg, NULL, 16);
                else return tool_fail(t, 1, "invalid -j argument '%s'", o.arg);
            }
            break;
        case 'N':
            if (size_parse(o.arg, &source.most) < 0) return tool_fail(t, 1, "invalid -N argument %s", tool_cite(t, o.arg));
            break;
        case 'S':
            strings = 3;
            if (o.arg && size_parse(o.arg, &strings) < 0) return tool_fail(t, 1, "invalid -S argument %s", tool_cite(t, o.arg));
            break;
        case 't': if (dump_take_types(t, &s, o.arg)) return 1; break;
        case 'v': s.all = 1; break;
        case 'w':
            s.width = o.arg ? strtoul(o.arg, NULL, 10) : 32;
            is_sized = 1;
            break;
        case '?': return 1;
        default:
            for (size_t i = 0; i < sizeof old / sizeof *old; i++)
                if (old[i].letter == c && dump_take_types(t, &s, old[i].type)) return 1;
        }
    }
    const char *last = o.index < argc ? argv[argc - 1] : "";
    int plus = *last == '+', may_skip = traditional || (!modern && plus && o.index + 1 == argc);
    if (may_skip && take_offset(last + plus, &s.skip)) argc--;
    if (!s.n) dump_take_types(t, &s, "o2");
    size_t unit = 1;                       /* sizes are powers of two: a line holds the largest of them whole */
    for (int i = 0; i < s.n; i++) if ((size_t)s.f[i].size > unit) unit = (size_t)s.f[i].size;
    if (is_sized && (!s.width || s.width % unit))
        tool_fail(t, 0, "warning: invalid width %zu; using %zu instead", s.width, unit);
    if (!s.width || s.width % unit) s.width = unit;
    s.base = source.skip = s.skip;
    if (!strings) { source.full = dump_window; source.context = &s; }
    int status = for_each_input(t, argc, argv, o.index, dump_gather, &source);
    if (io_failed(t->out)) return 1;
    if (status && !s.data.n) return status;
    if (source.skip) return tool_fail(t, 1, "cannot skip past end of combined input");
    return (strings ? dump_strings(t, &s, (size_t)strings) : dump(&s, 1)) ? 1 : status;
}
