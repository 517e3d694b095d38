/* tool.h - what every built-in tool gets, and all it may rely on.
 *
 * A tool is a function int tool_NAME(tool *t, int argc, char **argv) in tools/NAME.c (or in the file of its family), listed once
 * in tools/tools.def. It behaves like the GNU program of that name, messages and exit statuses included.
 *
 * RULES. A tool reads t->in, writes t->out and t->err, and never touches descriptors 0-2 or stdio streams. It opens files with
 * io_open, or with plain POSIX calls where it needs metadata (paths are relative to the process's working directory). It keeps no
 * state between calls (no static variables that survive). Memory comes from tool_alloc and is freed when the tool returns,
 * however it returns. A tool returns its status; it never calls exit(). When a write fails it returns at once.
 */
#ifndef HATCH_TOOL_H
#define HATCH_TOOL_H
#include "../permissions.h"
#include "io.h"

typedef struct tool tool;
struct tool {
    io *in, *out, *err;
    const char *name;                                  /* argv[0], for messages */
    void *arena;                                       /* owned by tool.c */
    char *stack;                                       /* owned by tool.c: where the C stack was when the tool began */
    void *shell;                                       /* opaque: the shell that runs us, NULL in a stand-alone build */
    int (*run)(tool *t, int argc,
        char **argv); /* run another command (function, builtin or tool) with t's streams: find -exec, xargs, env, timeout */
    int (*run_env)(tool *t, char **env, const char *dir, int argc,
        char **argv); /* run with exactly env ("NAME=value" list) in dir (NULL: here); for env */
    int (*knows)(tool *t, const char *name);           /* whether run would find a command of that name */
    const char *(*getenv)(tool *t, const char *name);  /* exported shell variables */
    char **(*environ)(tool *t);                        /* "NAME=value" list ending in NULL, in t's arena */
};

typedef int tool_fn(tool *t, int argc, char **argv);
typedef struct { const char *name; tool_fn *fn; } tool_entry;
const tool_entry *tool_find(const char *name);         /* NULL when there is none */
extern const tool_entry tool_table[];                  /* sorted by name, ends with a NULL name */

/* Runs e with t (streams and callbacks set by the caller), frees the arena, and returns the status: 141 after EPIPE on t->out. */
int tool_call(tool *t, const tool_entry *e, int argc, char **argv);

/* Runs another command as t->run does, with its streams instead of t's (NULL: t's own), and with exactly env when that is given.
 * INVARIANT: while it runs t is not copied, for a copy's arena would miss what is allocated after the copy was made. */
int tool_run_with(tool *t, io *in, io *out, char **env, int argc, char **argv);

int tool_about(tool *t, const char *name, const char *option); /* about.c: answers --version and --help; -1 when it does not */

void *tool_alloc(tool *t, size_t n);                   /* zeroed; never NULL: running out of memory ends the turn (tool_oom) */
void *tool_realloc(tool *t, void *p, size_t n);        /* p from tool_alloc, or NULL */
void tool_free(tool *t, void *p);                      /* early, for big blocks; NULL is fine */
void tool_defer(tool *t, void (*fn)(void *), void *p); /* fn(p) when the arena is freed, last deferred first */
void tool_oom(void) __attribute__((noreturn));         /* weak default: trap; the shell overrides it to report MEMORY_EXCEEDED */
int tool_too_deep(tool *t);                            /* true when this tool has used up its share of the C stack */
char *tool_strdup(tool *t, const char *s);
char *tool_strndup(tool *t, const char *s, size_t n);
void tool_arena_free(tool *t);                         /* the caller's: after the tool returned */

/* The time that a command has under timeout(1); limits nest, the tightest counts. A limit lives where timeout runs, and ends with
 * it. What may run long looks at tool_time_is_up now and then, and returns as if it had been stopped. */
typedef struct tool_limit { struct tool_limit *outer; double until_s; int is_up; } tool_limit;
void tool_limit_begin(tool_limit *l, double seconds);
int tool_limit_end(tool_limit *l);                     /* whether the time was used up */
double tool_time_left(void);                           /* seconds; a lot when there is no limit */
extern volatile int32_t tool_interrupted;              /* set by the host: a limit is reached, and what was done is kept */
int tool_time_is_up(void);                             /* cheap: the clock is asked only sometimes */

/* "name: message", with ": strerror(errno)" for tool_fail_errno; both return status so that a tool can write
 *     return tool_fail(t, 2, "invalid option -- '%c'", c);                                                     */
int tool_fail(tool *t, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));
int tool_fail_errno(tool *t, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));
int tool_usage(tool *t, int status);                   /* "Try 'NAME --help' for more information." */
char *tool_format(tool *t, const char *format, ...) __attribute__((format(printf, 2, 3))); /* text in t's arena */
const char *tool_quote(tool *t, const char *s);        /* 'name' as GNU quotes names of files, fit for the shell */
const char *tool_shell_word(tool *t, const char *s, int always);  /* as tool_quote or tool_name, but never with $'...' */
const char *tool_name(tool *t, const char *path);       /* for "NAME: reason": quoted only where the shell would need it */
const char *tool_cite(tool *t, const char *s); /* the other way GNU quotes in messages: typographic, plain in the C locale */
/* Which of valid (ends with NULL; synonyms stand in one text, separated by '|') a word names, or abbreviates; -1 after the
 * message "invalid argument 'WORD' for 'OPTION'", with the list of valid ones. */
int tool_choice(tool *t, const char *option, const char *word, const char *const *valid);
struct stat;
/* As stat and lstat, but an empty path names nothing: WASI's C library takes it for the current directory. */
int path_stat(const char *path, struct stat *st);
int path_lstat(const char *path, struct stat *st);
io *tool_open(tool *t, const char *path, int status,
    int *failed); /* for reading, "-" is t->in; on failure says so, *failed = status, NULL */

/* GNU-style option parsing without global state: permutes operands to the end unless POSIXLY_CORRECT-style '+' leads the
 * short string; long options may be abbreviated. */
typedef struct { const char *name; int has_arg; int value; } tool_long;   /* has_arg: 0 no, 1 required, 2 optional */
typedef struct { int index; char *arg; int next; char **argv; int argc; int done; } tool_opts;
void tool_opts_start(tool_opts *o, int argc, char **argv);
int tool_opts_next(tool *t, tool_opts *o, const char *shorts,
    const tool_long *longs); /* option value, -1 at the end, '?' after a printed message */
#endif
