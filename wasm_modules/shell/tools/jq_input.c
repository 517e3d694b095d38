/* jq_input.c - where jq's inputs come from: files of JSON or of lines, one by one, slurped, or as --stream's events. */
#include "jq.h"
#include <errno.h>
#include <string.h>

enum { SLURPED = 2 };

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
        if (!q->raw_input && !q->slurp) q->text.n = 0;
        buffer_read_all(&q->text, from);
        io_unref(from);
        int seq = q->reader.seq, keep = q->reader.keep;
        json_reader_start(&q->reader, &q->C, q->text.p, q->text.n);
        q->reader.seq = seq;
        q->reader.keep = keep;
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
        if (!open_next(q)) {
            q->exhausted = q->text.n && !strchr("]}\"\n\r\t ", q->text.p[q->text.n - 1]);
            q->reading = *more = 0;
            return jv_of(J_INVALID);
        }
        q->reading = 1;
    }
}

static jv next_raw(jq *q, int *more) {
    if (!q->reading) { while (open_next(q)) {} q->reading = 1; q->raw_at = 0; }
    if (q->slurp) {
        *more = q->reading == 1;
        q->reading = SLURPED;
        return *more ? jv_text(&q->C, q->text.p ? q->text.p : "", q->text.n) : jv_of(J_INVALID);
    }
    *more = q->raw_at < q->text.n;
    if (!*more) return jv_of(J_INVALID);
    const char *line = q->text.p + q->raw_at, *end = memchr(line, '\n', q->text.n - q->raw_at);
    size_t n = end ? (size_t)(end - line) : q->text.n - q->raw_at;
    q->raw_at += n + 1;
    return jv_text(&q->C, line, n);
}

static jv event(jctx *C, jv path, jv v) { return jv_push(C, jv_push(C, jv_array(C, 2), jv_copy(path)), v); }

static jv key_at(jv container, uint32_t i) {
    if (container.kind == J_ARRAY) return jv_num(i);
    jv key = jv_of(J_STRING);
    key.s = container.o->at[i].key;
    return jv_copy(key);
}

static uint32_t members(jv v) { return v.kind == J_ARRAY ? v.a->n : v.kind == J_OBJECT ? v.o->n : 0; }
static jv member(jv v, uint32_t i) { return v.kind == J_ARRAY ? v.a->at[i] : v.o->at[i].value; }

/* The events of --stream for one value, as jq's tostream gives them. */
static jv stream_events(jq *q, jv events, jv v, jv path) {
    jctx *C = &q->C;
    uint32_t n = members(v);
    if (!n || tool_too_deep(q->t)) return jv_push(C, events, event(C, path, jv_copy(v)));
    jv last = jv_null();
    for (uint32_t i = 0; i < n; i++) {
        jv inner = jv_push(C, jv_copy(path), key_at(v, i));
        events = stream_events(q, events, member(v, i), inner);
        jv_drop(C, last);
        last = inner;
    }
    return jv_push(C, events, jv_push(C, jv_array(C, 1), last));
}

/* The events of a value that breaks off: those of every member that was closed or followed by a comma. *path becomes the place
 * where it breaks off. */
static jv partial_events(jq *q, jv *path) {
    jctx *C = &q->C;
    json_reader *r = &q->reader;
    jv events = jv_array(C, 0);
    for (int level = 0; level < r->depth; level++) {
        jv open = r->stack[level];
        int innermost = level == r->depth - 1;
        uint32_t n = members(open), whole = n;
        if (innermost && r->loose && n && !members(member(open, n - 1))) whole--;
        for (uint32_t i = 0; i < whole; i++) {
            jv inner = jv_push(C, jv_copy(*path), key_at(open, i));
            events = stream_events(q, events, member(open, i), inner);
            jv_drop(C, inner);
        }
        if (whole < n) *path = jv_push(C, *path, key_at(open, whole));
        else if (open.kind == J_ARRAY) *path = jv_push(C, *path, jv_num(n));
        else *path = jv_push(C, *path, r->keys[level].kind == J_STRING ? jv_copy(r->keys[level]) : jv_null());
    }
    json_reader_abandon(r);
    return events;
}

/* Makes the events of the next value pending. 0 at the end of all inputs. */
static int stream_more(jq *q) {
    jctx *C = &q->C;
    int more;
    q->reader.keep = 1;
    jv v = next_json(q, &more);
    jv path = jv_array(C, 0);
    jv_drop(C, q->pending);
    q->pending = jv_null();
    q->raw_at = 0;
    if (v.kind != J_INVALID) {
        q->pending = stream_events(q, jv_array(C, 0), v, path);
        jv_drop(C, v);
    } else if (more) {
        q->pending = partial_events(q, &path);
        q->stream_fault = q->error;
        q->error = jv_null();
        if (q->stream_errors) {
            q->pending = jv_push(C, q->pending, jv_push(C, jv_push(C, jv_array(C, 2), q->stream_fault), jv_copy(path)));
            q->stream_fault = jv_null();
        }
    }
    jv_drop(C, path);
    return more;
}

static jv next_event(jq *q, int *more) {
    for (;;) {
        *more = 1;
        if (q->pending.kind == J_ARRAY && q->raw_at < q->pending.a->n) return jv_copy(q->pending.a->at[q->raw_at++]);
        if (q->stream_fault.kind != J_NULL) {
            jv fault = q->stream_fault;
            q->stream_fault = jv_null();
            return jq_error(q, fault);
        }
        if (!stream_more(q)) { *more = 0; return jv_of(J_INVALID); }
    }
}

static jv next_value(jq *q, int *more) { return q->stream ? next_event(q, more) : next_json(q, more); }

jv jq_input(jq *q, int *more) {
    if (q->raw_input) return next_raw(q, more);
    if (!q->slurp) return next_value(q, more);
    *more = q->reading != SLURPED;
    if (!*more) return jv_of(J_INVALID);
    while (open_next(q)) {}
    q->reading = 1;
    jv all = jv_array(&q->C, 0);
    for (jv v; (v = next_value(q, more)).kind != J_INVALID;) all = jv_push(&q->C, all, v);
    q->reading = SLURPED;
    if (!*more) { *more = 1; return all; }
    jv_drop(&q->C, all);
    return jv_of(J_INVALID);
}

int jq_input_line(jq *q) {
    int line = 0;
    const char *p = q->reader.begin, *end = q->reader.end;
    if (q->raw_input && !q->slurp) for (size_t i = 0; i < q->raw_at && i < q->text.n; i++) line += q->text.p[i] == '\n';
    else for (; p && p < end && (p < q->reader.p || p[-1] != '\n'); p++) line += *p == '\n';
    return line;
}
