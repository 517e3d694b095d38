/* sed_source.c - the small parts of a sed script: escapes, delimited text, patterns, numbers and file names. */
#include "sed_source.h"
#include <ctype.h>
#include <fcntl.h>
#include <string.h>

int sed_wrong(sed_script *s, size_t at, int has_column, const char *format, ...) {
    sed_part none = {0, NULL}, *in = &none;
    int expressions = 0, line = 1;
    for (int i = 0; i < s->part_count && s->parts[i].at < at; i++) {
        in = &s->parts[i];
        expressions += !in->file;
    }
    for (size_t i = in->at; i + 1 < at; i++) line += s->text[i] == '\n';
    if (in->file) io_printf(s->t->err, "%s: file %s line %d: ", s->t->name, in->file, line);
    else {
        io_printf(s->t->err, "%s: -e expression #%d, char %d: ", s->t->name, expressions ? expressions : 1,
            has_column ? (int)(at - in->at) : 0);
    }
    va_list args;
    va_start(args, format);
    io_vprintf(s->t->err, format, args);
    va_end(args);
    io_putc(s->t->err, '\n');
    return 1;
}

int sed_bad(sed_source *c, const char *message) { return sed_wrong(c->s, (size_t)(c->p - c->begin), 1, "%s", message); }

void sed_skip_blanks(sed_source *c) { while (c->p < c->end && isspace((unsigned char)*c->p) && *c->p != '\n') c->p++; }

static int hex(int ch) { return isdigit(ch) ? ch - '0' : isxdigit(ch) ? (ch | 32) - 'a' + 10 : -1; }

int sed_char_escape(const char *p, const char *end, int *used) {
    int base = 0, most = 0, v = 0, n = 0;
    switch (*p) {
    case 'a': *used = 1; return 7;
    case 'f': *used = 1; return 12;
    case 'v': *used = 1; return 11;
    case 't': *used = 1; return 9;
    case 'r': *used = 1; return 13;
    case 'c': if (p + 1 < end) { *used = 2; return toupper((unsigned char)p[1]) ^ 64; } return -1;
    case 'd': base = 10; most = 3; break;
    case 'o': base = 8; most = 3; break;
    case 'x': base = 16; most = 2; break;
    default: return -1;
    }
    for (n = 0; n < most && p + 1 + n < end; n++) {
        int d = hex((unsigned char)p[1 + n]);
        if (d < 0 || d >= base) break;
        v = v * base + d;
    }
    if (!n) return -1;
    *used = 1 + n;
    return v & 255;
}

/* Where the bracket expression that begins at p (after '[') ends, or NULL when it does not on this line. */
static const char *bracket_end(const char *p, const char *end) {
    if (p < end && *p == '^') p++;
    if (p < end && *p == ']') p++;
    for (; p < end && *p != '\n'; p++) {
        if (*p == ']') return p + 1;
        if (*p == '[' && p + 1 < end && (p[1] == ':' || p[1] == '.' || p[1] == '=')) {
            char mark = p[1];
            const char *q = p + 2;
            while (q + 1 < end && *q != '\n' && !(q[0] == mark && q[1] == ']')) q++;
            if (q + 1 >= end || *q == '\n') return NULL;      /* a class that does not end takes the rest of the line */
            p = q + 1;
        }
    }
    return NULL;
}

int sed_take_delimited(sed_source *c, int delim, int pattern, buffer *b) {
    const char *inside = c->p;          /* where the last bracket expression ended */
    buffer_puts(b, "");
    for (;;) {
        if (c->p >= c->end) return -1;
        char ch = *c->p++;
        if (ch == (char)delim) return 0;
        if (ch == '\n' && pattern) return -1;
        int opens = ch == '[' && pattern && c->p > inside;
        const char *close = opens ? bracket_end(c->p, c->end) : NULL;
        if (opens && !close) { c->p = c->end; return -1; }
        if (opens) inside = close;
        if (close && memchr(c->p, delim, (size_t)(close - c->p)) && memchr(close, delim, (size_t)(c->end - close))) {
            buffer_putc(b, ch);
            while (c->p < close) {
                if (*c->p == '\\' && c->p + 1 < close && c->p[1] == 'n') {
                    buffer_putc(b, '\n');
                    c->p += 2;
                } else buffer_putc(b, *c->p++);
            }
            continue;
        }
        if (ch == '\\') {
            if (c->p >= c->end) return -1;
            ch = *c->p++;
            if (ch == (char)delim) {
                if (pattern && strchr("(){}|+?123456789", delim) && delim) { /* the literal character */
                } else if (!pattern && ch == '&') buffer_putc(b, '\\');
            } else if (ch == 'n' && pattern) ch = '\n';
            else buffer_putc(b, '\\');
        }
        buffer_putc(b, ch);
    }
}

/* Replaces character escapes in a pattern; a special character so produced is special. */
static void expand_escapes(buffer *from, buffer *to, int posix) {
    const char *p = from->p, *end = from->p + from->n;
    buffer_puts(to, "");
    while (p < end) {
        const char *close = posix && *p == '[' ? bracket_end(p + 1, end) : NULL;
        if (close) { buffer_add(to, p, (size_t)(close - p)); p = close; continue; }    /* nothing is an escape there */
        if (*p != '\\' || p + 1 >= end) { buffer_putc(to, *p++); continue; }
        int used, ch = sed_char_escape(p + 1, end, &used);
        if (ch < 0) { buffer_add(to, p, 2); p += 2; continue; }
        buffer_putc(to, ch);
        p += 1 + used;
    }
}

int sed_compile(sed_source *c, buffer *raw, int flags, regex **result) {
    const char *error;
    buffer text = {.t = c->s->t};
    *result = NULL;
    if (!raw->n) return 0;
    expand_escapes(raw, &text, c->s->posix);
    flags |= REGEX_STRICT | (c->s->extended ? REGEX_EXTENDED : 0);
    *result = pattern_compile(c->s->t, text.p, text.n, flags, &error);
    return *result ? 0 : sed_bad(c, error);
}

unsigned long sed_take_number(sed_source *c) {
    unsigned long n = 0;
    while (c->p < c->end && isdigit((unsigned char)*c->p)) n = n * 10 + (unsigned long)(*c->p++ - '0');
    return n;
}

sed_output *sed_open_output(sed_source *c, const char *path) {
    sed_script *s = c->s;
    if (!strcmp(path, "/dev/stdout")) return &s->standard;
    for (sed_output *o = s->outputs; o; o = o->next) if (!strcmp(o->path, path)) return o;
    sed_output *o = tool_alloc(s->t, sizeof *o);
    o->path = path;
    o->to = !strcmp(path, "/dev/stderr") ? io_ref(s->t->err) : io_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (!o->to) { tool_fail_errno(s->t, 4, "couldn't open file %s", path); return NULL; }
    o->next = s->outputs;
    s->outputs = o;
    return o;
}

char *sed_take_file_name(sed_source *c) {
    sed_skip_blanks(c);
    const char *start = c->p;
    while (c->p < c->end && *c->p != '\n') c->p++;
    return tool_strndup(c->s->t, start, (size_t)(c->p - start));
}
