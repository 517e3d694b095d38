/* awk_expression.c - awk's expressions by recursive descent, from assignment down to names and constants. */
#include "awk_lint.h"
#include "awk_parse.h"
#include "awk_message.h"
#include <string.h>

static anode *ternary(parser *P);

/* expr {, expr} up to but not including the closing token; *count items linked by next. */
static anode *expression_list(parser *P, int close, int *count) {
    anode *first = NULL, **tail = &first;
    *count = 0;
    skip_newlines(P);
    if (token(P) == close) return NULL;
    for (;;) {
        anode *e = awk_parse_expression(P);
        if (!e) return NULL;
        *tail = e;
        tail = &e->next;
        ++*count;
        skip_newlines(P);
        if (token(P) != CH(',')) return first;
        advance(P);
        skip_newlines(P);
    }
}

static anode *arguments(parser *P, anode *call) {
    int in = P->no_in, gt = P->no_gt;
    P->no_in = P->no_gt = 0;
    call->a = expression_list(P, CH(')'), &call->count);
    P->no_in = in;
    P->no_gt = gt;
    return expect(P, CH(')')) ? call : NULL;
}

anode *awk_parse_subscripts(parser *P, anode *base) {
    while (token(P) == CH('[')) {
        if (base->kind == E_INDEX && (P->A->is_posix || P->A->is_traditional))
            return error(P, "fatal: multidimensional arrays are a gawk extension");
        advance(P);
        anode *n = awk_node(P, E_INDEX, base, NULL);
        int in = P->no_in, gt = P->no_gt;
        P->no_in = P->no_gt = 0;
        n->b = expression_list(P, CH(']'), &n->count);
        P->no_in = in;
        P->no_gt = gt;
        if (!n->b || !expect(P, CH(']'))) return syntax_error(P);
        base = n;
    }
    return base;
}

/* [var] [< file] after getline. */
static anode *simple_getline(parser *P) {
    anode *n = awk_node(P, E_GETLINE, NULL, NULL);
    advance(P);
    if (token(P) == CH('$') || token(P) == T_NAME) {
        if (token(P) == CH('$')) {
            advance(P);
            anode *f = awk_node(P, E_FIELD, NULL, NULL);
            if (!(f->a = awk_parse_unary(P))) return NULL;
            n->a = f;
        } else {
            n->a = awk_parse_name(P, P->L.text.p, P->L.text.n);
            advance(P);
            if (!(n->a = awk_parse_subscripts(P, n->a))) return NULL;
        }
    }
    return n;
}

static anode *grouping(parser *P) {
    int in = P->no_in, gt = P->no_gt, count;
    advance(P);
    P->no_in = P->no_gt = 0;
    anode *list = expression_list(P, CH(')'), &count);
    P->no_in = in;
    P->no_gt = gt;
    if (!list || !expect(P, CH(')'))) return syntax_error(P);
    anode *n = awk_node(P, E_GROUP, list, NULL);
    n->count = count;
    return n;
}

