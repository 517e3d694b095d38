/* b_jobs.c - the builtins for background jobs: wait, jobs, disown, suspend. What a job is, background.c knows. */
#include "background.h"
#include "builtins.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool known(job *j) { return (j->level == sh.level || j->level == sh.jobs_level) && !j->disowned; }

/* Running, and one that jobs shows here. */
static bool shown(job *j) { return known(j) && j->walk; }

/* Has ended by itself, and nobody was told so far. */
static bool ended(job *j) { return known(j) && !j->walk && !j->waited && j->text && !j->killed; }

/* To be shown as running. */
static bool runs(job *j) { return shown(j) || (ended(j) && job_seems_running(j)); }

/* To be shown as ended. A command string forgets such jobs at once. */
static bool over(job *j) { return !sh.is_command_string && ended(j) && !runs(j); }

/* The job that an argument names: a process id, or %1 %+ %- %text. NULL: there is none. */
static job *named(const char *arg)
{
    int64_t id;
    if (arg[0] != '%') return parse_int(arg, &id) ? job_find(id, false) : NULL;
    if (parse_int(arg + 1, &id)) {
        job *j = job_find(id, true);
        return j && !j->walk && j->waited ? NULL : j;
    }
    int skip = arg[1] == '-';
    bool last = !arg[1] || !strcmp(arg, "%%") || !strcmp(arg, "%+") || !strcmp(arg, "%-");
    for (unsigned i = jobs_begun(); i-- > jobs_first();) {
        job *j = job_at(i);
        if (!shown(j)) continue;
        if (last && skip-- == 0) return j;
        if (last || !j->text) continue;
        if (arg[1] == '?' ? strstr(j->text, arg + 2) != NULL : !strncmp(j->text, arg + 1, strlen(arg + 1))) return j;
    }
    return NULL;
}

/* wait -n: for the next of these to end, or of all. */
static int wait_any(char **names, int n, const char *pid_var)
{
    job **among = arena_alloc(&sh.tmp, ((size_t)n + 1) * sizeof *among);
    int found = 0;
    for (int i = 0; i < n; i++) {
        job *j = named(names[i]);
        if (j && (j->walk || !j->waited)) among[found++] = j; else b_error("wait", 0, "%s: no such job", names[i]);
    }
    if (n && !found) return 127;
    job *j = job_wait_any(among, found);
    if (j && pid_var) var_set_int(pid_var, j->pid);
    return sh.unwind ? sh.status : j ? j->status : 127;
}

int b_wait(int argc, char **argv)
{
    int status = 0;
    opts o = OPTS("wait [-fn] [-p var] [id ...]");
    bool any = false;
    const char *pid_var = NULL;
    for (int c; (c = next_opt(&o, "fnp:"));) {
        if (c == '?') return 2;
        if (c == 'n') any = true;
        if (c == 'p') pid_var = o.arg;
    }
    if (any) return wait_any(argv + o.at, argc - o.at, pid_var);
    if (o.at >= argc) {
        coprocess_finish();
        jobs_wait_all();
        coprocess_waited(-1);
        return sh.heard ? 128 + sh.heard : 0;
    }
    for (int i = o.at; i < argc; i++) {
        int64_t id;
        if (argv[i][0] != '%' && !parse_int(argv[i], &id))
            return b_error("wait", 1, "`%s': not a pid or valid job spec", argv[i]);
        job *j = named(argv[i]);
        if (j && coprocess_pid() == j->pid) coprocess_finish();
        const char *why = argv[i][0] == '%' ? "%s: no such job" : "pid %s is not a child of this shell";
        status = j ? job_wait(j) : b_error("wait", 127, why, argv[i]);
        if (j && pid_var) var_set_int(pid_var, j->pid);
        if (j) coprocess_waited(j->pid);
        if (sh.unwind) return sh.status;
    }
    return status;
}

