/* pr.c - pr: text in pages with a header, in columns, or several files side by side. Columns are padded with tabs, as GNU's are. */
#include "buffer.h"
#include "dates.h"
#include "inputs.h"
#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { EXTREMITIES = 10, TAB = 8 };                       /* lines a page's header and trailer take */

typedef struct {
    tool *t;
    int bare, across, number, digits, number_sep, double_space, merge, join, form_feed, expand, truncate, visible, tabs_out;
    size_t columns, width, margin, length, first_page, start, expand_to, tab_out;
    const char *separator, *header, *date_format;
    buffer out;
    char tab_in;                                          /* what -e takes for a tab */
    size_t at, pending;                                   /* the column, and blanks not written yet */
} pr_state;

typedef struct { span_list lines; const char *name; moment when; } pr_file;

static void flush_blanks(pr_state *s) {
    size_t goal = s->at + s->pending, tabs = s->tabs_out || (s->columns > 1 && !s->join), tab = s->tab_out;
    while (tabs && goal - s->at > 1 && (s->at / tab + 1) * tab <= goal) {
        buffer_putc(&s->out, '\t');
        s->at = (s->at / tab + 1) * tab;
    }
    for (; s->at < goal; s->at++) buffer_putc(&s->out, ' ');
    s->pending = 0;
}

static void put_char(pr_state *s, char c) {
    if (c == ' ' && (s->tabs_out || (s->columns > 1 && !s->join))) { s->pending++; return; }
    if (s->pending) flush_blanks(s);
    buffer_putc(&s->out, c);
    s->at++;
}

static void put_text(pr_state *s, const char *p, size_t n) { for (size_t i = 0; i < n; i++) put_char(s, p[i]); }

/* In columns the tab after a number is as many blanks as it would take after the number alone. */
static void put_number(pr_state *s, size_t number) {
    char *text = tool_format(s->t, "%*zu", s->digits, number);
    size_t n = strlen(text), shown = (size_t)s->digits;
    put_text(s, text + (n > shown ? n - shown : 0), n > shown ? shown : n);
    if (s->number_sep != '\t' || s->columns == 1) { put_char(s, (char)s->number_sep); return; }
    for (size_t k = TAB - shown % TAB; k > 0; k--) put_char(s, ' ');
}

static size_t number_width(const pr_state *s) {
    if (!s->number) return 0;
    return (size_t)s->digits + (s->number_sep == '\t' ? TAB - (size_t)s->digits % TAB : 1);
}

/* One line of text in a column of the given width; 0: as long as it is. */
static void put_line(pr_state *s, span line, size_t width) {
    size_t column = 0;
    for (size_t i = 0; i < line.n && (!width || column < width); i++) {
        unsigned char c = (unsigned char)line.p[i];
        if ((c == '\t' || (s->expand && c == (unsigned char)s->tab_in)) && (s->expand || (s->columns > 1 && !s->join))) {
            size_t to = (column / s->expand_to + 1) * s->expand_to;
            for (; column < to && (!width || column < width); column++) put_char(s, ' ');
            continue;
        }
        char plain[2] = {(char)c, 0};
        const char *shown = c >= 32 && c != 127 ? plain
                            : s->visible == 'v' ? tool_format(s->t, "\\%03o", c)
                            : s->visible == 'c' ? tool_format(s->t, "^%c", c ^ 64)
                                                : plain;
        put_text(s, shown, strlen(shown));
        column += strlen(shown);
    }
}

/* Cell c of a row: what stands before it, its number, and its text. */
static void put_cell(pr_state *s, size_t c, size_t width, span line, size_t number) {
    size_t gap = strlen(s->separator);
    if (c && !s->join) {
        size_t to = s->margin + c * (width + gap) - gap;
        if (to > s->at + s->pending) s->pending = to - s->at;
    }
    if (c) { put_text(s, s->separator, gap); if (s->pending) flush_blanks(s); }
    if (number) put_number(s, number);
    size_t room = s->columns > 1 && !s->join ? width : s->truncate ? s->width : 0, taken = number ? number_width(s) : 0;
    if (s->merge && c == 0 && s->number) taken = 0;
    put_line(s, line, room > taken ? room - taken : room);
}

static void begin_row(pr_state *s) {
    for (size_t i = 0; i < s->margin; i++) buffer_putc(&s->out, ' ');
    s->at = s->margin;
    s->pending = 0;
}

static void end_row(pr_state *s) { buffer_puts(&s->out, s->double_space ? "\n\n" : "\n"); }

