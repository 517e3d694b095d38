/* dates.h - points in time: reading what people write (date -d, touch -d), and GNU's strftime.
 *
 * The zone is UTC, or what TZ in the environment says: a POSIX string such as EST5EDT,M3.2.0,M11.1.0, or one of the names in
 * zones.c.
 */
#ifndef HATCH_DATES_H
#define HATCH_DATES_H
#include "buffer.h"
#include <time.h>

typedef struct timespec moment;

moment moment_now(void);
int date_parse(tool *t, const char *text, moment now, moment *result);      /* 0, or -1 when it is no date */
void date_format(buffer *b, const char *format, moment when, int utc);       /* GNU date's directives */
void date_fields(
    tool *t, long long seconds, int utc, struct tm *tm, long *offset, const char **zone); /* broken-down local time */
long long date_seconds(tool *t, struct tm *tm, int utc);                      /* the inverse; fields may be out of range */
long long days_from_civil(long long y, int m, int d);                         /* days since 1970-01-01, proleptic Gregorian */

/* zones.c: the offset east of UTC in seconds at a time, and the abbreviation, for a TZ value; unknown names are UTC. */
long zone_offset(tool *t, const char *tz, long long utc_seconds, const char **abbreviation);
#endif
