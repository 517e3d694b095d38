/* regex_search.c - running a program with captures.
 *
 * The machine tries alternatives in order and goes back on failure, with a stack of its own. When that takes long it starts over
 * remembering which (branch, position) pairs failed, which bounds the time; programs with back-references or look-around cannot
 * use that memory and stop after REGEX_MOST_STEPS. In leftmost-longest programs it keeps going after a match to find a longer
 * one.
 */
#include "regex_program.h"
#include "utf8.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    int pc, slot;
    ssize_t value;
} frame; /* slot -1: resume at pc, position value; SLOT_VERB: the attempt is over; else restore a capture or mark */

enum { SLOT_VERB = -2 };

typedef struct {
    regex *r;
    const char *text;
    size_t n, end;                                          /* end: where the match must end, or SIZE_MAX */
    ssize_t *caps, *best;                                   /* groups, then marks */
    int slots;
    long steps, limit;
    int use_memo, depth;
    size_t memo_from;
    int *split_number;
    size_t next;                                            /* where the next attempt begins, when a verb says so; else 0 */
    size_t calls;                                           /* records in use: see call_group */
} machine;

static int push(machine *m, size_t *top, int pc, int slot, ssize_t value) {
    regex *r = m->r;
    if (*top == r->work.frame_cap) {
        size_t cap = r->work.frame_cap ? r->work.frame_cap * 2 : 256;
        if (cap > (size_t)8 << 20) return -1;
        frame *grown = realloc(r->work.frames, cap * sizeof *grown);
        if (!grown) return -1;
        r->work.frames = grown;
        r->work.frame_cap = cap;
    }
    ((frame *)r->work.frames)[(*top)++] = (frame){pc, slot, value};
    return 0;
}

static int memo_seen(machine *m, int pc, size_t at) {
    size_t bit = (size_t)m->split_number[pc] * (m->n - m->memo_from + 1) + (at - m->memo_from);
    uint32_t *word = &m->r->work.memo[bit >> 5], mask = 1u << (bit & 31);
    if (*word & mask) return 1;
    *word |= mask;
    return 0;
}

static int same_text(const machine *m, size_t a, size_t b, size_t n, int fold) {
    if (!fold) return !memcmp(m->text + a, m->text + b, n);
    for (size_t i = 0; i < n; i++)
        if (utf8_lower((unsigned char)m->text[a + i] & 127) != utf8_lower((unsigned char)m->text[b + i] & 127)) return 0;
    return 1;
}

/* A group that another place of the pattern runs, (?1): where to go on, where it began, and the captures to have again then. */
typedef struct { int group, back, up; size_t at; ssize_t caps[]; } call_record;

static call_record *record_at(const machine *m, size_t i) {
    size_t size = sizeof(call_record) + (size_t)m->slots * sizeof(ssize_t);
    return (call_record *)((char *)m->r->work.calls + i * size);
}

/* The slot that names the innermost running call, -1 when there is none. */
static int call_slot(const machine *m) { return m->slots - 1; }

/* Begins a call. -1: too deep, or it would call itself for ever without reading. */
static int call_group(machine *m, size_t *top, const instruction *i, int back, size_t at) {
    regex *r = m->r;
    ssize_t up = m->caps[call_slot(m)];
    if (up >= 0 && record_at(m, (size_t)up)->group == i->y && record_at(m, (size_t)up)->at == at) return -1;
    if (m->calls == r->work.call_cap) {
        size_t cap = r->work.call_cap ? r->work.call_cap * 2 : 16;
        if (cap > REGEX_MOST_CALLS) return -1;
        void *grown = realloc(r->work.calls, cap * (sizeof(call_record) + (size_t)m->slots * sizeof(ssize_t)));
        if (!grown) return -1;
        r->work.calls = grown;
        r->work.call_cap = cap;
    }
    call_record *c = record_at(m, m->calls);
    *c = (call_record){.group = i->y, .back = back, .up = (int)up, .at = at};
    memcpy(c->caps, m->caps, (size_t)m->slots * sizeof *c->caps);
    if (push(m, top, 0, call_slot(m), up) < 0) return -1;
    m->caps[call_slot(m)] = (ssize_t)m->calls++;
    return 0;
}

