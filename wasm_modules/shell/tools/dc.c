/* dc.c - the desk calculator: commands of one letter that work on a stack of numbers and strings, with registers.
 *
 * RULES. Macros run on a stack of texts, not on the C stack; a macro whose last command runs another gives its place away, so that
 * loops do not grow. A command that fails says why and leaves the stack as it was; the program goes on.
 */
#include "bc.h"
#include "inputs.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { REGISTERS = 256, FRAMES_MOST = 100000, LINE_WIDTH = 70, SCALE_MOST = 100000 };

typedef struct { const char *text; size_t n; num v; } value;           /* text: a string; NULL for a number */
typedef struct { value *at; size_t n, cap; } value_stack;
typedef struct element { struct element *next; long long index; value v; } element;
typedef struct { const char *p, *end; int is_file; } frame;            /* is_file: the program itself, which q ends */

typedef struct {
    tool *t;
    value_stack stack, registers[REGISTERS];
    element *arrays[REGISTERS];
    frame *frames;
    size_t depth, frame_cap, column;
    size_t scale;
    int ibase, obase, quit;
} dc_state;

static void push_on(dc_state *s, value_stack *k, value v) {
    if (k->n == k->cap) {
        k->cap = k->cap ? k->cap * 2 : 8;
        k->at = tool_realloc(s->t, k->at, k->cap * sizeof *k->at);
    }
    k->at[k->n++] = v;
}

static void push(dc_state *s, value v) { push_on(s, &s->stack, v); }
static void push_num(dc_state *s, num v) { push(s, (value){.v = v}); }
static void push_int(dc_state *s, long long v) { push_num(s, num_from(s->t, v)); }

/* Whether there are n values, and the top ones are numbers where they have to be; says so when not. */
static int has(dc_state *s, size_t n, size_t numbers) {
    if (s->stack.n < n) { tool_fail(s->t, 0, "stack empty"); return 0; }
    for (size_t i = 0; i < numbers; i++)
        if (s->stack.at[s->stack.n - 1 - i].text) { tool_fail(s->t, 0, "non-numeric value"); return 0; }
    return 1;
}

static value pop(dc_state *s) { return s->stack.at[--s->stack.n]; }

/* ---- printing ---- */

static void put(dc_state *s, const char *text, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (text[i] != '\n' && ++s->column >= LINE_WIDTH) { io_puts(s->t->out, "\\\n"); s->column = 1; }
        if (text[i] == '\n') s->column = 0;
        io_putc(s->t->out, text[i]);
    }
}

static void print(dc_state *s, value v) {
    if (v.text) { io_write(s->t->out, v.text, v.n); return; }
    buffer b = {.t = s->t};
    num_write(&b, v.v, s->obase);
    put(s, b.p, b.n);
    s->column = 0;
}

/* P of a number: its bytes, most significant first. */
static void print_bytes(dc_state *s, num v) {
    buffer b = {.t = s->t};
    num whole = num_cut(s->t, v, 0), base = num_from(s->t, 256), q, r;
    whole.negative = 0;
    do {
        num_mod(s->t, whole, base, 0, &r);
        num_div(s->t, whole, base, 0, &q);
        buffer_putc(&b, (int)num_to_int(r));
        whole = q;
    } while (!num_is_zero(whole));
    while (b.n) io_putc(s->t->out, b.p[--b.n]);
}

/* ---- commands ---- */

static void call(dc_state *s, const char *text, size_t n) {
    frame *top = s->depth ? &s->frames[s->depth - 1] : NULL;
    if (top && !top->is_file && top->p >= top->end) { top->p = text; top->end = text + n; return; }
    if (s->depth == FRAMES_MOST) { tool_fail(s->t, 0, "recursion too deep"); s->quit = 1; return; }
    if (s->depth == s->frame_cap) {
        s->frame_cap = s->frame_cap ? s->frame_cap * 2 : 16;
        s->frames = tool_realloc(s->t, s->frames, s->frame_cap * sizeof *s->frames);
    }
    s->frames[s->depth++] = (frame){text, text + n, 0};
}

static void run_value(dc_state *s, value v) { if (v.text) call(s, v.text, v.n); else push(s, v); }

static value *top_of_register(dc_state *s, unsigned char name) {
    value_stack *k = &s->registers[name];
    return k->n ? &k->at[k->n - 1] : NULL;
}

static void pop_register(dc_state *s, unsigned char name) {
    value *v = top_of_register(s, name);
    if (v) { push(s, *v); s->registers[name].n--; }
    else if (isprint(name)) tool_fail(s->t, 0, "stack register '%c' (0%o) is empty", name, name);
    else tool_fail(s->t, 0, "stack register 0%o is empty", name);
}

