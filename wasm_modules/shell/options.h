/* options.h - the tables behind set -o and shopt. */
#ifndef HATCH_OPTIONS_H
#define HATCH_OPTIONS_H
#include "sh.h"
typedef struct { const char *name; char letter; int index; } option;
extern const option set_options[], shopt_options[];   /* sorted, end with a NULL name */
const option *option_find(const option *table, const char *name);
void options_start(void);
#endif
