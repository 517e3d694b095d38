/* jq_parse.c - jq programs to trees. Names are resolved here: a variable or function becomes the number of environments between use and binding. */
#include "jq.h"
#include "../utf8.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct scope { struct scope *up; int kind; const char *name; int arity; jdef *def; } scope;   /* kind: 'v'ariable, 'd'efinition, 'p'arameter, 'l'abel */

typedef struct { jq *q; const char *p, *end, *begin; int tok, depth; const char *start; char text[256]; double num; jv number; scope *scope; } parser;

enum { T_END = 256, T_NUM, T_STR, T_IDENT, T_FIELD, T_VAR, T_FORMAT, T_KEYWORD, T_EQ, T_NE, T_LE, T_GE, T_ALT, T_ALTEQ, T_ALTPAT, T_ADDEQ, T_SUBEQ, T_MULEQ, T_DIVEQ, T_MODEQ, T_UPDATE, T_RECURSE };

static jnode *pipe_expr(parser *s);
static jnode *term(parser *s, int binds);
static jnode *postfix(parser *s) { return term(s, 1); }
static jnode *object_value(parser *s);

static void *fail(parser *s, const char *message) {
    if (!s->q->parse_error) s->q->parse_error = tool_strdup(s->q->t, message);
    s->tok = T_END;
    s->p = s->end;
    return NULL;
}

static void *unexpected(parser *s) {
    if (s->q->parse_error) return NULL;
    const char *what = s->tok == T_END ? "end of file" : tool_format(s->q->t, "'%.*s'", (int)(s->p - s->start), s->start);
    return fail(s, tool_format(s->q->t, "syntax error, unexpected %s", what));
}

static int is_keyword(const char *w) {
    static const char *const words[] = {"def", "if", "then", "elif", "else", "end", "as", "reduce", "foreach", "try", "catch", "label", "import", "include", "and", "or", "__loc__"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) if (!strcmp(words[i], w)) return 1;
    return 0;
}

static size_t word_length(const char *p, const char *end) {
    const char *q = p;
    if (q >= end || !(isalpha((unsigned char)*q) || *q == '_')) return 0;
    for (;;) {
        while (q < end && (isalnum((unsigned char)*q) || *q == '_')) q++;
        if (end - q > 2 && q[0] == ':' && q[1] == ':' && (isalpha((unsigned char)q[2]) || q[2] == '_')) q += 2; else break;
    }
    return (size_t)(q - p);
}

static void take_text(parser *s, size_t n) {
    size_t kept = n < sizeof s->text - 1 ? n : sizeof s->text - 1;
    memcpy(s->text, s->p, kept);
    s->text[kept] = '\0';
    s->p += n;
}

static void lex_number(parser *s) {
    const char *p = s->p;
    while (p < s->end && isdigit((unsigned char)*p)) p++;
    if (p < s->end && *p == '.') { p++; while (p < s->end && isdigit((unsigned char)*p)) p++; }
    if (p < s->end && (*p == 'e' || *p == 'E')) {
        const char *q = p + 1;
        if (q < s->end && (*q == '+' || *q == '-')) q++;
        if (q < s->end && isdigit((unsigned char)*q)) { while (q < s->end && isdigit((unsigned char)*q)) q++; p = q; }
    }
    json_reader r;
    const char *from = s->p;
    char *text = *from == '.' ? tool_format(s->q->t, "0%.*s", (int)(p - from), from) : tool_strndup(s->q->t, from, (size_t)(p - from));
    json_reader_start(&r, &s->q->C, text, strlen(text));
    jv_drop(&s->q->C, s->number);
    s->number = json_next(&r);
    if (s->number.kind == J_INVALID) s->number = jv_num(strtod(text, NULL));
    s->p = p;
    s->tok = T_NUM;
}

