/* yaml.h - YAML documents as JSON values, for yq. The part of YAML that configuration files use: block and flow collections, all
 * scalar styles, anchors, aliases, merge keys, several documents. Not: tags other than !!str, complex keys, directives. */
#ifndef HATCH_YAML_H
#define HATCH_YAML_H
#include "json.h"

typedef struct { jctx *C; const char *p, *end, *begin; const char *error; int line, depth; jv anchors; } yaml_reader;

void yaml_start(yaml_reader *r, jctx *C, const char *text, size_t n);
jv yaml_next(yaml_reader *r); /* the next document; J_INVALID at the end, or with r->error */
void yaml_write(jctx *C, buffer *b, jv v, int indent);                /* block style, ends with a newline; v borrowed */
#endif
