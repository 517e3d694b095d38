/* jq_math.c - jq's functions of numbers, most of them the C library's. */
#include "jq.h"
#include <math.h>
#include <string.h>

#define MATH1(name, call)                                                                                                        \
    static jv math_##name(jq *q, jv in, jv *args) {                                                                              \
        (void)args;                                                                                                              \
        if (!jv_is_number(in)) return jq_refuse(q, in, "number required");                                                       \
        double x = jv_number(in);                                                                                                \
        jv_drop(&q->C, in);                                                                                                      \
        return jv_num(call);                                                                                                     \
    }
MATH1(floor, floor(x))
MATH1(ceil, ceil(x)) MATH1(round, round(x)) MATH1(sqrt, sqrt(x)) MATH1(fabs, fabs(x)) MATH1(trunc, trunc(x)) MATH1(rint, rint(x))
    MATH1(nearbyint, nearbyint(x)) MATH1(exp, exp(x)) MATH1(exp2, exp2(x)) MATH1(exp10, pow(10, x)) MATH1(expm1, expm1(x))
        MATH1(log, log(x)) MATH1(log2, log2(x)) MATH1(log10, log10(x)) MATH1(log1p, log1p(x)) MATH1(cbrt, cbrt(x))
            MATH1(sin, sin(x)) MATH1(cos, cos(x)) MATH1(tan, tan(x)) MATH1(asin, asin(x)) MATH1(acos, acos(x))
                MATH1(atan, atan(x)) MATH1(sinh, sinh(x)) MATH1(cosh, cosh(x)) MATH1(tanh, tanh(x)) MATH1(asinh, asinh(x))
                    MATH1(acosh, acosh(x)) MATH1(atanh, atanh(x)) MATH1(gamma, lgamma(x)) MATH1(tgamma, tgamma(x))
                        MATH1(logb, logb(x)) MATH1(significand, x == 0 || isinf(x) || x != x ? x : x / exp2(logb(x)))
#define TEST1(name, call)                                                                                                        \
    static jv test_##name(jq *q, jv in, jv *args) {                                                                              \
        (void)args;                                                                                                              \
        if (!jv_is_number(in)) { jv_drop(&q->C, in); return jv_bool(0); }                                                        \
        double x = jv_number(in);                                                                                                \
        jv_drop(&q->C, in);                                                                                                      \
        return jv_bool(call);                                                                                                    \
    }
                            TEST1(isinfinite, isinf(x)) TEST1(isnan, x != x) TEST1(isnormal, isnormal(x)) static jv
    fn_abs(jq *q, jv in, jv *args) {
    (void)args;
    if (!jv_is_number(in)) return in.kind > J_LITERAL ? in : jq_refuse(q, in, "cannot be negated");
    if (jv_number(in) >= 0) return in;
    double x = -jv_number(in);
    jv_drop(&q->C, in);
    return jv_num(x);
}

static jv math2(jq *q, jv in, jv *args, double (*f)(double, double)) {
    jv_drop(&q->C, in);
    if (!jv_is_number(args[0]) || !jv_is_number(args[1])) {
        jv bad = jv_is_number(args[0]) ? args[1] : args[0];
        jv_drop(&q->C, jv_is_number(args[0]) ? args[0] : args[1]);
        return jq_refuse(q, bad, "number required");
    }
    double x = jv_number(args[0]), y = jv_number(args[1]);
    jv_drop(&q->C, args[0]);
    jv_drop(&q->C, args[1]);
    return jv_num(f(x, y));
}
#define MATH2(name) static jv math_##name(jq *q, jv in, jv *args) { return math2(q, in, args, name); }
static double scale_by(double x, double n) { return ldexp(x, (int)n); }
MATH2(pow) MATH2(atan2) MATH2(fmod) MATH2(fmin) MATH2(fmax) MATH2(hypot) MATH2(copysign) MATH2(fdim) MATH2(nextafter)
static jv math_ldexp(jq *q, jv in, jv *args) { return math2(q, in, args, scale_by); }
static double remainder_of(double a, double b) { return remainder(a, b); }
static jv math_drem(jq *q, jv in, jv *args) { return math2(q, in, args, remainder_of); }