static void next(parser *s) {
    static const struct { char text[4]; int tok; } operators[] = {{"?//", T_ALTPAT}, {"//=", T_ALTEQ}, {"|=", T_UPDATE}, {"+=", T_ADDEQ}, {"-=", T_SUBEQ}, {"*=", T_MULEQ}, {"/=", T_DIVEQ}, {"%=", T_MODEQ},
        {"==", T_EQ}, {"!=", T_NE}, {"<=", T_LE}, {">=", T_GE}, {"//", T_ALT}, {"..", T_RECURSE}};
    for (;;) {
        while (s->p < s->end && isspace((unsigned char)*s->p)) s->p++;
        if (s->p < s->end && *s->p == '#') { while (s->p < s->end && *s->p != '\n') s->p++; continue; }
        break;
    }
    s->start = s->p;
    if (s->p >= s->end) { s->tok = T_END; return; }
    char c = *s->p;
    size_t n;
    if (isdigit((unsigned char)c) || (c == '.' && s->p + 1 < s->end && isdigit((unsigned char)s->p[1]))) { lex_number(s); return; }
    if (c == '"') { s->p++; s->tok = T_STR; return; }
    if (c == '.' && (n = word_length(s->p + 1, s->end))) { s->p++; take_text(s, n); s->tok = T_FIELD; return; }
    if (c == '$' && (n = word_length(s->p + 1, s->end))) { s->p++; take_text(s, n); s->tok = T_VAR; return; }
    if (c == '@' && (n = word_length(s->p + 1, s->end))) { s->p++; take_text(s, n); s->tok = T_FORMAT; return; }
    if ((n = word_length(s->p, s->end))) { take_text(s, n); s->tok = is_keyword(s->text) ? T_KEYWORD : T_IDENT; return; }
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        n = strlen(operators[i].text);
        if ((size_t)(s->end - s->p) >= n && !memcmp(s->p, operators[i].text, n)) {
            s->p += n;
            s->tok = operators[i].tok;
            return;
        }
    }
    s->p++;
    s->tok = (unsigned char)c;
    if (!strchr(".[]{}()|,:;=<>+-*/%?$", c)) { fail(s, tool_format(s->q->t, "syntax error, unexpected INVALID_CHARACTER")); }
}

static int keyword(parser *s, const char *w) { return s->tok == T_KEYWORD && !strcmp(s->text, w); }
static int accept(parser *s, int tok) { if (s->tok != tok) return 0; next(s); return 1; }
static int accept_word(parser *s, const char *w) { if (!keyword(s, w)) return 0; next(s); return 1; }
static int expect(parser *s, int tok) { if (accept(s, tok)) return 1; unexpected(s); return 0; }
static int expect_word(parser *s, const char *w) { if (accept_word(s, w)) return 1; unexpected(s); return 0; }

static jnode *make(parser *s, int kind, jnode *a, jnode *b) {
    jnode *n = tool_alloc(s->q->t, sizeof *n);
    n->kind = kind;
    n->a = a;
    n->b = b;
    n->value = jv_null();
    return n;
}

static jnode *literal(parser *s, jv v) {
    jnode *n = make(s, N_LITERAL, NULL, NULL);
    n->value = v;
    n->single = 1;
    return n;
}

static void push(parser *s, scope *link, int kind, const char *name, int arity, jdef *def) {
    *link = (scope){s->scope, kind, name, arity, def};
    s->scope = link;
}

static scope *push_new(parser *s, int kind, const char *name) {
    scope *link = tool_alloc(s->q->t, sizeof *link);
    push(s, link, kind, name, 0, NULL);
    return link;
}

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
    if (v < 0) { fail(s, "syntax error, invalid escape in string literal"); return -1; }
    s->p += 5;
    if (v >= 0xD800 && v < 0xDC00 && s->end - s->p >= 6 && s->p[0] == '\\' && s->p[1] == 'u') {
        int low = hex4(s->p + 2, s->end);
        if (low >= 0xDC00 && low < 0xE000) { v = 0x10000 + ((v - 0xD800) << 10) + (low - 0xDC00); s->p += 6; }
    }
    buffer_add(b, bytes, (size_t)utf8_encode(v, bytes));
    return 0;
}

