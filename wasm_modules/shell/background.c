/* background.c - commands followed by &: they run up to the first sleep, and go on when that time has come.
 *
 * As with processes, the shell itself is a little quicker: what it does next by itself (an echo) comes before the job. The job
 * begins when the shell starts something else, reads or waits, or after HEAD_START commands. Inside a function it begins at once.
 *
 * A job is a walk over its commands that can stop (walk.c). One that reaches a sleep of its own keeps its state aside and leaves;
 * the others go on meanwhile. They get their turn whenever the shell itself would wait: in wait, in sleep, at the end, and every
 * ROUNDS rounds of a while or until loop, which may be looking for what a job is to do. A job that loops itself stops as often.
 *
 * INVARIANT: time is what has been slept, by whomever, and a little for each such turn of a loop, and not what a clock says: the
 * same script gives the same order every time.
 */
#include "background.h"
#include "param.h"
#include "walk.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { JOBS_KEPT = 256, GRACE_S = 1, HEAD_START = 64, ROUNDS = 64, PARKED = -2 };
enum { SIGNAL_PIPE = 13, SIGNAL_CHILD = 17, SIGNAL_CONTINUE = 18 };
#define ROUNDS_S 0.002           /* what ROUNDS rounds of a loop take */

static job jobs[JOBS_KEPT];
static int64_t next_pid = SHELL_FIRST_JOB;
static unsigned jobs_n;          /* jobs begun; the last JOBS_KEPT are known */
static unsigned events;          /* counts stops and ends, to tell which came first */
int jobs_waiting;                /* jobs that have something left to do */
static bool is_awaited;          /* the shell waits, and does nothing else */
static int deepest = -1;         /* the deepest subshell level that may have jobs */
unsigned jobs_fresh;             /* jobs that have not begun yet */
static int head_start;           /* commands the shell has run since the last of them was made */
static unsigned fence;           /* jobs before this one are none of the subshells that run: they run on trial */
static double slept_s;           /* how long everything has slept so far: the time that jobs go by */

double time_slept(void) { return slept_s; }
unsigned jobs_begun(void) { return jobs_n; }
unsigned jobs_first(void) { return jobs_n > JOBS_KEPT ? jobs_n - JOBS_KEPT : 0; }
job *job_at(unsigned i) { return &jobs[i % JOBS_KEPT]; }

int64_t job_new_pid(void) { return next_pid++; }

/* A job that stops takes its own jobs with it, and gets them back when it goes on. */
static void park_jobs(job *j)
{
    for (unsigned i = jobs_first(); i < jobs_n; i++)
        if (job_at(i)->level == sh.level) { job_at(i)->level = PARKED; job_at(i)->parent = j->pid; }
}

static void unpark_jobs(job *j)
{
    for (unsigned i = jobs_first(); i < jobs_n; i++)
        if (job_at(i)->level == PARKED && job_at(i)->parent == j->pid) {
            job_at(i)->level = sh.level;
            if (deepest < sh.level) deepest = sh.level;
        }
}

static void forget_walk(job *j)
{
    if (!j->walk) return;
    jobs_fresh -= j->fresh;
    j->fresh = false;
    walk_free(j->walk);
    j->walk = NULL;
    jobs_waiting--;
    for (unsigned i = jobs_first(); i < jobs_n; i++)
        if (job_at(i)->level == PARKED && job_at(i)->parent == j->pid) forget_walk(job_at(i));
}

/* It was killed: its jobs go on by themselves. */
static void orphan_jobs(job *j)
{
    for (unsigned i = jobs_first(); i < jobs_n; i++)
        if (job_at(i)->level == PARKED && job_at(i)->parent == j->pid) {
            job_at(i)->level = j->level;
            job_at(i)->parent = j->parent;
            job_at(i)->disowned = true;
        }
}

bool job_unfinished(int64_t pid)
{
    for (unsigned i = jobs_first(); i < jobs_n; i++) {
        job *j = job_at(i);
        if (j->level == sh.level && !j->disowned && j->walk && !j->running && (pid == ANY_JOB || j->pid == pid)) return true;
    }
    return false;
}

/* It has stopped before a wait, and what it waits for has not ended. */
static bool waits_still(job *j)
{
    if (!j->walk->waits_for || j->signal || j->walk->sated) return false;
    for (unsigned i = jobs_first(); i < jobs_n; i++) {
        job *other = job_at(i);
        if (other->level != PARKED || other->parent != j->pid || !other->walk || other->disowned) continue;
        if (j->walk->waits_for == ANY_JOB || j->walk->waits_for == other->pid) return true;
    }
    return false;
}

static void end_job(job *j, int status)
{
    forget_walk(j);
    j->status = status;
    j->order = ++events;
}

