/* walk.h - between background.c, which decides who walks when, and walk.c. */
#ifndef HATCH_WALK_H
#define HATCH_WALK_H
#include "sh.h"

/* One construct that is being walked: where in it we are, the words of a for loop, the chosen arm of a case. */
typedef struct { node *n; int at; char **items; int status; case_item *arm; } step;

typedef struct { slot *s; var *v; } kept;

/* What a subshell is made of, apart from functions, which are shared. */
typedef struct { shell sh; kept *vars; size_t n; unsigned mask; } state;

typedef struct walk {
    node *root;                  /* the command itself, until it has begun */
    step *steps;
    int n, cap;
    state *state;                /* NULL while it has not stopped yet */
    program *prog;
    func *fn;                    /* the walk is over a call of this function */
    char **args;                 /* of that call */
    int status;
    io *feed;                    /* a read that finds no whole line here stops the walk: somebody is still to write one */
    bool starved;                /* it has stopped there, or before a piece that reads from an empty named pipe: */
    node *wants;                 /* this one opens the pipe itself, */
    io *wants_line;              /* or it is open already */
    bool sated;                  /* it has waited long enough: it finds the end of its input */
} walk;

void walk_surround(void);                        /* in a subshell just entered: what a background command finds changed */
void walk_enter(walk *w, frame *fr);             /* in a subshell just entered: its surroundings, as it left them */
double walk_go(walk *w);                         /* until it ends (-1), sleeps (the seconds) or is starved (0) */
bool walk_lacks_input(walk *w);                  /* the first that it would do is to read from an empty named pipe */
void walk_free(walk *w);

/* state.c */
state *state_keep(void);
void state_resume(state *st);                    /* makes the subshell just entered what it was */
void state_free(state *st, bool with_vars);

/* await.c: whether the first thing that the command does is ... */
bool reads_first(node *n);                       /* ... to read a line from its standard input */
bool opens_empty_pipe(node *n);                  /* ... to open a named pipe that holds nothing */
#endif
