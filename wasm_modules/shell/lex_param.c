/* lex_param.c - what begins with $ (or a backquote): parameters, ${...} with its operators, $(...), $((...)), `...`.
 *
 * A ${...} that makes no sense becomes a P_BAD part: bash reports "bad substitution" when it is expanded, not when it is read.
 */
#include "parse.h"
#include "element.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Index just behind the quoted string, escape or nested $-construct at i; i+1 for any other character. */
static size_t skip_unit(parser *p, size_t i);

static size_t skip_to(parser *p, size_t i, char open, char close)
{
    int depth = 0;
    if (++p->depth > MAX_NESTING) { p->depth--; return p->len; }
    while (i < p->len) {
        char c = p->src[i];
        if (c == close && depth-- == 0) { p->depth--; return i; }
        if (c == open && open != close) { depth++; i++; continue; }
        i = skip_unit(p, i);
    }
    p->depth--;
    return p->len;
}

static size_t skip_unit(parser *p, size_t i)
{
    char c = p->src[i];
    size_t end;
    if (c == '\\') return i + 2 > p->len ? p->len : i + 2;
    if (c == '\'') { end = i + 1; while (end < p->len && p->src[end] != '\'') end++; return end < p->len ? end + 1 : p->len; }
    if (c == '"') {
        for (end = i + 1; end < p->len && p->src[end] != '"';) end = p->src[end] == '\'' ? end + 1 : skip_unit(p, end);
        return end < p->len ? end + 1 : p->len;
    }
    if (c == '`') {
        end = i + 1;
        while (end < p->len && p->src[end] != '`') end += p->src[end] == '\\' ? 2 : 1;
        return end < p->len ? end + 1 : p->len;
    }
    if (c == '$' && i + 1 < p->len && (p->src[i + 1] == '{' || p->src[i + 1] == '(')) {
        end = skip_to(p, i + 2, p->src[i + 1], p->src[i + 1] == '{' ? '}' : ')');
        return end < p->len ? end + 1 : p->len;
    }
    return i + 1;
}

bool skip_balanced(parser *p, char open, char close)
{
    p->pos = skip_to(p, p->pos, open, close);
    return p->pos < p->len;
}

size_t subscript_end(parser *p, size_t at)
{
    size_t end = skip_to(p, at, '[', ']');
    return end < p->len ? end : 0;
}

size_t element_end(const char *text)
{
    size_t n = name_len(text);
    parser p = { .src = text, .len = strlen(text) };
    if (!n || text[n] != '[') return 0;
    size_t end = subscript_end(&p, n + 1);
    return end ? end + 1 : 0;
}

void make_subscript(parser *p, char *text, arith **index, word **key)
{
    *index = make_arith(p, text);
    *key = sub_word(p, text, M_BRACE);
}

static void count_lines(parser *p, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) if (p->src[i] == '\n') p->line++;
}

/* The next place that no newline behind a backslash takes up. */
static size_t behind_joins(parser *p, size_t at)
{
    while (at + 1 < p->len && p->src[at] == '\\' && p->src[at + 1] == '\n') at += 2;
    return at;
}

/* The end of an arithmetic expression that begins at i: the index of "))", 0 when this is no arithmetic, the length when the text
 * ends in it. */
static size_t arith_end(parser *p, size_t i)
{
    size_t next;
    int depth = 0;
    while (i < p->len) {
        char c = p->src[i];
        if (c == '(') depth++;
        else if (c == ')') {
            if (depth == 0) return (next = behind_joins(p, i + 1)) < p->len ? (p->src[next] == ')' ? i : 0) : p->len;
            depth--;
        }
        bool braced = c == '$' && i + 1 < p->len && p->src[i + 1] == '{';   /* its end is looked for when it is expanded */
        i = (c == '(' || c == ')' || braced) ? i + 1 : skip_unit(p, i);
    }
    return p->len;
}

static param *new_param(parser *p, part ***tail, int quoted)
{
    part *x = add_part(p, tail, P_PARAM, quoted);
    x->u.param = arena_alloc(p->a, sizeof(param));
    return x->u.param;
}

