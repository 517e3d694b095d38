/* bc.c - the calculator language: statements, functions, and the command line. Statements run as they are read, once their line
 * is known to be right (bc_check.c); a loop's body is read anew each time round. Numbers are bc_number.c. */
#include "bc_run.h"
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_WIDTH = 70 };

static void print_number(bc_state *s, num v) {
    buffer b = {.t = s->t};
    num_write(&b, v, s->obase);
    /* .5 and not 0.5 */
    char *text = b.p;
    if (s->obase == 10 && !num_is_zero(v) && v.whole == 1 && !v.d[0]) {
        char *dot = strchr(text, '.');
        if (dot && dot > text && dot[-1] == '0') memmove(dot - 1, dot, strlen(dot) + 1);
    }
    bc_put(s, text, strlen(text));
}

/* The text between quotes at s->p; print knows escapes, of which those without meaning vanish. */
static void print_string(bc_state *s, int escapes) {
    static const char from[] = "nqtrabf\\", to[] = "\n\"\t\r\a\b\f\\";
    for (s->p++; s->p < s->end && *s->p != '"'; s->p++) {
        const char *c = s->p;
        if (escapes && *c == '\\' && c + 1 < s->end) {
            const char *at = *++s->p ? strchr(from, *s->p) : NULL;
            if (!at) continue;
            c = to + (at - from);
        }
        bc_put(s, c, 1);
    }
    if (s->p < s->end) s->p++;
}

