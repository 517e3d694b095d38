/* json_compare.c - the order of JSON values: equality, comparison, sorting. */
#include "json.h"
#include <string.h>

static int compare_text(const jstr *a, const jstr *b) {
    int order = memcmp(a->text, b->text, a->n < b->n ? a->n : b->n);
    return order ? order : a->n < b->n ? -1 : a->n > b->n;
}

/* Values compare to this depth; what lies deeper counts as equal. */
enum { COMPARE_DEEPEST = 2000 };

static int equal_items(jctx *C, jv a, jv b) {
    if (a.kind == J_ARRAY) {
        for (uint32_t i = 0; i < a.a->n; i++) if (!jv_equal(C, a.a->at[i], b.a->at[i])) return 0;
        return 1;
    }
    for (uint32_t i = 0; i < a.o->n; i++) {
        jv *other = jv_find_key(b, a.o->at[i].key);
        if (!other || !jv_equal(C, a.o->at[i].value, *other)) return 0;
    }
    return 1;
}

/* Two literals of whole numbers that are the same double still differ by their digits. */
static int compare_digits(const jstr *a, const jstr *b) {
    size_t minus = a->text[0] == '-';
    if (minus != (b->text[0] == '-') || strspn(a->text + minus, "0123456789") != a->n - minus ||
        strspn(b->text + minus, "0123456789") != b->n - minus)
        return 0;
    int order = a->n != b->n ? (a->n < b->n ? -1 : 1) : compare_text(a, b);
    return minus ? -order : order;
}

static int equal_numbers(jv a, jv b) {
    if (jv_number(a) != jv_number(b)) return 0;
    return a.kind != J_LITERAL || b.kind != J_LITERAL || !compare_digits(a.s, b.s);
}

int jv_equal(jctx *C, jv a, jv b) {
    if (jv_is_number(a) && jv_is_number(b)) return equal_numbers(a, b);
    if (a.kind != b.kind) return 0;
    switch (a.kind) {
    case J_STRING: return a.s == b.s || (a.s->n == b.s->n && !memcmp(a.s->text, b.s->text, a.s->n));
    case J_ARRAY: case J_OBJECT: {
        if (a.p == b.p || C->depth >= COMPARE_DEEPEST) return 1;
        if (a.kind == J_ARRAY ? a.a->n != b.a->n : a.o->n != b.o->n) return 0;
        C->depth++;
        int same = equal_items(C, a, b);
        C->depth--;
        return same;
    }
    default: return 1;
    }
}

static int compare_items(jctx *C, jv a, jv b) {
    if (a.kind == J_ARRAY) {
        for (uint32_t i = 0; i < a.a->n && i < b.a->n; i++) {
            int order = jv_compare(C, a.a->at[i], b.a->at[i]);
            if (order) return order;
        }
        return a.a->n < b.a->n ? -1 : a.a->n > b.a->n;
    }
    jv ka = jv_keys(C, a, 1), kb = jv_keys(C, b, 1);
    int order = jv_compare(C, ka, kb);
    for (uint32_t i = 0; !order && i < ka.a->n; i++)
        order = jv_compare(C, *jv_find_key(a, ka.a->at[i].s), *jv_find_key(b, ka.a->at[i].s));
    jv_drop(C, ka);
    jv_drop(C, kb);
    return order;
}

int jv_compare(jctx *C, jv a, jv b) {
    jkind x = a.kind == J_LITERAL ? J_NUMBER : a.kind, y = b.kind == J_LITERAL ? J_NUMBER : b.kind;
    if (x != y) return x < y ? -1 : 1;
    switch (x) {
    case J_NUMBER: {
        double p = jv_number(a), q = jv_number(b);
        if (p == q && a.kind == J_LITERAL && b.kind == J_LITERAL) return compare_digits(a.s, b.s);
        return p < q || p != p ? -1 : p > q || q != q ? 1 : 0;
    }
    case J_STRING: { int order = compare_text(a.s, b.s); return order < 0 ? -1 : order > 0; }
    case J_ARRAY: case J_OBJECT: {
        if (a.p == b.p || C->depth >= COMPARE_DEEPEST) return 0;
        C->depth++;
        int order = compare_items(C, a, b);
        C->depth--;
        return order;
    }
    default: return 0;
    }
}

static void merge_sort(jctx *C, jv *at, jv *scratch, uint32_t n) {
    if (n < 2) return;
    if (n <= 8) {
        for (uint32_t i = 1; i < n; i++) {
            jv x = at[i];
            uint32_t j = i;
            for (; j > 0 && jv_compare(C, at[j - 1], x) > 0; j--) at[j] = at[j - 1];
            at[j] = x;
        }
        return;
    }
    uint32_t half = n / 2, i = 0, j = half, k = 0;
    merge_sort(C, at, scratch, half);
    merge_sort(C, at + half, scratch, n - half);
    if (jv_compare(C, at[half - 1], at[half]) <= 0) return;
    memcpy(scratch, at, half * sizeof *at);
    while (i < half && j < n) at[k++] = jv_compare(C, scratch[i], at[j]) <= 0 ? scratch[i++] : at[j++];
    while (i < half) at[k++] = scratch[i++];
}

void jv_sort(jctx *C, jv *at, uint32_t n) {
    jv *scratch = tool_alloc(C->t, ((size_t)n / 2 + 1) * sizeof *scratch);
    merge_sort(C, at, scratch, n);
    tool_free(C->t, scratch);
}
