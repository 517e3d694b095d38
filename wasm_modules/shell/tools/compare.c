/* compare.c - the shortest edit script by Myers' algorithm, linear space, with a cost limit so that very different files stay affordable. */
#include "compare.h"
#include <string.h>

typedef struct { tool *t; const int *a, *b; unsigned char *a_gone, *b_new; long *forward, *backward; long limit; } search;

/* The middle snake of a[a0..a1) and b[b0..b1): a point every shortest script passes. */
static void middle(search *s, long a0, long a1, long b0, long b1, long *am, long *bm) {
    long n = a1 - a0, m = b1 - b0, delta = n - m, odd = delta & 1, most = (n + m + 1) / 2 + 1;
    long *f = s->forward, *r = s->backward;
    f[1] = 0;
    r[1] = 0;
    long best = -1, best_a = a0, best_b = b0;
    for (long d = 0; d <= most; d++) {
        for (long k = -d; k <= d; k += 2) {
            long x = k == -d || (k != d && f[k - 1] < f[k + 1]) ? f[k + 1] : f[k - 1] + 1, y = x - k;
            while (x < n && y < m && x >= 0 && y >= 0 && s->a[a0 + x] == s->b[b0 + y]) { x++; y++; }
            f[k] = x;
            if (x <= n && y <= m && y >= 0 && x + y > best) { best = x + y; best_a = a0 + x; best_b = b0 + y; }
            if (odd && k >= delta - (d - 1) && k <= delta + (d - 1) && f[k] + r[delta - k] >= n) { *am = a0 + x; *bm = b0 + y; return; }
        }
        for (long k = -d; k <= d; k += 2) {
            long x = k == -d || (k != d && r[k - 1] < r[k + 1]) ? r[k + 1] : r[k - 1] + 1, y = x - k;
            while (x < n && y < m && x >= 0 && y >= 0 && s->a[a1 - x - 1] == s->b[b1 - y - 1]) { x++; y++; }
            r[k] = x;
            if (!odd && k >= -d + delta - 2 * d * 0 && delta - k >= -d && delta - k <= d && f[delta - k] + r[k] >= n) { *am = a1 - x; *bm = b1 - y; return; }
        }
        if (d > s->limit) break;
    }
    /* too different: go on from the furthest point reached */
    *am = best_a;
    *bm = best_b;
    if ((*am == a0 && *bm == b0) || (*am == a1 && *bm == b1)) { *am = a0 + n / 2; *bm = b0 + m / 2; }
}

static void solve(search *s, long a0, long a1, long b0, long b1, int depth) {
    while (a0 < a1 && b0 < b1 && s->a[a0] == s->b[b0]) { a0++; b0++; }
    while (a0 < a1 && b0 < b1 && s->a[a1 - 1] == s->b[b1 - 1]) { a1--; b1--; }
    if (a0 == a1) { while (b0 < b1) s->b_new[b0++] = 1; return; }
    if (b0 == b1) { while (a0 < a1) s->a_gone[a0++] = 1; return; }
    long am, bm;
    if (depth > 200) { while (b0 < b1) s->b_new[b0++] = 1; while (a0 < a1) s->a_gone[a0++] = 1; return; }
    middle(s, a0, a1, b0, b1, &am, &bm);
    if (am < a0 || am > a1 || bm < b0 || bm > b1 || (am == a0 && bm == b0) || (am == a1 && bm == b1)) { while (b0 < b1) s->b_new[b0++] = 1; while (a0 < a1) s->a_gone[a0++] = 1; return; }
    solve(s, a0, am, b0, bm, depth + 1);
    solve(s, am, a1, bm, b1, depth + 1);
}

/* Slides a run of changes down as far as it goes, so that it ends where people expect; like GNU diff. */
static void slide(const int *v, unsigned char *flag, size_t n) {
    for (size_t i = 0; i < n;) {
        if (!flag[i]) { i++; continue; }
        size_t end = i;
        while (end < n && flag[end]) end++;
        size_t start = i;
        while (end < n && v[start] == v[end]) {
            flag[start++] = 0;
            flag[end++] = 1;
            while (end < n && flag[end]) end++;
        }
        i = end;
    }
}

void compare_lines(tool *t, const int *a, size_t a_n, const int *b, size_t b_n, hunk_list *out) {
    size_t diagonals = 2 * (a_n + b_n) + 8;
    search s = {.t = t, .a = a, .b = b, .a_gone = tool_alloc(t, a_n + 1), .b_new = tool_alloc(t, b_n + 1), .limit = 4000};
    long *f = tool_alloc(t, diagonals * sizeof *f), *r = tool_alloc(t, diagonals * sizeof *r);
    s.forward = f + a_n + b_n + 3;
    s.backward = r + a_n + b_n + 3;
    solve(&s, 0, (long)a_n, 0, (long)b_n, 0);
    slide(a, s.a_gone, a_n);
    slide(b, s.b_new, b_n);
    size_t i = 0, j = 0;
    while (i < a_n || j < b_n) {
        if (i < a_n && j < b_n && !s.a_gone[i] && !s.b_new[j]) { i++; j++; continue; }
        hunk h = {i, 0, j, 0};
        while (i < a_n && s.a_gone[i]) i++;
        while (j < b_n && s.b_new[j]) j++;
        h.a_n = i - h.a;
        h.b_n = j - h.b;
        if (!h.a_n && !h.b_n) break;
        if (out->n == out->cap) out->at = tool_realloc(t, out->at, (out->cap = out->cap ? out->cap * 2 : 16) * sizeof *out->at);
        out->at[out->n++] = h;
    }
    tool_free(t, f);
    tool_free(t, r);
}
