/* lines.c - line numbers inside $(...), <(...) and backquotes, counted from the line of the command they stand in.
 *
 * Bash runs a $(...) from the text that it prints its commands as, so its lines are those of that text: `for` takes a line of its
 * own before `do`, comments and empty lines take none, and in a function every command has one. Between backquotes the lines are
 * those of the source.
 */
#include "parse.h"
#include <string.h>

enum { AS_PRINTED = -1 };
static bool in_function;         /* the walk is inside a function's definition */
static int number(node *n, int at, int source);

static int newlines(const char *s)
{
    int n = 0;
    for (; s && *s; s++) n += *s == '\n';
    return n;
}

/* Lines that the words and here-documents of a command add to its first. */
static int extra_lines(node *n)
{
    int lines = 0;
    for (int i = 0; i < n->u.simple.n; i++) lines += newlines(n->u.simple.words[i]->raw);
    for (assign *a = n->u.simple.assigns; a; a = a->next) lines += newlines(a->raw);
    for (redir *r = n->redirs; r; r = r->next) if (r->kind == R_HEREDOC && r->target) lines += newlines(r->target->raw) + 2;
    return lines;
}

static int number_list(node *n, int at, int source)
{
    for (int i = 0; i < n->u.list.n; i++) {
        node *item = n->u.list.items[i];
        int line = item->line;
        at = number(item, at, source);
        if (i + 1 >= n->u.list.n || n->kind != N_LIST) continue;
        if (in_function ? !item->background : n->u.list.items[i + 1]->line != line) at++;
    }
    return at;
}

static int number_function(node *body, int at, int source)
{
    bool was = in_function;
    in_function = true;
    bool group = body->kind == N_GROUP;
    at = number(body, at + (group ? 1 : 2), source) + !group;
    in_function = was;
    return at;
}

/* Sets the lines of n, which begins at `at`, and below it; the line on which it ends. source: the first line in the script of a
 * text between backquotes, or AS_PRINTED. */
static int number(node *n, int at, int source)
{
    if (!n) return at;
    n->line = source == AS_PRINTED ? at : n->line - source;
    switch (n->kind) {
    case N_SIMPLE: return at + extra_lines(n);
    case N_LIST: case N_PIPE: return number_list(n, at, source);
    case N_AND: case N_OR:       /* leans left, and only its length bounds it: no recursion that way */
        for (;;) {
            number(n->u.pair.b, at, source);
            n = n->u.pair.a;
            if (n->kind != N_AND && n->kind != N_OR) return number(n, at, source);
            n->line = source == AS_PRINTED ? at : n->line - source;
        }
    case N_FUNC: return number_function(n->u.func.body, at, source);
    case N_GROUP: return number(n->u.pair.a, at + in_function, source) + in_function;
    case N_SUBSHELL: case N_NOT: case N_TIME: return number(n->u.pair.a, at, source);
    case N_IF:
        at = number(n->u.iff.cond, at, source);
        at = number(n->u.iff.then, at + 1, source);
        if (n->u.iff.other) at = number(n->u.iff.other, at + 2, source);
        return at + 1;
    case N_WHILE: case N_UNTIL:
        at = number(n->u.pair.a, at, source);
        return number(n->u.pair.b, at + 1, source) + 1;
    case N_FOR: case N_SELECT: return number(n->u.loop.body, at + 2, source) + 1;
    case N_CFOR: return number(n->u.cfor.body, at + 2, source) + 1;
    case N_CASE:
        for (case_item *c = n->u.kase.items; c; c = c->next) at = number(c->body, at + 2, source) + 1;
        return at + 1;
    default: return at;
    }
}

void number_printed(node *body) { number(body, 0, AS_PRINTED); }
void number_from(node *body, int first_line) { number(body, 0, first_line); }
