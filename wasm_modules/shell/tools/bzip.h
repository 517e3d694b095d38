/* bzip.h - the compression of bzip2, both ways. */
#ifndef HATCH_BZIP_H
#define HATCH_BZIP_H
#include "buffer.h"
#include <stdint.h>

enum { BZIP_BLOCK = 100000, BZIP_SYMBOLS = 258, BZIP_GROUP = 50 };

uint32_t bzip_crc(uint32_t crc, const unsigned char *p, size_t n);      /* start with all ones, and invert the result */
void bzip_bytes(tool *t, const char *in, size_t n, buffer *out);
int bunzip_bytes(tool *t, const char *in, size_t n, buffer *out);       /* 0, -1: no bzip2 data, -2: damaged */
#endif
