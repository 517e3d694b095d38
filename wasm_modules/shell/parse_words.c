/* parse_words.c - what stands around the words of a command: redirections and assignments. */
#include "parse.h"
#include "parse_compound.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- redirections ---- */

/* The delimiter of a here-document without its quotes; sets *quoted. */
static char *delimiter(parser *p, word *w, uint8_t *quoted)
{
    strbuf b = { .a = p->a };
    for (part *x = w->parts; x; x = x->next) {
        if (x->quoted) *quoted = 1;
        if (x->kind == P_LIT) sb_add(&b, x->u.lit.text, x->u.lit.len);
        else { b.len = 0; sb_puts(&b, w->raw); break; }   /* <<$x: the delimiter is the text itself */
    }
    return sb_str(&b);
}

redir *parse_redir(parser *p)
{
    static const struct { int tok, kind;
    } map[] = { { T_LESS, R_IN },           { T_GREAT, R_OUT },          { T_DGREAT, R_APPEND },
                { T_CLOBBER, R_CLOBBER },   { T_LESS_GREAT, R_RDWR },    { T_LESS_AND, R_DUP_IN },
                { T_GREAT_AND, R_DUP_OUT }, { T_AND_GREAT, R_BOTH },     { T_AND_DGREAT, R_BOTH_APPEND },
                { T_DLESS, R_HEREDOC },     { T_DLESS_DASH, R_HEREDOC }, { T_TLESS, R_HERESTR } };
    token *t = peek(p);
    int fd = -1;
    char *name = NULL;
    if (t->kind == T_IONUM || t->kind == T_IOVAR) { fd = t->kind == T_IONUM ? t->fd : -1; name = t->name; take(p); t = peek(p); }
    for (size_t i = 0; i < sizeof map / sizeof *map; i++) {
        if (t->kind != map[i].tok) continue;
        redir *r = arena_alloc(p->a, sizeof *r);
        *r = (redir){ .kind = (uint8_t)map[i].kind, .fd = fd, .var = name, .strip = t->kind == T_DLESS_DASH, .line = t->line };
        take(p);
        t = peek(p);
        if (t->kind == T_EOF && !p->failed) syntax_fail(p, t->start, t->start, "syntax error near unexpected token `newline'");
        bool dup = r->kind == R_DUP_IN || r->kind == R_DUP_OUT;
        if (dup && t->kind == T_IONUM) t->w = sub_word(p, slice(p, t->start, t->end), M_WORD);   /* 2>&1>file */
        else if (t->kind != T_WORD) { unexpected(p, t); return NULL; }
        r->target = t->w;
        take(p);
        if (r->kind == R_HEREDOC) {
            r->delim = delimiter(p, r->target, &r->quoted);
            r->target = NULL;
            if (p->npending == 32) { syntax_fail(p, t->start, t->end, "maximum here-document count exceeded"); return NULL; }
            p->pending[p->npending++] = r;
        }
        return r;
    }
    return NULL;
}

bool is_redir(int kind) { return kind == T_IONUM || kind == T_IOVAR || (kind >= T_LESS && kind <= T_AND_DGREAT); }

void parse_redirs(parser *p, node *n)
{
    redir **tail = &n->redirs;
    while (*tail) tail = &(*tail)->next;
    while (!p->failed && is_redir(peek(p)->kind)) {
        if (!(*tail = parse_redir(p))) return;
        tail = &(*tail)->next;
    }
}

/* ---- assignments ---- */

