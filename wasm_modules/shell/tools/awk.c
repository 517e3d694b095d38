/* awk.c - awk's command line: -F -v -f, operands, and the variables that are there from the start. */
#include "awk_message.h"
#include "../utf8.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void set_text(awk *A, int v, const char *text) { A->vars[v] = cell_str(astr_new(A, text, strlen(text))); }

static void make_variables(awk *A) {
    static const char *const names[] = {"NF", "NR", "FNR", "FS", "OFS", "RS", "ORS", "SUBSEP", "CONVFMT", "OFMT", "RSTART",
        "RLENGTH", "FILENAME", "ENVIRON", "ARGC", "ARGV", "RT", "IGNORECASE", "FIELDWIDTHS", "FPAT", "PROCINFO", "ERRNO", "ARGIND",
        "BINMODE", "LINT", "PREC", "ROUNDMODE", "TEXTDOMAIN", "SYMTAB", "FUNCTAB"};
    static const unsigned char zeros[] = {VAR_NF, VAR_NR, VAR_FNR, VAR_RSTART, VAR_RLENGTH, VAR_IGNORECASE, VAR_ARGIND, VAR_BINMODE, VAR_LINT};
    for (int i = 0; i < VAR_SPECIAL; i++) awk_variable(A, names[i], strlen(names[i]));
    for (size_t i = 0; i < sizeof zeros; i++) A->vars[zeros[i]] = cell_num(0);
    A->vars[VAR_PREC] = cell_num(53);
    set_text(A, VAR_ROUNDMODE, "N");
    set_text(A, VAR_TEXTDOMAIN, "messages");
    set_text(A, VAR_RT, "");
    set_text(A, VAR_ERRNO, "");
    set_text(A, VAR_FIELDWIDTHS, "");
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
    A->vars[VAR_SYMTAB] = (cell){.type = V_ARRAY, .arr = amap_new(A)};
    A->vars[VAR_FUNCTAB] = (cell){.type = V_ARRAY, .arr = amap_new(A)};
    for (char **e = A->t->environ ? A->t->environ(A->t) : NULL; e && *e; e++) {
        size_t n = strcspn(*e, "=");
        if (!(*e)[n]) continue;
        *amap_at(A, A->vars[VAR_ENVIRON].arr, tool_strndup(A->t, *e, n))
            = cell_input(A, astr_new(A, *e + n + 1, strlen(*e + n + 1)));
    }
}

/* What is wrong with the options, and how they are. */
static int usage(tool *t, io *to) {
    io_printf(to,
        "Usage: %s [POSIX or GNU style options] -f progfile [--] file ...\nUsage: %s [POSIX or GNU style options] [--] "
        "'program' file ...\n",
        t->name, t->name);
    return 1;
}

/* NAME, or SPACE::NAME. 0 when it is neither, -1 after a message about its colons. */
static int is_variable_name(awk *A, const char *name, size_t n) {
    if (!n || !(isalpha((unsigned char)*name) || *name == '_')) return 0;
    for (size_t i = 0; i < n; i++) if (!isalnum((unsigned char)name[i]) && name[i] != '_' && name[i] != ':') return 0;
    const char *colon = memchr(name, ':', n), *end = name + n;
    if (!colon) return 1;
    if (end - colon < 2 || colon[1] != ':') {
        awk_complain(A, 0, "identifier %.*s: namespace separator is two colons, not one", (int)n, name);
        return -1;
    }
    if (end - colon > 2 && colon[2] != ':' && !isdigit((unsigned char)colon[2]) && !memchr(colon + 2, ':', (size_t)(end - colon) - 2))
        return 1;
    awk_complain(A, 0, "qualified identifier `%.*s' is badly formed", (int)n, name);
    return -1;
}

