/* walk.c - a walk over commands that can stop at a sleep, a wait, a read from an empty pipe, or after some rounds of a loop, and go
 * on later, in any order with others.
 *
 * What a walk has still to do is a stack of steps (a list and the place in it, a loop and its words), not a C stack. Sequences,
 * loops, if's and cases are walked that way, and what enclosure.c knows; everything else is one step. One that stops keeps its
 * state (variables, descriptors, directory) aside. Who walks when, background.c knows.
 */
#include "walk.h"
#include "background.h"
#include "fifo.h"
#include "lookup.h"
#include <stdlib.h>
#include <string.h>

static void push(walk *w, node *n)
{
    if (!n) return;
    if (w->n == w->cap) {
        w->cap = w->cap ? w->cap * 2 : 4;
        w->steps = xrealloc(w->steps, (size_t)w->cap * sizeof *w->steps);
    }
    w->steps[w->n++] = (step){ .n = n };
}

static void pop(walk *w)
{
    step *s = &w->steps[--w->n];
    for (char **v = s->items; v && *v; v++) free(*v);
    free(s->items);
    enclosure_free(s->in);
}

static bool is_loop(node *n) { return n->kind == N_WHILE || n->kind == N_UNTIL || n->kind == N_FOR || n->kind == N_CFOR; }

/* The redirections of what is inside of it, and not yet that itself. */
static bool is_around(const step *s) { return s->n->redirs && !s->bare; }
static bool is_loop_step(const step *s) { return is_loop(s->n) && !is_around(s); }

/* A case of which one arm runs at most. */
static bool is_plain_case(node *n)
{
    if (n->kind != N_CASE) return false;
    for (case_item *c = n->u.kase.items; c; c = c->next) if (c->end != ';') return false;
    return true;
}

/* Whether the command can stop in its middle; all else runs as one piece. */
static bool can_stop(node *n)
{
    if (n->redirs) return false;
    return n->kind == N_LIST || n->kind == N_GROUP || n->kind == N_AND || n->kind == N_OR || n->kind == N_IF || is_loop(n) ||
           is_plain_case(n);
}

double sleep_seconds(int argc, char **argv)
{
    double total = 0;
    for (int i = 1; i < argc; i++) {
        char *end;
        double v = strtod(argv[i], &end);
        if (end == argv[i] || !(v >= 0) || (*end && (end[1] || !strchr("smhd", *end)))) return -1;
        total += v * (*end == 'm' ? 60 : *end == 'h' ? 3600 : *end == 'd' ? 86400 : 1);
    }
    return argc < 2 ? -1 : total;
}

static bool is_sleep(node *n)
{
    if (n->kind != N_SIMPLE || n->u.simple.n < 2 || n->redirs || n->u.simple.assigns) return false;
    word *w = n->u.simple.words[0];
    return w->flags & W_PLAIN && !strcmp(w->parts->u.lit.text, "sleep") && !func_find("sleep");
}

static bool is_wait(node *n)
{
    if (n->kind != N_SIMPLE || !n->u.simple.n || n->redirs || n->u.simple.assigns) return false;
    word *w = n->u.simple.words[0];
    return w->flags & W_PLAIN && !strcmp(w->parts->u.lit.text, "wait") && !func_find("wait");
}

/* Before a wait: 0, and the walk is to stop until the job has ended; -1: it was run. */
static double wait_at(walk *w, node *n)
{
    arena_mark_t m = arena_mark(&sh.tmp);
    strlist argv = { .a = &sh.tmp };
    bool pids = true;
    int heard = w->heard;
    w->heard = 0;
    w->waits_for = 0;
    if (!heard && !w->sated && expand_words(n->u.simple.words, n->u.simple.n, &argv)) {
        for (size_t i = 1; i < argv.n && !w->waits_for; i++) {
            int64_t pid;
            if (!parse_int(argv.v[i], &pid)) pids = false;
            else if (job_unfinished(pid)) w->waits_for = pid;
        }
        if (argv.n == 1 && job_unfinished(ANY_JOB)) w->waits_for = ANY_JOB;
        if (!pids) w->waits_for = 0;           /* %1, -n: in one piece */
    }
    arena_release(&sh.tmp, m);
    if (w->waits_for && !sh.unwind) return 0;
    if (heard) w->status = sh.status = 128 + heard; else w->status = exec_node(n);
    return -1;
}

/* A sleep of the job's own: the seconds it is to be away. -1: it was run like any command, because its arguments make no sense.
 */
