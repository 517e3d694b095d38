/* awk_exec.c - statements, user functions, and the run over rules and records. */
#include "awk.h"
#include "awk_call.h"
#include "awk_message.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Whether PROCINFO wants the program to go on after what failed on this file or command; ERRNO says what. */
static int is_nonfatal(awk *A, const astr *name) {
    cell *info = &A->vars[VAR_PROCINFO];
    int problem = errno;
    if (!A->uses_info || !(info->type & V_ARRAY)) return 0;
    astr *sep = cell_string(A, &A->vars[VAR_SUBSEP], 0), *own = astr_new(A, "NONFATAL", 8);
    char *text = tool_format(A->t, "%s%sNONFATAL", name->text, sep->text);
    astr *key = astr_new(A, text, strlen(text));
    int yes = amap_get(A, info->arr, own, 0) || amap_get(A, info->arr, key, 0);
    astr_unref(A, sep);
    astr_unref(A, own);
    astr_unref(A, key);
    if (yes) awk_errno_set(A, problem);
    return yes;
}

/* Where print goes; NULL when the write must be dropped. */
static astream *redirection(awk *A, anode *n, io **to) {
    *to = A->t->out;
    if (!n->op) return NULL;
    astr *name = awk_eval_string(A, n->b);
    if (A->is_sandboxed) awk_fatal(A, "redirection not allowed in sandbox mode");
    if (!name->n) {
        awk_fatal(A, "expression for `%s' redirection has null string value",
            n->op == 'a'   ? ">>"
            : n->op == '|' ? "|"
            : n->op == '&' ? "|&"
                           : ">");
        *to = NULL;
        astr_unref(A, name);
        return NULL;
    }
    astream *closed = n->op == '&' ? awk_stream_find(A, name, 'p', 0) : NULL, *s = NULL;
    if (closed && closed->write_closed) {
        errno = EBADF;
        if (!is_nonfatal(A, name))
            awk_fatal(A, "%s: attempt to write to closed write end of two-way pipe", n->kind == S_PRINT ? "print" : "printf");
    } else if (!A->fatal && !(s = awk_stream_find(A, name, n->op, 1)) && !is_nonfatal(A, name))
        awk_fatal(A, "cannot redirect to `%s': %s", name->text, strerror(errno));
    *to = s ? s->s : NULL;
    astr_unref(A, name);
    return s;
}

static int print(awk *A, anode *n) {
    io *to;
    buffer b = {.t = A->t};
    if (n->kind == S_PRINTF) {
        cell fixed[16], *args = n->count <= 16 ? fixed : tool_alloc(A->t, (size_t)n->count * sizeof *args);
        int i = 0;
        for (anode *e = n->a; e && i < n->count; e = e->next) args[i++] = awk_eval(A, e);
        astr *format = cell_string(A, &args[0], 0), *text = awk_format_text(A, format, args + 1, i - 1);
        redirection(A, n, &to);
        int failed = to && !A->fatal ? io_write(to, text->text, text->n) : -1;
        astr_unref(A, format);
        astr_unref(A, text);
        while (i--) cell_drop(A, args[i]);
        if (args != fixed) tool_free(A->t, args);
        return failed;
    }
    astr *ofs = cell_string(A, &A->vars[VAR_OFS], 0), *ors = cell_string(A, &A->vars[VAR_ORS], 0);
    if (!n->count) {
        cell record = awk_record_cell(A);
        buffer_add(&b, record.str->text, record.str->n);
        cell_drop(A, record);
    } else {
        int i = 0;
        for (anode *e = n->a; e && i < n->count; e = e->next, i++) {
            cell c = awk_eval(A, e);
            astr *s = cell_string(A, &c, 1);
            if (i) buffer_add(&b, ofs->text, ofs->n);
            buffer_add(&b, s->text, s->n);
            astr_unref(A, s);
            cell_drop(A, c);
        }
    }
    buffer_add(&b, ors->text, ors->n);
    astr_unref(A, ofs);
    astr_unref(A, ors);
    redirection(A, n, &to);
    int failed = to && !A->fatal ? io_write(to, b.p, b.n) : -1;
    buffer_free(&b);
    return failed;
}

