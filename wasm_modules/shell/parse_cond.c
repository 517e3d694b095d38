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

/* What stands where it must not, as messages name it; "" for a word. */
static const char *token_text(parser *p, token *t)
{
    if (t->kind == T_EOF && t->start > 0 && p->src[t->start - 1] == '\n') return "EOF";
    if (t->kind == T_EOF || t->kind == T_NEWLINE) return "newline";
    return slice(p, t->start, t->end);
}

/* Fails at t. Behind the last line the text is over, whatever the message says. */
static void fail_at(parser *p, token *t, const char *format)
{
    size_t rest = t->end;
    syntax_fail(p, t->start, t->end, format, token_text(p, t));
    while (rest < p->len && strchr(" \t\n", p->src[rest])) rest++;
    if (t->kind != T_EOF && (t->kind != T_NEWLINE || rest < p->len)) return;
    p->err->at_eof = p->err->quoted_eof = true;
}

static bool is_end(token *t) { return t->kind == T_WORD && !strcmp(plain(t->w), "]]"); }

static word *next_word(parser *p)
{
    token *t = peek(p);
    if (t->kind != T_WORD || is_end(t)) {
        fail_at(p, t, "unexpected argument `%s' to conditional binary operator");
        return NULL;
    }
    word *w = t->w;
    take(p);
    return w;
}

static cond *parse_paren(parser *p)
{
    take(p);
    cond *c = new_cond(p, C_PAREN);
    c->a = parse_or(p);
    if (p->failed) return NULL;
    skip_newlines(p);
    token *t = peek(p);
    if (t->kind != T_RPAREN) {
        fail_at(p, t, t->kind == T_WORD ? "expected `)'" : "unexpected token `%s', expected `)'");
        return NULL;
    }
    take(p);
    return c;
}

/* word, word operator word: w has been taken. */
static cond *parse_comparison(parser *p, word *w)
{
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
            if (p->pos >= p->len || p->src[p->pos] == '\n') { next_word(p); return NULL; }
            c->r = lex_word(p, M_REGEX);
            return c;
        }
        c->r = next_word(p);
        return c;
    }
    c->kind = C_WORD;
    if (is_end(n) || n->kind == T_AND || n->kind == T_OR || n->kind == T_RPAREN) return c;
    fail_at(p, n, n->kind == T_WORD ? "conditional binary operator expected"
                                    : "unexpected token `%s', conditional binary operator expected");
    return NULL;
}

static cond *parse_term(parser *p)
{
    skip_newlines(p);
    token *t = peek(p);
    if (t->kind == T_LPAREN) return parse_paren(p);
    if (is_end(t)) { fail_at(p, t, "syntax error near unexpected token `%s'"); p->err->silent = true; return NULL; }
    if (t->kind == T_EOF && !p->failed) {
        unexpected(p, t);
        strcpy(p->err->message, "unexpected token `EOF' in conditional command");
        return NULL;
    }
    if (t->kind != T_WORD) { fail_at(p, t, "unexpected token `%s' in conditional command"); return NULL; }
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
        if (n->kind != T_WORD || is_end(n)) {
            fail_at(p, n, "unexpected argument `%s' to conditional unary operator");
            return NULL;
        }
        cond *c = new_cond(p, C_UNARY);
        set_op(c, text);
        c->l = n->w;
        take(p);
        return c;
    }
    return parse_comparison(p, w);
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
        }
        fail_at(p, t, t->kind == T_WORD ? "syntax error in conditional expression"
                              : "syntax error in conditional expression: unexpected token `%s'");
        p->err->line = n->line;
    }
    p->cond_depth--;
    return n;
}
