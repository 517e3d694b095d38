/* b_jobs.c - background jobs: wait, jobs, and what kill needs of them.
 *
 * A job has run to its end when & returns, with one exception: a lone `sleep N &` has not begun. Scripts start one to kill it or to wait for it; it
 * is slept through in wait, ends at once when killed, and is forgotten at the end of the program, as bash would leave it behind.
 */
#include "builtins.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOBS_KEPT = 64 };
typedef struct { int64_t pid; int status; bool waited, sleeping, reported; double seconds; } job;
static job jobs[JOBS_KEPT];
static unsigned jobs_n;          /* jobs begun; the last JOBS_KEPT are known */

static unsigned first_known(void) { return jobs_n > JOBS_KEPT ? jobs_n - JOBS_KEPT : 0; }

static job *find(int64_t id, bool is_number)
{
    for (unsigned i = first_known(); i < jobs_n; i++)
        if (is_number ? (int64_t)i + 1 == id : jobs[i % JOBS_KEPT].pid == id) return &jobs[i % JOBS_KEPT];
    return NULL;
}

void job_add(int64_t pid, int status) { jobs[jobs_n++ % JOBS_KEPT] = (job){ .pid = pid, .status = status }; }
void job_forget_all(void) { jobs_n = 0; }

bool job_add_sleep(int64_t pid, int argc, char **argv)
{
    double total = 0;
    for (int i = 1; i < argc; i++) {
        char *end;
        double v = strtod(argv[i], &end);
        if (end == argv[i] || v < 0 || (*end && (end[1] || !strchr("smhd", *end)))) return false;
        total += v * (*end == 'm' ? 60 : *end == 'h' ? 3600 : *end == 'd' ? 86400 : 1);
    }
    if (argc < 2) return false;
    jobs[jobs_n++ % JOBS_KEPT] = (job){ .pid = pid, .sleeping = true, .seconds = total };
    return true;
}

bool job_kill(int64_t id, bool is_number, int sig)
{
    job *j = find(id, is_number);
    if (!j || !j->sleeping) return false;
    if (sig) { j->sleeping = false; j->status = 128 + sig; }
    return true;
}

static void sleep_for(double seconds)
{
    char text[40], *argv[] = { "sleep", text, NULL };
    snprintf(text, sizeof text, "%f", seconds);
    exec_argv(2, argv, 5);
}

static int finish(job *j)
{
    if (j->sleeping) { j->sleeping = false; sleep_for(j->seconds); }
    j->waited = true;
    return j->status;
}

/* Every job at once: as long as the longest sleeps. */
static void finish_all(void)
{
    double longest = 0;
    for (unsigned i = first_known(); i < jobs_n; i++) {
        job *j = &jobs[i % JOBS_KEPT];
        if (j->sleeping && j->seconds > longest) longest = j->seconds;
        j->sleeping = false;
    }
    if (longest > 0) sleep_for(longest);
    jobs_n = 0;
}

int b_wait(int argc, char **argv)
{
    int status = 0;
    coprocess_finish();
    opts o = OPTS("wait [-fn] [-p var] [id ...]");
    bool any = false;
    for (int c; (c = next_opt(&o, "fnp:"));) {
        if (c == '?') return 2;
        if (c == 'n') any = true;
        if (c == 'p') var_set_int(o.arg, sh.last_bg);
    }
    if (any && o.at >= argc) {
        for (; jobs_n && jobs[(jobs_n - 1) % JOBS_KEPT].waited; jobs_n--) {}
        if (!jobs_n) return 127;
        job *j = &jobs[(jobs_n - 1) % JOBS_KEPT];
        jobs_n--;
        return finish(j);
    }
    if (o.at >= argc) { finish_all(); return 0; }
    for (int i = o.at; i < argc; i++) {
        int64_t id;
        bool number = argv[i][0] == '%';
        if (number && (!strcmp(argv[i], "%%") || !strcmp(argv[i], "%+"))) id = jobs_n;
        else if (!parse_int(argv[i] + number, &id)) {
            if (number) return b_error("wait", 127, "%s: no such job", argv[i]);
            return b_error("wait", 1, "`%s': not a pid or valid job spec", argv[i]);
        }
        job *j = find(id, number);
        status = j ? finish(j) : b_error("wait", 127, number ? "%s: no such job" : "pid %s is not a child of this shell", argv[i]);
    }
    return status;
}

int b_jobs(int argc, char **argv)
{
    opts o = OPTS("jobs [-lnprs] [jobspec ...] or jobs -x command [args]");
    bool pids = false;
    for (int c; (c = next_opt(&o, "lnprs"));) { if (c == '?') return 2; if (c == 'p') pids = true; }
    if (o.at < argc) {
        int64_t id;
        if (argv[o.at][0] != '%' || !parse_int(argv[o.at] + 1, &id) || !find(id, true)) return b_error("jobs", 1, "%s: no such job", argv[o.at]);
    }
    for (unsigned i = first_known(); i < jobs_n; i++) {
        job *j = &jobs[i % JOBS_KEPT];
        if (!j->sleeping) continue;
        if (pids) out_printf("%lld\n", (long long)j->pid);
        else out_printf("[%u]%c  Running                 sleep %g &\n", i + 1, i + 1 == jobs_n ? '+' : i + 2 == jobs_n ? '-' : ' ', j->seconds);
    }
    return 0;
}
