/* errors.c - messages in bash's wording, and the two ways to give up: the current command, or the shell. */
#include "sh.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *script_name(void)
{
    for (frame *f = sh.frames; f; f = f->up) {
        if (f->is_source) return f->source;
        if (f->func) return f->source;
    }
    return sh.arg0;
}

static void verror(const char *who, const char *format, va_list ap)
{
    io *e = fd_get(2);
    sh.complaints++;
    if (!e) return;
    io *o = fd_get(1);
    if (o && o != e) io_flush(o);
    if (!who && sh.shopt[S_GNU_ERRFMT]) io_printf(e, "%s:%d: ", script_name(), sh.line);
    else if (!sh.line) io_printf(e, "%s: %s%s", script_name(), who ? who : "", who ? ": " : "");
    else io_printf(e, "%s: line %d: %s%s", script_name(), sh.line, who ? who : "", who ? ": " : "");
    io_vprintf(e, format, ap);
    io_putc(e, '\n');
}

void sh_error(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    verror(NULL, format, ap);
    va_end(ap);
}

void sh_report(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    verror(NULL, format, ap);
    va_end(ap);
    if (sh.plain) sh_exit(PLAIN_FAILURE);
    if (sh.opt[O_ERREXIT] && !sh.unwind) sh_leave(sh.status ? sh.status : 1);
}

int b_error(const char *who, int status, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    verror(who, format, ap);
    va_end(ap);
    return status;
}

int b_usage(const char *who, const char *usage)
{
    io *e = fd_get(2);
    if (e) io_printf(e, "%s: usage: %s\n", who, usage);
    return 2;
}

void sh_fail(int status)
{
    if (sh.unwind >= UW_EXIT) return;
    sh.unwind = UW_DISCARD;
    sh.status = sh.exit_status = status;
}

void sh_fail_plainly(void)
{
    if (sh.opt[O_ERREXIT]) sh_exit(1); else sh_fail(1);
}

/* Bash leaves a command string altogether over an expression it cannot evaluate in a subscript or for an integer variable; a
 * script file loses only the command. */
void sh_abandon(int status)
{
    if (sh.is_command_string) sh_exit(status); else sh_fail(status);
}

/* What ${x?} and set -u end the shell with: bash has one status for command strings, another for everything else. */
int sh_fatal_status(void)
{
    if (sh.plain) return PLAIN_FAILURE;
    return sh.subshells || !sh.is_command_string || sh.opt[O_ERREXIT] ? 1 : 127;
}

void sh_exit(int status)
{
    if (sh.unwind == UW_TRIAL) return;
    sh.unwind = UW_EXIT;
    sh.exit_status = status & 255;
}

static void write_error(int err)
{
    node *n = sh.command_node;
    const char *who = n && n->kind == N_SIMPLE && n->u.simple.n ? n->u.simple.words[0]->raw : NULL;
    if (who) b_error(who, 1, "write error: %s", strerror(err)); else sh_error("write error: %s", strerror(err));
}

int out_write(const char *s, size_t n)
{
    io *o = fd_get(1);
    if (o && io_write(o, s, n) == 0) return 0;
    int err = o ? errno : EBADF;
    if (err != EPIPE) write_error(err);
    else if (sh.level) sh_exit(141);
    return -1;
}

int out_puts(const char *s) { return out_write(s, strlen(s)); }

int out_printf(const char *format, ...)
{
    io *o = fd_get(1);
    va_list ap;
    va_start(ap, format);
    int r = o ? io_vprintf(o, format, ap) : -1;
    va_end(ap);
    if (r < 0 && o && errno == EPIPE) { if (sh.level) sh_exit(141); }
    else if (r < 0) write_error(o ? errno : EBADF);
    return r;
}

void err_puts(const char *s)
{
    io *e = fd_get(2);
    if (e) io_puts(e, s);
}
