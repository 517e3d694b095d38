/* pipeline.c - a | b | c without fork or threads.
 *
 * Stages run one after the other, each as a subshell, with memory buffers between them. That is right for every producer that
 * ends by itself. A producer that would go on for ever (yes | head -1) must end when its reader has enough, so:
 *
 *   When the unread output of a stage grows past a limit, the stages behind it are run ON TRIAL, right there inside the
 * producer's write, on what there is so far. Their output goes into buffers; effects on files are forbidden. If they
 * come to an end without asking for more input, what they did becomes true: the buffers are written out, the pipe is closed and
 * the producer stops with EPIPE (141). If they ask for more, or are about to have an effect, everything they did is dropped and
 * the producer goes on, with a limit eight times as high. A trial costs at most the work done so far, so all trials together cost
 * a fraction of the whole.
 *
 * Why so: one wasm instance has one stack, so two stages cannot be suspended in turn; undoing a subshell is something this shell
 * does anyway and cheaply. A consumer that has effects and never ends by itself is only run on trial beyond ALLOW_EFFECTS bytes,
 * when waiting longer would exhaust memory: there an effect may happen twice.
 */
#include "sh.h"
#include "slow.h"
#include <stdlib.h>
#include <string.h>

enum { FIRST_LIMIT = 64 << 10, GROWTH = 8, ALLOW_EFFECTS = 24 << 20 };

typedef struct pipeline {
    struct pipeline *outer;
    node **stages;
    int n;
    int *status;                 /* per stage */
    int running;                 /* the stage that runs */
    int settled;                 /* stages from here on are done: a trial succeeded */
    size_t tried;                /* bytes of the last trial */
    io *out;                     /* of the running stage */
    sub_state *state;            /* of the running stage */
} pipeline;

static pipeline *innermost;
static void run_stages(pipeline *pl, int from, io *in);

typedef struct { io *real, *buffer; } swap;

static int abandon(io *s, void *ctx) { (void)s; (void)ctx; sh.unwind = UW_TRIAL; return -1; }

/* Replaces every stream of the subshell by a buffer, so that nothing gets out and nothing outside is read. */
static int seal(swap *swaps, int cap)
{
    int n = 0;
    for (int fd = 0; fd < sh.nfds; fd++) {
        if (!sh.fds[fd]) continue;
        int k = 0;
        while (k < n && swaps[k].real != sh.fds[fd]) k++;
        if (k == n) {
            if (n == cap) { fd_set_io(fd, NULL); continue; }
            swaps[n] = (swap){ io_ref(sh.fds[fd]), io_pipe() };
            io_watch_dry(swaps[n].buffer, abandon, NULL);
            n++;
        }
        fd_set_io(fd, io_ref(swaps[k].buffer));
    }
    return n;
}

static void unseal(swap *swaps, int n, bool commit)
{
    for (int i = 0; i < n; i++) {
        size_t len;
        const char *bytes = io_bytes(swaps[i].buffer, &len);
        if (commit && len) io_write(swaps[i].real, bytes, len);
        io_unref(swaps[i].buffer);
        io_unref(swaps[i].real);
    }
}

static int dry(io *s, void *ctx);

/* Runs the stages behind the running one on what it has written so far. True: they are satisfied. */
static bool trial(pipeline *pl)
{
    size_t len;
    const char *bytes = io_bytes(pl->out, &len);
    if (sh.unwind || !pl->state || len == 0 || len <= pl->tried) return false;
    pl->tried = len;
    io *copy = io_view(bytes, len);   /* the producer waits in its write: its buffer stays as it is */
    if (!copy) return false;
    swap swaps[16];
    pipeline rest = *pl;
    rest.tried = 0;
    rest.out = NULL;
    rest.state = NULL;
    outside *o = subshell_step_out(pl->state);   /* what the producer did to its own state is none of its readers' business */
    sub_state *st = subshell_enter();
    int was = sh.in_trial;
    unsigned fence = background_fence(jobs_begun());   /* the producer may be a job itself: it must outlive its readers */
    sh.in_trial = len > ALLOW_EFFECTS ? 2 : 1;
    int n = seal(swaps, 16);
    io_watch_dry(copy, dry, &rest);
    run_stages(&rest, pl->running + 1, copy);
    io_unref(copy);
    bool ok = sh.unwind != UW_TRIAL;
    sh.unwind = 0;
    subshell_leave(st, 0);
    sh.in_trial = was;
    background_fence(fence);
    sh.unwind = 0;
    unseal(swaps, n, ok);
    subshell_step_in(pl->state, o);
    if (ok) { pl->settled = pl->running + 1; io_close_reader(pl->out); }
    return ok;
}

/* A stage on trial wants more than there is. If it is not the last, the ones behind it may be satisfied with what it wrote. */
static int dry(io *s, void *ctx)
{
    pipeline *pl = ctx;
    (void)s;
    if (pl->running + 1 < pl->n && pl->settled > pl->n - 1 && pl->out && trial(pl)) { sh_exit(141); return -1; }
    if (sh.unwind != UW_EXIT) sh.unwind = UW_TRIAL;
    return -1;
}

