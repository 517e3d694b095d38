/* make.c - make: options, and bringing targets up to date. What GNU make does with explicit, static and pattern rules; no rules
 * are built in, because nothing here compiles. */
#include "make.h"
#include "files.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHAINED = 4 };            /* pattern rules one after the other */

static int is_newer(const struct stat *a, const struct stat *b) {
    if (a->st_mtim.tv_sec != b->st_mtim.tv_sec) return a->st_mtim.tv_sec > b->st_mtim.tv_sec;
    return a->st_mtim.tv_nsec > b->st_mtim.tv_nsec;
}

/* ---- rules ---- */

static int can_make(make *m, const char *name, int depth);

static make_pattern *find_pattern(make *m, const char *name, char **stem, int depth) {
    make_pattern *best = NULL;
    for (make_pattern *p = m->patterns; p; p = p->next) {
        char *found = make_stem(m, name, p->target);
        int possible = found && *found && p->recipe->n && (!best || strlen(found) < strlen(*stem));
        for (size_t i = 0; possible && i < p->needs.n; i++)
            possible = can_make(m, make_replace(m, name, p->target, p->needs.v[i]), depth + 1);
        if (possible) { best = p; *stem = found; }
    }
    return best;
}

static int can_make(make *m, const char *name, int depth) {
    struct stat st;
    char *stem;
    if (path_stat(name, &st) == 0 || make_target_find(m, name, 0)) return 1;
    return depth < CHAINED && find_pattern(m, name, &stem, depth) != NULL;
}

/* A target without a recipe of its own takes that of a pattern. */
static void take_pattern(make *m, make_target *t) {
    char *stem = NULL;
    make_pattern *p = t->phony || (t->recipe && t->recipe->n) ? NULL : find_pattern(m, t->name, &stem, 0);
    if (!p) return;
    make_words needs = {0};
    for (size_t i = 0; i < p->needs.n; i++) {
        char *word = make_replace(m, t->name, p->target, p->needs.v[i]);
        make_word_add(m, &needs, word, strlen(word));
    }
    for (size_t i = 0; i < t->needs.n; i++) make_word_add(m, &needs, t->needs.v[i], strlen(t->needs.v[i]));
    for (size_t i = 0; i < p->order.n; i++) make_word_add(m, &t->order, p->order.v[i], strlen(p->order.v[i]));
    t->needs = needs;
    t->recipe = p->recipe;
    t->stem = stem;
}

/* ---- recipes ---- */

/* The environment of a recipe: what was given, and the exported variables. */
static char **environment(make *m) {
    char **given = m->t->environ(m->t);
    make_words env = {0};
    for (; *given; given++) {
        char *name = tool_strndup(m->t, *given, strcspn(*given, "="));
        if (!make_variable_find(m, name) && strcmp(name, "MAKELEVEL")) make_word_add(m, &env, *given, strlen(*given));
    }
    for (make_variable *v = m->variables; v; v = v->next) {
        if (!(v->exported || (m->export_all && v->from == FROM_FILE)) || !strcmp(v->name, "SHELL")) continue;
        char *text = tool_format(m->t, "%s=%s", v->name, v->simple ? v->value : make_expand_text(m, v->value));
        make_word_add(m, &env, text, strlen(text));
    }
    char *level = tool_format(m->t, "MAKELEVEL=%d", m->level + 1);
    make_word_add(m, &env, level, strlen(level));
    make_word_add(m, &env, "", 0);
    env.v[env.n - 1] = NULL;
    return env.v;
}

/* One line of a recipe; its status, 0 when that does not matter. */
static int run_line(make *m, make_target *t, const char *text, int at) {
    int silent = m->silent, ignored = m->ignore, always = strstr(text, "$(MAKE)") != NULL;
    char *line = make_expand_text(m, text);
    if (m->failed) return 2;
    for (; *line && strchr("@-+ \t", *line); line++) {
        silent |= *line == '@';
        ignored |= *line == '-';
        always |= *line == '+';
    }
    if (!*line) return 0;
    if (!silent || m->dry) io_printf(m->t->out, "%s\n", line);
    if (m->dry && !always) return 0;
    const char *name = path_last(make_expand_text(m, "$(SHELL)"));
    char *argv[] = {(char *)(*name ? name : "sh"), "-c", line, NULL};
    int status = tool_run_with(m->t, NULL, NULL, environment(m), 3, argv);
    if (!status) return 0;
    io_flush(m->t->out);
    const char *mark = m->level ? tool_format(m->t, "make[%d]", m->level) : "make";
    io_printf(m->t->err, "%s: %s[%s:%d: %s] Error %d%s\n", mark, ignored ? "" : "*** ", t->recipe->file, at, t->name, status,
        ignored ? " (ignored)" : "");
    return ignored ? 0 : status;
}