/* After the opening quote: text pieces and \(expressions), the latter formatted by format (NULL: tostring). Moves to the next token. */
static jnode *string_literal(parser *s, const char *format) {
    jnode *first = NULL, **tail = &first;
    buffer b = {.t = s->q->t};
    int single = 1, parts = 0;
    buffer_puts(&b, "");
    for (;;) {
        if (s->p >= s->end) return fail(s, "syntax error, unexpected end of file (unterminated string literal)");
        char c = *s->p++;
        if (c == '"') break;
        if (c != '\\') { buffer_putc(&b, c); continue; }
        if (s->p >= s->end) return fail(s, "syntax error, unterminated string literal");
        if (*s->p != '(') { if (string_escape(s, &b) < 0) return NULL; continue; }
        s->p++;
        if (b.n) { *tail = literal(s, jv_text(&s->q->C, b.p, b.n)); tail = &(*tail)->next; b.n = 0; }
        next(s);
        jnode *e = pipe_expr(s), *f;
        if (!e) return NULL;
        if (s->tok != ')') return unexpected(s);
        f = make(s, N_FORMAT, e, NULL);
        f->value = jv_cstr(&s->q->C, format ? format : "text");
        f->single = e->single;
        single &= e->single;
        *tail = f;
        tail = &f->next;
        parts++;
    }
    next(s);
    if (!parts) return literal(s, jv_text(&s->q->C, b.p, b.n));
    if (b.n) *tail = literal(s, jv_text(&s->q->C, b.p, b.n));
    jnode *n = make(s, N_STRING, first, NULL);
    n->single = single;
    return n;
}

static jnode *variable(parser *s, const char *name) {
    int index = 0;
    for (scope *l = s->scope; l; l = l->up, index++)
        if (l->kind == 'v' && !strcmp(l->name, name)) {
            jnode *n = make(s, N_VARIABLE, NULL, NULL);
            n->index = index;
            n->single = 1;
            return n;
        }
    if (!strcmp(name, "ENV")) {
        int single;
        jnode *n = make(s, N_FUNCTION, NULL, NULL);
        n->fn = jq_func_named("env", 0, &single);
        n->single = 1;
        return n;
    }
    if (!strcmp(name, "__loc__")) {
        int line = 1;
        for (const char *p = s->begin; p < s->start; p++) line += *p == '\n';
        jv o = jv_object(&s->q->C);
        o = jv_put(&s->q->C, o, "file", jv_cstr(&s->q->C, "<top-level>"));
        return literal(s, jv_put(&s->q->C, o, "line", jv_num(line)));
    }
    jv *named = jv_find(s->q->named, name, (uint32_t)strlen(name));
    if (named) return literal(s, jv_copy(*named));
    return fail(s, tool_format(s->q->t, "error: $%s is not defined", name));
}

static int all_single(jnode **args, int n) {
    for (int i = 0; i < n; i++) if (!args[i]->single) return 0;
    return 1;
}

/* name(args): a parameter, a definition in scope, a special form, a function on values, or a prelude definition. */
static jnode *call(parser *s, const char *name, jnode **args, int arity) {
    int index = 0, single;
    jnode *n;
    for (scope *l = s->scope; l; l = l->up, index++) {
        if (l->kind == 'p' && !arity && !strcmp(l->name, name)) {
            n = make(s, N_CLOSURE, NULL, NULL);
            n->index = index;
            return n;
        }
        if (l->kind == 'd' && l->arity == arity && !strcmp(l->name, name)) {
            n = make(s, N_CALL, NULL, NULL);
            n->index = index;
            n->def = l->def;
            n->args = args;
            n->count = arity;
            return n;
        }
    }
    int special = jq_special_named(name, arity);
    if (special >= 0) {
        n = make(s, N_SPECIAL, NULL, NULL);
        n->op = special;
        n->args = args;
        n->count = arity;
        return n;
    }
    jfunc *fn = jq_func_named(name, arity, &single);
    if (fn) {
        n = make(s, N_FUNCTION, NULL, NULL);
        n->fn = fn;
        n->args = args;
        n->count = arity;
        n->single = single && all_single(args, arity);
        return n;
    }
    jdef *def = jq_prelude(s->q, name, arity);
    if (s->q->parse_error) return NULL;
    if (!def) return fail(s, tool_format(s->q->t, "error: %s/%d is not defined", name, arity));
    n = make(s, N_CALL, NULL, NULL);
    n->index = -1;
    n->def = def;
    n->args = args;
    n->count = arity;
    return n;
}

