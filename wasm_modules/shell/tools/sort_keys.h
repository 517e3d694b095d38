/* sort_keys.h - how sort(1) compares two lines: keys, their options, and the comparisons by number, month, version, ... */
#ifndef HATCH_SORT_KEYS_H
#define HATCH_SORT_KEYS_H
#include "buffer.h"

typedef struct sort_key {
    size_t start_field, start_char, end_field,
        end_char; /* 0-based fields and characters; end_field SIZE_MAX: to the end of the line */
    int skip_start, skip_end;                              /* b at the start, b at the end */
    int numeric, general, human, month, version, random, reverse, dictionary, fold, printable;
    struct sort_key *next;
} sort_key;

typedef struct {
    sort_key *keys, global;
    int tab;                                               /* the -t byte, -1: blanks to non-blank transitions */
    int stable, unique;
    unsigned long long salt;                               /* of -R */
    tool *t;
} sort_order;

int sort_key_parse(tool *t, const char *text, sort_key *key);     /* the argument of -k; 0, or 2 after a message */
int sort_key_option(sort_key *key, int letter);                   /* one of bdfghiMnRrV; 0 when it is none */
int sort_compare_keys(const sort_order *o, span a, span b);       /* without the last resort */
int sort_compare(const sort_order *o, span a, span b);            /* with it */
span sort_key_span(const sort_order *o, const sort_key *k, span line);   /* the part of a line that a key names */
int sort_month(span s);                                           /* 1 to 12, 0 when it is none */

/* sort_debug.c */
void sort_debug_notes(const sort_order *o);
void sort_debug_line(const sort_order *o, io *to, span line);

int version_compare(const char *a, size_t an, const char *b, size_t bn); /* GNU's filevercmp */
#endif
