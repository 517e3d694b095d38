/* awk_lint.c - what --lint says of a statement or an expression while the program is read: what has no effect, is not portable or
 * is seldom meant.
 */
#include "awk_lint.h"
#include "awk_message.h"
#include <string.h>

static int has_no_effect(const anode *n) {
    if (!n) return 1;
    switch (n->kind) {
    case E_NUM: case E_STR: case E_VAR: case E_LOCAL: return 1;
    case E_REGEX: return n->op != '@';
    case E_GROUP: case E_NOT: case E_NEG: case E_FIELD: return has_no_effect(n->a);
    case E_INDEX:
        for (const anode *k = n->b; k; k = k->next) if (!has_no_effect(k)) return 0;
        return 1;
    case E_AND: case E_OR: case E_BIN: case E_COMPARE: case E_MATCH: case E_NOMATCH: case E_IN: case E_CONCAT:
        return has_no_effect(n->a) && has_no_effect(n->b);
    }
    return 0;
}

void awk_lint_statement(awk *A, const anode *n, int rule) {
    if (!A->lint || !n) return;
    if (n->kind == S_EXPR && has_no_effect(n->a)) awk_lint(A, n->a->line, "statement has no effect");
    if (n->kind == S_PRINT && !n->count && (rule == 'B' || rule == 'E'))
        awk_lint(A, n->line, "plain `print' in BEGIN or END rule should probably be `print \"\"'");
    if (n->kind == S_PRINT && n->b && n->b->kind == E_CONCAT)
        awk_lint(A, n->line, "concatenation as I/O `>' redirection target is ambiguous");
}

void awk_lint_expression(awk *A, const anode *n) {
    if (!A->lint) return;
    int is_regex = n->b && n->b->kind == E_REGEX && n->b->op != '@';
    if (n->kind == E_ASSIGN && is_regex) awk_lint(A, n->line, "regular expression on right of assignment");
    if (n->kind == E_COMPARE && is_regex) awk_lint(A, n->line, "regular expression on right of comparison");
    if ((n->kind == E_MATCH || n->kind == E_NOMATCH) && n->a->kind == E_REGEX)
        awk_lint(A, n->line, "regular expression on left of `~' or `!~' operator");
    if (n->kind == E_BIN && n->a->kind == E_STR && n->b->kind == E_STR)
        awk_lint(A, n->line, "operator `%c' used on two string values", n->op);
}

void awk_lint_shadowing(awk *A) {
    if (!A->lint) return;
    for (int i = 0; i < A->func_count; i++) {
        const afunc *f = &A->funcs[i];
        for (int k = 0; k < f->params; k++)
            for (int v = 0; v < A->var_count; v++)
                if (!strcmp(A->var_names[v], f->param_names[k]))
                    awk_lint(A, f->defined, "function `%s': parameter `%s' shadows global variable", f->name, f->param_names[k]);
    }
}
