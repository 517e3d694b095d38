/* printer.c - the tree back to text, laid out as bash lays out functions (type f, declare -f), and on one line for BASH_COMMAND.
 */
#include "sh.h"
#include <string.h>

/* flat: one blank is all the indentation there is. inside_line: not in a function's body, where every command of a list has a
 * line to itself. docs: here-documents whose bodies are still to come. */
typedef struct { strbuf *b; int indent; bool after_doc, inside_line, flat; redir *docs[32]; int ndocs; } pr;
static void show(pr *p, node *n);
static const char *show_subst(pr *p, const char *s);

static void newline(pr *p)
{
    sb_putc(p->b, '\n');
    if (p->flat && p->indent) sb_putc(p->b, ' ');
    else for (int i = 0; i < p->indent; i++) sb_puts(p->b, "    ");
}

/* A word as it was written, except that $'...' is shown decoded and $(...) laid out anew, as bash keeps them. */
static void word_text(pr *p, const char *raw)
{
    bool doubled = false;
    for (const char *s = raw; *s; s++) {
        if (*s == '\\' && s[1]) { sb_add(p->b, s, 2); s++; continue; }
        if (s[0] == '$' && s[1] == '"' && !doubled) continue;
        if (*s == '"') doubled = !doubled;
        if (s[0] == '$' && s[1] == '(' && s[2] != '(') {
            const char *end = show_subst(p, s + 2);
            if (end) { s = end; continue; }
        }
        bool ansi = !doubled && s[0] == '$' && s[1] == '\'';
        if (doubled || (*s != '\'' && !ansi)) { sb_putc(p->b, *s); continue; }
        const char *from = s + 1 + ansi, *end = from;
        while (*end && *end != '\'') end += ansi && *end == '\\' && end[1] ? 2 : 1;
        if (ansi) quote_plain(p->b, decode_ansi(&sh.tmp, from, (size_t)(end - from)));
        else sb_add(p->b, s, (size_t)(end - s) + (*end != 0));
        s = *end ? end : end - 1;
    }
}

static void redirs(pr *p, redir *r)
{
    static const char *const ops[] = { "<", ">", ">>", ">|", "<>", "<&", ">&", "&>", "&>>", "<<", "<<<" };
    if (r) p->after_doc = false;
    for (; r; r = r->next) {
        sb_putc(p->b, ' ');
        bool reads = r->kind == R_IN || r->kind == R_HEREDOC || r->kind == R_HERESTR || r->kind == R_DUP_IN;
        bool dup = r->kind == R_DUP_IN || r->kind == R_DUP_OUT;
        int usual = reads ? 0 : 1, fd = r->fd >= 0 ? r->fd : r->kind == R_RDWR ? 0 : usual;
        if (r->var) sb_printf(p->b, "{%s}", r->var);
        else if ((dup || fd != usual) && r->kind != R_BOTH && r->kind != R_BOTH_APPEND) sb_printf(p->b, "%d", fd);
        bool closes = r->kind == R_DUP_IN && r->target && !strcmp(r->target->raw, "-");
        sb_puts(p->b, closes ? ">&" : ops[r->kind]);
        if (r->kind == R_HEREDOC) {
            sb_printf(p->b, "%s%s%s%s", r->strip ? "-" : "", r->quoted ? "'" : "", r->delim, r->quoted ? "'" : "");
            if (r->target && p->ndocs < 32) p->docs[p->ndocs++] = r;
            continue;
        }
        if (!dup) sb_putc(p->b, ' ');
        if (r->target) word_text(p, r->target->raw);
    }
}

/* What joins two commands, "" for a line's end. Bodies of here-documents come behind it, on lines of their own. */
static void join(pr *p, const char *connector)
{
    sb_puts(p->b, connector);
    if (!p->ndocs) return;
    sb_putc(p->b, '\n');
    for (int i = 0; i < p->ndocs; i++) sb_printf(p->b, "%s%s\n", p->docs[i]->target->raw, p->docs[i]->delim);
    if (*connector) sb_putc(p->b, ' ');
    p->ndocs = 0;
    p->after_doc = true;
}

static void assigns(pr *p, assign *a, bool more)
{
    for (; a; a = a->next) {
        word_text(p, a->raw);
        if (a->next || more) sb_putc(p->b, ' ');
    }
}

static void block(pr *p, node *n)
{
    p->indent++;
    newline(p);
    show(p, n);
    join(p, "");
    char last = p->b->len ? p->b->s[p->b->len - 1] : 0;
    if (last != '\n' && last != '&') sb_putc(p->b, ';');
    p->indent--;
    newline(p);
}

