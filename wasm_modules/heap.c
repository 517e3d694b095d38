/* heap.c - malloc and its kin for the guests written in C.
 *
 * Why our own: the C library's allocator rounds every block up to a power of two, header included, and never joins free ones. A
 * pipe of nine megabytes took sixty-four, and an object of 48 bytes took 128; what a tenant may use is what the host charges for.
 *
 * How: the heap is one row of chunks up to the end of memory. A chunk is a head (its size and two flags) and what the caller
 * has; the last word of a chunk that is free repeats its size, so that neighbours can be joined. Free chunks hang in bins by size,
 * a bitmap says which bins have any. Small chunks are first kept on lists of their exact size, unjoined: that is what most calls
 * meet, and it costs a few instructions. They are joined before memory is grown, if there are many. The rest behind the last
 * chunk is `top`: new chunks are cut from it, and a block that lies before it grows in place.
 *
 * INVARIANT: no two neighbouring chunks are free (those on the lists of small ones count as used), and none before top is.
 * Memory beyond `fresh` was never handed out: it is nought.
 *
 * The C library has functions of its own that allocate, bound to its own malloc; those are here too, or there would be two heaps.
 * Whoever else grows memory is found out at once: the end is not where it was left.
 *
 * Does not know: threads. The same file is built for the host, over an array, to be tested.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

#ifdef HEAP_TEST
enum { TEST_PAGES = 1024 };
_Alignas(65536) static char test_memory[TEST_PAGES * 65536];
static size_t test_pages = 1, test_limit = TEST_PAGES;
#define EXPORT(name) heap_##name
static uintptr_t heap_begin(void) { return (uintptr_t)test_memory + 40; }
static uintptr_t memory_end(void) { return (uintptr_t)test_memory + test_pages * 65536; }
static int memory_grow(size_t pages) {
    if (pages > test_limit - test_pages) return -1;
    test_pages += pages;
    return 0;
}
#else
#define EXPORT(name) name
extern char __heap_base[];
static uintptr_t heap_begin(void) { return (uintptr_t)__heap_base; }
static uintptr_t memory_end(void) { return (uintptr_t)__builtin_wasm_memory_size(0) << 16; }
static int memory_grow(size_t pages) { return __builtin_wasm_memory_grow(0, pages) == (size_t)-1 ? -1 : 0; }
#endif

typedef struct chunk chunk;
struct chunk {
    uint32_t before;           /* size of the chunk before, where that is free; otherwise the last word of its caller's */
    uint32_t head;             /* size | flags */
    chunk *next, *prev;        /* of a free chunk; the caller's memory begins here */
};

enum { USED = 1, BEFORE_USED = 2, FLAGS = 15, ALIGN = 16, LINKS = sizeof(chunk) - 8, LEAST = (LINKS + 8 + 15) & ~15 };
enum { SMALL_MAX = 512, EXACT_BINS = 64, BINS = EXACT_BINS + 22 * 8, SEARCHED_MAX = 16 };
enum { PAGE = 65536, JOIN_MIN = 256 << 10 };
#define REQUEST_MAX ((size_t)0x7fff0000)

static chunk *small[SMALL_MAX / ALIGN + 1];
static chunk *bins[BINS];
static uint32_t filled[(BINS + 31) / 32];
static chunk *top;
static uint32_t top_size, small_bytes;
static uintptr_t heap_end, fresh;

static uint32_t size_of(chunk *c) { return c->head & ~(uint32_t)FLAGS; }
static chunk *at(chunk *c, ptrdiff_t offset) { return (chunk *)((char *)c + offset); }
static void *memory_of(chunk *c) { return (char *)c + 8; }
static chunk *chunk_of(void *p) { return (chunk *)((char *)p - 8); }

static uint32_t chunk_size(size_t n) {
    uint32_t size = (uint32_t)(n + 4 + (ALIGN - 1)) & ~(uint32_t)(ALIGN - 1);
    return size < LEAST ? LEAST : size;
}

static int bin_of(uint32_t size) {
    if (size < EXACT_BINS * ALIGN) return (int)(size / ALIGN);
    int power = 31 - __builtin_clz(size);
    return EXACT_BINS + (power - 10) * 8 + (int)(size >> (power - 3) & 7);
}

static void put_free(chunk *c, uint32_t size) {
    int bin = bin_of(size);
    c->head = size | BEFORE_USED;
    at(c, size)->before = size;
    at(c, size)->head &= ~(uint32_t)BEFORE_USED;
    c->prev = NULL;
    c->next = bins[bin];
    if (c->next) c->next->prev = c;
    bins[bin] = c;
    filled[bin / 32] |= 1u << bin % 32;
}

