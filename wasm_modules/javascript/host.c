/* host.c: see host.h. Natively (tests under sanitizers) the symbol host_call is given by the test driver. */
#include "host.h"

#include <stdint.h>
#include <stdlib.h>

#ifdef __wasm__
__attribute__((import_module("host"), import_name("call")))
#endif
extern int host_call(const char *message, uint32_t len, char **reply, uint32_t *reply_len);

/* malloc for the host: one byte more than asked for, so that every text it places ends in NUL. 0 means out of memory. */
#ifdef __wasm__
__attribute__((export_name("host_alloc")))
#endif
void *host_alloc(uint32_t len);

void *host_alloc(uint32_t len)
{
    if (len == UINT32_MAX)
        return NULL;
    char *block = malloc((size_t)len + 1);
    if (block)
        block[len] = 0;
    return block;
}

int host_send(const char *message, size_t len, char **reply, size_t *reply_len)
{
    char *bytes = NULL;
    uint32_t size = 0;
    *reply = NULL;
    *reply_len = 0;
    if (len > UINT32_MAX)
        return -1;
    int status = host_call(message, (uint32_t)len, &bytes, &size);
    if (status != 0) {
        free(bytes);
        return -1;
    }
    *reply = bytes;
    *reply_len = size;
    return 0;
}
