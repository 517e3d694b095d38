/* column_tree.c - column --tree: the rows of a table in the order of a tree, each below the row that its parent cell names.
 *
 * A row whose parent is not among the rows is a root; of rows that are each other's ancestors the first one is.
 */
#include "column.h"
#include <string.h>

static int same_cell(const span_list *a, size_t i, const span_list *b, size_t j) {
    return i < a->n && j < b->n && a->at[i].n == b->at[j].n && !memcmp(a->at[i].p, b->at[j].p, a->at[i].n);
}

typedef struct { size_t parent, first, last, next; int placed; } place;      /* numbers of rows plus one, 0: none */

static place *find_places(tool *t, const span_list *rows, size_t count, const column_tree *tree) {
    place *at = tool_alloc(t, (count + 1) * sizeof *at);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count && !at[i].parent; k++)
            if (k != i && same_cell(&rows[i], tree->parent, &rows[k], tree->id)) at[i].parent = k + 1;
        place *up = at[i].parent ? &at[at[i].parent - 1] : NULL;
        if (!up) continue;
        if (up->last) at[up->last - 1].next = i + 1; else up->first = i + 1;
        up->last = i + 1;
    }
    return at;
}

/* The lines of the tree before a cell: one step for each ancestor that is no root. */
static span with_lines(tool *t, const place *at, size_t row, span text) {
    buffer b = {.t = t};
    const char *steps[COLUMN_DEEPEST];
    size_t n = 0;
    for (size_t i = row; at[i].parent && n < COLUMN_DEEPEST; i = at[i].parent - 1)
        steps[n++] = i == row ? (at[i].next ? "├─" : "└─") : at[i].next ? "│ " : "  ";
    while (n) buffer_puts(&b, steps[--n]);
    buffer_add(&b, text.p, text.n);
    return (span){b.p, b.n};
}

/* The tree below root, a row of no depth. */
static size_t add_tree(tool *t, place *at, size_t root, const span_list *from, span_list *to, size_t *depths, size_t n,
    const column_tree *tree) {
    size_t depth = 0;
    for (size_t i = root;;) {
        at[i].placed = 1;
        depths[n] = depth;
        to[n] = from[i];
        if (tree->shows_lines && tree->column < to[n].n) to[n].at[tree->column] = with_lines(t, at, i, to[n].at[tree->column]);
        n++;
        if (at[i].first && !at[at[i].first - 1].placed && depth + 1 < COLUMN_DEEPEST) { i = at[i].first - 1; depth++; continue; }
        while (depth && !at[i].next) { i = at[i].parent - 1; depth--; }
        if (!depth) return n;
        i = at[i].next - 1;
    }
}

size_t *column_order_tree(tool *t, span_list *rows, size_t count, const column_tree *tree) {
    span_list *from = tool_alloc(t, (count + 1) * sizeof *from);
    size_t *depths = tool_alloc(t, (count + 1) * sizeof *depths), n = 0;
    memcpy(from, rows, count * sizeof *from);
    place *at = find_places(t, from, count, tree);
    for (int cycles = 0; cycles < 2; cycles++)
        for (size_t i = 0; i < count; i++) {
            if (at[i].placed || (at[i].parent && !cycles)) continue;
            at[i].parent = at[i].next = 0;
            n = add_tree(t, at, i, from, rows, depths, n, tree);
        }
    return depths;
}
