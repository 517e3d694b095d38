/* hexdump_format.c - hexdump -e: units ITERATIONS/BYTES "text with conversions". The strings of several -e all describe the same
 * block of input; within one, units take its bytes in turn. What the input does not fill is shown as blanks. */
#include "hexdump.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int read_escape(const char **p) {
    static const char from[] = "abfnrtv0", to[] = "\a\b\f\n\r\t\v\0";
    const char *at = *++*p ? strchr(from, **p) : NULL;
    return at ? to[at - from] : **p;
}

/* Cuts text into pieces of at most one conversion each, with the text around it. -1 for a conversion there is not. */
static int cut_pieces(tool *t, hex_unit *u, const char *text, size_t n) {
    for (size_t i = 0; i < n || !u->count;) {
        if (u->count == HEX_PIECES) return -1;
        hex_piece *piece = &u->piece[u->count++];
        buffer head = {.t = t}, tail = {.t = t};
        buffer_puts(&head, "");
        buffer_puts(&tail, "");
        while (i < n && (text[i] != '%' || (i + 1 < n && text[i + 1] == '%'))) {
            buffer_putc(&head, text[i]);
            i += text[i] == '%' ? 2 : 1;
        }
        if (i < n) {
            size_t start = i++, flags;
            while (i < n && strchr("-+ #0123456789.", text[i])) i++;
            flags = i - start;
            piece->spec = tool_strndup(t, text + start, flags);
            if (i < n && text[i] == '_') { i++; piece->kind = i < n ? (char)(text[i++] | 128) : 0; }
            else piece->kind = i < n ? text[i++] : 0;
            if (piece->kind == (char)('a' | 128) || piece->kind == (char)('A' | 128)) {
                if (i >= n || !strchr("dox", text[i])) return -1;
                piece->radix = text[i++];
            } else if (!piece->kind || (!strchr("cdiouxXeEfgGs", piece->kind) && !strchr("cpu", piece->kind & 127))) return -1;
            while (i < n && text[i] != '%') buffer_putc(&tail, text[i++]);
        }
        piece->head = head.p;
        piece->tail = tail.p;
        piece->tail_n = tail.n;
    }
    return 0;
}

static size_t default_size(const hex_piece *p) {
    if (!p->kind || p->radix) return 0;
    if (p->kind & 128 || p->kind == 'c') return 1;
    if (strchr("eEfgG", p->kind)) return 8;
    if (p->kind != 's') return 4;
    const char *dot = strchr(p->spec, '.');
    return dot ? strtoul(dot + 1, NULL, 10) : 1;
}

int hex_read(tool *t, const char *p, hex_string *s) {
    for (;;) {
        char *end;
        while (isspace((unsigned char)*p)) p++;
        if (!*p) break;
        if (s->count == HEX_UNITS) return -1;
        hex_unit *u = &s->unit[s->count++];
        memset(u, 0, sizeof *u);
        u->times = strtoul(p, &end, 10);
        u->fixed = end > p;
        if (!u->fixed) u->times = 1;
        p = end + strspn(end, " ");
        size_t size = 0;
        if (*p == '/') { size = strtoul(p + 1, &end, 10); p = end; }
        while (isspace((unsigned char)*p)) p++;
        if (*p++ != '"') return -1;
        buffer b = {.t = t};
        buffer_puts(&b, "");
        for (; *p && *p != '"'; p++) buffer_putc(&b, *p == '\\' && p[1] ? read_escape(&p) : *p);
        if (!*p++) return -1;
        if (cut_pieces(t, u, b.p, b.n) < 0) return -1;
        int conversions = 0;
        for (int i = 0; i < u->count; i++) conversions += default_size(&u->piece[i]) > 0;
        for (int i = 0; i < u->count; i++) {
            hex_piece *piece = &u->piece[i];
            piece->size = default_size(piece);
            if (size && piece->size && conversions == 1) piece->size = size;
            if (piece->size > 8 && piece->kind != 's') return -1;
            u->size += piece->size;
        }
        s->size += u->size * u->times;
    }
    return 0;
}

static void put_ascii(buffer *b, const char *spec, unsigned char c, int names) {
    static const char *const ascii[] = {"nul", "soh", "stx", "etx", "eot", "enq", "ack", "bel", "bs", "ht", "lf", "vt", "ff", "cr",
        "so", "si", "dle", "dc1", "dc2", "dc3", "dc4", "nak", "syn", "etb", "can", "em", "sub", "esc", "fs", "gs", "rs", "us"};
    static const char from[] = "\a\b\f\n\r\t\v", to[] = "abfnrtv";
    const char *at = c ? strchr(from, c) : NULL, *text;
    if (names) text = c < 32 ? ascii[c] : c == 127 ? "del" : c > 127 ? tool_format(b->t, "%02x", c) : tool_format(b->t, "%c", c);
    else if (!c) text = "\\0";
    else if (at) text = tool_format(b->t, "\\%c", to[at - from]);
    else text = tool_format(b->t, isprint(c) && c < 127 ? "%c" : "%03o", c);
    int width = atoi(spec + 1 + strspn(spec + 1, "-+ #0"));
    buffer_printf(b, strchr(spec, '-') ? "%-*s" : "%*s", width, text);
}

