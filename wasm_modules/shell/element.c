/* element.c - name[subscript] in a text that a builtin is given: unset 'm[$k]', read "a[i]", test -v 'a[0]'.
 *
 * The subscript is read as if it stood in the script: its quotes count, and what begins with $ is expanded, once more when the
 * command line was written without care. A text whose bracket is not closed at its end, as quotes go, names no element.
 *
 * Does not know: what the element is wanted for.
 */
#include "element.h"
#include <string.h>

/* shopt -s assoc_expand_once: the command line has expanded the key of m[key] already. */
static bool is_final(const char *text)
{
    size_t n = name_len(text);
    if (!sh.shopt[S_ASSOC_ONCE] || !n || text[n] != '[' || text[strlen(text) - 1] != ']') return false;
    slot *s = slot_find(arena_strndup(&sh.tmp, text, n));
    char *unused;
    var *v = s ? var_deref(&s, &unused) : NULL;
    return v && v->flags & V_ASSOC;
}

bool element_text(const char *text)
{
    size_t end = element_end(text);
    return (end && !text[end]) || is_final(text);
}

/* The kind of the variable says how a subscript is expanded: keys lose their quotes, indices are arithmetic. */
bool element_subscript(slot *s, const char *text, char **sub)
{
    bool final = is_final(text);
    size_t open = strcspn(text, "["), end = final ? strlen(text) : element_end(text);
    char *unused;
    var *v = var_deref(&s, &unused);
    bool keyed = v && v->flags & V_ASSOC;
    *sub = arena_strndup(&sh.tmp, text + open + 1, end - open - 2);
    return final || !strpbrk(*sub, keyed ? "$`\"'\\" : "$`") || expand_string(*sub, keyed ? 'b' : 'a', sub);
}

slot *element_slot(const char *text) { return slot_of(arena_strndup(&sh.tmp, text, strcspn(text, "["))); }

bool element_assign(const char *text, const char *value, int append)
{
    slot *s = element_slot(text);
    char *sub;
    return element_subscript(s, text, &sub) && var_set_elem(s, sub, value, append);
}
