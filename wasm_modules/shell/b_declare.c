/* b_declare.c - declare, typeset, local, export, readonly: attributes and values of variables. */
#include "builtins.h"
#include "declare.h"
#include "element.h"
#include <stdlib.h>
#include <string.h>

void print_declare(slot *s, var *v)
{
    strbuf b = { .a = &sh.tmp };
    char letters[16];
    attribute_letters(v, letters);
    sb_printf(&b, "declare -%s %s", *letters ? letters : "-", s->name);
    if (v->flags & (V_ARRAY | V_ASSOC)) {
        bool filled = v->flags & V_ARRAY ? v->u.a && v->u.a->n : v->u.h && v->u.h->n;
        if (filled || v->flags & V_SET) { sb_putc(&b, '='); array_text(&b, v); }
    } else if (v->flags & V_SET) { sb_putc(&b, '='); quote_double(&b, v->str); }
    sb_putc(&b, '\n');
    out_write(b.s, b.len);
}

typedef struct { int on, off; bool global, functions, names_only, print, inherit; const char *who; bool local; } decl;

static int flag_of(char c)
{
    switch (c) {
    case 'a': return V_ARRAY;
    case 'A': return V_ASSOC;
    case 'i': return V_INT;
    case 'l': return V_LOWER;
    case 'u': return V_UPPER;
    case 'c': return V_CAPITAL;
    case 'n': return V_NAMEREF;
    case 'r': return V_READONLY;
    case 't': return V_TRACE;
    case 'x': return V_EXPORT;
    default: return 0;
    }
}

static int show_functions(decl *d, int argc, char **argv, int at)
{
    int status = 0;
    func **f;
    size_t n = funcs_all(&f);
    strbuf b = { .a = &sh.tmp };
    if (at >= argc) {
        for (size_t i = 0; i < n; i++) {
            if ((d->on & V_EXPORT && !f[i]->exported) || (d->on & V_READONLY && !f[i]->readonly)) continue;
            if (d->names_only)
                sb_printf(&b, "declare -f%s%s%s %s\n", f[i]->readonly ? "r" : "", f[i]->traced ? "t" : "",
                          f[i]->exported ? "x" : "", f[i]->name);
            else {
                print_function(&b, f[i]);
                if (f[i]->exported && d->on & V_EXPORT) sb_printf(&b, "declare -fx %s\n", f[i]->name);
            }
        }
    }
    for (; at < argc; at++) {
        func *one = func_find(argv[at]);
        if (!one) {
            status = 1;
            if (d->on & (V_EXPORT | V_READONLY)) b_error(d->who, 1, "%s: not a function", argv[at]);
            continue;
        }
        if (d->on & V_EXPORT) one->exported = 1;
        else if (d->off & V_EXPORT) one->exported = 0;
        else if (d->on & V_READONLY) one->readonly = 1;
        else if (d->on & V_TRACE) one->traced = 1;
        else if (d->names_only && sh.shopt[S_EXTDEBUG])
            sb_printf(&b, "%s %d %s\n", one->name, one->def->line, one->source);
        else if (d->names_only) sb_printf(&b, "%s\n", one->name);
        else print_function(&b, one);
    }
    if (b.len) out_write(b.s, b.len);
    return status;
}

static decl *listing;
static bool listed(slot *s, var *v)
{
    if (s->name[0] == ' ') return false;
    if (listing->local && listing->who[0] == 'l') return v->scope == sh.scope;
    return (v->flags & listing->on) == listing->on;
}

/* Variables that have a value only when somebody asks for it, such as RANDOM: set does not ask. */
static bool computed(slot *s, var *v)
{
    size_t n = strlen(s->name);
    return s->special && s->special->get && !(v->flags & (V_ARRAY | V_ASSOC)) && (n < 4 || strcmp(s->name + n - 4, "OPTS"));
}

static void list_all(decl *d, bool as_set)
{
    slot **v;
    listing = d;
    size_t n = slots_all(&v, listed);
    for (size_t i = 0; i < n; i++) {
        var *x = var_top(v[i]);
        if (!as_set) { print_declare(v[i], x); continue; }
        if (!(x->flags & V_SET) || computed(v[i], x)) continue;
        strbuf b = { .a = &sh.tmp };
        sb_printf(&b, "%s=", v[i]->name);
        if (x->flags & (V_ARRAY | V_ASSOC)) array_text(&b, x); else if (*x->str) quote_trace(&b, x->str);
        sb_putc(&b, '\n');
        out_write(b.s, b.len);
    }
}

