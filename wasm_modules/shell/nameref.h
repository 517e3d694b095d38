/* nameref.h - assigning through a reference to its own name. */
#ifndef HATCH_NAMEREF_H
#define HATCH_NAMEREF_H
#include "sh.h"
/* When s is a local reference to its own name: the variables in front of the global one, put aside. Else NULL. */
var *circular_aside(slot *s);
void circular_back(slot *s, var *inner);         /* puts them in front again; inner NULL: nothing to do */
#endif
