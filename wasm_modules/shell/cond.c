/* cond.c - [[ ]]: its tree, and the operators it shares with test. Regular expressions are those of regex.h. */
#include "element.h"
#include "fifo.h"
#include "tools/users.h"
#include "regex.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool executable(const char *path, const struct stat *st)
{
    (void)path;
    return user_may(st, 1);
}

static bool option_on(const char *name)
{
    strbuf b = { .a = &sh.tmp };
    sb_printf(&b, ":%s:", opt_list(0));
    strbuf want = { .a = &sh.tmp };
    sb_printf(&want, ":%s:", name);
    return strstr(sb_str(&b), sb_str(&want)) != NULL;
}

/* -v name, -v name[sub]; expanded: the subscript may be there as it is, from the $k of [[ -v m[$k] ]] */
static bool is_set(const char *arg, bool expanded)
{
    size_t n = name_len(arg);
    if (arg[0] >= '0' && arg[0] <= '9') { int64_t i; return parse_int(arg, &i) && (i == 0 || i <= sh.nargs); }
    if (!n) return false;
    if (arg[n] != '[') return var_get(arg) != NULL;
    slot *s = element_slot(arg), *named = s;
    size_t len = strlen(arg);
    char *sub = arg[len - 1] == ']' ? arena_strndup(&sh.tmp, arg + n + 1, len - n - 2) : "", *unused;
    var *v = var_deref(&s, &unused);
    if (!v) return false;
    if (v->flags & V_ASSOC && expanded && assoc_find(v->u.h, sub)) return true;
    if (!element_text(arg) || !element_subscript(named, arg, &sub)) return false;
    if (v->flags & V_ASSOC) return assoc_find(v->u.h, sub) != NULL;
    if (!strcmp(sub, "@") || !strcmp(sub, "*")) return v->flags & V_ARRAY ? v->u.a->n > 0 : (v->flags & V_SET) != 0;
    int64_t i;
    if (!arith_eval_text(sub, &i)) { sh_abandon(1); return false; }
    if (!(v->flags & V_ARRAY)) return i == 0 && v->flags & V_SET;
    return arr_get(v->u.a, i < 0 ? i + arr_next(v->u.a) : i) != NULL;
}

int cond_unary(char op, const char *arg, const char *who)
{
    struct stat st;
    switch (op) {
    case 'z': return *arg != 0;
    case 'n': return *arg == 0;
    case 'v': return !is_set(arg, who[1] == '[');
    case 'o': return !option_on(arg);
    case 'R': { slot *s = slot_find(arg); return !(s && s->top && s->top->flags & V_NAMEREF && s->top->str); }
    case 't': return 1;          /* there are no terminals here */
    case 'h': case 'L': return !(lstat(arg, &st) == 0 && S_ISLNK(st.st_mode));
    }
    int fd = io_device_fd(arg);
    if (fd >= 0) { io *s = fd_get(fd); return !s || (op == 'p' ? !io_is_pipe(s) : !strchr("aerw", op)); }
    if (!strcmp(arg, "/dev/null") || !strcmp(arg, "/dev/zero") || !strcmp(arg, "/dev/urandom") || !strcmp(arg, "/dev/random"))
        return !strchr("aecrw", op);
    io_flush_all();
    if (!*arg || stat(arg, &st) < 0) return command_path(arg) ? !strchr("aefrxs", op) : 1;
    switch (op) {
    case 'a': case 'e': return 0;
    case 'f': return !S_ISREG(st.st_mode) || fifo_is(&st);
    case 'd': return !S_ISDIR(st.st_mode);
    case 's': return st.st_size == 0;
    case 'r': return !user_may(&st, 4);
    case 'w': return !user_may(&st, 2);
    case 'x': return !user_may(&st, 1);
    case 'u': return !(st.st_mode & 04000);
    case 'g': return !(st.st_mode & 02000);
    case 'k': return !(st.st_mode & 01000);
    case 'b': return !S_ISBLK(st.st_mode);
    case 'c': return !S_ISCHR(st.st_mode);
    case 'p': return !fifo_is(&st);
    case 'S': return !S_ISSOCK(st.st_mode);
    case 'O': return st.st_uid != user_id();
    case 'G': return st.st_gid != group_id();
    case 'N':
        return !(st.st_mtim.tv_sec > st.st_atim.tv_sec ||
                 (st.st_mtim.tv_sec == st.st_atim.tv_sec && st.st_mtim.tv_nsec > st.st_atim.tv_nsec));
    }
    return 1;
}

static int compare_files(const char *op, const char *l, const char *r)
{
    struct stat a, b;
    io_flush_all();
    int ra = *l ? stat(l, &a) : -1, rb = *r ? stat(r, &b) : -1;
    if (!strcmp(op, "-ef")) return !(ra == 0 && rb == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino);
    bool newer = op[1] == 'n';
    if (ra < 0 || rb < 0) return newer ? !(ra == 0 && rb < 0) : !(ra < 0 && rb == 0);
    int64_t d = (int64_t)a.st_mtim.tv_sec - b.st_mtim.tv_sec;
    if (d == 0) d = (int64_t)a.st_mtim.tv_nsec - b.st_mtim.tv_nsec;
    return newer ? !(d > 0) : !(d < 0);
}

static bool operand_value(const char *s, int64_t *out, const char *who)
{
    if (!who) return arith_eval_text(s, out);
    if (parse_int(s, out)) return true;
    b_error(who, 2, "%s: integer expression expected", s);
    return false;
}

