/* wc.c - counts lines, words, characters, bytes, and the widest line. */
#include "inputs.h"
#include "../utf8.h"
#include <errno.h>
#include <string.h>
#include <stdio.h>
#include <sys/stat.h>

typedef struct { unsigned long long lines, words, chars, bytes, longest; } counts;
enum { LINES = 1, WORDS = 2, CHARS = 4, BYTES = 8, LONGEST = 16 };

typedef struct { counts n; int in_word; unsigned long long column; char left[4]; size_t left_n; } scan;

static void count_char(scan *s, int c) {
    if (c == '\n' || c == '\r' || c == '\f') {
        if (c == '\n') s->n.lines++;
        if (s->column > s->n.longest) s->n.longest = s->column;
        s->column = 0;
        s->in_word = 0;
    } else if (c == '\t') {
        s->column += 8 - s->column % 8;
        s->in_word = 0;
    } else if (c == ' ' || c == '\v'
               || (c >= 128 && !utf8_bytes && (utf8_is_space(c) || c == 0xA0 || c == 0x2007 || c == 0x202F || c == 0x2060))) {
        int w = utf8_width(c);
        if (w > 0) s->column += (unsigned)w;
        s->in_word = 0;
    } else {
        int w = utf8_width(c);
        if (w > 0) s->column += (unsigned)w;
        if (c >= 0 && w < 0) return;
        if (!s->in_word) s->n.words++;
        s->in_word = 1;
    }
}

/* Counts the characters of p[0..n); returns how many bytes at the end belong to a character that is not complete yet. */
static size_t count_text(scan *s, const char *p, size_t n, int last) {
    size_t i = 0;
    while (i < n) {
        int c = (unsigned char)p[i], len = 1;
        if (c >= 128) {
            len = utf8_decode(p + i, n - i, &c);
            if (c < 0 && !last && n - i < 4) return n - i;
        }
        if (c >= 0) s->n.chars++;
        if (c >= 0) count_char(s, c);
        i += (size_t)len;
    }
    return 0;
}

static int count_stream(io *from, counts *total, int what) {
    scan s = {0};
    char block[16388];
    size_t kept = 0;
    ssize_t n;
    int text = what & (WORDS | CHARS | LONGEST);
    while ((n = io_read(from, block + kept, 16384)) > 0) {
        s.n.bytes += (unsigned long long)n;
        if (text) {
            size_t have = kept + (size_t)n;
            kept = count_text(&s, block, have, 0);
            memmove(block, block + have - kept, kept);
        } else if (what & LINES) {
            for (const char *p = block, *end = block + n; (p = memchr(p, '\n', (size_t)(end - p))); p++) s.n.lines++;
        }
    }
    if (kept) count_text(&s, block, kept, 1);
    if (s.column > s.n.longest) s.n.longest = s.column;
    *total = s.n;
    return n < 0 ? -1 : 0;
}

static int print_counts(tool *t, const counts *n, int what, int width, const char *name) {
    const char *gap = "";
    const unsigned long long values[] = {n->lines, n->words, n->chars, n->bytes, n->longest};
    for (int i = 0; i < 5; i++) {
        if (!(what & 1 << i)) continue;
        if (io_printf(t->out, "%s%*llu", gap, width, values[i]) < 0) return -1;
        gap = " ";
    }
    return io_printf(t->out, name ? " %s\n" : "\n", name);
}

/* GNU's column width: of the sum of the sizes when all are regular files, 7 when one is not, 1 for a single number. */
static int column_width(tool *t, char **files, int count, int what) {
    int single = (what & (what - 1)) == 0;
    if (count == 1 && single) return 1;
    unsigned long long total = 0;
    int minimum = 1;
    for (int i = 0; i < count; i++) {
        struct stat st;
        int ok
            = strcmp(files[i], "-") ? path_stat(files[i], &st) == 0 : io_fileno(t->in) >= 0 && fstat(io_fileno(t->in), &st) == 0;
        if (ok && S_ISREG(st.st_mode)) total += (unsigned long long)st.st_size;
        else if (ok || !strcmp(files[i], "-")) minimum = 7;
    }
    int width = 1;
    for (; total > 9; total /= 10) width++;
    return width < minimum ? minimum : width;
}

int tool_wc(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"lines", 0, 'l'}, {"words", 0, 'w'}, {"chars", 0, 'm'}, {"bytes", 0, 'c'},
        {"max-line-length", 0, 'L'}, {"files0-from", 1, '0'}, {"total", 1, 'T'}, {0, 0, 0}};
    int what = 0, c, status = 0, when = 'a', listed = 0;
    char **list = NULL;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "lwmcL", longs)) != -1;) switch (c) {
        case 'l': what |= LINES; break;
        case 'w': what |= WORDS; break;
        case 'm': what |= CHARS; break;
        case 'c': what |= BYTES; break;
        case 'L': what |= LONGEST; break;
        case '0': if (!(list = input_names(t, o.arg, &listed))) return 1; break;
        case 'T': when = o.arg[0] == 'a' && o.arg[1] == 'l' ? 'y' : *o.arg == 'o' ? 'o' : *o.arg == 'n' ? 'n' : 'a'; break;
        default: return 1;
    }
    if (!what) what = LINES | WORDS | BYTES;
    if (list) { argv = list; argc = listed; o.index = 0; }
    if (o.index >= argc) {
        counts n;
        static char *standard[] = {"-"};
        if (count_stream(t->in, &n, what) < 0) return tool_fail(t, 1, "read error");
        print_counts(t, &n, what, column_width(t, standard, 1, what), NULL);
        return 0;
    }
    counts total = {0};
    int width = column_width(t, argv + o.index, argc - o.index, what);
    for (int i = o.index; i < argc; i++) {
        struct stat st;
        counts n = {0};
        io *from = tool_open(t, argv[i], 1, &status);
        if (!from) continue;
        if (strcmp(argv[i], "-") && !path_stat(argv[i], &st) && S_ISDIR(st.st_mode)) {
            status = tool_fail(t, 1, "%s: Is a directory", argv[i]);
        } else if (count_stream(from, &n, what) < 0) {
            errno = io_failed(from);
            status = tool_fail_errno(t, 1, "%s", argv[i]);
        }
        io_unref(from);
        if (when != 'o' && print_counts(t, &n, what, width, argv[i]) < 0) return 1;
        total.lines += n.lines; total.words += n.words; total.chars += n.chars; total.bytes += n.bytes;
        if (n.longest > total.longest) total.longest = n.longest;
    }
    if (when == 'o') print_counts(t, &total, what, 1, NULL);
    else if (when == 'y' || (when == 'a' && argc - o.index > 1)) print_counts(t, &total, what, width, "total");
    return status;
}
