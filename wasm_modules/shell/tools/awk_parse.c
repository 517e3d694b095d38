/* awk_parse.c - recursive descent over awk's grammar, most loosely binding first. */
#include "awk_lex.h"
#include <stdio.h>
#include <string.h>

#define CH(c) ((c) + 256)

typedef struct { lexer L; awk *A; afunc *function; int no_in, no_gt, depth, loops, paren; } parser;

static anode *expression(parser *P);
static anode *statement(parser *P);
static anode *ternary(parser *P);
static anode *concatenation(parser *P);
static anode *unary(parser *P);

static anode *error(parser *P, const char *message) { return lex_error(&P->L, message); }
static anode *syntax_error(parser *P) { return lex_error(&P->L, "syntax error"); }

static anode *make(parser *P, int kind, anode *a, anode *b) {
    anode *n = tool_alloc(P->A->t, sizeof *n);
    n->kind = kind;
    n->a = a;
    n->b = b;
    n->line = P->L.line;
    return n;
}

static int token(const parser *P) { return P->L.token; }
static void advance(parser *P) { lex_next(&P->L); }
static int accept(parser *P, int t) { if (token(P) != t) return 0; advance(P); return 1; }
static int expect(parser *P, int t) { if (accept(P, t)) return 1; syntax_error(P); return 0; }
static void skip_newlines(parser *P) { while (token(P) == T_NEWLINE) advance(P); }
static void skip_terminators(parser *P) { while (token(P) == T_NEWLINE || token(P) == CH(';')) advance(P); }

int awk_variable(awk *A, const char *name, size_t n) {
    for (int i = 0; i < A->var_count; i++) if (strlen(A->var_names[i]) == n && !memcmp(A->var_names[i], name, n)) return i;
    if (A->var_count == A->var_cap) {
        A->var_cap = A->var_cap ? A->var_cap * 2 : 64;
        A->var_names = tool_realloc(A->t, A->var_names, (size_t)A->var_cap * sizeof *A->var_names);
        A->vars = tool_realloc(A->t, A->vars, (size_t)A->var_cap * sizeof *A->vars);
    }
    A->var_names[A->var_count] = tool_strndup(A->t, name, n);
    return A->var_count++;
}

static int function_index(parser *P, const char *name, size_t n) {
    awk *A = P->A;
    for (int i = 0; i < A->func_count; i++) if (strlen(A->funcs[i].name) == n && !memcmp(A->funcs[i].name, name, n)) return i;
    if (A->func_count == A->func_cap) {
        A->func_cap = A->func_cap ? A->func_cap * 2 : 16;
        A->funcs = tool_realloc(A->t, A->funcs, (size_t)A->func_cap * sizeof *A->funcs);
    }
    memset(&A->funcs[A->func_count], 0, sizeof *A->funcs);
    A->funcs[A->func_count].name = tool_strndup(A->t, name, n);
    return A->func_count++;
}

static anode *name_node(parser *P, const char *name, size_t n) {
    afunc *f = P->function;
    for (int i = 0; f && i < f->params; i++)
        if (strlen(f->param_names[i]) == n && !memcmp(f->param_names[i], name, n)) {
            anode *local = make(P, E_LOCAL, NULL, NULL);
            local->index = i;
            return local;
        }
    anode *v = make(P, E_VAR, NULL, NULL);
    v->index = awk_variable(P->A, name, n);
    return v;
}

static anode *regex_node(parser *P) {
    const char *message;
    anode *n = make(P, E_REGEX, NULL, NULL);
    n->str = astr_new(P->A, P->L.text.p, P->L.text.n);
    n->re = pattern_compile(P->A->t, P->L.text.p, P->L.text.n, REGEX_EXTENDED | REGEX_BRACKET_ESCAPES, &message);
    if (!n->re) return error(P, tool_format(P->A->t, "fatal: invalid regexp: %s: /%s/", message, P->L.text.p));
    return n;
}