static int for_in(awk *A, anode *n) {
    array *a = awk_eval_array(A, n->b);
    if (!a) return RUN_EXIT;
    int count, run = RUN_ON;
    a->refs++;
    astr **keys = amap_keys(A, a, &count);
    cell *info = &A->vars[VAR_PROCINFO];
    if (info->type & V_ARRAY) {
        astr *k = astr_new(A, "sorted_in", 9);
        cell *how = amap_get(A, info->arr, k, 0);
        astr_unref(A, k);
        if (how && how->type & V_STR && strcmp(how->str->text, "@unsorted")) awk_keys_sort(A, a, keys, count, how->str->text);
    }
    for (int i = 0; i < count; i++) {
        if (run != RUN_ON && run != RUN_CONTINUE) { astr_unref(A, keys[i]); continue; }
        int special;
        if (!amap_get(A, a, keys[i], 0)) { astr_unref(A, keys[i]); continue; }
        cell *place = awk_eval_place(A, n->a, &special);
        if (!place) run = RUN_EXIT;
        else {
            cell_drop(A, *place);
            *place = cell_str(astr_ref(keys[i]));
            if (special >= 0) awk_place_assigned(A, n->a, special);
            run = awk_exec(A, n->c);
        }
        astr_unref(A, keys[i]);
    }
    tool_free(A->t, keys);
    amap_drop(A, a);
    return run == RUN_BREAK || run == RUN_CONTINUE ? RUN_ON : run;
}

static int loop(awk *A, anode *n) {
    int run;
    if (n->kind == S_FOR && n->a && (run = awk_exec(A, n->a)) != RUN_ON) return run;
    anode *test = n->kind == S_FOR ? n->b : n->a, *body = n->kind == S_FOR ? n->d : n->b;
    int first = n->kind == S_DO;
    for (;;) {
        if (!first && test && !awk_eval_true(A, test)) return RUN_ON;
        first = 0;
        if (A->fatal) return RUN_EXIT;
        run = awk_exec(A, body);
        if (run == RUN_BREAK) return RUN_ON;
        if (run != RUN_ON && run != RUN_CONTINUE) return run;
        if (n->kind == S_FOR && n->c && (run = awk_exec(A, n->c)) != RUN_ON) return run;
    }
}

static int switch_on(awk *A, anode *n) {
    cell value = awk_eval(A, n->a);
    anode *start = NULL, *otherwise = NULL;
    for (anode *k = n->b; k && !start; k = k->next) {
        if (!k->a) { otherwise = k; continue; }
        if (k->a->kind == E_REGEX) {
            astr *s = cell_string(A, &value, 0);
            if (regex_test(k->a->re, s->text, s->n) > 0) start = k;
            astr_unref(A, s);
        } else {
            cell c = awk_eval(A, k->a);
            int both = cell_is_number(&value) == cell_is_number(&c);
            if (both && cell_compare(A, &value, &c) == 0) start = k;
            cell_drop(A, c);
        }
    }
    cell_drop(A, value);
    for (anode *k = start ? start : otherwise; k; k = k->next)
        for (anode *s = k->b; s; s = s->next) {
            int run = awk_exec(A, s);
            if (run == RUN_BREAK) return RUN_ON;
            if (run != RUN_ON) return run;
        }
    return RUN_ON;
}

static int leave(awk *A, anode *n) {
    if (n->kind == S_RETURN) {
        cell v = n->a ? awk_eval(A, n->a) : (cell){0};
        cell_drop(A, A->returned);
        A->returned = v;
        return RUN_RETURN;
    }
    if (n->a) {
        double code = awk_eval_number(A, n->a);
        if (!A->fatal) A->exit_code = (int)code & 255;
    }
    A->exiting = 1;
    return RUN_EXIT;
}

static int is_table(awk *A, const array *a) {
    int is_symtab = a == A->vars[VAR_SYMTAB].arr;
    if (!is_symtab && a != A->vars[VAR_FUNCTAB].arr) return 0;
    awk_fatal(A, "`delete' is not allowed with %s", is_symtab ? "SYMTAB" : "FUNCTAB");
    return 1;
}

static int delete_element(awk *A, anode *n) {
    if (n->kind == E_INDEX) {
        array *a = awk_eval_array(A, n->a);
        if (!a) return RUN_EXIT;
        if (is_table(A, a)) return RUN_EXIT;
        astr *key = awk_subscript(A, n->b);
        if (A->lint && !amap_get(A, a, key, 0))
            awk_lint(A, A->line, "delete: index `%s' not in array `%s'", key->text, awk_name_of(A, n->a));
        amap_delete(A, a, key);
        astr_unref(A, key);
    } else {
        array *a = awk_eval_array(A, n);
        if (!a || is_table(A, a)) return RUN_EXIT;
        amap_clear(A, a);
    }
    return RUN_ON;
}

