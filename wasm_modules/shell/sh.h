/* sh.h - the shell: its types, its one global state, and the way through the files.
 *
 * READING ORDER
 *   sh.h, ast.h                  data structures
 *   mem.c, text.c                arenas, string buffers; UTF-8, quoting
 *   lexer.c, lex_word.c, lex_param.c   characters to tokens; words; what begins with $     (parse.h)
 *   lines.c                      where the lines of $(...) count from
 *   parser.c, parse_words.c, parse_compound.c, parse_cond.c   the grammar
 *   vars.c, nameref.c, assign.c, assign_array.c   variables; references; assignment        (nameref.h)
 *   element.c                    name[subscript] in a text                                 (element.h)
 *   scopes.c, arrays.c           their hiding and undoing; arrays
 *   special.c, options.c         RANDOM, FUNCNAME ... and start-up values; set -o and shopt
 *   expand.c, brace.c            words to fields
 *   param.c, param_ops.c, transform.c, prompt.c  ${...}: values, operators, @Q and its kin (param.h)
 *   arith_parse.c, arith.c       $(( ))                                                   (arith.h)
 *   pattern.c, glob.c            matching; path names
 *   cond.c, test.c               [[ ]]; test and [
 *   exec.c, loops.c              walking the tree; if for while case
 *   command.c, calls.c, lookup.c simple commands; calls of functions; what a name stands for   (calls.h)
 *   hashed.c, script.c           remembered paths (hashed.h); script files and bash itself
 *   history.c                    the history list: history, fc                            (history.h)
 *   redirect.c                   descriptors, process substitution
 *   subshell.c, pipeline.c, coprocess.c   ( ), $( ) without fork; a | b without threads; coproc
 *   background.c, walk.c, enclosure.c   & without processes: jobs; how commands stop and go on (background.h, walk.h)
 *   state.c, await.c             what is kept of those that stop; what they wait for
 *   fifo.c                       pipes with a name                                         (fifo.h)
 *   slow.c                       what comes late from a pipe: read -t                     (slow.h)
 *   trap.c, errors.c, printer.c  traps; messages; tree back to text
 *   builtins.c, b_*.c, real.c    builtin commands by family; printf's numbers             (builtins.h, real.h)
 *   start.c, json.c, capability.c, turn.c    start-up; the host's side                    (host.h)
 *   main_native.c                the hatchsh program for tests and fuzzing
 *   io.c, tool.c, tools/         streams and tools: they know nothing of the shell
 *
 * RULES
 *   - No fork, no threads, no setjmp. Control flow that leaves a construct (break, return, exit, a failed expansion) sets
 *     sh.unwind, and every loop over commands looks at it.
 *   - Results of expansion live in the arena sh.tmp. Who starts an evaluation marks it and releases it. What must stay is copied.
 *   - INVARIANT: a subshell changes variables, functions and aliases only through the functions of vars.c, which log what was
 *     there before.
 */
#ifndef HATCH_SH_H
#define HATCH_SH_H
#include "../permissions.h"
#include "ast.h"
#include "io.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- mem.c ----------------------------------------------------------------------------------------------------------------- */
typedef struct chunk chunk;
typedef struct arena_s { chunk *top; } arena;
typedef struct { chunk *top; size_t used; } arena_mark_t;
void *xmalloc(size_t n);                         /* never NULL: running out of memory ends the turn */
void *xrealloc(void *p, size_t n);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
void out_of_memory(void) __attribute__((noreturn));
void *arena_alloc(arena *a, size_t n);           /* zeroed, aligned to 8 */
char *arena_strndup(arena *a, const char *s, size_t n);
char *arena_strdup(arena *a, const char *s);
void *arena_grow(arena *a, void *p, size_t old, size_t n);
arena_mark_t arena_mark(arena *a);
void arena_release(arena *a, arena_mark_t m);
void arena_free(arena *a);