/* expr {, expr} up to but not including the closing token; *count items linked by next. */
static anode *expression_list(parser *P, int close, int *count) {
    anode *first = NULL, **tail = &first;
    *count = 0;
    skip_newlines(P);
    if (token(P) == close) return NULL;
    for (;;) {
        anode *e = expression(P);
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

static anode *subscripts(parser *P, anode *base) {
    while (token(P) == CH('[')) {
        advance(P);
        anode *n = make(P, E_INDEX, base, NULL);
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
    anode *n = make(P, E_GETLINE, NULL, NULL);
    advance(P);
    if (token(P) == CH('$') || token(P) == T_NAME) {
        if (token(P) == CH('$')) {
            advance(P);
            anode *f = make(P, E_FIELD, NULL, NULL);
            if (!(f->a = unary(P))) return NULL;
            n->a = f;
        } else {
            n->a = name_node(P, P->L.text.p, P->L.text.n);
            advance(P);
            if (!(n->a = subscripts(P, n->a))) return NULL;
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
    anode *n = make(P, E_GROUP, list, NULL);
    n->count = count;
    if (count > 1 && token(P) != T_IN) { P->paren = 1; return n; }
    return n;
}

static anode *primary(parser *P) {
    anode *n;
    if (++P->depth > 400 || tool_too_deep(P->A->t)) return error(P, "program nests too deep");
    switch (token(P)) {
    case T_NUM: n = make(P, E_NUM, NULL, NULL); n->num = P->L.num; advance(P); break;
    case T_STR: n = make(P, E_STR, NULL, NULL); n->str = astr_new(P->A, P->L.text.p, P->L.text.n); advance(P); break;
    case CH('/'): case T_DIV_EQ:
        lex_regex(&P->L);
        if (P->L.error || !(n = regex_node(P))) return NULL;
        advance(P);
        break;
    case CH('@'):
        advance(P);
        if (token(P) == CH('/')) { lex_regex(&P->L); if (P->L.error || !(n = regex_node(P))) return NULL; n->op = '@'; advance(P); break; }
        /* @name(...): the function that the variable names */
        if (token(P) != T_FUNC_NAME) return syntax_error(P);
        n = make(P, E_CALL, NULL, NULL);
        n->index = -1;
        n->b = name_node(P, P->L.text.p, P->L.text.n);
        advance(P);
        advance(P);
        if (!arguments(P, n)) return NULL;
        break;
    case CH('$'):
        advance(P);
        n = make(P, E_FIELD, NULL, NULL);
        if (token(P) == T_INC || token(P) == T_DEC) { if (!(n->a = unary(P))) return NULL; }
        else if (token(P) == CH('-') || token(P) == CH('+') || token(P) == CH('!')) { if (!(n->a = unary(P))) return NULL; }
        else if (!(n->a = primary(P))) return NULL;
        break;
    case CH('('): if (!(n = grouping(P))) return NULL; break;
    case T_FUNC_NAME:
        n = make(P, E_CALL, NULL, NULL);
        n->index = function_index(P, P->L.text.p, P->L.text.n);
        advance(P);
        advance(P);
        if (!arguments(P, n)) return NULL;
        break;
    case T_BUILTIN: case T_LENGTH: {
        int length = token(P) == T_LENGTH;
        n = make(P, E_BUILTIN, NULL, NULL);
        n->index = P->L.index;
        advance(P);
        if (token(P) != CH('(')) { if (!length) return syntax_error(P); break; }
        advance(P);
        if (!arguments(P, n)) return NULL;
        break;
    }
    case T_NAME:
        n = name_node(P, P->L.text.p, P->L.text.n);
        advance(P);
        if (!(n = subscripts(P, n))) return NULL;
        break;
    case T_GETLINE:
        if (!(n = simple_getline(P))) return NULL;
        if (accept(P, CH('<'))) { n->op = '<'; if (!(n->b = primary(P))) return NULL; }
        break;
    default: return syntax_error(P);
    }
    P->depth--;
    return n;
}

static int assignable(const anode *n) { return n->kind == E_VAR || n->kind == E_LOCAL || n->kind == E_INDEX || n->kind == E_FIELD; }

static anode *postfix(parser *P) {
    anode *n = primary(P);
    if (n && assignable(n) && (token(P) == T_INC || token(P) == T_DEC)) {
        n = make(P, token(P) == T_INC ? E_POSTINC : E_POSTDEC, n, NULL);
        advance(P);
    }
    return n;
}

static anode *power(parser *P) {
    anode *n = postfix(P);
    if (n && (token(P) == CH('^') || token(P) == T_POW)) {
        advance(P);
        anode *right;
        if (token(P) == CH('-') || token(P) == CH('+') || token(P) == CH('!')) right = unary(P); else right = power(P);
        if (!right) return NULL;
        n = make(P, E_BIN, n, right);
        n->op = '^';
    }
    return n;
}

static anode *unary(parser *P) {
    int t = token(P);
    if (++P->depth > 400) return error(P, "program nests too deep");
    anode *n;
    if (t == CH('!') || t == CH('-') || t == CH('+')) {
        advance(P);
        anode *a = unary(P);
        n = a ? make(P, t == CH('!') ? E_NOT : t == CH('-') ? E_NEG : E_PLUS, a, NULL) : NULL;
    } else if (t == T_INC || t == T_DEC) {
        advance(P);
        anode *a = primary(P);
        if (!a) return NULL;
        if (!assignable(a)) return syntax_error(P);
        n = make(P, t == T_INC ? E_PREINC : E_PREDEC, a, NULL);
    } else n = power(P);
    P->depth--;
    return n;
}

static anode *multiplicative(parser *P) {
    anode *n = unary(P);
    while (n && (token(P) == CH('*') || token(P) == CH('/') || token(P) == CH('%'))) {
        int op = token(P) - 256;
        advance(P);
        anode *right = unary(P);
        if (!right) return NULL;
        if (op != '*' && n->kind == E_NUM && right->kind == E_NUM && right->num == 0) return error(P, op == '/' ? "error: division by zero attempted" : "error: division by zero attempted in `%'");
        n = make(P, E_BIN, n, right);
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
        n = make(P, E_BIN, n, right);
        n->op = op;
    }
    return n;
}

static int starts_operand(const parser *P) {
    switch (token(P)) {
    case T_NUM: case T_STR: case T_NAME: case T_FUNC_NAME: case T_BUILTIN: case T_LENGTH: case CH('$'): case CH('('): case CH('!'): case CH('-'): case CH('+'): case T_INC: case T_DEC: return 1;
    }
    return 0;
}

static anode *concatenation(parser *P) {
    anode *n = additive(P);
    while (n && starts_operand(P)) {
        if (token(P) == T_IN) break;
        anode *right = additive(P);
        if (!right) return NULL;
        n = make(P, E_CONCAT, n, right);
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
    }
    return n;
}

static anode *comparison(parser *P) {
    anode *n = piped(P, concatenation(P));
    int t = token(P);
    if (n && (t == CH('<') || t == T_LE || t == T_EQ || t == T_NE || t == T_GE || (t == CH('>') && !P->no_gt))) {
        advance(P);
        anode *right = piped(P, concatenation(P));
        if (!right) return NULL;
        n = make(P, E_COMPARE, n, right);
        n->op = t;
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
        n = make(P, kind, n, right);
    }
    return n;
}

static anode *membership(parser *P) {
    anode *n = matching(P);
    while (n && token(P) == T_IN && !P->no_in) {
        advance(P);
        if (token(P) != T_NAME) return syntax_error(P);
        anode *arr = name_node(P, P->L.text.p, P->L.text.n);
        advance(P);
        if (!(arr = subscripts(P, arr))) return NULL;
        n = make(P, E_IN, n, arr);
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
        n = make(P, E_AND, n, right);
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
        n = make(P, E_OR, n, right);
    }
    return n;
}

static anode *ternary(parser *P) {
    anode *n = disjunction(P);
    if (!n || token(P) != CH('?')) return n;
    if (++P->depth > 400) return error(P, "program nests too deep");
    advance(P);
    skip_newlines(P);
    anode *yes = expression(P);
    if (!yes) return NULL;
    skip_newlines(P);
    if (!expect(P, CH(':'))) return NULL;
    skip_newlines(P);
    anode *no = expression(P);
    if (!no) return NULL;
    P->depth--;
    n = make(P, E_COND, n, yes);
    n->c = no;
    return n;
}

static anode *expression(parser *P) {
    if (++P->depth > 400 || tool_too_deep(P->A->t)) return error(P, "program nests too deep");
    anode *n = ternary(P);
    static const struct { int token, op; } table[] = {{CH('='), '='}, {T_ADD_EQ, '+'}, {T_SUB_EQ, '-'}, {T_MUL_EQ, '*'}, {T_DIV_EQ, '/'}, {T_MOD_EQ, '%'}, {T_POW_EQ, '^'}};
    for (size_t i = 0; n && i < sizeof table / sizeof *table; i++) {
        if (token(P) != table[i].token) continue;
        /* a comparison or conjunction whose right side is assignable: !x = y, a && b = c */
        anode *place = n, *holder = NULL;
        while (!assignable(place)) {
            if (place->kind == E_NOT || place->kind == E_NEG || place->kind == E_PLUS) { holder = place; place = place->a; }
            else if (place->kind == E_AND || place->kind == E_OR || place->kind == E_COMPARE || place->kind == E_CONCAT || place->kind == E_MATCH || place->kind == E_NOMATCH || place->kind == E_BIN) { holder = place; place = place->b; }
            else return syntax_error(P);
        }
        int op = table[i].op;
        advance(P);
        skip_newlines(P);
        anode *right = expression(P);
        if (!right) return NULL;
        anode *assign = make(P, E_ASSIGN, place, right);
        assign->op = op;
        if (!holder) n = assign;
        else if (holder->a == place && (holder->kind == E_NOT || holder->kind == E_NEG || holder->kind == E_PLUS)) holder->a = assign;
        else holder->b = assign;
        break;
    }
    P->depth--;
    return n;
}

/* print and printf with their redirection. */
static anode *print_statement(parser *P) {
    anode *n = make(P, token(P) == T_PRINT ? S_PRINT : S_PRINTF, NULL, NULL);
    advance(P);
    P->no_gt = 1;
    if (token(P) != CH(';') && token(P) != T_NEWLINE && token(P) != CH('}') && token(P) != CH('>') && token(P) != CH('|') && token(P) != T_APPEND && token(P) != T_COPROCESS && token(P) != T_EOF) {
        P->paren = 0;
        anode *first = expression(P), **tail;
        if (!first) return NULL;
        n->a = first;
        n->count = 1;
        if (first->kind == E_GROUP && first->count > 1) { n->count = first->count; n->a = first->a; }
        else for (tail = &first->next; token(P) == CH(','); tail = &(*tail)->next) {
            advance(P);
            skip_newlines(P);
            if (!(*tail = expression(P))) return NULL;
            n->count++;
        }
    }
    P->no_gt = 0;
    int t = token(P);
    if (t == CH('>') || t == T_APPEND || t == CH('|') || t == T_COPROCESS) {
        advance(P);
        n->op = t == CH('>') ? '>' : t == T_APPEND ? 'a' : t == T_COPROCESS ? '&' : '|';
        P->no_gt = 1;
        n->b = concatenation(P);
        P->no_gt = 0;
        if (!n->b) return NULL;
    }
    if (n->kind == S_PRINTF && !n->count) return syntax_error(P);
    return n;
}

static anode *simple_statement(parser *P) {
    if (token(P) == T_PRINT || token(P) == T_PRINTF) return print_statement(P);
    if (token(P) == T_DELETE) {
        advance(P);
        anode *n = make(P, S_DELETE, NULL, NULL);
        int paren = accept(P, CH('('));
        if (token(P) != T_NAME && token(P) != T_FUNC_NAME) return syntax_error(P);
        n->a = name_node(P, P->L.text.p, P->L.text.n);
        advance(P);
        if (!(n->a = subscripts(P, n->a))) return NULL;
        if (paren && !expect(P, CH(')'))) return NULL;
        return n;
    }
    anode *e = expression(P);
    return e ? make(P, S_EXPR, e, NULL) : NULL;
}

static int ends_statement(parser *P) {
    if (token(P) == CH(';') || token(P) == T_NEWLINE) { advance(P); return 1; }
    if (token(P) == CH('}') || token(P) == T_EOF) return 1;
    syntax_error(P);
    return 0;
}

static anode *block(parser *P) {
    anode *n = make(P, S_BLOCK, NULL, NULL), **tail = &n->a;
    if (!expect(P, CH('{'))) return NULL;
    for (;;) {
        skip_terminators(P);
        if (token(P) == CH('}')) break;
        if (token(P) == T_EOF) return syntax_error(P);
        anode *s = statement(P);
        if (!s) return NULL;
        *tail = s;
        tail = &s->next;
    }
    advance(P);
    return n;
}

/* A statement after if, while, for: possibly just ; */
static anode *body(parser *P) {
    skip_newlines(P);
    if (token(P) == CH(';')) { advance(P); return make(P, S_BLOCK, NULL, NULL); }
    return statement(P);
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
                anode *var = name_node(P, name, strlen(name)), *arr = name_node(P, P->L.text.p, P->L.text.n);
                advance(P);
                if (!(arr = subscripts(P, arr))) return NULL;
                if (token(P) == CH(')')) {
                    advance(P);
                    n = make(P, S_FORIN, var, arr);
                    return (n->c = body(P)) ? n : NULL;
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
    if (init && init->kind == S_EXPR && init->a->kind == E_IN && token(P) == CH(')') && init->a->a->kind == E_GROUP) return syntax_error(P);
    n = make(P, S_FOR, init, NULL);
    if (!expect(P, CH(';'))) return NULL;
    skip_newlines(P);
    if (token(P) != CH(';') && !(n->b = expression(P))) return NULL;
    if (!expect(P, CH(';'))) return NULL;
    skip_newlines(P);
    if (token(P) != CH(')') && !(n->c = simple_statement(P))) return NULL;
    if (!expect(P, CH(')'))) return NULL;
    return (n->d = body(P)) ? n : NULL;
}

static anode *if_statement(parser *P) {
    advance(P);
    anode *n = make(P, S_IF, NULL, NULL);
    if (!expect(P, CH('(')) || !(n->a = expression(P)) || !expect(P, CH(')')) || !(n->b = body(P))) return NULL;
    skip_terminators(P);                     /* else may follow a ; and newlines */
    if (token(P) != T_ELSE) return n;
    advance(P);
    return (n->c = body(P)) ? n : NULL;
}

static anode *switch_statement(parser *P) {
    advance(P);
    anode *n = make(P, S_SWITCH, NULL, NULL), **tail = &n->b;
    if (!expect(P, CH('(')) || !(n->a = expression(P)) || !expect(P, CH(')'))) return NULL;
    skip_newlines(P);
    if (!expect(P, CH('{'))) return NULL;
    for (skip_terminators(P); token(P) != CH('}'); skip_terminators(P)) {
        if (token(P) != T_CASE && token(P) != T_DEFAULT) return syntax_error(P);
        anode *k = make(P, S_CASE, NULL, NULL), **inner = &k->b;
        int is_case = token(P) == T_CASE;
        advance(P);
        if (is_case && !(k->a = token(P) == CH('-') ? unary(P) : primary(P))) return NULL;
        if (!expect(P, CH(':'))) return NULL;
        for (skip_terminators(P); token(P) != T_CASE && token(P) != T_DEFAULT && token(P) != CH('}'); skip_terminators(P)) {
            anode *s = statement(P);
            if (!s) return NULL;
            *inner = s;
            inner = &s->next;
        }
        *tail = k;
        tail = &k->next;
    }
    advance(P);
    return n;
}

static anode *statement(parser *P) {
    anode *n;
    if (++P->depth > 400 || tool_too_deep(P->A->t)) return error(P, "program nests too deep");
    switch (token(P)) {
    case CH('{'): n = block(P); if (n) while (token(P) == T_NEWLINE) advance(P); P->depth--; return n;
    case T_IF: n = if_statement(P); P->depth--; return n;
    case T_FOR: n = for_statement(P); P->depth--; return n;
    case T_SWITCH: n = switch_statement(P); P->depth--; return n;
    case T_WHILE:
        advance(P);
        n = make(P, S_WHILE, NULL, NULL);
        if (!expect(P, CH('(')) || !(n->a = expression(P)) || !expect(P, CH(')'))) return NULL;
        if (!(n->b = body(P))) return NULL;
        P->depth--;
        return n;
    case T_DO:
        advance(P);
        n = make(P, S_DO, NULL, NULL);
        if (!(n->b = body(P))) return NULL;
        skip_terminators(P);
        if (!expect(P, T_WHILE) || !expect(P, CH('(')) || !(n->a = expression(P)) || !expect(P, CH(')'))) return NULL;
        break;
    case T_BREAK: advance(P); n = make(P, S_BREAK, NULL, NULL); break;
    case T_CONTINUE: advance(P); n = make(P, S_CONTINUE, NULL, NULL); break;
    case T_NEXT: advance(P); n = make(P, S_NEXT, NULL, NULL); break;
    case T_NEXTFILE: advance(P); n = make(P, S_NEXTFILE, NULL, NULL); break;
    case T_EXIT: case T_RETURN:
        n = make(P, token(P) == T_EXIT ? S_EXIT : S_RETURN, NULL, NULL);
        advance(P);
        if (token(P) != CH(';') && token(P) != T_NEWLINE && token(P) != CH('}') && token(P) != T_EOF && !(n->a = expression(P))) return NULL;
        break;
    default: if (!(n = simple_statement(P))) return NULL;
    }
    P->depth--;
    return ends_statement(P) ? n : NULL;
}

static int function_definition(parser *P) {
    advance(P);
    if (token(P) != T_NAME && token(P) != T_FUNC_NAME) return syntax_error(P), -1;
    int index = function_index(P, P->L.text.p, P->L.text.n), count = 0, cap = 0;
    char **params = NULL;
    if (P->A->funcs[index].is_defined) return error(P, tool_format(P->A->t, "function name `%s' previously defined", P->A->funcs[index].name)), -1;
    advance(P);
    if (!expect(P, CH('('))) return -1;
    for (skip_newlines(P); token(P) != CH(')');) {
        if (token(P) != T_NAME) return syntax_error(P), -1;
        if (count == cap) params = tool_realloc(P->A->t, params, (size_t)(cap = cap ? cap * 2 : 8) * sizeof *params);
        params[count++] = tool_strndup(P->A->t, P->L.text.p, P->L.text.n);
        advance(P);
        skip_newlines(P);
        if (!accept(P, CH(','))) break;
        skip_newlines(P);
    }
    if (!expect(P, CH(')'))) return -1;
    skip_newlines(P);
    afunc f = P->A->funcs[index];
    f.params = count;
    f.param_names = params;
    f.is_defined = 1;
    P->A->funcs[index] = f;
    P->function = &f;
    anode *b = block(P);
    P->function = NULL;
    if (!b) return -1;
    P->A->funcs[index].body = b;
    return 0;
}

static int rule(parser *P) {
    awk *A = P->A;
    arule r = {0};
    switch (token(P)) {
    case T_BEGIN: r.kind = 'B'; advance(P); break;
    case T_END: r.kind = 'E'; advance(P); break;
    case T_BEGINFILE: r.kind = 'f'; advance(P); break;
    case T_ENDFILE: r.kind = 'e'; advance(P); break;
    case CH('{'): break;
    default:
        if (!(r.pattern = expression(P))) return -1;
        if (accept(P, CH(','))) { skip_newlines(P); if (!(r.end = expression(P))) return -1; }
    }
    if (r.kind) skip_newlines(P);
    if (token(P) == CH('{')) { if (!(r.body = block(P))) return -1; }
    else if (r.kind) return syntax_error(P), -1;
    if (A->rule_count == A->rule_cap) {
        A->rule_cap = A->rule_cap ? A->rule_cap * 2 : 16;
        A->rules = tool_realloc(A->t, A->rules, (size_t)A->rule_cap * sizeof *A->rules);
    }
    A->rules[A->rule_count++] = r;
    return 0;
}

int awk_parse(awk *A, const char *text, size_t n) {
    parser P = {.A = A, .L = {.A = A, .p = text, .end = text + n, .line = 1, .text = {.t = A->t}}};
    buffer_puts(&P.L.text, "");
    advance(&P);
    for (skip_terminators(&P); token(&P) != T_EOF && !P.L.error; skip_terminators(&P)) {
        if ((token(&P) == T_FUNCTION ? function_definition(&P) : rule(&P)) < 0) {
            if (!P.L.error) syntax_error(&P);
            return 1;
        }
        P.depth = 0;
    }
    if (P.L.error) return 1;
    for (int i = 0; i < A->func_count; i++)
        if (!A->funcs[i].is_defined) return tool_fail(A->t, 2, "cmd. line:1: fatal: function `%s' not defined", A->funcs[i].name);
    return 0;
}
