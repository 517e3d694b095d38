/* join.c - join: lines of two sorted files with equal fields.
 *
 * RULES. One line of each file is held; of equal keys, all lines of both files, because each goes with each.
 */
#include "buffer.h"
#include "inputs.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { FIELD_MAX = 256 };

typedef struct { io *from; buffer line; int have, delim; span fields[FIELD_MAX]; int field_n; size_t number; } held;

static void advance_line(held *h) {
    const char *p;
    ssize_t n = io_line(h->from, &p, h->delim);
    h->line.n = 0;
    h->have = n > 0;
    if (n > 0) buffer_add(&h->line, p, (size_t)n - (p[n - 1] == h->delim));
}

typedef struct {
    tool *t;
    int tab, fold, field[2], unpaired[2], only_unpaired, header, delim, auto_format;
    const char *empty;
    int out_file[FIELD_MAX], out_field[FIELD_MAX], out_n;
    int check, unpairable, stop, warned[2];
    const char *names[2];
    buffer key_before[2];
} join_state;

/* With -z a newline is part of a line, and blank. */
static int is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

static void cut_fields(const join_state *s, held *h) {
    char *p = h->line.p, *end = h->line.p + h->line.n;
    h->field_n = 0;
    if (!h->have) return;
    if (s->tab >= 0) {
        for (;;) {
            char *stop = memchr(p, s->tab, (size_t)(end - p));
            if (h->field_n < FIELD_MAX) h->fields[h->field_n++] = (span){p, (size_t)((stop ? stop : end) - p)};
            if (!stop) return;
            p = stop + 1;
        }
    }
    for (;;) {
        while (p < end && is_blank(*p)) p++;
        if (p >= end) return;
        char *start = p;
        while (p < end && !is_blank(*p)) p++;
        if (h->field_n < FIELD_MAX) h->fields[h->field_n++] = (span){start, (size_t)(p - start)};
        int trailing = p < end;
        while (p < end && is_blank(*p)) p++;
        if (p == end && trailing && h->field_n < FIELD_MAX) h->fields[h->field_n++] = (span){p, 0};   /* blanks at the end */
    }
}

static span key_of(const join_state *s, const held *h, int file) {
    return s->field[file] < h->field_n ? h->fields[s->field[file]] : (span){"", 0};
}

static int compare_keys(const join_state *s, span a, span b) {
    if (!s->fold) return span_compare(a, b);
    for (size_t i = 0; i < a.n && i < b.n; i++) {
        int x = toupper((unsigned char)a.p[i]), y = toupper((unsigned char)b.p[i]);
        if (x != y) return x - y;
    }
    return a.n < b.n ? -1 : a.n > b.n;
}

/* One line cut into fields, which lie in the memory of whoever holds it. */
typedef struct { span *fields; int n; } row;

/* The lines of one file with the same key. */
typedef struct { row *rows; size_t n, room; } run;

static row row_of(held *h) { return (row){h->fields, h->field_n}; }

static void put_field(const join_state *s, buffer *b, int *any, const row *r, int i) {
    if ((*any)++) buffer_putc(b, s->tab >= 0 ? s->tab : ' ');
    if (r && i < r->n && r->fields[i].n) buffer_add(b, r->fields[i].p, r->fields[i].n);
    else if (s->empty) buffer_puts(b, s->empty);
}

/* One output line of a and b, either of which may be missing. */
static int put_pair(const join_state *s, const row *a, const row *b) {
    buffer out = {.t = s->t};
    int any = 0;
    const row *files[2] = {a, b};
    if (s->out_n) {
        for (int i = 0; i < s->out_n; i++) {
            if (s->out_file[i] == 0) put_field(s, &out, &any, a ? a : b, s->field[a ? 0 : 1]);
            else put_field(s, &out, &any, files[s->out_file[i] - 1], s->out_field[i]);
        }
    } else {
        put_field(s, &out, &any, a ? a : b, s->field[a ? 0 : 1]);
        for (int f = 0; f < 2; f++)
            for (int i = 0; files[f] && i < files[f]->n; i++)
                if (i != s->field[f]) put_field(s, &out, &any, files[f], i);
    }
    buffer_putc(&out, s->delim);
    int failed = io_write(s->t->out, out.p, out.n);
    buffer_free(&out);
    return failed;
}

