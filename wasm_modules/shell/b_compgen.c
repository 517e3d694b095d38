/* b_compgen.c - compgen: the words that a completion would offer. */
#include "builtins.h"
#include "complete.h"
#include "options.h"
#include "tool.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_variable(slot *s, var *v) { return s->name[0] != ' ' && (v->flags & V_SET || v->flags & (V_ARRAY | V_ASSOC)); }
static bool is_array(slot *s, var *v) { return s->name[0] != ' ' && v->flags & (V_ARRAY | V_ASSOC); }
static bool is_exported(slot *s, var *v) { (void)s; return v->flags & V_EXPORT && v->flags & V_SET; }

static void add_variables(strlist *l, bool (*want)(slot *, var *))
{
    slot **v;
    size_t n = slots_all(&v, want);
    for (size_t i = 0; i < n; i++) sl_add(l, v[i]->name);
}

static void add_builtins(strlist *l, bool enabled, bool disabled)
{
    for (size_t i = 0; builtin_table[i].name; i++) {
        bool off = builtin_disabled(builtin_table[i].name);
        if (builtin_table[i].fn != b_bash && (off ? disabled : enabled)) sl_add(l, (char *)builtin_table[i].name);
    }
}

static void add_functions(strlist *l)
{
    func **f;
    size_t n = funcs_all(&f);
    for (size_t i = 0; i < n; i++) sl_add(l, f[i]->name);
}

static void add_aliases(strlist *l) { for (alias *a = sh.aliases; a; a = a->next) sl_add(l, a->name); }

static void add_signals(strlist *l)
{
    for (int n = 0; n < TRAP_MAX; n++) {
        const char *name = signal_name(n);
        strbuf b = { .a = &sh.tmp };
        if (name) { sb_printf(&b, "%s%s", n > 0 && n < TRAP_ERR ? "SIG" : "", name); sl_add(l, sb_str(&b)); }
    }
}

static void add_files(strlist *l, const char *prefix, bool directories)
{
    strbuf b = { .a = &sh.tmp };
    strlist files = { .a = &sh.tmp };
    struct stat st;
    sb_printf(&b, "%s*", pattern_quote(prefix));
    glob_expand(sb_str(&b), &files);
    for (size_t i = 0; i < files.n; i++)
        if (!directories || (stat(files.v[i], &st) == 0 && S_ISDIR(st.st_mode))) sl_add(l, files.v[i]);
}

static void add_actions(strlist *l, unsigned acts, const char *prefix)
{
#define WANTS(name) (acts & completion_action(name))
    bool command = WANTS("command");
    if (WANTS("alias") || command) add_aliases(l);
    if (WANTS("arrayvar")) add_variables(l, is_array);
    if (WANTS("keyword") || command) for (const char *const *k = shell_keywords; *k; k++) sl_add(l, (char *)*k);
    if (WANTS("builtin") || WANTS("helptopic") || command) add_builtins(l, true, true);
    if (WANTS("disabled")) add_builtins(l, false, true);
    if (WANTS("enabled")) add_builtins(l, true, false);
    if (WANTS("export")) add_variables(l, is_exported);
    if (WANTS("function") || command) add_functions(l);
    if (WANTS("setopt")) for (const option *o = set_options; o->name; o++) sl_add(l, (char *)o->name);
    if (WANTS("shopt")) for (const option *o = shopt_options; o->name; o++) sl_add(l, (char *)o->name);
    if (WANTS("signal")) add_signals(l);
    if (WANTS("variable")) add_variables(l, is_variable);
    if (command) for (const tool_entry *t = tool_table; t->name; t++) sl_add(l, (char *)t->name);
    if (WANTS("file")) add_files(l, prefix, false);
    if (WANTS("user")) { sl_add(l, "root"); sl_add(l, "user"); }
    if (WANTS("group")) { sl_add(l, "root"); sl_add(l, "user"); }
    if (WANTS("directory")) add_files(l, prefix, true);
#undef WANTS
}

/* -W: words as a shell reads them, quotes and expansions included; with an IFS of its own, what that separates. */
static void add_words(strlist *l, const char *words)
{
    const char *ifs = var_get("IFS");
    strbuf b = { .a = &sh.tmp };
    sb_printf(&b, "(%s)", words);
    assign *list = !ifs || !strcmp(ifs, " \t\n") ? parse_array_text(&sh.tmp, sb_str(&b)) : NULL;
    if (list) {
        for (assign *e = list->elems; e; e = e->next) if (!expand_word(e->value, X_SPLIT, l)) return;
        return;
    }
    word *w = parse_word_text(&sh.tmp, words, 'b');
    char *flat = w ? expand_one(w, 0) : NULL, *save;
    if (!flat) return;
    flat = arena_strdup(&sh.tmp, flat);
    for (char *t = strtok_r(flat, ifs ? ifs : " \t\n", &save); t; t = strtok_r(NULL, ifs ? ifs : " \t\n", &save)) sl_add(l, t);
}

/* -F: what the function leaves in COMPREPLY. */
static void add_replies(strlist *l, const char *name, const char *prefix)
{
    b_error("compgen", 0, "warning: -F option may not work as you expect");
    func *f = func_find(name);
    if (!f) { sh_error("completion: function `%s' not found", name); return; }
    char *args[] = { (char *)name, "compgen", (char *)prefix, "", NULL };
    exec_function(f, 4, args);
    slot *s = slot_find("COMPREPLY");
    var *v = s ? var_top(s) : NULL;
    for (size_t i = 0; v && v->flags & V_ARRAY && i < v->u.a->n; i++) sl_add(l, arena_strdup(&sh.tmp, v->u.a->e[i].val));
}

int b_compgen(int argc, char **argv)
{
    opts o = OPTS("compgen [-abcdefgjksuv] [-o option] [-A action] [-G globpat] [-W wordlist] [-F function] [-C command] "
                  "[-X filterpat] [-P prefix] [-S suffix] [word]");
    unsigned acts = 0;
    const char *text[256] = { NULL };
    for (int c; (c = next_opt(&o, "abcdefgjksuvo:A:G:W:F:C:X:P:S:"));) {
        if (c == '?') return 2;
        if (c == 'o' && !completion_option(o.arg)) return b_error("compgen", 2, "%s: invalid option name", o.arg);
        if (c == 'A' && !completion_action(o.arg)) return b_error("compgen", 2, "%s: invalid action name", o.arg);
        if (c == 'A') acts |= completion_action(o.arg);
        else if (completion_letter(c)) acts |= completion_letter(c);
        else text[c] = o.arg;
    }
    const char *prefix = o.at < argc ? argv[o.at] : "", *filter = text['X'];
    strlist found = { .a = &sh.tmp }, files = { .a = &sh.tmp };
    add_actions(&found, acts, prefix);
    if (text['G']) glob_expand(text['G'], &files);
    for (size_t i = 0; i < files.n; i++) sl_add(&found, files.v[i]);
    if (text['W']) add_words(&found, text['W']);
    size_t replies = found.n;        /* a function's answers need not begin with the word */
    if (text['F']) add_replies(&found, text['F'], prefix);
    bool negated = filter && *filter == '!';
    int status = 1;
    for (size_t i = 0; i < found.n && !sh.unwind; i++) {
        if (i < replies && strncmp(found.v[i], prefix, strlen(prefix))) continue;
        if (filter && pattern_match(filter + negated, found.v[i], PM_EXTGLOB) != negated) continue;
        out_printf("%s%s%s\n", text['P'] ? text['P'] : "", found.v[i], text['S'] ? text['S'] : "");
        status = 0;
    }
    return status;
}
