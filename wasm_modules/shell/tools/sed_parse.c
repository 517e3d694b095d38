/* sed_parse.c - from the text of a script to commands. */
#include "sed_source.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 4.9                     /* of the sed that scripts may ask for with v */

static void skip_space(sed_source *c) { while (c->p < c->end && (isspace((unsigned char)*c->p) || *c->p == ';')) c->p++; }

/* One address; a->kind stays ADDR_NONE when there is none. */
static int take_address(sed_source *c, sed_addr *a) {
    memset(a, 0, sizeof *a);
    if (c->p >= c->end) return 0;
    if (isdigit((unsigned char)*c->p)) {
        a->n = sed_take_number(c);
        a->kind = a->n ? ADDR_LINE : ADDR_ZERO;
        sed_skip_blanks(c);
        if (c->p < c->end && *c->p == '~' && !c->s->posix) {
            c->p++;
            sed_skip_blanks(c);
            a->step = sed_take_number(c);
            a->kind = a->step ? ADDR_STEP : ADDR_LINE;
        }
        return 0;
    }
    if (*c->p == '$') { c->p++; a->kind = ADDR_LAST; return 0; }
    int delim = *c->p;
    if (delim == '\\') {
        if (++c->p >= c->end) return sed_bad(c, "unterminated address regex");
        delim = *c->p;
    } else if (delim != '/') return 0;
    c->p++;
    buffer raw = {.t = c->s->t};
    if (sed_take_delimited(c, delim, 1, &raw) < 0) return sed_bad(c, "unterminated address regex");
    int flags = 0;
    for (; c->p < c->end && !c->s->posix; c->p++) {
        if (*c->p == 'I') flags |= REGEX_ICASE;
        else if (*c->p == 'M') flags |= REGEX_MULTILINE;
        else break;
    }
    a->kind = ADDR_REGEX;
    if (!raw.n && flags) return sed_bad(c, "cannot specify modifiers on empty regexp");
    return sed_compile(c, &raw, flags, &a->regex);
}

static int take_second_address(sed_source *c, sed_command *k) {
    sed_skip_blanks(c);
    if (c->p < c->end && (*c->p == '+' || *c->p == '~') && !c->s->posix) {
        k->a2.kind = *c->p++ == '+' ? ADDR_PLUS : ADDR_MULTIPLE;
        k->a2.n = sed_take_number(c);
        return 0;
    }
    if (take_address(c, &k->a2)) return 1;
    if (k->a2.kind == ADDR_NONE) { c->p += c->p < c->end; return sed_bad(c, "unexpected `,'"); }
    if (k->a2.kind == ADDR_ZERO) k->a2.kind = ADDR_LINE;
    return 0;
}

/* Whether the script's part ends at p: a text goes on in the next one, but not where POSIX alone counts. */
static int ends_part(const sed_source *c, const char *p) {
    if (p >= c->end) return 1;
    for (int i = 1; i < c->s->part_count; i++) if (c->s->parts[i].at == (size_t)(p - c->begin) + 1) return 1;
    return 0;
}

