/* jq_time.c - jq's dates: seconds since the epoch, broken-down times as arrays, and text. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "jq.h"
#include "dates.h"
#include <math.h>
#include <string.h>
#include <time.h>

static jv refuse(jq *q, jv v, const char *message) {
    jv_drop(&q->C, v);
    return jq_errorf(q, "%s", message);
}

static const double SECONDS_MOST = 6e16;         /* years are ints */

static jv broken_down(jq *q, double seconds, int utc) {
    struct tm tm;
    long offset;
    const char *zone;
    double whole = floor(seconds);
    if (!(fabs(whole) < SECONDS_MOST)) return jq_errorf(q, "error converting number of seconds since epoch to datetime");
    date_fields(q->t, (long long)whole, utc, &tm, &offset, &zone);
    double values[] = {
        tm.tm_year + 1900, tm.tm_mon, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec + (seconds - whole), tm.tm_wday, tm.tm_yday};
    jv a = jv_array(&q->C, 8);
    for (int i = 0; i < 8; i++) a = jv_push(&q->C, a, jv_num(values[i]));
    return a;
}

static int read_fields(jv v, struct tm *tm) {
    if (v.kind != J_ARRAY || v.a->n < 6) return -1;
    double f[8] = {0};
    for (uint32_t i = 0; i < v.a->n && i < 8; i++) { if (!jv_is_number(v.a->at[i])) return -1; f[i] = jv_number(v.a->at[i]); }
    memset(tm, 0, sizeof *tm);
    tm->tm_year = (int)f[0] - 1900;
    tm->tm_mon = (int)f[1];
    tm->tm_mday = (int)f[2];
    tm->tm_hour = (int)f[3];
    tm->tm_min = (int)f[4];
    tm->tm_sec = (int)f[5];
    tm->tm_wday = (int)f[6];
    tm->tm_yday = (int)f[7];
    return 0;
}

static jv fn_now(jq *q, jv in, jv *args) {
    (void)args;
    jv_drop(&q->C, in);
    moment n = moment_now();
    return jv_num((double)n.tv_sec + (double)(n.tv_nsec / 1000) / 1e6);
}
static jv fn_gmtime(jq *q, jv in, jv *args) {
    (void)args;
    if (!jv_is_number(in)) return refuse(q, in, "gmtime() requires numeric inputs");
    double n = jv_number(in);
    jv_drop(&q->C, in);
    return broken_down(q, n, 1);
}
static jv fn_localtime(jq *q, jv in, jv *args) {
    (void)args;
    if (!jv_is_number(in)) return refuse(q, in, "localtime() requires numeric inputs");
    double n = jv_number(in);
    jv_drop(&q->C, in);
    return broken_down(q, n, 0);
}

static jv fn_mktime(jq *q, jv in, jv *args) {
    struct tm tm;
    (void)args;
    if (in.kind != J_ARRAY) return refuse(q, in, "mktime requires array inputs");
    if (read_fields(in, &tm) < 0)
        return refuse(q, in, "mktime requires parsed datetime inputs");
    jv_drop(&q->C, in);
    return jv_num((double)date_seconds(q->t, &tm, 1));
}

static jv format_time(jq *q, jv in, jv *args, int utc, const char *name) {
    struct tm tm;
    if (jv_is_number(in)) { double n = jv_number(in); jv_drop(&q->C, in); in = broken_down(q, n, utc); }
    if (in.kind == J_INVALID) { jv_drop(&q->C, args[0]); return in; }
    if (in.kind != J_ARRAY) {
        jv_drop(&q->C, args[0]);
        jv_drop(&q->C, in);
        return jq_errorf(q, "%s/1 requires parsed datetime inputs", name);
    }
    if (args[0].kind != J_STRING) {
        jv_drop(&q->C, args[0]);
        jv_drop(&q->C, in);
        return jq_errorf(q, "%s/1 requires a string format", name);
    }
    if (read_fields(in, &tm) < 0) {
        jv_drop(&q->C, args[0]);
        jv_drop(&q->C, in);
        return jq_errorf(q, "%s/1 requires parsed datetime inputs", name);
    }
    moment when = {(time_t)date_seconds(q->t, &tm, utc), 0};
    buffer b = {.t = q->t};
    date_format(&b, args[0].s->text, when, utc);
    jv s = jv_text(&q->C, b.p ? b.p : "", b.n);
    buffer_free(&b);
    jv_drop(&q->C, in);
    jv_drop(&q->C, args[0]);
    return s;
}
static jv fn_strftime(jq *q, jv in, jv *args) { return format_time(q, in, args, 1, "strftime"); }
static jv fn_strflocaltime(jq *q, jv in, jv *args) { return format_time(q, in, args, 0, "strflocaltime"); }

enum { NO_WEEKDAY = 8, NO_YEARDAY = 367 };                   /* what jq shows when the text had no date */

static jv fn_strptime(jq *q, jv in, jv *args) {
    struct tm tm;
    if (in.kind != J_STRING || args[0].kind != J_STRING) {
        int bad_input = in.kind != J_STRING;
        jv_drop(&q->C, in); jv_drop(&q->C, args[0]);
        return jq_errorf(
            q, bad_input ? "strptime/1 requires string inputs and arguments" : "strptime/1 requires string inputs and arguments");
    }
    memset(&tm, 0, sizeof tm);
    /* libc's strptime knows no %Z names but UTC; a trailing Z is the common case */
    const char *end = strptime(in.s->text, args[0].s->text, &tm);
    if (!end || *end) {
        jq_errorf(q, "date \"%s\" does not match format \"%s\"", in.s->text, args[0].s->text);
        jv_drop(&q->C, in); jv_drop(&q->C, args[0]);
        return jv_of(J_INVALID);
    }
    jv_drop(&q->C, in);
    jv_drop(&q->C, args[0]);
    tm.tm_wday = NO_WEEKDAY;
    tm.tm_yday = NO_YEARDAY;
    if (tm.tm_mday) {
        struct tm copy = tm, real;
        long offset;
        const char *zone;
        date_fields(q->t, date_seconds(q->t, &copy, 1), 1, &real, &offset, &zone);
        tm.tm_wday = real.tm_wday;
        tm.tm_yday = real.tm_yday;
    }
    double values[] = {tm.tm_year + 1900, tm.tm_mon, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, tm.tm_wday, tm.tm_yday};
    jv a = jv_array(&q->C, 8);
    for (int i = 0; i < 8; i++) a = jv_push(&q->C, a, jv_num(values[i]));
    return a;
}

jfunc *jq_time_func(const char *name, int arity) {
    static const struct {
        const char *name;
        int arity;
        jfunc *fn;
    } table[] = {{"now", 0, fn_now}, {"gmtime", 0, fn_gmtime}, {"localtime", 0, fn_localtime}, {"mktime", 0, fn_mktime},
        {"strftime", 1, fn_strftime}, {"strflocaltime", 1, fn_strflocaltime}, {"strptime", 1, fn_strptime}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].arity == arity && !strcmp(table[i].name, name)) return table[i].fn;
    return NULL;
}
