/* xxd.c - xxd: bytes in hexadecimal and back. */
#include "od.h"
#include "inputs.h"
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The dump, to standard output or to the second operand. */
static int finish(tool *t, const buffer *b, const char *output) {
    io *to = output && strcmp(output, "-") ? io_open(output, O_WRONLY | O_CREAT | O_TRUNC, 0666) : io_ref(t->out);
    if (!to) return tool_fail_errno(t, 3, "%s", output);
    int status = io_write(to, b->p ? b->p : "", b->n) < 0 || io_flush(to) < 0;
    io_unref(to);
    return status;
}

/* What a hexadecimal digit stands for, or -1. */
static int digit_of(unsigned char c) { return isdigit(c) ? c - '0' : isxdigit(c) ? (c | 32) - 'a' + 10 : -1; }

/* -p -r: pairs of digits, with blanks and line ends anywhere. One other character drops the digit before it; behind two, the rest
 * of the line counts for nothing. */
static int reverse_plain(tool *t, const buffer *data, const char *output) {
    buffer b = {.t = t};
    int now = -1, before = -1, earlier;
    for (size_t i = 0; i < data->n; i++) {
        if (isspace((unsigned char)data->p[i])) continue;
        earlier = before;
        before = now;
        now = digit_of((unsigned char)data->p[i]);
        if (before >= 0 && now >= 0) { buffer_putc(&b, before << 4 | now); now = -1; }
        else if (now < 0 && before < 0 && earlier < 0) while (i + 1 < data->n && data->p[i] != '\n') i++;
    }
    return finish(t, &b, output);
}

static int reverse_hex(tool *t, buffer *data, const char *output) {
    buffer b = {.t = t};
    span_list lines = {0};
    span_split(t, &lines, data->p ? data->p : "", data->n, '\n');
    for (size_t i = 0; i < lines.n; i++) {
        const char *p = lines.at[i].p, *end = p + lines.at[i].n;
        const char *colon = memchr(p, ':', (size_t)(end - p));
        if (!colon) continue;
        unsigned long long at = strtoull(p, NULL, 16);
        while (b.n < at && at < 1u << 30) buffer_putc(&b, 0);
        p = colon + 1;
        const char *gap = p;
        for (; gap + 1 < end && !(gap > p + 1 && gap[0] == ' ' && gap[1] == ' '); gap++) {}
        if (gap + 1 < end) end = gap;
        int high = -1;
        for (; p < end; p++) {
            int d = digit_of((unsigned char)*p);
            if (d < 0) continue;
            if (high < 0) high = d; else { buffer_putc(&b, high << 4 | d); high = -1; }
        }
    }
    return finish(t, &b, output);
}

/* xxd takes whole words where others take letters: -ps, -plain, -cols. */
static void shorten_options(int argc, char **argv) {
    static const struct {
        const char *word;
        char *letter;
    } words[] = {{"-ps", "-p"}, {"-plain", "-p"}, {"-postscript", "-p"}, {"-cols", "-c"}, {"-len", "-l"}, {"-seek", "-s"},
        {"-skip", "-s"}, {"-groupsize", "-g"}, {"-bits", "-b"}, {"-include", "-i"}, {"-revert", "-r"}, {"-reverse", "-r"},
        {"-autoskip", "-a"}, {"-uppercase", "-u"}, {"-capitalize", "-C"}, {"-name", "-n"}};
    for (int i = 1; i < argc && argv[i][0] == '-'; i++)
        for (size_t k = 0; k < sizeof words / sizeof *words; k++) if (!strcmp(argv[i], words[k].word)) argv[i] = words[k].letter;
}

