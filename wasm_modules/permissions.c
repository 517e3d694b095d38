/* permissions.c - see permissions.h. The host keeps the modes; the mask of new files is kept here as well, to be asked for. */
#ifdef __wasi__
#include "permissions.h"
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#undef stat
#undef lstat
#undef fstat

enum { USER = 1000, HOST_OWNED = 010000 };

__attribute__((import_module("host"), import_name("call")))
extern int host_call(const char *message, uint32_t len, char **reply, uint32_t *reply_len);

/* Takes the mode out of the number of the device, where the host puts it. */
static int take_mode(int status, struct stat *st)
{
    if (status == 0) {
        unsigned bits = (unsigned)(st->st_dev >> 32);
        st->st_dev = (uint32_t)st->st_dev;
        st->st_mode |= bits & 07777;
        st->st_uid = st->st_gid = bits & HOST_OWNED ? 0 : USER;
    }
    return status;
}

int permitted_stat(const char *path, struct stat *st) { return take_mode(stat(path, st), st); }
int permitted_lstat(const char *path, struct stat *st) { return take_mode(lstat(path, st), st); }
int permitted_fstat(int fd, struct stat *st) { return take_mode(fstat(fd, st), st); }

/* Sends a message whose reply is empty, or the number of an error. 0, or -1 and errno. */
static int ask(const char *message, size_t len)
{
    char *reply = NULL, number[12];
    uint32_t size = 0;
    if (host_call(message, (uint32_t)len, &reply, &size) != 0) { errno = ENOTSUP; return -1; }
    if (!reply) return 0;
    size_t n = size < sizeof number - 1 ? size : sizeof number - 1;
    memcpy(number, reply, n);
    number[n] = 0;
    free(reply);
    errno = atoi(number);
    return -1;
}

static int change(int fd, const char *path, mode_t mode)
{
    char message[32 + 2 * PATH_MAX], folder[PATH_MAX] = "";
    if (fd < 0 && (!*path || strlen(path) >= PATH_MAX)) { errno = *path ? ENAMETOOLONG : ENOENT; return -1; }
    if (fd < 0 && *path != '/' && !getcwd(folder, sizeof folder)) return -1;
    int n = snprintf(message, sizeof message, "M%o %d 1 %s%s%s", (unsigned)mode & 07777, fd, folder, *folder ? "/" : "", path);
    return ask(message, (size_t)n);
}

int permitted_chmod(const char *path, mode_t mode) { return change(-1, path, mode); }
int permitted_fchmod(int fd, mode_t mode)
{
    if (fd < 0) { errno = EBADF; return -1; }
    return change(fd, "", mode);
}

static mode_t now = 022;

mode_t umask_now(void) { return now; }

mode_t umask(mode_t mask)
{
    mode_t before = now;
    char message[8];
    now = mask & 0777;
    if (now != before) ask(message, (size_t)snprintf(message, sizeof message, "U%o", (unsigned)now));
    return before;
}
#endif
