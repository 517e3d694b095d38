/* jq_call.h - what jq_call.c (names and dispatch), jq_loop.c and jq_gather.c share. */
#ifndef HATCH_JQ_CALL_H
#define HATCH_JQ_CALL_H
#include "jq.h"

/* The functions, in the order of the table in jq_call.c. */
enum {
    F_EMPTY,
    F_ERROR0,
    F_SELECT,
    F_MAP,
    F_RANGE1,
    F_RANGE2,
    F_RANGE3,
    F_LIMIT,
    F_FIRST,
    F_LAST,
    F_UNTIL,
    F_WHILE,
    F_REPEAT,
    F_RECURSE1,
    F_RECURSE2,
    F_PATH,
    F_PATHS,
    F_DEL,
    F_ANY2,
    F_ALL2,
    F_ISEMPTY,
    F_SORT_BY,
    F_GROUP_BY,
    F_UNIQUE_BY,
    F_MIN_BY,
    F_MAX_BY,
    F_INPUT,
    F_INPUTS,
    F_GETPATH,
    F_PICK,
    F_WALK,
    F_ADD1,
    F_DEBUG1,
    F_TO_ENTRIES,
    F_COUNT
};

typedef struct { jout o; jnode *n; jenv *e; jv in, held; jpath *p; jout *k; double count; int id, flag; } call_out;

/* jq_loop.c */
int jqc_range_out(jq *q, jout *self, jv v, jpath *p);
int jqc_limited(jq *q, jnode *f, jenv *e, jv in, jpath *p, jout *k, double count);
int jqc_limit_out(jq *q, jout *self, jv v, jpath *p);
int jqc_with_path(jq *q, jv v, jv path, uint32_t at, jpath *p, jout *k);
int jqc_last(jq *q, jnode *n, jenv *e, jv in, jpath *p, jout *k);
int jqc_until(jq *q, jnode *n, jenv *e, jv in, jout *k);
int jqc_repeat(jq *q, jnode *n, jenv *e, jv in, jout *k);
int jqc_recurse_from(jq *q, jnode *n, jenv *e, jv v, jpath *p, jout *k);

/* jq_gather.c */
jv jqc_collect(jq *q, jnode *n, jenv *e, jv in, int *run);
int jqc_map(jq *q, jnode *n, jenv *e, jv in, jout *k);
int jqc_true_of(jq *q, jnode *n, jenv *e, jv in, int *run);
int jqc_order_by(jq *q, jnode *n, jenv *e, jv in, jout *k);
jv jqc_walk(jq *q, jnode *f, jenv *e, jv v, int *run);
int jqc_entries(jq *q, jv in, jout *k);
int jqc_any_all(jq *q, jnode *n, jenv *e, jv in, jout *k);
#endif