static double stop_at(walk *w, node *n)
{
    arena_mark_t m = arena_mark(&sh.tmp);
    strlist argv = { .a = &sh.tmp };
    double seconds = -1;
    sh.line = n->line + sh.line_base;
    if (!expand_words(n->u.simple.words, n->u.simple.n, &argv)) w->status = sh.exit_status;
    else if ((seconds = sleep_seconds((int)argv.n, sl_end(&argv))) < 0) w->status = sh.status = exec_argv((int)argv.n, argv.v, 5);
    else {
        if (sh.opt[O_XTRACE]) trace_command((int)argv.n, argv.v);
        w->status = sh.status = 0;
    }
    arena_release(&sh.tmp, m);
    return seconds;
}

bool walk_lacks_input(walk *w)
{
    if (!fifo_any() || w->sated) return false;
    if (w->root) return opens_empty_pipe(w->root);
    return w->starved && (w->wants ? opens_empty_pipe(w->wants) : w->wants_line && fifo_lacks_line(w->wants_line));
}

/* Before a piece that wants input which is still to be written. */
static bool starves(walk *w, node *n)
{
    size_t len = 0;
    io *in = fd_get(0);
    w->wants = NULL;
    w->wants_line = NULL;
    if (w->feed && in == w->feed && reads_first(n)) {
        const char *bytes = io_bytes(in, &len);
        return w->starved = !len || !memchr(bytes, '\n', len);
    }
    if (w->sated || !fifo_any()) return false;
    if (opens_empty_pipe(n)) w->wants = n;
    else if (in && reads_first(n) && fifo_lacks_line(in)) w->wants_line = in;
    return w->starved = w->wants || w->wants_line;
}

/* One command of the walk: entered, or run. The seconds it sleeps, or -1. */
static double take(walk *w, node *n)
{
    if (is_sleep(n)) return stop_at(w, n);
    if (is_wait(n)) return wait_at(w, n);
    if (can_stop(n) || encloses(w, n)) push(w, n);
    else if (starves(w, n)) return 0;
    else w->status = exec_node(n);
    return -1;
}

/* A condition, which set -e does not mind. */
static double test(walk *w, node *n)
{
    if (is_sleep(n)) return stop_at(w, n);
    if (is_wait(n)) return wait_at(w, n);
    if (encloses(w, n) || (can_stop(n) && may_stop(w, n))) { push(w, n); return -1; }
    if (starves(w, n)) return 0;
    sh.cond_depth++;
    w->status = exec_node(n);
    sh.cond_depth--;
    return -1;
}

static void expand_items(step *s)
{
    arena_mark_t m = arena_mark(&sh.tmp);
    strlist l = { .a = &sh.tmp };
    if (!s->n->u.loop.has_in) for (int i = 0; i < sh.nargs; i++) sl_add(&l, sh.args[i]);
    else expand_words(s->n->u.loop.words, s->n->u.loop.n, &l);
    s->items = xmalloc((l.n + 1) * sizeof *s->items);
    for (size_t i = 0; i < l.n; i++) s->items[i] = xstrdup(l.v[i]);
    s->items[l.n] = NULL;
    arena_release(&sh.tmp, m);
}

static case_item *choose_arm(node *n)
{
    arena_mark_t m = arena_mark(&sh.tmp);
    sh.line = n->line + sh.line_base;
    char *subject = expand_one(n->u.kase.subject, 0);
    case_item *c = subject ? case_arm(n->u.kase.items, subject) : NULL;
    arena_release(&sh.tmp, m);
    return c;
}

/* Between two rounds of for (( )): whether there is to be another. */
static bool another_round(walk *w, node *n, bool first)
{
    int64_t v = 0;
    if (first) w->status = 0;
    sh.line = n->line + sh.line_base;
    bool ok = loop_step(first ? n->u.cfor.init : n->u.cfor.step, &v) && loop_step(n->u.cfor.test, &v);
    if (!ok) w->status = 1;
    return ok && v;
}

/* A walked command has ended: what follows from its status, as after any other. */
static void settle(walk *w, node *n, int status, bool single)
{
    w->status = sh.status = status;
    if (single) { sh.npipestatus = 1; sh.pipestatus[0] = status; }
    if (status && !sh.unwind && w->n) after_command(status, n, true);   /* the job itself ends with it, and that is all */
}

