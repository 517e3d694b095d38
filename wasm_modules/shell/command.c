/* command.c - simple commands: expansion, assignments, redirections. */
#include "sh.h"
#include "declare.h"
#include "param.h"
#include <stdlib.h>
#include <string.h>

static assign **arg_assigns;     /* parallel to the arguments of the declaring builtin that runs now */
static int arg_assigns_n;

assign *arg_assign(int i) { return i < arg_assigns_n && arg_assigns ? arg_assigns[i] : NULL; }

static word *literal_word(char *text)
{
    word *w = arena_alloc(&sh.tmp, sizeof *w);
    part *p = arena_alloc(&sh.tmp, sizeof *p);
    *p = (part){ .kind = P_LIT, .quoted = 1, .u.lit = { text, strlen(text) } };
    *w = (word){ .parts = p, .raw = text, .flags = W_QUOTED };
    return w;
}

/* local IFS=: a=($x): the elements are expanded before anything is declared. NULL after a message. */
static assign *expand_elements(assign *a, bool keyed)
{
    assign *copy = arena_alloc(&sh.tmp, sizeof *copy), **tail = &copy->elems;
    *copy = *a;
    copy->elems = NULL;
    for (assign *e = a->elems; e; e = e->next) {
        strlist items = { .a = &sh.tmp };
        char *value = e->has_sub ? expand_one(e->value, keyed ? X_NOTILDE : X_ASSIGN) : NULL;
        if (e->has_sub ? !value : !expand_word(e->value, keyed ? 0 : X_WORDS | X_ELEMENT, &items)) return NULL;
        if (value) sl_add(&items, value);
        for (size_t i = 0; i < items.n; i++, tail = &(*tail)->next) {
            *tail = arena_alloc(&sh.tmp, sizeof **tail);
            **tail = *e;
            (*tail)->next = NULL;
            (*tail)->value = literal_word(items.v[i]);
        }
    }
    return copy;
}

/* declare a=(1 2) b=("${a[@]}"): an array is assigned before the next one is expanded. argv ends with its argument, which goes. */
static bool declare_now(strlist *argv, assign *array)
{
    strlist early = { .a = &sh.tmp }, marks = { .a = &sh.tmp };
    for (size_t i = 0; i < argv->n; i++) {
        bool option = argv->v[i][0] == '-' || argv->v[i][0] == '+';
        if (i && i + 1 < argv->n && !option) continue;
        sl_add(&early, argv->v[i]);
        sl_add(&marks, i + 1 < argv->n ? NULL : (char *)array);
    }
    arg_assigns = (assign **)(void *)marks.v;
    arg_assigns_n = (int)marks.n;
    builtin_find(argv->v[0])->fn((int)early.n, early.v);
    arg_assigns = NULL;
    arg_assigns_n = 0;
    argv->n--;
    return !sh.unwind;
}

/* The command is declare or its kin itself, and has one more array behind word i. */
static bool array_behind(node *n, int i, const char *name)
{
    const builtin *b = builtin_find(name);
    if (!b || !(b->flags & B_DECLARE)) return false;
    while (++i < n->u.simple.n) {
        assign *a = n->u.simple.words[i]->as;
        if (a && a->is_array) return true;
    }
    return false;
}

