/* jq_terms.c - the terms of jq's grammar: strings, objects, if, reduce, fields and their suffixes. */
#include "jq_parse.h"
#include "../utf8.h"
#include <ctype.h>
#include <string.h>

static jnode *term(parser *s, int binds);

jnode *jqp_postfix(parser *s) { return term(s, 1); }

static int hex4(const char *p, const char *end) {
    int v = 0;
    if (end - p < 4) return -1;
    for (int i = 0; i < 4; i++) {
        int c = (unsigned char)p[i];
        if (!isxdigit(c)) return -1;
        v = v * 16 + (isdigit(c) ? c - '0' : (c | 32) - 'a' + 10);
    }
    return v;
}

/* One escape after the backslash, into b. */
static int string_escape(parser *s, buffer *b) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = *s->p, bytes[4];
    const char *at = strchr(from, c);
    if (at && c) { buffer_putc(b, to[at - from]); s->p++; return 0; }
    int v = c == 'u' ? hex4(s->p + 1, s->end) : -1;
    if (v < 0) { jqp_fail(s, "error: syntax error, invalid escape in string literal"); return -1; }
    s->p += 5;
    if (v >= 0xD800 && v < 0xDC00 && s->end - s->p >= 6 && s->p[0] == '\\' && s->p[1] == 'u') {
        int low = hex4(s->p + 2, s->end);
        if (low >= 0xDC00 && low < 0xE000) { v = 0x10000 + ((v - 0xD800) << 10) + (low - 0xDC00); s->p += 6; }
    }
    buffer_add(b, bytes, (size_t)utf8_encode(v, bytes));
    return 0;
}

/* After the opening quote: text pieces and \(expressions), the latter formatted by format (NULL: tostring). Moves to the next
 * token. */
jnode *jqp_string_literal(parser *s, const char *format) {
    jnode *first = NULL, **tail = &first;
    buffer b = {.t = s->q->t};
    int single = 1, parts = 0;
    buffer_puts(&b, "");
    for (;;) {
        if (s->p >= s->end)
            return jqp_fail(s, "error: syntax error, unexpected end of file, expecting QQSTRING_TEXT or QQSTRING_INTERP_START or "
                               "QQSTRING_END (Unix shell quoting issues?)");
        char c = *s->p++;
        if (c == '"') break;
        if (c != '\\') { buffer_putc(&b, c); continue; }
        if (s->p >= s->end) return jqp_fail(s, "error: syntax error, unterminated string literal");
        if (*s->p != '(') { if (string_escape(s, &b) < 0) return NULL; continue; }
        s->p++;
        if (b.n) { *tail = jqp_literal(s, jv_text(&s->q->C, b.p, b.n)); tail = &(*tail)->next; b.n = 0; }
        jqp_next(s);
        jnode *e = jqp_pipe_expr(s), *f;
        if (!e) return NULL;
        if (s->tok != ')') return jqp_unexpected(s);
        f = jqp_make(s, N_FORMAT, e, NULL);
        f->value = jv_cstr(&s->q->C, format ? format : "text");
        f->single = e->single;
        single &= e->single;
        *tail = f;
        tail = &f->next;
        parts++;
    }
    jqp_next(s);
    if (!parts) return jqp_literal(s, jv_text(&s->q->C, b.p, b.n));
    if (b.n) *tail = jqp_literal(s, jv_text(&s->q->C, b.p, b.n));
    jnode *n = jqp_make(s, N_STRING, first, NULL);
    n->single = single;
    return n;
}

