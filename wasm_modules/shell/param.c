/* param.c - $x and ${...}: finding the values a parameter stands for, and putting them into the field being built.
 *
 * Every parameter gives a list of values: none when unset, one for scalars, any number for @ and * forms. Operators (param_ops.c)
 * map values to values, so they know nothing of quoting or splitting.
 */
#include "sh.h"
#include "param.h"
#include <ctype.h>
#include <string.h>

static char *tmp_int(int64_t n)
{
    char buf[24];
    return arena_strdup(&sh.tmp, fmt_int(n, buf));
}

static void one(values *o, char *s)
{
    o->v = arena_alloc(&sh.tmp, sizeof(char *));
    o->v[0] = s;
    o->n = 1;
}

static void special_values(param *pm, values *o)
{
    char flags[40];
    switch (pm->special) {
    case '@': case '*':
        o->list = pm->special;
        o->v = sh.args;
        o->n = (size_t)sh.nargs;
        break;
    case '#': one(o, tmp_int(sh.nargs)); break;
    case '?': one(o, tmp_int(sh.status)); break;
    case '$': one(o, tmp_int(sh.shell_pid)); break;
    case '!': if (sh.has_bg) one(o, tmp_int(sh.last_bg)); break;
    case '-': one(o, arena_strdup(&sh.tmp, opt_letters(flags))); break;
    case '0': one(o, (char *)sh.arg0); break;
    default: if (pm->number <= sh.nargs) one(o, sh.args[pm->number - 1]);
    }
}

/* All elements, and their keys when wanted. */
static void array_values(values *o, var *v, bool keys)
{
    if (v->flags & V_ARRAY && v->u.a) {
        o->n = v->u.a->n;
        o->v = arena_alloc(&sh.tmp, (o->n + 1) * sizeof(char *));
        o->index = arena_alloc(&sh.tmp, (o->n + 1) * sizeof(int64_t));
        for (size_t i = 0; i < o->n; i++) {
            o->index[i] = v->u.a->e[i].key;
            o->v[i] = keys ? tmp_int(v->u.a->e[i].key) : arena_strdup(&sh.tmp, v->u.a->e[i].val);
        }
    } else if (v->flags & V_ASSOC && v->u.h) {
        pair **list = assoc_list(v->u.h);
        o->n = v->u.h->n;
        o->v = arena_alloc(&sh.tmp, (o->n + 1) * sizeof(char *));
        for (size_t i = 0; i < o->n; i++) o->v[i] = arena_strdup(&sh.tmp, keys ? list[i]->key : list[i]->val);
    } else if (v->flags & V_SET && v->str && !(v->flags & (V_ARRAY | V_ASSOC))) {
        one(o, keys ? "0" : v->str);
    }
}

/* One element, subscript text already split off a nameref or in the tree. False after a message. */
static bool element(values *o, param *pm, char *sub)
{
    var *v = o->var;
    if (v && v->flags & V_ASSOC) {
        char *key = sub ? sub : expand_one(pm->key, X_NOTILDE);
        if (!key) return false;
        pair *p = assoc_find(v->u.h, key);
        if (p) one(o, p->val);
        return true;
    }
    int64_t i;
    if (sub ? !arith_eval_text(sub, &i) : !arith_eval(pm->index, &i)) { sh_abandon(1); return false; }
    if (i < 0) {
        int64_t n = v && v->flags & V_ARRAY ? arr_next(v->u.a) : 0;
        if (i + n < 0 && pm->length) { sh_report("%s]: bad array subscript", pm->key ? pm->key->raw : sub); return false; }
        if (i + n < 0) { sh_report("%s: bad array subscript", o->slot->name); return true; }
        i += n;
    }
    if (!v) return true;
    if (v->flags & V_ARRAY) { char *s = arr_get(v->u.a, i); if (s) one(o, s); }
    else if (i == 0 && v->flags & V_SET) one(o, v->str);
    return true;
}