static int run_recipe(make *m, make_target *t, const char *newer) {
    const make_target *was = m->now;
    int status = 0;
    m->now = t;
    m->now_newer = newer;
    if (m->one_shell && t->recipe->n) {
        buffer b = {.t = m->t};
        for (int i = 0; i < t->recipe->n; i++) buffer_puts(&b, tool_format(m->t, "%s\n", t->recipe->lines[i]));
        b.p[--b.n] = 0;
        status = run_line(m, t, b.p, t->recipe->at[0]);
    } else for (int i = 0; i < t->recipe->n && !status; i++) status = run_line(m, t, t->recipe->lines[i], t->recipe->at[i]);
    m->now = was;
    return status;
}

/* ---- targets ---- */

static int update(make *m, const char *name, const char *for_what);

static int update_all(make *m, const make_words *names, const char *for_what) {
    int status = 0;
    for (size_t i = 0; i < names->n && (!status || m->keep_going); i++)
        if (update(m, names->v[i], for_what)) status = 2;
    return status;
}

/* Whether the recipe has to run, and what of the needs is newer than the target. */
static int is_stale(make *m, make_target *t, const struct stat *own, int exists, char **newer) {
    buffer b = {.t = m->t};
    int stale = t->phony || !exists || m->always;
    buffer_puts(&b, "");
    for (size_t i = 0; i < t->needs.n; i++) {
        make_target *need = make_target_find(m, t->needs.v[i], 0);
        struct stat st;
        int there = path_stat(t->needs.v[i], &st) == 0, later = !exists || !there || is_newer(&st, own) || (need && need->changed);
        if (!later) continue;
        stale = 1;
        if (b.n) buffer_putc(&b, ' ');
        buffer_puts(&b, t->needs.v[i]);
    }
    *newer = b.p;
    return stale;
}

static int no_rule(make *m, const char *name, const char *for_what) {
    const char *whose = for_what ? tool_format(m->t, ", needed by '%s'", for_what) : "";
    return make_fail(m, "No rule to make target '%s'%s", name, whose);
}

static int update(make *m, const char *name, const char *for_what) {
    make_target *t = make_target_find(m, name, 1);
    struct stat st;
    char *newer;
    if (t->state == 1) { tool_fail(m->t, 0, "Circular %s <- %s dependency dropped.", for_what, name); return 0; }
    if (t->state) return t->state == 3 ? 2 : 0;
    if (tool_too_deep(m->t)) return make_fail(m, "rules nest too deeply");
    int known = t->recipe != NULL;
    take_pattern(m, t);
    t->state = 1;
    int exists = path_stat(name, &st) == 0, status = update_all(m, &t->needs, name);
    if (!status || m->keep_going) status |= update_all(m, &t->order, name);
    if (status) { t->state = 3; return 2; }
    if (!t->recipe || !t->recipe->n) {
        if (!exists && !known && !t->phony && !t->needs.n) { t->state = 3; return no_rule(m, name, for_what); }
        t->changed = !exists || t->phony;
        for (size_t i = 0; i < t->needs.n; i++) {
            make_target *need = make_target_find(m, t->needs.v[i], 0);
            if (need && need->changed) t->changed = 1;
        }
        t->state = 2;
        return 0;
    }
    if (is_stale(m, t, &st, exists, &newer)) {
        t->changed = 2;
        if (run_recipe(m, t, newer)) { t->state = 3; return 2; }
    }
    t->state = 2;
    return 0;
}

/* Whether anything was run for the target. */
static int ran_for(make *m, const make_target *t, int depth) {
    if (t->changed == 2) return 1;
    for (size_t i = 0; depth < 64 && i < t->needs.n; i++) {
        make_target *need = make_target_find(m, t->needs.v[i], 0);
        if (need && ran_for(m, need, depth + 1)) return 1;
    }
    return 0;
}

static int make_goal(make *m, const char *goal) {
    int status = update(m, goal, NULL);
    make_target *t = make_target_find(m, goal, 1);
    if (status || m->silent || ran_for(m, t, 0)) return status;
    int idle = t->phony || !t->recipe || !t->recipe->n;
    io_printf(m->t->out, idle ? "%s: Nothing to be done for '%s'.\n" : "%s: '%s' is up to date.\n",
        m->level ? tool_format(m->t, "make[%d]", m->level) : "make", goal);
    return 0;
}

/* ---- the command ---- */