static void take_free(chunk *c) {
    int bin = bin_of(size_of(c));
    if (c->prev) c->prev->next = c->next; else bins[bin] = c->next;
    if (c->next) c->next->prev = c->prev;
    if (!bins[bin]) filled[bin / 32] &= ~(1u << bin % 32);
}

/* A used chunk becomes free, joined with free neighbours. */
static void release(chunk *c) {
    uint32_t size = size_of(c);
    if (!(c->head & BEFORE_USED)) {
        size += c->before;
        c = at(c, -(ptrdiff_t)c->before);
        take_free(c);
    }
    chunk *after = at(c, size);
    if (after == top) {
        top = c;
        top_size += size;
        top->head = BEFORE_USED;
        return;
    }
    if (!(after->head & USED)) {
        take_free(after);
        size += size_of(after);
    }
    put_free(c, size);
}

static void join_small(void) {
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        chunk *c = small[i];
        small[i] = NULL;
        while (c) {
            chunk *next = c->next;
            release(c);
            c = next;
        }
    }
    small_bytes = 0;
}

/* The first `size` bytes of a chunk that is in no bin become a used one; what is left over becomes free. */
static chunk *cut(chunk *c, uint32_t has, uint32_t size) {
    uint32_t before = c->head & BEFORE_USED;
    if (has - size < LEAST) {
        c->head = has | USED | before;
        at(c, has)->head |= BEFORE_USED;
        return c;
    }
    c->head = size | USED | before;
    put_free(at(c, size), has - size);
    return c;
}

static chunk *from_bins(uint32_t size) {
    int bin = bin_of(size);
    if (bin >= EXACT_BINS) {
        int looked = 0;
        for (chunk *c = bins[bin]; c && looked < SEARCHED_MAX; c = c->next, looked++)
            if (size_of(c) >= size) { take_free(c); return cut(c, size_of(c), size); }
        bin++;
    }
    uint32_t word = bin < BINS ? filled[bin / 32] & ~0u << bin % 32 : 0;
    for (int i = bin / 32; bin < BINS;) {
        if (word) {
            chunk *c = bins[i * 32 + __builtin_ctz(word)];
            take_free(c);
            return cut(c, size_of(c), size);
        }
        if (++i >= (int)(sizeof filled / sizeof *filled)) break;
        word = filled[i];
    }
    return NULL;
}

/* Makes top larger than `size`. Something is always left of it, so that every chunk has one behind it. */
static int extend_top(uint32_t size) {
    if (top_size > size) return 0;
    if (memory_end() > heap_end) __builtin_trap();
    if (memory_grow(((size_t)size - top_size) / PAGE + 1) < 0) return -1;
    top_size += (uint32_t)(memory_end() - heap_end);
    heap_end = memory_end();
    return 0;
}

static chunk *from_top(uint32_t size) {
    if (extend_top(size) < 0) return NULL;
    chunk *c = top;
    top = at(c, size);
    top_size -= size;
    top->head = BEFORE_USED;
    c->head = size | USED | BEFORE_USED;
    return c;
}

static void start(void) {
    fresh = (heap_begin() + 8 + (ALIGN - 1)) & ~(uintptr_t)(ALIGN - 1);
    top = (chunk *)(fresh + ALIGN - 8);
    heap_end = memory_end() < (uintptr_t)top ? (uintptr_t)top : memory_end();
    top_size = (uint32_t)(heap_end - (uintptr_t)top);
}

/* The caller may write there, and the head behind it has been written. */
static void touch(chunk *c) {
    uintptr_t end = (uintptr_t)at(c, size_of(c)) + 8;
    if (end > fresh) fresh = end;
}

static void *no_memory(void) {
    errno = ENOMEM;
    return NULL;
}

static chunk *allocate(uint32_t size) {
    if (size <= SMALL_MAX && small[size / ALIGN]) {
        chunk *c = small[size / ALIGN];
        small[size / ALIGN] = c->next;
        small_bytes -= size;
        return c;
    }
    if (!top) start();
    chunk *c = from_bins(size);
    if (c) return c;
    if (top_size <= size && small_bytes > JOIN_MIN && small_bytes > (heap_end - heap_begin()) / 8) {
        join_small();
        c = from_bins(size);
    }
    if (!c) c = from_top(size);
    if (c || !small_bytes) return c;
    join_small();
    c = from_bins(size);
    return c ? c : from_top(size);
}

