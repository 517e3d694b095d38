/* hexdump.c - hexdump and hd: bytes in hexadecimal, or by a format of one's own (-e, hexdump_format.c). */
#include "hexdump.h"
#include "od.h"
#include "inputs.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    tool *t;
    int canonical, all, starred;
    int wide;                                          /* -x pads its columns, the default format does not */
    const char *types;
    unsigned long long base;                           /* the address of data.p[0] */
    size_t shown;                                      /* bytes of data that are printed, kept to compare with */
    buffer data;
} hexdump_state;

enum { LINE_BYTES = 16 };

static void put_canonical(buffer *b, const unsigned char *p, size_t len) {
    for (size_t k = 0; k < LINE_BYTES; k++) {
        if (k < len) buffer_printf(b, " %02x", p[k]);
        else buffer_puts(b, "   ");
        if (k == 7) buffer_putc(b, ' ');
    }
    buffer_puts(b, "  |");
    for (size_t k = 0; k < len; k++) buffer_putc(b, isprint(p[k]) && p[k] < 127 ? p[k] : '.');
    buffer_puts(b, "|\n");
}

static void put_values(hexdump_state *s, buffer *b, const unsigned char *p, size_t len) {
    od_state one = {0};
    dump_take_types(s->t, &one, s->types);
    int size = one.f[0].size, width = size == 1 ? 4 : s->types[0] == 'x' && !s->wide ? 5 : 8;
    for (size_t k = 0; k < LINE_BYTES; k += (size_t)size) {
        unsigned char unit[8] = {0};
        if (k >= len) { buffer_printf(b, "%*s", width, ""); continue; }
        memcpy(unit, p + k, len - k < (size_t)size ? len - k : (size_t)size);
        if (s->types[0] == 'u') buffer_printf(b, "   %05u", unit[0] | unit[1] << 8);
        else dump_put_value(b, one.f[0], unit, width);
    }
    buffer_putc(b, '\n');
}

/* Prints the lines that have come, whole ones only unless it is the end. */
static int print_lines(hexdump_state *s, int end) {
    buffer b = {.t = s->t};
    const unsigned char *p = (const unsigned char *)s->data.p;
    size_t n = end ? s->data.n : s->data.n / LINE_BYTES * LINE_BYTES;
    for (size_t at = s->shown; at < n; at += LINE_BYTES) {
        size_t len = n - at < LINE_BYTES ? n - at : LINE_BYTES;
        if (!s->all && at && len == LINE_BYTES && !memcmp(p + at, p + at - LINE_BYTES, LINE_BYTES)) {
            if (!s->starred) buffer_puts(&b, "*\n");
            s->starred = 1;
            continue;
        }
        s->starred = 0;
        buffer_printf(&b, s->canonical ? "%08llx " : "%07llx", s->base + at);
        if (s->canonical) put_canonical(&b, p + at, len); else put_values(s, &b, p + at, len);
    }
    if (end && n) buffer_printf(&b, s->canonical ? "%08llx\n" : "%07llx\n", s->base + n);
    if (!end && n) {                                   /* the last line stays, for the next to be compared with */
        size_t gone = n - LINE_BYTES;
        s->data.n -= gone;
        memmove(s->data.p, s->data.p + gone, s->data.n);
        s->base += gone;
        s->shown = LINE_BYTES;
    }
    int failed = b.n && io_write(s->t->out, b.p, b.n) < 0;
    buffer_free(&b);
    return failed;
}

static int print_window(void *context) { return print_lines(context, 0); }

int tool_hexdump(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"canonical", 0, 'C'}, {"no-squeezing", 0, 'v'}, {"length", 1, 'n'}, {"skip", 1, 's'},
        {"one-byte-octal", 0, 'b'}, {"one-byte-char", 0, 'c'}, {"two-bytes-decimal", 0, 'd'}, {"two-bytes-octal", 0, 'o'},
        {"two-bytes-hex", 0, 'x'}, {"format", 1, 'e'}, {"format-file", 1, 'f'}, {"color", 2, 'L'}, {0, 0, 0}};
    hex_string *formats = NULL;
    int format_n = 0;
    unsigned long long skip = 0, most = ~0ull;
    hexdump_state state = {.t = t, .types = "x2", .data = {.t = t}};
    int c;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "Cvn:s:bcdoxe:f:L::", longs)) != -1;) switch (c) {
        case 'C': state.canonical = 1; break;
        case 'v': state.all = 1; break;
        case 'n': if (size_parse(o.arg, &most) < 0) return tool_fail(t, 1, "bad length value"); break;
        case 's': if (size_parse(o.arg, &skip) < 0) return tool_fail(t, 1, "bad skip value"); break;
        case 'b': state.types = "o1"; break;
        case 'c': state.types = "c"; break;
        case 'd': state.types = "u2"; break;
        case 'o': state.types = "o2"; break;
        case 'x':
            state.types = "x2";
            state.wide = 1;
            break;
        case 'e':
            if (format_n == HEX_STRINGS) return tool_fail(t, 1, "at most %d formats are supported", HEX_STRINGS);
            if (!formats) formats = tool_alloc(t, HEX_STRINGS * sizeof *formats);
            if (hex_read(t, o.arg, &formats[format_n++]) < 0) return tool_fail(t, 1, "bad format {%s}", o.arg);
            break;
        case 'f': return tool_fail(t, 1, "format files are not supported");
        case 'L': break;
        default: return 1;
    }
    state.base = skip;
    dump_source source = {.to = &state.data, .skip = skip, .most = most};
    if (!format_n) { source.full = print_window; source.context = &state; }
    int status = for_each_input(t, argc, argv, o.index, dump_gather, &source);
    if (io_failed(t->out)) return 1;
    if (status && !state.data.n) return tool_fail(t, 1, "all input file arguments failed");
    if (format_n) return hex_dump(t, &state.data, formats, format_n, skip, state.all) ? 1 : status;
    return print_lines(&state, 1) ? 1 : status;
}

int tool_hd(tool *t, int argc, char **argv) {
    char **words = tool_alloc(t, ((size_t)argc + 2) * sizeof *words);
    words[0] = argv[0];
    words[1] = "-C";
    memcpy(words + 2, argv + 1, (size_t)(argc - 1) * sizeof *words);
    return tool_hexdump(t, argc + 1, words);
}
