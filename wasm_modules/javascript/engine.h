/* engine.h: what the shim needs from QuickJS beyond its public header.
 *
 * Rules: engine.c is the only file that sees the engine's internals; everything here is expressed in public types.
 * It does not know about requests, outcomes or the host.
 */
#ifndef HATCHWAY_ENGINE_H
#define HATCHWAY_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "moves.h"
#include "quickjs.h"

/* Makes room for the top-level declarations of a compiled script, so that `let x` may follow an earlier turn's
 * `const x`, `var x` or `class x`. Properties the engine itself made permanent (undefined, NaN, Infinity) stay.
 * `declared` is set when the script declares `watched`. Returns 0, or -1 with an exception. */
int engine_release_declared(JSContext *ctx, JSValueConst script, JSAtom watched, bool *declared);

/* True when the last statement of a compiled program is an expression: not a declaration, and no expression inside of a loop,
 * an `if`, a `switch` or a `try`. */
bool engine_ends_in_expression(JSValueConst script);

/* Removes the top-level lexical binding `name`, if there is one, and returns its value (undefined when it was never
 * initialised); JS_UNINITIALIZED when there is none. */
JSValue engine_take_lexical(JSContext *ctx, JSAtom name);

/* The object whose properties are the names that programs declared at their top level with let, const and class. */
JSValue engine_declarations(JSContext *ctx);

/* Removes whatever a program declared or imported as `name`, so that the name can be given a new meaning.
 * Returns 0, or -1 with an exception. */
int engine_release_name(JSContext *ctx, JSAtom name);

/* Sets the state of Math.random. */
void engine_seed_random(JSContext *ctx, uint64_t seed);

/* Lets performance.now() count from now: an image may have been made with another clock. */
void engine_restart_clock(JSContext *ctx);

/* Drops every queued promise job without running it. */
void engine_drop_jobs(JSRuntime *rt);

/* Finds where `import` and `export` stand at the top level of a program, and `import.meta` anywhere: the offsets of these words,
 * at most `room` of them, in order. Returns how many; the search ends early at what is no JavaScript. */
size_t engine_find_module_words(JSContext *ctx, const char *source, size_t len, size_t *offsets, size_t room);

/* Gives a compiled script or module, and the functions in it, the positions of the source it was made of. Returns 0, or -1 with
 * an exception. */
int engine_move_positions(JSContext *ctx, JSValueConst compiled, const struct moves *moves);

/* Compiles and runs `source` as a classic script whose first line counts as line `line` (0 hides a wrapper line). */
JSValue engine_eval_at(JSContext *ctx, const char *source, size_t len, const char *filename, int line);

/* Makes the loader forget every module whose name starts with '/', so the next import reads the files again. */
void engine_forget_file_modules(JSContext *ctx);

/* Evaluates a module that was loaded and needs no top-level await; returns its namespace, or an exception. */
JSValue engine_module_namespace(JSContext *ctx, JSModuleDef *module);

/* What an object is, as far as showing and serialising it is concerned. */
enum engine_kind {
    KIND_OTHER, KIND_PLAIN, KIND_ARRAY, KIND_FUNCTION, KIND_ERROR, KIND_DATE, KIND_REGEXP, KIND_MAP, KIND_SET, KIND_WEAK,
    KIND_PROMISE, KIND_BUFFER, KIND_TYPED_ARRAY, KIND_BOXED, KIND_PROXY, KIND_GENERATOR, KIND_NAMESPACE, KIND_ARGUMENTS,
    KIND_ITERATOR,
};
enum engine_kind engine_kind(JSValueConst object);

/* What a KIND_BOXED object holds; not to be freed. */
JSValueConst engine_boxed(JSValueConst object);

/* The stack of an error without running a getter: what stands in its own property `stack`, else the frames it was made with,
 * from where it was made: without the constructors of its own class. Undefined for anything that is no error. */
JSValue engine_stack(JSContext *ctx, JSValueConst error);

/* Gives every function whose source is called `from` a source called `to`. Returns 0, or -1 with an exception. */
int engine_rename_source(JSContext *ctx, const char *from, const char *to);

/* Bytes the engine has allocated. */
size_t engine_allocated_bytes(JSRuntime *rt);

#endif
