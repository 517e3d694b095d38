/* od.c - dumps of bytes: od, xxd, hexdump, and strings. */
#include "buffer.h"
#include "inputs.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { char kind; int size, dump; } od_format;
typedef struct { od_format f[16]; int n, radix, all; unsigned long long skip, most; size_t width; buffer data; } od_state;

static int gather(tool *t, io *from, const char *name, void *context) { (void)t; (void)name; return buffer_read_all(context, from) < 0; }

/* -t argument: a c d[124 8] f[48] o[1248] u[1248] x[1248], each with an optional z. */
static int take_types(tool *t, od_state *s, const char *p) {
    while (*p) {
        od_format f = {.kind = *p++, .size = 4};
        if (!strchr("acdfoux", f.kind)) return tool_fail(t, 1, "invalid character '%c' in type string %s", f.kind, tool_cite(t, p - 1));
        if (f.kind == 'a' || f.kind == 'c') f.size = 1;
        else if (f.kind == 'f') f.size = 8;
        if (isdigit((unsigned char)*p)) f.size = (int)strtol(p, (char **)&p, 10);
        else if (*p == 'C') { f.size = 1; p++; } else if (*p == 'S') { f.size = 2; p++; } else if (*p == 'I') { f.size = 4; p++; } else if (*p == 'L') { f.size = 8; p++; }
        else if (*p == 'F') { f.size = 4; p++; } else if (*p == 'D') { f.size = 8; p++; }
        if (f.size != 1 && f.size != 2 && f.size != 4 && f.size != 8) return tool_fail(t, 1, "invalid type string %s;\nthis system doesn't provide a %d-byte integral type", tool_cite(t, p), f.size);
        if (*p == 'z') { f.dump = 1; p++; }
        if (s->n < 16) s->f[s->n++] = f;
    }
    return 0;
}

static int field_width(od_format f) {
    static const int octal[] = {0, 3, 6, 0, 11, 0, 0, 0, 22}, decimal[] = {0, 4, 6, 0, 11, 0, 0, 0, 20}, plain[] = {0, 3, 5, 0, 10, 0, 0, 0, 20};
    switch (f.kind) {
    case 'a': case 'c': return 3;
    case 'o': return octal[f.size];
    case 'd': return decimal[f.size];
    case 'u': return plain[f.size];
    case 'x': return f.size * 2;
    default: return f.size == 4 ? 15 : 24;
    }
}

static void put_value(buffer *b, od_format f, const unsigned char *p, int width) {
    char text[64];
    unsigned long long v = 0;
    static const char *const names[] = {"nul", "soh", "stx", "etx", "eot", "enq", "ack", "bel", "bs", "ht", "nl", "vt", "ff", "cr", "so", "si", "dle", "dc1", "dc2", "dc3", "dc4", "nak", "syn", "etb", "can",
        "em", "sub", "esc", "fs", "gs", "rs", "us", "sp"};
    for (int i = f.size - 1; i >= 0; i--) v = v << 8 | p[i];
    switch (f.kind) {
    case 'a': { int c = p[0] & 127; if (c <= 32) snprintf(text, sizeof text, "%s", names[c]); else if (c == 127) snprintf(text, sizeof text, "del"); else snprintf(text, sizeof text, "%c", c); break; }
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
    case 'd': { long long s = f.size == 8 ? (long long)v : (long long)(v << (64 - 8 * f.size)) >> (64 - 8 * f.size); snprintf(text, sizeof text, "%lld", s); break; }
    default: if (f.size == 4) { float x; memcpy(&x, p, 4); snprintf(text, sizeof text, "%.8g", (double)x); } else { double x; memcpy(&x, p, 8); snprintf(text, sizeof text, "%.17g", x); }
    }
    buffer_printf(b, "%*s", width, text);
}