static jnode *call_expression(parser *s) {
    char *name = tool_strdup(s->q->t, s->text);
    jnode *args[16], **kept = NULL;
    int arity = 0;
    next(s);
    if (accept(s, '(')) {
        do {
            if (arity == 16) return fail(s, "error: too many function parameters");
            if (!(args[arity++] = pipe_expr(s))) return NULL;
        } while (accept(s, ';'));
        if (!expect(s, ')')) return NULL;
    }
    if (arity) {
        kept = tool_alloc(s->q->t, (size_t)arity * sizeof *kept);
        memcpy(kept, args, (size_t)arity * sizeof *kept);
    }
    return call(s, name, kept, arity);
}

/* def name(params): body; leaves the definition in scope. */
static jdef *definition(parser *s) {
    next(s);
    if (s->tok != T_IDENT && s->tok != T_KEYWORD) return unexpected(s);
    jdef *def = tool_alloc(s->q->t, sizeof *def);
    def->name = tool_strdup(s->q->t, s->text);
    next(s);
    if (accept(s, '(')) {
        do {
            if (s->tok != T_IDENT && s->tok != T_VAR && s->tok != T_KEYWORD) return unexpected(s);
            if (def->arity == 16) return fail(s, "error: too many function parameters");
            def->is_value_param[def->arity] = s->tok == T_VAR;
            def->params[def->arity++] = tool_strdup(s->q->t, s->text);
            next(s);
        } while (accept(s, ';'));
        if (!expect(s, ')')) return NULL;
    }
    if (!expect(s, ':')) return NULL;
    scope *outer = s->scope;
    scope *self = tool_alloc(s->q->t, sizeof *self);
    push(s, self, 'd', def->name, def->arity, def);
    for (int i = 0; i < def->arity; i++) push_new(s, 'p', def->params[i]);
    /* $a is both a closure and, once its value is known, a variable */
    int wrapped = 0;
    for (int i = 0; i < def->arity; i++) if (def->is_value_param[i]) { push_new(s, 'v', def->params[i]); wrapped++; }
    jnode *body = pipe_expr(s);
    s->scope = outer;
    if (!body || !expect(s, ';')) return NULL;
    for (int i = def->arity - 1; i >= 0; i--) {
        if (!def->is_value_param[i]) continue;
        wrapped--;
        jnode *as = make(s, N_AS, NULL, body), *source = make(s, N_CLOSURE, NULL, NULL);
        source->index = def->arity - 1 - i + wrapped;
        jpattern *p = tool_alloc(s->q->t, sizeof *p);
        p->kind = '$';
        as->a = source;
        as->patterns = p;
        as->count = 1;
        body = as;
    }
    def->body = body;
    push(s, self, 'd', def->name, def->arity, def);
    return def;
}

/* Patterns. Names of variables are collected first, so that all alternatives bind the same. */
typedef struct { const char *at[64]; int n; } names;

static int add_name(names *list, const char *name) {
    for (int i = 0; i < list->n; i++) if (!strcmp(list->at[i], name)) return i;
    if (list->n == 64) return -1;
    list->at[list->n] = name;
    return list->n++;
}