static void keep_row(tool *t, run *r, const held *h) {
    size_t fields_bytes = (size_t)h->field_n * sizeof(span);
    char *kept = tool_alloc(t, fields_bytes + h->line.n + 1), *text = kept + fields_bytes;
    span *fields = (span *)(void *)kept;
    if (h->line.n) memcpy(text, h->line.p, h->line.n);
    for (int i = 0; i < h->field_n; i++) fields[i] = (span){text + (h->fields[i].p - h->line.p), h->fields[i].n};
    if (r->n == r->room) {
        r->room = r->room ? r->room * 2 : 8;
        r->rows = tool_realloc(t, r->rows, r->room * sizeof *r->rows);
    }
    r->rows[r->n++] = (row){fields, h->field_n};
}

static void drop_rows(tool *t, run *r) {
    while (r->n) tool_free(t, r->rows[--r->n].fields);
}

/* Reads on, and says once per file when it turns out not to be sorted; as GNU's, only after some line had no partner. */
static void next_line(join_state *s, held *h, int file) {
    int had = h->have && s->check >= 0;
    buffer *before = &s->key_before[file];
    before->t = s->t;
    before->n = 0;
    if (had) { span key = key_of(s, h, file); buffer_add(before, key.p, key.n); }
    h->number++;
    advance_line(h);
    cut_fields(s, h);
    if (!had || !h->have || s->warned[file] || !(s->check || s->unpairable)) return;
    if (h->number <= 2 && s->header) return;
    if (compare_keys(s, (span){before->p, before->n}, key_of(s, h, file)) <= 0) return;
    s->warned[file] = 1;
    if (s->check > 0) s->stop = 1;
    io_flush(s->t->out);
    tool_fail(s->t, 1, "%s:%zu: is not sorted: %.*s", s->names[file], h->number, (int)h->line.n, h->line.p);
}

/* All lines from here on with the key of this one; the next one is read too, and so found out of order, before they are shown. */
static void read_run(join_state *s, held *h, int file, run *r) {
    span key;
    do {
        keep_row(s->t, r, h);
        next_line(s, h, file);
        key = s->field[file] < r->rows[0].n ? r->rows[0].fields[s->field[file]] : (span){"", 0};
    } while (h->have && !s->stop && !compare_keys(s, key, key_of(s, h, file)));
}

static int put_unpaired(join_state *s, held *h, int file) {
    row r = row_of(h);
    if (!s->unpaired[file]) return 0;
    return file ? put_pair(s, NULL, &r) : put_pair(s, &r, NULL);
}

static int join_files(join_state *s, held *a, held *b) {
    run same[2] = {{0}, {0}};
    next_line(s, a, 0);
    next_line(s, b, 1);
    if (s->auto_format) {
        const held *files[2] = {a, b};
        s->out_n = 0;
        s->out_file[s->out_n++] = 0;
        for (int f = 0; f < 2; f++) for (int i = 0; i < files[f]->field_n && s->out_n < FIELD_MAX; i++) {
            if (i == s->field[f]) continue;
            s->out_file[s->out_n] = f + 1;
            s->out_field[s->out_n++] = i;
        }
    }
    if (s->header && (a->have || b->have)) {
        row titles[2] = {row_of(a), row_of(b)};
        if (put_pair(s, a->have ? &titles[0] : NULL, b->have ? &titles[1] : NULL) < 0) return -1;
        next_line(s, a, 0);
        next_line(s, b, 1);
    }
    while (a->have && b->have && !s->stop) {
        int order = compare_keys(s, key_of(s, a, 0), key_of(s, b, 1));
        if (order) {
            held *h = order < 0 ? a : b;
            if (put_unpaired(s, h, order > 0) < 0) return -1;
            s->unpairable = 1;
            next_line(s, h, order > 0);
            continue;
        }
        read_run(s, a, 0, &same[0]);
        read_run(s, b, 1, &same[1]);
        if (s->stop) return 0;
        for (size_t i = 0; i < same[0].n && !s->only_unpaired; i++)
            for (size_t j = 0; j < same[1].n; j++)
                if (put_pair(s, &same[0].rows[i], &same[1].rows[j]) < 0) return -1;
        drop_rows(s->t, &same[0]);
        drop_rows(s->t, &same[1]);
    }
    for (; a->have && !s->stop; next_line(s, a, 0)) if (put_unpaired(s, a, 0) < 0) return -1;
    for (; b->have && !s->stop; next_line(s, b, 1)) if (put_unpaired(s, b, 1) < 0) return -1;
    return 0;
}

