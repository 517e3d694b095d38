/* lex_word.c - words: literal text, the quotes, and everything that may stand inside a word. */
#include "parse.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

part *add_part(parser *p, part ***tail, int kind, int quoted)
{
    part *x = arena_alloc(p->a, sizeof *x);
    x->kind = (uint8_t)kind;
    x->quoted = (uint8_t)quoted;
    **tail = x;
    *tail = &x->next;
    return x;
}

static void add_text(parser *p, part ***tail, const char *s, size_t n, int quoted)
{
    part *x = add_part(p, tail, P_LIT, quoted);
    x->u.lit.text = arena_strndup(p->a, s, n);
    x->u.lit.len = n;
}

static void flush(parser *p, part ***tail, strbuf *b, int quoted)
{
    if (b->len) add_text(p, tail, b->s, b->len, quoted);
    b->len = 0;
}

static void count_lines(parser *p, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) if (p->src[i] == '\n') p->line++;
}

/* '...' ; pos at the quote. */
static void single_quote(parser *p, part ***tail)
{
    size_t from = p->pos + 1, end = from;
    while (end < p->len && p->src[end] != '\'') end++;
    if (end >= p->len) { eof_looking_for(p, '\'', p->pos); return; }
    count_lines(p, from, end);
    add_text(p, tail, p->src + from, end - from, 1);
    p->pos = end + 1;
}

/* $'...' ; pos at the $. */
static void ansi_quote(parser *p, part ***tail)
{
    size_t from = p->pos + 2, end = from;
    while (end < p->len && p->src[end] != '\'') end += p->src[end] == '\\' && end + 1 < p->len ? 2 : 1;
    if (end >= p->len) { eof_looking_for(p, '\'', p->pos); return; }
    count_lines(p, from, end);
    char *text = decode_ansi(p->a, p->src + from, end - from);
    add_text(p, tail, text, strlen(text), 1);
    p->pos = end + 1;
}

static void double_quote(parser *p, part ***tail)
{
    size_t from = p->pos++;
    part **before = *tail;
    *before = lex_parts(p, M_DQUOTE, "\"");
    if (p->failed) return;
    if (p->pos >= p->len) { eof_looking_for(p, '"', from); return; }
    p->pos++;
    if (!*before) { add_text(p, tail, "", 0, 1); return; }
    while (**tail) *tail = &(**tail)->next;
}

/* A backslash and what follows it; pos at the backslash. */
static void backslash(parser *p, int mode, part ***tail, strbuf *b)
{
    if (p->pos + 1 >= p->len) { sb_putc(b, '\\'); p->pos++; return; }
    char c = p->src[p->pos + 1];
    if (c == '\n') { p->pos += 2; p->line++; return; }
    if (!quoting(mode)) {
        flush(p, tail, b, 0);
        uint32_t cp;
        size_t n = utf8_next(p->src + p->pos + 1, &cp);
        add_text(p, tail, p->src + p->pos + 1, n ? n : 1, 1);
        p->pos += 1 + (n ? n : 1);
        return;
    }
    bool special = c == '$' || c == '`' || c == '\\' || (c == '"' && mode != M_HEREDOC) || (c == '}' && operand_mode(mode));
    if (!special) sb_putc(b, '\\');
    sb_putc(b, c);
    p->pos += 2;
}

/* <(...) or >(...) ; pos at the < or >. */
static void process_subst(parser *p, part ***tail)
{
    int kind = p->src[p->pos] == '<' ? P_PROC_IN : P_PROC_OUT;
    p->pos += 2;
    part *x = add_part(p, tail, kind, 0);
    x->u.cmd = parse_subst(p);
}

/* $ and an escaped newline, which is nothing: what begins with $ stands on the next line. Leaves pos so that it seems to be right
 * behind the $; returns its first character, or the backslash when it is no newline that is escaped. */
static char join_dollar(parser *p)
{
    size_t at = p->pos + 1;
    int lines = 0;
    for (; p->src[at] == '\\' && p->src[at + 1] == '\n'; at += 2) lines++;
    char c = p->src[at];
    if (!lines || !c || !(strchr("({[@*#?-$!_", c) || isalnum((unsigned char)c))) return '\\';
    p->pos = at - 1;
    p->line += lines;
    return c;
}

