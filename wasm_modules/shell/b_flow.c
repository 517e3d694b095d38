/* b_flow.c - builtins that change where execution goes: break, return, exit, eval, source, exec, trap, wait, kill. */
#include "builtins.h"
#include "param.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int b_break(int argc, char **argv)
{
    int64_t n = 1;
    if (!sh.loop_depth) { b_error(argv[0], 0, "only meaningful in a `for', `while', or `until' loop"); return 0; }
    if (argc > 1 && !parse_int(argv[1], &n)) {
        b_error(argv[0], 0, "%s: numeric argument required", argv[1]);
        sh_exit(128);
        return 128;
    }
    if (argc > 2) { b_error(argv[0], 1, "too many arguments"); sh_abandon(1); return 1; }
    if (n <= 0) {
        b_error(argv[0], 1, "%s: loop count out of range", argv[1]);
        sh.unwind = UW_BREAK;
        sh.unwind_count = sh.loop_depth;
        return 1;
    }
    sh.unwind = argv[0][0] == 'b' ? UW_BREAK : UW_CONTINUE;
    sh.unwind_count = n > sh.loop_depth ? sh.loop_depth : (int)n;
    return 0;
}

/* In a trap, a bare exit or return gives what $? was before the trap, so that cleaning up hides no failure. */
static int bare_status(bool in_trap) { return in_trap && sh.trap_level == sh.level ? sh.trap_status : sh.status; }

int b_return(int argc, char **argv)
{
    int64_t n = bare_status(sh.running_traps && !sh.in_trap[TRAP_DEBUG]);
    if (!sh.frames) return b_error("return", 2, "can only `return' from a function or sourced script");
    if (argc > 1 && !parse_int(argv[1], &n)) { b_error("return", 2, "%s: numeric argument required", argv[1]); n = 2; }
    if (argc > 2) { b_error("return", 1, "too many arguments"); sh_abandon(1); return 1; }
    sh.unwind = UW_RETURN;
    sh.before_return = sh.status;
    sh.exit_status = (int)(n & 255);
    return sh.exit_status;
}

int b_exit(int argc, char **argv)
{
    int64_t n = bare_status(sh.in_trap[TRAP_EXIT]);
    if (argc > 1 && !parse_int(argv[1], &n)) { b_error("exit", 2, "%s: numeric argument required", argv[1]); n = 2; }
    else if (argc > 2) { b_error("exit", 1, "too many arguments"); n = 1; }
    sh_leave((int)(n & 255));
    return sh.exit_status;
}

int b_logout(int argc, char **argv) { (void)argc; (void)argv; return b_error("logout", 1, "not login shell: use `exit'"); }

int b_eval(int argc, char **argv)
{
    opts o = OPTS("eval [arg ...]");
    if (next_opt(&o, "")) return 2;
    int i = o.at;
    strbuf b = { .a = &sh.tmp };
    for (int k = i; k < argc; k++) { if (k > i) sb_putc(&b, ' '); sb_puts(&b, argv[k]); }
    if (!b.len) return 0;
    return exec_text(sb_str(&b), b.len, "eval", sh.line);
}

static __attribute__((noinline)) char *read_all(io *s, size_t *len)
{
    strbuf b = { 0 };
    char buf[4096];
    for (ssize_t n; (n = io_read(s, buf, sizeof buf)) > 0;) sb_add(&b, buf, (size_t)n);
    sb_str(&b);
    *len = b.len;
    return b.s;
}

/* A file to source may lie in PATH and need not be executable. */
static char *file_in_path(const char *name)
{
    struct stat st;
    for (const char *p = var_get("PATH"), *end; p; p = *end ? end + 1 : NULL) {
        end = p + strcspn(p, ":");
        strbuf b = { .a = &sh.tmp };
        if (end > p) { sb_add(&b, p, (size_t)(end - p)); sb_putc(&b, '/'); }
        sb_puts(&b, name);
        if (stat(sb_str(&b), &st) == 0 && S_ISREG(st.st_mode)) return b.s;
    }
    return NULL;
}

