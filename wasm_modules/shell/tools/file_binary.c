/* file_binary.c - formats known by their first bytes, with what their headers tell. */
#include "file.h"
#include "dates.h"
#include <string.h>

static unsigned long big(const unsigned char *p, int n) { unsigned long v = 0; while (n--) v = v << 8 | *p++; return v; }
static unsigned long little(const unsigned char *p, int n) { unsigned long v = 0; while (n--) v = v << 8 | p[n]; return v; }

static file_kind png(tool *t, const unsigned char *p, size_t n) {
    static const char *const colors[] = {"grayscale", "", "/color RGB", " colormap", "gray+alpha", "", "/color RGBA"};
    if (n < 29) return (file_kind){"data", "application/octet-stream", "binary"};
    const char *color = p[25] < 7 ? colors[p[25]] : "";
    return (file_kind){tool_format(t, "PNG image data, %lu x %lu, %u-bit%s%s, %sinterlaced", big(p + 16, 4), big(p + 20, 4), p[24],
                           *color == 'g' ? " " : "", color, p[28] ? "" : "non-"),
        "image/png", "binary"};
}

static file_kind gzip(tool *t, const unsigned char *p, size_t n) {
    buffer b = {.t = t};
    buffer_puts(&b, "gzip compressed data");
    if (n > 10 && p[3] & 8 && memchr(p + 10, 0, n - 10)) buffer_printf(&b, ", was \"%s\"", (const char *)p + 10);
    if (n > 8 && little(p + 4, 4)) {
        buffer_puts(&b, ", last modified: ");
        date_format(&b, "%a %b %e %H:%M:%S %Y", (moment){.tv_sec = (time_t)little(p + 4, 4)}, 1);
    }
    if (n > 9 && p[8] == 2) buffer_puts(&b, ", max compression");
    if (n > 9 && p[8] == 4) buffer_puts(&b, ", max speed");
    if (n > 9 && p[9] == 3) buffer_puts(&b, ", from Unix");
    if (n > 18) buffer_printf(&b, ", original size modulo 2^32 %lu", little(p + n - 4, 4));
    return (file_kind){b.p, "application/gzip", "binary"};
}

static file_kind zip(tool *t, const unsigned char *p, size_t n) {
    if (n < 30) return (file_kind){"data", "application/octet-stream", "binary"};
    unsigned long version = little(p + 4, 2), method = little(p + 8, 2);
    return (file_kind){tool_format(t, "Zip archive data, at least v%lu.%lu to extract, compression method=%s", version / 10,
                           version % 10, method == 8 ? "deflate" : method ? "unknown" : "store"),
        "application/zip", "binary"};
}

static file_kind elf(tool *t, const unsigned char *p, size_t n) {
    static const char *const types[] = {"no file type", "relocatable", "executable", "shared object", "core file"};
    if (n < 20) return (file_kind){"ELF", "application/octet-stream", "binary"};
    unsigned long type = p[5] == 2 ? big(p + 16, 2) : little(p + 16, 2);
    return (file_kind){tool_format(t, "ELF %s-bit %s %s", p[4] == 2 ? "64" : "32", p[5] == 2 ? "MSB" : "LSB",
                           type < 5 ? types[type] : "unknown type"),
        "application/x-executable", "binary"};
}

file_kind file_binary(tool *t, const unsigned char *p, size_t n) {
    static const struct { const char *magic; size_t n; file_kind k;
    } table[] = {
        {"\xff\xd8\xff", 3, {"JPEG image data", "image/jpeg", "binary"}},
        {"\xfd" "7zXZ", 5, {"XZ compressed data, checksum CRC64", "application/x-xz", "binary"}},
        {"SQLite format 3", 16, {"SQLite 3.x database", "application/vnd.sqlite3", "binary"}},
        {"\0asm\1\0\0\0", 8, {"WebAssembly (wasm) binary module version 0x1 (MVP)", "application/wasm", "binary"}},
    };
#define STARTS(text) (n >= sizeof text - 1 && !memcmp(p, text, sizeof text - 1))
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (n >= table[i].n && !memcmp(p, table[i].magic, table[i].n)) return table[i].k;
    if (STARTS("\x7f" "ELF")) return elf(t, p, n);
    if (STARTS("\x89PNG\r\n\x1a\n")) return png(t, p, n);
    if (STARTS("PK\x03\x04")) return zip(t, p, n);
    if (STARTS("\x1f\x8b")) return gzip(t, p, n);
    if (STARTS("GIF8") && n >= 6) {
        char *size = n < 10 ? "" : tool_format(t, " %lu x %lu", little(p + 6, 2), little(p + 8, 2));
        return (file_kind){tool_format(t, "GIF image data, version %.3s,%s", p + 3, size), "image/gif", "binary"};
    }
    if (STARTS("%PDF-") && n >= 8)
        return (file_kind){tool_format(t, "PDF document, version %.3s", p + 5), "application/pdf", "binary"};
    if (STARTS("BZh") && n > 3)
        return (file_kind){tool_format(t, "bzip2 compressed data, block size = %c00k", p[3]), "application/x-bzip2", "binary"};
    if (n > 264 && !memcmp(p + 257, "ustar", 5))
        return (file_kind){p[262] ? "POSIX tar archive (GNU)" : "POSIX tar archive", "application/x-tar", "binary"};
#undef STARTS
    return (file_kind){NULL, NULL, NULL};
}