static void cond_text(pr *p, cond *c)
{
    switch (c->kind) {
    case C_AND: cond_text(p, c->a); sb_puts(p->b, " && "); cond_text(p, c->b); break;
    case C_OR: cond_text(p, c->a); sb_puts(p->b, " || "); cond_text(p, c->b); break;
    case C_NOT: sb_puts(p->b, "! "); cond_text(p, c->a); break;
    case C_PAREN: sb_puts(p->b, "( "); cond_text(p, c->a); sb_puts(p->b, " )"); break;
    case C_UNARY: case C_WORD:
        sb_printf(p->b, "%s ", c->kind == C_WORD ? "-n" : c->op);
        word_text(p, c->l->raw);
        break;
    default:
        word_text(p, c->l->raw);
        sb_printf(p->b, " %s ", c->op);
        word_text(p, c->r->raw);
    }
}

static void show_case(pr *p, node *n)
{
    sb_puts(p->b, "case ");
    word_text(p, n->u.kase.subject->raw);
    sb_puts(p->b, " in ");
    p->indent++;
    for (case_item *c = n->u.kase.items; c; c = c->next) {
        newline(p);
        for (int i = 0; i < c->npats; i++) { if (i) sb_puts(p->b, " | "); word_text(p, c->pats[i]->raw); }
        sb_putc(p->b, ')');
        p->indent++;
        if (c->body) { newline(p); show(p, c->body); join(p, ""); } else sb_putc(p->b, '\n');
        p->indent--;
        newline(p);
        sb_puts(p->b, c->end == ';' ? ";;" : c->end == '&' ? ";&" : ";;&");
    }
    p->indent--;
    newline(p);
    sb_puts(p->b, "esac");
}

/* A condition and the word behind it. */
static void condition(pr *p, node *n, const char *word)
{
    show(p, n);
    if (n->kind == N_LIST) join(p, "");
    char last = p->b->len ? p->b->s[p->b->len - 1] : 0;
    if (last != '\n' && last != '&') sb_putc(p->b, ';');
    sb_printf(p->b, " %s", word);
}

static void show_if(pr *p, node *n)
{
    sb_puts(p->b, "if ");
    condition(p, n->u.iff.cond, "then");
    block(p, n->u.iff.then);
    if (n->u.iff.other) { sb_puts(p->b, "else"); block(p, n->u.iff.other); }
    sb_puts(p->b, "fi");
}

static void show_for(pr *p, node *n)
{
    sb_printf(p->b, "%s %s", n->kind == N_SELECT ? "select" : "for", n->u.loop.var);
    sb_puts(p->b, n->u.loop.has_in ? " in " : " in \"$@\"");
    for (int i = 0; i < n->u.loop.n; i++) { if (i) sb_putc(p->b, ' '); word_text(p, n->u.loop.words[i]->raw); }
    sb_putc(p->b, ';');
    newline(p);
    sb_puts(p->b, "do");
    block(p, n->u.loop.body);
    sb_puts(p->b, "done");
}

static const char *expr(arith *a)
{
    if (!a) return "1";
    const char *s = a->text;
    return s + strspn(s, " \t");
}

static void show_function(pr *p, const char *name, node *body, bool keyword)
{
    sb_printf(p->b, "%s%s () ", keyword ? "function " : "", name);
    newline(p);
    if (body->kind == N_GROUP) show(p, body);
    else {
        sb_puts(p->b, "{ ");
        p->indent++;
        newline(p);
        show(p, body);
        join(p, "");
        p->indent--;
        newline(p);
        sb_putc(p->b, '}');
    }
}

static void show_list(pr *p, node *n)
{
    for (int i = 0; i < n->u.list.n; i++) {
        node *item = n->u.list.items[i];
        show(p, item);
        if (i) join(p, "");      /* as bash, where two commands are joined before the next is joined to them */
        if (item->background) join(p, " &");
        if (i + 1 >= n->u.list.n) continue;
        if (item->background) { sb_putc(p->b, ' '); continue; }
        bool documents = p->ndocs > 0;
        join(p, "");
        if (!documents && !p->after_doc) sb_putc(p->b, ';');
        if (!documents) p->after_doc = false;   /* as bash: the separator behind the one that here-documents took is left out */
        if (p->inside_line) sb_putc(p->b, ' '); else newline(p);
    }
}