int awk_exec(awk *A, anode *n) {
    int run = RUN_ON;
    if (A->fatal || A->exiting) return RUN_EXIT;
    A->line = n->line;
    switch (n->kind) {
    case S_BLOCK: for (anode *s = n->a; s && run == RUN_ON; s = s->next) run = awk_exec(A, s); return run;
    case S_EXPR: cell_drop(A, awk_eval(A, n->a)); break;
    case S_PRINT:
    case S_PRINTF:
        if (print(A, n) < 0 && io_failed(A->t->out)) {
            A->exiting = 1;
            if (!A->exit_code) A->exit_code = 2;
        }
        break;
    case S_IF:
        if (awk_eval_true(A, n->a)) run = awk_exec(A, n->b); else if (n->c) run = awk_exec(A, n->c);
        break;
    case S_WHILE: case S_DO: case S_FOR: run = loop(A, n); break;
    case S_FORIN: run = for_in(A, n); break;
    case S_BREAK: return RUN_BREAK;
    case S_CONTINUE: return RUN_CONTINUE;
    case S_NEXT: return RUN_NEXT;
    case S_NEXTFILE: return RUN_NEXTFILE;
    case S_EXIT: case S_RETURN: return leave(A, n);
    case S_DELETE: run = delete_element(A, n->a); break;
    case S_SWITCH: run = switch_on(A, n); break;
    }
    return A->fatal || A->exiting ? RUN_EXIT : run;
}

/* THREAT: a program chooses its depth; the sandbox's stack is smaller than a process's. */
#ifdef __wasi__
enum { DEEPEST_CALL = 450 };
#else
enum { DEEPEST_CALL = 2000 };
#endif

afunc *awk_function_named(awk *A, const char *name) {
    for (int i = 0; i < A->func_count; i++) if (A->funcs[i].is_defined && !strcmp(A->funcs[i].name, name)) return &A->funcs[i];
    return NULL;
}

/* @name(...): the function that a variable names, the program's or a built-in one. */
static cell call_indirectly(awk *A, anode *n) {
    astr *name = awk_eval_string(A, n->b);
    anode call = *n;
    afunc *found = awk_function_named(A, name->text);
    int builtin = found ? -1 : awk_builtin_named(name->text, name->n);
    cell result = {0};
    if (found) {
        call.index = (int)(found - A->funcs);
        result = awk_call_function(A, &call);
    } else if (builtin >= 0 && awk_builtin_takes(builtin, n->count)) {
        call.kind = E_BUILTIN;
        call.index = builtin;
        result = awk_call_builtin(A, &call);
    } else if (builtin >= 0) awk_fatal(A, "%d is invalid as number of arguments for %s", n->count, name->text);
    else awk_fatal(A, "`%s' is not a function, so it cannot be called indirectly", name->text);
    astr_unref(A, name);
    return result;
}

/* Runs f with its parameters in frame, which it frees, as it does with elements (NULL: none). */
static cell run_frame(awk *A, afunc *f, cell *frame, aelement *elements) {
    cell *saved = A->locals, outer = A->returned;
    afunc *saved_of = A->locals_of;
    aframe here = {frame, elements, f, A->frame};
    A->frame = &here;
    A->locals = frame;
    A->locals_of = f;
    A->returned = (cell){0};
    int run = awk_exec(A, f->body);
    if (run == RUN_NEXT || run == RUN_NEXTFILE) { A->leaving = run; A->exiting = 1; }
    cell result = A->returned;
    A->returned = outer;
    A->locals = saved;
    A->locals_of = saved_of;
    A->frame = here.up;
    for (int i = 0; i < f->params; i++) {
        cell_drop(A, frame[i]);
        if (elements && elements[i].in) { amap_drop(A, elements[i].in); astr_unref(A, elements[i].key); }
    }
    tool_free(A->t, elements);
    tool_free(A->t, frame);
    A->depth--;
    return result;
}

cell awk_call_with(awk *A, afunc *f, const cell *args, int n) {
    cell *frame = tool_alloc(A->t, ((size_t)f->params + (size_t)n + 1) * sizeof *frame);
    memcpy(frame, args, (size_t)n * sizeof *frame);
    if (++A->depth > DEEPEST_CALL || tool_too_deep(A->t)) awk_fatal(A, "function `%s': call depth exceeded", f->name);
    return run_frame(A, f, frame, NULL);
}

/* The argument n, an element, for parameter i; one without a value is remembered, since f may make it an array. */
static void pass_element(awk *A, afunc *f, anode *n, int i, cell *parameter, aelement **elements) {
    array *in = awk_eval_array(A, n->a);
    if (!in) return;
    astr *key = awk_subscript(A, n->b);
    const cell *c = awk_array_cell(A, in, key, 1);
    if (c) *parameter = cell_copy(*c);
    if (!c || c->type != V_NONE) { astr_unref(A, key); return; }
    if (!*elements) *elements = tool_alloc(A->t, (size_t)f->params * sizeof **elements);
    in->refs++;
    (*elements)[i] = (aelement){in, key};
}

