/* trap.c - traps: EXIT, ERR, DEBUG, RETURN, and signals a script sends to itself with kill. */
#include "sh.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const names[] = { "EXIT", "HUP",  "INT",  "QUIT", "ILL",    "TRAP",   "ABRT",  "BUS",  "FPE",  "KILL", "USR1",
                                     "SEGV", "USR2", "PIPE", "ALRM", "TERM",   "STKFLT", "CHLD",  "CONT", "STOP", "TSTP", "TTIN",
                                     "TTOU", "URG",  "XCPU", "XFSZ", "VTALRM", "PROF",   "WINCH", "IO",   "PWR",  "SYS" };

const char *signal_name(int n)
{
    static char real_time[12];
    if (n >= 0 && n < (int)(sizeof names / sizeof *names)) return names[n];
    if (n == 34) return "RTMIN";
    if (n == 64) return "RTMAX";
    if (n > 34 && n < 64) {
        snprintf(real_time, sizeof real_time, n < 50 ? "RTMIN+%d" : "RTMAX-%d", n < 50 ? n - 34 : 64 - n);
        return real_time;
    }
    return n == TRAP_ERR ? "ERR" : n == TRAP_DEBUG ? "DEBUG" : n == TRAP_RETURN ? "RETURN" : NULL;
}

int signal_number(const char *name)
{
    int64_t n;
    if (parse_int(name, &n)) return n >= 0 && n < 65 ? (int)n : -1;
    if (!strncasecmp(name, "SIG", 3)) name += 3;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) if (!strcasecmp(names[i], name)) return (int)i;
    for (int i = 34; i < TRAP_ERR; i++) if (!strcasecmp(signal_name(i), name)) return i;
    if (!strcasecmp(name, "ERR")) return TRAP_ERR;
    if (!strcasecmp(name, "DEBUG")) return TRAP_DEBUG;
    if (!strcasecmp(name, "RETURN")) return TRAP_RETURN;
    return -1;
}

enum { TEXT_WIDTH = 24, SIGINT_N = 2, SIGPIPE_N = 13, SIGTERM_N = 15 };

void signal_tell(int64_t pid)
{
    int sig = sh.child_killed_by;
    sh.child_killed_by = 0;
    if (sh.captured) return;
    static const char *const texts[] = { "", "Hangup", "Interrupt", "Quit", "Illegal instruction", "Trace/breakpoint trap", "Aborted",
                                         "Bus error", "Floating point exception", "Killed", "User defined signal 1",
                                         "Segmentation fault", "User defined signal 2", "Broken pipe", "Alarm clock", "Terminated" };
    if (sig == SIGINT_N || sig == SIGPIPE_N || sig < 1 || sig >= (int)(sizeof texts / sizeof *texts) || !fd_get(2)) return;
    if (sh.traps[sig] || sig == SIGTERM_N) { io_printf(fd_get(2), "%s\n", texts[sig]); return; }
    arena_mark_t m = arena_mark(&sh.tmp);
    strbuf b = { .a = &sh.tmp };
    if (sh.command_node) print_node_line(&b, sh.command_node);
    sh_error("%5lld %-*s%s", (long long)pid, TEXT_WIDTH, texts[sig], sb_str(&b));
    arena_release(&sh.tmp, m);
}

int run_trap(int which)
{
    char *text = sh.traps[which];
    if (!text || !*text || sh.in_trap[which]) return 0;
    text = xstrdup(text);
    int status = sh.status, line = sh.line, n = sh.npipestatus;
    int conditions = sh.cond_depth;
    int outer_status = sh.trap_status, outer_level = sh.trap_level;
    sh.cond_depth = 0;
    sh.trap_status = status;
    sh.trap_level = sh.level;
    sh.in_trap[which] = true;
    sh.running_traps++;
    int ran = exec_text(text, strlen(text),
                        which == TRAP_EXIT  ? "exit trap"
                        : which == TRAP_ERR ? "error trap"
                                            : "trap",
                        which < TRAP_ERR ? 1 : line);
    sh.in_trap[which] = false;
    if (which == TRAP_EXIT) { free(sh.traps[which]); sh.traps[which] = NULL; }   /* one that it sets itself never runs */
    sh.running_traps--;
    sh.trap_status = outer_status;
    sh.trap_level = outer_level;
    sh.cond_depth = conditions;
    free(text);
    sh.line = line;
    sh.npipestatus = n;
    if (sh.unwind != UW_EXIT) sh.status = status;
    return ran;
}

void sh_leave(int status)
{
    sh_exit(status);
    if (sh.unwind != UW_EXIT || !sh.traps[TRAP_EXIT]) return;
    sh.unwind = 0;
    sh.status = sh.exit_status;
    if (jobs_fresh) background_begin();
    run_trap(TRAP_EXIT);
    if (sh.unwind != UW_EXIT) sh_exit(status);
}

void sh_die(void)
{
    int status = sh_fatal_status();
    if (sh.opt[O_ERREXIT] && !sh.is_command_string) sh_leave(status); else sh_exit(status);
}
