/* iconv.c - text from one encoding into another: UTF-8, ASCII, Latin-1, UTF-16 and UTF-32. */
#include "buffer.h"
#include "inputs.h"
#include "../utf8.h"
#include <string.h>
#include <strings.h>

enum { UTF8, ASCII, LATIN1, UTF16, UTF16LE, UTF16BE, UTF32LE, UTF32BE };
typedef struct { int from, to, ignore, quiet, translit; buffer in; } iconv_state; /* quiet: -c, what is left out is no failure */

static int encoding(const char *name) {
    static const struct {
        const char *name;
        int kind;
    } table[] = {{"UTF-8", UTF8}, {"UTF8", UTF8}, {"ASCII", ASCII}, {"US-ASCII", ASCII}, {"ANSI_X3.4-1968", ASCII},
        {"LATIN1", LATIN1}, {"LATIN-1", LATIN1}, {"ISO-8859-1", LATIN1}, {"ISO8859-1", LATIN1}, {"ISO_8859-1", LATIN1},
        {"L1", LATIN1}, {"UTF-16", UTF16}, {"UTF16", UTF16}, {"UTF-16LE", UTF16LE}, {"UTF16LE", UTF16LE}, {"UTF-16BE", UTF16BE},
        {"UTF16BE", UTF16BE}, {"UTF32LE", UTF32LE}, {"UTF32BE", UTF32BE}, {"ISO-10646/UTF8", UTF8}, {"UCS-2", UTF16LE}, {"UCS-2LE", UTF16LE},
        {"UTF-32LE", UTF32LE}, {"UTF-32BE", UTF32BE}, {"UTF-32", UTF32LE}, {"UCS-4", UTF32BE}};
    size_t n = strcspn(name, "/");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strlen(table[i].name) == n && !strncasecmp(table[i].name, name, n)) return table[i].kind;
    return n ? -1 : UTF8;
}

/* The character at p and how many bytes it takes; *c is -1 for bytes that are none. */
static size_t decode(int kind, const unsigned char *p, size_t n, int *c) {
    int big = kind == UTF16BE || kind == UTF32BE;
    *c = -1;
    switch (kind) {
    case UTF8: return (size_t)utf8_decode((const char *)p, n, c);
    case ASCII: *c = *p < 128 ? *p : -1; return 1;
    case LATIN1: *c = *p; return 1;
    case UTF32LE: case UTF32BE:
        if (n < 4) return n;
        *c = big ? (int)(p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3])
                 : (int)((unsigned)p[3] << 24 | p[2] << 16 | p[1] << 8 | p[0]);
        if (*c > 0x10FFFF) *c = -1;
        return 4;
    }
    if (n < 2) return n;
    *c = big ? p[0] << 8 | p[1] : p[1] << 8 | p[0];
    if (*c < 0xD800 || *c > 0xDFFF) return 2;
    int low = n >= 4 ? (big ? p[2] << 8 | p[3] : p[3] << 8 | p[2]) : 0;
    if (*c > 0xDBFF || low < 0xDC00 || low > 0xDFFF) { *c = -1; return 2; }
    *c = 0x10000 + ((*c - 0xD800) << 10) + (low - 0xDC00);
    return 4;
}

static void put_unit(buffer *b, int kind, unsigned unit) {
    int big = kind == UTF16BE;
    buffer_putc(b, (int)(big ? unit >> 8 : unit) & 255);
    buffer_putc(b, (int)(big ? unit : unit >> 8) & 255);
}

/* 0, or -1 when the encoding lacks the character. */
static int encode(int kind, int c, buffer *b) {
    char bytes[4];
    switch (kind) {
    case UTF8: buffer_add(b, bytes, (size_t)utf8_encode(c, bytes)); return 0;
    case ASCII: if (c > 127) return -1; buffer_putc(b, c); return 0;
    case LATIN1: if (c > 255) return -1; buffer_putc(b, c); return 0;
    case UTF32LE: put_unit(b, UTF16LE, (unsigned)c & 0xFFFF); put_unit(b, UTF16LE, (unsigned)c >> 16); return 0;
    case UTF32BE: put_unit(b, UTF16BE, (unsigned)c >> 16); put_unit(b, UTF16BE, (unsigned)c & 0xFFFF); return 0;
    }
    if (c < 0x10000) { put_unit(b, kind, (unsigned)c); return 0; }
    put_unit(b, kind, 0xD800 + ((unsigned)(c - 0x10000) >> 10));
    put_unit(b, kind, 0xDC00 + ((unsigned)(c - 0x10000) & 1023));
    return 0;
}

