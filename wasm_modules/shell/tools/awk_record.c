/* awk_record.c - where records come from: the main input and its files, and how a stream falls into records. */
#include "awk.h"
#include "../utf8.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* More bytes behind s->rest; keeps what is unread. 0 at the end. */
static int more(astream *s) {
    if (s->eof) return 0;
    if (s->at > 1) {                   /* the byte before stays: ^ matches at the beginning of all alone */
        size_t gone = s->at - 1;
        memmove(s->rest.p, s->rest.p + gone, s->rest.n - gone);
        s->rest.n -= gone;
        s->at = 1;
    }
    size_t room = s->rest.n < 32768 ? 32768 : s->rest.n;
    buffer_reserve(&s->rest, room);
    ssize_t got = io_read(s->s, s->rest.p + s->rest.n, room);
    if (got <= 0) { s->eof = 1; return 0; }
    s->rest.n += (size_t)got;
    return 1;
}

static void set_rt(awk *A, const char *text, size_t n) {
    cell *rt = &A->vars[VAR_RT];
    if (rt->type & V_STR && rt->str->n == n && !memcmp(rt->str->text, text, n)) return;
    cell_drop(A, *rt);
    *rt = cell_str(astr_new(A, text, n));
}

static int read_by_char(awk *A, astream *s, astr **record, char mark) {
    if (s->at == s->rest.n && !s->eof) {
        /* nothing buffered: take a line straight from the stream */
        const char *line;
        ssize_t n = io_line(s->s, &line, mark);
        if (n < 0) { s->eof = 1; return io_failed(s->s) ? -1 : 0; }
        int ended = line[n - 1] == mark;
        *record = astr_new(A, line, (size_t)n - (size_t)ended);
        set_rt(A, &mark, (size_t)ended);
        return 1;
    }
    size_t seen = 0;
    for (;;) {
        char *from = s->rest.p + s->at,
             *stop = s->rest.n > s->at + seen ? memchr(from + seen, mark, s->rest.n - s->at - seen) : NULL;
        if (stop) {
            *record = astr_new(A, from, (size_t)(stop - from));
            s->at += (size_t)(stop - from) + 1;
            set_rt(A, &mark, 1);
            return 1;
        }
        seen = s->rest.n - s->at;
        if (!more(s)) {
            if (!seen) return io_failed(s->s) ? -1 : 0;
            *record = astr_new(A, s->rest.p + s->at, seen);
            s->at = s->rest.n;
            set_rt(A, "", 0);
            return 1;
        }
    }
}

static int read_by_regex(awk *A, astream *s, astr **record, regex *re, int paragraph) {
    regex_span m;
    while (paragraph) {
        while (s->at < s->rest.n && s->rest.p[s->at] == '\n') s->at++;
        if (s->at < s->rest.n || !more(s)) break;
    }
    for (;;) {
        size_t n = s->rest.n - s->at, all = s->rest.n;
        /* a match that touches the end of what we have may grow */
        if (n && regex_exec(re, s->rest.p, all, s->at, &m, 1) > 0 && m.end > m.start && ((size_t)m.end < all || s->eof)) {
            *record = astr_new(A, s->rest.p + s->at, (size_t)m.start - s->at);
            set_rt(A, s->rest.p + m.start, (size_t)(m.end - m.start));
            s->at = (size_t)m.end;
            return 1;
        }
        if (more(s)) continue;
        n = s->rest.n - s->at;
        if (n && regex_exec(re, s->rest.p, s->rest.n, s->at, &m, 1) > 0 && m.end > m.start) continue;
        if (!n) return io_failed(s->s) ? -1 : 0;
        size_t len = n;
        if (paragraph) while (len && s->rest.p[s->at + len - 1] == '\n') len--;
        *record = astr_new(A, s->rest.p + s->at, len);
        set_rt(A, s->rest.p + s->at + len, n - len);
        s->at = s->rest.n;
        return 1;
    }
}

/* --csv: a line whose quotes are not closed goes on in the next one. */
static int read_csv(awk *A, astream *s, astr **record) {
    size_t seen = 0;
    int quoted = 0;
    for (;;) {
        for (; s->at + seen < s->rest.n; seen++) {
            char c = s->rest.p[s->at + seen];
            if (c == '"') quoted = !quoted;
            if (c != '\n' || quoted) continue;
            size_t n = seen && s->rest.p[s->at + seen - 1] == '\r' ? seen - 1 : seen;
            *record = astr_new(A, s->rest.p + s->at, n);
            s->at += seen + 1;
            set_rt(A, "\n", 1);
            return 1;
        }
        if (more(s)) continue;
        if (!seen) return io_failed(s->s) ? -1 : 0;
        *record = astr_new(A, s->rest.p + s->at, seen);
        s->at = s->rest.n;
        set_rt(A, "", 0);
        return 1;
    }
}

