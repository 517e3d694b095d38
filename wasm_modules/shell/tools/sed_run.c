/* sed_run.c - running a sed script over files. */
#include "sed.h"
#include "files.h"
#include "../modes.h"
#include "../utf8.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What is to be written at the end of the cycle. */
typedef struct appended { const char *text; size_t n; const char *path; io *line_from; struct appended *next; } appended;

typedef struct {
    sed_script *s;
    tool *t;
    char **files;
    int file_n, next_file, status, delim;
    io *in;                              /* the open input, NULL before the first and after the last */
    const char *name;                    /* of the open input */
    buffer ahead;                        /* the line read ahead, to know the last one */
    int have_ahead, ahead_newline;
    buffer space, hold;
    int newline;                         /* whether the line in the pattern space ended with the delimiter */
    int hold_newline;
    unsigned long line;
    int replaced, quit, exit_code;
    appended *queue, **queue_end;
    regex *last;
    char *temp;                          /* in-place: the new file, */
    sed_output edit;                     /* ... and the stream to it */
    int failed_write;
} machine;

static sed_output *target(machine *m) { return m->s->in_place && m->edit.to ? &m->edit : &m->s->out; }

static void put(machine *m, sed_output *o, const char *text, size_t n, int newline) {
    if (o->missing_newline) { io_putc(o->to, m->delim); o->missing_newline = 0; }
    if (io_write(o->to, text, n) < 0) m->failed_write = 1;
    if (newline) io_putc(o->to, m->delim); else if (n) o->missing_newline = 1;
}

/* Text that carries its own newlines: a i c = l. */
static void put_raw(machine *m, sed_output *o, const char *text, size_t n) {
    if (o->missing_newline) { io_putc(o->to, m->delim); o->missing_newline = 0; }
    if (io_write(o->to, text, n) < 0) m->failed_write = 1;
}

