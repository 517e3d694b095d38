/* date_words.c - the words of dates: numbers with and without a sign, and English names.
 *
 * RULES. As in GNU's: a name of a month or day may be cut to three letters; a sign that no number follows counts for nothing; what
 * stands in parentheses is a comment.
 */
#include "date_words.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { HOUR_S = 3600, LONGEST_WORD = 20 };

typedef struct { const char *name; int kind, value, unit; } entry;

static const entry days_and_months[] = {{"january", D_MONTH, 1, 0}, {"february", D_MONTH, 2, 0}, {"march", D_MONTH, 3, 0},
    {"april", D_MONTH, 4, 0}, {"may", D_MONTH, 5, 0}, {"june", D_MONTH, 6, 0}, {"july", D_MONTH, 7, 0}, {"august", D_MONTH, 8, 0},
    {"september", D_MONTH, 9, 0}, {"sept", D_MONTH, 9, 0}, {"october", D_MONTH, 10, 0}, {"november", D_MONTH, 11, 0},
    {"december", D_MONTH, 12, 0}, {"sunday", D_DAY, 0, 0}, {"monday", D_DAY, 1, 0}, {"tuesday", D_DAY, 2, 0},
    {"tues", D_DAY, 2, 0}, {"wednesday", D_DAY, 3, 0}, {"wednes", D_DAY, 3, 0}, {"thursday", D_DAY, 4, 0},
    {"thur", D_DAY, 4, 0}, {"thurs", D_DAY, 4, 0}, {"friday", D_DAY, 5, 0}, {"saturday", D_DAY, 6, 0}, {0, 0, 0, 0}};

static const entry units[]
    = {{"year", D_UNIT, 1, 'Y'}, {"month", D_UNIT, 1, 'M'}, {"fortnight", D_UNIT, 14, 'D'}, {"week", D_UNIT, 7, 'D'},
        {"day", D_UNIT, 1, 'D'}, {"hour", D_UNIT, 1, 'h'}, {"minute", D_UNIT, 1, 'm'}, {"min", D_UNIT, 1, 'm'},
        {"second", D_UNIT, 1, 's'}, {"sec", D_UNIT, 1, 's'}, {0, 0, 0, 0}};

static const entry others[] = {{"am", D_MERIDIAN, 'a', 0}, {"a.m.", D_MERIDIAN, 'a', 0}, {"pm", D_MERIDIAN, 'p', 0},
    {"p.m.", D_MERIDIAN, 'p', 0}, {"dst", D_DST, 0, 0}, {"tomorrow", D_SHIFT, 1, 0}, {"yesterday", D_SHIFT, -1, 0},
    {"today", D_SHIFT, 0, 0}, {"now", D_SHIFT, 0, 0}, {"last", D_ORDINAL, -1, 0}, {"this", D_ORDINAL, 0, 0},
    {"next", D_ORDINAL, 1, 0}, {"first", D_ORDINAL, 1, 0}, {"third", D_ORDINAL, 3, 0}, {"fourth", D_ORDINAL, 4, 0},
    {"fifth", D_ORDINAL, 5, 0}, {"sixth", D_ORDINAL, 6, 0}, {"seventh", D_ORDINAL, 7, 0}, {"eighth", D_ORDINAL, 8, 0},
    {"ninth", D_ORDINAL, 9, 0}, {"tenth", D_ORDINAL, 10, 0}, {"eleventh", D_ORDINAL, 11, 0}, {"twelfth", D_ORDINAL, 12, 0},
    {"ago", D_AGO, -1, 0}, {"hence", D_AGO, 1, 0}, {0, 0, 0, 0}};

/* Minutes east of UTC. */
static const struct { const char *name; int minutes;
} zones[] = {{"utc", 0}, {"gmt", 0}, {"ut", 0}, {"wet", 0}, {"west", 60}, {"bst", 60}, {"art", -180}, {"brt", -180},
    {"brst", -120}, {"nst", -210}, {"ndt", -150}, {"ast", -240}, {"adt", -180}, {"clt", -240}, {"clst", -180}, {"est", -300},
    {"edt", -240}, {"cst", -360}, {"cdt", -300}, {"mst", -420}, {"mdt", -360}, {"pst", -480}, {"pdt", -420}, {"akst", -540},
    {"akdt", -480}, {"hst", -600}, {"hast", -600}, {"hadt", -540}, {"sst", -720}, {"wat", 60}, {"cet", 60}, {"cest", 120},
    {"met", 60}, {"mez", 60}, {"mest", 120}, {"mesz", 120}, {"eet", 120}, {"eest", 180}, {"cat", 120}, {"sast", 120},
    {"eat", 180}, {"msk", 180}, {"msd", 240}, {"ist", 330}, {"sgt", 480}, {"kst", 540}, {"jst", 540}, {"gst", 600},
    {"nzst", 720}, {"nzdt", 780}};

