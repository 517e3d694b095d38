/* regex_program.c - from tree to instructions, and what is known about a program before it runs. */
#include "regex_program.h"
#include "utf8.h"
#include <stdlib.h>
#include <string.h>

typedef struct { regex *r; int cap, failed, depth, *begins; } emitter; /* begins: of groups that are called, where they are */

static int emit(emitter *e, int op, int x, int y) {
    regex *r = e->r;
    if (e->failed) return 0;
    if (r->length >= REGEX_MOST_CODE) { e->failed = 1; return 0; }
    if (r->length == e->cap) {
        int cap = e->cap ? e->cap * 2 : 64;
        instruction *grown = realloc(r->code, (size_t)cap * sizeof *grown);
        if (!grown) { e->failed = 1; return 0; }
        r->code = grown;
        e->cap = cap;
    }
    r->code[r->length] = (instruction){.op = (unsigned char)op, .x = x, .y = y};
    return r->length++;
}

static void emit_node(emitter *e, const node *n);

static int nullable(const node *n, int depth) {
    if (depth > 1000) return 1;
    switch (n->kind) {
    case N_CHAR: case N_SET: case N_FAIL: return 0;
    case N_GROUP: case N_ATOMIC: return nullable(n->first, depth + 1);
    case N_REPEAT: return !n->min || nullable(n->first, depth + 1);
    case N_CAT: for (const node *k = n->first; k; k = k->next) if (!nullable(k, depth + 1)) return 0; return 1;
    case N_ALT: for (const node *k = n->first; k; k = k->next) if (nullable(k, depth + 1)) return 1; return 0;
    default: return 1;
    }
}

static void emit_char(emitter *e, const node *n) {
    char bytes[4];
    int c = n->value;
    if (c >= 0x110000) { emit(e, OP_BYTE, c - 0x110000, 0); return; }
    if (n->fold && (utf8_lower(c) != c || utf8_upper(c) != c)) {
        regex_set *set = regex_alloc(&e->r->memory, sizeof *set);
        if (!set) { e->failed = 1; return; }
        int low = utf8_lower(c), up = utf8_upper(c);
        regex_set_add(&e->r->memory, set, c, c);
        regex_set_add(&e->r->memory, set, low, low);
        regex_set_add(&e->r->memory, set, up, up);
        regex_set_finish(set, 0, 0);
        int at = emit(e, OP_SET, 0, 0);
        if (!e->failed) e->r->code[at].set = set;
        return;
    }
    int len = utf8_encode(c, bytes);
    for (int i = 0; i < len; i++) emit(e, OP_BYTE, (unsigned char)bytes[i], 0);
}

/* SPLIT whose preferred way is the next instruction, or the other one when lazy. Returns its place. */
static int emit_split(emitter *e) { return emit(e, OP_SPLIT, 0, 0); }

static void aim(emitter *e, int at, int body, int out, int lazy) {
    if (e->failed) return;
    e->r->code[at].x = lazy ? out : body;
    e->r->code[at].y = lazy ? body : out;
}

static void emit_star(emitter *e, const node *n) {
    int guard = nullable(n->first, 0), mark = 0;
    int loop = emit_split(e);
    if (guard) { mark = e->r->marks++; emit(e, OP_MARK, mark, 0); }
    emit_node(e, n->first);
    if (guard) emit(e, OP_CHECK, mark, 0);
    emit(e, OP_JUMP, loop, 0);
    aim(e, loop, loop + 1, e->r->length, n->lazy);
}

static void emit_repeat(emitter *e, const node *n) {
    for (int i = 0; i < n->min && !e->failed; i++) emit_node(e, n->first);
    if (n->max < 0) { emit_star(e, n); return; }
    int count = n->max - n->min;
    if (count <= 0) return;
    /* x{0,3} is (x(x(x)?)?)?: every split leads out to the same end */
    int first = -1, last = -1;
    for (int i = 0; i < count && !e->failed; i++) {
        int at = emit_split(e);
        if (e->failed) return;
        e->r->code[at].x = -1;
        e->r->code[at].y = last;
        last = at;
        if (first < 0) first = at;
        emit_node(e, n->first);
    }
    int out = e->r->length;
    while (last >= 0 && !e->failed) {
        int before = e->r->code[last].y;
        aim(e, last, last + 1, out, n->lazy);
        last = before;
    }
}

