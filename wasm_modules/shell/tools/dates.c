/* dates.c - broken-down time and GNU date's output format; reading dates is date_parse.c. */
#include "dates.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

moment moment_now(void) {
    moment now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now;
}

long long days_from_civil(long long y, int m, int d) {
    y += (m - 1) / 12;
    m = (m - 1) % 12 + 1;
    if (m < 1) { m += 12; y--; }
    y -= m <= 2;
    long long era = (y >= 0 ? y : y - 399) / 400;
    long long yoe = y - era * 400, doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

void date_fields(tool *t, long long seconds, int utc, struct tm *tm, long *offset, const char **zone) {
    const char *tz = utc || !t->getenv ? NULL : t->getenv(t, "TZ");
    *zone = "UTC";
    *offset = tz ? zone_offset(t, tz, seconds, zone) : 0;
    time_t local = (time_t)(seconds + *offset);
    gmtime_r(&local, tm);
}

long long date_seconds(tool *t, struct tm *tm, int utc) {
    long long days = days_from_civil(tm->tm_year + 1900LL, tm->tm_mon + 1, 1) + tm->tm_mday - 1;
    long long local = days * 86400 + tm->tm_hour * 3600LL + tm->tm_min * 60LL + tm->tm_sec;
    const char *tz = utc || !t->getenv ? NULL : t->getenv(t, "TZ"), *zone;
    if (!tz) return local;
    long first = zone_offset(t, tz, local, &zone);
    long second = zone_offset(t, tz, local - first, &zone);
    if (second == first || zone_offset(t, tz, local - second, &zone) == second) return local - second;
    return local - (first < second ? first : second);      /* an hour that summer time leaves out: after the change */
}

static const char *const days[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
static const char *const months[]
    = {"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"};

typedef struct { char pad; int upper, swap, width, colons; } directive;

static void put_number(buffer *b, long long value, int width, char pad, const directive *d) {
    if (d->pad) pad = d->pad;
    if (d->width >= 0) width = d->width;
    char digits[32];
    int negative = value < 0,
        n = snprintf(digits, sizeof digits, "%llu", negative ? 0ull - (unsigned long long)value : (unsigned long long)value);
    if (pad == '-') width = 0;
    if (pad != '_' && negative) { buffer_putc(b, '-'); width--; }
    if (pad == '_' && negative) width--;
    for (int i = n; i < width; i++) buffer_putc(b, pad == '_' ? ' ' : '0');
    if (pad == '_' && negative) buffer_putc(b, '-');
    buffer_puts(b, digits);
}

static void put_text(buffer *b, const char *text, size_t len, const directive *d) {
    for (int i = (int)len; i < d->width; i++) buffer_putc(b, d->pad == '0' ? '0' : ' ');
    size_t start = b->n;
    int capitals = 1;
    for (size_t i = 0; i < len; i++) capitals &= !islower((unsigned char)text[i]);
    buffer_add(b, text, len);
    for (size_t i = start; i < b->n; i++) {
        if (d->upper) b->p[i] = (char)toupper((unsigned char)b->p[i]);
        if (d->swap) b->p[i] = (char)(capitals ? tolower((unsigned char)b->p[i]) : toupper((unsigned char)b->p[i]));
    }
}

static void put_offset(buffer *b, long offset, const directive *d) {
    long a = offset < 0 ? -offset : offset;
    char sign = offset < 0 ? '-' : '+', text[32];
    int h = (int)(a / 3600), m = (int)(a / 60 % 60), s = (int)(a % 60);
    if (d->colons == 1) snprintf(text, sizeof text, "%c%02d:%02d", sign, h, m);
    else if (d->colons == 2) snprintf(text, sizeof text, "%c%02d:%02d:%02d", sign, h, m, s);
    else if (d->colons == 3) {
        if (m || s) snprintf(text, sizeof text, s ? "%c%02d:%02d:%02d" : "%c%02d:%02d", sign, h, m, s);
        else snprintf(text, sizeof text, "%c%02d", sign, h);
    } else snprintf(text, sizeof text, "%c%02d%02d", sign, h, m);
    buffer_puts(b, text);
}

static int iso_week(const struct tm *tm, int *year) {
    int weekday = (tm->tm_wday + 6) % 7, y = tm->tm_year + 1900;
    int week = (tm->tm_yday - weekday + 10) / 7;
    int leap = (y % 4 == 0 && y % 100) || y % 400 == 0;
    if (week < 1) {
        y--;
        leap = (y % 4 == 0 && y % 100) || y % 400 == 0;
        week = (tm->tm_yday + 365 + leap - weekday + 10) / 7;
    } else if (week == 53 && tm->tm_yday - weekday + 3 >= 365 + leap) { week = 1; y++; }
    *year = y;
    return week;
}

/* Everything of one point in time that directives print. */
typedef struct { struct tm tm; long offset; const char *zone; moment when; int utc; } instant;

static void put_directive(buffer *b, int c, const directive *d, const instant *at) {
    const struct tm *tm = &at->tm;
    const directive plain = {.width = -1};
    char text[64];
    long long year = tm->tm_year + 1900LL;
    int week_year, hour12 = tm->tm_hour % 12 ? tm->tm_hour % 12 : 12;
    switch (c) {
    case 'a': put_text(b, days[tm->tm_wday], 3, d); break;
    case 'A': put_text(b, days[tm->tm_wday], strlen(days[tm->tm_wday]), d); break;
    case 'b': case 'h': put_text(b, months[tm->tm_mon], 3, d); break;
    case 'B': put_text(b, months[tm->tm_mon], strlen(months[tm->tm_mon]), d); break;
    case 'c':
        snprintf(text, sizeof text, "%.3s %.3s %2d %02d:%02d:%02d %lld", days[tm->tm_wday], months[tm->tm_mon], tm->tm_mday,
            tm->tm_hour, tm->tm_min, tm->tm_sec, year);
        put_text(b, text, strlen(text), d);
        break;
    case 'C': put_number(b, year / 100, 2, '0', d); break;
    case 'd': put_number(b, tm->tm_mday, 2, '0', d); break;
    case 'D':
    case 'x':
        snprintf(text, sizeof text, "%02d/%02d/%02d", tm->tm_mon + 1, tm->tm_mday, (int)(year % 100));
        put_text(b, text, 8, d);
        break;
    case 'e': put_number(b, tm->tm_mday, 2, '_', d); break;
    case 'F':
        if (year > 9999) buffer_putc(b, '+');
        put_number(b, year, 4, '0', &plain);
        buffer_printf(b, "-%02d-%02d", tm->tm_mon + 1, tm->tm_mday);
        break;
    case 'g': iso_week(tm, &week_year); put_number(b, week_year % 100, 2, '0', d); break;
    case 'G': iso_week(tm, &week_year); put_number(b, week_year, 4, '0', d); break;
    case 'H': put_number(b, tm->tm_hour, 2, '0', d); break;
    case 'I': put_number(b, hour12, 2, '0', d); break;
    case 'j': put_number(b, tm->tm_yday + 1, 3, '0', d); break;
    case 'k': put_number(b, tm->tm_hour, 2, '_', d); break;
    case 'l': put_number(b, hour12, 2, '_', d); break;
    case 'm': put_number(b, tm->tm_mon + 1, 2, '0', d); break;
    case 'M': put_number(b, tm->tm_min, 2, '0', d); break;
    case 'n': buffer_putc(b, '\n'); break;
    case 'N': {
        snprintf(text, sizeof text, "%09ld", (long)at->when.tv_nsec);
        int n = d->width > 0 && d->width < 9 ? d->width : 9;
        if (d->pad == '-') while (n > 1 && text[n - 1] == '0') n--;
        buffer_add(b, text, (size_t)n);
        break;
    }
    case 'p': put_text(b, tm->tm_hour < 12 ? "AM" : "PM", 2, d); break;
    case 'P': put_text(b, tm->tm_hour < 12 ? "am" : "pm", 2, d); break;
    case 'q': put_number(b, tm->tm_mon / 3 + 1, 1, '0', d); break;
    case 'r':
        snprintf(text, sizeof text, "%02d:%02d:%02d %s", hour12, tm->tm_min, tm->tm_sec, tm->tm_hour < 12 ? "AM" : "PM");
        put_text(b, text, 11, d);
        break;
    case 'R': snprintf(text, sizeof text, "%02d:%02d", tm->tm_hour, tm->tm_min); put_text(b, text, 5, d); break;
    case 's': put_number(b, (long long)at->when.tv_sec, 1, '0', d); break;
    case 'S': put_number(b, tm->tm_sec, 2, '0', d); break;
    case 't': buffer_putc(b, '\t'); break;
    case 'T':
    case 'X':
        snprintf(text, sizeof text, "%02d:%02d:%02d", tm->tm_hour, tm->tm_min, tm->tm_sec);
        put_text(b, text, 8, d);
        break;
    case 'u': put_number(b, tm->tm_wday ? tm->tm_wday : 7, 1, '0', d); break;
    case 'U': put_number(b, (tm->tm_yday + 7 - tm->tm_wday) / 7, 2, '0', d); break;
    case 'V': put_number(b, iso_week(tm, &week_year), 2, '0', d); break;
    case 'w': put_number(b, tm->tm_wday, 1, '0', d); break;
    case 'W': put_number(b, (tm->tm_yday + 7 - (tm->tm_wday + 6) % 7) / 7, 2, '0', d); break;
    case 'y': put_number(b, (year % 100 + 100) % 100, 2, '0', d); break;
    case 'Y': put_number(b, year, 4, '0', d); break;
    case 'z': put_offset(b, at->offset, d); break;
    case 'Z': put_text(b, at->zone, strlen(at->zone), d); break;
    case '+': case '%': buffer_putc(b, c); break;
    }
}

void date_format(buffer *b, const char *format, moment when, int utc) {
    instant at = {.when = when, .utc = utc};
    date_fields(b->t, (long long)when.tv_sec, utc, &at.tm, &at.offset, &at.zone);
    for (const char *p = format; *p; p++) {
        if (*p != '%' || !p[1]) { buffer_putc(b, *p); continue; }
        const char *start = p++;
        directive d = {.width = -1};
        for (;; p++) {
            if (*p == '-' || *p == '_' || *p == '0') d.pad = *p;
            else if (*p == '^') d.upper = 1;
            else if (*p == '#') d.swap = 1;
            else if (*p == '+') d.pad = '0';
            else break;
        }
        if (isdigit((unsigned char)*p))
            for (d.width = 0; isdigit((unsigned char)*p); p++)
                if (d.width < 1000) d.width = d.width * 10 + *p - '0';
        while (*p == ':') { d.colons++; p++; }
        if (*p == 'E' || *p == 'O') p++;
        if (!*p || !strchr("aAbBcCdDeFgGhHIjklmMnNpPqrRsStTuUVwWxXyYzZ%", *p)) {
            if (!*p) p--;
            buffer_add(b, start, (size_t)(p - start) + 1);
            continue;
        }
        put_directive(b, *p, &d, &at);
    }
}
