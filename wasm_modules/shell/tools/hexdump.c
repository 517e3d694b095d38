/* hexdump.c - hexdump and hd: bytes in hexadecimal, or by a format of one's own (-e). */
#include "od.h"
#include "inputs.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* hexdump -e: units ITERATIONS/SIZE "format", applied in turn until the data ends. Formats with %d i o u x X c _c _p and plain
 * text. */
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
        else if (strchr("ouxX", *f) && *f) {
            char tail[4] = {'l', 'l', *f, 0};
            memcpy(spec + n + 1, tail, 4);
            buffer_printf(b, spec, v);
        }
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
            put_unit(
                &b, &units[i], (const unsigned char *)data->p + at, data->n - at, units[i].times > 1 && k + 1 == units[i].times);
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
    int wide = 0;                                      /* -x pads its columns, the default format does not */
    const char *types = "x2";
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "Cvn:s:bcdoxe:f:", NULL)) != -1;) switch (c) {
        case 'C': canonical = 1; break;
        case 'v': all = 1; break;
        case 'n': if (size_parse(o.arg, &most) < 0) return tool_fail(t, 1, "bad length value"); break;
        case 's': if (size_parse(o.arg, &skip) < 0) return tool_fail(t, 1, "bad skip value"); break;
        case 'b': types = "o1"; break;
        case 'c': types = "c"; break;
        case 'd': types = "u2"; break;
        case 'o': types = "o2"; break;
        case 'x':
            types = "x2";
            wide = 1;
            break;
        case 'e': if ((unit_n = read_units(t, o.arg, units)) < 0) return tool_fail(t, 1, "bad format {%s}", o.arg); break;
        case 'f': return tool_fail(t, 1, "format files are not supported");
        default: return 1;
    }
    buffer data = {.t = t}, b = {.t = t};
    int status = for_each_input(t, argc, argv, o.index, dump_gather, &data), starred = 0;
    dump_limit(&data, skip, most);
    if (unit_n) return dump_format(t, &data, units, unit_n) ? 1 : status;
    const unsigned char *p = (const unsigned char *)data.p;
    for (size_t at = 0; at < data.n; at += 16) {
        size_t len = data.n - at < 16 ? data.n - at : 16;
        if (!all && at && len == 16 && !memcmp(p + at, p + at - 16, 16)) {
            if (!starred) buffer_puts(&b, "*\n");
            starred = 1;
            continue;
        }
        starred = 0;
        buffer_printf(&b, canonical ? "%08llx " : "%07llx", skip + at);
        if (canonical) {
            for (size_t k = 0; k < 16; k++) {
                if (k < len) buffer_printf(&b, " %02x", p[at + k]);
                else buffer_puts(&b, "   ");
                if (k == 7) buffer_putc(&b, ' ');
            }
            buffer_puts(&b, "  |");
            for (size_t k = 0; k < len; k++) buffer_putc(&b, isprint(p[at + k]) && p[at + k] < 127 ? p[at + k] : '.');
            buffer_puts(&b, "|\n");
        } else {
            od_state one = {0};
            dump_take_types(t, &one, types);
            int size = one.f[0].size;
            for (size_t k = 0; k < 16; k += (size_t)size) {
                unsigned char unit[8] = {0};
                if (k < len) {
                    memcpy(unit, p + at + k, len - k < (size_t)size ? len - k : (size_t)size);
                    dump_put_value(&b, one.f[0], unit, size == 1 ? 4 : types[0] == 'x' && !wide ? 5 : 8);
                } else buffer_printf(&b, "%*s", size == 1 ? 4 : types[0] == 'x' && !wide ? 5 : 8, "");
            }
            buffer_putc(&b, '\n');
        }
    }
    if (data.n) buffer_printf(&b, canonical ? "%08llx\n" : "%07llx\n", skip + data.n);
    return io_write(t->out, b.p ? b.p : "", b.n) < 0 ? 1 : status;
}

int tool_hd(tool *t, int argc, char **argv) {
    char **words = tool_alloc(t, ((size_t)argc + 2) * sizeof *words);
    words[0] = argv[0];
    words[1] = "-C";
    memcpy(words + 2, argv + 1, (size_t)(argc - 1) * sizeof *words);
    return tool_hexdump(t, argc + 1, words);
}
