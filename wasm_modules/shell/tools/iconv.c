/* iconv.c - text from one encoding into another: UTF-8, ASCII, Latin-1 and its two common variants, UTF-16 and UTF-32. */
#include "buffer.h"
#include "inputs.h"
#include "../utf8.h"
#include <fcntl.h>
#include <string.h>
#include <strings.h>

enum { UTF8, ASCII, LATIN1, LATIN9, CP1252, UTF16, UTF16LE, UTF16BE, UTF32, UTF32LE, UTF32BE };
/* quiet: -c, what is left out is no failure; output: -o */
typedef struct { int from, to, ignore, quiet, translit; const char *output; buffer in; } iconv_state;

static int encoding(const char *name) {
    static const struct {
        const char *name;
        int kind;
    } table[] = {{"UTF-8", UTF8}, {"UTF8", UTF8}, {"ASCII", ASCII}, {"US-ASCII", ASCII}, {"ANSI_X3.4-1968", ASCII},
        {"LATIN1", LATIN1}, {"LATIN-1", LATIN1}, {"ISO-8859-1", LATIN1}, {"ISO8859-1", LATIN1}, {"ISO_8859-1", LATIN1},
        {"L1", LATIN1}, {"UTF-16", UTF16}, {"UTF16", UTF16}, {"UTF-16LE", UTF16LE}, {"UTF16LE", UTF16LE}, {"UTF-16BE", UTF16BE},
        {"UTF16BE", UTF16BE}, {"UTF32LE", UTF32LE}, {"UTF32BE", UTF32BE}, {"ISO-10646/UTF8", UTF8}, {"UCS-2", UTF16LE}, {"UCS-2LE", UTF16LE},
        {"UTF-32LE", UTF32LE}, {"UTF-32BE", UTF32BE}, {"UTF-32", UTF32}, {"UTF32", UTF32},
        {"UCS-4", UTF32BE}, {"UCS4", UTF32BE}, {"UCS-4BE", UTF32BE}, {"UCS-4LE", UTF32LE}, {"UCS-2BE", UTF16BE},
        {"LATIN-9", LATIN9}, {"ISO-8859-15", LATIN9}, {"ISO8859-15", LATIN9}, {"LATIN9", LATIN9}, {"CP1252", CP1252},
        {"WINDOWS-1252", CP1252}};
    size_t n = strcspn(name, "/");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strlen(table[i].name) == n && !strncasecmp(table[i].name, name, n)) return table[i].kind;
    return n ? -1 : UTF8;
}

/* The characters of an 8-bit encoding that are not those of Latin-1, by byte. */
typedef struct { unsigned char byte; unsigned short point; } variant;
static const variant latin9[] = {{0xA4, 0x20AC}, {0xA6, 0x160}, {0xA8, 0x161}, {0xB4, 0x17D}, {0xB8, 0x17E}, {0xBC, 0x152},
    {0xBD, 0x153}, {0xBE, 0x178}, {0, 0}};
static const variant cp1252[] = {{0x80, 0x20AC}, {0x82, 0x201A}, {0x83, 0x192}, {0x84, 0x201E}, {0x85, 0x2026}, {0x86, 0x2020},
    {0x87, 0x2021}, {0x88, 0x2C6}, {0x89, 0x2030}, {0x8A, 0x160}, {0x8B, 0x2039}, {0x8C, 0x152}, {0x8E, 0x17D}, {0x91, 0x2018},
    {0x92, 0x2019}, {0x93, 0x201C}, {0x94, 0x201D}, {0x95, 0x2022}, {0x96, 0x2013}, {0x97, 0x2014}, {0x98, 0x2DC}, {0x99, 0x2122},
    {0x9A, 0x161}, {0x9B, 0x203A}, {0x9C, 0x153}, {0x9E, 0x17E}, {0x9F, 0x178}, {0, 0}};

static const variant *variants(int kind) { return kind == LATIN9 ? latin9 : cp1252; }

static int variant_point(int kind, int byte) {
    for (const variant *v = variants(kind); v->byte; v++) if (v->byte == byte) return v->point;
    return kind == CP1252 && byte >= 0x80 && byte < 0xA0 ? -1 : byte;
}

static int variant_byte(int kind, int c) {
    for (const variant *v = variants(kind); v->byte; v++) if (v->point == c) return v->byte;
    return c < 256 && variant_point(kind, c) == c ? c : -1;
}

/* The character at p and how many bytes it takes; *c is -1 for bytes that are none. */
static size_t decode(int kind, const unsigned char *p, size_t n, int *c) {
    int big = kind == UTF16BE || kind == UTF32BE;
    *c = -1;
    switch (kind) {
    case UTF8: return (size_t)utf8_decode((const char *)p, n, c);
    case ASCII: *c = *p < 128 ? *p : -1; return 1;
    case LATIN1: *c = *p; return 1;
    case LATIN9: case CP1252: *c = variant_point(kind, *p); return 1;
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
    case LATIN9: case CP1252: if ((c = variant_byte(kind, c)) < 0) return -1; buffer_putc(b, c); return 0;
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
    if (s->from == UTF32) {
        s->from = s->in.n >= 4 && !p[0] && !p[1] && p[2] == 0xFE && p[3] == 0xFF ? UTF32BE : UTF32LE;
        if (s->in.n >= 4 && (s->from == UTF32BE || (p[0] == 0xFF && p[1] == 0xFE && !p[2] && !p[3]))) p += 4;
    }
    if (s->to == UTF32) { s->to = UTF32LE; encode(UTF32LE, 0xFEFF, &out); }
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
    io *to = s->output ? io_open(s->output, O_WRONLY | O_CREAT | O_TRUNC, 0666) : io_ref(t->out);
    if (!to) return tool_fail_errno(t, 1, "unable to open output file");
    if (io_write(to, out.p ? out.p : "", out.n) < 0) status = 1;
    io_unref(to);
    return status;
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
            break;
        case 't':
            s.to = encoding(o.arg);
            s.translit |= strstr(o.arg, "//TRANSLIT") != NULL;
            s.ignore |= strstr(o.arg, "//IGNORE") != NULL;
            break;
        case 'o': s.output = o.arg; break;
        case 'c': s.ignore = s.quiet = 1; break;
        case 'l':
            return io_puts(t->out, "ASCII// ISO-8859-1// UTF-16// UTF-16BE// UTF-16LE// UTF-32BE// UTF-32LE// UTF-8//\n") < 0;
        case '?': return 64;
    }
    if (s.from < 0 || s.to < 0) return tool_fail(t, 1, "failed to start conversion processing: No such file or directory");
    int status = for_each_input(t, argc, argv, o.index, gather, &s);
    return status ? status : convert(t, &s);
}