enum { CASES = V_LOWER | V_UPPER | V_CAPITAL };

/* Gives v the attributes; false after a message. */
static bool set_attributes(decl *d, slot *s, var *v)
{
    if (d->off & V_READONLY && v->flags & V_READONLY) { b_error(d->who, 1, "%s: readonly variable", s->name); return false; }
    if (d->on & V_ARRAY && v->flags & V_ASSOC) {
        b_error(d->who, 1, "%s: cannot convert associative to indexed array", s->name);
        return false;
    }
    if (d->on & V_ASSOC && v->flags & V_ARRAY) {
        b_error(d->who, 1, "%s: cannot convert indexed to associative array", s->name);
        return false;
    }
    if ((d->off & V_ARRAY && v->flags & V_ARRAY) || (d->off & V_ASSOC && v->flags & V_ASSOC)) {
        b_error(d->who, 1, "%s: cannot destroy array variables in this way", s->name);
        return false;
    }
    bool had_value = v->flags & V_SET;
    if (d->on & (V_ARRAY | V_ASSOC)) { var_make_array(s, v, d->on & V_ASSOC); if (!had_value) v->flags &= (uint16_t)~V_SET; }
    if (d->on & (CASES | V_NAMEREF)) v->flags &= (uint16_t)~CASES;
    if (d->on & V_NAMEREF) v->flags &= (uint16_t)~V_INT;
    v->flags |= (uint16_t)(d->on & ~(V_ARRAY | V_ASSOC | V_READONLY));
    v->flags &= (uint16_t)~(d->off & ~(V_ARRAY | V_ASSOC | V_READONLY));
    return true;
}

/* set -x shows what export and readonly assign, too. */
static void trace_value(const char *name, const char *value)
{
    strbuf b = { .a = &sh.tmp };
    sb_printf(&b, "%s=", name);
    if (*value) quote_xtrace(&b, value);
    trace_text(sb_str(&b));
}

/* True after a message: name=(...) cannot be, because name is the other kind of array. That costs more than the command. */
static bool wrong_kind(decl *d, slot *s, var *v, bool is_local)
{
    bool keyed = d->on & V_ASSOC && v->flags & V_ARRAY, indexed = d->on & V_ARRAY && v->flags & V_ASSOC;
    if (!keyed && !indexed) return false;
    sh_error("%s: cannot convert %s array", s->name, keyed ? "indexed to associative" : "associative to indexed");
    if (!is_local) sh_fail(1);
    return true;
}

/* What declare -n is given; 0 when it can refer to that, 1 after a message. */
static int check_target(decl *d, const char *name, const char *sub, const char *value)
{
    size_t n = value ? name_len(value) : 0;
    if (sub) return b_error(d->who, 1, "%s[%s]: reference variable cannot be an array", name, sub);
    if (!value) return 0;
    if (!*value) return b_error(d->who, 1, "`': not a valid identifier");
    if (!n || !strchr("[", value[n])) return b_error(d->who, 1, "`%s': invalid variable name for name reference", value);
    if (!strcmp(value, name) && (!d->local || d->global))
        return b_error(d->who, 1, "%s: nameref variable self references not allowed", name);
    return 0;
}

