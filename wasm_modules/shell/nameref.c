/* nameref.c - declare -n: what a reference stands for.
 *
 * A reference to its own name (local -n x=$1, called with x) stands for the global variable of that name, with a warning. To
 * change that one, the variables in front of it are put aside for a moment.
 */
#include "nameref.h"
#include <string.h>

static void warn(slot *s) { sh_error("warning: %s: circular name reference", s->name); }

var *var_deref(slot **sp, char **sub)
{
    if (sub) *sub = NULL;
    var *v = var_top(*sp);
    slot *first = *sp;
    for (int hops = 0; v && v->flags & V_NAMEREF && v->str && *v->str; hops++) {
        if (hops > 8) { warn(first); *sp = first; return NULL; }
        const char *target = v->str, *open = strchr(target, '[');
        if (open) {
            char *name = arena_strndup(&sh.tmp, target, (size_t)(open - target));
            size_t n = strlen(open + 1);
            if (sub && n > 0) *sub = arena_strndup(&sh.tmp, open + 1, n - 1);
            *sp = slot_of(name);
            return var_top(*sp);
        }
        slot *next = slot_of(target);
        if (next == *sp) {
            warn(*sp);
            return v->scope > 0 ? chain_find(*sp, 0) : NULL;
        }
        *sp = next;
        v = var_top(*sp);
    }
    return v;
}

var *circular_aside(slot *s)
{
    var *inner = s->top;
    if (!inner || !(inner->flags & V_NAMEREF) || !inner->str || strcmp(inner->str, s->name) || inner->scope == 0) return NULL;
    warn(s);
    s->top = chain_find(s, 0);
    return inner;
}

void circular_back(slot *s, var *inner)
{
    if (!inner) return;
    var *last = inner;
    while (last->outer && last->outer->scope > 0) last = last->outer;
    last->outer = s->top;
    s->top = inner;
}
