/* parser.c - the grammar: lists, pipelines, simple commands, assignments, redirections. Compound commands are in
 * parse_compound.c. */
#include "parse.h"
#include "parse_compound.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

node *new_node(parser *p, int kind, int line)
{
    node *n = arena_alloc(p->a, sizeof *n);
    n->kind = (uint8_t)kind;
    n->line = line;
    return n;
}

bool word_is(word *w, const char *text)
{
    return w && w->parts && !w->parts->next && w->parts->kind == P_LIT && !w->parts->quoted &&
           !strcmp(w->parts->u.lit.text, text);
}

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
        if (t->kind != T_WORD) { unexpected(p, t); return NULL; }
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

static bool is_redir(int kind) { return kind == T_IONUM || kind == T_IOVAR || (kind >= T_LESS && kind <= T_AND_DGREAT); }

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

assign *parse_assign(parser *p, size_t start)
{
    size_t i = start, n = name_len(p->src + start), sub = 0, sub_end = 0;
    if (!n) return NULL;
    i += n;
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
    a->name = slice(p, start, start + n);
    a->slot = slot_of(a->name);
    a->append = (uint8_t)append;
    if (sub) {
        a->has_sub = 1;
        make_subscript(p, slice(p, sub, sub_end), &a->index, &a->key);
    }
    p->pos = i;
    p->have = false;
    if (p->src[i] == '(') {
        p->pos++;
        a->is_array = 1;
        a->elems = parse_elements(p);
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

/* ---- aliases ---- */

/* Replaces the word just read by the text of its alias. True: read again. */
static bool expand_alias(parser *p, word *w)
{
    if (!sh.shopt[S_EXPAND_ALIASES] || !(w->flags & W_PLAIN)) return false;
    const char *name = w->parts->u.lit.text, *text = alias_find(name);
    if (!text) return false;
    while (p->aliases && p->len - p->tok.start <= p->aliases->tail) p->aliases = p->aliases->next;
    for (alias_use *u = p->aliases; u; u = u->next) if (!strcmp(u->name, name)) return false;
    alias_use *u = arena_alloc(p->a, sizeof *u);
    *u = (alias_use){ .next = p->aliases, .name = name, .tail = p->len - p->tok.end };
    p->aliases = u;
    size_t tn = strlen(text), rest = p->len - p->tok.end, head = p->tok.start;
    char *src = xmalloc(head + tn + rest + 2);
    memcpy(src, p->src, head);
    memcpy(src + head, text, tn);
    memcpy(src + head + tn, p->src + p->tok.end, rest + 1);
    free(p->spliced);
    p->src = p->spliced = src;
    p->len = head + tn + rest;
    p->pos = head;
    p->line = p->tok.line;
    p->have = false;
    p->alias_end = head + tn;
    p->alias_next = tn > 0 && (text[tn - 1] == ' ' || text[tn - 1] == '\t');
    return true;
}

/* ---- simple commands ---- */

static bool declares(word *w)
{
    static const char *const names[] = { "declare", "typeset", "local", "export", "readonly" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) if (word_is(w, names[i])) return true;
    return false;
}

static node *parse_simple(parser *p)
{
    node *n = new_node(p, N_SIMPLE, peek(p)->line);
    assign **atail = &n->u.simple.assigns;
    redir **rtail = &n->redirs;
    size_t cap = 0;
    bool declaring = false;
    word **words = NULL;
    int nw = 0;
    while (!p->failed) {
        token *t = peek(p);
        if (is_redir(t->kind)) {
            if (!(*rtail = parse_redir(p))) return n;
            rtail = &(*rtail)->next;
            continue;
        }
        if (t->kind == T_LPAREN && nw == 1 && !n->redirs && !n->u.simple.assigns) return parse_function(p, words[0], n->line);
        if (t->kind != T_WORD) break;
        if ((nw == 0 || declaring) && name_len(p->src + t->start)) {
            int line = p->line;
            p->line = t->line;
            assign *a = parse_assign(p, t->start);
            if (p->failed) return n;
            if (!a) p->line = line;
            else if (nw == 0) { *atail = a; atail = &a->next; continue; }
            else {
                word *w = arena_alloc(p->a, sizeof *w);
                *w = (word){ .as = a, .raw = a->raw, .line = line };
                t->w = w;
            }
        }
        if ((nw == 0 || (p->alias_next && p->tok.start >= p->alias_end)) && !p->tok.w->as) {
            if (nw > 0) p->alias_next = false;
            if (expand_alias(p, p->tok.w)) {
                if (nw == 0 && !n->redirs && !n->u.simple.assigns) return parse_command(p);
                continue;
            }
        }
        if ((size_t)nw + 1 >= cap) {
            size_t grown = cap ? cap * 2 : 4;
            words = arena_grow(p->a, words, cap * sizeof *words, grown * sizeof *words);
            cap = grown;
        }
        word *w = p->tok.w;
        words[nw++] = w;
        if (nw == 1 || (!declaring && nw == 2 && (word_is(words[0], "builtin") || word_is(words[0], "command"))))
            declaring = declares(w);
        if (w->as) p->have = false; else take(p);
    }
    n->u.simple.words = words;
    n->u.simple.n = nw;
    if (!p->failed && nw == 0 && !n->redirs && !n->u.simple.assigns) unexpected(p, peek(p));
    return n;
}

node *parse_command(parser *p)
{
    if (!enter(p)) { p->depth--; return NULL; }
    node *n = parse_compound(p);
    if (!n && !p->failed) n = parse_simple(p);
    if (n && n->kind != N_SIMPLE && n->kind != N_FUNC && !p->failed) parse_redirs(p, n);
    p->depth--;
    return n;
}

/* ---- pipelines and lists ---- */

static void merge_stderr(parser *p, node *n)
{
    redir *r = arena_alloc(p->a, sizeof *r), **tail = &n->redirs;
    *r = (redir){ .kind = R_DUP_OUT, .fd = 2, .target = sub_word(p, "1", M_WORD), .line = n->line };
    while (*tail) tail = &(*tail)->next;
    *tail = r;
}

static node *parse_pipeline(parser *p)
{
    token *t = peek(p);
    int line = t->line;
    if (t->kind == T_WORD && word_is(t->w, "!")) {
        take(p);
        node *n = new_node(p, N_NOT, line);
        int k = peek(p)->kind;
        if (k == T_SEMI || k == T_NEWLINE || k == T_EOF || k == T_AMP || k == T_RPAREN) return n;   /* "!" alone */
        if (!enter(p)) { p->depth--; return n; }
        n->u.pair.a = parse_pipeline(p);
        p->depth--;
        return n;
    }
    if (t->kind == T_WORD && word_is(t->w, "time")) {
        take(p);
        node *n = new_node(p, N_TIME, line);
        if (peek(p)->kind == T_WORD && word_is(p->tok.w, "-p")) { n->posix_time = 1; take(p); }
        int k = peek(p)->kind;
        if (k == T_SEMI || k == T_NEWLINE || k == T_EOF || k == T_AMP || k == T_RPAREN) return n;
        if (!enter(p)) { p->depth--; return n; }
        n->u.pair.a = parse_pipeline(p);
        p->depth--;
        return n;
    }
    node *first = parse_command(p);
    if (p->failed || (peek(p)->kind != T_PIPE && peek(p)->kind != T_PIPE_AMP)) return first;
    node *n = new_node(p, N_PIPE, line);
    size_t cap = 4;
    n->u.list.items = arena_alloc(p->a, cap * sizeof(node *));
    n->u.list.items[n->u.list.n++] = first;
    while (!p->failed && (peek(p)->kind == T_PIPE || p->tok.kind == T_PIPE_AMP)) {
        if (p->tok.kind == T_PIPE_AMP) merge_stderr(p, n->u.list.items[n->u.list.n - 1]);
        take(p);
        skip_newlines(p);
        if ((size_t)n->u.list.n == cap) {
            n->u.list.items = arena_grow(p->a, n->u.list.items, cap * sizeof(node *), cap * 2 * sizeof(node *));
            cap *= 2;
        }
        node *next = parse_command(p);
        if (!next || p->failed) return n;
        n->u.list.items[n->u.list.n++] = next;
    }
    return n;
}

static node *parse_and_or(parser *p)
{
    node *left = parse_pipeline(p);
    while (!p->failed && (peek(p)->kind == T_AND || p->tok.kind == T_OR)) {
        node *n = new_node(p, p->tok.kind == T_AND ? N_AND : N_OR, left ? left->line : p->tok.line);
        take(p);
        skip_newlines(p);
        n->u.pair.a = left;
        n->u.pair.b = parse_pipeline(p);
        left = n;
    }
    return left;
}

/* Words that end a compound list when they stand where a command could. */
static bool ends_list(parser *p)
{
    static const char *const words[] = { "then", "else", "elif", "fi", "do", "done", "esac", "}" };
    token *t = peek(p);
    if (t->kind == T_EOF || t->kind == T_RPAREN || t->kind == T_DSEMI || t->kind == T_SEMI_AND || t->kind == T_DSEMI_AND)
        return true;
    if (t->kind != T_WORD) return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) if (word_is(t->w, words[i])) return true;
    return false;
}

node *parse_list(parser *p, bool to_line_end)
{
    node *n = NULL;
    size_t cap = 0;
    if (!enter(p)) { p->depth--; return NULL; }
    if (!to_line_end) skip_newlines(p);
    while (!p->failed && !ends_list(p)) {
        node *item = parse_and_or(p);
        if (p->failed || !item) break;
        if (!n) n = new_node(p, N_LIST, item->line);
        if ((size_t)n->u.list.n == cap) {
            size_t grown = cap ? cap * 2 : 1;
            n->u.list.items = arena_grow(p->a, n->u.list.items, cap * sizeof(node *), grown * sizeof(node *));
            cap = grown;
        }
        n->u.list.items[n->u.list.n++] = item;
        int kind = peek(p)->kind;
        if (kind == T_AMP) {
            if (item->background) {
                node *w = new_node(p, N_GROUP, item->line);
                w->u.pair.a = item;
                n->u.list.items[n->u.list.n - 1] = item = w;
            }
            item->background = 1;
        }
        if (kind == T_SEMI || kind == T_AMP) {
            take(p);
            kind = peek(p)->kind;
            if (kind == T_NEWLINE && to_line_end) break;
            if (kind == T_NEWLINE) skip_newlines(p);
            continue;
        }
        if (kind != T_NEWLINE || to_line_end) break;
        skip_newlines(p);
    }
    p->depth--;
    if (n && n->u.list.n == 1 && !n->u.list.items[0]->background) return n->u.list.items[0];
    return n;
}

node *parse_subst(parser *p)
{
    token saved = p->tok;        /* we may be inside peek, in the middle of a word */
    bool have = p->have;
    size_t open = p->pos - 1;
    int cond_depth = p->cond_depth, arrays = p->arrays;
    p->cond_depth = p->arrays = 0;
    p->have = false;
    p->substs++;
    node *body = parse_list(p, false);
    p->substs--;
    if (!p->failed) {
        token *t = peek(p);
        if (t->kind == T_RPAREN) p->have = false;
        else if (t->kind == T_EOF) eof_looking_for(p, ')', open);
        else unexpected(p, t);
    }
    p->have = have;
    p->tok = saved;
    p->cond_depth = cond_depth;
    p->arrays = arrays;
    return body;
}

node *parse_subst_text(arena *a, const char *text, size_t *used)
{
    syntax_error err = { 0 };
    parser p = { .src = text, .len = strlen(text), .line = sh.line, .a = a, .err = &err, .origin = text };
    node *body = parse_subst(&p);
    free(err.near_line);
    *used = p.failed ? 0 : p.pos;
    return body;
}

/* ---- the outside ---- */

parser *parser_new(const char *src, size_t len, int first_line)
{
    parser *p = xmalloc(sizeof *p);
    *p = (parser){ .src = src, .len = len, .line = first_line, .origin = src, .origin_len = len };
    return p;
}

/* How much of the text was read; after an alias was put in, all of it. */
size_t parser_offset(parser *p) { return p->spliced || p->pos > p->origin_len ? p->origin_len : p->pos; }

bool parser_resume(parser *p)
{
    while (p->pos < p->len && p->src[p->pos] != '\n') p->pos++;
    p->failed = p->have = false;
    p->npending = p->substs = p->cond_depth = p->arrays = 0;
    return p->pos < p->len;
}

void parser_free(parser *p)
{
    free(p->spliced);
    free(p);
}

program *parse_next(parser *p, syntax_error *err)
{
    program *prog = xmalloc(sizeof *prog);
    *prog = (program){ .refs = 1 };
    p->a = &prog->mem;
    p->prog = prog;
    p->err = err;
    p->depth = 0;
    p->aliases = NULL;
    p->have = false;   /* a token read ahead lives in the previous program's arena; it can only be a newline or the end */
    err->message[0] = 0;
    skip_newlines(p);
    if (!p->failed && p->tok.kind != T_EOF) {
        prog->root = parse_list(p, true);
        if (!p->failed) {
            token *t = peek(p);
            if (t->kind == T_NEWLINE) take(p);
            else if (t->kind != T_EOF) unexpected(p, t);
        }
        if (!p->failed && p->npending) read_pending(p);
    }
    if (!p->failed && prog->root) return prog;
    program_unref(prog);
    return NULL;
}
