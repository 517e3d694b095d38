/* dd.c - dd: copy with blocks, offsets and conversions.
 *
 * Rules: input is taken block by block, converted, and written as it comes; the sizes of output blocks count in the report only.
 * Nothing is measured: the report gives no speed.
 */
#include "buffer.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    NO_TRUNC = 1, APPEND = 2, SYNC = 4, UPPER = 8, LOWER = 16, SWAP = 32, BLOCK = 64, UNBLOCK = 128, COUNT_BYTES = 256,
    SKIP_BYTES = 512, SEEK_BYTES = 1024, EXCL = 2048, NO_CREATE = 4096
};
typedef struct { const char *name; int bit; } flag;
static const flag conversions[] = {{"notrunc", NO_TRUNC}, {"sync", SYNC}, {"ucase", UPPER}, {"lcase", LOWER}, {"swab", SWAP},
    {"block", BLOCK}, {"unblock", UNBLOCK}, {"excl", EXCL}, {"nocreat", NO_CREATE}, {"noerror", 0}, {"fsync", 0},
    {"fdatasync", 0}, {"sparse", 0}, {NULL, 0}};
static const flag in_flags[] = {{"count_bytes", COUNT_BYTES}, {"skip_bytes", SKIP_BYTES}, {"fullblock", 0}, {"direct", 0},
    {"directory", 0}, {"dsync", 0}, {"sync", 0}, {"nonblock", 0}, {"noatime", 0}, {"nocache", 0}, {"noctty", 0},
    {"nofollow", 0}, {"binary", 0}, {"text", 0}, {NULL, 0}};
static const flag out_flags[] = {{"append", APPEND}, {"seek_bytes", SEEK_BYTES}, {"direct", 0}, {"directory", 0}, {"dsync", 0},
    {"sync", 0}, {"nonblock", 0}, {"noatime", 0}, {"nocache", 0}, {"noctty", 0}, {"nofollow", 0}, {NULL, 0}};

typedef struct {
    tool *t;
    const char *in, *out;
    unsigned long long in_size, out_size, record, count, skip, seek;
    int flags, quiet;
    unsigned long long column, spaces, full, part, cut, total;
    buffer made;
} dd_state;

static int refuse(dd_state *s, const char *what, const char *word) {
    tool_fail(s->t, 1, "%s %s", what, tool_cite(s->t, word));
    return tool_usage(s->t, 1);
}

static int take_flags(dd_state *s, const char *value, const flag *known, const char *what) {
    for (const char *p = value;; p++) {
        size_t n = strcspn(p, ",");
        const flag *f = known;
        while (f->name && (strlen(f->name) != n || strncmp(f->name, p, n))) f++;
        if (!f->name) return refuse(s, what, tool_strndup(s->t, p, n));
        s->flags |= f->bit;
        if (!*(p += n)) return 0;
    }
}

static int take_number(dd_state *s, const char *value, unsigned long long *to) {
    const char *x = strchr(value, 'x');
    unsigned long long a, b = 1;
    int by = x && x > value;
    if (!*value || strchr(value, 'm') || size_parse(by ? tool_strndup(s->t, value, (size_t)(x - value)) : value, &a) < 0
        || (by && size_parse(x + 1, &b) < 0))
        return tool_fail(s->t, 1, "invalid number: %s", tool_cite(s->t, value));
    *to = a * b;
    return 0;
}

static int take_size(dd_state *s, const char *value, unsigned long long *to) {
    if (take_number(s, value, to)) return 1;
    return *to ? 0 : tool_fail(s->t, 1, "invalid number: %s", tool_cite(s->t, value));
}

