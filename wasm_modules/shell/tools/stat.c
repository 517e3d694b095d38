/* stat.c - stat: what is known about a file, in a format of choice. */
#include "buffer.h"
#include "dates.h"
#include "files.h"
#include "patterns.h"
#include "users.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void put_directive(tool *t, buffer *b, int c, const char *path, const struct stat *st) {
    char mode[11], target[4096];
    switch (c) {
    case 'n': buffer_puts(b, path); break;
    case 'N': {
        buffer_puts(b, tool_quote(t, path));
        ssize_t n = S_ISLNK(st->st_mode) ? readlink(path, target, sizeof target - 1) : -1;
        if (n >= 0) { target[n] = '\0'; buffer_printf(b, " -> %s", tool_quote(t, target)); }
        break;
    }
    case '\001': {                                   /* the name as the full report shows it */
        char link[4096];
        ssize_t n = S_ISLNK(st->st_mode) ? readlink(path, link, sizeof link - 1) : -1;
        buffer_puts(b, path);
        if (n >= 0) { link[n] = '\0'; buffer_printf(b, " -> %s", link); }
        break;
    }
    case 's': buffer_printf(b, "%lld", (long long)st->st_size); break;
    case 'a': buffer_printf(b, "%o", st->st_mode & 07777); break;
    case 'A': mode_text(st, mode); buffer_puts(b, mode); break;
    case 'f': buffer_printf(b, "%x", (unsigned)st->st_mode); break;
    case 'F': buffer_puts(b, type_text(st)); break;
    case 'u': buffer_printf(b, "%u", st->st_uid); break;
    case 'U': buffer_puts(b, user_name(t, st->st_uid)); break;
    case 'g': buffer_printf(b, "%u", st->st_gid); break;
    case 'G': buffer_puts(b, group_name(t, st->st_gid)); break;
    case 'h': buffer_printf(b, "%llu", link_count(t, path, st)); break;
    case 'i': buffer_printf(b, "%llu", (unsigned long long)st->st_ino); break;
    case 'd': case 'D': buffer_printf(b, "%llu", (unsigned long long)st->st_dev); break;
    case 'b': buffer_printf(b, "%llu", file_blocks(st)); break;
    case 'B': buffer_puts(b, "512"); break;
    case 'o': buffer_puts(b, "4096"); break;
    case 't': case 'T': buffer_puts(b, "0"); break;
    case 'm': buffer_puts(b, "/"); break;
    case 'x': date_format(b, "%Y-%m-%d %H:%M:%S.%N %z", st->st_atim, 0); break;
    case 'y': date_format(b, "%Y-%m-%d %H:%M:%S.%N %z", st->st_mtim, 0); break;
    case 'z': date_format(b, "%Y-%m-%d %H:%M:%S.%N %z", st->st_ctim, 0); break;
    case 'X': buffer_printf(b, "%lld", (long long)st->st_atim.tv_sec); break;
    case 'Y': buffer_printf(b, "%lld", (long long)st->st_mtim.tv_sec); break;
    case 'Z': buffer_printf(b, "%lld", (long long)st->st_ctim.tv_sec); break;
    case 'w': buffer_puts(b, "-"); break;
    case 'W': buffer_puts(b, "0"); break;
    default: buffer_putc(b, '?');
    }
}

/* %.3Y: seconds with that many digits after the point. */
static void put_fraction(buffer *b, int c, size_t digits, const struct stat *st) {
    moment when = c == 'X' ? st->st_atim : c == 'Y' ? st->st_mtim : st->st_ctim;
    if (digits) buffer_printf(b, ".%.*s", (int)digits, tool_format(b->t, "%09ld", (long)when.tv_nsec));
}

