/* builtins.h - option scanning shared by the builtins' files. */
#ifndef HATCH_BUILTINS_H
#define HATCH_BUILTINS_H
#include "sh.h"

/* Short options of a builtin: next_opt returns the letter, 0 at the end, '?' after a message. "a:" takes an argument. */
typedef struct { int argc, at; char **argv; const char *in; char *arg; const char *usage; } opts;
int next_opt(opts *o, const char *letters);
#define OPTS(usage_text) { argc, 1, argv, NULL, NULL, usage_text }
extern const char *arith_who;                    /* in front of messages on arithmetic: "let" ... (arith.c) */
/* the file it would run, /usr/bin/NAME for a built-in tool, in sh.tmp; NULL: none (b_names.c) */
char *command_file(const char *name);
extern const char *const shell_keywords[];       /* ends with NULL (b_names.c) */
void show_help(const char *name);                /* of a builtin, on standard output (b_help.c) */
void set_args(char **v, int n);                  /* new positional parameters, copied */

#define BUILTINS(X) \
    X(".", b_source, B_SPECIAL) X(":", b_true, B_SPECIAL | B_LITERAL) X("[", b_test, B_LITERAL) X("alias", b_alias, 0) \
    X("bash", b_bash, B_LITERAL) X("bg", b_fg, 0) X("bind", b_bind, 0) X("break", b_break, B_SPECIAL) \
    X("builtin", b_builtin, 0) X("caller", b_caller, 0) X("cd", b_cd, 0) X("command", b_command, 0) X("compgen", b_compgen, 0) \
    X("complete", b_complete, 0) X("compopt", b_compopt, 0) X("continue", b_break, B_SPECIAL) X("dash", b_bash, B_LITERAL) \
    X("declare", b_declare, B_DECLARE) X("dirs", b_dirs, 0) X("disown", b_disown, 0) X("echo", b_echo, B_LITERAL) \
    X("enable", b_enable, 0) X("eval", b_eval, B_SPECIAL) X("exec", b_exec, B_SPECIAL) X("exit", b_exit, B_SPECIAL) \
    X("export", b_declare, B_SPECIAL | B_DECLARE) X("false", b_false, B_LITERAL) X("fc", b_fc, 0) X("fg", b_fg, 0) \
    X("getopts", b_getopts, 0) X("hash", b_hash, 0) X("help", b_help, 0) X("history", b_history, 0) X("jobs", b_jobs, 0) \
    X("kill", b_kill, 0) X("let", b_let, 0) X("local", b_declare, B_DECLARE) X("logout", b_logout, 0) \
    X("mapfile", b_mapfile, 0) X("popd", b_popd, 0) X("printf", b_printf, 0) X("pushd", b_pushd, 0) X("pwd", b_pwd, 0) \
    X("rbash", b_bash, B_LITERAL) X("read", b_read, 0) X("readarray", b_mapfile, 0) \
    X("readonly", b_declare, B_SPECIAL | B_DECLARE) X("return", b_return, B_SPECIAL) X("set", b_set, B_SPECIAL) \
    X("sh", b_bash, B_LITERAL) X("shift", b_shift, B_SPECIAL) X("shopt", b_shopt, 0) X("source", b_source, B_SPECIAL) \
    X("suspend", b_suspend, 0) X("test", b_test, B_LITERAL) X("times", b_times, B_SPECIAL) X("trap", b_trap, B_SPECIAL) \
    X("true", b_true, B_LITERAL) X("type", b_type, 0) X("typeset", b_declare, B_DECLARE) X("ulimit", b_ulimit, 0) \
    X("umask", b_umask, 0) X("unalias", b_unalias, 0) X("unset", b_unset, B_SPECIAL) X("wait", b_wait, 0)

#define DECLARE_FN(name, fn, flags) int fn(int argc, char **argv);
BUILTINS(DECLARE_FN)
#undef DECLARE_FN
#endif