static jpattern *pattern(parser *s, names *list) {
    if (++s->depth > 200) return fail(s, "error: pattern nests too deep");
    jpattern *p = tool_alloc(s->q->t, sizeof *p), **tail = &p->child;
    if (s->tok == T_VAR) {
        p->kind = '$';
        p->variable = add_name(list, tool_strdup(s->q->t, s->text));
        next(s);
    } else if (accept(s, '[')) {
        p->kind = '[';
        do {
            if (!(*tail = pattern(s, list))) return NULL;
            tail = &(*tail)->next;
        } while (accept(s, ','));
        if (!expect(s, ']')) return NULL;
    } else if (accept(s, '{')) {
        p->kind = '{';
        do {
            jpattern *member = tool_alloc(s->q->t, sizeof *member);
            member->kind = ':';
            member->variable = -1;
            if (s->tok == T_VAR) {
                member->variable = add_name(list, tool_strdup(s->q->t, s->text));
                member->key = literal(s, jv_cstr(&s->q->C, s->text));
                next(s);
            } else if (s->tok == T_IDENT || s->tok == T_KEYWORD) { member->key = literal(s, jv_cstr(&s->q->C, s->text)); next(s); }
            else if (s->tok == T_STR) { if (!(member->key = string_literal(s, NULL))) return NULL; }
            else if (accept(s, '(')) { if (!(member->key = pipe_expr(s)) || !expect(s, ')')) return NULL; }
            else return unexpected(s);
            if (accept(s, ':')) { if (!(member->child = pattern(s, list))) return NULL; }
            else if (member->variable < 0) return unexpected(s);
            *tail = member;
            tail = &member->next;
        } while (accept(s, ','));
        if (!expect(s, '}')) return NULL;
    } else return unexpected(s);
    s->depth--;
    return p;
}

/* p ?// p ...; pushes the variables, in order, onto the scope. */
static int patterns(parser *s, jnode *n) {
    names list = {.n = 0};
    jpattern **tail = &n->patterns;
    do {
        if (!(*tail = pattern(s, &list))) return -1;
        tail = &(*tail)->next;
    } while (accept(s, T_ALTPAT));
    n->count = list.n;
    for (int i = 0; i < list.n; i++) push_new(s, 'v', list.at[i]);
    return 0;
}

static jnode *object(parser *s) {
    jnode *n = make(s, N_OBJECT, NULL, NULL), **tail = &n->a;
    n->single = 1;
    next(s);
    while (s->tok != '}') {
        jnode *pair = make(s, N_PIPE, NULL, NULL);
        if (s->tok == T_VAR) {
            pair->a = literal(s, jv_cstr(&s->q->C, s->text));
            if (!(pair->b = variable(s, s->text))) return NULL;
            next(s);
        } else {
            int numeric = s->tok == T_NUM, bare = 0;
            if (s->tok == T_IDENT || s->tok == T_KEYWORD) { pair->a = literal(s, jv_cstr(&s->q->C, s->text)); bare = 1; next(s); }
            else if (numeric) { pair->a = literal(s, jv_copy(s->number)); next(s); }
            else if (s->tok == T_STR) { if (!(pair->a = string_literal(s, NULL))) return NULL; bare = 1; }
            else if (s->tok == T_FORMAT) {
                char *format = tool_strdup(s->q->t, s->text);
                next(s);
                if (s->tok == T_STR) { if (!(pair->a = string_literal(s, format))) return NULL; }
                else { pair->a = literal(s, jv_format(&s->q->C, "@%s", format)); }
                bare = 1;
            } else if (accept(s, '(')) { if (!(pair->a = pipe_expr(s)) || !expect(s, ')')) return NULL; }
            else return unexpected(s);
            if (accept(s, ':')) {
                /* a value has no commas of its own; pipes and operators are fine */
                if (!(pair->b = object_value(s))) return NULL;
            } else if (bare) {
                jnode *index = make(s, N_INDEX, make(s, N_IDENTITY, NULL, NULL), pair->a);
                index->a->single = 1;
                index->single = pair->a->single;
                pair->b = index;
            } else return unexpected(s);
        }
        n->single &= pair->a->single && pair->b->single;
        *tail = pair;
        tail = &pair->next;
        if (!accept(s, ',')) break;
    }
    return expect(s, '}') ? n : NULL;
}

static jnode *if_expression(parser *s) {
    next(s);
    jnode *n = make(s, N_IF, NULL, NULL);
    if (!(n->a = pipe_expr(s)) || !expect_word(s, "then") || !(n->b = pipe_expr(s))) return NULL;
    if (keyword(s, "elif")) {
        if (!(n->c = if_expression(s))) return NULL;
        n->single = n->a->single && n->b->single && n->c->single;
        return n;
    }
    if (accept_word(s, "else") && !(n->c = pipe_expr(s))) return NULL;
    if (!expect_word(s, "end")) return NULL;
    n->single = n->a->single && n->b->single && (!n->c || n->c->single);
    return n;
}

