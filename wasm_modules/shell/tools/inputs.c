/* inputs.c - see inputs.h. */
#include "inputs.h"

int for_each_input(tool *t, int argc, char **argv, int first, input_fn *each, void *context) {
    int status = 0;
    if (first >= argc) return each(t, t->in, "-", context);
    for (int i = first; i < argc; i++) {
        io *from = tool_open(t, argv[i], 1, &status);
        if (!from) continue;
        int failed = each(t, from, argv[i], context);
        io_unref(from);
        if (failed) return failed;
    }
    return status;
}
