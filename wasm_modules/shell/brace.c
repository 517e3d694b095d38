/* brace.c - brace expansion: a{b,c}d and {1..10..2}.
 *
 * It comes before every other expansion and works on the word as written: on the characters of its unquoted literals, with
 * everything else (quotes, $...) as opaque pieces that are copied along. The number of results is capped.
 */
#include "sh.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RESULTS = 4000000, MAX_DEPTH = 60 };

typedef struct { char c; part *opaque; } unit;          /* one character, or one part */
typedef struct { unit *v; size_t n; } units;
typedef struct { units *v; size_t n, cap; } results;

static void add_result(results *r, units u)
{
    if (r->n == r->cap) {
        size_t cap = r->cap ? r->cap * 2 : 4;
        r->v = arena_grow(&sh.tmp, r->v, r->cap * sizeof *r->v, cap * sizeof *r->v);
        r->cap = cap;
    }
    r->v[r->n++] = u;
}

static units joined(units a, units b, units c)
{
    units u = { arena_alloc(&sh.tmp, (a.n + b.n + c.n + 1) * sizeof(unit)), a.n + b.n + c.n };
    if (a.n) memcpy(u.v, a.v, a.n * sizeof(unit));
    if (b.n) memcpy(u.v + a.n, b.v, b.n * sizeof(unit));
    if (c.n) memcpy(u.v + a.n + b.n, c.v, c.n * sizeof(unit));
    return u;
}

static units from_text(const char *s)
{
    size_t n = strlen(s);
    units u = { arena_alloc(&sh.tmp, (n + 1) * sizeof(unit)), n };
    for (size_t i = 0; i < n; i++) u.v[i].c = s[i];
    return u;
}

/* {x..y} or {x..y..step}: text between the braces. False when it is none. */
static bool sequence(units body, results *out)
{
    char text[96];
    if (body.n == 0 || body.n >= sizeof text) return false;
    for (size_t i = 0; i < body.n; i++) { if (body.v[i].opaque || !body.v[i].c) return false; text[i] = body.v[i].c; }
    text[body.n] = 0;
    char *dots = strstr(text + 1, "..");
    if (!dots) return false;
    *dots = 0;
    char *second = dots + 2, *third = strstr(second + (*second != 0), "..");
    if (third) { *third = 0; third += 2; }
    char *end;
    int64_t a, b, step = 1;
    bool chars = false;
    if (third) {
        step = strtoll(third, &end, 10);
        if (*end || end == third) return false;
        if (step < 0) step = step == INT64_MIN ? INT64_MAX : -step;
        if (step == 0) step = 1;
    }
    if (isalpha((unsigned char)text[0]) && !text[1] && isalpha((unsigned char)second[0]) && !second[1]) {
        chars = true;
        a = text[0];
        b = second[0];
    } else {
        a = strtoll(text, &end, 10);
        if (*end || end == text) return false;
        b = strtoll(second, &end, 10);
        if (*end || end == second) return false;
    }
    int width = 0;
    if (!chars) {
        const char *p = text[0] == '-' ? text + 1 : text, *q = second[0] == '-' ? second + 1 : second;
        if ((p[0] == '0' && p[1]) || (q[0] == '0' && q[1]))
            width = (int)(strlen(text) > strlen(second) ? strlen(text) : strlen(second));
    }
    uint64_t span = a < b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b;
    if (span / (uint64_t)step > MAX_RESULTS) { sh_error("brace expansion: too many results"); sh_fail(1); return true; }
    for (uint64_t k = 0, count = span / (uint64_t)step; k <= count; k++) {
        int64_t v = a < b ? a + (int64_t)(k * (uint64_t)step) : a - (int64_t)(k * (uint64_t)step);
        strbuf s = { .a = &sh.tmp };
        if (chars && v == '\\') {   /* it quotes nothing, and goes: {Z..a} */
            static part nothing = { .kind = P_LIT, .quoted = 1, .u.lit = { "", 0 } };
            units u = { arena_alloc(&sh.tmp, sizeof(unit)), 1 };
            u.v[0].opaque = &nothing;
            add_result(out, u);
            continue;
        }
        if (chars) sb_putc(&s, (char)v); else sb_printf(&s, "%0*lld", width, (long long)v);
        add_result(out, from_text(sb_str(&s)));
    }
    return true;
}

static void expand_units(units u, results *out, int depth);

/* Every combination prefix x middle x (expansions of the rest). */
static void combine(units prefix, results *middle, units rest, results *out, int depth)
{
    results tails = { 0 };
    expand_units(rest, &tails, depth + 1);
    for (size_t i = 0; i < middle->n; i++)
        for (size_t j = 0; j < tails.n; j++) {
            if (out->n > MAX_RESULTS) return;
            add_result(out, joined(prefix, middle->v[i], tails.v[j]));
        }
}