/* Arguments; those of declare and its kin may be assignments, whose values are not split. */
static bool expand_args(node *n, strlist *argv)
{
    arg_assigns = NULL;
    arg_assigns_n = 0;
    int any = 0;
    bool keyed = false;
    for (int i = 0; i < n->u.simple.n; i++) {
        if (n->u.simple.words[i]->as) any++;
        else if (n->u.simple.words[i]->raw[0] == '-' && strchr(n->u.simple.words[i]->raw, 'A')) keyed = true;
    }
    if (!any) return expand_words(n->u.simple.words, n->u.simple.n, argv);
    strlist marks = { .a = &sh.tmp };
    for (int i = 0; i < n->u.simple.n; i++) {
        word *w = n->u.simple.words[i];
        if (!w->as) { if (!expand_word(w, X_WORDS, argv)) return false; }
        else {
            strbuf b = { .a = &sh.tmp };
            sb_puts(&b, w->as->name);
            if (w->as->has_sub) {
                char *key = expand_one(w->as->key, X_NOTILDE);
                if (!key) return false;
                sb_printf(&b, "[%s]", key);
            }
            sb_puts(&b, w->as->append ? "+=" : "=");
            /* declare v={a,b}: braces come first, so these are two assignments */
            word *only[] = { w->as->value }, **values = only;
            int count = 1;
            if (!w->as->is_array && w->as->value->flags & W_BRACE && sh.opt[O_BRACEEXPAND])
                values = brace_expand(w->as->value, &count);
            size_t prefix = b.len;
            for (int k = 0; k + 1 < count; k++) {
                char *value = expand_one(values[k], X_ASSIGN);
                if (!value) return false;
                b.len = prefix;
                sb_puts(&b, value);
                sl_add(argv, arena_strdup(&sh.tmp, sb_str(&b)));
            }
            b.len = prefix;
            if (!w->as->is_array && count) {
                char *value = expand_one(values[count - 1], X_ASSIGN);
                if (!value) return false;
                sb_puts(&b, value);
            }
            sl_add(argv, sb_str(&b));
        }
        while (marks.n + 1 < argv->n) sl_add(&marks, NULL);
        if (marks.n >= argv->n) continue;
        assign *array = w->as && w->as->is_array ? w->as : NULL;
        if (array && (any > 1 || sh.opt[O_XTRACE]) && !(array = expand_elements(array, keyed))) return false;
        if (array && !sh.opt[O_XTRACE] && array_behind(n, i, argv->v[0])) {
            if (!declare_now(argv, array)) return false;
            continue;
        }
        sl_add(&marks, (char *)array);
    }
    arg_assigns = (assign **)(void *)marks.v;
    arg_assigns_n = (int)marks.n;
    return true;
}

static void trace_assign(assign *a, const char *value)
{
    strbuf b = { .a = &sh.tmp };
    if (a->is_array) { sb_puts(&b, a->raw); trace_text(sb_str(&b)); return; }
    sb_printf(&b, "%s%s", a->name, a->has_sub ? "[" : "");
    if (a->has_sub) sb_printf(&b, "%s]", a->key->raw);
    sb_puts(&b, a->append ? "+=" : "=");
    if (*value) quote_xtrace(&b, value);
    trace_text(sb_str(&b));
}

bool assign_one(assign *a, int scope_local)
{
    (void)scope_local;
    if (a->is_array && a->has_sub) { sh_error("%s[%s]: cannot assign list to array member", a->name, a->key->raw); return false; }
    if (a->is_array) {
        if (sh.opt[O_XTRACE]) trace_assign(a, "");
        return assign_array(a->slot, a);
    }
    char *value = expand_one(a->value, X_ASSIGN);
    if (!value) return false;
    if (sh.opt[O_XTRACE]) trace_assign(a, value);
    if (!a->has_sub) return var_set_slot(a->slot, value, a->append);
    slot *s = a->slot;
    char *sub;
    var *v = var_deref(&s, &sub);
    if (sub) { sh_error("`%s[%s]': not a valid identifier", s->name, sub); return false; }
    if (v && v->flags & V_ASSOC) {
        char *key = expand_one(a->key, X_NOTILDE);
        if (key && !*key) { sh_report("%s[%s]: bad array subscript", a->name, a->key->raw); return false; }
        return key && var_set_elem(s, key, value, a->append);
    }
    int64_t i;
    const char *raw = a->key->raw;
    if (!*raw || ((*raw == '@' || *raw == '*') && !raw[1])) {
        sh_report("%s[%s]: bad array subscript", a->name, raw);
        return false;
    }
    if (!arith_eval(a->index, &i)) { sh_abandon(1); return false; }
    if (i < 0) {
        int64_t n = v && v->flags & V_ARRAY ? arr_next(v->u.a) : v ? 1 : 0;
        if (i + n < 0) { sh_report("%s[%s]: bad array subscript", a->name, a->key->raw); return false; }
        i += n;
    }
    return var_set_index(s, i, value, a->append);
}

static int only_assignments(node *n)
{
    redir_save save;
    int status = 0;
    bool ok = true;
    for (assign *a = n->u.simple.assigns; a && ok; a = a->next)
        if (!assign_one(a, 0)) { if (sh.opt[O_POSIX]) sh_exit(sh_fatal_status()); else sh_fail(1); ok = false; }
    /* the redirections of such a command come after its assignments, so they catch no message of theirs */
    if (ok && n->redirs) {
        ok = redirect(n->redirs, &save);
        redirect_undo(&save);
    }
    if (sh.unwind == UW_TRIAL) return 1;
    if (!ok) return sh.unwind ? sh.exit_status : 1;
    if (sh.had_subst) status = sh.subst_status;
    return status;
}

