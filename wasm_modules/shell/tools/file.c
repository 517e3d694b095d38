/* file.c - guess what a file holds from its first bytes. */
#include "buffer.h"
#include "files.h"
#include "../utf8.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

typedef struct { const char *text, *mime; } kind;

static kind by_magic(const char *p, size_t n) {
    static const struct {
        const char *magic;
        size_t n;
        kind k;
    } table[] = {{"\x7f"
                  "ELF",
                     4, {"ELF 64-bit LSB executable", "application/x-executable"}},
        {"\x89PNG\r\n\x1a\n", 8, {"PNG image data", "image/png"}}, {"\xff\xd8\xff", 3, {"JPEG image data", "image/jpeg"}},
        {"GIF8", 4, {"GIF image data", "image/gif"}}, {"%PDF-", 5, {"PDF document", "application/pdf"}},
        {"PK\x03\x04", 4, {"Zip archive data", "application/zip"}}, {"\x1f\x8b", 2, {"gzip compressed data", "application/gzip"}},
        {"BZh", 3, {"bzip2 compressed data", "application/x-bzip2"}},
        {"\xfd"
         "7zXZ",
            5, {"XZ compressed data", "application/x-xz"}},
        {"SQLite format 3", 15, {"SQLite 3.x database", "application/vnd.sqlite3"}},
        {"\0asm", 4, {"WebAssembly (wasm) binary module version 0x1 (MVP)", "application/wasm"}},
        {"<?xml", 5, {"XML 1.0 document, ASCII text", "text/xml"}},
        {"<!DOCTYPE html", 14, {"HTML document, ASCII text", "text/html"}},
        {"<html", 5, {"HTML document, ASCII text", "text/html"}}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (n >= table[i].n && !memcmp(p, table[i].magic, table[i].n)) return table[i].k;
    if (n > 262 && !memcmp(p + 257, "ustar", 5)) return (kind){"POSIX tar archive (GNU)", "application/x-tar"};
    return (kind){NULL, NULL};
}

static kind by_text(tool *t, const char *p, size_t n) {
    int ascii = 1, binary = 0, crlf = 0, lines = 0, unended = n && p[n - 1] != '\n';
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)p[i];
        if (c >= 128) ascii = 0;
        if (c < 32 && !strchr("\a\b\t\n\f\r\v\033", c)) binary = 1;
        if (!c) binary = 1;
        if (c == '\n') { lines++; if (i && p[i - 1] == '\r') crlf = 1; }
    }
    if (binary) return (kind){"data", "application/octet-stream"};
    const char *encoding = ascii ? "ASCII" : utf8_valid(p, n) ? "Unicode text, UTF-8" : "ISO-8859";
    const char *tail = crlf ? ", with CRLF line terminators" : !lines && unended ? ", with no line terminators" : "";
    if (n > 2 && p[0] == '#' && p[1] == '!') {
        char *line = tool_strndup(t, p + 2, strcspn(p + 2, "\n") < n ? strcspn(p + 2, "\n") : 0);
        while (*line == ' ') line++;
        char *space = strchr(line, ' '), *last = strrchr(line, '/');
        const char *shell = space && strstr(line, "env ") ? space + 1 : last ? last + 1 : line;
        const char *what = !strncmp(shell, "bash", 4)     ? "Bourne-Again shell script"
                           : !strncmp(shell, "sh", 2)     ? "POSIX shell script"
                           : !strncmp(shell, "python", 6) ? "Python script"
                           : !strncmp(shell, "perl", 4)   ? "Perl script"
                           : !strncmp(shell, "node", 4)   ? "Node.js script"
                                                          : NULL;
        const char *mime = !strncmp(shell, "python", 6) ? "text/x-script.python"
                           : !strncmp(shell, "perl", 4) ? "text/x-perl"
                                                        : "text/x-shellscript";
        if (what)
            return (kind){tool_format(t, "%s, %s text executable%s", what, ascii ? "ASCII" : "Unicode text, UTF-8", tail), mime};
        return (kind){tool_format(t, "a %s script, %s text executable%s", line, ascii ? "ASCII" : "Unicode text, UTF-8", tail),
            "text/plain"};
    }
    size_t i = 0;
    while (i < n && isspace((unsigned char)p[i])) i++;
    if (i < n && (p[i] == '{' || p[i] == '[')) {
        size_t end = n;
        while (end > i && isspace((unsigned char)p[end - 1])) end--;
        if (end > i && p[end - 1] == (p[i] == '{' ? '}' : ']') && memchr(p, '"', n))
            return (kind){"JSON text data", "application/json"};
    }
    return (kind){tool_format(t,
                      ascii                           ? "%s text%s"
                      : !strcmp(encoding, "ISO-8859") ? "%s text%s"
                                                      : "%s text%s",
                      encoding, tail),
        "text/plain"};
}

int tool_file(tool *t, int argc, char **argv) {
    static const tool_long longs[]
        = {{"brief", 0, 'b'}, {"mime-type", 0, 1}, {"mime", 0, 'i'}, {"dereference", 0, 'L'}, {0, 0, 0}};
    int brief = 0, mime = 0, follow = 0, c;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "biLhszk", longs)) != -1;) switch (c) {
        case 'b': brief = 1; break;
        case 1: mime = 1; break;
        case 'i': mime = 2; break;
        case 'L': follow = 1; break;
        case '?': return 1;
        default: break;
    }
    if (o.index >= argc) { io_printf(t->err, "Usage: file [-bcCdEhikLlNnprsSvzZ0] file ...\n"); return 1; }
    size_t widest = 0;
    for (int i = o.index; i < argc; i++) if (strlen(argv[i]) > widest) widest = strlen(argv[i]);
    for (int i = o.index; i < argc; i++) {
        struct stat st;
        kind k = {NULL, NULL};
        int standard = !strcmp(argv[i], "-");
        if (!standard && (follow ? path_stat(argv[i], &st) : path_lstat(argv[i], &st)) < 0)
            k = (kind){tool_format(t, "cannot open `%s' (%s)", argv[i], strerror(errno)),
                tool_format(t, "cannot open `%s' (%s)", argv[i], strerror(errno))};
        else if (!standard && S_ISDIR(st.st_mode)) k = (kind){"directory", "inode/directory"};
        else if (!standard && S_ISLNK(st.st_mode)) {
            char target[4096];
            ssize_t n = readlink(argv[i], target, sizeof target - 1);
            target[n < 0 ? 0 : n] = '\0';
            struct stat real;
            k = (kind){
                tool_format(t, path_stat(argv[i], &real) < 0 ? "broken symbolic link to %s" : "symbolic link to %s", target),
                "inode/symlink"};
        } else {
            io *from = standard ? io_ref(t->in) : io_open(argv[i], O_RDONLY, 0);
            buffer b = {.t = t};
            if (from) buffer_read_all(&b, from);
            io_unref(from);
            if (!from) k = (kind){"regular file, no read permission", "application/octet-stream"};
            else if (!b.n) k = (kind){"empty", "inode/x-empty"};
            else { k = by_magic(b.p, b.n); if (!k.text) k = by_text(t, b.p, b.n); }
        }
        if (!brief) io_printf(t->out, "%s:%*s", standard ? "/dev/stdin" : argv[i], (int)(widest - strlen(argv[i]) + 1), "");
        if (io_printf(t->out, mime == 2 ? "%s; charset=%s\n" : "%s\n", mime ? k.mime : k.text,
                !strncmp(k.mime, "text", 4) ? strstr(k.text, "UTF-8") ? "utf-8" : "us-ascii" : "binary")
            < 0)
            return 1;
    }
    return 0;
}