static void close_input(machine *m) {
    io_unref(m->in);
    m->in = NULL;
    if (!m->edit.to) return;
    struct stat st;
    io_unref(m->edit.to);
    m->edit.to = NULL;
    m->edit.missing_newline = 0;
    if (stat(m->name, &st) == 0) modes_set(m->temp, modes_get(&st));
    if (m->s->suffix) {
        char *backup;
        if (strchr(m->s->suffix, '*')) {
            const char *star = strchr(m->s->suffix, '*');
            backup = tool_format(m->t, "%.*s%s%s", (int)(star - m->s->suffix), m->s->suffix, path_last(m->name), star + 1);
            if (!strchr(m->s->suffix, '/') && strchr(m->name, '/')) backup = tool_format(m->t, "%.*s%s", (int)(path_last(m->name) - m->name), m->name, backup);
        } else backup = tool_format(m->t, "%s%s", m->name, m->s->suffix);
        rename(m->name, backup);
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

/* Opens the next file that can be opened. 0 when there is none. */
static int open_next(machine *m) {
    while (m->next_file < m->file_n) {
        struct stat st;
        m->name = m->files[m->next_file++];
        int standard = !strcmp(m->name, "-") && !m->s->in_place;
        if (!standard && stat(m->name, &st) == 0 && S_ISDIR(st.st_mode)) {
            m->status = m->s->in_place ? tool_fail(m->t, 4, "couldn't edit %s: not a regular file", m->name) : tool_fail(m->t, 2, "couldn't read %s: Is a directory", m->name);
            if (!m->s->in_place) m->status = 2;
            continue;
        }
        m->in = standard ? io_ref(m->t->in) : io_open(m->name, O_RDONLY, 0);
        if (!m->in) { m->status = tool_fail_errno(m->t, 2, "can't read %s", m->name); continue; }
        if (m->s->in_place && open_edit(m) < 0) { io_unref(m->in); m->in = NULL; m->status = 4; return 0; }
        if (m->s->separate) m->line = 0;
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
static int look_ahead(machine *m) {
    while (!m->have_ahead) {
        if (fetch(m)) return 1;
        if (m->in && m->s->separate) return 0;
        close_input(m);
        if (!open_next(m)) return 0;
    }
    return 1;
}

static int is_last(machine *m) {
    if (look_ahead(m)) return 0;
    return 1;
}

/* The next line into the pattern space (appended after a newline when append). 0 at the end of all input. */
static int read_line(machine *m, int append) {
    while (!look_ahead(m)) {
        if (!m->s->separate) return 0;
        if (append) { /* N never crosses into the next file with -s or -i */
            int more = m->next_file < m->file_n;
            if (!more) return 0;
            return 0;
        }
        close_input(m);
        if (!open_next(m)) return 0;
    }
    if (append) buffer_putc(&m->space, m->delim == '\n' ? '\n' : '\n'); else m->space.n = 0;
    buffer_add(&m->space, m->ahead.p, m->ahead.n);
    m->newline = m->ahead_newline;
    m->have_ahead = 0;
    m->line++;
    return 1;
}

static void append_later(machine *m, const char *text, size_t n, const char *path, io *from) {
    appended *a = tool_alloc(m->t, sizeof *a);
    *a = (appended){text, n, path, from, NULL};
    *m->queue_end = a;
    m->queue_end = &a->next;
}

static void write_appended(machine *m) {
    sed_output *o = target(m);
    for (appended *a = m->queue, *next; a; a = next) {
        next = a->next;
        if (a->text) put_raw(m, o, a->text, a->n);
        else if (a->path) {
            io *from = !strcmp(a->path, "/dev/stdin") ? io_ref(m->t->in) : io_open(a->path, O_RDONLY, 0);
            char block[8192];
            ssize_t got;
            if (from) while ((got = io_read(from, block, sizeof block)) > 0) {
                put_raw(m, o, block, (size_t)got);
            }
            io_unref(from);
        }
        tool_free(m->t, a);
    }
    m->queue = NULL;
    m->queue_end = &m->queue;
}

static int regex_hits(machine *m, regex *r) {
    if (r) m->last = r; else r = m->last;
    if (!r) { m->quit = 1; m->exit_code = tool_fail(m->t, 1, "no previous regular expression"); return 0; }
    int hit = regex_test(r, m->space.p, m->space.n);
    if (hit < 0) { m->quit = 1; m->exit_code = tool_fail(m->t, 4, "regular expression too complex"); return 0; }
    return hit;
}

static int address_hits(machine *m, const sed_addr *a) {
    switch (a->kind) {
    case ADDR_LINE: return m->line == a->n;
    case ADDR_STEP: return a->n > m->line ? 0 : (m->line - a->n) % a->step == 0;
    case ADDR_LAST: return is_last(m);
    case ADDR_REGEX: return regex_hits(m, a->regex);
    default: return 0;
    }
}

/* Whether the command applies to this line; keeps track of ranges. */
static int selects(machine *m, sed_command *k) {
    if (k->a1.kind == ADDR_NONE) return 1;
    if (k->a2.kind == ADDR_NONE) return address_hits(m, &k->a1);
    if (k->active) {
        switch (k->a2.kind) {
        case ADDR_REGEX: if (regex_hits(m, k->a2.regex)) k->active = 0; return 1;
        case ADDR_LAST: if (is_last(m)) k->active = 0; return 1;
        default:
            if (m->line >= k->end) k->active = 0;
            return m->line <= k->end;
        }
    }
    if (!address_hits(m, &k->a1)) return 0;
    switch (k->a2.kind) {
    case ADDR_LINE: k->end = k->a2.n; break;
    case ADDR_PLUS: k->end = m->line + k->a2.n; break;
    case ADDR_MULTIPLE: k->end = k->a2.n ? (m->line + k->a2.n - 1) / k->a2.n * k->a2.n : m->line; break;
    case ADDR_LAST: if (is_last(m)) return 1; k->active = 1; return 1;
    default: k->active = 1; return 1;
    }
    k->active = k->end > m->line;
    return 1;
}

typedef struct { int all, once; } case_mode;

static void add_cased(buffer *b, const char *text, size_t n, case_mode *c) {
    if (!c->all && !c->once) { buffer_add(b, text, n); return; }
    for (size_t i = 0; i < n;) {
        int ch, len = utf8_decode(text + i, n - i, &ch);
        int how = c->once ? c->once : c->all;
        c->once = 0;
        if (ch < 0 || !how) buffer_add(b, text + i, (size_t)len);
        else {
            char bytes[4];
            int out = how == 'U' || how == 'u' ? utf8_upper(ch) : utf8_lower(ch);
            buffer_add(b, bytes, (size_t)utf8_encode(out, bytes));
        }
        i += (size_t)len;
    }
}

static void add_replacement(machine *m, const sed_command *k, buffer *b, const regex_span *groups) {
    case_mode mode = {0, 0};
    for (int i = 0; i < k->piece_n; i++) {
        const sed_piece *p = &k->pieces[i];
        switch (p->change) {
        case 'U': case 'L': mode.all = p->change; mode.once = 0; break;
        case 'u': case 'l': mode.once = p->change; break;
        case 'E': mode.all = mode.once = 0; break;
        }
        if (p->group < 0) add_cased(b, p->text, p->n, &mode);
        else if (groups[p->group].start >= 0) add_cased(b, m->space.p + groups[p->group].start, (size_t)(groups[p->group].end - groups[p->group].start), &mode);
    }
}

/* The output of a command of the shell, which reads nothing. */
static void run_shell(machine *m, const char *command, buffer *output) {
    tool sub = *m->t;
    char *words[] = {"bash", "-c", (char *)command, NULL};
    size_t n;
    if (!m->t->run) return;
    io_flush(target(m)->to);
    sub.in = io_null();
    sub.out = io_pipe();
    m->t->run(&sub, 3, words);
    m->t->arena = sub.arena;
    const char *bytes = io_bytes(sub.out, &n);
    buffer_add(output, bytes, n);
    io_unref(sub.in);
    io_unref(sub.out);
}

/* Runs the pattern space as a command; its output becomes the pattern space. */
static void run_space(machine *m) {
    buffer b = {.t = m->t};
    buffer_puts(&b, "");
    run_shell(m, tool_strndup(m->t, m->space.p, m->space.n), &b);
    if (b.n && b.p[b.n - 1] == '\n') b.n--;
    buffer_free(&m->space);
    m->space = b;
}

static int substitute(machine *m, sed_command *k) {
    regex *r = k->regex ? k->regex : m->last;
    if (!r) { m->quit = 1; m->exit_code = tool_fail(m->t, 1, "no previous regular expression"); return 0; }
    m->last = r;
    regex_span g[10];
    buffer b = {.t = m->t};
    size_t at = 0, copied = 0, n = m->space.n;
    ssize_t previous_end = -1;
    int count = 0, done = 0;
    while (at <= n) {
        int found = regex_exec(r, m->space.p, n, at, g, 10);
        if (found < 0) { m->quit = 1; m->exit_code = tool_fail(m->t, 4, "regular expression too complex"); }
        if (found <= 0) break;
        if (g[0].start == g[0].end && g[0].start == previous_end) {
            /* an empty match right after the last one does not count */
            at = (size_t)g[0].end;
            if (at >= n) break;
            int ch;
            at += (size_t)utf8_decode(m->space.p + at, n - at, &ch);
            previous_end = -1;
            continue;
        }
        if (++count >= k->which) {
            buffer_add(&b, m->space.p + copied, (size_t)g[0].start - copied);
            add_replacement(m, k, &b, g);
            copied = (size_t)g[0].end;
            done = 1;
            if (!k->global) break;
        }
        previous_end = g[0].end;
        at = (size_t)g[0].end;
        if (g[0].start == g[0].end) {
            if (at >= n) break;
            int ch;
            at += (size_t)utf8_decode(m->space.p + at, n - at, &ch);
            previous_end = -1;
        }
    }
    if (!done) { buffer_free(&b); return 0; }
    buffer_add(&b, m->space.p + copied, n - copied);
    buffer_free(&m->space);
    m->space = b;
    m->replaced = 1;
    return 1;
}

static void transliterate(machine *m, const sed_command *k) {
    buffer b = {.t = m->t};
    buffer_puts(&b, "");
    for (size_t i = 0; i < m->space.n;) {
        int ch, len = utf8_decode(m->space.p + i, m->space.n - i, &ch), found = -1;
        for (int j = 0; j < k->map_n && found < 0 && ch >= 0; j++) if (k->map_from[j] == ch) found = k->map_to[j];
        char bytes[4];
        if (found < 0) buffer_add(&b, m->space.p + i, (size_t)len); else buffer_add(&b, bytes, (size_t)utf8_encode(found, bytes));
        i += (size_t)len;
    }
    buffer_free(&m->space);
    m->space = b;
}

/* The l command: unambiguous, folded. */
static void list_space(machine *m, int width) {
    buffer b = {.t = m->t};
    size_t column = 0;
    for (size_t i = 0; i < m->space.n; i++) {
        unsigned char c = (unsigned char)m->space.p[i];
        char piece[8];
        static const char from[] = "\\\a\b\f\n\r\t\v", to[] = "\\abfnrtv";
        const char *at = c ? strchr(from, c) : NULL;
        if (at) snprintf(piece, sizeof piece, "\\%c", to[at - from]);
        else if (c >= 32 && c < 127) snprintf(piece, sizeof piece, "%c", c);
        else snprintf(piece, sizeof piece, "\\%03o", c);
        size_t n = strlen(piece);
        if (width > 1 && column + n > (size_t)width - 1) { buffer_puts(&b, "\\\n"); column = 0; }
        buffer_puts(&b, piece);
        column += n;
    }
    buffer_puts(&b, "$\n");
    put_raw(m, target(m), b.p, b.n);
    buffer_free(&b);
}

static void queue_line_of(machine *m, sed_command *k) {
    const char *text;
    if (!k->source && !(k->source = io_open(k->text, O_RDONLY, 0))) k->source = io_null();
    ssize_t n = io_line(k->source, &text, m->delim);
    if (n < 0) return;
    buffer b = {.t = m->t};
    buffer_add(&b, text, (size_t)n);
    if (text[n - 1] != m->delim) buffer_putc(&b, m->delim);
    append_later(m, b.p, b.n, NULL, NULL);
}

enum { NEXT_COMMAND, END_CYCLE, DELETE_CYCLE, RESTART, STOP };

/* The commands that change only the two spaces. */
static void run_simple(machine *m, sed_command *k) {
    buffer swap;
    switch (k->name) {
    case 'g': m->space.n = 0; buffer_add(&m->space, m->hold.p, m->hold.n); break;
    case 'G': buffer_putc(&m->space, '\n'); buffer_add(&m->space, m->hold.p, m->hold.n); break;
    case 'h': m->hold.n = 0; buffer_add(&m->hold, m->space.p, m->space.n); break;
    case 'H': buffer_putc(&m->hold, '\n'); buffer_add(&m->hold, m->space.p, m->space.n); break;
    case 'x': swap = m->space; m->space = m->hold; m->hold = swap; break;
    case 'z': m->space.n = 0; break;
    case 'y': transliterate(m, k); break;
    case 'p': put(m, target(m), m->space.p, m->space.n, m->newline || 1); break;
    case 'P': {
        char *nl = memchr(m->space.p, '\n', m->space.n);
        put(m, target(m), m->space.p, nl ? (size_t)(nl - m->space.p) : m->space.n, 1);
        break;
    }
    case '=': { char *n = tool_format(m->t, "%lu\n", m->line); put_raw(m, target(m), n, strlen(n)); tool_free(m->t, n); break; }
    case 'F': { const char *n = strcmp(m->name, "-") ? m->name : "-"; put_raw(m, target(m), n, strlen(n)); io_putc(target(m)->to, '\n'); break; }
    case 'l': list_space(m, k->number >= 0 ? k->number : m->s->wrap); break;
    case 'i': put_raw(m, target(m), k->text, k->text_n); break;
    case 'a': append_later(m, k->text, k->text_n, NULL, NULL); break;
    case 'r': append_later(m, NULL, 0, k->text, NULL); break;
    case 'R': queue_line_of(m, k); break;
    case 'w': put(m, k->output, m->space.p, m->space.n, 1); io_flush(k->output->to); break;
    case 'W': {
        char *nl = memchr(m->space.p, '\n', m->space.n);
        put(m, k->output, m->space.p, nl ? (size_t)(nl - m->space.p) : m->space.n, 1);
        break;
    }
    case 'e': {
        buffer b = {.t = m->t};
        if (!*k->text) { run_space(m); break; }
        run_shell(m, k->text, &b);
        put_raw(m, target(m), b.p ? b.p : "", b.n);
        buffer_free(&b);
        break;
    }
    case 's':
        if (!substitute(m, k)) break;
        if (k->eval) run_space(m);
        if (k->print) put(m, target(m), m->space.p, m->space.n, 1);
        if (k->output) { put(m, k->output, m->space.p, m->space.n, 1); }
        break;
    }
}

/* One command; *pc is the next. */
static int run_command(machine *m, sed_command *k, int *pc) {
    switch (k->name) {
    case '{': case '}': case ':': case 'v': return NEXT_COMMAND;
    case 'b': *pc = k->target; return NEXT_COMMAND;
    case 't': if (m->replaced) { m->replaced = 0; *pc = k->target; } return NEXT_COMMAND;
    case 'T': if (!m->replaced) *pc = k->target; else m->replaced = 0; return NEXT_COMMAND;
    case 'c':
        if (k->a2.kind == ADDR_NONE || !k->active || k->negate) put_raw(m, target(m), k->text, k->text_n);
        return DELETE_CYCLE;
    case 'd': return DELETE_CYCLE;
    case 'D': {
        char *nl = memchr(m->space.p, '\n', m->space.n);
        if (!nl) return DELETE_CYCLE;
        size_t cut = (size_t)(nl - m->space.p) + 1;
        memmove(m->space.p, m->space.p + cut, m->space.n - cut);
        m->space.n -= cut;
        return RESTART;
    }
    case 'n':
        if (is_last(m) && !(m->s->separate && m->next_file < m->file_n)) {
            if (m->s->posix) return STOP;
            m->quit = 1;
            return END_CYCLE;
        }
        if (!m->s->quiet) put(m, target(m), m->space.p, m->space.n, m->newline);
        write_appended(m);
        if (!read_line(m, 0)) { m->quit = 1; return STOP; }
        return NEXT_COMMAND;
    case 'N':
        write_appended(m);
        if (!read_line(m, 1)) { if (!(m->s->separate && m->next_file < m->file_n)) m->quit = 1; return m->s->posix ? DELETE_CYCLE : END_CYCLE; }
        return NEXT_COMMAND;
    case 'q': m->quit = 1; m->exit_code = k->number; return END_CYCLE;
    case 'Q': m->quit = 1; m->exit_code = k->number; return STOP;
    default: run_simple(m, k); return NEXT_COMMAND;
    }
}

/* One cycle over the script. */
static int run_cycle(machine *m) {
    int pc = 0;
    while (pc < m->s->count) {
        sed_command *k = &m->s->commands[pc++];
        if (selects(m, k) == k->negate) {
            if (k->name == '{') pc = k->target;
            if (m->quit) return STOP;
            continue;
        }
        if (m->quit && m->exit_code) return STOP;
        int next = run_command(m, k, &pc);
        if (next != NEXT_COMMAND) return next;
        if (m->failed_write || (m->quit && m->exit_code)) { m->quit = 1; return STOP; }
    }
    return END_CYCLE;
}

int sed_run(sed_script *s, char **files, int n) {
    machine m = {.s = s, .t = s->t, .files = files, .file_n = n, .delim = s->zero ? '\0' : '\n', .newline = 1, .space = {.t = s->t}, .hold = {.t = s->t}, .ahead = {.t = s->t}};
    m.queue_end = &m.queue;
    buffer_puts(&m.space, "");
    buffer_puts(&m.hold, "");
    buffer_puts(&m.ahead, "");
    int restart = 0;
    while (!m.quit && (restart || read_line(&m, 0))) {
        m.replaced = restart ? m.replaced : 0;
        restart = 0;
        int end = run_cycle(&m);
        if (end == END_CYCLE && !s->quiet) put(&m, target(&m), m.space.p, m.space.n, m.newline);
        if (end == RESTART) restart = 1;
        write_appended(&m);
        if (m.failed_write) break;
        if (s->unbuffered) io_flush(s->t->out);
    }
    if (m.in && m.edit.to && m.quit) {
        /* q with -i: the rest of the file is kept */
        const char *text;
        ssize_t got;
        if (m.have_ahead) put(&m, &m.edit, m.ahead.p, m.ahead.n, m.ahead_newline);
        while ((got = io_line(m.in, &text, m.delim)) > 0) io_write(m.edit.to, text, (size_t)got);
    }
    if (m.in && !m.edit.to && m.have_ahead && io_seek(m.in, 0, SEEK_CUR) >= 0) io_seek(m.in, -(off_t)(m.ahead.n + (size_t)m.ahead_newline), SEEK_CUR);
    close_input(&m);
    for (int i = 0; i < s->count; i++) io_unref(s->commands[i].source);
    for (sed_output *o = s->outputs; o; o = o->next) io_unref(o->to);
    if (m.failed_write) return 4;
    return m.quit && m.exit_code ? m.exit_code : m.status;
}
