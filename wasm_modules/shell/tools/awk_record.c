/* awk_record.c - where records come from, how they fall into fields, and the streams of print and getline. */
#include "awk.h"
#include "../utf8.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int awk_run_command(awk *A, astr *command, io *in, io *out) {
    tool sub = *A->t;
    char *words[] = {"bash", "-c", tool_strndup(A->t, command->text, command->n), NULL};
    if (!A->t->run) return 127;
    awk_streams_flush(A);
    sub.in = in ? in : A->t->in;
    sub.out = out ? out : A->t->out;
    int status = A->t->run(&sub, 3, words);
    A->t->arena = sub.arena;
    return status;
}

astream *awk_stream_find(awk *A, astr *name, int kind, int make) {
    for (astream *s = A->streams; s; s = s->next)
        if ((s->kind == kind || (strchr(">a", kind) && strchr(">a", s->kind))) && s->name->n == name->n && !memcmp(s->name->text, name->text, name->n)) return s;
    if (!make) return NULL;
    astream *s = tool_alloc(A->t, sizeof *s);
    s->kind = kind;
    s->rest.t = A->t;
    const char *path = name->text;
    if (kind == '|') s->s = io_pipe();
    else if (kind == 'p') {
        s->s = io_pipe();
        if (s->s) s->status = awk_run_command(A, name, NULL, s->s);
    } else if (kind == '<') s->s = !strcmp(path, "-") || !strcmp(path, "/dev/stdin") ? io_ref(A->t->in) : io_open(path, O_RDONLY, 0);
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
    if (s->kind == '|') status = awk_run_command(A, s->name, s->s, NULL);
    else if (s->kind != '<' && s->kind != 'p' && io_flush(s->s) < 0) status = -1;
    io_unref(s->s);
    s->s = NULL;
    return status;
}

int awk_stream_close(awk *A, astr *name) {
    int status = -1;
    for (astream **link = &A->streams; *link;) {
        astream *s = *link;
        if (s->name->n != name->n || memcmp(s->name->text, name->text, name->n)) { link = &s->next; continue; }
        *link = s->next;
        status = finish(A, s);
        astr_unref(A, s->name);
        buffer_free(&s->rest);
    }
    return status;
}

void awk_streams_flush(awk *A) {
    for (astream *s = A->streams; s; s = s->next) if (s->kind == '>' || s->kind == 'a') io_flush(s->s);
}

