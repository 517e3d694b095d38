/* prompt.c - prompt strings: PS4 and ${x@P}. Their escapes are decoded first, then the text is expanded. */
#include "sh.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIME_MAX = 256 };

/* PROMPT_DIRTRIM: only so many of the last directories, and dots for what is left out. */
static const char *trimmed(const char *path)
{
    const char *text = var_get("PROMPT_DIRTRIM"), *from = path + strlen(path), *first = path + (*path == '~');
    int64_t keep;
    if (!text || !parse_int(text, &keep) || keep <= 0) return path;
    while (from > first && keep > 0) if (*--from == '/') keep--;
    if (from <= first) return path;
    strbuf b = { .a = &sh.tmp };
    sb_printf(&b, "%s...%s", *path == '~' ? "~/" : "", from);
    return b.len < strlen(path) ? sb_str(&b) : path;
}

/* The current directory with ~ for the home directory; last: only its last component. */
static const char *directory(bool last)
{
    const char *home = var_get("HOME"), *path = sh.cwd;
    size_t n = home ? strlen(home) : 0;
    if (n > 1 && !strncmp(path, home, n) && (!path[n] || path[n] == '/')) {
        strbuf b = { .a = &sh.tmp };
        sb_printf(&b, "~%s", path + n);
        path = sb_str(&b);
    }
    const char *slash = last ? strrchr(path, '/') : NULL;
    return last ? (slash && slash[1] ? slash + 1 : path) : trimmed(path);
}

static void put_time(strbuf *b, const char *format)
{
    char text[TIME_MAX];
    time_t now = time(NULL);
    struct tm tm;
    localtime_r(&now, &tm);
    if (*format) sb_add(b, text, strftime(text, sizeof text, format, &tm));
}

/* What stands for the letter, or NULL: not one of these. */
static const char *plain(char letter)
{
    switch (letter) {
    case 'u': return "user";
    case 'h': case 'H': return "hatchway";
    case 'w': return directory(false);
    case 'W': return directory(true);
    case 's': return sh.arg0;
    case '$': return "$";
    case 'n': return "\n";
    case 'r': return "\r";
    case 'a': return "\a";
    case 'e': return "\033";
    case '\\': return "\\";
    case '[': case ']': return "";
    case 'v': return "5.2";
    case 'V': return "5.2.15";
    case 'j': return "0";
    case '#': return sh.is_command_string ? "0" : "1";
    case '!': return "1";
    case 'l': return "tty";
    default: return NULL;
    }
}

static const char *time_format(char letter)
{
    switch (letter) {
    case 't': return "%H:%M:%S";
    case 'A': return "%H:%M";
    case 'd': return "%a %b %d";
    case 'T': return "%I:%M:%S";
    case '@': return "%I:%M %p";
    default: return NULL;
    }
}

/* The escape behind a backslash at s; returns how many bytes it has. */
static size_t escape(strbuf *b, const char *s)
{
    const char *text = plain(*s), *format = time_format(*s);
    if (text) sb_puts(b, text);
    else if (format) put_time(b, format);
    else if (*s == 'D' && s[1] == '{' && strchr(s, '}')) {
        size_t n = strcspn(s + 2, "}");
        put_time(b, n ? arena_strndup(&sh.tmp, s + 2, n) : "%X");
        return n + 3;
    } else if (*s >= '0' && *s <= '7') {
        size_t n = strspn(s, "01234567");
        n = n > 3 ? 3 : n;
        sb_putc(b, (char)strtol(arena_strndup(&sh.tmp, s, n), NULL, 8));
        return n;
    } else {
        sb_putc(b, '\\');
        sb_putc(b, *s);
    }
    return 1;
}

char *prompt_expand(const char *s)
{
    strbuf b = { .a = &sh.tmp };
    while (*s) {
        if (*s != '\\' || !s[1]) sb_putc(&b, *s++);
        else s += 1 + escape(&b, s + 1);
    }
    char *out = sb_str(&b);
    if (!sh.shopt[S_PROMPTVARS]) return out;
    return expand_string(out, '"', &out) ? out : "";
}