static void show_inner(pr *p, node *n)
{
    switch (n->kind) {
    case N_SIMPLE:
        assigns(p, n->u.simple.assigns, n->u.simple.n > 0);
        for (int i = 0; i < n->u.simple.n; i++) { if (i) sb_putc(p->b, ' '); word_text(p, n->u.simple.words[i]->raw); }
        break;
    case N_LIST: show_list(p, n); break;
    case N_PIPE:
        for (int i = 0; i < n->u.list.n; i++) { if (i) { join(p, " |"); sb_putc(p->b, ' '); } show(p, n->u.list.items[i]); }
        break;
    case N_AND: case N_OR: show(p, n->u.pair.a); join(p, n->kind == N_AND ? " && " : " || "); show(p, n->u.pair.b); break;
    case N_NOT: sb_puts(p->b, "! "); if (n->u.pair.a) show(p, n->u.pair.a); break;
    case N_TIME: sb_puts(p->b, n->posix_time ? "time -p " : "time "); if (n->u.pair.a) show(p, n->u.pair.a); break;
    case N_SUBSHELL: sb_puts(p->b, "( "); show(p, n->u.pair.a); join(p, ""); sb_puts(p->b, " )"); break;
    case N_GROUP:
        sb_puts(p->b, "{ ");
        if (p->inside_line) { show(p, n->u.pair.a); sb_puts(p->b, "; }"); break; }
        p->indent++;
        newline(p);
        show(p, n->u.pair.a);
        join(p, "");
        p->indent--;
        newline(p);
        sb_putc(p->b, '}');
        break;
    case N_IF: show_if(p, n); break;
    case N_WHILE: case N_UNTIL:
        sb_puts(p->b, n->kind == N_WHILE ? "while " : "until ");
        condition(p, n->u.pair.a, "do");
        block(p, n->u.pair.b);
        sb_puts(p->b, "done");
        break;
    case N_FOR: case N_SELECT: show_for(p, n); break;
    case N_CFOR:
        sb_printf(p->b, "for ((%s; %s; %s))", expr(n->u.cfor.init), expr(n->u.cfor.test), expr(n->u.cfor.step));
        newline(p);
        sb_puts(p->b, "do");
        block(p, n->u.cfor.body);
        sb_puts(p->b, "done");
        break;
    case N_CASE: show_case(p, n); break;
    case N_FUNC: show_function(p, n->u.func.name, n->u.func.body, true); break;
    case N_COND: sb_puts(p->b, "[[ "); cond_text(p, n->u.cond); sb_puts(p->b, " ]]"); break;
    case N_ARITH: sb_printf(p->b, "((%s))", n->u.arith->text); break;
    case N_COPROC: sb_printf(p->b, "coproc %s ", n->u.coproc.name); show(p, n->u.coproc.body); break;
    }
}

static void show(pr *p, node *n)
{
    if (!n) return;
    show_inner(p, n);
    if (n->redirs) redirs(p, n->redirs);
}

/* The body of a $( ), s behind the parenthesis. Returns where the closing one is, NULL when it cannot be read. The tree is not in
 * sh.tmp, because the text being written may grow there. */
static const char *show_subst(pr *p, const char *s)
{
    arena tree = { 0 };
    size_t used;
    node *body = parse_subst_text(&tree, s, &used);
    if (used) {
        pr inner = { .b = p->b, .inside_line = true };
        sb_puts(p->b, "$(");
        show(&inner, body);
        join(&inner, "");
        sb_putc(p->b, ')');
    }
    arena_free(&tree);
    return used ? s + used - 1 : NULL;
}

void print_function(strbuf *b, func *f)
{
    pr p = { .b = b };
    show_function(&p, f->name, f->body, false);
    sb_putc(b, '\n');
}

void print_exported(strbuf *b, func *f)
{
    pr p = { .b = b, .indent = 1, .flat = true };
    sb_puts(b, "() {  ");
    show(&p, f->body->kind == N_GROUP && !f->body->redirs ? f->body->u.pair.a : f->body);
    join(&p, "");
    sb_puts(b, "\n}");
}

void print_node_line(strbuf *b, node *n)
{
    pr p = { .b = b, .inside_line = true };
    if (n->kind == N_SIMPLE) { show_inner(&p, n); redirs(&p, n->redirs); }
    else if (n->kind == N_FOR || n->kind == N_SELECT) {
        sb_printf(b, "for %s", n->u.loop.var);
        if (n->u.loop.has_in) {
            sb_puts(b, " in");
            for (int i = 0; i < n->u.loop.n; i++) sb_printf(b, " %s", n->u.loop.words[i]->raw);
        }
    } else if (n->kind == N_CASE) sb_printf(b, "case %s in ", n->u.kase.subject->raw);
    else { show(&p, n); join(&p, ""); }
}