static bool meta(char c) { return c && strchr(" \t\n;&|<>()", c); }

static arena scratch;            /* literal text under construction: not sh.tmp, which may be where the parts themselves go */

/* What makes no sense is reported with all that stands around it, up to its quotes. */
static void name_bad_parts(parser *p, part *x, int quoted, size_t from)
{
    for (; x; x = x->next) {
        if (x->quoted != quoted) continue;
        if (x->kind == P_PARAM && x->u.param->op == OP_TRANSFORM) x->u.param->text = slice(p, from, p->pos);
        if (x->kind != P_BAD || x->backquote) continue;
        x->u.lit.text = slice(p, from, p->pos);
        x->u.lit.len = p->pos - from;
    }
}

/* Reads parts until a character of `stops` (or, for words, a metacharacter) that is not quoted; does not consume it. */
part *lex_parts(parser *p, int mode, const char *stops)
{
    part *head = NULL, **tail = &head;
    strbuf b = { .a = &scratch };
    arena_mark_t m = arena_mark(&scratch);
    size_t from = p->pos;
    int quoted = quoting(mode), parens = 0;
    bool apart = false;          /* "${x-'}'}": between single quotes, which stay, a brace closes nothing */
    if (!enter(p)) { p->depth--; return NULL; }
    while (p->pos < p->len && !p->failed) {
        char c = p->src[p->pos], next = p->pos + 1 < p->len ? p->src[p->pos + 1] : 0;
        if (mode == M_WORD && meta(c) && !parens) {
            if ((c == '<' || c == '>') && next == '(') {
                flush(p, &tail, &b, 0);
                process_subst(p, &tail);
                continue;
            }
            break;
        }
        if (mode == M_REGEX && !parens && (c == ' ' || c == '\t' || c == '\n')) break;
        if (stops && c && strchr(stops, c) && !parens && !apart) break;
        if (c == '\'' && mode == M_BRACE_DQ) {
            apart = !apart;
            if (apart && !memchr(p->src + p->pos + 1, '\'', p->len - p->pos - 1)) { eof_looking_for(p, '\'', p->pos); break; }
        }
        if (mode == M_WORD && next == '(' && c && strchr("?*+@!", c) && (sh.shopt[S_EXTGLOB] || p->cond_depth)) {
            parens++;
            sb_add(&b, p->src + p->pos, 2);
            p->pos += 2;
            continue;
        }
        if (parens || mode == M_REGEX) { if (c == '(') parens++; else if (c == ')') { if (!parens) break; parens--; } }
        if (c == '\\') { backslash(p, mode, &tail, &b); continue; }
        if (c == '\'' && !quoted) { flush(p, &tail, &b, 0); single_quote(p, &tail); continue; }
        if (c == '"' && mode == M_ARITH) { p->pos++; continue; }
        if (c == '"' && mode != M_HEREDOC && mode != M_DQUOTE) { flush(p, &tail, &b, quoted); double_quote(p, &tail); continue; }
        if (c == '$' && next == '\'' && (!quoted || mode == M_BRACE_DQ)) {
            flush(p, &tail, &b, quoted);
            ansi_quote(p, &tail);
            continue;
        }
        if (c == '$' && next == '"' && (!quoted || operand_mode(mode))) {
            flush(p, &tail, &b, quoted);
            p->pos++;
            double_quote(p, &tail);
            continue;
        }
        if (c == '$' && next == '\\') next = join_dollar(p);
        if (c == '$' && next && (strchr("({[@*#?-$!_", next) || isalnum((unsigned char)next))) {
            flush(p, &tail, &b, quoted);
            lex_dollar(p, mode, &tail);
            continue;
        }
        if (c == '`') { flush(p, &tail, &b, quoted); lex_backquote(p, mode, &tail); continue; }
        if (c == '\n' && mode != M_HEREDOC) p->line++;
        sb_putc(&b, c);
        p->pos++;
    }
    flush(p, &tail, &b, quoted);
    arena_release(&scratch, m);
    name_bad_parts(p, head, quoted, from);
    p->depth--;
    return head;
}