static jnode *object(parser *s) {
    jnode *n = jqp_make(s, N_OBJECT, NULL, NULL), **tail = &n->a;
    n->single = 1;
    jqp_next(s);
    while (s->tok != '}') {
        jnode *pair = jqp_make(s, N_PIPE, NULL, NULL);
        if (s->tok == T_VAR) {
            pair->a = jqp_literal(s, jv_cstr(&s->q->C, s->text));
            if (!(pair->b = jqp_variable(s, s->text))) return NULL;
            jqp_next(s);
            if (jqp_accept(s, ':')) {
                pair->a = pair->b;
                if (!(pair->b = jqp_object_value(s))) return NULL;
            }
        } else {
            int numeric = s->tok == T_NUM, bare = 0;
            if (s->tok == T_IDENT || s->tok == T_KEYWORD) {
                pair->a = jqp_literal(s, jv_cstr(&s->q->C, s->text));
                bare = 1;
                jqp_next(s);
            } else if (numeric) {
                pair->a = jqp_literal(s, jv_copy(s->number));
                jqp_next(s);
            } else if (s->tok == T_STR) {
                if (!(pair->a = jqp_string_literal(s, NULL))) return NULL;
                bare = 1;
            } else if (s->tok == T_FORMAT) {
                char *format = tool_strdup(s->q->t, s->text);
                jqp_next(s);
                if (s->tok == T_STR) { if (!(pair->a = jqp_string_literal(s, format))) return NULL; }
                else { pair->a = jqp_literal(s, jv_format(&s->q->C, "@%s", format)); }
                bare = 1;
            } else if (jqp_accept(s, '(')) {
                if (!(pair->a = jqp_pipe_expr(s))) return NULL;
                if (pair->a->kind == N_LITERAL && pair->a->value.kind != J_STRING) {
                    jv text = jq_error_text(s->q, pair->a->value);
                    return jqp_fail(s, tool_format(s->q->t, "error: Cannot use %s (%s) as object key",
                                           jv_kind_name(pair->a->value), text.s->text));
                }
                if (!jqp_expect(s, ')')) return NULL;
            } else return jqp_unexpected(s);
            if (jqp_accept(s, ':')) {
                /* a value has no commas of its own; pipes and operators are fine */
                if (!(pair->b = jqp_object_value(s))) return NULL;
            } else if (bare) {
                jnode *index = jqp_make(s, N_INDEX, jqp_make(s, N_IDENTITY, NULL, NULL), pair->a);
                index->a->single = 1;
                index->single = pair->a->single;
                pair->b = index;
            } else return jqp_unexpected(s);
        }
        n->single &= pair->a->single && pair->b->single;
        *tail = pair;
        tail = &pair->next;
        if (!jqp_accept(s, ',')) break;
    }
    return jqp_accept(s, '}') ? n : jqp_unexpected_for(s, "'}'");
}

static jnode *if_expression(parser *s) {
    jqp_next(s);
    jnode *n = jqp_make(s, N_IF, NULL, NULL);
    if (!(n->a = jqp_pipe_expr(s)) || !jqp_expect_word(s, "then") || !(n->b = jqp_pipe_expr(s))) return NULL;
    if (jqp_keyword(s, "elif")) {
        if (!(n->c = if_expression(s))) return NULL;
        n->single = n->a->single && n->b->single && n->c->single;
        return n;
    }
    if (jqp_accept_word(s, "else") && !(n->c = jqp_pipe_expr(s))) return NULL;
    if (!jqp_expect_word(s, "end")) return NULL;
    n->single = n->a->single && n->b->single && (!n->c || n->c->single);
    return n;
}

static jnode *loop_expression(parser *s, int kind) {
    jqp_next(s);
    jnode *n = jqp_make(s, kind, NULL, NULL);
    if (!(n->a = term(s, 0)) || !jqp_expect_word(s, "as")) return NULL;
    scope *outer = s->scope;
    if (jqp_patterns(s, n) < 0) return NULL;
    scope *inner = s->scope;
    if (!jqp_expect(s, '(')) return NULL;
    s->scope = outer;
    if (!(n->b = jqp_pipe_expr(s)) || !jqp_expect(s, ';')) return NULL;
    s->scope = inner;
    if (!(n->c = jqp_pipe_expr(s))) return NULL;
    if (kind == N_FOREACH && jqp_accept(s, ';') && !(n->d = jqp_pipe_expr(s))) return NULL;
    s->scope = outer;
    return jqp_expect(s, ')') ? n : NULL;
}

