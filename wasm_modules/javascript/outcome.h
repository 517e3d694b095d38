/* outcome.h: what a turn came to. */
#ifndef HATCHWAY_OUTCOME_H
#define HATCHWAY_OUTCOME_H

#include <stdbool.h>

#include "buffer.h"
#include "quickjs.h"

/* What a turn came to: the JSON text of `result`, or of `error`. */
struct outcome {
    struct buffer result, error;
    struct buffer display; /* a value that is no JSON, as text to look at */
    struct buffer warning; /* what is to be said about it */
    bool diagnose; /* repeat the error among the diagnostics */
    bool unread;   /* the program could not be compiled: nothing of it ran */
};

/* Makes the pending exception the error of the turn. */
void outcome_report(JSContext *ctx, bool compiling, bool to_stderr, struct outcome *outcome);

/* Makes the value the result of the turn. One that is no JSON is told of when it is `meant` as the result. */
void outcome_write(JSContext *ctx, JSValueConst value, bool meant, struct outcome *outcome);

/* Sends the outcome. A buffer that ran out of memory is replaced by a constant text. */
void outcome_send(const struct outcome *outcome);

void outcome_free(struct outcome *outcome);

#endif