static bool has_traps(void)
{
    for (int i = 0; i < TRAP_MAX; i++) if (sh.traps[i]) return true;
    return false;
}

/* Lets the job go on in a subshell, which it leaves when it ends or sleeps. */
static void run_on(job *j)
{
    walk *w = j->walk;
    jobs_fresh -= j->fresh;
    j->fresh = false;
    int sig = j->signal;
    j->signal = 0;
    if (!w->root && !w->n && !sig) { orphan_jobs(j); end_job(j, w->status); return; }   /* it slept, and that was all */
    program *prog = sh.prog;
    int status = sh.status, n = sh.npipestatus;
    bool in_turn = sh.in_turn;
    sh.in_turn = true;
    sub_state *st = subshell_enter();
    sh.in_turn = false;
    subshell_orphans(st, j->level, j->parent);
    walk_enter(w);
    unpark_jobs(j);
    sh.pid = j->pid;
    sh.pid_level = sh.level;
    j->running = true;
    sh.heard = 0;
    bool waited = w->waits_for != 0;
    if (sig) sh_signal(sig);
    if (waited) w->heard = sh.heard;
    double seconds = walk_go(w);
    j->running = false;
    state *old = w->state;
    bool stopped = seconds >= 0 && !sh.unwind;
    if (stopped && jobs_fresh) background_begin();
    if (stopped) park_jobs(j);
    w->state = stopped && (w->n || has_traps()) ? state_keep() : NULL;
    if (stopped) walk_leave(w);
    if (stopped) { free(sh.traps[TRAP_EXIT]); sh.traps[TRAP_EXIT] = NULL; }
    int ended = subshell_leave(st, w->status);
    state_free(old, false);
    sh.prog = prog;
    sh.status = status;
    sh.npipestatus = n;
    sh.in_turn = in_turn;
    if (!stopped) end_job(j, ended);
    else {
        j->due_s = slept_s + seconds;
        j->busy = w->busy;
        j->order = ++events;
    }
    if (!in_turn && signals_pending) signal_deliver(is_awaited);
}

bool job_seems_running(job *j) { return j->walk || j->left_s == slept_s; }

/* An ended job keeps its number until somebody is told of it; in a command string, until the shell could have noticed. */
static bool holds_number(job *j)
{
    return j->walk || (!j->waited && !j->killed && (!sh.is_command_string || job_seems_running(j)));
}

static job *new_job(void)
{
    job *j = job_at(jobs_n);
    if (jobs_n++ >= JOBS_KEPT) forget_walk(j);
    free(j->text);
    int number = 1;
    for (unsigned i = jobs_first(); i + 1 < jobs_n; i++) {
        job *other = job_at(i);
        if (other->level == sh.level && holds_number(other) && other->number >= number) number = other->number + 1;
    }
    *j = (job){ .pid = next_pid++, .level = sh.level, .number = number, .begun = ++events };
    if (deepest < sh.level) deepest = sh.level;
    sh.last_bg = j->pid;
    sh.has_bg = true;
    return j;
}

/* INVARIANT: a job that runs stays where it is. Jobs that begin jobs without end fill the table with such. */
static bool table_is_full(void) { return job_at(jobs_n)->running; }

void job_add(int status) { if (!table_is_full()) new_job()->status = status; }

/* The job begins later, with the state that it finds now. */
static void put_off(job *j)
{
    int status = sh.status;
    sub_state *st = subshell_enter();
    walk_surround();
    j->walk->state = state_keep();
    j->walk->status = status;
    subshell_leave(st, 0);
    j->due_s = slept_s;
    j->order = ++events;
    j->fresh = true;
    jobs_fresh++;
    head_start = 0;
}

void background_begin(void)
{
    for (unsigned i = jobs_first(); jobs_fresh && i < jobs_n && !sh.unwind; i++) {
        job *j = job_at(i);
        if (j->fresh && j->level == sh.level && !walk_lacks_input(j->walk)) run_on(j);
    }
}

void background_tick(void)
{
    if (++head_start > HEAD_START) background_begin();
}

int exec_background(node *n)
{
    int cond = sh.cond_depth;
    while (n->kind == N_NOT && n->u.pair.a) n = n->u.pair.a;   /* a job's status is not inverted */
    if (table_is_full()) {
        sh_error("fork: retry: Resource temporarily unavailable");
        stack_overflowed();
        sh_fail(1);
        return 1;
    }
    if (sh.in_trial) {           /* on trial nothing may be put off */
        int status = subshell_run(n, 1);
        job_add(status);
    } else {
        job *j = new_job();
        j->walk = walk_new(n);
        j->walk->pid = j->pid;
        jobs_waiting++;
        strbuf b = { 0 };
        print_node_line(&b, n);
        j->text = sb_str(&b);
        unsigned mine = jobs_n - 1;
        if (sh.frames && !walk_lacks_input(j->walk)) run_on(j); else put_off(j);
        job_at(mine)->left_s = slept_s;
    }
    sh.cond_depth = cond;
    sh.status = 0;
    return 0;
}

