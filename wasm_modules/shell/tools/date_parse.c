/* date_parse.c - the dates people write: 2024-01-31 12:00, Jan 31, 3 days ago, next monday, @0. GNU's getdate rules, English
 * words. */
#include "dates.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct {
    const char *p;
    struct tm tm;                  /* the point before relative parts */
    long nsec;
    int has_date, has_time, has_zone, has_day, day, day_order, has_year, absolute;
    long zone;                     /* seconds east of UTC */
    long long rel_years, rel_months, rel_days, rel_seconds;
    long long seconds;             /* of @N */
    int failed;
} reading;

static const char *const month_names[]
    = {"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"};
static const char *const day_names[] = {"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"};

static void skip_space(reading *r) {
    for (;;) {
        if (isspace((unsigned char)*r->p) || *r->p == ',') r->p++;
        else if (*r->p == '(') { while (*r->p && *r->p != ')') r->p++; if (*r->p) r->p++; }
        else return;
    }
}

/* Index of word among names, which may be cut to three letters or more; -1. */
static int lookup(const char *word, const char *const *names, int n) {
    size_t len = strlen(word);
    for (int i = 0; i < n; i++)
        if (len >= 3 && len <= strlen(names[i]) && !strncasecmp(word, names[i], len)
            && (len == 3 || len == strlen(names[i]) || !strcasecmp(word, "sept") || !strcasecmp(word, "tues")
                || !strcasecmp(word, "thur") || !strcasecmp(word, "thurs") || !strcasecmp(word, "wednes")))
            return i;
    return -1;
}

/* Adds n of the unit named; 0 when there is no such unit. */
static int add_unit(reading *r, const char *unit, long long n) {
    char w[32];
    size_t len = strlen(unit);
    if (len >= sizeof w) return 0;
    for (size_t i = 0; i <= len; i++) w[i] = (char)tolower((unsigned char)unit[i]);
    if (len > 3 && w[len - 1] == 's') w[len - 1] = '\0';
    if (!strcmp(w, "year")) r->rel_years += n;
    else if (!strcmp(w, "month")) r->rel_months += n;
    else if (!strcmp(w, "fortnight")) r->rel_days += 14 * n;
    else if (!strcmp(w, "week")) r->rel_days += 7 * n;
    else if (!strcmp(w, "day")) r->rel_days += n;
    else if (!strcmp(w, "hour")) r->rel_seconds += 3600 * n;
    else if (!strcmp(w, "minute") || !strcmp(w, "min")) r->rel_seconds += 60 * n;
    else if (!strcmp(w, "second") || !strcmp(w, "sec")) r->rel_seconds += n;
    else return 0;
    return 1;
}

static int take_word(reading *r, char *word, size_t cap) {
    size_t n = 0;
    while (isalpha((unsigned char)*r->p)) { if (n + 1 < cap) word[n++] = *r->p; r->p++; }
    word[n] = '\0';
    if (*r->p == '.') r->p++;
    return n > 0;
}

static long long take_digits(reading *r, int *digits) {
    long long n = 0;
    for (*digits = 0; isdigit((unsigned char)*r->p); r->p++, ++*digits) if (n < 100000000000000000LL) n = n * 10 + *r->p - '0';
    return n;
}

/* Undoes the last relative part: "3 days ago". */
static int take_ago(reading *r) {
    const char *before = r->p;
    char word[16];
    skip_space(r);
    if (take_word(r, word, sizeof word) && !strcasecmp(word, "ago")) return 1;
    r->p = before;
    return 0;
}

/* +hh, +hhmm, +hh:mm */
static void take_offset(reading *r) {
    int sign = *r->p++ == '-' ? -1 : 1, digits;
    while (*r->p == ' ') r->p++;
    long long n = take_digits(r, &digits);
    long minutes = digits <= 2 ? (long)n * 60 : (long)(n / 100 * 60 + n % 100);
    if (digits <= 2 && *r->p == ':') { r->p++; minutes += (long)take_digits(r, &digits); }
    r->zone = sign * minutes * 60;
    r->has_zone = 1;
}

static int take_meridian(reading *r) {
    const char *before = r->p;
    skip_space(r);
    char a = (char)tolower((unsigned char)r->p[0]);
    if ((a == 'a' || a == 'p') && tolower((unsigned char)r->p[1]) == 'm' && !isalpha((unsigned char)r->p[2])) {
        r->p += 2;
        return a;
    }
    if ((a == 'a' || a == 'p') && r->p[1] == '.' && tolower((unsigned char)r->p[2]) == 'm') {
        r->p += r->p[3] == '.' ? 4 : 3;
        return a;
    }
    r->p = before;
    return 0;
}

