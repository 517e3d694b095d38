/* b_limits.c - ulimit. The sandbox's own limits hold whatever is set here, so these are only kept and shown.
 *
 * A limit that was set lies in an associative array with a name that no script can use: "nS" is the soft limit of -n, "nH" the
 * hard one. A subshell's changes are undone like those of any variable.
 */
#include "builtins.h"
#include <string.h>

static const char STORE[] = " limits";

static const struct limit { char letter; const char *name, *unit, *soft, *hard;
} limits[] = { { 'R', "real-time non-blocking time", "microseconds, ", "unlimited", "unlimited" },
               { 'c', "core file size", "blocks, ", "0", "unlimited" },
               { 'd', "data seg size", "kbytes, ", "unlimited", "unlimited" },
               { 'e', "scheduling priority", "", "0", "0" },
               { 'f', "file size", "blocks, ", "unlimited", "unlimited" },
               { 'i', "pending signals", "", "1024", "1024" },
               { 'l', "max locked memory", "kbytes, ", "8192", "8192" },
               { 'm', "max memory size", "kbytes, ", "unlimited", "unlimited" },
               { 'n', "open files", "", "256", "256" },
               { 'p', "pipe size", "512 bytes, ", "8", "8" },
               { 'q', "POSIX message queues", "bytes, ", "819200", "819200" },
               { 'r', "real-time priority", "", "0", "0" },
               { 's', "stack size", "kbytes, ", "8192", "unlimited" },
               { 't', "cpu time", "seconds, ", "unlimited", "unlimited" },
               { 'u', "max user processes", "", "1", "1" },
               { 'v', "virtual memory", "kbytes, ", "unlimited", "unlimited" },
               { 'x', "file locks", "", "unlimited", "unlimited" } };
enum { LIMITS = sizeof limits / sizeof *limits };

static const struct limit *limit_of(int letter)
{
    for (int i = 0; i < LIMITS; i++) if (limits[i].letter == letter) return &limits[i];
    return NULL;
}

static const char *value_of(const struct limit *l, bool hard)
{
    char key[] = { l->letter, hard ? 'H' : 'S', 0 };
    slot *s = slot_find(STORE);
    pair *p = s && s->top && s->top->flags & V_ASSOC ? assoc_find(s->top->u.h, key) : NULL;
    return p ? p->val : hard ? l->hard : l->soft;
}

static void keep(const struct limit *l, bool hard, const char *value)
{
    char key[] = { l->letter, hard ? 'H' : 'S', 0 };
    slot *s = slot_of(STORE);
    var *v = var_writable(s, -1);
    var_make_array(s, v, 1);
    assoc_set(v->u.h, key, xstrdup(value));
}

static void show(const struct limit *l, bool hard, bool named)
{
    if (named) {
        strbuf unit = { .a = &sh.tmp };
        sb_printf(&unit, "(%s-%c)", l->unit, l->letter);
        int width = 40 - (int)strlen(l->name);
        out_printf("%s%*s ", l->name, width > (int)unit.len ? width : (int)unit.len + 2, sb_str(&unit));
    }
    out_printf("%s\n", value_of(l, hard));
}

static bool more(const char *a, const char *b)
{
    int64_t x, y;
    if (!parse_int(b, &y)) return false;
    return !parse_int(a, &x) || x > y;
}

static int change(const struct limit *l, bool soft, bool hard, const char *value)
{
    int64_t n;
    if (!strcmp(value, "hard")) value = value_of(l, true);
    else if (!strcmp(value, "soft")) value = value_of(l, false);
    else if (strcmp(value, "unlimited") && (!parse_int(value, &n) || n < 0))
        return b_error("ulimit", 1, "%s: invalid number", value);
    value = arena_strdup(&sh.tmp, value);          /* it may be the text of a limit that goes */
    if (l->letter == 'p') return b_error("ulimit", 1, "%s: cannot modify limit: Invalid argument", l->name);
    if (more(value, value_of(l, true))) return b_error("ulimit", 1, "%s: cannot modify limit: Operation not permitted", l->name);
    if (soft) keep(l, false, value);
    if (hard) keep(l, true, value);
    return 0;
}

int b_ulimit(int argc, char **argv)
{
    opts o = OPTS("ulimit [-SHabcdefiklmnpqrstuvxPRT] [limit]");
    bool soft = false, hard = false, all = false;
    char wanted[64] = "";
    for (int c; (c = next_opt(&o, "SHabcdefiklmnpqrstuvxPRT"));) {
        if (c == '?') return 2;
        if (c == 'S') soft = true;
        else if (c == 'H') hard = true;
        else if (c == 'a') all = true;
        else if (!limit_of(c)) return b_error("ulimit", 1, "-%c: invalid option", c), b_usage("ulimit", o.usage);
        else if (strlen(wanted) + 1 < sizeof wanted) strncat(wanted, (char[]){ (char)c, 0 }, 1);
    }
    if (all) { for (int i = 0; i < LIMITS; i++) show(&limits[i], hard && !soft, true); return 0; }
    if (!*wanted) strcpy(wanted, "f");
    if (o.at >= argc) {
        for (char *c = wanted; *c; c++) show(limit_of(*c), hard && !soft, wanted[1] != 0);
        return 0;
    }
    return change(limit_of(wanted[strlen(wanted) - 1]), soft || !hard, hard || !soft, argv[o.at]);
}
