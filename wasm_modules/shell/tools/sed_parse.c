/* sed_parse.c - from the text of a script to commands. */
#include "sed.h"
#include "../utf8.h"
#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

typedef struct { sed_script *s; const char *p, *end, *begin; } source;

static int bad(source *c, const char *message) {
    return tool_fail(c->s->t, 1, "-e expression #1, char %d: %s", (int)(c->p - c->begin), message);
}

static void skip_blanks(source *c) { while (c->p < c->end && isspace((unsigned char)*c->p) && *c->p != '\n') c->p++; }
static void skip_space(source *c) { while (c->p < c->end && (isspace((unsigned char)*c->p) || *c->p == ';')) c->p++; }

static int hex(int ch) { return isdigit(ch) ? ch - '0' : isxdigit(ch) ? (ch | 32) - 'a' + 10 : -1; }

/* \a \f \v \t \cX \dNNN \oNNN \xHH at p (after the backslash). The byte, and *used; -1 when it is none of these. */
static int char_escape(const char *p, const char *end, int *used) {
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
            while (q + 1 < end && !(q[0] == mark && q[1] == ']')) q++;
            if (q + 1 < end) p = q + 1;
        }
    }
    return NULL;
}

/* Text up to an unescaped delimiter, which is consumed. In a pattern \n becomes a newline; \delimiter loses its backslash. */
static int take_delimited(source *c, int delim, int pattern, buffer *b) {
    buffer_puts(b, "");
    for (;;) {
        if (c->p >= c->end) return -1;
        char ch = *c->p++;
        if (ch == (char)delim) return 0;
        if (ch == '\n' && pattern) return -1;
        const char *close = ch == '[' && pattern ? bracket_end(c->p, c->end) : NULL;
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

/* Replaces character escapes in a pattern; a special character so produced stands for itself. */
static void expand_escapes(buffer *from, buffer *to) {
    const char *p = from->p, *end = from->p + from->n;
    buffer_puts(to, "");
    while (p < end) {
        if (*p != '\\' || p + 1 >= end) { buffer_putc(to, *p++); continue; }
        int used, ch = char_escape(p + 1, end, &used);
        if (ch < 0) { buffer_add(to, p, 2); p += 2; continue; }
        if (strchr("*.[]$/+?(){}|\\", ch) && ch && p[1] != 'c') buffer_putc(to, '\\');
        buffer_putc(to, ch);
        p += 1 + used;
    }
}

static int compile(source *c, buffer *raw, int flags, regex **result) {
    const char *error;
    buffer text = {.t = c->s->t};
    *result = NULL;
    if (!raw->n) return 0;
    expand_escapes(raw, &text);
    if (c->s->extended) flags |= REGEX_EXTENDED;
    *result = pattern_compile(c->s->t, text.p, text.n, flags, &error);
    return *result ? 0 : bad(c, error);
}

static unsigned long take_number(source *c) {
    unsigned long n = 0;
    while (c->p < c->end && isdigit((unsigned char)*c->p)) n = n * 10 + (unsigned long)(*c->p++ - '0');
    return n;
}

/* One address; a->kind stays ADDR_NONE when there is none. */
static int take_address(source *c, sed_addr *a) {
    memset(a, 0, sizeof *a);
    if (c->p >= c->end) return 0;
    if (isdigit((unsigned char)*c->p)) {
        a->n = take_number(c);
        a->kind = a->n ? ADDR_LINE : ADDR_ZERO;
        skip_blanks(c);
        if (c->p < c->end && *c->p == '~') {
            c->p++;
            skip_blanks(c);
            a->step = take_number(c);
            a->kind = a->step ? ADDR_STEP : ADDR_LINE;
        }
        return 0;
    }
    if (*c->p == '$') { c->p++; a->kind = ADDR_LAST; return 0; }
    int delim = *c->p;
    if (delim == '\\') {
        if (++c->p >= c->end) return bad(c, "unexpected `,'");
        delim = *c->p;
    } else if (delim != '/') return 0;
    c->p++;
    buffer raw = {.t = c->s->t};
    if (take_delimited(c, delim, 1, &raw) < 0) return bad(c, "unterminated address regex");
    int flags = 0;
    for (; c->p < c->end; c->p++) {
        if (*c->p == 'I') flags |= REGEX_ICASE;
        else if (*c->p == 'M') flags |= REGEX_MULTILINE;
        else break;
    }
    a->kind = ADDR_REGEX;
    return compile(c, &raw, flags, &a->regex);
}

static int take_second_address(source *c, sed_command *k) {
    skip_blanks(c);
    if (c->p < c->end && (*c->p == '+' || *c->p == '~')) {
        k->a2.kind = *c->p++ == '+' ? ADDR_PLUS : ADDR_MULTIPLE;
        if (c->p >= c->end || !isdigit((unsigned char)*c->p)) return bad(c, "expected number");
        k->a2.n = take_number(c);
        return 0;
    }
    if (take_address(c, &k->a2)) return 1;
    if (k->a2.kind == ADDR_NONE) return bad(c, "unexpected `,'");
    if (k->a2.kind == ADDR_ZERO) k->a2.kind = ADDR_LINE;
    return 0;
}

static sed_output *open_output(source *c, const char *path) {
    sed_script *s = c->s;
    if (!strcmp(path, "/dev/stdout")) return &s->out;
    for (sed_output *o = s->outputs; o; o = o->next) if (!strcmp(o->path, path)) return o;
    sed_output *o = tool_alloc(s->t, sizeof *o);
    o->path = path;
    o->to = !strcmp(path, "/dev/stderr") ? io_ref(s->t->err) : io_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (!o->to) { tool_fail_errno(s->t, 4, "couldn't open file %s", path); return NULL; }
    o->next = s->outputs;
    s->outputs = o;
    return o;
}

static char *take_file_name(source *c) {
    skip_blanks(c);
    const char *start = c->p;
    while (c->p < c->end && *c->p != '\n') c->p++;
    return tool_strndup(c->s->t, start, (size_t)(c->p - start));
}

/* The text of a, i, c in both its forms: "a\" newline text, and GNU's "a text". Lines end with a newline. */
static int take_text(source *c, sed_command *k) {
    buffer b = {.t = c->s->t};
    skip_blanks(c);
    if (c->p >= c->end) return bad(c, "expected \\ after `a', `c' or `i'");
    if (*c->p == '\\') {
        const char *after = ++c->p;
        skip_blanks(c);
        if (c->p >= c->end) { k->text = ""; return 0; }
        if (*c->p == '\n') c->p++; else c->p = after;      /* a\text keeps its blanks */
    }
    buffer_puts(&b, "");
    while (c->p < c->end && *c->p != '\n') {
        if (*c->p == '\\' && c->p + 1 < c->end) {
            int used = 1, ch = c->p[1] == 'n' ? '\n' : char_escape(c->p + 1, c->end, &used);
            if (ch >= 0 && c->p[1] != 'c') { buffer_putc(&b, ch); c->p += 1 + used; continue; }
            c->p++;
        } else if (*c->p == '\\') { c->p++; continue; }
        buffer_putc(&b, *c->p++);
    }
    buffer_putc(&b, '\n');
    k->text = b.p;
    k->text_n = b.n;
    return 0;
}

static void add_piece(source *c, sed_command *k, buffer *text, int group, int change) {
    if (group < 0 && !text->n && !change) return;
    k->pieces = tool_realloc(c->s->t, k->pieces, ((size_t)k->piece_n + 1) * sizeof *k->pieces);
    k->pieces[k->piece_n++] = (sed_piece){text->n ? tool_strndup(c->s->t, text->p, text->n) : NULL, text->n, group, change};
    text->n = 0;
}

static int take_replacement(source *c, sed_command *k, buffer *raw, int groups) {
    buffer text = {.t = c->s->t};
    const char *p = raw->p, *end = raw->p + raw->n;
    int change = 0;
    for (; p < end; p++) {
        if (*p == '&') {
            if (text.n) { add_piece(c, k, &text, -1, change); change = 0; }
            add_piece(c, k, &text, 0, change);
            change = 0;
        } else if (*p != '\\' || p + 1 >= end) buffer_putc(&text, *p);
        else {
            p++;
            int used, ch = char_escape(p, end, &used);
            if (isdigit((unsigned char)*p)) {
                int group = *p - '0';
                if (group > groups)
                    return tool_fail(c->s->t, 1, "-e expression #1, char %d: invalid reference \\%d on `s' command's RHS",
                        (int)(c->p - c->begin), group);
                if (text.n) { add_piece(c, k, &text, -1, change); change = 0; }
                add_piece(c, k, &text, group, change);
                change = 0;
            } else if (strchr("ULulE", *p)) {
                if (text.n || change) add_piece(c, k, &text, -1, change);
                change = *p;
            } else if (*p == 'n') buffer_putc(&text, '\n');
            else if (ch >= 0) { buffer_putc(&text, ch); p += used - 1; }
            else buffer_putc(&text, *p);
        }
    }
    add_piece(c, k, &text, -1, change);
    return 0;
}

static int take_substitute(source *c, sed_command *k) {
    buffer raw = {.t = c->s->t}, with = {.t = c->s->t};
    if (c->p >= c->end || *c->p == '\n' || *c->p == '\\') return bad(c, "unterminated `s' command");
    int delim = *c->p++, flags = 0;
    if (take_delimited(c, delim, 1, &raw) < 0 || take_delimited(c, delim, 0, &with) < 0)
        return bad(c, "unterminated `s' command");
    for (; c->p < c->end; c->p++) {
        switch (*c->p) {
        case 'g': if (k->global) return bad(c, "multiple `g' options to `s' command"); k->global = 1; continue;
        case 'p': if (k->print) return bad(c, "multiple `p' options to `s' command"); k->print = 1; continue;
        case 'i': case 'I': flags |= REGEX_ICASE; continue;
        case 'm':
        case 'M':
            if (!c->s->zero) flags |= REGEX_MULTILINE;
            continue; /* with -z there are no lines inside a line */
        case 'e': if (c->s->sandbox) return bad(c, "e/r/w commands disabled in sandbox mode"); k->eval = 1; continue;
        case 'w':
            c->p++;
            k->text = take_file_name(c);
            if (!*k->text) return bad(c, "missing filename in r/R/w/W commands");
            if (!(k->output = open_output(c, k->text))) return 4;
            break;
        case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
            if (k->which) return bad(c, "multiple number options to `s' command");
            k->which = (int)take_number(c);
            if (!k->which) return bad(c, "number option to `s' command may not be zero");
            c->p--;
            continue;
        case '}': case '#': case ';': case '\n': break;
        case ' ': case '\t': case '\r': continue;
        default: c->p++; return bad(c, "unknown option to `s'");
        }
        break;
    }
    if (compile(c, &raw, flags, &k->regex)) return 1;
    return take_replacement(c, k, &with, k->regex ? regex_groups(k->regex) : 9);
}

static int take_characters(source *c, buffer *raw, int **list, int *n) {
    *list = tool_alloc(c->s->t, (raw->n + 1) * sizeof **list);
    *n = 0;
    for (size_t i = 0; i < raw->n;) {
        int ch, used;
        if (raw->p[i] == '\\' && i + 1 < raw->n) {
            if (raw->p[i + 1] == '\\') { ch = '\\'; i += 2; }
            else if (raw->p[i + 1] == 'n') { ch = '\n'; i += 2; }
            else if ((ch = char_escape(raw->p + i + 1, raw->p + raw->n, &used)) >= 0) i += 1 + (size_t)used;
            else { ch = '\\'; i++; }
        } else {
            int len = utf8_decode(raw->p + i, raw->n - i, &ch);
            if (ch < 0) ch = (unsigned char)raw->p[i];
            i += (size_t)len;
        }
        (*list)[(*n)++] = ch;
    }
    return 0;
}

static int take_transliterate(source *c, sed_command *k) {
    buffer from = {.t = c->s->t}, to = {.t = c->s->t};
    if (c->p >= c->end) return bad(c, "unterminated `y' command");
    int delim = *c->p++, other;
    if (take_delimited(c, delim, 0, &from) < 0 || take_delimited(c, delim, 0, &to) < 0) return bad(c, "unterminated `y' command");
    take_characters(c, &from, &k->map_from, &k->map_n);
    take_characters(c, &to, &k->map_to, &other);
    return k->map_n == other ? 0 : bad(c, "strings for `y' command are different lengths");
}

static char *take_label(source *c, int stop_at_semicolon) {
    skip_blanks(c);
    const char *start = c->p;
    while (
        c->p < c->end && *c->p != '\n' && !(stop_at_semicolon && (*c->p == ';' || isspace((unsigned char)*c->p) || *c->p == '}')))
        c->p++;
    const char *end = c->p;
    while (end > start && isspace((unsigned char)end[-1])) end--;
    return tool_strndup(c->s->t, start, (size_t)(end - start));
}

/* After a command only blanks, ; newline } or # may stand. */
static int expect_end(source *c) {
    skip_blanks(c);
    if (c->p >= c->end || *c->p == '}' || *c->p == '#') return 0;
    if (*c->p == ';' || *c->p == '\n') { c->p++; return 0; }
    c->p++;
    return bad(c, "extra characters after command");
}

static int take_arguments(source *c, sed_command *k) {
    switch (k->name) {
    case '{': return 0;
    case '}': if (k->a1.kind != ADDR_NONE) return bad(c, "} doesn't want any addresses"); return expect_end(c);
    case 'a': case 'i': case 'c': return take_text(c, k);
    case ':':
        if (k->a1.kind != ADDR_NONE) return bad(c, ": doesn't want any addresses");
        k->text = take_label(c, 1);
        if (!*k->text) return bad(c, "\":\" lacks a label");
        return 0;
    case 'b': case 't': case 'T': k->text = take_label(c, 1); return expect_end(c);
    case 'r': case 'R': case 'w': case 'W':
        k->text = take_file_name(c);
        if (!*k->text) return bad(c, "missing filename in r/R/w/W commands");
        if (k->name == 'w' || k->name == 'W') return (k->output = open_output(c, k->text)) ? 0 : 4;
        return 0;
    case 'q': case 'Q': case 'l': case 'L':
        skip_blanks(c);
        k->number = k->name == 'l' ? -1 : 0;
        if (c->p < c->end && isdigit((unsigned char)*c->p)) k->number = (int)take_number(c);
        return expect_end(c);
    case 's': { int status = take_substitute(c, k); return status ? status : expect_end(c); }
    case 'y': return take_transliterate(c, k) ? 1 : expect_end(c);
    case 'e':
        k->text = take_file_name(c);
        return c->s->sandbox ? bad(c, "e/r/w commands disabled in sandbox mode") : 0;
    case 'v': take_label(c, 1); return 0;
    default: return expect_end(c);
    }
}

int sed_parse(sed_script *s, const char *text, size_t n) {
    source c = {s, text, text + n, text};
    if (!s->count && n >= 2 && text[0] == '#' && text[1] == 'n' && (n == 2 || text[2] == '\n')) s->quiet = 1;
    for (;;) {
        skip_space(&c);
        if (c.p >= c.end) return 0;
        if (*c.p == '#') { while (c.p < c.end && *c.p != '\n') c.p++; continue; }
        if (s->count == s->cap) {
            s->cap = s->cap ? s->cap * 2 : 32;
            s->commands = tool_realloc(s->t, s->commands, (size_t)s->cap * sizeof *s->commands);
        }
        sed_command *k = &s->commands[s->count];
        memset(k, 0, sizeof *k);
        if (take_address(&c, &k->a1)) return 1;
        skip_blanks(&c);
        if (c.p < c.end && *c.p == ',' && k->a1.kind != ADDR_NONE) {
            c.p++;
            if (take_second_address(&c, k)) return 1;
        }
        if (k->a1.kind == ADDR_ZERO) {
            if (k->a2.kind != ADDR_REGEX) return bad(&c, "invalid usage of line address 0");
            k->active = 1;
        }
        skip_blanks(&c);
        while (c.p < c.end && *c.p == '!') { k->negate = 1; c.p++; skip_blanks(&c); }
        if (c.p >= c.end) return bad(&c, "missing command");
        k->name = (unsigned char)*c.p++;
        if (!strchr("{}=acdDeFgGhHilnNpPqQrRstTvwWxyz:b", k->name)) {
            return tool_fail(s->t, 1, "-e expression #1, char %d: unknown command: `%c'", (int)(c.p - c.begin), k->name);
        }
        if (k->a2.kind != ADDR_NONE && strchr("=qQ", k->name) && k->name != '=') return bad(&c, "command only uses one address");
        int status = take_arguments(&c, k);
        if (status) return status;
        s->count++;
    }
}

int sed_finish(sed_script *s) {
    int *open = tool_alloc(s->t, ((size_t)s->count + 1) * sizeof *open), depth = 0;
    for (int i = 0; i < s->count; i++) {
        sed_command *k = &s->commands[i];
        if (k->name == '{') open[depth++] = i;
        else if (k->name == '}') {
            if (!depth) return tool_fail(s->t, 1, "-e expression #1, char %d: unexpected `}'", 1);
            s->commands[open[--depth]].target = i;
        } else if (strchr("btT", k->name)) {
            k->target = s->count;
            if (!*k->text) continue;
            int found = 0;
            for (int j = 0; j < s->count; j++)
                if (s->commands[j].name == ':' && !strcmp(s->commands[j].text, k->text)) {
                    k->target = j;
                    found = 1;
                }
            if (!found) return tool_fail(s->t, 4, "can't find label for jump to `%s'", k->text);
        }
    }
    return depth ? tool_fail(s->t, 1, "-e expression #1, char 0: unmatched `{'") : 0;
}