static void arithmetic(dc_state *s, int op) {
    if (!has(s, 2, 2)) return;
    num b = s->stack.at[s->stack.n - 1].v, a = s->stack.at[s->stack.n - 2].v, r = a, q;
    int failed = 0;
    switch (op) {
    case '+': r = num_add(s->t, a, b); break;
    case '-': r = num_sub(s->t, a, b); break;
    case '*': r = num_mul(s->t, a, b, s->scale); break;
    case '/': failed = num_div(s->t, a, b, s->scale, &r); break;
    case '%': case '~': failed = num_mod(s->t, a, b, s->scale, &r); break;
    case '^': failed = num_pow(s->t, a, b, s->scale, &r); break;
    }
    if (failed) {
        tool_fail(s->t, 0, op == '^' ? "exponent too large in raise" : op == '%' ? "remainder by zero" : "divide by zero");
        return;
    }
    s->stack.n -= 2;
    if (op == '~') { num_div(s->t, a, b, s->scale, &q); push_num(s, q); }
    push_num(s, r);
}

/* base exponent modulus |: a power with a remainder taken at each step. */
static void power_modulo(dc_state *s) {
    if (!has(s, 3, 3)) return;
    num m = pop(s).v, e = num_cut(s->t, pop(s).v, 0), b = pop(s).v, r = num_from(s->t, 1), two = num_from(s->t, 2), bit;
    if (num_is_zero(m)) { tool_fail(s->t, 0, "remainder by zero"); return; }
    if (e.negative) { tool_fail(s->t, 0, "negative exponent"); return; }
    num_mod(s->t, b, m, 0, &b);
    while (!num_is_zero(e)) {
        num_mod(s->t, e, two, 0, &bit);
        if (!num_is_zero(bit)) num_mod(s->t, num_mul(s->t, r, b, 0), m, 0, &r);
        num_mod(s->t, num_mul(s->t, b, b, 0), m, 0, &b);
        num_div(s->t, e, two, 0, &e);
    }
    push_num(s, r);
}

/* >r <r =r and with ! before: runs the register when the top of the stack compares so to what is below it. */
static void compare(dc_state *s, int op, int negated, unsigned char name) {
    if (!has(s, 2, 2)) return;
    num top = pop(s).v, below = pop(s).v;
    int order = num_compare(top, below), holds = op == '>' ? order > 0 : op == '<' ? order < 0 : !order;
    if (holds == negated) return;
    value *v = top_of_register(s, name);
    if (v) run_value(s, *v);
}

static void set_base(dc_state *s, int command) {
    if (!has(s, 1, 1)) return;
    long long v = num_to_int(pop(s).v);
    if (command == 'i' && (v < 2 || v > 16)) tool_fail(s->t, 0, "input base must be a number between 2 and 16 (inclusive)");
    else if (command == 'o' && (v < 2 || v > 999)) tool_fail(s->t, 0, "output base must be a number greater than 1");
    else if (command == 'k' && (v < 0 || v > SCALE_MOST)) tool_fail(s->t, 0, "scale must be a nonnegative number");
    else if (command == 'i') s->ibase = (int)v;
    else if (command == 'o') s->obase = (int)v;
    else s->scale = (size_t)v;
}

static void use_array(dc_state *s, int command, unsigned char name) {
    if (!has(s, command == ':' ? 2 : 1, 1)) return;
    long long index = num_to_int(pop(s).v);
    if (index < 0) { tool_fail(s->t, 0, "array index must be a nonnegative integer"); return; }
    element *e = s->arrays[name];
    while (e && e->index != index) e = e->next;
    if (command == ';') { if (e) push(s, e->v); else push_int(s, 0); return; }
    if (!e) {
        e = tool_alloc(s->t, sizeof *e);
        *e = (element){.next = s->arrays[name], .index = index};
        s->arrays[name] = e;
    }
    e->v = pop(s);
}

static void use_register(dc_state *s, int command, unsigned char name) {
    value_stack *k = &s->registers[name];
    switch (command) {
    case 's': if (has(s, 1, 0)) { if (k->n) k->n--; push_on(s, k, pop(s)); } break;
    case 'S': if (has(s, 1, 0)) push_on(s, k, pop(s)); break;
    case 'l': if (k->n) push(s, k->at[k->n - 1]); else push_int(s, 0); break;
    case 'L': pop_register(s, name); break;
    default: use_array(s, command, name);
    }
}

/* Leaves so many running strings; there may be fewer. Whether there were as many. */
static int leave(dc_state *s, long long levels) {
    for (; levels > 0 && s->depth && !s->frames[s->depth - 1].is_file; levels--) s->depth--;
    return levels <= 0;
}

