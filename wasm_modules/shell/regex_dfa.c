/* regex_dfa.c - a deterministic automaton built state by state while it runs: says whether and where a match ends, not what the
 * groups hold.
 *
 * A state is the set of places (instruction, bytes still missing of the character being read) where the program can be after the
 * bytes read, before empty-width steps are followed, and what the last byte was. Steps are followed when the next byte is known,
 * so that assertions can be decided. When a set with particular non-ASCII members meets a non-ASCII byte, or a word assertion
 * does, the automaton says it cannot tell.
 */
#include "regex_program.h"
#include "utf8.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_STATES = 2000, MOST_BYTES = 4 << 20, END = 256, UNKNOWN = -1, BAIL = -2, DEAD = 0 };
enum { PREV_START = 1, PREV_NEWLINE = 2, PREV_WORD = 4, PREV_HIGH = 8, SEEK = 16 };

typedef struct {
    int *items, count, context, *next;
    unsigned hash;
    int chain;
} state; /* next[class]: target * 2 + "a match ended before this byte" */
struct regex_dfa {
    state *states;
    int count, classes, *buckets;
    size_t bytes;
    unsigned char class_of[257];
    int *stamp, stamp_now;          /* closure marks per instruction */
    int *closure, *stack, *fresh;   /* work lists */
    int *fresh_stamp;               /* per place */
    int start[2][16];               /* start state for context, anchored or seeking */
    unsigned char *body;            /* instructions that count: none inside looks here, as only simple programs come */
};

static void split_classes(unsigned char *class_of, int *count, const unsigned char *member) {
    int map[257];
    for (int i = 0; i < 257; i++) map[i] = -1;
    for (int b = 0; b < 256; b++) {
        if (!member[b]) continue;
        int c = class_of[b], whole = 1;
        if (map[c] == -1) {
            for (int k = 0; k < 256 && whole; k++) if (class_of[k] == c && !member[k]) whole = 0;
            map[c] = whole ? c : (*count < 255 ? (*count)++ : c);
        }
        class_of[b] = (unsigned char)map[c];
    }
}

static void make_classes(struct regex_dfa *d, const regex *r) {
    unsigned char member[256];
    int count = 1;
    memset(d->class_of, 0, sizeof d->class_of);
    static const int edges[][2] = {{0x80, 0xBF}, {0xC0, 0xDF}, {0xE0, 0xEF}, {0xF0, 0xFF}};
    for (int e = 0; e < 4; e++) {
        memset(member, 0, sizeof member);
        for (int b = edges[e][0]; b <= edges[e][1]; b++) member[b] = 1;
        split_classes(d->class_of, &count, member);
    }
    if (r->has_asserts) {
        memset(member, 0, sizeof member);
        member['\n'] = 1;
        split_classes(d->class_of, &count, member);
        for (int b = 0; b < 256; b++) member[b] = b < 128 && regex_is_word(b);
        split_classes(d->class_of, &count, member);
    }
    for (int i = 0; i < r->length; i++) {
        const instruction *in = &r->code[i];
        memset(member, 0, sizeof member);
        if (in->op == OP_BYTE) member[in->x] = 1;
        else if (in->op == OP_SET)
            for (int b = 0; b < (utf8_bytes ? 256 : 128); b++) member[b] = (unsigned char)regex_set_has(in->set, b);
        else continue;
        split_classes(d->class_of, &count, member);
    }
    d->class_of[END] = (unsigned char)count;
    d->classes = count + 1;
}

static struct regex_dfa *make_dfa(const regex *r) {
    struct regex_dfa *d = calloc(1, sizeof *d);
    if (!d) return NULL;
    size_t n = (size_t)r->length;
    d->stamp = calloc(n, sizeof *d->stamp);
    d->closure = malloc(n * sizeof *d->closure);
    d->stack = malloc((2 * n + 4) * sizeof *d->stack);
    d->fresh = malloc((4 * n + 4) * sizeof *d->fresh);
    d->fresh_stamp = calloc(4 * n + 4, sizeof *d->fresh_stamp);
    d->states = calloc(MOST_STATES + 1, sizeof *d->states);
    d->buckets = calloc(1024, sizeof *d->buckets);
    if (!d->stamp || !d->closure || !d->stack || !d->fresh || !d->fresh_stamp || !d->states || !d->buckets) {
        regex_dfa_free(d);
        return NULL;
    }
    make_classes(d, r);
    return d;
}

static void forget_states(struct regex_dfa *d) {
    for (int i = 0; i < d->count; i++) free(d->states[i].items), free(d->states[i].next);
    d->count = 0;
    d->bytes = 0;
    memset(d->buckets, 0, 1024 * sizeof *d->buckets);
    memset(d->start, 0, sizeof d->start);
}