int awk_record_read(awk *A, astream *s, astr **record) {
    if (A->split_mode == 'C') return read_csv(A, s, record);
    astr *rs = cell_string(A, &A->vars[VAR_RS], 0);
    int result;
    if (rs->n == 1 && A->vars[VAR_RS].type & V_REGEX) {
        regex *re = awk_regex_cached(A, rs);
        result = re ? read_by_regex(A, s, record, re, 0) : -1;
    } else if (rs->n == 1 || (rs->n && A->is_traditional)) result = read_by_char(A, s, record, rs->text[0]);
    else {
        astr *pattern = rs->n ? astr_ref(rs) : astr_new(A, "\n\n+", 3);
        regex *re = awk_regex_cached(A, pattern);
        result = re ? read_by_regex(A, s, record, re, !rs->n) : -1;
        astr_unref(A, pattern);
    }
    astr_unref(A, rs);
    return result;
}

/* Assignment operands: var=value. */
static int assignment(awk *A, const char *arg) {
    const char *eq = strchr(arg, '=');
    if (!eq || eq == arg || !(isalpha((unsigned char)*arg) || *arg == '_')) return 0;
    for (const char *p = arg; p < eq; p++) if (!isalnum((unsigned char)*p) && *p != '_') return 0;
    int v = awk_variable(A, arg, (size_t)(eq - arg));
    if (v < 0) return 1;
    cell_drop(A, A->vars[v]);
    A->vars[v] = awk_option_value(A, eq + 1);
    anode place = {.kind = E_VAR, .index = v};
    awk_place_assigned(A, &place, v);
    return 1;
}

/* -i inplace: from here to the end of the file, printing goes to memory. */
static void set_output_aside(awk *A) {
    A->real_out = A->t->out;
    A->t->out = io_pipe();
}

static void write_in_place(awk *A) {
    size_t n;
    const char *text = io_bytes(A->t->out, &n);
    astr *path = cell_string(A, &A->vars[VAR_FILENAME], 0);
    io *to = io_open(path->text, O_WRONLY | O_TRUNC | O_CREAT, 0666);
    if (!to || io_write(to, text, n) < 0 || io_flush(to) < 0)
        awk_fatal(A, "inplace: cannot write `%s': %s", path->text, strerror(errno));
    io_unref(to);
    io_unref(A->t->out);
    astr_unref(A, path);
    A->t->out = A->real_out;
    A->real_out = NULL;
}

static int has_rule(awk *A, int kind) {
    for (int r = 0; r < A->rule_count; r++) if (A->rules[r].kind == kind) return 1;
    return 0;
}

/* FILENAME and FNR for a new file; takes the reference. */
static void name_file(awk *A, astr *path) {
    cell_drop(A, A->vars[VAR_FILENAME]);
    A->vars[VAR_FILENAME] = cell_input(A, path);
    cell_drop(A, A->vars[VAR_FNR]);
    A->vars[VAR_FNR] = cell_num(0);
}

