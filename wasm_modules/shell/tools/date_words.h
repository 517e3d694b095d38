/* date_words.h - the words a date is made of; date_parse.c puts them together. */
#ifndef HATCH_DATE_WORDS_H
#define HATCH_DATE_WORDS_H
#include "../tool.h"

enum date_kind {
    D_END,
    D_UNKNOWN,
    D_MARK,                        /* any other character: value */
    D_NUMBER,
    D_SIGNED,
    D_FRACTION,                    /* 1.5, with or without a sign */
    D_MERIDIAN,                    /* value 'a' or 'p' */
    D_MONTH,                       /* value 1 to 12 */
    D_DAY,                         /* value 0 (Sunday) to 6 */
    D_UNIT,                        /* value of unit: "week" is 7 D */
    D_ORDINAL,                     /* last -1, this 0, next 1, third 3 */
    D_SHIFT,                       /* yesterday -1, now 0 */
    D_AGO,                         /* value -1, or 1 for hence */
    D_ZONE,                        /* value: seconds east of UTC */
    D_DST,
    D_T                            /* T between date and time; a military zone elsewhere */
};

typedef struct { enum date_kind kind; long long value; int digits, is_negative, unit; long nsec; } date_word;

/* The next word, from *p on. unit is Y year, M month, D day, h m s. */
date_word date_word_next(const char **p);
#endif
