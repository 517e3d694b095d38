/* awk_keys.c - the order in which for-in visits an array: gawk's own, or the one that PROCINFO["sorted_in"] asks for.
 *
 * gawk files an array whose first key is an integer by number: such an array lists its text keys first, then its integers in
 * rising order. Any other array is a chained hash table, listed bucket by bucket, the newest key of a bucket first. Scripts show
 * that order, so it is computed here from the order of insertion; the array itself (awk_value.c) does not know it.
 */
#include "awk.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The sizes gawk's hash table grows through; it grows when a bucket would hold more than two keys on average. */
static const unsigned sizes[] = {13, 127, 1021, 8191, 16381, 32749, 65497, 131101, 262147, 524309, 1048583, 2097169};
enum { SIZES = sizeof sizes / sizeof *sizes, LONGEST_CHAIN = 2 };

static unsigned table_hash(const astr *s) {
    unsigned h = 0;
    for (size_t i = 0; i < s->n; i++) h = h * 65599u + (unsigned)(signed char)s->text[i];
    return h;
}

typedef struct {
    unsigned *hash;
    int *next, *heads;
    unsigned size;
} table; /* heads and next hold the number of a key, plus one */

static void push(table *T, int key) {
    int *head = &T->heads[T->hash[key] % T->size];
    T->next[key] = *head;
    *head = key + 1;
}

static void grow(awk *A, table *T, unsigned size) {
    int *old = T->heads;
    unsigned old_size = T->size;
    T->heads = tool_alloc(A->t, size * sizeof *T->heads);
    T->size = size;
    for (unsigned b = 0; b < old_size; b++)
        for (int k = old[b], next; k; k = next) {
            next = T->next[k - 1];
            push(T, k - 1);
        }
    tool_free(A->t, old);
}

/* Reorders keys, which stand in the order of their insertion. */
static void order_as_table(awk *A, astr **keys, int n) {
    if (n < 2) return;
    astr **sorted = tool_alloc(A->t, (size_t)n * sizeof *sorted);
    table T = {.hash = tool_alloc(A->t, (size_t)n * sizeof *T.hash), .next = tool_alloc(A->t, (size_t)n * sizeof *T.next)};
    int level = 0, count = 0;
    grow(A, &T, sizes[0]);
    for (int i = 0; i < n; i++) {
        T.hash[i] = table_hash(keys[i]);
        if ((unsigned)(i + 1) / T.size > LONGEST_CHAIN && level + 1 < SIZES) grow(A, &T, sizes[++level]);
        push(&T, i);
    }
    for (unsigned b = 0; b < T.size; b++) for (int k = T.heads[b]; k; k = T.next[k - 1]) sorted[count++] = keys[k - 1];
    memcpy(keys, sorted, (size_t)n * sizeof *keys);
    tool_free(A->t, T.heads);
    tool_free(A->t, T.next);
    tool_free(A->t, T.hash);
    tool_free(A->t, sorted);
}

static int by_number(const void *a, const void *b) {
    double x = atof((*(astr *const *)a)->text), y = atof((*(astr *const *)b)->text);
    return x < y ? -1 : x > y;
}

astr **amap_keys(awk *A, array *a, int *n) {
    astr **keys = tool_alloc(A->t, ((size_t)a->count + 1) * sizeof *keys);
    int texts = 0, all;
    for (int i = 0; i < a->used; i++)
        if (a->slots[i].key && !(a->by_number && amap_is_index(a->slots[i].key))) keys[texts++] = astr_ref(a->slots[i].key);
    order_as_table(A, keys, texts);
    all = texts;
    for (int i = 0; a->by_number && i < a->used; i++)
        if (a->slots[i].key && amap_is_index(a->slots[i].key)) keys[all++] = astr_ref(a->slots[i].key);
    qsort(keys + texts, (size_t)(all - texts), sizeof *keys, by_number);
    *n = all;
    return keys;
}

