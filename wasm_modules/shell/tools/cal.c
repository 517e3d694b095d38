/* cal.c - cal: months side by side, weeks beginning on Sunday. Britain's calendar: 3 to 13 September 1752 never were. */
#include "buffer.h"
#include "dates.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { USAGE = 64, WEEKS = 6, GAP = 2, MONTHS_MOST = 1200 };

static const char *const month_names[]
    = {"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"};

/* Days since some Saturday, of a date in the calendar of its time. */
static long day_number(long y, int m, int d) {
    int julian = y < 1752 || (y == 1752 && (m < 9 || (m == 9 && d < 14)));
    long a = (14 - m) / 12, yy = y + 4800 - a, mm = m + 12 * a - 3, n = d + (153 * mm + 2) / 5 + 365 * yy + yy / 4;
    return n - (julian ? 32083 : yy / 100 - yy / 400 + 32045) + 2;
}

static int days_in(long y, int m) { return (int)(day_number(m == 12 ? y + 1 : y, m == 12 ? 1 : m + 1, 1) - day_number(y, m, 1)); }

/* One month as 8 lines of the same width: its name, the days' names, six weeks. */
static void draw(tool *t, char *lines[WEEKS + 2], long y, int m, int julian, int with_year) {
    int cell = julian ? 4 : 3, width = 7 * cell - 1;
    const char *title = with_year ? tool_format(t, "%s %ld", month_names[m - 1], y) : month_names[m - 1];
    int left = (width - (int)strlen(title)) / 2;
    lines[0] = tool_format(t, "%*s%-*s", left, "", width + GAP - left, title);
    lines[1] = tool_format(t, "%s", julian ? " Su  Mo  Tu  We  Th  Fr  Sa  " : "Su Mo Tu We Th Fr Sa  ");
    for (int w = 0; w < WEEKS; w++) lines[2 + w] = tool_format(t, "%*s", width + GAP, "");
    long first = day_number(y, m, 1), new_year = day_number(y, 1, 1);
    int column = (int)((first + 6) % 7), n = days_in(y, m), cut = y == 1752 && m == 9;
    for (int i = 0; i < n; i++) {
        long day = julian ? first + i - new_year + 1 : cut && i > 1 ? i + 12 : i + 1;
        int at = column + i;
        char *text = tool_format(t, "%*ld", cell - 1, day);
        memcpy(lines[2 + at / 7] + at % 7 * cell, text, strlen(text));
    }
}

static int print_row(tool *t, long y, int m, int count, int julian, int with_year) {
    char *month[3][WEEKS + 2];
    for (int i = 0; i < count; i++) {
        draw(t, month[i], y, m, julian, with_year);
        if (++m > 12) { m = 1; y++; }
    }
    for (int line = 0; line < WEEKS + 2; line++) {
        for (int i = 0; i < count; i++) io_puts(t->out, month[i][line]);
        if (io_putc(t->out, '\n') < 0) return 1;
    }
    return 0;
}

/* Full rows that divide a year evenly stand below the year's number, other months name their year. */
static int print_months(tool *t, long y, int m, int count, int julian) {
    int per_row = julian ? 2 : 3, titled = count >= per_row && (m - 1) % per_row == 0;
    for (int i = 0; i < count; i += per_row) {
        long from = y * 12 + m - 1 + i;
        if (i) io_putc(t->out, '\n');
        if (titled && (!i || from % 12 == 0)) {
            const char *title = tool_format(t, "%ld", from / 12);
            io_printf(t->out, "%*s%s\n", ((julian ? 2 * 27 : 3 * 20) - (int)strlen(title)) / 2, "", title);
        }
        if (print_row(t, from / 12, (int)(from % 12) + 1, count - i < per_row ? count - i : per_row, julian, !titled)) return 1;
    }
    return 0;
}

/* A month's number or the beginning of its name; 0 when it is neither. */
static int parse_month(const char *word) {
    char *end;
    long n = strtol(word, &end, 10);
    if (*word && !*end) return n >= 1 && n <= 12 ? (int)n : 0;
    for (int i = 0; strlen(word) >= 3 && i < 12; i++) if (!strncasecmp(word, month_names[i], strlen(word))) return i + 1;
    return 0;
}

static int usage(tool *t) {
    io_puts(t->err, "Usage: cal [general options] [-jy] [[month] year]\n       cal [general options] [-j] [-m month] [year]\n"
                    "General options: [-31] [-A months] [-B months] [-d yyyy-mm]\n");
    return USAGE;
}

int tool_cal(tool *t, int argc, char **argv) {
    struct tm now;
    long offset;
    const char *zone;
    date_fields(t, moment_now().tv_sec, 0, &now, &offset, &zone);
    long year = now.tm_year + 1900;
    int month = now.tm_mon + 1, julian = 0, whole = 0, before = 0, after = 0, fixed = 0, c;
    char *end;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "13jyhm:A:B:d:", NULL)) != -1;) switch (c) {
        case '1': break;
        case '3': before = after = 1; break;
        case 'j': julian = 1; break;
        case 'y': whole = 1; break;
        case 'h': return usage(t);
        case 'm':
            if (!(month = parse_month(o.arg)))
                return tool_fail(t, USAGE, "%s is neither a month number (1..12) nor a name", o.arg);
            fixed = 1;
            break;
        case 'A': after = atoi(o.arg); break;
        case 'B': before = atoi(o.arg); break;
        case 'd':
            year = strtol(o.arg, &end, 10);
            if (*end != '-' || !(month = parse_month(end + 1))) return usage(t);
            break;
        default: return usage(t);
    }
    int words = argc - o.index;
    if (words > 2) return usage(t);
    if (words == 2 && !(month = parse_month(argv[o.index])))
        return tool_fail(t, USAGE, "%s is neither a month number (1..12) nor a name", argv[o.index]);
    if (words) {
        const char *text = argv[argc - 1];
        year = strtol(text, &end, 10);
        if (*end) return tool_fail(t, USAGE, "not a valid year %s", text);
        if (year < 1 || year > 9999) return tool_fail(t, USAGE, "year `%s' not in range 1..9999", text);
        if (words == 1 && !fixed) whole = 1;
    }
    if (before < 0 || after < 0 || before + after > MONTHS_MOST) return usage(t);
    long from = whole ? year * 12 : year * 12 + month - 1 - before;
    return print_months(t, from / 12, (int)(from % 12) + 1, whole ? 12 : before + after + 1, julian);
}