jnode *jqp_keyword_term(parser *s) {
    jnode *n;
    if (jqp_keyword(s, "if")) return if_expression(s);
    if (jqp_keyword(s, "reduce")) return loop_expression(s, N_REDUCE);
    if (jqp_keyword(s, "foreach")) return loop_expression(s, N_FOREACH);
    if (jqp_accept_word(s, "try")) {
        n = jqp_make(s, N_TRY, NULL, NULL);
        if (!(n->a = term(s, 0))) return NULL;
        if (jqp_accept_word(s, "catch") && !(n->b = term(s, 0))) return NULL;
        return n;
    }
    if (jqp_accept_word(s, "label")) {
        if (s->tok != T_VAR) return jqp_unexpected(s);
        scope *outer = s->scope;
        jqp_push_new(s, 'l', tool_strdup(s->q->t, s->text));
        jqp_next(s);
        if (!jqp_expect(s, '|')) return NULL;
        n = jqp_make(s, N_LABEL, jqp_pipe_expr(s), NULL);
        s->scope = outer;
        return n->a ? n : NULL;
    }
    if (jqp_keyword(s, "def")) {
        scope *outer = s->scope;
        jdef *def = jqp_definition(s);
        if (!def) return NULL;
        n = jqp_make(s, N_DEF, jqp_pipe_expr(s), NULL);
        s->scope = outer;
        return n->a ? n : NULL;
    }
    return jqp_unexpected(s);
}

static jnode *break_term(parser *s) {
    jqp_next(s);
    if (s->tok != T_VAR) return jqp_unexpected(s);
    int index = 0;
    for (scope *l = s->scope; l; l = l->up, index++)
        if (l->kind == 'l' && !strcmp(l->name, s->text)) {
            jnode *n = jqp_make(s, N_BREAK, NULL, NULL);
            n->index = index;
            jqp_next(s);
            return n;
        }
    return jqp_fail(s, tool_format(s->q->t, "error: $*label-%s is not defined", s->text));
}

/* e? forgives what e does; but of .a.b? only the last step, so that it stands for .a | .b?, and of .[e]? not what e does. */
static jnode *optional(parser *s, jnode *n) {
    if (n->kind == N_SLICE || (n->kind == N_INDEX && n->b->kind != N_LITERAL)) {
        n->op = '?';
        n->single = 0;
        return n;
    }
    int constant = n->kind == N_ITERATE || (n->kind == N_INDEX && n->b->kind == N_LITERAL);
    if (!constant || n->a->kind == N_IDENTITY) return jqp_make(s, N_TRY, n, NULL);
    jnode *base = n->a;
    n->a = jqp_identity(s);
    return jqp_make(s, N_PIPE, base, jqp_make(s, N_TRY, n, NULL));
}

static jnode *field(parser *s, jnode *of, jnode *key) {
    jnode *n = jqp_make(s, N_INDEX, of, key);
    n->single = of->single && key->single;
    return n;
}

jnode *jqp_identity(parser *s) {
    jnode *n = jqp_make(s, N_IDENTITY, NULL, NULL);
    n->single = 1;
    return n;
}

