/* redirect.c - descriptors: the table of streams, redirections and their undoing, process substitution. */
#include "sh.h"
#include "slow.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_FD = 4096 };

io *fd_get(int fd) { return fd >= 0 && fd < sh.nfds ? sh.fds[fd] : NULL; }

void fd_set_io(int fd, io *s)
{
    if (fd >= sh.nfds) {
        if (!s) return;
        int n = fd + 1 < 8 ? 8 : fd + 1;
        sh.fds = xrealloc(sh.fds, (size_t)n * sizeof *sh.fds);
        memset(sh.fds + sh.nfds, 0, (size_t)(n - sh.nfds) * sizeof *sh.fds);
        sh.nfds = n;
    }
    io_unref(sh.fds[fd]);
    sh.fds[fd] = s;
}

int fd_free_from(int first)
{
    while (fd_get(first)) first++;
    return first;
}

io *shell_open(const char *path, int flags)
{
    struct stat st;
    bool writes = (flags & O_ACCMODE) != O_RDONLY;
    if (writes && strncmp(path, "/dev/", 5) && trial_effect()) { errno = EINTR; return NULL; }
    if (writes && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) { errno = EISDIR; return NULL; }
    if (!strncmp(path, "/dev/tcp/", 9) || !strncmp(path, "/dev/udp/", 9)) { errno = ECONNREFUSED; return NULL; }
    if (!strcmp(path, "/dev/tty")) { errno = ENXIO; return NULL; }
    return io_open(path, flags, 0666);
}

static void remember(redir_save *save, int fd)
{
    for (int i = 0; i < save->n; i++) if (save->v[i].fd == fd) return;
    if (save->n == save->cap) {
        save->cap = save->cap ? save->cap * 2 : 4;
        save->v = xrealloc(save->v, (size_t)save->cap * sizeof *save->v);
    }
    save->v[save->n++] = (saved_fd){ fd, io_ref(fd_get(fd)) };
}

void redirect_undo(redir_save *save)
{
    while (save->n > 0) { saved_fd f = save->v[--save->n]; fd_set_io(f.fd, f.old); }
    free(save->v);
    *save = (redir_save){ 0 };
}

void redirect_forget(redir_save *save)
{
    while (save->n > 0) io_unref(save->v[--save->n].old);
    free(save->v);
    *save = (redir_save){ 0 };
}

/* The one word a redirection goes to, NULL after a message. */
static char *target_path(redir *r)
{
    strlist l = { .a = &sh.tmp };
    if (sh.opt[O_POSIX]) return expand_one(r->target, 0);
    if (!expand_word(r->target, X_SPLIT | X_GLOB | X_BRACE, &l)) return NULL;
    if (l.n == 1) return l.v[0];
    sh_error("%s: ambiguous redirect", r->target->raw);
    return NULL;
}

static bool open_error(const char *path, int err)
{
    if (sh.unwind != UW_TRIAL) sh_error("%s: %s", path, strerror(err));
    return false;
}

static io *open_file(redir *r, const char *path)
{
    static const int flags[] = { [R_IN] = O_RDONLY,
                                 [R_OUT] = O_WRONLY | O_CREAT | O_TRUNC,
                                 [R_APPEND] = O_WRONLY | O_CREAT | O_APPEND,
                                 [R_CLOBBER] = O_WRONLY | O_CREAT | O_TRUNC,
                                 [R_RDWR] = O_RDWR | O_CREAT,
                                 [R_BOTH] = O_WRONLY | O_CREAT | O_TRUNC,
                                 [R_BOTH_APPEND] = O_WRONLY | O_CREAT | O_APPEND };
    struct stat st;
    int kind = r->kind == R_DUP_OUT ? R_BOTH : r->kind;
    if (sh.restricted && kind != R_IN) { sh_error("%s: restricted: cannot redirect output", path); return NULL; }
    if (sh.opt[O_NOCLOBBER] && (kind == R_OUT || kind == R_BOTH) && stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
        sh_error("%s: cannot overwrite existing file", path);
        return NULL;
    }
    io *s = *path ? shell_open(path, flags[kind]) : (errno = ENOENT, NULL);
    if (!s) open_error(path, errno);
    return s;
}

