/* b_unset.c - unset: variables, elements of arrays, functions. */
#include "builtins.h"
#include "element.h"
#include <string.h>

static int unset_element(char *arg)
{
    slot *s = element_slot(arg);
    char *sub, *unused;
    if (!s->top || !element_subscript(s, arg, &sub)) return s->top != NULL;
    var *v = var_deref(&s, &unused);
    if (!v) return 0;
    if (v->flags & V_READONLY) return b_error("unset", 1, "%s: cannot unset: readonly variable", s->name);
    if (v->flags & V_ASSOC) {
        v = var_writable(s, -1);
        assoc_unset(v->u.h, sub);
        return 0;
    }
    if (!strcmp(sub, "@") || !strcmp(sub, "*")) {
        if (!(v->flags & V_ARRAY)) return var_unset(s, 0) ? 0 : 1;
        v = var_writable(s, -1);
        while (v->u.a->n) arr_unset(v->u.a, v->u.a->e[v->u.a->n - 1].key);
        return 0;
    }
    int64_t i;
    if (!*sub) return 0;
    if (!arith_eval_text(sub, &i)) { sh_abandon(1); return 1; }
    if (!(v->flags & V_ARRAY)) {
        if (i == 0) return var_unset(s, 0) ? 0 : 1;
        return b_error("unset", 1, "%s: not an array variable", s->name);
    }
    if (i < 0) i += arr_next(v->u.a);
    if (i < 0) return b_error("unset", 1, "[%s]: bad array subscript", sub);
    v = var_writable(s, -1);
    arr_unset(v->u.a, i);
    return 0;
}

int b_unset(int argc, char **argv)
{
    opts o = OPTS("unset [-f] [-v] [-n] [name ...]");
    bool functions = false, vars = false, ref = false;
    int status = 0;
    for (int c; (c = next_opt(&o, "fvn"));) {
        if (c == '?') return 2;
        if (c == 'f') functions = true; else if (c == 'v') vars = true; else ref = true;
    }
    if (functions && vars) return b_error("unset", 1, "cannot simultaneously unset a function and a variable");
    for (int i = o.at; i < argc; i++) {
        size_t n = name_len(argv[i]);
        if (functions) {
            func *f = func_find(argv[i]);
            if (f && f->readonly) status = b_error("unset", 1, "%s: cannot unset: readonly function", argv[i]);
            else func_unset(argv[i]);
            continue;
        }
        if (element_text(argv[i])) {
            if (unset_element(argv[i])) status = 1;
            continue;
        }
        if (!n || argv[i][n]) {
            if (!vars) {
                func_unset(argv[i]);
                continue;
            }
            status = b_error("unset", 1, "`%s': not a valid identifier", argv[i]);
            continue;
        }
        slot *s = slot_find(argv[i]);
        char *sub = NULL;
        if (s && !ref && s->top && s->top->flags & V_NAMEREF) {
            var_deref(&s, &sub);
            if (sub) {
                strbuf b = { .a = &sh.tmp };
                sb_printf(&b, "%s[%s]", s->name, sub);
                if (unset_element(sb_str(&b))) status = 1;
                continue;
            }
        }
        if (ref && s && s->top && !(s->top->flags & (V_NAMEREF | V_READONLY))) continue;
        if (s && s->top) { if (!var_unset(s, 0)) status = 1; }
        else if (!vars) func_unset(argv[i]);
    }
    return status;
}