static void put_address(buffer *b, int radix, unsigned long long at) {
    if (radix == 'o') buffer_printf(b, "%07llo", at);
    else if (radix == 'x') buffer_printf(b, "%06llx", at);
    else if (radix == 'd') buffer_printf(b, "%07llu", at);
}

static int dump(tool *t, od_state *s) {
    buffer b = {.t = t};
    const unsigned char *p = (const unsigned char *)s->data.p;
    size_t n = s->data.n;
    int starred = 0, widest[16];
    /* all formats line up on the widest, per the largest unit */
    double per_byte = 0;
    for (int i = 0; i < s->n; i++) { double w = (field_width(s->f[i]) + 1.0) / s->f[i].size; if (w > per_byte) per_byte = w; }
    for (int i = 0; i < s->n; i++) widest[i] = (int)(per_byte * s->f[i].size + 0.5);
    for (size_t at = 0; at < n; at += s->width) {
        size_t len = n - at < s->width ? n - at : s->width;
        if (!s->all && at && len == s->width && !memcmp(p + at, p + at - s->width, s->width)) { if (!starred) buffer_puts(&b, "*\n"); starred = 1; continue; }
        starred = 0;
        for (int i = 0; i < s->n; i++) {
            if (!i) put_address(&b, s->radix, s->skip + at); else for (int k = 0; k < (s->radix == 'n' ? 0 : s->radix == 'x' ? 6 : 7); k++) buffer_putc(&b, ' ');
            for (size_t k = 0; k < s->width; k += (size_t)s->f[i].size) {
                unsigned char unit[8] = {0};
                if (k >= len) { if (s->f[i].dump) buffer_printf(&b, "%*s", widest[i], ""); continue; }
                memcpy(unit, p + at + k, len - k < (size_t)s->f[i].size ? len - k : (size_t)s->f[i].size);
                put_value(&b, s->f[i], unit, widest[i]);
            }
            if (s->f[i].dump) { buffer_puts(&b, "  >"); for (size_t k = 0; k < len; k++) buffer_putc(&b, isprint(p[at + k]) && p[at + k] < 127 ? p[at + k] : '.'); buffer_putc(&b, '<'); }
            buffer_putc(&b, '\n');
        }
        if (b.n > 16384) { if (io_write(t->out, b.p, b.n) < 0) return 1; b.n = 0; }
    }
    if (s->radix != 'n') { put_address(&b, s->radix, s->skip + n); buffer_putc(&b, '\n'); }
    return io_write(t->out, b.p, b.n) < 0;
}

static void limit(buffer *data, unsigned long long skip, unsigned long long most) {
    if (skip > data->n) skip = data->n;
    data->n -= (size_t)skip;
    if (data->p) memmove(data->p, data->p + skip, data->n);
    if (data->n > most) data->n = (size_t)most;
}

int tool_od(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"address-radix", 1, 'A'}, {"skip-bytes", 1, 'j'}, {"read-bytes", 1, 'N'}, {"format", 1, 't'}, {"output-duplicates", 0, 'v'}, {"width", 2, 'w'}, {0, 0, 0}};
    static const struct { char letter; const char *type; } old[] = {{'a', "a"}, {'b', "o1"}, {'c', "c"}, {'d', "u2"}, {'f', "fF"}, {'i', "dI"}, {'l', "dL"}, {'o', "o2"}, {'s', "d2"}, {'x', "x2"}};
    od_state s = {.radix = 'o', .most = ~0ull, .width = 16, .data = {.t = t}};
    tool_opts o;
    int c;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "A:j:N:t:vw::abcdfilosx", longs)) != -1;) switch (c) {
        case 'A': s.radix = *o.arg; if (!strchr("doxn", *o.arg)) return tool_fail(t, 1, "invalid output address radix '%c'; it must be one character from [doxn]", *o.arg); break;
        case 'j': if (size_parse(o.arg, &s.skip) < 0) { if (!strncmp(o.arg, "0x", 2)) s.skip = strtoull(o.arg, NULL, 16); else return tool_fail(t, 1, "invalid -j argument %s", tool_cite(t, o.arg)); } break;
        case 'N': if (size_parse(o.arg, &s.most) < 0) return tool_fail(t, 1, "invalid -N argument %s", tool_cite(t, o.arg)); break;
        case 't': if (take_types(t, &s, o.arg)) return 1; break;
        case 'v': s.all = 1; break;
        case 'w': s.width = o.arg ? strtoul(o.arg, NULL, 10) : 32; if (!s.width) return tool_fail(t, 1, "invalid -w argument"); break;
        case '?': return 1;
        default: for (size_t i = 0; i < sizeof old / sizeof *old; i++) if (old[i].letter == c && take_types(t, &s, old[i].type)) return 1;
    }
    if (!s.n) take_types(t, &s, "o2");
    int status = for_each_input(t, argc, argv, o.index, gather, &s.data);
    if (status && !s.data.n) return status;
    limit(&s.data, s.skip, s.most);
    return dump(t, &s) ? 1 : status;
}

