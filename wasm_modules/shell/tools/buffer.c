/* buffer.c - see buffer.h. */
#include "buffer.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buffer_reserve(buffer *b, size_t more) {
    if (b->cap - b->n > more) return;
    size_t cap = b->cap < 64 ? 64 : b->cap;
    while (cap - b->n <= more) {
        if (cap > (size_t)-1 / 2) tool_oom();
        cap *= 2;
    }
    b->p = tool_realloc(b->t, b->p, cap);
    b->cap = cap;
}

void buffer_add(buffer *b, const void *from, size_t n) {
    buffer_reserve(b, n);
    if (n) memcpy(b->p + b->n, from, n);
    b->n += n;
    b->p[b->n] = '\0';
}

void buffer_puts(buffer *b, const char *text) { buffer_add(b, text, strlen(text)); }

void buffer_putc(buffer *b, int c) {
    buffer_reserve(b, 1);
    b->p[b->n++] = (char)c;
    b->p[b->n] = '\0';
}

void buffer_printf(buffer *b, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    if (n > 0) {
        buffer_reserve(b, (size_t)n);
        vsnprintf(b->p + b->n, (size_t)n + 1, format, again);
        b->n += (size_t)n;
    }
    va_end(again);
    va_end(args);
}

void buffer_free(buffer *b) {
    tool_free(b->t, b->p);
    b->p = NULL;
    b->n = b->cap = 0;
}

int buffer_read_all(buffer *b, io *from) { return buffer_read_upto(b, from, SIZE_MAX); }

int buffer_read_upto(buffer *b, io *from, size_t most) {
    ssize_t got = 1;
    do {
        buffer_reserve(b, 65536);
        size_t room = b->cap - b->n - 1, left = most - b->n;
        if (left) got = io_read(from, b->p + b->n, room < left ? room : left);
        if (left && got > 0) b->n += (size_t)got;
        b->p[b->n] = '\0';
    } while (got > 0 && b->n < most);
    return got < 0 ? -1 : 0;
}

void span_add(tool *t, span_list *list, char *p, size_t n) {
    if (list->n == list->cap) {
        list->cap = list->cap ? list->cap * 2 : 64;
        list->at = tool_realloc(t, list->at, list->cap * sizeof *list->at);
    }
    list->at[list->n++] = (span){p, n};
}

void span_split(tool *t, span_list *list, char *text, size_t n, int delim) {
    char *end = text + n;
    while (text < end) {
        char *stop = memchr(text, delim, (size_t)(end - text));
        if (!stop) stop = end;
        span_add(t, list, text, (size_t)(stop - text));
        text = stop + 1;
    }
}

int span_compare(span a, span b) {
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n ? memcmp(a.p, b.p, n) : 0;
    return order ? order : a.n < b.n ? -1 : a.n > b.n;
}

int size_parse(const char *text, unsigned long long *value) {
    char *end;
    if (*text < '0' || *text > '9') return -1;
    unsigned long long n = strtoull(text, &end, 10), unit = 1;
    if (*end) {
        static const char scale[] = "KMGTPE";
        char c = *end == 'k' ? 'K' : *end == 'm' ? 'M' : *end;
        const char *at = strchr(scale, c);
        if (c == 'b' && !end[1]) { unit = 512; end++; }
        else if (c == 'w' && !end[1]) { unit = 2; end++; }
        else if (c == 'c' && !end[1]) end++;
        else if (at) {
            unsigned long long base = end[1] == 'B' ? 1000 : 1024;
            for (const char *p = scale; p <= at; p++) unit *= base;
            end += end[1] == 'B' ? 2 : end[1] == 'i' && end[2] == 'B' ? 3 : 1;
        }
        if (*end) return -1;
    }
    if (unit > 1 && n > ~0ull / unit) n = ~0ull; else n *= unit;
    *value = n;
    return 0;
}
