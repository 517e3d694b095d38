/* parse_compound.h - the boundary between parser.c and parse_compound.c. */
#ifndef HATCH_PARSE_COMPOUND_H
#define HATCH_PARSE_COMPOUND_H
#include "parse.h"
node *parse_compound(parser *p);                         /* NULL when the next token begins none */
node *parse_command(parser *p);
node *parse_function(parser *p, word *name, int line);   /* at the "(" behind a name */
void parse_redirs(parser *p, node *n);
#endif
