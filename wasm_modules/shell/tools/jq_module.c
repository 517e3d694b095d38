/* jq_module.c - import and include: modules of definitions, and files of data.
 *
 * RULES. A module is NAME.jq, or NAME/LAST.jq where LAST is the last part of NAME; data is NAME.json. They are looked for in the
 * folders that {search: ...} names, beside the file that asks, else in those of -L. A module sees what it imports itself, and its
 * own definitions from the second on; never those of who imports it.
 */
#include "jq_parse.h"
#include <string.h>

enum { DEEPEST_IMPORT = 32 };

/* name as a definition that stands for def. */
static jdef *alias(parser *s, const char *name, jdef *def, jdef *next) {
    jdef *d = tool_alloc(s->q->t, sizeof *d);
    d->name = tool_strdup(s->q->t, name);
    d->arity = def->arity;
    d->module_def = def;
    d->next = next;
    return d;
}

static io *open_in(tool *t, const char *folder, const char *name, const char *suffix, char **path) {
    const char *last = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
    *path = tool_format(t, "%s/%s%s", folder, name, suffix);
    io *from = io_open(*path, 0, 0);
    if (from) return from;
    *path = tool_format(t, "%s/%s/%s%s", folder, name, last, suffix);
    return io_open(*path, 0, 0);
}

/* Looks in search (null, a text or a list of texts), relative to the folder of the file that asks, or in the library. */
static io *find_module(parser *s, const char *name, const char *suffix, jv search, char **path) {
    tool *t = s->q->t;
    const char *here = s->folder ? s->folder : ".";
    uint32_t count = search.kind == J_NULL ? 0 : search.kind == J_ARRAY ? search.a->n : 1;
    io *from = NULL;
    for (uint32_t i = 0; i < count && !from; i++) {
        jv one = search.kind == J_ARRAY ? search.a->at[i] : search;
        if (one.kind != J_STRING) continue;
        const char *folder = one.s->text[0] == '/' ? one.s->text : tool_format(t, "%s/%s", here, one.s->text);
        from = open_in(t, folder, name, suffix, path);
    }
    if (count) return from;
    for (char **l = s->q->library; l && *l && !from; l++) from = open_in(t, *l, name, suffix, path);
    return from;
}

/* The definitions of a module's text, last first. */
static jdef *read_module(parser *outer, const char *path, buffer *text) {
    parser s;
    jq *q = outer->q;
    if (++q->modules_open > DEEPEST_IMPORT) return jqp_fail(outer, "error: modules import each other too deep");
    jqp_begin(&s, q, text->p, text->n);
    s.module = path;
    s.folder = strrchr(path, '/') ? tool_strndup(q->t, path, (size_t)(strrchr(path, '/') - path)) : ".";
    jdef *own = NULL;
    if (jqp_imports(&s))
        while (jqp_keyword(&s, "def")) {
            jdef *d = jqp_definition(&s);
            if (!d) break;
            s.scope = NULL;
            s.imports = alias(&s, d->name, d, s.imports);
            own = alias(&s, d->name, d, own);
        }
    if (s.tok != T_END && !q->parse_error) jqp_unexpected(&s);
    q->modules_open--;
    return own;
}

/* The name in quotes; NULL after an error. */
static char *take_path(parser *s) {
    if (s->tok != T_STR) return jqp_unexpected(s);
    jnode *n = jqp_string_literal(s, NULL);
    if (!n) return NULL;
    if (n->kind != N_LITERAL) return jqp_fail(s, "error: Import path must be constant");
    return tool_strdup(s->q->t, n->value.s->text);
}

