/* jq_names.c - names in jq programs: a variable or function becomes the number of environments between use and binding.
 * Here are definitions, calls and the patterns that bind variables. */
#include "jq_parse.h"
#include <string.h>

static void push(parser *s, scope *link, int kind, const char *name, int arity, jdef *def) {
    *link = (scope){s->scope, kind, name, arity, def};
    s->scope = link;
}

scope *jqp_push_new(parser *s, int kind, const char *name) {
    scope *link = tool_alloc(s->q->t, sizeof *link);
    push(s, link, kind, name, 0, NULL);
    return link;
}

jnode *jqp_variable(parser *s, const char *name) {
    int index = 0;
    for (scope *l = s->scope; l; l = l->up, index++)
        if (l->kind == 'v' && !strcmp(l->name, name)) {
            jnode *n = jqp_make(s, N_VARIABLE, NULL, NULL);
            n->index = index;
            n->single = 1;
            return n;
        }
    if (!strcmp(name, "ENV")) {
        int single;
        jnode *n = jqp_make(s, N_FUNCTION, NULL, NULL);
        n->fn = jq_func_named("env", 0, &single);
        n->single = 1;
        return n;
    }
    if (!strcmp(name, "__loc__")) {
        int line = 1;
        for (const char *p = s->begin; p < s->start; p++) line += *p == '\n';
        jv o = jv_object(&s->q->C);
        o = jv_put(&s->q->C, o, "file", jv_cstr(&s->q->C, "<top-level>"));
        return jqp_literal(s, jv_put(&s->q->C, o, "line", jv_num(line)));
    }
    jv *named = jv_find(s->q->named, name, (uint32_t)strlen(name));
    if (named) return jqp_literal(s, jv_copy(*named));
    return jqp_fail(s, tool_format(s->q->t, "error: $%s is not defined", name));
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
            n = jqp_make(s, N_CLOSURE, NULL, NULL);
            n->index = index;
            return n;
        }
        if (l->kind == 'd' && l->arity == arity && !strcmp(l->name, name)) {
            n = jqp_make(s, N_CALL, NULL, NULL);
            n->index = index;
            n->def = l->def;
            n->args = args;
            n->count = arity;
            return n;
        }
    }
    for (jdef *d = s->imports; d; d = d->next) {
        if (d->arity != arity || strcmp(d->name, name)) continue;
        n = jqp_make(s, N_CALL, NULL, NULL);
        n->index = -1;
        n->def = d->module_def;
        n->args = args;
        n->count = arity;
        return n;
    }
    int special = jq_special_named(name, arity);
    if (special >= 0) {
        n = jqp_make(s, N_SPECIAL, NULL, NULL);
        n->op = special;
        n->args = args;
        n->count = arity;
        return n;
    }
    jfunc *fn = jq_func_named(name, arity, &single);
    if (fn) {
        n = jqp_make(s, N_FUNCTION, NULL, NULL);
        n->fn = fn;
        n->args = args;
        n->count = arity;
        n->single = single && all_single(args, arity);
        return n;
    }
    jdef *def = jq_prelude(s->q, name, arity);
    if (s->q->parse_error) return NULL;
    if (!def) return jqp_fail(s, tool_format(s->q->t, "error: %s/%d is not defined", name, arity));
    n = jqp_make(s, N_CALL, NULL, NULL);
    n->index = -1;
    n->def = def;
    n->args = args;
    n->count = arity;
    return n;
}

jnode *jqp_call_expression(parser *s) {
    char *name = tool_strdup(s->q->t, s->text);
    const char *from = s->start;
    jnode *args[16], **kept = NULL;
    int arity = 0;
    jqp_next(s);
    if (jqp_accept(s, '(')) {
        do {
            if (arity == 16) return jqp_fail(s, "error: too many function parameters");
            if (!(args[arity++] = jqp_pipe_expr(s))) return NULL;
        } while (jqp_accept(s, ';'));
        if (!jqp_accept(s, ')')) return jqp_unexpected_for(s, "';' or ')'");
    }
    if (arity) {
        kept = tool_alloc(s->q->t, (size_t)arity * sizeof *kept);
        memcpy(kept, args, (size_t)arity * sizeof *kept);
    }
    /* a name that nobody knows is told with its own place */
    const char *after = s->start;
    s->start = from;
    jnode *n = call(s, name, kept, arity);
    s->start = after;
    return n;
}