static const entry *find(const entry *table, const char *word, size_t cut) {
    for (; table->name; table++) if (cut ? !strncmp(word, table->name, cut) : !strcmp(word, table->name)) return table;
    return NULL;
}

/* A to Z but J: one hour after another to the east, then to the west; T is a word of its own. */
static date_word military(char letter) {
    static const char east[] = "abcdefghiklm", west[] = "nopqrstuvwxy";
    const char *at = strchr(east, letter);
    if (letter == 't') return (date_word){.kind = D_T, .value = -7 * HOUR_S};
    if (letter == 'z') return (date_word){.kind = D_ZONE};
    if (at) return (date_word){.kind = D_ZONE, .value = (at - east + 1) * HOUR_S};
    at = strchr(west, letter);
    return at ? (date_word){.kind = D_ZONE, .value = -(at - west + 1) * HOUR_S} : (date_word){.kind = D_UNKNOWN};
}

static date_word name(const char *word) {
    size_t n = strlen(word);
    int is_cut = n == 3 || (n == 4 && word[3] == '.');
    char bare[LONGEST_WORD + 1];
    const entry *e = find(others, word, 0);
    if (!e) e = find(days_and_months, word, is_cut ? 3 : 0);
    size_t letters = 0;
    for (size_t i = 0; i < n; i++) if (word[i] != '.') bare[letters++] = word[i];
    bare[letters] = '\0';
    for (size_t i = 0; !e && i < sizeof zones / sizeof *zones; i++)
        if (!strcmp(zones[i].name, word) || !strcmp(zones[i].name, bare))
            return (date_word){.kind = D_ZONE, .value = zones[i].minutes * 60};
    if (!e) e = find(units, word, 0);
    if (!e && n > 1 && word[n - 1] == 's') {
        bare[letters - 1] = '\0';
        e = find(units, bare, 0);
    }
    if (e) return (date_word){.kind = (enum date_kind)e->kind, .value = e->value, .unit = e->unit};
    return n == 1 ? military(*word) : (date_word){.kind = D_UNKNOWN};
}

static date_word number(const char **p, int sign) {
    date_word w = {.kind = sign ? D_SIGNED : D_NUMBER, .is_negative = sign < 0};
    for (; isdigit((unsigned char)**p); ++*p, w.digits++)
        if (w.value < 100000000000000000LL) w.value = w.value * 10 + **p - '0';
    if ((**p == '.' || **p == ',') && isdigit((unsigned char)(*p)[1])) {
        long unit = 100000000;
        w.kind = D_FRACTION;
        for (++*p; isdigit((unsigned char)**p); ++*p, unit /= 10) w.nsec += unit * (**p - '0');
    }
    if (sign < 0) { w.value = -w.value; w.nsec = -w.nsec; }
    return w;
}

date_word date_word_next(const char **p) {
    for (;;) {
        while (isspace((unsigned char)**p)) ++*p;
        char c = **p;
        if (!c) return (date_word){.kind = D_END};
        if (c == '+' || c == '-') {
            do ++*p; while (isspace((unsigned char)**p));
            if (isdigit((unsigned char)**p)) return number(p, c == '-' ? -1 : 1);
            continue;
        }
        if (isdigit((unsigned char)c)) return number(p, 0);
        if (c == '(') {
            int depth = 0;
            do { depth += (**p == '(') - (**p == ')'); ++*p; } while (depth && **p);
            if (depth) return (date_word){.kind = D_UNKNOWN};
            continue;
        }
        if (!isalpha((unsigned char)c)) { ++*p; return (date_word){.kind = D_MARK, .value = c}; }
        char word[LONGEST_WORD + 1];
        size_t n = 0;
        for (; isalpha((unsigned char)**p) || **p == '.'; ++*p)
            if (n < LONGEST_WORD) word[n++] = (char)tolower((unsigned char)**p);
        word[n] = '\0';
        return name(word);
    }
}
