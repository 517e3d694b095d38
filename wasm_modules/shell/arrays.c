/* arrays.c - the two kinds of arrays.
 *
 * Indexed arrays are sorted by index, so a dense one is found by direct access and a sparse one by bisection. Associative arrays
 * are a hash table; listing them gives bash's own order (its hash function, 1024 buckets, newest first within a bucket), because
 * scripts' outputs show it.
 */
#include "sh.h"
#include <stdlib.h>
#include <string.h>

/* Position of key i, or where it would stand. */
static size_t arr_pos(arr *a, int64_t i)
{
    if (a->n == 0 || i > a->e[a->n - 1].key) return a->n;
    if (i >= 0 && (size_t)i < a->n && a->e[i].key == i) return (size_t)i;
    size_t lo = 0, hi = a->n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (a->e[mid].key < i) lo = mid + 1; else hi = mid;
    }
    return lo;
}

char *arr_get(arr *a, int64_t i)
{
    if (!a) return NULL;
    size_t p = arr_pos(a, i);
    return p < a->n && a->e[p].key == i ? a->e[p].val : NULL;
}

void arr_set(arr *a, int64_t i, char *value)
{
    size_t p = arr_pos(a, i);
    if (p < a->n && a->e[p].key == i) { free(a->e[p].val); a->e[p].val = value; return; }
    if (a->n == a->cap) {
        a->cap = a->cap ? a->cap * 2 : 4;
        a->e = xrealloc(a->e, a->cap * sizeof *a->e);
    }
    memmove(a->e + p + 1, a->e + p, (a->n - p) * sizeof *a->e);
    a->e[p] = (elem){ i, value };
    a->n++;
}

void arr_unset(arr *a, int64_t i)
{
    size_t p = arr_pos(a, i);
    if (p >= a->n || a->e[p].key != i) return;
    free(a->e[p].val);
    memmove(a->e + p, a->e + p + 1, (a->n - p - 1) * sizeof *a->e);
    a->n--;
}

int64_t arr_next(arr *a) { return a && a->n ? a->e[a->n - 1].key + 1 : 0; }

arr *arr_copy(const arr *a)
{
    arr *c = xmalloc(sizeof *c);
    *c = (arr){ .n = a->n, .cap = a->n, .e = xmalloc(a->n * sizeof *c->e) };
    for (size_t i = 0; i < a->n; i++) c->e[i] = (elem){ a->e[i].key, xstrdup(a->e[i].val) };
    return c;
}

void arr_free(arr *a)
{
    if (!a) return;
    for (size_t i = 0; i < a->n; i++) free(a->e[i].val);
    free(a->e);
    free(a);
}

/* bash's hash_string: FNV with multiply first. */
uint32_t hash_text(const char *s)
{
    uint32_t h = 2166136261u;
    for (; *s; s++) { h *= 16777619u; h ^= (uint32_t)(unsigned char)*s; }
    return h;
}

assoc *assoc_new(void)
{
    assoc *h = xmalloc(sizeof *h);
    *h = (assoc){ .nb = 8, .b = xmalloc(8 * sizeof(pair *)) };
    memset(h->b, 0, 8 * sizeof(pair *));
    return h;
}

pair *assoc_find(assoc *h, const char *key)
{
    if (!h) return NULL;
    uint32_t x = hash_text(key);
    for (pair *p = h->b[x & (h->nb - 1)]; p; p = p->next)
        if (p->hash == x && !strcmp(p->key, key)) return p;
    return NULL;
}

static void assoc_rehash(assoc *h)
{
    size_t nb = h->nb * 4;
    pair **b = xmalloc(nb * sizeof *b);
    memset(b, 0, nb * sizeof *b);
    for (size_t i = 0; i < h->nb; i++)
        for (pair *p = h->b[i], *next; p; p = next) {
            next = p->next;
            p->next = b[p->hash & (nb - 1)];
            b[p->hash & (nb - 1)] = p;
        }
    free(h->b);
    h->b = b;
    h->nb = nb;
}

void assoc_set(assoc *h, const char *key, char *value)
{
    pair *p = assoc_find(h, key);
    if (p) { free(p->val); p->val = value; return; }
    if (h->n >= h->nb * 2) assoc_rehash(h);
    p = xmalloc(sizeof *p);
    *p = (pair){ .key = xstrdup(key), .val = value, .hash = hash_text(key), .seq = h->seq++ };
    p->next = h->b[p->hash & (h->nb - 1)];
    h->b[p->hash & (h->nb - 1)] = p;
    h->n++;
}

void assoc_unset(assoc *h, const char *key)
{
    uint32_t x = hash_text(key);
    for (pair **at = &h->b[x & (h->nb - 1)]; *at; at = &(*at)->next)
        if ((*at)->hash == x && !strcmp((*at)->key, key)) {
            pair *p = *at;
            *at = p->next;
            free(p->key);
            free(p->val);
            free(p);
            h->n--;
            return;
        }
}

void assoc_free(assoc *h)
{
    if (!h) return;
    for (size_t i = 0; i < h->nb; i++)
        for (pair *p = h->b[i], *next; p; p = next) { next = p->next; free(p->key); free(p->val); free(p); }
    free(h->b);
    free(h);
}

assoc *assoc_copy(assoc *h)
{
    arena_mark_t m = arena_mark(&sh.tmp);
    assoc *c = assoc_new();
    pair **list = assoc_list(h);
    /* Oldest first, so that the copy lists in the same order. */
    for (size_t i = h->n; i-- > 0;) assoc_set(c, list[i]->key, xstrdup(list[i]->val));
    arena_release(&sh.tmp, m);
    return c;
}

static size_t order_mask;
static int by_bucket(const void *a, const void *b)
{
    const pair *x = *(pair *const *)a, *y = *(pair *const *)b;
    size_t bx = x->hash & order_mask, by = y->hash & order_mask;
    if (bx != by) return bx < by ? -1 : 1;
    return x->seq > y->seq ? -1 : x->seq < y->seq;
}

pair **assoc_list(assoc *h)
{
    pair **v = arena_alloc(&sh.tmp, (h->n + 1) * sizeof *v);
    size_t n = 0;
    for (size_t i = 0; i < h->nb; i++)
        for (pair *p = h->b[i]; p; p = p->next) v[n++] = p;
    size_t buckets = 1024;
    while (h->n >= buckets * 2) buckets *= 4;
    order_mask = buckets - 1;
    qsort(v, n, sizeof *v, by_bucket);
    return v;
}