/* NAME=value in front of a command: visible to it as exported variables, gone afterwards. */
static bool assign_temporarily(assign *a)
{
    scope_push();
    for (; a; a = a->next) {
        char *value = a->is_array ? strchr(a->raw, '(') : expand_one(a->value, X_ASSIGN);   /* of an array, the text alone */
        if (!value) return false;
        if (sh.opt[O_XTRACE]) trace_assign(a, value);
        if (a->has_sub) { sh_error("`%s[%s]': not a valid identifier", a->name, a->key->raw); continue; }
        if (a->slot->top && a->slot->top->flags & V_READONLY) {
            check_readonly(a->slot, a->slot->top);
            if (sh.unwind) return false;
            continue;
        }
        if (a->append) {
            const char *old = var_get(a->name);
            strbuf b = { .a = &sh.tmp };
            sb_printf(&b, "%s%s", old ? old : "", value);
            value = sb_str(&b);
        }
        temp_assign(a->slot, value);
    }
    return true;
}

/* The assignment that an argument looks like, or NULL: under set -k it belongs in front of the command. */
static assign *keyword(word *w)
{
    size_t n = name_len(w->raw);
    if (w->as || !n || w->raw[n] != '=') return NULL;
    assign *a = arena_alloc(&sh.tmp, sizeof *a);
    a->name = arena_strndup(&sh.tmp, w->raw, n);
    a->slot = slot_of(a->name);
    a->value = parse_word_text(&sh.tmp, w->raw + n + 1, 'w');
    return a->value ? a : NULL;
}

/* set -k: the command with all its assignments in front, in sh.tmp. */
static node *with_keywords(node *n)
{
    node *copy = arena_alloc(&sh.tmp, sizeof *copy);
    *copy = *n;
    copy->u.simple.words = arena_alloc(&sh.tmp, (size_t)n->u.simple.n * sizeof(word *));
    copy->u.simple.n = 0;
    copy->u.simple.assigns = NULL;
    assign **tail = &copy->u.simple.assigns;
    for (assign *a = n->u.simple.assigns; a; a = a->next, tail = &(*tail)->next) {
        *tail = arena_alloc(&sh.tmp, sizeof **tail);
        **tail = *a;
    }
    for (int i = 0; i < n->u.simple.n; i++) {
        assign *a = i ? keyword(n->u.simple.words[i]) : NULL;
        if (a) { *tail = a; tail = &a->next; }
        else copy->u.simple.words[copy->u.simple.n++] = n->u.simple.words[i];
    }
    return copy;
}

/* In posix mode, what stands in front of a special builtin stays assigned. */
static bool assigns_to_stay(const char *name)
{
    if (!sh.opt[O_POSIX]) return false;
    const builtin *b = builtin_find(name);
    return b && b->flags & B_SPECIAL;
}

static bool assign_for_good(assign *a)
{
    for (; a; a = a->next) if (!assign_one(a, 0)) return false;
    return true;
}

/* set -x: arrays that declare and its kin get are shown in front, with their elements quoted. */
static void trace_words(int argc, char **v)
{
    char **shown = arena_alloc(&sh.tmp, ((size_t)argc + 1) * sizeof *shown);
    for (int i = 0; i < argc; i++) {
        assign *a = arg_assign(i);
        shown[i] = a ? a->name : v[i];
        if (!a) continue;
        strbuf b = { .a = &sh.tmp };
        sb_printf(&b, "%s%s(", a->name, a->append ? "+=" : "=");
        for (assign *e = a->elems; e; e = e->next) {
            if (e->has_sub) { sb_putc(&b, '['); quote_plain(&b, e->key->raw); sb_puts(&b, "]="); }
            part *only = e->value->parts;
            bool literal = only && !only->next && only->kind == P_LIT;
            if (literal) quote_plain(&b, only->u.lit.text); else sb_puts(&b, e->value->raw);
            if (e->next) sb_putc(&b, ' ');
        }
        sb_putc(&b, ')');
        trace_text(sb_str(&b));
    }
    trace_command(argc, shown);
}

