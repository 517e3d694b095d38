/* natives.h: the functions the prelude is given. They are not reachable from programs.
 *
 * Rules: one object, handed to each prelude file and to nobody else.
 */
#ifndef HATCHWAY_NATIVES_H
#define HATCHWAY_NATIVES_H

#include "quickjs.h"

/* Adds printing, inspection, text encoding, randomness, tools, modules and exit to `native`. */
int natives_install(JSContext *ctx, JSValueConst native);

/* Adds file access (files.c). */
int files_install(JSContext *ctx, JSValueConst native);

/* Adds open files, links and times (handles.c). */
int handles_install(JSContext *ctx, JSValueConst native);

/* Adds message digests (digests.c). */
int digests_install(JSContext *ctx, JSValueConst native);

/* Adds what derives keys from passwords (derivation.c). */
int derivation_install(JSContext *ctx, JSValueConst native);

/* Adds compression (deflating.c). */
int deflating_install(JSContext *ctx, JSValueConst native);

/* Adds the parsing of URLs (urls.c). */
int urls_install(JSContext *ctx, JSValueConst native);

/* Throws the Error for an errno, as Node words it: "ENOENT: no such file or directory, open '/x'". `path` may be NULL. */
JSValue throw_errno(JSContext *ctx, int number, const char *syscall, const char *path);

#endif
