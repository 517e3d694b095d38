/* b_read.c - read and mapfile. */
#include "background.h"
#include "builtins.h"
#include "element.h"
#include "fifo.h"
#include "nameref.h"
#include "slow.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A line as read: text, and for each byte whether a backslash protected it from being a separator. */
typedef struct { strbuf text, mask; } line_t;

static void push(line_t *l, char c, bool escaped)
{
    sb_putc(&l->text, c);
    sb_putc(&l->mask, (char)escaped);
}

typedef struct { bool raw, silent_n; int delim; int64_t count; bool exact; io *in; } how;

/* Reads up to the delimiter or count characters. False when the input ended first. */
static bool read_line(how *h, line_t *l)
{
    int64_t left = h->count;
    for (;;) {
        if (h->count >= 0 && left == 0) return true;
        int c = io_getc(h->in);
        if (c < 0) return false;
        if (!h->exact && c == h->delim) return true;
        if (c == '\\' && !h->raw) {
            c = io_getc(h->in);
            if (c < 0) return false;
            if (c == '\n') continue;
            push(l, (char)c, true);
        } else if (c) push(l, (char)c, false);
        else continue;
        if (h->count >= 0 && (c & 0x80)) {   /* a whole character counts once */
            int more = (c & 0xe0) == 0xc0 ? 1 : (c & 0xf0) == 0xe0 ? 2 : (c & 0xf8) == 0xf0 ? 3 : 0;
            while (more-- > 0 && (c = io_getc(h->in)) >= 0) push(l, (char)c, false);
        }
        left--;
    }
}

/* The bytes of the separator at i, 0 when there is none. */
static size_t is_sep(line_t *l, size_t i, const char *ifs) { return l->mask.s[i] ? 0 : separator_at(l->text.s + i, ifs); }
static bool is_blank_sep(line_t *l, size_t i, const char *ifs)
{
    return is_sep(l, i, ifs) && isspace((unsigned char)l->text.s[i]);
}

/* Behind the field that ends at i: over one separator and the blanks around it. */
static size_t skip_sep(line_t *l, size_t i, const char *ifs)
{
    size_t n = l->text.len;
    while (i < n && is_blank_sep(l, i, ifs)) i++;
    size_t one = i < n ? is_sep(l, i, ifs) : 0;
    if (one) { i += one; while (i < n && is_blank_sep(l, i, ifs)) i++; }
    return i;
}

static size_t field_end(line_t *l, size_t i, const char *ifs)
{
    while (i < l->text.len && !is_sep(l, i, ifs)) i++;
    return i;
}

static bool assign_name(const char *name, const char *value)
{
    if (is_name(name)) return var_set(name, value);
    if (element_text(name)) return element_assign(name, value, 0);
    b_error("read", 1, "`%s': not a valid identifier", name);
    return false;
}

static bool assign_fields(line_t *l, char **names, int n, const char *ifs)
{
    size_t i = 0, len = l->text.len;
    bool ok = true;
    while (i < len && is_blank_sep(l, i, ifs)) i++;
    for (int k = 0; k < n && ok; k++) {
        size_t end = field_end(l, i, ifs), next = skip_sep(l, end, ifs);
        if (k == n - 1 && next < len) {   /* the rest, separators and all, without blanks at its end */
            end = len;
            while (end > i && is_blank_sep(l, end - 1, ifs)) end--;
        }
        ok = assign_name(names[k], arena_strndup(&sh.tmp, l->text.s + i, end - i));
        i = next;
    }
    return ok;
}

/* The array that name stands for; circular_back(slot, *inner) when it is filled. */
static slot *array_slot(const char *name, var **inner)
{
    slot *s = slot_of(name);
    char *sub;
    *inner = circular_aside(s);
    if (!*inner) var_deref(&s, &sub);
    return s;
}