static int one_name(decl *d, char *arg, assign *array)
{
    size_t n = name_len(arg);
    char *eq = arg + n, *sub = NULL, *value = NULL;
    bool append = false;
    size_t end = element_end(arg);
    if (end) {
        sub = arena_strndup(&sh.tmp, arg + n + 1, end - n - 2);
        eq = arg + end;
    }
    if (*eq == '+' && eq[1] == '=') { append = true; eq++; }
    if (*eq == '=') value = eq + 1;
    bool listed_only = d->who[0] == 'e' || d->who[0] == 'r';
    if (sub && listed_only) return b_error(d->who, 1, "`%.*s': not a valid identifier", (int)(eq - arg) - append, arg);
    if (!n || (*eq && *eq != '=')) { return b_error(d->who, 1, "`%s': not a valid identifier", arg); }
    char *name = arena_strndup(&sh.tmp, arg, n);
    if (d->on & V_NAMEREF && !array && check_target(d, name, sub, value)) return 1;
    slot *s = slot_of(name);
    bool make_local = d->local && !d->global;
    decl plain = *d;
    plain.on &= ~(V_ARRAY | V_ASSOC);
    if (d->who[0] == 'r' && !value && !array) d = &plain;   /* readonly makes an array of values only */
    if (!s->top && d->who[0] == 'e' && d->off & V_EXPORT && !value && !array) return 0;
    if (make_local && s->top && s->top->flags & V_NAMEREF && s->top->scope == sh.scope && !((d->on | d->off) & V_NAMEREF) && !sub) {
        char *unused;            /* what a reference of this function refers to is meant */
        if (var_deref(&s, &unused) || s->name != name) make_local = false;
    }
    var *temp = s->top && s->top->flags & V_TEMP && s->top->scope == sh.scope + 1 ? s->top : NULL;   /* x=1 export x */
    if (!make_local && !(d->on & V_NAMEREF) && !(d->off & V_NAMEREF) && s->top && s->top->flags & V_NAMEREF) {
        char *unused;
        var_deref(&s, &unused);
    }
    if (make_local) {
        if (s->top && s->top->flags & V_READONLY && (s->top->scope == 0 || (s->top->scope == sh.scope && !array))) {
            return b_error(d->who, 1, "%s: readonly variable", name);
        }
        var_local(s, d->inherit || sh.shopt[S_LOCALVAR_INHERIT]);
    }
    int scope = d->global ? 0 : make_local ? sh.scope : -1;
    var *old = d->global ? chain_find(s, 0) : s->top;
    if (old && old->flags & V_READONLY && (value || array)) {
        if (array) { check_readonly(s, old); sh_fail(1); return 1; }
        if (listed_only) { check_readonly(s, old); old->flags |= d->on & V_EXPORT; return 1; }
        return b_error(d->who, 1, "%s: readonly variable", name);
    }
    if (temp && !make_local && d->on & (V_EXPORT | V_READONLY)) {   /* the temporary value comes to stay */
        scope = temp->outer ? temp->outer->scope : 0;
        if (!value && !array) value = temp->str;
    }
    var *v = var_writable(s, scope);
    if (array && wrong_kind(d, s, v, make_local)) return 1;
    if (d->on & V_NAMEREF && array) assign_array(s, array);
    if (d->on & V_NAMEREF && v->flags & (V_ARRAY | V_ASSOC))
        return b_error(d->who, 1, "%s: reference variable cannot be an array", name);
    const int arrays = V_ARRAY | V_ASSOC;
    bool was_text = make_local && !d->inherit && d->on & arrays && v->flags & V_SET && !(v->flags & arrays);
    if (was_text && !array && !value) var_clear_value(v);   /* a local becomes an array without what it was */
    if (temp && scope >= 0 && !make_local) v->flags |= V_EXPORT;
    if (array && !(d->on & (V_ARRAY | V_ASSOC)) && !(v->flags & (V_ARRAY | V_ASSOC))) { var_make_array(s, v, 0); }
    if (!set_attributes(d, s, v)) return 1;
    if (was_text && !array && !value) v->flags |= V_SET;
    if (sub && !(v->flags & (V_ARRAY | V_ASSOC)) && value) var_make_array(s, v, 0);
    bool ok = true;
    var *hidden = s->top == v ? NULL : s->top;   /* -g in a function that has a local of the same name */
    if (hidden) { chain_remove(s, hidden); }
    if (array) {
        assign copy = *array;
        copy.append = append;
        ok = assign_array(s, &copy);
    } else if (value && d->on & V_NAMEREF) {
        var_put(v, value);
        if (!strcmp(value, name)) {   /* bash finds out twice */
            b_error(d->who, 0, "warning: %s: circular name reference", name);
            sh_error("warning: %s: circular name reference", name);
        }
    } else if (value && !sub && (listed_only ? d->on : v->flags) & arrays && value[0] == '(' && value[strlen(value) - 1] == ')') {
        assign *text = parse_array_text(&sh.tmp, value);
        if (text) { text->append = append; ok = assign_array(s, text); }
        else ok = var_set_slot(s, value, append);
    } else if (value && sub && d->on & V_READONLY) {   /* bash freezes it first, and does not mind */
        v->flags |= V_READONLY;
        check_readonly(s, v);
        if (!(v->flags & V_SET) && !sh.scope) v->flags |= V_SET;
    } else if (value && sub) ok = element_subscript(s, arg, &sub) && var_set_elem(s, sub, value, append);
    else if (value) {
        const char *who = arith_who;
        arith_who = d->who;      /* an integer's value is evaluated in the builtin's name */
        ok = var_set_slot(s, value, append);
        arith_who = who;
        if (sh.opt[O_XTRACE] && ok && (d->who[0] == 'e' || d->who[0] == 'r')) trace_value(name, value);
    }
    if (hidden) chain_insert(s, hidden);
    if (ok && d->on & V_READONLY) { v = chain_find(s, v->scope); if (v) v->flags |= V_READONLY; }
    return ok ? 0 : 1;
}

