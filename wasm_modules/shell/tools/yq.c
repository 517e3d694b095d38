/* yq.c - jq's language over YAML: reads YAML or JSON, writes YAML (the default) or JSON. */
#include "jq.h"
#include "yaml.h"
#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static int looks_like_number(const char *text) {
    char *end;
    if (!strncmp(text, "0o", 2)) return text[2] && !text[2 + strspn(text + 2, "01234567")];
    if (isalpha((unsigned char)text[strspn(text, "+-.")])) return 0;      /* inf and nan are words here */
    strtod(text, &end);
    return end != text && !*end;
}

/* Whether a string must be quoted to be read back as a string. */
static int needs_quotes(const jstr *s) {
    static const char *const words[] = {
        "null", "Null", "NULL", "true", "True", "TRUE", "false", "False", "FALSE", "~", "yes", "no", "on", "off", ".inf", ".nan"};
    if (!s->n || isspace((unsigned char)s->text[0]) || isspace((unsigned char)s->text[s->n - 1])) return 1;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) if (!strcmp(words[i], s->text)) return 1;
    if (strchr("!&*|>'\"%@`#,[]{}", s->text[0])) return 1;
    if ((s->text[0] == '-' || s->text[0] == '?' || s->text[0] == ':') && (s->n == 1 || s->text[1] == ' ')) return 1;
    if (looks_like_number(s->text)) return 1;
    for (uint32_t i = 0; i < s->n; i++) {
        unsigned char c = (unsigned char)s->text[i];
        if (c < 32 || c == 127) return 1;
        if (c == ':' && (i + 1 == s->n || s->text[i + 1] == ' ')) return 1;
        if (c == '#' && i && s->text[i - 1] == ' ') return 1;
    }
    return 0;
}

static void put_scalar(jctx *C, buffer *b, jv v, int indent) {
    if (v.kind != J_STRING) { jv s = json_text(C, v); buffer_add(b, s.s->text, s.s->n); jv_drop(C, s); return; }
    const char *nl = memchr(v.s->text, '\n', v.s->n);
    if (nl && !isspace((unsigned char)v.s->text[0]) && indent >= 0) {
        size_t n = v.s->n;
        int ended = v.s->text[n - 1] == '\n';
        buffer_puts(b, ended ? "|" : "|-");
        for (const char *p = v.s->text, *end = p + n - (ended ? 1 : 0);;) {
            const char *stop = memchr(p, '\n', (size_t)(end - p));
            if (!stop) stop = end;
            buffer_putc(b, '\n');
            if (stop > p) { for (int i = 0; i < indent + 2; i++) buffer_putc(b, ' '); buffer_add(b, p, (size_t)(stop - p)); }
            if (stop >= end) return;
            p = stop + 1;
        }
    }
    if (needs_quotes(v.s)) { jv s = json_text(C, v); buffer_add(b, s.s->text, s.s->n); jv_drop(C, s); return; }
    buffer_add(b, v.s->text, v.s->n);
}

static void put_node(jctx *C, buffer *b, jv v, int indent, int inline_start) {
    if (tool_too_deep(C->t)) return;
    uint32_t n = v.kind == J_ARRAY ? v.a->n : v.kind == J_OBJECT ? v.o->n : 0;
    if (!n) {
        if (v.kind == J_ARRAY) buffer_puts(b, "[]");
        else if (v.kind == J_OBJECT) buffer_puts(b, "{}");
        else put_scalar(C, b, v, indent > 0 ? indent - 2 : 0);
        buffer_putc(b, '\n');
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (i || !inline_start) for (int k = 0; k < indent; k++) buffer_putc(b, ' ');
        jv child = v.kind == J_ARRAY ? v.a->at[i] : v.o->at[i].value;
        uint32_t inner = child.kind == J_ARRAY ? child.a->n : child.kind == J_OBJECT ? child.o->n : 0;
        if (v.kind == J_ARRAY) { buffer_puts(b, "- "); put_node(C, b, child, indent + 2, 1); continue; }
        jv key = jv_of(J_STRING);
        key.s = v.o->at[i].key;
        put_scalar(C, b, key, -1);
        buffer_putc(b, ':');
        if (!inner) { buffer_putc(b, ' '); put_node(C, b, child, indent + 2, 1); }
        else { buffer_putc(b, '\n'); put_node(C, b, child, indent + 2, 0); }
    }
}

void yaml_write(jctx *C, buffer *b, jv v, int indent) { put_node(C, b, v, indent, 0); }

typedef struct { jout o; int json, raw, count, docs; json_style style; buffer *to; } yq_out;

static int print_out(jq *q, jout *self, jv v, jpath *p) {
    yq_out *w = (yq_out *)self;
    (void)p;
    if (w->json) {
        if (w->raw && v.kind == J_STRING) buffer_add(w->to, v.s->text, v.s->n); else json_write(&q->C, w->to, v, &w->style);
        buffer_putc(w->to, '\n');
    } else {
        if (w->docs++) buffer_puts(w->to, v.kind >= J_ARRAY ? "---\n" : "");
        if (v.kind == J_STRING) {
            buffer_add(w->to, v.s->text, v.s->n);
            if (!v.s->n || v.s->text[v.s->n - 1] != '\n') buffer_putc(w->to, '\n');
        } else yaml_write(&q->C, w->to, v, 0);
    }
    jv_drop(&q->C, v);
    return RUN_ON;
}

