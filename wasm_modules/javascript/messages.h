/* messages.h: what the engine's own errors say, in the words that programs and people know from V8.
 *
 * Rules: a message is found by the engine's format, and has the same arguments in the same order. Where V8's words need what
 * the engine does not tell (the text of the expression that is no function), the engine's own are kept: none are made up.
 */
#ifndef HATCHWAY_MESSAGES_H
#define HATCHWAY_MESSAGES_H

#include <stdarg.h>

/* The format to use in place of the engine's. `arguments` are looked at, and not consumed. */
const char *spell_message(const char *format, va_list arguments);

#endif
