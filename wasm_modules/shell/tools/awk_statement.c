/* awk_statement.c - awk's statements: print with its redirection, the loops, switch, and what leaves them. */
#include "awk_lint.h"
#include "awk_parse.h"
#include <string.h>

/* print and printf with their redirection. */
static anode *print_statement(parser *P) {
    anode *n = awk_node(P, token(P) == T_PRINT ? S_PRINT : S_PRINTF, NULL, NULL);
    advance(P);
    P->no_gt = 1;
    if (token(P) != CH(';') && token(P) != T_NEWLINE && token(P) != CH('}') && token(P) != CH('>') && token(P) != CH('|')
        && token(P) != T_APPEND && token(P) != T_COPROCESS && token(P) != T_EOF) {
        anode *first = awk_parse_expression(P), **tail;
        if (!first) return NULL;
        n->a = first;
        n->count = 1;
        if (first->kind == E_GROUP && first->count > 1) { n->count = first->count; n->a = first->a; }
        else for (tail = &first->next; token(P) == CH(','); tail = &(*tail)->next) {
            advance(P);
            skip_newlines(P);
            if (!(*tail = awk_parse_expression(P))) return NULL;
            n->count++;
        }
    }
    P->no_gt = 0;
    int t = token(P);
    if (t == CH('>') || t == T_APPEND || t == CH('|') || t == T_COPROCESS) {
        advance(P);
        n->op = t == CH('>') ? '>' : t == T_APPEND ? 'a' : t == T_COPROCESS ? '&' : '|';
        P->no_gt = 1;
        n->b = awk_parse_concatenation(P);
        P->no_gt = 0;
        if (!n->b) return NULL;
    }
    awk_lint_statement(P->A, n, P->rule);
    if (n->kind == S_PRINTF && !n->count && !P->A->is_posix) return error(P, "fatal: printf: no arguments");
    return n;
}

static anode *simple_statement(parser *P) {
    if (token(P) == T_PRINT || token(P) == T_PRINTF) return print_statement(P);
    if (token(P) == T_DELETE) {
        advance(P);
        anode *n = awk_node(P, S_DELETE, NULL, NULL);
        int paren = accept(P, CH('('));
        if (token(P) != T_NAME && token(P) != T_FUNC_NAME) return syntax_error(P);
        n->a = awk_parse_name(P, P->L.text.p, P->L.text.n);
        advance(P);
        if (!(n->a = awk_parse_subscripts(P, n->a))) return NULL;
        if (paren && !expect(P, CH(')'))) return NULL;
        return n;
    }
    anode *e = awk_parse_expression(P), *n = e ? awk_node(P, S_EXPR, e, NULL) : NULL;
    awk_lint_statement(P->A, n, P->rule);
    return n;
}

static int ends_statement(parser *P) {
    if (token(P) == CH(';') || token(P) == T_NEWLINE) { advance(P); return 1; }
    if (token(P) == CH('}') || token(P) == T_EOF) return 1;
    syntax_error(P);
    return 0;
}

anode *awk_parse_block(parser *P) {
    anode *n = awk_node(P, S_BLOCK, NULL, NULL), **tail = &n->a;
    if (!expect(P, CH('{'))) return NULL;
    for (;;) {
        skip_terminators(P);
        if (token(P) == CH('}')) break;
        if (token(P) == T_EOF) return syntax_error(P);
        anode *s = awk_parse_statement(P);
        if (!s) return NULL;
        *tail = s;
        tail = &s->next;
    }
    advance(P);
    return n;
}

/* The action of a rule where next makes no sense. */
static anode *misplaced(parser *P, const char *word) {
    const char *where = P->rule == 'B' ? "BEGIN" : P->rule == 'E' ? "END" : P->rule == 'f' ? "BEGINFILE" : "ENDFILE";
    return error(P, tool_format(P->A->t, "error: `%s' used in %s action", word, where));
}

/* A statement after if, while, for: possibly just ; */
static anode *body(parser *P) {
    skip_newlines(P);
    if (token(P) == CH(';')) { advance(P); return awk_node(P, S_BLOCK, NULL, NULL); }
    return awk_parse_statement(P);
}

static anode *loop_body(parser *P) {
    P->loops++;
    anode *n = body(P);
    P->loops--;
    return n;
}

static anode *for_statement(parser *P) {
    advance(P);
    if (!expect(P, CH('('))) return NULL;
    anode *init = NULL, *n;
    skip_newlines(P);
    if (token(P) == T_NAME) {
        lexer saved = P->L;
        char *name = tool_strndup(P->A->t, P->L.text.p, P->L.text.n);
        advance(P);
        if (token(P) == T_IN) {
            advance(P);
            if (token(P) == T_NAME) {
                anode *var = awk_parse_name(P, name, strlen(name)), *arr = awk_parse_name(P, P->L.text.p, P->L.text.n);
                advance(P);
                if (!(arr = awk_parse_subscripts(P, arr))) return NULL;
                if (token(P) == CH(')')) {
                    advance(P);
                    n = awk_node(P, S_FORIN, var, arr);
                    return (n->c = loop_body(P)) ? n : NULL;
                }
            }
        }
        buffer text = P->L.text;
        P->L = saved;
        P->L.text = text;
        P->L.text.n = 0;
        buffer_puts(&P->L.text, name);
    }
    if (token(P) != CH(';') && !(init = simple_statement(P))) return NULL;
    if (init && init->kind == S_EXPR && init->a->kind == E_IN && token(P) == CH(')') && init->a->a->kind == E_GROUP)
        return syntax_error(P);
    n = awk_node(P, S_FOR, init, NULL);
    if (!expect(P, CH(';'))) return NULL;
    skip_newlines(P);
    if (token(P) != CH(';') && !(n->b = awk_parse_expression(P))) return NULL;
    if (!expect(P, CH(';'))) return NULL;
    skip_newlines(P);
    if (token(P) != CH(')') && !(n->c = simple_statement(P))) return NULL;
    if (!expect(P, CH(')'))) return NULL;
    return (n->d = loop_body(P)) ? n : NULL;
}