/* The elements between the parentheses of name=( ... ); pos behind the opening one. */
static assign *parse_elements(parser *p)
{
    assign *head = NULL, **tail = &head;
    size_t open = p->pos;
    p->arrays++;
    for (;;) {
        skip_newlines(p);
        token *t = &p->tok;
        if (p->failed) return NULL;
        if (t->kind == T_EOF) { eof_looking_for(p, ')', open); return NULL; }
        if (t->kind == T_RPAREN) { p->have = false; p->arrays--; return head; }
        if (t->kind != T_WORD) { unexpected(p, t); return NULL; }
        assign *e = arena_alloc(p->a, sizeof *e);
        size_t end = p->src[t->start] == '[' ? subscript_end(p, t->start + 1) : 0;
        if (p->src[t->start] == '[' && !end) { eof_looking_for(p, ']', t->start); return NULL; }
        if (end && (p->src[end + 1] == '=' || (p->src[end + 1] == '+' && p->src[end + 2] == '='))) {
            e->has_sub = 1;
            e->append = p->src[end + 1] == '+';
            make_subscript(p, slice(p, t->start + 1, end), &e->index, &e->key);
            e->raw = slice(p, t->start, end + 1);
            p->line = t->line;
            p->pos = end + 2 + e->append;
            e->value = lex_word(p, M_WORD);
            p->have = false;
        } else {
            e->value = t->w;
            take(p);
        }
        *tail = e;
        tail = &e->next;
    }
}

/* The end of a name that goes on behind newlines after a backslash; 0 when there are none of these in it. */
static size_t joined_name_end(parser *p, size_t at)
{
    int joins = 0;
    for (;;) {
        if (p->src[at] == '\\' && p->src[at + 1] == '\n') { joins++; at += 2; }
        else if (p->src[at] == '_' || isalnum((unsigned char)p->src[at])) at++;
        else return joins ? at : 0;
    }
}

/* The name from start to end, without what joins its lines. */
static char *joined_name(parser *p, size_t start, size_t end)
{
    strbuf b = { .a = p->a };
    for (; start < end; start++) if (p->src[start] == '\\') start++; else sb_putc(&b, p->src[start]);
    return sb_str(&b);
}

assign *parse_assign(parser *p, size_t start)
{
    size_t i = start, n = name_len(p->src + start), sub = 0, sub_end = 0, joined;
    if (!n) return NULL;
    i += n;
    joined = p->src[i] == '\\' ? joined_name_end(p, i) : 0;
    if (joined) i = joined;
    if (p->src[i] == '[') {
        sub = i + 1;
        sub_end = subscript_end(p, sub);
        if (!sub_end) return NULL;
        i = sub_end + 1;
    }
    int append = p->src[i] == '+';
    if (p->src[i + (size_t)append] != '=') return NULL;
    i += (size_t)append + 1;
    assign *a = arena_alloc(p->a, sizeof *a);
    a->name = joined ? joined_name(p, start, joined) : slice(p, start, start + n);
    if (joined) for (size_t k = start; k < joined; k++) p->line += p->src[k] == '\n';
    a->slot = slot_of(a->name);
    a->append = (uint8_t)append;
    if (sub) {
        a->has_sub = 1;
        for (size_t k = sub; k < sub_end; k++) if (p->src[k] == '\n') p->line++;
        make_subscript(p, slice(p, sub, sub_end), &a->index, &a->key);
    }
    p->pos = i;
    p->have = false;
    if (p->src[i] == '(') {
        p->pos++;
        a->is_array = 1;
        a->elems = parse_elements(p);
        size_t end = p->pos;
        if (!p->failed) lex_word(p, M_WORD);
        if (p->pos > end) {   /* a=(1 2)x: a text with parentheses in it */
            a->is_array = 0;
            a->value = sub_word(p, slice(p, i, p->pos), M_BRACE);
        }
    } else {
        a->value = lex_word(p, M_WORD);
    }
    a->raw = slice(p, start, p->pos);
    return a;
}

assign *parse_array_text(arena *a, const char *text)
{
    syntax_error err = { 0 };
    size_t n = strlen(text);
    if (n < 2 || text[0] != '(' || text[n - 1] != ')') return NULL;
    parser p = { .src = text, .len = n, .pos = 1, .line = sh.line, .a = a, .err = &err, .origin = text };
    assign *result = arena_alloc(a, sizeof *result);
    result->is_array = 1;
    result->elems = parse_elements(&p);
    free(err.near_line);
    return p.failed || p.pos != n ? NULL : result;
}
