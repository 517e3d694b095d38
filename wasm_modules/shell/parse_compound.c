/* parse_compound.c - compound commands: if, loops, case, groups, functions. */
#include "parse_compound.h"
#include <stdlib.h>
#include <string.h>

/* Takes the reserved word or fails. */
static bool expect(parser *p, const char *text)
{
    if (p->failed) return false;
    token *t = peek(p);
    if (t->kind == T_WORD && word_is(t->w, text)) { take(p); return true; }
    unexpected(p, t);
    return false;
}

static bool at_word(parser *p, const char *text) { return !p->failed && peek(p)->kind == T_WORD && word_is(p->tok.w, text); }

/* A list that must not be empty. */
static node *body(parser *p)
{
    node *n = parse_list(p, false);
    if (!n && !p->failed) unexpected(p, peek(p));
    return n;
}

/* if and its elifs, each a node in the `other` of the one before; a loop, because scripts have long chains of them. */
static node *parse_if(parser *p)
{
    node *first = NULL, **at = &first;
    do {
        node *n = new_node(p, N_IF, p->tok.line);
        *at = n;
        at = &n->u.iff.other;
        take(p);
        n->u.iff.cond = body(p);
        if (!expect(p, "then")) return first;
        n->u.iff.then = body(p);
    } while (at_word(p, "elif"));
    if (at_word(p, "else")) { take(p); *at = body(p); }
    expect(p, "fi");
    return first;
}

static node *parse_while(parser *p, int kind)
{
    node *n = new_node(p, kind, p->tok.line);
    take(p);
    n->u.pair.a = body(p);
    if (!expect(p, "do")) return n;
    n->u.pair.b = body(p);
    expect(p, "done");
    return n;
}

/* do list done, or { list } */
static node *loop_body(parser *p)
{
    if (at_word(p, "{")) {
        take(p);
        node *n = body(p);
        expect(p, "}");
        return n;
    }
    if (!expect(p, "do")) return NULL;
    node *n = body(p);
    expect(p, "done");
    return n;
}

/* Text between (( and )); pos behind the opening. NULL when it is not arithmetic (then nothing was consumed). */
static char *double_paren(parser *p)
{
    size_t from = p->pos;
    int depth = 0;
    for (size_t i = from; i < p->len; i++) {
        char c = p->src[i];
        if (c == '\\' && i + 1 < p->len) { i++; continue; }
        if (c == '\'' || c == '"') {
            size_t j = i + 1;
            while (j < p->len && p->src[j] != c) j++;
            if (j < p->len) i = j;
            continue;
        }
        if (c == '(') depth++;
        else if (c == ')' && depth-- == 0) {
            if (i + 1 >= p->len || p->src[i + 1] != ')') return NULL;
            for (size_t k = from; k < i; k++) if (p->src[k] == '\n') p->line++;
            p->pos = i + 2;
            p->have = false;
            return slice(p, from, i);
        }
    }
    eof_looking_for(p, ')', from);
    return NULL;
}

/* The three expressions of for ((a;b;c)). */
static bool split_cfor(parser *p, char *text, node *n)
{
    arith **to[3] = { &n->u.cfor.init, &n->u.cfor.test, &n->u.cfor.step };
    int k = 0, depth = 0;
    char *from = text;
    for (char *s = text;; s++) {
        if (*s == '(') depth++;
        if (*s == ')') depth--;
        if (*s && !(*s == ';' && depth == 0)) continue;
        if (k == 3) return false;
        char last = *s;
        char *piece = arena_strndup(p->a, from, (size_t)(s - from));
        *to[k++] = piece[strspn(piece, " \t\n")] ? make_arith(p, piece) : NULL;
        from = s + 1;
        if (!last) break;
    }
    return k == 3;
}

