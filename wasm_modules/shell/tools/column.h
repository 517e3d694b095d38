/* column.h - what column.c (lists), column_table.c (tables) and column_tree.c (their order as a tree) share. */
#ifndef HATCH_COLUMN_H
#define HATCH_COLUMN_H
#include "buffer.h"

typedef struct {
    int tree_options;                                    /* how many of the three below are given */
    const char *tree, *tree_id, *tree_parent;            /* each a column */
    int table, across, keep_empty, explicit_sep, json, no_heading;
    size_t width, most;                                  /* of the screen; of columns, 0 without limit */
    const char *separators, *joint, *right, *names, *hide, *order,
        *table_name; /* right, hide, order: lists of numbers and names */
    buffer text;
} column_state;

size_t column_width(const char *p, size_t n);            /* on a screen */
enum { COLUMN_DEEPEST = 256 };                           /* of a tree */
typedef struct { size_t column, id, parent; int shows_lines; } column_tree;

/* Reorders the rows; how deep each one is. */
size_t *column_order_tree(tool *t, span_list *rows, size_t count, const column_tree *tree);

int column_table(tool *t, column_state *s, span_list *lines);
#endif
