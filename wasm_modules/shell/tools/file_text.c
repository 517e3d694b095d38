/* file_text.c - texts: their encoding, how their lines end, and the language they seem to be in. */
#include "file.h"
#include "../utf8.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { VERY_LONG_LINE = 300, ENOUGH_LINES = 10 };

typedef struct { const char *name, *charset; } encoding;
typedef struct { const char *text, *mime; int executable, bare; } language; /* bare: says all by itself */

static encoding encoding_of(const char *p, size_t n) {
    int ascii = 1;
    if (n >= 2 && !memcmp(p, "\xff\xfe", 2)) return (encoding){"Unicode text, UTF-16, little-endian", "utf-16le"};
    if (n >= 2 && !memcmp(p, "\xfe\xff", 2)) return (encoding){"Unicode text, UTF-16, big-endian", "utf-16be"};
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)p[i];
        if (c >= 128) ascii = 0;
        if (!c || (c < 32 && !strchr("\a\b\t\n\f\r\v\033", c)) || c == 127) return (encoding){NULL, "binary"};
    }
    if (ascii) return (encoding){"ASCII", "us-ascii"};
    if (n >= 3 && !memcmp(p, "\xef\xbb\xbf", 3)) return (encoding){"Unicode text, UTF-8 (with BOM)", "utf-8"};
    if (utf8_valid(p, n)) return (encoding){"Unicode text, UTF-8", "utf-8"};
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)p[i] >= 0x80 && (unsigned char)p[i] < 0xA0) return (encoding){"Non-ISO extended-ASCII", "unknown-8bit"};
    return (encoding){"ISO-8859", "iso-8859-1"};
}

/* ", with very long lines (400), with CRLF line terminators" and the like. */
static char *line_habits(tool *t, const char *p, size_t n, int wide) {
    buffer b = {.t = t};
    size_t crlf = 0, lf = 0, cr = 0, longest = 0, start = 0;
    int escapes = 0, struck = 0;
    for (size_t i = 0; i < n; i++) {
        escapes |= p[i] == 27;
        struck |= p[i] == '\b';
        if (p[i] == '\n') { if (i && p[i - 1] == '\r') crlf++; else lf++; }
        else if (p[i] == '\r' && (i + 1 >= n || p[i + 1] != '\n')) cr++;
        if (p[i] == '\n' || p[i] == '\r' || i + 1 == n) {
            size_t length = i - start + (p[i] != '\n' && p[i] != '\r');
            if (length > longest) longest = length;
            start = i + 1;
        }
    }
    buffer_puts(&b, "");
    if (longest > VERY_LONG_LINE && !wide) buffer_printf(&b, ", with very long lines (%zu)", longest);
    if (!crlf && !lf && !cr) buffer_puts(&b, ", with no line terminators");
    else if (crlf || cr) {
        buffer_printf(&b, ", with%s%s%s", crlf ? " CRLF" : "", cr ? crlf ? ", CR" : " CR" : "", lf ? ", LF" : "");
        buffer_puts(&b, " line terminators");
    }
    if (escapes) buffer_puts(&b, ", with escape sequences");
    if (struck) buffer_puts(&b, ", with overstriking");
    return b.p;
}

static int starts_any_line(const char *p, size_t n, const char *what) {
    size_t k = strlen(what);
    for (size_t i = 0; i + k <= n; i++) if ((!i || p[i - 1] == '\n') && !memcmp(p + i, what, k)) return 1;
    return 0;
}

static language by_shebang(tool *t, const char *p, size_t n) {
    static const struct { const char *name; language is;
    } table[] = {{"bash", {"Bourne-Again shell script", "text/x-shellscript", 1, 0}},
        {"sh", {"POSIX shell script", "text/x-shellscript", 1, 0}}, {"python", {"Python script", "text/x-script.python", 1, 0}},
        {"perl", {"Perl script text executable", "text/x-perl", 0, 1}},
        {"node", {"Node.js script executable", "application/javascript", 0, 0}}, {"ruby", {"Ruby script", "text/x-ruby", 1, 0}},
        {"awk", {"awk script", "text/x-awk", 1, 0}}, {"gawk", {"GNU awk script", "text/x-gawk", 1, 0}},
        {"php", {"PHP script", "text/x-php", 1, 0}}, {"zsh", {"Paul Falstad's zsh script", "text/x-shellscript", 1, 0}},
        {"dash", {"POSIX shell script", "text/x-shellscript", 1, 0}}, {"lua", {"Lua script", "text/x-lua", 1, 0}}};
    const char *end = memchr(p, '\n', n);
    char *line = tool_strndup(t, p + 2, (size_t)((end ? end : p + n) - p) - 2);
    while (*line == ' ') line++;
    size_t length = strcspn(line, " \t\r");
    const char *base = line;
    for (size_t i = 0; i < length; i++) if (line[i] == '/') base = line + i + 1;
    if (!strncmp(base, "env ", 4)) base += 4 + strspn(base + 4, " ");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        size_t k = strlen(table[i].name);
        if (!strncmp(base, table[i].name, k) && !isalpha((unsigned char)base[k])) return table[i].is;
    }
    return (language){tool_format(t, "a %s script", line), "text/plain", 1, 0};
}

