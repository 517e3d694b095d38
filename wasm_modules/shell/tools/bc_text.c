/* bc_text.c - reading bc's program text: blanks, comments, words; its variables; its error messages. */
#include "bc_run.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

num bc_zero(bc_state *s) { return num_from(s->t, 0); }

void bc_put(bc_state *s, const char *text, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\n') s->column = 0;
        else if (s->width && ++s->column == s->width - 1) { io_puts(s->t->out, "\\\n"); s->column = 1; }
        if (io_putc(s->t->out, text[i]) < 0) { s->quit = 1; return; }
    }
}

static int is_illegal(int c) { return c < 0 || c > 126 || strchr("@$?`~:'\\", c) != NULL; }

num bc_fail(bc_state *s, const char *message) {
    if (s->error) return bc_zero(s);
    s->error = 1;
    io_flush(s->t->out);
    if (!s->skip) {
        io_printf(s->t->err, "Runtime error (func=%s, adr=%d): %s\n", s->function ? s->function : "(main)", 3, message);
        return bc_zero(s);
    }
    int line = 1, syntax = !strcmp(message, "syntax error");
    for (const char *p = s->text; p < s->text_end && p <= s->p; p++) line += *p == '\n';
    io_printf(s->t->err, "(standard_in) %d: ", line);
    if (syntax && s->p < s->end && is_illegal(*s->p)) io_printf(s->t->err, "illegal character: %c\n", *s->p);
    else io_printf(s->t->err, "%s\n", message);
    return bc_zero(s);
}

void bc_space(bc_state *s) {
    for (;;) {
        if (s->p < s->end && (*s->p == ' ' || *s->p == '\t')) s->p++;
        else if (s->end - s->p >= 2 && s->p[0] == '\\' && s->p[1] == '\n') s->p += 2;
        else if (s->end - s->p >= 2 && s->p[0] == '/' && s->p[1] == '*') {
            s->p += 2;
            while (s->end - s->p >= 2 && !(s->p[0] == '*' && s->p[1] == '/')) s->p++;
            s->p = s->end - s->p >= 2 ? s->p + 2 : s->end;
        } else if (s->p < s->end && *s->p == '#')
            while (s->p < s->end && *s->p != '\n') s->p++;
        else return;
    }
}

void bc_space_lines(bc_state *s) { for (bc_space(s); s->p < s->end && (*s->p == '\n' || *s->p == ';'); bc_space(s)) s->p++; }
int bc_peek(bc_state *s, const char *w) {
    bc_space(s);
    size_t n = strlen(w);
    return (size_t)(s->end - s->p) >= n && !memcmp(s->p, w, n);
}
int bc_accept(bc_state *s, const char *w) { if (!bc_peek(s, w)) return 0; s->p += strlen(w); return 1; }

size_t bc_word_length(bc_state *s) {
    bc_space(s);
    const char *q = s->p;
    if (q >= s->end || !islower((unsigned char)*q)) return 0;
    while (q < s->end && (islower((unsigned char)*q) || isdigit((unsigned char)*q) || *q == '_')) q++;
    return (size_t)(q - s->p);
}

int bc_accept_word(bc_state *s, const char *w) {
    size_t n = bc_word_length(s);
    if (n != strlen(w) || memcmp(s->p, w, n)) return 0;
    s->p += n;
    return 1;
}

bc_var *bc_variable(bc_state *s, const char *name) {
    for (bc_var *v = s->vars; v; v = v->next) if (!strcmp(v->name, name)) return v;
    bc_var *v = tool_alloc(s->t, sizeof *v);
    v->name = tool_strdup(s->t, name);
    v->value = bc_zero(s);
    v->next = s->vars;
    s->vars = v;
    return v;
}