int tool_xxd(tool *t, int argc, char **argv) {
    int plain = 0, upper = 0, reverse = 0, bits = 0, include = 0, little = 0, c;
    unsigned long long skip = 0, most = ~0ull;
    size_t columns = 0, group = 0;
    int whole = 0, from_end = 0, skip_zeros = 0, capital = 0, decimal = 0, zeros = 0;
    unsigned long long offset = 0;
    tool_opts o;
    const char *given_name = NULL;
    shorten_options(argc, argv);
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "pruibec:g:l:s:ao:CdEn:R:", NULL)) != -1;) switch (c) {
        case 'p': plain = 1; include = 0; break;
        case 'r': reverse = 1; break;
        case 'u': upper = 1; break;
        case 'i': include = 1; plain = 0; break;
        case 'b': bits = 1; break;
        case 'e': little = 1; break;
        case 'c': columns = strtoul(o.arg, NULL, 10); whole = !columns; break;
        case 'g': group = strtoul(o.arg, NULL, 10); if (!group) group = 1000; break;
        case 'l': most = strtoull(o.arg, NULL, 0); break;
        case 's': from_end = *o.arg == '-'; skip = strtoull(o.arg + from_end, NULL, 0); break;
        case 'o': offset = strtoull(o.arg, NULL, 0); break;
        case 'a': skip_zeros = 1; break;
        case 'C': capital = 1; break;
        case 'd': decimal = 1; break;
        case 'n': given_name = o.arg; break;
        case 'E': case 'R': break;
        default: return 1;
    }
    buffer data = {.t = t}, b = {.t = t};
    dump_source source = {.to = &data, .skip = from_end || reverse ? 0 : skip, .most = from_end || reverse ? ~0ull : most};
    int status = for_each_input(t,
        argc < o.index + 1   ? argc
        : o.index + 1 < argc ? o.index + 1
                             : argc,
        argv, o.index, dump_gather, &source);
    if (status) return 2;
    const char *output = o.index + 1 < argc ? argv[o.index + 1] : NULL;
    if (reverse) return plain ? reverse_plain(t, &data, output) : reverse_hex(t, &data, output);
    if (from_end) {
        skip = skip < data.n ? data.n - skip : 0;
        data.n -= (size_t)skip;
        if (data.n) memmove(data.p, data.p + skip, data.n);
        if (data.n > most) data.n = (size_t)most;
    }
    if (whole && plain) columns = data.n ? data.n : 1;
    if (!columns) columns = plain ? 30 : bits ? 6 : include ? 12 : 16;
    if (!group) group = bits ? 1 : little ? 4 : 2;
    const unsigned char *p = (const unsigned char *)data.p;
    const char *hex = upper ? "%02X" : "%02x";
    if (include) {
        if (!given_name && o.index < argc && strcmp(argv[o.index], "-")) given_name = argv[o.index];
        char *name = given_name ? tool_strdup(t, given_name) : NULL;
        for (char *c = name; c && *c; c++) if (!isalnum((unsigned char)*c)) *c = '_';
        for (char *c = name; capital && c && *c; c++) *c = (char)toupper((unsigned char)*c);
        if (name) buffer_printf(&b, "unsigned char %s%s[] = {\n", isdigit((unsigned char)*name) ? "__" : "", name);
        for (size_t i = 0; i < data.n; i++)
            buffer_printf(&b, upper ? "%s0X%02X" : "%s0x%02x", !i ? "  " : i % columns ? ", " : ",\n  ", p[i]);
        if (data.n) buffer_putc(&b, '\n');
        if (name)
            buffer_printf(&b, "};\nunsigned int %s%s%s = %zu;\n", isdigit((unsigned char)*name) ? "__" : "", name,
                capital ? "_LEN" : "_len", data.n);
        return finish(t, &b, output);
    }
    for (size_t at = 0; at < data.n; at += columns) {
        size_t len = data.n - at < columns ? data.n - at : columns, line = b.n;
        _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wformat-nonliteral\"")
        if (plain) { for (size_t k = 0; k < len; k++) buffer_printf(&b, hex, p[at + k]); buffer_putc(&b, '\n'); continue; }
        int blank = skip_zeros && at && at + len < data.n; /* -a: runs of zero lines show as one star; the last line is shown */
        for (size_t k = 0; blank && k < len; k++) blank = !p[at + k];
        if (!blank) zeros = 0;
        else if (++zeros > 1) { b.n = line; continue; }
        else { buffer_puts(&b, "*\n"); continue; }
        buffer_printf(&b, decimal ? "%08llu: " : "%08llx: ", skip + at + offset);
        size_t wide = 10 + columns * (bits ? 8 : 2) + (columns + group - 1) / group;
        for (size_t k = 0; k < len || (little && k % group); k++) {
            size_t from = k / group * group + (group - 1 - k % group);
            if (little) { if (from < len) buffer_printf(&b, hex, p[at + from]); else buffer_puts(&b, "  ");
            } else if (bits)
                for (int bit = 7; bit >= 0; bit--) buffer_putc(&b, p[at + k] >> bit & 1 ? '1' : '0');
            else buffer_printf(&b, hex, p[at + k]);
            if ((k + 1) % group == 0) buffer_putc(&b, ' ');
        }
        _Pragma("GCC diagnostic pop")
        while (b.n - line < wide) buffer_putc(&b, ' ');
        buffer_putc(&b, ' ');
        for (size_t k = 0; k < len; k++) buffer_putc(&b, isprint(p[at + k]) && p[at + k] < 127 ? p[at + k] : '.');
        buffer_putc(&b, '\n');
    }
    return finish(t, &b, output);
}