/* Ends the running call when it is of this group: the place to go on at, -1 when it is not, -2 when memory ran out. */
static int return_from(machine *m, size_t *top, int group) {
    ssize_t now = m->caps[call_slot(m)];
    if (now < 0 || record_at(m, (size_t)now)->group != group) return -1;
    const call_record *c = record_at(m, (size_t)now);
    for (int slot = 0; slot < m->slots; slot++) {
        ssize_t was = slot == call_slot(m) ? c->up : c->caps[slot];
        if (m->caps[slot] == was) continue;
        if (push(m, top, 0, slot, m->caps[slot]) < 0) return -2;
        m->caps[slot] = was;
    }
    return c->back;
}

static int run(machine *m, int pc, size_t at, size_t base, size_t *matched_end, int longest);

/* Look-around: 1 holds, 0 not, -1 gave up. Captures made inside a positive look stay. */
static int look(machine *m, int pc, size_t at, size_t base) {
    const instruction *i = &m->r->code[pc];
    size_t end, save_end = m->end;
    int found = 0;
    if (++m->depth > 50) return -1;
    if (i->flag & 2) {
        m->end = at;
        for (size_t from = at + 1; from-- > 0 && !found;) {
            found = run(m, pc + 1, from, base, &end, 0);
            if (found < 0 || at - from > 1000) break;
        }
    } else {
        m->end = (size_t)-1;
        found = run(m, pc + 1, at, base, &end, 0);
    }
    m->end = save_end;
    m->depth--;
    if (found < 0) return -1;
    return found != (i->flag & 1);
}

/* Runs from pc at position at; frames above base are ours. 1 with *matched_end, 0, or -1 gave up. With longest, m->best holds the
 * captures. */
static int run(machine *m, int pc, size_t at, size_t base, size_t *matched_end, int longest) {
    const instruction *code = m->r->code;
    const char *text = m->text;
    size_t top = base, n = m->n;
    int found = 0;
    for (;;) {
        if (++m->steps > m->limit) return -1;
        const instruction *i = &code[pc];
        switch (i->op) {
        case OP_BYTE:
            if (at < n && (unsigned char)text[at] == i->x) { at++; pc++; continue; }
            break;
        case OP_SET:
            if (at >= n) break;
            if ((signed char)text[at] >= 0) {
                if (i->set->ascii[text[at] >> 5] >> (text[at] & 31) & 1) { at++; pc++; continue; }
            } else {
                int c, len = utf8_decode(text + at, n - at, &c);
                if (regex_set_has(i->set, c)) { at += (size_t)len; pc++; continue; }
            }
            break;
        case OP_SPLIT:
            if (m->use_memo && memo_seen(m, pc, at)) break;
            if (push(m, &top, i->y, -1, (ssize_t)at) < 0) return -1;
            pc = i->x;
            continue;
        case OP_JUMP: pc = i->x; continue;
        case OP_MARK: case OP_SAVE: {
            int slot = i->op == OP_SAVE ? i->x : (m->r->groups + 1) * 2 + i->x;
            if (push(m, &top, 0, slot, m->caps[slot]) < 0) return -1;
            m->caps[slot] = (ssize_t)at;
            pc++;
            continue;
        }
        case OP_KEEP:
            if (push(m, &top, 0, 0, m->caps[0]) < 0) return -1;
            m->caps[0] = (ssize_t)at;
            pc++;
            continue;
        case OP_CHECK:
            if (m->caps[(m->r->groups + 1) * 2 + i->x] == (ssize_t)at) {
                if (m->r->longest) break;
                /* leave the loop: the split is where the jump after us leads, its way out the target behind us */
                const instruction *loop = &code[code[pc + 1].x];
                pc = loop->x > loop->y ? loop->x : loop->y;
                continue;
            }
            pc++;
            continue;
        case OP_ASSERT:
            if (regex_assert_holds(i->x, text, n, at)) { pc++; continue; }
            break;
        case OP_BACKREF: {
            ssize_t from = m->caps[i->x * 2], to = m->caps[i->x * 2 + 1];
            if (from < 0 || to < from) break;
            size_t len = (size_t)(to - from);
            if (len <= n - at && same_text(m, (size_t)from, at, len, i->flag & 4)) { at += len; pc++; continue; }
            break;
        }
        case OP_LOOK: {
            int yes = look(m, pc, at, top);
            if (yes < 0) return -1;
            if (yes) { pc = i->x; continue; }
            break;
        }
        case OP_ATOMIC: {
            size_t end, save = m->end;
            if (++m->depth > 50) return -1;
            m->end = (size_t)-1;
            int yes = run(m, pc + 1, at, top, &end, 0);
            m->end = save;
            m->depth--;
            if (yes < 0) return -1;
            if (yes) { at = end; pc = i->x; continue; }
            break;
        }
        case OP_FAIL: break;
        case OP_VERB:
            if (push(m, &top, i->x, SLOT_VERB, (ssize_t)at) < 0) return -1;
            pc++;
            continue;
        case OP_COND: {
            int taken = i->x && m->caps[i->x * 2] >= 0 && m->caps[i->x * 2 + 1] >= 0;
            pc = taken ? pc + 1 : i->y;
            continue;
        }
        case OP_CALL:
            if (call_group(m, &top, i, pc + 1, at) < 0) return -1;
            pc = i->x;
            continue;
        case OP_RETURN: {
            int back = return_from(m, &top, i->x);
            if (back == -2) return -1;
            pc = back < 0 ? pc + 1 : back;
            continue;
        }
        case OP_MATCH:
            if (m->r->has_calls && pc == m->r->length - 1) {
                int back = return_from(m, &top, 0);
                if (back == -2) return -1;
                if (back >= 0) { pc = back; continue; }
            }
            if (m->end != (size_t)-1 && at != m->end) break;
            if (!longest) { *matched_end = at; return 1; }
            if (!found || at > *matched_end) {
                found = 1;
                *matched_end = at;
                memcpy(m->best, m->caps, (size_t)m->slots * sizeof *m->best);
            }
            if (at == n) return 1;
            break;
        }
        /* failed: go back to the last choice, undoing captures on the way */
        for (;;) {
            if (top == base) return found;
            frame *f = &((frame *)m->r->work.frames)[--top];
            if (f->slot == -1) { pc = f->pc; at = (size_t)f->value; break; }
            if (f->slot == SLOT_VERB) {
                m->next = f->pc == VERB_COMMIT ? n + 1 : f->pc == VERB_SKIP ? (size_t)f->value : 0;
                return found;
            }
            if (f->slot == call_slot(m) && f->value < m->caps[f->slot]) m->calls = (size_t)m->caps[f->slot];
            m->caps[f->slot] = f->value;
        }
    }
}

