/* mem.c - memory: checked allocation, arenas with marks, growing strings and lists.
 *
 * An arena is a stack of chunks. A mark remembers a position; releasing it frees everything allocated since. The last allocation
 * of an arena can grow in place, which is what makes string building in arenas cheap.
 */
#include "sh.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct chunk { chunk *down; size_t used, cap; };
#define CHUNK_MIN 1000
#define DATA(c) ((char *)(c) + ((sizeof(chunk) + 7) & ~(size_t)7))

void *xmalloc(size_t n)
{
    void *p = malloc(n ? n : 1);
    if (!p) out_of_memory();
    return p;
}

void *xrealloc(void *p, size_t n)
{
    p = realloc(p, n ? n : 1);
    if (!p) out_of_memory();
    return p;
}

char *xstrndup(const char *s, size_t n)
{
    char *p = xmalloc(n + 1);
    memcpy(p, s, n);
    p[n] = 0;
    return p;
}

char *xstrdup(const char *s) { return xstrndup(s, strlen(s)); }

/* Room for n more bytes; the memory is not cleared. */
static char *arena_raw(arena *a, size_t n)
{
    n = (n + 7) & ~(size_t)7;
    chunk *c = a->top;
    if (!c || c->cap - c->used < n) {
        size_t cap = c ? c->cap * 2 : CHUNK_MIN;
        if (cap > 1 << 20) cap = 1 << 20;
        if (cap < n) cap = n;
        chunk *fresh = xmalloc(sizeof(chunk) + 8 + cap);
        *fresh = (chunk){ .down = c, .used = 0, .cap = cap };
        a->top = c = fresh;
    }
    char *p = DATA(c) + c->used;
    c->used += n;
    return p;
}

void *arena_alloc(arena *a, size_t n)
{
    char *p = arena_raw(a, n);
    memset(p, 0, n);
    return p;
}

char *arena_strndup(arena *a, const char *s, size_t n)
{
    char *p = arena_raw(a, n + 1);
    memcpy(p, s, n);
    p[n] = 0;
    return p;
}

char *arena_strdup(arena *a, const char *s) { return arena_strndup(a, s, strlen(s)); }

void *arena_grow(arena *a, void *p, size_t old, size_t n)
{
    chunk *c = a->top;
    size_t old8 = (old + 7) & ~(size_t)7, n8 = (n + 7) & ~(size_t)7;
    if (p && c && (char *)p + old8 == DATA(c) + c->used && c->cap - c->used >= n8 - old8) {
        c->used += n8 - old8;
        return p;
    }
    char *fresh = arena_raw(a, n);
    if (p) memcpy(fresh, p, old);
    return fresh;
}

arena_mark_t arena_mark(arena *a) { return (arena_mark_t){ a->top, a->top ? a->top->used : 0 }; }

void arena_release(arena *a, arena_mark_t m)
{
    while (a->top != m.top) {
        chunk *c = a->top;
        /* The first chunk of an arena stays: a mark of an empty arena must not make every command allocate anew. */
        if (!m.top && !c->down && c->cap == CHUNK_MIN) { c->used = 0; return; }
        a->top = c->down;
        free(c);
    }
    if (a->top) a->top->used = m.used;
}

void arena_free(arena *a)
{
    while (a->top) {
        chunk *c = a->top;
        a->top = c->down;
        free(c);
    }
}

static void sb_room(strbuf *b, size_t n)
{
    if (b->cap - b->len > n) return;
    size_t cap = b->cap ? b->cap * 2 : 32;
    while (cap - b->len <= n) cap *= 2;
    b->s = b->a ? arena_grow(b->a, b->s, b->cap, cap) : xrealloc(b->s, cap);
    b->cap = cap;
}

void sb_add(strbuf *b, const char *s, size_t n)
{
    sb_room(b, n);
    if (n) memcpy(b->s + b->len, s, n);
    b->len += n;
}

void sb_puts(strbuf *b, const char *s) { sb_add(b, s, strlen(s)); }

void sb_putc(strbuf *b, char c)
{
    sb_room(b, 1);
    b->s[b->len++] = c;
}

void sb_printf(strbuf *b, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(NULL, 0, format, ap);
    va_end(ap);
    if (n < 0) return;
    sb_room(b, (size_t)n + 1);
    va_start(ap, format);
    vsnprintf(b->s + b->len, (size_t)n + 1, format, ap);
    va_end(ap);
    b->len += (size_t)n;
}

char *sb_str(strbuf *b)
{
    sb_room(b, 1);
    b->s[b->len] = 0;
    return b->s;
}

void sl_add(strlist *l, char *s)
{
    if (l->n + 1 >= l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 8;
        l->v = l->a ? arena_grow(l->a, l->v, l->cap * sizeof *l->v, cap * sizeof *l->v) : xrealloc(l->v, cap * sizeof *l->v);
        l->cap = cap;
    }
    l->v[l->n++] = s;
}

char **sl_end(strlist *l)
{
    sl_add(l, NULL);
    l->n--;
    return l->v;
}
