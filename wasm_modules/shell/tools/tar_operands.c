/* tar_operands.c - tar's operands in the order in which they were given, each with the options that came before it.
 *
 * RULES. -C, -T, --exclude and --no-recursion count from where they stand when an archive is written; one that stands behind all
 * operands is a mistake, which is told. For other modes they hold for everything.
 *
 * Does not know what is done with the operands.
 */
#include "tar.h"
#include <string.h>

void tar_option_at(tar_state *s, int kind, int at, const char *text) {
    s->events = tool_realloc(s->t, s->events, ((size_t)s->event_n + 1) * sizeof *s->events);
    s->events[s->event_n++] = (tar_event){kind, at, text};
}

static void exclude(tar_state *s, const char *pattern) {
    s->exclude = tool_realloc(s->t, s->exclude, ((size_t)s->exclude_n + 1) * sizeof *s->exclude);
    s->exclude[s->exclude_n++] = pattern;
}

static void add_name(tar_state *s, char *name) {
    size_t n = (size_t)s->name_n + 1;
    s->names = tool_realloc(s->t, s->names, n * sizeof *s->names);
    s->places = tool_realloc(s->t, s->places, n * sizeof *s->places);
    s->names[s->name_n] = name;
    s->places[s->name_n++] = (tar_place){s->dir, s->exclude_n, s->no_recursion};
}

/* The lines of a file (parts between NULs after --null), as names or as patterns that exclude. 0, or 2 after a message. */
static int read_list(tar_state *s, const char *path, int as_names) {
    int failed = 0, mark = s->null_lists && as_names ? 0 : '\n';
    io *from = tool_open(s->t, path, 2, &failed);
    const char *line;
    if (!from) return 2;
    for (ssize_t n; (n = io_line(from, &line, (char)mark)) > 0;) {
        char *text = tool_strndup(s->t, line, (size_t)n - (line[n - 1] == (char)mark));
        if (as_names) add_name(s, text); else exclude(s, text);
    }
    io_unref(from);
    return 0;
}

static int apply(tar_state *s, const tar_event *e) {
    switch (e->kind) {
    case 'C': s->dir = s->dir && *e->text != '/' ? tool_format(s->t, "%s/%s", s->dir, e->text) : e->text; return 0;
    case 'T': return read_list(s, e->text, 1);
    case 'X': return read_list(s, e->text, 0);
    case TAR_FLAT: s->no_recursion = 1; return 0;
    default: exclude(s, e->text); return 0;
    }
}

/* Options that nothing follows, when an archive is written. */
static int tell_useless(tar_state *s, int operands) {
    int told = 0;
    for (int i = 0; i < s->event_n && operands; i++) {
        const tar_event *e = &s->events[i];
        if (e->at < operands || e->kind == 'C' || e->kind == 'T') continue;
        if (!told++)
            tool_fail(s->t, 2, "The following options were used after any non-optional arguments in archive create or update mode.  "
                               "These options are positional and affect only arguments that follow them.  Please, rearrange them "
                               "properly.");
        if (e->kind == TAR_FLAT) tool_fail(s->t, 2, "--no-recursion has no effect");
        else tool_fail(s->t, 2, "--%s %s has no effect", e->kind == 'X' ? "exclude-from" : "exclude", tool_cite(s->t, e->text));
    }
    return told ? 2 : 0;
}

int tar_take_operands(tar_state *s, char **operands, int n, int writes) {
    int next = 0;
    for (int i = 0; i <= n; i++) {
        for (; next < s->event_n && (i == n || !writes || s->events[next].at <= i); next++)
            if (apply(s, &s->events[next])) return 2;
        if (i < n) add_name(s, operands[i]);
    }
    if (writes) s->misplaced = tell_useless(s, n);
    return 0;
}
