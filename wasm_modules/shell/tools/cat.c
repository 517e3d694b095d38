/* cat.c - cat and tac: copy files to the output, forwards or record by record backwards. */
#include "buffer.h"
#include "patterns.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

typedef struct { int number, number_nonblank, squeeze, ends, tabs, marks; unsigned long line; int at_start, blanks; } cat_state;

/* One byte in the notation of -v: ^X, M-x. */
static void show(buffer *b, unsigned char c, int tabs) {
    if (c >= 128) {
        buffer_puts(b, "M-");
        c -= 128;
        if (c >= 32 && c < 127) {
            buffer_putc(b, c);
            return;
        }
        if (c != 127) {
            buffer_putc(b, '^');
            buffer_putc(b, c + 64);
            return;
        }
    }
    if (c == '\t' && !tabs) buffer_putc(b, c);
    else if (c == 127) buffer_puts(b, "^?");
    else if (c < 32) { buffer_putc(b, '^'); buffer_putc(b, c + 64); }
    else buffer_putc(b, c);
}

static int copy_plain(tool *t, io *from) {
    char block[16384];
    ssize_t n = 0;
    while (!tool_time_is_up() && (n = io_read(from, block, sizeof block)) > 0)
        if (io_write(t->out, block, (size_t)n) < 0) return -1;
    return n < 0 ? -1 : 0;
}

static int copy_lines(tool *t, io *from, cat_state *s) {
    const char *line;
    ssize_t n;
    buffer b = {.t = t};
    while ((n = io_line(from, &line, '\n')) > 0) {
        int ended = line[n - 1] == '\n', blank = ended && n == 1 && s->at_start;
        s->blanks = blank ? s->blanks + 1 : 0;
        if (blank && s->squeeze && s->blanks > 1) continue;
        b.n = 0;
        if (s->at_start && (s->number_nonblank ? !blank : s->number)) buffer_printf(&b, "%6lu\t", ++s->line);
        size_t len = (size_t)n - (size_t)ended;
        if (s->marks || s->tabs) {
            for (size_t i = 0; i < len; i++) {
                if (s->marks) show(&b, (unsigned char)line[i], s->tabs);
                else if (line[i] == '\t') buffer_puts(&b, "^I");
                else buffer_putc(&b, line[i]);
            }
        } else if (s->ends && len && ended && line[len - 1] == '\r') {
            buffer_add(&b, line, len - 1);
            buffer_puts(&b, "^M");
        } else {
            buffer_add(&b, line, len);
        }
        if (ended) buffer_puts(&b, s->ends ? "$\n" : "\n");
        s->at_start = ended;
        if (io_write(t->out, b.p, b.n) < 0) return -1;
    }
    buffer_free(&b);
    return io_failed(from) ? -1 : 0;
}

int tool_cat(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"number", 0, 'n'}, {"number-nonblank", 0, 'b'}, {"squeeze-blank", 0, 's'},
        {"show-all", 0, 'A'}, {"show-ends", 0, 'E'}, {"show-tabs", 0, 'T'}, {"show-nonprinting", 0, 'v'}, {0, 0, 0}};
    cat_state s = {.at_start = 1};
    tool_opts o;
    int c, status = 0;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "nbsAETvetu", longs)) != -1;) switch (c) {
        case 'n': s.number = 1; break;
        case 'b': s.number_nonblank = 1; break;
        case 's': s.squeeze = 1; break;
        case 'A': s.marks = s.ends = s.tabs = 1; break;
        case 'E': s.ends = 1; break;
        case 'T': s.tabs = 1; break;
        case 'v': s.marks = 1; break;
        case 'e': s.marks = s.ends = 1; break;
        case 't': s.marks = s.tabs = 1; break;
        case 'u': break;
        default: return 1;
    }
    int plain = !(s.number || s.number_nonblank || s.squeeze || s.ends || s.tabs || s.marks);
    static char *standard[] = {"-"};
    char **files = o.index < argc ? argv + o.index : standard;
    int count = o.index < argc ? argc - o.index : 1;
    for (int i = 0; i < count; i++) {
        struct stat st;
        if (strcmp(files[i], "-") && !path_stat(files[i], &st) && S_ISDIR(st.st_mode)) {
            status = tool_fail(t, 1, "%s: Is a directory", files[i]);
            continue;
        }
        io *from = tool_open(t, files[i], 1, &status);
        if (!from) continue;
        int failed = plain ? copy_plain(t, from) : copy_lines(t, from, &s);
        if (io_failed(t->out)) { io_unref(from); return 1; }
        if (failed) { errno = io_failed(from); status = tool_fail_errno(t, 1, "%s", files[i]); }
        io_unref(from);
    }
    return status;
}

/* Records that end (begin, with before) where the pattern matches, last first. As GNU's, it looks backwards from the end for the
 * last place where the pattern matches, so that [0-9]* takes one digit at a time. */
static int reverse_by_regex(tool *t, const buffer *b, regex *re, int before) {
    size_t end = b->n, limit = b->n;                    /* matches may not reach into the separator found last */
    regex_span m;
    for (size_t at = b->n; at-- > 0;) {
        if (regex_match_at(re, b->p, limit, at, &m, 1) <= 0 || m.end == m.start) continue;
        limit = at;
        size_t cut = (size_t)(before ? m.start : m.end);
        if (end > cut && io_write(t->out, b->p + cut, end - cut) < 0) return -1;
        end = cut;
    }
    return end ? io_write(t->out, b->p, end) : 0;
}

int tool_tac(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"before", 0, 'b'}, {"separator", 1, 's'}, {"regex", 0, 'r'}, {0, 0, 0}};
    const char *separator = "\n";
    int before = 0, is_regex = 0, c, status = 0;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "bs:r", longs)) != -1;) switch (c) {
        case 'b': before = 1; break;
        case 's': separator = o.arg; break;
        case 'r': is_regex = 1; break;
        default: return 1;
    }
    const char *error;
    regex *re = is_regex ? pattern_compile(t, separator, strlen(separator), 0, &error) : NULL;
    if (is_regex && !re) return tool_fail(t, 1, "%s", error);
    size_t width = strlen(separator);
    if (!width) { separator = ""; width = 1; }
    static char *standard[] = {"-"};
    char **files = o.index < argc ? argv + o.index : standard;
    int count = o.index < argc ? argc - o.index : 1;
    for (int i = 0; i < count; i++) {
        io *from = strcmp(files[i], "-") ? io_open(files[i], O_RDONLY, 0) : io_ref(t->in);
        if (!from) { status = tool_fail_errno(t, 1, "failed to open %s for reading", tool_quote(t, files[i])); continue; }
        buffer b = {.t = t};
        if (buffer_read_all(&b, from) < 0) {
            errno = io_failed(from);
            status = tool_fail_errno(t, 1, "%s: read error", files[i]);
        }
        io_unref(from);
        if (re) {
            if (reverse_by_regex(t, &b, re, before) < 0) return 1;
            buffer_free(&b);
            continue;
        }
        size_t end = b.n, at = b.n;
        /* walk back over the separators; each record goes out with its own (after it, or before it with -b) */
        while (at > 0) {
            at--;
            if (at + width > b.n || memcmp(b.p + at, separator, width)) continue;
            size_t cut = before ? at : at + width;
            if (cut < end || before) { if (io_write(t->out, b.p + cut, end - cut) < 0) return 1; }
            end = cut;
            if (at == 0) break;
        }
        if (end && io_write(t->out, b.p, end) < 0) return 1;
        buffer_free(&b);
    }
    return status;
}