/* The values of the parameter itself, operator aside. */
static bool resolve(param *pm, values *o)
{
    if (pm->special) { special_values(pm, o); return true; }
    char *sub;
    o->slot = pm->slot;
    o->var = var_deref(&o->slot, &sub);
    if (sub && pm->sub) {   /* a reference to an element has none of its own */
        o->list = pm->sub == SUB_EXPR ? 0 : pm->sub == SUB_AT ? '@' : '*';
        o->var = NULL;
        return true;
    }
    if (sub && pm->length) return true;   /* bash finds nothing to measure */
    if (sub) {
        if (!strcmp(sub, "@") || !strcmp(sub, "*")) { o->list = *sub; if (o->var) array_values(o, o->var, false); return true; }
        return element(o, pm, sub);
    }
    if (pm->sub == SUB_NONE) {
        const char *s = var_scalar(o->slot, o->var);
        if (s) one(o, (char *)s);
        return true;
    }
    if (pm->sub == SUB_EXPR && pm->length) {   /* of what has no elements, the subscript is not looked at */
        int flags = o->var ? o->var->flags : 0;
        if (!(flags & V_SET) || (sh.opt[O_NOUNSET] && !(flags & (V_ARRAY | V_ASSOC)))) return true;
    }
    if (pm->sub == SUB_EXPR) return element(o, pm, NULL);
    o->list = pm->sub == SUB_AT ? '@' : '*';
    if (o->var) array_values(o, o->var, false);
    return true;
}

/* The name at the end of a chain of references. */
static char *last_name(var *v)
{
    for (int hops = 0; hops < 8; hops++) {
        slot *s = slot_find(v->str);
        var *next = s ? s->top : NULL;
        if (!next || !(next->flags & V_NAMEREF) || !next->str || !*next->str) break;
        v = next;
    }
    return v->str;
}

/* ${!x}: the parameter that x names, with pm's operator. */
static param *indirect(param *pm)
{
    values o = { 0 };
    param plain = *pm;
    plain.op = OP_NONE;
    plain.indirect = 0;
    bool reference = !pm->special && !pm->sub && pm->slot->top && pm->slot->top->flags & V_NAMEREF;
    slot *named = reference && pm->slot->top->str ? slot_find(pm->slot->top->str) : NULL;
    bool array = named && named->top && named->top->flags & (V_ARRAY | V_ASSOC);
    /* the name itself; operators on the name of an array take its value instead */
    if (reference && (!array || !pm->op || (pm->op >= OP_DEFAULT && pm->op <= OP_ALT))) return NULL;
    if (!reference && !resolve(&plain, &o)) return &plain == pm ? pm : NULL;
    char *name = reference ? pm->slot->top->str : o.n ? o.v[0] : NULL;
    if (o.list) {   /* ${!@}: the names joined */
        strbuf b = { .a = &sh.tmp };
        for (size_t i = 0; i < o.n; i++) { if (i) sb_putc(&b, ' '); sb_puts(&b, o.v[i]); }
        name = o.n ? sb_str(&b) : NULL;
    }
    if (!name) {
        if (pm->special || o.var) {   /* there is such a variable, without a value: nothing is named */
            param *r = arena_alloc(&sh.tmp, sizeof *r);
            *r = *pm;
            r->indirect = 0;
            r->special = '1';
            r->number = 99999999;
            return r;
        }
        bool element = pm->sub == SUB_EXPR;
        sh_error("%s%s%s%s: invalid indirect expansion", pm->name, element ? "[" : "", element ? pm->key->raw : "",
                 element ? "]" : "");
        sh_fail_plainly();
        return NULL;
    }
    strbuf b = { .a = &sh.tmp };
    sb_printf(&b, "${%s}", name);
    size_t n = name_len(name);
    bool ok = (n && (!name[n] || name[n] == '[')) || (*name && strspn(name, "0123456789") == strlen(name)) ||
              (*name && !name[1] && strchr("@*#?-$!", *name));
    word *w = ok ? parse_word_text(&sh.tmp, sb_str(&b), '"') : NULL;
    if (!w || !w->parts || w->parts->kind != P_PARAM) {
        sh_error("%s: invalid variable name", name);
        sh_fail(1);
        return NULL;
    }
    param *target = arena_alloc(&sh.tmp, sizeof *target);
    *target = *w->parts->u.param;
    target->op = pm->op;
    target->colon = pm->colon;
    target->transform = pm->transform;
    target->arg = pm->arg;
    target->arg2 = pm->arg2;
    target->off = pm->off; target->len = pm->len; target->text = pm->text;
    return target;
}

static bool starts_with_prefix(slot *s, var *v) { (void)v; return !strncmp(s->name, names_prefix, strlen(names_prefix)); }
const char *names_prefix;

static void matching_names(param *pm, values *o)
{
    slot **found;
    names_prefix = pm->name;
    size_t n = slots_all(&found, starts_with_prefix);
    o->list = (char)pm->names;
    o->v = arena_alloc(&sh.tmp, (n + 1) * sizeof(char *));
    for (size_t i = 0; i < n; i++)
        if (found[i]->top->flags & V_SET || found[i]->top->flags & (V_ARRAY | V_ASSOC)) o->v[o->n++] = found[i]->name;
}

