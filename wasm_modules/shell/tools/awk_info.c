/* awk_info.c - PROCINFO, SYMTAB and FUNCTAB: what gawk says of itself, of the program and of who runs it. PROCINFO is filled only
 * for programs that name it. SYMTAB holds the names alone; its elements are the variables (awk_array_cell).
 *
 * INVARIANT: PROCINFO["FS"] follows split_mode; both are set by awk_split_by once the program runs.
 */
#include "awk.h"
#include "users.h"
#include <string.h>

static cell text_cell(awk *A, const char *text) { return cell_str(astr_new(A, text, strlen(text))); }

static array *inner(awk *A, array *info, const char *name) {
    array *made = amap_new(A);
    *amap_at(A, info, name) = (cell){.type = V_ARRAY, .arr = made};
    return made;
}

static const char *splitter(const awk *A) {
    return A->split_mode == 'P' ? "FPAT" : A->split_mode == 'W' ? "FIELDWIDTHS" : A->split_mode == 'C' ? "CSV" : "FS";
}

static void put_text(awk *A, array *to, const char *name, const char *text) {
    cell *c = amap_at(A, to, name);
    cell_drop(A, *c);
    *c = text_cell(A, text);
}

void awk_split_by(awk *A, int mode) {
    A->split_mode = mode;
    if (A->uses_info && A->vars[VAR_PROCINFO].type & V_ARRAY) put_text(A, A->vars[VAR_PROCINFO].arr, "FS", splitter(A));
}

static const char *kind_of(const cell *c) { return c->type & V_ARRAY ? "array" : c->type ? "scalar" : "untyped"; }

void awk_info_fill(awk *A, int argc, char **argv) {
    static const struct { const char *name, *text; } texts[] = {{"version", "5.2.1"}, {"strftime", "%a %b %e %H:%M:%S %Z %Y"},
        {"platform", "posix"}, {"gmp_version", "GNU MP 6.2.1"}, {"mpfr_version", "GNU MPFR 4.2.0"}, {"pma", "Avon 8-g1"}};
    array *info = A->vars[VAR_PROCINFO].arr, *words = inner(A, info, "argv"), *names = inner(A, info, "identifiers");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) put_text(A, info, texts[i].name, texts[i].text);
    put_text(A, info, "FS", splitter(A));
    const struct { const char *name; double n; } numbers[] = {{"api_major", 3}, {"api_minor", 2}, {"prec_min", 1},
        {"prec_max", 9223372036854775551.0}, {"uid", user_id()}, {"euid", user_id()}, {"gid", group_id()}, {"egid", group_id()},
        {"pid", 2}, {"ppid", 1}, {"pgrpid", 1}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) *amap_at(A, info, numbers[i].name) = cell_num(numbers[i].n);
    for (int i = 0; i < argc; i++)
        *amap_at(A, words, tool_format(A->t, "%d", i)) = cell_input(A, astr_new(A, argv[i], strlen(argv[i])));
    for (int i = 0; i < A->var_count; i++) put_text(A, names, A->var_names[i], kind_of(&A->vars[i]));
    for (int i = 0; i < A->func_count; i++) if (A->funcs[i].is_defined) put_text(A, names, A->funcs[i].name, "user");
    for (int i = 0; i < awk_builtin_count(); i++) put_text(A, names, awk_builtin_name(i), "builtin");
}

void awk_tables_fill(awk *A) {
    array *names = A->vars[VAR_SYMTAB].arr, *functions = A->vars[VAR_FUNCTAB].arr;
    for (int i = 0; i < A->var_count; i++) if (i != VAR_SYMTAB && i != VAR_FUNCTAB) amap_at(A, names, A->var_names[i]);
    for (int i = 0; i < A->func_count; i++) if (A->funcs[i].is_defined) put_text(A, functions, A->funcs[i].name, A->funcs[i].name);
    for (int i = 0; i < awk_builtin_count(); i++) put_text(A, functions, awk_builtin_name(i), awk_builtin_name(i));
}