static void start_variables(make *m) {
    for (char **e = m->t->environ(m->t); *e; e++) {
        size_t n = strcspn(*e, "=");
        char *name = tool_strndup(m->t, *e, n);
        if (strcmp(name, "SHELL")) make_set(m, name, (*e)[n] ? *e + n + 1 : "", 1, FROM_ENVIRONMENT);
        if (!strcmp(name, "MAKELEVEL")) m->level = atoi(*e + n + 1);
    }
    char cwd[4096];
    make_set(m, "SHELL", "/bin/sh", 1, FROM_DEFAULT);
    make_set(m, "MAKE", "make", 1, FROM_DEFAULT);
    make_set(m, "MAKE_VERSION", "4.3", 1, FROM_DEFAULT);
    make_set(m, "RM", "rm -f", 1, FROM_DEFAULT);
    make_set(m, "CURDIR", getcwd(cwd, sizeof cwd) ? cwd : "/", 1, FROM_FILE);
}

/* -C: the same command again, there. */
static int run_there(tool *t, const char *dir, int argc, char **argv) {
    const char *level = t->getenv ? t->getenv(t, "MAKELEVEL") : NULL, *mark = level && atoi(level) ? tool_format(t, "make[%s]", level) : "make";
    struct stat st;
    char *real = path_real(t, dir, 0);
    if (!real || path_stat(real, &st) < 0 || !S_ISDIR(st.st_mode)) return tool_fail(t, 2, "*** %s: No such file or directory.  Stop.", dir);
    int quiet = 0;
    for (int i = 1; i < argc; i++) quiet |= !strcmp(argv[i], "-s") || !strcmp(argv[i], "--no-print-directory");
    if (!quiet) io_printf(t->out, "%s: Entering directory '%s'\n", mark, real);
    int status = t->run_env(t, t->environ(t), dir, argc, argv);
    if (!quiet) io_printf(t->out, "%s: Leaving directory '%s'\n", mark, real);
    return status;
}

static int read_makefiles(make *m, const make_words *files) {
    static const char *const names[] = {"GNUmakefile", "makefile", "Makefile"};
    struct stat st;
    for (size_t i = 0; i < files->n; i++) if (make_read_file(m, files->v[i], 0)) return 2;
    for (int i = 0; !files->n && i < 3; i++) if (path_stat(names[i], &st) == 0) return make_read_file(m, names[i], 0);
    return 0;
}

int tool_make(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"always-make", 0, 'B'}, {"directory", 1, 'C'}, {"dry-run", 0, 'n'}, {"file", 1, 'f'},
        {"ignore-errors", 0, 'i'}, {"jobs", 2, 'j'}, {"just-print", 0, 'n'}, {"keep-going", 0, 'k'}, {"makefile", 1, 'f'},
        {"no-print-directory", 0, 'w'}, {"quiet", 0, 's'}, {"recon", 0, 'n'}, {"silent", 0, 's'}, {0, 0, 0}};
    make m = {.t = t};
    make_words files = {0};
    tool_opts o;
    char **rest = tool_alloc(t, ((size_t)argc + 1) * sizeof *rest);
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "-C", 2) && strcmp(argv[i], "--directory")) continue;
        const char *dir = !strcmp(argv[i], "-C") || argv[i][1] == '-' ? argv[i + 1] : argv[i] + 2;
        int used = dir == argv[i + 1] ? 2 : 1, n = 0;
        if (!dir) return tool_fail(t, 2, "option requires an argument -- 'C'");
        for (int k = 0; k < argc; k++) if (k < i || k >= i + used) rest[n++] = argv[k];
        return run_there(t, dir, n, rest);
    }
    tool_opts_start(&o, argc, argv);
    for (int c; (c = tool_opts_next(t, &o, "BC:Rf:ij:knsrw", longs)) != -1;) {
        if (c == '?') return 2;
        if (c == 'f') make_word_add(&m, &files, o.arg, strlen(o.arg));
        m.always |= c == 'B';
        m.ignore |= c == 'i';
        m.keep_going |= c == 'k';
        m.dry |= c == 'n';
        m.silent |= c == 's';
    }
    start_variables(&m);
    make_words goals = {0};
    for (int i = o.index; i < argc; i++)
        if (!make_assign(&m, argv[i], NULL, FROM_COMMAND)) make_word_add(&m, &goals, argv[i], strlen(argv[i]));
    int silent = m.silent;
    if (read_makefiles(&m, &files)) return 2;
    m.silent |= silent;
    make_variable *chosen = make_variable_find(&m, ".DEFAULT_GOAL");
    if (chosen && *chosen->value) m.goal = make_expand_text(&m, chosen->value);
    if (!goals.n && !m.goal) return make_fail(&m, m.was_read ? "No targets" : "No targets specified and no makefile found");
    if (!goals.n) make_word_add(&m, &goals, m.goal, strlen(m.goal));
    int status = 0;
    for (size_t i = 0; i < goals.n && (!status || m.keep_going); i++) if (make_goal(&m, goals.v[i])) status = 2;
    return status;
}
