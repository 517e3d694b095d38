/* options.c - set -o and shopt: names, letters, and the tracing of set -x. */
#include "sh.h"
#include "options.h"
#include <string.h>

const option set_options[] = { { "allexport", 'a', O_ALLEXPORT },
                               { "braceexpand", 'B', O_BRACEEXPAND },
                               { "emacs", 0, O_EMACS },
                               { "errexit", 'e', O_ERREXIT },
                               { "errtrace", 'E', O_ERRTRACE },
                               { "functrace", 'T', O_FUNCTRACE },
                               { "hashall", 'h', O_HASHALL },
                               { "histexpand", 'H', O_HISTEXPAND },
                               { "history", 0, O_HISTORY },
                               { "ignoreeof", 0, O_IGNOREEOF },
                               { "interactive-comments", 0, O_COMMENTS },
                               { "keyword", 'k', O_KEYWORD },
                               { "monitor", 'm', O_MONITOR },
                               { "noclobber", 'C', O_NOCLOBBER },
                               { "noexec", 'n', O_NOEXEC },
                               { "noglob", 'f', O_NOGLOB },
                               { "nolog", 0, O_NOLOG },
                               { "notify", 'b', O_NOTIFY },
                               { "nounset", 'u', O_NOUNSET },
                               { "onecmd", 't', O_ONECMD },
                               { "physical", 'P', O_PHYSICAL },
                               { "pipefail", 0, O_PIPEFAIL },
                               { "posix", 0, O_POSIX },
                               { "privileged", 'p', O_PRIVILEGED },
                               { "verbose", 'v', O_VERBOSE },
                               { "vi", 0, O_VI },
                               { "xtrace", 'x', O_XTRACE },
                               { NULL, 0, 0 } };

/* Options without an effect here are kept in slots from S_OTHER on, so that scripts may set and ask for them. */
const option shopt_options[] = { { "autocd", 0, S_AUTOCD },
                                 { "assoc_expand_once", 0, S_ASSOC_ONCE },
                                 { "cdable_vars", 0, S_CDABLE_VARS },
                                 { "cdspell", 0, S_OTHER + 1 },
                                 { "checkhash", 0, S_CHECKHASH },
                                 { "checkjobs", 0, S_OTHER + 3 },
                                 { "checkwinsize", 0, S_OTHER + 4 },
                                 { "cmdhist", 0, S_OTHER + 5 },
                                 { "compat31", 0, S_OTHER + 6 },
                                 { "compat32", 0, S_OTHER + 7 },
                                 { "compat40", 0, S_OTHER + 8 },
                                 { "compat41", 0, S_OTHER + 9 },
                                 { "compat42", 0, S_OTHER + 10 },
                                 { "compat43", 0, S_OTHER + 11 },
                                 { "compat44", 0, S_OTHER + 12 },
                                 { "complete_fullquote", 0, S_OTHER + 13 },
                                 { "direxpand", 0, S_OTHER + 14 },
                                 { "dirspell", 0, S_OTHER + 15 },
                                 { "dotglob", 0, S_DOTGLOB },
                                 { "execfail", 0, S_EXECFAIL },
                                 { "expand_aliases", 0, S_EXPAND_ALIASES },
                                 { "extdebug", 0, S_EXTDEBUG },
                                 { "extglob", 0, S_EXTGLOB },
                                 { "extquote", 0, S_EXTQUOTE },
                                 { "failglob", 0, S_FAILGLOB },
                                 { "force_fignore", 0, S_OTHER + 18 },
                                 { "globasciiranges", 0, S_GLOBASCII },
                                 { "globskipdots", 0, S_GLOBSKIPDOTS },
                                 { "globstar", 0, S_GLOBSTAR },
                                 { "gnu_errfmt", 0, S_GNU_ERRFMT },
                                 { "histappend", 0, S_OTHER + 20 },
                                 { "histreedit", 0, S_OTHER + 21 },
                                 { "histverify", 0, S_OTHER + 22 },
                                 { "hostcomplete", 0, S_OTHER + 23 },
                                 { "huponexit", 0, S_OTHER + 24 },
                                 { "inherit_errexit", 0, S_INHERIT_ERREXIT },
                                 { "interactive_comments", 0, S_OTHER + 25 },
                                 { "lastpipe", 0, S_LASTPIPE },
                                 { "lithist", 0, S_OTHER + 26 },
                                 { "localvar_inherit", 0, S_LOCALVAR_INHERIT },
                                 { "localvar_unset", 0, S_LOCALVAR_UNSET },
                                 { "login_shell", 0, S_OTHER + 28 },
                                 { "mailwarn", 0, S_OTHER + 29 },
                                 { "no_empty_cmd_completion", 0, S_OTHER + 30 },
                                 { "nocaseglob", 0, S_NOCASEGLOB },
                                 { "nocasematch", 0, S_NOCASEMATCH },
                                 { "noexpand_translation", 0, S_NOEXPAND },
                                 { "nullglob", 0, S_NULLGLOB },
                                 { "patsub_replacement", 0, S_PATSUB },
                                 { "progcomp", 0, S_OTHER + 31 },
                                 { "progcomp_alias", 0, S_OTHER + 32 },
                                 { "promptvars", 0, S_PROMPTVARS },
                                 { "restricted_shell", 0, S_OTHER + 34 },
                                 { "shift_verbose", 0, S_OTHER + 35 },
                                 { "sourcepath", 0, S_SOURCEPATH },
                                 { "varredir_close", 0, S_VARREDIR },
                                 { "xpg_echo", 0, S_XPG_ECHO },
                                 { NULL, 0, 0 } };

