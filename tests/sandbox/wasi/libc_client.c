/* A C program as a client of the filesystem: what wasi-libc makes of the WASI calls.
 *
 * Prints one line per failed expectation and nothing else, and exits with their number. Starts in "/" with an empty
 * /workspace and a read-only file /workspace/fixed that holds "fixed". */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static int failures;

#define EXPECT(condition)                                                       \
    do {                                                                        \
        if (!(condition)) {                                                     \
            printf("line %d: %s (errno %d %s)\n", __LINE__, #condition, errno, strerror(errno)); \
            failures++;                                                         \
        }                                                                       \
    } while (0)
#define REFUSED(number, call)  \
    do {                       \
        errno = 0;             \
        EXPECT((call) == -1);  \
        EXPECT(errno == (number)); \
    } while (0)

/* Creates a file with the given text. */
static void put(const char *path, const char *text) {
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0666);
    EXPECT(fd >= 0);
    EXPECT(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    EXPECT(close(fd) == 0);
}

/* Compares a whole file with a text. */
static int holds(const char *path, const char *text) {
    char buffer[256];
    int fd = open(path, O_RDONLY);
    if (fd < 0) return 0;
    ssize_t n = read(fd, buffer, sizeof buffer);
    close(fd);
    return n == (ssize_t)strlen(text) && memcmp(buffer, text, (size_t)n) == 0;
}

static void flags_and_access(void) {
    put("/workspace/f", "hello");
    int fd = open("/workspace/f", O_RDONLY);
    EXPECT((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY);
    REFUSED(EBADF, write(fd, "x", 1));
    REFUSED(EINVAL, ftruncate(fd, 0));
    close(fd);
    fd = open("/workspace/f", O_WRONLY | O_APPEND);
    EXPECT((fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY);
    EXPECT(fcntl(fd, F_GETFL) & O_APPEND);
    REFUSED(EBADF, read(fd, &failures, 0));
    EXPECT(write(fd, "!", 1) == 1);
    EXPECT(fcntl(fd, F_SETFL, 0) == 0);
    EXPECT(lseek(fd, 0, SEEK_SET) == 0 && write(fd, "J", 1) == 1);
    close(fd);
    EXPECT(holds("/workspace/f", "Jello!"));
    fd = open("/workspace/f", O_RDWR);
    EXPECT((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR);
    close(fd);
    EXPECT(access("/workspace/f", F_OK | R_OK | W_OK) == 0);
    REFUSED(ENOENT, access("/workspace/none", F_OK));
    REFUSED(EACCES, open("/workspace/fixed", O_WRONLY));
    REFUSED(EROFS, open("/none", O_CREAT | O_WRONLY, 0666));
    EXPECT(!isatty(0) && !isatty(1) && errno == ENOTTY);
    EXPECT(open("/workspace/f", O_RDONLY) == 4 || failures < 0);
    EXPECT(close(4) == 0);
    REFUSED(EBADF, close(4));
}

static void positions(void) {
    int fd = open("/workspace/p", O_CREAT | O_RDWR, 0666);
    char buffer[16] = {0};
    struct iovec out[2] = {{"abc", 3}, {"defg", 4}};
    EXPECT(writev(fd, out, 2) == 7);
    EXPECT(pwrite(fd, "XY", 2, 1) == 2);
    EXPECT(lseek(fd, 0, SEEK_CUR) == 7);
    EXPECT(pread(fd, buffer, 16, 0) == 7 && memcmp(buffer, "aXYdefg", 7) == 0);
    struct iovec in[2] = {{buffer, 2}, {buffer + 8, 8}};
    EXPECT(lseek(fd, -6, SEEK_END) == 1);
    EXPECT(readv(fd, in, 2) == 6 && memcmp(buffer, "XY", 2) == 0 && memcmp(buffer + 8, "defg", 4) == 0);
    REFUSED(EINVAL, lseek(fd, -1, SEEK_SET));
    EXPECT(lseek(fd, 100, SEEK_SET) == 100 && read(fd, buffer, 1) == 0);
    EXPECT(posix_fallocate(fd, 0, 50) == 0);
    struct stat found;
    EXPECT(fstat(fd, &found) == 0 && found.st_size == 50 && S_ISREG(found.st_mode));
    EXPECT(ftruncate(fd, 3) == 0 && fstat(fd, &found) == 0 && found.st_size == 3);
    REFUSED(EFBIG, ftruncate(fd, (off_t)1 << 40));
    REFUSED(EFBIG, pwrite(fd, "x", 1, (off_t)1 << 60));
    EXPECT(fsync(fd) == 0 && fdatasync(fd) == 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) == 0);
    close(fd);
    REFUSED(ESPIPE, lseek(1, 0, SEEK_CUR));
}

static void streams(void) {
    FILE *file = fopen("/workspace/s", "w+");
    EXPECT(file != NULL);
    for (int i = 0; i < 5000; i++) fprintf(file, "line %d\n", i);
    EXPECT(fseek(file, 0, SEEK_SET) == 0);
    char line[32];
    int count = 0;
    while (fgets(line, sizeof line, file)) count++;
    EXPECT(count == 5000);
    EXPECT(fseek(file, -10, SEEK_END) == 0 && fgets(line, sizeof line, file) && strcmp(line, "line 4999\n") == 0);
    EXPECT(fclose(file) == 0);
    file = fopen("/workspace/s", "a");
    EXPECT(fputs("end", file) >= 0 && ftell(file) > 0 && fclose(file) == 0);
    EXPECT(fopen("/workspace/none", "r") == NULL && errno == ENOENT);
    EXPECT(fopen("/workspace/s", "wx") == NULL && errno == EEXIST);
}

static void directories(void) {
    char path[64];
    EXPECT(mkdir("/workspace/d", 0777) == 0);
    REFUSED(EEXIST, mkdir("/workspace/d", 0777));
    for (int i = 0; i < 400; i++) {
        snprintf(path, sizeof path, "/workspace/d/entry-%03d", i);
        put(path, "");
    }
    DIR *folder = opendir("/workspace/d");
    EXPECT(folder != NULL);
    int count = 0;
    long middle = -1;
    char after[64] = "";
    struct dirent *entry;
    while ((entry = readdir(folder))) {
        if (count == 200) middle = telldir(folder);
        if (count == 201) snprintf(after, sizeof after, "%s", entry->d_name);
        if (entry->d_name[0] != '.') EXPECT(entry->d_type == DT_REG && entry->d_ino != 0);
        count++;
    }
    EXPECT(count == 402);
    seekdir(folder, middle);
    entry = readdir(folder);
    EXPECT(entry && strcmp(entry->d_name, after) == 0);
    rewinddir(folder);
    count = 0;
    while ((entry = readdir(folder))) {
        if (entry->d_name[0] == '.') continue;
        EXPECT(unlinkat(dirfd(folder), entry->d_name, 0) == 0);
        count++;
    }
    EXPECT(count == 400 && closedir(folder) == 0);
    EXPECT(opendir("/workspace/f") == NULL && errno == ENOTDIR);
    EXPECT(rmdir("/workspace/d") == 0);
    REFUSED(ENOENT, rmdir("/workspace/d"));
}

static void names(void) {
    struct stat found, other;
    char target[16];
    put("/workspace/a", "a");
    EXPECT(symlink("a", "/workspace/l") == 0 && readlink("/workspace/l", target, sizeof target) == 1 && target[0] == 'a');
    EXPECT(lstat("/workspace/l", &found) == 0 && S_ISLNK(found.st_mode) && found.st_size == 1);
    EXPECT(stat("/workspace/l", &found) == 0 && S_ISREG(found.st_mode));
    EXPECT(link("/workspace/a", "/workspace/h") == 0 && stat("/workspace/h", &other) == 0);
    EXPECT(found.st_ino == other.st_ino && found.st_dev == other.st_dev && other.st_nlink == 2);
    EXPECT(rename("/workspace/h", "/workspace/a") == 0 && access("/workspace/h", F_OK) == 0);
    EXPECT(unlink("/workspace/h") == 0 && rename("/workspace/a", "/workspace/b") == 0);
    REFUSED(ENOENT, open("/workspace/l", O_RDONLY));
    REFUSED(ELOOP, open("/workspace/l", O_RDONLY | O_NOFOLLOW));
    EXPECT(symlink("/workspace/b", "/workspace/abs") == 0 && holds("/workspace/abs", "a"));
    EXPECT(holds("/workspace/../workspace/./b", "a") && holds("/../../workspace//b", "a"));
    EXPECT(chdir("/workspace") == 0 && holds("b", "a") && holds("../workspace/b", "a"));
    EXPECT(getcwd(target, sizeof target) && strcmp(target, "/workspace") == 0);
    char *real = realpath("abs", NULL);
    EXPECT(real && strcmp(real, "/workspace/b") == 0);
    free(real);
    int fd = open("/workspace", O_RDONLY | O_DIRECTORY);
    EXPECT(fstatat(fd, "b", &found, 0) == 0 && renameat(fd, "b", fd, "c") == 0 && faccessat(fd, "c", R_OK, 0) == 0);
    EXPECT(mkdirat(fd, "sub", 0777) == 0 && unlinkat(fd, "sub", AT_REMOVEDIR) == 0);
    REFUSED(EISDIR, unlinkat(fd, ".", 0));
    close(fd);
    REFUSED(EISDIR, open("/workspace", O_WRONLY));
    REFUSED(EPERM, unlink("/workspace/fixed"));
    REFUSED(EROFS, rename("/tmp", "/workspace/tmp"));
}

static void unlinked(void) {
    char byte = 0;
    struct stat found;
    int fd = open("/workspace/u", O_CREAT | O_EXCL | O_RDWR, 0600);
    EXPECT(fd >= 0 && unlink("/workspace/u") == 0 && write(fd, "x", 1) == 1);
    EXPECT(pread(fd, &byte, 1, 0) == 1 && byte == 'x' && fstat(fd, &found) == 0 && found.st_nlink == 0);
    REFUSED(ENOENT, open("/workspace/u", O_RDONLY));
    close(fd);
}

static void times(void) {
    put("/workspace/t", "");
    struct timespec when[2] = {{1, 2}, {3, 4}};
    struct stat found;
    EXPECT(utimensat(AT_FDCWD, "/workspace/t", when, 0) == 0 && stat("/workspace/t", &found) == 0);
    EXPECT(found.st_atim.tv_sec == 1 && found.st_atim.tv_nsec == 2 && found.st_mtim.tv_sec == 3 && found.st_mtim.tv_nsec == 4);
    when[0].tv_nsec = UTIME_OMIT;
    when[1].tv_nsec = UTIME_NOW;
    EXPECT(utimensat(AT_FDCWD, "/workspace/t", when, 0) == 0 && stat("/workspace/t", &found) == 0);
    EXPECT(found.st_atim.tv_sec == 1 && found.st_mtim.tv_sec > 1000);
    struct timespec now, nap = {0, 1000000};
    EXPECT(clock_gettime(CLOCK_REALTIME, &now) == 0 && now.tv_sec > 1000);
    EXPECT(clock_gettime(CLOCK_MONOTONIC, &now) == 0 && clock_getres(CLOCK_MONOTONIC, &now) == 0);
    EXPECT(nanosleep(&nap, NULL) == 0 && clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL) == 0);
    struct pollfd waiting[2] = {{1, POLLOUT, 0}, {99, POLLIN, 0}};
    EXPECT(poll(waiting, 1, 1000) == 1 && waiting[0].revents == POLLOUT);
    EXPECT(poll(waiting + 1, 1, 0) == 1 && waiting[1].revents == POLLNVAL);
    EXPECT(poll(NULL, 0, 1) == 0);
}

static void limits(void) {
    char name[300];
    memset(name, 'n', sizeof name);
    memcpy(name, "/workspace/", 11);
    name[11 + 255] = 0;
    put(name, "");
    EXPECT(unlink(name) == 0);
    name[11 + 255] = 'n';
    name[11 + 256] = 0;
    REFUSED(ENAMETOOLONG, open(name, O_CREAT | O_WRONLY, 0666));
    int opened = 0;
    while (open("/dev/null", O_RDONLY) >= 0) opened++;
    EXPECT(errno == EMFILE && opened == 252);
    for (int fd = 4; fd < 256; fd++) EXPECT(close(fd) == 0);
    unsigned char bytes[256] = {0};
    EXPECT(getentropy(bytes, sizeof bytes) == 0);
    REFUSED(EINVAL, symlink("loop", "/workspace/loop") ? 0 : readlink("/workspace/f", name, 1));
    REFUSED(ELOOP, open("/workspace/loop", O_RDONLY));
}

int main(int argc, char **argv) {
    EXPECT(argc == 2 && strcmp(argv[1], "argument") == 0);
    EXPECT(getenv("COLOUR") && strcmp(getenv("COLOUR"), "green") == 0);
    flags_and_access();
    positions();
    streams();
    directories();
    names();
    unlinked();
    times();
    limits();
    return failures;
}
