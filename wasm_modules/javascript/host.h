/* host.h: the one import of the guest, `host.call` (see ../ABI.md).
 *
 * Rules: messages are an opcode byte and a body; replies are owned by the caller and freed with free(). It does not
 * know what the messages mean.
 */
#ifndef HATCHWAY_HOST_H
#define HATCHWAY_HOST_H

#include <stddef.h>

enum host_opcode {
    HOST_DONE = 'D',
    HOST_CALL = 'C',
    HOST_NAMES = 'N',
    HOST_ERASE = 'E',
};

/* Sends one message whose first byte is the opcode. On 0, *reply is a NUL-terminated block of *reply_len bytes (NULL when
 * the reply is empty). Negative means that the host refused. */
int host_send(const char *message, size_t len, char **reply, size_t *reply_len);

#endif