/* A child shell: its commands, one by one. One that starves or waits is come back to. */
static double proceed_child(walk *w, step *s)
{
    node *n = s->n;
    if (!s->in && !(s->in = child_enter(n, &w->status))) {
        int status = w->status;
        pop(w);
        settle(w, n, status, true);
        return -1;
    }
    enclosure *e = s->in;
    program *next = e->again ? e->prog : child_next(e, &w->status);
    if (next) {
        sh.prog = next;
        double seconds = take(w, next->root);
        e->again = w->starved || w->waits_for;
        return seconds;
    }
    int status = child_leave(e, w->status);
    pop(w);
    settle(w, n, status, true);
    return -1;
}

/* Redirections, around what stands in them. */
static double proceed_redirected(walk *w, step *s, int at)
{
    node *n = s->n;
    if (at == 0 && !(s->in = redirection_enter(n))) { pop(w); settle(w, n, 1, true); return -1; }
    if (at == 0) {
        push(w, n);
        w->steps[w->n - 1].bare = true;
        return -1;
    }
    redirect_undo(&s->in->save);
    pop(w);
    return -1;
}

/* A call: its words, its body, its end. */
static double proceed_call(walk *w, step *s, int at)
{
    node *n = s->n;
    if (at == 0 && !s->in && !(s->in = call_enter(n))) { w->status = sh.exit_status; pop(w); return -1; }
    if (at == 0) return take(w, s->in->call.f->body);
    int status = call_leave(s->in, w->status);
    pop(w);
    settle(w, n, status, true);
    return -1;
}

static double proceed_subshell(walk *w, step *s, int at)
{
    node *n = s->n;
    if (at == 0 && !s->in) s->in = stage_enter(NULL);
    if (at == 0) return take(w, n->u.pair.a);
    int status = stage_leave(s->in, w->status);
    pop(w);
    settle(w, n, status, true);
    return -1;
}

static double proceed_pipe(walk *w, step *s, int at)
{
    node *n = s->n;
    if (!s->in) { s->in = xmalloc(sizeof *s->in); *s->in = (enclosure){ 0 }; }
    if (at > 0 && s->in->outer && s->status < at) s->in->statuses[at - 1] = stage_leave(s->in, w->status);
    s->status = at;              /* the stage that runs: one that starves is come back to */
    if (at < n->u.list.n) {
        if (!s->in->outer) pipe_stage_enter(s->in, n, at);
        return take(w, n->u.list.items[at]);
    }
    int status = pipe_leave(s->in, n);
    pop(w);
    settle(w, n, status, false);
    return -1;
}

/* Between two rounds of a loop that may be looking for what others are to do: they get their turn now and then. */
static double come_round(walk *w)
{
    double seconds = w->feed ? -1 : background_turn(++w->rounds);
    w->busy = seconds >= 0;
    return seconds;
}

/* The next piece of the innermost construct, of which the pieces before `at` are done. */
static double proceed(walk *w)
{
    step *s = &w->steps[w->n - 1];
    node *n = s->n;
    int at = s->at++;
    if (is_around(s)) return proceed_redirected(w, s, at);
    switch (n->kind) {
    case N_SIMPLE: return (s->in ? s->in->shell.text != NULL : starts_shell(n)) ? proceed_child(w, s) : proceed_call(w, s, at);
    case N_SUBSHELL: return proceed_subshell(w, s, at);
    case N_PIPE: return proceed_pipe(w, s, at);
    case N_LIST:
        if (at == n->u.list.n) break;
        if (!n->u.list.items[at]->background) return take(w, n->u.list.items[at]);
        w->status = exec_background(n->u.list.items[at]);
        return -1;
    case N_GROUP:
        if (at) break;
        return take(w, n->u.pair.a);
    case N_AND: case N_OR:
        if (at == 0) return test(w, n->u.pair.a);
        if (at == 2 || (w->status == 0) != (n->kind == N_AND)) break;
        return take(w, n->u.pair.b);
    case N_IF:
        if (at == 0) return test(w, n->u.iff.cond);
        if (at == 1 && w->status == 0) return take(w, n->u.iff.then);
        if (at == 1) w->status = 0;
        if (at == 1 && n->u.iff.other) return take(w, n->u.iff.other);
        break;
    case N_FOR:
        if (at == 0 && !s->items) expand_items(s);
        if (at == 0) sh.loop_depth++;
        if (!s->items[at]) break;
        var_set_slot(n->u.loop.slot, s->items[at], 0);
        return take(w, n->u.loop.body);
    case N_CFOR:
        if (at == 0) sh.loop_depth++;
        if (at % 2) return take(w, n->u.cfor.body);
        if (another_round(w, n, at == 0)) return at ? come_round(w) : -1;
        break;
    case N_CASE:
        if (at == 0) s->arm = choose_arm(n);
        if (at > 1) break;
        if (at == 0) { if (!s->arm || !s->arm->body) w->status = 0; return -1; }
        if (s->arm && s->arm->body) return take(w, s->arm->body);
        break;
    default:                     /* while and until: the condition, the body, a turn of others, the condition ... */
        if (at == 0) sh.loop_depth++;
        if (at % 3 == 0) { s->status = at ? w->status : 0; return test(w, n->u.pair.a); }
        if (at % 3 == 2) return come_round(w);
        if ((w->status == 0) == (n->kind == N_WHILE)) return take(w, n->u.pair.b);
        w->status = s->status;
    }
    if (is_loop(n)) sh.loop_depth--;
    sh.status = w->status;
    pop(w);
    return -1;
}

