/* sed_run.c - running a sed script: addresses, the cycle, and the commands. */
#include "sed_run.h"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* A line of sed's own: what = i c F say. */
static void put_line(machine *m, const char *text, size_t n) {
    sed_put_raw(m, sed_target(m), text, n);
    io_putc(sed_target(m)->to, m->delim);
}

static void append_later(machine *m, const char *text, size_t n, const char *path, io *from) {
    appended *a = tool_alloc(m->t, sizeof *a);
    *a = (appended){text, n, path, from, NULL};
    *m->queue_end = a;
    m->queue_end = &a->next;
}

static void write_appended(machine *m) {
    sed_output *o = sed_target(m);
    for (appended *a = m->queue, *next; a; a = next) {
        next = a->next;
        if (a->text) sed_put_raw(m, o, a->text, a->n);
        else if (a->path) {
            io *from = !strcmp(a->path, "/dev/stdin") ? io_ref(m->t->in) : io_open(a->path, O_RDONLY, 0);
            char block[8192];
            ssize_t got;
            if (from) while ((got = io_read(from, block, sizeof block)) > 0) {
                sed_put_raw(m, o, block, (size_t)got);
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
    if (!r) {
        m->quit = 1;
        m->exit_code = tool_fail(m->t, 1, "-e expression #1, char 0: no previous regular expression");
        return 0;
    }
    int hit = regex_test(r, m->space.p, m->space.n);
    if (hit < 0) { m->quit = 1; m->exit_code = tool_fail(m->t, 4, "regular expression too complex"); return 0; }
    return hit;
}

static int address_hits(machine *m, const sed_addr *a) {
    switch (a->kind) {
    case ADDR_LINE: return m->line == a->n;
    case ADDR_STEP: return a->n > m->line ? 0 : (m->line - a->n) % a->step == 0;
    case ADDR_LAST: return sed_is_last(m);
    case ADDR_REGEX: return regex_hits(m, a->regex);
    default: return 0;
    }
}

/* A range that began at a line number is over for good. */
static void end_range(sed_command *k) {
    k->active = 0;
    k->closed = k->a1.kind == ADDR_LINE || k->a1.kind == ADDR_ZERO;
}

/* Whether a range that is not active begins here. One that begins at a line number also does when that line went by while the
 * command was not reached; of one whose last line went by too, at most the first line counts. */
static int begins_range(machine *m, sed_command *k) {
    int numbered = k->a1.kind == ADDR_LINE;
    if (numbered ? k->closed || m->line < k->a1.n : !address_hits(m, &k->a1)) return 0;
    k->active = 1;
    switch (k->a2.kind) {
    case ADDR_LINE: k->end = k->a2.n; break;
    case ADDR_PLUS: k->end = m->line + k->a2.n; break;
    case ADDR_MULTIPLE: k->end = k->a2.n ? (m->line / k->a2.n + 1) * k->a2.n : m->line; break;
    case ADDR_LAST: if (sed_is_last(m)) end_range(k); return 1;
    default: return 1;
    }
    if (m->line < k->end) return 1;
    end_range(k);
    return !numbered || m->line <= k->end || m->line == k->a1.n;
}

/* Whether the command applies to this line; keeps track of ranges. */
static int selects(machine *m, sed_command *k) {
    if (k->a1.kind == ADDR_NONE) return 1;
    if (k->a2.kind == ADDR_NONE) return address_hits(m, &k->a1);
    if (!k->active) return begins_range(m, k);
    switch (k->a2.kind) {
    case ADDR_REGEX: if (regex_hits(m, k->a2.regex)) end_range(k); return 1;
    case ADDR_LAST: if (sed_is_last(m)) end_range(k); return 1;
    default:
        if (m->line >= k->end) end_range(k);
        return m->line <= k->end || k->a2.kind != ADDR_LINE;
    }
}

/* Commands that name the same file read it together. */
static io *shared_source(const sed_script *s, const sed_command *k) {
    for (const sed_command *c = s->commands; c < s->commands + s->count; c++)
        if (c->name == 'R' && c->source && !strcmp(c->text, k->text)) return c->source;
    return NULL;
}

static void queue_line_of(machine *m, sed_command *k) {
    const char *text;
    if (!k->source && (k->source = shared_source(m->s, k))) io_ref(k->source);
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
    case 'g': case 'G':
        if (k->name == 'g') m->space.n = 0; else buffer_putc(&m->space, m->delim);
        buffer_add(&m->space, m->hold.p, m->hold.n);
        m->newline = m->hold_newline;
        break;
    case 'h': case 'H':
        if (k->name == 'h') m->hold.n = 0; else buffer_putc(&m->hold, m->delim);
        buffer_add(&m->hold, m->space.p, m->space.n);
        m->hold_newline = m->newline;
        break;
    case 'x': {
        int ended = m->newline;
        swap = m->space;
        m->space = m->hold;
        m->hold = swap;
        m->newline = m->hold_newline;
        m->hold_newline = ended;
        break;
    }
    case 'z': m->space.n = 0; break;
    case 'y': sed_transliterate(m, k); break;
    case 'p': sed_put(m, sed_target(m), m->space.p, m->space.n, m->newline); break;
    case 'P': {
        char *nl = memchr(m->space.p, m->delim, m->space.n);
        sed_put(m, sed_target(m), m->space.p, nl ? (size_t)(nl - m->space.p) : m->space.n, nl || m->newline);
        break;
    }
    case '=': {
        char *n = tool_format(m->t, "%lu", m->line);
        put_line(m, n, strlen(n));
        tool_free(m->t, n);
        break;
    }
    case 'F': {
        const char *n = strcmp(m->name, "-") ? m->name : "-";
        put_line(m, n, strlen(n));
        break;
    }
    case 'l': sed_list_space(m, k->number >= 0 ? k->number : m->s->wrap); break;
    case 'i': if (k->text_n) put_line(m, k->text, k->text_n - 1); break;
    case 'a': append_later(m, k->text, k->text_n, NULL, NULL); break;
    case 'r': append_later(m, NULL, 0, k->text, NULL); break;
    case 'R': queue_line_of(m, k); break;
    case 'w': sed_put(m, k->output, m->space.p, m->space.n, m->newline); io_flush(k->output->to); break;
    case 'W': {
        char *nl = memchr(m->space.p, m->delim, m->space.n);
        sed_put(m, k->output, m->space.p, nl ? (size_t)(nl - m->space.p) : m->space.n, nl || m->newline);
        break;
    }
    case 'e': {
        buffer b = {.t = m->t};
        if (!*k->text) { sed_run_space(m); break; }
        sed_run_shell(m, k->text, &b);
        sed_put_raw(m, sed_target(m), b.p ? b.p : "", b.n);
        buffer_free(&b);
        break;
    }
    case 's':
        if (!sed_substitute(m, k)) break;
        if (k->eval && k->print & PRINT_BEFORE) sed_put(m, sed_target(m), m->space.p, m->space.n, m->newline);
        if (k->eval) sed_run_space(m);
        if (k->print & (k->eval ? PRINT_AFTER : PRINT_BEFORE)) sed_put(m, sed_target(m), m->space.p, m->space.n, m->newline);
        if (k->output) sed_put(m, k->output, m->space.p, m->space.n, m->newline);
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
        if (k->text_n && (k->a2.kind == ADDR_NONE || !k->active || k->negate)) put_line(m, k->text, k->text_n - 1);
        return DELETE_CYCLE;
    case 'd': return DELETE_CYCLE;
    case 'D': {
        char *nl = memchr(m->space.p, m->delim, m->space.n);
        if (!nl) return DELETE_CYCLE;
        size_t cut = (size_t)(nl - m->space.p) + 1;
        memmove(m->space.p, m->space.p + cut, m->space.n - cut);
        m->space.n -= cut;
        return RESTART;
    }
    case 'n':
        if (sed_is_last(m)) {
            int more = m->s->separate && m->next_file < m->file_n;
            m->quit = !more;
            return END_CYCLE;
        }
        if (!m->s->quiet) sed_put(m, sed_target(m), m->space.p, m->space.n, m->newline);
        write_appended(m);
        if (!sed_read_line(m, 0)) { m->quit = 1; return STOP; }
        return NEXT_COMMAND;
    case 'N':
        write_appended(m);
        if (!sed_read_line(m, 1)) {
            if (!(m->s->separate && m->next_file < m->file_n)) m->quit = 1;
            return m->s->posix || m->s->correct ? DELETE_CYCLE : END_CYCLE;
        }
        return NEXT_COMMAND;
    case 'q': m->quit = m->at_q = 1; m->exit_code = k->number; return END_CYCLE;
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

/* What 0r says comes before the first line. */
static void begin_file(machine *m) {
    for (int i = 0; i < m->s->count; i++) {
        sed_command *k = &m->s->commands[i];
        if (k->name == 'r' && k->a1.kind == ADDR_ZERO && k->a2.kind == ADDR_NONE) append_later(m, NULL, 0, k->text, NULL);
    }
    write_appended(m);
}

int sed_run(sed_script *s, char **files, int n) {
    machine m = {.s = s,
        .t = s->t,
        .files = files,
        .file_n = n,
        .delim = s->zero ? '\0' : '\n',
        .newline = 1,
        .hold_newline = 1,
        .space = {.t = s->t},
        .hold = {.t = s->t},
        .ahead = {.t = s->t}};
    m.queue_end = &m.queue;
    buffer_puts(&m.space, "");
    buffer_puts(&m.hold, "");
    buffer_puts(&m.ahead, "");
    held_start(&m.held, s->t);
    s->out.to = s->standard.to = s->t->out;
    int restart = 0;
    while (!m.quit && (restart || sed_read_line(&m, 0))) {
        m.replaced = restart ? m.replaced : 0;
        if (!restart && m.line == 1) begin_file(&m);
        restart = 0;
        int end = run_cycle(&m);
        if (end == END_CYCLE && !s->quiet) sed_put(&m, sed_target(&m), m.space.p, m.space.n, m.newline);
        if (m.quit && end == END_CYCLE && m.at_q) sed_put_raw(&m, sed_target(&m), "", 0);
        if (end == RESTART) restart = 1;
        if (end != STOP) write_appended(&m);
        if (m.failed_write) break;
        if (s->unbuffered) held_flush(&m.held);
    }
    if (m.in && !m.edit.to && m.have_ahead && io_seek(m.in, 0, SEEK_CUR) >= 0)
        io_seek(m.in, -(off_t)(m.ahead.n + (size_t)m.ahead_newline), SEEK_CUR);
    if (m.in && !s->unbuffered) io_take_block(m.in);
    sed_close_input(&m);
    for (int i = 0; i < s->count; i++) io_unref(s->commands[i].source);
    for (sed_output *o = s->outputs; o; o = o->next) io_unref(o->to);
    held_end(&m.held);
    if (m.failed_write || io_failed(s->t->out)) return 4;
    return m.quit && m.exit_code ? m.exit_code : m.status;
}
