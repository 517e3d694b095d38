/* json.c - a strict JSON reader into an arena, and string quoting. Nesting is capped, so recursion is bounded. */
#include "json.h"
#include <ctype.h>
#include <string.h>

enum { MAX_DEPTH = 300 };
typedef struct { const char *s, *end; arena *a; int depth; } reader;
static json *value(reader *r);

static void blanks(reader *r) { while (r->s < r->end && strchr(" \t\r\n", *r->s) && *r->s) r->s++; }

static int hex4(const char *s, const char *end)
{
    int v = 0;
    if (end - s < 4) return -1;
    for (int i = 0; i < 4; i++) {
        if (!isxdigit((unsigned char)s[i])) return -1;
        v = v * 16 + (isdigit((unsigned char)s[i]) ? s[i] - '0' : (s[i] | 32) - 'a' + 10);
    }
    return v;
}

/* *s is behind the backslash u: one code point, surrogate pairs joined. How many bytes of UTF-8 that is; 0 when malformed. */
static size_t unicode(const char **s, const char *end, char out[4])
{
    int hi = hex4(*s, end);
    if (hi < 0) return 0;
    *s += 4;
    uint32_t cp = (uint32_t)hi;
    if (hi >= 0xd800 && hi < 0xdc00 && end - *s >= 6 && (*s)[0] == '\\' && (*s)[1] == 'u') {
        int lo = hex4(*s + 2, end);
        if (lo >= 0xdc00 && lo < 0xe000) { cp = 0x10000 + (((uint32_t)hi - 0xd800) << 10) + ((uint32_t)lo - 0xdc00); *s += 6; }
    }
    if (cp >= 0xd800 && cp < 0xe000) cp = 0xfffd;
    return utf8_put(cp, out);
}

/* Decodes text of n bytes where it stands: no escape is shorter than what it means. False when malformed. */
static bool unescape(char *text, size_t *n)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *s = text, *end = text + *n, *at;
    char *out = text, bytes[4];
    while (s < end) {
        if (*s != '\\') { *out++ = *s++; continue; }
        char c = s[1];
        s += 2;
        if (c == 'u') {
            size_t len = unicode(&s, end, bytes);
            if (!len) return false;
            memcpy(out, bytes, len);
            out += len;
        } else if (c && (at = strchr(from, c))) *out++ = to[at - from];
        else return false;
    }
    *out = 0;
    *n = (size_t)(out - text);
    return true;
}

/* The string at s (behind the quote), decoded; NULL when malformed. */
static char *string(reader *r, size_t *len)
{
    const char *s = r->s;
    bool plain = true;
    for (; s < r->end && *s != '"'; s++) {
        if ((unsigned char)*s < 0x20) return NULL;
        if (*s == '\\') { plain = false; s++; }
    }
    if (s >= r->end) return NULL;
    *len = (size_t)(s - r->s);
    char *text = arena_strndup(r->a, r->s, *len);
    r->s = s + 1;
    return plain || unescape(text, len) ? text : NULL;
}

static json *container(reader *r, json *j, char close)
{
    json **tail = &j->child;
    r->s++;
    blanks(r);
    if (r->s < r->end && *r->s == close) { r->s++; return j; }
    for (;;) {
        char *key = NULL;
        size_t n;
        blanks(r);
        if (close == '}') {
            if (r->s >= r->end || *r->s++ != '"' || !(key = string(r, &n))) return NULL;
            blanks(r);
            if (r->s >= r->end || *r->s++ != ':') return NULL;
        }
        json *v = value(r);
        if (!v) return NULL;
        v->key = key;
        *tail = v;
        tail = &v->next;
        blanks(r);
        if (r->s >= r->end) return NULL;
        char c = *r->s++;
        if (c == close) return j;
        if (c != ',') return NULL;
    }
}

static bool number(reader *r)
{
    const char *s = r->s;
    if (s < r->end && *s == '-') s++;
    if (s >= r->end || !isdigit((unsigned char)*s)) return false;
    if (*s == '0') s++; else while (s < r->end && isdigit((unsigned char)*s)) s++;
    if (s < r->end && *s == '.') {
        s++;
        if (s >= r->end || !isdigit((unsigned char)*s)) return false;
        while (s < r->end && isdigit((unsigned char)*s)) s++;
    }
    if (s < r->end && (*s == 'e' || *s == 'E')) {
        s++;
        if (s < r->end && (*s == '+' || *s == '-')) s++;
        if (s >= r->end || !isdigit((unsigned char)*s)) return false;
        while (s < r->end && isdigit((unsigned char)*s)) s++;
    }
    r->s = s;
    return true;
}

static bool literal(reader *r, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(r->end - r->s) < n || memcmp(r->s, word, n)) return false;
    r->s += n;
    return true;
}

static json *value(reader *r)
{
    blanks(r);
    if (r->s >= r->end || ++r->depth > MAX_DEPTH) return NULL;
    json *j = arena_alloc(r->a, sizeof *j);
    j->raw = r->s;
    char c = *r->s;
    bool ok = true;
    if (c == '{') { j->kind = J_OBJECT; ok = container(r, j, '}') != NULL; }
    else if (c == '[') { j->kind = J_ARRAY; ok = container(r, j, ']') != NULL; }
    else if (c == '"') { j->kind = J_STRING; r->s++; ok = (j->text = string(r, &j->len)) != NULL; }
    else if (c == 't') { j->kind = J_TRUE; ok = literal(r, "true"); }
    else if (c == 'f') { j->kind = J_FALSE; ok = literal(r, "false"); }
    else if (c == 'n') ok = literal(r, "null");
    else { j->kind = J_NUMBER; ok = number(r); }
    if (!ok) return NULL;
    j->raw_len = (size_t)(r->s - j->raw);
    if (j->kind != J_STRING) { j->text = arena_strndup(r->a, j->raw, j->raw_len); j->len = j->raw_len; }
    r->depth--;
    return j;
}

json *json_parse(arena *a, const char *s, size_t n)
{
    reader r = { s, s + n, a, 0 };
    json *j = value(&r);
    blanks(&r);
    return j && r.s == r.end ? j : NULL;
}

json *json_get(json *o, const char *key)
{
    if (!o || o->kind != J_OBJECT) return NULL;
    for (json *j = o->child; j; j = j->next) if (!strcmp(j->key, key)) return j;
    return NULL;
}

void json_quote(strbuf *b, const char *s, size_t n)
{
    const char *end = s + n;
    sb_putc(b, '"');
    while (s < end) {
        uint32_t cp;
        size_t k = *s ? utf8_next(s, &cp) : (cp = 0, (size_t)1);
        if (s + k > end) { k = 1; cp = 0xfffd; }
        if (cp == '"' || cp == '\\') { sb_putc(b, '\\'); sb_putc(b, (char)cp); }
        else if (cp == '\n') sb_puts(b, "\\n");
        else if (cp == '\t') sb_puts(b, "\\t");
        else if (cp == '\r') sb_puts(b, "\\r");
        else if (cp < 0x20) sb_printf(b, "\\u%04x", (unsigned)cp);
        else if (k == 1 && (unsigned char)*s >= 0x80) sb_puts(b, "\xef\xbf\xbd");
        else sb_add(b, s, k);
        s += k;
    }
    sb_putc(b, '"');
}
