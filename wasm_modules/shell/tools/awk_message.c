/* awk_message.c - what awk says on its standard error: fatal errors, warnings and lint, each with its place in the program and the
 * record that is read; and how a message names a variable.
 *
 * While the program runs the place is A->line; a message before or without that has none of its own and gives it as an argument.
 */
#include "awk_message.h"
#include <string.h>

/* "gawk: prog.awk:3: (FILENAME=f FNR=2) " */
static void begin(awk *A, int line) {
    awk_out_flush(A);
    if (line) awk_source_place(A, line); else io_printf(A->t->err, "%s: ", A->t->name);
    double record = A->vars ? cell_number(&A->vars[VAR_FNR]) : 0;
    const cell *file = &A->vars[VAR_FILENAME];
    if (line && record > 0 && A->is_running)
        io_printf(A->t->err, "(FILENAME=%s FNR=%.0f) ", file->type & V_STR && file->str->n ? file->str->text : "-", record);
}

__attribute__((format(printf, 4, 0))) static void say(awk *A, int line, const char *kind, const char *format, va_list args) {
    begin(A, line);
    io_puts(A->t->err, kind);
    io_vprintf(A->t->err, format, args);
    io_putc(A->t->err, '\n');
}

void *awk_fatal(awk *A, const char *format, ...) {
    if (A->fatal) return NULL;
    va_list args;
    va_start(args, format);
    A->fatal = 1;
    A->exit_code = 2;
    say(A, A->line ? A->line : 1, "fatal: ", format, args);
    va_end(args);
    return NULL;
}

void awk_warn(awk *A, int line, const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(A, line, "warning: ", format, args);
    va_end(args);
}

void awk_lint(awk *A, int line, const char *format, ...) {
    if (!A->lint || A->fatal) return;
    va_list args;
    va_start(args, format);
    say(A, line, A->lint == LINT_FATAL ? "fatal: " : "warning: ", format, args);
    va_end(args);
    if (A->lint == LINT_FATAL) { A->fatal = 1; A->exit_code = 2; }
}

void awk_lint_set(awk *A) {
    cell value = cell_copy(A->vars[VAR_LINT]);
    int level = cell_is_number(&value) ? (cell_number(&value) != 0 ? LINT_WARN : LINT_NONE)
                : !value.str->n       ? LINT_NONE
                                      : !strcmp(value.str->text, "fatal") ? LINT_FATAL : LINT_WARN;
    if (!level) awk_lint(A, A->line, "turning off `--lint' due to assignment to `LINT'");
    A->lint = level;
    cell_drop(A, value);
}

void awk_complain(awk *A, int line, const char *format, ...) {
    va_list args;
    va_start(args, format);
    A->errors++;
    say(A, line, "error: ", format, args);
    va_end(args);
}

/* " (from b, from a)": where a parameter's array came from, through all callers. */
static void add_callers(awk *A, buffer *b, const cell *from) {
    int count = 0;
    for (aframe *f = A->frame; from; count++) {
        const char *name = NULL;
        if (from >= A->vars && from < A->vars + A->var_count) name = A->var_names[from - A->vars];
        for (; !name && f; f = f->up)
            if (from >= f->cells && from < f->cells + f->of->params) { name = f->of->param_names[from - f->cells]; break; }
        if (!name) break;
        buffer_printf(b, "%sfrom %s", count ? ", " : " (", name);
        from = f ? from->origin : NULL;
    }
    if (count) { memmove(b->p + b->n, ")", 2); b->n++; }
}

/* The name of the array itself, however the functions on the way to n call it. */
static const char *base_name(awk *A, const anode *n) {
    const char *name = awk_name_of(A, n);
    const char *last = name && n->kind == E_LOCAL ? strrchr(name, ' ') : NULL;
    return last ? tool_strndup(A->t, last + 1, strlen(last) - 2) : name;
}

const char *awk_name_of(awk *A, const anode *n) {
    buffer b = {.t = A->t};
    buffer_puts(&b, "");
    if (n->kind == E_VAR) buffer_puts(&b, A->var_names[n->index]);
    else if (n->kind == E_LOCAL) {
        buffer_puts(&b, A->locals_of->param_names[n->index]);
        buffer_reserve(&b, 2);
        if (A->locals[n->index].type & V_ARRAY) add_callers(A, &b, A->locals[n->index].origin);
    } else if (n->kind == E_INDEX) {
        astr *key = awk_subscript(A, n->b);
        buffer_printf(&b, "%s[\"%s\"]", base_name(A, n->a), key->text);
        astr_unref(A, key);
    } else return NULL;
    return b.p;
}
