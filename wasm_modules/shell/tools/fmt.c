/* fmt.c - fmt: refill paragraphs. Columns count bytes, as GNU's do. */
#include "buffer.h"
#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* TAG_INDENT: of a tagged paragraph with a single line, from its second on */
enum { MOST_BLANKS = 100, WIDEST = 2500, TAG_INDENT = 3 };

typedef struct {
    size_t width, goal;
    int split_only, uniform, crown, tagged, tabs;       /* tabs: the input has some */
    const char *prefix;
    span_list words;
    size_t first_indent, indent, before, lines;           /* lines: read of this paragraph so far */
} fmt_state;

static size_t gap_before(span word) { return (unsigned char)word.p[-1]; }

/* Blanks from column at on, with tabs where the input had some; returns the column reached. */
static size_t put_gap(tool *t, const fmt_state *s, size_t at, size_t blanks) {
    size_t to = at + blanks, stop = to / 8 * 8;
    if (s->tabs && at + 1 < stop) for (; at < stop; at = at / 8 * 8 + 8) io_putc(t->out, '\t');
    for (; at < to; at++) io_putc(t->out, ' ');
    return to;
}

/* A mark ends a sentence also before what closes after it, as in ." and .) */
static int ends_sentence(span w) {
    size_t n = w.n;
    while (n > 1 && strchr(")]'\"", w.p[n - 1])) n--;
    return n && strchr(".?!", w.p[n - 1]);
}

/* Whether a sentence ends with word i: by its mark and the space after it, or because the paragraph does. */
static int is_final(const fmt_state *s, size_t i) {
    return i + 1 == s->words.n || (ends_sentence(s->words.at[i]) && s->words.at[i + 1].p[-1] > 1);
}

/* What breaking before word i costs, after GNU's table: sentence ends are good places, widows and orphans bad ones. */
static double break_cost(const fmt_state *s, size_t i) {
    const span *w = s->words.at;
    double cost = 70.0 * 70;
    if (i > 0) {
        int last = w[i - 1].n ? w[i - 1].p[w[i - 1].n - 1] : ' ';
        if (ends_sentence(w[i - 1])) { if (w[i].p[-1] > 1) cost -= 50.0 * 50; else cost += 600.0 * 600; }
        else if (ispunct((unsigned char)last)) cost -= 40.0 * 40;
        else if (i > 1 && ends_sentence(w[i - 2]) && w[i - 1].p[-1] > 1) cost += 200.0 * 200 / (double)(w[i - 1].n + 2);
    }
    if (strchr("(['\"`", *w[i].p)) cost -= 40.0 * 40;
    else if (is_final(s, i)) cost += 150.0 * 150 / (double)(w[i].n + 2);
    return cost;
}

/* Chooses the breaks of the whole paragraph at once, by least total cost: lines near the goal, and like their neighbours. */
static int flush_paragraph(tool *t, fmt_state *s) {
    size_t n = s->words.n;
    if (!n) return 0;
    if (s->tagged && s->lines == 1 && s->indent == s->first_indent) s->indent = s->first_indent ? 0 : TAG_INDENT;
    double *best = tool_alloc(t, (n + 1) * sizeof *best);
    size_t *next = tool_alloc(t, (n + 1) * sizeof *next), *length = tool_alloc(t, (n + 1) * sizeof *length);
    for (size_t i = n; i-- > 0;) {
        size_t len = (i ? s->indent : s->first_indent) + s->words.at[i].n;
        best[i] = -1;
        for (size_t j = i + 1;; j++) {
            double cost = best[j];
            if (j < n) {
                double gap = ((double)s->goal - (double)len) * 10, ragged = ((double)len - (double)length[j]) * 10;
                cost += gap * gap;
                if (next[j] < n) cost += ragged * ragged / 2;      /* the last line may be short */
            }
            if (best[i] < 0 || cost < best[i]) { best[i] = cost; next[i] = j; length[i] = len; }
            if (j >= n) break;
            len += gap_before(s->words.at[j]) + s->words.at[j].n;
            if (len >= s->width) break;
        }
        best[i] += break_cost(s, i);
        if (best[i] < 0) best[i] = 0;
    }
    for (size_t i = 0; i < n; i = next[i]) {
        size_t margin = i ? s->indent : s->first_indent, k = 0;
        if (s->prefix) {
            for (; k < s->before; k++) io_putc(t->out, ' ');
            io_puts(t->out, s->prefix);
            k += strlen(s->prefix);
        }
        if (k < margin) k = put_gap(t, s, k, margin - k);
        for (size_t j = i; j < next[i]; j++) {
            if (j > i) k = put_gap(t, s, k, gap_before(s->words.at[j]));
            io_write(t->out, s->words.at[j].p, s->words.at[j].n);
            k += s->words.at[j].n;
        }
        if (io_putc(t->out, '\n') < 0) return 1;
    }
    s->words.n = s->lines = 0;
    tool_free(t, best);
    tool_free(t, next);
    tool_free(t, length);
    return 0;
}

/* Whether a line with this indent goes on with the paragraph begun. The second line of a crown (-c) sets the indent of those that
 * follow; that of a tagged paragraph (-t) too, but only when it differs from the first's. */
