/* bc_check.c - reads a line of the program without effect: a line that is wrong, in whatever place, does nothing at all. */
#include "bc_run.h"
#include <string.h>

static void check_statement(bc_state *s);

static int wrong(bc_state *s) { bc_fail(s, "syntax error"); return 0; }

static int expect(bc_state *s, const char *w) { return s->error ? 0 : bc_accept(s, w) ? 1 : wrong(s); }

static int check_condition(bc_state *s) {
    if (!expect(s, "(")) return 0;
    bc_expression(s);
    return expect(s, ")");
}

/* The statement after if, while, for and else; one newline may stand before it. */
static void check_body(bc_state *s) {
    bc_space(s);
    if (s->p < s->end && *s->p == '\n') s->p++;
    check_statement(s);
}

static void check_loop_body(bc_state *s) {
    s->loops++;
    check_body(s);
    s->loops--;
}

static void check_string(bc_state *s) {
    const char *close = memchr(s->p + 1, '"', (size_t)(s->end - s->p - 1));
    if (close) s->p = close + 1; else wrong(s);
}

static void check_print(bc_state *s) {
    do {
        bc_space(s);
        if (s->p < s->end && *s->p == '"') check_string(s); else bc_expression(s);
    } while (!s->error && bc_accept(s, ","));
}

static int ends_statement(bc_state *s) {
    bc_space(s);
    return s->p >= s->end || strchr(";\n}", *s->p) != NULL;
}

static void check_for(bc_state *s) {
    if (!expect(s, "(")) return;
    if (!bc_peek(s, ";")) bc_expression(s);
    if (!expect(s, ";")) return;
    if (!bc_peek(s, ";")) bc_expression(s);
    if (!expect(s, ";")) return;
    if (!bc_peek(s, ")")) bc_expression(s);
    if (expect(s, ")")) check_loop_body(s);
}

void bc_check_block(bc_state *s) {
    for (bc_space_lines(s); s->p < s->end && *s->p != '}' && !s->error && !s->quit; bc_space_lines(s)) {
        check_statement(s);
        if (!s->error && !s->quit && !ends_statement(s)) wrong(s);
    }
    if (!s->quit) expect(s, "}");
}

static void check_statement(bc_state *s) {
    bc_space(s);
    if (s->error || s->quit) return;
    if (s->p >= s->end) { wrong(s); return; }
    if (++s->depth > 400 || tool_too_deep(s->t)) { s->depth--; bc_fail(s, "statements nest too deep"); return; }
    if (bc_accept(s, "{")) bc_check_block(s);
    else if (*s->p == '"') check_string(s);
    else if (bc_accept_word(s, "if")) {
        if (check_condition(s)) check_body(s);
        if (!s->error && bc_accept_word(s, "else")) check_body(s);
    } else if (bc_accept_word(s, "while")) { if (check_condition(s)) check_loop_body(s); }
    else if (bc_accept_word(s, "for")) check_for(s);
    else if (bc_accept_word(s, "define") || bc_accept_word(s, "auto") || bc_accept_word(s, "else")) wrong(s);
    else if (bc_accept_word(s, "print")) check_print(s);
    else if (bc_accept_word(s, "break")) { if (!s->loops) bc_fail(s, "Break outside a for/while"); }
    else if (bc_accept_word(s, "continue")) { if (!s->loops) bc_fail(s, "Continue outside a for"); }
    else if (bc_accept_word(s, "quit")) s->quit = 1;             /* where it is read, not where it is run */
    else if (bc_accept_word(s, "return")) {
        if (!ends_statement(s)) bc_expression(s);
        if (!s->error && !s->function) bc_fail(s, "Return outside of a function.");
    } else if (!bc_accept_word(s, "halt") && !bc_accept_word(s, "limits")) bc_expression(s);
    s->depth--;
}

int bc_check_line(bc_state *s) {
    s->skip++;
    s->loops = 0;
    while (!s->error && !s->quit) {
        bc_space(s);
        if (s->p >= s->end || *s->p == '\n') break;
        if (*s->p == ';') { s->p++; continue; }
        check_statement(s);
        if (!s->error && !s->quit && (!ends_statement(s) || (s->p < s->end && *s->p == '}'))) wrong(s);
    }
    s->skip--;
    s->depth = 0;
    return !s->error;
}