/* Name at pos into pm; false when there is none. */
static bool read_name(parser *p, param *pm)
{
    const char *s = p->src + p->pos;
    size_t n = name_len(s);
    if (n) {
        pm->name = slice(p, p->pos, p->pos + n);
        pm->slot = slot_of(pm->name);
    } else if (isdigit((unsigned char)*s)) {
        while (isdigit((unsigned char)s[n])) n++;
        pm->name = slice(p, p->pos, p->pos + n);
        pm->number = n > 8 ? 99999999 : atoi(pm->name);
        pm->special = pm->number == 0 ? '0' : '1';
    } else if (*s && strchr("@*#?-$!", *s)) {
        n = 1;
        pm->name = slice(p, p->pos, p->pos + 1);
        pm->special = (uint8_t)*s;
    }
    p->pos += n;
    return n > 0;
}

/* A name that goes on behind an escaped newline, which is nothing. */
static void join_name(parser *p, param *pm)
{
    if (p->src[p->pos] != '\\' || p->src[p->pos + 1] != '\n') return;
    strbuf b = { .a = p->a };
    sb_puts(&b, pm->name);
    for (;;) {
        char c = p->src[p->pos];
        if (c == '\\' && p->src[p->pos + 1] == '\n') { p->pos += 2; p->line++; continue; }
        if (!isalnum((unsigned char)c) && c != '_') break;
        sb_putc(&b, c);
        p->pos++;
    }
    pm->name = sb_str(&b);
    pm->slot = slot_of(pm->name);
}

static word *operand(parser *p, int mode, const char *stops)
{
    size_t from = p->pos;
    part *parts = lex_parts(p, mode, stops);
    return make_word(p, parts, from);
}

/* :offset or :offset:length ; pos behind the first colon. */
static void read_substring(parser *p, param *pm)
{
    pm->op = OP_SUBSTR;
    for (int k = 0; k < 2; k++) {
        size_t from = p->pos, i = from;
        int parens = 0, questions = 0;
        while (i < p->len) {
            char c = p->src[i];
            if (c == '}' && !parens) break;
            if (c == '(') parens++;
            if (c == ')') parens--;
            if (c == '?') questions++;
            if (c == ':' && !parens && k == 0) { if (questions == 0) break; questions--; }
            i = skip_unit(p, i);
        }
        *(k ? &pm->len : &pm->off) = make_arith(p, slice(p, from, i));
        p->pos = i;
        if (k == 0) { if (i >= p->len || p->src[i] != ':') return; p->pos++; }
    }
}

/* The operator and its operands; pos behind the name and subscript. False: bad substitution. */
static bool read_operator(parser *p, param *pm, int mode)
{
    int plain = mode == M_HEREDOC || mode == M_BRACE_DOC ? M_BRACE_DOC : quoting(mode) ? M_BRACE_DQ : M_BRACE;
    char c = p->src[p->pos];
    if (c == '}' || p->pos >= p->len) return true;
    if (c == ':' && p->src[p->pos + 1] && strchr("-=?+", p->src[p->pos + 1])) { pm->colon = 1; c = p->src[++p->pos]; }
    else if (c == ':' && p->src[p->pos + 1] == '}') return false;
    else if (c == ':') { p->pos++; read_substring(p, pm); return true; }
    if (strchr("^,~", c) && pm->special && strchr("#?-", pm->special)) return false;
    p->pos++;
    bool twice = p->src[p->pos] == c;
    switch (c) {
    case '-': pm->op = OP_DEFAULT; break;
    case '=': pm->op = OP_ASSIGN; break;
    case '?': pm->op = OP_ERROR; break;
    case '+': pm->op = OP_ALT; break;
    case '#': pm->op = twice ? OP_PREFIX_LONG : OP_PREFIX; p->pos += twice; plain = M_BRACE; break;
    case '%': pm->op = twice ? OP_SUFFIX_LONG : OP_SUFFIX; p->pos += twice; plain = M_BRACE; break;
    case '^': pm->op = twice ? OP_UPPER_ALL : OP_UPPER; p->pos += twice; plain = M_BRACE; break;
    case ',': pm->op = twice ? OP_LOWER_ALL : OP_LOWER; p->pos += twice; plain = M_BRACE; break;
    case '~': pm->op = twice ? OP_TOGGLE_ALL : OP_TOGGLE; p->pos += twice; plain = M_BRACE; break;
    case '@':
        pm->op = OP_TRANSFORM;
        pm->transform = (uint8_t)p->src[p->pos];
        if (isalpha(pm->transform)) p->pos++;
        if (p->src[p->pos] == '}' && isalpha(pm->transform)) return true;
        pm->transform = NO_TRANSFORM;   /* an error only when there is a value to transform */
        return skip_balanced(p, '{', '}');
    case '/': {
        char n = p->src[p->pos];
        pm->op = n == '/' ? OP_REPLACE_ALL : n == '#' ? OP_REPLACE_HEAD : n == '%' ? OP_REPLACE_TAIL : OP_REPLACE;
        if (pm->op != OP_REPLACE) p->pos++;
        bool slash = pm->op == OP_REPLACE_ALL && p->src[p->pos] == '/';   /* ${x////-}: the pattern is a slash */
        p->pos += slash;
        pm->arg = operand(p, M_BRACE, "/}");
        if (slash) {
            part *head = NULL, **tail = &head, *lit = add_part(p, &tail, P_LIT, 0);
            lit->u.lit.text = "/";
            lit->u.lit.len = 1;
            lit->next = pm->arg->parts;
            pm->arg->parts = lit;
            pm->arg->flags &= (uint8_t)~W_PLAIN;
        }
        if (p->pos < p->len && p->src[p->pos] == '/') { p->pos++; pm->arg2 = operand(p, M_BRACE, "}"); }
        return true;
    }
    default: return false;
    }
    pm->arg = operand(p, plain, "}");
    return true;
}