/* a NULL: malloc'ed, free(s) when done; s is always terminated after sb_str */
typedef struct { char *s; size_t len, cap; arena *a; } strbuf;
void sb_add(strbuf *b, const char *s, size_t n);
void sb_puts(strbuf *b, const char *s);
void sb_putc(strbuf *b, char c);
void sb_printf(strbuf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *sb_str(strbuf *b);                         /* terminates and returns s */

typedef struct { char **v; size_t n, cap; arena *a; } strlist;
void sl_add(strlist *l, char *s);
char **sl_end(strlist *l);                       /* NULL-terminates and returns v */

/* ---- text.c ---------------------------------------------------------------------------------------------------------------- */
/* bytes of the character at s (at least 1 unless at the end); an invalid byte stands for itself */
size_t utf8_next(const char *s, uint32_t *cp);
size_t utf8_put(uint32_t cp, char out[4]);
size_t utf8_count(const char *s);
const char *utf8_skip(const char *s, size_t n);  /* n characters on, or the end */
size_t separator_at(const char *s, const char *ifs);   /* bytes of the character at s when it is one of ifs, else 0 */
bool is_name(const char *s);
size_t strip_nuls(char *s, size_t n);            /* in place, as bash does with scripts; the new length. s[n] must be writable */
size_t name_len(const char *s);                  /* length of the identifier at s, 0 if none */
char *fmt_int(int64_t v, char buf[24]);
bool parse_int(const char *s, int64_t *out);     /* the whole string, blanks around it allowed */
void quote_single(strbuf *b, const char *s);     /* 'a b' or $'a\nb': as ${x@Q} */
void quote_plain(strbuf *b, const char *s);      /* 'a b', whatever is inside: as trap -p */
void quote_double(strbuf *b, const char *s);     /* "a b": as declare -p */
void quote_backslash(strbuf *b, const char *s);  /* a\ b: as printf %q */
void quote_trace(strbuf *b, const char *s);      /* as set and alias print: only where needed */
void quote_xtrace(strbuf *b, const char *s);     /* as set -x: also only where needed, newlines as they are */
bool needs_quotes(const char *s);
/* Decodes the escapes of $'...' (mode '), echo -e (e), printf formats and %b (b). Returns bytes consumed after the backslash;
 * sets *stop for \c. */
size_t decode_escape(const char *s, char mode, strbuf *out, bool *stop);
char *decode_ansi(arena *a, const char *s, size_t n);  /* the inside of $'...' */

/* ---- variables: vars.c, assign.c, arrays.c, special.c ---------------------------------------------------------------------- */
enum { V_EXPORT = 1, V_READONLY = 2, V_INT = 4, V_LOWER = 8, V_UPPER = 16, V_NAMEREF = 32, V_ARRAY = 64, V_ASSOC = 128,
       V_SET = 256, V_TRACE = 512, V_CAPITAL = 1024, V_TEMP = 2048, V_LOCAL_UNSET = 4096 };

typedef struct { int64_t key; char *val; } elem;
typedef struct arr { elem *e; size_t n, cap; } arr;                       /* indexed: sorted by key */
typedef struct pair { char *key, *val; uint32_t hash; uint32_t seq; struct pair *next; } pair;
typedef struct assoc { pair **b; size_t n, nb; uint32_t seq; } assoc;

typedef struct var {
    struct var *outer;           /* the variable of the same name that this one hides */
    char *str;                   /* scalar value, NULL when unset */
    size_t cap, len;             /* bytes allocated at str; its length */
    union { arr *a; assoc *h; } u;
    uint16_t flags;
    int scope;                   /* 0 global, else the function depth it is local to */
    int level;                   /* subshell level it was last written at */
} var;

struct special;
typedef struct slot {
    struct slot *next;
    var *top;
    const struct special *special;
    struct func *fn;             /* the function of this name */
    uint32_t hash;
    bool keeps;                  /* only while a state comes back: its function is in it */
    char name[];
} slot;

/* A variable whose value is computed: get refreshes v before it is read, set (may be NULL) is told after an assignment. Without
 * get, the variable is an ordinary one that the shell watches: set is told of its unsetting too, with what is left in v. */
typedef struct special { const char *name; void (*get)(slot *s, var *v); void (*set)(slot *s, var *v); } special;

uint32_t hash_text(const char *s);
slot *slot_of(const char *name);                 /* finds or makes */
slot *slot_find(const char *name);               /* NULL when the name was never used */
var *var_top(slot *s);                           /* current variable, specials refreshed; NULL when there is none */
/* follows namerefs; *sub becomes the subscript text of a ref to an element, else NULL */
var *var_deref(slot **s, char **sub);
/* logged and ready to be changed; makes it when absent (scope_wanted -1: wherever it is) */
var *var_writable(slot *s, int scope_wanted);
const char *var_get(const char *name);           /* scalar value (element 0 of an array), NULL when unset */
const char *var_scalar(slot *s, var *v);
bool var_set(const char *name, const char *value);          /* assignment with all its rules; false after a message */
bool var_set_slot(slot *s, const char *value, int append);
/* keytext: subscript as written, already expanded for assoc */
bool var_set_elem(slot *s, const char *keytext, const char *value, int append);
bool var_set_index(slot *s, int64_t i, const char *value, int append);
bool var_set_plain(const char *name, const char *value);    /* no readonly or attribute checks: for the shell itself */
void var_set_int(const char *name, int64_t v);
bool var_unset(slot *s, int quiet);
void var_export(const char *name);
void var_make_array(slot *s, var *v, int is_assoc);
void var_clear_value(var *v);
void var_set_list(const char *name, char **items, size_t n);   /* an indexed array of the items */
bool check_readonly(slot *s, var *v);            /* true and a message when it may not be changed */
char *apply_attributes(slot *s, var *v, const char *value, bool *ok);  /* -i -u -l -c: malloc'ed */
void var_local(slot *s, int inherit);            /* hides the current variable until the function returns */
void scope_push(void);
void scope_pop(void);
void temp_assign(slot *s, const char *value);    /* NAME=value before a command */
size_t slots_all(slot ***out, bool (*want)(slot *, var *));  /* sorted by name, in sh.tmp */
char **var_environ(arena *a);                    /* NAME=value of exported variables */
void var_free(var *v);
var *var_copy(var *v);
void var_put(var *v, const char *value);         /* scalar text, nothing else */
var *chain_find(slot *s, int scope);
void chain_remove(slot *s, var *v);
void chain_insert(slot *s, var *v);
void undo_log_var(slot *s, int scope, var *old);
void undo_log_func(slot *s, struct func *old);
void undo_log_alias(const char *name, char *old);
void undo_to(size_t mark);
size_t undo_mark(void);
var **scopes_suspend(size_t undo_from, size_t locals_from);   /* as if the subshell with these marks had not begun ... */
void scopes_resume(size_t undo_from, size_t locals_from, var **kept);  /* ... and back */
/* for subshells: locals declared since are forgotten by local_drop, undo_to removes them */
size_t local_mark(void);
void local_drop(size_t mark);
void local_remember(slot *s, int scope);         /* the variable of this scope goes with it */

char *arr_get(arr *a, int64_t i);                /* NULL when absent */
void arr_set(arr *a, int64_t i, char *value);    /* takes value */
void arr_unset(arr *a, int64_t i);
int64_t arr_next(arr *a);                        /* highest index + 1 */
arr *arr_copy(const arr *a);
void arr_free(arr *a);
pair *assoc_find(assoc *h, const char *key);
void assoc_set(assoc *h, const char *key, char *value);
void assoc_unset(assoc *h, const char *key);
assoc *assoc_new(void);
assoc *assoc_copy(assoc *h);
void assoc_free(assoc *h);
pair **assoc_list(assoc *h);                     /* in bash's order, in sh.tmp */

void special_start(void);                        /* installs specials and start-up values */
void locale_refresh(void);                       /* byte_locale, from LC_ALL, LC_CTYPE and LANG */
void special_reseed(uint64_t seed);
void dirs_assign(arr *a);                         /* elements of DIRSTACK were set (b_dirs.c) */
void special_clock(void);                        /* SECONDS begins now */

/* ---- functions and aliases ------------------------------------------------------------------------------------------------- */
typedef struct program { arena mem; int refs; node *root; } program;
typedef struct func {
    char *name;
    program *prog;
    node *def, *body;
    char *source;                /* the file it was read from */
    int line_base;               /* what its lines count from: not 0 for one that $(...) defined */
    struct func *imported;       /* it, as child shells find it in their environment; NULL before the first */
    uint8_t exported, readonly, traced;
    int refs;
} func;
typedef struct alias { struct alias *next; char *name, *text; } alias;
func *func_find(const char *name);
void func_define(const char *name, program *prog, node *def);
bool func_unset(const char *name);
void func_import(func *f);                       /* as a new shell finds it in its environment */
void func_ref(func *f);
void func_unref(func *f);
size_t funcs_all(func ***out);                   /* sorted, in sh.tmp */
const char *alias_find(const char *name);
void alias_set(const char *name, const char *text);  /* text NULL removes */
void program_unref(program *p);

/* ---- parser ---------------------------------------------------------------------------------------------------------------- */
typedef struct {
    char message[256];
    int line, column, end_line, end_column;
    bool at_eof, quoted_eof;
    int eof_line;
    char *near_line;
    bool cited;                  /* near_line is no line but the construct itself, and reported as an error of its own */
    bool silent;                 /* bash gives up without a word: [[ ]] */
    bool in_cond, in_array, in_subst;    /* inside [[ ]], name=( ), $( ): these have exit statuses of their own (exec.c) */
} syntax_error;
typedef struct parser parser;
parser *parser_new(const char *src, size_t len, int first_line);   /* src must stay */
/* The next complete command (a line's worth of list). Returns a program to be unref'd, NULL at the end or on an error (then
 * err->message[0]). */
program *parse_next(parser *p, syntax_error *err);
/* after an error: go on with the next line; false when there is none */
bool parser_resume(parser *p);
void parser_free(parser *p);
size_t parser_offset(parser *p);
size_t parser_left(parser *p);                   /* bytes of the text that are still to be read */
void parser_skip(parser *p, size_t n);           /* somebody else has read these: they are no lines of the script */
/* mode '"': as inside double quotes; 'h': here-document; 'w': a word */
word *parse_word_text(arena *a, const char *text, char mode);
anode *arith_parse(arena *a, const char *text, char **error, const char **where); /* NULL for an empty expression when !*error */
/* "(a [k]=v)" as declare gets it at run time; NULL if it is none */
assign *parse_array_text(arena *a, const char *text);
/* the body of $( in text, behind the parenthesis; *used 0 when it is none */
node *parse_subst_text(arena *a, const char *text, size_t *used);
void print_function(strbuf *b, func *f);
void print_exported(strbuf *b, func *f);                           /* as BASH_FUNC_name%% in the environment */
void print_node_line(strbuf *b, node *n);                          /* one command on one line, for BASH_COMMAND and jobs */

/* ---- expansion ------------------------------------------------------------------------------------------------------------- */
enum { X_SPLIT = 1, X_GLOB = 2, X_ASSIGN = 4, X_PATTERN = 8, X_NOTILDE = 16, X_REGEX = 32, X_BRACE = 64, X_ARGSPLIT = 128,
       X_REPLACE = 256, X_HEREDOC = 512, X_ELEMENT = 1024 };
#define X_WORDS (X_SPLIT | X_GLOB | X_BRACE)
bool expand_word(word *w, int flags, strlist *out);      /* to fields; false when an expansion failed (sh.unwind is set) */
char *expand_one(word *w, int flags);                    /* to one string in sh.tmp, no splitting; NULL on failure */
bool expand_words(word **w, int n, strlist *out);
word **brace_expand(word *w, int *n);                    /* in sh.tmp */

/* A field under construction: text, and a parallel mask that says which bytes were quoted. */
typedef struct { strbuf text, mask; bool started, quoted_null, has_glob; } field;
typedef struct { field f; strlist *out; int flags; bool failed; const char *ifs; int operands; bool whole; } expander;
void ex_quoted(expander *x, const char *s, size_t n);    /* text that is neither split nor a pattern */
void ex_literal(expander *x, const char *s, size_t n);   /* unquoted source text: a pattern, not split */
void ex_value(expander *x, const char *s, bool quoted);  /* the result of an expansion */
void ex_end_field(expander *x);
bool ex_parts(expander *x, part *p, int flags);
void expand_param(expander *x, part *p);
/* one value through an operator of param_ops.c, in sh.tmp */
char *param_op_apply(param *pm, const char *value, const char *name);
bool param_pattern(param *pm, char **pat, char **rep);
char *transform_value(char letter, const char *value, slot *s, var *v, const char *key);
char *expand_tilde(const char *s, size_t *used);
bool expand_string(const char *text, char mode, char **out);           /* parse and expand text at run time */
char *prompt_expand(const char *text);

/* ---- patterns -------------------------------------------------------------------------------------------------------------- */
/* Patterns are text in which \x stands for a literal x. */
enum { PM_NOCASE = 1, PM_EXTGLOB = 2, PM_PATH = 4, PM_PERIOD = 8 };
bool pattern_match(const char *pat, const char *s, int flags);
bool pattern_match_n(const char *pat, const char *s, size_t n, int flags);
bool has_glob(const char *pat);
char *pattern_quote(const char *s);                      /* every special character escaped, in sh.tmp */
void glob_expand(const char *pat, strlist *out);         /* adds matches, or nothing */
char *unescape_pattern(const char *pat);

/* ---- arithmetic ------------------------------------------------------------------------------------------------------------ */
bool arith_eval(arith *a, int64_t *out);                 /* false after a message */
bool arith_eval_text(const char *text, int64_t *out);
bool arith_index(slot *s, arith *a, int64_t *out);       /* a subscript; negative ones count from the end */

/* ---- conditions ------------------------------------------------------------------------------------------------------------ */
int cond_eval(cond *c);                                  /* 0 true, 1 false, 2 error */
int test_command(int argc, char **argv, const char *name);   /* argv without the name and the closing ] */
int cond_unary(char op, const char *arg, const char *who);
int cond_binary(const char *op, const char *l, const char *r, const char *who);  /* -1: no such operator */

/* ---- execution ------------------------------------------------------------------------------------------------------------- */
enum { UW_NONE, UW_BREAK, UW_CONTINUE, UW_RETURN, UW_EXIT, UW_DISCARD, UW_TRIAL };
int exec_node(node *n);
int exec_list(node *n);
int exec_simple(node *n);
int exec_compound(node *n);                              /* everything else, redirections applied */
int exec_pipeline(node *n);
int exec_loop(node *n);                                  /* if for while until select case */
bool loop_step(arith *a, int64_t *v);                    /* one expression of for (( )): 1 when there is none; false after a message */
/* the first arm from c on that the subject matches; NULL when there is none, or a pattern failed (sh.unwind) */
case_item *case_arm(case_item *c, const char *subject);
int exec_function(func *f, int argc, char **argv);
void stack_overflowed(void);                             /* nested too deeply: the turn ends as STACK_OVERFLOW (calls.c) */
void stack_start(void);                                  /* a turn begins */
/* run a command by name: 1 no functions, 2 builtins only, 4 default path */
void programs_only(void);                                /* of a shell that a program takes the place of: no builtin is its own */
int exec_argv(int argc, char **argv, int flags);
int exec_text(const char *text, size_t len, const char *what, int line);  /* parse and run: eval, source, traps, turns */
int exec_input(void);                                    /* parse and run what is on descriptor 0, command by command */
int exec_file(const char *path, const char *name, int argc, char **argv);      /* a script in a subshell */
/* errexit and ERR; had_trap: there was one when the command began */
void after_command(int status, node *n, bool had_trap);
void report_syntax(const syntax_error *e, const char *what);
/* the array assignment behind argument i of a declaring builtin, or NULL */
assign *arg_assign(int i);
char *find_in_path(const char *name, const char *path);  /* an executable file, in sh.tmp; NULL when there is none */
bool command_exists(const char *name);                   /* a tool, a capability, or a file in PATH */
bool command_path(const char *path);                     /* /bin/ls and the like: where a built-in tool pretends to be */
struct stat;
bool executable(const char *path, const struct stat *st);
bool is_program_too(const char *builtin);                /* echo, test ...: also found as /bin/echo */
bool tool_allowed(const char *name, int argc, char **argv);  /* false on trial, for a tool that changes files */
#define SHELL_FIRST_JOB 4300
int exec_background(node *n);                            /* n & (background.c) */
extern unsigned jobs_fresh;                              /* jobs that have not begun yet */
void background_begin(void);                             /* those of this shell begin: it starts a program, reads or waits */
void background_tick(void);                              /* the shell runs a command while there are some */
extern int jobs_waiting;                                 /* jobs that have something left to do */
void background_round(node *body);                       /* a loop of the shell has come round while there are some */
/* sleep, while jobs wait for their time; false: nobody does, sleep yourself */
bool background_sleep(int argc, char **argv, int *status);
void background_finish(void);                            /* the subshell ends: its jobs get what is left of a second */
void background_leave(int level, int64_t heir);          /* at the end of a subshell: to whom its jobs belong */
unsigned background_fence(unsigned from);                /* from here on, subshells that end leave the jobs before this one alone */
unsigned jobs_begun(void);
void job_add(int status);                                /* one that has run to its end already */
int coprocess_start(const char *name, node *body);       /* coproc NAME body */
void coprocess_finish(void);                             /* nobody writes to it any more: it runs to its end */
int64_t coprocess_pid(void);                             /* 0 when there is none */
void coprocess_drop(void);
void coprocess_waited(int64_t pid);                      /* somebody waited for it, or for all (-1): its variables go */
bool coprocess_kill(int64_t pid);                        /* false when it is none */
bool job_kill(int64_t id, bool is_number, int sig);      /* false when there is no such job any more */
void job_forget_all(void);
int b_bash(int argc, char **argv);
bool debug_trap(node *n);                                /* false: under extdebug, the trap says not to run the command */

typedef struct { int fd; io *old; } saved_fd;
typedef struct { saved_fd *v; int n, cap; int proc_mark; } redir_save;
bool redirect(redir *r, redir_save *save);               /* false after a message; undo in any case. save NULL: exec, to stay */
void redirect_undo(redir_save *save);
void redirect_forget(redir_save *save);                  /* keep the new descriptors */
io *fd_get(int fd);                                      /* NULL when closed */
void fd_set_io(int fd, io *s);                           /* takes the reference; NULL closes */
io *shell_open(const char *path, int flags);             /* io_open, and /dev/fd/N, /dev/stdin ... */
int fd_free_from(int first);
char *proc_subst(node *body, int is_output);             /* "/dev/fd/63", in sh.tmp */
int proc_mark(void);
/* exec > >(...): keep those since mark until their descriptor is closed */
void proc_hold(int mark);
/* run the held ones of this subshell whose descriptor is closed; all: at its end */
void proc_release(bool all);
void proc_finish(int mark);                              /* runs the >(...) commands started since, closes their descriptors */

int subshell_run(node *body, int background);
char *command_subst(node *body, size_t *len);            /* output without the trailing newlines, in sh.tmp; NULL on failure */
typedef struct sub_state sub_state;
sub_state *subshell_enter(void);
void subshell_orphans(sub_state *st, int level, int64_t heir);   /* at its end its jobs go on by themselves, in that shell, or job */
void subshell_traps(void);                               /* drops the traps that a subshell does not inherit */
int subshell_leave(sub_state *st, int status);           /* runs its EXIT trap; the status with which it ends */
typedef struct outside outside;
/* the parent's state, while the subshell st is in the middle of its run */
outside *subshell_step_out(sub_state *st);
void subshell_step_in(sub_state *st, outside *o);
/* true: we are on trial, the effect must not happen (sh.unwind is set) */
bool trial_effect(void);
void pipeline_idle(void);                                /* a producer is about to wait: let its readers look */
bool pipeline_stage(node *n);                            /* n is what the innermost pipeline runs now */

/* ---- traps and options ----------------------------------------------------------------------------------------------------- */
enum { TRAP_EXIT, TRAP_ERR = 65, TRAP_DEBUG, TRAP_RETURN, TRAP_MAX };
int run_trap(int which);                                 /* keeps $?; nothing when unset */
/* sh_exit, after the EXIT trap was run here: it sees locals and redirections */
void sh_leave(int status);
void signal_tell(int64_t pid);                           /* says by which signal the child shell was ended */
int signal_number(const char *name);                     /* -1 unknown; accepts SIGINT, INT, 2, EXIT ... */
const char *signal_name(int n);
enum { O_ALLEXPORT, O_BRACEEXPAND, O_EMACS, O_ERREXIT, O_ERRTRACE, O_FUNCTRACE, O_HASHALL, O_HISTEXPAND, O_HISTORY, O_IGNOREEOF,
       O_COMMENTS, O_KEYWORD, O_MONITOR, O_NOCLOBBER, O_NOEXEC, O_NOGLOB, O_NOLOG, O_NOTIFY, O_NOUNSET, O_ONECMD, O_PHYSICAL,
       O_PIPEFAIL, O_POSIX, O_PRIVILEGED, O_VERBOSE, O_VI, O_XTRACE, O_COUNT };
enum { S_AUTOCD, S_DOTGLOB, S_EXPAND_ALIASES, S_EXTGLOB, S_FAILGLOB, S_GLOBSTAR, S_LASTPIPE, S_LOCALVAR_INHERIT, S_NOCASEGLOB,
       S_NOCASEMATCH, S_NULLGLOB, S_INHERIT_ERREXIT, S_XPG_ECHO, S_NOEXPAND, S_SOURCEPATH, S_PATSUB, S_GLOBASCII,
       S_GLOBSKIPDOTS, S_ASSOC_ONCE,
       S_EXTQUOTE, S_EXTDEBUG, S_EXECFAIL, S_CDABLE_VARS, S_OTHER,
       S_CHECKHASH = S_OTHER + 2, S_GNU_ERRFMT = S_OTHER + 19, S_LOCALVAR_UNSET = S_OTHER + 27, S_PROMPTVARS = S_OTHER + 33,
       S_VARREDIR = S_OTHER + 36, S_COUNT = 64 };
bool opt_set(const char *name, bool on);
char *opt_letters(char out[40]);
void shell_restrict(void);                               /* from here on, and for good (script.c) */
char *opt_list(int which);                               /* SHELLOPTS (0) or BASHOPTS (1), in sh.tmp */
void trace_command(int argc, char **argv);
void trace_text(const char *text);
void trace_arith(arith *a);

/* ---- builtins -------------------------------------------------------------------------------------------------------------- */
enum { PLAIN_FAILURE = 2 };      /* what sh ends with over an error */
enum { B_SPECIAL = 1, B_DECLARE = 2, B_LITERAL = 4 };     /* literal: --help is an argument like any other */
typedef struct builtin { const char *name; int (*fn)(int argc, char **argv); uint8_t flags; } builtin;
const builtin *builtin_find(const char *name);
int builtin_call(const builtin *b, int argc, char **argv);   /* runs it, or answers --help */
bool builtin_disabled(const char *name);                 /* by enable -n */
extern const builtin builtin_table[];                    /* sorted, ends with a NULL name */
int capability_run(int argc, char **argv);               /* -1 when there is no such capability */
bool capability_has(const char *name);

/* ---- errors ---------------------------------------------------------------------------------------------------------------- */
void sh_error(const char *format, ...) __attribute__((format(printf, 1, 2)));     /* "bash: line 3: message" */
/* the same, of what set -e ends the shell for wherever it happens: a readonly variable, a bad subscript or substitution */
void sh_report(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "bash: line 3: cd: message" */
int b_error(const char *who, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));
int b_usage(const char *who, const char *usage);
void sh_fail(int status);                                /* an expansion failed: the current top-level command is given up */
/* an integer value or subscript failed: more than the command is given up */
void sh_fail_plainly(void);                              /* the same as sh_fail(1), but set -e ends the shell over it */
void sh_abandon(int status);
extern int signals_pending;
void signal_deliver(bool between);                       /* those sent to this shell; a trap runs between two commands only */
void signal_for(int level, int sig);                     /* the shell at this level gets it when control comes back to it */
void sh_signal(int sig);                                 /* what a signal does to this shell: its trap, nothing, or the end */
int sh_fatal_status(void);
void sh_die(void);               /* leaves with it; under set -e the exit trap of a script sees the calls */
int shell_chdir(const char *path);
bool shell_in_fds(void);                               /* for sh_exit after ${x?} and the like */
void sh_exit(int status);                                /* leave the shell or subshell */
int out_puts(const char *s);                             /* to descriptor 1; -1 and a message when it fails */
int out_write(const char *s, size_t n);
int out_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
void err_puts(const char *s);

/* ---- the state ------------------------------------------------------------------------------------------------------------- */
typedef struct frame {           /* a function call or a sourced file, for FUNCNAME, BASH_SOURCE, BASH_LINENO, return */
    struct frame *up;
    const char *func, *source;
    int call_line;
    bool is_source;
    char **argv; int argc;       /* what it was called with: BASH_ARGV under shopt -s extdebug */
    uint8_t *options;            /* set -o options to put back at the end: local - */
} frame;

typedef struct shell {
    slot **slots; size_t nslots, slot_cap;
    uint32_t func_gen;           /* changes whenever a function appears or goes: invalidates node caches */
    alias *aliases;
    arena tmp;
    int status;                  /* $? */
    int unwind, unwind_count;
    int exit_status;
    int before_return;           /* $? when return was called: what a RETURN trap sees */
    bool error_exit;             /* the UW_DISCARD came from an expansion error */
    const char *arg0;
    char **args; int nargs;      /* positional parameters: $1 is args[0]; owned by who set them */
    char **first_args; int nfirst_args;   /* what the shell was started with: the end of BASH_ARGV */
    const char *execution_string; size_t execution_len;   /* of -c; NULL when there is none */
    char **own_args;             /* the malloc'ed list behind args, NULL if borrowed */
    int own_level, cwd_level, dirs_level;  /* subshell level that owns own_args, cwd, dirs: only there they are freed */
    int scope;                   /* function depth for local */
    int base_scope;              /* scope at which the current subshell began */
    int depth, max_depth;        /* function calls */
    int eval_depth;              /* C recursion */
    int level;                   /* subshell depth as $BASH_SUBSHELL; vars log below it */
    int shell_level;             /* the level at which the innermost `bash` began */
    int64_t shell_pid;           /* its $$ */
    int64_t pid; int pid_level;  /* BASHPID of the job that runs at this level; elsewhere it comes from the level */
    int subshells;               /* BASH_SUBSHELL */
    bool bare_stage;             /* a simple command of a pipeline: no subshell yet, as BASH_SUBSHELL counts */
    int trace_level;             /* how often PS4 begins with its first character: $(...), eval and source add one */
    int loop_depth;
    int cond_depth;              /* inside a condition: errexit is off */
    frame *frames;
    program *prog;               /* whose tree is being walked */
    int line;                    /* of the current command */
    int line_base;               /* what the lines of the tree that runs count from: inside $(...), the line of its command */
    bool from_input, interactive;  /* the s and i of $- */
    bool is_command_string;      /* -c: syntax errors say "bash: -c: line" */
    uint8_t opt[O_COUNT];
    uint8_t shopt[S_COUNT];
    char *traps[TRAP_MAX];       /* malloc'ed; "" ignores */
    bool in_trap[TRAP_MAX];
    int heard;                   /* the last signal that a trap was run for: wait looks whether one came */
    int trap_status, trap_level;  /* $? when the innermost trap began, and where: what a bare exit or return in it means */
    int running_traps;           /* how many traps are being run: BASH_COMMAND stays that of the command they interrupted */
    char **parent_traps;         /* in a subshell that has set none of its own: what `trap` shows */
    io **fds; int nfds;
    char *cwd;
    int mask;
    char **dirs; int ndirs;      /* pushd stack without the current directory */
    int64_t last_bg; bool has_bg;
    int jobs_level;              /* whose jobs `jobs` shows: those of the shell around it inside $(...) and in jobs | cmd */
    int subst_status; bool had_subst;   /* of the last $(...) in a command of assignments only */
    bool has_run;                    /* something of this turn's program was run */
    bool stack_overflow;
    int64_t pipestatus[64]; int npipestatus;
    int getopts_at;              /* inside a cluster like -abc */
    node *command_node;          /* BASH_COMMAND */
    slot *ifs, *underscore;
    int64_t start_us;
    uint64_t rng;
    int rng_level;               /* the subshell level whose sequence that is */
    bool validate_only;
    bool plain;                  /* this shell was called as sh, which is dash: no braces, echo knows \\n, errors end it */
    uint64_t deaf;               /* signals that were ignored when this shell began: they stay so */
    bool as_program;             /* what runs is /bin/echo or /bin/printf, started by exec or by another program */
    bool restricted;             /* bash -r, set -r: no cd, no output to files, no paths of commands */
    unsigned complaints;         /* messages so far */
    bool byte_locale;            /* LC_ALL=C and its kin: a character is a byte */
    bool captured;               /* in $(...): what a child shell was ended by is not told */
    int killed_by, child_killed_by;   /* the signal that ends this shell; that ended the child shell which has just run */
    bool in_turn;                /* a job has its turn: what it sends to this shell comes when the turn is over */
    int in_trial;                /* 1: effects are forbidden, 2: allowed after all (pipeline.c) */
} shell;
extern shell sh;

void shell_start(void);          /* once, before anything else */
void shell_io(io *in, io *out, io *err);
int shell_run(const char *code, size_t len);             /* a whole program as one turn: EXIT trap included; the exit status */
extern syntax_error sh_syntax;   /* of the last program, message[0] if there was one */
#endif
