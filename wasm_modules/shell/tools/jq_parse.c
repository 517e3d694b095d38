/* jq_parse.c - jq programs to trees: operators and pipes, most loosely binding first. Terms are jq_terms.c, names jq_names.c. */
#include "jq_parse.h"
#include <string.h>

jnode *jqp_make(parser *s, int kind, jnode *a, jnode *b) {
    jnode *n = tool_alloc(s->q->t, sizeof *n);
    n->kind = kind;
    n->a = a;
    n->b = b;
    n->value = jv_null();
    return n;
}

jnode *jqp_literal(parser *s, jv v) {
    jnode *n = jqp_make(s, N_LITERAL, NULL, NULL);
    n->value = v;
    n->single = 1;
    return n;
}

static const struct { int tok, level, kind, op, right;
} table[] = {{T_ALT, 1, N_ALTERNATIVE, 0, 1}, {'=', 2, N_ASSIGN, 0, 2}, {T_UPDATE, 2, N_MODIFY, 0, 2},
    {T_ADDEQ, 2, N_UPDATE, '+', 2}, {T_SUBEQ, 2, N_UPDATE, '-', 2}, {T_MULEQ, 2, N_UPDATE, '*', 2},
    {T_DIVEQ, 2, N_UPDATE, '/', 2}, {T_MODEQ, 2, N_UPDATE, '%', 2}, {T_ALTEQ, 2, N_UPDATE, 'A', 2}, {T_EQ, 5, N_COMPARE, T_EQ, 2},
    {T_NE, 5, N_COMPARE, T_NE, 2}, {'<', 5, N_COMPARE, '<', 2}, {'>', 5, N_COMPARE, '>', 2}, {T_LE, 5, N_COMPARE, T_LE, 2},
    {T_GE, 5, N_COMPARE, T_GE, 2}, {'+', 6, N_BINARY, '+', 0}, {'-', 6, N_BINARY, '-', 0}, {'*', 7, N_BINARY, '*', 0},
    {'/', 7, N_BINARY, '/', 0}, {'%', 7, N_BINARY, '%', 0}};

/* Levels: 1 // (right) 2 assignments (none) 3 or 4 and 5 comparisons (none) 6 + - 7 * / %. */
static jnode *binary(parser *s, int level) {
    if (level > 7) return jqp_postfix(s);
    jnode *left = binary(s, level + 1);
    while (left) {
        int found = -1, logical = 0;
        if (level == 3 && jqp_keyword(s, "or")) logical = N_OR;
        else if (level == 4 && jqp_keyword(s, "and")) logical = N_AND;
        else
            for (size_t i = 0; i < sizeof table / sizeof *table; i++)
                if (table[i].level == level && table[i].tok == s->tok) found = (int)i;
        if (found < 0 && !logical) break;
        jqp_next(s);
        jnode *right = binary(s, found >= 0 && table[found].right == 1 ? level : level + 1);
        if (!right) return NULL;
        jnode *n = jqp_make(s, logical ? logical : table[found].kind, left, right);
        if (found >= 0) {
            n->op = table[found].op;
            if (n->kind == N_COMPARE)
                n->op = n->op == T_EQ ? '=' : n->op == T_NE ? '!' : n->op == T_LE ? 'l' : n->op == T_GE ? 'g' : n->op;
        }
        if (n->kind != N_ASSIGN && n->kind != N_MODIFY && n->kind != N_UPDATE && n->kind != N_ALTERNATIVE)
            n->single = left->single && right->single;
        left = n;
        if (found >= 0 && table[found].right == 2) {
            for (size_t i = 0; i < sizeof table / sizeof *table; i++)
                if (table[i].level == level && table[i].tok == s->tok) return jqp_unexpected(s);
        }
        if (found >= 0 && table[found].right == 1) break;
    }
    return left;
}

static jnode *join(parser *s, int kind, jnode *a, jnode *b) {
    jnode *n = jqp_make(s, kind, a, b);
    n->single = kind == N_PIPE && a->single && b->single;
    return n;
}

static jnode *comma_expr(parser *s, int commas) {
    jnode *left = binary(s, 1);
    while (left && commas && s->tok == ',') {
        jqp_next(s);
        jnode *right = binary(s, 1);
        left = right ? join(s, N_COMMA, left, right) : NULL;
    }
    return left;
}

static jnode *pipe_with(parser *s, int commas) {
    if (++s->depth > 400 || tool_too_deep(s->q->t)) return jqp_fail(s, "error: program nests too deep");
    jnode *n;
    if (jqp_keyword(s, "def")) n = jqp_keyword_term(s);
    else {
        n = comma_expr(s, commas);
        if (n && s->tok == '|') {
            jqp_next(s);
            jnode *right = pipe_with(s, commas);
            n = right ? join(s, N_PIPE, n, right) : NULL;
        }
    }
    s->depth--;
    return n;
}

jnode *jqp_pipe_expr(parser *s) { return pipe_with(s, 1); }
jnode *jqp_object_value(parser *s) { return pipe_with(s, 0); }

void jqp_begin(parser *s, jq *q, const char *text, size_t n) {
    memset(s, 0, sizeof *s);
    s->q = q;
    s->p = s->begin = s->start = text;
    s->end = text + n;
    s->number = jv_null();
    jqp_next(s);
}

jnode *jq_parse(jq *q, const char *text, size_t n) {
    parser s;
    jqp_begin(&s, q, text, n);
    if (!jqp_imports(&s)) return NULL;
    if (s.tok == T_END && !q->parse_error) return jqp_identity(&s);
    jnode *program = jqp_pipe_expr(&s);
    if (program && s.tok != T_END) jqp_unexpected_for(&s, "end of file");
    return q->parse_error ? NULL : program;
}

/* Definitions of the prelude, each at the top level. */
jnode *jq_parse_definitions(jq *q, const char *text, jdef **defs) {
    parser s;
    jqp_begin(&s, q, text, strlen(text));
    *defs = NULL;
    while (jqp_keyword(&s, "def")) {
        jdef *d = jqp_definition(&s);
        if (!d) return NULL;
        s.scope = NULL;
        d->next = *defs;
        *defs = d;
    }
    if (s.tok != T_END) jqp_unexpected(&s);
    return NULL;
}
