/* host.h - the one import of the guest, and what is built on it. */
#ifndef HATCH_HOST_H
#define HATCH_HOST_H
#include <stddef.h>
/* Sends opcode and body, returns the reply (malloc'ed, NUL-terminated copy; NULL for none) and its length. 0, or negative:
 * refused. */
int host_send(char opcode, const char *body, size_t n, char **reply, size_t *reply_len);
void capability_refresh(void);   /* forget the names: called when a turn begins */
#endif