void *EXPORT(malloc)(size_t n) {
    if (n > REQUEST_MAX) return no_memory();
    chunk *c = allocate(chunk_size(n));
    if (!c) return no_memory();
    touch(c);
    return memory_of(c);
}

void EXPORT(free)(void *p) {
    if (!p) return;
    chunk *c = chunk_of(p);
    uint32_t size = size_of(c);
    if (size > SMALL_MAX) { release(c); return; }
    c->next = small[size / ALIGN];
    small[size / ALIGN] = c;
    small_bytes += size;
}

void *EXPORT(calloc)(size_t count, size_t each) {
    size_t n;
    if (__builtin_mul_overflow(count, each, &n)) return no_memory();
    uintptr_t used = fresh;
    char *p = EXPORT(malloc)(n);
    if (p && (uintptr_t)p < used) memset(p, 0, n < used - (uintptr_t)p ? n : used - (uintptr_t)p);
    return p;
}

size_t EXPORT(malloc_usable_size)(void *p) { return p ? size_of(chunk_of(p)) - 4 : 0; }

/* Makes a used chunk that large without moving it, if what is behind it allows. */
static int grow_in_place(chunk *c, uint32_t size) {
    uint32_t has = size_of(c);
    chunk *after = at(c, has);
    if (after == top) {
        if (extend_top(size - has) < 0) return -1;
        top = at(c, size);
        top_size -= size - has;
        top->head = BEFORE_USED;
        c->head += size - has;
        return 0;
    }
    if (after->head & USED || has + size_of(after) < size) return -1;
    take_free(after);
    cut(c, has + size_of(after), size);
    return 0;
}

void *EXPORT(realloc)(void *p, size_t n) {
    if (!p) return EXPORT(malloc)(n);
    if (!n) { EXPORT(free)(p); return NULL; }
    if (n > REQUEST_MAX) return no_memory();
    chunk *c = chunk_of(p);
    uint32_t has = size_of(c), size = chunk_size(n);
    if (size <= has) {
        if (has - size > SMALL_MAX && has - size >= has / 4) {
            c->head -= has - size;
            at(c, size)->head = (has - size) | USED | BEFORE_USED;
            release(at(c, size));
        }
        return p;
    }
    if (has > SMALL_MAX && grow_in_place(c, size) == 0) {
        touch(c);
        return p;
    }
    void *moved = EXPORT(malloc)(n);
    if (!moved) return NULL;
    memcpy(moved, p, has - 4);
    EXPORT(free)(p);
    return moved;
}

void *EXPORT(reallocarray)(void *p, size_t count, size_t each) {
    size_t n;
    return __builtin_mul_overflow(count, each, &n) ? no_memory() : EXPORT(realloc)(p, n);
}

void *EXPORT(aligned_alloc)(size_t alignment, size_t n) {
    if (alignment <= ALIGN) return EXPORT(malloc)(n);
    if (n > REQUEST_MAX / 2 || alignment > REQUEST_MAX / 2) return no_memory();
    char *p = EXPORT(malloc)(n + alignment + LEAST);
    if (!p) return NULL;
    uintptr_t aligned = ((uintptr_t)p + LEAST + alignment - 1) & ~(uintptr_t)(alignment - 1);
    chunk *c = chunk_of(p), *second = chunk_of((void *)aligned);
    uint32_t front = (uint32_t)((char *)second - (char *)c);
    second->head = (size_of(c) - front) | USED | BEFORE_USED;
    c->head = front | USED | (c->head & BEFORE_USED);
    release(c);
    return (void *)aligned;
}

void *EXPORT(memalign)(size_t alignment, size_t n) { return EXPORT(aligned_alloc)(alignment, n); }

int EXPORT(posix_memalign)(void **to, size_t alignment, size_t n) {
    void *p = EXPORT(aligned_alloc)(alignment, n);
    if (!p) return ENOMEM;
    *to = p;
    return 0;
}

char *EXPORT(strndup)(const char *s, size_t n) {
    size_t length = strnlen(s, n);
    char *copy = EXPORT(malloc)(length + 1);
    if (!copy) return NULL;
    copy[length] = '\0';
    return memcpy(copy, s, length);
}

char *EXPORT(strdup)(const char *s) { return EXPORT(strndup)(s, strlen(s)); }

#ifndef HEAP_TEST
wchar_t *wcsdup(const wchar_t *s) {
    size_t size = (wcslen(s) + 1) * sizeof *s;
    wchar_t *copy = malloc(size);
    return copy ? memcpy(copy, s, size) : NULL;
}
#endif
