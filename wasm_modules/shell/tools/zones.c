/* zones.c - time zones without a zone database: POSIX TZ strings, and the names people use most, with today's rules. */
#include "dates.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct { const char *name, *rule;
} names[] = {
    {"America/New_York", "EST5EDT,M3.2.0,M11.1.0"},
    {"US/Eastern", "EST5EDT,M3.2.0,M11.1.0"},
    {"America/Toronto", "EST5EDT,M3.2.0,M11.1.0"},
    {"America/Chicago", "CST6CDT,M3.2.0,M11.1.0"},
    {"US/Central", "CST6CDT,M3.2.0,M11.1.0"},
    {"America/Denver", "MST7MDT,M3.2.0,M11.1.0"},
    {"US/Mountain", "MST7MDT,M3.2.0,M11.1.0"},
    {"America/Phoenix", "MST7"},
    {"America/Los_Angeles", "PST8PDT,M3.2.0,M11.1.0"},
    {"US/Pacific", "PST8PDT,M3.2.0,M11.1.0"},
    {"America/Sao_Paulo", "<-03>3"},
    {"Europe/London", "GMT0BST,M3.5.0/1,M10.5.0"},
    {"Europe/Lisbon", "WET0WEST,M3.5.0/1,M10.5.0"},
    {"Europe/Dublin", "IST-1GMT0,M10.5.0,M3.5.0/1"},
    {"Europe/Paris", "CET-1CEST,M3.5.0,M10.5.0/3"},
    {"Europe/Berlin", "CET-1CEST,M3.5.0,M10.5.0/3"},
    {"Europe/Madrid", "CET-1CEST,M3.5.0,M10.5.0/3"},
    {"Europe/Rome", "CET-1CEST,M3.5.0,M10.5.0/3"},
    {"Europe/Amsterdam", "CET-1CEST,M3.5.0,M10.5.0/3"},
    {"Europe/Vienna", "CET-1CEST,M3.5.0,M10.5.0/3"},
    {"Europe/Zurich", "CET-1CEST,M3.5.0,M10.5.0/3"},
    {"Europe/Stockholm", "CET-1CEST,M3.5.0,M10.5.0/3"},
    {"Europe/Warsaw", "CET-1CEST,M3.5.0,M10.5.0/3"},
    {"Europe/Prague", "CET-1CEST,M3.5.0,M10.5.0/3"},
    {"Europe/Athens", "EET-2EEST,M3.5.0/3,M10.5.0/4"},
    {"Europe/Helsinki", "EET-2EEST,M3.5.0/3,M10.5.0/4"},
    {"Europe/Kiev", "EET-2EEST,M3.5.0/3,M10.5.0/4"},
    {"Europe/Kyiv", "EET-2EEST,M3.5.0/3,M10.5.0/4"},
    {"Europe/Moscow", "MSK-3"},
    {"Europe/Istanbul", "<+03>-3"},
    {"Asia/Tokyo", "JST-9"},
    {"Asia/Seoul", "KST-9"},
    {"Asia/Shanghai", "CST-8"},
    {"Asia/Hong_Kong", "HKT-8"},
    {"Asia/Singapore", "<+08>-8"},
    {"Asia/Kolkata", "IST-5:30"},
    {"Asia/Calcutta", "IST-5:30"},
    {"Asia/Dubai", "<+04>-4"},
    {"Australia/Sydney", "AEST-10AEDT,M10.1.0,M4.1.0/3"},
    {"Pacific/Auckland", "NZST-12NZDT,M9.5.0,M4.1.0/3"},
    {"EST5EDT", "EST5EDT,M3.2.0,M11.1.0"},
    {"EST", "EST5"},
    {"MST", "MST7"},
    {"HST", "HST10"},
    {"CET", "CET-1CEST,M3.5.0,M10.5.0/3"},
    {"Asia/Jakarta", "WIB-7"},
    {"Africa/Cairo", "EET-2EEST,M4.5.5/0,M10.5.4/24"},
    {"America/Anchorage", "AKST9AKDT,M3.2.0,M11.1.0"},
    {"US/Alaska", "AKST9AKDT,M3.2.0,M11.1.0"},
    {"America/Halifax", "AST4ADT,M3.2.0,M11.1.0"},
    {"America/Vancouver", "PST8PDT,M3.2.0,M11.1.0"},
    {"America/Montreal", "EST5EDT,M3.2.0,M11.1.0"},
    {"America/Detroit", "EST5EDT,M3.2.0,M11.1.0"},
    {"America/Mexico_City", "CST6"},
    {"America/Bogota", "<-05>5"},
    {"America/Lima", "<-05>5"},
    {"America/Argentina/Buenos_Aires", "<-03>3"},
    {"America/Buenos_Aires", "<-03>3"},
    {"America/Caracas", "<-04>4"},
    {"America/Santiago", "<-04>4<-03>,M9.1.6/24,M4.1.6/24"},
    {"America/St_Johns", "NST3:30NDT,M3.2.0,M11.1.0"},
    {"Pacific/Honolulu", "HST10"},
    {"US/Hawaii", "HST10"},
    {"US/Arizona", "MST7"},
    {"America/Winnipeg", "CST6CDT,M3.2.0,M11.1.0"},
    {"America/Edmonton", "MST7MDT,M3.2.0,M11.1.0"},
    {"America/Havana", "CST5CDT,M3.2.0/0,M11.1.0/1"},
    {"America/Panama", "EST5"},
    {"Atlantic/Reykjavik", "GMT0"},
    {"Atlantic/Azores", "<-01>1<+00>,M3.5.0/0,M10.5.0/1"},
    {"Europe/Brussels", "CET-1CEST,M3.5.0,M10.5.0/3"},
    {"Europe/Copenhagen", "CET-1CEST,M3.5.0,M10.5.0/3"},
    {"Europe/Oslo", "CET-1CEST,M3.5.0,M10.5.0/3"},
    {"Europe/Budapest", "CET-1CEST,M3.5.0,M10.5.0/3"},
    {"Europe/Bucharest", "EET-2EEST,M3.5.0/3,M10.5.0/4"},
    {"Europe/Sofia", "EET-2EEST,M3.5.0/3,M10.5.0/4"},
    {"Europe/Belgrade", "CET-1CEST,M3.5.0,M10.5.0/3"},
    {"Europe/Luxembourg", "CET-1CEST,M3.5.0,M10.5.0/3"},
    {"Europe/Zagreb", "CET-1CEST,M3.5.0,M10.5.0/3"},
    {"Europe/Riga", "EET-2EEST,M3.5.0/3,M10.5.0/4"},
    {"Europe/Vilnius", "EET-2EEST,M3.5.0/3,M10.5.0/4"},
    {"Europe/Tallinn", "EET-2EEST,M3.5.0/3,M10.5.0/4"},
    {"Europe/Minsk", "<+03>-3"},
    {"Europe/Monaco", "CET-1CEST,M3.5.0,M10.5.0/3"},
    {"Asia/Karachi", "PKT-5"},
    {"Asia/Dhaka", "<+06>-6"},
    {"Asia/Bangkok", "<+07>-7"},
    {"Asia/Manila", "PST-8"},
    {"Asia/Tehran", "<+0330>-3:30"},
    {"Asia/Kathmandu", "<+0545>-5:45"},
    {"Asia/Taipei", "CST-8"},
    {"Asia/Jerusalem", "IST-2IDT,M3.4.4/26,M10.5.0"},
    {"Asia/Riyadh", "<+03>-3"},
    {"Asia/Baghdad", "<+03>-3"},
    {"Asia/Kabul", "<+0430>-4:30"},
    {"Asia/Yangon", "<+0630>-6:30"},
    {"Asia/Tashkent", "<+05>-5"},
    {"Asia/Almaty", "<+05>-5"},
    {"Asia/Ho_Chi_Minh", "<+07>-7"},
    {"Asia/Kuala_Lumpur", "<+08>-8"},
    {"Asia/Colombo", "<+0530>-5:30"},
    {"Asia/Qatar", "<+03>-3"},
    {"Asia/Beirut", "EET-2EEST,M3.5.0/0,M10.5.0/0"},
    {"Asia/Vladivostok", "<+10>-10"},
    {"Asia/Novosibirsk", "<+07>-7"},
    {"Asia/Yekaterinburg", "<+05>-5"},
    {"Africa/Lagos", "WAT-1"},
    {"Africa/Nairobi", "EAT-3"},
    {"Africa/Johannesburg", "SAST-2"},
    {"Africa/Algiers", "CET-1"},
    {"Africa/Tunis", "CET-1"},
    {"Africa/Accra", "GMT0"},
    {"Africa/Addis_Ababa", "EAT-3"},
    {"Australia/Melbourne", "AEST-10AEDT,M10.1.0,M4.1.0/3"},
    {"Australia/Brisbane", "AEST-10"},
    {"Australia/Perth", "AWST-8"},
    {"Australia/Adelaide", "ACST-9:30ACDT,M10.1.0,M4.1.0/3"},
    {"Australia/Darwin", "ACST-9:30"},
    {"Australia/Hobart", "AEST-10AEDT,M10.1.0,M4.1.0/3"},
    {"Australia/Lord_Howe", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"},
    {"Pacific/Fiji", "<+12>-12"},
    {"Pacific/Guam", "ChST-10"},
    {"Pacific/Apia", "<+13>-13"},
    {"Pacific/Chatham", "<+1245>-12:45<+1345>,M9.5.0/2:45,M4.1.0/3:45"},
    {"Pacific/Kiritimati", "<+14>-14"},
    {"GMT", "GMT0"},
    {"GB", "GMT0BST,M3.5.0/1,M10.5.0"},
    {"Japan", "JST-9"},
    {"PST8PDT", "PST8PDT,M3.2.0,M11.1.0"},
    {"CST6CDT", "CST6CDT,M3.2.0,M11.1.0"},
    {"MST7MDT", "MST7MDT,M3.2.0,M11.1.0"},
    {"WET", "WET0WEST,M3.5.0/1,M10.5.0"},
    {"MET", "MET-1MEST,M3.5.0,M10.5.0/3"},
    {"EET", "EET-2EEST,M3.5.0/3,M10.5.0/4"},
    {"Hongkong", "HKT-8"},
    {"Singapore", "<+08>-8"},
    {"NZ", "NZST-12NZDT,M9.5.0,M4.1.0/3"},
    {"Turkey", "<+03>-3"},
    {"Portugal", "WET0WEST,M3.5.0/1,M10.5.0"},
    {"Poland", "CET-1CEST,M3.5.0,M10.5.0/3"},
    {"Israel", "IST-2IDT,M3.4.4/26,M10.5.0"},
    {"Iran", "<+0330>-3:30"},
    {"Egypt", "EET-2EEST,M4.5.5/0,M10.5.4/24"},
    {"Cuba", "CST5CDT,M3.2.0/0,M11.1.0/1"},
    {"Eire", "IST-1GMT0,M10.5.0,M3.5.0/1"},
    {"Etc/UTC", "UTC0"},
    {"Etc/GMT", "GMT0"},
    {"Etc/GMT+5", "<-05>5"},
    {"Etc/GMT-5", "<+05>-5"},
    {"Etc/GMT+8", "<-08>8"},
    {"Etc/GMT-8", "<+08>-8"},
    {"Etc/GMT+1", "<-01>1"},
    {"Etc/GMT-1", "<+01>-1"},
    {"Etc/GMT+3", "<-03>3"},
    {"Etc/GMT-3", "<+03>-3"},
    {"Etc/GMT+12", "<-12>12"},
    {"Etc/GMT-14", "<+14>-14"},
};

/* A zone abbreviation at *p: letters, or <...>. */
static char *take_name(tool *t, const char **p) {
    const char *s = *p;
    if (*s == '<') {
        const char *end = strchr(s, '>');
        if (!end) return NULL;
        *p = end + 1;
        return tool_strndup(t, s + 1, (size_t)(end - s - 1));
    }
    while (isalpha((unsigned char)*s)) s++;
    if (s - *p < 3) return NULL;
    char *name = tool_strndup(t, *p, (size_t)(s - *p));
    *p = s;
    return name;
}

/* [+-]hh[:mm[:ss]] as seconds. */
static long take_time(const char **p) {
    int sign = 1;
    if (**p == '-' || **p == '+') { sign = **p == '-' ? -1 : 1; ++*p; }
    long seconds = 0, unit = 3600;
    for (int i = 0; i < 3; i++, unit /= 60) {
        char *end;
        seconds += strtol(*p, &end, 10) * unit;
        *p = end;
        if (**p != ':') break;
        ++*p;
    }
    return sign * seconds;
}

/* Mm.w.d[/time] for the year whose January 1 is day jan1: seconds of local standard time since the epoch. */
static long long take_rule(const char **p, long long year) {
    char *end;
    if (**p == ',') ++*p;
    if (**p == 'M') ++*p;
    int month = (int)strtol(*p, &end, 10), week = 1, day = 0;
    if (*end == '.') week = (int)strtol(end + 1, &end, 10);
    if (*end == '.') day = (int)strtol(end + 1, &end, 10);
    *p = end;
    long at = 7200;
    if (**p == '/') { ++*p; at = take_time(p); }
    long long first = days_from_civil(year, month, 1);
    int weekday = (int)(((first + 4) % 7 + 7) % 7);
    long long d = first + (day - weekday + 7) % 7 + (week - 1) * 7;
    long long next = month == 12 ? days_from_civil(year + 1, 1, 1) : days_from_civil(year, month + 1, 1);
    while (d >= next) d -= 7;
    return d * 86400 + at;
}

long zone_offset(tool *t, const char *tz, long long utc, const char **abbreviation) {
    *abbreviation = "UTC";
    if (!tz || !*tz) return 0;
    if (*tz == ':') tz++;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) if (!strcmp(names[i].name, tz)) { tz = names[i].rule; break; }
    if (!strncmp(tz, "Etc/", 4)) tz += 4;
    const char *p = tz;
    char *standard = take_name(t, &p);
    if (!standard || (*p && !strchr("+-0123456789", *p))) {
        if (standard && !*p) *abbreviation = standard;
        else if (standard) *abbreviation = tool_strndup(t, tz, strcspn(tz, "/"));
        return 0;
    }
    *abbreviation = standard;
    if (!*p) return 0;
    long offset = -take_time(&p);
    char *summer = *p ? take_name(t, &p) : NULL;
    if (!summer) return offset;
    long summer_offset = offset + 3600;
    if (*p && *p != ',') summer_offset = -take_time(&p);
    if (*p != ',') p = ",M3.2.0,M11.1.0";
    struct tm tm;
    time_t local = (time_t)(utc + offset);
    gmtime_r(&local, &tm);
    long long start = take_rule(&p, tm.tm_year + 1900LL) - offset, end = take_rule(&p, tm.tm_year + 1900LL) - summer_offset;
    int in = start < end ? utc >= start && utc < end : utc >= start || utc < end;
    if (!in) return offset;
    *abbreviation = summer;
    return summer_offset;
}