static int take_operand(dd_state *s, char *arg) {
    char *eq = strchr(arg, '=');
    if (!eq) return refuse(s, "unrecognized operand", arg);
    char *name = tool_strndup(s->t, arg, (size_t)(eq - arg));
    const char *value = eq + 1;
    if (!strcmp(name, "if")) { s->in = value; return 0; }
    if (!strcmp(name, "of")) { s->out = value; return 0; }
    if (!strcmp(name, "status")) {
        s->quiet = !strcmp(value, "none") ? 1 : !strcmp(value, "noxfer") ? 2 : 0;
        return s->quiet || !strcmp(value, "progress") ? 0 : refuse(s, "invalid status level:", value);
    }
    if (!strcmp(name, "conv")) return take_flags(s, value, conversions, "invalid conversion:");
    if (!strcmp(name, "iflag")) return take_flags(s, value, in_flags, "invalid input flag:");
    if (!strcmp(name, "oflag")) return take_flags(s, value, out_flags, "invalid output flag:");
    if (!strcmp(name, "bs")) { int bad = take_size(s, value, &s->in_size); s->out_size = s->in_size; return bad; }
    if (!strcmp(name, "ibs")) return take_size(s, value, &s->in_size);
    if (!strcmp(name, "obs")) return take_size(s, value, &s->out_size);
    if (!strcmp(name, "cbs")) return take_size(s, value, &s->record);
    if (!strcmp(name, "count")) return take_number(s, value, &s->count);
    if (!strcmp(name, "skip") || !strcmp(name, "iseek")) return take_number(s, value, &s->skip);
    if (!strcmp(name, "seek") || !strcmp(name, "oseek")) return take_number(s, value, &s->seek);
    return refuse(s, "unrecognized operand", arg);
}

static int check(dd_state *s) {
    if ((s->flags & UPPER) && (s->flags & LOWER)) return tool_fail(s->t, 1, "cannot combine lcase and ucase");
    if ((s->flags & BLOCK) && (s->flags & UNBLOCK)) return tool_fail(s->t, 1, "cannot combine block and unblock");
    if ((s->flags & EXCL) && (s->flags & NO_CREATE)) return tool_fail(s->t, 1, "cannot combine excl and nocreat");
    if (!s->record) s->flags &= ~(BLOCK | UNBLOCK);
    if (s->in_size > 64u << 20) return tool_fail(s->t, 1, "memory exhausted by input buffer of size %llu bytes", s->in_size);
    return 0;
}

static void put_spaces(dd_state *s, unsigned long long n) { while (n--) buffer_putc(&s->made, ' '); }

/* Lines become records of one length: padded with spaces, or cut. */
static void add_to_record(dd_state *s, char c) {
    if (c == '\n') {
        if (s->column < s->record) put_spaces(s, s->record - s->column);
        s->column = 0;
        return;
    }
    if (s->column == s->record) s->cut++;
    if (s->column < s->record) buffer_putc(&s->made, c);
    s->column++;
}

/* Records of one length become lines, without the spaces that end them. */
static void add_to_line(dd_state *s, char c) {
    if (s->column == s->record) { buffer_putc(&s->made, '\n'); s->column = 0; s->spaces = 0; }
    s->column++;
    if (c == ' ') { s->spaces++; return; }
    put_spaces(s, s->spaces);
    s->spaces = 0;
    buffer_putc(&s->made, c);
}

static void convert(dd_state *s, char *block, size_t n) {
    for (size_t i = 0; i < n && (s->flags & (UPPER | LOWER)); i++) {
        char c = block[i];
        if ((s->flags & UPPER) && c >= 'a' && c <= 'z') block[i] = (char)(c - 32);
        if ((s->flags & LOWER) && c >= 'A' && c <= 'Z') block[i] = (char)(c + 32);
    }
    for (size_t i = 0; (s->flags & SWAP) && i + 1 < n; i += 2) { char c = block[i]; block[i] = block[i + 1]; block[i + 1] = c; }
    s->made.n = 0;
    if (s->flags & BLOCK) for (size_t i = 0; i < n; i++) add_to_record(s, block[i]);
    else if (s->flags & UNBLOCK) for (size_t i = 0; i < n; i++) add_to_line(s, block[i]);
    else buffer_add(&s->made, block, n);
}

/* What is left of the last line or record. */
static void finish(dd_state *s) {
    s->made.n = 0;
    if (!s->column) return;
    if (s->flags & BLOCK) add_to_record(s, '\n');
    else if (s->flags & UNBLOCK) buffer_putc(&s->made, '\n');
}

static int put(dd_state *s, io *to) {
    s->total += s->made.n;
    if (!s->made.n || io_write(to, s->made.p, s->made.n) >= 0) return 0;
    return s->out ? tool_fail_errno(s->t, 1, "error writing %s", tool_quote(s->t, s->out)) : 1;
}

