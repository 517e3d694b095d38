/* arith_parse.c - arithmetic text to a tree, by precedence climbing. Recursion is bounded by MAX_DEPTH.
 *
 * Bash evaluates while it reads, so what stands before a mistake has happened when it is told. A mistake is therefore a node
 * (A_FAIL) in the place where bash would notice it, and nothing is read behind it.
 */
#include "arith.h"
#include <ctype.h>
#include <string.h>

enum { MAX_DEPTH = 150 };
typedef struct {
    arena *a;
    const char *s;               /* what is left */
    const char *tok;             /* start of the last operand or operator looked at */
    const char *op;              /* start of the last operator taken, which is the error token when the text ends behind it */
    const char *close;           /* the last ) taken */
    param **params; int nparams, used;
    const char *error;
    const char *where;
    int depth;
} ap;

static anode *assignment(ap *p);

static void blanks(ap *p) { while (isspace((unsigned char)*p->s)) p->s++; }

static anode *make(ap *p, int op, anode *a, anode *b)
{
    anode *n = arena_alloc(p->a, sizeof *n);
    n->op = (uint8_t)op;
    n->a = a;
    n->b = b;
    n->at = p->tok;
    return n;
}

/* The first mistake counts. */
static anode *fail(ap *p, const char *message, const char *where)
{
    if (!p->error) { p->error = message; p->where = where; }
    anode *n = make(p, A_FAIL, NULL, NULL);
    n->message = p->error;
    n->at = p->where;
    return n;
}

/* A mistake that is noticed after n was evaluated, or was made where n evaluates nothing: behind 0 &&. */
static anode *fail_after(ap *p, anode *n, const char *message, const char *where)
{
    return make(p, A_COMMA, n, fail(p, message, where));
}

/* The token that was read last: the next one, or when the text is over the one before. */
static const char *last_token(ap *p)
{
    blanks(p);
    return *p->s ? p->s : p->close > p->tok ? p->close : p->tok;
}

static anode *comma_list(ap *p)
{
    anode *n = assignment(p);
    for (blanks(p); !p->error && *p->s == ','; blanks(p)) {
        p->op = p->s++;
        n = make(p, A_COMMA, n, assignment(p));
    }
    return n;
}

static const char TOO_GREAT[] = "value too great for base", BAD_BASE[] = "invalid arithmetic base";
static const char BAD_NUMBER[] = "invalid number", BAD_CONSTANT[] = "invalid integer constant";

bool is_number_error(const char *message)
{
    return message == TOO_GREAT || message == BAD_BASE || message == BAD_NUMBER || message == BAD_CONSTANT;
}

size_t arith_number_length(const char *s)
{
    size_t k = 0;
    while (isalnum((unsigned char)s[k]) || s[k] == '#' || s[k] == '@' || s[k] == '_') k++;
    return k;
}

bool arith_number(const char *s, size_t n, int64_t *out, const char **error)
{
    uint64_t base = 10, v = 0;
    size_t i = 0;
    const char *hash = memchr(s, '#', n);
    if (hash) {
        base = 0;
        for (; s + i < hash; i++) {
            if (!isdigit((unsigned char)s[i])) {
                *error = BAD_NUMBER;
                return false;
            }
            base = base * 10 + (uint64_t)(s[i] - '0');
            if (base > 64) break;
        }
        if (base < 2 || base > 64) { *error = BAD_BASE; return false; }
        i = (size_t)(hash - s) + 1;
        if (i == n) { *error = BAD_CONSTANT; return false; }
    } else if (s[0] == '0' && n > 1 && (s[1] == 'x' || s[1] == 'X')) { base = 16; i = 2; }
    else if (s[0] == '0' && n > 1) { base = 8; i = 1; }
    for (; i < n; i++) {
        char c = s[i];
        unsigned d = isdigit((unsigned char)c) ? (unsigned)(c - '0') : c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') + 10 :
                     c >= 'A' && c <= 'Z' ? (unsigned)(c - 'A') + (base <= 36 ? 10 : 36) : c == '@' ? 62 : c == '_' ? 63 : 99;
        if (d >= base) { *error = d == 99 ? BAD_NUMBER : TOO_GREAT; return false; }
        v = v * base + d;
    }
    *out = (int64_t)v;
    return true;
}

static anode *variable(ap *p)
{
    anode *n = make(p, A_VAR, NULL, NULL);
    size_t k = name_len(p->s);
    char *name = arena_strndup(p->a, p->s, k);
    n->slot = slot_of(name);
    p->s += k;
    if (*p->s != '[') return n;
    const char *from = p->s + 1, *q = from;
    int depth = 0;
    char quote = 0;
    for (; *q; q++) {
        if (quote) { if (*q == quote) quote = 0; continue; }
        if (*q == '\\' && q[1]) { q++; continue; }
        if (*q == '"' || *q == '\'') { const char *close = strchr(q + 1, *q); if (close) quote = *q; continue; }
        if (*q == '[') depth++;
        else if (*q == ']' && depth-- == 0) break;
    }
    if (!*q) return fail(p, "bad array subscript", p->tok);
    n->sub = arena_strndup(p->a, from, (size_t)(q - from));
    if (strchr(n->sub, '$') || strchr(n->sub, '`')) { if (p->params) return fail(p, "text", from); }
    else if (p->depth < MAX_DEPTH) {
        const char *error = NULL, *where;
        anode *index = arith_tree(p->a, n->sub, NULL, 0, &error, &where);
        n->index = error ? NULL : index;
    }
    p->s = q + 1;
    return n;
}