/* More bytes behind s->rest; keeps what is unread. 0 at the end. */
static int more(astream *s) {
    if (s->eof) return 0;
    if (s->at) {
        memmove(s->rest.p, s->rest.p + s->at, s->rest.n - s->at);
        s->rest.n -= s->at;
        s->at = 0;
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
    if (s->at == s->rest.n && !s->eof && !s->rest.n) {
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
        char *from = s->rest.p + s->at, *stop = s->rest.n > s->at + seen ? memchr(from + seen, mark, s->rest.n - s->at - seen) : NULL;
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
        size_t n = s->rest.n - s->at;
        /* a match that touches the end of what we have may grow */
        if (n && regex_exec(re, s->rest.p + s->at, n, 0, &m, 1) > 0 && m.end > m.start && ((size_t)m.end < n || s->eof)) {
            *record = astr_new(A, s->rest.p + s->at, (size_t)m.start);
            set_rt(A, s->rest.p + s->at + m.start, (size_t)(m.end - m.start));
            s->at += (size_t)m.end;
            return 1;
        }
        if (more(s)) continue;
        if (n && regex_exec(re, s->rest.p + s->at, n, 0, &m, 1) > 0 && m.end > m.start) continue;
        if (!n) return io_failed(s->s) ? -1 : 0;
        size_t len = n;
        if (paragraph) while (len && s->rest.p[s->at + len - 1] == '\n') len--;
        *record = astr_new(A, s->rest.p + s->at, len);
        set_rt(A, s->rest.p + s->at + len, n - len);
        s->at = s->rest.n;
        return 1;
    }
}

int awk_record_read(awk *A, astream *s, astr **record) {
    astr *rs = cell_string(A, &A->vars[VAR_RS], 0);
    int result;
    if (rs->n == 1) result = read_by_char(A, s, record, rs->text[0]);
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
    buffer b = {.t = A->t};
    buffer_puts(&b, "");
    for (const char *p = eq + 1; *p; p++) {
        if (*p != '\\' || !p[1]) { buffer_putc(&b, *p); continue; }
        p++;
        static const char from[] = "ntrabfv\\\"/", to[] = "\n\t\r\a\b\f\v\\\"/";
        const char *at = strchr(from, *p);
        if (at) buffer_putc(&b, to[at - from]);
        else if (*p >= '0' && *p <= '7') {
            int v = 0;
            for (int i = 0; i < 3 && *p >= '0' && *p <= '7'; i++) v = v * 8 + *p++ - '0';
            p--;
            buffer_putc(&b, v);
        } else { buffer_putc(&b, '\\'); buffer_putc(&b, *p); }
    }
    int v = awk_variable(A, arg, (size_t)(eq - arg));
    cell_drop(A, A->vars[v]);
    A->vars[v] = cell_input(astr_new(A, b.p, b.n));
    anode place = {.kind = E_VAR, .index = v};
    awk_place_assigned(A, &place, v);
    return 1;
}

/* Opens the next file operand. 0 when there is none left. */
static int open_next(awk *A) {
    for (;;) {
        cell *argc = &A->vars[VAR_ARGC];
        int count = (int)cell_number(argc);
        if (A->next_arg >= count) {
            if (A->used_file) return 0;
            A->used_file = 1;
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
        if (!path->n || assignment(A, path->text)) { astr_unref(A, path); continue; }
        A->used_file = 1;
        struct stat st;
        int standard = !strcmp(path->text, "-") || !strcmp(path->text, "/dev/stdin");
        io *s = NULL;
        if (!standard && stat(path->text, &st) == 0 && S_ISDIR(st.st_mode)) {
            tool_fail(A->t, 0, "warning: command line argument `%s' is a directory: skipped", path->text);
            astr_unref(A, path);
            continue;
        }
        s = standard ? io_ref(A->t->in) : io_open(path->text, O_RDONLY, 0);
        if (!s) {
            tool_fail(A->t, 2, "fatal: cannot open file `%s' for reading: %s", path->text, strerror(errno));
            A->exit_code = 2;
            A->fatal = 1;
            astr_unref(A, path);
            return 0;
        }
        A->input = tool_alloc(A->t, sizeof *A->input);
        A->input->s = s;
        A->input->rest.t = A->t;
        cell_drop(A, A->vars[VAR_FILENAME]);
        A->vars[VAR_FILENAME] = cell_input(path);
        cell_drop(A, A->vars[VAR_FNR]);
        A->vars[VAR_FNR] = cell_num(0);
        for (int r = 0; r < A->rule_count; r++) if (A->rules[r].kind == 'f' && awk_exec(A, A->rules[r].body) == RUN_EXIT) return 0;
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

void awk_record_set(awk *A, astr *s) {
    astr_unref(A, A->record);
    A->record = s;
    A->split_done = 0;
    A->record_stale = 0;
}

static void reserve_fields(awk *A, int n) {
    if (n < A->fields_cap) return;
    int cap = A->fields_cap ? A->fields_cap : 32;
    while (cap <= n) cap *= 2;
    A->fields = tool_realloc(A->t, A->fields, (size_t)cap * sizeof *A->fields);
    A->fields_cap = cap;
}

typedef void piece_fn(awk *A, void *context, const char *text, size_t n, const char *sep, size_t sep_n);

static void add_field(awk *A, void *context, const char *text, size_t n, const char *sep, size_t sep_n) {
    (void)context; (void)sep; (void)sep_n;
    reserve_fields(A, A->nf + 1);
    cell *f = &A->fields[++A->nf];
    cell_drop(A, *f);
    *f = cell_input(astr_new(A, text, n));
}

/* Cuts text by fs ("" each character, " " blanks, one character, or re) and hands out the pieces. */
static void cut(awk *A, const char *p, size_t n, const astr *fs, regex *re, int newline_too, piece_fn *each, void *context) {
    const char *end = p + n;
    if (fs && fs->n == 1 && fs->text[0] == ' ') {
        const char *sep = p;
        for (;;) {
            sep = p;
            while (p < end && (*p == ' ' || *p == '\t' || *p == '\n')) p++;
            if (p >= end) return;
            (void)sep;
            const char *start = p;
            while (p < end && *p != ' ' && *p != '\t' && *p != '\n') p++;
            const char *gap = p;
            while (gap < end && (*gap == ' ' || *gap == '\t' || *gap == '\n')) gap++;
            each(A, context, start, (size_t)(p - start), p, (size_t)(gap - p));
        }
    }
    if (!n) return;
    if (fs && !fs->n) {
        while (p < end) {
            int c, len = utf8_decode(p, (size_t)(end - p), &c);
            each(A, context, p, (size_t)len, p, 0);
            p += len;
        }
        return;
    }
    if (fs && fs->n == 1 && !re) {
        char mark = fs->text[0];
        for (;;) {
            const char *stop = memchr(p, mark, (size_t)(end - p));
            if (newline_too) {
                const char *nl = memchr(p, '\n', (size_t)((stop ? stop : end) - p));
                if (nl) stop = nl;
            }
            each(A, context, p, (size_t)((stop ? stop : end) - p), stop ? stop : end, stop ? 1 : 0);
            if (!stop) return;
            p = stop + 1;
        }
    }
    const char *base = p;
    size_t at = 0, piece = 0;
    regex_span m;
    while (at <= n && regex_exec(re, base, n, at, &m, 1) > 0) {
        if (m.end == m.start) { at = (size_t)m.end + 1; continue; }
        size_t stop = (size_t)m.start;
        if (newline_too) {
            const char *nl = memchr(base + piece, '\n', stop - piece);
            if (nl) { each(A, context, base + piece, (size_t)(nl - base) - piece, nl, 1); piece = at = (size_t)(nl - base) + 1; continue; }
        }
        each(A, context, base + piece, stop - piece, base + stop, (size_t)(m.end - m.start));
        piece = at = (size_t)m.end;
    }
    while (newline_too) {
        const char *nl = memchr(base + piece, '\n', n - piece);
        if (!nl) break;
        each(A, context, base + piece, (size_t)(nl - base) - piece, nl, 1);
        piece = (size_t)(nl - base) + 1;
    }
    each(A, context, base + piece, n - piece, end, 0);
}

static void split_widths(awk *A, const char *p, size_t n) {
    astr *widths = cell_string(A, &A->vars[VAR_FIELDWIDTHS], 0);
    const char *w = widths->text;
    size_t at = 0;
    while (at < n) {
        while (isspace((unsigned char)*w)) w++;
        if (!*w) break;
        size_t skip = 0, width;
        char *end;
        if (*w == '*') { width = n; w++; }
        else {
            width = strtoul(w, &end, 10);
            if (end == w) break;
            if (*end == ':') { skip = width; w = end + 1; width = *w == '*' ? (end = (char *)w + 1, n) : strtoul(w, &end, 10); }
            w = end;
        }
        at += utf8_offset(p + at, n - at, skip);
        size_t len = utf8_offset(p + at, n - at, width);
        if (at >= n) break;
        add_field(A, NULL, p + at, len, NULL, 0);
        at += len;
    }
    astr_unref(A, widths);
}

static void split_pattern(awk *A, const char *p, size_t n) {
    astr *pattern = cell_string(A, &A->vars[VAR_FPAT], 0);
    regex *re = awk_regex_cached(A, pattern);
    regex_span m;
    for (size_t at = 0; re && at <= n && regex_exec(re, p, n, at, &m, 1) > 0;) {
        if (m.end == m.start) {
            /* an empty field counts where one may stand: at the start, or after a separator character */
            if (m.start == 0 || (size_t)m.start > 0) add_field(A, NULL, p + m.start, 0, NULL, 0);
            at = (size_t)m.end + 1;
            continue;
        }
        add_field(A, NULL, p + m.start, (size_t)(m.end - m.start), NULL, 0);
        at = (size_t)m.end;
        if (at < n) at++; else break;
        if (at == n) { if (regex_match_at(re, p, n, n, &m, 1) > 0) add_field(A, NULL, p + n, 0, NULL, 0); break; }
    }
    astr_unref(A, pattern);
}

void awk_fields_split(awk *A) {
    if (A->split_done) return;
    A->split_done = 1;
    A->nf = 0;
    if (A->split_mode == 'W') split_widths(A, A->record->text, A->record->n);
    else if (A->split_mode == 'P') split_pattern(A, A->record->text, A->record->n);
    else {
        astr *fs = cell_string(A, &A->vars[VAR_FS], 0), *rs = cell_string(A, &A->vars[VAR_RS], 0);
        regex *re = NULL;
        if (fs->n > 1 || (fs->n == 1 && fs->text[0] == '\\')) {
            if (fs->n == 1) { astr *two = astr_new(A, "\\\\", 2); re = awk_regex_cached(A, two); astr_unref(A, two); }
            else re = awk_regex_cached(A, fs);
        }
        else if (fs->n == 1 && fs->text[0] != ' ' && cell_true(&A->vars[VAR_IGNORECASE]) && isalpha((unsigned char)fs->text[0])) re = awk_regex_cached(A, fs);
        if (fs->n <= 1 || re) cut(A, A->record->text, A->record->n, fs->n <= 1 ? fs : NULL, re, !rs->n, add_field, NULL);
        astr_unref(A, fs);
        astr_unref(A, rs);
    }
    cell_drop(A, A->vars[VAR_NF]);
    A->vars[VAR_NF] = cell_num(A->nf);
}

/* Rebuilds $0 from the fields when one has changed. */
astr *awk_record_text(awk *A) {
    if (!A->record_stale) return A->record;
    astr *ofs = cell_string(A, &A->vars[VAR_OFS], 0);
    buffer b = {.t = A->t};
    buffer_puts(&b, "");
    for (int i = 1; i <= A->nf; i++) {
        astr *s = cell_string(A, &A->fields[i], 0);
        if (i > 1) buffer_add(&b, ofs->text, ofs->n);
        buffer_add(&b, s->text, s->n);
        astr_unref(A, s);
    }
    astr_unref(A, ofs);
    astr_unref(A, A->record);
    A->record = astr_new(A, b.p, b.n);
    A->record_stale = 0;
    buffer_free(&b);
    return A->record;
}

static void set_count(awk *A, int n) {
    reserve_fields(A, n + 1);
    for (int i = A->nf + 1; i <= n; i++) { cell_drop(A, A->fields[i]); A->fields[i] = cell_str(astr_ref(A->empty)); A->fields[i].type |= V_MAYBE; }
    A->nf = n;
    A->record_stale = 1;
}

cell *awk_field_get(awk *A, int i, int make) {
    awk_fields_split(A);
    if (i > A->nf) {
        if (!make) return NULL;
        if (i > 10000000) { awk_fatal(A, "field index too big"); return NULL; }
        set_count(A, i);
        A->vars[VAR_NF] = cell_num(i);
    }
    return &A->fields[i];
}

void awk_field_assigned(awk *A, int i) {
    if (i) { A->record_stale = 1; return; }
    cell c = A->fields[0];
    A->fields[0] = (cell){0};
    awk_record_set(A, cell_string(A, &c, 0));
    cell_drop(A, c);
}

void awk_nf_assigned(awk *A) {
    double want = cell_number(&A->vars[VAR_NF]);
    awk_fields_split(A);
    if (want < 0) { awk_fatal(A, "NF set to negative value"); return; }
    if (want > 10000000) { awk_fatal(A, "NF too big"); return; }
    set_count(A, (int)want);
    cell_drop(A, A->vars[VAR_NF]);
    A->vars[VAR_NF] = cell_num((int)want);
}

typedef struct { array *to, *seps; int n; } split_target;

static astr *index_key(awk *A, int i) {
    cell c = cell_num(i);
    return cell_string(A, &c, 0);
}

static void add_piece(awk *A, void *context, const char *text, size_t n, const char *sep, size_t sep_n) {
    split_target *t = context;
    astr *key = index_key(A, ++t->n);
    cell *c = amap_get(A, t->to, key, 1);
    *c = cell_input(astr_new(A, text, n));
    if (t->seps && sep_n) { c = amap_get(A, t->seps, key, 1); cell_drop(A, *c); *c = cell_str(astr_new(A, sep, sep_n)); }
    astr_unref(A, key);
}

int awk_split_text(awk *A, astr *s, array *to, array *seps, const cell *fs, regex *re) {
    split_target t = {to, seps, 0};
    astr *by = re ? NULL : cell_string(A, fs, 0);
    amap_clear(A, to);
    if (seps) amap_clear(A, seps);
    if (by && by->n > 1) re = awk_regex_cached(A, by);
    if (by && by->n == 1 && by->text[0] == '\\') { astr *two = astr_new(A, "\\\\", 2); re = awk_regex_cached(A, two); astr_unref(A, two); }
    if (re || (by && by->n <= 1)) cut(A, s->text, s->n, re ? NULL : by, re, 0, add_piece, &t);
    if (by) astr_unref(A, by);
    return t.n;
}