static int copy(dd_state *s, io *from, io *to) {
    char *block = tool_alloc(s->t, (size_t)s->in_size);
    int by_bytes = s->flags & COUNT_BYTES;
    unsigned long long left = by_bytes ? s->count : ~0ull;
    for (unsigned long long k = 0; by_bytes ? left > 0 : k < s->count; k++) {
        size_t want = s->in_size < left ? (size_t)s->in_size : (size_t)left, n = 0;
        while (n < want) { ssize_t got = io_read(from, block + n, want - n); if (got <= 0) break; n += (size_t)got; }
        if (!n) break;
        if (left != ~0ull) left -= n;
        if (n == s->in_size) s->full++; else s->part++;
        if ((s->flags & SYNC) && n < s->in_size) {
            memset(block + n, s->flags & (BLOCK | UNBLOCK) ? ' ' : 0, (size_t)s->in_size - n);
            n = (size_t)s->in_size;
        }
        convert(s, block, n);
        if (put(s, to)) return 1;
    }
    finish(s);
    return put(s, to);
}

static void report(const dd_state *s) {
    int same = s->in_size == s->out_size && !(s->flags & (BLOCK | UNBLOCK | SYNC));
    io_printf(s->t->err, "%llu+%llu records in\n%llu+%llu records out\n", s->full, s->part, same ? s->full : s->total / s->out_size,
        same ? s->part : (unsigned long long)(s->total % s->out_size > 0));
    if (s->cut) io_printf(s->t->err, "%llu truncated record%s\n", s->cut, s->cut == 1 ? "" : "s");
    if (s->quiet != 2) io_printf(s->t->err, "%llu byte%s copied, 0.000 s, Infinity B/s\n", s->total, s->total == 1 ? "" : "s");
}

static io *open_output(dd_state *s) {
    if (!s->out) return io_ref(s->t->out);
    int keep = (s->flags & NO_TRUNC) || s->seek;
    return io_open(s->out,
        O_WRONLY | (s->flags & NO_CREATE ? 0 : O_CREAT) | (s->flags & EXCL ? O_EXCL : 0)
            | (s->flags & APPEND ? O_APPEND : keep ? 0 : O_TRUNC),
        0666);
}

int tool_dd(tool *t, int argc, char **argv) {
    dd_state s = {.t = t, .in_size = 512, .out_size = 512, .count = ~0ull, .made = {.t = t}};
    tool_opts o;
    tool_opts_start(&o, argc, argv);
    if (tool_opts_next(t, &o, "", NULL) != -1) return 1;
    for (int i = o.index; i < argc; i++) if (take_operand(&s, argv[i])) return 1;
    if (check(&s)) return 1;
    io *from = s.in ? io_open(s.in, O_RDONLY, 0) : io_ref(t->in);
    if (!from) return tool_fail_errno(t, 1, "failed to open %s", tool_quote(t, s.in));
    struct stat st;
    if (s.in && path_stat(s.in, &st) == 0 && S_ISDIR(st.st_mode)) {
        io_unref(from);
        tool_fail(t, 1, "error reading %s: Is a directory", tool_quote(t, s.in));
        io_puts(t->err, "0+0 records in\n0+0 records out\n");
        return 1;
    }
    io *to = open_output(&s);
    if (!to) { tool_fail_errno(t, 1, "failed to open %s", tool_quote(t, s.out)); io_unref(from); return 1; }
    unsigned long long skip = s.flags & SKIP_BYTES ? s.skip : s.skip * s.in_size,
                       seek = s.flags & SEEK_BYTES ? s.seek : s.seek * s.out_size;
    if (skip && io_seek(from, (off_t)skip, SEEK_CUR) < 0) for (; skip && io_getc(from) >= 0; skip--) {}
    if (seek && s.out) {
        if (!(s.flags & NO_TRUNC) && truncate(s.out, (off_t)seek) < 0) { /* sizes of devices cannot change */ }
        io_seek(to, (off_t)seek, SEEK_SET);
    }
    int status = copy(&s, from, to);
    io_unref(from);
    io_unref(to);
    if (s.quiet != 1) report(&s);
    return status;
}
