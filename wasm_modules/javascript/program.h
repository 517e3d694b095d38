/* program.h: compiles the program of a turn.
 *
 * A program is a classic script with top-level await, run in the one realm of the session, so that its declarations are
 * global and survive. A program with static imports or exports is run the same way, in strict mode: its import and export
 * statements are taken out (replaced by as many spaces, so every position stays true), and the imports are bound as
 * globals before it runs.
 */
#ifndef HATCHWAY_PROGRAM_H
#define HATCHWAY_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "quickjs.h"
#include "realm.h"

#define IMPORTS_LIMIT 512

/* One name bound by an import statement; `name` NULL binds the whole namespace. Texts are owned. */
struct binding {
    char *name, *local;
};

struct import {
    char *specifier;
    struct binding *bindings;
    size_t binding_count;
    struct position at; /* of the statement, in bytes */
};

struct program {
    char *text; /* the source with import and export statements blanked */
    size_t len;
    struct import *imports;
    size_t import_count;
    JSValue script; /* compiled */
};

/* Compiles `source`. Returns 0, or -1 with the exception pending. program_free is needed in both cases. */
int program_compile(JSContext *ctx, const char *source, size_t len, const char *filename, struct program *program);

void program_free(JSContext *ctx, struct program *program);

#endif