/* Opens the next file operand. 0 when there is none left. */
static int open_next(awk *A) {
    for (;;) {
        cell *argc = &A->vars[VAR_ARGC];
        int count = (int)cell_number(argc);
        if (A->next_arg >= count) {
            if (A->used_file) return 0;
            A->used_file = 1;
            name_file(A, astr_new(A, "-", 1));
            A->input = tool_alloc(A->t, sizeof *A->input);
            A->input->s = io_ref(A->t->in);
            A->input->rest.t = A->t;
            return 1;
        }
        char key[16];
        char *k = key + 15;
        int i = A->next_arg++;
        *k = '\0';
        do *--k = (char)('0' + i % 10); while (i /= 10);
        astr *name = astr_new(A, k, strlen(k));
        cell *arg = amap_get(A, A->vars[VAR_ARGV].arr, name, 0);
        astr_unref(A, name);
        if (!arg) continue;
        astr *path = cell_string(A, arg, 0);
        A->vars[VAR_ARGIND].num = A->next_arg - 1;
        if (!path->n || assignment(A, path->text)) { astr_unref(A, path); continue; }
        A->used_file = 1;
        struct stat st;
        int standard = !strcmp(path->text, "-") || !strcmp(path->text, "/dev/stdin");
        io *s = NULL;
        if (!standard && path_stat(path->text, &st) == 0 && S_ISDIR(st.st_mode)) {
            awk_out_flush(A);
            tool_fail(A->t, 0, "warning: command line argument `%s' is a directory: skipped", path->text);
            astr_unref(A, path);
            continue;
        }
        s = standard ? io_ref(A->t->in) : io_open(path->text, O_RDONLY, 0);
        int told = !s && has_rule(A, 'f');       /* BEGINFILE decides: nextfile skips it, else it is fatal after all */
        int problem = s ? 0 : errno;
        if (told) {
            name_file(A, path);
            awk_errno_set(A, problem);
            for (int r = 0; r < A->rule_count; r++) {
                if (A->rules[r].kind != 'f') continue;
                int run = awk_exec(A, A->rules[r].body);
                if (run == RUN_EXIT) return 0;
                if (run == RUN_NEXTFILE) { told = 0; break; }
            }
            awk_errno_set(A, 0);
            if (!told) continue;
        }
        if (!s) {
            awk_out_flush(A);
            tool_fail(A->t, 2, "fatal: cannot open file `%s' for reading: %s", path->text, strerror(problem));
            A->exit_code = 2;
            A->fatal = 1;
            if (!told) astr_unref(A, path);
            return 0;
        }
        A->input = tool_alloc(A->t, sizeof *A->input);
        A->input->s = s;
        A->input->rest.t = A->t;
        name_file(A, path);
        if (A->in_place && !standard) set_output_aside(A);
        for (int r = 0; r < A->rule_count; r++)
            if (A->rules[r].kind == 'f' && awk_exec(A, A->rules[r].body) == RUN_EXIT) return 0;
        return 1;
    }
}

void awk_file_next(awk *A) {
    if (!A->input) return;
    io_unref(A->input->s);
    buffer_free(&A->input->rest);
    tool_free(A->t, A->input);
    A->input = NULL;
    for (int r = 0; r < A->rule_count; r++) if (A->rules[r].kind == 'e') awk_exec(A, A->rules[r].body);
    if (A->real_out) write_in_place(A);
}

int awk_record_next(awk *A) {
    for (;;) {
        if (!A->input && !open_next(A)) return 0;
        if (A->fatal || A->exiting) return 0;
        astr *record;
        if (awk_record_read(A, A->input, &record) > 0) {
            awk_record_set(A, record);
            A->vars[VAR_NR] = cell_num(cell_number(&A->vars[VAR_NR]) + 1);
            A->vars[VAR_FNR] = cell_num(cell_number(&A->vars[VAR_FNR]) + 1);
            return 1;
        }
        awk_file_next(A);
        if (A->exiting) return 0;
    }
}

/* The number that Linux has for an error, which scripts know it by; WASI counts otherwise. */
static int linux_number(int code) {
    static const struct { int code, number; } numbers[] = {{EPERM, 1}, {ENOENT, 2}, {EINTR, 4}, {EIO, 5}, {EBADF, 9}, {EAGAIN, 11},
        {ENOMEM, 12}, {EACCES, 13}, {EBUSY, 16}, {EEXIST, 17}, {ENOTDIR, 20}, {EISDIR, 21}, {EINVAL, 22}, {EMFILE, 24}, {EFBIG, 27},
        {ENOSPC, 28}, {ESPIPE, 29}, {EROFS, 30}, {EPIPE, 32}, {ENAMETOOLONG, 36}, {ENOTEMPTY, 39}, {ELOOP, 40}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) if (numbers[i].code == code) return numbers[i].number;
    return code;
}

void awk_errno_set(awk *A, int code) {
    const char *text = code ? strerror(code) : "";
    cell_drop(A, A->vars[VAR_ERRNO]);
    A->vars[VAR_ERRNO] = cell_str(astr_new(A, text, strlen(text)));
    if (A->uses_info && A->vars[VAR_PROCINFO].type & V_ARRAY) *amap_at(A, A->vars[VAR_PROCINFO].arr, "errno") = cell_num(linux_number(code));
}

void awk_record_set(awk *A, astr *s) {
    astr_unref(A, A->record);
    A->record = s;
    A->split_done = 0;
    A->record_stale = A->record_is_text = 0;
}