/* The descriptor a redirection works on. */
static int own_fd(redir *r)
{
    if (r->var) return fd_free_from(10);
    if (r->fd >= 0) return r->fd;
    return r->kind == R_IN || r->kind == R_DUP_IN || r->kind == R_RDWR || r->kind == R_HEREDOC || r->kind == R_HERESTR ? 0 : 1;
}

/* The variable of {name}> or {name[sub]}>: where the descriptor is written to, and read from to be closed. */
static bool fd_variable_set(const char *name, int fd)
{
    char text[24], *number = fmt_int(fd, text);
    size_t n = name_len(name);
    if (!name[n]) return var_set(name, number);
    return var_set_elem(slot_of(arena_strndup(&sh.tmp, name, n)), arena_strndup(&sh.tmp, name + n + 1, strlen(name) - n - 2),
                        number, 0);
}

static bool fd_variable_get(const char *name, int64_t *fd)
{
    strbuf b = { .a = &sh.tmp };
    char *text;
    sb_printf(&b, "${%s}", name);
    return expand_string(sb_str(&b), '"', &text) && parse_int(text, fd);
}

/* >&word and <&word. */
static bool duplicate(redir *r, redir_save *save, int fd)
{
    strlist l = { .a = &sh.tmp };
    if (!expand_word(r->target, X_SPLIT | X_GLOB, &l)) return false;
    char *text = l.n == 1 ? l.v[0] : "";
    size_t n = strspn(text, "0123456789");
    if (!strcmp(text, "-")) {
        if (r->var) {
            int64_t v;
            if (!fd_variable_get(r->var, &v)) { sh_error("%s: ambiguous redirect", r->var); return false; }
            fd = (int)v;
        }
        if (fd >= MAX_FD) return true;
        if (!r->var || sh.shopt[S_VARREDIR]) remember(save, fd);
        fd_set_io(fd, NULL);
        return true;
    }
    if (n && n < 5 && (!text[n] || !strcmp(text + n, "-"))) {
        int from = atoi(text);
        io *s = fd_get(from);
        if (!s) { sh_error("%s: %s", r->target->raw, strerror(EBADF)); return false; }
        io_ref(s);
        if (!r->var || sh.shopt[S_VARREDIR]) remember(save, fd);
        fd_set_io(fd, s);
        if (text[n] == '-' && from != fd) { remember(save, from); fd_set_io(from, NULL); }
        return true;
    }
    if (l.n != 1 || r->kind == R_DUP_IN || r->fd >= 0) {
        sh_error("%s: ambiguous redirect", l.n == 1 ? text : r->target->raw);
        return false;
    }
    io *s = open_file(r, text);
    if (!s) return false;
    remember(save, 1);
    remember(save, 2);
    fd_set_io(1, s);
    fd_set_io(2, io_ref(s));
    return true;
}

static bool redirect_one(redir *r, redir_save *save)
{
    int fd = own_fd(r);
    io *s = NULL;
    if (fd >= MAX_FD) { sh_error("%d: %s", fd, strerror(EBADF)); return false; }
    if (r->kind == R_DUP_IN || r->kind == R_DUP_OUT) {
        if (!duplicate(r, save, fd)) return false;
    } else if (r->kind == R_HEREDOC || r->kind == R_HERESTR) {
        char *text = expand_one(r->target, r->kind == R_HEREDOC ? X_NOTILDE | X_HEREDOC : X_ASSIGN);
        if (!text) return false;
        strbuf b = { .a = &sh.tmp };
        sb_puts(&b, text);
        if (r->kind == R_HERESTR) sb_putc(&b, '\n');
        s = io_text(sb_str(&b), b.len);
    } else {
        char *path = target_path(r);
        if (!path || !(s = open_file(r, path))) return false;
    }
    if (s) {
        if (r->kind == R_BOTH || r->kind == R_BOTH_APPEND) { remember(save, 2); fd_set_io(2, io_ref(s)); fd = 1; }
        if (!r->var || sh.shopt[S_VARREDIR]) remember(save, fd);
        fd_set_io(fd, s);
    }
    return !r->var || !fd_get(fd) || fd_variable_set(r->var, fd);
}

