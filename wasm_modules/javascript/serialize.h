/* serialize.h: strict JSON text of a JavaScript value.
 *
 * Rules: only what JSON can say is written; nothing is silently dropped or changed, except that undefined becomes null
 * (or leaves out its property) and objects with toJSON say themselves what they are. Works without recursion.
 */
#ifndef HATCHWAY_SERIALIZE_H
#define HATCHWAY_SERIALIZE_H

#include "buffer.h"
#include "quickjs.h"

#define SERIALIZE_DEPTH_LIMIT 256
#define SERIALIZE_BEGINNING_BYTES ((size_t)1 << 20)

enum serialized {
    SERIALIZED_OK,
    SERIALIZED_REFUSED, /* `why` says what is no JSON, or that it is more than the buffer's limit: see `is_cut` */
    SERIALIZED_THREW,   /* a getter or toJSON threw: the exception is pending */
};

struct refusal {
    char message[256];
    const char *hint;
    bool is_cut; /* the value is more than the limit, and what was written is the beginning of it */
};

/* Writes `value` to `out`. `subject` names it in a refusal: "result", which gives "the result" and "result.name". */
enum serialized serialize(JSContext *ctx, JSValueConst value, const char *subject, struct buffer *out, struct refusal *why);

#endif
