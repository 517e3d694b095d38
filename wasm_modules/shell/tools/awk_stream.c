/* awk_stream.c - standard output, and the files and commands that print writes to and getline reads from.
 *
 * Standard output is held back (held.h). It is written before a command starts that print writes to, before system(), at close()
 * and fflush(), before a message, and last of all at the end, after the commands.
 */
#include "awk.h"
#include "../utf8.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void awk_out_flush(awk *A) { if (A->held.down && !A->real_out) held_flush(&A->held); }

/* What ENVIRON says now, for a command. */
static char **environment(awk *A) {
    int count;
    array *from = A->vars[VAR_ENVIRON].arr;
    astr **keys = amap_keys(A, from, &count);
    char **list = tool_alloc(A->t, ((size_t)count + 1) * sizeof *list);
    for (int i = 0; i < count; i++) {
        const cell *value = amap_get(A, from, keys[i], 1);
        const char *text = value->type & V_STR ? value->str->text : "";      /* no numbers, as in gawk */
        list[i] = tool_format(A->t, "%s=%s", keys[i]->text, text);
        astr_unref(A, keys[i]);
    }
    tool_free(A->t, keys);
    return list;
}

int awk_run_command(awk *A, astr *command, io *in, io *out) {
    char *words[] = {"bash", "-c", tool_strndup(A->t, command->text, command->n), NULL};
    awk_streams_flush(A);
    if (!out && A->held.down && !A->real_out) out = A->held.down;
    return tool_run_with(A->t, in, out, A->uses_environ ? environment(A) : NULL, 3, words);
}

astream *awk_stream_find(awk *A, astr *name, int kind, int make) {
    for (astream *s = A->streams; s; s = s->next)
        if ((s->kind == kind || (strchr(">a", kind) && strchr(">a", s->kind))) && s->name->n == name->n
            && !memcmp(s->name->text, name->text, name->n))
            return s;
    if (!make) return NULL;
    astream *s = tool_alloc(A->t, sizeof *s);
    s->kind = kind;
    s->rest.t = A->t;
    const char *path = name->text;
    if (kind == '|') awk_out_flush(A);
    if (kind == '|' || kind == '&') s->s = io_pipe();
    else if (kind == 'p') {
        s->s = io_pipe();
        if (s->s) s->status = awk_run_command(A, name, NULL, s->s);
    } else if (kind == '<')
        s->s = !strcmp(path, "-") || !strcmp(path, "/dev/stdin") ? io_ref(A->t->in) : io_open(path, O_RDONLY, 0);
    else if (!strcmp(path, "/dev/stdout") || !strcmp(path, "-")) s->s = io_ref(A->t->out);
    else if (!strcmp(path, "/dev/stderr")) s->s = io_ref(A->t->err);
    else s->s = io_open(path, O_WRONLY | O_CREAT | (kind == 'a' ? O_APPEND : O_TRUNC), 0666);
    if (!s->s) return NULL;
    s->name = astr_ref(name);
    s->next = A->streams;
    A->streams = s;
    return s;
}

static int finish(awk *A, astream *s) {
    int status = s->status;
    if (s->kind == '|' || s->kind == '&') status = awk_run_command(A, s->name, s->s, NULL);
    else if (s->kind != '<' && s->kind != 'p' && io_flush(s->s) < 0) status = -1;
    io_unref(s->s);
    s->s = NULL;
    return status;
}

/* A coprocess runs when its output is first asked for, with all that was written to it by then; after that it is a command to
 * read from. */
astream *awk_coprocess_turn(awk *A, astr *name) {
    astream *s = awk_stream_find(A, name, 'p', 0);
    if (s) return s;
    s = awk_stream_find(A, name, '&', 1);
    io *from = s ? s->s : NULL;
    if (!s || !(s->s = io_pipe())) return NULL;
    s->kind = 'p';
    s->status = awk_run_command(A, name, from, s->s);
    io_unref(from);
    return s;
}

int awk_stream_close(awk *A, astr *name) {
    int status = -1;
    for (astream **link = &A->streams; *link;) {
        astream *s = *link;
        if (s->name->n != name->n || memcmp(s->name->text, name->text, name->n)) { link = &s->next; continue; }
        *link = s->next;
        awk_out_flush(A);
        status = finish(A, s);
        astr_unref(A, s->name);
        buffer_free(&s->rest);
    }
    return status;
}

void awk_streams_close(awk *A) {
    while (A->streams) {
        astream *s = A->streams;
        A->streams = s->next;
        finish(A, s);
        astr_unref(A, s->name);
        buffer_free(&s->rest);
    }
}

void awk_streams_flush(awk *A) {
    for (astream *s = A->streams; s; s = s->next) if (s->kind == '>' || s->kind == 'a') io_flush(s->s);
}
