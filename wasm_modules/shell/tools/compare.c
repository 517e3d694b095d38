/* compare.c - the differences of two lists of lines, found so that the answer is also the one GNU diff gives where several are
 * equally short.
 *
 * Four steps: lines at both ends that are equal are set aside; lines that the other side does not have (or has far too often,
 * inside such a stretch) are taken out as changed; Myers' algorithm in linear space, searching from both ends at once, marks the
 * rest; and each run of changes slides to where it meets a change of the other side, or else down as far as it goes.
 */
#include "compare.h"
#include <limits.h>
#include <string.h>

typedef struct {
    const int *id;
    size_t *line;
    long n;
    unsigned char *changed;
} side; /* id by place; line: which line a place stands for */
typedef struct { tool *t; side a, b; long *forward, *backward, costly; } search;
typedef struct { long x, y; } point;

static int same(const search *s, long x, long y) { return s->a.id[x] == s->b.id[y]; }

/* Furthest points of both directions when the search costs too much: the better of them. */
static point give_up(const search *s, long flow, long fhigh, long blow, long bhigh, const long box[4]) {
    point front = {box[0], box[2]}, back = {box[1], box[3]};
    long best = -1, least = LONG_MAX;
    for (long d = fhigh; d >= flow; d -= 2) {
        long x = s->forward[d] < box[1] ? s->forward[d] : box[1], y = x - d;
        if (y > box[3]) { x = box[3] + d; y = box[3]; }
        if (x + y > best) { best = x + y; front = (point){x, y}; }
    }
    for (long d = bhigh; d >= blow; d -= 2) {
        long x = s->backward[d] > box[0] ? s->backward[d] : box[0], y = x - d;
        if (y < box[2]) { x = box[2] + d; y = box[2]; }
        if (x + y < least) { least = x + y; back = (point){x, y}; }
    }
    return box[1] + box[3] - least < best - (box[0] + box[2]) ? front : back;
}

/* A point that a shortest script of a[x0..x1) and b[y0..y1) passes. Diagonals are numbered x - y. */
static point middle(search *s, long x0, long x1, long y0, long y1) {
    long low = x0 - y1, high = x1 - y0, from = x0 - y0, to = x1 - y1, odd = (from - to) & 1;
    long flow = from, fhigh = from, blow = to, bhigh = to, *f = s->forward, *b = s->backward;
    f[from] = x0;
    b[to] = x1;
    for (long cost = 1;; cost++) {
        if (flow > low) f[--flow - 1] = -1; else flow++;
        if (fhigh < high) f[++fhigh + 1] = -1; else fhigh--;
        for (long d = fhigh; d >= flow; d -= 2) {
            long x = f[d - 1] < f[d + 1] ? f[d + 1] : f[d - 1] + 1, y = x - d;
            while (x < x1 && y < y1 && same(s, x, y)) { x++; y++; }
            f[d] = x;
            if (odd && blow <= d && d <= bhigh && b[d] <= x) return (point){x, y};
        }
        if (blow > low) b[--blow - 1] = LONG_MAX; else blow++;
        if (bhigh < high) b[++bhigh + 1] = LONG_MAX; else bhigh--;
        for (long d = bhigh; d >= blow; d -= 2) {
            long x = b[d - 1] < b[d + 1] ? b[d - 1] : b[d + 1] - 1, y = x - d;
            while (x > x0 && y > y0 && same(s, x - 1, y - 1)) { x--; y--; }
            b[d] = x;
            if (!odd && flow <= d && d <= fhigh && x <= f[d]) return (point){x, y};
        }
        if (cost >= s->costly) return give_up(s, flow, fhigh, blow, bhigh, (const long[4]){x0, x1, y0, y1});
    }
}

static void mark(side *v, long from, long to) { for (; from < to; from++) v->changed[v->line[from]] = 1; }