static int *number_splits(regex *r) {
    int *numbers = regex_alloc(&r->memory, (size_t)r->length * sizeof *numbers), n = 0;
    if (!numbers) return NULL;
    for (int i = 0; i < r->length; i++) if (r->code[i].op == OP_SPLIT) numbers[i] = n++;
    return numbers;
}

/* Turns on the memory of failed branches for positions from start on. 0, or -1 when it would be too big. */
static int start_memo(machine *m, size_t start) {
    regex *r = m->r;
    size_t bits = (size_t)r->splits * (m->n - start + 1), words = bits / 32 + 1;
    if (words > (size_t)8 << 20) return -1;
    if (words > r->work.memo_cap) {
        free(r->work.memo);
        r->work.memo = malloc(words * sizeof(uint32_t));
        r->work.memo_cap = r->work.memo ? words : 0;
        if (!r->work.memo) return -1;
    }
    memset(r->work.memo, 0, words * sizeof(uint32_t));
    if (!m->split_number && !(m->split_number = number_splits(r))) return -1;
    m->memo_from = start;
    m->use_memo = 1;
    return 0;
}

static void clear_caps(machine *m) {
    for (int i = 0; i < m->slots; i++) m->caps[i] = -1;
    m->calls = m->next = 0;
}

/* One attempt at start. In longest programs tells the end by the DFA first, when it can. */
static int attempt(machine *m, size_t start, size_t *end) {
    regex *r = m->r;
    clear_caps(m);
    m->end = (size_t)-1;
    int longest = r->longest;
    if (r->simple && longest) {
        ssize_t stop = regex_dfa_longest(r, m->text, m->n, start);
        if (stop == -1) return 0;
        if (stop >= 0) {
            *end = (size_t)stop;
            if (!r->groups) { m->caps[0] = -1; return 1; }
            m->end = (size_t)stop;
            longest = 0;
        }
    }
    m->steps = 0;
    m->limit = r->simple ? 20000 + 16 * (long)(m->n - start) : REGEX_MOST_STEPS;
    if (m->use_memo && r->simple) m->limit = REGEX_MOST_STEPS * 50L;
    int found = run(m, 0, start, 0, end, longest);
    if (found < 0 && r->simple && !m->use_memo) {
        if (start_memo(m, start) < 0) return -1;
        clear_caps(m);
        m->steps = 0;
        m->limit = REGEX_MOST_STEPS * 50L;
        found = run(m, 0, start, 0, end, longest);
    }
    if (found > 0 && longest) memcpy(m->caps, m->best, (size_t)m->slots * sizeof *m->caps);
    /* with a fixed end the memory is about that end only: it must not survive */
    if (m->end != (size_t)-1) m->use_memo = 0;
    return found;
}