static void full(io *s, void *ctx)
{
    pipeline *pl = ctx;
    size_t len;
    io_bytes(s, &len);
    if (pl->out != s || trial(pl)) return;
    io_watch_full(s, len * GROWTH, full, pl);
}

void pipeline_idle(void)
{
    pipeline *pl = innermost;
    if (pl && pl->out && pl->running + 1 < pl->n && pl->settled > pl->running) trial(pl);
}

bool pipeline_stage(node *n)
{
    pipeline *pl = innermost;
    return pl && pl->running < pl->n && pl->stages[pl->running] == n;
}

bool trial_effect(void)
{
    if (sh.in_trial != 1) return false;
    sh.unwind = UW_TRIAL;
    return true;
}

static int run_stage(pipeline *pl, node *stage, io *in, io *out)
{
    int jobs_level = sh.jobs_level;
    sub_state *st = pl->state = subshell_enter();
    if (stage->kind == N_SIMPLE) {
        sh.subshells--;
        sh.bare_stage = true;
        if (stage->u.simple.n && !strcmp(stage->u.simple.words[0]->raw, "jobs")) sh.jobs_level = jobs_level;
    }
    if (in) fd_set_io(0, io_ref(in));
    if (out) fd_set_io(1, io_ref(out));
    int status = exec_node(stage);
    return subshell_leave(st, status);
}

/* Runs stages from..n-1 in order; in is the input of the first (borrowed). */
static void run_stages(pipeline *pl, int from, io *in)
{
    io *owned = NULL;
    int before = sh.status;
    pl->settled = pl->n;
    pl->outer = innermost;
    innermost = pl;
    for (int i = from; i < pl->n && pl->settled > i && sh.unwind != UW_TRIAL; i++) {
        bool last = i == pl->n - 1;
        io *out = last ? NULL : io_pipe();
        pl->running = i;
        sh.status = before;
        pl->out = out;
        pl->tried = 0;
        if (out) slow_begin(out, FIRST_LIMIT, full, pl);
        if (last && sh.shopt[S_LASTPIPE] && !sh.in_trial && !sh.opt[O_MONITOR]) {
            io *was = io_ref(fd_get(0));
            if (owned) fd_set_io(0, io_ref(owned));
            pl->status[i] = exec_node(pl->stages[i]);
            fd_set_io(0, was);
        } else {
            pl->status[i] = run_stage(pl, pl->stages[i], owned ? owned : in, out);
        }
        if (out) slow_end(out);
        io_unref(owned);
        owned = out;
    }
    io_unref(owned);
    pl->out = NULL;
    innermost = pl->outer;
}

int exec_pipeline(node *n)
{
    int count = n->u.list.n;
    if (jobs_fresh) background_begin();
    pipeline pl = { .stages = n->u.list.items, .n = count, .status = xmalloc((size_t)count * sizeof(int)) };
    memset(pl.status, 0, (size_t)count * sizeof(int));
    if (sh.traps[TRAP_DEBUG] && !sh.opt[O_FUNCTRACE])
        for (int i = 0; i < count; i++) {
            if (pl.stages[i]->kind != N_SIMPLE) continue;
            sh.line = pl.stages[i]->line + sh.line_base;
            debug_trap(pl.stages[i]);
        }
    run_stages(&pl, 0, NULL);
    node *last = pl.stages[count - 1];
    if (last->kind == N_SIMPLE) { sh.line = last->line + sh.line_base; if (!sh.running_traps) sh.command_node = last; }
    int status = pl.status[count - 1];
    if (sh.opt[O_PIPEFAIL])
        for (int i = 0; i < count; i++) if (pl.status[i]) status = pl.status[i];
    sh.npipestatus = count > 64 ? 64 : count;
    for (int i = 0; i < sh.npipestatus; i++) sh.pipestatus[i] = pl.status[i];
    free(pl.status);
    return status;
}

bool tool_allowed(const char *name, int argc, char **argv)
{
    static const char *const changing[] = { "chmod",  "cp",    "dd",       "gunzip", "gzip",  "install", "ln",    "mkdir",
                                            "mktemp", "mv",    "patch",    "rm",     "rmdir", "shred",   "split", "tar",
                                            "tee",    "touch", "truncate", "unlink", "unzip", "zip" };
    if (sh.in_trial != 1) return true;
    bool changes = false;
    for (size_t i = 0; i < sizeof changing / sizeof *changing; i++) if (!strcmp(name, changing[i])) changes = true;
    if (!strcmp(name, "tee") && argc == 1) changes = false;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(name, "sed") && argv[i][0] == '-' && argv[i][1] == 'i') changes = true;
        if (!strcmp(name, "sed") && strstr(argv[i], "w ")) changes = true;
        if (!strcmp(name, "sort") && argv[i][0] == '-' && strchr(argv[i], 'o')) changes = true;
        if (!strcmp(name, "find") && (!strcmp(argv[i], "-delete") || !strncmp(argv[i], "-fprint", 7))) changes = true;
        if ((!strcmp(name, "awk") || !strcmp(name, "gawk")) && (strchr(argv[i], '>') || strstr(argv[i], "system")))
            changes = true;
    }
    return !changes || !trial_effect();
}