/* Marks what a shortest script changes. The two halves wait on a stack of their own: how deep they nest is up to the files. */
static void solve(search *s) {
    typedef struct { long x0, x1, y0, y1; } part;
    size_t cap = 64, n = 0;
    part *todo = tool_alloc(s->t, cap * sizeof *todo);
    todo[n++] = (part){0, s->a.n, 0, s->b.n};
    while (n) {
        part p = todo[--n];
        while (p.x0 < p.x1 && p.y0 < p.y1 && same(s, p.x0, p.y0)) { p.x0++; p.y0++; }
        while (p.x0 < p.x1 && p.y0 < p.y1 && same(s, p.x1 - 1, p.y1 - 1)) { p.x1--; p.y1--; }
        if (p.x0 == p.x1 || p.y0 == p.y1) { mark(&s->a, p.x0, p.x1); mark(&s->b, p.y0, p.y1); continue; }
        point m = middle(s, p.x0, p.x1, p.y0, p.y1);
        if ((m.x == p.x0 && m.y == p.y0) || (m.x == p.x1 && m.y == p.y1)) {
            mark(&s->a, p.x0, p.x1);
            mark(&s->b, p.y0, p.y1);
            continue;
        }
        if (n + 2 > cap) todo = tool_realloc(s->t, todo, (cap *= 2) * sizeof *todo);
        todo[n++] = (part){m.x, p.x1, m.y, p.y1};
        todo[n++] = (part){p.x0, m.x, p.y0, m.y};
    }
    tool_free(s->t, todo);
}

enum { KEEP, DROP, MAYBE };

/* Undoes MAYBE from one end of a run until three sure lines stand in a row, or a sure one eight lines in. */
static void firm_end(unsigned char *p, long step, long n) {
    for (long j = 0, row = 0; j < n && row < 3; j++, p += step) {
        if (j >= 8 && *p == DROP) break;
        row = *p == DROP ? row + 1 : 0;
        if (*p == MAYBE) *p = KEEP;
    }
}

/* A run of droppable lines that begins and ends with a sure one: which of its MAYBEs may go. */
static void settle_run(unsigned char *p, long n, long maybes) {
    if (maybes * 4 > n) { for (long j = 0; j < n; j++) if (p[j] == MAYBE) p[j] = KEEP; return; }
    long most = 1;
    for (long left = n >> 4; left > 0; left >>= 2) most <<= 1;
    for (long j = 0; j < n;) {
        long end = j;
        while (end < n && p[end] == MAYBE) end++;
        if (end - j > most) memset(p + j, KEEP, (size_t)(end - j));
        j = end > j ? end : j + 1;
    }
    firm_end(p, 1, n);
    firm_end(p + n - 1, -1, n);
}

/* Which of lines from..from+n cannot help: those the other side lacks, and among them those it has too often. */
static unsigned char *confusing(tool *t, const int *id, long n, const int *counts) {
    unsigned char *drop = tool_alloc(t, (size_t)n + 1);
    long many = 5;
    for (long left = n / 64; (left >>= 2) > 0;) many *= 2;
    for (long i = 0; i < n; i++) drop[i] = !counts[id[i]] ? DROP : counts[id[i]] > many ? MAYBE : KEEP;
    for (long i = 0; i < n; i++) {
        if (drop[i] == MAYBE) drop[i] = KEEP;
        if (drop[i] != DROP) continue;
        long end = i, maybes = 0;
        for (; end < n && drop[end]; end++) maybes += drop[end] == MAYBE;
        for (; drop[end - 1] == MAYBE; maybes--) drop[--end] = KEEP;
        settle_run(drop + i, end - i, maybes);
        i = end - 1;
    }
    return drop;
}

/* The places of one side that take part in the search; the others are marked as changed at once. */
static side places(tool *t, const int *id, long from, long n, const int *counts, unsigned char *changed) {
    unsigned char *drop = confusing(t, id + from, n, counts);
    int *kept = tool_alloc(t, (size_t)(n + 1) * sizeof *kept);
    side v = {kept, tool_alloc(t, (size_t)(n + 1) * sizeof *v.line), 0, changed};
    for (long i = 0; i < n; i++) {
        if (drop[i]) { changed[from + i] = 1; continue; }
        kept[v.n] = id[from + i];
        v.line[v.n++] = (size_t)(from + i);
    }
    tool_free(t, drop);
    return v;
}