/* How many braces a part leaves open, as text: ${x:-{1,2} has one more than it closes. */
static size_t left_open(const part *p)
{
    size_t opened = 0, closed = 0;
    if (!p || p->kind != P_PARAM) return 0;
    for (const char *s = p->u.param->text; *s; s++) { opened += *s == '{'; closed += *s == '}'; }
    return opened > closed ? opened - closed : 0;
}

/* The index of the brace that closes the one at open, 0 when there is none: before it comes a comma, or .. and not the end. */
static size_t closing(units u, size_t open, bool *comma)
{
    size_t level = 0;
    bool parts = false;
    *comma = false;
    for (size_t i = open + 1; i < u.n; i++) {
        char c = u.v[i].c, next = i + 1 < u.n ? u.v[i + 1].c : 0, then = i + 2 < u.n ? u.v[i + 2].c : 0;
        level += left_open(u.v[i].opaque);
        if (c == '}' && level == 0 && parts) return i;
        if (c == '{') level++;
        else if (c == '}' && level) level--;
        else if (c == ',') { *comma = true; parts = parts || level == 0; }
        else if (c == '.' && next == '.' && then != '}' && level == 0) parts = true;
    }
    return 0;
}

static void expand_units(units u, results *out, int depth)
{
    for (size_t open = 0; open < u.n && depth < MAX_DEPTH; open++) {
        if (u.v[open].c != '{') continue;
        if ((open > 0 && u.v[open - 1].c == '$') || (open + 1 < u.n && u.v[open + 1].c == '}')) continue;
        bool comma;
        size_t close = closing(u, open, &comma);
        if (!close) continue;
        units prefix = { u.v, open }, rest = { u.v + close + 1, u.n - close - 1 }, body = { u.v + open + 1, close - open - 1 };
        results middle = { 0 };
        if (comma) {
            size_t from = 0, level = 0;
            for (size_t i = 0; i <= body.n; i++) {
                if (i < body.n && body.v[i].c == '{') level++;
                if (i < body.n && body.v[i].c == '}' && level) level--;
                if (i == body.n || (body.v[i].c == ',' && level == 0)) {
                    expand_units((units){ body.v + from, i - from }, &middle, depth + 1);
                    from = i + 1;
                }
            }
        } else if (!sequence(body, &middle)) {
            continue;
        }
        combine(prefix, &middle, rest, out, depth);
        return;
    }
    add_result(out, u);
}

/* $x right before text that expansion put there: as text, the name goes on: {a,b}$x{c,d} has $xc and $xd. */
static void lengthen_name(part *p, units u, size_t *i)
{
    param *pm = p->u.param;
    if (p->kind != P_PARAM || pm->special || pm->text != pm->name || p->quoted) return;
    strbuf b = { .a = &sh.tmp };
    sb_puts(&b, pm->name);
    while (*i < u.n && !u.v[*i].opaque && (isalnum((unsigned char)u.v[*i].c) || u.v[*i].c == '_')) sb_putc(&b, u.v[(*i)++].c);
    if (b.len == strlen(pm->name)) return;
    param *longer = arena_alloc(&sh.tmp, sizeof *longer);
    *longer = *pm;
    longer->name = longer->text = sb_str(&b);
    longer->slot = slot_of(longer->name);
    p->u.param = longer;
}

static word *word_from(word *like, units u)
{
    word *w = arena_alloc(&sh.tmp, sizeof *w);
    *w = *like;
    w->parts = NULL;
    w->flags &= (uint8_t)~(W_BRACE | W_PLAIN);
    part **tail = &w->parts;
    for (size_t i = 0; i < u.n;) {
        part *p = arena_alloc(&sh.tmp, sizeof *p);
        if (u.v[i].opaque) { *p = *u.v[i++].opaque; p->next = NULL; lengthen_name(p, u, &i); }
        else {
            strbuf b = { .a = &sh.tmp };
            while (i < u.n && !u.v[i].opaque) sb_putc(&b, u.v[i++].c);
            p->u.lit.text = sb_str(&b);
            p->u.lit.len = b.len;
        }
        *tail = p;
        tail = &p->next;
    }
    return w;
}

word **brace_expand(word *w, int *n)
{
    size_t total = 0, k = 0;
    for (part *p = w->parts; p; p = p->next) total += p->kind == P_LIT && !p->quoted ? p->u.lit.len : 1;
    units u = { arena_alloc(&sh.tmp, (total + 1) * sizeof(unit)), total };
    for (part *p = w->parts; p; p = p->next) {
        if (p->kind == P_LIT && !p->quoted) for (size_t i = 0; i < p->u.lit.len; i++) u.v[k++].c = p->u.lit.text[i];
        else u.v[k++].opaque = p;
    }
    results out = { 0 };
    expand_units(u, &out, 0);
    word **many = arena_alloc(&sh.tmp, (out.n + 1) * sizeof *many);
    *n = 0;
    for (size_t i = 0; i < out.n; i++) {
        word *one = word_from(w, out.v[i]);
        if (one->parts) many[(*n)++] = one;   /* {,} alone gives nothing */
    }
    return many;
}
