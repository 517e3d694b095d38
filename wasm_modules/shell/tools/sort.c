/* sort.c - sort lines. A stable merge sort over spans of the text read; how lines compare is sort_keys.c. */
#include "inputs.h"
#include "sort_keys.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Sorts v[0..n) with scratch space of the same size. */
static void merge_sort(const sort_order *o, span *v, span *scratch, size_t n) {
    if (n < 2) return;
    if (n <= 6) {
        for (size_t i = 1; i < n; i++) {
            span x = v[i];
            size_t j = i;
            for (; j > 0 && sort_compare(o, v[j - 1], x) > 0; j--) v[j] = v[j - 1];
            v[j] = x;
        }
        return;
    }
    size_t half = n / 2;
    merge_sort(o, v, scratch, half);
    merge_sort(o, v + half, scratch, n - half);
    if (sort_compare(o, v[half - 1], v[half]) <= 0) return;
    memcpy(scratch, v, half * sizeof *v);
    size_t i = 0, j = half, k = 0;
    while (i < half && j < n) v[k++] = sort_compare(o, scratch[i], v[j]) <= 0 ? scratch[i++] : v[j++];
    while (i < half) v[k++] = scratch[i++];
}

/* -m: the files are taken to be sorted; of equal lines the earlier file's comes first. starts[i] is file i's first line, of
 * count. */
static void merge_files(tool *t, const sort_order *o, span_list *lines, const size_t *starts, int count) {
    span *merged = tool_alloc(t, (lines->n + 1) * sizeof *merged);
    size_t *at = tool_alloc(t, ((size_t)count + 1) * sizeof *at);
    for (int i = 0; i < count; i++) at[i] = starts[i];
    for (size_t k = 0; k < lines->n; k++) {
        int best = -1;
        for (int i = 0; i < count; i++) {
            if (at[i] >= starts[i + 1]) continue;
            if (best < 0 || sort_compare(o, lines->at[at[best]], lines->at[at[i]]) > 0) best = i;
        }
        merged[k] = lines->at[at[best]++];
    }
    memcpy(lines->at, merged, lines->n * sizeof *merged);
    tool_free(t, merged);
    tool_free(t, at);
}

static int check_sorted(tool *t, const sort_order *o, const span_list *lines, const char *name, int quiet) {
    for (size_t i = 1; i < lines->n; i++) {
        int order = sort_compare(o, lines->at[i - 1], lines->at[i]);
        if (order < 0 || (!order && !o->unique)) continue;
        if (!quiet) {
            io_printf(t->err, "%s: %s:%zu: disorder: %.*s\n", t->name, name, i + 1, (int)lines->at[i].n, lines->at[i].p);
        }
        return 1;
    }
    return 0;
}

typedef struct { const char *output, *list; int check, quiet, merge, delim, debug; } sort_modes;

static int add_key(tool *t, sort_order *o, const char *text) {
    sort_key *k = tool_alloc(t, sizeof *k), **end = &o->keys;
    if (sort_key_parse(t, text, k)) return 2;
    while (*end) end = &(*end)->next;
    *end = k;
    return 0;
}

static int set_tab(tool *t, sort_order *o, const char *arg) {
    if (!*arg) return tool_fail(t, 2, "empty tab");
    int is_nul = !strcmp(arg, "\\0"), tab = is_nul ? 0 : (unsigned char)*arg;
    if (arg[1] && !is_nul) return tool_fail(t, 2, "multi-character tab %s", tool_cite(t, arg));
    if (o->tab >= 0 && o->tab != tab) return tool_fail(t, 2, "incompatible tabs");
    o->tab = tab;
    return 0;
}

/* F[.C][OPTIONS], counted from 0, as -k writes it: the beginning of the old +F [-F], or its end. */
static char *new_position(tool *t, const char *text, int is_end) {
    char *end;
    unsigned long field = strtoul(text, &end, 10), character = *end == '.' ? strtoul(end + 1, &end, 10) : 0;
    if (is_end && !character) return tool_format(t, "%lu%s", field, end);
    return tool_format(t, "%lu.%lu%s", field + 1, is_end ? character : character + 1, end);
}

static int is_position(const char *word, char sign) { return word && word[0] == sign && isdigit((unsigned char)word[1]); }