/* The value of an assignment on the command line: @/REGEX/, or text that may look like a number. */
cell awk_option_value(awk *A, const char *text) {
    size_t n = strlen(text);
    if (n >= 3 && !strncmp(text, "@/", 2) && text[n - 1] == '/' && !A->is_traditional)
        return (cell){.type = V_REGEX, .str = astr_new(A, text + 2, n - 3)};
    return cell_input(A, awk_unescape(A, text));
}

static int set_option_variable(awk *A, const char *arg) {
    const char *eq = strchr(arg, '=');
    if (!eq) {
        tool_fail(A->t, 1, "`%s' argument to `-v' not in `var=value' form\n", arg);
        return usage(A->t, A->t->err);
    }
    int ok = is_variable_name(A, arg, (size_t)(eq - arg));
    if (ok < 0) return 0;
    if (!strncmp(arg, "awk::", 5)) arg += 5;
    if (awk_builtin_named(arg, (size_t)(eq - arg)) >= 0)
        return tool_fail(A->t, 2, "fatal: cannot use gawk builtin `%.*s' as variable name", (int)(eq - arg), arg);
    if (!ok) return tool_fail(A->t, 2, "fatal: `%.*s' is not a legal variable name", (int)(eq - arg), arg);
    int v = awk_variable(A, arg, (size_t)(eq - arg));
    cell_drop(A, A->vars[v]);
    A->vars[v] = awk_option_value(A, eq + 1);
    if (v == VAR_FPAT) A->split_mode = 'P';
    if (v == VAR_FIELDWIDTHS) A->split_mode = 'W';
    if (v == VAR_FS) A->split_mode = 'F';
    if (v == VAR_LINT) awk_lint_set(A);
    return 0;
}

static void set_separator(awk *A, const char *arg) {
    cell_drop(A, A->vars[VAR_FS]);
    A->split_mode = 'F';
    A->vars[VAR_FS] = cell_str(awk_unescape(A, arg));
}

static const char short_options[] = "+F:v:f:e:E:i:l:d::o::p::L::D::VPbknrSOtMchsNgICW:";
static const tool_long long_options[] = {{"field-separator", 1, 'F'}, {"assign", 1, 'v'}, {"file", 1, 'f'}, {"source", 1, 'e'},
    {"exec", 1, 'E'}, {"include", 1, 'i'}, {"load", 1, 'l'}, {"dump-variables", 2, 'd'}, {"version", 0, 'V'}, {"posix", 0, 'P'},
    {"traditional", 0, 'c'}, {"re-interval", 0, 'r'}, {"sandbox", 0, 'S'}, {"csv", 0, 'k'}, {"characters-as-bytes", 0, 'b'},
    {"non-decimal-data", 0, 'n'}, {"lint", 2, 'L'}, {"bignum", 0, 'M'}, {"help", 0, 'h'}, {"optimize", 0, 'O'},
    {"no-optimize", 0, 's'}, {"use-lc-numeric", 0, 'N'}, {"lint-old", 0, 't'}, {0, 0, 0}};

/* What the command line asked for besides the variables and the program's text. */
typedef struct { int have_program; const char *dump; } request;

/* Options that the program is to have follow its file: they begin with one that awk itself does not know. */
static int is_for_program(const tool_opts *o, int argc, char **argv) {
    const char *word = o->index < argc && !o->done ? argv[o->index] : "";
    return word[0] == '-' && word[1] && word[1] != '-' && (word[1] == ':' || !strchr(short_options, word[1]));
}

static int lint_level(const char *how) { return how && !strcmp(how, "fatal") ? LINT_FATAL : LINT_WARN; }

