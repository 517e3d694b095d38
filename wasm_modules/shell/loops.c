/* loops.c - if, while, until, for, select, case. */
#include "sh.h"
#include <stdlib.h>
#include <string.h>

/* After a round: true when the loop must end. */
static bool leave_loop(void)
{
    if (!sh.unwind) return false;
    if (sh.unwind == UW_BREAK) {
        if (--sh.unwind_count <= 0) sh.unwind = 0;
        return true;
    }
    if (sh.unwind == UW_CONTINUE) {
        if (--sh.unwind_count <= 0) { sh.unwind = 0; return false; }
    }
    return true;
}

static int condition(node *n)
{
    sh.cond_depth++;
    int status = exec_node(n);
    sh.cond_depth--;
    return status;
}

static int exec_if(node *n)
{
    for (;;) {
        int status = condition(n->u.iff.cond);
        if (sh.unwind) return status;
        if (status == 0) return exec_node(n->u.iff.then);
        node *other = n->u.iff.other;
        if (!other) return 0;
        if (other->kind != N_IF || other->redirs) return exec_node(other);
        n = other;
    }
}

static int exec_while(node *n)
{
    int status = 0;
    sh.loop_depth++;
    for (bool again = false;; again = true) {
        if (again && jobs_waiting) background_round(n->u.pair.b);
        if (sh.unwind) { if (leave_loop()) break; continue; }
        int c = condition(n->u.pair.a);
        if (sh.unwind) { if (leave_loop()) break; continue; }
        if ((c == 0) != (n->kind == N_WHILE)) break;
        status = exec_node(n->u.pair.b);
        if (leave_loop()) break;
    }
    sh.loop_depth--;
    if (sh.unwind == 0) sh.status = status;
    return status;
}

static void trace_for(node *n)
{
    strbuf b = { .a = &sh.tmp };
    sb_printf(&b, "%s %s in", n->kind == N_SELECT ? "select" : "for", n->u.loop.var);
    if (!n->u.loop.has_in) sb_puts(&b, " \"$@\"");
    else for (int i = 0; i < n->u.loop.n; i++) sb_printf(&b, " %s", n->u.loop.words[i]->raw);
    trace_text(sb_str(&b));
}

static int exec_for(node *n)
{
    arena_mark_t m = arena_mark(&sh.tmp);
    strlist items = { .a = &sh.tmp };
    int status = 0;
    sh.line = n->line + sh.line_base;
    if (!n->u.loop.slot) {
        sh_error("`%s': not a valid identifier", n->u.loop.var);
        arena_release(&sh.tmp, m);
        return 1;
    }
    if (n->u.loop.has_in) {
        if (!expand_words(n->u.loop.words, n->u.loop.n, &items)) { arena_release(&sh.tmp, m); return 1; }
    } else for (int i = 0; i < sh.nargs; i++) sl_add(&items, arena_strdup(&sh.tmp, sh.args[i]));
    sh.loop_depth++;
    for (size_t i = 0; i < items.n; i++) {
        sh.line = n->line + sh.line_base;
        if (!debug_trap(n)) continue;
        if (sh.opt[O_XTRACE]) trace_for(n);
        slot *s = n->u.loop.slot;
        if (s->top && s->top->flags & V_NAMEREF)
            var_put(var_writable(s, -1), items.v[i]); /* for a nameref: a new target each round */
        else if (!var_set_slot(s, items.v[i], 0)) { status = 1; if (sh.opt[O_POSIX]) sh_exit(sh_fatal_status()); break; }
        status = exec_node(n->u.loop.body);
        if (leave_loop()) break;
    }
    sh.loop_depth--;
    arena_release(&sh.tmp, m);
    return status;
}

bool loop_step(arith *a, int64_t *v)
{
    extern const char *arith_who;
    *v = 1;
    if (!a) return true;
    if (sh.traps[TRAP_DEBUG]) {
        node shown = { .kind = N_ARITH, .line = sh.line, .u.arith = a }, *before = sh.command_node;
        bool run_it = debug_trap(&shown);
        sh.command_node = before;
        if (!run_it) return true;
    }
    if (sh.opt[O_XTRACE]) trace_arith(a);
    const char *who = arith_who;
    arith_who = "((";
    bool ok = arith_eval(a, v);
    arith_who = who;
    return ok;
}

static int exec_cfor(node *n)
{
    int64_t v;
    int status = 0;
    sh.line = n->line + sh.line_base;
    if (!loop_step(n->u.cfor.init, &v)) return 1;
    sh.loop_depth++;
    for (;;) {
        if (!loop_step(n->u.cfor.test, &v)) { status = 1; break; }
        if (n->u.cfor.test && v == 0) break;
        status = exec_node(n->u.cfor.body);
        if (leave_loop()) break;
        sh.line = n->line + sh.line_base;
        if (!loop_step(n->u.cfor.step, &v)) { status = 1; break; }
    }
    sh.loop_depth--;
    return status;
}

static int digits(size_t n)
{
    char buf[24];
    return (int)strlen(fmt_int((int64_t)n, buf));
}

