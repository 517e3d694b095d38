/* lexer.c - characters to tokens: operators, comments, newlines with their here-documents, and the reporting of syntax errors. */
#include "parse.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Line and column (code points, from 1) of an offset in the current text. */
static void locate(parser *p, size_t at, int *line, int *column)
{
    size_t from = at;
    while (from > 0 && p->src[from - 1] != '\n') from--;
    *column = 1;
    for (size_t i = from; i < at && i < p->len; i++)
        if (((unsigned char)p->src[i] & 0xc0) != 0x80) ++*column;
    int l = p->line;
    if (at <= p->pos) { for (size_t i = at; i < p->pos && i < p->len; i++) if (p->src[i] == '\n') l--; }
    else for (size_t i = p->pos; i < at && i < p->len; i++) if (p->src[i] == '\n') l++;
    *line = l;
}

void syntax_fail(parser *p, size_t at, size_t end, const char *format, ...)
{
    if (p->failed) return;
    p->failed = true;
    p->err->in_cond = p->cond_depth > 0;
    p->err->in_array = p->arrays > 0;
    p->err->in_subst = p->substs > 0;
    va_list ap;
    va_start(ap, format);
    vsnprintf(p->err->message, sizeof p->err->message, format, ap);
    va_end(ap);
    locate(p, at, &p->err->line, &p->err->column);
    locate(p, end, &p->err->end_line, &p->err->end_column);
    size_t from = at, to = at;
    while (from > 0 && p->src[from - 1] != '\n') from--;
    while (to < p->len && p->src[to] != '\n') to++;
    free(p->err->near_line);
    p->err->near_line = xstrndup(p->src + from, to - from);
}

void unexpected(parser *p, token *t)
{
    if (t->kind == T_EOF) {
        if (p->failed) return;
        syntax_fail(p, p->len, p->len, "syntax error: unexpected end of file");
        p->err->at_eof = true;
        p->err->eof_line = p->err->end_line + (p->len > 0 && p->src[p->len - 1] != '\n');
        return;
    }
    if (t->kind == T_NEWLINE) { syntax_fail(p, t->start, t->start, "syntax error near unexpected token `newline'"); return; }
    syntax_fail(p, t->start, t->end, "syntax error near unexpected token `%.*s'",
                (int)(t->end - t->start > 200 ? 200 : t->end - t->start), p->src + t->start);
}

void unexpected_here(parser *p, token *t)
{
    if (t->kind != T_EOF || p->failed) unexpected(p, t);
    else syntax_fail(p, t->start, t->start, "syntax error near unexpected token `newline'");
}

void eof_looking_for(parser *p, char c, size_t from)
{
    if (p->failed) return;
    syntax_fail(p, from, p->len, "unexpected EOF while looking for matching `%c'", c);
    p->err->at_eof = true;
    p->err->quoted_eof = true;
}

bool enter(parser *p)
{
    if (++p->depth <= MAX_NESTING) return !p->failed;
    syntax_fail(p, p->pos, p->pos, "syntax error: commands nested too deeply");
    return false;
}

char *slice(parser *p, size_t from, size_t to) { return arena_strndup(p->a, p->src + from, to - from); }

void skip_blanks(parser *p)
{
    while (p->pos < p->len) {
        char c = p->src[p->pos];
        if (c == ' ' || c == '\t') p->pos++;
        else if (c == '\\' && p->pos + 1 < p->len && p->src[p->pos + 1] == '\n') { p->pos += 2; p->line++; }
        else if (c == '#') while (p->pos < p->len && p->src[p->pos] != '\n') p->pos++;
        else break;
    }
}

static void add_heredoc_line(strbuf *b, const char *s, size_t n, bool strip)
{
    if (strip) while (n > 0 && *s == '\t') { s++; n--; }
    sb_add(b, s, n);
}

/* Reads the body of one here-document; pos is at the start of a line. */
static void read_heredoc(parser *p, redir *r)
{
    strbuf b = { .a = p->a }, whole = { .a = p->a };   /* whole: the line so far, of lines that end in a backslash */
    size_t dn = strlen(r->delim);
    int first = p->line;
    for (;;) {
        if (p->pos >= p->len) {
            if (!sh.validate_only) {
                int line = sh.line;
                sh.line = p->line - (p->pos > 0 && p->src[p->pos - 1] == '\n');
                sh_error("warning: here-document at line %d delimited by end-of-file (wanted `%s')",
                         first > r->line ? first - 1 : first, r->delim);
                sh.line = line;
            }
            break;
        }
        size_t from = p->pos, end = from;
        while (end < p->len && p->src[end] != '\n') end++;
        const char *s = p->src + from;
        size_t n = end - from;
        if (r->strip) while (n > 0 && *s == '\t') { s++; n--; }
        bool joined = b.len > 0 && !r->quoted && b.len >= 2 && b.s[b.len - 1] == '\n' && b.s[b.len - 2] == '\\'
                      && !(b.len >= 3 && b.s[b.len - 3] == '\\');
        p->pos = end < p->len ? end + 1 : end;
        if (end < p->len) p->line++;
        if (!joined) whole.len = 0;
        bool inside = whole.len > 0;             /* tabs there are text */
        sb_add(&whole, inside ? p->src + from : s, inside ? end - from : n);
        if (whole.len == dn && !memcmp(sb_str(&whole), r->delim, dn)) {
            while (joined && b.len > 0 && (b.s[b.len - 1] != '\n' || (b.len > 1 && b.s[b.len - 2] == '\\'))) b.len--;
            break;
        }
        if (n > 0 && !r->quoted && s[n - 1] == '\\') whole.len--;
        /* Inside $(...), the delimiter may stand right before the closing parenthesis. */
        if (p->substs && !joined && n > dn && !memcmp(s, r->delim, dn) && s[dn] == ')') {
            p->pos = (size_t)(s - p->src) + dn;
            if (end < p->len) p->line--;
            break;
        }
        add_heredoc_line(&b, p->src + from, end - from, r->strip && !inside);
        sb_putc(&b, '\n');
    }
    char *text = sb_str(&b);
    if (r->quoted) {
        part **tail, *head = NULL;
        tail = &head;
        part *lit = add_part(p, &tail, P_LIT, 1);
        lit->u.lit.text = text;
        lit->u.lit.len = b.len;
        r->target = make_word(p, head, p->pos);
        r->target->raw = text;
    } else {
        int line = p->line;
        p->line = r->line;       /* what is expanded in the body is reported on the line of the command */
        r->target = sub_word(p, text, M_HEREDOC);
        r->target->raw = text;
        p->line = line;
    }
    r->target->line = first;
}