static int report(jq *q) {
    jv e = q->error;
    q->error = jv_null();
    jv s = e.kind == J_STRING ? jv_copy(e) : json_text(&q->C, e);
    io_printf(q->t->err, "Error: %s\n", s.s->text);
    jv_drop(&q->C, s);
    jv_drop(&q->C, e);
    return 1;
}

/* Runs the program over every document of one text. */
static int run_text(jq *q, jnode *program, yq_out *out, const char *text, size_t n, int json_input, const char *name) {
    yaml_reader r;
    json_reader j;
    int status = 0;
    yaml_start(&r, &q->C, text, n);
    json_reader_start(&j, &q->C, text, n);
    for (;;) {
        jv v = json_input ? json_next(&j) : yaml_next(&r);
        if (v.kind == J_INVALID) break;
        if (jq_eval(q, program, NULL, v, NULL, &out->o) == RUN_ERROR) status = report(q);
        if (q->halted) return q->halt_code;
    }
    if (json_input ? j.error != NULL : r.error != NULL) {
        io_printf(q->t->err, "Error: bad file '%s': yaml: line %d: %s\n", name, json_input ? j.line : r.line,
            json_input ? j.error : r.error);
        return 1;
    }
    return status;
}

int tool_yq(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"output-format", 1, 'o'}, {"input-format", 1, 'p'}, {"raw-output", 0, 'r'},
        {"unwrapScalar", 2, 'r'}, {"in-place", 0, 'i'}, {"inplace", 0, 'i'}, {"null-input", 0, 'n'}, {"compact-output", 0, 'c'},
        {"tojson", 0, 'j'}, {"json", 0, 'j'}, {"indent", 1, 'I'}, {"prettyPrint", 0, 'P'}, {"no-colors", 0, 'M'},
        {"colors", 0, 'C'}, {"yaml-output", 0, 'y'}, {"exit-status", 0, 'e'}, {0, 0, 0}};
    jq state, *q = &state;
    memset(q, 0, sizeof *q);
    json_start(&q->C, t);
    q->t = t;
    q->text.t = t;
    q->error = q->env = q->pending = jv_null();
    q->named = jv_object(&q->C);
    buffer text = {.t = t}, result = {.t = t};
    yq_out out = {.o = {print_out}, .style = {.indent = 2}, .to = &result};
    int in_place = 0, null_input = 0, json_input = 0, c, status = 0;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "o:p:rincjI:PMCySse", longs)) != -1;) switch (c) {
        case 'o': { const char *f = *o.arg == '=' ? o.arg + 1 : o.arg; out.json = *f == 'j'; break; }
        case 'p': { const char *f = *o.arg == '=' ? o.arg + 1 : o.arg; json_input = *f == 'j'; break; }
        case 'r': out.raw = 1; break;
        case 'i': in_place = 1; break;
        case 'n': null_input = 1; break;
        case 'c': out.style.indent = 0; out.json = 1; break;
        case 'j': out.json = 1; break;
        case 'I': out.style.indent = atoi(*o.arg == '=' ? o.arg + 1 : o.arg); break;
        case 'S': out.style.sort = 1; break;
        case '?': return 1;
        default: break;
    }
    int first = o.index;
    if (first < argc && (!strcmp(argv[first], "eval") || !strcmp(argv[first], "e"))) first++;
    const char *program_text = ".";
    if (first < argc) program_text = argv[first++];
    jnode *program = jq_parse(q, program_text, strlen(program_text));
    if (!program) { io_printf(t->err, "Error: %s\n", q->parse_error ? q->parse_error : "syntax error"); return 1; }
    if (null_input) { if (jq_eval(q, program, NULL, jv_null(), NULL, &out.o) == RUN_ERROR) status = report(q);
    } else if (first >= argc) {
        buffer_read_all(&text, t->in);
        status = run_text(q, program, &out, text.p ? text.p : "", text.n, json_input, "-");
    }
    for (int i = first; i < argc && !null_input; i++) {
        text.n = 0;
        io *from = strcmp(argv[i], "-") ? io_open(argv[i], O_RDONLY, 0) : io_ref(t->in);
        if (!from) { io_printf(t->err, "Error: open %s: no such file or directory\n", argv[i]); status = 1; continue; }
        buffer_read_all(&text, from);
        io_unref(from);
        int r = run_text(q, program, &out, text.p ? text.p : "", text.n, json_input, argv[i]);
        if (r) status = r;
        if (in_place && !r) {
            io *to = io_open(argv[i], O_WRONLY | O_TRUNC | O_CREAT, 0666);
            if (to) { io_write(to, result.p ? result.p : "", result.n); io_unref(to); }
            result.n = 0;
            out.docs = 0;
        }
    }
    if (!in_place && result.n && io_write(t->out, result.p, result.n) < 0) return 1;
    return status;
}
