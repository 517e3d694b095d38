/* procs.c - ps, pgrep, pkill, pidof: the processes that a script can know of, which are the shell, its running jobs, and the
 * command itself. They have no terminal and take no time.
 */
#include "buffer.h"
#include "users.h"
#include "../background.h"
#include "../param.h"
#include "../regex.h"
#include <stdlib.h>
#include <string.h>

enum { MOST = 300 };

typedef struct { long pid, parent; const char *args, *comm; } process;
typedef struct { process at[MOST]; int n; } process_list;

static void add_process(tool *t, process_list *l, long pid, long parent, const char *args) {
    if (l->n == MOST) return;
    const char *first = args, *slash;
    size_t n = strcspn(first, " ");
    char *comm = tool_strndup(t, first, n);
    if ((slash = strrchr(comm, '/'))) comm = tool_strdup(t, slash + 1);
    l->at[l->n++] = (process){pid, parent, args, comm};
}

/* Every process there is; own: the command that asks, NULL to leave it out. */
static process_list *all_processes(tool *t, const char *own) {
    process_list *l = tool_alloc(t, sizeof *l);
    add_process(t, l, SHELL_PID, 1, "bash");
    for (unsigned i = jobs_first(); i < jobs_begun(); i++) {
        job *j = job_at(i);
        if (!j->walk || !j->text) continue;
        add_process(t, l, (long)j->pid, (long)job_parent(j), tool_strndup(t, j->text, strcspn(j->text, "&\n")));
    }
    const sleeper *s = sleep_running();
    for (int level = 1; s && level <= s->level; level++) add_process(t, l, SHELL_PID + level, SHELL_PID + level - 1, "bash");
    for (; s; s = s->outer) add_process(t, l, (long)s->pid, SHELL_PID + s->level, tool_format(t, "sleep %s", s->argument));
    for (int i = 1; i < l->n; i++)               /* by number */
        for (int k = i; k > 0 && l->at[k].pid < l->at[k - 1].pid; k--) {
            process other = l->at[k];
            l->at[k] = l->at[k - 1];
            l->at[k - 1] = other;
        }
    if (own) add_process(t, l, SHELL_FIRST_JOB - 1, SHELL_PID, own);
    return l;
}

/* ---- ps ---- */

typedef struct { const char *name, *title; int width, left; } ps_column;

static const ps_column known[] = {{"pid", "PID", 7, 0}, {"ppid", "PPID", 7, 0}, {"comm", "COMMAND", 15, 1}, {"cmd", "CMD", 27, 1},
    {"args", "COMMAND", 27, 1}, {"command", "COMMAND", 27, 1}, {"ucmd", "CMD", 15, 1}, {"user", "USER", 8, 1}, {"uid", "UID", 5, 0},
    {"uname", "USER", 8, 1}, {"stat", "STAT", 4, 1}, {"state", "S", 1, 1}, {"s", "S", 1, 1}, {"tty", "TT", 8, 1},
    {"tname", "TTY", 8, 1}, {"time", "TIME", 8, 0}, {"etime", "ELAPSED", 11, 0}, {"pcpu", "%CPU", 4, 0}, {"%cpu", "%CPU", 4, 0},
    {"pmem", "%MEM", 4, 0}, {"%mem", "%MEM", 4, 0}, {"vsz", "VSZ", 6, 0}, {"rss", "RSS", 5, 0}, {"pgid", "PGID", 7, 0},
    {"sid", "SID", 7, 0}, {"ni", "NI", 3, 0}, {"c", "C", 2, 0}, {"stime", "STIME", 5, 1}, {"start", "START", 5, 1}};

enum { COLUMNS_MOST = 32 };
typedef struct { ps_column column[COLUMNS_MOST]; int n, titled; } ps_format;

/* "pid,ppid,comm=NAME" at the end of f; 0, or 1 after a message. */
static int take_columns(tool *t, ps_format *f, const char *list) {
    for (const char *p = list; *p;) {
        size_t n = strcspn(p, ", ="), i = 0;
        if (!n) { p++; continue; }
        while (i < sizeof known / sizeof *known && (strlen(known[i].name) != n || strncmp(known[i].name, p, n))) i++;
        if (i == sizeof known / sizeof *known) {
            io_printf(t->err, "error: unknown user-defined format specifier \"%.*s\"\n", (int)n, p);
            return 1;
        }
        if (f->n == COLUMNS_MOST) return 0;
        ps_column *c = &f->column[f->n++];
        *c = known[i];
        p += n;
        if (*p == '=') {                                 /* a title runs to the end of the list */
            c->title = p + 1;
            if ((int)strlen(c->title) > c->width) c->width = (int)strlen(c->title);
            p += strlen(p);
        }
        f->titled |= *c->title != '\0';
    }
    return 0;
}