/* Of the top n values the lowest comes to the top; with a negative n the top goes below them. */
static void rotate(dc_state *s, long long n) {
    size_t count = (size_t)(n < 0 ? -n : n);
    if (count > s->stack.n) count = s->stack.n;
    if (count < 2) return;
    value *low = &s->stack.at[s->stack.n - count], *top = &s->stack.at[s->stack.n - 1], moved = n < 0 ? *top : *low;
    if (n < 0) { memmove(low + 1, low, (count - 1) * sizeof *low); *low = moved; }
    else { memmove(low, low + 1, (count - 1) * sizeof *low); *top = moved; }
}

/* !command: the rest of the line, for the shell. */
static void run_command(dc_state *s, frame *f) {
    const char *start = f->p;
    while (f->p < f->end && *f->p != '\n') f->p++;
    char *words[] = {"bash", "-c", tool_strndup(s->t, start, (size_t)(f->p - start)), NULL};
    if (s->t->run) s->t->run(s->t, 3, words);
}

static void measure(dc_state *s, int command) {
    if (!has(s, 1, 0)) return;
    value v = pop(s);
    if (command == 'X') push_int(s, v.text ? 0 : (long long)v.v.scale);
    else if (v.text) push_int(s, (long long)v.n);
    else {
        size_t first = 0, all = v.v.whole + v.v.scale;          /* zeros before the first other digit do not count */
        while (first < all && !v.v.d[first]) first++;
        push_int(s, first < all ? (long long)(all - first) : 1);
    }
}

static void square_root(dc_state *s) {
    num r;
    if (!has(s, 1, 1)) return;
    if (num_sqrt(s->t, s->stack.at[s->stack.n - 1].v, s->scale, &r)) {
        tool_fail(s->t, 0, "square root of negative number");
        return;
    }
    s->stack.at[s->stack.n - 1] = (value){.v = r};
}

static void to_text(dc_state *s) {
    if (!has(s, 1, 0)) return;
    value v = pop(s);
    char *one = tool_alloc(s->t, 2);
    one[0] = v.text ? (v.n ? v.text[0] : '\0') : (char)num_to_int(v.v);
    push(s, (value){.text = one, .n = v.text && !v.n ? 0 : 1});
}

static void read_line(dc_state *s) {
    const char *line;
    ssize_t n = io_line(s->t->in, &line, '\n');
    if (n > 0) call(s, tool_strndup(s->t, line, (size_t)n), (size_t)n);
}

static void plain_command(dc_state *s, int c) {
    value v;
    switch (c) {
    case '+': case '-': case '*': case '/': case '%': case '~': case '^': arithmetic(s, c); break;
    case '|': power_modulo(s); break;
    case 'v': square_root(s); break;
    case 'p': if (has(s, 1, 0)) { print(s, s->stack.at[s->stack.n - 1]); io_putc(s->t->out, '\n'); } break;
    case 'n': if (has(s, 1, 0)) print(s, pop(s)); break;
    case 'P': if (has(s, 1, 0)) { v = pop(s); if (v.text) print(s, v); else print_bytes(s, v.v); } break;
    case 'f': for (size_t i = s->stack.n; i--;) { print(s, s->stack.at[i]); io_putc(s->t->out, '\n'); } break;
    case 'c': s->stack.n = 0; break;
    case 'd': if (has(s, 1, 0)) push(s, s->stack.at[s->stack.n - 1]); break;
    case 'r':
        if (!has(s, 2, 0)) break;
        v = s->stack.at[s->stack.n - 1];
        s->stack.at[s->stack.n - 1] = s->stack.at[s->stack.n - 2];
        s->stack.at[s->stack.n - 2] = v;
        break;
    case 'R': if (has(s, 1, 0)) { v = pop(s); if (!v.text) rotate(s, num_to_int(v.v)); } break;
    case 'i': case 'o': case 'k': set_base(s, c); break;
    case 'I': push_int(s, s->ibase); break;
    case 'O': push_int(s, s->obase); break;
    case 'K': push_int(s, (long long)s->scale); break;
    case 'x': if (has(s, 1, 0)) run_value(s, pop(s)); break;
    case 'q': if (!leave(s, 2)) s->quit = 1; break;
    case 'Q':
        if (has(s, 1, 1) && !leave(s, num_to_int(pop(s).v)))
            tool_fail(s->t, 0, "Q command argument exceeded string execution depth");
        break;
    case 'Z': case 'X': measure(s, c); break;
    case 'z': push_int(s, (long long)s->stack.n); break;
    case 'a': to_text(s); break;
    case '?': read_line(s); break;
    default:
        if (isprint(c)) tool_fail(s->t, 0, "'%c' (0%o) unimplemented", c, (unsigned)c);
        else tool_fail(s->t, 0, "0%o unimplemented", (unsigned)c);
    }
}

/* ---- reading ---- */

