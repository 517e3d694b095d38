/* element.h - elements of arrays that are named by a text. */
#ifndef HATCH_ELEMENT_H
#define HATCH_ELEMENT_H
#include "sh.h"
size_t element_end(const char *text);            /* behind the ] of the name[subscript] at text, 0 when there is none */
bool element_text(const char *text);             /* the whole text is name[subscript] */
slot *element_slot(const char *text);            /* of the name in it */
bool element_subscript(slot *s, const char *text, char **sub);   /* the subscript in it, expanded; false after a message */
bool element_assign(const char *text, const char *value, int append);
#endif