static void put_header(pr_state *s, const pr_file *f, size_t page) {
    buffer date = {.t = s->t};
    date_format(&date, s->date_format ? s->date_format : "%Y-%m-%d %H:%M", s->merge ? moment_now() : f->when, 0);
    const char *title = s->header ? s->header : s->merge ? "" : f->name, *number = tool_format(s->t, "Page %zu", page);
    size_t used = date.n + strlen(title) + strlen(number), left = s->width > used ? s->width - used : 0;
    buffer_printf(&s->out, "\n\n%*s%s%*s%s%*s%s\n\n\n", (int)s->margin, "", date.p ? date.p : "", (int)(left / 2), " ", title,
        (int)(left - left / 2), " ", number);
}

/* The rows of one page of lines first..first+count in columns; the last page's columns are of like length. */
static void put_columns(pr_state *s, const span_list *lines, size_t first, size_t count, size_t rows_full) {
    size_t n = s->columns, width = n > 1 ? (s->width - (n - 1) * strlen(s->separator)) / n : s->width;
    size_t even = count / n, more = count % n, rows = s->across || n == 1 ? (count + n - 1) / n : even + (more > 0);
    if (rows > rows_full) rows = rows_full;
    for (size_t r = 0; r < rows; r++) {
        begin_row(s);
        for (size_t c = 0; c < n; c++) {
            size_t height = even + (c < more), before = c * even + (c < more ? c : more), k = s->across ? r * n + c : before + r;
            if (s->across ? k >= count : r >= height) break;
            put_cell(s, c, width, lines->at[first + k], s->number ? s->start + first + k : 0);
        }
        end_row(s);
    }
}

static void put_merged(pr_state *s, const pr_file *files, size_t first, size_t rows) {
    size_t n = s->columns, numbers = number_width(s), gap = strlen(s->separator), width = (s->width - numbers - (n - 1) * gap) / n;
    for (size_t r = 0; r < rows; r++) {
        int any = 0;
        for (size_t c = 0; c < n; c++) any |= first + r < files[c].lines.n;
        if (!any) return;
        begin_row(s);
        if (s->number) put_number(s, s->start + first + r);
        size_t margin = s->margin;
        s->margin += numbers;
        for (size_t c = 0; c < n; c++) {
            int there = first + r < files[c].lines.n;
            put_cell(s, c, width, there ? files[c].lines.at[first + r] : (span){"", 0}, 0);
        }
        s->margin = margin;
        end_row(s);
    }
}

/* All pages of a file, or of the files side by side. */
static int put_pages(pr_state *s, const pr_file *files, size_t count) {
    int plain = s->bare || s->length <= EXTREMITIES;
    size_t body = plain ? s->length : s->length - EXTREMITIES, total = 0, page = 0, per = s->merge ? 1 : s->columns;
    for (size_t i = 0; i < count; i++) if (files[i].lines.n > total) total = files[i].lines.n;
    if (s->double_space) body = body / 2 ? body / 2 : 1;
    if (s->bare && per == 1 && s->first_page <= 1) body = total ? total : 1;
    for (size_t first = 0; first < total; first += body * per) {
        size_t some = total - first < body * per ? total - first : body * per, begin = s->out.n, rows = 0;
        if (++page < s->first_page) continue;
        if (!plain) put_header(s, &files[0], page);
        if (s->merge) put_merged(s, files, first, some);
        else put_columns(s, &files[0].lines, first, some, body);
        if (!plain && s->form_feed) buffer_putc(&s->out, '\f');
        for (size_t i = begin; i < s->out.n; i++) rows += s->out.p[i] == '\n';
        for (; !plain && !s->form_feed && rows < s->length; rows++) buffer_putc(&s->out, '\n');
    }
    int failed = s->out.n && io_write(s->t->out, s->out.p, s->out.n) < 0;
    s->out.n = 0;
    return failed;
}

static int read_file(pr_state *s, const char *name, pr_file *f, int *status) {
    buffer text = {.t = s->t};
    struct stat st;
    io *from = input_open(s->t, name, 1, status);
    if (!from) return -1;
    buffer_read_all(&text, from);
    io_unref(from);
    int standard = !strcmp(name, "-");
    *f = (pr_file){.name = standard ? "" : name, .when = moment_now()};
    if (!standard && path_stat(name, &st) == 0) f->when = st.st_mtim;
    if (text.n) span_split(s->t, &f->lines, text.p, text.n, '\n');
    return 0;
}

static void take_number(pr_state *s, const char *arg) {
    s->number = 1;
    if (arg && *arg && !isdigit((unsigned char)*arg)) s->number_sep = *arg++;
    if (arg && *arg) s->digits = atoi(arg);
}

/* [CHARACTER][WIDTH], of -e and -i. */
static void tab_argument(const char *text, char *character, size_t *width) {
    if (!isdigit((unsigned char)*text)) { if (character) *character = *text; text++; }
    if (isdigit((unsigned char)*text)) *width = strtoul(text, NULL, 10);
}

