/* date_parse.c - the dates people write: 2024-01-31 12:00, Jan 31, 3 days ago, next monday, @0.
 *
 * RULES. As GNU's getdate: a date is items in any order - time, zone, date, day of the week, relative parts, bare numbers - and at
 * most one of each but the relative ones. Two words of lookahead decide. A sign and a number behind a time are a zone, even in
 * "12:00 +3 days". Parts that are missing come from now; the time is midnight as soon as there is a date or a day.
 */
#include "date_words.h"
#include "dates.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { DAY_MINUTES = 24 * 60 };

typedef struct {
    const char *rest;
    date_word now, next;           /* the word at hand and the one behind it */
    int dates, times, days, zones, relatives;
    long long year, month, day, hour, minute, second;
    long nsec;
    int year_digits, meridian;
    long long day_order, weekday, zone_s;
    long long rel_years, rel_months, rel_days, rel_seconds;
    long rel_nsec;
} reading;

static void step(reading *r) {
    r->now = r->next;
    r->next = date_word_next(&r->rest);
}

static int is_mark(const date_word *w, char c) { return w->kind == D_MARK && w->value == c; }

static void set_time(reading *r, long long hour, long long minute, long long second, long nsec, int meridian) {
    r->times++;
    r->hour = hour;
    r->minute = minute;
    r->second = second;
    r->nsec = nsec;
    r->meridian = meridian;
}

static void set_date(reading *r, long long year, int digits, long long month, long long day) {
    r->dates++;
    if (digits) { r->year = year; r->year_digits = digits; }
    r->month = month;
    r->day = day;
}

static void add_relative(reading *r, const date_word *unit, long long n, long nsec) {
    n *= unit->value;
    switch (unit->unit) {
    case 'Y': r->rel_years += n; break;
    case 'M': r->rel_months += n; break;
    case 'D': r->rel_days += n; break;
    case 'h': r->rel_seconds += n * 3600; break;
    case 'm': r->rel_seconds += n * 60; break;
    case 's': r->rel_seconds += n; r->rel_nsec += nsec; break;
    }
    r->relatives++;
}

/* [n] UNIT [ago], at the unit. */
static int take_unit(reading *r, long long n, long nsec) {
    date_word unit = r->now;
    if (nsec && unit.unit != 's') return 0;
    step(r);
    if (r->now.kind == D_AGO) {
        n *= r->now.value;
        nsec *= (long)r->now.value;
        step(r);
    }
    add_relative(r, &unit, n, nsec);
    return 1;
}

/* +hh, +hhmm, +hh:mm, at the number; base is that of a zone named before. */
static int take_offset(reading *r, long long base) {
    date_word w = r->now;
    step(r);
    long long minutes = w.digits <= 2 ? w.value * 60 : w.value / 100 * 60 + w.value % 100;
    if (is_mark(&r->now, ':') && r->next.kind == D_NUMBER) {
        step(r);
        minutes = w.value * 60 + (w.is_negative ? -r->now.value : r->now.value);
        step(r);
    }
    r->zones++;
    r->zone_s = base + minutes * 60;
    return minutes >= -DAY_MINUTES && minutes <= DAY_MINUTES;
}

/* HH:MM[:SS[.fraction]] and then am, pm or an offset, at the first colon. */
static int take_clock(reading *r, long long hour) {
    long long minute, second = 0;
    long nsec = 0;
    step(r);
    if (r->now.kind != D_NUMBER) return 0;
    minute = r->now.value;
    step(r);
    if (is_mark(&r->now, ':')) {
        step(r);
        if ((r->now.kind != D_NUMBER && r->now.kind != D_FRACTION) || r->now.is_negative) return 0;
        second = r->now.value;
        nsec = r->now.nsec;
        step(r);
    }
    if (r->now.kind == D_MERIDIAN) {
        set_time(r, hour, minute, second, nsec, (int)r->now.value);
        step(r);
        return 1;
    }
    set_time(r, hour, minute, second, nsec, 0);
    return r->now.kind == D_SIGNED ? take_offset(r, 0) : 1;
}

/* A number that nothing around it explains: a year that is still missing, a date, or a time. */
static void take_digits(reading *r, const date_word *w) {
    if (r->dates && !r->year_digits && !r->relatives && (r->times || w->digits > 2)) {
        r->year = w->value;
        r->year_digits = w->digits;
    } else if (w->digits > 4)
        set_date(r, w->value / 10000, w->digits - 4, w->value / 100 % 100, w->value % 100);
    else if (w->digits <= 2) set_time(r, w->value, 0, 0, 0, 0);
    else set_time(r, w->value / 100, w->value % 100, 0, 0, 0);
}

