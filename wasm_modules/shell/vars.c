/* vars.c - variables: lookup, assignment with its rules, attributes.
 *
 * A slot stands for a name and is never freed, so the tree caches pointers to slots. A slot holds a chain of variables, the
 * innermost scope first; each has a distinct scope number, 0 being global. Writing in a subshell first puts a copy in place of
 * the variable and logs the original (scopes.c).
 */
#include "sh.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

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

var *var_deref(slot **sp, char **sub)
{
    if (sub) *sub = NULL;
    var *v = var_top(*sp);
    slot *first = *sp;
    for (int hops = 0; v && v->flags & V_NAMEREF && v->str && *v->str; hops++) {
        if (hops > 8) { sh_error("warning: %s: circular name reference", first->name); *sp = first; return NULL; }
        const char *target = v->str, *open = strchr(target, '[');
        if (open) {
            char *name = arena_strndup(&sh.tmp, target, (size_t)(open - target));
            size_t n = strlen(open + 1);
            if (sub && n > 0) *sub = arena_strndup(&sh.tmp, open + 1, n - 1);
            *sp = slot_of(name);
            return var_top(*sp);
        }
        slot *next = slot_of(target);
        if (next == *sp) {   /* a local nameref to a name of the caller: look outside this scope */
            for (v = v->outer; v && v->flags & V_NAMEREF && v->str && !strcmp(v->str, target); ) v = v->outer;
            return v;
        }
        *sp = next;
        v = var_top(*sp);
    }
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

bool check_readonly(slot *s, var *v)
{
    if (!v || !(v->flags & V_READONLY)) return false;
    sh_error("%s: readonly variable", s->name);
    return true;
}

char *apply_attributes(slot *s, var *v, const char *value, bool *ok)
{
    (void)s;
    *ok = true;
    if (v->flags & V_INT) {
        int64_t n;
        char buf[24];
        if (!arith_eval_text(value, &n)) { *ok = false; sh_abandon(1); return NULL; }
        return xstrdup(fmt_int(n, buf));
    }
    strbuf b = { 0 };
    uint32_t c;
    bool first = true;
    for (size_t k; (k = utf8_next(value, &c)) > 0; value += k) {
        char out[4];
        bool up = v->flags & V_UPPER || (v->flags & V_CAPITAL && first);
        uint32_t d = up ? (uint32_t)towupper((wint_t)c) : (uint32_t)towlower((wint_t)c);
        if (k == 1 && c >= 0x80) sb_add(&b, value, 1);
        else sb_add(&b, out, utf8_put(d, out));
        first = false;
    }
    return sb_str(&b);
}

#define CONVERTS (V_INT | V_LOWER | V_UPPER | V_CAPITAL)

static void assigned(slot *s, var *v)
{
    if (sh.opt[O_ALLEXPORT]) v->flags |= V_EXPORT;
    if (s->special && s->special->set) s->special->set(s, v);
}

/* The value that old, extended by value, becomes: in sh.tmp. */
static const char *appended(var *v, const char *old, const char *value)
{
    strbuf b = { .a = &sh.tmp };
    if (!old) return value;
    if (v->flags & V_INT) sb_printf(&b, "%s+(%s)", *old ? old : "0", *value ? value : "0");
    else { sb_puts(&b, old); sb_puts(&b, value); }
    return sb_str(&b);
}

bool var_set_slot(slot *s, const char *value, int append)
{
    var *top = s->top;
    if (top && top->flags & V_NAMEREF) {
        char *sub;
        if (!top->str || !*top->str) {   /* the first assignment to a declared nameref gives it its target */
            if (check_readonly(s, top)) return false;
            size_t n = name_len(value);
            if (!n || (value[n] && value[n] != '[')) { sh_error("`%s': not a valid identifier", value); return false; }
            var_put(var_writable(s, -1), value);
            return true;
        }
        slot *from = s;
        var *target = var_deref(&s, &sub);
        if (sub) return var_set_elem(s, sub, value, append);
        if (s == from) {
            if (!target) return !strcmp(top->str, s->name);   /* else it is circular */
            else { var_put(own(s, target), value); return true; }
        }
        top = s->top;
    }
    if (top && top->flags & V_READONLY) { check_readonly(s, top); return false; }
    var *v = var_writable(s, -1);
    if (v->flags & (V_ARRAY | V_ASSOC)) {
        if (v->flags & V_ASSOC) return var_set_elem(s, "0", value, append);
        return var_set_index(s, 0, value, append);
    }
    if (append && v->str && v->flags & V_SET && !(v->flags & CONVERTS)) {
        size_t old = v->len, more = strlen(value), need = old + more + 1;
        if (need > v->cap) {   /* value may be the variable's own text: copy it before the block moves */
            char *grown = xmalloc(need * 2);
            memcpy(grown, v->str, old);
            memcpy(grown + old, value, more + 1);
            free(v->str);
            v->str = grown;
            v->cap = need * 2;
        } else memmove(v->str + old, value, more + 1);
        v->len = old + more;
        assigned(s, v);
        return true;
    }
    if (append) value = appended(v, v->str, value);
    if (v->flags & CONVERTS) {
        bool ok;
        char *text = apply_attributes(s, v, value, &ok);
        if (!ok) return false;
        var_put(v, text);
        free(text);
    } else {
        var_put(v, value);
    }
    assigned(s, v);
    return true;
}

bool var_set(const char *name, const char *value) { return var_set_slot(slot_of(name), value, 0); }

void var_make_array(slot *s, var *v, int is_assoc)
{
    (void)s;
    if (v->flags & (V_ARRAY | V_ASSOC)) return;
    char *old = v->str;
    v->str = NULL;
    v->cap = 0;
    if (is_assoc) { v->u.h = assoc_new(); v->flags |= V_ASSOC; if (old) assoc_set(v->u.h, "0", xstrdup(old)); }
    else {
        v->u.a = xmalloc(sizeof(arr));
        *v->u.a = (arr){ 0 };
        v->flags |= V_ARRAY;
        if (old) arr_set(v->u.a, 0, xstrdup(old));
    }
    free(old);
}

/* The text to store in an element, malloc'ed; NULL after a message. */
static char *elem_value(slot *s, var *v, const char *old, const char *value, int append)
{
    if (append) value = appended(v, old, value);
    if (!(v->flags & CONVERTS)) return xstrdup(value);
    bool ok;
    return apply_attributes(s, v, value, &ok);
}

bool var_set_index(slot *s, int64_t i, const char *value, int append)
{
    char *sub;
    if (s->top && s->top->flags & V_NAMEREF) var_deref(&s, &sub);
    if (check_readonly(s, s->top)) return false;
    var *v = var_writable(s, -1);
    var_make_array(s, v, 0);
    if (v->flags & V_ASSOC) {
        char buf[24];
        return var_set_elem(s, fmt_int(i, buf), value, append);
    }
    char *text = elem_value(s, v, arr_get(v->u.a, i), value, append);
    if (!text) return false;
    arr_set(v->u.a, i, text);
    v->flags |= V_SET;
    assigned(s, v);
    return true;
}

bool var_set_elem(slot *s, const char *key, const char *value, int append)
{
    char *sub;
    if (s->top && s->top->flags & V_NAMEREF) var_deref(&s, &sub);
    if (check_readonly(s, s->top)) return false;
    if (!s->top || !(s->top->flags & V_ASSOC)) {
        int64_t i;
        if (!*key) { sh_error("%s[%s]: bad array subscript", s->name, key); return false; }
        if (!arith_eval_text(key, &i)) { sh_abandon(1); return false; }
        if (i < 0) {
            int64_t n = s->top && s->top->flags & V_ARRAY ? arr_next(s->top->u.a) : s->top && s->top->flags & V_SET ? 1 : 0;
            if (i + n < 0) { sh_error("%s[%s]: bad array subscript", s->name, key); return false; }
            i += n;
        }
        return var_set_index(s, i, value, append);
    }
    if (!*key) { sh_error("%s[%s]: bad array subscript", s->name, key); return false; }
    var *v = var_writable(s, -1);
    if (!v->u.h) v->u.h = assoc_new();
    pair *p = assoc_find(v->u.h, key);
    char *text = elem_value(s, v, p ? p->val : NULL, value, append);
    if (!text) return false;
    assoc_set(v->u.h, key, text);
    v->flags |= V_SET;
    assigned(s, v);
    return true;
}

bool var_set_plain(const char *name, const char *value)
{
    slot *s = slot_of(name);
    var *v = var_writable(s, -1);
    if (v->flags & (V_ARRAY | V_ASSOC)) { var_clear_value(v); v->flags &= (uint16_t)~(V_ARRAY | V_ASSOC); }
    var_put(v, value);
    return true;
}

void var_set_int(const char *name, int64_t n)
{
    char buf[24];
    var_set_plain(name, fmt_int(n, buf));
}

void var_set_list(const char *name, char **items, size_t n)
{
    slot *s = slot_of(name);
    var *v = var_writable(s, -1);
    var_clear_value(v);
    v->flags &= (uint16_t)~(V_ARRAY | V_ASSOC);
    var_make_array(s, v, 0);
    for (size_t i = 0; i < n; i++) arr_set(v->u.a, (int64_t)i, xstrdup(items[i]));
    v->flags |= V_SET;
}

bool var_unset(slot *s, int quiet)
{
    var *v = s->top;
    if (!v) return true;
    if (v->flags & V_READONLY) {
        if (!quiet) b_error("unset", 1, "%s: cannot unset: readonly variable", s->name);
        return false;
    }
    if (v->scope > 0 && v->scope == sh.scope) {   /* an unset local keeps hiding the outer variable */
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

char **var_environ(arena *a)
{
    slot **v;
    size_t n = slots_all(&v, is_exported);
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