/* A letter without its marks, for //TRANSLIT; ? when none is known. */
static const char *plainer(int c) {
    static const char letters[] = "AAAAAA?CEEEEIIII?NOOOOO?OUUUUY??aaaaaa?ceeeeiiii?nooooo?ouuuuy?y";
    static char one[2];
    switch (c) {
    case 0xC6: return "AE";
    case 0xE6: return "ae";
    case 0xDF: return "ss";
    case 0x2018:
    case 0x2019: return "'";
    case 0x201C:
    case 0x201D: return "\"";
    case 0x2013:
    case 0x2014: return "-";
    case 0x2026: return "...";
    case 0xA0: return " ";
    case 0xA9: return "(C)";
    case 0xAE: return "(R)";
    case 0x20AC: return "EUR";
    case 0xAB: return "<<";
    case 0xBB: return ">>";
    }
    one[0] = c >= 0xC0 && c <= 0xFF ? letters[c - 0xC0] : '?';
    return one;
}

static int gather(tool *t, io *from, const char *name, void *context) {
    (void)t;
    (void)name;
    return buffer_read_all(&((iconv_state *)context)->in, from) < 0;
}

static int convert(tool *t, iconv_state *s) {
    buffer out = {.t = t};
    int status = 0;
    const unsigned char *p = (const unsigned char *)s->in.p, *end = p + s->in.n;
    if (s->from == UTF16) {
        s->from = UTF16LE;
        if (s->in.n >= 2 && (p[0] ^ p[1]) == 1 && p[0] >= 0xFE) {
            s->from = p[0] == 0xFE ? UTF16BE : UTF16LE;
            p += 2;
        }
    }
    if (s->to == UTF16) { s->to = UTF16LE; put_unit(&out, UTF16LE, 0xFEFF); }
    while (p < end) {
        int c;
        size_t n = decode(s->from, p, (size_t)(end - p), &c);
        if (c < 0 || (encode(s->to, c, &out) < 0 && !s->translit)) {
            if (!s->ignore) {
                status = tool_fail(t, 1, "illegal input sequence at position %zu", (size_t)(p - (const unsigned char *)s->in.p));
                break;
            }
            status = !s->quiet;
        } else if (c > 127 && encode(s->to, c, &(buffer){.t = t}) < 0)
            for (const char *q = plainer(c); *q; q++) encode(s->to, *q, &out);
        p += n;
    }
    return io_write(t->out, out.p ? out.p : "", out.n) < 0 ? 1 : status;
}

int tool_iconv(tool *t, int argc, char **argv) {
    static const tool_long longs[]
        = {{"from-code", 1, 'f'}, {"to-code", 1, 't'}, {"list", 0, 'l'}, {"output", 1, 'o'}, {0, 0, 0}};
    iconv_state s = {.in = {.t = t}};
    tool_opts o;
    int c;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "f:t:lco:s", longs)) != -1;) switch (c) {
        case 'f':
            s.from = encoding(o.arg);
            if (s.from < 0) return tool_fail(t, 1, "conversion from `%s' is not supported", o.arg);
            break;
        case 't':
            s.to = encoding(o.arg);
            if (s.to < 0) return tool_fail(t, 1, "conversion to `%s' is not supported", o.arg);
            s.translit |= strstr(o.arg, "//TRANSLIT") != NULL;
            s.ignore |= strstr(o.arg, "//IGNORE") != NULL;
            break;
        case 'c': s.ignore = s.quiet = 1; break;
        case 'l':
            return io_puts(t->out, "ASCII// ISO-8859-1// UTF-16// UTF-16BE// UTF-16LE// UTF-32BE// UTF-32LE// UTF-8//\n") < 0;
        case '?': return 64;
    }
    int status = for_each_input(t, argc, argv, o.index, gather, &s);
    return status ? status : convert(t, &s);
}