static void pad(strbuf *b, size_t from, size_t to)
{
    while (from < to) {
        size_t stop = from / 8 * 8 + 8;
        sb_putc(b, stop <= to ? '\t' : ' ');
        from = stop <= to ? stop : from + 1;
    }
}

/* The numbered choices of select, down the columns that COLUMNS has room for. */
static void print_menu(strlist *items)
{
    enum { DEFAULT_COLUMNS = 80, GAP = 2, PAREN = 2 };
    size_t widest = 0, n = items->n, position;
    int64_t room;
    const char *columns = var_get("COLUMNS");
    if (!columns || !parse_int(columns, &room) || room <= 0) room = DEFAULT_COLUMNS;
    for (size_t i = 0; i < n; i++) if (utf8_count(items->v[i]) > widest) widest = utf8_count(items->v[i]);
    size_t width = widest + (size_t)digits(n) + PAREN + GAP, across = (size_t)room / width;
    if (!across) across = 1;
    size_t rows = (n + across - 1) / across;
    if (rows == 1) rows = n;
    strbuf b = { .a = &sh.tmp };
    for (size_t row = 0; row < rows; row++) {
        position = 0;
        for (size_t i = row; i < n; i += rows, position += width) {
            int number = digits(position ? n : rows);
            sb_printf(&b, "%*d) %s", number, (int)i + 1, items->v[i]);
            if (i + rows < n) pad(&b, position + (size_t)number + PAREN + utf8_count(items->v[i]), position + width);
        }
        sb_putc(&b, '\n');
    }
    err_puts(sb_str(&b));
}

static int exec_select(node *n)
{
    arena_mark_t m = arena_mark(&sh.tmp);
    strlist items = { .a = &sh.tmp };
    int status = 0;
    if (n->u.loop.has_in) { if (!expand_words(n->u.loop.words, n->u.loop.n, &items)) { arena_release(&sh.tmp, m); return 1; } }
    else for (int i = 0; i < sh.nargs; i++) sl_add(&items, arena_strdup(&sh.tmp, sh.args[i]));
    if (!items.n) { arena_release(&sh.tmp, m); return 0; }
    sh.loop_depth++;
    if (sh.opt[O_XTRACE]) trace_for(n);
    print_menu(&items);
    char *line = NULL;
    size_t cap = 0;
    for (;;) {
        const char *ps3 = var_get("PS3");
        err_puts(ps3 ? ps3 : "#? ");
        io *in = fd_get(0);
        ssize_t len = in ? io_getdelim(in, &line, &cap, '\n') : -1;
        if (len < 0) { var_set("REPLY", ""); out_puts("\n"); status = 1; break; }
        if (len > 0 && line[len - 1] == '\n') line[len - 1] = 0;
        if (!*line) { print_menu(&items); continue; }
        int64_t k;
        var_set("REPLY", line);
        bool ok = parse_int(line, &k) && k >= 1 && (size_t)k <= items.n;
        if (!var_set(n->u.loop.var, ok ? items.v[k - 1] : "")) { status = 1; break; }
        status = exec_node(n->u.loop.body);
        if (leave_loop()) break;
    }
    free(line);
    sh.loop_depth--;
    arena_release(&sh.tmp, m);
    return status;
}

case_item *case_arm(case_item *c, const char *subject)
{
    int flags = (sh.shopt[S_EXTGLOB] ? PM_EXTGLOB : 0) | (sh.shopt[S_NOCASEMATCH] ? PM_NOCASE : 0);
    for (; c && !sh.unwind; c = c->next)
        for (int i = 0; i < c->npats; i++) {
            char *pat = expand_one(c->pats[i], X_PATTERN);
            if (!pat) return NULL;
            if (pattern_match(pat, subject, flags)) return c;
        }
    return NULL;
}

static int exec_case(node *n)
{
    arena_mark_t m = arena_mark(&sh.tmp);
    sh.line = n->line + sh.line_base;
    if (!debug_trap(n)) { arena_release(&sh.tmp, m); return 0; }
    char *subject = expand_one(n->u.kase.subject, 0);
    int status = 0;
    if (!subject) { arena_release(&sh.tmp, m); return 1; }
    if (sh.opt[O_XTRACE]) {
        strbuf b = { .a = &sh.tmp };
        sb_printf(&b, "case %s in", n->u.kase.subject->raw);
        trace_text(sb_str(&b));
    }
    case_item *c = case_arm(n->u.kase.items, subject);
    if (!c && sh.unwind) status = 1;
    while (c && !sh.unwind) {
        status = c->body ? exec_node(c->body) : 0;
        if (c->end == ';') break;
        c = c->end == '&' ? c->next : case_arm(c->next, subject);
    }
    arena_release(&sh.tmp, m);
    return status;
}

int exec_loop(node *n)
{
    switch (n->kind) {
    case N_IF: return exec_if(n);
    case N_WHILE: case N_UNTIL: return exec_while(n);
    case N_FOR: return exec_for(n);
    case N_CFOR: return exec_cfor(n);
    case N_SELECT: return exec_select(n);
    default: return exec_case(n);
    }
}
