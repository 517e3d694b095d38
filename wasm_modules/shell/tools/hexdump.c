/* hexdump.c - hexdump and hd: bytes in hexadecimal, or by a format of one's own (-e, hexdump_format.c). */
#include "hexdump.h"
#include "od.h"
#include "inputs.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tool_hexdump(tool *t, int argc, char **argv) {
    hex_string *formats = NULL;
    int format_n = 0;
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
        case 'e':
            if (format_n == HEX_STRINGS) return tool_fail(t, 1, "at most %d formats are supported", HEX_STRINGS);
            if (!formats) formats = tool_alloc(t, HEX_STRINGS * sizeof *formats);
            if (hex_read(t, o.arg, &formats[format_n++]) < 0) return tool_fail(t, 1, "bad format {%s}", o.arg);
            break;
        case 'f': return tool_fail(t, 1, "format files are not supported");
        default: return 1;
    }
    buffer data = {.t = t}, b = {.t = t};
    int status = for_each_input(t, argc, argv, o.index, dump_gather, &data), starred = 0;
    dump_limit(&data, skip, most);
    if (status && !data.n) return tool_fail(t, 1, "all input file arguments failed");
    if (format_n) return hex_dump(t, &data, formats, format_n, skip, all) ? 1 : status;
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
                    if (types[0] == 'u') buffer_printf(&b, "   %05u", unit[0] | unit[1] << 8);
                    else dump_put_value(&b, one.f[0], unit, size == 1 ? 4 : types[0] == 'x' && !wide ? 5 : 8);
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
