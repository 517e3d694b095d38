/* assign.c - assignment with its rules: readonly variables, attributes, appending, elements of arrays. */
#include "sh.h"
#include "nameref.h"
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

bool check_readonly(slot *s, var *v)
{
    if (!v || !(v->flags & V_READONLY)) return false;
    sh_report("%s: readonly variable", s->name);
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
    if (sh.opt[O_ALLEXPORT] && !(v->flags & (V_ARRAY | V_ASSOC))) v->flags |= V_EXPORT;
    if (s->special && s->special->set) s->special->set(s, v);
}

/* The value that old, extended by value, becomes: in sh.tmp; NULL after a message. */
static const char *appended(var *v, const char *old, const char *value)
{
    strbuf b = { .a = &sh.tmp };
    int64_t sum, more;
    char buf[24];
    if (!old) return value;
    if (v->flags & V_INT) {
        if (!arith_eval_text(old, &sum) || !arith_eval_text(value, &more)) { sh_abandon(1); return NULL; }
        sb_puts(&b, fmt_int((int64_t)((uint64_t)sum + (uint64_t)more), buf));
    } else { sb_puts(&b, old); sb_puts(&b, value); }
    return sb_str(&b);
}

bool var_set_slot(slot *s, const char *value, int append)
{
    var *top = s->top;
    if (top && top->flags & V_NAMEREF) {
        if (!top->str || !*top->str) {   /* the first assignment to a declared nameref gives it its target */
            if (check_readonly(s, top)) return false;
            size_t n = name_len(value);
            if (!n || (value[n] && value[n] != '[')) { sh_error("`%s': not a valid identifier", value); return false; }
            var_put(var_writable(s, -1), value);
            return true;
        }
        char *sub;
        slot *from = s;
        var *inner = circular_aside(s);
        if (inner) {
            bool ok = var_set_slot(s, value, append);
            circular_back(s, inner);
            return ok;
        }
        var_deref(&s, &sub);
        if (sub) return var_set_elem(s, sub, value, append);
        if (s == from) return false;   /* in a circle of several */
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
    if (append && !(value = appended(v, v->str, value))) return false;
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
    if (append && !(value = appended(v, old, value))) return NULL;
    if (!(v->flags & CONVERTS)) return xstrdup(value);
    bool ok;
    return apply_attributes(s, v, value, &ok);
}

static bool set_index(slot *s, int64_t i, const char *value, int append)
{
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

static bool set_elem(slot *s, const char *key, const char *value, int append)
{
    if (check_readonly(s, s->top)) return false;
    if (!s->top || !(s->top->flags & V_ASSOC)) {
        int64_t i;
        if (!*key || ((*key == '@' || *key == '*') && !key[1])) {
            sh_report("%s[%s]: bad array subscript", s->name, key);
            return false;
        }
        if (!arith_eval_text(key, &i)) { sh_abandon(1); return false; }
        if (i < 0) {
            int64_t n = s->top && s->top->flags & V_ARRAY ? arr_next(s->top->u.a) : s->top ? 1 : 0;
            if (i + n < 0) { sh_report("%s[%s]: bad array subscript", s->name, key); return false; }
            i += n;
        }
        return var_set_index(s, i, value, append);
    }
    if (!*key) { sh_report("%s[%s]: bad array subscript", s->name, key); return false; }
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

/* The slot whose variable changes when s is assigned to; *inner is what circular_back needs. */
static slot *target_of(slot *s, var **inner)
{
    char *sub;
    *inner = circular_aside(s);
    if (s->top && s->top->flags & V_NAMEREF) var_deref(&s, &sub);
    return s;
}

bool var_set_index(slot *s, int64_t i, const char *value, int append)
{
    var *inner;
    slot *target = target_of(s, &inner);
    bool ok = set_index(target, i, value, append);
    circular_back(target, inner);
    return ok;
}

bool var_set_elem(slot *s, const char *key, const char *value, int append)
{
    var *inner;
    slot *target = target_of(s, &inner);
    bool ok = set_elem(target, key, value, append);
    circular_back(target, inner);
    return ok;
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
