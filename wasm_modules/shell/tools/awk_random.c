/* awk_random.c - rand(): the numbers gawk gives for the same seed.
 *
 * An additive feedback generator of degree 63 feeds a table of 512 numbers, and the last number given says which of them is the
 * next. Two numbers of 31 bits make one of rand's.
 */
#include "awk.h"

enum { TAP = 1, WARM_UP = 10 * AWK_RANDOM_DEGREE };

static uint32_t feed_back(awk_random *r) {
    uint32_t v = r->state[r->front] += r->state[r->rear];
    r->front = (r->front + 1) % AWK_RANDOM_DEGREE;
    r->rear = (r->rear + 1) % AWK_RANDOM_DEGREE;
    return v >> 1;
}

static uint32_t shuffled(awk_random *r) {
    uint32_t fresh = feed_back(r), *place = &r->table[r->last % AWK_RANDOM_TABLE];
    r->last = *place;
    *place = fresh;
    return r->last;
}

/* The state is filled by x * 16807 mod 2^31 - 1, computed as if in signed numbers of 32 bits. */
void awk_random_seed(awk_random *r, double seed) {
    enum { FACTOR = 16807, QUOTIENT = 127773, REST = 2836, MODULUS = 0x7FFFFFFF, NOT_ZERO = 123459876 };
    r->state[0] = (uint32_t)(int64_t)seed;
    for (int i = 1; i < AWK_RANDOM_DEGREE; i++) {
        int32_t x = (int32_t)r->state[i - 1];
        if (!x) x = NOT_ZERO;
        int64_t next = (int64_t)FACTOR * (x % QUOTIENT) - (int64_t)REST * (x / QUOTIENT);
        r->state[i] = (uint32_t)(next < 0 ? next + MODULUS : next);
    }
    r->front = TAP;
    r->rear = 0;
    for (int i = 0; i < AWK_RANDOM_TABLE; i++) r->table[i] = feed_back(r);
    r->last = feed_back(r);
    for (int i = 0; i < WARM_UP; i++) shuffled(r);
    r->is_seeded = 1;
}

double awk_random_next(awk_random *r) {
    const double range = 2147483648.0;
    double v;
    do {
        double low = shuffled(r), high = shuffled(r);
        v = 0.5 + (low / range + high) / range - 0.5;
    } while (v == 1.0);
    return v;
}