static const char *usage_of(const char *who)
{
    switch (*who) {
    case 'e': return "export [-fn] [name[=value] ...] or export -p";
    case 'r': return "readonly [-aAf] [name[=value] ...] or readonly -p";
    case 'l': return "local [option] name[=value] ...";
    case 't': return "typeset [-aAfFgiIlnrtux] name[=value] ... or typeset -p [-aAfFilnrtux] [name ...]";
    default: return "declare [-aAfFgiIlnrtux] [name[=value] ...] or declare -p [-aAfFilnrtux] [name ...]";
    }
}

int b_declare(int argc, char **argv)
{
    decl d = { .who = argv[0] };
    int i = 1;
    if (!strcmp(argv[0], "export")) d.on = V_EXPORT;
    if (!strcmp(argv[0], "readonly")) d.on = V_READONLY;
    bool exporting = argv[0][0] == 'e', freezing = argv[0][0] == 'r';
    const char *letters = exporting ? "aAfnp" : freezing ? "aAfnp" : "aAcfFgiIlnprtux";
    bool in_function = false, thaw = false;
    for (frame *f = sh.frames; f; f = f->up) if (f->func) { in_function = true; break; }
    if (!strcmp(argv[0], "local") && !in_function) {
        for (i = 1; i < argc; i++) if (arg_assign(i)) assign_array(arg_assign(i)->slot, arg_assign(i));   /* these come first */
        return b_error("local", 1, "can only be used in a function");
    }
    d.local = !exporting && !freezing && in_function;
    for (; i < argc && (argv[i][0] == '-' || (argv[i][0] == '+' && !exporting && !freezing)) && argv[i][1]; i++) {
        if (!strcmp(argv[i], "--")) { i++; break; }
        bool on = argv[i][0] == '-';
        for (char *c = argv[i] + 1; *c; c++) {
            if (!strchr(letters, *c)) {
                b_error(argv[0], 2, "%c%c: invalid option", on ? '-' : '+', *c);
                return b_usage(argv[0], usage_of(argv[0]));
            }
            if (*c == 'g') d.global = true;
            else if (*c == 'f') d.functions = true;
            else if (*c == 'F') d.functions = d.names_only = true;
            else if (*c == 'p') d.print = true;
            else if (*c == 'I') d.inherit = true;
            else if (exporting && *c == 'n') { d.on &= ~V_EXPORT; d.off |= V_EXPORT; }
            else if (freezing && *c == 'n') thaw = true;
            else if (on) d.on |= flag_of(*c);
            else d.off |= flag_of(*c);
        }
    }
    if ((d.on & CASES) & ((d.on & CASES) - 1)) d.on &= ~CASES;   /* -u and -l: neither */
    if (d.functions) return show_functions(&d, argc, argv, i);
    if (i >= argc) { list_all(&d, !d.print && !d.on && argv[0][0] != 'l'); return 0; }
    if (d.print && !exporting && !freezing) {
        int status = 0;
        for (; i < argc; i++) {
            slot *s = slot_find(argv[i]);
            var *v = s ? var_top(s) : NULL;
            if (v) print_declare(s, v); else status = b_error(argv[0], 1, "%s: not found", argv[i]);
        }
        return status;
    }
    int status = 0;
    if (thaw) d.on &= ~V_READONLY;
    for (; i < argc; i++) {
        if (d.local && !strcmp(argv[i], "-")) {
            frame *f = sh.frames;
            while (f && !f->func) f = f->up;
            if (f && !f->options) { f->options = xmalloc(sizeof sh.opt); memcpy(f->options, sh.opt, sizeof sh.opt); }
            continue;
        }
        if (one_name(&d, argv[i], arg_assign(i))) status = 1;
        if (sh.unwind) return status ? status : 1;
    }
    return status;
}
