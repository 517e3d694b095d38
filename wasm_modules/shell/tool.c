/* tool.c - what tool.h promises: the table of tools, their memory, their messages and their options.
 *
 * Memory of one call is a doubly linked list of blocks hanging from t->arena, so that a block can be resized or given back early
 * and everything left is freed when the tool returns.
 */
#include "tool.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define TOOL_UNLISTED(name) TOOL(name)
#define TOOL(name) tool_fn tool_##name;
#define TOOL_AS(name, fn) tool_fn fn;
#include "tools/tools.def"
#undef TOOL
#undef TOOL_AS

const tool_entry tool_table[] = {
#define TOOL(name) {#name, tool_##name},
#define TOOL_AS(name, fn) {#name, fn},
#include "tools/tools.def"
#undef TOOL
#undef TOOL_AS
    {NULL, NULL},
};

const tool_entry *tool_find(const char *name) {
    size_t low = 0, high = sizeof tool_table / sizeof *tool_table - 1;
    while (low < high) {
        size_t mid = (low + high) / 2;
        int order = strcmp(name, tool_table[mid].name);
        if (!order) return &tool_table[mid];
        if (order < 0) high = mid; else low = mid + 1;
    }
    return NULL;
}

typedef struct block { struct block *next, *prev; size_t size, deferred; } block;

void tool_oom(void) __attribute__((weak, noreturn));
void tool_oom(void) { __builtin_trap(); }

static void link_block(tool *t, block *b) {
    b->prev = NULL;
    b->next = t->arena;
    if (b->next) b->next->prev = b;
    t->arena = b;
}

static void unlink_block(tool *t, block *b) {
    if (b->prev) b->prev->next = b->next; else t->arena = b->next;
    if (b->next) b->next->prev = b->prev;
}

void *tool_alloc(tool *t, size_t n) {
    if (n > (size_t)-1 - sizeof(block)) tool_oom();
    block *b = calloc(1, sizeof *b + n);
    if (!b) tool_oom();
    b->size = n;
    link_block(t, b);
    return b + 1;
}

void *tool_realloc(tool *t, void *p, size_t n) {
    if (!p) return tool_alloc(t, n);
    block *b = (block *)p - 1;
    size_t old = b->size;
    if (n > (size_t)-1 - sizeof(block)) tool_oom();
    unlink_block(t, b);
    b = realloc(b, sizeof *b + n);
    if (!b) tool_oom();
    b->size = n;
    link_block(t, b);
    if (n > old) memset((char *)(b + 1) + old, 0, n - old);
    return b + 1;
}

void tool_free(tool *t, void *p) {
    if (!p) return;
    unlink_block(t, (block *)p - 1);
    free((block *)p - 1);
}

char *tool_strndup(tool *t, const char *s, size_t n) {
    char *copy = tool_alloc(t, n + 1);
    memcpy(copy, s, n);
    return copy;
}

char *tool_strdup(tool *t, const char *s) { return tool_strndup(t, s, strlen(s)); }

typedef struct { void (*fn)(void *); void *p; } deferred;

void tool_defer(tool *t, void (*fn)(void *), void *p) {
    deferred *d = tool_alloc(t, sizeof *d);
    *d = (deferred){fn, p};
    ((block *)d - 1)->deferred = 1;
}

void tool_arena_free(tool *t) {
    block *b = t->arena;
    t->arena = NULL;
    while (b) {
        block *next = b->next;
        if (b->deferred) {
            deferred *d = (deferred *)(b + 1);
            d->fn(d->p);
        }
        free(b);
        b = next;
    }
}

/* THREAT: programs in awk, jq and others choose how deep we recurse. In the sandbox two stacks grow: the one in linear memory,
 * which we can see, and the host's, which we cannot; the share keeps both well below their limits (512 KB of host stack). */
#ifdef __wasi__
enum { STACK_SHARE = 1100 * 1024, STACK_RESERVE = 64 * 1024 };
extern char __stack_low[];
static int near_bottom(const char *now) { return now - __stack_low < STACK_RESERVE; }
#else
enum { STACK_SHARE = 5 * 1024 * 1024 };
static int near_bottom(const char *now) { (void)now; return 0; }
#endif

int tool_too_deep(tool *t) {
    char here;
    char *volatile now = &here;
    return (t->stack && t->stack - now > STACK_SHARE) || near_bottom(now);
}

