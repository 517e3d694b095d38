/* parser.c - the grammar: lists, pipelines, simple commands. Redirections and assignments are in parse_words.c, compound
 * commands in parse_compound.c. */
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

/* The token where a command begins. An alias goes before a reserved word of its name. */
static token *command_token(parser *p)
{
    token *t = peek(p);
    while (t->kind == T_WORD && expand_alias(p, t->w)) t = peek(p);
    return t;
}

/* ---- simple commands ---- */

static bool declares(word *w)
{
    static const char *const names[] = { "declare", "typeset", "local", "export", "readonly" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) if (word_is(w, names[i])) return true;
    return false;
}

/* eval a=(1 2), let x=(1+2)*3: one word, which the builtin gets as text. */
static void parse_listed_word(parser *p, word *command)
{
    token t = p->tok;
    if (!word_is(command, "eval") && !word_is(command, "let")) return;
    if (p->src[t.end] != '(' || p->src[t.end - 1] != '=' || !parse_assign(p, t.start) || p->failed) return;
    t.w = sub_word(p, slice(p, t.start, p->pos), M_BRACE);
    t.end = p->pos;
    p->tok = t;
    p->have = true;
}

static node *parse_simple(parser *p)
{
    node *n = new_node(p, N_SIMPLE, peek(p)->line);
    assign **atail = &n->u.simple.assigns;
    redir **rtail = &n->redirs;
    size_t cap = 0;
    bool declaring = false;
    word **words = NULL;
    int nw = 0, seen = 0;
    while (!p->failed) {
        token *t = peek(p);
        if (seen++ == 1) n->line = p->line;   /* a command is on the line where its second word ends */
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
        if (nw > 0 && !declaring) parse_listed_word(p, words[0]);
        if (p->failed) return n;
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
        if (nw == 1) declaring = declares(w);
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
    command_token(p);
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
    token *t = command_token(p);
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
        if (peek(p)->kind == T_WORD && word_is(p->tok.w, "--")) { n->posix_time = 1; take(p); }
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
    token *t = command_token(p);
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
    token *t = p->failed ? NULL : peek(p);
    if (t && t->kind != T_RPAREN && t->kind != T_EOF) unexpected(p, t);
    p->substs--;
    if (t && t->kind == T_RPAREN) p->have = false;
    if (t && t->kind == T_EOF) {
        eof_looking_for(p, ')', open);
        p->err->quoted_eof = p->src[open + 1] == '(';
        p->err->eof_line = p->err->end_line + (p->len > 0 && p->src[p->len - 1] != '\n');
    }
    if (body && !p->failed && !sh.validate_only) number_printed(body);
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

size_t parser_left(parser *p) { return p->pos < p->len ? p->len - p->pos : 0; }

void parser_skip(parser *p, size_t n)
{
    p->pos += n;
    p->have = false;
}

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
