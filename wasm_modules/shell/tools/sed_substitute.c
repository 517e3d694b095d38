/* sed_substitute.c - reading the commands s and y. */
#include "sed_source.h"
#include "../utf8.h"
#include <ctype.h>
#include <string.h>

static void add_piece(sed_source *c, sed_command *k, buffer *text, int group, int change) {
    if (group < 0 && !text->n && !change) return;
    k->pieces = tool_realloc(c->s->t, k->pieces, ((size_t)k->piece_n + 1) * sizeof *k->pieces);
    k->pieces[k->piece_n++] = (sed_piece){text->n ? tool_strndup(c->s->t, text->p, text->n) : NULL, text->n, group, change};
    text->n = 0;
}

static int take_replacement(sed_source *c, sed_command *k, buffer *raw, int groups) {
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
            int used, ch = sed_char_escape(p, end, &used);
            if (*p == 'c' && p + 1 < end && p[1] == '\\') {        /* \c\\ is one character, and \c\x none */
                if (p + 2 >= end || p[2] != '\\') return sed_bad(c, "recursive escaping after \\c not allowed");
                used = 3;
            }
            if (*p == 'c' && p + 1 == end) buffer_putc(&text, '\\');
            else if (isdigit((unsigned char)*p)) {
                int group = *p - '0';
                if (group > groups)
                    return sed_wrong(c->s, (size_t)(c->p - c->begin), 1, "invalid reference \\%d on `s' command's RHS", group);
                if (text.n) { add_piece(c, k, &text, -1, change); change = 0; }
                add_piece(c, k, &text, group, change);
                change = 0;
            } else if (strchr("ULulE", *p) && !c->s->posix) {
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

int sed_take_substitute(sed_source *c, sed_command *k) {
    buffer raw = {.t = c->s->t}, with = {.t = c->s->t};
    if (c->p >= c->end || *c->p == '\n' || *c->p == '\\') return sed_bad(c, "unterminated `s' command");
    int delim = *c->p++, flags = 0;
    if (sed_take_delimited(c, delim, 1, &raw) < 0 || sed_take_delimited(c, delim, 0, &with) < 0)
        return sed_bad(c, "unterminated `s' command");
    for (; c->p < c->end; c->p++) {
        if (c->s->posix && strchr("iImMe", *c->p)) { c->p++; return sed_bad(c, "unknown option to `s'"); }
        switch (*c->p) {
        case 'g': if (k->global++) { c->p++; return sed_bad(c, "multiple `g' options to `s' command"); } continue;
        case 'p': if (k->print & (k->eval ? PRINT_AFTER : PRINT_BEFORE)) { c->p++; return sed_bad(c, "multiple `p' options to `s' command"); } k->print |= k->eval ? PRINT_AFTER : PRINT_BEFORE; continue;
        case 'i': case 'I': flags |= REGEX_ICASE; continue;
        case 'm':
        case 'M':
            if (!c->s->zero) flags |= REGEX_MULTILINE;
            continue; /* with -z there are no lines inside a line */
        case 'e': if (c->s->sandbox && c->p++) return sed_bad(c, "e/r/w commands disabled in sandbox mode"); k->eval = 1; continue;
        case 'w':
            c->p++;
            if (c->s->sandbox) return sed_bad(c, "e/r/w commands disabled in sandbox mode");
            k->text = sed_take_file_name(c);
            if (!*k->text) return sed_bad(c, "missing filename in r/R/w/W commands");
            if (!(k->output = sed_open_output(c, k->text))) return 4;
            break;
        case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
            if (k->which) { sed_take_number(c); return sed_bad(c, "multiple number options to `s' command"); }
            k->which = (int)sed_take_number(c);
            if (!k->which) return sed_bad(c, "number option to `s' command may not be zero");
            c->p--;
            continue;
        case '}': case '#': case ';': case '\n': break;
        case ' ': case '\t': case '\v': case '\f': continue;
        case '\r': if (c->p + 1 < c->end && c->p[1] == '\n') continue; /* fallthrough */
        default: c->p++; return sed_bad(c, "unknown option to `s'");
        }
        break;
    }
    if (sed_compile(c, &raw, flags, &k->regex)) return 1;
    int strict = k->regex && !c->s->posix && !c->s->correct;
    return take_replacement(c, k, &with, strict ? regex_groups(k->regex) : 9);
}

static int take_characters(sed_source *c, buffer *raw, int **list, int *n) {
    *list = tool_alloc(c->s->t, (raw->n + 1) * sizeof **list);
    *n = 0;
    for (size_t i = 0; i < raw->n;) {
        int ch, used;
        if (raw->p[i] == '\\' && i + 1 < raw->n) {
            if (raw->n - i >= 3 && raw->p[i + 1] == 'c' && raw->p[i + 2] == '\\') {
                if (raw->n - i < 4 || raw->p[i + 3] != '\\') return sed_bad(c, "recursive escaping after \\c not allowed");
                ch = '\\' ^ 64;
                i += 4;
            } else if (raw->p[i + 1] == '\\') { ch = '\\'; i += 2; }
            else if (raw->p[i + 1] == 'n') { ch = '\n'; i += 2; }
            else if ((ch = sed_char_escape(raw->p + i + 1, raw->p + raw->n, &used)) >= 0) i += 1 + (size_t)used;
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

int sed_take_transliterate(sed_source *c, sed_command *k) {
    buffer from = {.t = c->s->t}, to = {.t = c->s->t};
    if (c->p >= c->end) return sed_bad(c, "unterminated `y' command");
    int delim = *c->p++, other;
    if (sed_take_delimited(c, delim, 0, &from) < 0 || sed_take_delimited(c, delim, 0, &to) < 0)
        return sed_bad(c, "unterminated `y' command");
    if (take_characters(c, &from, &k->map_from, &k->map_n) || take_characters(c, &to, &k->map_to, &other)) return 1;
    return k->map_n == other ? 0 : sed_bad(c, "strings for `y' command are different lengths");
}