static void put_value(buffer *b, const hex_piece *p, const unsigned char *at, unsigned long long address) {
    unsigned long long v = 0;
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wformat-nonliteral\"")
    if (p->radix) { buffer_printf(b, tool_format(b->t, "%sll%c", p->spec, p->radix == 'd' ? 'u' : p->radix), address); return; }
    if (p->kind == (char)('p' | 128)) {
        buffer_printf(b, tool_format(b->t, "%sc", p->spec), isprint(*at) && *at < 127 ? *at : '.');
        return;
    }
    if (p->kind & 128) { put_ascii(b, p->spec, *at, p->kind == (char)('u' | 128)); return; }
    for (size_t i = p->size; i-- > 0 && p->size <= 8;) v = v << 8 | at[i];
    long long s = p->size < 8 && p->size && v >> (p->size * 8 - 1) ? (long long)(v - (1ull << p->size * 8)) : (long long)v;
    switch (p->kind) {
    case 'c': buffer_printf(b, tool_format(b->t, "%sc", p->spec), *at); break;
    case 's': buffer_printf(b, tool_format(b->t, "%ss", p->spec), tool_strndup(b->t, (const char *)at, p->size)); break;
    case 'd': case 'i': buffer_printf(b, tool_format(b->t, "%slld", p->spec), s); break;
    case 'o': case 'u': case 'x': case 'X': buffer_printf(b, tool_format(b->t, "%sll%c", p->spec, p->kind), v); break;
    default: {
        double number = 0;
        float single = 0;
        if (p->size == 4) { memcpy(&single, at, 4); number = (double)single; } else memcpy(&number, at, sizeof number);
        buffer_printf(b, tool_format(b->t, "%s%c", p->spec, p->kind), number);
    }
    }
    _Pragma("GCC diagnostic pop")
}

/* The bytes of one block by one string; bytes from left on are not there. */
static void put_block(
    buffer *b, const hex_string *s, size_t times_more, const unsigned char *p, size_t left, unsigned long long address) {
    size_t at = 0;
    for (int i = 0; i < s->count; i++) {
        const hex_unit *u = &s->unit[i];
        unsigned long times = u->times + (i + 1 == s->count ? times_more : 0);
        for (unsigned long k = 0; k < times; k++)
            for (int n = 0; n < u->count; n++) {
                const hex_piece *piece = &u->piece[n];
                if (piece->kind == (char)('A' | 128)) continue;
                buffer_puts(b, piece->head);
                if (piece->kind && at >= left) {
                    int width = atoi(piece->spec + 1 + strspn(piece->spec + 1, "-+ #0"));
                    buffer_printf(b, "%*s", width, "");
                } else if (piece->kind) put_value(b, piece, p + at, address + at);
                size_t tail = piece->tail_n;
                int is_last = times > 1 && k + 1 == times && n + 1 == u->count;
                if (is_last && tail && isspace((unsigned char)piece->tail[tail - 1])) tail--;
                buffer_add(b, piece->tail, tail);
                at += piece->size;
            }
    }
}

int hex_dump(tool *t, buffer *data, const hex_string *strings, int count, unsigned long long skip, int all) {
    buffer b = {.t = t};
    size_t block = 0, n = data->n;
    int starred = 0;
    for (int i = 0; i < count; i++) if (strings[i].size > block) block = strings[i].size;
    if (!block) return 0;
    for (size_t i = 0; i < block + 8; i++) buffer_putc(data, 0);
    for (size_t at = 0; at < n; at += block) {
        if (!all && at && at + block <= n && !memcmp(data->p + at, data->p + at - block, block)) {
            if (!starred) buffer_puts(&b, "*\n");
            starred = 1;
            continue;
        }
        starred = 0;
        for (int i = 0; i < count; i++) {
            const hex_string *s = &strings[i];
            const hex_unit *last = s->count ? &s->unit[s->count - 1] : NULL;
            size_t more = last && last->size && !last->fixed ? (block - s->size) / last->size : 0;
            put_block(&b, s, more, (const unsigned char *)data->p + at, n - at, skip + at);
        }
    }
    for (int i = 0; i < count; i++)
        for (int k = 0; k < strings[i].count; k++)
            for (int m = 0; m < strings[i].unit[k].count; m++) {
                const hex_piece *piece = &strings[i].unit[k].piece[m];
                if (piece->kind != (char)('A' | 128)) continue;
                buffer_puts(&b, piece->head);
                put_value(&b, piece, NULL, skip + n);
                buffer_puts(&b, piece->tail);
            }
    return io_write(t->out, b.p ? b.p : "", b.n) < 0;
}
