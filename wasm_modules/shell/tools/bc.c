/* bc.c - the calculator language: statements, functions, and the command line. Statements run as they are read; a loop's body is
 * read anew each time round. Numbers are bc_number.c. */
#include "bc_run.h"
#include "inputs.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_number(bc_state *s, num v) {
    buffer b = {.t = s->t};
    num_write(&b, v, s->obase);
    /* .5 and not 0.5 */
    char *text = b.p;
    if (s->obase == 10 && !num_is_zero(v) && v.whole == 1 && !v.d[0]) {
        char *dot = strchr(text, '.');
        if (dot && dot > text && dot[-1] == '0') memmove(dot - 1, dot, strlen(dot) + 1);
    }
    if (io_puts(s->t->out, text) < 0) s->quit = 1;
}

static void print_list(bc_state *s) {
    do {
        bc_space(s);
        if (s->p < s->end && *s->p == '"') {
            for (s->p++; s->p < s->end && *s->p != '"'; s->p++) {
                char c = *s->p;
                if (c == '\\' && s->p + 1 < s->end) {
                    static const char from[] = "nqtrabf\\", to[] = "\n\"\t\r\a\b\f\\";
                    const char *at = strchr(from, s->p[1]);
                    if (at) {
                        c = to[at - from];
                        s->p++;
                    }
                }
                io_putc(s->t->out, c);
            }
            if (s->p < s->end) s->p++;
        } else { num v = bc_expression(s); if (!s->error) { print_number(s, v); s->last = v; } }
    } while (!s->error && bc_accept(s, ","));
}

/* Skips one statement without running it; leaves s->p behind it. */
static void skip_statement(bc_state *s) {
    bc_space(s);
    int parens = 0, braces = 0;
    for (; s->p < s->end; s->p++) {
        char c = *s->p;
        if (c == '"') { for (s->p++; s->p < s->end && *s->p != '"'; s->p++) {} continue; }
        if (c == '(') parens++;
        if (c == ')') parens--;
        if (c == '{') braces++;
        if (c == '}') { if (!braces) return; if (!--braces && !parens) { s->p++; return; } }
        if ((c == ';' || c == '\n') && !parens && !braces) return;
        /* if (0) 4 else 5: the first part ends where the second begins */
        if (c == 'e' && !parens && !braces && s->end - s->p > 4 && !memcmp(s->p, "else", 4) && strchr(" {(\t\n", s->p[4])
            && strchr(" \t};)", s->p[-1]))
            return;
    }
}

static void block(bc_state *s) {
    for (bc_space_lines(s); s->p < s->end && *s->p != '}' && !s->error && s->flow == GO && !s->quit; bc_space_lines(s))
        bc_statement(s);
    if (s->flow != GO || s->quit) {
        int depth = 0;
        for (; s->p < s->end; s->p++) {
            if (*s->p == '{') depth++;
            if (*s->p == '}' && !depth--) break;
        }
    }
    if (!s->error && !bc_accept(s, "}")) bc_fail(s, "syntax error");
}

static void if_statement(bc_state *s) {
    if (!bc_accept(s, "(")) { bc_fail(s, "syntax error"); return; }
    int yes = !num_is_zero(bc_expression(s));
    if (!bc_accept(s, ")")) { bc_fail(s, "syntax error"); return; }
    while (s->p < s->end && (*s->p == '\n' || *s->p == ' ')) s->p++;
    if (yes) bc_statement(s); else skip_statement(s);
    const char *back = s->p;
    bc_space_lines(s);
    if (bc_accept_word(s, "else")) {
        while (s->p < s->end && (*s->p == '\n' || *s->p == ' ')) s->p++;
        if (yes) skip_statement(s);
        else bc_statement(s);
    } else s->p = back;
}

