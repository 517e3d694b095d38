/* awk_value.c - awk's values: strings counted by reference, cells that are number and string at once, arrays that keep insertion
 * order. */
#include "awk.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

astr *astr_room(awk *A, size_t n) {
    astr *s = pool_alloc(&A->pool, sizeof *s + n + 1);
    s->refs = 1;
    s->n = n;
    s->text[n] = '\0';
    return s;
}

astr *astr_new(awk *A, const char *text, size_t n) {
    astr *s = astr_room(A, n);
    if (n) memcpy(s->text, text, n);
    return s;
}

void astr_unref(awk *A, astr *s) { if (s && --s->refs == 0) pool_free(&A->pool, s, sizeof *s + s->n + 1); }

cell cell_num(double n) { return (cell){.type = V_NUM, .num = n}; }
cell cell_str(astr *s) { return (cell){.type = V_STR, .str = s}; }
cell cell_input(const awk *A, astr *s) { return (cell){.type = V_STR | V_MAYBE | (A->any_base ? V_BASES : 0), .str = s}; }

cell cell_copy(cell c) {
    if (c.type & (V_STR | V_REGEX)) astr_ref(c.str);
    else if (c.type & V_ARRAY) c.arr->refs++;
    c.origin = NULL;
    return c;
}

void cell_drop(awk *A, cell c) {
    if (c.type & (V_STR | V_REGEX)) astr_unref(A, c.str);
    else if (c.type & V_ARRAY) amap_drop(A, c.arr);
}

/* The end of the longest prefix that is a number (after blanks), NULL when there is none. */
static const char *number_end(const char *p, const char *end, double *value) {
    const char *start;
    while (p < end && isspace((unsigned char)*p)) p++;
    start = p;
    if (p < end && (*p == '+' || *p == '-')) p++;
    const char *digits = p;
    while (p < end && isdigit((unsigned char)*p)) p++;
    if (p > digits && (p == end || (*p != '.' && *p != 'e' && *p != 'E')) && p - digits < 16) {
        double v = 0;
        for (const char *q = digits; q < p; q++) v = v * 10 + (*q - '0');
        *value = *start == '-' ? -v : v;
        return p;
    }
    if (p == digits && !(p < end && *p == '.')) {
        /* only the signed forms of inf and nan are numbers */
        if (start < end && (*start == '+' || *start == '-') && end - p >= 3
            && (!strncasecmp(p, "inf", 3) || !strncasecmp(p, "nan", 3)) && (end - p == 3 || !isalnum((unsigned char)p[3]))) {
            *value = tolower((unsigned char)*p) == 'i' ? INFINITY : NAN;
            if (*start == '-') *value = -*value;
            return p + 3;
        }
        return NULL;
    }
    int have = p > digits;
    if (p < end && *p == '.') { p++; while (p < end && isdigit((unsigned char)*p)) { p++; have = 1; } }
    if (!have) return NULL;
    if (p < end && (*p == 'e' || *p == 'E')) {
        const char *q = p + 1;
        if (q < end && (*q == '+' || *q == '-')) q++;
        if (q < end && isdigit((unsigned char)*q)) { while (q < end && isdigit((unsigned char)*q)) q++; p = q; }
    }
    char small[64];
    size_t n = (size_t)(p - start);
    if (n < sizeof small) {
        memcpy(small, start, n);
        small[n] = '\0';
        *value = strtod(small, NULL);
    } else *value = strtod(start, NULL);
    return p;
}

/* With -n: the end of 0x1f or 017 at p, NULL when there is none. */
static const char *base_end(const char *p, double *value) {
    while (isspace((unsigned char)*p)) p++;
    const char *start = p;
    char *end;
    if (*p == '+' || *p == '-') p++;
    if (*p != '0' || !p[1]) return NULL;
    size_t digits = strspn(p, "0123456789");
    unsigned long long v = strtoull(p, &end, p[1] == 'x' || p[1] == 'X' ? 16 : 8);
    if (end == p || end == p + 1 || (size_t)(end - p) < digits || *end == '.' || *end == 'e') return NULL;
    *value = *start == '-' ? -(double)v : (double)v;
    return end;
}

