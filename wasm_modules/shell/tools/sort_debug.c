/* sort_debug.c - sort --debug: under each line, what of it each key compared; and notes about keys that surprise people.
 *
 * Does not know how lines compare (sort_keys.c). Tabs are shown as >, so that the marks stand under their characters.
 */
#include "column.h"
#include "sort_keys.h"
#include "../utf8.h"
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int is_numeric(const sort_key *k) { return k->numeric || k->general || k->human; }

static void note(const sort_order *o, const char *text, size_t number) {
    io_printf(o->t->err, "%s: ", o->t->name);
    io_printf(o->t->err, text, number);
    io_putc(o->t->err, '\n');
}

void sort_debug_notes(const sort_order *o) {
    int numbers = 0;
    size_t i = 1;
    tool_fail(o->t, 0, utf8_bytes ? "text ordering performed using simple byte comparison"
                                                 : "text ordering performed using ‘C.UTF-8’ sorting rules");
    for (const sort_key *k = o->keys; k; k = k->next, i++) {
        int spans = k->end_field == SIZE_MAX || k->end_field - (k->end_char == 0) > k->start_field;
        int by_blanks = o->tab < 0 && !k->skip_start && !is_numeric(k) && !k->month;
        if (is_numeric(k) && spans) note(o, "key %zu is numeric and spans multiple fields", i);
        else if (by_blanks && (k->start_char || !spans || k->end_char))
            note(o, "leading blanks are significant in key %zu; consider also specifying 'b'", i);
        numbers |= is_numeric(k);
    }
    if (numbers || (!o->keys && is_numeric(&o->global)))
        tool_fail(o->t, 0, "note numbers use ‘.’ as a decimal point in this locale");
}

/* What of a key's text a comparison by number or month looks at. */
static span looked_at(const sort_key *k, span s) {
    const char *p = s.p, *end = s.p + s.n;
    while (p < end && (*p == ' ' || *p == '\t')) p++;
    if (k->month) return (span){(char *)p, sort_month((span){(char *)p, (size_t)(end - p)}) ? 3 : 0};
    if (k->general) {
        char text[128], *stop;
        size_t n = (size_t)(end - p) < sizeof text - 1 ? (size_t)(end - p) : sizeof text - 1;
        memcpy(text, p, n);
        text[n] = '\0';
        strtold(text, &stop);
        return (span){(char *)p, (size_t)(stop - text)};
    }
    if (!k->numeric && !k->human) return (span){(char *)p, (size_t)(end - p)};
    const char *q = p + (p < end && *p == '-');
    int digits = 0;
    for (; q < end && isdigit((unsigned char)*q); q++) digits = 1;
    if (q < end && *q == '.') for (q++; q < end && isdigit((unsigned char)*q); q++) digits = 1;
    if (digits && k->human && q < end && strchr("kKMGTPEZYRQ", *q)) q++;
    return (span){(char *)p, digits ? (size_t)(q - p) : 0};
}

static size_t shown_width(const char *p, size_t n) {
    size_t width = column_width(p, n);
    for (size_t i = 0; i < n; i++) width += p[i] == '\t';
    return width;
}

static void mark(io *to, span line, span part) {
    size_t before = shown_width(line.p, (size_t)(part.p - line.p)), width = shown_width(part.p, part.n);
    for (size_t i = 0; i < before; i++) io_putc(to, ' ');
    if (!width) io_puts(to, "^ no match for key");
    for (size_t i = 0; i < width; i++) io_putc(to, '_');
    io_putc(to, '\n');
}

static int narrows(const sort_key *k) { return is_numeric(k) || k->month; }

void sort_debug_line(const sort_order *o, io *to, span line) {
    const sort_key *g = &o->global;
    for (size_t i = 0; i < line.n; i++) io_putc(to, line.p[i] == '\t' ? '>' : line.p[i]);
    io_putc(to, '\n');
    for (const sort_key *k = o->keys; k; k = k->next) {
        span part = sort_key_span(o, k, line);
        mark(to, line, narrows(k) ? looked_at(k, part) : part);
    }
    int whole_key
        = !o->keys && (narrows(g) || g->skip_start || g->dictionary || g->fold || g->printable || g->version || g->random);
    if (whole_key) mark(to, line, narrows(g) || g->skip_start ? looked_at(g, line) : line);
    if (!(o->keys || whole_key) || !(o->unique || o->stable)) mark(to, line, line);
}
