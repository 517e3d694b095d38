/* b_set.c - set, shift, shopt, getopts: options and positional parameters. */
#include "builtins.h"
#include "options.h"
#include <stdlib.h>
#include <string.h>

void set_args(char **v, int n)
{
    char **own = xmalloc(((size_t)n + 1) * sizeof *own);
    for (int i = 0; i < n; i++) own[i] = xstrdup(v[i]);
    own[n] = NULL;
    if (sh.own_args && sh.own_level == sh.level) { for (char **a = sh.own_args; *a; a++) free(*a); free(sh.own_args); }
    sh.own_args = sh.args = own;
    sh.own_level = sh.level;
    sh.nargs = n;
}

static void list_options(bool reusable)
{
    for (const option *o = set_options; o->name; o++) {
        if (reusable) out_printf("set %co %s\n", sh.opt[o->index] ? '-' : '+', o->name);
        else out_printf("%-15s\t%s\n", o->name, sh.opt[o->index] ? "on" : "off");
    }
}

/* Whether all letters are options; with one that is none, nothing is set. */
static bool known_letters(int argc, char **argv)
{
    for (int i = 1; i < argc && (argv[i][0] == '-' || argv[i][0] == '+') && argv[i][1] && strcmp(argv[i], "--"); i++) {
        char sign = argv[i][0];
        bool named = false;
        for (char *c = argv[i] + 1; *c; c++) {
            const option *o = set_options;
            while (o->name && o->letter != *c) o++;
            named |= *c == 'o';
            if (o->name || *c == 'o' || (*c == 'r' && sign == '-')) continue;
            b_error("set", 2, "%c%c: invalid option", sign, *c);
            b_usage("set", "set [-abefhkmnptuvxBCEHPT] [-o option-name] [--] [-] [arg ...]");
            return false;
        }
        i += named;
    }
    return true;
}

int b_set(int argc, char **argv)
{
    if (argc == 1) {
        char *args[] = { "declare", NULL };
        int depth = sh.depth;
        b_declare(1, args);
        sh.depth = depth;
        func **f;
        size_t n = funcs_all(&f);
        strbuf b = { .a = &sh.tmp };
        for (size_t i = 0; i < n; i++) print_function(&b, f[i]);
        if (b.len) out_write(b.s, b.len);
        return 0;
    }
    if (!known_letters(argc, argv)) return 2;
    int i = 1;
    for (; i < argc && (argv[i][0] == '-' || argv[i][0] == '+'); i++) {
        bool on = argv[i][0] == '-';
        if (!strcmp(argv[i], "--")) { set_args(argv + i + 1, argc - i - 1); return 0; }
        if (!argv[i][1]) {
            if (on) {
                sh.opt[O_XTRACE] = sh.opt[O_VERBOSE] = 0;
                i++;
                if (i < argc) set_args(argv + i, argc - i);
                return 0;
            }
            break;
        }
        for (char *c = argv[i] + 1; *c; c++) {
            if (*c == 'o') {
                if (i + 1 >= argc) { list_options(!on); continue; }
                if (!opt_set(argv[++i], on)) return b_error("set", 2, "%s: invalid option name", argv[i]);
                break;
            }
            if (*c == 'r') { shell_restrict(); continue; }
            const option *o = set_options;
            while (o->letter != *c) o++;
            sh.opt[o->index] = on;
        }
    }
    if (i < argc) set_args(argv + i, argc - i);
    return 0;
}

int b_shift(int argc, char **argv)
{
    int64_t n = 1;
    if (argc > 1 && !strcmp(argv[1], "--")) { argv++; argc--; }
    if (argc > 2) { b_error("shift", 1, "too many arguments"); sh_abandon(1); return 1; }
    if (argc > 1 && !parse_int(argv[1], &n)) return b_error("shift", 1, "%s: numeric argument required", argv[1]);
    if (n < 0) return b_error("shift", 1, "%s: shift count out of range", argv[1]);
    if (n > sh.nargs && (sh.plain || sh.shopt[option_find(shopt_options, "shift_verbose")->index]))
        b_error("shift", 1, "%lld: shift count out of range", (long long)n);
    if (n > sh.nargs) return 1;
    sh.args += n;
    sh.nargs -= (int)n;
    return 0;
}

