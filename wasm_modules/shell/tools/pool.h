/* pool.h - many small blocks that come and go within one tool's call: free lists by size over chunks of the arena.
 *
 * A block is given back with the size it was taken with. Whatever is left at the end goes with the arena. Build with POOL_PLAIN
 * to take every block from the arena by itself, so that the address sanitizer sees each one.
 */
#ifndef HATCH_POOL_H
#define HATCH_POOL_H
#include "../tool.h"

enum { POOL_STEP = 16, POOL_LARGEST = 512, POOL_CHUNK = 32768 };
typedef struct { tool *t; void *free[POOL_LARGEST / POOL_STEP + 1]; char *chunk; size_t left; } pool;

void *pool_alloc_slow(pool *p, size_t n);
void pool_free_large(pool *p, void *block);

/* Not zeroed. */
static inline void *pool_alloc(pool *p, size_t n) {
#ifndef POOL_PLAIN
    if (n <= POOL_LARGEST) {
        size_t k = (n + POOL_STEP - 1) / POOL_STEP;
        void *block = p->free[k];
        if (block) { p->free[k] = *(void **)block; return block; }
    }
#endif
    return pool_alloc_slow(p, n);
}

static inline void pool_free(pool *p, void *block, size_t n) {
#ifndef POOL_PLAIN
    if (n <= POOL_LARGEST) {
        size_t k = (n + POOL_STEP - 1) / POOL_STEP;
        *(void **)block = p->free[k];
        p->free[k] = block;
        return;
    }
#endif
    (void)n;
    pool_free_large(p, block);
}
#endif