/* hexdump -e: units ITERATIONS/SIZE "format", applied in turn until the data ends. Formats with %d i o u x X c _c _p and plain text. */
typedef struct { unsigned long times; size_t size; char *format; } hex_unit;

static int read_units(tool *t, const char *p, hex_unit units[16]) {
    int n = 0;
    while (*p && n < 16) {
        char *end;
        while (isspace((unsigned char)*p)) p++;
        if (!*p) break;
        hex_unit u = {strtoul(p, &end, 10), 0, NULL};
        if (end == p) u.times = 1;
        p = end + strspn(end, " ");
        if (*p == '/') { u.size = strtoul(p + 1, &end, 10); p = end; }
        while (isspace((unsigned char)*p)) p++;
        if (*p != '"') return -1;
        buffer b = {.t = t};
        for (p++; *p && *p != '"'; p++) {
            static const char from[] = "ntr0a\\\"", to[] = "\n\t\r\0\a\\\"";
            const char *at = *p == '\\' && p[1] ? strchr(from, p[1]) : NULL;
            if (at) { buffer_putc(&b, to[at - from]); p++; } else buffer_putc(&b, *p);
        }
        if (!*p++) return -1;
        buffer_putc(&b, 0);
        u.format = b.p;
        if (!u.size) u.size = strchr(u.format, '%') ? (strpbrk(u.format, "c_") ? 1 : 4) : 0;
        if (u.size > 8) return -1;
        units[n++] = u;
    }
    return n;
}

static void put_unit(buffer *b, const hex_unit *u, const unsigned char *p, size_t left, int last) {
    size_t size = u->size < left ? u->size : left;
    unsigned long long v = 0;
    for (size_t i = size; i-- > 0;) v = v << 8 | p[i];
    const char *f = u->format, *stop = f + strlen(f);
    if (last) while (stop > f && isspace((unsigned char)stop[-1])) stop--;      /* no trailing blanks after the last repetition */
    for (; f < stop; f++) {
        if (*f != '%' || f[1] == '%') { buffer_putc(b, *f); f += *f == '%'; continue; }
        char spec[32] = "%";
        size_t n = strspn(f + 1, "-+ #0123456789.");
        if (n > 20) n = 20;
        memcpy(spec + 1, f + 1, n);
        f += n + 1;
        if (*f == '_' && f + 1 < stop) { f++; buffer_putc(b, isprint(*p) && *p < 127 ? *p : '.'); continue; }
        if (*f == 'c') { buffer_putc(b, *p); continue; }
        long long s = size < 8 && v >> (size * 8 - 1) ? (long long)(v - (1ull << size * 8)) : (long long)v;
        _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wformat-nonliteral\"")
        if (*f == 'd' || *f == 'i') { memcpy(spec + n + 1, "lld", 4); buffer_printf(b, spec, s); }
        else if (strchr("ouxX", *f) && *f) { char tail[4] = {'l', 'l', *f, 0}; memcpy(spec + n + 1, tail, 4); buffer_printf(b, spec, v); }
        _Pragma("GCC diagnostic pop")
    }
}

