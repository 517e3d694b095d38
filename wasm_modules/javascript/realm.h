/* realm.h: the one interpreter of a guest, and what a turn keeps in it.
 *
 * Rules: there is exactly one realm, made when the image is made; it lives in linear memory and is never freed.
 */
#ifndef HATCHWAY_REALM_H
#define HATCHWAY_REALM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "moves.h"
#include "quickjs.h"

#define PATH_LIMIT_BYTES 4096

/* A place in a source text, 1-based; line 0 means unknown. */
struct position {
    unsigned line, column;
};

/* Property names used in every turn, interned once. */
struct atoms {
    JSAtom code, filename, inputs, validate_only, max_stack_depth, seed, env, interruptible;
    JSAtom result, value, message, name, hint, toJSON, then;
};

struct realm {
    JSRuntime *rt;
    JSContext *ctx;
    JSValue global;
    JSValue hooks; /* functions of the prelude that C calls: inspect, toolFailure, require, … */
    JSValue native; /* functions of C that the prelude calls */
    struct atoms atoms;
    char cwd[PATH_LIMIT_BYTES];

    const char *program_name; /* file name of the running program */
    const char *program_text; /* and its source, for error reports */
    size_t program_len;
    struct moves moves; /* between it and what was compiled */
    const struct position *importing; /* the import statement being carried out, or that failed */
    unsigned turn; /* number of the running turn */
    unsigned run; /* number of the running program, as `<run N>` has it: empty ones do not count */
    JSValue names; /* the number of the run that had a file name last, by that name */
    bool exiting; /* process.exit was called */
    bool exit_watched; /* the program listens for its exit */
    bool ticks_waiting; /* functions were given to process.nextTick */
    int exit_code;
    volatile int32_t interrupted; /* set by the host: the program is to end at its next safe point */
    bool result_set; /* the program assigned the global `result` */
    JSValue result;
};

extern struct realm realm;

/* Makes the interpreter and evaluates the prelude. Returns 0, or -1 when that failed (the image is then unusable). */
int realm_open(void);

/* Calls the prelude function `name`. Returns its value, or an exception. */
JSValue realm_hook(const char *name, int argc, JSValueConst *argv);

/* Evaluates the prelude file `name`, one of those that wait until they are needed. Returns 0, or -1 with an exception. */
int realm_load(const char *name);

/* Limits recursion to about `depth` JavaScript calls. */
void realm_limit_depth(unsigned depth);

/* The roomier limit used while parsing, whose recursion is not the program's. */
void realm_limit_parser(void);

/* Was the program asked to end? Says so once: what reports its end is not ended too. */
bool realm_take_interrupt(void);

/* Keeps a block of memory back, given up when memory runs out so that the failure itself can be reported. */
void realm_renew_reserve(void);

/* Has an allocation failed since the reserve was renewed? */
bool realm_memory_failed(void);

#endif
