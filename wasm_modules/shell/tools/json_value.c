/* json_value.c - making, holding and changing JSON values. */
#include "json.h"
#include "../utf8.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

void json_start(jctx *C, tool *t) {
    memset(C, 0, sizeof *C);
    C->t = t;
    C->pool.t = t;
}

static void free_array(jctx *C, jarr *a) {
    if (a->at) pool_free(&C->pool, a->at, a->cap * sizeof *a->at);
    pool_free(&C->pool, a, sizeof *a);
}

static void free_object(jctx *C, jobj *o) {
    if (o->at) pool_free(&C->pool, o->at, o->cap * sizeof *o->at);
    if (o->index) pool_free(&C->pool, o->index, o->index_cap * sizeof *o->index);
    pool_free(&C->pool, o, sizeof *o);
}

static void free_string(jctx *C, jstr *s) { pool_free(&C->pool, s, sizeof *s + s->n + 1); }

/* Frees v, whose count is zero, and what only it held. Containers inside wait on a list of their own, so that depth costs no
 * stack. */
void jv_release(jctx *C, jv v) {
    if (v.kind == J_STRING || v.kind == J_LITERAL) { free_string(C, v.s); return; }
    jv local[64], *waiting = local;
    size_t n = 0, cap = 64;
    waiting[n++] = v;
    while (n) {
        v = waiting[--n];
        uint32_t count = v.kind == J_ARRAY ? v.a->n : v.o->n;
        for (uint32_t i = 0; i < count; i++) {
            jv child;
            if (v.kind == J_OBJECT) {
                jstr *key = v.o->at[i].key;
                if (--key->refs == 0) free_string(C, key);
                child = v.o->at[i].value;
            } else child = v.a->at[i];
            if (child.kind < J_LITERAL || --*(int *)child.p) continue;
            if (child.kind <= J_STRING) { free_string(C, child.s); continue; }
            if (n == cap) {
                jv *grown = tool_alloc(C->t, cap * 2 * sizeof *grown);
                memcpy(grown, waiting, n * sizeof *grown);
                if (waiting != local) tool_free(C->t, waiting);
                waiting = grown;
                cap *= 2;
            }
            waiting[n++] = child;
        }
        if (v.kind == J_ARRAY) free_array(C, v.a); else free_object(C, v.o);
    }
    if (waiting != local) tool_free(C->t, waiting);
}

jv jv_room(jctx *C, size_t n) {
    if (n > 0x7FFFFFF0) tool_oom();
    jv v = jv_of(J_STRING);
    v.s = pool_alloc(&C->pool, sizeof *v.s + n + 1);
    v.s->refs = 1;
    v.s->n = (uint32_t)n;
    v.s->hash = 0;
    v.s->literal = 0;
    v.s->text[n] = '\0';
    return v;
}

jv jv_text(jctx *C, const char *text, size_t n) {
    jv v = jv_room(C, n);
    if (n) memcpy(v.s->text, text, n);
    return v;
}

jv jv_cstr(jctx *C, const char *text) { return jv_text(C, text, strlen(text)); }

jv jv_format(jctx *C, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    jv v = jv_room(C, n < 0 ? 0 : (size_t)n);
    if (n > 0) vsnprintf(v.s->text, (size_t)n + 1, format, again);
    va_end(again);
    va_end(args);
    return v;
}

const char *jv_kind_name(jv v) {
    static const char *const names[]
        = {"<invalid>", "null", "boolean", "boolean", "number", "number", "string", "array", "object"};
    return names[v.kind];
}

static uint32_t hash_bytes(const char *p, size_t n) {
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)p[i]) * 16777619u;
    h ^= h >> 15;
    return h ? h : 1;
}

uint32_t jstr_hash(jstr *s) {
    if (!s->hash) s->hash = hash_bytes(s->text, s->n);
    return s->hash;
}

jv jv_array(jctx *C, uint32_t cap) {
    jv v = jv_of(J_ARRAY);
    v.a = pool_alloc(&C->pool, sizeof *v.a);
    *v.a = (jarr){.refs = 1, .cap = cap};
    if (cap) v.a->at = pool_alloc(&C->pool, cap * sizeof(jv));
    return v;
}

