/* awk_dump.c - -d: the variables and their last values, sorted by name. */
#include "awk_message.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* Text between quotes, as a program would have it. */
static void put_quoted(buffer *b, const astr *s) {
    static const char from[] = "\a\b\f\n\r\t\v\\\"", to[] = "abfnrtv\\\"";
    buffer_putc(b, '"');
    for (size_t i = 0; i < s->n; i++) {
        char c = s->text[i];
        const char *at = c ? strchr(from, c) : NULL;
        if (at) buffer_printf(b, "\\%c", to[at - from]);
        else if ((unsigned char)c < 32 || c == 127) buffer_printf(b, "\\%03o", (unsigned char)c);
        else buffer_putc(b, c);
    }
    buffer_putc(b, '"');
}

static void put_value(buffer *b, cell *c) {
    int is_number = c->type & V_MAYBE && cell_is_number(c);
    if (c->type & V_ARRAY) buffer_printf(b, "array, %d elements", c->arr->count);
    else if (c->type & V_REGEX) buffer_printf(b, "@/%s/", c->str->text);
    else if (c->type & V_STR && !is_number) put_quoted(b, c->str);
    else if (c->type & V_NUM) buffer_printf(b, "%.17g", c->num);
    else buffer_puts(b, c->was_read ? "uninitialized scalar" : "untyped variable");
    buffer_putc(b, '\n');
}

static int by_name(const void *a, const void *b) { return strcmp(**(char **const *)a, **(char **const *)b); }

int awk_dump(awk *A, const char *path) {
    char ***names = tool_alloc(A->t, (size_t)A->var_count * sizeof *names);
    io *to = !strcmp(path, "-") || !strcmp(path, "/dev/stdout") ? io_ref(A->t->out)
                                                                : io_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (!to) {
        awk_warn(A, 0, "could not open `%s' for writing: %s", path, strerror(errno));
        to = io_ref(A->t->out);
    }
    awk_fields_split(A);
    for (int i = 0; i < A->var_count; i++) names[i] = &A->var_names[i];
    qsort(names, (size_t)A->var_count, sizeof *names, by_name);
    buffer b = {.t = A->t};
    for (int i = 0; i < A->var_count; i++) {
        buffer_printf(&b, "%s: ", *names[i]);
        put_value(&b, &A->vars[names[i] - A->var_names]);
    }
    int failed = io_write(to, b.p, b.n) < 0 || io_flush(to) < 0;
    io_unref(to);
    return failed ? 2 : 0;
}