static char *join(values *o, const char *sep)
{
    strbuf b = { .a = &sh.tmp };
    uint32_t cp;
    size_t n = utf8_next(sep, &cp);
    for (size_t i = 0; i < o->n; i++) { if (i) sb_add(&b, sep, n); sb_puts(&b, o->v[i]); }
    return sb_str(&b);
}

static void emit(expander *x, values *o, bool quoted)
{
    if (!o->list) {
        if (o->n) ex_value(x, o->v[0], quoted);
        else if (quoted) x->f.started = true;
        return;
    }
    bool star = o->list == '*';
    bool blanks = x->flags & X_HEREDOC && !o->slot;   /* $* of a here-document does not look at IFS */
    if (star && quoted) { ex_value(x, join(o, blanks ? " " : x->ifs), true); return; }
    if (!(x->flags & X_SPLIT)) {
        if (o->n) ex_value(x, join(o, star || !quoted ? (star ? x->ifs : " ") : " "), quoted);
        else if (star && quoted) x->f.started = true;
        return;
    }
    if (x->operands && !star && !quoted && *x->ifs && *x->ifs != ' ') {   /* ${x:+$@}: whole values with blanks between them */
        for (size_t i = 0; i < o->n; i++) { if (i) ex_value(x, " ", false); ex_value(x, o->v[i], true); }
        return;
    }
    /* bash splits what it has joined: between separators that are no blanks, an empty value is a field */
    if (!quoted && *x->ifs && !strchr(" \t\n", *x->ifs)) { if (o->n) ex_value(x, join(o, x->ifs), false); return; }
    bool whole = x->whole;
    x->whole = false;
    for (size_t i = 0; i < o->n; i++) {
        if (i) ex_end_field(x);
        ex_value(x, o->v[i], quoted);
    }
    x->whole = whole;
}

/* :- := :? :+ ; true when the operand took the place of the value. */
static bool substitute(expander *x, param *pm, part *p, values *o)
{
    bool unset = o->n == 0;
    if (pm->colon && !unset) {
        unset = true;
        for (size_t i = 0; i < o->n && unset; i++) if (o->v[i][0]) unset = false;
        if (o->list && o->n > 1) unset = false;
    }
    if (pm->op == OP_ALT) {
        if (unset) { if (p->quoted && (o->list != '@' || o->n)) x->f.started = true; return true; }
    } else if (!unset) return false;
    if (pm->op == OP_ALT || pm->op == OP_DEFAULT) {
        if (p->quoted) x->f.started = true;   /* "${x+$@}" is a field, also of nothing */
        x->operands++;
        ex_parts(x, pm->arg->parts,
                 p->quoted || !(x->flags & X_SPLIT) ? x->flags | (p->quoted ? X_NOTILDE : 0) : x->flags | X_ARGSPLIT);
        x->operands--;
        return true;
    }
    char *text = expand_one(pm->arg, p->quoted ? X_NOTILDE : 0);
    if (!text) { x->failed = true; return true; }
    if (pm->op == OP_ERROR) {
        const char *sub = pm->sub == SUB_EXPR ? pm->key->raw : pm->sub == SUB_AT ? "@" : pm->sub == SUB_STAR ? "*" : NULL;
        sh_error("%s%s%s%s: %s", pm->name, sub ? "[" : "", sub ? sub : "", sub ? "]" : "",
                 *text       ? text
                 : pm->colon ? "parameter null or not set"
                             : "parameter not set");
        sh_die();
        x->failed = true;
        return true;
    }
    if (pm->special) {
        sh_error("$%s: cannot assign in this way", pm->name);
        sh_fail(1);
        x->failed = true;
        return true;
    }
    bool ok = true;
    if (pm->sub == SUB_AT || pm->sub == SUB_STAR) {
        ok = o->var && o->var->flags & V_ASSOC && var_set_elem(pm->slot, pm->sub == SUB_AT ? "@" : "*", text, 0);
        if (!ok) sh_report("%s[%c]: bad array subscript", pm->name, pm->sub == SUB_AT ? '@' : '*');
    } else if (pm->sub == SUB_EXPR) {
        char *key = expand_one(pm->key, X_NOTILDE);
        ok = key && var_set_elem(pm->slot, key, text, 0);
    } else ok = var_set_slot(pm->slot, text, 0);
    if (!ok) { sh_fail(1); x->failed = true; return true; }
    ex_value(x, text, p->quoted);
    return true;
}

static void length(param *pm, values *o)
{
    char *n = tmp_int(o->list ? (int64_t)o->n : o->n ? (int64_t)utf8_count(o->v[0]) : 0);
    if (pm->special == '#') n = tmp_int((int64_t)strlen(o->v[0]));
    o->list = 0;
    one(o, n);
}

