/* jq_outside.c - functions that know more than their input: the environment, messages, the end of the run, where inputs came
 * from. */
#include "jq.h"
#include <string.h>

static jv fn_env(jq *q, jv in, jv *args) {
    (void)args;
    jv_drop(&q->C, in);
    if (q->env.kind != J_OBJECT) {
        q->env = jv_object(&q->C);
        for (char **e = q->t->environ ? q->t->environ(q->t) : NULL; e && *e; e++) {
            size_t n = strcspn(*e, "=");
            if (!(*e)[n]) continue;
            jv key = jv_text(&q->C, *e, n);
            q->env = jv_set(&q->C, q->env, key.s, jv_cstr(&q->C, *e + n + 1));
            jv_drop(&q->C, key);
        }
    }
    return jv_copy(q->env);
}

static jv fn_debug(jq *q, jv in, jv *args) {
    (void)args;
    jv s = json_text(&q->C, in);
    io_printf(q->t->err, "[\"DEBUG:\",%s]\n", s.s->text);
    jv_drop(&q->C, s);
    return in;
}
static jv fn_stderr(jq *q, jv in, jv *args) {
    (void)args;
    jv s = in.kind == J_STRING ? jv_copy(in) : json_text(&q->C, in);
    io_write(q->t->err, s.s->text, s.s->n);
    jv_drop(&q->C, s);
    return in;
}
static jv fn_halt(jq *q, jv in, jv *args) {
    (void)args;
    jv_drop(&q->C, in);
    q->halted = 1;
    q->halt_code = 0;
    return jq_error(q, jv_null());
}
static jv fn_halt_error1(jq *q, jv in, jv *args) {
    if (!jv_is_number(args[0])) {
        jv_drop(&q->C, args[0]);
        return jq_refuse(q, in, "halt_error/1: number required");
    }
    q->halted = 1;
    q->halt_code = (int)jv_number(args[0]);
    jv_drop(&q->C, args[0]);
    jv s = in.kind == J_STRING ? jv_copy(in) : json_text(&q->C, in);
    if (in.kind != J_NULL) io_write(q->t->err, s.s->text, s.s->n);
    if (in.kind != J_STRING && in.kind != J_NULL) io_putc(q->t->err, '\n');
    jv_drop(&q->C, s);
    jv_drop(&q->C, in);
    return jq_error(q, jv_null());
}
static jv fn_halt_error0(jq *q, jv in, jv *args) { jv five = jv_num(5); (void)args; return fn_halt_error1(q, in, &five); }
static jv fn_input_filename(jq *q, jv in, jv *args) {
    (void)args;
    jv_drop(&q->C, in);
    return q->file_name ? jv_cstr(&q->C, q->file_name) : q->reading ? jv_cstr(&q->C, "<stdin>") : jv_null();
}
static jv fn_input_line_number(jq *q, jv in, jv *args) {
    (void)args;
    jv_drop(&q->C, in);
    return jv_num(jq_input_line(q));
}

jfunc *jq_outside_func(const char *name, int arity) {
    static const struct {
        const char *name;
        int arity;
        jfunc *fn;
    } table[] = {{"env", 0, fn_env}, {"debug", 0, fn_debug}, {"stderr", 0, fn_stderr}, {"halt", 0, fn_halt},
        {"halt_error", 0, fn_halt_error0}, {"halt_error", 1, fn_halt_error1}, {"input_filename", 0, fn_input_filename},
        {"input_line_number", 0, fn_input_line_number}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].arity == arity && !strcmp(table[i].name, name)) return table[i].fn;
    return NULL;
}