static node *parse_for(parser *p, int kind)
{
    node *n = new_node(p, kind, p->tok.line);
    take(p);
    skip_blanks(p);
    if (kind == N_FOR && p->pos + 1 < p->len && p->src[p->pos] == '(' && p->src[p->pos + 1] == '(') {
        size_t at = p->pos;
        p->pos += 2;
        char *text = double_paren(p);
        n->kind = N_CFOR;
        if (!text || !split_cfor(p, text, n)) {
            int parts = 0;
            for (const char *c = text; c && *c; c++) parts += *c == ';';
            syntax_fail(p, at, p->pos, parts > 2 ? "syntax error: `;' unexpected" : "syntax error: arithmetic expression required");
            p->err->cited = true;
            if (text) { free(p->err->near_line); p->err->near_line = xstrndup(p->src + at, p->pos - at); }
            return n;
        }
        if (peek(p)->kind == T_SEMI) take(p);
        skip_newlines(p);
        n->u.cfor.body = loop_body(p);
        return n;
    }
    token *t = peek(p);
    if (t->kind != T_WORD) { unexpected_here(p, t); return n; }
    n->u.loop.var = arena_strdup(p->a, t->w->raw);
    if (is_name(n->u.loop.var)) n->u.loop.slot = slot_of(n->u.loop.var);
    take(p);
    if (peek(p)->kind == T_SEMI) { take(p); skip_newlines(p); n->u.loop.body = loop_body(p); return n; }
    skip_newlines(p);
    if (at_word(p, "in")) {
        take(p);
        n->u.loop.has_in = 1;
        size_t cap = 0;
        while (!p->failed && peek(p)->kind == T_WORD) {
            if ((size_t)n->u.loop.n == cap) {
                size_t grown = cap ? cap * 2 : 4;
                n->u.loop.words = arena_grow(p->a, n->u.loop.words, cap * sizeof(word *), grown * sizeof(word *));
                cap = grown;
            }
            n->u.loop.words[n->u.loop.n++] = p->tok.w;
            take(p);
        }
        if (p->failed) return n;
        if (peek(p)->kind == T_SEMI) take(p);
        else if (p->tok.kind != T_NEWLINE) { unexpected(p, &p->tok); return n; }
        skip_newlines(p);
    }
    n->u.loop.body = loop_body(p);
    return n;
}

static node *parse_case(parser *p)
{
    node *n = new_node(p, N_CASE, p->tok.line);
    take(p);
    token *t = peek(p);
    if (t->kind != T_WORD) { unexpected_here(p, t); return n; }
    n->u.kase.subject = t->w;
    take(p);
    skip_newlines(p);
    if (!expect(p, "in")) return n;
    case_item **tail = &n->u.kase.items;
    for (;;) {
        skip_newlines(p);
        if (p->failed || at_word(p, "esac")) break;
        case_item *item = arena_alloc(p->a, sizeof *item);
        if (peek(p)->kind == T_LPAREN) take(p);
        size_t cap = 0;
        for (;;) {
            t = peek(p);
            if (t->kind != T_WORD) { if (item->npats) unexpected_here(p, t); else unexpected(p, t); return n; }
            if ((size_t)item->npats == cap) {
                size_t grown = cap ? cap * 2 : 2;
                item->pats = arena_grow(p->a, item->pats, cap * sizeof(word *), grown * sizeof(word *));
                cap = grown;
            }
            item->pats[item->npats++] = t->w;
            take(p);
            if (peek(p)->kind != T_PIPE) break;
            take(p);
        }
        if (p->failed) return n;
        if (peek(p)->kind != T_RPAREN) { unexpected_here(p, peek(p)); return n; }
        take(p);
        item->body = parse_list(p, false);
        if (p->failed) return n;
        int k = peek(p)->kind;
        item->end = k == T_SEMI_AND ? '&' : k == T_DSEMI_AND ? 'c' : ';';
        *tail = item;
        tail = &item->next;
        if (k == T_DSEMI || k == T_SEMI_AND || k == T_DSEMI_AND) take(p);
        else { skip_newlines(p); break; }
    }
    expect(p, "esac");
    return n;
}

