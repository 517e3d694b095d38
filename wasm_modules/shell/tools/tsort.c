/* tsort.c - names in an order that all pairs of the input agree with. */
#include "buffer.h"
#include "inputs.h"
#include <string.h>

typedef struct { span name; int before, done; int *after, after_n, after_cap; } task;

/* The names of a loop that task first is in, each followed by one that must come after it. */
static void tell_loop(tool *t, const task *tasks, int n, int first) {
    int at = first;
    for (int steps = 0; steps <= n; steps++) {
        tool_fail(t, 1, "%.*s", (int)tasks[at].name.n, tasks[at].name.p);
        int next = -1;
        for (int i = 0; i < tasks[at].after_n && next < 0; i++) if (!tasks[tasks[at].after[i]].done) next = tasks[at].after[i];
        if (next < 0 || next == first) return;
        at = next;
    }
}

int tool_tsort(tool *t, int argc, char **argv) {
    int status = 0, n = 0, cap = 0, left = -1, queue_at = 0, queue_n = 0;
    tool_opts o;
    tool_opts_start(&o, argc, argv);
    if (tool_opts_next(t, &o, "", NULL) != -1) return 1;
    if (o.index + 1 < argc) { tool_fail(t, 1, "extra operand %s", tool_cite(t, argv[o.index + 1])); return tool_usage(t, 1); }
    const char *name = o.index < argc ? argv[o.index] : "-";
    io *from = input_open(t, name, 1, &status);
    if (!from) return 1;
    buffer b = {.t = t};
    buffer_read_all(&b, from);
    io_unref(from);
    task *tasks = NULL;
    for (size_t i = 0; i < b.n;) {
        while (i < b.n && strchr(" \t\n", b.p[i])) i++;
        size_t start = i;
        while (i < b.n && !strchr(" \t\n", b.p[i])) i++;
        if (i == start) break;
        span name = {b.p + start, i - start};
        int k = 0;
        while (k < n && span_compare(tasks[k].name, name)) k++;
        if (k == n) {
            if (n == cap) tasks = tool_realloc(t, tasks, (size_t)(cap = cap ? cap * 2 : 32) * sizeof *tasks);
            memset(&tasks[n], 0, sizeof *tasks);
            tasks[n++].name = name;
        }
        if (left < 0) { left = k; continue; }
        if (left != k) {
            task *l = &tasks[left];
            if (l->after_n == l->after_cap)
                l->after
                    = tool_realloc(t, l->after, (size_t)(l->after_cap = l->after_cap ? l->after_cap * 2 : 4) * sizeof *l->after);
            l->after[l->after_n++] = k;
            tasks[k].before++;
        }
        left = -1;
    }
    if (left >= 0) return tool_fail(t, 1, "%s: input contains an odd number of tokens", name);
    int *queue = tool_alloc(t, ((size_t)n + 1) * sizeof *queue);
    int *order = tool_alloc(t, ((size_t)n + 1) * sizeof *order);
    for (int i = 0; i < n; i++) order[i] = i;
    /* GNU starts from names in byte order */
    for (int i = 1; i < n; i++) {
        int x = order[i], j = i;
        for (; j > 0 && span_compare(tasks[order[j - 1]].name, tasks[x].name) > 0; j--) order[j] = order[j - 1];
        order[j] = x;
    }
    for (int i = 0; i < n; i++) if (!tasks[order[i]].before) queue[queue_n++] = order[i];
    for (int printed = 0; printed < n;) {
        if (queue_at == queue_n) {
            status = tool_fail(t, 1, "%s: input contains a loop:", name);
            int k = 0;
            while (k < n && (tasks[order[k]].done || !tasks[order[k]].before)) k++;
            if (k == n) break;
            tell_loop(t, tasks, n, order[k]);
            tasks[order[k]].before = 0;
            queue[queue_n++] = order[k];
            continue;
        }
        task *k = &tasks[queue[queue_at++]];
        if (k->done) continue;
        k->done = 1;
        printed++;
        if (io_write(t->out, k->name.p, k->name.n) < 0 || io_putc(t->out, '\n') < 0) return 1;
        for (int i = k->after_n - 1; i >= 0; i--)
            if (tasks[k->after[i]].before > 0 && !--tasks[k->after[i]].before && queue_n < n) queue[queue_n++] = k->after[i];
    }
    return status;
}
