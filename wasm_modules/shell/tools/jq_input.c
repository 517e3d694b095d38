/* jq_input.c - where jq's inputs come from: files of JSON or of lines, one by one, slurped, or as --stream's events. */
#include "jq.h"
#include <errno.h>
#include <string.h>

/* Reads the next file into q->text. 0 when there is none. */
static int open_next(jq *q) {
    while (q->next_file < q->file_count || (!q->file_count && !q->next_file)) {
        io *from;
        if (!q->file_count) { from = io_ref(q->t->in); q->next_file = 1; q->file_name = NULL; }
        else {
            const char *path = q->files[q->next_file++];
            from = strcmp(path, "-") ? io_open(path, 0, 0) : io_ref(q->t->in);
            q->file_name = path;
            if (!from) {
                q->input_failed = tool_fail(q->t, 2, "error: Could not open file %s: %s", path, strerror(errno));
                continue;
            }
        }
        size_t kept = 0;
        if (q->raw_input || q->slurp) kept = q->text.n; else q->text.n = 0;
        buffer_read_all(&q->text, from);
        io_unref(from);
        json_reader_start(&q->reader, &q->C, q->text.p, q->text.n);
        (void)kept;
        return 1;
    }
    return 0;
}

static jv next_json(jq *q, int *more) {
    for (;;) {
        if (q->reading) {
            jv v = json_next(&q->reader);
            if (v.kind != J_INVALID) { *more = 1; return v; }
            if (q->reader.error) {
                *more = 1;
                if (q->input_failed != -2) {
                    q->input_failed = -2;
                    return jq_error(q, json_fault_text(&q->reader));
                }
                *more = 0;
                return jv_of(J_INVALID);
            }
        }
        if (!open_next(q)) { q->reading = 0; *more = 0; return jv_of(J_INVALID); }
        q->reading = 1;
    }
}

static jv next_raw(jq *q, int *more) {
    if (!q->reading) { while (open_next(q)) {} q->reading = 1; q->raw_at = 0; }
    if (q->slurp) {
        *more = q->reading == 1;
        q->reading = 2;
        return *more ? jv_text(&q->C, q->text.p ? q->text.p : "", q->text.n) : jv_of(J_INVALID);
    }
    *more = q->raw_at < q->text.n;
    if (!*more) return jv_of(J_INVALID);
    const char *line = q->text.p + q->raw_at, *end = memchr(line, '\n', q->text.n - q->raw_at);
    size_t n = end ? (size_t)(end - line) : q->text.n - q->raw_at;
    q->raw_at += n + 1;
    return jv_text(&q->C, line, n);
}

/* The events of --stream for one value, as jq's tostream gives them. */
static jv stream_events(jq *q, jv events, jv v, jv path, int top) {
    jctx *C = &q->C;
    uint32_t n = v.kind == J_ARRAY ? v.a->n : v.kind == J_OBJECT ? v.o->n : 0;
    if (!n || tool_too_deep(q->t)) return jv_push(C, events, jv_push(C, jv_push(C, jv_array(C, 2), jv_copy(path)), jv_copy(v)));
    jv last = jv_null();
    for (uint32_t i = 0; i < n; i++) {
        jv key = jv_num(i);
        if (v.kind == J_OBJECT) { key = jv_of(J_STRING); key.s = v.o->at[i].key; jv_copy(key); }
        jv inner = jv_push(C, jv_copy(path), key);
        events = stream_events(q, events, v.kind == J_ARRAY ? v.a->at[i] : v.o->at[i].value, inner, 0);
        jv_drop(C, last);
        last = inner;
    }
    (void)top;
    return jv_push(C, events, jv_push(C, jv_array(C, 1), last));
}

jv jq_input(jq *q, int *more) {
    if (q->raw_input) return next_raw(q, more);
    if (q->slurp) {
        if (q->reading == 2) { *more = 0; return jv_of(J_INVALID); }
        jv all = jv_array(&q->C, 0);
        while (open_next(q)) {}
        json_reader_start(&q->reader, &q->C, q->text.p ? q->text.p : "", q->text.n);
        for (;;) {
            jv v = json_next(&q->reader);
            if (v.kind == J_INVALID) break;
            all = jv_push(&q->C, all, v);
        }
        q->reading = 2;
        *more = 1;
        if (!q->reader.error) return all;
        jv_drop(&q->C, all);
        q->input_failed = -2;
        return jq_error(q, json_fault_text(&q->reader));
    }
    if (q->stream) {
        if (q->pending.kind == J_ARRAY && q->raw_at < q->pending.a->n) {
            *more = 1;
            return jv_copy(q->pending.a->at[q->raw_at++]);
        }
        jv v = next_json(q, more);
        if (v.kind == J_INVALID) return v;
        jv path = jv_array(&q->C, 0);
        jv_drop(&q->C, q->pending);
        q->pending = stream_events(q, jv_array(&q->C, 0), v, path, 1);
        jv_drop(&q->C, path);
        jv_drop(&q->C, v);
        q->raw_at = 1;
        return jv_copy(q->pending.a->at[0]);
    }
    return next_json(q, more);
}