void options_start(void)
{
    static const uint8_t on[] = { S_OTHER + 4,  S_OTHER + 5,    S_OTHER + 13, S_EXTQUOTE,   S_OTHER + 18,
                                  S_GLOBASCII,  S_GLOBSKIPDOTS, S_OTHER + 23, S_OTHER + 25, S_PATSUB,
                                  S_OTHER + 31, S_PROMPTVARS,   S_SOURCEPATH };
    memset(sh.opt, 0, sizeof sh.opt);
    memset(sh.shopt, 0, sizeof sh.shopt);
    sh.opt[O_BRACEEXPAND] = sh.opt[O_HASHALL] = sh.opt[O_COMMENTS] = 1;
    for (size_t i = 0; i < sizeof on; i++) sh.shopt[on[i]] = 1;
}

const option *option_find(const option *table, const char *name)
{
    for (; table->name; table++) if (!strcmp(table->name, name)) return table;
    return NULL;
}

bool opt_set(const char *name, bool on)
{
    const option *o = option_find(set_options, name);
    if (o) sh.opt[o->index] = on;
    if (o && o->index == O_POSIX) sh.shopt[S_EXPAND_ALIASES] = on || sh.interactive;
    if (o && o->index == O_POSIX && on) sh.shopt[S_INHERIT_ERREXIT] = 1;
    if (o && on && (o->index == O_VI || o->index == O_EMACS)) sh.opt[o->index == O_VI ? O_EMACS : O_VI] = 0;
    return o != NULL;
}

char *opt_letters(char out[40])
{
    char *p = out;
    static const char order[] = "abefhkmnprtuvxBCEHPT";
    for (const char *c = order; *c; c++) {
        if (*c == 'r' && sh.restricted) *p++ = *c;
        for (const option *o = set_options; o->name; o++) {
            if (o->letter != *c) continue;
            if (sh.opt[o->index]) *p++ = *c;
            if (*c == 'h' && sh.interactive) *p++ = 'i';
        }
    }
    if (sh.is_command_string && !sh.plain) *p++ = 'c';
    if (sh.from_input) *p++ = 's';
    *p = 0;
    return out;
}

char *opt_list(int which)
{
    strbuf b = { .a = &sh.tmp };
    for (const option *o = which ? shopt_options : set_options; o->name; o++) {
        if (!(which ? sh.shopt[o->index] : sh.opt[o->index])) continue;
        if (b.len) sb_putc(&b, ':');
        sb_puts(&b, o->name);
    }
    return sb_str(&b);
}

/* PS4, its first character once per nesting level. */
void trace_text(const char *text)
{
    static bool busy;
    io *e = fd_get(2);
    const char *fd = var_get("BASH_XTRACEFD");
    int64_t n;
    if (fd && parse_int(fd, &n) && fd_get((int)n)) e = fd_get((int)n);
    if (!e || busy) return;
    busy = true;
    const char *ps4 = var_get("PS4");
    char *prefix = ps4 ? "+ " : "";
    uint8_t x = sh.opt[O_XTRACE];
    sh.opt[O_XTRACE] = 0;
    int status = sh.status;
    if (ps4 && strcmp(ps4, "+ ")) prefix = prompt_expand(ps4);
    sh.status = status;
    sh.opt[O_XTRACE] = x;
    strbuf b = { .a = &sh.tmp };
    for (int i = 0; i < sh.trace_level && prefix && *prefix; i++) sb_putc(&b, *prefix);
    sb_printf(&b, "%s%s\n", prefix ? prefix : "", text);
    io_write(e, b.s, b.len);
    busy = false;
}

void trace_command(int argc, char **argv)
{
    strbuf b = { .a = &sh.tmp };
    for (int i = 0; i < argc; i++) {
        if (i) sb_putc(&b, ' ');
        quote_xtrace(&b, argv[i]);
    }
    trace_text(sb_str(&b));
}