static jnode *loop_expression(parser *s, int kind) {
    next(s);
    jnode *n = make(s, kind, NULL, NULL);
    if (!(n->a = term(s, 0)) || !expect_word(s, "as")) return NULL;
    scope *outer = s->scope;
    if (patterns(s, n) < 0) return NULL;
    scope *inner = s->scope;
    if (!expect(s, '(')) return NULL;
    s->scope = outer;
    if (!(n->b = pipe_expr(s)) || !expect(s, ';')) return NULL;
    s->scope = inner;
    if (!(n->c = pipe_expr(s))) return NULL;
    if (kind == N_FOREACH && accept(s, ';') && !(n->d = pipe_expr(s))) return NULL;
    s->scope = outer;
    return expect(s, ')') ? n : NULL;
}

static jnode *keyword_term(parser *s) {
    jnode *n;
    if (keyword(s, "if")) return if_expression(s);
    if (keyword(s, "reduce")) return loop_expression(s, N_REDUCE);
    if (keyword(s, "foreach")) return loop_expression(s, N_FOREACH);
    if (accept_word(s, "try")) {
        n = make(s, N_TRY, NULL, NULL);
        if (!(n->a = term(s, 0))) return NULL;
        if (accept_word(s, "catch") && !(n->b = term(s, 0))) return NULL;
        return n;
    }
    if (accept_word(s, "label")) {
        if (s->tok != T_VAR) return unexpected(s);
        scope *outer = s->scope;
        push_new(s, 'l', tool_strdup(s->q->t, s->text));
        next(s);
        if (!expect(s, '|')) return NULL;
        n = make(s, N_LABEL, pipe_expr(s), NULL);
        s->scope = outer;
        return n->a ? n : NULL;
    }
    if (keyword(s, "def")) {
        scope *outer = s->scope;
        jdef *def = definition(s);
        if (!def) return NULL;
        n = make(s, N_DEF, pipe_expr(s), NULL);
        s->scope = outer;
        return n->a ? n : NULL;
    }
    return unexpected(s);
}

static jnode *break_term(parser *s) {
    next(s);
    if (s->tok != T_VAR) return unexpected(s);
    int index = 0;
    for (scope *l = s->scope; l; l = l->up, index++)
        if (l->kind == 'l' && !strcmp(l->name, s->text)) {
            jnode *n = make(s, N_BREAK, NULL, NULL);
            n->index = index;
            next(s);
            return n;
        }
    return fail(s, tool_format(s->q->t, "error: $*label-%s is not defined", s->text));
}

static jnode *field(parser *s, jnode *of, jnode *key) {
    jnode *n = make(s, N_INDEX, of, key);
    n->single = of->single && key->single;
    return n;
}

static jnode *identity(parser *s) {
    jnode *n = make(s, N_IDENTITY, NULL, NULL);
    n->single = 1;
    return n;
}

static jnode *primary(parser *s) {
    jnode *n;
    switch (s->tok) {
    case T_NUM: n = literal(s, jv_copy(s->number)); next(s); return n;
    case T_STR: return string_literal(s, NULL);
    case T_FORMAT: {
        char *format = tool_strdup(s->q->t, s->text);
        next(s);
        if (s->tok == T_STR) return string_literal(s, format);
        n = make(s, N_FORMAT, identity(s), NULL);
        n->value = jv_cstr(&s->q->C, format);
        n->single = 1;
        return n;
    }
    case T_FIELD: n = field(s, identity(s), literal(s, jv_cstr(&s->q->C, s->text))); next(s); return n;
    case T_RECURSE: next(s); return make(s, N_RECURSE, NULL, NULL);
    case '.':
        next(s);
        if (s->tok == T_STR) { jnode *key = string_literal(s, NULL); return key ? field(s, identity(s), key) : NULL; }
        return identity(s);
    case T_VAR: n = variable(s, s->text); if (n) next(s); return n;
    case '(':
        next(s);
        if (!(n = pipe_expr(s)) || !expect(s, ')')) return NULL;
        return n;
    case '[':
        next(s);
        n = make(s, N_ARRAY, NULL, NULL);
        n->single = 1;
        if (accept(s, ']')) return n;
        if (!(n->a = pipe_expr(s)) || !expect(s, ']')) return NULL;
        return n;
    case '{': return object(s);
    case '-': {
        next(s);
        jnode *of = postfix(s);
        if (!of) return NULL;
        n = make(s, N_NEGATE, of, NULL);
        n->single = of->single;
        return n;
    }
    case T_KEYWORD:
        if (!strcmp(s->text, "__loc__")) return unexpected(s);
        return keyword_term(s);
    case T_IDENT: return strcmp(s->text, "break") ? call_expression(s) : break_term(s);
    }
    return unexpected(s);
}