static void print_list(bc_state *s) {
    do {
        bc_space(s);
        if (s->p < s->end && *s->p == '"') print_string(s, 1);
        else { num v = bc_expression(s); if (!s->error) { print_number(s, v); s->last = v; } }
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
    if (bc_accept_word(s, "else")) {
        while (s->p < s->end && (*s->p == '\n' || *s->p == ' ')) s->p++;
        if (yes) skip_statement(s);
        else bc_statement(s);
    }
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

static bc_param *name_list(bc_state *s, int *n) {
    bc_param *list = NULL;
    *n = 0;
    do {
        int by_reference = bc_accept(s, "*") || bc_accept(s, "&");
        size_t len = bc_word_length(s);
        if (!len) break;
        list = tool_realloc(s->t, list, (size_t)(*n + 1) * sizeof *list);
        list[*n].name = tool_strndup(s->t, s->p, len);
        s->p += len;
        list[(*n)++].kind = !bc_accept(s, "[") || !bc_accept(s, "]") ? SCALAR : by_reference ? ARRAY_REF : ARRAY;
    } while (bc_accept(s, ","));
    return list;
}

/* After the word define. What is wrong is told as of reading, not of running. */
static void define(bc_state *s) {
    s->skip++;
    int is_void = bc_accept_word(s, "void");
    size_t n = bc_word_length(s);
    bc_func *f = tool_alloc(s->t, sizeof *f);
    f->is_void = is_void;
    f->name = tool_strndup(s->t, s->p, n);
    s->p += n;
    if (!n || !bc_accept(s, "(")) bc_fail(s, "syntax error");
    f->params = name_list(s, &f->params_n);
    if (!bc_accept(s, ")")) bc_fail(s, "syntax error");
    while (s->p < s->end && isspace((unsigned char)*s->p)) s->p++;
    if (!bc_accept(s, "{")) bc_fail(s, "syntax error");
    bc_space_lines(s);
    if (bc_accept_word(s, "auto")) f->autos = name_list(s, &f->autos_n);
    const char *body = s->p;
    s->function = f->name;
    if (!s->error) bc_check_block(s);
    s->function = NULL;
    s->skip--;
    if (s->error || s->quit) return;
    f->body = tool_strndup(s->t, body, (size_t)(s->p - 1 - body));
    f->next = s->funcs;
    s->funcs = f;
}

static void print_limits(bc_state *s) {
    io_puts(s->t->out, "BC_BASE_MAX     = 2147483647\nBC_DIM_MAX      = 16777215\nBC_SCALE_MAX    = 2147483647\n"
                       "BC_STRING_MAX   = 2147483647\nMAX Exponent    = 9223372036854775807\nNumber of vars  = 32767\n");
}

void bc_statement(bc_state *s) {
    bc_space(s);
    if (s->error || s->quit || s->p >= s->end) return;
    if (++s->depth > 400 || tool_too_deep(s->t)) { s->depth--; bc_fail(s, "statements nest too deep"); return; }
    if (bc_accept(s, "{")) block(s);
    else if (*s->p == '"') print_string(s, 0);
    else if (bc_accept_word(s, "if")) if_statement(s);
    else if (bc_accept_word(s, "while")) while_statement(s);
    else if (bc_accept_word(s, "for")) for_statement(s);
    else if (bc_accept_word(s, "limits")) print_limits(s);
    else if (bc_accept_word(s, "print")) print_list(s);
    else if (bc_accept_word(s, "break")) s->flow = BREAK;
    else if (bc_accept_word(s, "continue")) s->flow = CONTINUE;
    else if (bc_accept_word(s, "halt")) s->quit = 1;
    else if (bc_accept_word(s, "return")) {
        bc_space(s);
        s->result = s->p < s->end && !strchr(";\n}", *s->p) ? bc_expression(s) : bc_zero(s);
        s->flow = RETURN;
    } else {
        num v = bc_expression(s);
        if (!s->error && !s->silent) { print_number(s, v); bc_put(s, "\n", 1); s->last = v; }
    }
    s->depth--;
}

/* A line, or several when a block spans them: first checked, then run. What is wrong ends it. */
static void run_line(bc_state *s) {
    const char *start = s->p;
    s->error = 0;
    s->depth = 0;
    s->flow = GO;
    if (bc_accept_word(s, "define")) define(s);
    else if (bc_check_line(s) && !s->quit) {
        const char *stop = s->p;
        /* the end of the input does not end a line */
        if (stop >= s->end && stop > s->text && stop[-1] != '\n') { bc_fail(s, "syntax error"); return; }
        s->p = start;
        for (bc_space_lines(s); s->p < stop && !s->error && !s->quit; bc_space_lines(s)) {
            bc_statement(s);
            s->flow = GO;
        }
        s->p = stop;
        return;
    }
    if (s->error) while (s->p < s->end && *s->p != '\n') s->p++;
}

static void run_text(bc_state *s, const char *text, size_t n) {
    s->p = s->text = text;
    s->end = s->text_end = text + n;
    for (bc_space_lines(s); s->p < s->end && !s->quit; bc_space_lines(s)) run_line(s);
}

static size_t line_width(tool *t) {
    const char *text = t->getenv ? t->getenv(t, "BC_LINE_LENGTH") : NULL;
    int width = text ? atoi(text) : USUAL_WIDTH;
    return width && width < 3 ? USUAL_WIDTH : (size_t)width;
}

static void gather(buffer *b, io *from) {
    buffer_read_all(b, from);
    if (b->n && b->p[b->n - 1] != '\n') buffer_putc(b, '\n');
}

int tool_bc(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"mathlib", 0, 'l'}, {"quiet", 0, 'q'}, {"standard", 0, 's'}, {"warn", 0, 'w'},
        {"interactive", 0, 'i'}, {"version", 0, 'v'}, {0, 0, 0}};
    bc_state s = {.t = t, .ibase = 10, .obase = 10, .width = line_width(t)};
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
        for (int i = o.index; i < argc; i++) {
            io *from = io_open(argv[i], O_RDONLY, 0);
            if (!from) { io_printf(t->err, "File %s is unavailable.\n", argv[i]); return 1; }
            gather(&b, from);
            io_unref(from);
        }
        run_text(&s, b.p, b.n);
        b.n = 0;
    }
    if (!s.quit) { buffer in = {.t = t}; buffer_read_all(&in, t->in); run_text(&s, in.p ? in.p : "", in.n); }
    return status;
}