double awk_text_number(const char *text, size_t n) {
    double v = 0;
    number_end(text, text + n, &v);
    return v;
}

int cell_is_number(cell *c) {
    if (!(c->type & V_MAYBE)) return (c->type & V_NUM) || c->type == V_NONE;
    double v = 0;
    const char *end = c->str->text + c->str->n, *p = c->type & V_BASES ? base_end(c->str->text, &v) : NULL;
    if (!p) p = number_end(c->str->text, end, &v);
    while (p && p < end && isspace((unsigned char)*p)) p++;
    c->type &= (unsigned char)~V_MAYBE;
    if (!p || p < end) return 0;
    c->type |= V_NUM;
    c->num = v;
    return 1;
}

double cell_number(cell *c) {
    if (c->type & V_NUM) return c->num;
    if (!(c->type & (V_STR | V_REGEX))) return 0;
    if (c->type & V_MAYBE && cell_is_number(c)) return c->num;
    double v;
    if (c->type & V_BASES && base_end(c->str->text, &v)) return v;
    return awk_text_number(c->str->text, c->str->n);
}

astr *awk_number_string(awk *A, double n, int output) {
    char text[400];
    int len;
    if (n != n) len = snprintf(text, sizeof text, signbit(n) ? "-nan" : "+nan");
    else if (isinf(n)) len = snprintf(text, sizeof text, n < 0 ? "-inf" : "+inf");
    else if (n == floor(n) && fabs(n) < 1e16) {
        /* small integers are the common case */
        long long i = (long long)n;
        char *p = text + 32;
        unsigned long long u = i < 0 ? 0ull - (unsigned long long)i : (unsigned long long)i;
        *p = '\0';
        do *--p = (char)('0' + u % 10); while (u /= 10);
        if (i < 0) *--p = '-';
        return astr_new(A, p, (size_t)(text + 32 - p));
    } else if (n == floor(n)) len = snprintf(text, sizeof text, "%.0f", n);
    else {
        cell *f = &A->vars[output ? VAR_OFMT : VAR_CONVFMT];
        const char *format = f->type & V_STR ? f->str->text : "%.6g";
        if (!strcmp(format, "%.6g")) len = snprintf(text, sizeof text, "%.6g", n);
        else {
            cell arg = cell_num(n);
            return awk_format_text(A, f->str, &arg, 1);
        }
    }
    return astr_new(A, text, (size_t)len);
}

astr *cell_string(awk *A, const cell *c, int output) {
    if (c->type & (V_STR | V_REGEX)) return astr_ref(c->str);
    if (c->type & V_NUM) return awk_number_string(A, c->num, output);
    return astr_ref(A->empty);
}

int cell_true(cell *c) {
    if (c->type & V_MAYBE) cell_is_number(c);
    if (c->type & V_NUM) return c->num != 0;
    return c->type & V_STR ? c->str->n > 0 : 0;
}

int cell_compare(awk *A, cell *a, cell *b) {
    int an = a->type & V_MAYBE ? cell_is_number(a) : !(a->type & V_STR) || a->type & V_NUM;
    int bn = b->type & V_MAYBE ? cell_is_number(b) : !(b->type & V_STR) || b->type & V_NUM;
    if (an && bn) {
        double x = cell_number(a), y = cell_number(b);
        return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
    }
    astr *x = cell_string(A, a, 0), *y = cell_string(A, b, 0);
    size_t n = x->n < y->n ? x->n : y->n;
    int order;
    if (A->vars[VAR_IGNORECASE].type && cell_true(&A->vars[VAR_IGNORECASE])) order = strncasecmp(x->text, y->text, n);
    else order = memcmp(x->text, y->text, n);
    if (!order) order = x->n < y->n ? -1 : x->n > y->n;
    astr_unref(A, x);
    astr_unref(A, y);
    return order < 0 ? -1 : order > 0;
}

