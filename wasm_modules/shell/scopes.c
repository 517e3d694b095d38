/* scopes.c - what makes variables come back: locals of functions, and the undo log of subshells.
 *
 * The log holds, in order, the first change of each variable, function or alias since a subshell began. Putting back runs it
 * from the end. A log entry owns the old object.
 */
#include "sh.h"
#include <stdlib.h>
#include <string.h>

typedef struct { uint8_t kind; int scope; slot *s; char *name; void *old; } undo;
enum { U_VAR, U_FUNC, U_ALIAS };
static undo *log_v;
static size_t log_n, log_cap;

typedef struct { slot *s; int scope; } local_entry;
static local_entry *locals;
static size_t locals_n, locals_cap;

var *chain_find(slot *s, int scope)
{
    var *v = s->top;
    while (v && v->scope > scope) v = v->outer;
    return v && v->scope == scope ? v : NULL;
}

void chain_remove(slot *s, var *v)
{
    for (var **at = &s->top; *at; at = &(*at)->outer)
        if (*at == v) { *at = v->outer; return; }
}

void chain_insert(slot *s, var *v)
{
    var **at = &s->top;
    while (*at && (*at)->scope > v->scope) at = &(*at)->outer;
    v->outer = *at;
    *at = v;
}

static void log_push(undo u)
{
    if (log_n == log_cap) {
        log_cap = log_cap ? log_cap * 2 : 32;
        log_v = xrealloc(log_v, log_cap * sizeof *log_v);
    }
    log_v[log_n++] = u;
}

void undo_log_var(slot *s, int scope, var *old)
{
    if (sh.level == 0) { var_free(old); return; }
    log_push((undo){ .kind = U_VAR, .scope = scope, .s = s, .old = old });
}

void undo_log_func(slot *s, func *old)
{
    if (sh.level == 0) { func_unref(old); return; }
    log_push((undo){ .kind = U_FUNC, .s = s, .old = old });
}

void undo_log_alias(const char *name, char *old)
{
    if (sh.level == 0) { free(old); return; }
    log_push((undo){ .kind = U_ALIAS, .name = xstrdup(name), .old = old });
}

size_t undo_mark(void) { return log_n; }

/* INVARIANT: called with sh.level already that of the parent, so nothing here is logged again. */
void undo_to(size_t mark)
{
    while (log_n > mark) {
        undo u = log_v[--log_n];
        if (u.kind == U_VAR) {
            var *now = chain_find(u.s, u.scope);
            if (now) { chain_remove(u.s, now); var_free(now); }
            if (u.old) chain_insert(u.s, u.old);
        } else if (u.kind == U_FUNC) {
            func_unref(u.s->fn);
            u.s->fn = u.old;
            sh.func_gen++;
        } else {
            int level = sh.level;
            sh.level = 0;
            alias_set(u.name, u.old);
            sh.level = level;
            free(u.old);
            free(u.name);
        }
    }
    if (log_n == 0 && log_cap > 4096) { free(log_v); log_v = NULL; log_cap = 0; }
}

/* ---- stepping out of a subshell that is still running, and back in (pipeline.c) ---- */

static void exchange(undo *u)
{
    if (u->kind == U_VAR) {
        var *now = chain_find(u->s, u->scope);
        if (now) chain_remove(u->s, now);
        if (u->old) chain_insert(u->s, u->old);
        u->old = now;
    } else if (u->kind == U_FUNC) {
        func *now = u->s->fn;
        u->s->fn = u->old;
        u->old = now;
        sh.func_gen++;
    }
}

static size_t locals_floor;      /* the locals below are of subshells that are stepped out of: no call that returns takes them */