static jnode *primary(parser *s) {
    jnode *n;
    switch (s->tok) {
    case T_NUM: n = jqp_literal(s, jv_copy(s->number)); jqp_next(s); return n;
    case T_STR: return jqp_string_literal(s, NULL);
    case T_FORMAT: {
        char *format = tool_strdup(s->q->t, s->text);
        jqp_next(s);
        if (s->tok == T_STR) return jqp_string_literal(s, format);
        n = jqp_make(s, N_FORMAT, jqp_identity(s), NULL);
        n->value = jv_cstr(&s->q->C, format);
        n->single = 1;
        return n;
    }
    case T_FIELD: n = field(s, jqp_identity(s), jqp_literal(s, jv_cstr(&s->q->C, s->text))); jqp_next(s); return n;
    case T_RECURSE: jqp_next(s); return jqp_make(s, N_RECURSE, NULL, NULL);
    case '.':
        jqp_next(s);
        if (s->tok == T_STR) { jnode *key = jqp_string_literal(s, NULL); return key ? field(s, jqp_identity(s), key) : NULL; }
        return jqp_identity(s);
    case T_VAR: n = jqp_variable(s, s->text); if (n) jqp_next(s); return n;
    case '(':
        jqp_next(s);
        if (!(n = jqp_pipe_expr(s)) || !jqp_expect(s, ')')) return NULL;
        return jqp_accept(s, '?') ? jqp_make(s, N_TRY, n, NULL) : n;      /* the parentheses hold it together */
    case '[':
        jqp_next(s);
        n = jqp_make(s, N_ARRAY, NULL, NULL);
        n->single = 1;
        if (jqp_accept(s, ']')) return n;
        if (!(n->a = jqp_pipe_expr(s)) || !jqp_expect(s, ']')) return NULL;
        return n;
    case '{': return object(s);
    case '-': {
        jqp_next(s);
        jnode *of = jqp_postfix(s);
        if (!of) return NULL;
        n = jqp_make(s, N_NEGATE, of, NULL);
        n->single = of->single;
        return n;
    }
    case T_KEYWORD:
        if (!strcmp(s->text, "__loc__")) return jqp_unexpected(s);
        return jqp_keyword_term(s);
    case T_IDENT: return strcmp(s->text, "break") ? jqp_call_expression(s) : break_term(s);
    }
    return jqp_unexpected(s);
}

static jnode *bracket_suffix(parser *s, jnode *of) {
    jqp_next(s);
    jnode *n;
    if (jqp_accept(s, ']')) return jqp_make(s, N_ITERATE, of, NULL);
    if (jqp_accept(s, ':')) {
        n = jqp_make(s, N_SLICE, of, NULL);
        if (!(n->c = jqp_pipe_expr(s)) || !jqp_expect(s, ']')) return NULL;
        n->single = of->single && n->c->single;
        return n;
    }
    jnode *index = jqp_pipe_expr(s);
    if (!index) return NULL;
    if (jqp_accept(s, ':')) {
        n = jqp_make(s, N_SLICE, of, index);
        if (s->tok != ']' && !(n->c = jqp_pipe_expr(s))) return NULL;
        n->single = of->single && index->single && (!n->c || n->c->single);
    } else n = field(s, of, index);
    return jqp_expect(s, ']') ? n : NULL;
}

/* A term with its suffixes; with binds also TERM as PATTERN | BODY. */
static jnode *term(parser *s, int binds) {
    if (++s->depth > 400 || tool_too_deep(s->q->t)) return jqp_fail(s, "error: program nests too deep");
    jnode *n = primary(s);
    while (n) {
        if (s->tok == '[') n = bracket_suffix(s, n);
        else if (s->tok == T_FIELD) { n = field(s, n, jqp_literal(s, jv_cstr(&s->q->C, s->text))); jqp_next(s); }
        else if (s->tok == '.') {
            jqp_next(s);
            if (s->tok == T_STR) { jnode *key = jqp_string_literal(s, NULL); n = key ? field(s, n, key) : NULL; }
            else if (s->tok != '[') { n = jqp_unexpected(s); }
        } else if (s->tok == '?') { n = optional(s, n); jqp_next(s); }
        else if (binds && jqp_keyword(s, "as")) {
            jqp_next(s);
            scope *outer = s->scope;
            jnode *as = jqp_make(s, N_AS, n, NULL);
            if (jqp_patterns(s, as) < 0) return NULL;
            if (!jqp_accept(s, '|')) return jqp_unexpected_for(s, "'|'");
            as->b = jqp_pipe_expr(s);
            s->scope = outer;
            n = as->b ? as : NULL;
            break;
        } else break;
    }
    s->depth--;
    return n;
}