anode *awk_parse_primary(parser *P) {
    anode *n;
    if (++P->depth > DEEPEST_GRAMMAR || tool_too_deep(P->A->t)) return error(P, "program nests too deep");
    switch (token(P)) {
    case T_NUM: n = awk_node(P, E_NUM, NULL, NULL); n->num = P->L.num; advance(P); break;
    case T_STR: n = awk_node(P, E_STR, NULL, NULL); n->str = astr_new(P->A, P->L.text.p, P->L.text.n); advance(P); break;
    case CH('/'): case T_DIV_EQ:
        lex_regex(&P->L);
        if (P->L.error || !(n = awk_parse_regex(P))) return NULL;
        advance(P);
        break;
    case CH('@'):
        advance(P);
        if (token(P) == CH('/')) {
            lex_regex(&P->L);
            if (P->L.error || !(n = awk_parse_regex(P))) return NULL;
            n->op = '@';
            advance(P);
            break;
        }
        /* @name(...): the function that the variable names */
        if (token(P) != T_FUNC_NAME) return syntax_error(P);
        n = awk_node(P, E_CALL, NULL, NULL);
        n->index = -1;
        n->b = awk_parse_name(P, P->L.text.p, P->L.text.n);
        advance(P);
        advance(P);
        if (!arguments(P, n)) return NULL;
        break;
    case CH('$'):
        advance(P);
        n = awk_node(P, E_FIELD, NULL, NULL);
        if (token(P) == T_INC || token(P) == T_DEC) { if (!(n->a = awk_parse_unary(P))) return NULL;
        } else if (token(P) == CH('-') || token(P) == CH('+') || token(P) == CH('!')) {
            if (!(n->a = awk_parse_unary(P))) return NULL;
        } else if (!(n->a = awk_parse_primary(P))) return NULL;
        if (token(P) == T_INC || token(P) == T_DEC) {          /* $$a++++ counts both */
            n = awk_node(P, token(P) == T_INC ? E_POSTINC : E_POSTDEC, n, NULL);
            advance(P);
        }
        break;
    case CH('('): if (!(n = grouping(P))) return NULL; break;
    case T_FUNC_NAME:
        for (int i = 0; P->function && i < P->function->params; i++)
            if (!strcmp(P->function->param_names[i], P->L.text.p))
                awk_complain(P->A, P->L.token_line, "attempt to use non-function `%s' in function call", P->L.text.p);
        n = awk_node(P, E_CALL, NULL, NULL);
        n->index = awk_parse_function(P, P->L.text.p, P->L.text.n);
        advance(P);
        advance(P);
        if (!arguments(P, n)) return NULL;
        break;
    case T_BUILTIN: case T_LENGTH: {
        int length = token(P) == T_LENGTH;
        n = awk_node(P, E_BUILTIN, NULL, NULL);
        n->index = P->L.index;
        advance(P);
        if (token(P) != CH('(')) { if (!length) return syntax_error(P); break; }
        advance(P);
        if (!arguments(P, n)) return NULL;
        if (!awk_builtin_takes(n->index, n->count)) {
            if (!strcmp(awk_builtin_name(n->index), "sprintf")) return error(P, "fatal: sprintf: no arguments");
            while (P->L.start > P->L.text_start && *P->L.start != ')') P->L.start--;
            return error(
                P, tool_format(P->A->t, "%d is invalid as number of arguments for %s", n->count, awk_builtin_name(n->index)));
        }
        break;
    }
    case T_NAME:
        n = awk_parse_name(P, P->L.text.p, P->L.text.n);
        advance(P);
        if (!(n = awk_parse_subscripts(P, n))) return NULL;
        break;
    case T_GETLINE:
        if (!(n = simple_getline(P))) return NULL;
        if (accept(P, CH('<'))) { n->op = '<'; if (!(n->b = awk_parse_primary(P))) return NULL; }
        break;
    default: return syntax_error(P);
    }
    P->depth--;
    return n;
}

static int assignable(const anode *n) {
    return n->kind == E_VAR || n->kind == E_LOCAL || n->kind == E_INDEX || n->kind == E_FIELD;
}

static anode *postfix(parser *P) {
    anode *n = awk_parse_primary(P);
    if (n && assignable(n) && (token(P) == T_INC || token(P) == T_DEC)) {
        n = awk_node(P, token(P) == T_INC ? E_POSTINC : E_POSTDEC, n, NULL);
        advance(P);
    }
    return n;
}

static anode *power(parser *P) {
    anode *n = postfix(P);
    if (n && (token(P) == CH('^') || token(P) == T_POW)) {
        advance(P);
        anode *right;
        if (token(P) == CH('-') || token(P) == CH('+') || token(P) == CH('!')) right = awk_parse_unary(P); else right = power(P);
        if (!right) return NULL;
        n = awk_node(P, E_BIN, n, right);
        n->op = '^';
    }
    return n;
}

