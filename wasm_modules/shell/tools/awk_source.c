/* awk_source.c - the text of an awk program: what -f, -e, -i and @include give to it, and which line of which file a message is
 * about.
 *
 * The parts stand one after the other, each from the beginning of a line. A file is included once.
 */
#include "awk_message.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { DEEPEST_INCLUDE = 50 };

static void end_part(awk *A) {
    if (!A->part_count || !A->program.n || A->program.p[A->program.n - 1] == '\n') return;
    apart *last = &A->parts[A->part_count - 1];
    last->is_cut = A->program.n > last->start;
    if (last->is_cut && last->file) awk_lint(A, A->program_lines + 1, "source file does not end in newline");
    buffer_putc(&A->program, '\n');
    A->program_lines++;
}

static void begin_part(awk *A, apart part) {
    end_part(A);
    A->parts = tool_realloc(A->t, A->parts, ((size_t)A->part_count + 1) * sizeof *A->parts);
    part.line = A->program_lines + 1;
    part.start = A->program.n;
    A->parts[A->part_count++] = part;
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

/* The file that a program's name means: itself, or in one of the folders of AWKPATH, with .awk behind it if need be. NULL, and
 * errno, when there is none. */
static char *find_file(awk *A, const char *name) {
    const char *folders = A->t->getenv ? A->t->getenv(A->t, "AWKPATH") : NULL;
    if (!strcmp(name, "-") || !strcmp(name, "/dev/stdin")) return tool_strdup(A->t, name);
    if (!folders || !*folders) folders = ".:/usr/local/share/awk";
    if (strchr(name, '/')) folders = "";
    size_t n = strlen(name);
    int has_ending = n > 4 && !strcmp(name + n - 4, ".awk");
    for (int ended = 0; ended < (has_ending || A->is_posix || A->is_traditional ? 1 : 2); ended++) {
        for (const char *p = folders;; p++) {
            size_t len = strcspn(p, ":");
            char *path = tool_format(A->t, "%.*s%s%s%s", (int)len, p, len ? "/" : "", name, ended ? ".awk" : "");
            struct stat st;
            if (path_stat(path, &st) == 0) return !strncmp(path, "./", 2) ? path + 2 : path;
            p += len;
            if (!*p) break;
        }
    }
    if (strchr(name, '/')) return tool_strdup(A->t, name);      /* opening it says what is wrong, or finds a descriptor */
    return NULL;
}

static int add_lines(awk *A, const char *p, size_t n, apart part);

/* Whether the file is there already: included once more it is left out, as a program file it may be read again. -1 when it is
 * both, which is told. */
static int is_there(awk *A, const char *name, const char *path, int kind, int line) {
    for (int i = 0; i < A->part_count; i++) {
        const apart *old = &A->parts[i];
        if (old->kind == 'e' || strcmp(old->path, path)) continue;
        if (old->kind != kind) {
            if (line) awk_source_place(A, line + 1); else io_printf(A->t->err, "%s: ", A->t->name);
            io_printf(A->t->err, "fatal: cannot include `%s' and use it as a program file\n", name);
            return -1;
        }
        if (kind == 'f') return 0;
        awk_lint(A, line, "already included source file `%s'", name);
        return 1;
    }
    return 0;
}

/* 0, a status after a message, or -1 and errno. */
static int add_file(awk *A, const char *name, int depth, int kind, int line) {
    char *path = depth > DEEPEST_INCLUDE ? NULL : find_file(A, name);
    if (!path) return -1;
    int there = is_there(A, name, path, kind, line);
    if (there) return there < 0 ? 2 : 0;
    io *from = strcmp(path, "-") && strcmp(path, "/dev/stdin") ? io_open(path, 0, 0) : io_ref(A->t->in);
    buffer text = {.t = A->t};
    if (!from) return -1;
    buffer_puts(&text, "");
    int failed = buffer_read_all(&text, from);
    int problem = errno;
    io_unref(from);
    if (failed < 0) { errno = problem; return -1; }
    return add_lines(A, text.p, text.n, (apart){.first = 1, .depth = depth, .file = name, .path = path, .kind = kind});
}

static int include(awk *A, const char *name, int depth) {
    int line = A->program_lines + 1;
    if (A->is_posix || A->is_traditional) { awk_complain(A, line, "@include is a gawk extension"); return 1; }
    awk_lint(A, line, "`include' is a gawk extension");
    int status = add_file(A, name, depth + 1, 'i', line);
    if (status >= 0) return status;
    awk_complain(A, line, "cannot open source file `%s' for reading: %s", name, strerror(errno));
    return 1;
}

static int add_lines(awk *A, const char *p, size_t n, apart part) {
    const char *end = p + n, *nul = memchr(p, '\0', n);
    begin_part(A, part);
    while (p < end) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        char *name = included(A, p, stop ? stop : end);
        if (nul && nul < (stop ? stop : end)) {
            awk_source_place(A, A->program_lines + 1);
            io_puts(A->t->err, "fatal: error: invalid character '\\000' in source code\n");
            return 2;
        }
        part.first++;
        if (name) {
            int status = include(A, name, part.depth);
            if (status) return status;
            begin_part(A, part);
        } else {
            buffer_add(&A->program, p, (size_t)((stop ? stop + 1 : end) - p));
            A->program_lines += stop != NULL;
        }
        p = stop ? stop + 1 : end;
    }
    return 0;
}

int awk_source_text(awk *A, const char *text) { return add_lines(A, text, strlen(text), (apart){.first = 1, .kind = 'e', .path = ""}); }

int awk_source_file(awk *A, const char *path, int kind) {
    int status = add_file(A, path, 0, kind, 0);
    return status < 0 ? tool_fail_errno(A->t, 2, "fatal: cannot open source file `%s' for reading", path) : status;
}

int awk_source_end(awk *A) {
    end_part(A);
    return A->fatal ? A->exit_code : 0;
}

void awk_source_place(awk *A, int line) {
    apart *in = NULL;
    for (int i = 0; i < A->part_count && A->parts[i].line <= line; i++) in = &A->parts[i];
    if (in) line += in->first - in->line;
    if (in && in->file) io_printf(A->t->err, "%s: %s:%d: ", A->t->name, in->file, line);
    else io_printf(A->t->err, "%s: cmd. line:%d: ", A->t->name, line);
}