/* Rewrites the old keys +F and +F -F among the words into -k. */
static void renew_keys(tool *t, int *argc, char **argv) {
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        if (!strcmp(argv[i], "--")) { while (i < *argc) argv[kept++] = argv[i++]; break; }
        if (!is_position(argv[i], '+')) { argv[kept++] = argv[i]; continue; }
        char *from = new_position(t, argv[i] + 1, 0), *to = NULL;
        if (i + 1 < *argc && is_position(argv[i + 1], '-')) to = new_position(t, argv[++i] + 1, 1);
        argv[kept++] = to && strcmp(to, "0") ? tool_format(t, "-k%s,%s", from, to) : tool_format(t, "-k%s", from);
    }
    *argc = kept;
}

static int is_size(const char *text) {
    size_t digits = strspn(text, "0123456789");
    return digits && (!text[digits] || (strchr("bkKmMgGtTPEZY%", text[digits]) && !text[digits + 1]));
}

static int parse_options(tool *t, tool_opts *o, sort_order *order, sort_modes *m) {
    static const tool_long longs[] = {{"ignore-leading-blanks", 0, 'b'}, {"dictionary-order", 0, 'd'}, {"ignore-case", 0, 'f'},
        {"general-numeric-sort", 0, 'g'}, {"ignore-nonprinting", 0, 'i'}, {"month-sort", 0, 'M'}, {"human-numeric-sort", 0, 'h'},
        {"numeric-sort", 0, 'n'}, {"random-sort", 0, 'R'}, {"random-source", 1, 'Z'}, {"reverse", 0, 'r'},
        {"version-sort", 0, 'V'}, {"check", 2, 'c'}, {"key", 1, 'k'}, {"merge", 0, 'm'}, {"output", 1, 'o'}, {"stable", 0, 's'},
        {"buffer-size", 1, 'S'}, {"field-separator", 1, 't'}, {"temporary-directory", 1, 'T'}, {"unique", 0, 'u'},
        {"zero-terminated", 0, 'z'}, {"parallel", 1, 'Z'}, {"batch-size", 1, 'Z'}, {"sort", 1, '1'},
        {"debug", 0, 'D'}, {"compress-program", 1, 'Z'}, {"files0-from", 1, '0'}, {0, 0, 0}};
    static const char *const sorts[] = {"general-numeric", "human-numeric", "month", "numeric", "random", "version", NULL};
    static const char letters[] = "ghMnRV";
    int c;
    while ((c = tool_opts_next(t, o, "bdfghiMnRrVcCk:mo:sS:t:T:uz", longs)) != -1) switch (c) {
        case 'c':
            if (m->quiet) return tool_fail(t, 2, "options '-cC' are incompatible");
            m->check = 1;
            if (o->arg && (!strncmp(o->arg, "quiet", strlen(o->arg)) || !strncmp(o->arg, "silent", strlen(o->arg)))) m->quiet = 1;
            break;
        case 'C':
            if (m->check && !m->quiet) return tool_fail(t, 2, "options '-cC' are incompatible");
            m->check = m->quiet = 1;
            break;
        case 'k': if (add_key(t, order, o->arg)) return 2; break;
        case 'm': m->merge = 1; break;
        case 'o': m->output = o->arg; break;
        case 's': order->stable = 1; break;
        case 'S': {
            int is_long = !strncmp(o->argv[o->index - 1], "--", 2);
            if (is_size(o->arg)) break;
            return tool_fail(t, 2, "invalid %s argument %s", is_long ? "--buffer-size" : "-S", tool_quote(t, o->arg));
        }
        case 'T': case 'Z': break;
        case 'D': m->debug = 1; break;
        case '0': m->list = o->arg; break;
        case 't': if (set_tab(t, order, o->arg)) return 2; break;
        case 'u': order->unique = 1; break;
        case 'z': m->delim = '\0'; break;
        case '1': {
            int way = tool_choice(t, "--sort", o->arg, sorts);
            if (way < 0) return 1;
            sort_key_option(&order->global, letters[way]);
            break;
        }
        default: if (!sort_key_option(&order->global, c)) return 2;
    }
    return 0;
}

/* Keys without options of their own take the global ones. */
static void inherit(sort_order *o) {
    for (sort_key *k = o->keys; k; k = k->next) {
        if (k->numeric || k->general || k->human || k->month || k->version || k->random || k->reverse || k->dictionary || k->fold
            || k->printable || k->skip_start || k->skip_end) continue;
        sort_key g = o->global;
        g.start_field = k->start_field;
        g.start_char = k->start_char;
        g.end_field = k->end_field;
        g.end_char = k->end_char;
        g.next = k->next;
        *k = g;
    }
}