void regex_dfa_free(struct regex_dfa *d) {
    if (!d) return;
    if (d->states) { if (d->buckets) forget_states(d); free(d->states); }
    free(d->buckets); free(d->stamp); free(d->closure); free(d->stack); free(d->fresh); free(d->fresh_stamp);
    free(d);
}

/* The number of the state with these places and context, made when new. State 0 is the dead one. -1: no memory; -3: the cache is
 * full. */
static int intern(struct regex_dfa *d, const int *items, int count, int context) {
    if (!d->count) {
        state *dead = &d->states[d->count++];
        *dead = (state){.next = malloc((size_t)d->classes * sizeof(int)), .items = malloc(sizeof(int)), .chain = -1};
        if (!dead->next || !dead->items) return -1;
        for (int c = 0; c < d->classes; c++) dead->next[c] = DEAD;
    }
    if (!count && !(context & SEEK)) return DEAD;
    unsigned h = (unsigned)context * 2654435761u;
    for (int i = 0; i < count; i++) h = (h ^ (unsigned)items[i]) * 16777619u;
    for (int i = d->buckets[h & 1023]; i > 0; i = d->states[i].chain) {
        const state *s = &d->states[i];
        if (s->hash == h && s->count == count && s->context == context && !memcmp(s->items, items, (size_t)count * sizeof *items))
            return i;
    }
    if (d->count >= MOST_STATES || d->bytes > MOST_BYTES) return -3;
    state *s = &d->states[d->count];
    *s = (state){.items = malloc(((size_t)count + 1) * sizeof *items),
        .count = count,
        .context = context,
        .next = malloc((size_t)d->classes * sizeof(int)),
        .hash = h};
    if (!s->items || !s->next) { free(s->items); free(s->next); return -1; }
    memcpy(s->items, items, (size_t)count * sizeof *items);
    for (int c = 0; c < d->classes; c++) s->next[c] = UNKNOWN;
    s->chain = d->buckets[h & 1023];
    d->buckets[h & 1023] = d->count;
    d->bytes += (size_t)count * sizeof *items + (size_t)d->classes * sizeof(int);
    return d->count++;
}

/* Whether an assertion holds between a byte described by context and the byte next; -2 when only decoding could tell. */
static int holds(int kind, int context, int next) {
    int before_start = context & PREV_START, before_word = context & PREV_WORD;
    int word_kind = kind >= A_WORD_EDGE;
    if (word_kind && ((context & PREV_HIGH) || (next >= 128 && next < END))) return -2;
    int next_word = next < 128 && regex_is_word(next);
    switch (kind) {
    case A_TEXT_START: return before_start != 0;
    case A_TEXT_END: return next == END;
    case A_TEXT_END_NL: return next == END ? 1 : next == '\n' ? -2 : 0;
    case A_LINE_START: return before_start || context & PREV_NEWLINE;
    case A_LINE_END: return next == END || next == '\n';
    case A_WORD_EDGE: return (before_word != 0) != next_word;
    case A_NOT_EDGE: return (before_word != 0) == next_word;
    case A_WORD_START: return !before_word && next_word;
    case A_WORD_END: return before_word && !next_word;
    case A_NO_WORD_BEFORE: return !before_word;
    case A_NO_WORD_AFTER: return !next_word;
    }
    return 0;
}

/* Follows empty-width steps from pc; appends the consuming instructions. Returns 1 when the end of the program is reached, -2 to
 * bail. */
static int follow(struct regex_dfa *d, const regex *r, int pc, int context, int next, int *n) {
    int top = 0, matched = 0;
    d->stack[top++] = pc;
    while (top) {
        pc = d->stack[--top];
        if (d->stamp[pc] == d->stamp_now) continue;
        d->stamp[pc] = d->stamp_now;
        const instruction *i = &r->code[pc];
        switch (i->op) {
        case OP_BYTE: case OP_SET: d->closure[(*n)++] = pc; break;
        case OP_SPLIT: d->stack[top++] = i->y; d->stack[top++] = i->x; break;
        case OP_JUMP: d->stack[top++] = i->x; break;
        case OP_MATCH: matched = 1; break;
        case OP_FAIL: break;
        case OP_ASSERT: {
            int yes = holds(i->x, context, next);
            if (yes == -2) return -2;
            if (yes) d->stack[top++] = pc + 1;
            break;
        }
        default: d->stack[top++] = pc + 1;
        }
    }
    return matched;
}

