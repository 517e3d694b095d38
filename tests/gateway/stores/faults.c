/* Makes the disk fail on purpose, for tests: preloaded into a process, it fails its n-th write, flush or truncation.

   HATCHWAY_FAULTS names a file of four ints that the test maps as well:
     countdown  calls until a fault; 0 or less: never
     error      errno of the fault; 0: a short write (half of the bytes) instead
     lasting    nonzero: every call after the fault fails too, until countdown is set again
     faults     how many calls were made to fail
   Only pwrite, fsync, fdatasync and ftruncate are met: what SQLite writes with, and Python itself does not. With
   HATCHWAY_FAULTS_BELOW only calls on files whose path begins with it are counted. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

struct plan { volatile int countdown, error, lasting, faults; };

static struct plan *plan(void) {
    static struct plan *mapped;
    if (!mapped) {
        const char *path = getenv("HATCHWAY_FAULTS");
        int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
        void *at = fd < 0 ? MAP_FAILED : mmap(0, sizeof(struct plan), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        static struct plan none;
        mapped = at == MAP_FAILED ? &none : at;
    }
    return mapped;
}

/* Does the file lie where faults are wanted? */
static int meant(int fd) {
    const char *below = getenv("HATCHWAY_FAULTS_BELOW");
    char link[64], path[4096];
    if (!below) return 1;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path);
    return size >= (ssize_t)strlen(below) && !memcmp(path, below, strlen(below));
}

/* Is this call the one that fails? */
static int due(int fd) {
    struct plan *p = plan();
    if (p->countdown <= 0 || !meant(fd)) return 0;
    if (p->countdown > 1) { p->countdown--; return 0; }
    if (!p->lasting) p->countdown = 0;
    p->faults++;
    return 1;
}

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

static ssize_t write_at(const char *name, int fd, const void *data, size_t size, off_t at) {
    ssize_t (*real)(int, const void *, size_t, off_t) = next(name);
    if (due(fd)) {
        if (plan()->error) { errno = plan()->error; return -1; }
        size = size / 2 ? size / 2 : size;
    }
    return real(fd, data, size, at);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return write_at("pwrite", fd, data, size, at); }
ssize_t pwrite64(int fd, const void *data, size_t size, off_t at) { return write_at("pwrite64", fd, data, size, at); }

static int flush(const char *name, int fd) {
    int (*real)(int) = next(name);
    if (due(fd) && plan()->error) { errno = plan()->error; return -1; }
    return real(fd);
}

int fsync(int fd) { return flush("fsync", fd); }
int fdatasync(int fd) { return flush("fdatasync", fd); }

static int truncate_at(const char *name, int fd, off_t size) {
    int (*real)(int, off_t) = next(name);
    if (due(fd) && plan()->error) { errno = plan()->error; return -1; }
    return real(fd, size);
}

int ftruncate(int fd, off_t size) { return truncate_at("ftruncate", fd, size); }
int ftruncate64(int fd, off_t size) { return truncate_at("ftruncate64", fd, size); }
