/* coprocess.c - coproc without a second process.
 *
 * The command is a walk (walk.c) that goes on whenever its output is asked for, until it wants to read a line that nobody has
 * written yet. There it stops and keeps its state. It comes to its end at wait, at the end of the script, or before another one.
 *
 * What reads by other means (awk, bc, a read inside of a function) finds its input at an end too early. When more was written
 * after that, the command runs anew with all it was ever given, and what it had answered before is left out.
 */
#include "background.h"
#include "walk.h"
#include <stdlib.h>
#include <string.h>

static struct {
    node *body;
    program *prog;
    walk *walk;                  /* NULL when it has ended */
    io *in, *out;                /* what the shell writes to and reads from */
    io *feed;                    /* what was written, as the command reads it */
    strbuf given;                /* all of that, from the beginning */
    size_t answered;             /* bytes that the command has put out since it began */
    char *name;
    int64_t pid;
    bool ran, running;
    bool hasty;                  /* it has seen an end of its input that may not have been one */
} now;

int64_t coprocess_pid(void) { return now.pid; }

static void unset_variables(void)
{
    strbuf pid = { .a = &sh.tmp };
    if (!now.name) return;
    sb_printf(&pid, "%s_PID", now.name);
    var_unset(slot_of(now.name), 1);
    var_unset(slot_of(sb_str(&pid)), 1);
}

static int came_to_end(io *s, void *ctx)
{
    (void)s;
    (void)ctx;
    now.hasty = true;
    return 0;
}

/* The command as it begins: with what the shell has now, and both of its pipes. */
static void begin(void)
{
    program *prog = sh.prog;
    sh.prog = now.prog;
    now.walk = walk_new(now.body);
    sh.prog = prog;
    now.walk->feed = now.feed = io_pipe();
    io_watch_dry(now.feed, came_to_end, NULL);
    sub_state *st = subshell_enter();
    walk_surround();
    fd_set_io(0, io_ref(now.feed));
    fd_set_io(1, io_ref(now.out));
    now.walk->state = state_keep();
    subshell_leave(st, 0);
    now.hasty = false;
    now.answered = 0;
}

static void end(int status)
{
    job *j = job_find(now.pid, false);
    if (j) j->status = status;
    walk_free(now.walk);
    now.walk = NULL;
}

/* Lets the command go on until it starves or ends. */
static void turn(void)
{
    walk *w = now.walk;
    program *prog = sh.prog;
    int before = sh.status, n = sh.npipestatus;
    size_t unread, more;
    io_bytes(now.out, &unread);
    now.running = now.ran = true;
    sub_state *st = subshell_enter();
    walk_enter(w);
    for (double seconds; (seconds = walk_go(w)) >= 0 && !w->starved && !sh.unwind;) time_pass(seconds);
    state *old = w->state;
    w->state = w->starved ? state_keep() : NULL;
    if (w->starved) walk_leave(w);
    if (w->starved) { free(sh.traps[TRAP_EXIT]); sh.traps[TRAP_EXIT] = NULL; }
    int status = subshell_leave(st, w->status);
    state_free(old, false);
    sh.prog = prog;
    sh.status = before;
    sh.npipestatus = n;
    now.running = false;
    io_bytes(now.out, &more);
    now.answered += more - unread;
    if (!w->starved) end(status);
}

/* Passes on what was written since; true when there was something. */
static bool take_input(void)
{
    size_t len;
    const char *bytes = io_bytes(now.in, &len);
    if (!len) return false;
    sb_add(&now.given, bytes, len);
    if (now.walk && !now.hasty) io_write(now.feed, bytes, len);
    io_skip(now.in, len);
    return true;
}

static void run_anew(void)
{
    size_t unread;
    io_bytes(now.out, &unread);
    size_t told = now.answered - unread;
    io_skip(now.out, unread);
    if (now.walk) walk_free(now.walk);
    io_unref(now.feed);
    begin();
    io_write(now.feed, now.given.s, now.given.len);
    turn();
    io_bytes(now.out, &unread);
    io_skip(now.out, told < unread ? told : unread);
}

/* The output pipe is empty: 1 when there may be more now, 0 at the end. */
static int dry(io *s, void *ctx)
{
    (void)ctx;
    if (s != now.out || now.running) return 0;
    bool more = take_input();
    if (more && now.hasty) run_anew();
    else if (now.walk && (more || !now.ran)) turn();
    else return 0;
    return 1;
}

void coprocess_finish(void)
{
    if (!now.body || now.running) return;
    bool more = take_input();
    if (more && now.hasty) run_anew();
    if (!now.walk) return;
    now.walk->feed = NULL;       /* nobody will write any more */
    turn();
}

void coprocess_waited(int64_t pid) { if (now.name && (pid < 0 || pid == now.pid)) unset_variables(); }

static void forget(void)
{
    if (now.out) io_watch_dry(now.out, NULL, NULL);
    if (now.feed) io_watch_dry(now.feed, NULL, NULL);
    if (now.walk) walk_free(now.walk);
    if (now.prog) program_unref(now.prog);
    io_unref(now.in);
    io_unref(now.out);
    io_unref(now.feed);
    free(now.given.s);
    free(now.name);
    memset(&now, 0, sizeof now);
}

bool coprocess_kill(int64_t pid)
{
    if (!now.name || pid != now.pid) return false;
    forget();
    return true;
}

/* Forgets the coprocess: a new one starts, or the script is over. */
void coprocess_drop(void)
{
    coprocess_finish();
    forget();
}

int coprocess_start(const char *name, node *body)
{
    coprocess_drop();
    now.body = body;
    now.prog = sh.prog;
    if (now.prog) now.prog->refs++;
    now.in = io_pipe();
    now.out = io_pipe();
    begin();
    io_watch_dry(now.out, dry, NULL);
    int r = fd_free_from(60);
    fd_set_io(r, io_ref(now.out));
    int w = fd_free_from(r + 1);
    fd_set_io(w, io_ref(now.in));
    char a[24], b[24], *items[2] = { fmt_int(r, a), fmt_int(w, b) };
    var_set_list(name, items, 2);
    sh.has_bg = true;
    job_add(0);
    strbuf pid = { .a = &sh.tmp };
    sb_printf(&pid, "%s_PID", name);
    var_set_int(sb_str(&pid), sh.last_bg);
    now.name = xstrdup(name);
    now.pid = sh.last_bg;
    return 0;
}