cell awk_call_function(awk *A, anode *n) {
    if (n->index < 0) return call_indirectly(A, n);
    afunc *f = &A->funcs[n->index];
    if (!f->is_defined) {
        awk_fatal(A, "function `%s' not defined", f->name);
        return cell_num(0);
    }
    if (n->count > f->params && !f->warned++) {
        awk_warn(A, n->line, "function `%s' called with more arguments than declared", f->name);
    }
    if (++A->depth > DEEPEST_CALL || tool_too_deep(A->t)) {
        A->depth--;
        awk_fatal(A, "function `%s': call depth exceeded", f->name);
        return cell_num(0);
    }
    cell *frame = tool_alloc(A->t, ((size_t)f->params + 1) * sizeof *frame);
    aelement *elements = NULL;
    int i = 0;
    for (anode *a = n->a; a; a = a->next, i++) {
        if (i >= f->params && (a->kind == E_VAR || a->kind == E_LOCAL)) continue;
        if (i >= f->params) { cell_drop(A, awk_eval(A, a)); continue; }
        cell *c = a->kind == E_VAR ? &A->vars[a->index] : a->kind == E_LOCAL ? &A->locals[a->index] : NULL;
        if (c && c->type & V_ARRAY) { frame[i] = (cell){.type = V_ARRAY, .arr = c->arr, .origin = c}; c->arr->refs++; }
        else if (c && c->type == V_NONE) frame[i] = (cell){.origin = c, .was_read = c->was_read};
        else if (a->kind == E_INDEX) pass_element(A, f, a, i, &frame[i], &elements);
        else frame[i] = awk_eval(A, a);
    }
    for (i = 0; i < f->params; i++) {               /* what a later argument made an array */
        cell *c = frame[i].type == V_NONE ? frame[i].origin : NULL;
        if (c && c->type & V_ARRAY) { frame[i] = (cell){.type = V_ARRAY, .arr = c->arr, .origin = c}; c->arr->refs++; }
    }
    cell result = run_frame(A, f, frame, elements);
    if (!A->fatal) A->line = n->line;
    return result;
}

static int run_kind(awk *A, int kind) {
    for (int i = 0; i < A->rule_count; i++) {
        arule *r = &A->rules[i];
        if (r->kind != kind || awk_exec(A, r->body) != RUN_EXIT) continue;
        if (A->leaving)
            awk_fatal(A, "`%s' cannot be called from a `%s' rule", A->leaving == RUN_NEXT ? "next" : "nextfile",
                kind == 'B' ? "BEGIN" : "END");
        return RUN_EXIT;
    }
    return RUN_ON;
}

static int rule_applies(awk *A, arule *r) {
    if (!r->pattern) return 1;
    if (!r->end) return awk_eval_true(A, r->pattern);
    if (!r->active) {
        if (!awk_eval_true(A, r->pattern)) return 0;
        r->active = 1;
    }
    if (awk_eval_true(A, r->end)) r->active = 0;
    return 1;
}

/* next or nextfile was said in a function: the rules go on as if it had been said in the action. */
static int left_function(awk *A) {
    int run = A->leaving;
    A->leaving = A->exiting = 0;
    return run;
}

static int run_record(awk *A) {
    anode whole = {.kind = S_PRINT};
    for (int i = 0; i < A->rule_count; i++) {
        arule *r = &A->rules[i];
        if (r->kind || !rule_applies(A, r)) {
            if (A->fatal) return RUN_EXIT;
            if (A->leaving) return left_function(A);
            continue;
        }
        int run = awk_exec(A, r->body ? r->body : &whole);
        if (A->leaving) return left_function(A);
        if (run == RUN_NEXT || run == RUN_NEXTFILE || run == RUN_EXIT) return run;
    }
    return RUN_ON;
}

int awk_run(awk *A) {
    int main = 0, end = 0;
    for (int i = 0; i < A->rule_count; i++) {
        if (A->rules[i].kind == 'E') end = 1;
        else if (A->rules[i].kind != 'B') main = 1;
    }
    held_start(&A->held, A->t);
    A->is_running = 1;
    int run = run_kind(A, 'B');
    while (run != RUN_EXIT && (main || end) && awk_record_next(A)) {
        run = run_record(A);
        if (run == RUN_NEXTFILE) awk_file_next(A);
    }
    if (!A->fatal) {
        /* exit in END stops; exit before it still runs END */
        A->exiting = 0;
        if (!io_failed(A->t->out)) run_kind(A, 'E');
    }
    awk_streams_close(A);
    if (A->real_out) awk_file_next(A);       /* an early exit: what was printed is the file */
    if (A->input) {
        size_t there;
        io_bytes(A->input->s, &there);
        io_skip(A->input->s, there);             /* gawk gives nothing back, from files neither */
        io_unref(A->input->s);
    }
    held_end(&A->held);
    if (io_failed(A->t->out) && !A->exit_code) A->exit_code = 2;
    return A->exit_code;
}