array *amap_new(awk *A) {
    array *a = pool_alloc(&A->pool, sizeof *a);
    memset(a, 0, sizeof *a);
    a->refs = 1;
    return a;
}

static unsigned hash_text(const astr *s) {
    unsigned h = 2166136261u;
    for (size_t i = 0; i < s->n; i++) h = (h ^ (unsigned char)s->text[i]) * 16777619u;
    return h ^ h >> 15;
}

static void rehash(awk *A, array *a) {
    int want = a->count * 2 < 16 ? 16 : a->count * 2, size = 16, kept = 0;
    while (size < want) size *= 2;
    for (int i = 0; i < a->used; i++) if (a->slots[i].key) a->slots[kept++] = a->slots[i];
    a->used = kept;
    if (size != a->head_cap) {
        tool_free(A->t, a->heads);
        a->heads = tool_alloc(A->t, (size_t)size * sizeof *a->heads);
        a->head_cap = size;
        a->slots = tool_realloc(A->t, a->slots, (size_t)size * sizeof *a->slots);
        a->cap = size;
    } else memset(a->heads, 0, (size_t)size * sizeof *a->heads);
    for (int i = 0; i < kept; i++) {
        int *head = &a->heads[a->slots[i].hash & (unsigned)(size - 1)];
        a->slots[i].next = *head;
        *head = i + 1;
    }
}

/* Whether gawk would file the key as an integer: no sign, no leading zeros. */
int amap_is_index(const astr *s) {
    if (!s->n || s->n > 15 || (s->text[0] == '0' && s->n > 1)) return 0;
    for (size_t i = 0; i < s->n; i++) if (!isdigit((unsigned char)s->text[i])) return 0;
    return 1;
}

cell *amap_get(awk *A, array *a, astr *key, int create) {
    unsigned h = hash_text(key);
    if (a->head_cap) for (int i = a->heads[h & (unsigned)(a->head_cap - 1)]; i; i = a->slots[i - 1].next) {
        slot *s = &a->slots[i - 1];
        if (s->hash == h && s->key->n == key->n && !memcmp(s->key->text, key->text, key->n)) return &s->value;
    }
    if (!create) return NULL;
    if (!a->count) a->by_number = amap_is_index(key);
    if (a->used == a->cap) rehash(A, a);
    slot *s = &a->slots[a->used++];
    int *head = &a->heads[h & (unsigned)(a->head_cap - 1)];
    *s = (slot){.key = astr_ref(key), .hash = h, .next = *head};
    *head = a->used;
    a->count++;
    return &s->value;
}

cell *amap_at(awk *A, array *a, const char *key) {
    astr *k = astr_new(A, key, strlen(key));
    cell *c = amap_get(A, a, k, 1);
    astr_unref(A, k);
    return c;
}

void amap_delete(awk *A, array *a, astr *key) {
    unsigned h = hash_text(key);
    if (!a->head_cap) return;
    for (int *link = &a->heads[h & (unsigned)(a->head_cap - 1)]; *link; link = &a->slots[*link - 1].next) {
        slot *s = &a->slots[*link - 1];
        if (s->hash != h || s->key->n != key->n || memcmp(s->key->text, key->text, key->n)) continue;
        *link = s->next;
        astr_unref(A, s->key);
        cell_drop(A, s->value);
        s->key = NULL;
        a->count--;
        return;
    }
}

void amap_clear(awk *A, array *a) {
    for (int i = 0; i < a->used; i++) if (a->slots[i].key) { astr_unref(A, a->slots[i].key); cell_drop(A, a->slots[i].value); }
    a->count = a->used = 0;
    if (a->heads) memset(a->heads, 0, (size_t)a->head_cap * sizeof *a->heads);
}

void amap_drop(awk *A, array *a) {
    if (--a->refs > 0) return;
    amap_clear(A, a);
    tool_free(A->t, a->slots);
    tool_free(A->t, a->heads);
    pool_free(&A->pool, a, sizeof *a);
}
