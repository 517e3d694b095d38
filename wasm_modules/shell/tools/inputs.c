/* inputs.c - see inputs.h. */
#include "inputs.h"
#include "buffer.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

io *input_open(tool *t, const char *path, int status, int *failed) {
    struct stat st;
    if (!strcmp(path, "-") || path_stat(path, &st) < 0 || !S_ISDIR(st.st_mode)) return tool_open(t, path, status, failed);
    errno = EISDIR;
    *failed = tool_fail_errno(t, status, "%s", tool_name(t, path));
    return NULL;
}

int for_each_input(tool *t, int argc, char **argv, int first, input_fn *each, void *context) {
    int status = 0;
    if (first >= argc) return each(t, t->in, "-", context);
    for (int i = first; i < argc; i++) {
        io *from = input_open(t, argv[i], 1, &status);
        if (!from) continue;
        int failed = each(t, from, argv[i], context);
        io_unref(from);
        if (failed) return failed;
    }
    return status;
}

char **input_names(tool *t, const char *path, int *count) {
    int status = 0;
    buffer b = {.t = t};
    io *from = tool_open(t, path, 1, &status);
    if (!from) return NULL;
    buffer_read_all(&b, from);
    io_unref(from);
    if (b.n && b.p[b.n - 1]) buffer_putc(&b, 0);
    char **names = tool_alloc(t, (b.n + 2) * sizeof *names);
    *count = 0;
    for (size_t i = 0; i < b.n; i += strlen(b.p + i) + 1) names[(*count)++] = b.p + i;
    return names;
}