static bool assign_array(line_t *l, const char *name, const char *ifs)
{
    strlist items = { .a = &sh.tmp };
    size_t i = 0, len = l->text.len;
    while (i < len && is_blank_sep(l, i, ifs)) i++;
    while (i < len) {
        size_t end = field_end(l, i, ifs);
        sl_add(&items, arena_strndup(&sh.tmp, l->text.s + i, end - i));
        i = skip_sep(l, end, ifs);
    }
    var *inner;
    slot *s = array_slot(name, &inner);
    bool readonly = check_readonly(s, s->top), keyed = s->top && s->top->flags & V_ASSOC;
    if (!readonly && keyed) b_error("read", 1, "%s: not an indexed array", name);
    if (!readonly && !keyed) {
        enum { CHANGES = V_INT | V_UPPER | V_LOWER | V_CAPITAL };
        uint16_t keep = s->top ? s->top->flags & (V_EXPORT | CHANGES) : 0;
        var_set_list(s->name, items.v, keep & CHANGES ? 0 : items.n);
        s->top->flags |= keep;
        for (size_t k = 0; keep & CHANGES && k < items.n; k++) var_set_index(s, (int64_t)k, items.v[k], 0);
    }
    circular_back(s, inner);
    return !readonly && !keyed;
}

enum { TIMED_OUT = 128 + 14 };

int b_read(int argc, char **argv)
{
    opts o =
        OPTS("read [-ers] [-a array] [-d delim] [-i text] [-n nchars] [-N nchars] [-p prompt] [-t timeout] [-u fd] [name ...]");
    how h = { .delim = '\n', .count = -1 };
    if (jobs_fresh) background_begin();
    char *array = NULL;
    int64_t fd = 0;
    bool timed = false, timeout_zero = false;
    double timeout_s = 0;
    for (int c; (c = next_opt(&o, "ersa:d:i:n:N:p:t:u:"));) {
        switch (c) {
        case '?': return 2;
        case 'r': h.raw = true; break;
        case 'a': array = o.arg; break;
        case 'd': h.delim = (unsigned char)*o.arg; break;
        case 'N': h.exact = true;   /* fall through */
        case 'n': if (!parse_int(o.arg, &h.count) || h.count < 0) return b_error("read", 1, "%s: invalid number", o.arg); break;
        case 't': {
            char *end;
            double t = strtod(o.arg, &end);
            if (*end || t < 0) return b_error("read", 1, "%s: invalid timeout specification", o.arg);
            timed = true;
            timeout_zero = t == 0;
            timeout_s = t;
            break;
        }
        case 'u':
            if (!parse_int(o.arg, &fd)) return b_error("read", 1, "%s: invalid file descriptor specification", o.arg);
            break;
        }
    }
    h.in = fd_get((int)fd);
    if (!h.in) return b_error("read", 1, "%lld: invalid file descriptor: Bad file descriptor", (long long)fd);
    const char *usual = timed ? NULL : var_get("TMOUT");
    int64_t usual_s;
    if (usual && parse_int(usual, &usual_s) && usual_s > 0) timeout_s = (double)usual_s;
    if (timeout_zero) return slow_beyond(h.in, 0);   /* input never blocks here, but a writer may have slept */
    size_t first = o.at < argc ? name_len(argv[o.at]) : 0;   /* the others are looked at when their turn comes */
    if (o.at < argc && (!first || (argv[o.at][first] && argv[o.at][first] != '[')))
        return b_error("read", 1, "`%s': not a valid identifier", argv[o.at]);
    if (array && !is_name(array)) return b_error("read", 1, "`%s': not a valid identifier", array);
    line_t l = { { .a = &sh.tmp }, { .a = &sh.tmp } };
    bool late = timeout_s > 0 && (slow_beyond(h.in, timeout_s) || (fifo_lacks_line(h.in) && !background_write(h.in, NULL)));
    bool complete = !late && read_line(&h, &l);
    if (sh.unwind) return 1;
    sb_str(&l.text);
    sb_str(&l.mask);
    const char *ifs = var_get("IFS");
    if (!ifs) ifs = sh.ifs->top && !(sh.ifs->top->flags & V_SET) ? " \t\n" : sh.ifs->top ? "" : " \t\n";
    bool ok;
    if (array) ok = assign_array(&l, array, h.exact ? "" : ifs);
    else if (o.at >= argc) ok = var_set("REPLY", l.text.s);
    else if (h.exact) {
        ok = assign_name(argv[o.at], l.text.s);
        for (int i = o.at + 1; i < argc && ok; i++) ok = assign_name(argv[i], "");
    } else ok = assign_fields(&l, argv + o.at, argc - o.at, ifs);
    return late ? TIMED_OUT : !ok ? 1 : !complete;
}

