/* parse_cond.c - the grammar of [[ ... ]]. */
#include "parse.h"
#include <string.h>

static cond *parse_or(parser *p);

static cond *new_cond(parser *p, int kind)
{
    cond *c = arena_alloc(p->a, sizeof *c);
    c->kind = (uint8_t)kind;
    return c;
}

static void set_op(cond *c, const char *op) { strncpy(c->op, op, sizeof c->op - 1); }

static bool is_binary(const char *s)
{
    static const char *const ops[] = { "=", "==", "!=", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef" };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) if (!strcmp(s, ops[i])) return true;
    return false;
}

static const char *plain(word *w)
{
    return w && w->parts && !w->parts->next && w->parts->kind == P_LIT && !w->parts->quoted ? w->parts->u.lit.text : "";
}

static word *next_word(parser *p)
{
    token *t = peek(p);
    if (t->kind != T_WORD || !strcmp(plain(t->w), "]]")) {
        if (t->kind == T_EOF || t->kind == T_NEWLINE) unexpected(p, t);
        else
            syntax_fail(p, t->start, t->end, "unexpected argument `%.*s' to conditional binary operator",
                        (int)(t->end - t->start), p->src + t->start);
        return NULL;
    }
    word *w = t->w;
    take(p);
    return w;
}

static cond *parse_term(parser *p)
{
    skip_newlines(p);
    token *t = peek(p);
    if (t->kind == T_LPAREN) {
        take(p);
        cond *c = new_cond(p, C_PAREN);
        c->a = parse_or(p);
        skip_newlines(p);
        if (!p->failed && peek(p)->kind != T_RPAREN) {
            syntax_fail(p, p->tok.start, p->tok.end, "unexpected token `%.*s', expected `)'", (int)(p->tok.end - p->tok.start),
                        p->src + p->tok.start);
            return NULL;
        }
        take(p);
        return c;
    }
    if (t->kind != T_WORD || !strcmp(plain(t->w), "]]")) { unexpected(p, t); return NULL; }
    word *w = t->w;
    const char *text = plain(w);
    take(p);
    if (!strcmp(text, "!")) {
        cond *c = new_cond(p, C_NOT);
        if (enter(p)) c->a = parse_term(p);
        p->depth--;
        return c;
    }
    if (text[0] == '-' && text[1] && !text[2] && strchr("abcdefghknoprstuvwxzGLNORS", text[1])) {
        token *n = peek(p);
        if (n->kind == T_WORD && strcmp(plain(n->w), "]]") && !is_binary(plain(n->w))) {
            cond *c = new_cond(p, C_UNARY);
            set_op(c, text);
            c->l = n->w;
            take(p);
            return c;
        }
        if (n->kind == T_WORD && is_binary(plain(n->w))) {
            /* [[ -z == -z ]]: a binary operator after all, unless nothing sensible follows */
        } else if (n->kind == T_WORD || n->kind == T_AND || n->kind == T_OR || n->kind == T_RPAREN) {
            syntax_fail(p, n->start, n->end, "unexpected argument `%.*s' to conditional unary operator", (int)(n->end - n->start),
                        p->src + n->start);
            return NULL;
        }
    }
    token *n = peek(p);
    cond *c = new_cond(p, C_BINARY);
    c->l = w;
    if (n->kind == T_LESS || n->kind == T_GREAT) {
        set_op(c, n->kind == T_LESS ? "<" : ">");
        take(p);
        c->r = next_word(p);
        return c;
    }
    if (n->kind == T_WORD && is_binary(plain(n->w))) {
        set_op(c, plain(n->w));
        take(p);
        if (!strcmp(c->op, "=~")) {
            skip_blanks(p);
            if (p->pos >= p->len || p->src[p->pos] == '\n') { unexpected(p, peek(p)); return NULL; }
            c->r = lex_word(p, M_REGEX);
            return c;
        }
        c->r = next_word(p);
        return c;
    }
    if (n->kind == T_WORD && strcmp(plain(n->w), "]]")) {
        syntax_fail(p, n->start, n->end, "conditional binary operator expected");
        return NULL;
    }
    c->kind = C_WORD;
    return c;
}

static cond *parse_and(parser *p)
{
    if (!enter(p)) { p->depth--; return NULL; }
    cond *c = parse_term(p);
    for (;;) {
        if (p->failed) break;
        skip_newlines(p);
        if (peek(p)->kind != T_AND) break;
        take(p);
        cond *both = new_cond(p, C_AND);
        both->a = c;
        both->b = parse_term(p);
        c = both;
    }
    p->depth--;
    return c;
}

static cond *parse_or(parser *p)
{
    cond *c = parse_and(p);
    while (!p->failed && peek(p)->kind == T_OR) {
        take(p);
        cond *either = new_cond(p, C_OR);
        either->a = c;
        either->b = parse_and(p);
        c = either;
    }
    return c;
}

node *parse_cond_command(parser *p)
{
    node *n = new_node(p, N_COND, p->tok.line);
    p->cond_depth++;
    take(p);
    n->u.cond = parse_or(p);
    if (!p->failed) {
        skip_newlines(p);
        token *t = peek(p);
        if (t->kind == T_WORD && !strcmp(plain(t->w), "]]")) { p->cond_depth--; take(p); return n; }
        if (t->kind == T_EOF) {
            eof_looking_for(p, ']', t->start);
            strcpy(p->err->message, "unexpected EOF while looking for `]]'");
        } else if (t->kind == T_WORD || t->kind == T_RPAREN)
            syntax_fail(p, t->start, t->end, "syntax error in conditional expression");
        else unexpected(p, t);
    }
    p->cond_depth--;
    return n;
}