static void read_number(dc_state *s, frame *f, int negative) {
    const char *from = f->p;
    int dot = 0;
    while (f->p < f->end && (isdigit((unsigned char)*f->p) || (*f->p >= 'A' && *f->p <= 'F') || (*f->p == '.' && !dot)))
        dot |= *f->p++ == '.';
    num v = f->p > from ? num_parse(s->t, from, (size_t)(f->p - from), s->ibase) : num_from(s->t, 0);
    v.negative = negative && !num_is_zero(v);
    push_num(s, v);
}

static void read_string(dc_state *s, frame *f) {
    const char *from = f->p;
    int depth = 1;
    for (; f->p < f->end; f->p++) {
        depth += (*f->p == '[') - (*f->p == ']');
        if (!depth) break;
    }
    push(s, (value){.text = tool_strndup(s->t, from, (size_t)(f->p - from)), .n = (size_t)(f->p - from)});
    if (f->p < f->end) f->p++;
}

static unsigned char next_char(frame *f) { return f->p < f->end ? (unsigned char)*f->p++ : 0; }

static void step(dc_state *s) {
    frame *f = &s->frames[s->depth - 1];
    int c = (unsigned char)*f->p++;
    if (isspace(c)) return;
    if (c == '#') { while (f->p < f->end && *f->p != '\n') f->p++; return; }
    if (isdigit(c) || (c >= 'A' && c <= 'F') || c == '.') { f->p--; read_number(s, f, 0); return; }
    if (c == '_') { read_number(s, f, 1); return; }
    if (c == '[') { read_string(s, f); return; }
    if (strchr("<>=", c)) { unsigned char name = next_char(f); compare(s, c, 0, name); return; }
    if (c == '!' && f->p < f->end && strchr("<>=", *f->p)) {
        int op = *f->p++;
        unsigned char name = next_char(f);
        compare(s, op, 1, name);
        return;
    }
    if (c == '!') { run_command(s, f); return; }
    if (strchr("sSlL:;", c)) { unsigned char name = next_char(f); use_register(s, c, name); return; }
    plain_command(s, c);
}

static void run_program(dc_state *s, const char *text, size_t n) {
    if (s->quit) return;
    s->depth = 0;
    call(s, text, n);
    if (s->depth) s->frames[0].is_file = 1;
    while (s->depth && !s->quit && !io_failed(s->t->out) && !tool_time_is_up()) {
        if (s->frames[s->depth - 1].p >= s->frames[s->depth - 1].end) s->depth--;
        else step(s);
    }
}

static int run_stream(tool *t, io *from, const char *name, void *context) {
    dc_state *s = context;
    buffer b = {.t = t};
    (void)name;
    /* standard input is read by the line, so that ? finds what follows */
    if (from == t->in) {
        const char *line;
        for (ssize_t n; !s->quit && (n = io_line(from, &line, '\n')) > 0;) {
            buffer_add(&b, line, (size_t)n);
            int depth = 0;
            for (size_t i = 0; i < b.n; i++) depth += (b.p[i] == '[') - (b.p[i] == ']');
            if (depth > 0) continue;
            run_program(s, tool_strndup(t, b.p, b.n), b.n);
            b.n = 0;
        }
        if (b.n) run_program(s, b.p, b.n);
        return s->quit;
    }
    buffer_read_all(&b, from);
    run_program(s, b.p, b.n);
    return s->quit;                  /* as GNU's, which takes the end of a program in a file for a failure */
}

/* A file that cannot be read is told, and is no failure. */
static int run_file(dc_state *s, const char *path) {
    struct stat st;
    if (!strcmp(path, "-")) return run_stream(s->t, s->t->in, path, s);
    if (path_stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return tool_fail(s->t, 0, "Will not attempt to process directory %s", path);
    io *from = io_open(path, 0, 0);
    if (!from) return tool_fail(s->t, 0, "Could not open file %s", path);
    int status = run_stream(s->t, from, path, s);
    io_unref(from);
    return status;
}

int tool_dc(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"expression", 1, 'e'}, {"file", 1, 'f'}, {"version", 0, 'V'}, {0, 0, 0}};
    dc_state *s = tool_alloc(t, sizeof *s);
    int c, given = 0, status = 0;
    tool_opts o;
    s->t = t;
    s->ibase = s->obase = 10;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "e:f:V", longs)) != -1;) switch (c) {
        case 'e': run_program(s, o.arg, strlen(o.arg)); given = 1; break;
        case 'f': status |= run_file(s, o.arg); given = 1; break;
        case 'V': io_puts(t->out, "dc (GNU bc 1.07.1) 1.4.1\n"); return 0;
        default: return 1;
    }
    if (!s->quit && o.index >= argc && !given) status |= run_stream(t, t->in, "-", s);
    for (int i = o.index; i < argc && !s->quit; i++) status |= run_file(s, argv[i]);
    return status;
}
