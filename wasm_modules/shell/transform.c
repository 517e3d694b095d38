/* transform.c - ${x@Q} and its kin, attribute letters, and the text of a variable as an assignment (declare -p, ${x@A}). */
#include "param.h"
#include "declare.h"
#include <string.h>
#include <wctype.h>

char *attribute_letters(var *v, char out[16])
{
    static const struct {
        int flag;
        char c;
    } map[] = { { V_ARRAY, 'a' }, { V_ASSOC, 'A' },  { V_INT, 'i' },     { V_NAMEREF, 'n' }, { V_READONLY, 'r' },
                { V_TRACE, 't' }, { V_EXPORT, 'x' }, { V_CAPITAL, 'c' }, { V_LOWER, 'l' },   { V_UPPER, 'u' } };
    char *p = out;
    for (size_t i = 0; i < sizeof map / sizeof *map; i++) if (v && v->flags & map[i].flag) *p++ = map[i].c;
    *p = 0;
    return out;
}

static void add_key(strbuf *b, const char *key)
{
    if (needs_quotes(key) || !strcmp(key, "@")) quote_double(b, key); else sb_puts(b, key);
}

void array_text(strbuf *b, var *v)
{
    sb_putc(b, '(');
    if (v->flags & V_ARRAY && v->u.a)
        for (size_t i = 0; i < v->u.a->n; i++) {
            sb_printf(b, "%s[%lld]=", i ? " " : "", (long long)v->u.a->e[i].key);
            quote_double(b, v->u.a->e[i].val);
        }
    if (v->flags & V_ASSOC && v->u.h) {
        pair **list = assoc_list(v->u.h);
        for (size_t i = 0; i < v->u.h->n; i++) {
            sb_putc(b, '[');
            add_key(b, list[i]->key);
            sb_puts(b, "]=");
            quote_double(b, list[i]->val);
            sb_putc(b, ' ');
        }
    }
    sb_putc(b, ')');
}

/* name='value' with a declare in front when there are attributes. */
static char *assignment(slot *s, var *v, const char *value)
{
    strbuf b = { .a = &sh.tmp };
    char letters[16];
    attribute_letters(v, letters);
    if (*letters) sb_printf(&b, "declare -%s ", letters);
    sb_puts(&b, s->name);
    if (v->flags & (V_ARRAY | V_ASSOC)) { if (v->flags & V_SET) { sb_putc(&b, '='); array_text(&b, v); } }
    else if (value) { sb_putc(&b, '='); quote_single(&b, value); }
    return sb_str(&b);
}

static char *case_of(const char *s, char how)
{
    strbuf b = { .a = &sh.tmp };
    uint32_t cp;
    char out[4];
    bool first = true;
    for (size_t k; (k = utf8_next(s, &cp)) > 0; s += k, first = false) {
        if ((how == 'u' && !first) || (k == 1 && cp >= 0x80)) { sb_add(&b, s, k); continue; }
        sb_add(&b, out, utf8_put((uint32_t)(how == 'L' ? towlower((wint_t)cp) : towupper((wint_t)cp)), out));
    }
    return sb_str(&b);
}

/* @K: one string of key "value" pairs; @k: separate words. */
static void key_values(values *o, char how)
{
    strlist l = { .a = &sh.tmp };
    strbuf b = { .a = &sh.tmp };
    var *v = o->var;
    bool assoc = v->flags & V_ASSOC;
    pair **list = assoc ? assoc_list(v->u.h) : NULL;
    size_t n = assoc ? v->u.h->n : v->u.a->n;
    for (size_t i = 0; i < n; i++) {
        char buf[24];
        const char *key = assoc ? list[i]->key : fmt_int(v->u.a->e[i].key, buf), *val = assoc ? list[i]->val : v->u.a->e[i].val;
        if (how == 'k') { sl_add(&l, arena_strdup(&sh.tmp, key)); sl_add(&l, arena_strdup(&sh.tmp, val)); continue; }
        if (i && !assoc) sb_putc(&b, ' ');
        add_key(&b, key);
        sb_putc(&b, ' ');
        quote_double(&b, val);
        if (assoc) sb_putc(&b, ' ');
    }
    if (how == 'K') { sl_add(&l, sb_str(&b)); o->list = 0; }
    o->v = l.v;
    o->n = l.n;
}

static char *transform_one(char how, char *s)
{
    strbuf b = { .a = &sh.tmp };
    switch (how) {
    case 'Q': case 'K': case 'k': quote_single(&b, s); return sb_str(&b);
    case 'E': return decode_ansi(&sh.tmp, s, strlen(s));
    case 'P': return prompt_expand(s);
    default: return case_of(s, how);
    }
}

bool param_transform(param *pm, values *o)
{
    char how = (char)pm->transform, letters[16];
    bool array = o->var && o->var->flags & (V_ARRAY | V_ASSOC);
    if (!strchr("UuLQEPAKak", how)) {
        if (!o->n) return true;
        sh_report("%s: bad substitution", pm->text);
        sh_die();
        return false;
    }
    if (how == 'a') {
        if (!o->var) {
            for (size_t i = 0; i < o->n && o->list; i++) {
                if (i == 0) o->v = arena_alloc(&sh.tmp, (o->n + 1) * sizeof(char *));
                o->v[i] = "";
            }
            if (!o->list) o->n = 0;
            return true;
        }
        attribute_letters(o->var, letters);
        size_t n = o->list && o->n ? o->n : 1;
        o->v = arena_alloc(&sh.tmp, (n + 1) * sizeof(char *));
        for (size_t i = 0; i < n; i++) o->v[i] = arena_strdup(&sh.tmp, letters);
        o->n = n;
        return true;
    }
    if (how == 'A' && o->var && (o->n || array || *attribute_letters(o->var, letters))) {
        char *text = o->list || !array ? assignment(o->slot, o->var, o->n ? o->v[0] : NULL) : NULL;
        if (!text) {   /* one element of an array */
            strbuf b = { .a = &sh.tmp };
            attribute_letters(o->var, letters);
            sb_printf(&b, "declare -%s %s=", letters, o->slot->name);
            if (o->n) quote_single(&b, o->v[0]); else b.len--;
            text = sb_str(&b);
        }
        o->list = 0;
        o->v = arena_alloc(&sh.tmp, sizeof(char *));
        o->v[0] = text;
        o->n = 1;
        return true;
    }
    if (how == 'A' && pm->special && o->list) {
        strbuf b = { .a = &sh.tmp };
        sb_puts(&b, "set --");
        for (size_t i = 0; i < o->n; i++) { sb_putc(&b, ' '); quote_single(&b, o->v[i]); }
        o->v = arena_alloc(&sh.tmp, sizeof(char *));
        o->v[0] = sb_str(&b);
        o->n = 1;
        o->list = 0;
        return true;
    }
    if (how == 'A' && pm->special) { o->n = 0; return true; }   /* nothing would assign it */
    if ((how == 'K' || how == 'k') && array && o->list) { key_values(o, how); return true; }
    char **v = arena_alloc(&sh.tmp, (o->n + 1) * sizeof(char *));
    for (size_t i = 0; i < o->n; i++) v[i] = transform_one(how, o->v[i]);
    o->v = v;
    return true;
}