/* def name(params): body; leaves the definition in scope. */
jdef *jqp_definition(parser *s) {
    jqp_next(s);
    if (s->tok != T_IDENT && s->tok != T_KEYWORD) return jqp_unexpected(s);
    jdef *def = tool_alloc(s->q->t, sizeof *def);
    def->name = tool_strdup(s->q->t, s->text);
    jqp_next(s);
    if (jqp_accept(s, '(')) {
        do {
            if (s->tok != T_IDENT && s->tok != T_VAR && s->tok != T_KEYWORD) return jqp_unexpected(s);
            if (def->arity == 16) return jqp_fail(s, "error: too many function parameters");
            def->is_value_param[def->arity] = s->tok == T_VAR;
            def->params[def->arity++] = tool_strdup(s->q->t, s->text);
            jqp_next(s);
        } while (jqp_accept(s, ';'));
        if (!jqp_expect(s, ')')) return NULL;
    }
    if (!jqp_expect(s, ':')) return NULL;
    scope *outer = s->scope;
    scope *self = tool_alloc(s->q->t, sizeof *self);
    push(s, self, 'd', def->name, def->arity, def);
    for (int i = 0; i < def->arity; i++) jqp_push_new(s, 'p', def->params[i]);
    /* $a is both a closure and, once its value is known, a variable */
    int wrapped = 0;
    for (int i = 0; i < def->arity; i++) if (def->is_value_param[i]) { jqp_push_new(s, 'v', def->params[i]); wrapped++; }
    jnode *body = jqp_pipe_expr(s);
    s->scope = outer;
    if (!body || !jqp_expect(s, ';')) return NULL;
    for (int i = def->arity - 1; i >= 0; i--) {
        if (!def->is_value_param[i]) continue;
        wrapped--;
        jnode *as = jqp_make(s, N_AS, NULL, body), *source = jqp_make(s, N_CLOSURE, NULL, NULL);
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
    if (++s->depth > 200) return jqp_fail(s, "error: pattern nests too deep");
    jpattern *p = tool_alloc(s->q->t, sizeof *p), **tail = &p->child;
    if (s->tok == T_VAR) {
        p->kind = '$';
        p->variable = add_name(list, tool_strdup(s->q->t, s->text));
        jqp_next(s);
    } else if (jqp_accept(s, '[')) {
        p->kind = '[';
        do {
            if (!(*tail = pattern(s, list))) return NULL;
            tail = &(*tail)->next;
        } while (jqp_accept(s, ','));
        if (!jqp_expect(s, ']')) return NULL;
    } else if (jqp_accept(s, '{')) {
        p->kind = '{';
        do {
            jpattern *member = tool_alloc(s->q->t, sizeof *member);
            member->kind = ':';
            member->variable = -1;
            if (s->tok == T_VAR) {
                member->variable = add_name(list, tool_strdup(s->q->t, s->text));
                member->key = jqp_literal(s, jv_cstr(&s->q->C, s->text));
                jqp_next(s);
            } else if (s->tok == T_IDENT || s->tok == T_KEYWORD) {
                member->key = jqp_literal(s, jv_cstr(&s->q->C, s->text));
                jqp_next(s);
            } else if (s->tok == T_STR) {
                if (!(member->key = jqp_string_literal(s, NULL))) return NULL;
            } else if (jqp_accept(s, '(')) {
                if (!(member->key = jqp_pipe_expr(s)) || !jqp_expect(s, ')')) return NULL;
            } else return jqp_unexpected(s);
            if (jqp_accept(s, ':')) { if (!(member->child = pattern(s, list))) return NULL; }
            else if (member->variable < 0) return jqp_unexpected(s);
            *tail = member;
            tail = &member->next;
        } while (jqp_accept(s, ','));
        if (!jqp_expect(s, '}')) return NULL;
    } else return jqp_unexpected_for(s, "BINDING or '[' or '{'");
    s->depth--;
    return p;
}

/* p ?// p ...; pushes the variables, in order, onto the scope. */
int jqp_patterns(parser *s, jnode *n) {
    names list = {.n = 0};
    jpattern **tail = &n->patterns;
    do {
        if (!(*tail = pattern(s, &list))) return -1;
        tail = &(*tail)->next;
    } while (jqp_accept(s, T_ALTPAT));
    n->count = list.n;
    for (int i = 0; i < list.n; i++) jqp_push_new(s, 'v', list.at[i]);
    return 0;
}