static int dump_format(tool *t, const buffer *data, const hex_unit *units, int n) {
    buffer b = {.t = t};
    size_t at = 0;
    do {
        size_t before = at;
        for (int i = 0; i < n; i++) for (unsigned long k = 0; k < units[i].times; k++) {
            if (units[i].size && at >= data->n) { i = n; break; }
            put_unit(&b, &units[i], (const unsigned char *)data->p + at, data->n - at, units[i].times > 1 && k + 1 == units[i].times);
            at += units[i].size;
        }
        if (at == before) break;
    } while (at < data->n);
    return io_write(t->out, b.p ? b.p : "", b.n) < 0;
}

int tool_hexdump(tool *t, int argc, char **argv) {
    hex_unit units[16];
    int unit_n = 0;
    unsigned long long skip = 0, most = ~0ull;
    int canonical = 0, all = 0, c;
    const char *types = "x2";
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "Cvn:s:bcdoxe:f:", NULL)) != -1;) switch (c) {
        case 'C': canonical = 1; break;
        case 'v': all = 1; break;
        case 'n': if (size_parse(o.arg, &most) < 0) return tool_fail(t, 1, "bad length value"); break;
        case 's': if (size_parse(o.arg, &skip) < 0) return tool_fail(t, 1, "bad skip value"); break;
        case 'b': types = "o1"; break; case 'c': types = "c"; break; case 'd': types = "u2"; break; case 'o': types = "o2"; break; case 'x': types = "x2"; break;
        case 'e': if ((unit_n = read_units(t, o.arg, units)) < 0) return tool_fail(t, 1, "bad format {%s}", o.arg); break;
        case 'f': return tool_fail(t, 1, "format files are not supported");
        default: return 1;
    }
    buffer data = {.t = t}, b = {.t = t};
    int status = for_each_input(t, argc, argv, o.index, gather, &data), starred = 0;
    limit(&data, skip, most);
    if (unit_n) return dump_format(t, &data, units, unit_n) ? 1 : status;
    const unsigned char *p = (const unsigned char *)data.p;
    for (size_t at = 0; at < data.n; at += 16) {
        size_t len = data.n - at < 16 ? data.n - at : 16;
        if (!all && at && len == 16 && !memcmp(p + at, p + at - 16, 16)) { if (!starred) buffer_puts(&b, "*\n"); starred = 1; continue; }
        starred = 0;
        buffer_printf(&b, canonical ? "%08llx " : "%07llx", skip + at);
        if (canonical) {
            for (size_t k = 0; k < 16; k++) { if (k < len) buffer_printf(&b, " %02x", p[at + k]); else buffer_puts(&b, "   "); if (k == 7) buffer_putc(&b, ' '); }
            buffer_puts(&b, "  |");
            for (size_t k = 0; k < len; k++) buffer_putc(&b, isprint(p[at + k]) && p[at + k] < 127 ? p[at + k] : '.');
            buffer_puts(&b, "|\n");
        } else {
            od_state one = {0};
            take_types(t, &one, types);
            int size = one.f[0].size;
            for (size_t k = 0; k < 16; k += (size_t)size) {
                unsigned char unit[8] = {0};
                if (k < len) { memcpy(unit, p + at + k, len - k < (size_t)size ? len - k : (size_t)size); put_value(&b, one.f[0], unit, size == 1 ? 4 : types[0] == 'x' ? 5 : 8); }
                else buffer_printf(&b, "%*s", size == 1 ? 4 : types[0] == 'x' ? 5 : 8, "");
            }
            buffer_putc(&b, '\n');
        }
    }
    if (data.n) buffer_printf(&b, canonical ? "%08llx\n" : "%07llx\n", skip + data.n);
    return io_write(t->out, b.p ? b.p : "", b.n) < 0 ? 1 : status;
}

