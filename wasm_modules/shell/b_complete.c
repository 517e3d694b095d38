/* b_complete.c - complete and compopt: how a command's words would be completed. Nobody types here, so it is only kept and shown.
 *
 * A specification lies in an associative array with a name that no script can use, so that a subshell's changes are undone like
 * those of any variable: "OPTIONS ACTIONS rest", two bit sets and the text that complete -p shows behind them.
 */
#include "builtins.h"
#include "complete.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char STORE[] = " completions";

static const char *const options[] = { "bashdefault", "default", "dirnames", "filenames",
                                       "noquote",     "nosort",  "nospace",  "plusdirs" };
enum { OPTIONS = sizeof options / sizeof *options };

static const struct { char letter; const char *name;
} actions[] = { { 'a', "alias" },   { 'b', "builtin" },  { 'c', "command" },  { 'd', "directory" }, { 'e', "export" },
                { 'f', "file" },    { 'g', "group" },    { 'j', "job" },      { 'k', "keyword" },   { 's', "service" },
                { 'u', "user" },    { 'v', "variable" }, { 0, "arrayvar" },   { 0, "binding" },     { 0, "disabled" },
                { 0, "enabled" },   { 0, "function" },   { 0, "helptopic" },  { 0, "hostname" },    { 0, "running" },
                { 0, "setopt" },    { 0, "shopt" },      { 0, "signal" },     { 0, "stopped" } };
enum { ACTIONS = sizeof actions / sizeof *actions };

unsigned completion_option(const char *name)
{
    for (unsigned i = 0; i < OPTIONS; i++) if (!strcmp(options[i], name)) return 1u << i;
    return 0;
}

unsigned completion_action(const char *name)
{
    for (unsigned i = 0; i < ACTIONS; i++) if (!strcmp(actions[i].name, name)) return 1u << i;
    return 0;
}

unsigned completion_letter(int letter)
{
    for (unsigned i = 0; i < ACTIONS && actions[i].letter; i++) if (actions[i].letter == letter) return 1u << i;
    return 0;
}

static var *store(void)
{
    slot *s = slot_find(STORE);
    return s && s->top && s->top->flags & V_ASSOC ? s->top : NULL;
}

static pair *spec_of(const char *name) { return store() ? assoc_find(store()->u.h, name) : NULL; }

static void keep(const char *name, unsigned opts_on, unsigned acts, const char *rest)
{
    slot *s = slot_of(STORE);
    strbuf b = { .a = &sh.tmp };
    sb_printf(&b, "%u %u %s", opts_on, acts, rest);
    var *v = var_writable(s, -1);
    var_make_array(s, v, 1);
    assoc_set(v->u.h, name, xstrdup(sb_str(&b)));
}

static void show(pair *p)
{
    unsigned opts_on = 0, acts = 0;
    int used = 0;
    sscanf(p->val, "%u %u %n", &opts_on, &acts, &used);
    out_puts("complete ");
    for (unsigned i = 0; i < OPTIONS; i++) if (opts_on >> i & 1) out_printf("-o %s ", options[i]);
    for (unsigned i = 0; i < ACTIONS; i++) {
        if (!(acts >> i & 1)) continue;
        if (actions[i].letter) out_printf("-%c ", actions[i].letter); else out_printf("-A %s ", actions[i].name);
    }
    out_printf("%s%s\n", p->val + used, p->key);
}

static int by_name(const void *a, const void *b) { return strcmp((*(pair *const *)a)->key, (*(pair *const *)b)->key); }

static void show_all(void)
{
    if (!store()) return;
    pair **list = assoc_list(store()->u.h);
    size_t n = store()->u.h->n;
    qsort(list, n, sizeof *list, by_name);
    for (size_t i = 0; i < n; i++) show(list[i]);
}

static void forget(const char *name)
{
    var *v = store() ? var_writable(slot_of(STORE), -1) : NULL;
    if (v && name) assoc_unset(v->u.h, name);
    else if (v) { assoc_free(v->u.h); v->u.h = assoc_new(); }
}

static void add_quoted(strbuf *b, char letter, const char *text)
{
    if (!text) return;
    sb_printf(b, "-%c ", letter);
    if (letter == 'F') sb_puts(b, text); else quote_plain(b, text);
    sb_putc(b, ' ');
}

int b_complete(int argc, char **argv)
{
    opts o = OPTS("complete [-abcdefgjksuv] [-pr] [-DEI] [-o option] [-A action] [-G globpat] [-W wordlist] [-F function] "
                  "[-C command] [-X filterpat] [-P prefix] [-S suffix] [name ...]");
    unsigned opts_on = 0, acts = 0;
    const char *text[256] = { NULL };
    bool print = argc == 1, removes = false;
    strlist names = { .a = &sh.tmp };
    for (int c; (c = next_opt(&o, "abcdefgjksuvprDEIo:A:G:W:F:C:X:P:S:"));) {
        if (c == '?') return 2;
        if (c == 'o' && !completion_option(o.arg)) return b_error("complete", 2, "%s: invalid option name", o.arg);
        if (c == 'A' && !completion_action(o.arg)) return b_error("complete", 2, "%s: invalid action name", o.arg);
        if (c == 'p') print = true;
        else if (c == 'r') removes = true;
        else if (c == 'o') opts_on |= completion_option(o.arg);
        else if (c == 'A') acts |= completion_action(o.arg);
        else if (strchr("DEI", c)) sl_add(&names, c == 'D' ? "-D" : c == 'E' ? "-E" : "-I");
        else if (completion_letter(c)) acts |= completion_letter(c);
        else text[c] = o.arg;
    }
    if (!names.n) for (int i = o.at; i < argc; i++) sl_add(&names, argv[i]);
    int status = 0;
    if ((print || removes) && !names.n) {
        if (print) show_all(); else forget(NULL);
        return 0;
    }
    if (!names.n) return b_usage("complete", o.usage);
    for (size_t i = 0; i < names.n; i++) {
        if (print || removes) {
            pair *p = spec_of(names.v[i]);
            if (!p) status = b_error("complete", 1, "%s: no completion specification", names.v[i]);
            else if (print) show(p);
            else forget(names.v[i]);
            continue;
        }
        strbuf b = { .a = &sh.tmp };
        for (const char *c = "GWPSXCF"; *c; c++) add_quoted(&b, *c, text[(unsigned char)*c]);
        keep(names.v[i], opts_on, acts, sb_str(&b));
    }
    return status;
}

int b_compopt(int argc, char **argv)
{
    unsigned on = 0, off = 0;
    int i = 1, status = 0;
    for (; i + 1 < argc && (!strcmp(argv[i], "-o") || !strcmp(argv[i], "+o")); i += 2) {
        unsigned bit = completion_option(argv[i + 1]);
        if (!bit) return b_error("compopt", 1, "%s: invalid option name", argv[i + 1]);
        if (*argv[i] == '-') on |= bit; else off |= bit;
    }
    if (i >= argc) return b_error("compopt", 1, "not currently executing completion function");
    for (; i < argc; i++) {
        pair *p = spec_of(argv[i]);
        unsigned opts_on = 0, acts = 0;
        int used = 0;
        if (!p) { status = b_error("compopt", 1, "%s: no completion specification", argv[i]); continue; }
        sscanf(p->val, "%u %u %n", &opts_on, &acts, &used);
        keep(argv[i], (opts_on | on) & ~off, acts, arena_strdup(&sh.tmp, p->val + used));
    }
    return status;
}