static const char *cell(tool *t, const ps_column *c, const process *p) {
    const char *n = c->name;
    if (!strcmp(n, "pid")) return tool_format(t, "%ld", p->pid);
    if (!strcmp(n, "ppid")) return tool_format(t, "%ld", p->parent);
    if (!strcmp(n, "pgid") || !strcmp(n, "sid")) return tool_format(t, "%d", SHELL_PID);
    if (!strcmp(n, "comm") || !strcmp(n, "ucmd")) return p->comm;
    if (!strcmp(n, "cmd") || !strcmp(n, "args") || !strcmp(n, "command")) return p->args;
    if (!strcmp(n, "user") || !strcmp(n, "uname")) return user_name(t, user_id());
    if (!strcmp(n, "uid")) return tool_format(t, "%u", user_id());
    if (!strcmp(n, "stat") || !strcmp(n, "state") || !strcmp(n, "s")) return p->pid == SHELL_FIRST_JOB - 1 ? "R" : "S";
    if (!strcmp(n, "time")) return "00:00:00";
    if (!strcmp(n, "etime") || !strcmp(n, "stime") || !strcmp(n, "start")) return "00:00";
    if (!strcmp(n, "pcpu") || !strcmp(n, "%cpu") || !strcmp(n, "pmem") || !strcmp(n, "%mem")) return "0.0";
    return strcmp(n, "tty") && strcmp(n, "tname") ? "0" : "?";
}

static int print_row(tool *t, const ps_format *f, const process *p) {
    buffer b = {.t = t};
    for (int i = 0; i < f->n; i++) {
        const ps_column *c = &f->column[i];
        const char *text = p ? cell(t, c, p) : c->title;
        if (i) buffer_putc(&b, ' ');
        if (c->left && i == f->n - 1) buffer_puts(&b, text);
        else buffer_printf(&b, c->left ? "%-*s" : "%*s", c->width, text);
    }
    buffer_putc(&b, '\n');
    return io_write(t->out, b.p, b.n);
}

static int is_listed(const char *list, const char *word) {
    size_t n = strlen(word);
    for (const char *p = list; *p; p += strspn(p, ", ")) {
        size_t len = strcspn(p, ", ");
        if (len == n && !strncmp(p, word, n)) return 1;
        p += len;
    }
    return 0;
}

int tool_ps(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"format", 1, 'o'}, {"pid", 1, 'p'}, {"ppid", 1, 'P'}, {"no-headers", 0, 'H'},
        {"no-heading", 0, 'H'}, {"headers", 0, 'a'}, {"user", 1, 'u'}, {"sort", 1, 'k'}, {"forest", 0, 'a'}, {0, 0, 0}};
    const char *pids = NULL, *parents = NULL, *names = NULL;
    int heads = 1, full = 0, bsd = argc > 1 && argv[1][0] != '-' && strspn(argv[1], "0123456789") != strlen(argv[1]), users = 0, c;
    ps_format f = {0};
    tool_opts o;
    if (bsd) { users = strchr(argv[1], 'u') != NULL; argc--; argv++; }
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "AaedfFjlwxo:p:u:U:C:k:", longs)) != -1;) switch (c) {
        case 'o': if (take_columns(t, &f, o.arg)) return 1; break;
        case 'p': pids = o.arg; break;
        case 'P': parents = o.arg; break;
        case 'C': names = o.arg; break;
        case 'f': case 'F': full = 1; break;
        case 'H': heads = 0; break;
        case '?': return 1;
    }
    if (o.index < argc && !pids) pids = argv[o.index];
    if (!f.n && users) take_columns(t, &f, "user,pid,%cpu,%mem,vsz,rss,tname,stat,start,time,args");
    else if (!f.n && full) {
        take_columns(t, &f, "user,pid,ppid,c,stime,tname,time,cmd");
        f.column[0].title = "UID";
    } else if (!f.n && bsd) take_columns(t, &f, "pid,tname,stat,time,args");
    else if (!f.n) take_columns(t, &f, "pid,tname,time,ucmd");
    process_list *l = all_processes(t, "ps");
    int found = 0;
    if (heads && f.titled && print_row(t, &f, NULL) < 0) return 1;
    for (int i = 0; i < l->n; i++) {
        process *p = &l->at[i];
        if (pids && !is_listed(pids, tool_format(t, "%ld", p->pid))) continue;
        if (parents && !is_listed(parents, tool_format(t, "%ld", p->parent))) continue;
        if (names && !is_listed(names, p->comm)) continue;
        found = 1;
        if (print_row(t, &f, p) < 0) return 1;
    }
    return !found;
}