/* The place after instruction pc consumed byte c, -1 when it does not, -2 to bail. */
static int consume(const regex *r, int pc, int c) {
    const instruction *i = &r->code[pc];
    if (i->op == OP_BYTE) return i->x == c ? (pc + 1) * 4 : -1;
    if (c < 128 || utf8_bytes) return regex_set_has(i->set, c) ? (pc + 1) * 4 : -1;
    if (i->set->high == 1) return -2;
    if (i->set->high == 0 || c < 0xC2) return -1;
    return pc * 4 + (c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : 1);
}

static int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* Works out where state s goes on byte c (or END). The value for next[], or -1 no memory, BAIL. */
static int step(struct regex_dfa *d, const regex *r, int s, int c) {
    const state *from = &d->states[s];
    int context = from->context, n = 0, matched = 0, fresh = 0;
    d->stamp_now++;
    for (int k = 0; k < from->count; k++) {
        int item = from->items[k];
        if (item & 3) {
            if (c >= 128 && c < 0xC0) {
                int to = (item & 3) > 1 ? item - 1 : (item / 4 + 1) * 4;
                if (d->fresh_stamp[to] != d->stamp_now) { d->fresh_stamp[to] = d->stamp_now; d->fresh[fresh++] = to; }
            }
            continue;
        }
        int m = follow(d, r, item / 4, context, c, &n);
        if (m < 0) return BAIL;
        matched |= m;
    }
    if (context & SEEK && !matched && !(r->anchored && !(context & PREV_START))) {
        int m = follow(d, r, 0, context, c, &n);
        if (m < 0) return BAIL;
        matched |= m;
    }
    if (c == END) return matched;
    for (int k = 0; k < n; k++) {
        int to = consume(r, d->closure[k], c);
        if (to == -2) return BAIL;
        if (to < 0 || d->fresh_stamp[to] == d->stamp_now) continue;
        d->fresh_stamp[to] = d->stamp_now;
        d->fresh[fresh++] = to;
    }
    qsort(d->fresh, (size_t)fresh, sizeof *d->fresh, order);
    int next_context = context & SEEK;
    if (r->has_asserts)
        next_context
            |= (c == '\n' ? PREV_NEWLINE : 0) | (c < 128 && regex_is_word(c) ? PREV_WORD : 0) | (c >= 128 ? PREV_HIGH : 0);
    int to = intern(d, d->fresh, fresh, next_context);
    if (to < 0) return to == -3 ? -3 : BAIL;
    return to * 2 + matched;
}

static int start_state(struct regex_dfa *d, const regex *r, const char *text, size_t start, int seek) {
    int context = 0;
    if (r->has_asserts) {
        unsigned char before = start ? (unsigned char)text[start - 1] : 0;
        context = !start ? PREV_START
                         : (before == '\n' ? PREV_NEWLINE : 0) | (before < 128 && regex_is_word(before) ? PREV_WORD : 0)
                               | (before >= 128 ? PREV_HIGH : 0);
    } else if (!start) context = PREV_START;
    if (!r->has_asserts) context = 0;
    int *known = &d->start[seek][context];
    if (*known) return *known;
    int zero = 0;
    *known = intern(d, &zero, seek ? 0 : 1, context | (seek ? SEEK : 0));
    return *known;
}

static ssize_t run(regex *r, const char *text, size_t n, size_t start, int seek) {
    if (!r->dfa && !(r->dfa = make_dfa(r))) return -2;
    struct regex_dfa *d = r->dfa;
    int s = start_state(d, r, text, start, seek);
    if (s < 0) { forget_states(d); s = start_state(d, r, text, start, seek); if (s < 0) return -2; }
    ssize_t last = -1;
    for (size_t i = start;; i++) {
        int c = i < n ? (unsigned char)text[i] : END, cls = d->class_of[c];
        int to = d->states[s].next[cls];
        if (to == UNKNOWN) {
            to = step(d, r, s, c);
            if (to == -3) {
                /* the cache is full: start over, keeping the present state */
                int count = d->states[s].count, context = d->states[s].context;
                int *items = malloc(((size_t)count + 1) * sizeof *items);
                if (!items) return -2;
                memcpy(items, d->states[s].items, (size_t)count * sizeof *items);
                forget_states(d);
                s = intern(d, items, count, context);
                free(items);
                if (s < 0) return -2;
                i--;
                continue;
            }
            d->states[s].next[cls] = to;
        }
        if (to == BAIL) return -2;
        if (to & 1) {
            last = (ssize_t)i;
            if (seek) return last;
        }
        if (c == END) return last;
        s = to >> 1;
        if (s == DEAD) return last;
    }
}

ssize_t regex_dfa_longest(regex *r, const char *text, size_t n, size_t start) { return run(r, text, n, start, 0); }
ssize_t regex_dfa_any(regex *r, const char *text, size_t n, size_t start) { return run(r, text, n, start, 1); }
