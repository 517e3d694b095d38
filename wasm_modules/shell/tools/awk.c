/* awk.c - awk's command line: -F -v -f, operands, and the variables that are there from the start. */
#include "awk.h"
#include "../utf8.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void set_text(awk *A, int v, const char *text) { A->vars[v] = cell_str(astr_new(A, text, strlen(text))); }

static void make_variables(awk *A) {
    static const char *const names[] = {"NF", "NR", "FNR", "FS", "OFS", "RS", "ORS", "SUBSEP", "CONVFMT", "OFMT", "RSTART",
        "RLENGTH", "FILENAME", "ENVIRON", "ARGC", "ARGV", "RT", "IGNORECASE", "FIELDWIDTHS", "FPAT", "PROCINFO", "ERRNO"};
    for (int i = 0; i < VAR_SPECIAL; i++) awk_variable(A, names[i], strlen(names[i]));
    A->vars[VAR_NF] = A->vars[VAR_NR] = A->vars[VAR_FNR] = A->vars[VAR_RSTART] = A->vars[VAR_IGNORECASE] = cell_num(0);
    A->vars[VAR_RLENGTH] = cell_num(-1);
    set_text(A, VAR_FS, " ");
    set_text(A, VAR_OFS, " ");
    set_text(A, VAR_RS, "\n");
    set_text(A, VAR_ORS, "\n");
    set_text(A, VAR_SUBSEP, "\034");
    set_text(A, VAR_CONVFMT, "%.6g");
    set_text(A, VAR_OFMT, "%.6g");
    set_text(A, VAR_FILENAME, "");
    set_text(A, VAR_FPAT, "[^[:space:]]+");
    A->vars[VAR_ENVIRON] = (cell){.type = V_ARRAY, .arr = amap_new(A)};
    A->vars[VAR_PROCINFO] = (cell){.type = V_ARRAY, .arr = amap_new(A)};
    A->vars[VAR_ARGV] = (cell){.type = V_ARRAY, .arr = amap_new(A)};
    for (char **e = A->t->environ ? A->t->environ(A->t) : NULL; e && *e; e++) {
        size_t n = strcspn(*e, "=");
        if (!(*e)[n]) continue;
        *amap_at(A, A->vars[VAR_ENVIRON].arr, tool_strndup(A->t, *e, n))
            = cell_input(A, astr_new(A, *e + n + 1, strlen(*e + n + 1)));
    }
}

static int usage(tool *t, io *to) {
    io_printf(to,
        "Usage: %s [POSIX or GNU style options] -f progfile [--] file ...\nUsage: %s [POSIX or GNU style options] [--] "
        "'program' file ...\n",
        t->name, t->name);
    return 1;
}

static int set_option_variable(awk *A, const char *arg) {
    const char *eq = strchr(arg, '=');
    if (!eq) {
        tool_fail(A->t, 1, "`%s' argument to `-v' not in `var=value' form\n", arg);
        return usage(A->t, A->t->err);
    }
    int ok = eq > arg && (isalpha((unsigned char)*arg) || *arg == '_');
    for (const char *p = arg; ok && p < eq; p++) ok = isalnum((unsigned char)*p) || *p == '_';
    if (!ok) return tool_fail(A->t, 2, "fatal: `%.*s' is not a legal variable name", (int)(eq - arg), arg);
    int v = awk_variable(A, arg, (size_t)(eq - arg));
    cell_drop(A, A->vars[v]);
    A->vars[v] = cell_input(A, awk_unescape(A, eq + 1));
    if (v == VAR_FPAT) A->split_mode = 'P';
    if (v == VAR_FIELDWIDTHS) A->split_mode = 'W';
    if (v == VAR_FS) A->split_mode = 'F';
    return 0;
}

static void set_separator(awk *A, const char *arg) {
    cell_drop(A, A->vars[VAR_FS]);
    A->split_mode = 'F';
    A->vars[VAR_FS] = cell_str(awk_unescape(A, arg));
}

int tool_awk(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"field-separator", 1, 'F'}, {"assign", 1, 'v'}, {"file", 1, 'f'}, {"source", 1, 'e'},
        {"include", 1, 'i'}, {"version", 0, 'V'}, {"posix", 0, 'P'}, {"traditional", 0, 'P'}, {"re-interval", 0, 'P'},
        {"sandbox", 0, 'S'}, {"csv", 0, 'k'}, {"characters-as-bytes", 0, 'b'}, {"non-decimal-data", 0, 'n'}, {"lint", 2, 'P'},
        {"bignum", 0, 'P'}, {"help", 0, 'h'}, {"optimize", 0, 'P'}, {"no-optimize", 0, 'P'}, {"use-lc-numeric", 0, 'P'},
        {"lint-old", 0, 'P'}, {0, 0, 0}};
    awk state = {.t = t, .pool = {.t = t}, .program = {.t = t}, .split_mode = 'F', .seed_number = 1}, *A = &state;
    int have = 0, c;
    tool_opts o;
    A->bytes = utf8_bytes;
    A->empty = astr_new(A, "", 0);
    A->record = astr_ref(A->empty);
    make_variables(A);
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "+F:v:f:e:E:i:VPbknrSOtMchsNW:", longs)) != -1;) switch (c) {
        case 'F': set_separator(A, o.arg); break;
        case 'v': if ((c = set_option_variable(A, o.arg))) return c; break;
        case 'b': A->bytes = 1; break;
        case 'S': A->is_sandboxed = 1; break;
        case 'n': A->any_base = 1; break;
        case 'k': A->split_mode = 'C'; break;
        case 'f': case 'E': if ((c = awk_source_file(A, o.arg))) return c; have = 1; break;
        case 'e': if ((c = awk_source_text(A, o.arg))) return c; have = 1; break;
        case 'W':
            if (strcmp(o.arg, "version")) break;
            __attribute__((fallthrough));
        case 'V': io_puts(t->out, "GNU Awk 5.2.1, API 3.2, PMA Avon 8-g1, (GNU MPFR 4.2.0, GNU MP 6.2.1)\n"); return 0;
        case 'i':
            if (!strcmp(o.arg, "inplace")) A->in_place = 1;
            else if ((c = awk_source_file(A, o.arg))) return c;
            break;
        case 'h': usage(t, t->out); return 0;
        case '?': return 1;
        default: break;
    }
    if (!have) {
        if (o.index >= argc) return usage(t, t->err);
        int bad = awk_source_text(A, argv[o.index++]);
        if (bad) return bad;
    }
    buffer_puts(&A->program, "");
    int bad = awk_parse(A, A->program.p, A->program.n);
    if (bad) return bad;
    if (A->uses_info) awk_info_fill(A, argc, argv);
    awk_tables_fill(A);
    *amap_at(A, A->vars[VAR_ARGV].arr, "0") = cell_str(astr_new(A, t->name, strlen(t->name)));
    for (int i = o.index; i < argc; i++)
        *amap_at(A, A->vars[VAR_ARGV].arr, tool_format(t, "%d", i - o.index + 1))
            = cell_input(A, astr_new(A, argv[i], strlen(argv[i])));
    A->vars[VAR_ARGC] = cell_num(argc - o.index + 1);
    A->next_arg = 1;
    int status = awk_run(A);
    return status;
}

int tool_gawk(tool *t, int argc, char **argv) { return tool_awk(t, argc, argv); }
int tool_mawk(tool *t, int argc, char **argv) { return tool_awk(t, argc, argv); }
