/* zip_archive.c - see zip.h. THREAT: archives come from anywhere; every offset and length is checked against the bytes there are.
 */
#include "zip.h"
#include "deflate.h"
#include "hash.h"
#include "patterns.h"
#include <string.h>

enum { LOCAL_BYTES = 30, CENTRAL_BYTES = 46, END_BYTES = 22, MADE_ON_UNIX = 3 };

void zip_add(tool *t, zip_list *list, zip_entry e) {
    if (list->n == list->cap) {
        list->cap = list->cap ? list->cap * 2 : 16;
        list->at = tool_realloc(t, list->at, list->cap * sizeof *list->at);
    }
    list->at[list->n++] = e;
}

static unsigned get16(const char *p) { return (unsigned char)p[0] | (unsigned)(unsigned char)p[1] << 8; }
static unsigned get32(const char *p) { return get16(p) | get16(p + 2) << 16; }

int zip_read(tool *t, const buffer *archive, zip_list *list) {
    const char *p = archive->p;
    size_t n = archive->n, end = n;
    if (n < END_BYTES) return -1;
    for (end = n - END_BYTES; memcmp(p + end, "PK\5\6", 4); end--) if (!end || n - end > 65557) return -1;
    size_t count = get16(p + end + 10), at = get32(p + end + 16);
    for (size_t i = 0; i < count; i++) {
        if (at > n || n - at < CENTRAL_BYTES || memcmp(p + at, "PK\1\2", 4)) return -1;
        const char *c = p + at;
        size_t name = get16(c + 28), more = (size_t)get16(c + 30) + get16(c + 32), local = get32(c + 42), packed = get32(c + 20);
        if (n - at - CENTRAL_BYTES < name + more || local > n || n - local < LOCAL_BYTES || memcmp(p + local, "PK\3\4", 4))
            return -1;
        size_t data = local + LOCAL_BYTES + get16(p + local + 26) + get16(p + local + 28);
        if (data > n || n - data < packed) return -1;
        zip_add(t, list,
            (zip_entry){.name = tool_strndup(t, c + CENTRAL_BYTES, name),
                .method = get16(c + 10),
                .time = get16(c + 12),
                .date = get16(c + 14),
                .crc = get32(c + 16),
                .packed = packed,
                .size = get32(c + 24),
                .mode = (unsigned char)c[5] == MADE_ON_UNIX ? get32(c + 38) >> 16 : 0,
                .data = p + data});
        at += CENTRAL_BYTES + name + more;
    }
    return 0;
}

static void put16(buffer *b, unsigned v) { buffer_putc(b, (int)(v & 255)); buffer_putc(b, (int)(v >> 8 & 255)); }
static void put32(buffer *b, size_t v) { put16(b, (unsigned)(v & 65535)); put16(b, (unsigned)(v >> 16 & 65535)); }

/* What the local header and the central directory have in common. */
static void put_common(buffer *b, const zip_entry *e) {
    put16(b, e->method == ZIP_DEFLATED || e->name[strlen(e->name) - 1] == '/' ? 20 : 10);
    put16(b, 0);
    put16(b, e->method);
    put16(b, e->time);
    put16(b, e->date);
    put32(b, e->crc);
    put32(b, e->packed);
    put32(b, e->size);
    put16(b, (unsigned)strlen(e->name));
    put16(b, 0);
}

void zip_write(buffer *archive, const zip_list *list) {
    buffer central = {.t = archive->t};
    for (size_t i = 0; i < list->n; i++) {
        const zip_entry *e = &list->at[i];
        size_t local = archive->n;
        buffer_puts(archive, "PK\3\4");
        put_common(archive, e);
        buffer_puts(archive, e->name);
        buffer_add(archive, e->data, e->packed);
        buffer_puts(&central, "PK\1\2");
        put16(&central, 30 | MADE_ON_UNIX << 8);
        put_common(&central, e);
        put16(&central, 0);
        put16(&central, 0);
        put16(&central, 0);
        put32(&central, (size_t)e->mode << 16);
        put32(&central, local);
        buffer_puts(&central, e->name);
    }
    size_t start = archive->n;
    buffer_add(archive, central.p ? central.p : "", central.n);
    buffer_puts(archive, "PK\5\6");
    put32(archive, 0);
    put16(archive, (unsigned)list->n);
    put16(archive, (unsigned)list->n);
    put32(archive, central.n);
    put32(archive, start);
    put16(archive, 0);
}

int zip_unpack(const zip_entry *e, buffer *to) {
    size_t used, start = to->n;
    if (e->method == ZIP_STORED) buffer_add(to, e->data, e->packed);
    else if (e->method != ZIP_DEFLATED || inflate_bytes((const unsigned char *)e->data, e->packed, &used, to) < 0) return -1;
    return to->n - start == e->size && crc32_update(0, to->p ? to->p + start : "", to->n - start) == e->crc ? 0 : -1;
}

int zip_percent(size_t packed, size_t size) {
    if (!size) return 0;
    long long saved = (long long)size - (long long)packed, tenths = 200 * saved / (long long)size;
    return (int)((tenths + (tenths >= 0 ? 1 : -1)) / 2);
}

int zip_chosen(char **patterns, int n, const char *name) {
    for (int i = 0; i < n; i++) if (glob_matches(patterns[i], name, 0, 0)) return 1;
    return 0;
}
