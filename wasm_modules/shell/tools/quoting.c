/* quoting.c - how GNU's messages and listings show names: fit for the shell ('a b', "it's", 'a'$'\n''b'), or cited (‘a b’).
 *
 * Does not know which of the two a message wants: the tools choose by the function they call.
 */
#include "buffer.h"
#include "../utf8.h"
#include <string.h>

enum { PLAIN, SPECIAL, BARE_ONLY, UNPRINTABLE };

/* What the character at s means for quoting: PLAIN needs none and may stand in any; SPECIAL needs quotes, and single ones;
 * BARE_ONLY needs none, but single ones where there are any. *len: its length in bytes. */
static int classify(const char *s, const char *from, int bytes, int *len) {
    int point;
    *len = utf8_decode(s, strlen(s), &point);
    if (bytes && *len > 1) { *len = 1; return UNPRINTABLE; }
    if (point < 0 || utf8_width(point) < 0) return UNPRINTABLE;
    if (point >= 128) return PLAIN;
    if (strchr("!\"$&()*;<=>[^`|?\\", point)) return SPECIAL;
    if (point == '{' || point == '}') return s == from && !s[1] ? SPECIAL : BARE_ONLY;
    if (point == '#' || point == '~') return s == from ? SPECIAL : BARE_ONLY;
    return PLAIN;
}

/* The escape of one byte, as in $'...': a letter where there is one, else three octal digits. */
static void put_escape(buffer *b, unsigned char c) {
    static const char from[] = "\a\b\t\n\v\f\r", to[] = "abtnvfr";
    const char *at = c ? strchr(from, c) : NULL;
    if (at) buffer_printf(b, "\\%c", to[at - from]);
    else buffer_printf(b, "\\%03o", c);
}

/* plain: with the quotes alone, so that what cannot be printed stands as it is. */
static const char *shell_quote(tool *t, const char *s, int always, int plain) {
    int bytes = utf8_bytes, len, needed = always || !*s, single = 0, doubled = 1, control = 0;
    for (const char *p = s; *p; p += len) {
        int kind = classify(p, s, bytes, &len);
        if (kind != PLAIN) doubled = 0;
        needed |= kind == SPECIAL || (kind == UNPRINTABLE && (!plain || (unsigned char)*p < 128)) || *p == ' ' || *p == '\'';
        control |= kind == UNPRINTABLE && !plain;
        single |= *p == '\'';
    }
    if (!needed) return s;
    if (single && doubled) return tool_format(t, "\"%s\"", s);
    buffer b = {.t = t};
    int escaped = 0;
    buffer_putc(&b, '\'');
    for (const char *p = s; *p; p += len) {
        int odd = control && classify(p, s, bytes, &len) == UNPRINTABLE;
        if (!control) len = 1;
        if (odd != escaped) buffer_puts(&b, odd ? "'$'" : "''");
        escaped = odd;
        if (odd) put_escape(&b, (unsigned char)*p), len = 1;
        else if (*p == '\'') buffer_puts(&b, "'\\''");
        else buffer_add(&b, p, (size_t)len);
    }
    buffer_putc(&b, '\'');
    return b.p;
}

const char *tool_quote(tool *t, const char *s) { return shell_quote(t, s, 1, 0); }
const char *tool_name(tool *t, const char *path) { return shell_quote(t, path, 0, 0); }
const char *tool_shell_word(tool *t, const char *s, int always) { return shell_quote(t, s, always, 1); }

const char *tool_cite(tool *t, const char *s) {
    int bytes = utf8_bytes, len;
    const char *open = bytes ? "'" : "\342\200\230", *close = bytes ? "'" : "\342\200\231";
    size_t n = strlen(close);
    buffer b = {.t = t};
    buffer_puts(&b, open);
    for (const char *p = s; *p; p += len) {
        if (classify(p, s, bytes, &len) == UNPRINTABLE) { put_escape(&b, (unsigned char)*p); len = 1; continue; }
        if (*p == '\\' || !strncmp(p, close, n)) buffer_putc(&b, '\\');
        buffer_add(&b, p, (size_t)len);
    }
    buffer_puts(&b, close);
    return b.p;
}