/* ---- time ---- */

void time_pass(double seconds)
{
    if (seconds <= 0) return;
    slept_s += seconds;
    for (int fd = 1; fd <= 2; fd++) if (fd_get(fd)) io_flush(fd_get(fd));
    io_show();
    struct timespec left = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };
    nanosleep(&left, NULL);
}

static job *earlier(job *a, job *b)
{
    if (!a || !b) return a ? a : b;
    return b->due_s < a->due_s || (b->due_s == a->due_s && b->order < a->order) ? b : a;
}

/* The job whose time comes first, NULL when none does until then. One without input has no time. */
static job *next_due(double until_s)
{
    job *first = NULL;
    for (unsigned i = jobs_first(); jobs_waiting && i < jobs_n; i++) {
        job *j = job_at(i);
        if (!j->walk || j->running || j->due_s > until_s) continue;
        if (!waits_still(j) && !walk_lacks_input(j->walk)) first = earlier(first, j);
    }
    return first;
}

/* Passes the time until the next job is due and runs it; false when there is none until then, or the shell is to end. */
static bool run_next(double until_s)
{
    job *j = next_due(until_s);
    if (!j) return false;
    if (!j->busy) time_pass(j->due_s - slept_s);
    else if (j->due_s > slept_s) slept_s = j->due_s;
    run_on(j);
    return !sh.unwind;
}

double background_turn(int rounds)
{
    if (rounds % ROUNDS || sh.in_trial || (is_awaited && jobs_waiting == 1)) return -1;
    return ROUNDS_S;
}

/* A command without any effect: the loop around it only waits. */
static bool is_idle(node *n)
{
    if (n->kind == N_LIST && n->u.list.n == 1) n = n->u.list.items[0];
    if (n->kind != N_SIMPLE || n->u.simple.n != 1 || n->redirs || !(n->u.simple.words[0]->flags & W_PLAIN)) return false;
    const char *name = n->u.simple.words[0]->parts->u.lit.text;
    return !strcmp(name, ":") || !strcmp(name, "true");
}

void background_round(node *body)
{
    static int rounds;
    if (background_turn(++rounds) < 0) return;
    if (jobs_fresh) background_begin();
    double until_s = slept_s + ROUNDS_S;
    if (!is_idle(body) || !run_next(1e18)) {
        while (run_next(until_s)) { }
        if (slept_s < until_s) slept_s = until_s;
    }
    if (signals_pending) signal_deliver(true);
}

int background_write(io *s, void *ctx)
{
    size_t len = 0;
    (void)ctx;
    if (sh.in_trial) return 0;
    if (jobs_fresh) background_begin();
    for (io_bytes(s, &len); !len && !sh.unwind && !io_written_out(s) && run_next(1e18);) io_bytes(s, &len);
    return len > 0;
}

static sleeper *innermost_sleep;
const sleeper *sleep_running(void) { return innermost_sleep; }

bool background_sleep(int argc, char **argv, int *status)
{
    double seconds = sleep_seconds(argc, argv);
    if (seconds < 0 || !jobs_waiting || sh.in_trial) { if (seconds > 0) slept_s += seconds; return false; }
    double until_s = slept_s + seconds;
    sleeper own = { .outer = innermost_sleep, .pid = next_pid++, .level = sh.level, .argument = argv[1] };
    innermost_sleep = &own;
    while (!own.killed_by && run_next(until_s)) { }
    innermost_sleep = own.outer;
    if (!own.killed_by && !sh.unwind) time_pass(until_s - slept_s);
    *status = own.killed_by ? 128 + own.killed_by : 0;
    sh.child_killed_by = own.killed_by;
    return true;
}

static bool kill_sleep(int64_t pid, int sig)
{
    for (sleeper *s = innermost_sleep; s; s = s->outer)
        if (s->pid == pid) { if (sig && sig != SIGNAL_CHILD && sig != SIGNAL_CONTINUE) s->killed_by = sig; return true; }
    return false;
}

int64_t job_parent(const job *j) { return j->level == PARKED ? j->parent : SHELL_PID + j->level; }

/* The job is over and its status taken: the shell hears of it once. */
static void note_end(job *j)
{
    bool first = !j->waited;
    j->waited = true;
    if (first && sh.traps[SIGNAL_CHILD]) run_trap(SIGNAL_CHILD);
}

