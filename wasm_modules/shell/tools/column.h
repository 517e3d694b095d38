/* column.h - what column.c (lists) and column_table.c (tables) share. */
#ifndef HATCH_COLUMN_H
#define HATCH_COLUMN_H
#include "buffer.h"

typedef struct {
    int table, across, keep_empty, explicit_sep, json, no_heading;
    size_t width, most;                                  /* of the screen; of columns, 0 without limit */
    const char *separators, *joint, *right, *names, *hide, *order,
        *table_name; /* right, hide, order: lists of numbers and names */
    buffer text;
} column_state;

size_t column_width(const char *p, size_t n);            /* on a screen */
int column_table(tool *t, column_state *s, span_list *lines);
#endif
