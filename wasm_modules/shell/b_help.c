/* b_help.c - help: how each builtin and keyword is written, and in a sentence what it does. */
#include "builtins.h"
#include <stdlib.h>
#include <string.h>

static const struct topic { const char *name, *usage, *summary;
} topics[] = {
    { "%", "job_spec [&]", "Bring a job to the foreground." },
    { "(( ... ))", "(( expression ))", "Evaluate an arithmetic expression." },
    { ".", ". filename [arguments]", "Run the commands of a file in this shell." },
    { ":", ":", "Do nothing, successfully." },
    { "[", "[ arg... ]", "Evaluate a condition; the last argument must be ]." },
    { "[[ ... ]]", "[[ expression ]]", "Evaluate a condition; words are not split." },
    { "alias", "alias [-p] [name[=value] ... ]", "Define or show aliases." },
    { "bg", "bg [job_spec ...]", "Let jobs go on in the background." },
    { "bind", "bind [-lpsvPSVX] [-m keymap] [-f filename] [-q name] [-u name] [-r keyseq] [-x "
      "keyseq:shell-command] [keyseq:readline-function or readline-command]",
      "Show or set key bindings." },
    { "break", "break [n]", "Leave for, while and until loops." },
    { "builtin", "builtin [shell-builtin [arg ...]]", "Run a shell builtin, whatever else has its name." },
    { "caller", "caller [expr]", "Show where the current function was called." },
    { "case", "case WORD in [PATTERN [| PATTERN]...) COMMANDS ;;]... esac",
      "Run the commands behind the first pattern that matches." },
    { "cd", "cd [-L|[-P [-e]] [-@]] [dir]", "Change the working directory." },
    { "command", "command [-pVv] command [arg ...]", "Run a command, not a function of that name, or say what a name is." },
    { "compgen", "compgen [-abcdefgjksuv] [-o option] [-A action] [-G globpat] [-W wordlist] [-F function] [-C "
      "command] [-X filterpat] [-P prefix] [-S suffix] [word]",
      "Show possible completions." },
    { "complete", "complete [-abcdefgjksuv] [-pr] [-DEI] [-o option] [-A action] [-G globpat] [-W wordlist] [-F "
      "function] [-C command] [-X filterpat] [-P prefix] [-S suffix] [name ...]",
      "Say how words are completed." },
    { "compopt", "compopt [-o|+o option] [-DEI] [name ...]", "Change options of a completion." },
    { "continue", "continue [n]", "Go on with the next round of a loop." },
    { "coproc", "coproc [NAME] command [redirections]", "Run a command beside the shell, with pipes to and from it." },
    { "declare", "declare [-aAfFgiIlnrtux] [name[=value] ...] or declare -p [-aAfFilnrtux] [name ...]",
      "Set values and attributes of variables." },
    { "dirs", "dirs [-clpv] [+N] [-N]", "Show the stack of directories." },
    { "disown", "disown [-h] [-ar] [jobspec ... | pid ...]", "Forget about jobs." },
    { "echo", "echo [-neE] [arg ...]", "Write arguments to standard output." },
    { "enable", "enable [-a] [-dnps] [-f filename] [name ...]", "Switch builtins on and off." },
    { "eval", "eval [arg ...]", "Run arguments as a shell command." },
    { "exec", "exec [-cl] [-a name] [command [argument ...]] [redirection ...]",
      "Replace the shell with a command, or redirect its descriptors." },
    { "exit", "exit [n]", "Leave the shell." },
    { "export", "export [-fn] [name[=value] ...] or export -p", "Mark variables for the environment of commands." },
    { "false", "false", "Fail." },
    { "fc", "fc [-e ename] [-lnr] [first] [last] or fc -s [pat=rep] [command]", "Show or run commands of the history." },
    { "fg", "fg [job_spec]", "Bring a job to the foreground." },
    { "for", "for NAME [in WORDS ... ] ; do COMMANDS; done", "Run commands for each word of a list." },
    { "for ((", "for (( exp1; exp2; exp3 )); do COMMANDS; done", "Count with arithmetic expressions." },
    { "function", "function name { COMMANDS ; } or name () { COMMANDS ; }", "Define a function." },
    { "getopts", "getopts optstring name [arg ...]", "Take options from arguments, one by one." },
    { "hash", "hash [-lr] [-p pathname] [-dt] [name ...]", "Remember or show where commands are." },
    { "help", "help [-dms] [pattern ...]", "Show this text about builtins." },
    { "history", "history [-c] [-d offset] [n] or history -anrw [filename] or history -ps arg [arg...]",
      "Show or change the history." },
    { "if", "if COMMANDS; then COMMANDS; [ elif COMMANDS; then COMMANDS; ]... [ else COMMANDS; ] fi",
      "Run commands when a condition holds." },
    { "jobs", "jobs [-lnprs] [jobspec ...] or jobs -x command [args]", "Show the jobs." },
    { "kill", "kill [-s sigspec | -n signum | -sigspec] pid | jobspec ... or kill -l [sigspec]", "Send a signal to a job." },
    { "let", "let arg [arg ...]", "Evaluate arithmetic expressions." },
    { "local", "local [option] name[=value] ...", "Declare variables of a function." },
    { "logout", "logout [n]", "Leave a login shell." },
    { "mapfile", "mapfile [-d delim] [-n count] [-O origin] [-s count] [-t] [-u fd] [-C callback] [-c quantum] "
      "[array]",
      "Read lines into an array." },
    { "popd", "popd [-n] [+N | -N]", "Take a directory off the stack." },
    { "printf", "printf [-v var] format [arguments]", "Write arguments as a format says." },
    { "pushd", "pushd [-n] [+N | -N | dir]", "Put a directory on the stack." },
    { "pwd", "pwd [-LP]", "Show the working directory." },
    { "read", "read [-ers] [-a array] [-d delim] [-i text] [-n nchars] [-N nchars] [-p prompt] [-t timeout] "
      "[-u fd] [name ...]",
      "Read a line and split it into variables." },
    { "readarray", "readarray [-d delim] [-n count] [-O origin] [-s count] [-t] [-u fd] [-C callback] [-c quantum] "
      "[array]",
      "Read lines into an array." },
    { "readonly", "readonly [-aAf] [name[=value] ...] or readonly -p", "Make variables constant." },
    { "return", "return [n]", "Leave a function or a sourced file." },
    { "select", "select NAME [in WORDS ... ;] do COMMANDS; done", "Let the user choose from a list, and run commands." },
    { "set", "set [-abefhkmnptuvxBCEHPT] [-o option-name] [--] [-] [arg ...]",
      "Set options and positional parameters, or show variables." },
    { "shift", "shift [n]", "Drop positional parameters." },
    { "shopt", "shopt [-pqsu] [-o] [optname ...]", "Set shell options, or show them." },
    { "source", "source filename [arguments]", "Run the commands of a file in this shell." },
    { "suspend", "suspend [-f]", "Stop the shell." },
    { "test", "test [expr]", "Evaluate a condition." },
    { "time", "time [-p] pipeline", "Say how long a pipeline took." },
    { "times", "times", "Show the time used so far." },
    { "trap", "trap [-lp] [[arg] signal_spec ...]", "Run commands at signals and other events." },
    { "true", "true", "Succeed." },
    { "type", "type [-afptP] name [name ...]", "Say what a name stands for." },
    { "typeset", "typeset [-aAfFgiIlnrtux] name[=value] ... or typeset -p [-aAfFilnrtux] [name ...]",
      "Set values and attributes of variables, as declare does." },
    { "ulimit", "ulimit [-SHabcdefiklmnpqrstuvxPRT] [limit]", "Show or set limits of resources." },
    { "umask", "umask [-p] [-S] [mode]", "Show or set the mode bits that new files do not get." },
    { "unalias", "unalias [-a] name [name ...]", "Remove aliases." },
    { "unset", "unset [-f] [-v] [-n] [name ...]", "Remove variables and functions." },
    { "until", "until COMMANDS; do COMMANDS-2; done", "Run commands as long as a condition does not hold." },
    { "variables", "variables - Names and meanings of some shell variables", "What variables of the shell mean." },
    { "wait", "wait [-fn] [-p var] [id ...]", "Wait for jobs and give their status." },
    { "while", "while COMMANDS; do COMMANDS-2; done", "Run commands as long as a condition holds." },
    { "{ ... }", "{ COMMANDS ; }", "Run commands as one." },
};
enum { TOPICS = sizeof topics / sizeof *topics };