static int continues(fmt_state *s, size_t indent) {
    if (s->split_only) return 0;
    if (s->lines == 1 && (s->crown || (s->tagged && indent != s->first_indent))) {
        s->indent = indent;
        return 1;
    }
    return s->lines == 1 && s->tagged ? 0 : indent == s->indent;
}

static int fmt_stream(tool *t, io *from, fmt_state *s) {
    const char *line;
    ssize_t got;
    while ((got = io_line(from, &line, '\n')) > 0) {
        size_t n = (size_t)got - (line[got - 1] == '\n'), i = 0, indent = 0;
        for (; i < n && (line[i] == ' ' || line[i] == '\t'); i++) {
            s->tabs |= line[i] == '\t';
            indent = line[i] == '\t' ? indent + 8 - indent % 8 : indent + 1;
        }
        if (s->prefix) {
            size_t length = strlen(s->prefix), begin = i;
            if (n - i < length || memcmp(line + i, s->prefix, length)) {
                if (flush_paragraph(t, s) || io_write(t->out, line, n) < 0 || io_putc(t->out, '\n') < 0) return 1;
                continue;
            }
            s->before = indent;
            for (i += length; i < n && (line[i] == ' ' || line[i] == '\t'); i++) {}
            indent += i - begin;
        }
        if (i == n) {
            if (s->prefix) {
                if (flush_paragraph(t, s)) return 1;
                for (size_t k = 0; k < s->before; k++) io_putc(t->out, ' ');
                io_puts(t->out, s->prefix);
                if (io_putc(t->out, '\n') < 0) return 1;
                continue;
            }
            if (flush_paragraph(t, s) || io_putc(t->out, '\n') < 0) return 1;
            continue;
        }
        if (s->words.n && !continues(s, indent) && flush_paragraph(t, s)) return 1;
        if (!s->words.n) {
            s->first_indent = indent;
            if (!s->tagged) s->indent = indent;
        }
        s->lines++;
        size_t first = i, column = indent, blanks = 0;
        while (i < n) {
            size_t start = i;
            while (i < n && line[i] != ' ' && line[i] != '\t') i++;
            char *w = tool_alloc(t, i - start + 2);
            memcpy(w + 1, line + start, i - start);
            /* the byte before a word says how far it stands from the last: as read, or as a line end or -u would have it */
            w[0] = (char)(blanks < MOST_BLANKS ? blanks : MOST_BLANKS);
            if (s->words.n && (s->uniform || start == first)) {
                int wide = ends_sentence(s->words.at[s->words.n - 1]) && (start == first || blanks > 1);
                w[0] = wide ? 2 : 1;
            }
            span_add(t, &s->words, w + 1, i - start);
            column += i - start;
            size_t from_column = column;
            for (; i < n && (line[i] == ' ' || line[i] == '\t'); i++) {
                s->tabs |= line[i] == '\t';
                column = line[i] == '\t' ? column + 8 - column % 8 : column + 1;
            }
            blanks = column - from_column;
        }
        if (s->split_only && flush_paragraph(t, s)) return 1;
    }
    return flush_paragraph(t, s);
}

int tool_fmt(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"width", 1, 'w'}, {"goal", 1, 'g'}, {"split-only", 0, 's'}, {"uniform-spacing", 0, 'u'},
        {"crown-margin", 0, 'c'}, {"tagged-paragraph", 0, 't'}, {"prefix", 1, 'p'}, {0, 0, 0}};
    fmt_state s = {.width = 75};
    tool_opts o;
    int c;
    if (argc > 1 && argv[1][0] == '-' && isdigit((unsigned char)argv[1][1])) argv[1] = tool_format(t, "-w%s", argv[1] + 1);
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "w:g:suctp:", longs)) != -1;) switch (c) {
        case 'w':
            if (!isdigit((unsigned char)*o.arg)) return tool_fail(t, 1, "invalid width: %s", tool_cite(t, o.arg));
            s.width = strtoul(o.arg, NULL, 10);
            if (s.width > WIDEST) return tool_fail(t, 1, "invalid width: %s: Numerical result out of range", tool_cite(t, o.arg));
            break;
        case 'g': s.goal = strtoul(o.arg, NULL, 10); break;
        case 's': s.split_only = 1; break;
        case 'u': s.uniform = 1; break;
        case 'p': for (s.prefix = o.arg; *s.prefix == ' '; s.prefix++) {} break;
        case 'c': s.crown = 1; break;
        case 't': s.tagged = 1; break;
        default: return 1;
    }
    if (!s.goal) s.goal = s.width * (2 * (100 - 7) + 1) / 200;
    if (o.index >= argc) return fmt_stream(t, t->in, &s);
    int status = 0;
    for (int i = o.index; i < argc && !io_failed(t->out); i++) {
        io *from = strcmp(argv[i], "-") ? io_open(argv[i], O_RDONLY, 0) : io_ref(t->in);
        if (!from) { status = tool_fail_errno(t, 1, "cannot open %s for reading", tool_quote(t, argv[i])); continue; }
        struct stat st;
        if (strcmp(argv[i], "-") && path_stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode)) status = tool_fail(t, 1, "read error");
        else if (fmt_stream(t, from, &s)) status = 1;
        io_unref(from);
    }
    return status;
}