jv jv_own(jctx *C, jv v) {
    if (v.kind < J_ARRAY || *(int *)v.p == 1) return v;
    jv made;
    if (v.kind == J_ARRAY) {
        made = jv_array(C, v.a->n + 4);
        for (uint32_t i = 0; i < v.a->n; i++) made.a->at[i] = jv_copy(v.a->at[i]);
        made.a->n = v.a->n;
    } else {
        made = jv_of(J_OBJECT);
        made.o = pool_alloc(&C->pool, sizeof *made.o);
        *made.o = (jobj){.refs = 1, .n = v.o->n, .cap = v.o->n + 4, .index_cap = v.o->index_cap};
        made.o->at = pool_alloc(&C->pool, made.o->cap * sizeof *made.o->at);
        for (uint32_t i = 0; i < v.o->n; i++) {
            v.o->at[i].key->refs++;
            made.o->at[i].key = v.o->at[i].key;
            made.o->at[i].value = jv_copy(v.o->at[i].value);
        }
        if (v.o->index) {
            made.o->index = pool_alloc(&C->pool, v.o->index_cap * sizeof *made.o->index);
            memcpy(made.o->index, v.o->index, v.o->index_cap * sizeof *made.o->index);
        }
    }
    jv_drop(C, v);
    return made;
}

jv jv_push(jctx *C, jv array, jv item) {
    array = jv_own(C, array);
    jarr *a = array.a;
    if (a->n == a->cap) {
        uint32_t cap = a->cap < 4 ? 4 : a->cap * 2;
        if (cap > 0x7FFFFFF / 1 * 2) tool_oom();
        jv *grown = pool_alloc(&C->pool, cap * sizeof *grown);
        if (a->n) memcpy(grown, a->at, a->n * sizeof *grown);
        if (a->at) pool_free(&C->pool, a->at, a->cap * sizeof *a->at);
        a->at = grown;
        a->cap = cap;
    }
    a->at[a->n++] = item;
    return array;
}

jv jv_slice(jctx *C, jv v, double from, double to) {
    double n = v.kind == J_ARRAY ? v.a->n : (double)utf8_length(v.s->text, v.s->n);
    if (from < 0) from += n;
    if (to < 0) to = to + n < 0 ? 0 : to + n;
    if (from < 0 || from != from) from = 0;
    if (from > n) from = n;
    if (to > n || to != to) to = n;
    if (to < from) to = from;
    size_t a = (size_t)floor(from), b = to > from ? (size_t)ceil(to) : a;
    jv made;
    if (v.kind == J_ARRAY) {
        made = jv_array(C, (uint32_t)(b - a));
        for (size_t i = a; i < b; i++) made = jv_push(C, made, jv_copy(v.a->at[i]));
    } else {
        size_t x = utf8_offset(v.s->text, v.s->n, a), y = x + utf8_offset(v.s->text + x, v.s->n - x, b - a);
        made = jv_text(C, v.s->text + x, y - x);
    }
    jv_drop(C, v);
    return made;
}

jv jv_concat(jctx *C, jv a, jv b) {
    if (a.kind == J_STRING) {
        jv made = jv_room(C, (size_t)a.s->n + b.s->n);
        memcpy(made.s->text, a.s->text, a.s->n);
        memcpy(made.s->text + a.s->n, b.s->text, b.s->n);
        jv_drop(C, a);
        jv_drop(C, b);
        return made;
    }
    for (uint32_t i = 0; i < b.a->n; i++) a = jv_push(C, a, jv_copy(b.a->at[i]));
    jv_drop(C, b);
    return a;
}

jv jv_object(jctx *C) {
    jv v = jv_of(J_OBJECT);
    v.o = pool_alloc(&C->pool, sizeof *v.o);
    *v.o = (jobj){.refs = 1};
    return v;
}