/* kept[0] is no variable: it keeps the floor. */
var **scopes_suspend(size_t undo_from, size_t locals_from)
{
    var **kept = xmalloc((locals_n - locals_from + 1) * sizeof *kept);
    kept[0] = (var *)(uintptr_t)locals_floor;
    locals_floor = locals_n;
    for (size_t i = locals_n; i-- > locals_from;) {
        var *v = chain_find(locals[i].s, locals[i].scope);
        kept[i - locals_from + 1] = v;
        if (v) chain_remove(locals[i].s, v);
    }
    for (size_t i = log_n; i-- > undo_from;) exchange(&log_v[i]);
    return kept;
}

/* INVARIANT: the log and the locals are as long as they were when scopes_suspend returned. */
void scopes_resume(size_t undo_from, size_t locals_from, var **kept)
{
    for (size_t i = undo_from; i < log_n; i++) exchange(&log_v[i]);
    for (size_t i = locals_from; i < locals_n; i++) if (kept[i - locals_from + 1]) chain_insert(locals[i].s, kept[i - locals_from + 1]);
    locals_floor = (size_t)(uintptr_t)kept[0];
    free(kept);
}

void scope_push(void) { sh.scope++; }

void scope_pop(void)
{
    while (locals_n > locals_floor && locals[locals_n - 1].scope >= sh.scope) {
        local_entry e = locals[--locals_n];
        var *v = chain_find(e.s, e.scope);
        if (!v) continue;
        chain_remove(e.s, v);
        if (v->level != sh.level) undo_log_var(e.s, e.scope, v); else var_free(v);
        if (e.s->special && e.s->special->set && (e.s->top || !e.s->special->get)) e.s->special->set(e.s, e.s->top);
    }
    sh.scope--;
}

size_t local_mark(void) { return locals_n; }
void local_drop(size_t mark) { locals_n = mark; }

void local_remember(slot *s, int scope)
{
    if (locals_n == locals_cap) {
        locals_cap = locals_cap ? locals_cap * 2 : 32;
        locals = xrealloc(locals, locals_cap * sizeof *locals);
    }
    locals[locals_n++] = (local_entry){ s, scope };
}

void var_local(slot *s, int inherit)
{
    if (chain_find(s, sh.scope)) { var_writable(s, sh.scope); return; }
    var *outer = s->top;
    local_remember(s, sh.scope);
    var *v = var_writable(s, sh.scope);
    if (outer) v->flags |= outer->flags & V_EXPORT;
    /* NAME=value before the call of the function becomes the local's first value. */
    if (outer && (inherit || (outer->flags & V_TEMP && (outer->scope == sh.scope - 1 || outer->scope == sh.scope + 1)))) {
        const char *text = var_scalar(s, outer);
        v->flags |= outer->flags & (V_EXPORT | V_INT | V_LOWER | V_UPPER);
        if (outer->flags & V_ARRAY) { v->u.a = arr_copy(outer->u.a); v->flags |= outer->flags & (V_ARRAY | V_SET); }
        else if (outer->flags & V_ASSOC) { v->u.h = assoc_copy(outer->u.h); v->flags |= outer->flags & (V_ASSOC | V_SET); }
        else if (text) var_put(v, text);
    }
}

void temp_assign(slot *s, const char *value)
{
    if (!chain_find(s, sh.scope)) local_remember(s, sh.scope);
    var *v = var_writable(s, sh.scope);
    var_put(v, value);
    v->flags |= V_EXPORT | V_TEMP;
    if (s->special && s->special->set) s->special->set(s, v);
}

/* ---- functions and aliases: objects in slots and a list ---- */

void program_unref(program *p)
{
    if (!p || --p->refs > 0) return;
    arena_free(&p->mem);
    free(p);
}

func *func_find(const char *name)
{
    slot *s = slot_find(name);
    return s ? s->fn : NULL;
}

void func_ref(func *f) { f->refs++; }

void func_unref(func *f)
{
    if (!f || --f->refs > 0) return;
    if (sh.running_traps) sh.command_node = NULL;   /* it may lie in this function's tree */
    program_unref(f->prog);
    func_unref(f->imported);
    free(f->name);
    free(f->source);
    free(f);
}