/* The text of a, i, c in both its forms: "a\" newline text, and GNU's "a text". Lines end with a newline. */
static int take_text(sed_source *c, sed_command *k) {
    static const char expected[] = "expected \\ after `a', `c' or `i'";
    buffer b = {.t = c->s->t};
    sed_skip_blanks(c);
    if (c->p >= c->end) return sed_bad(c, expected);
    if (c->s->posix && *c->p != '\\') { c->p++; return sed_bad(c, expected); }
    if (*c->p == '\\') {
        const char *after = ++c->p;
        if (c->s->posix && ends_part(c, c->p)) return sed_bad(c, "incomplete command");
        sed_skip_blanks(c);
        if (c->p >= c->end) { k->text = ""; return 0; }
        if (*c->p == '\n') c->p++; else c->p = after;      /* a\text keeps its blanks */
    }
    buffer_puts(&b, "");
    while (c->p < c->end && *c->p != '\n') {
        if (*c->p == '\\' && c->s->posix && ends_part(c, c->p + 1)) { c->p++; return sed_bad(c, "incomplete command"); }
        if (*c->p == '\\' && c->p + 1 < c->end) {
            int used = 1, ch = c->p[1] == 'n' ? '\n' : sed_char_escape(c->p + 1, c->end, &used);
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

static char *take_label(sed_source *c, int stop_at_semicolon) {
    sed_skip_blanks(c);
    const char *start = c->p;
    while (
        c->p < c->end && *c->p != '\n' && !(stop_at_semicolon && (strchr(";}#", *c->p) || isspace((unsigned char)*c->p))))
        c->p++;
    const char *end = c->p;
    while (end > start && isspace((unsigned char)end[-1])) end--;
    return tool_strndup(c->s->t, start, (size_t)(end - start));
}

/* After a command only blanks, ; newline } or # may stand. */
static int expect_end(sed_source *c) {
    sed_skip_blanks(c);
    if (c->p >= c->end || *c->p == '}' || *c->p == '#') return 0;
    if (*c->p == ';' || *c->p == '\n') { c->p++; return 0; }
    c->p++;
    return sed_bad(c, "extra characters after command");
}

static int take_arguments(sed_source *c, sed_command *k) {
    switch (k->name) {
    case '{': c->s->depth++; return 0;
    case '}':
        if (!c->s->depth) return sed_bad(c, "unexpected `}'");
        if (k->a1.kind != ADDR_NONE) return sed_bad(c, "`}' doesn't want any addresses");
        c->s->depth--;
        return expect_end(c);
    case 'a': case 'i': case 'c': return take_text(c, k);
    case ':':
        if (k->a1.kind != ADDR_NONE) return sed_bad(c, ": doesn't want any addresses");
        k->text = take_label(c, 1);
        if (!*k->text) return sed_bad(c, "\":\" lacks a label");
        return 0;
    case 'b': case 't': case 'T': k->text = take_label(c, 1); return 0;
    case 'r': case 'R': case 'w': case 'W':
        if (c->s->sandbox) return sed_bad(c, "e/r/w commands disabled in sandbox mode");
        k->text = sed_take_file_name(c);
        if (!*k->text) return sed_bad(c, "missing filename in r/R/w/W commands");
        if (k->name == 'w' || k->name == 'W') return (k->output = sed_open_output(c, k->text)) ? 0 : 4;
        return 0;
    case 'q': case 'Q': case 'l': case 'L':
        sed_skip_blanks(c);
        k->number = k->name == 'l' ? -1 : 0;
        if (c->p < c->end && isdigit((unsigned char)*c->p) && !c->s->posix) k->number = (int)sed_take_number(c);
        return expect_end(c);
    case 's': { int status = sed_take_substitute(c, k); return status ? status : expect_end(c); }
    case 'y': return sed_take_transliterate(c, k) ? 1 : expect_end(c);
    case 'e':
        if (c->s->sandbox) return sed_bad(c, "e/r/w commands disabled in sandbox mode");
        k->text = sed_take_file_name(c);
        return 0;
    case 'v':
        if (atof(take_label(c, 1)) > VERSION) return sed_bad(c, "expected newer version of sed");
        c->s->posix = 0;
        return expect_end(c);
    default: return expect_end(c);
    }
}

int sed_parse(sed_script *s, const char *text, size_t n) {
    sed_source c = {s, text, text + n, text};
    if (!s->count && n >= 2 && text[0] == '#' && text[1] == 'n') s->quiet = 1;
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
        if (c.end - c.p >= 2 && (*c.p == '+' || *c.p == '~')) {
            c.p += 2;
            return sed_bad(&c, "invalid usage of +N or ~N as first address");
        }
        if (take_address(&c, &k->a1)) return 1;
        sed_skip_blanks(&c);
        if (c.p < c.end && *c.p == ',' && k->a1.kind != ADDR_NONE) {
            c.p++;
            if (take_second_address(&c, k)) return 1;
        }
        sed_skip_blanks(&c);
        while (c.p < c.end && *c.p == '!') {
            c.p++;
            if (k->negate) return sed_bad(&c, "multiple `!'s");
            k->negate = 1;
            sed_skip_blanks(&c);
        }
        if (c.p >= c.end) return sed_bad(&c, "missing command");
        k->name = (unsigned char)*c.p++;
        k->at = (int)(c.p - c.begin);
        if (k->name == '#') {
            if (k->a1.kind != ADDR_NONE) return sed_bad(&c, "comments don't accept any addresses");
            c.p--;
            continue;
        }
        if (k->a1.kind == ADDR_ZERO) {
            int first_of_all = k->name == 'r' && k->a2.kind == ADDR_NONE;
            if ((k->a2.kind != ADDR_REGEX && !first_of_all) || s->posix) return sed_bad(&c, "invalid usage of line address 0");
            k->active = 1;
        }
        if (!strchr("{}=acdDeFgGhHilnNpPqQrRstTvwWxyz:b", k->name) || (s->posix && strchr("eFvzLQTRW", k->name)))
            return sed_wrong(s, (size_t)k->at, 1, "unknown command: `%c'", k->name);
        if (k->a2.kind != ADDR_NONE && strchr(s->posix ? "qail=r" : "qQ", k->name))
            return sed_bad(&c, "command only uses one address");
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
            if (!depth) return sed_wrong(s, (size_t)k->at, 1, "unexpected `}'");
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
    return depth ? sed_wrong(s, (size_t)s->commands[open[depth - 1]].at, 0, "unmatched `{'") : 0;
}