static int find_slot(const jobj *o, const char *key, uint32_t n, uint32_t hash) {
    if (!o->index) {
        for (uint32_t i = 0; i < o->n; i++) if (o->at[i].key->n == n && !memcmp(o->at[i].key->text, key, n)) return (int)i;
        return -1;
    }
    uint32_t mask = o->index_cap - 1;
    for (uint32_t h = hash & mask; o->index[h]; h = (h + 1) & mask) {
        const jstr *k = o->at[o->index[h] - 1].key;
        if (k->hash == hash && k->n == n && !memcmp(k->text, key, n)) return (int)o->index[h] - 1;
    }
    return -1;
}

jv *jv_find(jv v, const char *key, uint32_t n) {
    int i = find_slot(v.o, key, n, v.o->index ? hash_bytes(key, n) : 0);
    return i < 0 ? NULL : &v.o->at[i].value;
}

jv *jv_find_key(jv v, jstr *key) {
    int i = find_slot(v.o, key->text, key->n, v.o->index ? jstr_hash(key) : 0);
    return i < 0 ? NULL : &v.o->at[i].value;
}

static void build_index(jctx *C, jobj *o) {
    uint32_t cap = 32;
    while (cap < o->cap * 2) cap *= 2;
    if (o->index) pool_free(&C->pool, o->index, o->index_cap * sizeof *o->index);
    o->index = pool_alloc(&C->pool, cap * sizeof *o->index);
    memset(o->index, 0, cap * sizeof *o->index);
    o->index_cap = cap;
    for (uint32_t i = 0; i < o->n; i++) {
        uint32_t h = jstr_hash(o->at[i].key) & (cap - 1);
        while (o->index[h]) h = (h + 1) & (cap - 1);
        o->index[h] = i + 1;
    }
}

jv jv_set(jctx *C, jv v, jstr *key, jv item) {
    v = jv_own(C, v);
    jobj *o = v.o;
    int i = find_slot(o, key->text, key->n, o->index ? jstr_hash(key) : 0);
    if (i >= 0) {
        jv old = o->at[i].value;
        o->at[i].value = item;
        jv_drop(C, old);
        return v;
    }
    if (o->n == o->cap) {
        uint32_t cap = o->cap < 4 ? 4 : o->cap * 2;
        if (cap > 1u << 27) tool_oom();
        jslot *grown = pool_alloc(&C->pool, cap * sizeof *grown);
        if (o->n) memcpy(grown, o->at, o->n * sizeof *grown);
        if (o->at) pool_free(&C->pool, o->at, o->cap * sizeof *o->at);
        o->at = grown;
        o->cap = cap;
    }
    key->refs++;
    o->at[o->n++] = (jslot){key, item};
    if (o->n > 8) {
        if (!o->index || o->n * 2 > o->index_cap) build_index(C, o);
        else {
            uint32_t h = jstr_hash(key) & (o->index_cap - 1);
            while (o->index[h]) h = (h + 1) & (o->index_cap - 1);
            o->index[h] = o->n;
        }
    }
    return v;
}

jv jv_put(jctx *C, jv object, const char *key, jv v) {
    jv k = jv_cstr(C, key);
    object = jv_set(C, object, k.s, v);
    jv_drop(C, k);
    return object;
}

jv jv_remove(jctx *C, jv v, jstr *key) {
    int i = find_slot(v.o, key->text, key->n, v.o->index ? jstr_hash(key) : 0);
    if (i < 0) return v;
    v = jv_own(C, v);
    jobj *o = v.o;
    jslot gone = o->at[i];
    memmove(o->at + i, o->at + i + 1, (o->n - (uint32_t)i - 1) * sizeof *o->at);
    o->n--;
    jv k = jv_of(J_STRING);
    k.s = gone.key;
    jv_drop(C, k);
    jv_drop(C, gone.value);
    if (o->index) build_index(C, o);
    return v;
}

jv jv_keys(jctx *C, jv object, int sorted) {
    jv keys = jv_array(C, object.o->n);
    for (uint32_t i = 0; i < object.o->n; i++) {
        jv k = jv_of(J_STRING);
        k.s = object.o->at[i].key;
        keys = jv_push(C, keys, jv_copy(k));
    }
    if (sorted) jv_sort(C, keys.a->at, keys.a->n);
    return keys;
}
