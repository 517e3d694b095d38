/* coprocess.c - coproc without a second process.
 *
 * The command runs when its output is first asked for, with all that was written to it by then; when more has been written since
 * and more output is asked for, it runs again with that. So filters such as bc or cat answer line by line; one that keeps state
 * between its answers starts anew. A coprocess nobody has read from runs at wait, or at the end of the script.
 */
#include "sh.h"
#include <stdlib.h>
#include <string.h>

static struct { node *body; program *prog; io *in, *out; char *name; int64_t pid; bool ran, running; } now;

static void unset_variables(void)
{
    strbuf pid = { .a = &sh.tmp };
    if (!now.name) return;
    sb_printf(&pid, "%s_PID", now.name);
    var_unset(slot_of(now.name), 1);
    var_unset(slot_of(sb_str(&pid)), 1);
}

static void turn(void)
{
    if (!now.body || now.running) return;
    now.running = now.ran = true;
    sub_state *st = subshell_enter();
    fd_set_io(0, io_ref(now.in));
    fd_set_io(1, io_ref(now.out));
    int status = exec_node(now.body);
    subshell_leave(st, status);
    now.running = false;
}

/* The output pipe is empty: 1 when there may be more now, 0 at the end. */
static int dry(io *s, void *ctx)
{
    (void)ctx;
    size_t left = 0;
    if (s != now.out || now.running) return 0;
    if (now.ran) io_bytes(now.in, &left);
    if (now.ran && !left) return 0;
    turn();
    return 1;
}

void coprocess_finish(void) { if (now.body && !now.ran) turn(); }

void coprocess_waited(int64_t pid) { if (now.name && (pid < 0 || pid == now.pid)) unset_variables(); }

bool coprocess_kill(int64_t pid)
{
    if (!now.name || pid != now.pid) return false;
    now.ran = true;
    coprocess_drop();
    return true;
}

/* Forgets the coprocess: a new one starts, or the script is over. */
void coprocess_drop(void)
{
    coprocess_finish();
    if (now.out) io_watch_dry(now.out, NULL, NULL);
    if (now.prog) program_unref(now.prog);
    io_unref(now.in);
    io_unref(now.out);
    free(now.name);
    memset(&now, 0, sizeof now);
}

int coprocess_start(const char *name, node *body)
{
    coprocess_drop();
    now.body = body;
    now.prog = sh.prog;
    if (now.prog) now.prog->refs++;
    now.in = io_pipe();
    now.out = io_pipe();
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
