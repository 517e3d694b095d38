/* arith.c - evaluating arithmetic: 64-bit, wrapping, with variables whose values are expressions again.
 *
 * The tree of an expression is parsed once and kept. Bash substitutes $x as text before parsing, which only differs from an
 * operand when the value is not a plain number; so the kept tree is used when all values are plain, and the text is parsed anew
 * when one is not.
 */
#include "arith.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NEST = 100 };
static const int64_t ALL = INT64_MIN;   /* the index of a[@], which is none: it has no value and takes none */
const char *arith_who;           /* "((" or "let" in front of messages */
static int nest;
static const char *current;      /* text of the expression being evaluated, for messages */
static bool eval(anode *n, int64_t *out);

static bool complain(const char *text, const char *message, const char *where)
{
    while (*text == ' ' || *text == '\t') text++;
    if (where >= text && where <= text + strlen(text) && is_number_error(message)) {   /* nothing behind the number is shown */
        size_t before = (size_t)(where - text), n = arith_number_length(where);
        text = arena_strndup(&sh.tmp, text, before + n);
        where = text + before;
    }
    sh_error("%s%s%s: %s (error token is \"%s\")", arith_who ? arith_who : "", arith_who ? ": " : "", text, message,
             where ? where : "");
    return false;
}

static bool plain_digits(const char *s)
{
    size_t n = 0;
    while (isdigit((unsigned char)s[n])) n++;
    return n > 0 && n < 19 && !s[n] && (s[0] != '0' || n == 1);
}

static int64_t digits(const char *s)
{
    int64_t v = 0;
    while (*s) v = v * 10 + (*s++ - '0');
    return v;
}

/* The number a variable's text stands for. */
static bool text_value(const char *s, int64_t *out)
{
    if (!s || !*s) { *out = 0; return true; }
    if (plain_digits(s)) { *out = digits(s); return true; }
    if (*s == '-' && plain_digits(s + 1)) { *out = -digits(s + 1); return true; }
    const char *saved = current;
    bool ok = arith_eval_text(s, out);
    current = saved;
    return ok;
}

/* The value of n's subscript, or of text when there is one. Messages are about the subscript alone. */
static bool subscript(anode *n, const char *text, int64_t *out)
{
    const char *who = arith_who, *outer = current;
    arith_who = NULL;
    current = text ? text : n->sub;
    bool ok = !text && n->index ? eval(n->index, out) : arith_eval_text(current, out);
    arith_who = who;
    current = outer;
    return ok;
}

static void complain_index(slot *s, const char *text)
{
    sh_report("%s%s%s%s: bad array subscript", s->name, text ? "[" : "", text ? text : "", text ? "]" : "");
}

/* Finds the element that n names: its subscript as a key (assoc) or an index. */
static bool locate(anode *n, bool storing, slot **s, var **v, char **key, int64_t *index)
{
    char *sub;
    *s = n->slot;
    *v = var_deref(s, &sub);
    *key = NULL;
    if (!n->sub && !sub) { *index = -1; return true; }
    const char *text = sub ? sub : n->sub;
    if ((*text == '@' || *text == '*') && !text[1] && !(*v && (*v)->flags & V_ASSOC)) {
        complain_index(*s, text);
        *index = ALL;
        return true;
    }
    if (*v && (*v)->flags & V_ASSOC) {
        *key = sub ? sub : n->sub;
        if (!sub && strpbrk(n->sub, "$`\"'\\") && !expand_string(n->sub, 'b', key)) return false;
        return true;
    }
    if (!subscript(n, sub, index)) { if (!sh.unwind) sh_abandon(1); return false; }
    if (*index < 0) *index += *v && (*v)->flags & V_ARRAY ? arr_next((*v)->u.a) : *v ? 1 : 0;
    if (*index < 0) { complain_index(*s, storing ? text : NULL); *index = ALL; }
    return true;
}

static bool load_at(anode *n, slot *s, var *v, char *key, int64_t i, int64_t *out)
{
    const char *text = NULL;
    if (v && key) { pair *p = assoc_find(v->u.h, key); text = p ? p->val : NULL; }
    else if (i == ALL) text = "";
    else if (v && i >= 0) text = v->flags & V_ARRAY ? arr_get(v->u.a, i) : i == 0 ? var_scalar(s, v) : NULL;
    else text = var_scalar(s, v);
    if (!text && sh.opt[O_NOUNSET] && !(v && v->flags & V_SET)) {
        sh_error("%s: unbound variable", n->slot->name);
        sh_die();
        return false;
    }
    return text_value(text, out);
}

static bool load(anode *n, int64_t *out)
{
    slot *s = n->slot;
    var *v = s->top;
    if (!n->sub && v && !s->special && (v->flags & (V_SET | V_ARRAY | V_ASSOC | V_NAMEREF)) == V_SET)
        return text_value(v->str, out);
    char *key;
    int64_t i;
    return locate(n, false, &s, &v, &key, &i) && load_at(n, s, v, key, i, out);
}