/* Three lines or more with the same number of commas. */
static int is_csv(const char *p, size_t n) {
    size_t fields = 0, wanted = 0, lines = 0;
    int quoted = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '"') quoted = !quoted;
        else if (p[i] == ',' && !quoted) fields++;
        else if (p[i] == '\n' && !quoted) {
            if (++lines == ENOUGH_LINES) return wanted && wanted == fields;
            if (!wanted && !fields) return 0;
            if (!wanted) wanted = fields;
            else if (wanted != fields) return 0;
            fields = 0;
        }
    }
    return wanted && lines > 2;
}

/* Brackets that close, as far as a look at the ends tells. */
static int looks_like_json(const char *p, size_t n) {
    while (n && isspace((unsigned char)*p)) { p++; n--; }
    while (n && isspace((unsigned char)p[n - 1])) n--;
    if (n < 2 || (*p != '{' && *p != '[') || p[n - 1] != (*p == '{' ? '}' : ']')) return 0;
    const char *first = p + 1;
    while (isspace((unsigned char)*first)) first++;
    if (*p == '{') return *first == '"' || *first == '}';
    return strchr("[{\"]-tfn", *first) || isdigit((unsigned char)*first);
}

static language json_kind(const char *p, size_t n) {
    static const language json = {"JSON text data", "application/json", 0, 1};
    if (!looks_like_json(p, n)) return (language){NULL, NULL, 0, 0};
    const char *end = memchr(p, '\n', n);
    size_t whole = n;
    while (whole && isspace((unsigned char)p[whole - 1])) whole--;
    if (!end || (size_t)(end - p) >= whole || *p != '{') return json;
    for (const char *line = p; line < p + whole;) {
        end = memchr(line, '\n', (size_t)(p + n - line));
        if (!looks_like_json(line, (size_t)((end ? end : p + n) - line))) return json;
        if (!end) break;
        line = end + 1;
    }
    return (language){"New Line Delimited JSON text data", "application/x-ndjson", 0, 1};
}

static language by_content(const char *p, size_t n) {
    static const struct { const char *start; language is;
    } starts[] = {{"<?xml version=\"1.0\"", {"XML 1.0 document", "text/xml", 0, 0}},
        {"<svg", {"SVG Scalable Vector Graphics image", "image/svg+xml", 0, 1}},
        {"<!doctype html", {"HTML document", "text/html", 0, 0}}, {"<html", {"HTML document", "text/html", 0, 0}},
        {"<head", {"HTML document", "text/html", 0, 0}}, {"<body", {"HTML document", "text/html", 0, 0}},
        {"<title", {"HTML document", "text/html", 0, 0}}, {"diff --git", {"unified diff output", "text/x-diff", 0, 0}},
        {"-----BEGIN CERTIFICATE-----", {"PEM certificate", "text/plain", 0, 1}},
        {"\\documentclass", {"LaTeX 2e document", "text/x-tex", 0, 0}},
        {"<?php", {"PHP script", "text/x-php", 0, 0}}};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (n >= strlen(starts[i].start) && !strncasecmp(p, starts[i].start, strlen(starts[i].start))) return starts[i].is;
    if (!strncmp(p, "--- ", 4) && starts_any_line(p, n, "+++ ") && starts_any_line(p, n, "@@ -"))
        return (language){"unified diff output", "text/x-diff", 0, 0};
    if (starts_any_line(p, n, "#include") || starts_any_line(p, n, "int main(")) return (language){"C source", "text/x-c", 0, 0};
    if (starts_any_line(p, n, "def ") || (starts_any_line(p, n, "from ") && memmem(p, n, " import ", 8)))
        return (language){"Python script", "text/x-script.python", 1, 0};
    if (starts_any_line(p, n, "all:") || starts_any_line(p, n, "CFLAGS") || starts_any_line(p, n, "LDFLAGS"))
        return (language){"makefile script", "text/x-makefile", 0, 0};
    return (language){NULL, "text/plain", 0, 0};
}

file_kind file_text(tool *t, const char *p, size_t n) {
    static const file_kind data = {"data", "application/octet-stream", "binary"};
    if (n == 1) return (file_kind){"very short file (no magic)", data.mime, data.charset};
    encoding e = encoding_of(p, n);
    if (!e.name) return data;
    language is = {NULL, NULL, 0, 0};
    if (n > 2 && p[0] == '#' && p[1] == '!') is = by_shebang(t, p, n);
    if (!is.text) is = json_kind(p, n);
    if (!is.text && is_csv(p, n)) is = (language){"CSV text", "text/csv", 0, 1};
    if (!is.text) is = by_content(p, n);
    if (is.bare) return (file_kind){is.text, is.mime, e.charset};
    char *habits = line_habits(t, p, n, !strncmp(e.charset, "utf-16", 6));
    return (file_kind){tool_format(t, "%s%s%s text%s%s", is.text ? is.text : "", is.text ? ", " : "", e.name,
                           is.executable ? " executable" : "", habits),
        is.mime, e.charset};
}