/* ---- finding by name ---- */

typedef struct { int full, exact, list, count; const char *signal; } grep_state;

/* Runs `kill SIGNAL PID`, which the shell knows how to do. */
static int send_signal(tool *t, const char *signal, long pid) {
    char *words[] = {"kill", tool_format(t, "-%s", signal), tool_format(t, "%ld", pid), NULL};
    return t->run ? t->run(t, 3, words) : 1;
}

static int find_processes(tool *t, int argc, char **argv, int kills) {
    static const tool_long longs[] = {{"full", 0, 'f'}, {"exact", 0, 'x'}, {"list-name", 0, 'l'}, {"count", 0, 'c'},
        {"signal", 1, 's'}, {"newest", 0, 'n'}, {"oldest", 0, 'o'}, {"list-full", 0, 'a'}, {"ignore-case", 0, 'i'}, {0, 0, 0}};
    grep_state s = {.signal = "TERM"};
    int c, found = 0, fold = 0;
    tool_opts o;
    if (kills && argc > 1 && argv[1][0] == '-' && strlen(argv[1]) > 2 && strcmp(argv[1], "--") && argv[1][1] != '-') {
        s.signal = argv[1] + 1;
        argv[1] = argv[0];
        argv++;
        argc--;
    }
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "acfilnoxs:u:P:", longs)) != -1;) switch (c) {
        case 'f': s.full = 1; break;
        case 'x': s.exact = 1; break;
        case 'l': s.list = 1; break;
        case 'a': s.list = 2; break;
        case 'c': s.count = 1; break;
        case 'i': fold = 1; break;
        case 's': s.signal = o.arg; break;
        case '?': return 2;
    }
    if (o.index >= argc) {
        tool_fail(t, 2, "no matching criteria specified");
        return tool_usage(t, 2);
    }
    char *pattern = s.exact ? tool_format(t, "^(%s)$", argv[o.index]) : argv[o.index];
    const char *why = NULL;
    regex *r = regex_compile(pattern, strlen(pattern), REGEX_EXTENDED | (fold ? REGEX_ICASE : 0), &why);
    if (!r) return tool_fail(t, 2, "%s", why);
    process_list *l = all_processes(t, NULL);
    for (int i = 0; i < l->n; i++) {
        process *p = &l->at[i];
        const char *text = s.full ? p->args : p->comm;
        if (regex_test(r, text, strlen(text)) <= 0) continue;
        found++;
        if (kills) send_signal(t, s.signal, p->pid);
        else if (s.list) io_printf(t->out, "%ld %s\n", p->pid, s.list == 2 ? p->args : p->comm);
        else if (!s.count) io_printf(t->out, "%ld\n", p->pid);
    }
    regex_free(r);
    if (s.count) io_printf(t->out, "%d\n", found);
    return !found;
}

int tool_pgrep(tool *t, int argc, char **argv) { return find_processes(t, argc, argv, 0); }
int tool_pkill(tool *t, int argc, char **argv) { return find_processes(t, argc, argv, 1); }

int tool_pidof(tool *t, int argc, char **argv) {
    process_list *l = all_processes(t, "pidof");
    int found = 0;
    for (int i = l->n - 1; i >= 0; i--)
        for (int k = 1; k < argc; k++)
            if (!strcmp(argv[k], l->at[i].comm)) io_printf(t->out, "%s%ld", found++ ? " " : "", l->at[i].pid);
    if (found) io_putc(t->out, '\n');
    return !found;
}