int tool_call(tool *t, const tool_entry *e, int argc, char **argv) {
    char here;
    char *volatile now = &here;
    t->arena = NULL;
    t->name = argv[0];
    t->stack = now;
    io_flush_all();
    int status = argc == 2 && argv[1][0] == '-' && argv[1][1] == '-' ? tool_about(t, e->name, argv[1]) : -1;
    if (status < 0) status = e->fn(t, argc, argv);
    tool_arena_free(t);
    return io_failed(t->out) == EPIPE ? 141 : status;
}

static tool_limit *limits;       /* the innermost one; empty whenever no timeout runs */

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void tool_limit_begin(tool_limit *l, double seconds) {
    *l = (tool_limit){.outer = limits, .until_s = now_s() + seconds};
    if (limits && limits->until_s < l->until_s) l->until_s = limits->until_s;
    limits = l;
}

int tool_limit_end(tool_limit *l) {
    limits = l->outer;
    return l->is_up;
}

double tool_time_left(void) {
    if (!limits) return 1e12;
    double left = limits->until_s - now_s();
    if (left > 0) return left;
    limits->is_up = 1;
    return 0;
}

volatile int32_t tool_interrupted;

int tool_time_is_up(void) {
    enum { CALLS_PER_LOOK = 64 };
    static unsigned calls;
    if (tool_interrupted) return 1;
    if (!limits) return 0;
    return limits->is_up || (!(++calls % CALLS_PER_LOOK) && tool_time_left() <= 0);
}

static void message(tool *t, int err, const char *format, va_list args) {
    io_flush(t->out);
    io_printf(t->err, "%s: ", t->name);
    io_vprintf(t->err, format, args);
    if (err) io_printf(t->err, ": %s", strerror(err));
    io_putc(t->err, '\n');
}

int tool_fail(tool *t, int status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    message(t, 0, format, args);
    va_end(args);
    return status;
}

int tool_fail_errno(tool *t, int status, const char *format, ...) {
    int err = errno;
    va_list args;
    va_start(args, format);
    message(t, err, format, args);
    va_end(args);
    return status;
}

int tool_usage(tool *t, int status) {
    static const struct {
        const char *name, *format;
    } own[] = {{"gunzip", "Try `%s --help' for more information.\n"}, {"gzip", "Try `%s --help' for more information.\n"},
        {"tar", "Try '%s --help' or 'tar --usage' for more information.\n"},
        {"iconv", "Try `%s --help' or `iconv --usage' for more information.\n"},
        {"cmp", "cmp: Try '%s --help' for more information.\n"}, {"diff", "diff: Try '%s --help' for more information.\n"},
        {"diff3", "diff3: Try '%s --help' for more information.\n"}, {"patch", "patch: Try '%s --help' for more information.\n"},
        {"sdiff", "sdiff: Try '%s --help' for more information.\n"},
        {"grep", "Usage: grep [OPTION]... PATTERNS [FILE]...\nTry '%s --help' for more information.\n"}};
    const char *format = "Try '%s --help' for more information.\n";
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) if (!strcmp(own[i].name, t->name)) format = own[i].format;
    io_printf(t->err, format, t->name);
    return status;
}

char *tool_format(tool *t, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    char *text = tool_alloc(t, n < 0 ? 1 : (size_t)n + 1);
    if (n > 0) vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}

int tool_run_with(tool *t, io *in, io *out, char **env, int argc, char **argv) {
    io *own_in = t->in, *own_out = t->out;
    if (!t->run) return 127;
    if (in) t->in = in;
    if (out) t->out = out;
    int status = env ? t->run_env(t, env, NULL, argc, argv) : t->run(t, argc, argv);
    t->in = own_in;
    t->out = own_out;
    return status;
}

int tool_choice(tool *t, const char *option, const char *word, const char *const *valid) {
    int found = -1, count = 0;
    for (int i = 0; valid[i]; i++)
        for (const char *p = valid[i]; *p;) {
            size_t n = strcspn(p, "|");
            if (strlen(word) == n && !memcmp(p, word, n)) return i;
            if (*word && strlen(word) < n && !memcmp(p, word, strlen(word)) && found != i) { found = i; count++; }
            p += n + (p[n] == '|');
        }
    if (count == 1) return found;
    tool_fail(t, 1, "%s argument %s for %s", count ? "ambiguous" : "invalid", tool_cite(t, word), tool_cite(t, option));
    io_puts(t->err, "Valid arguments are:\n");
    for (int i = 0; valid[i]; i++) {
        io_puts(t->err, "  -");
        for (const char *p = valid[i]; *p;) {
            size_t n = strcspn(p, "|");
            io_printf(t->err, "%s%s", p == valid[i] ? " " : ", ", tool_cite(t, tool_strndup(t, p, n)));
            p += n + (p[n] == '|');
        }
        io_putc(t->err, '\n');
    }
    tool_usage(t, 1);
    return -1;
}