/* A text or a list of texts; other constants are passed over. */
static int take_constant(parser *s, jv *v) {
    *v = jv_null();
    if (s->tok == T_STR) {
        jnode *n = jqp_string_literal(s, NULL);
        if (n && n->kind == N_LITERAL) *v = jv_copy(n->value);
        return n != NULL;
    }
    if (!jqp_accept(s, '[')) { jqp_next(s); return 1; }
    *v = jv_array(&s->q->C, 0);
    while (s->tok == T_STR) {
        jnode *n = jqp_string_literal(s, NULL);
        if (!n) return 0;
        *v = jv_push(&s->q->C, *v, jv_copy(n->value));
        if (!jqp_accept(s, ',')) break;
    }
    return jqp_expect(s, ']');
}

/* {search: "./"} before the semicolon, or nothing. */
static int take_metadata(parser *s, jv *search) {
    *search = jv_null();
    if (s->tok == ';') return 1;
    if (s->tok == '(') jqp_fail(s, "error: Module metadata must be constant");
    else if (s->tok != '{') jqp_fail(s, "error: Module metadata must be an object");
    if (!jqp_accept(s, '{')) return 0;
    while (s->tok == T_IDENT || s->tok == T_KEYWORD || s->tok == T_STR) {
        int is_search = s->tok == T_IDENT && !strcmp(s->text, "search");
        jv v;
        if (s->tok == T_STR) { if (!jqp_string_literal(s, NULL)) return 0; }
        else jqp_next(s);
        if (!jqp_expect(s, ':') || !take_constant(s, &v)) return 0;
        if (is_search) *search = v; else jv_drop(&s->q->C, v);
        if (!jqp_accept(s, ',')) break;
    }
    return jqp_expect(s, '}');
}

/* All values in a file of data, as a list. */
static jv read_values(jq *q, const buffer *text) {
    json_reader r;
    jv all = jv_array(&q->C, 0);
    json_reader_start(&r, &q->C, text->p, text->n);
    for (jv x; (x = json_next(&r)).kind != J_INVALID;) all = jv_push(&q->C, all, x);
    return all;
}

static int take_import(parser *s, int include) {
    jqp_next(s);
    char *name = take_path(s), *as = NULL, *path;
    int data = 0;
    if (!name) return 0;
    if (!include) {
        if (!jqp_expect_word(s, "as")) return 0;
        data = s->tok == T_VAR;
        if (!data && s->tok != T_IDENT) { jqp_unexpected(s); return 0; }
        as = tool_strdup(s->q->t, s->text);
        jqp_next(s);
    }
    jv search;
    if (!take_metadata(s, &search) || !jqp_expect(s, ';')) return 0;
    io *from = find_module(s, name, data ? ".json" : ".jq", search, &path);
    if (!from) {
        jqp_fail(s, tool_format(s->q->t, "error: module not found: %s\n", name));
        s->q->parse_text = NULL;
        return 0;
    }
    buffer text = {.t = s->q->t};
    buffer_read_all(&text, from);
    buffer_puts(&text, "");
    io_unref(from);
    if (data) {
        jv values = read_values(s->q, &text);
        s->q->named = jv_put(&s->q->C, s->q->named, tool_format(s->q->t, "%s::%s", as, as), jv_copy(values));
        s->q->named = jv_put(&s->q->C, s->q->named, as, values);
        return 1;
    }
    jdef *own = read_module(s, path, &text), *ordered = NULL;
    if (s->q->parse_error) return 0;
    for (; own; own = own->next) ordered = alias(s, own->name, own->module_def, ordered);
    for (; ordered; ordered = ordered->next)
        s->imports = alias(
            s, include ? ordered->name : tool_format(s->q->t, "%s::%s", as, ordered->name), ordered->module_def, s->imports);
    return 1;
}

int jqp_imports(parser *s) {
    if (s->tok == T_IDENT && !strcmp(s->text, "module")) {
        jv unused;
        jqp_next(s);
        if (!take_metadata(s, &unused) || !jqp_expect(s, ';')) return 0;
    }
    while (jqp_keyword(s, "import") || jqp_keyword(s, "include"))
        if (!take_import(s, jqp_keyword(s, "include"))) return 0;
    return 1;
}