/* NUMBER / NUMBER [/ NUMBER], at the first slash. */
static int take_slashes(reading *r, const date_word *first) {
    step(r);
    if (r->now.kind != D_NUMBER) return 0;
    date_word second = r->now;
    step(r);
    if (!is_mark(&r->now, '/')) { set_date(r, 0, 0, first->value, second.value); return 1; }
    step(r);
    if (r->now.kind != D_NUMBER) return 0;
    if (first->digits >= 4) set_date(r, first->value, first->digits, second.value, r->now.value);
    else set_date(r, r->now.value, r->now.digits, first->value, second.value);
    step(r);
    return 1;
}

/* NUMBER and a signed one behind it: 2024-01-31[T...], 10 +0200, 2024 +1 day. */
static int take_number_and_signed(reading *r, const date_word *first) {
    if (r->next.kind == D_SIGNED) {
        date_word month = r->now, day = r->next;
        step(r);
        step(r);
        set_date(r, first->value, first->digits, -month.value, -day.value);
        if (r->now.kind != D_T) return 1;
        step(r);
        if (r->now.kind != D_NUMBER) return 0;
        long long hour = r->now.value;
        step(r);
        if (is_mark(&r->now, ':')) return take_clock(r, hour);
        if (r->now.kind != D_SIGNED) return 0;
        set_time(r, hour, 0, 0, 0, 0);
        return take_offset(r, 0);
    }
    if (r->next.kind == D_UNIT) {
        long long n = r->now.value;
        take_digits(r, first);
        step(r);
        return take_unit(r, n, 0);
    }
    set_time(r, first->value, 0, 0, 0, 0);
    return take_offset(r, 0);
}

static int take_number(reading *r) {
    date_word first = r->now;
    step(r);
    switch (r->now.kind) {
    case D_UNIT: return take_unit(r, first.value, 0);
    case D_SIGNED: return take_number_and_signed(r, &first);
    case D_MERIDIAN:
        set_time(r, first.value, 0, 0, 0, (int)r->now.value);
        step(r);
        return 1;
    case D_DAY:
        r->days++;
        r->day_order = first.value;
        r->weekday = r->now.value;
        step(r);
        return 1;
    case D_MONTH: {
        long long month = r->now.value;
        step(r);
        int has_year = r->now.kind == D_NUMBER || r->now.kind == D_SIGNED;
        long long year = r->now.kind == D_SIGNED ? -r->now.value : r->now.value;
        set_date(r, year, has_year ? r->now.digits : 0, month, first.value);
        if (has_year) step(r);
        return 1;
    }
    default: break;
    }
    if (is_mark(&r->now, ':')) return take_clock(r, first.value);
    if (is_mark(&r->now, '/')) return take_slashes(r, &first);
    take_digits(r, &first);
    return 1;
}

static int take_month(reading *r) {
    long long month = r->now.value;
    step(r);
    date_word day = r->now;
    step(r);
    if (day.kind == D_SIGNED && r->now.kind == D_SIGNED) {                 /* Jan-31-2024 */
        set_date(r, -r->now.value, r->now.digits, month, -day.value);
        step(r);
        return 1;
    }
    if (day.kind != D_NUMBER) return 0;
    if (!is_mark(&r->now, ',')) { set_date(r, 0, 0, month, day.value); return 1; }
    step(r);
    if (r->now.kind != D_NUMBER) return 0;
    set_date(r, r->now.value, r->now.digits, month, day.value);
    step(r);
    return 1;
}

static int take_zone(reading *r) {
    long long base = r->now.value;
    step(r);
    if (r->now.kind == D_SIGNED && r->next.kind != D_UNIT) return take_offset(r, base);
    r->zones++;
    r->zone_s = base;
    if (r->now.kind != D_DST) return 1;
    r->zone_s += 3600;
    step(r);
    return 1;
}

/* The item at hand; 0 when there is none like it. */
static int take_item(reading *r) {
    date_word w = r->now;
    switch (w.kind) {
    case D_NUMBER: return take_number(r);
    case D_SIGNED: case D_FRACTION: step(r); return r->now.kind == D_UNIT && take_unit(r, w.value, w.nsec);
    case D_MONTH: return take_month(r);
    case D_ZONE: case D_T: return take_zone(r);
    case D_UNIT: return take_unit(r, 1, 0);
    case D_SHIFT: r->rel_days += w.value; r->relatives++; step(r); return 1;
    case D_DAY:
        r->days++;
        r->day_order = 0;
        r->weekday = w.value;
        step(r);
        if (is_mark(&r->now, ',')) step(r);
        return 1;
    case D_ORDINAL:
        step(r);
        if (r->now.kind == D_UNIT) return take_unit(r, w.value, 0);
        if (r->now.kind != D_DAY) return 0;
        r->days++;
        r->day_order = w.value;
        r->weekday = r->now.value;
        step(r);
        return 1;
    default: return 0;
    }
}

/* The hour of a day of 24, or -1. */
static long long hour_of(const reading *r) {
    if (!r->meridian) return r->hour < 24 ? r->hour : -1;
    if (r->hour < 1 || r->hour > 12) return -1;
    return r->hour % 12 + (r->meridian == 'p' ? 12 : 0);
}

