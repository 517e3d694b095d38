/* ls_print.c - how ls shows files: long lines, columns, names with quotes, colours and indicators. */
#include "ls.h"
#include "files.h"
#include "users.h"
#include "../fifo.h"
#include "../utf8.h"
#include <string.h>

moment ls_time_of(const ls_state *s, const struct stat *st) {
    return s->time == 'u' ? st->st_atim : s->time == 'c' ? st->st_ctim : st->st_mtim;
}

static const char *suffix_of(const ls_state *s, const struct stat *st, int ok) {
    if (!ok || !s->indicator) return "";
    if (S_ISDIR(st->st_mode)) return "/";
    if (s->indicator == 'p') return "";
    if (S_ISLNK(st->st_mode)) return s->format == 'l' && s->indicator == 'F' ? "" : "@";
    if (fifo_is(st)) return "|";
    return s->indicator == 'F' && S_ISREG(st->st_mode) && st->st_mode & 0111 ? "*" : "";
}

static const char *color_of(const struct stat *st) {
    if (S_ISDIR(st->st_mode)) return "01;34";
    if (S_ISLNK(st->st_mode)) return "01;36";
    return S_ISREG(st->st_mode) && st->st_mode & 0111 ? "01;32" : NULL;
}

/* The name as the style of quoting says. */
static void put_quoted(const ls_state *s, buffer *b, const char *name) {
    if (s->cite) { buffer_puts(b, tool_cite(b->t, name)); return; }
    if (s->plain_quote) name = tool_shell_word(b->t, name, s->shell_quote == 2);
    else if (s->shell_quote) name = s->shell_quote == 2 ? tool_quote(b->t, name) : tool_name(b->t, name);
    if (s->quote) buffer_putc(b, '"');
    for (const unsigned char *p = (const unsigned char *)name; *p; p++) {
        if (s->hide_control && (*p < 32 || *p == 127)) { buffer_putc(b, '?'); continue; }
        if (s->quote || s->escape) {
            const char *from = "\a\b\f\n\r\t\v", *at = strchr(from, *p);
            if (at) { buffer_putc(b, '\\'); buffer_putc(b, "abfnrtv"[at - from]); continue; }
            if (*p < 32 || *p == 127) { buffer_printf(b, "\\%03o", *p); continue; }
            if (*p == '\\' || (*p == '"' && s->quote) || (*p == ' ' && !s->quote && !s->blanks)) buffer_putc(b, '\\');
        }
        buffer_putc(b, *p);
    }
    if (s->quote) buffer_putc(b, '"');
}

void ls_print_title(tool *t, const ls_state *s, const char *path) {
    buffer b = {.t = t};
    ls_state title = *s;
    title.blanks = 1;
    put_quoted(&title, &b, path);
    buffer_puts(&b, ":\n");
    io_write(t->out, b.p, b.n);
}

/* The name with quoting, colour and indicator, at the end of b. */
static void put_name(const ls_state *s, buffer *b, const char *name, const struct stat *st, int ok) {
    const char *color = s->color && ok ? color_of(st) : NULL;
    if (color) buffer_printf(b, "\033[0m\033[%sm", color);
    put_quoted(s, b, name);
    if (color) buffer_puts(b, "\033[0m");
    buffer_puts(b, suffix_of(s, st, ok));
}

/* In units of --block-size, rounded up; kB is written with a small k. */
static char *in_units(tool *t, const ls_state *s, unsigned long long bytes) {
    char *text = tool_format(t, "%llu%s", (bytes + s->unit_bytes - 1) / s->unit_bytes, s->unit);
    char *kilo = strstr(text, "KB");
    if (kilo) *kilo = 'k';
    return text;
}

static char *size_text(tool *t, const ls_state *s, const struct stat *st) {
    unsigned long long n = (unsigned long long)st->st_size;
    if (s->human || s->si) return human_size(t, n, s->si);
    return s->unit_bytes ? in_units(t, s, n) : tool_format(t, "%llu", n);
}