/* A function of the program compares: how(index1, value1, index2, value2). */
static int order_by_function(awk *A, array *a, astr *x, astr *y, afunc *f) {
    cell args[4]
        = {cell_str(astr_ref(x)), cell_copy(*amap_get(A, a, x, 1)), cell_str(astr_ref(y)), cell_copy(*amap_get(A, a, y, 1))};
    cell answer = awk_call_with(A, f, args, 4);
    double order = cell_number(&answer);
    cell_drop(A, answer);
    return order < 0 ? -1 : order > 0;
}

enum { RANK_NUMBER, RANK_STRING, RANK_ARRAY };

static int type_rank(cell *c) { return c->type & V_ARRAY ? RANK_ARRAY : cell_is_number(c) ? RANK_NUMBER : RANK_STRING; }

static int key_order(awk *A, array *a, astr *x, astr *y, const char *how, afunc *f) {
    int order;
    cell cx, cy;
    if (f) return order_by_function(A, a, x, y, f);
    if (!strncmp(how, "@val", 4)) {
        cx = cell_copy(*amap_get(A, a, x, 1));
        cy = cell_copy(*amap_get(A, a, y, 1));
        if (strstr(how, "_str")) {
            cell sx = cell_str(cell_string(A, &cx, 0)), sy = cell_str(cell_string(A, &cy, 0));
            order = cell_compare(A, &sx, &sy);
            cell_drop(A, sx);
            cell_drop(A, sy);
        } else if (strstr(how, "_num")) {
            double p = cell_number(&cx), q = cell_number(&cy);
            order = p < q ? -1 : p > q;
        } else {
            int nx = type_rank(&cx), ny = type_rank(&cy);
            order = nx != ny ? nx - ny : nx == RANK_ARRAY ? 0 : cell_compare(A, &cx, &cy);
        }
        cell_drop(A, cx);
        cell_drop(A, cy);
    } else if (strstr(how, "_num")) {
        double p = awk_text_number(x->text, x->n), q = awk_text_number(y->text, y->n);
        order = p < q ? -1 : p > q;
    } else order = 0;
    if (!order) {
        size_t n = x->n < y->n ? x->n : y->n;
        int fold = A->vars[VAR_IGNORECASE].type && cell_true(&A->vars[VAR_IGNORECASE]);
        order = fold ? strncasecmp(x->text, y->text, n) : memcmp(x->text, y->text, n);
        if (!order) order = x->n < y->n ? -1 : x->n > y->n;
        if (strstr(how, "_num") && !strncmp(how, "@ind", 4)) order = order < 0 ? -1 : order > 0;
    }
    return strstr(how, "_desc") ? -order : order;
}

void awk_keys_sort(awk *A, array *a, astr **keys, int n, const char *how) {
    afunc *f = NULL;
    if (how[0] != '@' && !(f = awk_function_named(A, how))) {
        awk_fatal(A, "sort comparison function `%s' is not defined", how);
        return;
    }
    if (f && f->params < 4) f = NULL;
    /* a stable merge sort, bottom up */
    astr **other = tool_alloc(A->t, ((size_t)n + 1) * sizeof *other), **from = keys, **to = other;
    for (int width = 1; width < n; width *= 2) {
        for (int start = 0; start < n; start += 2 * width) {
            int i = start, mid = start + width < n ? start + width : n, j = mid,
                end = start + 2 * width < n ? start + 2 * width : n, k = start;
            while (i < mid && j < end) to[k++] = key_order(A, a, from[i], from[j], how, f) <= 0 ? from[i++] : from[j++];
            while (i < mid) to[k++] = from[i++];
            while (j < end) to[k++] = from[j++];
        }
        astr **swap = from; from = to; to = swap;
    }
    if (from != keys) memcpy(keys, from, (size_t)n * sizeof *keys);
    tool_free(A->t, other);
}
