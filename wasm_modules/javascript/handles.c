/* handles.c: open files for the prelude's `fs.openSync` and its relatives, over libc and so over WASI.
 *
 * Rules: as in files.c. A descriptor that a program leaves open stays open in its session, as a variable does; the host bounds
 * their number.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../permissions.h"
#include "natives.h"
#include "quickjs.h"
#include "realm.h"

/* What prelude/descriptors.js asks for, as bits. */
enum { FOR_READING = 1, FOR_WRITING = 2, AT_END = 4, CREATED = 8, EMPTIED = 16, NEW = 32 };

/* open(path, bits): a descriptor. */
static JSValue open_file(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    static const struct {
        int bit, flag;
    } more[] = {{AT_END, O_APPEND}, {CREATED, O_CREAT}, {EMPTIED, O_TRUNC}, {NEW, O_EXCL}};
    int32_t bits;
    if (JS_ToInt32(ctx, &bits, argv[1]))
        return JS_EXCEPTION;
    const char *path = JS_ToCString(ctx, argv[0]);
    if (!path)
        return JS_EXCEPTION;
    int flags = !(bits & FOR_WRITING) ? O_RDONLY : bits & FOR_READING ? O_RDWR : O_WRONLY;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        flags |= bits & more[i].bit ? more[i].flag : 0;
    int fd = open(path, flags, 0666);
    JSValue result = fd < 0 ? throw_errno(ctx, errno, "open", path) : JS_NewInt32(ctx, fd);
    JS_FreeCString(ctx, path);
    return result;
}

enum { READ, WRITE };

/* readInto(descriptor, bytes, position), writeFrom(descriptor, bytes, position): how many bytes were moved. A position below 0 is
 * where the descriptor stands. */
static JSValue move_bytes(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int direction)
{
    (void)self, (void)argc;
    int32_t fd;
    int64_t position;
    size_t len;
    uint8_t *bytes = JS_GetUint8Array(ctx, &len, argv[1]);
    if (!bytes || JS_ToInt32(ctx, &fd, argv[0]) || JS_ToInt64(ctx, &position, argv[2]))
        return JS_EXCEPTION;
    ssize_t moved;
    if (direction == READ)
        moved = position < 0 ? read(fd, bytes, len) : pread(fd, bytes, len, position);
    else
        moved = position < 0 ? write(fd, bytes, len) : pwrite(fd, bytes, len, position);
    return moved < 0 ? throw_errno(ctx, errno, direction == READ ? "read" : "write", NULL) : JS_NewInt64(ctx, moved);
}

enum { CLOSE, SYNC };

/* close(descriptor), sync(descriptor). */
static JSValue end_file(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int operation)
{
    (void)self, (void)argc;
    int32_t fd;
    if (JS_ToInt32(ctx, &fd, argv[0]))
        return JS_EXCEPTION;
    int failed = operation == CLOSE ? close(fd) : fsync(fd);
    return failed ? throw_errno(ctx, errno, operation == CLOSE ? "close" : "fsync", NULL) : JS_UNDEFINED;
}

/* resize(descriptor, size). */
static JSValue resize_file(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    int32_t fd;
    int64_t size;
    if (JS_ToInt32(ctx, &fd, argv[0]) || JS_ToInt64(ctx, &size, argv[1]))
        return JS_EXCEPTION;
    return ftruncate(fd, size) ? throw_errno(ctx, errno, "ftruncate", NULL) : JS_UNDEFINED;
}

/* readlink(path): where a symbolic link leads, as it was written. */
static JSValue read_link(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    char target[PATH_LIMIT_BYTES];
    const char *path = JS_ToCString(ctx, argv[0]);
    if (!path)
        return JS_EXCEPTION;
    ssize_t len = readlink(path, target, sizeof target);
    JSValue result = len < 0 ? throw_errno(ctx, errno, "readlink", path) : JS_NewStringLen(ctx, target, (size_t)len);
    JS_FreeCString(ctx, path);
    return result;
}

static struct timespec in_timespec(double seconds)
{
    double whole = __builtin_floor(seconds);
    return (struct timespec){.tv_sec = (time_t)whole, .tv_nsec = (long)((seconds - whole) * 1e9)};
}

/* utimes(path or descriptor, atime, mtime, of_link): times in seconds. */
static JSValue set_times(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self;
    double accessed, modified;
    if (JS_ToFloat64(ctx, &accessed, argv[1]) || JS_ToFloat64(ctx, &modified, argv[2]))
        return JS_EXCEPTION;
    int32_t fd = -1;
    bool numbered = JS_IsNumber(argv[0]);
    if (numbered && JS_ToInt32(ctx, &fd, argv[0]))
        return JS_EXCEPTION;
    const char *path = numbered ? NULL : JS_ToCString(ctx, argv[0]);
    if (!numbered && !path)
        return JS_EXCEPTION;
    struct timespec times[2] = {in_timespec(accessed), in_timespec(modified)};
    int failed = numbered ? futimens(fd, times) : utimensat(AT_FDCWD, path, times, argc > 3 && JS_ToBool(ctx, argv[3]) > 0 ? AT_SYMLINK_NOFOLLOW : 0);
    JSValue result = failed ? throw_errno(ctx, errno, numbered ? "futime" : "utime", path) : JS_UNDEFINED;
    JS_FreeCString(ctx, path);
    return result;
}

/* chmod(path or descriptor, mode). */
static JSValue set_mode(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    int32_t fd = -1, mode;
    bool numbered = JS_IsNumber(argv[0]);
    if (JS_ToInt32(ctx, &mode, argv[1]) || (numbered && JS_ToInt32(ctx, &fd, argv[0])))
        return JS_EXCEPTION;
    const char *path = numbered ? NULL : JS_ToCString(ctx, argv[0]);
    if (!numbered && !path)
        return JS_EXCEPTION;
    int failed = numbered ? fchmod(fd, (mode_t)mode) : chmod(path, (mode_t)mode);
    JSValue result = failed ? throw_errno(ctx, errno, numbered ? "fchmod" : "chmod", path) : JS_UNDEFINED;
    JS_FreeCString(ctx, path);
    return result;
}

/* umask(mask): the one before; a mask below 0 changes nothing. */
static JSValue set_umask(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    int32_t mask;
    if (JS_ToInt32(ctx, &mask, argv[0]))
        return JS_EXCEPTION;
    return JS_NewUint32(ctx, mask < 0 ? umask_now() : umask((mode_t)mask));
}

int handles_install(JSContext *ctx, JSValueConst native)
{
    static const JSCFunctionListEntry functions[] = {
        JS_CFUNC_DEF("open", 2, open_file),
        JS_CFUNC_MAGIC_DEF("readInto", 3, move_bytes, READ),
        JS_CFUNC_MAGIC_DEF("writeFrom", 3, move_bytes, WRITE),
        JS_CFUNC_MAGIC_DEF("close", 1, end_file, CLOSE),
        JS_CFUNC_MAGIC_DEF("sync", 1, end_file, SYNC),
        JS_CFUNC_DEF("resize", 2, resize_file),
        JS_CFUNC_DEF("readlink", 1, read_link),
        JS_CFUNC_DEF("utimes", 3, set_times),
        JS_CFUNC_DEF("chmod", 2, set_mode),
        JS_CFUNC_DEF("umask", 1, set_umask),
    };
    return JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