/* Refuses -n with -d and the like, as GNU does. */
static int incompatible(tool *t, const sort_order *o) {
    const sort_key *k = o->keys ? o->keys : &o->global;
    for (; k; k = o->keys ? k->next : NULL) {
        char set[12], *p = set;
        int other = k->version || k->random || k->dictionary || k->printable;
        if (k->numeric + k->general + k->human + k->month + other < 2) continue;
        if (k->dictionary) *p++ = 'd';
        if (k->fold) *p++ = 'f';
        if (k->general) *p++ = 'g';
        if (k->human) *p++ = 'h';
        if (k->printable && !k->dictionary) *p++ = 'i';
        if (k->month) *p++ = 'M';
        if (k->numeric) *p++ = 'n';
        if (k->random) *p++ = 'R';
        if (k->version) *p++ = 'V';
        *p = '\0';
        return tool_fail(t, 2, "options '-%s' are incompatible", set);
    }
    return 0;
}

int tool_sort(tool *t, int argc, char **argv) {
    sort_order order = {.tab = -1, .t = t};
    sort_modes m = {.delim = '\n'};
    tool_opts o;
    renew_keys(t, &argc, argv);
    tool_opts_start(&o, argc, argv);
    int bad = parse_options(t, &o, &order, &m);
    if (bad) return bad;
    inherit(&order);
    if (incompatible(t, &order)) return 2;
    if (m.debug) sort_debug_notes(&order);
    if (getentropy(&order.salt, sizeof order.salt) < 0) order.salt = 1;
    static char *standard[] = {"-"};
    char **files = o.index < argc ? argv + o.index : standard;
    int count = o.index < argc ? argc - o.index : 1, status = 0;
    if (m.list && o.index < argc) {
        tool_fail(t, 2, "extra operand %s", tool_quote(t, argv[o.index]));
        io_puts(t->err, "file operands cannot be combined with --files0-from\n");
        return tool_usage(t, 2);
    }
    if (m.list && !(files = input_names(t, m.list, &count))) return 2;
    if (!count) return tool_fail(t, 2, "no input from %s", tool_quote(t, m.list));
    if (m.check && count > 1) return tool_fail(t, 2, "extra operand %s not allowed with -c", tool_quote(t, files[1]));
    if (m.check && m.output) return tool_fail(t, 2, "options '-co' are incompatible");
    buffer b = {.t = t};
    size_t *starts = tool_alloc(t, ((size_t)count + 1) * sizeof *starts), seen = 0;
    for (int i = 0; i < count; i++) {
        io *from;
        if (!strcmp(files[i], "-")) from = io_ref(t->in);
        else if (!(from = io_open(files[i], O_RDONLY, 0))) 
            return tool_fail_errno(t, 2, m.check ? "open failed: %s" : "cannot read: %s", files[i]);
        if (buffer_read_all(&b, from) < 0) {
            errno = io_failed(from);
            tool_fail_errno(t, 2, "read failed: %s", files[i]);
            io_unref(from);
            return 2;
        }
        io_unref(from);
        if (b.n && b.p[b.n - 1] != m.delim) buffer_putc(&b, m.delim);
        if (!m.merge) continue;
        starts[i + 1] = starts[i];
        for (; seen < b.n; seen++) starts[i + 1] += b.p[seen] == m.delim;
    }
    span_list lines = {0};
    span_split(t, &lines, b.p, b.n, m.delim);
    if (m.check) return check_sorted(t, &order, &lines, files[0], m.quiet);
    if (m.merge) merge_files(t, &order, &lines, starts, count);
    else merge_sort(&order, lines.at, tool_alloc(t, (lines.n / 2 + 1) * sizeof *lines.at), lines.n);
    io *to = t->out;
    if (m.output && !(to = io_open(m.output, O_WRONLY | O_CREAT | O_TRUNC, 0666)))
        return tool_fail_errno(t, 2, "open failed: %s", m.output);
    for (size_t i = 0; i < lines.n; i++) {
        if (order.unique && i && !sort_compare_keys(&order, lines.at[i - 1], lines.at[i])) {
            lines.at[i] = lines.at[i - 1];
            continue;
        }
        if (m.debug) { sort_debug_line(&order, to, lines.at[i]); continue; }
        if (io_write(to, lines.at[i].p, lines.at[i].n) < 0 || io_putc(to, m.delim) < 0) { status = 2; break; }
    }
    if (m.output) io_unref(to);
    return status;
}
