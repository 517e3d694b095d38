/* modules.h: connects the engine's module loader to the prelude.
 *
 * Rules: where a name leads and what a file holds is decided by the prelude (prelude/modules.js); this file only makes
 * engine modules of it.
 */
#ifndef HATCHWAY_MODULES_H
#define HATCHWAY_MODULES_H

#include "loop.h"
#include "program.h"
#include "quickjs.h"

void modules_install(JSRuntime *rt);

/* Loads the modules a program imports and binds their exports as globals. On LOOP_THREW the exception is pending. */
enum loop_end modules_import(JSContext *ctx, const struct program *program, const char *filename);

/* Loads and evaluates the ES module `path` for require(). Returns its namespace, or an exception. */
JSValue modules_require(JSContext *ctx, const char *path);

#endif
