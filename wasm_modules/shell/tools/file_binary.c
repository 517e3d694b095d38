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
    unsigned long type = p[5] == 2 ? big(p + 16, 2) : little(p + 16, 2), machine = p[5] == 2 ? big(p + 18, 2) : little(p + 18, 2);
    const char *name = machine == 62    ? ", x86-64"
                       : machine == 3   ? ", Intel 80386"
                       : machine == 183 ? ", ARM aarch64"
                       : machine == 40  ? ", ARM"
                       : machine == 243 ? ", UCB RISC-V"
                                        : "";
    return (file_kind){tool_format(t, "ELF %s-bit %s %s%s%s%s", p[4] == 2 ? "64" : "32", p[5] == 2 ? "MSB" : "LSB",
                           type < 5 ? types[type] : "unknown type", name, n > 20 && p[20] == 1 ? ", version 1" : *name ? "," : "",
                           *name ? " (SYSV)" : ""),
        "application/x-executable", "binary"};
}

/* A JFIF header tells its version and how dense the picture is. */
static file_kind jpeg(tool *t, const unsigned char *p, size_t n) {
    static const char *const units[] = {"aspect ratio", "resolution (DPI)", "resolution (DPCM)"};
    buffer b = {.t = t};
    buffer_puts(&b, "JPEG image data");
    if (n >= 18 && !memcmp(p + 6, "JFIF", 5))
        buffer_printf(&b, ", JFIF standard %u.%02u, %s, density %lux%lu, segment length %lu", p[11], p[12], units[p[13] % 3],
            big(p + 14, 2), big(p + 16, 2), big(p + 4, 2));
    return (file_kind){b.p, "image/jpeg", "binary"};
}

/* RIFF holds sound, pictures or films, as its third word says. */
static file_kind riff(tool *t, const unsigned char *p, size_t n) {
    if (!memcmp(p + 8, "WEBP", 4)) return (file_kind){"RIFF (little-endian) data, Web/P image", "image/webp", "binary"};
    if (!memcmp(p + 8, "AVI ", 4)) return (file_kind){"RIFF (little-endian) data, AVI", "video/x-msvideo", "binary"};
    if (memcmp(p + 8, "WAVE", 4)) return (file_kind){"RIFF (little-endian) data", "application/octet-stream", "binary"};
    buffer b = {.t = t};
    buffer_puts(&b, "RIFF (little-endian) data, WAVE audio");
    if (n >= 36 && p[20] == 1)
        buffer_printf(&b, ", Microsoft PCM, %lu bit, %s %lu Hz", little(p + 34, 2), p[22] == 1 ? "mono" : "stereo", little(p + 24, 4));
    return (file_kind){b.p, "audio/x-wav", "binary"};
}

static file_kind java_class(tool *t, const unsigned char *p) {
    unsigned long major = big(p + 6, 2);
    const char *name = major < 49 ? tool_format(t, "1.%lu", major - 44) : major < 53 ? tool_format(t, "1.%lu", major - 44) : "";
    const char *release = *name ? tool_format(t, " (Java %s)", name) : tool_format(t, " (Java SE %lu)", major - 44);
    return (file_kind){tool_format(t, "compiled Java class data, version %lu.%lu%s", major, big(p + 4, 2), release),
        "application/x-java-applet", "binary"};
}

file_kind file_binary(tool *t, const unsigned char *p, size_t n) {
    static const struct { const char *magic; size_t n; file_kind k;
    } table[] = {
        {"\xfd" "7zXZ", 5, {"XZ compressed data, checksum CRC64", "application/x-xz", "binary"}},
        {"!<arch>\n", 8, {"current ar archive", "application/x-archive", "us-ascii"}},
        {"{\\rtf1", 6, {"Rich Text Format data, version 1", "text/rtf", "us-ascii"}},
        {"II*\0", 4, {"TIFF image data, little-endian", "image/tiff", "binary"}},
        {"MM\0*", 4, {"TIFF image data, big-endian", "image/tiff", "binary"}},
        {"\0\0\0\x18" "ftypmp42", 12, {"ISO Media, MP4 v2 [ISO 14496-14]", "video/mp4", "binary"}},
        {"SQLite format 3", 16, {"SQLite 3.x database", "application/vnd.sqlite3", "binary"}},
        {"\0asm\1\0\0\0", 8, {"WebAssembly (wasm) binary module version 0x1 (MVP)", "application/wasm", "binary"}},
    };
#define STARTS(text) (n >= sizeof text - 1 && !memcmp(p, text, sizeof text - 1))
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (n >= table[i].n && !memcmp(p, table[i].magic, table[i].n)) return table[i].k;
    if (STARTS("\x7f" "ELF")) return elf(t, p, n);
    if (STARTS("\xff\xd8\xff")) return jpeg(t, p, n);
    if (STARTS("RIFF") && n >= 12) return riff(t, p, n);
    if (STARTS("\xca\xfe\xba\xbe") && n >= 8 && big(p + 6, 2) > 44) return java_class(t, p);
    if (STARTS("7z\xbc\xaf\x27\x1c") && n >= 8)
        return (file_kind){tool_format(t, "7-zip archive data, version %u.%u", p[6], p[7]), "application/x-7z-compressed", "binary"};
    if (STARTS("ID3") && n >= 5)
        return (file_kind){tool_format(t, "Audio file with ID3 version 2.%u.%u", p[3], p[4]), "audio/mpeg", "binary"};
    if (STARTS("%!PS-Adobe-") && n >= 14)
        return (file_kind){tool_format(t, "PostScript document text conforming DSC level %.3s", p + 11), "application/postscript",
            "us-ascii"};
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