/* Whether the piece that is being walked is one whose failure set -e does not mind. */
static bool in_condition(const step *s)
{
    if (is_around(s)) return false;
    switch (s->n->kind) {
    case N_AND: case N_OR: case N_IF: return s->at == 1;
    case N_WHILE: case N_UNTIL: return s->at % 3 == 1;
    default: return false;
    }
}

/* The same, but a piece that is starved is still to come. */
static double advance(walk *w)
{
    int innermost = w->n - 1, at = w->steps[innermost].at;
    sh.cond_depth = 0;
    for (int i = 0; i < innermost; i++) sh.cond_depth += in_condition(&w->steps[i]);
    double seconds = proceed(w);
    if (w->starved || w->waits_for) w->steps[innermost].at = at;
    return seconds;
}

/* break, continue, return and exit leave steps behind. */
static void unwind(walk *w)
{
    if (sh.unwind == UW_BREAK || sh.unwind == UW_CONTINUE) {
        bool go_on = sh.unwind == UW_CONTINUE;
        sh.unwind = 0;
        for (int levels = sh.unwind_count; w->n && levels;) {
            step *s = &w->steps[w->n - 1];
            bool loop = is_loop_step(s);
            if (loop && --levels == 0 && go_on) return;
            if (s->in && s->in->redirected) redirect_undo(&s->in->save);
            sh.loop_depth -= loop;
            pop(w);
        }
        w->status = 0;
        return;
    }
    w->status = sh.exit_status;
    while (w->n) {
        step *s = &w->steps[w->n - 1];
        if (s->in && s->in->outer) {             /* only this subshell ends */
            if (s->in->reader) s->in->over = sh.unwind != UW_DISCARD;
            sh.unwind = 0;
            return;
        }
        if (s->in && s->in->redirected) redirect_undo(&s->in->save);
        bool returns = s->in && s->in->call.f && sh.unwind == UW_RETURN;
        node *n = s->n;
        if (s->in && s->in->call.f) w->status = call_leave(s->in, w->status);
        pop(w);
        if (!returns) continue;
        settle(w, n, w->status, true);
        if (!sh.unwind) return;
        w->status = sh.exit_status;
    }
}

/* Whether the job may turn out to be a call of a function, or of sleep: f x &, "$@" &. */
static bool may_call(node *n)
{
    if (n->kind != N_SIMPLE || n->u.simple.assigns || !n->u.simple.n || has_process(n->redirs)) return false;
    word *first = n->u.simple.words[0];
    return first->flags & W_PLAIN ? func_find(first->parts->u.lit.text) != NULL
                                  : !n->redirs && first->parts && first->parts->kind == P_PARAM;
}

/* Such a command, its redirections being made already. */
static double begin_call(walk *w, node *n)
{
    arena_mark_t m = arena_mark(&sh.tmp);
    strlist argv = { .a = &sh.tmp };
    double seconds = -1;
    sh.line = n->line + sh.line_base;
    if (!expand_words(n->u.simple.words, n->u.simple.n, &argv) || !argv.n) w->status = sh.unwind ? sh.exit_status : 0;
    else {
        char **v = sl_end(&argv);
        int argc = (int)argv.n;
        func *f = func_find(v[0]);
        if (sh.opt[O_XTRACE]) trace_command(argc, v);
        if (f && call_fits(f)) {
            enclosure *e = call_new(f, argc, v);
            push(w, n);
            w->steps[0].in = e;
            w->steps[0].bare = true;
        } else if (!f && is_shell_command(v[0])) {
            enclosure *e = child_start(argc, v, w->pid, &w->status);
            if (e) {
                push(w, n);
                w->steps[0].in = e;
                w->steps[0].bare = true;
            }
        } else if (!f && (strcmp(v[0], "sleep") || (seconds = sleep_seconds(argc, v)) < 0)) w->status = exec_argv(argc, v, 0);
    }
    arena_release(&sh.tmp, m);
    return seconds;
}

