/* awk_source.c - the text of an awk program: what -f, -e, -i and @include give to it, and which line of which file a message is
 * about.
 *
 * The parts stand one after the other, each from the beginning of a line. A file is included once.
 */
#include "awk.h"
#include <string.h>

enum { DEEPEST_INCLUDE = 50 };

static void begin_part(awk *A, const char *file, int first) {
    if (A->program.n && A->program.p[A->program.n - 1] != '\n') { buffer_putc(&A->program, '\n'); A->program_lines++; }
    A->parts = tool_realloc(A->t, A->parts, ((size_t)A->part_count + 1) * sizeof *A->parts);
    A->parts[A->part_count++] = (apart){A->program_lines + 1, first, file};
}

/* The name in @include "NAME" when the line from p to stop is that; NULL otherwise. */
static char *included(awk *A, const char *p, const char *stop) {
    static const char word[] = "@include";
    size_t n = sizeof word - 1;
    while (p < stop && (*p == ' ' || *p == '\t')) p++;
    if ((size_t)(stop - p) <= n || memcmp(p, word, n)) return NULL;
    for (p += n; p < stop && (*p == ' ' || *p == '\t');) p++;
    const char *close = p < stop && *p == '"' ? memchr(p + 1, '"', (size_t)(stop - p - 1)) : NULL;
    return close ? tool_strndup(A->t, p + 1, (size_t)(close - p - 1)) : NULL;
}

static int add_lines(awk *A, const char *p, size_t n, const char *file, int depth);

static int add_file(awk *A, const char *path, int depth) {
    for (int i = 0; depth && i < A->part_count; i++) if (A->parts[i].file && !strcmp(A->parts[i].file, path)) return 0;
    io *from = depth > DEEPEST_INCLUDE ? NULL : strcmp(path, "-") ? io_open(path, 0, 0) : io_ref(A->t->in);
    buffer text = {.t = A->t};
    if (!from) return -1;
    buffer_puts(&text, "");
    buffer_read_all(&text, from);
    io_unref(from);
    return add_lines(A, text.p, text.n, path, depth);
}

static int add_lines(awk *A, const char *p, size_t n, const char *file, int depth) {
    const char *end = p + n;
    int line = 1;
    begin_part(A, file, line);
    while (p < end) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        char *name = included(A, p, stop ? stop : end);
        if (name) {
            if (add_file(A, name, depth + 1) < 0) {
                awk_source_place(A, A->program_lines + 1);
                io_printf(A->t->err, "error: cannot open source file `%s' for reading: No such file or directory\n", name);
                return 1;
            }
            begin_part(A, file, line + 1);
        } else {
            buffer_add(&A->program, p, (size_t)((stop ? stop + 1 : end) - p));
            A->program_lines += stop != NULL;
        }
        line++;
        p = stop ? stop + 1 : end;
    }
    return 0;
}

int awk_source_text(awk *A, const char *text) { return add_lines(A, text, strlen(text), NULL, 0); }

int awk_source_file(awk *A, const char *path) {
    int status = add_file(A, path, 0);
    return status < 0 ? tool_fail_errno(A->t, 2, "fatal: cannot open source file `%s' for reading", path) : status;
}

void awk_source_place(awk *A, int line) {
    apart *in = NULL;
    for (int i = 0; i < A->part_count && A->parts[i].line <= line; i++) in = &A->parts[i];
    if (in) line += in->first - in->line;
    if (in && in->file) io_printf(A->t->err, "%s: %s:%d: ", A->t->name, in->file, line);
    else io_printf(A->t->err, "%s: cmd. line:%d: ", A->t->name, line);
}