static void while_statement(bc_state *s) {
    const char *test = s->p, *end = NULL;
    while (!s->error && !s->quit) {
        s->p = test;
        if (!bc_accept(s, "(")) { bc_fail(s, "syntax error"); return; }
        int yes = !num_is_zero(bc_expression(s));
        if (!bc_accept(s, ")")) { bc_fail(s, "syntax error"); return; }
        while (s->p < s->end && (*s->p == '\n' || *s->p == ' ')) s->p++;
        if (!end) { const char *body = s->p; skip_statement(s); end = s->p; s->p = body; }
        if (!yes) break;
        bc_statement(s);
        if (s->flow == BREAK) { s->flow = GO; break; }
        if (s->flow == CONTINUE) s->flow = GO;
        if (s->flow == RETURN) break;
        if (io_failed(s->t->out)) s->quit = 1;
    }
    if (end) s->p = end;
}

static void for_statement(bc_state *s) {
    if (!bc_accept(s, "(")) { bc_fail(s, "syntax error"); return; }
    if (!bc_peek(s, ";")) bc_expression(s);
    if (!bc_accept(s, ";")) { bc_fail(s, "syntax error"); return; }
    const char *test = s->p, *step, *body, *end;
    int parens = 0;
    for (; s->p < s->end && *s->p != ';'; s->p++) {}
    step = ++s->p;
    for (; s->p < s->end && !(*s->p == ')' && !parens); s->p++) { if (*s->p == '(') parens++; if (*s->p == ')') parens--; }
    body = s->p < s->end ? ++s->p : s->p;
    while (body < s->end && (*body == '\n' || *body == ' ')) body++;
    s->p = body;
    skip_statement(s);
    end = s->p;
    while (!s->error && !s->quit) {
        s->p = test;
        if (!bc_peek(s, ";") && num_is_zero(bc_expression(s))) break;
        s->p = body;
        bc_statement(s);
        if (s->flow == BREAK) { s->flow = GO; break; }
        if (s->flow == CONTINUE) s->flow = GO;
        if (s->flow == RETURN) break;
        s->p = step;
        if (!bc_peek(s, ")")) bc_expression(s);
        if (io_failed(s->t->out)) s->quit = 1;
    }
    s->p = end;
}

static char **name_list(bc_state *s, int *n) {
    char **list = NULL;
    *n = 0;
    while (bc_word_length(s)) {
        size_t len = bc_word_length(s);
        list = tool_realloc(s->t, list, (size_t)(*n + 1) * sizeof *list);
        list[(*n)++] = tool_strndup(s->t, s->p, len);
        s->p += len;
        bc_accept(s, "[]");
        if (!bc_accept(s, ",")) break;
    }
    return list;
}

static void define(bc_state *s) {
    size_t n = bc_word_length(s);
    bc_func *f = tool_alloc(s->t, sizeof *f);
    f->name = tool_strndup(s->t, s->p, n);
    s->p += n;
    if (!n || !bc_accept(s, "(")) { bc_fail(s, "syntax error"); return; }
    f->params = name_list(s, &f->params_n);
    if (!bc_accept(s, ")")) { bc_fail(s, "syntax error"); return; }
    while (s->p < s->end && isspace((unsigned char)*s->p)) s->p++;
    if (!bc_accept(s, "{")) { bc_fail(s, "syntax error"); return; }
    bc_space_lines(s);
    if (bc_accept_word(s, "auto")) f->autos = name_list(s, &f->autos_n);
    const char *body = s->p;
    int depth = 0;
    for (; s->p < s->end && !(*s->p == '}' && !depth); s->p++) { if (*s->p == '{') depth++; if (*s->p == '}') depth--; }
    f->body = tool_strndup(s->t, body, (size_t)(s->p - body));
    bc_accept(s, "}");
    f->next = s->funcs;
    s->funcs = f;
}