static void show(const struct topic *t, char how)
{
    if (how == 'd') out_printf("%s - %s\n", t->name, t->summary);
    else if (how == 's') out_printf("%s: %s\n", t->name, t->usage);
    else if (how == 'm') out_printf("NAME\n    %s - %s\n\nSYNOPSIS\n    %s\n\n", t->name, t->summary, t->usage);
    else out_printf("%s: %s\n    %s\n", t->name, t->usage, t->summary);
}

/* By the whole name or a pattern; when nothing has that name, by how names begin. */
static int show_matching(const char *pattern, char how)
{
    int found = 0;
    for (int prefix = 0; prefix < 2 && !found; prefix++)
        for (int i = 0; i < TOPICS; i++) {
            bool fits = prefix ? !strncmp(topics[i].name, pattern, strlen(pattern))
                               : !strcmp(topics[i].name, pattern) || pattern_match(pattern, topics[i].name, PM_EXTGLOB);
            if (fits) { show(&topics[i], how); found++; }
        }
    return found;
}

void show_help(const char *name)
{
    for (int i = 0; i < TOPICS; i++) if (!strcmp(topics[i].name, name)) show(&topics[i], 0);
}

static void list_all(void)
{
    out_puts("Hatchway shell, compatible with GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)\n"
             "These shell commands are defined internally.  Type `help' to see this list.\n"
             "Type `help name' to find out more about the function `name'.\n\n"
             "A star (*) next to a name means that the command is disabled.\n\n");
    for (int i = 0; i < TOPICS; i++) out_printf(" %c%s\n", builtin_disabled(topics[i].name) ? '*' : ' ', topics[i].usage);
}

int b_help(int argc, char **argv)
{
    opts o = OPTS("help [-dms] [pattern ...]");
    char how = 0;
    for (int c; (c = next_opt(&o, "dms"));) {
        if (c == '?') return 2;
        how = (char)c;
    }
    if (o.at >= argc) { list_all(); return 0; }
    int found = 0;
    if (has_glob(argv[o.at])) {
        out_printf("Shell commands matching keyword%s `", argc - o.at > 1 ? "s" : "");
        for (int i = o.at; i < argc; i++) out_printf("%s%s", i > o.at ? ", " : "", argv[i]);
        out_puts("'\n\n");
    }
    for (int i = o.at; i < argc; i++) found += show_matching(argv[i], how);
    const char *last = argv[argc - 1];
    if (found) return 0;
    return b_error("help", 1, "no help topics match `%s'.  Try `help help' or `man -k %s' or `info %s'.", last, last, last);
}
