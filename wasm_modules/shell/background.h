/* background.h - the jobs that & began: between background.c, which runs them, and the builtins wait, jobs and kill. */
#ifndef HATCH_BACKGROUND_H
#define HATCH_BACKGROUND_H
#include "sh.h"

struct walk;

int background_write(io *s, void *ctx);          /* a named pipe is empty: lets jobs run until one has written to it */

typedef struct job {
    int64_t pid;
    int level;                   /* of the subshell that began it; PARKED while that one has stopped, */
    int64_t parent;              /* which is this job */
    int number;                  /* %1, %2 ...: free again when it has ended and was waited for */
    int status;
    bool waited, running;
    bool disowned;               /* wait and jobs know it no more */
    struct walk *walk;           /* what it has still to do, NULL when it has ended */
    double due_s;                /* when it goes on */
    bool busy;                   /* it has stopped in a loop, not in a sleep */
    double left_s;               /* when the shell went on after it had begun */
    unsigned begun, order;       /* its begin, and its last stop or its end, among all of those */
    bool killed;
    int signal;                  /* it has a trap for this one, which runs when it goes on */
    bool fresh;                  /* it has not begun yet */
    char *text;                  /* the command; NULL for one that nobody is told about */
} job;

unsigned jobs_first(void);                       /* jobs are numbered from 0; those from here to jobs_begun are known */
job *job_at(unsigned i);
job *job_find(int64_t id, bool is_number);       /* of this shell: by number or by process id */
bool job_seems_running(job *j);                  /* it runs, or has ended before the shell could have noticed */
int job_wait(job *j);                            /* lets time pass until it has ended; its status */
void jobs_wait_all(void);
job *job_wait_any(job **among, int n);           /* the next of these to end, of all when n is 0; NULL when there is none */
/* A sleep in which jobs have their turns: another process, for ps and kill. */
typedef struct sleeper { struct sleeper *outer; int64_t pid; int level; const char *argument; int killed_by; } sleeper;
const sleeper *sleep_running(void);              /* the innermost; NULL when there is none */
int64_t job_parent(const job *j);
bool job_unfinished(int64_t pid);                /* one of this shell that has something left to do; ANY_JOB: any */
int64_t job_new_pid(void);
void time_pass(double seconds);                  /* everybody sleeps */
double background_turn(int rounds);              /* after so many rounds of a loop: the seconds to stop for, or -1 */
double time_slept(void);                         /* how long everything has slept so far */
double sleep_seconds(int argc, char **argv);     /* -1 when these are no arguments of sleep */
#endif
