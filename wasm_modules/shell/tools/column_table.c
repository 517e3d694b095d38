/* column_table.c - column -t: cells lined up, with headings, hidden and reordered columns, or as JSON. */
#include "column.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 512 };

static span_list cells_of(tool *t, const column_state *s, span line) {
    span_list cells = {0};
    char *p = line.p, *end = line.p + line.n;
#define LAST_ONE (s->most && cells.n + 1 == s->most)           /* the rest of the line is one cell */
    if (!s->explicit_sep) {
        for (;;) {
            while (p < end && strchr(s->separators, *p)) p++;
            if (p >= end) return cells;
            char *start = p;
            if (LAST_ONE) p = end; else while (p < end && !strchr(s->separators, *p)) p++;
            span_add(t, &cells, start, (size_t)(p - start));
        }
    }
    for (;;) {
        char *start = p;
        if (LAST_ONE) p = end; else while (p < end && !strchr(s->separators, *p)) p++;
        span_add(t, &cells, start, (size_t)(p - start));
        if (p >= end) return cells;
        p++;
    }
#undef LAST_ONE
}

/* Whether column stands in a list of numbers, names, ranges 2-3 or 0 (all). */
static int in_list(const char *list, size_t column, const span_list *names) {
    for (const char *p = list; p && *p;) {
        size_t n = strcspn(p, ",");
        char *end;
        unsigned long from = strtoul(p, &end, 10), to = *end == '-' ? strtoul(end + 1, &end, 10) : from;
        if (isdigit((unsigned char)*p) && end == p + n) { if (!from || (column + 1 >= from && column + 1 <= to)) return 1; }
        else if (column < names->n && names->at[column].n == n && !memcmp(names->at[column].p, p, n)) return 1;
        p += n + (p[n] == ',');
    }
    return 0;
}

static size_t column_number(const char *word, const span_list *names) {
    for (size_t i = 0; i < MOST_COLUMNS; i++) if (in_list(word, i, names)) return i;
    return MOST_COLUMNS;
}

/* The columns to show, in order: those -O names first, then the others, without those -H hides. */
static size_t choose_columns(const column_state *s, size_t count, const span_list *names, size_t *to) {
    size_t n = 0;
    unsigned char taken[MOST_COLUMNS] = {0};
    for (const char *p = s->order; p && *p;) {
        size_t len = strcspn(p, ",");
        char word[64];
        if (len < sizeof word) {
            memcpy(word, p, len);
            word[len] = '\0';
            for (size_t i = 0; i < count; i++) if (!taken[i] && in_list(word, i, names)) { taken[i] = 1; to[n++] = i; }
        }
        p += len + (p[len] == ',');
    }
    for (size_t i = 0; i < count; i++) if (!taken[i]) to[n++] = i;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) if (!in_list(s->hide, to[i], names)) to[kept++] = to[i];
    return kept;
}

static void put_json_text(io *out, span text, int lower) {
    io_putc(out, '"');
    for (size_t i = 0; i < text.n; i++) {
        int c = (unsigned char)text.p[i];
        if (c == '"' || c == '\\') io_putc(out, '\\');
        if (c < 32) io_printf(out, "\\u%04x", (unsigned)c); else io_putc(out, lower ? tolower(c) : c);
    }
    io_putc(out, '"');
}

/* depths: NULL, or how deep each row is in a tree; a deeper row is among the children of the one before it. */
static int print_json(tool *t, const column_state *s, const span_list *rows, size_t count, const span_list *names,
    const size_t *order, size_t n, const size_t *depths) {
    io_printf(t->out, "{\n   \"%s\": [\n", s->table_name);
    for (size_t i = 0; i < count; i++) {
        size_t depth = depths ? depths[i] : 0, next = depths && i + 1 < count ? depths[i + 1] : 0;
        int indent = 6 + 6 * (int)depth, is_parent = i + 1 < count && next > depth;
        io_printf(t->out, "%*s{\n", i && depths && depths[i - 1] >= depth ? 0 : i && !depths ? 0 : indent, "");
        for (size_t k = 0; k < n; k++) {
            size_t j = order[k];
            io_printf(t->out, "%*s", indent + 3, "");
            put_json_text(t->out, j < names->n ? names->at[j] : (span){"", 0}, 1);
            io_puts(t->out, ": ");
            if (j < rows[i].n && rows[i].at[j].n) put_json_text(t->out, rows[i].at[j], 0); else io_puts(t->out, "null");
            io_puts(t->out, k + 1 < n || is_parent ? ",\n" : "\n");
        }
        if (is_parent) { io_printf(t->out, "%*s\"children\": [\n", indent + 3, ""); continue; }
        for (; depth > next; depth--, indent -= 6) io_printf(t->out, "%*s}\n%*s]\n", indent, "", indent - 3, "");
        io_printf(t->out, i + 1 < count ? "%*s}," : "%*s}\n", indent, "");
    }
    return io_puts(t->out, "   ]\n}\n") < 0;
}

int column_table(tool *t, column_state *s, span_list *lines) {
    if (!lines->n && !s->json) return 0;
    span_list *rows = tool_alloc(t, (lines->n + 2) * sizeof *rows), names = {0};
    size_t *depths = NULL, count = 0, most = 0, widths[MOST_COLUMNS] = {0}, order[MOST_COLUMNS];
    if (s->names) {
        column_state comma = {.separators = ",", .explicit_sep = 1};
        names = cells_of(t, &comma, (span){(char *)s->names, strlen(s->names)});
        if (!s->json && !s->no_heading) rows[count++] = names;
        most = names.n < MOST_COLUMNS ? names.n : MOST_COLUMNS;
    }
    for (size_t i = 0; i < lines->n; i++) if (lines->at[i].n || s->keep_empty) rows[count++] = cells_of(t, s, lines->at[i]);
    size_t heading = s->names && !s->json && !s->no_heading;
    if (s->tree && count > heading) {
        column_tree tree = {column_number(s->tree, &names), column_number(s->tree_id, &names),
            column_number(s->tree_parent, &names), !s->json};
        depths = column_order_tree(t, rows + heading, count - heading, &tree);
    }
    for (size_t i = 0; i < count; i++) {
        if (rows[i].n > MOST_COLUMNS) rows[i].n = MOST_COLUMNS;
        if (rows[i].n > most) most = rows[i].n;
        for (size_t j = 0; j < rows[i].n; j++) {
            size_t w = column_width(rows[i].at[j].p, rows[i].at[j].n);
            if (w > widths[j]) widths[j] = w;
        }
    }
    size_t shown = choose_columns(s, most, &names, order);
    if (s->json) return print_json(t, s, rows, count, &names, order, shown, depths);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < shown; k++) {
            size_t j = order[k], w = 0;
            int right = in_list(s->right, j, &names);
            span c = j < rows[i].n ? rows[i].at[j] : (span){"", 0};
            w = column_width(c.p, c.n);
            if (right) for (; w < widths[j]; w++) io_putc(t->out, ' ');
            io_write(t->out, c.p, c.n);
            if (k + 1 < shown) {
                for (; w < widths[j]; w++) io_putc(t->out, ' ');
                io_puts(t->out, s->joint);
            }
        }
        if (io_putc(t->out, '\n') < 0) return 1;
    }
    return 0;
}
