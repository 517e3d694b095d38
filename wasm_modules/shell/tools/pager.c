/* pager.c - less and more. There is no terminal, so the pagers print everything; less puts its complaints there as well. */
#include "inputs.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

typedef struct { int titles; } pager_state;

static int page_stream(tool *t, io *from, const char *name, void *context) {
    pager_state *s = context;
    char block[8192];
    ssize_t n;
    if (s->titles && name) io_printf(t->out, "::::::::::::::\n%s\n::::::::::::::\n", name);
    while ((n = io_read(from, block, sizeof block)) > 0) if (io_write(t->out, block, (size_t)n) < 0) return 1;
    return n < 0;
}

static int first_file(int argc, char **argv) {
    int first = 1;
    while (first < argc && (argv[first][0] == '-' || argv[first][0] == '+') && argv[first][1]) first++;
    return first;
}

int tool_less(tool *t, int argc, char **argv) {
    int first = first_file(argc, argv);
    pager_state s = {0};
    if (first >= argc) return page_stream(t, t->in, NULL, &s);
    for (int i = first; i < argc; i++) {
        struct stat st;
        if (!strcmp(argv[i], "-")) { page_stream(t, t->in, NULL, &s); continue; }
        io *from = path_stat(argv[i], &st) == 0 && !S_ISDIR(st.st_mode) ? io_open(argv[i], O_RDONLY, 0) : NULL;
        if (from) { page_stream(t, from, NULL, &s); io_unref(from); }
        else if (path_stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode)) io_printf(t->out, "%s is a directory\n", argv[i]);
        else io_printf(t->out, "%s: %s\n", argv[i], strerror(errno));
    }
    return 0;
}

int tool_more(tool *t, int argc, char **argv) {
    int first = first_file(argc, argv);
    pager_state s = {argc > first};
    return for_each_input(t, argc, argv, first, page_stream, &s);
}
