/* tee.c - copy the input to files and to the output. */
#include "../tool.h"
#include <errno.h>
#include <fcntl.h>

int tool_tee(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"append", 0, 'a'}, {"ignore-interrupts", 0, 'i'}, {"output-error", 2, 'o'}, {0, 0, 0}};
    static const char *const modes[] = {"warn", "warn-nopipe", "exit", "exit-nopipe", NULL};
    int append = 0, c, status = 0;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "aip", longs)) != -1;) switch (c) {
        case 'a': append = 1; break;
        case 'o': if (o.arg && tool_choice(t, "--output-error", o.arg, modes) < 0) return 1; break;
        case 'i': case 'p': break;
        default: return 1;
    }
    int count = argc - o.index;
    io **to = tool_alloc(t, ((size_t)count + 1) * sizeof *to);
    for (int i = 0; i < count; i++) {
        to[i] = io_open(argv[o.index + i], O_WRONLY | O_CREAT | (append ? O_APPEND : O_TRUNC), 0666);
        if (!to[i]) status = tool_fail_errno(t, 1, "%s", tool_name(t, argv[o.index + i]));
    }
    char block[16384];
    ssize_t n;
    int broken = 0;
    while (!broken && (n = io_read(t->in, block, sizeof block)) > 0) {
        if (io_write(t->out, block, (size_t)n) < 0) broken = 1;
        for (int i = 0; i < count; i++) {
            if (!to[i] || io_write(to[i], block, (size_t)n) == 0) continue;
            status = tool_fail_errno(t, 1, "%s", argv[o.index + i]);
            io_unref(to[i]);
            to[i] = NULL;
        }
    }
    for (int i = 0; i < count; i++) io_unref(to[i]);
    return broken ? 1 : status;
}