static void set_hour(reading *r, long long h, int meridian) {
    if (meridian) {
        if (h < 1 || h > 12) r->failed = 1;
        h = h % 12 + (meridian == 'p' ? 12 : 0);
    }
    r->tm.tm_hour = (int)h;
}

/* The rest of HH:MM[:SS[.fraction]] [am|pm] [zone], at the colon. */
static void take_clock(reading *r, long long hour) {
    int digits;
    r->p++;
    r->tm.tm_min = (int)take_digits(r, &digits);
    if (!digits) r->failed = 1;
    r->tm.tm_sec = 0;
    r->nsec = 0;
    if (*r->p == ':') {
        r->p++;
        r->tm.tm_sec = (int)take_digits(r, &digits);
        if (!digits) r->failed = 1;
        if ((*r->p == '.' || *r->p == ',') && isdigit((unsigned char)r->p[1])) {
            long unit = 100000000;
            for (r->p++; isdigit((unsigned char)*r->p); r->p++, unit /= 10) r->nsec += unit * (*r->p - '0');
        }
    }
    set_hour(r, hour, take_meridian(r));
    if (r->tm.tm_hour > 24 || r->tm.tm_min > 59 || r->tm.tm_sec > 60 || r->has_time) r->failed = 1;
    r->has_time = 1;
    const char *before = r->p;
    while (*r->p == ' ') r->p++;
    /* a sign and a number behind a time are a zone, even in "12:00 +3 days": a zone, and one day */
    if ((*r->p == '+' || *r->p == '-') && isdigit((unsigned char)r->p[1 + strspn(r->p + 1, " ")])) take_offset(r);
    else r->p = before;
}

