/* utf8.h - characters of UTF-8 text, as the C.UTF-8 locale sees them; or bytes, as the C locale does. Does not know about grapheme
 * clusters. */
#ifndef HATCH_UTF8_H
#define HATCH_UTF8_H
#include <stddef.h>

/* Whether every byte is a character, and those above 127 are of no class. Follows sh.byte_locale (special.c), but for tools that
 * know one encoding only (lookup.c). */
extern int utf8_bytes;

/* Reads one character of s[0..n), n > 0. Stores its code point and returns its length, 1 to 4; for a byte that begins no valid
 * character stores -1 and returns 1. */
int utf8_decode(const char *s, size_t n, int *point);
int utf8_encode(int point, char to[4]);              /* the length; surrogates and beyond U+10FFFF give U+FFFD */
size_t utf8_length(const char *s, size_t n);         /* characters; an invalid byte counts as one */
size_t utf8_offset(const char *s, size_t n, size_t chars); /* byte offset of the chars-th character, n when there are fewer */
int utf8_width(int point);                           /* terminal columns: 0, 1, 2, or -1 for control characters */
int utf8_valid(const char *s, size_t n);
int utf8_upper(int point);                           /* simple case mapping */
int utf8_lower(int point);
int utf8_is_alpha(int point);
int utf8_is_space(int point);
#endif