anode *awk_parse_unary(parser *P) {
    int t = token(P);
    if (++P->depth > DEEPEST_GRAMMAR) return error(P, "program nests too deep");
    anode *n;
    if (t == CH('!') || t == CH('-') || t == CH('+')) {
        advance(P);
        anode *a = awk_parse_unary(P);
        n = a ? awk_node(P, t == CH('!') ? E_NOT : t == CH('-') ? E_NEG : E_PLUS, a, NULL) : NULL;
    } else if (t == T_INC || t == T_DEC) {
        advance(P);
        anode *a = awk_parse_primary(P);
        if (!a) return NULL;
        if (!assignable(a)) return syntax_error(P);
        n = awk_node(P, t == T_INC ? E_PREINC : E_PREDEC, a, NULL);
    } else n = power(P);
    P->depth--;
    return n;
}

static anode *multiplicative(parser *P) {
    anode *n = awk_parse_unary(P);
    while (n && (token(P) == CH('*') || token(P) == CH('/') || token(P) == CH('%'))) {
        int op = token(P) - 256;
        advance(P);
        anode *right = awk_parse_unary(P);
        if (!right) return NULL;
        if (op != '*' && right->kind == E_NUM && right->num == 0)
            return error(P, op == '/' ? "error: division by zero attempted" : "error: division by zero attempted in `%'");
        n = awk_node(P, E_BIN, n, right);
        n->op = op;
    }
    return n;
}

static anode *additive(parser *P) {
    anode *n = multiplicative(P);
    while (n && (token(P) == CH('+') || token(P) == CH('-'))) {
        int op = token(P) - 256;
        advance(P);
        anode *right = multiplicative(P);
        if (!right) return NULL;
        n = awk_node(P, E_BIN, n, right);
        n->op = op;
        awk_lint_expression(P->A, n);
    }
    return n;
}

static int starts_operand(const parser *P) {
    switch (token(P)) {
    case T_NUM:
    case T_STR:
    case T_NAME:
    case T_FUNC_NAME:
    case T_BUILTIN:
    case T_LENGTH:
    case CH('$'):
    case CH('('):
    case CH('!'):
    case CH('-'):
    case CH('+'):
    case T_INC:
    case T_DEC: return 1;
    }
    return 0;
}

anode *awk_parse_concatenation(parser *P) {
    anode *n = additive(P);
    while (n && starts_operand(P)) {
        if (token(P) == T_IN) break;
        anode *right = additive(P);
        if (!right) return NULL;
        n = awk_node(P, E_CONCAT, n, right);
    }
    return n;
}

static anode *piped(parser *P, anode *n) {
    while (n && (token(P) == CH('|') || token(P) == T_COPROCESS) && !P->L.error) {
        /* only "| getline" belongs to the expression */
        int op = token(P) == CH('|') ? '|' : '&';
        lexer saved = P->L;
        advance(P);
        if (token(P) != T_GETLINE) { buffer text = P->L.text; P->L = saved; P->L.text = text; return n; }
        anode *g = simple_getline(P);
        if (!g) return NULL;
        g->op = op;
        g->b = n;
        n = g;
        while (starts_operand(P) && token(P) != CH('-') && token(P) != CH('+') && token(P) != CH('!') && token(P) != T_INC && token(P) != T_DEC) {
            anode *right = additive(P);
            if (!right) return NULL;
            n = awk_node(P, E_CONCAT, n, right);
        }
    }
    return n;
}

static anode *comparison(parser *P) {
    anode *n = piped(P, awk_parse_concatenation(P));
    int t = token(P);
    if (n && (t == CH('<') || t == T_LE || t == T_EQ || t == T_NE || t == T_GE || (t == CH('>') && !P->no_gt))) {
        advance(P);
        anode *right = piped(P, awk_parse_concatenation(P));
        if (!right) return NULL;
        n = awk_node(P, E_COMPARE, n, right);
        n->op = t;
        awk_lint_expression(P->A, n);
        n = piped(P, n);
    }
    return n;
}

