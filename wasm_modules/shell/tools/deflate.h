/* deflate.h - the compression of gzip: RFC 1951 both ways, and the gzip wrapper of RFC 1952. */
#ifndef HATCH_DEFLATE_H
#define HATCH_DEFLATE_H
#include "buffer.h"

int inflate_bytes(const unsigned char *in, size_t n, size_t *used, buffer *out);   /* 0, or -1 on malformed data */
void deflate_bytes(const unsigned char *in, size_t n, buffer *out, int level);     /* level 1..9: how hard to look for repeats */
int gunzip_bytes(
    tool *t, const char *in, size_t n, buffer *out, const char **error); /* 0, 1: with garbage behind it, -1 and *error */
void gzip_bytes(const char *in, size_t n, buffer *out, int level, const char *name, unsigned long mtime);
#endif