void bc_statement(bc_state *s) {
    bc_space(s);
    if (s->error || s->quit || s->p >= s->end) return;
    int at_top = s->at_top;
    s->at_top = 0;
    if (++s->depth > 400 || tool_too_deep(s->t)) { s->depth--; bc_fail(s, "statements nest too deep"); return; }
    if (bc_accept(s, "{")) block(s);
    else if (*s->p == '"') { print_list(s); }
    else if (bc_accept_word(s, "if")) if_statement(s);
    else if (bc_accept_word(s, "while")) while_statement(s);
    else if (bc_accept_word(s, "for")) for_statement(s);
    else if (bc_accept_word(s, "define")) define(s);
    else if (bc_accept_word(s, "auto")) bc_fail(s, "syntax error");
    else if (bc_accept_word(s, "print")) print_list(s);
    else if (bc_accept_word(s, "break")) s->flow = BREAK;
    else if (bc_accept_word(s, "continue")) s->flow = CONTINUE;
    else if (bc_accept_word(s, "quit") || bc_accept_word(s, "halt")) s->quit = 1;
    else if (bc_accept_word(s, "return")) {
        bc_space(s);
        s->result = s->p < s->end && !strchr(";\n}", *s->p) ? bc_expression(s) : bc_zero(s);
        s->flow = RETURN;
    } else {
        /* an assignment prints nothing, anything else does */
        const char *start = s->p;
        int assigns = 0;
        if (bc_word_length(s)) {
            int error = s->error;
            s->skip++;
            bc_place_name(s);
            s->skip--;
            bc_space(s);
            s->error = error;
            if (s->p < s->end)
                assigns = (*s->p == '=' && !(s->p + 1 < s->end && s->p[1] == '='))
                          || (strchr("+-*/%^", *s->p) && s->p + 1 < s->end && s->p[1] == '=');
        }
        s->p = start;
        if (at_top) {
            /* a line that is wrong prints nothing: read it once without effect */
            s->skip++;
            bc_expression(s);
            s->skip--;
            bc_space(s);
            if (s->p < s->end && !strchr(";\n}", *s->p)) bc_fail(s, "syntax error");
            if (s->error) { s->depth--; return; }
            s->p = start;
        }
        num v = bc_expression(s);
        if (!s->error && !assigns) { print_number(s, v); io_putc(s->t->out, '\n'); s->last = v; }
    }
    s->depth--;
}

static int run_text(bc_state *s, const char *text, size_t n) {
    s->p = text;
    s->end = text + n;
    for (bc_space_lines(s); s->p < s->end && !s->quit; bc_space_lines(s)) {
        s->error = 0;
        s->depth = 0;
        s->flow = GO;
        s->at_top = 1;
        bc_statement(s);
        if (!s->error) {
            int closed = s->p > text && s->p[-1] == '}';
            bc_space(s);
            if (s->p < s->end && *s->p != '\n' && *s->p != ';' && *s->p != '}') {
                if (!closed) bc_fail(s, "syntax error");
            } else if (s->p < s->end && *s->p == '}') {
                bc_fail(s, "syntax error");
            }
        }
        if (s->error) while (s->p < s->end && *s->p != '\n') s->p++;
    }
    return 0;
}

static int gather(tool *t, io *from, const char *name, void *context) {
    (void)t;
    (void)name;
    buffer *b = context;
    buffer_read_all(b, from);
    if (b->n && b->p[b->n - 1] != '\n') buffer_putc(b, '\n');
    return 0;
}

int tool_bc(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"mathlib", 0, 'l'}, {"quiet", 0, 'q'}, {"standard", 0, 's'}, {"warn", 0, 'w'},
        {"interactive", 0, 'i'}, {"version", 0, 'v'}, {0, 0, 0}};
    bc_state s = {.t = t, .ibase = 10, .obase = 10};
    tool_opts o;
    int c, status = 0;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "lqswiv", longs)) != -1;) {
        if (c == '?') return 1;
        if (c == 'v') { io_puts(t->out, "bc 1.07.1\n"); return 0; }
        if (c == 'l') s.scale = 20;
    }
    s.last = s.result = bc_zero(&s);
    buffer b = {.t = t};
    if (o.index < argc) {
        status = for_each_input(t, argc, argv, o.index, gather, &b);
        if (status) return status;
        run_text(&s, b.p, b.n);
        b.n = 0;
    }
    if (!s.quit) { buffer in = {.t = t}; buffer_read_all(&in, t->in); run_text(&s, in.p ? in.p : "", in.n); }
    return status;
}