static anode *matching(parser *P) {
    anode *n = comparison(P);
    while (n && (token(P) == CH('~') || token(P) == T_NOMATCH)) {
        int kind = token(P) == T_NOMATCH ? E_NOMATCH : E_MATCH;
        advance(P);
        anode *right = comparison(P);
        if (!right) return NULL;
        n = awk_node(P, kind, n, right);
        awk_lint_expression(P->A, n);
    }
    return n;
}

static anode *membership(parser *P) {
    anode *n = matching(P);
    while (n && token(P) == T_IN && !P->no_in) {
        advance(P);
        if (token(P) != T_NAME) return syntax_error(P);
        anode *arr = awk_parse_name(P, P->L.text.p, P->L.text.n);
        advance(P);
        if (!(arr = awk_parse_subscripts(P, arr))) return NULL;
        n = awk_node(P, E_IN, n, arr);
    }
    return n;
}

static anode *conjunction(parser *P) {
    anode *n = membership(P);
    while (n && token(P) == T_AND) {
        advance(P);
        skip_newlines(P);
        anode *right = membership(P);
        if (!right) return NULL;
        n = awk_node(P, E_AND, n, right);
    }
    return n;
}

static anode *disjunction(parser *P) {
    anode *n = conjunction(P);
    while (n && token(P) == T_OR) {
        advance(P);
        skip_newlines(P);
        anode *right = conjunction(P);
        if (!right) return NULL;
        n = awk_node(P, E_OR, n, right);
    }
    return n;
}

static anode *ternary(parser *P) {
    anode *n = disjunction(P);
    if (!n || token(P) != CH('?')) return n;
    if (++P->depth > DEEPEST_GRAMMAR) return error(P, "program nests too deep");
    advance(P);
    skip_newlines(P);
    anode *yes = awk_parse_expression(P);
    if (!yes) return NULL;
    skip_newlines(P);
    if (!expect(P, CH(':'))) return NULL;
    skip_newlines(P);
    anode *no = awk_parse_expression(P);
    if (!no) return NULL;
    P->depth--;
    n = awk_node(P, E_COND, n, yes);
    n->c = no;
    return n;
}

anode *awk_parse_expression(parser *P) {
    if (++P->depth > DEEPEST_GRAMMAR || tool_too_deep(P->A->t)) return error(P, "program nests too deep");
    anode *n = ternary(P);
    static const struct {
        int token, op;
    } table[]
        = {{CH('='), '='}, {T_ADD_EQ, '+'}, {T_SUB_EQ, '-'}, {T_MUL_EQ, '*'}, {T_DIV_EQ, '/'}, {T_MOD_EQ, '%'}, {T_POW_EQ, '^'}};
    for (size_t i = 0; n && i < sizeof table / sizeof *table; i++) {
        if (token(P) != table[i].token) continue;
        if ((n->kind == E_POSTINC || n->kind == E_POSTDEC) && n->a->kind == E_FIELD) {
            advance(P);
            if (!awk_parse_expression(P)) return NULL;
            return error(P, tool_format(P->A->t, "cannot assign a value to the result of a field post-%s expression",
                n->kind == E_POSTINC ? "increment" : "decrement"));
        }
        /* a comparison or conjunction whose right side is assignable: a && b = c */
        anode *place = n, *holder = NULL;
        for (; !assignable(place); place = place->b) {
            if (place->kind != E_AND && place->kind != E_OR && place->kind != E_COMPARE && place->kind != E_MATCH
                && place->kind != E_NOMATCH) return syntax_error(P);
            holder = place;
        }
        int op = table[i].op;
        advance(P);
        skip_newlines(P);
        anode *right = awk_parse_expression(P);
        if (!right) return NULL;
        anode *assign = awk_node(P, E_ASSIGN, place, right);
        assign->op = op;
        awk_lint_expression(P->A, assign);
        if (holder) holder->b = assign; else n = assign;
        break;
    }
    P->depth--;
    return n;
}
