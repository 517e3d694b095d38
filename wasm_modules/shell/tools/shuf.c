/* shuf.c - lines, words or numbers in random order. */
#include "buffer.h"
#include "inputs.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where numbers come from, and what is left of the bytes read so far: number is drawn evenly from 0 to most. The same bytes give
 * the same order as in GNU's shuf. */
typedef struct { io *source; unsigned long long number, most; } chance;

static unsigned next_byte(chance *c) {
    unsigned char byte = 0;
    if (c->source) { int got = io_getc(c->source); return got < 0 ? 0 : (unsigned)got; }
    if (getentropy(&byte, 1) < 0) byte = 0;
    return byte;
}

static unsigned long long random_below(chance *c, unsigned long long n) {
    unsigned long long greatest = n - 1;
    for (;;) {
        while (c->most < greatest) {
            c->number = c->number << 8 | next_byte(c);
            c->most = c->most << 8 | 255;
        }
        unsigned long long number = c->number, excess = c->most - greatest, unusable = excess % n;
        if (!excess) { c->number = c->most = 0; return number; }
        if (number <= c->most - unusable) {
            c->number = number / n;
            c->most = excess / n;
            return number % n;
        }
        c->number = number - (c->most - unusable + 1);
        c->most = unusable - 1;
    }
}

int tool_shuf(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"echo", 0, 'e'}, {"input-range", 1, 'i'}, {"head-count", 1, 'n'}, {"output", 1, 'o'},
        {"random-source", 1, 'R'}, {"repeat", 0, 'r'}, {"zero-terminated", 0, 'z'}, {0, 0, 0}};
    int echo = 0, repeat = 0, delim = '\n', c, status = 0;
    const char *range = NULL, *output = NULL;
    unsigned long long most = ~0ull;
    chance luck = {0};
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "ei:n:o:rz", longs)) != -1;) switch (c) {
        case 'e': echo = 1; break;
        case 'i': range = o.arg; break;
        case 'n': if (size_parse(o.arg, &most) < 0) return tool_fail(t, 1, "invalid line count: %s", tool_cite(t, o.arg)); break;
        case 'o': output = o.arg; break;
        case 'r': repeat = 1; break;
        case 'z': delim = '\0'; break;
        case 'R': if (!(luck.source = input_open(t, o.arg, 1, &status))) return 1; break;
        default: return 1;
    }
    if (echo && range) { tool_fail(t, 1, "cannot combine -e and -i options"); return tool_usage(t, 1); }
    int extra = range ? o.index : o.index + 1;
    if (!echo && extra < argc) { tool_fail(t, 1, "extra operand %s", tool_cite(t, argv[extra])); return tool_usage(t, 1); }
    span_list items = {0};
    if (range) {
        char *end;
        size_t digits = strspn(range, "0123456789");
        const char *second = range[digits] == '-' ? range + digits + 1 : NULL;
        if (!digits) return tool_fail(t, 1, "invalid input range: %s", tool_cite(t, tool_strndup(t, range, strcspn(range, "-"))));
        if (second && strspn(second, "0123456789") != strlen(second))
            return tool_fail(t, 1, "invalid input range: %s", tool_cite(t, second));
        unsigned long long low = strtoull(range, &end, 10), high = second ? strtoull(second, NULL, 10) : low;
        if (*end != '-' || (high < low && high + 1 != low))
            return tool_fail(t, 1, "invalid input range: %s", tool_cite(t, range));
        if (high >= low && high - low > 20000000) return tool_fail(t, 1, "memory exhausted");
        for (unsigned long long i = low; i <= high && high + 1 != low; i++) {
            char *s = tool_format(t, "%llu", i);
            span_add(t, &items, s, strlen(s));
        }
    } else if (echo) for (int i = o.index; i < argc; i++) span_add(t, &items, argv[i], strlen(argv[i]));
    else {
        io *from = o.index < argc ? input_open(t, argv[o.index], 1, &status) : io_ref(t->in);
        if (!from) return 1;
        buffer b = {.t = t};
        buffer_read_all(&b, from);
        io_unref(from);
        span_split(t, &items, b.p, b.n, delim);
    }
    io *to = output ? io_open(output, O_WRONLY | O_CREAT | O_TRUNC, 0666) : io_ref(t->out);
    if (!to) return tool_fail_errno(t, 1, "%s", output);
    if (repeat && !items.n && most) { io_unref(to); return tool_fail(t, 1, "no lines to repeat"); }
    for (unsigned long long i = 0; i < most && (repeat || i < items.n); i++) {
        size_t pick = repeat ? (size_t)random_below(&luck, items.n) : (size_t)i + (size_t)random_below(&luck, items.n - i);
        span chosen = items.at[pick];
        if (!repeat) { items.at[pick] = items.at[i]; items.at[i] = chosen; }
        if (io_write(to, chosen.p, chosen.n) < 0 || io_putc(to, delim) < 0) { status = 1; break; }
    }
    io_unref(to);
    io_unref(luck.source);
    return status;
}
