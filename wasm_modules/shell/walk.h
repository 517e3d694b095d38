/* walk.h - between background.c, which decides who walks when, and walk.c. */
#ifndef HATCH_WALK_H
#define HATCH_WALK_H
#include "calls.h"
#include "child.h"
#include "sh.h"

struct enclosure;

/* One construct that is being walked: where in it we are, the words of a for loop, the chosen arm of a case, the call or subshell
 * that it is. */
typedef struct { node *n; int at; char **items; int status; case_item *arm; struct enclosure *in; bool bare; } step;

typedef struct { slot *s; var *v; } kept;        /* its scope counts from that of the subshell */

typedef struct { slot *s; func *f; } kept_func;

/* What a subshell is made of. */
typedef struct { shell sh; kept *vars; size_t n; kept_func *funcs; size_t func_n; unsigned mask; } state;

typedef struct enclosure {
    call call;                   /* call.f NULL: a subshell */
    char **argv, **outer_args;   /* of the call; its caller's parameters */
    state *outer;                /* the surroundings of the subshell that is being walked */
    int loops;
    io *pipe;                    /* what a stage of a pipeline writes, and the next one reads */
    int *statuses;               /* of the stages */
    child shell;                 /* a child shell: what it runs, */
    parser *reader;              /* as far as it has been read, */
    program *prog;               /* and what it runs now */
    bool again;                  /* which has not begun yet */
    bool over;                   /* it has been left before its end */
    program *outer_prog;
    frame *outer_frames;
    bool redirected;             /* only redirections, of what is inside of it: */
    redir_save save;
} enclosure;

typedef struct walk {
    node *root;                  /* the command itself, until it has begun */
    step *steps;
    int n, cap;
    state *state;                /* NULL while it has not stopped yet */
    program *prog;
    frame *around;               /* the calls inside of which it was begun: copies */
    int status;
    io *feed;                    /* a read that finds no whole line here stops the walk: somebody is still to write one */
    bool starved;                /* it has stopped there, or before a piece that reads from an empty named pipe: */
    node *wants;                 /* this one opens the pipe itself, */
    io *wants_line;              /* or it is open already */
    bool sated;                  /* it has waited long enough: it finds the end of its input */
    int64_t waits_for;           /* before a wait: the job that must end first, ANY_JOB for all of its own; 0: for none */
    int64_t pid;                 /* of the job: the $$ of a child shell that is all of it */
    int heard;                   /* a signal whose trap ran while it waited */
    int rounds;                  /* of its loops */
    bool busy;                   /* it has stopped between two rounds */
} walk;

enum { ANY_JOB = -1 };

void walk_surround(void);                        /* in a subshell just entered: what a background command finds changed */
walk *walk_new(node *root);                      /* of a command that runs here and now */
void walk_enter(walk *w);                        /* in a subshell just entered: its surroundings, as it left them */
void walk_leave(walk *w);                        /* it has stopped, and its state is kept: nothing of its calls stays */
double walk_go(walk *w);                         /* until it ends (-1), sleeps or loops (the seconds) or is starved (0) */
bool walk_lacks_input(walk *w);                  /* the first that it would do is to read from an empty named pipe */
void walk_free(walk *w);

/* state.c */
state *state_keep(void);
void state_resume(state *st);                    /* makes the subshell just entered what it was */
void state_free(state *st, bool with_vars);

/* enclosure.c */
bool may_stop(walk *w, node *n);                 /* a sleep stands somewhere in it, or in a function that it calls */
bool starts_shell(node *n);                      /* a child shell, by its literal name */
bool has_process(redir *r);                      /* <(...) or >(...) stands there */
bool encloses(walk *w, node *n);                 /* a call, subshell or pipeline that may stop in its middle */
enclosure *call_new(func *f, int argc, char **argv);
enclosure *call_enter(node *n);                  /* NULL when its words cannot be expanded */
int call_leave(enclosure *e, int status);        /* both of these: the status with which it ends */
enclosure *stage_enter(enclosure *e);            /* a subshell begins; e NULL makes one */
int stage_leave(enclosure *e, int status);
void pipe_stage_enter(enclosure *e, node *n, int i);
int pipe_leave(enclosure *e, node *n);
/* A child shell. NULL: the command was none, and has run to this status. pid 0: a new one. */
enclosure *child_enter(node *n, int *status);
enclosure *child_start(int argc, char **argv, int64_t pid, int *status);
program *child_next(enclosure *e, int *status);  /* its next command; NULL at its end */
int child_leave(enclosure *e, int status);
enclosure *redirection_enter(node *n);           /* NULL after a message */
void enclosure_free(enclosure *e);

/* await.c: whether the first thing that the command does is ... */
bool reads_first(node *n);                       /* ... to read a line from its standard input */
bool opens_empty_pipe(node *n);                  /* ... to open a named pipe that holds nothing */
#endif
