/* sed_input.c - where sed's lines come from and go to: the files one after another, editing in place, the line read ahead. */
#include "sed_run.h"
#include "files.h"
#include "../utf8.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINKS_MOST = 40 };               /* as Linux follows */

sed_output *sed_target(machine *m) { return m->s->in_place && m->edit.to ? &m->edit : &m->s->out; }

void sed_put(machine *m, sed_output *o, const char *text, size_t n, int newline) {
    if (o->missing_newline) { io_putc(o->to, m->delim); o->missing_newline = 0; }
    if (io_write(o->to, text, n) < 0) m->failed_write = 1;
    if (newline) io_putc(o->to, m->delim); else o->missing_newline = 1;
}

/* Text that carries its own newlines: a i c = l. */
void sed_put_raw(machine *m, sed_output *o, const char *text, size_t n) {
    if (o->missing_newline) { io_putc(o->to, m->delim); o->missing_newline = 0; }
    if (io_write(o->to, text, n) < 0) m->failed_write = 1;
}

/* What the file was called is kept under: every * of the suffix is its name, and one without * follows it. */
static const char *name_backup(machine *m) {
    buffer b = {.t = m->t};
    if (!strchr(m->s->suffix, '*')) buffer_puts(&b, m->name);
    for (const char *p = m->s->suffix; *p; p++) if (*p == '*') buffer_puts(&b, m->name); else buffer_putc(&b, *p);
    return b.p;
}

/* The file that a chain of links leads to; only the last part of the path is followed. NULL after a message. */
static const char *follow_links(machine *m, const char *name) {
    char *path = tool_strdup(m->t, name), target[4096];
    for (int links = 0;; links++) {
        ssize_t n = readlink(path, target, sizeof target - 1);
        if (n < 0 && errno == EINVAL) return path;
        if (n < 0) { tool_fail_errno(m->t, 4, "couldn't readlink %s", path); return NULL; }
        if (links >= LINKS_MOST) {
            tool_fail(m->t, 4, "couldn't follow symlink %s: Too many levels of symbolic links", name);
            return NULL;
        }
        target[n] = '\0';
        path = *target == '/' ? tool_strdup(m->t, target)
                              : tool_format(m->t, "%.*s%s", (int)(path_last(path) - path), path, target);
    }
}

void sed_close_input(machine *m) {
    io_unref(m->in);
    m->in = NULL;
    if (!m->edit.to) return;
    struct stat st;
    io_unref(m->edit.to);
    m->edit.to = NULL;
    m->edit.missing_newline = 0;
    if (path_stat(m->name, &st) == 0) chmod(m->temp, st.st_mode & 07777);
    if (m->s->suffix) {
        const char *backup = name_backup(m);
        if (strcmp(backup, m->name) && rename(m->name, backup) < 0) {
            m->status = tool_fail_errno(m->t, 4, "cannot rename %s", m->name);
            m->quit = 1;
            unlink(m->temp);
            return;
        }
    }
    if (rename(m->temp, m->name) < 0) m->status = tool_fail_errno(m->t, 4, "cannot rename %s", m->temp);
}

static int open_edit(machine *m) {
    for (unsigned i = 0;; i++) {
        m->temp = tool_format(m->t, "%.*ssed%06u", (int)(path_last(m->name) - m->name), m->name, i);
        m->edit.to = io_open(m->temp, O_WRONLY | O_CREAT | O_EXCL, 0666);
        if (m->edit.to) return 0;
        if (errno != EEXIST || i > 100000) return tool_fail_errno(m->t, -1, "couldn't open temporary file %s", m->temp);
    }
}

/* With -s and -i every file is as if it were the only one. */
static void begin_separately(machine *m) {
    m->line = 0;
    m->hold.n = 0;
    m->hold_newline = 1;
    for (int i = 0; i < m->s->count; i++) {
        sed_command *k = &m->s->commands[i];
        k->active = k->a1.kind == ADDR_ZERO;
        k->closed = 0;
        io_unref(k->source);
        k->source = NULL;
    }
    if (m->s->out.missing_newline) sed_put_raw(m, &m->s->out, "", 0);
}

/* Opens the next file that can be opened. 0 when there is none. A directory ends the run, unless only the end is looked for. */
static int open_next(machine *m, int looking) {
    while (m->next_file < m->file_n) {
        struct stat st;
        m->name = m->files[m->next_file++];
        int standard = !strcmp(m->name, "-") && !m->s->in_place;
        if (m->s->follow && !standard && !(m->name = follow_links(m, m->name))) {
            m->quit = 1;
            m->exit_code = 4;
            return 0;
        }
        if (!standard && path_stat(m->name, &st) == 0 && S_ISDIR(st.st_mode)) {
            if (m->s->in_place) m->status = tool_fail(m->t, 4, "couldn't edit %s: not a regular file", m->name);
            if (m->s->in_place || looking) continue;
            m->quit = 1;
            m->exit_code = tool_fail(m->t, 4, "read error on %s: Is a directory", m->name);
            return 0;
        }
        m->in = standard ? io_ref(m->t->in) : io_open(m->name, O_RDONLY, 0);
        if (!m->in) { m->status = tool_fail_errno(m->t, 2, "can't read %s", m->name); continue; }
        if (m->s->in_place && io_is_pipe(m->in)) {
            m->status = tool_fail(m->t, 4, "couldn't edit %s: not a regular file", m->name);
            io_unref(m->in);
            m->in = NULL;
            continue;
        }
        if (m->s->in_place && open_edit(m) < 0) { io_unref(m->in); m->in = NULL; m->status = 4; return 0; }
        if (m->s->separate) begin_separately(m);
        return 1;
    }
    return 0;
}

static int fetch(machine *m) {
    const char *text;
    ssize_t n = m->in ? io_line(m->in, &text, m->delim) : -1;
    if (n < 0) return 0;
    m->ahead_newline = text[n - 1] == m->delim;
    m->ahead.n = 0;
    buffer_add(&m->ahead, text, (size_t)n - (size_t)m->ahead_newline);
    m->have_ahead = 1;
    return 1;
}

/* Fills ahead, going on to further files unless they are separate. */
static int look_ahead(machine *m, int looking) {
    while (!m->have_ahead) {
        if (fetch(m)) return 1;
        if (m->in && m->s->separate) return 0;
        sed_close_input(m);
        if (!open_next(m, looking)) return 0;
    }
    return 1;
}

int sed_is_last(machine *m) { return !look_ahead(m, 1); }

/* The next line into the pattern space (appended after a newline when append). 0 at the end of all input. */
int sed_read_line(machine *m, int append) {
    while (!look_ahead(m, 0)) {
        if (!m->s->separate) return 0;
        if (append) { /* N never crosses into the next file with -s or -i */
            int more = m->next_file < m->file_n;
            if (!more) return 0;
            return 0;
        }
        sed_close_input(m);
        if (!open_next(m, 0)) return 0;
    }
    if (append) buffer_putc(&m->space, m->delim); else m->space.n = 0;
    buffer_add(&m->space, m->ahead.p, m->ahead.n);
    m->newline = m->ahead_newline;
    m->have_ahead = 0;
    m->line++;
    return 1;
}
