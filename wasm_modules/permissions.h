/* permissions.h - the permissions of files, which WASI preview 1 does not have (see ABI.md, "Permissions").
 *
 * Included before every source of a guest. In the sandbox `stat` and its like then say the mode and the owner, and there are
 * `chmod`, `fchmod` and `umask`; natively all of them are the C library's own.
 */
#ifndef HATCHWAY_PERMISSIONS_H
#define HATCHWAY_PERMISSIONS_H
#include <sys/stat.h>
#ifdef __wasi__

int permitted_stat(const char *path, struct stat *st);
int permitted_lstat(const char *path, struct stat *st);
int permitted_fstat(int fd, struct stat *st);

#define stat(path, st) permitted_stat(path, st)
#define lstat(path, st) permitted_lstat(path, st)
#define fstat(fd, st) permitted_fstat(fd, st)

int permitted_chmod(const char *path, mode_t mode);
int permitted_fchmod(int fd, mode_t mode);
#define chmod(path, mode) permitted_chmod(path, mode)
#define fchmod(fd, mode) permitted_fchmod(fd, mode)
mode_t umask(mode_t mask);
mode_t umask_now(void);
#else
static inline mode_t umask_now(void)
{
    mode_t mask = umask(022);
    umask(mask);
    return mask;
}
#endif
#endif