static anode *primary(ap *p)
{
    blanks(p);
    p->tok = p->s;
    if (*p->s == '(') {
        p->s++;
        if (++p->depth > MAX_DEPTH) return fail(p, "expression recursion level exceeded", p->tok);
        anode *n = comma_list(p);
        p->depth--;
        if (*p->s != ')' || p->error) return fail_after(p, n, "missing `)'", last_token(p));
        p->close = p->s++;
        return n->op == A_VAR ? make(p, A_POS, n, NULL) : n;   /* (x) is no variable any more */
    }
    if (isdigit((unsigned char)*p->s)) {
        size_t k = arith_number_length(p->s);
        anode *n = make(p, A_NUM, NULL, NULL);
        const char *error;
        if (!arith_number(p->s, k, &n->num, &error)) return fail(p, error, p->tok);
        p->s += k;
        return n;
    }
    if (*p->s == '$' && p->params && p->used < p->nparams) {
        param *pm = p->params[p->used++];
        size_t k = 1;
        if (p->s[1] == '{') {
            const char *close = strchr(p->s, '}');
            if (!close) return fail(p, "text", p->s);
            k = (size_t)(close - p->s) + 1;
        } else if (isalpha((unsigned char)p->s[1]) || p->s[1] == '_') k += name_len(p->s + 1);
        else k = 2;
        anode *n = make(p, A_TEXT, NULL, NULL);
        n->text = pm;
        p->s += k;
        if (isalnum((unsigned char)*p->s) || *p->s == '_' || *p->s == '#' || *p->s == '$' || *p->s == '[')
            return fail(p, "text", p->s);
        return n;
    }
    if (name_len(p->s)) return variable(p);
    return fail(p, "syntax error: operand expected", *p->s || !p->op ? p->tok : p->op);
}

static bool is_lvalue(anode *n) { return n && n->op == A_VAR; }

/* ++x or --x, which is one operator also behind an operand. */
static bool steps(const char *s)
{
    if ((*s != '+' && *s != '-') || s[1] != *s) return false;
    for (s += 2; isspace((unsigned char)*s);) s++;
    return name_len(s) > 0;
}

/* An operand is evaluated when the token behind it has been read: one that is none comes first. */
static anode *look_ahead(ap *p, anode *n)
{
    const char *q = p->s, *error;
    int64_t value;
    while (isspace((unsigned char)*q)) q++;
    if (isdigit((unsigned char)*q)) return arith_number(q, arith_number_length(q), &value, &error) ? n : fail(p, error, q);
    if (!*q || isalpha((unsigned char)*q) || strchr("_=+-*/%<>!&|^?:,()~", *q)) return n;
    bool closed = p->close && p->close + 1 == p->s;
    return fail(p, closed ? "syntax error: operand expected" : "syntax error: invalid arithmetic operator", q);
}

static anode *unary(ap *p)
{
    blanks(p);
    p->tok = p->s;
    if (++p->depth > MAX_DEPTH) return fail(p, "expression recursion level exceeded", p->s);
    char c = *p->s;
    anode *n;
    const char *at = p->s;
    if (steps(p->s)) {
        p->s += 2;
        n = unary(p);
        if (!is_lvalue(n)) n = fail_after(p, n, "syntax error: operand expected", at);
        else n = make(p, c == '+' ? A_PRE_INC : A_PRE_DEC, n, NULL);
        p->depth--;
        return n;
    }
    if (c == '+' || c == '-' || c == '!' || c == '~') {
        p->op = p->s++;
        n = unary(p);
        n = make(p, c == '+' ? A_POS : c == '-' ? A_NEG : c == '!' ? A_NOT : A_INV, n, NULL);
        n->at = at;
        p->depth--;
        return n;
    }
    n = primary(p);
    if (!p->error) {
        const char *q = p->s;
        while (isspace((unsigned char)*q)) q++;
        if ((q[0] == '+' || q[0] == '-') && q[1] == q[0] && is_lvalue(n)) {
            p->s = q + 2;
            n = make(p, q[0] == '+' ? A_POST_INC : A_POST_DEC, n, NULL);
        }
        n = look_ahead(p, n);
    }
    p->depth--;
    return n;
}

static anode *power(ap *p)
{
    anode *n = unary(p);
    blanks(p);
    if (p->error || p->s[0] != '*' || p->s[1] != '*') return n;
    p->op = p->s;
    p->s += 2;
    if (++p->depth > MAX_DEPTH) return fail(p, "expression recursion level exceeded", p->s);
    anode *r = power(p);
    p->depth--;
    n = make(p, A_POW, n, r);
    n->at = last_token(p);
    return n;
}