bool redirect(redir *r, redir_save *save)
{
    *save = (redir_save){ 0 };
    for (; r; r = r->next) if (!redirect_one(r, save)) return false;
    return true;
}

/* ---- process substitution: <(...) runs first, >(...) when the command that writes to it is done ---- */

typedef struct { int fd; node *body; io *in, *out, *err; int level, line; program *prog; } proc;
static proc *procs;
static int nprocs, procs_cap;
static proc *held;               /* those of exec > >(...), which live as long as the descriptor */
static int nheld;

int proc_mark(void) { return nprocs; }

/* <(yes): the reader comes later, so a producer without end is stopped when it has written more than anyone will read. */
enum { MAX_PROC_BYTES = 32 << 20 };
static void stop_writer(io *s, void *ctx) { (void)ctx; io_close_reader(s); }

char *proc_subst(node *body, int is_output)
{
    int fd = 63;
    if (jobs_fresh) background_begin();
    while (fd > 10 && fd_get(fd)) fd--;
    io *pipe = io_pipe();
    if (nprocs == procs_cap) {
        procs_cap = procs_cap ? procs_cap * 2 : 4;
        procs = xrealloc(procs, (size_t)procs_cap * sizeof *procs);
    }
    proc p = { .fd = fd, .line = sh.line, .body = is_output ? body : NULL, .in = is_output ? io_ref(pipe) : NULL };
    if (is_output) { p.out = io_ref(fd_get(1)); p.err = io_ref(fd_get(2)); }
    else if (body) {
        sub_state *st = subshell_enter();
        fd_set_io(1, io_ref(pipe));
        sh.line_base = sh.line;
        slow_begin(pipe, MAX_PROC_BYTES, stop_writer, NULL);
        int status = exec_node(body);
        sh.last_bg = 4300 + nprocs;
        subshell_leave(st, status);
        slow_end(pipe);
    }
    fd_set_io(fd, pipe);
    procs[nprocs++] = p;
    strbuf b = { .a = &sh.tmp };
    sb_printf(&b, "/dev/fd/%d", fd);
    return sh.unwind == UW_TRIAL ? NULL : sb_str(&b);
}

/* Runs the reader of a >(...) on what was written to it, and lets go of it. */
static void run_reader(proc p)
{
    if (p.body && sh.unwind != UW_TRIAL) {
        int saved_status = sh.status, unwind = sh.unwind;
        sub_state *st = subshell_enter();
        sh.unwind = 0;
        sh.line_base = p.line;
        fd_set_io(0, io_ref(p.in));
        if (p.out) fd_set_io(1, io_ref(p.out));
        if (p.err) fd_set_io(2, io_ref(p.err));
        int status = exec_node(p.body);
        subshell_leave(st, status);
        sh.status = saved_status;
        if (sh.unwind != UW_TRIAL) sh.unwind = unwind;
    }
    io_unref(p.in);
    io_unref(p.out);
    io_unref(p.err);
    program_unref(p.prog);
}

void proc_finish(int mark)
{
    while (nprocs > mark) {
        proc p = procs[--nprocs];
        fd_set_io(p.fd, NULL);
        run_reader(p);
    }
}

void proc_hold(int mark)
{
    while (nprocs > mark) {
        proc p = procs[--nprocs];
        fd_set_io(p.fd, NULL);
        if (!p.body) { run_reader(p); continue; }
        held = xrealloc(held, (size_t)(nheld + 1) * sizeof *held);
        p.level = sh.level;
        p.prog = sh.prog;
        if (p.prog) p.prog->refs++;
        held[nheld++] = p;
    }
}

void proc_release(bool all)
{
    for (int i = nheld; i-- > 0;) {
        proc p = held[i];
        bool open = false;
        if (p.level != sh.level) continue;
        for (int fd = 0; fd < sh.nfds; fd++) {
            if (sh.fds[fd] != p.in) continue;
            if (!all) { open = true; continue; }
            fd_set_io(fd, io_ref(fd == 2 ? p.err : p.out));
        }
        if (open) continue;
        memmove(held + i, held + i + 1, (size_t)(nheld - i - 1) * sizeof *held);
        nheld--;
        run_reader(p);
    }
}
