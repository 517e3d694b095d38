/* awk_parse.c - an awk program: its rules, its functions, and the names of both. The grammar of actions is in awk_statement.c. */
#include "awk_parse.h"
#include "awk_lint.h"
#include "awk_message.h"
#include <string.h>

anode *awk_node(parser *P, int kind, anode *a, anode *b) {
    anode *n = tool_alloc(P->A->t, sizeof *n);
    n->kind = kind;
    n->a = a;
    n->b = b;
    n->line = P->L.token_line;
    return n;
}

int awk_variable(awk *A, const char *name, size_t n) {
    for (int i = 0; i < A->var_count; i++) if (strlen(A->var_names[i]) == n && !memcmp(A->var_names[i], name, n)) return i;
    if (A->var_count == A->var_cap) {
        if (A->is_running) { awk_fatal(A, "too many variables"); return -1; }
        A->var_cap = A->var_cap ? A->var_cap * 2 : 64;
        A->var_names = tool_realloc(A->t, A->var_names, (size_t)A->var_cap * sizeof *A->var_names);
        A->vars = tool_realloc(A->t, A->vars, (size_t)A->var_cap * sizeof *A->vars);
    }
    A->var_names[A->var_count] = tool_strndup(A->t, name, n);
    A->vars[A->var_count] = (cell){0};
    return A->var_count++;
}

/* The whole name of what the program calls name: in a namespace all but its capitals are its own. */
static const char *qualified(parser *P, const char *name, size_t *n) {
    static const char own[] = "awk::";
    if (*n > 5 && !memcmp(name, own, 5)) { *n -= 5; return name + 5; }
    if (!P->space || memchr(name, ':', *n)) return name;
    size_t capitals = 0;
    while (capitals < *n && ((name[capitals] >= 'A' && name[capitals] <= 'Z') || name[capitals] == '_')) capitals++;
    if (capitals == *n) return name;
    const char *whole = tool_format(P->A->t, "%s::%.*s", P->space, (int)*n, name);
    *n = strlen(whole);
    return whole;
}

int awk_parse_function(parser *P, const char *name, size_t n) {
    awk *A = P->A;
    name = qualified(P, name, &n);
    for (int i = 0; i < A->func_count; i++) if (strlen(A->funcs[i].name) == n && !memcmp(A->funcs[i].name, name, n)) return i;
    if (A->func_count == A->func_cap) {
        A->func_cap = A->func_cap ? A->func_cap * 2 : 16;
        A->funcs = tool_realloc(A->t, A->funcs, (size_t)A->func_cap * sizeof *A->funcs);
    }
    memset(&A->funcs[A->func_count], 0, sizeof *A->funcs);
    A->funcs[A->func_count].name = tool_strndup(A->t, name, n);
    A->funcs[A->func_count].line = P->L.token_line;
    return A->func_count++;
}

anode *awk_parse_name(parser *P, const char *name, size_t n) {
    afunc *f = P->function;
    for (int i = 0; f && i < f->params; i++)
        if (strlen(f->param_names[i]) == n && !memcmp(f->param_names[i], name, n)) {
            anode *local = awk_node(P, E_LOCAL, NULL, NULL);
            local->index = i;
            return local;
        }
    anode *v = awk_node(P, E_VAR, NULL, NULL);
    name = qualified(P, name, &n);
    f = awk_function_named(P->A, tool_strndup(P->A->t, name, n));
    if (f && f->is_defined)
        awk_complain(P->A, P->L.token_line, "function `%s' called with space between name and `(',\nor used as a variable or an array",
            f->name);
    v->index = awk_variable(P->A, name, n);
    P->A->uses_info |= v->index == VAR_PROCINFO;
    P->A->uses_tables |= v->index == VAR_SYMTAB || v->index == VAR_FUNCTAB;
    P->A->uses_environ |= v->index == VAR_ENVIRON;
    return v;
}

