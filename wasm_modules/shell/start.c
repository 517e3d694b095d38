/* start.c - bringing the shell up, giving it streams, running a whole program. */
#include "sh.h"
#include "background.h"
#include "fifo.h"
#include "options.h"
#include "param.h"
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static io *borrow_fd(int n) { return fd_get(n); }

/* What is only tried can be dropped; anything else would go on with a part of its data. */
static void no_room(void) { if (sh.in_trial) sh.unwind = UW_TRIAL; else out_of_memory(); }

void shell_start(void)
{
    setlocale(LC_ALL, "C.UTF-8");
    sh.arg0 = "bash";
    sh.max_depth = 256;
    sh.shell_pid = SHELL_PID;
    sh.is_command_string = true;
    options_start();
    special_start();
    char buf[4096];
    sh.cwd = xstrdup(getcwd(buf, sizeof buf) ? buf : "/");
    var_set_plain("PWD", sh.cwd);
    var_export("PWD");
    io_shell_fd = borrow_fd;
    io_in_fds = shell_in_fds;
    fifo_dry = background_write;
    io_no_room = no_room;
}

void shell_io(io *in, io *out, io *err)
{
    fd_set_io(0, in);
    fd_set_io(1, out);
    fd_set_io(2, err);
}

int shell_run(const char *code, size_t len)
{
    extern char *stack_base;
    char here;
    char *volatile now = &here;
    stack_base = now;
    sh.unwind = 0;
    sh.status = 0;
    sh.line = 1;
    sh.frames = NULL;
    sh.execution_string = sh.is_command_string ? code : NULL;
    sh.execution_len = len;
    sh.first_args = sh.args;
    sh.nfirst_args = sh.own_args ? 0 : sh.nargs;   /* what set -- left behind is nothing the shell was started with */
    sh.loop_depth = sh.cond_depth = sh.depth = sh.eval_depth = 0;
    stack_start();
    sh_syntax.message[0] = 0;
    sh.has_run = false;
    job_forget_all();
    int status = exec_text(code, len, NULL, 1);
    if (sh.unwind == UW_EXIT || sh.unwind == UW_DISCARD || sh.unwind == UW_RETURN) status = sh.exit_status;
    sh.unwind = 0;
    sh.status = status;
    if (jobs_fresh) background_begin();
    if (sh.traps[TRAP_EXIT]) {
        run_trap(TRAP_EXIT);
        if (sh.unwind == UW_EXIT) status = sh.exit_status;
    }
    sh.unwind = 0;
    proc_release(true);
    sh.unwind = 0;
    background_finish();
    sh.unwind = 0;
    coprocess_drop();
    sh.unwind = 0;
    for (int i = 0; i < sh.nfds; i++) if (sh.fds[i]) io_flush(sh.fds[i]);
    io_flush_all();
    sh.execution_string = NULL;
    sh.nfirst_args = 0;
    return status & 255;
}