static void emit_alt(emitter *e, const node *n) {
    int jumps = -1;
    for (const node *k = n->first; k && !e->failed; k = k->next) {
        if (!k->next) { emit_node(e, k); break; }
        int at = emit_split(e);
        emit_node(e, k);
        int jump = emit(e, OP_JUMP, 0, jumps);
        jumps = jump;
        aim(e, at, at + 1, e->r->length, 0);
    }
    while (jumps >= 0 && !e->failed) {
        int before = e->r->code[jumps].y;
        e->r->code[jumps].x = e->r->length;
        e->r->code[jumps].y = 0;
        jumps = before;
    }
}

static void emit_body(emitter *e, const node *n, int op, int flag) {
    int at = emit(e, op, 0, 0);
    emit_node(e, n->first);
    emit(e, OP_MATCH, 0, 0);
    if (e->failed) return;
    e->r->code[at].x = e->r->length;
    e->r->code[at].flag = (unsigned char)flag;
}

static void emit_condition(emitter *e, const node *n) {
    int at = emit(e, OP_COND, n->value, 0);
    emit_node(e, n->first);
    int jump = emit(e, OP_JUMP, 0, 0);
    if (!e->failed) e->r->code[at].y = e->r->length;
    if (n->first->next) emit_node(e, n->first->next);
    if (!e->failed) e->r->code[jump].x = e->r->length;
}

static void emit_node(emitter *e, const node *n) {
    if (e->failed || ++e->depth > 2000) { e->failed = 1; return; }
    int at;
    switch (n->kind) {
    case N_EMPTY: break;
    case N_FAIL: emit(e, OP_FAIL, 0, 0); break;
    case N_CHAR: emit_char(e, n); break;
    case N_SET: at = emit(e, OP_SET, 0, 0); if (!e->failed) e->r->code[at].set = n->set; break;
    case N_CAT: for (const node *k = n->first; k; k = k->next) emit_node(e, k); break;
    case N_ALT: emit_alt(e, n); break;
    case N_REPEAT: emit_repeat(e, n); break;
    case N_GROUP:
        at = e->r->length;
        if (e->begins && n->value && e->begins[n->value] < 0) e->begins[n->value] = at;
        if (n->value) emit(e, OP_SAVE, n->value * 2, 0);
        emit_node(e, n->first);
        if (n->value) emit(e, OP_SAVE, n->value * 2 + 1, 0);
        if (e->begins && n->value) emit(e, OP_RETURN, n->value, 0);
        break;
    case N_ASSERT: emit(e, OP_ASSERT, n->value, 0); e->r->has_asserts = 1; break;
    case N_BACKREF: at = emit(e, OP_BACKREF, n->value, 0); if (!e->failed) e->r->code[at].flag = n->fold ? 4 : 0; break;
    case N_LOOK: emit_body(e, n, OP_LOOK, (n->negated ? 1 : 0) | (n->behind ? 2 : 0)); break;
    case N_ATOMIC: emit_body(e, n, OP_ATOMIC, 0); break;
    case N_KEEP: emit(e, OP_KEEP, 0, 0); break;
    case N_CALL: emit(e, OP_CALL, 0, n->value); break;
    case N_VERB: emit(e, OP_VERB, n->value, 0); break;
    case N_COND: emit_condition(e, n); break;
    }
    e->depth--;
}