int job_wait(job *j)
{
    bool was = is_awaited;
    sh.heard = 0;
    is_awaited = true;
    while (j->walk && !j->running && !sh.heard && !sh.unwind) {
        if (run_next(1e18) || sh.unwind) continue;
        if (j->walk->sated) end_job(j, 128 + SIGNAL_PIPE);   /* bash would wait for ever */
        else { j->walk->sated = true; run_on(j); }
    }
    is_awaited = was;
    if (sh.heard) return 128 + sh.heard;
    int status = j->status;
    note_end(j);
    return status;
}

void jobs_wait_all(void)
{
    sh.heard = 0;
    for (unsigned i = jobs_first(); i < jobs_n && !sh.heard; i++)
        if (job_at(i)->level == sh.level && !job_at(i)->disowned) job_wait(job_at(i));
    for (unsigned i = jobs_first(); i < jobs_n && !sh.heard; i++)
        if (job_at(i)->level == sh.level && !job_at(i)->walk) job_at(i)->level = -1;   /* their statuses are forgotten, too */
}

static bool is_among(job *j, job **among, int n)
{
    for (int i = 0; i < n; i++) if (among[i] == j) return true;
    return !n;
}

job *job_wait_any(job **among, int n)
{
    for (;;) {
        job *first = NULL;
        bool some = false;
        for (unsigned i = jobs_first(); i < jobs_n; i++) {
            job *j = job_at(i);
            if (j->level != sh.level || j->waited || j->disowned || !is_among(j, among, n)) continue;
            some = true;
            if (!j->walk && (!first || j->order < first->order)) first = j;
        }
        if (first) note_end(first);
        if (first || !some || !run_next(1e18)) return first;
    }
}

unsigned background_fence(unsigned from)
{
    unsigned was = fence;
    fence = from;
    return was;
}

void background_leave(int level, int64_t heir)
{
    if (deepest < sh.level) return;
    for (unsigned i = jobs_first() > fence ? jobs_first() : fence; i < jobs_n; i++) {
        job *j = job_at(i);
        if (j->level < sh.level) continue;
        j->level = j->walk ? level : -1;
        j->parent = heir;
        j->disowned = true;
    }
    deepest = level > sh.level - 1 ? level : sh.level - 1;
}

void background_finish(void)
{
    if (deepest < sh.level) return;
    unsigned first = jobs_first() > fence ? jobs_first() : fence;
    double until_s = slept_s + GRACE_S;
    bool left = true;
    while (left && jobs_waiting && !sh.in_trial) {
        left = false;
        for (unsigned i = first; i < jobs_n; i++)
            left |= job_at(i)->level == sh.level && job_at(i)->walk && job_at(i)->due_s <= until_s;
        if (left) left = run_next(until_s);
    }
    for (unsigned i = first; i < jobs_n; i++)
        if (job_at(i)->level >= sh.level) {
            forget_walk(job_at(i));
            job_at(i)->level = -1;
        }
    if (!fence) deepest = sh.level - 1;
}

job *job_find(int64_t id, bool is_number)
{
    for (unsigned i = jobs_n; i-- > jobs_first();) {
        job *j = job_at(i);
        if (j->level != sh.level && j->level != sh.jobs_level) continue;
        if (is_number ? j->number == id : j->pid == id) return j;
    }
    return NULL;
}

bool job_kill(int64_t id, bool is_number, int sig)
{
    job *j = job_find(id, is_number);
    for (unsigned i = jobs_first(); !j && !is_number && i < jobs_n; i++) if (job_at(i)->pid == id) j = job_at(i);
    if (!j && !is_number && kill_sleep(id, sig)) return true;
    if (j && !j->walk && sig && coprocess_kill(j->pid)) { j->status = 128 + sig; return true; }
    if (!j || !j->walk) return false;
    const char *trap = j->walk->state ? j->walk->state->sh.traps[sig] : NULL;
    bool ignored = (sig >= SIGNAL_CHILD && sig <= SIGNAL_CHILD + 3) || ((sig == 2 || sig == 3) && !sh.opt[O_MONITOR]);
    if (!sig || j->running) return true;
    if (trap && *trap && sig != 9) j->signal = sig;
    else if ((!trap && !ignored) || sig == 9) { orphan_jobs(j); end_job(j, 128 + sig); j->killed = true; }
    return true;
}

void job_forget_all(void)
{
    for (unsigned i = jobs_first(); i < jobs_n; i++) { forget_walk(job_at(i)); free(job_at(i)->text); *job_at(i) = (job){ 0 }; }
    jobs_n = fence = 0;
    deepest = -1;
    slept_s = 0;
}