static jnode *bracket_suffix(parser *s, jnode *of) {
    next(s);
    jnode *n;
    if (accept(s, ']')) return make(s, N_ITERATE, of, NULL);
    if (accept(s, ':')) {
        n = make(s, N_SLICE, of, NULL);
        if (!(n->c = pipe_expr(s)) || !expect(s, ']')) return NULL;
        n->single = of->single && n->c->single;
        return n;
    }
    jnode *index = pipe_expr(s);
    if (!index) return NULL;
    if (accept(s, ':')) {
        n = make(s, N_SLICE, of, index);
        if (s->tok != ']' && !(n->c = pipe_expr(s))) return NULL;
        n->single = of->single && index->single && (!n->c || n->c->single);
    } else n = field(s, of, index);
    return expect(s, ']') ? n : NULL;
}

/* A term with its suffixes; with binds also TERM as PATTERN | BODY. */
static jnode *term(parser *s, int binds) {
    if (++s->depth > 400 || tool_too_deep(s->q->t)) return fail(s, "error: program nests too deep");
    jnode *n = primary(s);
    while (n) {
        if (s->tok == '[') n = bracket_suffix(s, n);
        else if (s->tok == T_FIELD) { n = field(s, n, literal(s, jv_cstr(&s->q->C, s->text))); next(s); }
        else if (s->tok == '.') {
            next(s);
            if (s->tok == T_STR) { jnode *key = string_literal(s, NULL); n = key ? field(s, n, key) : NULL; }
            else if (s->tok != '[') { n = unexpected(s); }
        } else if (s->tok == '?') { n = make(s, N_TRY, n, NULL); next(s); }
        else if (binds && keyword(s, "as")) {
            next(s);
            scope *outer = s->scope;
            jnode *as = make(s, N_AS, n, NULL);
            if (patterns(s, as) < 0 || !expect(s, '|')) return NULL;
            as->b = pipe_expr(s);
            s->scope = outer;
            n = as->b ? as : NULL;
            break;
        } else break;
    }
    s->depth--;
    return n;
}

static jnode *binary(parser *s, int level);

static const struct { int tok, level, kind, op, right; } table[] = {
    {T_ALT, 1, N_ALTERNATIVE, 0, 1},
    {'=', 2, N_ASSIGN, 0, 2}, {T_UPDATE, 2, N_MODIFY, 0, 2}, {T_ADDEQ, 2, N_UPDATE, '+', 2}, {T_SUBEQ, 2, N_UPDATE, '-', 2}, {T_MULEQ, 2, N_UPDATE, '*', 2}, {T_DIVEQ, 2, N_UPDATE, '/', 2},
    {T_MODEQ, 2, N_UPDATE, '%', 2}, {T_ALTEQ, 2, N_UPDATE, 'A', 2},
    {T_EQ, 5, N_COMPARE, T_EQ, 2}, {T_NE, 5, N_COMPARE, T_NE, 2}, {'<', 5, N_COMPARE, '<', 2}, {'>', 5, N_COMPARE, '>', 2}, {T_LE, 5, N_COMPARE, T_LE, 2}, {T_GE, 5, N_COMPARE, T_GE, 2},
    {'+', 6, N_BINARY, '+', 0}, {'-', 6, N_BINARY, '-', 0}, {'*', 7, N_BINARY, '*', 0}, {'/', 7, N_BINARY, '/', 0}, {'%', 7, N_BINARY, '%', 0}};