/* Which bytes a match can begin with: a walk over everything reachable without consuming. */
static int find_first(regex *r) {
    unsigned char *seen = calloc((size_t)r->length, 1);
    int *stack = malloc(((size_t)r->length + 2) * 2 * sizeof *stack), top = 0;
    if (!seen || !stack) { free(seen); free(stack); return -1; }
    stack[top++] = 0;
    while (top) {
        int pc = stack[--top];
        if (seen[pc]) continue;
        seen[pc] = 1;
        const instruction *i = &r->code[pc];
        switch (i->op) {
        case OP_BYTE: r->first[i->x] = 1; break;
        case OP_SET:
            for (int c = 0; c < (utf8_bytes ? 256 : 128); c++) if (regex_set_has(i->set, c)) r->first[c] = 1;
            if (i->set->high && !utf8_bytes) for (int c = 0xC2; c < 0xF5; c++) r->first[c] = 1;
            break;
        case OP_SPLIT: stack[top++] = i->y; stack[top++] = i->x; break;
        case OP_JUMP: stack[top++] = i->x; break;
        case OP_LOOK: stack[top++] = i->x; break;
        case OP_BACKREF: case OP_MATCH: case OP_CALL: case OP_COND: r->any_first = 1; break;
        case OP_FAIL: break;
        case OP_ATOMIC: r->any_first = 1; break;
        default: stack[top++] = pc + 1;
        }
    }
    free(seen);
    free(stack);
    r->only_first = -1;
    int count = 0;
    for (int c = 0; c < 256; c++) if (r->first[c]) { r->only_first = c; count++; }
    if (count != 1 || r->any_first) r->only_first = -1;
    return 0;
}

/* The bytes every match begins with; when they are followed by the end, the pattern is that literal. */
static int find_prefix(regex *r) {
    r->prefix = malloc((size_t)r->length + 1);
    if (!r->prefix) return -1;
    int pc = 0;
    for (;; pc++) {
        const instruction *i = &r->code[pc];
        if (i->op == OP_BYTE) r->prefix[r->prefix_length++] = (char)i->x;
        else if (i->op != OP_SAVE) break;
    }
    r->prefix[r->prefix_length] = '\0';
    if (r->code[pc].op == OP_MATCH && r->prefix_length) { r->literal = r->prefix; r->literal_length = r->prefix_length; }
    return 0;
}

size_t regex_candidate(const regex *r, const char *text, size_t n, size_t at) {
    if (r->any_first) return at;
    if (r->prefix_length > 1 && at < n) {
        while (at + r->prefix_length <= n) {
            const char *p = memchr(text + at, r->prefix[0], n - at - r->prefix_length + 1);
            if (!p) return n + 1;
            at = (size_t)(p - text);
            if (!memcmp(p, r->prefix, r->prefix_length)) return at;
            at++;
        }
        return n + 1;
    }
    if (r->only_first >= 0) {
        const char *p = at < n ? memchr(text + at, r->only_first, n - at) : NULL;
        return p ? (size_t)(p - text) : n + 1;
    }
    while (at < n && !r->first[(unsigned char)text[at]]) at++;
    return at < n ? at : n + 1;
}

int regex_emit(regex *r, node *tree, regex_tree_info *info) {
    emitter e = {.r = r};
    r->has_calls = info->has_calls;
    if (r->has_calls) {
        e.begins = regex_alloc(&r->memory, ((size_t)info->groups + 1) * sizeof *e.begins);
        if (!e.begins) return -1;
        for (int g = 1; g <= info->groups; g++) e.begins[g] = -1;
    }
    emit_node(&e, tree);
    emit(&e, OP_MATCH, 0, 0);
    if (e.failed) return -1;
    for (int i = 0; i < r->length; i++) if (r->code[i].op == OP_CALL) r->code[i].x = e.begins[r->code[i].y];
    r->groups = info->groups;
    r->names = info->names;
    r->simple = !info->has_backrefs && !info->has_looks;
    r->longest = !(info->flags & REGEX_PERL) || info->flags & REGEX_LONGEST;
    int start = 0;
    while (r->code[start].op == OP_SAVE) start++;
    r->anchored = r->code[start].op == OP_ASSERT && r->code[start].x == A_TEXT_START;
    for (int i = 0; i < r->length; i++) {
        if (r->code[i].op == OP_SPLIT) r->code[i].flag = 0;
        if (r->code[i].op == OP_SPLIT) r->splits++;
    }
    return find_first(r) < 0 || find_prefix(r) < 0 ? -1 : 0;
}