static int run_words(node *n, strlist *argv, int procs)
{
    redir_save save = { 0 };
    int status = 1;
    char **v = sl_end(argv);
    int argc = (int)argv->n;
    bool stay = n->u.simple.assigns && assigns_to_stay(v[0]), temp = n->u.simple.assigns && !stay;
    assign **assigns = arg_assigns;
    int assigns_n = arg_assigns_n;
    if (sh.opt[O_XTRACE] && !temp) trace_words(argc, v);
    if (!n->redirs || redirect(n->redirs, &save)) {
        if (temp ? assign_temporarily(n->u.simple.assigns) : !stay || assign_for_good(n->u.simple.assigns)) {
            arg_assigns = assigns;
            arg_assigns_n = assigns_n;
            if (sh.opt[O_XTRACE] && temp) trace_words(argc, v);
            const builtin *b = NULL;
            if (n->u.simple.words[0]->flags & W_PLAIN) {   /* the common case: a builtin by its literal name */
                if (n->u.simple.cached_gen != sh.func_gen + 1) {
                    n->u.simple.cached = func_find(v[0]) ? NULL : (void *)(uintptr_t)builtin_find(v[0]);
                    n->u.simple.cached_gen = sh.func_gen + 1;
                }
                b = n->u.simple.cached;
            }
            /* what local and its kin declare belongs to the function, not to the scope of the temporary variables */
            bool outward = temp && b && b->flags & B_DECLARE;
            sh.scope -= outward;
            status = b ? builtin_call(b, argc, v) : exec_argv(argc, v, 0);
            sh.scope += outward;
        } else if (!sh.unwind) sh_fail(1);
        if (temp) scope_pop();
    } else if (!sh.unwind && assigns_to_stay(v[0])) sh_exit(1);   /* posix: a special builtin's redirection failed */
    else if ((sh.unwind == UW_EXIT || sh.unwind == UW_DISCARD) && !func_find(v[0]) && !builtin_find(v[0])) {
        status = sh.exit_status;     /* a program's redirections are its own business: the shell goes on */
        sh.unwind = 0;
    }
    if (save.n) {
        if (!strcmp(v[0], "exec") && argc == 1 && !sh.unwind) { redirect_forget(&save); proc_hold(procs); proc_release(false); }
        else redirect_undo(&save);
    }
    return status;
}

int exec_simple(node *n)
{
    arena_mark_t m = arena_mark(&sh.tmp);
    int procs = proc_mark(), status;
    node *run;
    strlist argv = { .a = &sh.tmp };
    assign **assigns = arg_assigns;
    int assigns_n = arg_assigns_n;
    bool had_trap = sh.traps[TRAP_ERR] != NULL;
    sh.line = n->line + sh.line_base;
    if (sh.traps[TRAP_DEBUG]) {
        bool run_it = debug_trap(n);
        if (sh.unwind || !run_it) { arena_release(&sh.tmp, m); return run_it ? sh.status : 0; }
    }
    if (!sh.running_traps) sh.command_node = n;
    sh.had_subst = false;
    if (jobs_fresh) background_tick();
    if (n->u.simple.n == 0) {
        status = only_assignments(n);
        if (sh.underscore->top && sh.underscore->top->level == sh.level) var_put(sh.underscore->top, "");
    } else if (!expand_args(run = sh.opt[O_KEYWORD] ? with_keywords(n) : n, &argv)) status = sh.unwind ? sh.exit_status : 1;
    else if (argv.n == 0) status = only_assignments(run);
    else {
        char *last = argv.v[argv.n - 1];
        status = run_words(run, &argv, procs);
        if (sh.child_killed_by) signal_tell(SHELL_PID + sh.level + 1);
        if (sh.underscore->top)
            var_put(sh.underscore->top && sh.underscore->top->level == sh.level ? sh.underscore->top
                                                                                : var_writable(sh.underscore, -1),
                    last);
    }
    if (proc_mark() > procs) proc_finish(procs);
    arena_release(&sh.tmp, m);
    arg_assigns = assigns;
    arg_assigns_n = assigns_n;
    if (sh.unwind == UW_DISCARD && status == 0) status = 1;
    sh.status = status;
    sh.npipestatus = 1;
    sh.pipestatus[0] = status;
    if (status && !sh.unwind) after_command(status, n, had_trap);
    return status;
}