/* Levels: 1 // (right) 2 assignments (none) 3 or 4 and 5 comparisons (none) 6 + - 7 * / %. */
static jnode *binary(parser *s, int level) {
    if (level > 7) return postfix(s);
    jnode *left = binary(s, level + 1);
    while (left) {
        int found = -1, logical = 0;
        if (level == 3 && keyword(s, "or")) logical = N_OR;
        else if (level == 4 && keyword(s, "and")) logical = N_AND;
        else for (size_t i = 0; i < sizeof table / sizeof *table; i++) if (table[i].level == level && table[i].tok == s->tok) found = (int)i;
        if (found < 0 && !logical) break;
        next(s);
        jnode *right = binary(s, found >= 0 && table[found].right == 1 ? level : level + 1);
        if (!right) return NULL;
        jnode *n = make(s, logical ? logical : table[found].kind, left, right);
        if (found >= 0) {
            n->op = table[found].op;
            if (n->kind == N_COMPARE) n->op = n->op == T_EQ ? '=' : n->op == T_NE ? '!' : n->op == T_LE ? 'l' : n->op == T_GE ? 'g' : n->op;
        }
        if (n->kind != N_ASSIGN && n->kind != N_MODIFY && n->kind != N_UPDATE && n->kind != N_ALTERNATIVE) n->single = left->single && right->single;
        left = n;
        if (found >= 0 && table[found].right == 2) {
            for (size_t i = 0; i < sizeof table / sizeof *table; i++) if (table[i].level == level && table[i].tok == s->tok) return unexpected(s);
        }
        if (found >= 0 && table[found].right == 1) break;
    }
    return left;
}

static jnode *join(parser *s, int kind, jnode *a, jnode *b) {
    jnode *n = make(s, kind, a, b);
    n->single = kind == N_PIPE && a->single && b->single;
    return n;
}

static jnode *comma_expr(parser *s, int commas) {
    jnode *left = binary(s, 1);
    while (left && commas && s->tok == ',') {
        next(s);
        jnode *right = binary(s, 1);
        left = right ? join(s, N_COMMA, left, right) : NULL;
    }
    return left;
}

static jnode *pipe_with(parser *s, int commas) {
    if (++s->depth > 400 || tool_too_deep(s->q->t)) return fail(s, "error: program nests too deep");
    jnode *n;
    if (keyword(s, "def")) n = keyword_term(s);
    else {
        n = comma_expr(s, commas);
        if (n && s->tok == '|') {
            next(s);
            jnode *right = pipe_with(s, commas);
            n = right ? join(s, N_PIPE, n, right) : NULL;
        }
    }
    s->depth--;
    return n;
}

static jnode *pipe_expr(parser *s) { return pipe_with(s, 1); }
static jnode *object_value(parser *s) { return pipe_with(s, 0); }

static void start(parser *s, jq *q, const char *text, size_t n) {
    memset(s, 0, sizeof *s);
    s->q = q;
    s->p = s->begin = s->start = text;
    s->end = text + n;
    s->number = jv_null();
    next(s);
}

jnode *jq_parse(jq *q, const char *text, size_t n) {
    parser s;
    start(&s, q, text, n);
    if (s.tok == T_END && !q->parse_error) return identity(&s);
    jnode *program = pipe_expr(&s);
    if (program && s.tok != T_END) unexpected(&s);
    return q->parse_error ? NULL : program;
}

/* Definitions of the prelude, each at the top level. */
jnode *jq_parse_definitions(jq *q, const char *text, jdef **defs) {
    parser s;
    start(&s, q, text, strlen(text));
    *defs = NULL;
    while (keyword(&s, "def")) {
        jdef *d = definition(&s);
        if (!d) return NULL;
        s.scope = NULL;
        d->next = *defs;
        *defs = d;
    }
    if (s.tok != T_END) unexpected(&s);
    return NULL;
}
