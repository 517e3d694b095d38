/* pool.c - see pool.h. */
#include "pool.h"

void *pool_alloc_slow(pool *p, size_t n) {
#ifndef POOL_PLAIN
    if (n <= POOL_LARGEST) {
        size_t size = (n + POOL_STEP - 1) / POOL_STEP * POOL_STEP;
        if (!size) size = POOL_STEP;
        if (p->left < size) {
            p->chunk = tool_alloc(p->t, POOL_CHUNK);
            p->left = POOL_CHUNK;
        }
        void *block = p->chunk;
        p->chunk += size;
        p->left -= size;
        return block;
    }
#endif
    return tool_alloc(p->t, n);
}

void pool_free_large(pool *p, void *block) { tool_free(p->t, block); }