static void skip_joints(parser *p) { for (; p->src[p->pos] == '\\' && p->src[p->pos + 1] == '\n'; p->pos += 2) p->line++; }

static bool read_braced(parser *p, param *pm, int mode)
{
    skip_joints(p);
    const char *s = p->src + p->pos;
    if (s[0] == '#' && s[1] == '\\' && s[2] == '\n') {
        pm->length = 1;
        p->pos++;
        skip_joints(p);
    } else if (s[0] == '#' && s[1] != '}' && s[1] &&
        (isalnum((unsigned char)s[1]) || s[1] == '_' || (strchr("@*?$!#-", s[1]) && s[2] == '}'))) {
        pm->length = 1;
        p->pos++;
    } else if (s[0] == '!' && (isalnum((unsigned char)s[1]) || s[1] == '_' || (s[1] && strchr("@*#?", s[1])))) {
        pm->indirect = 1;
        p->pos++;
    }
    if (!read_name(p, pm)) return false;
    if (!pm->special) join_name(p, pm);
    if (p->src[p->pos] == '[' && !pm->special) {
        size_t end = subscript_end(p, p->pos + 1);
        if (!end) return false;
        char *text = slice(p, p->pos + 1, end);
        count_lines(p, p->pos, end);
        if (!strcmp(text, "@")) pm->sub = SUB_AT;
        else if (!strcmp(text, "*")) pm->sub = SUB_STAR;
        else if (!*text) return false;
        else { pm->sub = SUB_EXPR; make_subscript(p, text, &pm->index, &pm->key); }
        p->pos = end + 1;
    }
    skip_joints(p);
    char c = p->src[p->pos];
    if (pm->indirect && !pm->sub && !pm->special && (c == '@' || c == '*') && p->src[p->pos + 1] == '}') {
        pm->names = (uint8_t)c;
        p->pos++;
        return true;
    }
    if (pm->length) return c == '}';
    return read_operator(p, pm, mode);
}

/* ${...}; pos at the $. */
static void braced(parser *p, int mode, part ***tail)
{
    size_t from = p->pos;
    p->pos += 2;
    part **slot_at = *tail;
    param *pm = new_param(p, tail, quoting(mode));
    bool ok = read_braced(p, pm, mode);
    if (p->failed) return;
    if (ok && p->pos < p->len && p->src[p->pos] == '}') {
        p->pos++;
        pm->text = slice(p, from, p->pos);
        return;
    }
    if (p->pos >= p->len && ok) { eof_looking_for(p, '}', from); return; }
    p->pos = from + 2;
    if (!skip_balanced(p, '{', '}')) { p->pos = from; eof_looking_for(p, '}', from); return; }
    p->pos++;
    (*slot_at)->kind = P_BAD;
    (*slot_at)->u.lit.text = slice(p, from, p->pos);
    (*slot_at)->u.lit.len = p->pos - from;
}

