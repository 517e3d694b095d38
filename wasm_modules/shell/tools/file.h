/* file.h - what a file seems to hold: file.c asks, file_binary.c knows formats by their first bytes, file_text.c texts. */
#ifndef HATCH_FILE_H
#define HATCH_FILE_H
#include "buffer.h"

typedef struct { const char *text, *mime, *charset; } file_kind;         /* text NULL: not known */

file_kind file_binary(tool *t, const unsigned char *p, size_t n);
file_kind file_text(tool *t, const char *p, size_t n);                    /* never unknown: "data" at last */
#endif