/* One option. -1: go on; else the status to end with. */
static int take_option(awk *A, request *r, int c, const char *arg) {
    int status = 0;
    switch (c) {
    case 'F': set_separator(A, arg); break;
    case 'v': status = set_option_variable(A, arg); break;
    case 'b': A->bytes = 1; break;
    case 'S': A->is_sandboxed = 1; break;
    case 'n': A->any_base = 1; break;
    case 'k': A->split_mode = 'C'; break;
    case 'P': A->is_posix = 1; break;
    case 'c': A->is_traditional = 1; break;
    case 'L':
        if (!arg || strcmp(arg, "no-ext")) A->lint = lint_level(arg);
        break;
    case 'd': r->dump = arg && *arg ? arg : "awkvars.out"; break;
    case 'f': case 'E': status = awk_source_file(A, arg, 'f'); r->have_program = 1; break;
    case 'e': status = awk_source_text(A, arg); r->have_program = 1; break;
    case 'i': if (!strcmp(arg, "inplace")) A->in_place = 1; else status = awk_source_file(A, arg, 'i'); break;
    case 'W':
        if (strcmp(arg, "version")) break;
        __attribute__((fallthrough));
    case 'V': io_puts(A->t->out, "GNU Awk 5.2.1, API 3.2, PMA Avon 8-g1, (GNU MPFR 4.2.0, GNU MP 6.2.1)\n"); return 0;
    case 'h': usage(A->t, A->t->out); return 0;
    case 'l': return tool_fail(A->t, 2, "fatal: cannot open shared library `%s' for reading: No such file or directory", arg);
    case 'o': case 'p': case 'D': case 'g': return tool_fail(A->t, 2, "fatal: -%c is not there: no pretty printer, no debugger", c);
    case '?': return 1;
    }
    return status ? status : -1;
}

static void set_arguments(awk *A, int argc, char **argv) {
    *amap_at(A, A->vars[VAR_ARGV].arr, "0") = cell_str(astr_new(A, A->t->name, strlen(A->t->name)));
    for (int i = 0; i < argc; i++)
        *amap_at(A, A->vars[VAR_ARGV].arr, tool_format(A->t, "%d", i + 1))
            = cell_input(A, astr_new(A, argv[i], strlen(argv[i])));
    A->vars[VAR_ARGC] = cell_num(argc + 1);
    A->next_arg = 1;
}

enum { VARIABLES_LATE = 256 };         /* those that operands may name while the program runs: then none moves any more */

int tool_awk(tool *t, int argc, char **argv) {
    awk state = {.t = t, .pool = {.t = t}, .program = {.t = t}, .split_mode = 'F', .seed_number = 1}, *A = &state;
    request r = {0};
    int c, status;
    tool_opts o;
    A->bytes = utf8_bytes;
    A->is_posix = t->getenv && t->getenv(t, "POSIXLY_CORRECT");
    A->empty = astr_new(A, "", 0);
    A->record = astr_ref(A->empty);
    make_variables(A);
    tool_opts_start(&o, argc, argv);
    while (!(r.have_program && is_for_program(&o, argc, argv)) && (c = tool_opts_next(t, &o, short_options, long_options)) != -1)
        if ((status = take_option(A, &r, c, o.arg)) >= 0) return status;
    if (!r.have_program) {
        if (o.index >= argc) return usage(t, t->err);
        if ((status = awk_source_text(A, argv[o.index++]))) return status;
    }
    buffer_puts(&A->program, "");
    if ((status = awk_source_end(A)) || (status = awk_parse(A, A->program.p, A->program.n))) return status;
    A->var_cap = A->var_count + VARIABLES_LATE;
    A->vars = tool_realloc(t, A->vars, (size_t)A->var_cap * sizeof *A->vars);
    A->var_names = tool_realloc(t, A->var_names, (size_t)A->var_cap * sizeof *A->var_names);
    set_arguments(A, argc - o.index, argv + o.index);
    if (A->uses_info) awk_info_fill(A, argc, argv);
    awk_tables_fill(A);
    status = awk_run(A);
    int dumped = r.dump ? awk_dump(A, r.dump) : 0;
    return status ? status : dumped;
}

int tool_gawk(tool *t, int argc, char **argv) { return tool_awk(t, argc, argv); }
int tool_mawk(tool *t, int argc, char **argv) { return tool_awk(t, argc, argv); }
