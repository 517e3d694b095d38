/* io_print.c - formatted output to a stream. */
#include "io.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int io_vprintf(io *s, const char *format, va_list args) {
    char small[512];
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(small, sizeof small, format, args);
    int status = -1;
    if (n < 0) {
        io_fail(s, EINVAL);
    } else if ((size_t)n < sizeof small) {
        status = io_write(s, small, (size_t)n);
    } else {
        char *big = malloc((size_t)n + 1);
        if (!big) {
            io_fail(s, ENOMEM);
        } else {
            vsnprintf(big, (size_t)n + 1, format, again);
            status = io_write(s, big, (size_t)n);
            free(big);
        }
    }
    va_end(again);
    return status;
}

int io_printf(io *s, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int status = io_vprintf(s, format, args);
    va_end(args);
    return status;
}