/* fma(x; y; z) */
static jv math_fma(jq *q, jv in, jv *args) {
    jv_drop(&q->C, in);
    int fine = jv_is_number(args[0]) && jv_is_number(args[1]) && jv_is_number(args[2]);
    double r = fma(jv_number(args[0]), jv_number(args[1]), jv_number(args[2]));
    for (int i = 0; i < 3; i++) jv_drop(&q->C, args[i]);
    return fine ? jv_num(r) : jq_errorf(q, "number required");
}

static jv fn_frexp(jq *q, jv in, jv *args) {
    (void)args;
    if (!jv_is_number(in)) return jq_refuse(q, in, "number required");
    int e = 0;
    double m = frexp(jv_number(in), &e);
    jv_drop(&q->C, in);
    jv a = jv_push(&q->C, jv_array(&q->C, 2), jv_num(m));
    return jv_push(&q->C, a, jv_num(e));
}
static jv fn_modf(jq *q, jv in, jv *args) {
    (void)args;
    if (!jv_is_number(in)) return jq_refuse(q, in, "number required");
    double whole, part = modf(jv_number(in), &whole);
    jv_drop(&q->C, in);
    jv a = jv_push(&q->C, jv_array(&q->C, 2), jv_num(part));
    return jv_push(&q->C, a, jv_num(whole));
}

jfunc *jq_math_func(const char *name, int arity) {
    static const struct { const char *name; int arity; jfunc *fn;
    } table[] = {{"abs", 0, fn_abs}, {"floor", 0, math_floor}, {"ceil", 0, math_ceil}, {"round", 0, math_round},
        {"sqrt", 0, math_sqrt}, {"fabs", 0, math_fabs}, {"trunc", 0, math_trunc}, {"rint", 0, math_rint},
        {"nearbyint", 0, math_nearbyint}, {"exp", 0, math_exp}, {"exp2", 0, math_exp2}, {"exp10", 0, math_exp10},
        {"expm1", 0, math_expm1}, {"log", 0, math_log}, {"log2", 0, math_log2}, {"log10", 0, math_log10},
        {"log1p", 0, math_log1p}, {"cbrt", 0, math_cbrt}, {"sin", 0, math_sin}, {"cos", 0, math_cos}, {"tan", 0, math_tan},
        {"asin", 0, math_asin}, {"acos", 0, math_acos}, {"atan", 0, math_atan}, {"sinh", 0, math_sinh}, {"cosh", 0, math_cosh},
        {"tanh", 0, math_tanh}, {"asinh", 0, math_asinh}, {"acosh", 0, math_acosh}, {"atanh", 0, math_atanh},
        {"gamma", 0, math_gamma}, {"lgamma", 0, math_gamma}, {"lgamma_r", 0, math_gamma}, {"tgamma", 0, math_tgamma},
        {"logb", 0, math_logb}, {"significand", 0, math_significand}, {"isinfinite", 0, test_isinfinite},
        {"isnan", 0, test_isnan}, {"isnormal", 0, test_isnormal}, {"pow", 2, math_pow}, {"atan2", 2, math_atan2},
        {"fmod", 2, math_fmod}, {"fmin", 2, math_fmin}, {"fmax", 2, math_fmax}, {"hypot", 2, math_hypot},
        {"copysign", 2, math_copysign}, {"fdim", 2, math_fdim}, {"nextafter", 2, math_nextafter}, {"ldexp", 2, math_ldexp},
        {"scalb", 2, math_ldexp}, {"scalbln", 2, math_ldexp}, {"drem", 2, math_drem}, {"remainder", 2, math_drem},
        {"fma", 3, math_fma}, {"frexp", 0, fn_frexp}, {"modf", 0, fn_modf}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].arity == arity && !strcmp(table[i].name, name)) return table[i].fn;
    return NULL;
}
