/* assign_array.c - name=( ... ) and name+=( ... ). */
#include "declare.h"
#include "nameref.h"
#include <stdlib.h>
#include <string.h>

/* [0]={a,b}: braces come first, and what they make is no assignment any more. */
static bool add_braced(slot *s, assign *e, int64_t *next)
{
    int n;
    word **many = brace_expand(e->value, &n);
    for (int i = 0; i < n; i++) {
        char *value = expand_one(many[i], 0);
        strbuf b = { .a = &sh.tmp };
        if (!value) return false;
        sb_printf(&b, "%s%s=%s", e->raw, e->append ? "+" : "", value);
        if (!var_set_index(s, (*next)++, sb_str(&b), 0)) return false;
    }
    return true;
}

static bool add_indexed(slot *s, assign *e, int64_t *next)
{
    if (e->has_sub && e->value->flags & W_BRACE && sh.opt[O_BRACEEXPAND]) {
        int n;
        brace_expand(e->value, &n);
        if (n > 1) return add_braced(s, e, next);
    }
    if (e->has_sub) {
        int64_t i;
        if (!arith_eval(e->index, &i)) { sh_abandon(1); return false; }
        if (i < 0) i += s->top && s->top->flags & V_ARRAY ? arr_next(s->top->u.a) : 0;
        if (i < 0) {   /* the others are assigned all the same */
            sh_report("%s=%s: bad array subscript", e->raw, e->value->raw);
            return true;
        }
        char *value = expand_one(e->value, X_ASSIGN);
        if (!value || !var_set_index(s, i, value, e->append)) return false;
        *next = i + 1;
        return true;
    }
    strlist items = { .a = &sh.tmp };
    if (!expand_word(e->value, X_WORDS | X_ELEMENT, &items)) return false;
    for (size_t i = 0; i < items.n; i++) if (!var_set_index(s, (*next)++, items.v[i], 0)) return false;
    return true;
}

/* (k v k v) or ([k]=v ...) of an associative array; the first element says which. [k]+=v adds to what old has, if there is one. */
static bool add_keyed(slot *s, assign *e, const char *name, assoc *old)
{
    strlist flat = { .a = &sh.tmp };
    bool subscripts = e && e->has_sub;
    for (; e; e = e->next) {
        char *key = e->has_sub ? expand_one(e->key, X_NOTILDE) : "";
        char *value = key ? expand_one(e->value, X_NOTILDE) : NULL;
        if (!value) return false;
        if (!subscripts && e->has_sub) {
            strbuf b = { .a = &sh.tmp };
            sb_printf(&b, "[%s]%s=%s", key, e->append ? "+" : "", value);
            sl_add(&flat, sb_str(&b));
        } else if (!subscripts) sl_add(&flat, value);
        else if (!e->has_sub) sh_error("%s: %s: must use subscript when assigning associative array", name, value);
        else if (!*key) sh_report("[]=%s: bad array subscript", value);
        else if (old && e->append && !var_set_elem(s, key, assoc_find(old, key) ? assoc_find(old, key)->val : "", 0)) return false;
        else if (!var_set_elem(s, key, value, e->append)) return false;
    }
    for (size_t i = 0; i < flat.n; i += 2) {
        if (!*flat.v[i]) sh_report("\"\": bad array subscript");
        else if (!var_set_elem(s, flat.v[i], i + 1 < flat.n ? flat.v[i + 1] : "", 0)) return false;
    }
    return true;
}

static bool append_items(slot *s, assign *e)
{
    strlist items = { .a = &sh.tmp };
    for (; e; e = e->next) if (!expand_word(e->value, X_WORDS | X_ELEMENT, &items)) return false;
    int64_t next = s->top && s->top->flags & V_ARRAY ? arr_next(s->top->u.a) : 0;
    for (size_t i = 0; i < items.n; i++) if (!var_set_index(s, next++, items.v[i], 0)) return false;
    if (!items.n) var_writable(s, -1)->flags |= V_SET;
    return true;
}

/* INVARIANT: the elements are expanded before the old value goes, because they may refer to it: a=("${a[@]}" x). */
static bool assign_elements(slot *s, assign *a)
{
    if (check_readonly(s, s->top)) return false;
    bool is_assoc = s->top && s->top->flags & V_ASSOC;
    if (a->append && s->top && s->top->flags & V_ARRAY) {   /* the common a+=(x ...): in place, not by copying the array */
        assign *e = a->elems;
        while (e && !e->has_sub) e = e->next;
        if (!e) return append_items(s, a->elems);
    }
    slot *work = slot_of(" array");   /* a name no script can use */
    var *old_work = work->top;
    if (old_work) chain_remove(work, old_work);
    var *w = xmalloc(sizeof *w);
    *w = (var){ .scope = 0, .level = sh.level };
    chain_insert(work, w);
    var_make_array(work, w, is_assoc);
    w->flags |= V_SET;
    if (a->append && s->top) {
        if (is_assoc) { assoc_free(w->u.h); w->u.h = assoc_copy(s->top->u.h); }
        else if (s->top->flags & V_ARRAY) { arr_free(w->u.a); w->u.a = arr_copy(s->top->u.a); }
        else if (s->top->flags & V_SET) arr_set(w->u.a, 0, xstrdup(s->top->str));
    }
    if (s->top) w->flags |= s->top->flags & (V_INT | V_LOWER | V_UPPER | V_CAPITAL);
    bool ok = true;
    if (is_assoc) ok = add_keyed(work, a->elems, s->name, a->append ? NULL : s->top->u.h);
    else {
        int64_t next = a->append ? arr_next(w->u.a) : 0;
        for (assign *e = a->elems; e && ok; e = e->next) ok = add_indexed(work, e, &next);
    }
    w = work->top;
    chain_remove(work, w);
    if (old_work) chain_insert(work, old_work);
    if (ok) {
        var *v = var_writable(s, -1);
        var_clear_value(v);
        v->flags = (uint16_t)((v->flags & ~(V_ARRAY | V_ASSOC)) | (w->flags & (V_ARRAY | V_ASSOC)) | V_SET);
        v->u = w->u;
        free(w->str);
        free(w);
    } else var_free(w);
    return ok;
}

bool assign_array(slot *s, assign *a)
{
    char *sub;
    var *inner = circular_aside(s);
    if (!inner) var_deref(&s, &sub);
    if (!inner && sub) { sh_error("`%s[%s]': not a valid identifier", s->name, sub); return false; }
    bool ok = assign_elements(s, a);
    circular_back(s, inner);
    return ok;
}
