/* sed_replace.c - the commands that compute a new pattern space: s, y and the e flag; and l, which shows it. */
#include "sed_run.h"
#include "../utf8.h"
#include <stdio.h>
#include <string.h>

typedef struct { int all, once; } case_mode;

static void add_cased(buffer *b, const char *text, size_t n, case_mode *c) {
    if (!c->all && !c->once) { buffer_add(b, text, n); return; }
    for (size_t i = 0; i < n;) {
        int ch, len = utf8_decode(text + i, n - i, &ch);
        int how = c->once ? c->once : c->all;
        c->once = 0;
        if (ch < 0 || !how) buffer_add(b, text + i, (size_t)len);
        else {
            char bytes[4];
            int out = how == 'U' || how == 'u' ? utf8_upper(ch) : utf8_lower(ch);
            buffer_add(b, bytes, (size_t)utf8_encode(out, bytes));
        }
        i += (size_t)len;
    }
}

static void add_replacement(machine *m, const sed_command *k, buffer *b, const regex_span *groups) {
    case_mode mode = {0, 0};
    for (int i = 0; i < k->piece_n; i++) {
        const sed_piece *p = &k->pieces[i];
        switch (p->change) {
        case 'U': case 'L': mode.all = p->change; mode.once = 0; break;
        case 'u': case 'l': mode.once = p->change; break;
        case 'E': mode.all = mode.once = 0; break;
        }
        if (p->group < 0) add_cased(b, p->text, p->n, &mode);
        else if (groups[p->group].start >= 0)
            add_cased(b, m->space.p + groups[p->group].start, (size_t)(groups[p->group].end - groups[p->group].start), &mode);
    }
}

/* The output of a command of the shell, which reads nothing. */
void sed_run_shell(machine *m, const char *command, buffer *output) {
    char *words[] = {"bash", "-c", (char *)command, NULL};
    size_t n;
    if (!m->t->run) return;
    held_flush(&m->held);
    io_flush(sed_target(m)->to);
    io *in = io_null(), *out = io_pipe();
    tool_run_with(m->t, in, out, NULL, 3, words);
    const char *bytes = io_bytes(out, &n);
    buffer_add(output, bytes, n);
    io_unref(in);
    io_unref(out);
}

/* Runs the pattern space as a command; its output becomes the pattern space. */
void sed_run_space(machine *m) {
    buffer b = {.t = m->t};
    buffer_puts(&b, "");
    sed_run_shell(m, tool_strndup(m->t, m->space.p, m->space.n), &b);
    if (b.n && b.p[b.n - 1] == '\n') b.n--;
    buffer_free(&m->space);
    m->space = b;
}

int sed_substitute(machine *m, sed_command *k) {
    regex *r = k->regex ? k->regex : m->last;
    if (!r) {
        m->quit = 1;
        m->exit_code = tool_fail(m->t, 1, "-e expression #1, char 0: no previous regular expression");
        return 0;
    }
    m->last = r;
    regex_span g[10];
    buffer b = {.t = m->t};
    size_t at = 0, copied = 0, n = m->space.n;
    ssize_t previous_end = -1;
    int count = 0, done = 0;
    while (at <= n) {
        int found = regex_exec(r, m->space.p, n, at, g, 10);
        if (found < 0) { m->quit = 1; m->exit_code = tool_fail(m->t, 4, "regular expression too complex"); }
        if (found <= 0) break;
        if (g[0].start == g[0].end && g[0].start == previous_end) {
            /* an empty match right after the last one does not count */
            at = (size_t)g[0].end;
            if (at >= n) break;
            int ch;
            at += (size_t)utf8_decode(m->space.p + at, n - at, &ch);
            previous_end = -1;
            continue;
        }
        if (++count >= k->which) {
            buffer_add(&b, m->space.p + copied, (size_t)g[0].start - copied);
            add_replacement(m, k, &b, g);
            copied = (size_t)g[0].end;
            done = 1;
            if (!k->global) break;
        }
        previous_end = g[0].end;
        at = (size_t)g[0].end;
        if (g[0].start == g[0].end) {
            if (at >= n) break;
            int ch;
            at += (size_t)utf8_decode(m->space.p + at, n - at, &ch);
            previous_end = -1;
        }
    }
    if (!done) { buffer_free(&b); return 0; }
    buffer_add(&b, m->space.p + copied, n - copied);
    buffer_free(&m->space);
    m->space = b;
    m->replaced = 1;
    return 1;
}

void sed_transliterate(machine *m, const sed_command *k) {
    buffer b = {.t = m->t};
    buffer_puts(&b, "");
    for (size_t i = 0; i < m->space.n;) {
        int ch, len = utf8_decode(m->space.p + i, m->space.n - i, &ch), found = -1;
        for (int j = 0; j < k->map_n && found < 0 && ch >= 0; j++) if (k->map_from[j] == ch) found = k->map_to[j];
        char bytes[4];
        if (found < 0) buffer_add(&b, m->space.p + i, (size_t)len); else buffer_add(&b, bytes, (size_t)utf8_encode(found, bytes));
        i += (size_t)len;
    }
    buffer_free(&m->space);
    m->space = b;
}

/* The l command: unambiguous, folded. */
void sed_list_space(machine *m, int width) {
    buffer b = {.t = m->t};
    size_t column = 0;
    for (size_t i = 0; i < m->space.n; i++) {
        unsigned char c = (unsigned char)m->space.p[i];
        char piece[8];
        static const char from[] = "\\\a\b\f\n\r\t\v", to[] = "\\abfnrtv";
        const char *at = c ? strchr(from, c) : NULL;
        if (at) snprintf(piece, sizeof piece, "\\%c", to[at - from]);
        else if (c >= 32 && c < 127) snprintf(piece, sizeof piece, "%c", c);
        else snprintf(piece, sizeof piece, "\\%03o", c);
        size_t n = strlen(piece);
        if (width > 0 && column + n > (size_t)width - 1) { buffer_putc(&b, '\\'); buffer_putc(&b, m->delim); column = 0; }
        buffer_puts(&b, piece);
        column += n;
    }
    buffer_putc(&b, '$');
    buffer_putc(&b, m->delim);
    sed_put_raw(m, sed_target(m), b.p, b.n);
    buffer_free(&b);
}
