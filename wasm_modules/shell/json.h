/* json.h - the little JSON the shell needs: reading requests and replies, writing outcomes and arguments. */
#ifndef HATCH_JSON_H
#define HATCH_JSON_H
#include "sh.h"

enum json_kind { J_NULL, J_FALSE, J_TRUE, J_NUMBER, J_STRING, J_ARRAY, J_OBJECT };

typedef struct json {
    uint8_t kind;
    char *text;                  /* strings decoded; numbers as written */
    size_t len;
    const char *raw;             /* source text of this value */
    size_t raw_len;
    struct json *child, *next;   /* elements or members in order */
    char *key;                   /* of a member */
} json;

json *json_parse(arena *a, const char *s, size_t n);     /* NULL when it is no JSON, or nests deeper than 300 */
json *json_get(json *object, const char *key);           /* NULL when absent */
void json_quote(strbuf *b, const char *s, size_t n);     /* a JSON string; invalid UTF-8 becomes U+FFFD */
#endif
