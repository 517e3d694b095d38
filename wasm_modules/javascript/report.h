/* report.h: turns an exception into the outcome's error and the text on stderr.
 *
 * Rules: a span always points into the program of this turn, in code points; an exception from elsewhere is placed where
 * the program called it. It does not send anything to the host.
 */
#ifndef HATCHWAY_REPORT_H
#define HATCHWAY_REPORT_H

#include <stdbool.h>

#include "buffer.h"
#include "quickjs.h"
#include "realm.h"

/* Finds the innermost frame of `stack` that lies in the file `name`; columns are bytes, as the engine counts. */
struct position find_position(const char *stack, const char *name);

/* Turns a byte column of the program into a code point column. */
struct position in_code_points(struct position bytes);

/* Writes the error object for `exception` as JSON, and, when `to_stderr`, the text a terminal would show.
 * `compiling` says that the exception came from compiling the program. */
void report_exception(JSContext *ctx, JSValueConst exception, bool compiling, bool to_stderr, struct buffer *error);

/* Writes an error object that has no exception behind it. `hint` may be NULL. */
void report_plain(const char *code, const char *message, const char *hint, struct buffer *error);

#endif