int b_source(int argc, char **argv)
{
    opts o = OPTS(argv[0][0] == '.' ? ". filename [arguments]" : "source filename [arguments]");
    if (next_opt(&o, "")) return 2;
    int i = o.at;
    if (i >= argc) {
        b_error(argv[0], 2, "filename argument required");
        return b_usage(argv[0], o.usage);
    }
    char *path = argv[i];
    struct stat st;
    if (sh.restricted && strchr(path, '/')) return b_error(argv[0], 1, "%s: restricted", path);
    if (!strchr(path, '/') && sh.shopt[S_SOURCEPATH]) {
        char *found = file_in_path(path);
        if (found) path = found;
    }
    if (*path && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) return b_error(argv[0], 1, "%s: is a directory", argv[i]);
    io *s = *path ? io_open(path, O_RDONLY, 0) : NULL;
    if (!*path) errno = ENOENT;
    if (!s) {
        sh_error("%s: %s", argv[i], strerror(errno));
        if (sh.plain || sh.opt[O_POSIX]) sh_exit(sh.plain ? PLAIN_FAILURE : 1);
        return 1;
    }
    size_t len;
    char *text = read_all(s, &len);
    io_unref(s);
    if (sh.depth >= sh.max_depth) {
        free(text);
        stack_overflowed();
        sh_error("%s: maximum source nesting level exceeded (%d)", argv[i], sh.max_depth);
        sh_fail(1);
        return 1;
    }
    frame fr = { .up = sh.frames, .source = arena_strdup(&sh.tmp, path), .call_line = sh.line, .is_source = true };
    char **args = sh.args, **own = sh.own_args;
    int nargs = sh.nargs, loops = sh.loop_depth, line = sh.line, own_level = sh.own_level;
    sh.frames = &fr;
    sh.depth++;
    if (argc > i + 1) { sh.args = argv + i + 1; sh.nargs = argc - i - 1; sh.own_args = NULL; }
    char *debug = sh.opt[O_FUNCTRACE] ? NULL : sh.traps[TRAP_DEBUG];   /* not for the file's commands, unless asked for */
    if (debug) sh.traps[TRAP_DEBUG] = NULL;
    int status = exec_text(text, len, NULL, 1);
    if (debug && sh.traps[TRAP_DEBUG]) free(debug); else if (debug) sh.traps[TRAP_DEBUG] = debug;
    if (sh.unwind == UW_RETURN) { sh.unwind = 0; status = sh.exit_status; }
    if (sh.traps[TRAP_RETURN] && !sh.unwind) run_trap(TRAP_RETURN);
    if (argc > i + 1 && sh.own_args && sh.own_level == sh.level) {   /* the file has used set --: that stays */
        if (own && own_level == sh.level) { for (char **a = own; *a; a++) free(*a); free(own); }
    } else if (argc > i + 1) {
        sh.args = args;
        sh.nargs = nargs;
        sh.own_args = own;
        sh.own_level = own_level;
    }
    sh.depth--;
    sh.loop_depth = loops;
    sh.frames = fr.up;
    sh.line = line;
    sh_syntax.message[0] = 0;
    free(text);
    return status;
}

static bool exported(slot *s, var *v) { (void)s; return v->flags & V_EXPORT; }

/* What stands in the way of running the file, said as exec says it; 0: nothing. */
static int cannot_execute(const char *path)
{
    struct stat st;
    if (command_path(path)) return 0;
    strbuf full = { .a = &sh.tmp };
    const char *why = NULL;
    if (path[0] != '/') sb_printf(&full, "%s/", sh.cwd);
    sb_puts(&full, strncmp(path, "./", 2) ? path : path + 2);
    sb_str(&full);
    if (stat(path, &st) < 0) { sh_error("%s: %s", full.s, strerror(errno)); return 127; }
    if (S_ISDIR(st.st_mode)) why = "Is a directory";
    else if (!executable(path, &st)) why = "Permission denied";
    if (!why) return 0;
    sh_error("%s: %s", full.s, why);
    sh_error("exec: %s: cannot execute: %s", full.s, why);
    return 126;
}