anode *awk_parse_regex(parser *P) {
    const char *message;
    anode *n = awk_node(P, E_REGEX, NULL, NULL);
    n->str = astr_new(P->A, P->L.text.p, P->L.text.n);
    n->re = awk_regex_constant(P->A, P->L.text.p, P->L.text.n, P->L.line, &message);
    if (!n->re) return error(P, tool_format(P->A->t, "error: %s: /%s/", message, P->L.text.p));
    return n;
}

static int is_special(const awk *A, const char *name) {
    for (int i = 0; i < VAR_SPECIAL; i++) if (!strcmp(A->var_names[i], name)) return 1;
    return 0;
}

static int is_global(const awk *A, const char *name) {
    for (int i = 0; i < A->var_count; i++) if (!strcmp(A->var_names[i], name)) return 1;
    return 0;
}

static int function_definition(parser *P) {
    advance(P);
    if (token(P) == T_BUILTIN || token(P) == T_LENGTH)
        return error(P, tool_format(P->A->t, "`%s' is a built-in function, it cannot be redefined", P->L.text.p)), -1;
    if (token(P) != T_NAME && token(P) != T_FUNC_NAME) return syntax_error(P), -1;
    int index = awk_parse_function(P, P->L.text.p, P->L.text.n), count = 0, cap = 0;
    char **params = NULL;
    if (P->A->funcs[index].is_defined || is_global(P->A, P->A->funcs[index].name))
        return error(P, tool_format(P->A->t, "error: function name `%s' previously defined", P->A->funcs[index].name)), -1;
    P->A->funcs[index].is_defined = 1;
    P->A->funcs[index].defined = P->L.token_line;
    advance(P);
    if (!expect(P, CH('('))) return -1;
    for (skip_newlines(P); token(P) != CH(')');) {
        if (token(P) != T_NAME) return syntax_error(P), -1;
        if (count == cap) params = tool_realloc(P->A->t, params, (size_t)(cap = cap ? cap * 2 : 8) * sizeof *params);
        params[count++] = tool_strndup(P->A->t, P->L.text.p, P->L.text.n);
        if (is_special(P->A, params[count - 1]))
            return error(P, tool_format(P->A->t, "error: function `%s': cannot use special variable `%s' as a function parameter",
                P->A->funcs[index].name, params[count - 1])), -1;
        if (!strcmp(params[count - 1], P->A->funcs[index].name))
            return error(P, tool_format(P->A->t, "error: function `%s': cannot use function name as parameter name",
                params[count - 1])), -1;
        for (int i = 0; i < count - 1; i++)
            if (!strcmp(params[i], params[count - 1]))
                awk_complain(P->A, P->L.token_line, "function `%s': parameter #%d, `%s', duplicates parameter #%d",
                    P->A->funcs[index].name, count, params[i], i + 1);
        advance(P);
        skip_newlines(P);
        if (!accept(P, CH(','))) break;
        skip_newlines(P);
    }
    if (!expect(P, CH(')'))) return -1;
    skip_newlines(P);
    afunc f = P->A->funcs[index];
    f.params = count;
    f.param_names = params;
    f.is_defined = 1;
    P->A->funcs[index] = f;
    P->function = &f;
    P->rule = 0;
    anode *b = awk_parse_block(P);
    P->function = NULL;
    if (!b) return -1;
    P->A->funcs[index].body = b;
    return 0;
}

static const char *rule_name(int kind) {
    return kind == 'B' ? "BEGIN" : kind == 'E' ? "END" : kind == 'f' ? "BEGINFILE" : "ENDFILE";
}