/* written: pm as the script has it, when pm is what ${!written} stands for. */
static bool unbound(expander *x, param *pm, param *written, values *o)
{
    bool array = o->var && o->var->flags & V_SET && o->var->flags & (V_ARRAY | V_ASSOC);
    if (pm->sub && pm->length && sh.opt[O_NOUNSET] && !array) {
        sh_error("%s: unbound variable", pm->name);
        sh_fail_plainly();
        return x->failed = true;
    }
    if (o->n || !sh.opt[O_NOUNSET] || (pm->op >= OP_DEFAULT && pm->op <= OP_ALT) || o->list ||
        (pm->length && pm->sub == SUB_EXPR) || (pm->op == OP_TRANSFORM && pm->transform == 'a' && !pm->special && !pm->sub))
        return false;
    if (pm->special && pm->special != '1' && pm->special != '!') return false;
    if (written->indirect && written->sub == SUB_EXPR) sh_error("!%s[%s]: unbound variable", written->name, written->key->raw);
    else if (written->indirect) sh_error("!%s: unbound variable", written->name);
    else if (pm->sub == SUB_EXPR) sh_error("%s[%s]: unbound variable", pm->name, pm->key->raw);
    else sh_error("%s%s: unbound variable", pm->special && pm->text && !pm->length && pm->text[0] != '$' ? "$" : "", pm->name);
    sh_die();
    x->failed = true;
    return true;
}

/* x="${@:2}" and other operators on a list in an assignment or a here-string: bash joins what they give as it joins $*. Without
 * quotes it does so only after removing a prefix or suffix, for @Q and its kin, and for names. */
static bool joined_by_ifs(const expander *x, const param *pm, bool quoted)
{
    if (!(x->flags & X_ASSIGN) || x->flags & X_SPLIT) return false;
    if (pm->names || pm->indirect) return (quoted || pm->names) && *x->ifs;
    if (!pm->op || (pm->op >= OP_DEFAULT && pm->op <= OP_ALT) || !*x->ifs) return false;
    return quoted || (pm->op >= OP_PREFIX && pm->op <= OP_SUFFIX_LONG) || pm->op == OP_TRANSFORM;
}

/* Names and keys. Those of * are one text before they are split, which shows when IFS splits nothing. */
static void emit_names(expander *x, param *pm, values *o, bool quoted)
{
    if (joined_by_ifs(x, pm, quoted)) o->list = '*';
    if (o->list == '*' && !quoted && !*x->ifs && o->n) {
        o->v[0] = join(o, pm->names ? "" : " ");
        o->n = 1;
    }
    emit(x, o, quoted);
}

void expand_param(expander *x, part *p)
{
    param *pm = p->u.param;
    if (!pm->special && !pm->sub && !pm->op && !pm->length && !pm->indirect) {   /* the common case: $x */
        var *v = var_top(pm->slot);
        if (v && (v->flags & (V_SET | V_ARRAY | V_ASSOC | V_NAMEREF)) == V_SET) { ex_value(x, v->str, p->quoted); return; }
    }
    values o = { 0 };
    if (pm->names) {
        matching_names(pm, &o);
        emit_names(x, pm, &o, p->quoted);
        return;
    }
    if (pm->indirect && pm->sub && pm->sub != SUB_EXPR && !pm->op) {   /* ${!a[@]} */
        char *sub;
        o.slot = pm->slot;
        o.var = var_deref(&o.slot, &sub);
        o.list = pm->sub == SUB_AT ? '@' : '*';
        if (o.var && !sub) array_values(&o, o.var, true);
        emit_names(x, pm, &o, p->quoted);
        return;
    }
    param *target = pm->indirect ? indirect(pm) : pm;
    if (!target && sh.unwind) { x->failed = true; return; }
    if (!target) {               /* ${!r} of a nameref: the name it refers to */
        if (!pm->slot->top->str) return;
        one(&o, last_name(pm->slot->top));
    } else {
        pm = target;
        if (!resolve(pm, &o)) { sh_fail(1); x->failed = true; return; }
        if (unbound(x, pm, p->u.param, &o)) return;
    }
    if (pm->length) { length(pm, &o); emit(x, &o, p->quoted); return; }
    if (pm->op >= OP_DEFAULT && pm->op <= OP_ALT) { if (substitute(x, pm, p, &o)) return; }
    else if (pm->op && !param_ops(pm, &o)) { if (!sh.unwind) sh_fail(1); x->failed = true; return; }
    if (o.list == '@' && joined_by_ifs(x, pm, p->quoted)) o.list = '*';
    emit(x, &o, p->quoted);
}
