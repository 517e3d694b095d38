/* hexdump.h - the formats of hexdump -e: hexdump.c takes them from the command line, hexdump_format.c reads and applies them. */
#ifndef HATCH_HEXDUMP_H
#define HATCH_HEXDUMP_H
#include "buffer.h"

enum { HEX_PIECES = 16, HEX_UNITS = 16, HEX_STRINGS = 8 };
typedef struct { char *head, *spec, *tail, kind, radix; size_t tail_n, size; } hex_piece; /* kind 0: text; with bit 7: after a _ */
typedef struct { unsigned long times; int fixed, count; size_t size; hex_piece piece[HEX_PIECES]; } hex_unit;
typedef struct { hex_unit unit[HEX_UNITS]; int count; size_t size; } hex_string;   /* size: bytes it takes from a block */

int hex_read(tool *t, const char *text, hex_string *s);                  /* 0, or -1 when malformed */
int hex_dump(tool *t, buffer *data, const hex_string *strings, int count, unsigned long long skip, int all);
#endif