static int take_format(join_state *s, const char *p) {
    if (!strcmp(p, "auto")) { s->auto_format = 1; return 0; }
    while (*p && s->out_n < FIELD_MAX) {
        if (*p == '0' && (!p[1] || strchr(", ", p[1]))) { s->out_file[s->out_n++] = 0; p++; }
        else if ((*p == '1' || *p == '2') && p[1] == '.') {
            char *end;
            s->out_file[s->out_n] = *p - '0';
            s->out_field[s->out_n++] = (int)strtol(p + 2, &end, 10) - 1;
            p = end;
        } else
            return *p == '1' || *p == '2' || *p == '0'
                       ? tool_fail(s->t, 1, "invalid field specifier: %s", tool_cite(s->t, p))
                       : tool_fail(s->t, 1, "invalid file number in field spec: %s", tool_cite(s->t, p));
        while (*p == ',' || *p == ' ') p++;
    }
    return 0;
}

int tool_join(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"ignore-case", 0, 'i'}, {"header", 0, 'H'}, {"check-order", 0, 'c'},
        {"nocheck-order", 0, 'n'}, {"zero-terminated", 0, 'z'}, {0, 0, 0}};
    join_state s = {.t = t, .tab = -1, .delim = '\n'};
    tool_opts o;
    int c, status = 0, given[2] = {0};
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "a:v:e:ij:o:t:1:2:z", longs)) != -1;) switch (c) {
        case 'a': case 'v':
            if (*o.arg != '1' && *o.arg != '2') { tool_fail(t, 1, "invalid field number: %s", tool_cite(t, o.arg)); return 1; }
            s.unpaired[*o.arg - '1'] = 1;
            if (c == 'v') s.only_unpaired = 1;
            break;
        case 'e': s.empty = o.arg; break;
        case 'i': s.fold = 1; break;
        case 'j': case '1': case '2': {
            int field = strspn(o.arg, "0123456789") == strlen(o.arg) ? atoi(o.arg) : 0;
            if (!field) return tool_fail(t, 1, "invalid field number: %s", tool_cite(t, o.arg));
            for (int i = 0; i < 2; i++) {
                if (c == (i ? '1' : '2')) continue;
                if (given[i] && given[i] != field) return tool_fail(t, 1, "incompatible join fields %d, %d", given[i], field);
                s.field[i] = given[i] = field;
                s.field[i]--;
            }
            break;
        }
        case 'o': if (take_format(&s, o.arg)) return 1; break;
        case 't':
            if (o.arg[0] && o.arg[1] && strcmp(o.arg, "\\0") && strcmp(o.arg, "\\t"))
                return tool_fail(t, 1, "multi-character tab %s", tool_cite(t, o.arg));
            s.tab = !strcmp(o.arg, "\\t") ? '\t' : (unsigned char)*o.arg; break;
        case 'H': s.header = 1; break;
        case 'z': s.delim = '\0'; break;
        case 'c': s.check = 1; break;
        case 'n': s.check = -1; break;
        default: return 1;
    }
    if (argc - o.index != 2) {
        if (argc - o.index < 2) {
            if (o.index >= argc) tool_fail(t, 1, "missing operand");
            else tool_fail(t, 1, "missing operand after %s", tool_cite(t, argv[argc - 1]));
        } else tool_fail(t, 1, "extra operand %s", tool_quote(t, argv[o.index + 2]));
        return tool_usage(t, 1);
    }
    held *f = tool_alloc(t, 2 * sizeof *f);
    for (int i = 0; i < 2; i++) {
        f[i].line.t = t;
        f[i].delim = s.delim;
        f[i].from = input_open(t, argv[o.index + i], 1, &status);
        if (!f[i].from) { if (i) io_unref(f[0].from); return 1; }
    }
    s.names[0] = argv[o.index];
    s.names[1] = argv[o.index + 1];
    if (join_files(&s, &f[0], &f[1]) < 0) status = 1;
    if (s.stop) status = 1;
    else if (s.warned[0] || s.warned[1]) status = tool_fail(t, 1, "input is not in sorted order");
    io_unref(f[0].from);
    io_unref(f[1].from);
    return status;
}
