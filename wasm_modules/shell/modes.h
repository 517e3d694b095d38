/* modes.h - permission bits, which WASI preview 1 does not have.
 *
 * In the sandbox a file's bits are remembered by inode for as long as the session lives; natively they are the file system's
 * own. Files nobody changed have 0666 (directories and symbolic links 0777) without the bits of the file mode creation mask.
 * Both the tools and the shell's test -r/-w/-x ask here.
 */
#ifndef HATCH_MODES_H
#define HATCH_MODES_H
#include <sys/stat.h>

unsigned modes_get(const struct stat *st);               /* the 07777 bits */
int modes_set(const char *path, unsigned bits);          /* follows links; 0, or -1 and errno */
#ifdef __wasi__
void modes_program(const char *path);                    /* this file is executable, whatever name it has, and stays so */
#endif
unsigned modes_umask(unsigned mask);                     /* sets, returns the old one */
unsigned modes_umask_get(void);
#endif
