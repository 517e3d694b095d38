/* special.c - variables with values of their own: clocks, random numbers, the call stack; and what a new shell starts with. */
#include "sh.h"
#include "utf8.h"
#include "hashed.h"
#include "options.h"
#include "param.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void put_int(var *v, int64_t n)
{
    char buf[24];
    var_put(v, fmt_int(n, buf));
}

static uint64_t splitmix(void)
{
    static uint64_t x;
    x += 0x9e3779b97f4a7c15u + sh.rng;
    uint64_t z = x;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* The generator bash uses for RANDOM: Park and Miller's, halves folded. A subshell begins a sequence of its own. */
static uint32_t random_next(void)
{
    if (sh.rng_level != sh.level) { sh.rng = splitmix() & 0x7fffffff; sh.rng_level = sh.level; }
    uint32_t seed = (uint32_t)sh.rng;
    if (seed == 0) seed = 123459876;
    int32_t h = (int32_t)(seed / 127773), l = (int32_t)(seed % 127773);
    int32_t t = 16807 * l - 2836 * h;
    seed = (uint32_t)(t < 0 ? t + 0x7fffffff : t);
    sh.rng = seed;
    return ((seed >> 16) ^ (seed & 65535)) & 32767;
}

void special_clock(void) { sh.start_us = now_us(); }
void special_reseed(uint64_t seed) { sh.rng = (uint32_t)(seed ^ seed >> 32) & 0x7fffffff; }

static void get_random(slot *s, var *v) { (void)s; put_int(v, random_next()); }
static void set_random(slot *s, var *v)
{
    (void)s;
    sh.rng = (uint32_t)strtoul(v->str ? v->str : "0", NULL, 10);
    sh.rng_level = sh.level;
}
static void get_srandom(slot *s, var *v) { (void)s; put_int(v, (int64_t)(splitmix() & 0xffffffffu)); }
static void get_seconds(slot *s, var *v) { (void)s; put_int(v, (now_us() - sh.start_us) / 1000000); }
static void set_seconds(slot *s, var *v) { (void)s; sh.start_us = now_us() - (v->str ? strtoll(v->str, NULL, 10) : 0) * 1000000; }
static void get_epoch(slot *s, var *v) { (void)s; put_int(v, now_us() / 1000000); }
static void get_realtime(slot *s, var *v)
{
    (void)s;
    arena_mark_t m = arena_mark(&sh.tmp);
    strbuf b = { .a = &sh.tmp };
    int64_t us = now_us();
    sb_printf(&b, "%lld.%06lld", (long long)(us / 1000000), (long long)(us % 1000000));
    var_put(v, sb_str(&b));
    arena_release(&sh.tmp, m);
}
static void get_line(slot *s, var *v) { (void)s; put_int(v, sh.line); }
static void get_subshell(slot *s, var *v) { (void)s; put_int(v, sh.subshells); }
static void get_bashpid(slot *s, var *v) { (void)s; put_int(v, sh.pid && sh.pid_level == sh.level ? sh.pid : SHELL_PID + sh.level); }
static void get_shellopts(slot *s, var *v)
{
    (void)s;
    arena_mark_t m = arena_mark(&sh.tmp);
    var_put(v, opt_list(0));
    arena_release(&sh.tmp, m);
}
static void get_bashopts(slot *s, var *v)
{
    (void)s;
    arena_mark_t m = arena_mark(&sh.tmp);
    var_put(v, opt_list(1));
    arena_release(&sh.tmp, m);
}
static void get_command(slot *s, var *v)
{
    (void)s;
    arena_mark_t m = arena_mark(&sh.tmp);
    strbuf b = { .a = &sh.tmp };
    if (sh.command_node) print_node_line(&b, sh.command_node);
    var_put(v, sb_str(&b));
    arena_release(&sh.tmp, m);
}

static void fresh_array(var *v)
{
    if (v->flags & V_ARRAY) { arr_free(v->u.a); v->u.a = xmalloc(sizeof(arr)); *v->u.a = (arr){ 0 }; }
    else var_make_array(NULL, v, 0);
    v->flags |= V_SET;
}

static void fresh_assoc(var *v)
{
    if (v->flags & V_ASSOC) { assoc_free(v->u.h); v->u.h = assoc_new(); }
    else var_make_array(NULL, v, 1);
    v->flags |= V_SET;
}

/* BASH_ALIASES and BASH_CMDS are what alias and hash keep, as arrays; assigning an element adds to them. */
static void get_aliases(slot *s, var *v)
{
    (void)s;
    fresh_assoc(v);
    for (alias *a = sh.aliases; a; a = a->next) assoc_set(v->u.h, a->name, xstrdup(a->text));
}

static void set_aliases(slot *s, var *v)
{
    (void)s;
    pair **list = v->flags & V_ASSOC ? assoc_list(v->u.h) : NULL;
    for (size_t i = 0; list && i < v->u.h->n; i++) {
        const char *now = alias_find(list[i]->key);
        if (!now || strcmp(now, list[i]->val)) alias_set(list[i]->key, list[i]->val);
    }
}

static void get_hashed(slot *s, var *v)
{
    (void)s;
    fresh_assoc(v);
    for (hashed *h = hashed_all(); h; h = h->next) assoc_set(v->u.h, h->name, xstrdup(h->path));
}

static void set_hashed(slot *s, var *v)
{
    (void)s;
    pair **list = v->flags & V_ASSOC ? assoc_list(v->u.h) : NULL;
    for (size_t i = 0; list && i < v->u.h->n; i++) hashed_set(list[i]->key, list[i]->val);
}

static void get_pipestatus(slot *s, var *v)
{
    (void)s;
    char buf[24];
    fresh_array(v);
    for (int i = 0; i < sh.npipestatus; i++) arr_set(v->u.a, i, xstrdup(fmt_int(sh.pipestatus[i], buf)));
}

static void get_dirstack(slot *s, var *v)
{
    (void)s;
    fresh_array(v);
    arr_set(v->u.a, 0, xstrdup(sh.cwd ? sh.cwd : "/"));
    for (int i = 0; i < sh.ndirs; i++) arr_set(v->u.a, i + 1, xstrdup(sh.dirs[sh.ndirs - 1 - i]));
}

static void get_stack(slot *s, var *v)
{
    char buf[24];
    int i = 0;
    fresh_array(v);
    const char *main_source = sh.is_command_string || sh.from_input ? NULL : sh.arg0;   /* only a script file is on the stack */
    bool in_func = false;
    for (frame *f = sh.frames; f; f = f->up) if (f->func) in_func = true;
    for (frame *f = sh.frames; f; f = f->up, i++) {
        const char *text = s->name[0] == 'F'   ? (f->func ? f->func : "source")
                           : s->name[5] == 'S' ? f->source
                                               : fmt_int(f->call_line, buf);
        arr_set(v->u.a, i, xstrdup(text));
    }
    if (s->name[0] == 'F') {
        if (in_func && main_source) arr_set(v->u.a, i, xstrdup("main"));
        if (!in_func && !sh.frames) v->flags &= (uint16_t)~V_SET;
    } else if (s->name[5] == 'S') {
        if (main_source) arr_set(v->u.a, i, xstrdup(main_source));
    } else if (main_source) arr_set(v->u.a, i, xstrdup("0"));
    if (s->name[0] == 'F' && !in_func) { arr_free(v->u.a); v->u.a = xmalloc(sizeof(arr)); *v->u.a = (arr){ 0 }; }
}

/* BASH_ARGC: how many arguments each call on the stack got; BASH_ARGV: all of them, the last one first. Without extdebug only
 * what the shell was started with is known. */
static void get_arguments(slot *s, var *v)
{
    char buf[24];
    int64_t at = 0;
    bool count = s->name[8] == 'C';
    fresh_array(v);
    for (frame *f = sh.frames; f && sh.shopt[S_EXTDEBUG]; f = f->up) {
        if (!f->argv) continue;
        if (count) arr_set(v->u.a, at++, xstrdup(fmt_int(f->argc, buf)));
        else for (int i = f->argc; i-- > 0;) arr_set(v->u.a, at++, xstrdup(f->argv[i]));
    }
    static bool known;           /* bash notes what it was started with when first asked outside of functions */
    if (!sh.frames || sh.shopt[S_EXTDEBUG]) known = true;
    if (!known) return;
    if (count) arr_set(v->u.a, at, xstrdup(fmt_int(sh.nfirst_args, buf)));
    else for (int i = sh.nfirst_args; i-- > 0;) arr_set(v->u.a, at++, xstrdup(sh.first_args[i]));
}

static void get_execution_string(slot *s, var *v)
{
    (void)s;
    char *text = sh.execution_string ? xstrndup(sh.execution_string, sh.execution_len) : NULL;
    if (text) var_put(v, text);
    else v->flags &= (uint16_t)~V_SET;
    free(text);
}

static arena names_given;        /* $0 as BASH_ARGV0 made it; kept, for subshells have it too */
static void get_arg0(slot *s, var *v) { (void)s; var_put(v, sh.arg0 ? sh.arg0 : ""); v->flags |= V_SET; }
static void set_path(slot *s, var *v) { (void)s; (void)v; if (hashed_all()) hashed_forget_all(); }
static void set_optind(slot *s, var *v) { (void)s; (void)v; sh.getopts_at = 0; }

/* LC_ALL, LC_CTYPE, LANG: told after assignment and unset (v is NULL then). */
static void set_locale(slot *s, var *v)
{
    (void)s;
    (void)v;
    locale_refresh();
}

void locale_refresh(void)
{
    static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
    const char *locale = NULL;
    for (size_t i = 0; i < 3 && !(locale && *locale); i++) locale = var_get(names[i]);
    const char *charset = locale ? strchr(locale, '.') : NULL;
    sh.byte_locale = !charset || (strcasecmp(charset, ".UTF-8") && strcasecmp(charset, ".utf8"));
    if (utf8_bytes != sh.byte_locale) utf8_bytes = sh.byte_locale;
}

static void set_arg0(slot *s, var *v) { (void)s; if (v && v->str) sh.arg0 = arena_strdup(&names_given, v->str); }
static void set_posix(slot *s, var *v) { (void)s; sh.opt[O_POSIX] = v && v->flags & V_SET; }

/* BASH_COMPAT, as 4.2 or 42: the option compat42 follows it. */
static void set_compat(slot *s, var *v)
{
    (void)s;
    const char *text = v && v->flags & V_SET && v->str ? v->str : "";
    size_t n = strlen(text);
    bool dotted = n == 3 && text[1] == '.', known = !n;
    char name[] = { 'c', 'o', 'm', 'p', 'a', 't', n ? text[0] : 0, dotted ? text[2] : n == 2 ? text[1] : 0, 0 };
    int version = (name[6] - '0') * 10 + name[7] - '0';
    if (n && (dotted || n == 2) && version >= 31 && version <= 52) known = true;
    if (!known) { sh_error("BASH_COMPAT: %s: compatibility value out of range", text); name[6] = 0; }
    for (const option *o = shopt_options; o->name; o++)
        if (!strncmp(o->name, "compat", 6)) sh.shopt[o->index] = !strcmp(o->name, name);
}

static void set_dirstack(slot *s, var *v) { (void)s; if (v && v->flags & V_ARRAY) dirs_assign(v->u.a); }
static void ignore_set(slot *s, var *v) { (void)s; (void)v; }

static const special specials[] = { { "RANDOM", get_random, set_random },
                                    { "SRANDOM", get_srandom, ignore_set },
                                    { "SECONDS", get_seconds, set_seconds },
                                    { "EPOCHSECONDS", get_epoch, ignore_set },
                                    { "EPOCHREALTIME", get_realtime, ignore_set },
                                    { "LINENO", get_line, ignore_set },
                                    { "BASH_SUBSHELL", get_subshell, ignore_set },
                                    { "BASHPID", get_bashpid, ignore_set },
                                    { "SHELLOPTS", get_shellopts, NULL },
                                    { "BASHOPTS", get_bashopts, NULL },
                                    { "BASH_COMMAND", get_command, ignore_set },
                                    { "PIPESTATUS", get_pipestatus, ignore_set },
                                    { "DIRSTACK", get_dirstack, set_dirstack },
                                    { "FUNCNAME", get_stack, ignore_set },
                                    { "BASH_SOURCE", get_stack, ignore_set },
                                    { "BASH_LINENO", get_stack, ignore_set },
                                    { "BASH_ARGC", get_arguments, ignore_set },
                                    { "BASH_ARGV", get_arguments, ignore_set },
                                    { "BASH_EXECUTION_STRING", get_execution_string, ignore_set },
                                    { "PATH", NULL, set_path },
                                    { "OPTIND", NULL, set_optind },
                                    { "LC_ALL", NULL, set_locale },
                                    { "LC_CTYPE", NULL, set_locale },
                                    { "LANG", NULL, set_locale },
                                    { "BASH_ALIASES", get_aliases, set_aliases },
                                    { "BASH_CMDS", get_hashed, set_hashed },
                                    { "BASH_ARGV0", get_arg0, set_arg0 },
                                    { "BASH_COMPAT", NULL, set_compat },
                                    { "POSIXLY_CORRECT", NULL, set_posix } };

void special_start(void)
{
    static const struct { const char *name, *value; int flags;
    } plain[] = { { "PATH", "/usr/local/bin:/usr/bin:/bin", V_EXPORT },
                  { "HOME", "/workspace", V_EXPORT },
                  { "SHELL", "/bin/bash", V_EXPORT },
                  { "USER", "user", V_EXPORT },
                  { "LOGNAME", "user", V_EXPORT },
                  { "HOSTNAME", "hatchway", 0 },
                  { "LANG", "C.UTF-8", V_EXPORT },
                  { "SHLVL", "1", V_EXPORT },
                  { "IFS", " \t\n", 0 },
                  { "PS4", "+ ", 0 },
                  { "OPTIND", "1", V_INT },
                  { "OPTERR", "1", 0 },
                  { "BASH", "/bin/bash", 0 },
                  { "BASH_VERSION", "5.2.15(1)-release", 0 },
                  { "HOSTTYPE", "x86_64", 0 },
                  { "MACHTYPE", "x86_64-pc-linux-gnu", 0 },
                  { "OSTYPE", "linux-gnu", 0 },
                  { "TERM", "dumb", 0 },
                  { "COMP_WORDBREAKS", " \t\n\"'><=;|&(:", 0 },
                  { "PPID", "1", V_READONLY | V_INT },
                  { "UID", "1000", V_READONLY | V_INT },
                  { "EUID", "1000", V_READONLY | V_INT },
                  { "_", "/bin/bash", 0 } };
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        var_set_plain(plain[i].name, plain[i].value);
        slot_of(plain[i].name)->top->flags |= (uint16_t)plain[i].flags;
    }
    var_writable(slot_of("OLDPWD"), -1)->flags |= V_EXPORT;
    static char *version[] = { "5", "2", "15", "1", "release", "x86_64-pc-linux-gnu" };
    var_set_list("BASH_VERSINFO", version, 6);
    slot_of("BASH_VERSINFO")->top->flags |= V_READONLY;
    char *groups[] = { "1000" };
    var_set_list("GROUPS", groups, 1);
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
        slot *s = slot_of(specials[i].name);
        s->special = &specials[i];
        if (specials[i].set == set_locale || specials[i].set == set_compat || specials[i].set == set_posix) continue;
        var *v = var_writable(s, -1);
        if (specials[i].get == get_aliases || specials[i].get == get_hashed) { fresh_assoc(v); continue; }
        if (!(v->flags & V_SET)) var_put(v, "");
        if (!strcmp(s->name, "SHELLOPTS") || !strcmp(s->name, "BASHOPTS")) v->flags |= V_READONLY;
        if (specials[i].get == get_random || specials[i].get == get_srandom || specials[i].get == get_bashpid) v->flags |= V_INT;
        if (specials[i].get == get_pipestatus || specials[i].get == get_stack || specials[i].get == get_dirstack ||
            specials[i].get == get_arguments) {
            var_clear_value(v);
            fresh_array(v);
        }
    }
    sh.ifs = slot_of("IFS");
    sh.underscore = slot_of("_");
    sh.start_us = now_us();
    special_reseed((uint64_t)sh.start_us);
}