int b_disown(int argc, char **argv)
{
    opts o = OPTS("disown [-h] [-ar] [jobspec ... | pid ...]");
    bool all = false, keep = false;
    for (int c; (c = next_opt(&o, "ahr"));) {
        if (c == '?') return 2;
        if (c == 'h') keep = true; else all = true;
    }
    for (unsigned i = jobs_first(); all && o.at >= argc && i < jobs_begun(); i++)
        if (shown(job_at(i)) && !keep) job_at(i)->disowned = true;
    if (all && o.at >= argc) return 0;
    int status = 0;
    char *current[] = { "%%", NULL }, **names = o.at < argc ? argv + o.at : current;
    for (; *names; names++) {
        job *j = named(*names);
        if (!j) status = b_error("disown", 1, "%s: no such job", o.at < argc ? *names : "current");
        else if (!keep) j->disowned = true;
    }
    return status;
}

int b_suspend(int argc, char **argv)
{
    opts o = OPTS("suspend [-f]");
    for (int c; (c = next_opt(&o, "f"));) if (c == '?') return 2;
    return b_error(argv[0], 1, "cannot suspend: no job control");
}

/* fg and bg, which need set -m. In the background a job runs already; in the foreground the shell waits for it. */
int b_fg(int argc, char **argv)
{
    if (!sh.opt[O_MONITOR]) return b_error(argv[0], 1, "no job control");
    job *j = named(argc > 1 ? argv[1] : "%%");
    if (!j || (!j->walk && j->waited)) return b_error(argv[0], 1, "%s: no such job", argc > 1 ? argv[1] : "current");
    if (argv[0][0] == 'b') return b_error("bg", 0, "job %d already in background", j->number);
    out_printf("%s\n", j->text ? j->text : "");
    return job_wait(j);
}

static void print_job(job *j, char how, char mark)
{
    char state[24] = "Running";
    if (!runs(j)) snprintf(state, sizeof state, j->status ? "Exit %d" : "Done", j->status);
    if (how == 'p') out_printf("%lld\n", (long long)j->pid);
    else if (how == 'l') out_printf("[%d]%c %5lld %-23s %s", j->number, mark, (long long)j->pid, state, j->text ? j->text : "");
    else out_printf("[%d]%c  %-23s %s", j->number, mark, state, j->text ? j->text : "");
    if (how != 'p') out_puts(runs(j) ? " &\n" : "\n");
}

/* The jobs marked + and -: the last two that run. One that has ended takes such a place when it ended after + began. */
static void marked(job **current, job **previous)
{
    *current = *previous = NULL;
    for (int pass = 0; pass < 2; pass++)
        for (unsigned i = jobs_begun(); i-- > jobs_first();) {
            job *j = job_at(i);
            if (!(pass ? over(j) : runs(j))) continue;
            if (!*current) *current = j;
            else if (!*previous && (!pass || j->order > (*current)->begun)) *previous = j;
        }
}

/* jobs -x: the command, with process ids for the jobs among its words. */
static int run_with_pids(int argc, char **argv)
{
    if (!argc) return 0;
    for (int i = 0; i < argc; i++) {
        job *j = argv[i][0] == '%' ? named(argv[i]) : NULL;
        char pid[24];
        if (j) argv[i] = arena_strdup(&sh.tmp, fmt_int(j->pid, pid));
    }
    return exec_argv(argc, argv, 0);
}

int b_jobs(int argc, char **argv)
{
    opts o = OPTS("jobs [-lnprs] [jobspec ...] or jobs -x command [args]");
    char how = 0;
    bool none = false, running = false;
    for (int c; (c = next_opt(&o, "lnprsx"));) {
        if (c == '?') return 2;
        if (c == 'x') return run_with_pids(argc - o.at, argv + o.at);
        if (c == 'p' || c == 'l') how = (char)c;
        if (c == 'r') running = true;
        if (c == 's') none = true;   /* no job is ever stopped */
    }
    if (o.at < argc && !named(argv[o.at])) return b_error("jobs", 1, "%s: no such job", argv[o.at]);
    job *only = o.at < argc ? named(argv[o.at]) : NULL, *current, *previous;
    marked(&current, &previous);
    for (unsigned i = jobs_first(); i < jobs_begun(); i++) {
        job *j = job_at(i);
        if (none || !(runs(j) || (over(j) && !running)) || (only && j != only)) continue;
        print_job(j, how, j == current ? '+' : j == previous ? '-' : ' ');
        if (over(j) && how != 'p' && j->level == sh.level) j->waited = true;
    }
    return 0;
}