void lex_dollar(parser *p, int mode, part ***tail)
{
    int quoted = quoting(mode);
    char c = p->src[p->pos + 1];
    if (c == '{') { braced(p, mode, tail); return; }
    if (c == '(' || c == '[') {
        size_t from = p->pos, end = 0, inner = c == '[' ? from + 1 : behind_joins(p, from + 2);
        bool twice = c == '(' && inner < p->len && p->src[inner] == '(';
        if (c == '[') end = skip_to(p, from + 2, '[', ']');
        else if (twice) end = arith_end(p, inner + 1);
        if (twice && !end && skip_to(p, from + 2, '(', ')') >= p->len) end = p->len;
        if (end >= p->len) { eof_looking_for(p, c == '[' ? ']' : ')', from); return; }
        if (end) {
            part *x = add_part(p, tail, P_ARITH, quoted);
            x->u.arith = make_arith(p, slice(p, inner + 1, end));
            p->pos = (c == '[' ? end : behind_joins(p, end + 1)) + 1;
            count_lines(p, from + 1, p->pos);
            return;
        }
        p->pos += 2;
        part *x = add_part(p, tail, P_CMD, quoted);
        x->u.cmd = parse_subst(p);
        return;
    }
    p->pos++;
    param *pm = new_param(p, tail, quoted);
    if (isdigit((unsigned char)c)) {
        pm->name = slice(p, p->pos, p->pos + 1);
        pm->number = c - '0';
        pm->special = pm->number == 0 ? '0' : '1';
        p->pos++;
    } else {
        read_name(p, pm);
        if (!pm->special) join_name(p, pm);
    }
    pm->text = pm->name;
}

/* `...`; pos at the backquote. The text between is unescaped once and parsed by itself. */
void lex_backquote(parser *p, int mode, part ***tail)
{
    size_t from = p->pos++, lines = (size_t)p->line;
    strbuf b = { .a = p->a };
    while (p->pos < p->len && p->src[p->pos] != '`') {
        char c = p->src[p->pos];
        if (c == '\\' && p->pos + 1 < p->len) {
            char n = p->src[p->pos + 1];
            if (n == '`' || n == '\\' || n == '$' || (n == '"' && mode == M_DQUOTE)) {
                sb_putc(&b, n);
                p->pos += 2;
                continue;
            }
        }
        if (c == '\n') p->line++;
        sb_putc(&b, c);
        p->pos++;
    }
    if (p->pos >= p->len) { eof_looking_for(p, '`', from); return; }
    p->pos++;
    part *x = add_part(p, tail, P_CMD, quoting(mode));
    x->backquote = 1;
    char *text = sb_str(&b);
    syntax_error late = { 0 };   /* bash parses between backquotes when the command runs, and fails only then */
    parser q = { .src = text,
                 .len = b.len,
                 .line = (int)lines,
                 .a = p->a,
                 .depth = p->depth,
                 .err = sh.validate_only ? p->err : &late,
                 .origin = p->origin,
                 .origin_len = p->origin_len,
                 .prog = p->prog };
    if (!enter(&q)) { p->failed = true; return; }
    node *body = parse_list(&q, false);
    if (!q.failed && peek(&q)->kind != T_EOF) unexpected(&q, peek(&q));
    free(q.spliced);
    x->u.cmd = body;
    if (body && !q.failed && !sh.validate_only) number_from(body, (int)lines);
    if (q.failed && sh.validate_only) p->failed = true;
    else if (q.failed) {
        strbuf message = { .a = p->a };
        sb_printf(&message, "command substitution: line %d: %s", late.line, late.message);
        if (!late.at_eof && late.near_line)
            sb_printf(&message, "\n%s: command substitution: line %d: `%s'", sh.arg0, late.line, late.near_line);
        x->kind = P_BAD;
        x->u.lit.text = sb_str(&message);
        x->u.lit.len = message.len;
    }
    free(late.near_line);
}