node *parse_function(parser *p, word *name, int line)
{
    node *n = new_node(p, N_FUNC, line);
    if (peek(p)->kind == T_LPAREN) {
        take(p);
        if (peek(p)->kind != T_RPAREN) { unexpected_here(p, peek(p)); return n; }
        take(p);
    }
    skip_newlines(p);
    n->u.func.name = arena_strdup(p->a, name->raw);
    n->u.func.prog = p->prog;
    token *t = peek(p);
    n->u.func.body = parse_compound(p);
    if (!n->u.func.body) { unexpected(p, t); return n; }
    if (!p->failed) parse_redirs(p, n->u.func.body);
    n->end_line = p->line;
    return n;
}

static node *parse_paren(parser *p)
{
    int line = p->tok.line;
    if (p->pos < p->len && p->src[p->pos] == '(') {
        size_t at = p->pos;
        p->pos++;
        char *text = double_paren(p);
        if (text) {
            node *n = new_node(p, N_ARITH, p->line);   /* reported where it ends */
            n->u.arith = make_arith(p, text);
            return n;
        }
        p->pos = at;
    }
    take(p);
    node *n = new_node(p, N_SUBSHELL, line);
    n->u.pair.a = body(p);
    if (p->failed) return n;
    if (peek(p)->kind != T_RPAREN) { unexpected(p, peek(p)); return n; }
    n->end_line = p->tok.line;
    take(p);
    return n;
}

static node *parse_group(parser *p)
{
    node *n = new_node(p, N_GROUP, p->tok.line);
    take(p);
    n->u.pair.a = body(p);
    expect(p, "}");
    return n;
}

static node *parse_coproc(parser *p)
{
    node *n = new_node(p, N_COPROC, p->tok.line);
    take(p);
    n->u.coproc.name = "COPROC";
    token *t = peek(p);
    if (t->kind == T_WORD && is_name(t->w->raw)) {
        word *w = t->w;
        size_t at = p->pos;
        while (at < p->len && (p->src[at] == ' ' || p->src[at] == '\t')) at++;
        if (at < p->len && (p->src[at] == '{' || p->src[at] == '(')) { n->u.coproc.name = arena_strdup(p->a, w->raw); take(p); }
    }
    if (peek(p)->kind == T_EOF) unexpected_here(p, peek(p)); else n->u.coproc.body = parse_command(p);
    return n;
}

node *parse_compound(parser *p)
{
    token *t = peek(p);
    if (t->kind == T_LPAREN) return parse_paren(p);
    if (t->kind != T_WORD || !(t->w->parts && t->w->parts->kind == P_LIT && !t->w->parts->quoted && !t->w->parts->next))
        return NULL;
    const char *s = t->w->parts->u.lit.text;
    if (!strcmp(s, "if")) return parse_if(p);
    if (!strcmp(s, "while")) return parse_while(p, N_WHILE);
    if (!strcmp(s, "until")) return parse_while(p, N_UNTIL);
    if (!strcmp(s, "for")) return parse_for(p, N_FOR);
    if (!strcmp(s, "select")) return parse_for(p, N_SELECT);
    if (!strcmp(s, "case")) return parse_case(p);
    if (!strcmp(s, "{")) return parse_group(p);
    if (!strcmp(s, "[[")) return parse_cond_command(p);
    if (!strcmp(s, "coproc")) return parse_coproc(p);
    if (!strcmp(s, "function")) {
        int line = t->line;
        take(p);
        t = peek(p);
        if (t->kind != T_WORD) { unexpected_here(p, t); return NULL; }
        word *name = t->w;
        take(p);
        node *n = parse_function(p, name, line);
        n->u.func.keyword = 1;
        return n;
    }
    static const char *const misplaced[] = { "then", "else", "elif", "fi", "do", "done", "esac", "}", "in", "]]", "!" };
    for (size_t i = 0; i < sizeof misplaced / sizeof *misplaced; i++)
        if (!strcmp(s, misplaced[i])) {
            unexpected(p, t);
            return NULL;
        }
    return NULL;
}