static int take_options(pr_state *s, tool_opts *o) {
    static const tool_long longs[] = {{"omit-header", 0, 't'}, {"omit-pagination", 0, 'T'}, {"across", 0, 'a'},
        {"columns", 1, 'k'}, {"number-lines", 2, 'n'}, {"first-line-number", 1, 'N'}, {"indent", 1, 'o'}, {"width", 1, 'w'},
        {"page-width", 1, 'W'}, {"length", 1, 'l'}, {"header", 1, 'h'}, {"separator", 2, 's'}, {"sep-string", 2, 'S'},
        {"double-space", 0, 'd'}, {"merge", 0, 'm'}, {"join-lines", 0, 'J'}, {"form-feed", 0, 'F'}, {"date-format", 1, 'D'},
        {"expand-tabs", 2, 'e'}, {"show-control-chars", 0, 'c'}, {"show-nonprinting", 0, 'v'}, {"pages", 1, 'p'},
        {"no-file-warnings", 0, 'r'}, {0, 0, 0}};
    size_t digits = 0;
    int c, sized = 0, separated = 0;
    while ((c = tool_opts_next(s->t, o, "tTabdmJFfn::N:o:w:W:l:h:D:s::S::e::i::vcr0123456789", longs)) != -1) {
        if (c < '0' || c > '9') digits = 0;               /* -1 -2 is -12, as -12 is */
        switch (c) {
        case 't': case 'T': s->bare = 1; break;
        case 'a': s->across = 1; break;
        case 'd': s->double_space = 1; break;
        case 'm': s->merge = 1; break;
        case 'J': s->join = 1; break;
        case 'F': case 'f': s->form_feed = 1; break;
        case 'k': s->columns = strtoul(o->arg, NULL, 10); break;
        case 'n': take_number(s, o->arg); break;
        case 'N': s->start = strtoul(o->arg, NULL, 10); break;
        case 'o': s->margin = strtoul(o->arg, NULL, 10); break;
        case 'w': s->width = strtoul(o->arg, NULL, 10); sized = 1; break;
        case 'W': s->width = strtoul(o->arg, NULL, 10); s->truncate = 1; break;
        case 'l': s->length = strtoul(o->arg, NULL, 10); break;
        case 'h': s->header = o->arg; break;
        case 'D': s->date_format = o->arg; break;
        case 's': separated = 1; s->separator = o->arg ? tool_strndup(s->t, o->arg, 1) : "\t"; break;
        case 'S': s->separator = o->arg ? o->arg : ""; break;
        case 'e':
            s->expand = 1;
            if (o->arg) tab_argument(o->arg, &s->tab_in, &s->expand_to);
            break;
        case 'v': case 'c': s->visible = c; break;
        case 'p': s->first_page = strtoul(o->arg, NULL, 10); break;
        case 'i':
            s->tabs_out = 1;
            if (o->arg) tab_argument(o->arg, NULL, &s->tab_out);
            break;
        case 'b': case 'r': break;
        case '?': return 1;
        default: s->columns = digits = digits * 10 + (size_t)(c - '0');
        }
    }
    if (separated && !sized) s->join = 1;
    if (!s->separator) s->separator = s->join ? "\t" : " ";
    return 0;
}

int tool_pr(tool *t, int argc, char **argv) {
    pr_state s = {.t = t, .columns = 1, .width = 72, .length = 66, .digits = 5, .number_sep = '\t', .start = 1, .first_page = 1,
        .expand_to = TAB, .tab_in = '\t', .tab_out = TAB, .out = {.t = t}};
    static char *standard[] = {"-"};
    tool_opts o;
    int status = 0;
    tool_opts_start(&o, argc, argv);
    if (take_options(&s, &o)) return 1;
    if (o.index < argc && argv[o.index][0] == '+' && isdigit((unsigned char)argv[o.index][1]))
        s.first_page = strtoul(argv[o.index++] + 1, NULL, 10);
    char **names = o.index < argc ? argv + o.index : standard;
    size_t count = o.index < argc ? (size_t)(argc - o.index) : 1, opened = 0;
    pr_file *files = tool_alloc(t, (count + 1) * sizeof *files);
    for (size_t i = 0; i < count; i++) opened += read_file(&s, names[i], &files[opened], &status) == 0;
    if (s.merge && s.columns > 1) return tool_fail(t, 1, "cannot specify number of columns when printing in parallel");
    if (s.merge) s.columns = opened;
    if (!s.columns || !s.length || !s.expand_to || s.columns * 2 > s.width || s.digits < 1 || s.digits > 40)
        return opened ? tool_fail(t, 1, "page width too narrow") : status;
    if (s.merge) return opened && put_pages(&s, files, opened) ? 1 : status;
    for (size_t i = 0; i < opened; i++) if (put_pages(&s, &files[i], 1)) return 1;
    return status;
}