/* Slides each run of changes of one side. mine[-1], mine[n] and their like of the other side are readable and 0. */
static void slide(const int *id, unsigned char *mine, long n, const unsigned char *other) {
    long i = 0, j = 0;
    for (;;) {
        for (; i < n && !mine[i]; i++) while (other[j++]) {}
        if (i == n) return;
        long start = i, length, meets;
        while (mine[++i]) {}
        while (other[j]) j++;
        do {
            length = i - start;
            while (start && id[start - 1] == id[i - 1]) {
                mine[--start] = 1;
                mine[--i] = 0;
                while (mine[start - 1]) start--;
                while (other[--j]) {}
            }
            meets = other[j - 1] ? i : n;
            while (i != n && id[start] == id[i]) {
                mine[start++] = 0;
                mine[i++] = 1;
                while (mine[i]) i++;
                while (other[++j]) meets = i;
            }
        } while (length != i - start);
        while (meets < i) {
            mine[--start] = 1;
            mine[--i] = 0;
            while (other[--j]) {}
        }
    }
}

static void gather(tool *t, const unsigned char *a, size_t a_n, const unsigned char *b, size_t b_n, hunk_list *out) {
    for (size_t i = 0, j = 0; i < a_n || j < b_n; i++, j++) {
        hunk h = {i, 0, j, 0};
        while (i < a_n && a[i]) i++;
        while (j < b_n && b[j]) j++;
        h.a_n = i - h.a;
        h.b_n = j - h.b;
        if (!h.a_n && !h.b_n) continue;
        if (out->n == out->cap) out->at = tool_realloc(t, out->at, (out->cap = out->cap ? out->cap * 2 : 16) * sizeof *out->at);
        out->at[out->n++] = h;
    }
}

void compare_lines(tool *t, const int *a, size_t a_n, const int *b, size_t b_n, size_t horizon, hunk_list *out) {
    size_t front = 0, back = 0, least = a_n < b_n ? a_n : b_n;
    while (front < least && a[front] == b[front]) front++;
    while (back < least - front && a[a_n - 1 - back] == b[b_n - 1 - back]) back++;
    front -= horizon < front ? horizon : front;
    back -= horizon < back ? horizon : back;
    long n = (long)(a_n - front - back), m = (long)(b_n - front - back);
    unsigned char *marks[2] = {(unsigned char *)tool_alloc(t, a_n + 2) + 1, (unsigned char *)tool_alloc(t, b_n + 2) + 1};
    int most = 0, *counts[2];
    for (size_t i = 0; i < a_n; i++) if (a[i] > most) most = a[i];
    for (size_t i = 0; i < b_n; i++) if (b[i] > most) most = b[i];
    for (int k = 0; k < 2; k++) counts[k] = tool_alloc(t, ((size_t)most + 1) * sizeof **counts);
    for (long i = 0; i < n; i++) counts[0][a[front + (size_t)i]]++;
    for (long i = 0; i < m; i++) counts[1][b[front + (size_t)i]]++;
    search s = {.t = t};
    s.a = places(t, a, (long)front, n, counts[1], marks[0]);
    s.b = places(t, b, (long)front, m, counts[0], marks[1]);
    size_t diagonals = (size_t)(s.a.n + s.b.n) + 3;
    long root = 1;
    for (size_t d = diagonals; d; d >>= 2) root <<= 1;
    s.costly = root > 4096 ? root : 4096;
    long *f = tool_alloc(t, diagonals * sizeof *f), *r = tool_alloc(t, diagonals * sizeof *r);
    s.forward = f + s.b.n + 1;
    s.backward = r + s.b.n + 1;
    solve(&s);
    slide(a + front, marks[0] + front, n, marks[1] + front);
    slide(b + front, marks[1] + front, m, marks[0] + front);
    gather(t, marks[0], a_n, marks[1], b_n, out);
    tool_free(t, f);
    tool_free(t, r);
}