/* The job's command: its redirections hold to its end, and what can stop is entered. */
static double begin(walk *w)
{
    node *n = w->root, *inner = n->kind == N_SUBSHELL ? n->u.pair.a : n;
    w->root = NULL;
    bool calls = may_call(n) || (starts_shell(n) && !has_process(n->redirs)), whole = has_process(n->redirs) || (!calls && n->kind == N_SIMPLE);
    if (n->redirs && !whole) {
        redir_save save;
        bool ok = redirect(n->redirs, &save);
        redirect_forget(&save);
        if (!ok) { w->status = 1; return -1; }
    }
    if (calls) return begin_call(w, n);
    if (is_sleep(inner)) return stop_at(w, inner);
    node bare = *inner;
    bare.redirs = inner == n ? NULL : inner->redirs;
    if (!whole && (can_stop(&bare) || encloses(w, &bare))) {
        push(w, inner);
        w->steps[0].bare = inner == n;
    } else w->status = exec_node(whole ? n : inner);
    return -1;
}

double walk_go(walk *w)
{
    w->starved = w->busy = false;
    w->waits_for = 0;
    if (sh.unwind) { w->root = NULL; unwind(w); }   /* a trap that ran before it goes on */
    do {
        double seconds = w->root ? begin(w) : w->n ? advance(w) : -1;
        if (sh.unwind) unwind(w);
        if (seconds >= 0) return seconds;
    } while (w->n);
    return -1;
}

void walk_surround(void)
{
    fd_set_io(0, io_null());
    for (int i = 0; i < TRAP_MAX; i++) if (sh.traps[i] && !*sh.traps[i]) { free(sh.traps[i]); sh.traps[i] = NULL; }
}

static frame *copy_frames(const frame *f)
{
    frame *first = NULL, **tail = &first;
    for (; f; f = f->up, tail = &(*tail)->up) {
        *tail = xmalloc(sizeof **tail);
        **tail = (frame){ .call_line = f->call_line, .is_source = f->is_source };
        (*tail)->func = f->func ? xstrdup(f->func) : NULL;
        (*tail)->source = f->source ? xstrdup(f->source) : NULL;
    }
    return first;
}

walk *walk_new(node *root)
{
    walk *w = xmalloc(sizeof *w);
    *w = (walk){ .root = root, .prog = sh.prog, .around = copy_frames(sh.frames) };
    if (sh.prog) sh.prog->refs++;
    return w;
}

/* The walk's surroundings, as it left them or as a background command finds them. */
void walk_enter(walk *w)
{
    if (w->state) {
        state_resume(w->state);
        sh.status = w->status;
    } else walk_surround();
    sh.prog = w->prog;
    sh.frames = w->around;
    sh.own_args = NULL;
    for (int i = 0; i < w->n; i++) {
        step *s = &w->steps[i];
        if (s->in && !s->in->call.f && !s->in->redirected) sh.loop_depth = 0;
        if (is_loop_step(s)) sh.loop_depth += s->at > 0;
        if (s->in && s->in->reader) { sh.prog = s->in->prog; sh.frames = NULL; sh.depth++; }
        if (!s->in || !s->in->call.f) continue;
        s->in->call.fr.up = sh.frames;
        sh.frames = &s->in->call.fr;
        if (s->in->call.f->prog) sh.prog = s->in->call.f->prog;
        sh.loop_depth = 0;
        sh.depth++;
        scope_push();
    }
}

void walk_leave(walk *w)
{
    for (int i = 0; i < w->n; i++) if (w->steps[i].in && w->steps[i].in->call.f) scope_pop();
}

void walk_free(walk *w)
{
    while (w->n) pop(w);
    free(w->steps);
    state_free(w->state, true);
    for (frame *f = w->around, *up; f; f = up) {
        up = f->up;
        free((char *)(uintptr_t)f->func);
        free((char *)(uintptr_t)f->source);
        free(f);
    }
    program_unref(w->prog);
    free(w);
}