static int reverse_hex(tool *t, buffer *data, int plain) {
    buffer b = {.t = t};
    span_list lines = {0};
    span_split(t, &lines, data->p ? data->p : "", data->n, '\n');
    for (size_t i = 0; i < lines.n; i++) {
        const char *p = lines.at[i].p, *end = p + lines.at[i].n;
        if (!plain) {
            const char *colon = memchr(p, ':', (size_t)(end - p));
            if (!colon) continue;
            unsigned long long at = strtoull(p, NULL, 16);
            while (b.n < at && at < 1u << 30) buffer_putc(&b, 0);
            p = colon + 1;
            const char *gap = p;
            for (; gap + 1 < end && !(gap > p + 1 && gap[0] == ' ' && gap[1] == ' '); gap++) {}
            if (gap + 1 < end) end = gap;
        }
        int high = -1;
        for (; p < end; p++) {
            int d = isdigit((unsigned char)*p) ? *p - '0' : isxdigit((unsigned char)*p) ? (*p | 32) - 'a' + 10 : -1;
            if (d < 0) continue;
            if (high < 0) high = d; else { buffer_putc(&b, high << 4 | d); high = -1; }
        }
    }
    return io_write(t->out, b.p ? b.p : "", b.n) < 0;
}

int tool_xxd(tool *t, int argc, char **argv) {
    int plain = 0, upper = 0, reverse = 0, bits = 0, include = 0, little = 0, c;
    unsigned long long skip = 0, most = ~0ull;
    size_t columns = 0, group = 0;
    tool_opts o;
    for (int i = 1; i < argc; i++) if (!strcmp(argv[i], "-ps")) argv[i] = "-p";
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "pruibec:g:l:s:ao:", NULL)) != -1;) switch (c) {
        case 'p': plain = 1; break;
        case 'r': reverse = 1; break;
        case 'u': upper = 1; break;
        case 'i': include = 1; break;
        case 'b': bits = 1; break;
        case 'e': little = 1; break;
        case 'c': columns = strtoul(o.arg, NULL, 10); break;
        case 'g': group = strtoul(o.arg, NULL, 10); if (!group) group = 1000; break;
        case 'l': most = strtoull(o.arg, NULL, 0); break;
        case 's': skip = strtoull(o.arg, NULL, 0); break;
        case 'a': case 'o': break;
        default: return 1;
    }
    buffer data = {.t = t}, b = {.t = t};
    int status = for_each_input(t, argc < o.index + 1 ? argc : o.index + 1 < argc ? o.index + 1 : argc, argv, o.index, gather, &data);
    if (status) return 2;
    if (reverse) return reverse_hex(t, &data, plain);
    limit(&data, skip, most);
    if (!columns) columns = plain ? 30 : bits ? 6 : include ? 12 : 16;
    if (!group) group = bits ? 1 : little ? 4 : 2;
    const unsigned char *p = (const unsigned char *)data.p;
    const char *hex = upper ? "%02X" : "%02x";
    if (include) {
        char *name = o.index < argc && strcmp(argv[o.index], "-") ? tool_strdup(t, argv[o.index]) : NULL;
        for (char *c = name; c && *c; c++) if (!isalnum((unsigned char)*c)) *c = '_';
        if (name) buffer_printf(&b, "unsigned char %s%s[] = {\n", isdigit((unsigned char)*name) ? "__" : "", name);
        for (size_t i = 0; i < data.n; i++) buffer_printf(&b, upper ? "%s0X%02X" : "%s0x%02x", !i ? "  " : i % columns ? ", " : ",\n  ", p[i]);
        if (data.n) buffer_putc(&b, '\n');
        if (name) buffer_printf(&b, "};\nunsigned int %s%s_len = %zu;\n", isdigit((unsigned char)*name) ? "__" : "", name, data.n);
        return io_write(t->out, b.p ? b.p : "", b.n) < 0;
    }
    for (size_t at = 0; at < data.n; at += columns) {
        size_t len = data.n - at < columns ? data.n - at : columns, line = b.n;
        _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wformat-nonliteral\"")
        if (plain) { for (size_t k = 0; k < len; k++) buffer_printf(&b, hex, p[at + k]); buffer_putc(&b, '\n'); continue; }
        buffer_printf(&b, "%08llx: ", skip + at);
        size_t wide = 10 + columns * (bits ? 8 : 2) + (columns + group - 1) / group;
        for (size_t k = 0; k < len || (little && k % group); k++) {
            size_t from = k / group * group + (group - 1 - k % group);
            if (little) { if (from < len) buffer_printf(&b, hex, p[at + from]); else buffer_puts(&b, "  "); }
            else if (bits) for (int bit = 7; bit >= 0; bit--) buffer_putc(&b, p[at + k] >> bit & 1 ? '1' : '0'); else buffer_printf(&b, hex, p[at + k]);
            if ((k + 1) % group == 0) buffer_putc(&b, ' ');
        }
        _Pragma("GCC diagnostic pop")
        while (b.n - line < wide) buffer_putc(&b, ' ');
        buffer_putc(&b, ' ');
        for (size_t k = 0; k < len; k++) buffer_putc(&b, isprint(p[at + k]) && p[at + k] < 127 ? p[at + k] : '.');
        buffer_putc(&b, '\n');
    }
    return io_write(t->out, b.p ? b.p : "", b.n) < 0;
}