int b_exec(int argc, char **argv)
{
    opts o = OPTS("exec [-cl] [-a name] [command [argument ...]] [redirection ...]");
    const char *name = NULL;
    bool login = false, clear = false;
    for (int c; (c = next_opt(&o, "cla:"));) {
        if (c == '?') return 2;
        if (c == 'a') name = o.arg; else if (c == 'l') login = true; else clear = true;
    }
    int i = o.at, status;
    if (i >= argc) return 0;
    if (sh.restricted) return b_error("exec", 1, "restricted");
    slot **v;
    if (clear) for (size_t n = slots_all(&v, exported); n-- > 0;) var_writable(v[n], -1)->flags &= (uint16_t)~V_EXPORT;
    const builtin *shell = is_program_too(argv[i]) ? builtin_find(argv[i]) : NULL;
    if (strchr(argv[i], '/')) status = cannot_execute(argv[i]);
    else if (shell || (!builtin_find(argv[i]) && command_exists(argv[i]))) status = 0;
    else { sh_error("exec: %s: not found", argv[i]); status = 127; }
    if (!status && shell && shell->fn == b_bash && (name || login)) {
        strbuf b = { .a = &sh.tmp };
        sb_printf(&b, "%s%s", login ? "-" : "", name ? name : argv[i]);
        argv[i] = sb_str(&b);
        status = b_bash(argc - i, argv + i);
    } else if (!status) {
        programs_only();
        status = exec_argv(argc - i, argv + i, 1);
    }
    else if (sh.shopt[S_EXECFAIL] && sh.level == sh.shell_level) return status;
    else { sh_leave(status); return status; }
    free(sh.traps[TRAP_EXIT]);
    sh.traps[TRAP_EXIT] = NULL;
    sh_exit(status);
    return status;
}

int b_caller(int argc, char **argv)
{
    int64_t n = 0;
    frame *f = sh.frames;
    if (f && argc > 1 && !parse_int(argv[1], &n)) {
        b_error("caller", 2, "%s: invalid number", argv[1]);
        return b_usage("caller", "caller [expr]");
    }
    bool script = !sh.is_command_string && !sh.from_input;
    if (!f && script && argc == 1) return out_puts("0 NULL\n") ? 1 : 0;
    for (int64_t i = 0; f && i < n; i++) f = f->up;
    if (!f) return 1;
    const char *source = f->up ? f->up->source : sh.arg0;
    if (argc == 1) return out_printf("%d %s\n", f->call_line, f->up || script ? source : "NULL") ? 1 : 0;
    if (!f->up && !script) return 1;
    const char *from = !f->up ? "main" : f->up->func ? f->up->func : "source";
    return out_printf("%d %s %s\n", f->call_line, from, source) ? 1 : 0;
}

/* ---- traps ---- */

static void print_trap(int n)
{
    const char *action = sh.traps[n] ? sh.traps[n] : sh.parent_traps ? sh.parent_traps[n] : NULL;
    if (!action) return;
    strbuf b = { .a = &sh.tmp };
    quote_plain(&b, action);
    const char *name = signal_name(n);
    out_printf("trap -- %s %s%s\n", sb_str(&b), n > 0 && n < TRAP_ERR && !sh.opt[O_POSIX] ? "SIG" : "", name ? name : "?");
}

int b_trap(int argc, char **argv)
{
    opts o = OPTS("trap [-lp] [[arg] signal_spec ...]");
    bool print = false;
    for (int c; (c = next_opt(&o, "lp"));) {
        if (c == '?') return 2;
        if (c == 'l') { char *args[] = { "kill", "-l", NULL }; return b_kill(2, args); }
        print = true;
    }
    int i = o.at;
    if (i >= argc || print) {
        int status = 0;
        if (i >= argc) { for (int n = 0; n < TRAP_MAX; n++) print_trap(n); return 0; }
        for (; i < argc; i++) {
            int n = signal_number(argv[i]);
            if (n < 0) status = b_error("trap", 1, "%s: invalid signal specification", argv[i]);
            else print_trap(n);
        }
        return status;
    }
    char *action = argv[i];
    int64_t num;
    bool reset = argc - i == 1 || !strcmp(action, "-") || (parse_int(action, &num) && num >= 0);
    if (argc - i == 1 && signal_number(action) < 0) return b_usage("trap", o.usage);
    if (!reset || !strcmp(action, "-")) i++;
    int status = 0;
    for (; i < argc; i++) {
        int n = signal_number(argv[i]);
        if (n < 0) { status = b_error("trap", 1, "%s: invalid signal specification", argv[i]); continue; }
        if (n && n < TRAP_ERR - 1 && sh.deaf >> n & 1) continue;
        sh.parent_traps = NULL;
        free(sh.traps[n]);
        sh.traps[n] = reset ? NULL : xstrdup(action);
    }
    return status;
}