int b_shopt(int argc, char **argv)
{
    opts o = OPTS("shopt [-pqsu] [-o] [optname ...]");
    bool set = false, unset = false, quiet = false, print = false, set_o = false;
    for (int c; (c = next_opt(&o, "psuqo"));) {
        if (c == '?') return 2;
        if (c == 's') set = true;
        if (c == 'u') unset = true;
        if (c == 'q') quiet = true;
        if (c == 'p') print = true;
        if (c == 'o') set_o = true;
    }
    if (set && unset) return b_error("shopt", 1, "cannot set and unset shell options simultaneously");
    const option *table = set_o ? set_options : shopt_options;
    uint8_t *values = set_o ? sh.opt : sh.shopt;
    int status = 0;
    if (o.at >= argc) {
        for (const option *x = table; x->name; x++) {
            if ((set && !values[x->index]) || (unset && values[x->index])) continue;
            if (quiet) continue;
            if (print)
                out_printf("%s %s%s\n", set_o ? "set" : "shopt",
                           set_o              ? (values[x->index] ? "-o " : "+o ")
                           : values[x->index] ? "-s "
                                              : "-u ",
                           x->name);
            else out_printf("%-15s\t%s\n", x->name, values[x->index] ? "on" : "off");
        }
        return 0;
    }
    for (int i = o.at; i < argc; i++) {
        const option *x = option_find(table, argv[i]);
        if (!x) { status = b_error("shopt", 1, "%s: invalid %soption name", argv[i], set_o ? "" : "shell "); continue; }
        if (set || unset) {
            values[x->index] = set;
            if (!strncmp(x->name, "compat", 6)) var_set("BASH_COMPAT", set ? x->name + 6 : "");
            continue;
        }
        if (!values[x->index]) status = 1;
        if (quiet) continue;
        if (print)
            out_printf("%s %s%s\n", set_o ? "set" : "shopt",
                       set_o              ? (values[x->index] ? "-o " : "+o ")
                       : values[x->index] ? "-s "
                                          : "-u ",
                       x->name);
        else out_printf("%-15s\t%s\n", x->name, values[x->index] ? "on" : "off");
    }
    return status;
}

int b_getopts(int argc, char **argv)
{
    opts o = OPTS("getopts optstring name [arg ...]");
    if (argc > 1 && strcmp(argv[1], "-") && next_opt(&o, "")) return 2;
    argc -= o.at - 1;
    argv += o.at - 1;
    if (argc < 3) return b_usage("getopts", o.usage);
    const char *spec = argv[1], *name = argv[2];
    char **v = argc > 3 ? argv + 3 : sh.args;
    int n = argc > 3 ? argc - 3 : sh.nargs;
    bool silent = spec[0] == ':';
    if (silent) spec++;
    int64_t ind = 1;
    const char *ind_text = var_get("OPTIND"), *opterr = var_get("OPTERR");
    if (!ind_text || !parse_int(ind_text, &ind) || ind < 1) ind = 1;
    if (!is_name(name)) return b_error("getopts", 1, "`%s': not a valid identifier", name);
    int at = sh.getopts_at ? sh.getopts_at : 1;
    if (ind > n || v[ind - 1][0] != '-' || !v[ind - 1][1] || !strcmp(v[ind - 1], "--")) {
        if (ind <= n && !strcmp(v[ind - 1], "--")) ind++;
        var_set_int("OPTIND", ind);
        sh.getopts_at = 0;
        var_set(name, "?");
        var_unset(slot_of("OPTARG"), 1);
        return 1;
    }
    char *cur = v[ind - 1];
    if ((size_t)at >= strlen(cur)) at = 1;
    char c = cur[at++], opt[2] = { c, 0 };
    const char *found = c == ':' ? NULL : strchr(spec, c);
    bool last = !cur[at];
    const char *arg = NULL;
    if (!found) {
        if (silent) arg = opt;
        else if (!opterr || strcmp(opterr, "0")) {
            strbuf b = { .a = &sh.tmp };
            sb_printf(&b, "%s: illegal option -- %c\n", sh.arg0, c);
            err_puts(sb_str(&b));
        }
        var_set(name, "?");
    } else if (found[1] == ':') {
        if (!last) { arg = cur + at; last = true; }
        else if (ind < n) { arg = v[ind]; ind++; }
        else {
            if (silent) { var_set(name, ":"); arg = opt; }
            else {
                if (!opterr || strcmp(opterr, "0")) {
                    strbuf b = { .a = &sh.tmp };
                    sb_printf(&b, "%s: option requires an argument -- %c\n", sh.arg0, c);
                    err_puts(sb_str(&b));
                }
                var_set(name, "?");
            }
            goto done;
        }
        last = true;
        var_set(name, opt);
    } else if (!var_set(name, opt)) return 2;
done:
    if (arg) var_set("OPTARG", arg); else var_unset(slot_of("OPTARG"), 1);
    if (last) { ind++; at = 0; }
    var_set_int("OPTIND", ind);
    sh.getopts_at = at;
    return 0;
}