/* The binary operator at s with its level (higher binds tighter), 0 when there is none or it is an assignment. */
static int binary_at(const char *s, int *op, size_t *n)
{
    static const struct { char t[3]; uint8_t op, level;
    } ops[] = { { "<<", A_SHL, 8 }, { ">>", A_SHR, 8 },  { "<=", A_LE, 7 },  { ">=", A_GE, 7 },  { "==", A_EQ, 6 },
                { "!=", A_NE, 6 },  { "&&", A_LAND, 2 }, { "||", A_LOR, 1 }, { "*", A_MUL, 10 }, { "/", A_DIV, 10 },
                { "%", A_MOD, 10 }, { "+", A_ADD, 9 },   { "-", A_SUB, 9 },  { "<", A_LT, 7 },   { ">", A_GT, 7 },
                { "&", A_AND, 5 },  { "^", A_XOR, 4 },   { "|", A_OR, 3 } };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        size_t k = strlen(ops[i].t);
        if (strncmp(s, ops[i].t, k)) continue;
        bool assigns = s[k] == '=' && ops[i].op != A_LE && ops[i].op != A_GE && ops[i].op != A_EQ && ops[i].op != A_NE &&
                       ops[i].op != A_LAND && ops[i].op != A_LOR && ops[i].op != A_LT && ops[i].op != A_GT;
        if (assigns) return 0;
        *op = ops[i].op;
        *n = k;
        return ops[i].level;
    }
    return 0;
}

static anode *binary(ap *p, int min)
{
    anode *left = power(p);
    while (!p->error) {
        blanks(p);
        int op;
        size_t n;
        int level = binary_at(p->s, &op, &n);
        if (level == 0 || level < min || steps(p->s)) break;
        p->tok = p->op = p->s;
        p->s += n;
        if (++p->depth > MAX_DEPTH) return fail(p, "expression recursion level exceeded", p->s);
        blanks(p);
        const char *at = p->s;
        anode *right = binary(p, level + 1);
        p->depth--;
        left = make(p, op, left, right);
        left->at = at;
        if (p->error && (op == A_LAND || op == A_LOR)) left = fail_after(p, left, p->error, p->where);
    }
    return left;
}

static anode *ternary(ap *p)
{
    anode *n = binary(p, 1);
    blanks(p);
    if (p->error || *p->s != '?') return n;
    p->tok = p->s++;
    if (++p->depth > MAX_DEPTH) return fail(p, "expression recursion level exceeded", p->s);
    blanks(p);
    if (*p->s == ':' || !*p->s) return fail_after(p, n, "expression expected", *p->s ? p->s : p->tok);
    n = make(p, A_COND, n, comma_list(p));
    if (p->error || *p->s != ':') n->c = fail(p, "`:' expected for conditional expression", last_token(p));
    else {
        p->tok = p->s++;
        blanks(p);
        n->c = *p->s ? ternary(p) : fail(p, "expression expected", p->tok);
    }
    p->depth--;
    return p->error ? fail_after(p, n, p->error, p->where) : n;
}

static anode *assignment(ap *p)
{
    anode *n = ternary(p);
    blanks(p);
    if (p->error) return n;
    static const struct {
        char t[4];
        uint8_t op;
    } ops[] = { { "<<=", A_SHL }, { ">>=", A_SHR }, { "*=", A_MUL }, { "/=", A_DIV }, { "%=", A_MOD }, { "+=", A_ADD },
                { "-=", A_SUB },  { "&=", A_AND },  { "^=", A_XOR }, { "|=", A_OR },  { "=", 0 } };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        size_t k = strlen(ops[i].t);
        if (strncmp(p->s, ops[i].t, k) || (!ops[i].op && p->s[1] == '=')) continue;
        if (!is_lvalue(n)) return fail_after(p, n, "attempted assignment to non-variable", p->s);
        p->op = p->s;
        p->s += k;
        if (++p->depth > MAX_DEPTH) return fail(p, "expression recursion level exceeded", p->s);
        anode *value = assignment(p);
        p->depth--;
        anode *set = make(p, A_ASSIGN, n, value);
        set->at = value->at;
        set->assign_op = ops[i].op;
        return set;
    }
    return n;
}

anode *arith_tree(arena *a, const char *text, param **params, int nparams, const char **error, const char **where)
{
    ap p = { .a = a, .s = text, .tok = text, .params = params, .nparams = nparams };
    *error = NULL;
    blanks(&p);
    if (!*p.s) return NULL;
    anode *n = comma_list(&p);
    if (!p.error && *p.s) {
        bool op = strchr("=+-*/%<>&|^?,", *p.s) && !steps(p.s);
        n = fail_after(&p, n, op ? "syntax error: operand expected" : "syntax error in expression", p.s);
    }
    *error = p.error;
    *where = p.where;
    return n;
}