static void set_date(reading *r, long long y, int m, int d, int year_digits) {
    if (year_digits && year_digits <= 2) y += y < 69 ? 2000 : 1900;
    if (m < 1 || m > 12 || d < 1 || d > 31 || r->has_date) { r->failed = 1; return; }
    if (year_digits) { r->tm.tm_year = (int)(y - 1900); r->has_year = 1; }
    r->tm.tm_mon = m - 1;
    r->tm.tm_mday = d;
    r->has_date = 1;
    static const int lengths[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    long long year = r->tm.tm_year + 1900LL;
    int leap = (year % 4 == 0 && year % 100) || year % 400 == 0;
    if (d > lengths[m - 1] - (m == 2 && !leap)) r->failed = 1;
}

static void take_signed(reading *r) {
    int sign = *r->p == '-' ? -1 : 1, digits;
    char word[32];
    r->p++;
    while (*r->p == ' ') r->p++;
    long long n = take_digits(r, &digits);
    if (!digits) { r->failed = 1; return; }
    while (*r->p == ' ') r->p++;
    const char *before = r->p;
    if (take_word(r, word, sizeof word) && strcasecmp(word, "ago")) {
        long long value = sign * n;
        if (!add_unit(r, word, value)) { r->failed = 1; return; }
        if (take_ago(r)) add_unit(r, word, -2 * value);
        return;
    }
    r->p = before;
    if (r->has_time && !r->has_zone) {
        r->zone = sign * (digits <= 2 ? (long)n * 3600 : (long)(n / 100 * 3600 + n % 100 * 60));
        r->has_zone = 1;
    } else r->failed = 1;
}

static void take_number(reading *r) {
    int digits, d2, d3;
    char word[32];
    long long n = take_digits(r, &digits);
    if (*r->p == ':') { take_clock(r, n); return; }
    if (*r->p == '-' && isdigit((unsigned char)r->p[1]) && digits >= 1) {
        r->p++;
        long long m = take_digits(r, &d2), d = 1;
        if (*r->p == '-') { r->p++; d = take_digits(r, &d3); } else { r->failed = 1; return; }
        set_date(r, n, (int)m, (int)d, digits);
        if ((*r->p == 'T' || *r->p == 't') && isdigit((unsigned char)r->p[1])) r->p++;
        return;
    }
    if (*r->p == '-' && isalpha((unsigned char)r->p[1])) {                    /* 02-Jan-2024 */
        r->p++;
        take_word(r, word, sizeof word);
        int m = lookup(word, month_names, 12);
        long long y = 0;
        d3 = 0;
        if (*r->p == '-') { r->p++; y = take_digits(r, &d3); }
        if (m < 0) r->failed = 1; else set_date(r, y, m + 1, (int)n, d3);
        return;
    }
    if (*r->p == '/') {
        r->p++;
        long long b = take_digits(r, &d2);
        if (*r->p == '/') {
            r->p++;
            long long c = take_digits(r, &d3);
            if (digits >= 4) set_date(r, n, (int)b, (int)c, digits); else set_date(r, c, (int)n, (int)b, d3);
        } else set_date(r, 0, (int)n, (int)b, 0);
        return;
    }
    int meridian = take_meridian(r);
    if (meridian) { set_hour(r, n, meridian); r->tm.tm_min = r->tm.tm_sec = 0; r->nsec = 0; r->has_time = 1; return; }
    const char *before = r->p;
    while (*r->p == ' ') r->p++;
    const char *spaced = r->p;
    if (take_word(r, word, sizeof word)) {
        int m = lookup(word, month_names, 12);
        if (m >= 0) {                                                          /* 2 Jan [2024] */
            const char *mark = r->p;
            skip_space(r);
            if (*r->p == '-') r->p++;
            long long y = take_digits(r, &d3);
            if (d3 && *r->p == ':') { r->p = mark; d3 = 0; }
            if (!d3) r->p = mark;
            set_date(r, y, m + 1, (int)n, d3);
            return;
        }
        if (add_unit(r, word, n)) {
            if (take_ago(r)) add_unit(r, word, -2 * n);
            return;
        }
        if (spaced == before && (word[0] == 'T' || word[0] == 't') && !word[1] && digits == 8) {
            r->p = before + 1;
            set_date(r, n / 10000, (int)(n / 100 % 100), (int)(n % 100), 4);
            long long c = take_digits(r, &d2);
            if (*r->p == ':') { take_clock(r, c); return; }
            r->tm.tm_hour = (int)(d2 > 2 ? c / (d2 > 4 ? 10000 : 100) : c);
            r->tm.tm_min = (int)(d2 > 4 ? c / 100 % 100 : d2 > 2 ? c % 100 : 0);
            r->tm.tm_sec = (int)(d2 > 4 ? c % 100 : 0);
            r->has_time = 1;
            return;
        }
    }
    r->p = before;
    if (digits == 8) set_date(r, n / 10000, (int)(n / 100 % 100), (int)(n % 100), 4);
    else if (r->has_date && r->has_time && !r->has_year) { r->tm.tm_year = (int)(n - 1900); r->has_year = 1; }
    else if (r->has_date && !r->has_year && digits == 4 && !r->has_time) { r->tm.tm_year = (int)(n - 1900); r->has_year = 1; }
    else if (digits <= 2 && n < 24) { r->tm.tm_hour = (int)n; r->tm.tm_min = r->tm.tm_sec = 0; r->nsec = 0; r->has_time = 1;
    } else if (digits == 4 || digits == 3) {
        r->tm.tm_hour = (int)(n / 100);
        r->tm.tm_min = (int)(n % 100);
        r->tm.tm_sec = 0;
        r->nsec = 0;
        r->has_time = 1;
        if (n / 100 > 23 || n % 100 > 59) r->failed = 1;
    } else r->failed = 1;
}

static void take_month(reading *r, int m) {
    int digits, d3;
    skip_space(r);
    if (*r->p == '-') r->p++;
    long long d = take_digits(r, &digits);
    if (!digits) { r->failed = 1; return; }
    if (digits == 4) { set_date(r, d, m + 1, 1, 4); return; }
    const char *mark = r->p;
    skip_space(r);
    long long y = take_digits(r, &d3);
    if (d3 && (*r->p == ':' || d3 < 4)) { r->p = mark; d3 = 0; }
    if (!d3) r->p = mark;
    set_date(r, y, m + 1, (int)d, d3);
}

static void take_text(reading *r) {
    static const struct {
        const char *word;
        int n;
    } ordinals[] = {{"last", -1}, {"this", 0}, {"next", 1}, {"first", 1}, {"third", 3}, {"fourth", 4}, {"fifth", 5}, {"sixth", 6},
        {"seventh", 7}, {"eighth", 8}, {"ninth", 9}, {"tenth", 10}, {"eleventh", 11}, {"twelfth", 12}};
    static const struct {
        const char *word;
        int hours;
    } zones[] = {{"utc", 0}, {"gmt", 0}, {"z", 0}, {"wet", 0}, {"est", -5}, {"edt", -4}, {"cst", -6}, {"cdt", -5}, {"mst", -7},
        {"mdt", -6}, {"pst", -8}, {"pdt", -7}, {"cet", 1}, {"cest", 2}, {"bst", 1}, {"eet", 2}, {"msk", 3}, {"jst", 9}};
    char word[32], unit[32];
    if (!take_word(r, word, sizeof word)) { r->failed = 1; return; }
    if (!strcasecmp(word, "now") || !strcasecmp(word, "today")) return;
    if (!strcasecmp(word, "yesterday")) { r->rel_days--; return; }
    if (!strcasecmp(word, "tomorrow")) { r->rel_days++; return; }
    if (!strcasecmp(word, "t") && r->has_date) return;
    for (size_t i = 0; i < sizeof ordinals / sizeof *ordinals; i++) {
        if (strcasecmp(word, ordinals[i].word)) continue;
        skip_space(r);
        if (!take_word(r, unit, sizeof unit)) { r->failed = 1; return; }
        int day = lookup(unit, day_names, 7);
        if (day >= 0) { r->has_day = 1; r->day = day; r->day_order = ordinals[i].n; return; }
        if (!add_unit(r, unit, ordinals[i].n)) { r->failed = 1; return; }
        if (take_ago(r)) add_unit(r, unit, -2 * ordinals[i].n);
        return;
    }
    int month = lookup(word, month_names, 12), day = lookup(word, day_names, 7);
    if (month >= 0) { take_month(r, month); return; }
    if (day >= 0) { r->has_day = 1; r->day = day; r->day_order = 0; return; }
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        if (strcasecmp(word, zones[i].word)) continue;
        r->zone = zones[i].hours * 3600L;
        r->has_zone = 1;
        if ((*r->p == '+' || *r->p == '-') && isdigit((unsigned char)r->p[1])) {
            long base = r->zone;
            take_offset(r);
            r->zone += base;
        }
        return;
    }
    if (add_unit(r, word, 1)) { if (take_ago(r)) add_unit(r, word, -2); return; }
    r->failed = 1;
}