int tool_hd(tool *t, int argc, char **argv) {
    char **words = tool_alloc(t, ((size_t)argc + 2) * sizeof *words);
    words[0] = argv[0];
    words[1] = "-C";
    memcpy(words + 2, argv + 1, (size_t)(argc - 1) * sizeof *words);
    return tool_hexdump(t, argc + 1, words);
}

typedef struct { size_t least; int names, radix; } strings_state;

static int strings_stream(tool *t, io *from, const char *name, void *context) {
    strings_state *s = context;
    buffer b = {.t = t};
    buffer_read_all(&b, from);
    for (size_t i = 0, start = 0; i <= b.n; i++) {
        unsigned char c = i < b.n ? (unsigned char)b.p[i] : 0;
        if (i < b.n && ((c >= 32 && c < 127) || c == '\t')) continue;
        if (i - start >= s->least) {
            if (s->names) io_printf(t->out, "%s: ", name);
            if (s->radix) io_printf(t->out, s->radix == 'x' ? "%7zx " : s->radix == 'o' ? "%7zo " : "%7zu ", start);
            io_write(t->out, b.p + start, i - start);
            if (io_putc(t->out, '\n') < 0) return 1;
        }
        start = i + 1;
    }
    return 0;
}

int tool_strings(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"bytes", 1, 'n'}, {"print-file-name", 0, 'f'}, {"radix", 1, 't'}, {"all", 0, 'a'}, {"encoding", 1, 'e'}, {0, 0, 0}};
    strings_state s = {.least = 4};
    tool_opts o;
    int c;
    if (argc > 1 && argv[1][0] == '-' && isdigit((unsigned char)argv[1][1])) argv[1] = tool_format(t, "-n%s", argv[1] + 1);
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "n:ft:aoe:", longs)) != -1;) switch (c) {
        case 'n': s.least = strtoul(o.arg, NULL, 10); if (!s.least) return tool_fail(t, 1, "invalid minimum string length %s", o.arg); break;
        case 'f': s.names = 1; break;
        case 't': s.radix = *o.arg; break;
        case 'o': s.radix = 'o'; break;
        case 'a': case 'e': break;
        default: return 1;
    }
    return for_each_input(t, argc, argv, o.index, strings_stream, &s);
}