void func_define(const char *name, program *prog, node *def)
{
    slot *s = slot_of(name);
    func *f = xmalloc(sizeof *f);
    *f = (func){ .name = xstrdup(name),
                 .prog = prog,
                 .def = def,
                 .body = def->u.func.body,
                 .refs = 1,
                 .line_base = sh.line_base,
                 .source = xstrdup(sh.frames && sh.frames->source ? sh.frames->source
                                   : sh.is_command_string         ? "environment"
                                   : sh.from_input                ? "main"
                                                                  : sh.arg0),
                 .exported = s->fn && s->fn->exported };
    if (prog) prog->refs++;
    undo_log_func(s, s->fn);
    s->fn = f;
    sh.func_gen++;
}

bool func_unset(const char *name)
{
    slot *s = slot_find(name);
    if (!s || !s->fn) return false;
    undo_log_func(s, s->fn);
    s->fn = NULL;
    sh.func_gen++;
    return true;
}

enum { HEAD_LINES = 3 };         /* of a printed function: NAME (), the brace, and lines that count from 0 behind it */

/* The function as its printed text says, which is what an environment has. NULL when that cannot be parsed. */
static func *reread(func *f)
{
    strbuf b = { .a = &sh.tmp };
    syntax_error err = { 0 };
    print_function(&b, f);
    parser *p = parser_new(sb_str(&b), b.len, 1);
    program *prog = parse_next(p, &err);
    parser_free(p);
    free(err.near_line);
    node *n = prog ? prog->root : NULL;
    while (n && n->kind == N_LIST && n->u.list.n == 1) n = n->u.list.items[0];
    if (!n || n->kind != N_FUNC) { program_unref(prog); return NULL; }
    func *copy = xmalloc(sizeof *copy);
    *copy = (func){ .name = xstrdup(f->name), .prog = prog, .def = n, .body = n->u.func.body, .source = xstrdup("environment"),
                    .line_base = -HEAD_LINES, .exported = 1, .refs = 1 };
    return copy;
}

void func_import(func *f)
{
    slot *s = slot_of(f->name);
    arena_mark_t m = arena_mark(&sh.tmp);
    if (!f->imported && f->line_base != -HEAD_LINES) f->imported = reread(f);
    arena_release(&sh.tmp, m);
    if (!f->imported || s->fn != f) return;
    undo_log_func(s, f);
    func_ref(s->fn = f->imported);
    sh.func_gen++;
}

static int by_func_name(const void *a, const void *b) { return strcmp((*(func *const *)a)->name, (*(func *const *)b)->name); }

size_t funcs_all(func ***out)
{
    func **v = arena_alloc(&sh.tmp, (sh.nslots + 1) * sizeof *v);
    size_t n = 0;
    for (size_t i = 0; i < sh.slot_cap; i++)
        for (slot *s = sh.slots[i]; s; s = s->next)
            if (s->fn) v[n++] = s->fn;
    qsort(v, n, sizeof *v, by_func_name);
    *out = v;
    return n;
}

const char *alias_find(const char *name)
{
    for (alias *a = sh.aliases; a; a = a->next)
        if (!strcmp(a->name, name)) return a->text;
    return NULL;
}

void alias_set(const char *name, const char *text)
{
    alias **at = &sh.aliases;
    while (*at && strcmp((*at)->name, name) < 0) at = &(*at)->next;
    if (*at && !strcmp((*at)->name, name)) {
        alias *a = *at;
        undo_log_alias(name, a->text);
        if (text) { a->text = xstrdup(text); return; }
        *at = a->next;
        free(a->name);
        free(a);
        return;
    }
    if (!text) return;
    undo_log_alias(name, NULL);
    alias *a = xmalloc(sizeof *a);
    *a = (alias){ .next = *at, .name = xstrdup(name), .text = xstrdup(text) };
    *at = a;
}