static int list_signals(int argc, char **argv, int i)
{
    if (i >= argc) {
        int shown = 0;
        for (int n = 1; n < TRAP_ERR; n++) {
            const char *name = signal_name(n);
            if (name) out_printf("%2d) SIG%s%s", n, name, ++shown % 5 == 0 ? "\n" : "\t");
        }
        if (shown % 5) out_puts("\n");
        return 0;
    }
    for (; i < argc; i++) {
        int64_t v;
        int n = parse_int(argv[i], &v) ? (int)(v > 128 ? v - 128 : v) : signal_number(argv[i]);
        const char *name = n < 0 || n >= TRAP_ERR ? NULL : signal_name(n);
        if (!name) return b_error("kill", 1, "%s: invalid signal specification", argv[i]);
        if (parse_int(argv[i], &v)) out_printf("%s\n", name); else out_printf("%d\n", n);
    }
    return 0;
}

void sh_signal(int sig)
{
    if (sh.traps[sig] && sig != 9) {
        if (*sh.traps[sig]) { sh.heard = sig; run_trap(sig); }
        return;
    }
    if (sig == 17 || sig == 18 || sig == 23 || sig == 28) return;   /* CHLD CONT URG WINCH */
    bool heard = sig != 9 && sh.level == sh.shell_level;            /* a subshell just ends */
    if (heard && sh.traps[TRAP_EXIT]) run_trap(TRAP_EXIT);         /* it sees $? as it is, not the signal */
    if (!heard) { free(sh.traps[TRAP_EXIT]); sh.traps[TRAP_EXIT] = NULL; }
    sh.killed_by = sig;
    sh_exit(128 + sig);
}

int b_kill(int argc, char **argv)
{
    int sig = 15, i = 1, status = 0;
    if (jobs_fresh) background_begin();
    if (argc < 2) return b_usage("kill", "kill [-s sigspec | -n signum | -sigspec] pid | jobspec ... or kill -l [sigspec]");
    if (!strcmp(argv[1], "-l") || !strcmp(argv[1], "-L")) return list_signals(argc, argv, 2);
    if (argc == 2 && (!strcmp(argv[1], "-s") || !strcmp(argv[1], "-n")))
        return b_error("kill", 1, "%s: option requires an argument", argv[1]);
    if ((!strcmp(argv[1], "-s") || !strcmp(argv[1], "-n")) && argc > 2) { sig = signal_number(argv[2]); i = 3; }
    else if (argv[1][0] == '-' && strcmp(argv[1], "--")) { sig = signal_number(argv[1] + 1); i = 2; }
    if (i < argc && !strcmp(argv[i], "--")) i++;
    if (sig < 0)
        return b_error("kill", 1, "%s: invalid signal specification", i == 3 ? argv[2] : argv[1] + 1);
    if (i >= argc) return b_usage("kill", "kill [-s sigspec | -n signum | -sigspec] pid | jobspec ... or kill -l [sigspec]");
    for (; i < argc; i++) {
        int64_t pid;
        if (argv[i][0] == '%') {
            if (!strcmp(argv[i], "%%") || !strcmp(argv[i], "%+")) pid = sh.last_bg;
            else if (!parse_int(argv[i] + 1, &pid)) pid = -1;
            if (!job_kill(pid, pid != sh.last_bg, sig)) status = b_error("kill", 1, "%s: no such job", argv[i]);
            continue;
        }
        if (!*argv[i]) { status = b_error("kill", 1, "`': not a pid or valid job spec"); continue; }
        if (!parse_int(argv[i], &pid)) {
            status = b_error("kill", 1, "%s: arguments must be process or job IDs", argv[i]);
            continue;
        }
        char pid_text[24];
        const char *self = var_get("BASHPID");
        bool me = pid == 0 || pid == sh.shell_pid || (self && !strcmp(self, fmt_int(pid, pid_text)));
        bool outer = pid >= SHELL_PID && pid < SHELL_PID + sh.level;    /* a shell around this one */
        if (!me && !outer && job_kill(pid, false, sig)) continue;
        if (!me && !outer) { status = b_error("kill", 1, "(%s) - No such process", argv[i]); continue; }
        if (sig == 0) continue;
        sh.status = status;          /* a trap runs after the command, and sees its status */
        if (outer) signal_for((int)(pid - SHELL_PID), sig);
        else if (pid == sh.shell_pid && sh.level > sh.shell_level) signal_for(sh.shell_level, sig);
        else sh_signal(sig);
    }
    return status;
}
