/* prelude.h: the JavaScript part of the guest, as text built into it. */
#ifndef HATCHWAY_PRELUDE_H
#define HATCHWAY_PRELUDE_H

#include <stdbool.h>
#include <stddef.h>

struct prelude_file {
    const char *name, *text; /* text ends in NUL */
    bool waits; /* until a program needs it: it costs sessions that do not nothing */
};

extern const struct prelude_file prelude_files[];
extern const size_t prelude_count;

#endif