void read_pending(parser *p)
{
    int n = p->npending;
    p->npending = 0;
    for (int i = 0; i < n && !p->failed; i++) read_heredoc(p, p->pending[i]);
}

static void newline(parser *p)
{
    p->pos++;
    p->line++;
    if (p->npending) read_pending(p);
}

/* Bytes that the operator takes up at pos, newlines behind a backslash among them; 0 when it does not stand there. */
static size_t operator_bytes(parser *p, const char *op, int *lines)
{
    size_t at = p->pos;
    *lines = 0;
    for (bool first = true; *op; op++, at++, first = false) {
        for (; !first && at + 1 < p->len && p->src[at] == '\\' && p->src[at + 1] == '\n'; at += 2) ++*lines;
        if (at >= p->len || p->src[at] != *op) return 0;
    }
    return at - p->pos;
}

static int operator_at(parser *p, size_t *n)
{
    static const struct { char text[4]; int kind;
    } ops[] = { { ";;&", T_DSEMI_AND },  { ";;", T_DSEMI },     { ";&", T_SEMI_AND },  { ";", T_SEMI },
                { "&>>", T_AND_DGREAT }, { "&>", T_AND_GREAT }, { "&&", T_AND },       { "&", T_AMP },
                { "||", T_OR },          { "|&", T_PIPE_AMP },  { "|", T_PIPE },       { "<<<", T_TLESS },
                { "<<-", T_DLESS_DASH }, { "<<", T_DLESS },     { "<&", T_LESS_AND },  { "<>", T_LESS_GREAT },
                { "<", T_LESS },         { ">>", T_DGREAT },    { ">&", T_GREAT_AND }, { ">|", T_CLOBBER },
                { ">", T_GREAT },        { "(", T_LPAREN },     { ")", T_RPAREN } };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        int lines;
        if (ops[i].text[0] != p->src[p->pos] || !(*n = operator_bytes(p, ops[i].text, &lines))) continue;
        p->line += lines;
        return ops[i].kind;
    }
    return -1;
}

/* 12> or {name}> : the descriptor in front of a redirection. */
static bool descriptor_at(parser *p, token *t)
{
    size_t i = p->pos;
    if (isdigit((unsigned char)p->src[i])) {
        int fd = 0;
        while (i < p->len && isdigit((unsigned char)p->src[i]) && fd < 100000) fd = fd * 10 + (p->src[i++] - '0');
        if (i >= p->len || (p->src[i] != '<' && p->src[i] != '>')) return false;
        t->kind = T_IONUM;
        t->fd = fd;
    } else {
        size_t n = name_len(p->src + i + 1);
        if (n && p->src[i + 1 + n] == '[') {   /* {a[1]}> */
            size_t end = subscript_end(p, i + n + 2);
            if (!end) return false;
            n = end - i;
        }
        if (!n || p->src[i + 1 + n] != '}' || (p->src[i + n + 2] != '<' && p->src[i + n + 2] != '>')) return false;
        t->name = slice(p, i + 1, i + 1 + n);
        t->kind = T_IOVAR;
        i += n + 2;
    }
    p->pos = t->end = i;
    return true;
}

token *peek(parser *p)
{
    token *t = &p->tok;
    if (p->have) return t;
    skip_blanks(p);
    *t = (token){ .line = p->line, .start = p->pos };
    p->have = true;
    if (p->failed || p->pos >= p->len) { t->kind = T_EOF; t->end = p->pos; return t; }
    char c = p->src[p->pos];
    if (c == '\n') { t->kind = T_NEWLINE; t->end = p->pos + 1; return t; }
    if ((isdigit((unsigned char)c) || c == '{') && descriptor_at(p, t)) return t;
    size_t n = 0;
    bool process = (c == '<' || c == '>') && p->pos + 1 < p->len && p->src[p->pos + 1] == '(';
    int op = process ? -1 : operator_at(p, &n);
    if (op >= 0) { t->kind = op; p->pos += n; t->end = p->pos; return t; }
    t->kind = T_WORD;
    t->w = lex_word(p, M_WORD);
    t->end = p->pos;
    if (p->failed) t->kind = T_EOF;
    return t;
}

void take(parser *p)
{
    if (!p->have) peek(p);
    p->have = false;
    if (p->tok.kind == T_NEWLINE) newline(p);
}

void skip_newlines(parser *p)
{
    while (!p->failed && peek(p)->kind == T_NEWLINE) take(p);
}