/* The escape of --printf that goes on at p; its last character. */
static const char *put_escape(tool *t, buffer *b, const char *p) {
    static const char from[] = "abefnrtv\\\"", to[] = "\a\b\033\f\n\r\t\v\\\"";
    const char *at = strchr(from, *p);
    int value = 0, n = 0;
    if (at) { buffer_putc(b, to[at - from]); return p; }
    if (*p >= '0' && *p <= '7') {
        for (; n < 3 && p[n] >= '0' && p[n] <= '7'; n++) value = value * 8 + p[n] - '0';
        buffer_putc(b, (char)value);
        return p + n - 1;
    }
    if (*p == 'x' && isxdigit((unsigned char)p[1])) {
        for (p++; n < 2 && isxdigit((unsigned char)p[n]); n++) {
            int c = tolower((unsigned char)p[n]);
            value = value * 16 + (c <= '9' ? c - '0' : c - 'a' + 10);
        }
        buffer_putc(b, (char)value);
        return p + n - 1;
    }
    tool_fail(t, 0, "warning: unrecognized escape '\\%c'", *p);
    buffer_putc(b, *p);
    return p;
}

static void put_format(tool *t, buffer *b, const char *p, int escapes, const char *path, const struct stat *st) {
    for (; *p; p++) {
        if (*p == '\\' && escapes && p[1]) {
            p = put_escape(t, b, p + 1);
        } else if (*p == '%' && p[1]) {
            int left = 0, zero = 0, width = 0, alternate = 0;
            for (p++; *p && strchr("-0#+ '", *p); p++) { left |= *p == '-'; zero |= *p == '0'; alternate |= *p == '#'; }
            for (; isdigit((unsigned char)*p); p++) if (width < 10000) width = width * 10 + *p - '0';
            size_t most = (size_t)-1;
            if (*p == '.' && strchr("XYZ", p[1])) { most = 9; p++; }
            else if (*p == '.')
                for (most = 0, p++; isdigit((unsigned char)*p); p++) if (most < 10000) most = most * 10 + (size_t)(*p - '0');
            if (*p == 'H' || *p == 'L') p++;
            if (*p == '%') { buffer_putc(b, '%'); continue; }
            if (!*p) break;
            buffer one = {.t = t};
            if (alternate && *p == 'a') buffer_putc(&one, '0');
            put_directive(t, &one, *p, path, st);
            if (strchr("XYZ", *p) && most <= 9) put_fraction(&one, *p, most, st);
            else if (one.n > most && strchr("nNAFUGxyzwm", *p)) one.n = most;
            if (!left) for (int i = (int)one.n; i < width; i++) buffer_putc(b, zero ? '0' : ' ');
            buffer_add(b, one.p, one.n);
            if (left) for (int i = (int)one.n; i < width; i++) buffer_putc(b, ' ');
        } else buffer_putc(b, *p);
    }
}

int tool_stat(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"format", 1, 'c'}, {"printf", 1, 'p'}, {"dereference", 0, 'L'}, {"file-system", 0, 'f'},
        {"terse", 0, 't'}, {"cached", 1, 128}, {0, 0, 0}};
    static const char full[]
        = "  File: %\001\n  Size: %-10s\tBlocks: %-10b IO Block: %-6o %F\nDevice: %d\tInode: %-11i Links: %h\nAccess: (%04a/%A)  "
          "Uid: (%5u/%8U)   Gid: (%5g/%8G)\nAccess: %x\nModify: %y\nChange: %z\n Birth: %w\n";
    const char *format = NULL;
    int escapes = 0, follow = 0, terse = 0, c, status = 0;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "c:Lft", longs)) != -1;) switch (c) {
        case 'c': format = o.arg; escapes = 0; break;
        case 'p': format = o.arg; escapes = 1; break;
        case 'L': follow = 1; break;
        case 't': terse = 1; break;
        case 128: break;
        case 'f': break;
        default: return 1;
    }
    if (o.index >= argc) { tool_fail(t, 1, "missing operand"); return tool_usage(t, 1); }
    for (int i = o.index; i < argc; i++) {
        struct stat st;
        if ((follow ? path_stat(argv[i], &st) : path_lstat(argv[i], &st)) < 0) {
            status = tool_fail_errno(t, 1, "cannot statx %s", tool_quote(t, argv[i]));
            continue;
        }
        buffer b = {.t = t};
        put_format(t, &b,
            format  ? format
            : terse ? "%n %s %b %f %u %g %D %i %h %t %T %X %Y %Z %W %o\n"
                    : full,
            escapes, argv[i], &st);
        if (format && !escapes) buffer_putc(&b, '\n');
        if (io_write(t->out, b.p, b.n) < 0) return 1;
    }
    return status;
}