/* tm as it is, before relative parts; 0 for a day or time that is none. */
static int settle(reading *r, struct tm *tm) {
    static const int lengths[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (r->times > 1 || r->dates > 1 || r->days > 1 || r->zones > 1) return 0;
    if (r->dates) {
        if (r->year < 0) r->year = -r->year;
        if (r->year_digits == 2) r->year += r->year < 69 ? 2000 : 1900;
        if (r->year_digits) tm->tm_year = (int)(r->year - 1900);
        long long year = tm->tm_year + 1900LL;
        int is_leap = (year % 4 == 0 && year % 100) || year % 400 == 0;
        if (r->month < 1 || r->month > 12 || r->day < 1) return 0;
        if (r->day > lengths[r->month - 1] - (r->month == 2 && !is_leap)) return 0;
        tm->tm_mon = (int)r->month - 1;
        tm->tm_mday = (int)r->day;
    }
    if (r->times) {
        long long hour = hour_of(r);
        if (hour < 0 || r->minute > 59 || r->second > 59) return 0;
        tm->tm_hour = (int)hour;
        tm->tm_min = (int)r->minute;
        tm->tm_sec = (int)r->second;
    } else if (!r->relatives || r->dates || r->days) {
        tm->tm_hour = tm->tm_min = tm->tm_sec = 0;
        r->nsec = 0;
    }
    if (r->days && !r->dates) {
        long long order = r->day_order - (r->day_order > 0 && tm->tm_wday != r->weekday);
        tm->tm_mday += (int)((r->weekday - tm->tm_wday + 7) % 7 + 7 * order);
    }
    return 1;
}

/* Whether there is such a time of day in the local zone: not in the hour that summer time leaves out. */
static int exists(tool *t, const struct tm *tm) {
    struct tm whole = *tm, back;
    long offset;
    const char *zone;
    date_fields(t, date_seconds(t, &whole, 0), 0, &back, &offset, &zone);
    return back.tm_hour == tm->tm_hour && back.tm_min == tm->tm_min;
}

/* @SECONDS[.fraction] */
static int parse_seconds(const char *p, moment *result) {
    date_word w = date_word_next(&p);
    if (w.kind != D_NUMBER && w.kind != D_SIGNED && w.kind != D_FRACTION) return -1;
    if (date_word_next(&p).kind != D_END) return -1;
    result->tv_sec = (time_t)w.value - (w.nsec < 0);
    result->tv_nsec = w.nsec < 0 ? 1000000000 + w.nsec : w.nsec;
    return 0;
}

int date_parse(tool *t, const char *text, moment now, moment *result) {
    reading r = {.nsec = now.tv_nsec};
    long offset;
    const char *abbreviation, *named_zone = NULL;
    struct tm tm;
    while (isspace((unsigned char)*text)) text++;
    if (!strncmp(text, "TZ=\"", 4)) {
        const char *end = strchr(text + 4, '"');
        if (!end) return -1;
        named_zone = tool_strndup(t, text + 4, (size_t)(end - text - 4));
        text = end + 1;
        while (isspace((unsigned char)*text)) text++;
    }
    if (*text == '@') return parse_seconds(text + 1, result);
    long named_s = named_zone ? zone_offset(t, named_zone, (long long)now.tv_sec, &abbreviation) : 0;
    date_fields(t, (long long)now.tv_sec + named_s, named_zone != NULL, &tm, &offset, &abbreviation);
    r.rest = text;
    step(&r);
    step(&r);
    while (r.now.kind != D_END) if (!take_item(&r)) return -1;
    if (!settle(&r, &tm)) return -1;
    if (r.times && !r.zones && !named_zone && !exists(t, &tm)) return -1;
    if (r.days && !r.dates) date_fields(t, date_seconds(t, &tm, 1), 1, &tm, &offset, &abbreviation); /* the month may be another */
    long long months = tm.tm_mon + r.rel_months;
    tm.tm_year += (int)(r.rel_years + (months >= 0 ? months / 12 : -((11 - months) / 12)));
    tm.tm_mon = (int)((months % 12 + 12) % 12);
    tm.tm_mday += (int)r.rel_days;
    int is_local = !r.zones && !named_zone, as_now = !r.dates && !r.days && !r.times;   /* as_now: summer time, or not, as now */
    long long seconds = date_seconds(t, &tm, !is_local || as_now);
    if (is_local && as_now) seconds -= offset;
    if (r.zones) seconds -= r.zone_s;
    else if (named_zone) seconds -= zone_offset(t, named_zone, seconds - named_s, &abbreviation);
    result->tv_sec = (time_t)(seconds + r.rel_seconds);
    result->tv_nsec = r.nsec + r.rel_nsec;
    if (result->tv_nsec < 0) { result->tv_sec--; result->tv_nsec += 1000000000; }
    if (result->tv_nsec > 999999999) { result->tv_sec++; result->tv_nsec -= 1000000000; }
    return 0;
}