char *ls_blocks_text(tool *t, const ls_state *s, unsigned long long blocks) {
    if (s->human || s->si) return human_size(t, blocks * 512, s->si);
    return s->unit_bytes ? in_units(t, s, blocks * 512) : tool_format(t, "%llu", (blocks + 1) / 2);
}

static void put_time(tool *t, const ls_state *s, buffer *b, const struct stat *st) {
    moment when = ls_time_of(s, st), now = moment_now();
    const char *style = s->time_style;
    (void)t;
    if (style && *style == '+') { date_format(b, style + 1, when, 0); return; }
    if (s->full_time || (style && !strcmp(style, "full-iso"))) { date_format(b, "%Y-%m-%d %H:%M:%S.%N %z", when, 0); return; }
    if (style && !strcmp(style, "long-iso")) { date_format(b, "%Y-%m-%d %H:%M", when, 0); return; }
    int recent = when.tv_sec <= now.tv_sec && now.tv_sec - when.tv_sec < 31556952 / 2;
    if (style && !strcmp(style, "iso")) date_format(b, recent ? "%m-%d %H:%M" : "%Y-%m-%d ", when, 0);
    else date_format(b, recent ? "%b %e %H:%M" : "%b %e  %Y", when, 0);
}

static size_t widest(size_t now, const char *text) { size_t n = strlen(text); return n > now ? n : now; }

int ls_print_long(tool *t, const ls_state *s, ls_entry *v, size_t n) {
    size_t links = 0, owner = 0, group = 0, size = 0, inode = 0, blocks = 0;
    for (size_t i = 0; i < n + s->beside_n; i++) {
        const ls_entry *e = i < n ? &v[i] : &s->beside[i - n];
        links = widest(links, tool_format(t, "%llu", link_count(t, e->path, &e->st)));
        owner = widest(owner, s->numeric ? tool_format(t, "%u", e->st.st_uid) : user_name(t, e->st.st_uid));
        group = widest(group, s->numeric ? tool_format(t, "%u", e->st.st_gid) : group_name(t, e->st.st_gid));
        size = widest(size, size_text(t, s, &e->st));
        inode = widest(inode, tool_format(t, "%llu", (unsigned long long)e->st.st_ino));
        blocks = widest(blocks, ls_blocks_text(t, s, file_blocks(&e->st)));
    }
    buffer b = {.t = t};
    for (size_t i = 0; i < n; i++) {
        char mode[11];
        ls_entry *e = &v[i];
        b.n = 0;
        mode_text(&e->st, mode);
        if (s->inode) buffer_printf(&b, "%*llu ", (int)inode, (unsigned long long)e->st.st_ino);
        if (s->blocks) buffer_printf(&b, "%*s ", (int)blocks, ls_blocks_text(t, s, file_blocks(&e->st)));
        buffer_printf(&b, "%s %*llu ", mode, (int)links, link_count(t, e->path, &e->st));
        if (!s->no_owner)
            buffer_printf(&b, s->numeric ? "%*s " : "%-*s ", (int)owner,
                s->numeric ? tool_format(t, "%u", e->st.st_uid) : user_name(t, e->st.st_uid));
        if (!s->no_group)
            buffer_printf(&b, s->numeric ? "%*s " : "%-*s ", (int)group,
                s->numeric ? tool_format(t, "%u", e->st.st_gid) : group_name(t, e->st.st_gid));
        if (s->author)
            buffer_printf(&b, s->numeric ? "%*s " : "%-*s ", (int)owner,
                s->numeric ? tool_format(t, "%u", e->st.st_uid) : user_name(t, e->st.st_uid));
        buffer_printf(&b, "%*s ", (int)size, size_text(t, s, &e->st));
        put_time(t, s, &b, &e->st);
        buffer_putc(&b, ' ');
        put_name(s, &b, e->name, &e->st, e->ok);
        if (e->target) {
            struct stat real;
            buffer_puts(&b, " -> ");
            int ok = path_stat(e->path, &real) == 0;
            put_name(s, &b, e->target, ok ? &real : &e->st, ok && s->indicator != 'p');
        }
        buffer_putc(&b, s->zero ? '\0' : '\n');
        if (io_write(t->out, b.p, b.n) < 0) return -1;
    }
    return 0;
}