/* The flags that say what the expander must look for. */
static void classify(word *w)
{
    bool only = w->parts && !w->parts->next && w->parts->kind == P_LIT && !w->parts->quoted;
    for (part *x = w->parts; x; x = x->next) {
        if (x->quoted) w->flags |= W_QUOTED;
        if (x->kind != P_LIT || x->quoted) continue;
        const char *s = x->u.lit.text;
        if (strpbrk(s, "*?[")) w->flags |= W_GLOB;
        for (const char *at = s; (at = strchr(at, '(')); at++)
            if (at > s && strchr("+@!", at[-1])) w->flags |= W_GLOB;
        if (strchr(s, '{')) w->flags |= W_BRACE;
        if (strchr(s, '~')) w->flags |= W_TILDE;
    }
    for (part *x = w->parts; x; x = x->next) {
        if (x->kind == P_LIT && !x->quoted && strchr(x->u.lit.text, '$')) w->flags |= W_DOLLAR;
        else if (x->kind != P_LIT) w->flags &= (uint8_t)~W_DOLLAR;
    }
    if (only && !(w->flags & (W_GLOB | W_BRACE | W_TILDE))) w->flags |= W_PLAIN;
}

word *make_word(parser *p, part *parts, size_t from)
{
    word *w = arena_alloc(p->a, sizeof *w);
    w->parts = parts;
    w->line = p->line;
    w->raw = from < p->pos ? slice(p, from, p->pos) : "";
    classify(w);
    return w;
}

word *lex_word(parser *p, int mode)
{
    size_t from = p->pos;
    int line = p->line;
    part *parts = lex_parts(p, mode, NULL);
    word *w = make_word(p, parts, from);
    w->line = line;
    return w;
}

/* A text that bash reads as it stands, and parses only when it expands it: what is wrong with it is told then. */
static void put_off_error(parser *q, word *w, const char *text)
{
    part *head = NULL, **tail = &head, *bad = add_part(q, &tail, P_BAD, 1);
    bad->u.lit.text = arena_strdup(q->a, text);
    bad->u.lit.len = strlen(text);
    w->parts = head;
    w->flags = 0;
    free(q->err->near_line);
}

word *sub_word(parser *p, const char *text, int mode)
{
    bool late = (mode == M_HEREDOC || mode == M_ARITH) && !p->failed && !sh.validate_only;
    syntax_error late_error = { 0 };
    parser q = { .src = text,
                 .len = strlen(text),
                 .line = p->line,
                 .a = p->a,
                 .depth = p->depth,
                 .err = late ? &late_error : p->err,
                 .origin = p->origin,
                 .origin_len = p->origin_len,
                 .prog = p->prog,
                 .failed = p->failed,
                 .cond_depth = p->cond_depth };
    word *w = make_word(&q, lex_parts(&q, mode, ""), 0);
    w->raw = arena_strdup(p->a, text);
    if (q.failed && late) put_off_error(&q, w, text);
    else if (q.failed) p->failed = true;
    return w;
}

arith *make_arith(parser *p, char *text)
{
    arith *a = arena_alloc(p->a, sizeof *a);
    a->text = text;
    a->mem = p->a == &sh.tmp ? NULL : p->a;
    if (strpbrk(text, "$`\"\\'")) a->w = sub_word(p, text, M_ARITH);
    return a;
}

word *parse_word_text(arena *a, const char *text, char mode)
{
    syntax_error err = { 0 };
    parser p = { .src = text, .len = strlen(text), .line = sh.line, .a = a, .err = &err, .origin = text };
    word *w = make_word(&p,
                        lex_parts(&p,
                                  mode == 'h'   ? M_HEREDOC
                                  : mode == 'a' ? M_ARITH
                                  : mode == 'b' ? M_BRACE
                                                : M_DQUOTE,
                                  ""),
                        0);
    if (!p.failed) return w;
    sh_error("%s", err.message);
    return NULL;
}
