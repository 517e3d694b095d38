/* heap_client.c - wasm_modules/heap.c over an array: random calls, every byte checked, the row of chunks walked.
 *
 * Usage: heap_client SEED STEPS PAGES. Prints how often there was no memory, and the most that was in use; 1 and a line on failure.
 */
#include "../../wasm_modules/heap.c"
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 4000 };
typedef struct { unsigned char *p; size_t n, alignment; unsigned char mark; } slot;
static slot slots[SLOTS];
static uint64_t state;

static uint32_t draw(uint32_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

static size_t draw_size(void) {
    switch (draw(12)) {
    case 0: return draw(8);
    case 1: return draw(70000);
    case 2: return draw(3000000);
    case 3: return draw(5000);
    default: return draw(600);
    }
}

static void fail(const char *what) {
    printf("%s\n", what);
    exit(1);
}

static void check(slot *s) {
    for (size_t i = 0; i < s->n; i++) if (s->p[i] != s->mark) fail("a block does not hold what was written to it");
    if (s->n > heap_malloc_usable_size(s->p)) fail("a block is smaller than was asked for");
    if ((uintptr_t)s->p % s->alignment) fail("a block is not aligned");
}

static void fill(slot *s) {
    s->mark = (unsigned char)(1 + draw(255));
    memset(s->p, s->mark, s->n);
}

static void walk(void) {
    size_t free_chunks = 0, listed = 0;
    int before_used = 1;
    chunk *c = (chunk *)(((heap_begin() + 8 + 15) & ~(uintptr_t)15) + 8);
    while (c != top) {
        if (c > top || !size_of(c) || size_of(c) % ALIGN) fail("the row of chunks is broken");
        if (!!(c->head & BEFORE_USED) != before_used) fail("a chunk is wrong about the one before it");
        if (!(c->head & USED)) {
            if (!before_used) fail("two neighbours are free");
            if (at(c, size_of(c))->before != size_of(c)) fail("a free chunk's end does not say its size");
            if (at(c, size_of(c)) == top) fail("a free chunk lies before top");
            free_chunks++;
        }
        before_used = c->head & USED;
        c = at(c, size_of(c));
    }
    if ((uintptr_t)top + top_size != heap_end) fail("top does not reach to the end");
    for (int bin = 0; bin < BINS; bin++) {
        if (!!bins[bin] != !!(filled[bin / 32] >> bin % 32 & 1)) fail("the bitmap is wrong about a bin");
        for (chunk *one = bins[bin]; one; one = one->next) {
            if (bin_of(size_of(one)) != bin || one->head & USED) fail("a chunk hangs in the wrong bin");
            listed++;
        }
    }
    if (listed != free_chunks) fail("not every free chunk hangs in a bin");
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    state = strtoull(argv[1], NULL, 10) * 2 + 1;
    size_t steps = strtoul(argv[2], NULL, 10), refused = 0, used = 0, most = 0;
    test_limit = strtoul(argv[3], NULL, 10);
    for (size_t step = 0; step < steps; step++) {
        slot *s = &slots[draw(draw(4) ? SLOTS / 20 : SLOTS)];
        size_t n = draw_size();
        if (s->p) check(s);
        if (!s->p) {
            int kind = (int)draw(6);
            s->alignment = kind == 5 ? (size_t)32 << draw(8) : 16;
            s->p = kind == 5 ? heap_aligned_alloc(s->alignment, n) : kind == 4 ? heap_calloc(n / 4 + 1, 4) : heap_malloc(n);
            if (!s->p) { refused++; continue; }
            s->n = n;
            if (kind == 4) for (size_t i = 0; i < n; i++) if (s->p[i]) fail("calloc gave a byte that is not nought");
            used += n;
            fill(s);
        } else if (draw(3)) {
            heap_free(s->p);
            used -= s->n;
            s->p = NULL;
        } else {
            size_t same = s->n < n ? s->n : n;
            unsigned char *moved = heap_realloc(s->p, n ? n : 1);
            if (!moved) { refused++; continue; }
            for (size_t i = 0; i < same; i++) if (moved[i] != s->mark) fail("realloc lost what was there");
            used += n - s->n;
            s->p = moved;
            s->n = n;
            s->alignment = 16;
            fill(s);
        }
        if (used > most) most = used;
        if (step % 64 == 0) walk();
    }
    for (int i = 0; i < SLOTS; i++) if (slots[i].p) { check(&slots[i]); heap_free(slots[i].p); }
    join_small();
    walk();
    if ((uintptr_t)top > heap_begin() + 64) fail("all is free, and top is not all");
    printf("%zu refused, %zu used at most, %zu taken\n", refused, most, test_pages * 65536);
    return 0;
}