static size_t columns_of(const char *text) {
    size_t width = 0, n = strlen(text);
    for (size_t i = 0; i < n;) {
        int c;
        i += (size_t)utf8_decode(text + i, n - i, &c);
        int w = utf8_width(c);
        width += w > 0 ? (size_t)w : 0;
    }
    return width;
}

/* Moves from one column to another, with tabs where they save something. */
static void pad(tool *t, size_t from, size_t to, int no_tabs) {
    while (from < to) {
        if (to / 8 > (from + 1) / 8 && !no_tabs) {
            io_putc(t->out, '\t');
            from += 8 - from % 8;
        } else {
            io_putc(t->out, ' ');
            from++;
        }
    }
}

/* Rows of names that fit in s->width, filled down (-C) or across (-x). */
static int print_columns(tool *t, const ls_state *s, char **cells, size_t n, int across) {
    size_t width = (size_t)s->width, best = 1, rows = n;
    size_t *wide = tool_alloc(t, (n + 1) * sizeof *wide);
    for (size_t cols = n < width / 3 + 1 ? n : width / 3 + 1; cols > 1; cols--) {
        size_t r = (n + cols - 1) / cols, total = 0, used = across ? cols : (n + r - 1) / r;
        if (used != cols) continue;
        memset(wide, 0, cols * sizeof *wide);
        for (size_t i = 0; i < n; i++) {
            size_t c = across ? i % cols : i / r, w = columns_of(cells[i]) + (c + 1 < cols ? 2 : 0);
            if (w > wide[c]) wide[c] = w;
        }
        for (size_t c = 0; c < cols; c++) total += wide[c];
        if (total <= width) { best = cols; rows = r; break; }
    }
    if (best == 1) rows = n;
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0, start = 0; c < best; c++) {
            size_t i = across ? r * best + c : c * rows + r;
            if (i >= n) break;
            size_t next = across ? i + 1 : i + rows;
            int last = c + 1 == best || next >= n;
            if (io_puts(t->out, cells[i]) < 0) return -1;
            if (!last) pad(t, start + columns_of(cells[i]), start + wide[c], s->width >= NO_WIDTH || s->no_tabs);
            start += wide[c];
        }
        if (io_putc(t->out, '\n') < 0) return -1;
    }
    return 0;
}

int ls_print_short(tool *t, const ls_state *s, ls_entry *v, size_t n) {
    char **cells = tool_alloc(t, (n + 1) * sizeof *cells);
    size_t inode = 0, blocks = 0;
    for (size_t i = 0; i < n; i++) {
        inode = widest(inode, tool_format(t, "%llu", (unsigned long long)v[i].st.st_ino));
        blocks = widest(blocks, ls_blocks_text(t, s, file_blocks(&v[i].st)));
    }
    for (size_t i = 0; i < n; i++) {
        buffer b = {.t = t};
        buffer_puts(&b, "");
        if (s->inode) buffer_printf(&b, "%*llu ", (int)inode, (unsigned long long)v[i].st.st_ino);
        if (s->blocks) buffer_printf(&b, "%*s ", (int)blocks, ls_blocks_text(t, s, file_blocks(&v[i].st)));
        put_name(s, &b, v[i].name, &v[i].st, v[i].ok);
        cells[i] = b.p;
    }
    if (s->format == 'C' || s->format == 'x') return n ? print_columns(t, s, cells, n, s->format == 'x') : 0;
    if (s->format == 'm') {
        size_t column = 0;
        for (size_t i = 0; i < n; i++) {
            size_t w = columns_of(cells[i]);
            if (i) {
                if (column + w + 3 > (size_t)s->width) { io_puts(t->out, ",\n"); column = 0; }
                else { io_puts(t->out, ", "); column += 2; }
            }
            if (io_puts(t->out, cells[i]) < 0) return -1;
            column += w;
        }
        return n ? io_putc(t->out, '\n') : 0;
    }
    for (size_t i = 0; i < n; i++) if (io_puts(t->out, cells[i]) < 0 || io_putc(t->out, s->zero ? '\0' : '\n') < 0) return -1;
    return 0;
}