int path_stat(const char *path, struct stat *st) {
    if (*path) return stat(path, st);
    errno = ENOENT;
    return -1;
}

int path_lstat(const char *path, struct stat *st) {
    if (*path) return lstat(path, st);
    errno = ENOENT;
    return -1;
}

io *tool_open(tool *t, const char *path, int status, int *failed) {
    if (!strcmp(path, "-")) return io_ref(t->in);
    io *s = io_open(path, O_RDONLY, 0);
    /* GNU quotes a name only where the shell would need it */
    if (!s)
        *failed = tool_fail_errno(t, status, "%s", tool_name(t, path));
    return s;
}

void tool_opts_start(tool_opts *o, int argc, char **argv) {
    memset(o, 0, sizeof *o);
    o->index = 1;
    o->argc = argc;
    o->argv = argv;
}

/* Moves argv[from] down to argv[to], keeping the order of the rest. */
static void rotate(char **argv, int to, int from) {
    char *moved = argv[from];
    memmove(argv + to + 1, argv + to, (size_t)(from - to) * sizeof *argv);
    argv[to] = moved;
}

static int bad_option(tool *t) {
    tool_usage(t, 0);
    return '?';
}

static int next_long(tool *t, tool_opts *o, const char *text, const tool_long *longs) {
    const char *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : strlen(text);
    const tool_long *found = NULL;
    int ambiguous = 0;
    for (const tool_long *l = longs; l && l->name; l++) {
        if (strncmp(l->name, text, n)) continue;
        if (!l->name[n]) { found = l; ambiguous = 0; break; }
        if (found && found->value != l->value) ambiguous = 1;
        if (!found) found = l;
    }
    if (ambiguous) {
        io_flush(t->out);
        io_printf(t->err, "%s: option '--%s' is ambiguous; possibilities:", t->name, text);
        for (const tool_long *l = longs; l->name; l++) if (!strncmp(l->name, text, n)) io_printf(t->err, " '--%s'", l->name);
        io_putc(t->err, '\n');
        return bad_option(t);
    }
    if (!found) { tool_fail(t, 0, "unrecognized option '--%.*s'", (int)n, text); return bad_option(t); }
    o->arg = NULL;
    if (equals && !found->has_arg) {
        tool_fail(t, 0, "option '--%s' doesn't allow an argument", found->name);
        return bad_option(t);
    }
    if (equals) {
        o->arg = (char *)equals + 1;
    } else if (found->has_arg == 1) {
        if (o->next >= o->argc) { tool_fail(t, 0, "option '--%s' requires an argument", found->name); return bad_option(t); }
        rotate(o->argv, o->index, o->next);
        o->arg = o->argv[o->index++];
        o->next++;
    }
    return found->value;
}

/* o->done points into the cluster of short options being read; o->next is the first word not looked at yet. */
int tool_opts_next(tool *t, tool_opts *o, const char *shorts, const tool_long *longs) {
    int posix = *shorts == '+';
    if (posix) shorts++;
    if (o->next < o->index) o->next = o->index;
    if (!o->done) {
        if (!posix) while (o->next < o->argc && (o->argv[o->next][0] != '-' || !o->argv[o->next][1])) o->next++;
        if (o->next >= o->argc) return -1;
        char *word = o->argv[o->next];
        if (word[0] != '-' || !word[1]) return -1;
        rotate(o->argv, o->index++, o->next);
        o->next++;
        if (word[1] == '-') {
            if (!word[2]) return o->next = o->argc, -1;
            return next_long(t, o, word + 2, longs);
        }
        o->done = 1;
    }
    char *word = o->argv[o->index - 1];
    int c = (unsigned char)word[o->done++];
    int last = !word[o->done];
    const char *spec = c == ':' ? NULL : strchr(shorts, c);
    if (last) o->done = 0;
    if (!spec) {
        o->done = 0;
        tool_fail(t, 0, "invalid option -- '%c'", c);
        return bad_option(t);
    }
    o->arg = NULL;
    if (spec[1] != ':') return c;
    if (!last) {
        o->arg = word + o->done;
        o->done = 0;
    } else if (spec[2] != ':') {
        if (o->next >= o->argc) { tool_fail(t, 0, "option requires an argument -- '%c'", c); return bad_option(t); }
        rotate(o->argv, o->index, o->next);
        o->arg = o->argv[o->index++];
        o->next++;
    }
    return c;
}