static anode *if_statement(parser *P) {
    advance(P);
    anode *n = awk_node(P, S_IF, NULL, NULL);
    if (!expect(P, CH('(')) || !(n->a = awk_parse_expression(P)) || !expect(P, CH(')')) || !(n->b = body(P))) return NULL;
    skip_terminators(P);                     /* else may follow a ; and newlines */
    if (token(P) != T_ELSE) return n;
    advance(P);
    return (n->c = body(P)) ? n : NULL;
}

static anode *switch_statement(parser *P) {
    advance(P);
    anode *n = awk_node(P, S_SWITCH, NULL, NULL), **tail = &n->b;
    if (!expect(P, CH('(')) || !(n->a = awk_parse_expression(P)) || !expect(P, CH(')'))) return NULL;
    skip_newlines(P);
    if (!expect(P, CH('{'))) return NULL;
    P->switches++;
    for (skip_terminators(P); token(P) != CH('}'); skip_terminators(P)) {
        if (token(P) != T_CASE && token(P) != T_DEFAULT) return syntax_error(P);
        anode *k = awk_node(P, S_CASE, NULL, NULL), **inner = &k->b;
        int is_case = token(P) == T_CASE;
        advance(P);
        if (is_case && !(k->a = token(P) == CH('-') ? awk_parse_unary(P) : awk_parse_primary(P))) return NULL;
        if (!expect(P, CH(':'))) return NULL;
        for (skip_terminators(P); token(P) != T_CASE && token(P) != T_DEFAULT && token(P) != CH('}'); skip_terminators(P)) {
            anode *s = awk_parse_statement(P);
            if (!s) return NULL;
            *inner = s;
            inner = &s->next;
        }
        *tail = k;
        tail = &k->next;
    }
    P->switches--;
    advance(P);
    return n;
}

anode *awk_parse_statement(parser *P) {
    anode *n;
    if (++P->depth > DEEPEST_GRAMMAR || tool_too_deep(P->A->t)) return error(P, "program nests too deep");
    switch (token(P)) {
    case CH('{'): n = awk_parse_block(P); if (n) while (token(P) == T_NEWLINE) advance(P); P->depth--; return n;
    case T_IF: n = if_statement(P); P->depth--; return n;
    case T_FOR: n = for_statement(P); P->depth--; return n;
    case T_SWITCH: n = switch_statement(P); P->depth--; return n;
    case T_WHILE:
        advance(P);
        n = awk_node(P, S_WHILE, NULL, NULL);
        if (!expect(P, CH('(')) || !(n->a = awk_parse_expression(P)) || !expect(P, CH(')'))) return NULL;
        if (!(n->b = loop_body(P))) return NULL;
        P->depth--;
        return n;
    case T_DO:
        advance(P);
        n = awk_node(P, S_DO, NULL, NULL);
        if (!(n->b = loop_body(P))) return NULL;
        skip_terminators(P);
        if (!expect(P, T_WHILE) || !expect(P, CH('(')) || !(n->a = awk_parse_expression(P)) || !expect(P, CH(')'))) return NULL;
        break;
    case T_BREAK:
        if (!P->loops && !P->switches) return error(P, "error: `break' is not allowed outside a loop or switch");
        advance(P);
        n = awk_node(P, S_BREAK, NULL, NULL); break;
    case T_CONTINUE:
        if (!P->loops) return error(P, "error: `continue' is not allowed outside a loop");
        advance(P);
        n = awk_node(P, S_CONTINUE, NULL, NULL); break;
    case T_NEXT:
        if (P->rule && P->rule != 'r') return misplaced(P, "next");
        advance(P);
        n = awk_node(P, S_NEXT, NULL, NULL); break;
    case T_NEXTFILE:
        if (P->rule == 'B' || P->rule == 'E' || P->rule == 'e') return misplaced(P, "nextfile");
        advance(P);
        n = awk_node(P, S_NEXTFILE, NULL, NULL); break;
    case T_EXIT: case T_RETURN:
        if (token(P) == T_RETURN && !P->function) return error(P, "`return' used outside function context");
        n = awk_node(P, token(P) == T_EXIT ? S_EXIT : S_RETURN, NULL, NULL);
        advance(P);
        if (token(P) != CH(';') && token(P) != T_NEWLINE && token(P) != CH('}') && token(P) != T_EOF
            && !(n->a = awk_parse_expression(P)))
            return NULL;
        break;
    default: if (!(n = simple_statement(P))) return NULL;
    }
    P->depth--;
    return ends_statement(P) ? n : NULL;
}
