/* pager.c - less and more. There is no terminal, so the pagers print everything. */
#include "inputs.h"

typedef struct { int titles; } pager_state;

static int page_stream(tool *t, io *from, const char *name, void *context) {
    pager_state *s = context;
    char block[8192];
    ssize_t n;
    if (s->titles && name) io_printf(t->out, "::::::::::::::\n%s\n::::::::::::::\n", name);
    while ((n = io_read(from, block, sizeof block)) > 0) if (io_write(t->out, block, (size_t)n) < 0) return 1;
    return n < 0;
}

static int page(tool *t, int argc, char **argv, int titles) {
    int first = 1;
    while (first < argc && (argv[first][0] == '-' || argv[first][0] == '+') && argv[first][1]) first++;
    pager_state s = {titles && argc > first};
    return for_each_input(t, argc, argv, first, page_stream, &s);
}

int tool_less(tool *t, int argc, char **argv) { return page(t, argc, argv, 0); }
int tool_more(tool *t, int argc, char **argv) { return page(t, argc, argv, 1); }