static bool store_at(slot *s, char *key, int64_t i, char *text)
{
    if (key) return var_set_elem(s, key, text, 0);
    return i == ALL || var_set_index(s, i, text, 0);
}

static bool store(anode *n, int64_t value)
{
    char buf[24], *text = fmt_int(value, buf), *key;
    slot *s = n->slot;
    var *v;
    int64_t i;
    if (!n->sub && s->top && !s->special && s->top->level == sh.level && (s->top->flags & ~(V_EXPORT | V_INT)) == V_SET) {
        var_put(s->top, text);
        return true;
    }
    if (!n->sub) return var_set_slot(s, text, 0);
    if (!locate(n, true, &s, &v, &key, &i)) return false;
    return store_at(s, key, i, text);
}

static bool compute(int op, int64_t x, int64_t y, int64_t *out, const char *at)
{
    uint64_t a = (uint64_t)x, b = (uint64_t)y;
    switch (op) {
    case A_MUL: *out = (int64_t)(a * b); return true;
    case A_DIV: case A_MOD:
        if (y == 0) return complain(current, "division by 0", at);
        if (y == -1) { *out = op == A_DIV ? (int64_t)(0 - a) : 0; return true; }
        *out = op == A_DIV ? x / y : x % y;
        return true;
    case A_ADD: *out = (int64_t)(a + b); return true;
    case A_SUB: *out = (int64_t)(a - b); return true;
    case A_SHL: *out = (int64_t)(a << (b & 63)); return true;
    case A_SHR: *out = x >> (b & 63); return true;
    case A_LT: *out = x < y; return true;
    case A_LE: *out = x <= y; return true;
    case A_GT: *out = x > y; return true;
    case A_GE: *out = x >= y; return true;
    case A_EQ: *out = x == y; return true;
    case A_NE: *out = x != y; return true;
    case A_AND: *out = x & y; return true;
    case A_XOR: *out = x ^ y; return true;
    case A_OR: *out = x | y; return true;
    case A_POW: {
        if (y < 0) return complain(current, "exponent less than 0", at);
        uint64_t r = 1;
        for (; b; b >>= 1, a *= a) if (b & 1) r *= a;
        *out = (int64_t)r;
        return true;
    }
    }
    return false;
}

/* n->a[...] op= n->b, ++ and -- of an element: its subscript is evaluated once. */
static bool update_element(anode *n, int64_t *was, int64_t *now)
{
    slot *s;
    var *v;
    char *key, buf[24];
    int64_t i, by = n->op == A_PRE_INC || n->op == A_POST_INC ? 1 : -1;
    bool step = n->op != A_ASSIGN;
    if (!locate(n->a, false, &s, &v, &key, &i) || !load_at(n->a, s, v, key, i, was)) return false;
    if (!step && !eval(n->b, &by)) return false;
    if (!compute(step ? A_ADD : n->assign_op, *was, by, now, n->at)) return false;
    if (i == ALL) complain_index(s, n->a->sub);
    return store_at(s, key, i, fmt_int(*now, buf));
}

/* A chain like 1+2+3+... leans left; it is walked without recursion because only its length bounds it. */
static bool eval_chain(anode *n, int64_t *out)
{
    arena_mark_t m = arena_mark(&sh.tmp);
    size_t depth = 0, i = 0;
    anode *leaf = n;
    for (; leaf->op >= A_MUL && leaf->op <= A_OR; leaf = leaf->a) depth++;
    anode **spine = arena_alloc(&sh.tmp, depth * sizeof *spine);
    for (leaf = n; leaf->op >= A_MUL && leaf->op <= A_OR; leaf = leaf->a) spine[i++] = leaf;
    int64_t x, y;
    bool ok = eval(leaf, &x);
    while (ok && i-- > 0) ok = eval(spine[i]->b, &y) && compute(spine[i]->op, x, y, &x, spine[i]->at);
    *out = x;
    arena_release(&sh.tmp, m);
    return ok;
}

static const char *param_text(param *pm)
{
    static char buf[24];
    if (!pm->special) {
        var *v = var_top(pm->slot);
        return v && (v->flags & (V_SET | V_ARRAY | V_ASSOC | V_NAMEREF)) == V_SET ? v->str : NULL;
    }
    if (pm->special == '1') return pm->number <= sh.nargs ? sh.args[pm->number - 1] : NULL;
    if (pm->special == '#') return fmt_int(sh.nargs, buf);
    if (pm->special == '?') return fmt_int(sh.status, buf);
    return NULL;
}