int date_parse(tool *t, const char *text, moment now, moment *result) {
    reading r = {.p = text, .nsec = now.tv_nsec};
    long offset;
    const char *zone;
    int utc = 0;
    const char *named_zone = NULL;
    date_fields(t, (long long)now.tv_sec, 0, &r.tm, &offset, &zone);
    skip_space(&r);
    if (!strncmp(r.p, "TZ=\"", 4)) {
        const char *end = strchr(r.p + 4, '"');
        if (!end) return -1;
        const char *abbreviation;
        named_zone = tool_strndup(t, r.p + 4, (size_t)(end - r.p - 4));
        r.zone = zone_offset(t, named_zone, (long long)now.tv_sec, &abbreviation);
        r.has_zone = 1;
        r.p = end + 1;
    }
    if (*r.p == '@') {
        char *end;
        long long s = strtoll(r.p + 1, &end, 10);
        if (end == r.p + 1) return -1;
        result->tv_sec = (time_t)s;
        result->tv_nsec = 0;
        if (*end == '.') {
            long unit = 100000000;
            for (end++; isdigit((unsigned char)*end); end++, unit /= 10) result->tv_nsec += unit * (*end - '0');
        }
        while (isspace((unsigned char)*end)) end++;
        return *end ? -1 : 0;
    }
    for (skip_space(&r); *r.p && !r.failed; skip_space(&r)) {
        if (isdigit((unsigned char)*r.p)) take_number(&r);
        else if (*r.p == '+' || *r.p == '-') take_signed(&r);
        else take_text(&r);
    }
    if (r.failed) return -1;
    if ((r.has_date || r.has_day) && !r.has_time) { r.tm.tm_hour = r.tm.tm_min = r.tm.tm_sec = 0; r.nsec = 0; }
    if (!*text || text[strspn(text, " \t")] == '\0') { r.tm.tm_hour = r.tm.tm_min = r.tm.tm_sec = 0; r.nsec = 0; }
    if (r.has_day && !r.has_date) {
        int ahead = (r.day - r.tm.tm_wday + 7) % 7;
        int order = r.day_order - (r.day_order > 0 && r.tm.tm_wday != r.day);
        r.tm.tm_mday += ahead + 7 * order;
    }
    r.tm.tm_year += (int)r.rel_years;
    long long months = r.tm.tm_mon + r.rel_months;
    r.tm.tm_year += (int)(months >= 0 ? months / 12 : -((11 - months) / 12));
    r.tm.tm_mon = (int)((months % 12 + 12) % 12);
    r.tm.tm_mday += (int)r.rel_days;
    long long seconds = date_seconds(t, &r.tm, utc || r.has_zone);
    if (named_zone) {
        /* the zone's offset at that time, not at present */
        const char *abbreviation;
        r.zone = zone_offset(t, named_zone, seconds - r.zone, &abbreviation);
    }
    if (r.has_zone) seconds -= r.zone;
    result->tv_sec = (time_t)(seconds + r.rel_seconds);
    result->tv_nsec = r.nsec;
    return 0;
}
