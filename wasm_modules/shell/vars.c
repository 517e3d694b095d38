/* vars.c - variables: finding, making, copying, removing and listing them. Assignment is assign.c's.
 *
 * A slot stands for a name and is never freed, so the tree caches pointers to slots. A slot holds a chain of variables, the
 * innermost scope first; each has a distinct scope number, 0 being global. Writing in a subshell first puts a copy in place of
 * the variable and logs the original (scopes.c).
 */
#include "sh.h"
#include <stdlib.h>
#include <string.h>

static void slots_grow(void)
{
    size_t cap = sh.slot_cap ? sh.slot_cap * 2 : 256;
    slot **fresh = xmalloc(cap * sizeof *fresh);
    memset(fresh, 0, cap * sizeof *fresh);
    for (size_t i = 0; i < sh.slot_cap; i++)
        for (slot *s = sh.slots[i], *next; s; s = next) {
            next = s->next;
            s->next = fresh[s->hash & (cap - 1)];
            fresh[s->hash & (cap - 1)] = s;
        }
    free(sh.slots);
    sh.slots = fresh;
    sh.slot_cap = cap;
}

slot *slot_find(const char *name)
{
    if (!sh.slot_cap) return NULL;
    uint32_t h = hash_text(name);
    for (slot *s = sh.slots[h & (sh.slot_cap - 1)]; s; s = s->next)
        if (s->hash == h && !strcmp(s->name, name)) return s;
    return NULL;
}

slot *slot_of(const char *name)
{
    slot *s = slot_find(name);
    if (s) return s;
    if (sh.nslots >= sh.slot_cap) slots_grow();
    size_t n = strlen(name);
    s = xmalloc(sizeof *s + n + 1);
    *s = (slot){ .hash = hash_text(name) };
    memcpy(s->name, name, n + 1);
    s->next = sh.slots[s->hash & (sh.slot_cap - 1)];
    sh.slots[s->hash & (sh.slot_cap - 1)] = s;
    sh.nslots++;
    return s;
}

var *var_top(slot *s)
{
    var *v = s->top;
    if (s->special && v && s->special->get) s->special->get(s, v);
    return v;
}

void var_clear_value(var *v)
{
    free(v->str);
    v->str = NULL;
    v->cap = 0;
    if (v->flags & V_ARRAY) arr_free(v->u.a);
    if (v->flags & V_ASSOC) assoc_free(v->u.h);
    v->u.a = NULL;
    v->flags &= (uint16_t)~V_SET;
}

void var_free(var *v)
{
    if (!v) return;
    var_clear_value(v);
    free(v);
}

void var_put(var *v, const char *value)
{
    size_t n = strlen(value) + 1;
    if (n > v->cap || n * 4 < v->cap) {
        char *fresh = xmalloc(n < 16 ? 16 : n);
        memcpy(fresh, value, n);
        free(v->str);
        v->str = fresh;
        v->cap = n < 16 ? 16 : n;
    } else {
        memmove(v->str, value, n);
    }
    v->len = n - 1;
    v->flags |= V_SET;
}

var *var_copy(var *v)
{
    var *c = xmalloc(sizeof *c);
    *c = *v;
    if (v->str) { c->str = xstrdup(v->str); c->cap = strlen(v->str) + 1; }
    if (v->flags & V_ARRAY && v->u.a) c->u.a = arr_copy(v->u.a);
    if (v->flags & V_ASSOC && v->u.h) c->u.h = assoc_copy(v->u.h);
    return c;
}

/* Makes v (in the chain of s) safe to change in the current subshell. */
static var *own(slot *s, var *v)
{
    if (v->level == sh.level) return v;
    var *c = var_copy(v);
    chain_remove(s, v);
    undo_log_var(s, v->scope, v);
    c->level = sh.level;
    chain_insert(s, c);
    return c;
}

var *var_writable(slot *s, int scope)
{
    var *v = scope < 0 ? s->top : chain_find(s, scope);
    if (v) return own(s, v);
    if (scope < 0) scope = 0;
    v = xmalloc(sizeof *v);
    *v = (var){ .scope = scope, .level = sh.level };
    if (scope <= sh.base_scope) undo_log_var(s, scope, NULL);
    chain_insert(s, v);
    return v;
}