static bool eval(anode *n, int64_t *out)
{
    int64_t x, y;
    switch (n->op) {
    case A_NUM: *out = n->num; return true;
    case A_FAIL: return complain(current, n->message, n->at);
    case A_VAR: return load(n, out);
    case A_TEXT: *out = n->text->plain; return true;
    case A_NEG: if (!eval(n->a, &x)) return false; *out = (int64_t)(0 - (uint64_t)x); return true;
    case A_POS: return eval(n->a, out);
    case A_NOT: if (!eval(n->a, &x)) return false; *out = !x; return true;
    case A_INV: if (!eval(n->a, &x)) return false; *out = ~x; return true;
    case A_PRE_INC: case A_PRE_DEC: case A_POST_INC: case A_POST_DEC: {
        if (n->a->sub ? !update_element(n, &x, &y) : !load(n->a, &x)) return false;
        if (n->a->sub) { *out = n->op == A_POST_INC || n->op == A_POST_DEC ? x : y; return true; }
        y = (int64_t)((uint64_t)x + (n->op == A_PRE_INC || n->op == A_POST_INC ? 1u : ~(uint64_t)0));
        if (!store(n->a, y)) return false;
        *out = n->op == A_POST_INC || n->op == A_POST_DEC ? x : y;
        return true;
    }
    case A_POW: return eval(n->a, &x) && eval(n->b, &y) && compute(A_POW, x, y, out, n->at);
    case A_LAND:
        if (!eval(n->a, &x)) return false;
        if (!x) {
            *out = 0;
            return true;
        }
        if (!eval(n->b, &y)) return false;
        *out = y != 0;
        return true;
    case A_LOR:
        if (!eval(n->a, &x)) return false;
        if (x) {
            *out = 1;
            return true;
        }
        if (!eval(n->b, &y)) return false;
        *out = y != 0;
        return true;
    case A_COND: return eval(n->a, &x) && eval(x ? n->b : n->c, out);
    case A_COMMA: return eval(n->a, &x) && eval(n->b, out);
    case A_ASSIGN:
        if (n->assign_op && n->a->sub) return update_element(n, &x, out);
        if (n->assign_op) {
            if (!load(n->a, &x) || !eval(n->b, &y) || !compute(n->assign_op, x, y, out, n->at)) return false;
        } else if (!eval(n->b, out)) return false;
        return store(n->a, *out);
    default:
        if (n->a->op >= A_MUL && n->a->op <= A_OR) return eval_chain(n, out);
        return eval(n->a, &x) && eval(n->b, &y) && compute(n->op, x, y, out, n->at);
    }
}

bool arith_eval_text(const char *text, int64_t *out)
{
    if (plain_digits(text)) { *out = digits(text); return true; }
    if (++nest > MAX_NEST) { nest--; return complain(text, "expression recursion level exceeded", text); }
    arena_mark_t m = arena_mark(&sh.tmp);
    const char *error, *where, *saved = current;
    char *copy = arena_strdup(&sh.tmp, text);
    anode *n = arith_tree(&sh.tmp, copy, NULL, 0, &error, &where);
    current = copy;
    *out = 0;
    bool ok = !n || eval(n, out);
    current = saved;
    arena_release(&sh.tmp, m);
    nest--;
    return ok;
}

/* First use: parse the text; with $x in it, only if every $x is simple enough to be an operand. */
static void prepare(arith *a)
{
    const char *error, *where;
    param **params = NULL;
    int n = 0;
    a->state = 2;
    if (!a->mem) return;
    if (a->w) {
        for (part *p = a->w->parts; p; p = p->next) {
            if (p->kind == P_LIT && strpbrk(p->u.lit.text, "\"'\\`")) return;
            if (p->kind == P_LIT) continue;
            if (p->kind != P_PARAM) return;
            param *pm = p->u.param;
            if (pm->op || pm->sub || pm->length || pm->indirect || pm->names || (pm->special && !strchr("1#?", pm->special)))
                return;
            n++;
        }
        if (strpbrk(a->text, "\"'\\`")) return;
        params = arena_alloc(a->mem, ((size_t)n + 1) * sizeof *params);
        n = 0;
        for (part *p = a->w->parts; p; p = p->next) if (p->kind == P_PARAM) params[n++] = p->u.param;
    }
    a->tree = arith_tree(a->mem, a->text, params, n, &error, &where);
    if (!error) a->state = 1;
}

bool arith_eval(arith *a, int64_t *out)
{
    if (a->state == 0) prepare(a);
    if (a->state == 1) {
        bool plain = true;
        if (a->w)
            for (part *p = a->w->parts; p && plain; p = p->next) {
                if (p->kind != P_PARAM) continue;
                const char *s = param_text(p->u.param);
                plain = s && plain_digits(s);
                if (plain) p->u.param->plain = digits(s);
            }
        if (plain) {
            const char *saved = current;
            current = a->text;
            bool ok = true;
            if (a->tree) ok = eval(a->tree, out); else *out = 0;
            current = saved;
            return ok;
        }
    }
    if (!a->w) return arith_eval_text(a->text, out);
    arena_mark_t m = arena_mark(&sh.tmp);
    char *text = expand_one(a->w, X_NOTILDE);
    bool ok = text && arith_eval_text(text, out);
    arena_release(&sh.tmp, m);
    return ok;
}