int b_mapfile(int argc, char **argv)
{
    opts o = OPTS("mapfile [-d delim] [-n count] [-O origin] [-s count] [-t] [-u fd] [-C callback] [-c quantum] [array]");
    int64_t max = 0, origin = 0, skip = 0, fd = 0, quantum = 5000;
    bool trim = false, has_origin = false;
    int delim = '\n';
    char *callback = NULL;
    if (jobs_fresh) background_begin();
    for (int c; (c = next_opt(&o, "d:n:O:s:tu:C:c:"));) {
        int64_t v = 0;
        if (c == '?') return 2;
        if (strchr("nOsuc", c) && (!parse_int(o.arg, &v) || v < 0))
            return b_error(argv[0], 1, "%s: invalid %s", o.arg,
                           c == 'O'   ? "array origin"
                           : c == 'u' ? "file descriptor specification"
                                      : "line count");
        switch (c) {
        case 'd': delim = (unsigned char)*o.arg; break;
        case 'n': max = v; break;
        case 'O': origin = v; has_origin = true; break;
        case 's': skip = v; break;
        case 't': trim = true; break;
        case 'u': fd = v; break;
        case 'C': callback = o.arg; break;
        case 'c':
            if (v <= 0) return b_error(argv[0], 1, "%s: invalid callback quantum", o.arg);
            quantum = v;
            break;
        }
    }
    const char *name = o.at < argc ? argv[o.at] : "MAPFILE";
    io *in = fd_get((int)fd);
    if (!is_name(name)) return b_error(argv[0], 1, "`%s': not a valid identifier", name);
    if (!in) return b_error(argv[0], 1, "%lld: invalid file descriptor: Bad file descriptor", (long long)fd);
    var *inner;
    slot *s = array_slot(name, &inner);
    bool keyed = s->top && s->top->flags & V_ASSOC;
    if (check_readonly(s, s->top) || keyed) {
        if (keyed) b_error(argv[0], 1, "%s: not an indexed array", name);
        circular_back(s, inner);
        return 1;
    }
    if (!has_origin) var_set_list(s->name, NULL, 0);
    else { var *v = var_writable(s, -1); var_make_array(s, v, 0); }
    char *line = NULL;
    size_t cap = 0;
    int64_t n = 0;
    for (ssize_t len; (len = io_getdelim(in, &line, &cap, delim)) >= 0;) {
        if (skip > 0) { skip--; continue; }
        if (trim && len > 0 && (unsigned char)line[len - 1] == (unsigned char)delim) line[len - 1] = 0;
        if (callback && quantum > 0 && (n + 1) % quantum == 0) {
            strbuf b = { .a = &sh.tmp };
            sb_printf(&b, "%s %lld ", callback, (long long)(origin + n));
            quote_single(&b, line);
            exec_text(sb_str(&b), b.len, "mapfile", sh.line);
        }
        if (!var_set_index(s, origin + n, line, 0)) break;
        n++;
        if (max > 0 && n >= max) break;
    }
    free(line);
    circular_back(s, inner);
    return sh.unwind ? 1 : 0;
}