const char *var_scalar(slot *s, var *v)
{
    (void)s;
    if (!v) return NULL;
    if (v->flags & V_ARRAY) return arr_get(v->u.a, 0);
    if (v->flags & V_ASSOC) { pair *p = assoc_find(v->u.h, "0"); return p ? p->val : NULL; }
    return v->flags & V_SET ? v->str : NULL;
}

const char *var_get(const char *name)
{
    slot *s = slot_find(name);
    if (!s) return NULL;
    char *sub;
    var *v = var_deref(&s, &sub);
    if (!sub || !v) return var_scalar(s, v);
    if (v->flags & V_ASSOC) { pair *p = assoc_find(v->u.h, sub); return p ? p->val : NULL; }
    int64_t i;
    if (!(v->flags & V_ARRAY) || !arith_eval_text(sub, &i)) return NULL;
    return arr_get(v->u.a, i < 0 ? arr_next(v->u.a) + i : i);
}

bool var_unset(slot *s, int quiet)
{
    var *v = s->top;
    if (!v) return true;
    if (v->flags & V_READONLY) {
        if (!quiet) b_error("unset", 1, "%s: cannot unset: readonly variable", s->name);
        return false;
    }
    if (v->scope > 0 && (v->scope == sh.scope || sh.shopt[S_LOCALVAR_UNSET])) {   /* it keeps hiding the outer one */
        v = own(s, v);
        var_clear_value(v);
        v->flags = 0;
        return true;
    }
    chain_remove(s, v);
    if (v->level != sh.level) undo_log_var(s, v->scope, v);
    else var_free(v);
    if (s->special && !s->special->get) s->special->set(s, s->top);
    else s->special = NULL;
    return true;
}

void var_export(const char *name)
{
    var *v = var_writable(slot_of(name), -1);
    v->flags |= V_EXPORT;
}

static int by_name(const void *a, const void *b) { return strcmp((*(slot *const *)a)->name, (*(slot *const *)b)->name); }

size_t slots_all(slot ***out, bool (*want)(slot *, var *))
{
    slot **v = arena_alloc(&sh.tmp, (sh.nslots + 1) * sizeof *v);
    size_t n = 0;
    for (size_t i = 0; i < sh.slot_cap; i++)
        for (slot *s = sh.slots[i]; s; s = s->next)
            if (s->top && (!want || want(s, s->top))) v[n++] = s;
    qsort(v, n, sizeof *v, by_name);
    *out = v;
    return n;
}

static bool is_exported(slot *s, var *v)
{
    (void)s;
    return v->flags & V_EXPORT && v->flags & V_SET && !(v->flags & (V_ARRAY | V_ASSOC));
}

/* The order in which bash hands them on: what stands before the command first, each by its place in the table it is kept in. */
static int by_place(const void *a, const void *b)
{
    enum { PLACES = 1024, TEMPORARY_PLACES = 4 };
    slot *const *x = a, *const *y = b;
    bool first = ((*x)->top->flags & V_TEMP) != 0, second = ((*y)->top->flags & V_TEMP) != 0;
    if (first != second) return second - first;
    uint32_t places = first ? TEMPORARY_PLACES : PLACES;
    return (int)((*x)->hash % places) - (int)((*y)->hash % places);
}

char **var_environ(arena *a)
{
    slot **v;
    size_t n = slots_all(&v, is_exported);
    qsort(v, n, sizeof *v, by_place);
    strlist out = { .a = a };
    for (size_t i = 0; i < n; i++) {
        strbuf b = { .a = a };
        sb_printf(&b, "%s=%s", v[i]->name, var_top(v[i])->str);
        sl_add(&out, sb_str(&b));
    }
    func **f;
    n = funcs_all(&f);
    for (size_t i = 0; i < n; i++) {
        if (!f[i]->exported) continue;
        strbuf b = { .a = a };
        sb_printf(&b, "BASH_FUNC_%s%%%%=", f[i]->name);
        print_exported(&b, f[i]);
        sl_add(&out, sb_str(&b));
    }
    return sl_end(&out);
}