static int fill(machine *m, size_t start, size_t end, regex_span *spans, int count) {
    for (int i = 0; i < count; i++) {
        spans[i] = (regex_span){-1, -1};
        if (i && i <= m->r->groups && m->caps[i * 2 + 1] >= 0) spans[i] = (regex_span){m->caps[i * 2], m->caps[i * 2 + 1]};
    }
    if (count) spans[0] = (regex_span){m->caps[0] >= 0 ? m->caps[0] : (ssize_t)start, (ssize_t)end};
    return 1;
}

static int prepare(machine *m, regex *r, const char *text, size_t n) {
    *m = (machine){.r = r, .text = text, .n = n, .slots = (r->groups + 1) * 2 + r->marks + 1};
    if (!r->work.caps && !(r->work.caps = malloc(2 * (size_t)m->slots * sizeof(ssize_t)))) return -1;
    m->caps = r->work.caps;
    m->best = r->work.caps + m->slots;
    return 0;
}

/* Whether at lies within a multi-byte character, where nothing may begin. */
static int inside_character(const char *text, size_t n, size_t at) {
    if (at >= n || ((unsigned char)text[at] & 0xC0) != 0x80) return 0;
    size_t lead = at;
    int c;
    while (lead > 0 && at - lead < 3 && ((unsigned char)text[lead] & 0xC0) == 0x80) lead--;
    return lead + (size_t)utf8_decode(text + lead, n - lead, &c) > at;
}

int regex_exec(regex *r, const char *text, size_t n, size_t start, regex_span *spans, int count) {
    machine m;
    if (start > n || prepare(&m, r, text, n) < 0) return start > n ? 0 : -1;
    if (r->literal) {
        size_t at = regex_candidate(r, text, n, start);
        if (at > n || at + r->literal_length > n) return 0;
        clear_caps(&m);
        if (!r->groups) return fill(&m, at, at + r->literal_length, spans, count);
    }
    int checked = 0;
    for (size_t at = start; (at = regex_candidate(r, text, n, at)) <= n; at++) {
        if (r->anchored && at) return 0;
        if (r->any_first && at > start && inside_character(text, n, at)) continue;
        size_t end;
        int found = attempt(&m, at, &end);
        if (found > 0) return fill(&m, at, end, spans, count);
        if (found < 0) return -1;
        if (m.next > at + 1) at = m.next - 1;
        /* after a few failures it pays to know whether there is any match at all */
        if (r->simple && ++checked == 4 && !r->anchored && regex_dfa_any(r, text, n, at + 1) == -1) return 0;
        if (at >= n) break;
    }
    return 0;
}

int regex_match_at(regex *r, const char *text, size_t n, size_t start, regex_span *spans, int count) {
    machine m;
    size_t end;
    if (start > n) return 0;
    if (prepare(&m, r, text, n) < 0) return -1;
    int found = attempt(&m, start, &end);
    return found > 0 ? fill(&m, start, end, spans, count) : found;
}

int regex_test(regex *r, const char *text, size_t n) {
    if (r->literal) {
        size_t at = regex_candidate(r, text, n, 0);
        return at <= n && at + r->literal_length <= n;
    }
    if (r->simple) {
        size_t at = regex_candidate(r, text, n, 0);
        if (at > n) return 0;
        if (r->has_asserts || r->any_first) at = 0;
        ssize_t end = regex_dfa_any(r, text, n, at);
        if (end != -2) return end >= 0;
    }
    regex_span whole;
    return regex_exec(r, text, n, 0, &whole, 1);
}