int cond_binary(const char *op, const char *l, const char *r, const char *who)
{
    if (!strcmp(op, "=") || !strcmp(op, "==")) return strcmp(l, r) != 0;
    if (!strcmp(op, "!=")) return strcmp(l, r) == 0;
    if (!strcmp(op, "<")) return !(strcmp(l, r) < 0);
    if (!strcmp(op, ">")) return !(strcmp(l, r) > 0);
    if (!strcmp(op, "-nt") || !strcmp(op, "-ot") || !strcmp(op, "-ef")) return compare_files(op, l, r);
    static const char *const names[] = { "-eq", "-ne", "-lt", "-le", "-gt", "-ge" };
    for (int i = 0; i < 6; i++) {
        if (strcmp(op, names[i])) continue;
        int64_t a, b;
        if (!operand_value(l, &a, who) || !operand_value(r, &b, who)) return 2;
        bool yes = i == 0 ? a == b : i == 1 ? a != b : i == 2 ? a < b : i == 3 ? a <= b : i == 4 ? a > b : a >= b;
        return !yes;
    }
    return -1;
}

/* The last compiled expressions; a loop usually uses the same few. */
enum { RX_KEPT = 4 };
static struct { char *text; int flags; regex *rx; } kept[RX_KEPT];
static unsigned kept_next;

static regex *compiled(const char *pattern, int flags)
{
    const char *error;
    for (int i = 0; i < RX_KEPT; i++)
        if (kept[i].text && kept[i].flags == flags && !strcmp(kept[i].text, pattern)) return kept[i].rx;
    regex *rx = regex_compile(pattern, strlen(pattern), flags, &error);
    if (!rx) return NULL;
    unsigned k = kept_next++ % RX_KEPT;
    if (kept[k].text) { regex_free(kept[k].rx); free(kept[k].text); }
    kept[k].text = xstrdup(pattern);
    kept[k].flags = flags;
    kept[k].rx = rx;
    return rx;
}

static int regex_match(const char *text, const char *pattern)
{
    regex *rx = compiled(pattern, REGEX_EXTENDED | (sh.shopt[S_NOCASEMATCH] ? REGEX_ICASE : 0));
    if (!rx) return 2;
    size_t n = (size_t)regex_groups(rx) + 1;
    regex_span *m = arena_alloc(&sh.tmp, n * sizeof *m);
    if (regex_exec(rx, text, strlen(text), 0, m, (int)n) != 1) { var_set_list("BASH_REMATCH", NULL, 0); return 1; }
    char **groups = arena_alloc(&sh.tmp, n * sizeof *groups);
    for (size_t i = 0; i < n; i++)
        groups[i] = m[i].start < 0 ? "" : arena_strndup(&sh.tmp, text + m[i].start, (size_t)(m[i].end - m[i].start));
    var_set_list("BASH_REMATCH", groups, n);
    return 0;
}

static void trace(cond *c, bool negated, const char *l, const char *r)
{
    if (!sh.opt[O_XTRACE]) return;
    strbuf b = { .a = &sh.tmp };
    sb_puts(&b, negated ? "[[ ! " : "[[ ");
    if (c->kind == C_UNARY) sb_printf(&b, "%s ", c->op);
    if (c->kind == C_WORD) sb_puts(&b, "-n ");
    sb_puts(&b, *l ? l : "''");
    if (c->kind == C_BINARY) { sb_printf(&b, " %s ", c->op); if (!*r) sb_puts(&b, "''"); else sb_puts(&b, r); }
    sb_puts(&b, " ]]");
    trace_text(sb_str(&b));
}

static int leaf(cond *c, bool negated)
{
    char *l = expand_one(c->l, 0);
    if (!l) return 1;
    if (c->kind == C_WORD) { trace(c, negated, l, NULL); return *l == 0; }
    if (c->kind == C_UNARY) { trace(c, negated, l, NULL); return cond_unary(c->op[1], l, "[["); }
    bool pattern = !strcmp(c->op, "=") || !strcmp(c->op, "==") || !strcmp(c->op, "!=");
    bool regex = !strcmp(c->op, "=~");
    char *r = expand_one(c->r, pattern ? X_PATTERN : regex ? X_REGEX : 0);
    if (!r) return 1;
    trace(c, negated, l, r);
    if (regex) return regex_match(l, r);
    if (pattern) {
        bool hit = pattern_match(r, l, PM_EXTGLOB | (sh.shopt[S_NOCASEMATCH] ? PM_NOCASE : 0));
        return c->op[0] == '!' ? hit : !hit;
    }
    extern const char *arith_who;
    const char *who = arith_who;
    arith_who = "[[";
    int status = cond_binary(c->op, l, r, NULL);
    arith_who = who;
    return status == 2 ? 1 : status;
}

/* negated: a ! stands right before c. */
static int evaluate(cond *c, bool negated)
{
    int a;
    switch (c->kind) {
    case C_AND: a = evaluate(c->a, false); return a || sh.unwind ? a : evaluate(c->b, false);
    case C_OR: a = evaluate(c->a, false); return !a || sh.unwind ? a : evaluate(c->b, false);
    case C_NOT: a = evaluate(c->a, !negated); return a == 2 ? 2 : !a;
    case C_PAREN: return evaluate(c->a, false);
    default: return leaf(c, negated);
    }
}

int cond_eval(cond *c) { return evaluate(c, false); }
