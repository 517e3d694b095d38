/* await.c - what a command would have to wait for before it does anything: a line on its input, a writer at a named pipe.
 *
 * Told from the tree alone, and from words that can be expanded without side effects; who looks further is surprised.
 */
#include "walk.h"
#include "fifo.h"
#include <string.h>

bool reads_first(node *n)
{
    for (; n; n = n->kind == N_LIST ? n->u.list.items[0] : n->u.pair.a) {
        if (n->redirs) return false;
        if (n->kind == N_SIMPLE) {
            word *w = n->u.simple.n ? n->u.simple.words[0] : NULL;
            return w && w->flags & W_PLAIN && !strcmp(w->parts->u.lit.text, "read") && !func_find("read");
        }
        if (n->kind != N_LIST && n->kind != N_AND && n->kind != N_OR && n->kind != N_NOT && n->kind != N_GROUP) return false;
    }
    return false;
}

/* The word, as far as it can be told without side effects, is the name of a pipe that holds nothing. */
static bool names_empty_pipe(word *w)
{
    for (part *p = w->parts; p; p = p->next)
        if (p->kind != P_LIT && (p->kind != P_PARAM || p->u.param->op || p->u.param->indirect || p->u.param->sub)) return false;
    arena_mark_t m = arena_mark(&sh.tmp);
    uint8_t strict = sh.opt[O_NOUNSET];
    sh.opt[O_NOUNSET] = 0;       /* it is only asked here, not used */
    char *path = expand_one(w, 0);
    sh.opt[O_NOUNSET] = strict;
    bool empty = path && fifo_is_empty(path);
    arena_release(&sh.tmp, m);
    return empty;
}

static bool reads_arguments(node *n)
{
    static const char *const others[] = { "echo", "printf", "test", "[", "rm", "ls", "stat", "tee", "mkfifo", "exec", "kill" };
    word *first = n->u.simple.n ? n->u.simple.words[0] : NULL;
    if (!first || !(first->flags & W_PLAIN)) return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) if (!strcmp(first->parts->u.lit.text, others[i])) return false;
    return true;
}

bool opens_empty_pipe(node *n)
{
    while (n) {
        for (redir *r = n->redirs; r; r = r->next) if (r->kind == R_IN && r->target && names_empty_pipe(r->target)) return true;
        if (n->kind == N_SIMPLE) {
            for (int i = 1; i < n->u.simple.n && reads_arguments(n); i++)
                if (names_empty_pipe(n->u.simple.words[i])) return true;
            return false;
        }
        if (n->kind == N_LIST || n->kind == N_PIPE) n = n->u.list.items[0];
        else if (n->kind == N_IF) n = n->u.iff.cond;
        else if (n->kind == N_SUBSHELL || n->kind == N_GROUP || n->kind == N_AND || n->kind == N_OR || n->kind == N_NOT ||
                 n->kind == N_WHILE || n->kind == N_UNTIL)
            n = n->u.pair.a;
        else return false;
    }
    return false;
}
