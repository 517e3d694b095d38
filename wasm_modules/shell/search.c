/* search.c - strchr and its kin for the guest, which stop where they find.
 *
 * Why our own: the C library of the guest's compiler measures the whole text before it searches, in each of these. A loop that
 * takes a long text apart word by word, or line by line, would then take time with the square of its length.
 *
 * Does not know: the native build, whose C library does it right.
 */
#ifdef __wasm__
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define EXACTLY __attribute__((no_builtin))       /* or a loop here may become a call of itself */
enum { NEEDLE_SHORT = 8 };

EXACTLY char *strchrnul(const char *s, int c)
{
    while (*s && *s != (char)c) s++;
    return (char *)s;
}

EXACTLY char *strchr(const char *s, int c)
{
    for (;; s++) {
        if (*s == (char)c) return (char *)s;
        if (!*s) return NULL;
    }
}

typedef struct { uint32_t bits[8]; } charset;

static bool has(const charset *set, unsigned char c) { return set->bits[c / 32] >> c % 32 & 1; }

EXACTLY static charset charset_of(const char *chars)
{
    charset set = { 0 };
    for (; *chars; chars++) set.bits[(unsigned char)*chars / 32] |= UINT32_C(1) << (unsigned char)*chars % 32;
    return set;
}

EXACTLY size_t strcspn(const char *s, const char *stops)
{
    size_t n = 0;
    if (!stops[0] || !stops[1]) return (size_t)(strchrnul(s, stops[0]) - s);
    if (!s[0]) return 0;
    charset set = charset_of(stops);
    while (s[n] && !has(&set, (unsigned char)s[n])) n++;
    return n;
}

EXACTLY size_t strspn(const char *s, const char *accepted)
{
    size_t n = 0;
    if (!s[0] || !accepted[0]) return 0;
    charset set = charset_of(accepted);          /* without the end of text: the loop stops there */
    while (has(&set, (unsigned char)s[n])) n++;
    return n;
}

EXACTLY char *strpbrk(const char *s, const char *stops)
{
    s += strcspn(s, stops);
    return *s ? (char *)s : NULL;
}

/* A long needle may match in part at every place: memmem bounds that, and measuring is no more than such a search costs. */
EXACTLY char *strstr(const char *s, const char *needle)
{
    size_t n = strlen(needle);
    if (!n) return (char *)s;
    if (n > NEEDLE_SHORT) return memmem(s, strlen(s), needle, n);
    for (; (s = strchr(s, needle[0])); s++) {
        size_t i = 1;
        while (i < n && s[i] == needle[i]) i++;
        if (i == n) return (char *)s;
    }
    return NULL;
}
#endif