static int rule(parser *P) {
    awk *A = P->A;
    arule r = {0};
    switch (token(P)) {
    case T_BEGIN: r.kind = 'B'; advance(P); break;
    case T_END: r.kind = 'E'; advance(P); break;
    case T_BEGINFILE: case T_ENDFILE:
        r.kind = token(P) == T_BEGINFILE ? 'f' : 'e';
        awk_lint(A, P->L.token_line, "`%s' is a gawk extension", rule_name(r.kind));
        advance(P);
        break;
    case CH('{'): break;
    default:
        if (!(r.pattern = awk_parse_expression(P))) return -1;
        if (accept(P, CH(','))) { skip_newlines(P); if (!(r.end = awk_parse_expression(P))) return -1; }
    }
    P->rule = r.kind ? r.kind : 'r';
    if (token(P) == CH('{')) { if (!(r.body = awk_parse_block(P))) return -1; }
    else if (r.kind && token(P) != T_NEWLINE && token(P) != T_EOF) return syntax_error(P), -1;
    else if (r.kind) {
        awk_source_place(A, token(P) == T_NEWLINE && P->L.p < P->L.end ? P->L.line : P->L.token_line);
        io_printf(A->t->err, "%s blocks must have an action part\n", rule_name(r.kind));
        P->L.error = 1;
        return -1;
    }
    if (A->rule_count == A->rule_cap) {
        A->rule_cap = A->rule_cap ? A->rule_cap * 2 : 16;
        A->rules = tool_realloc(A->t, A->rules, (size_t)A->rule_cap * sizeof *A->rules);
    }
    A->rules[A->rule_count++] = r;
    return 0;
}

/* @namespace "NAME" */
static int namespace_directive(parser *P) {
    advance(P);
    advance(P);
    if (token(P) != T_STR) return syntax_error(P), -1;
    P->space = strcmp(P->L.text.p, "awk") ? tool_strdup(P->A->t, P->L.text.p) : NULL;
    advance(P);
    return 0;
}

static int is_namespace(const parser *P) {
    return token(P) == CH('@') && P->L.end - P->L.p > 9 && !memcmp(P->L.p, "namespace", 9);
}

/* The rules and functions of one part: each must be whole in it. */
static int read_part(parser *P) {
    advance(P);
    for (skip_newlines(P); token(P) != T_EOF && !P->L.error; skip_newlines(P)) {
        if (token(P) == CH(';')) {
            awk_source_place(P->A, P->L.token_line);
            io_puts(P->A->t->err, "each rule must have a pattern or an action part\n");
            return 1;
        }
        if ((token(P) == T_FUNCTION ? function_definition(P) : is_namespace(P) ? namespace_directive(P) : rule(P)) < 0) {
            if (!P->L.error) syntax_error(P);
            return P->L.error;
        }
        P->depth = 0;
        accept(P, CH(';'));
    }
    return P->L.error;
}

/* What can be told only when all is read: functions that are called but not there, and parameters that are called like one. */
static int check_functions(awk *A) {
    for (int i = 0; i < A->func_count; i++) {
        const afunc *f = &A->funcs[i];
        for (int k = 0; A->is_posix && k < f->params; k++)
            if (awk_function_named(A, f->param_names[k]))
                awk_complain(A, 0, "function `%s': cannot use function `%s' as a parameter name", f->name, f->param_names[k]);
        if (!f->is_defined) awk_lint(A, 0, "function `%s' called but never defined", f->name);
    }
    awk_lint_shadowing(A);
    return A->errors ? 1 : A->fatal ? A->exit_code : 0;
}

int awk_parse(awk *A, const char *text, size_t n) {
    parser P = {.A = A, .L = {.A = A, .start = text, .text_start = text, .line = 1, .text = {.t = A->t}}};
    const char **spaces = NULL;         /* the namespace at each depth of inclusion */
    int depths = 0;
    buffer_puts(&P.L.text, "");
    for (int i = 0; i < A->part_count; i++) {
        const apart *part = &A->parts[i];
        while (depths <= part->depth) {
            spaces = tool_realloc(A->t, spaces, ((size_t)depths + 1) * sizeof *spaces);
            spaces[depths++] = NULL;
        }
        P.space = part->first == 1 ? NULL : spaces[part->depth];
        P.L.part = part;
        P.L.p = P.L.start = text + part->start;
        P.L.end = text + (i + 1 < A->part_count ? A->parts[i + 1].start : n);
        P.L.line = part->line;
        P.L.token = T_NEWLINE;
        int failed = read_part(&P);
        if (failed) return failed;
        spaces[part->depth] = P.space;
    }
    return check_functions(A);
}
