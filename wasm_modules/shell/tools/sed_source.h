/* sed_source.h - the text of a sed script while it is read: what sed_parse.c (addresses and commands), sed_substitute.c (s and y)
 * and sed_source.c (escapes, delimited text, patterns, file names) share.
 *
 * RULES. A function that returns a status has told what is wrong when it is not 0.
 */
#ifndef HATCH_SED_SOURCE_H
#define HATCH_SED_SOURCE_H
#include "sed.h"

typedef struct { sed_script *s; const char *p, *end, *begin; } sed_source;

int sed_bad(sed_source *c, const char *message);                              /* tells where in the script; 1 */
void sed_skip_blanks(sed_source *c);
unsigned long sed_take_number(sed_source *c);
char *sed_take_file_name(sed_source *c);                                      /* the rest of the line */
sed_output *sed_open_output(sed_source *c, const char *path);                 /* NULL after a message */
/* \a \f \v \t \cX \dNNN \oNNN \xHH at p (after the backslash). The byte, and *used; -1 when it is none of these. */
int sed_char_escape(const char *p, const char *end, int *used);
/* Text up to an unescaped delimiter, which is consumed. In a pattern \n becomes a newline; \delimiter loses its backslash.
 * -1 when there is no delimiter. */
int sed_take_delimited(sed_source *c, int delim, int pattern, buffer *b);
int sed_compile(sed_source *c, buffer *raw, int flags, regex **result);       /* *result NULL: the last one used */

/* sed_substitute.c */
int sed_take_substitute(sed_source *c, sed_command *k);
int sed_take_transliterate(sed_source *c, sed_command *k);
#endif
