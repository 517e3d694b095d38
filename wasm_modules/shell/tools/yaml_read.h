/* yaml_read.h - what yaml_read.c (collections, documents) and yaml_scalar.c share. A function that fails has set r->error. */
#ifndef HATCH_YAML_READ_H
#define HATCH_YAML_READ_H
#include "yaml.h"

jv yaml_fail(yaml_reader *r, const char *message);
int yaml_column(const yaml_reader *r);
void yaml_skip_blanks(yaml_reader *r);
int yaml_at_line_end(const yaml_reader *r);
void yaml_skip_comment(yaml_reader *r);
int yaml_at_marker(const yaml_reader *r, const char *mark);
jv yaml_resolve(yaml_reader *r, const char *p, size_t n);
jv yaml_quoted(yaml_reader *r);
jv yaml_block_scalar(yaml_reader *r, int indent);
const char *yaml_plain_end(const yaml_reader *r, int flow);
jv yaml_plain(yaml_reader *r, int indent, int flow, int key);
#endif
