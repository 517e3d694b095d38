/* files.c: file access for the prelude's `fs`, over libc and so over WASI.
 *
 * Rules: paths are absolute (the prelude resolves them); failures throw an Error shaped like Node's (code, errno, syscall,
 * path). A file is read into memory whole, up to FILE_LIMIT_BYTES.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buffer.h"
#include "natives.h"
#include "quickjs.h"

#define FILE_LIMIT_BYTES ((off_t)256 << 20)
#define READ_CHUNK_BYTES 65536

static const struct {
    int number, linux_number; /* programs compare with the numbers they know from elsewhere */
    const char *code, *text;
} errors[] = {
    {ENOENT, 2, "ENOENT", "no such file or directory"},
    {EEXIST, 17, "EEXIST", "file already exists"},
    {EISDIR, 21, "EISDIR", "illegal operation on a directory"},
    {ENOTDIR, 20, "ENOTDIR", "not a directory"},
    {ENOTEMPTY, 39, "ENOTEMPTY", "directory not empty"},
    {EACCES, 13, "EACCES", "permission denied"},
    {EPERM, 1, "EPERM", "operation not permitted"},
    {EROFS, 30, "EROFS", "read-only file system"},
    {ENOSPC, 28, "ENOSPC", "no space left on device"},
    {EDQUOT, 122, "EDQUOT", "disk quota exceeded"},
    {EFBIG, 27, "EFBIG", "file too large"},
    {EINVAL, 22, "EINVAL", "invalid argument"},
    {EBADF, 9, "EBADF", "bad file descriptor"},
    {ELOOP, 40, "ELOOP", "too many symbolic links encountered"},
    {ENAMETOOLONG, 36, "ENAMETOOLONG", "name too long"},
    {EMFILE, 24, "EMFILE", "too many open files"},
    {ENFILE, 23, "ENFILE", "file table overflow"},
#ifdef ENOTCAPABLE
    {ENOTCAPABLE, 13, "EACCES", "permission denied"},
#endif
};

JSValue throw_errno(JSContext *ctx, int number, const char *syscall, const char *path)
{
    const char *code = "EIO", *text = strerror(number);
    int shown = 5;
    if (number == ENOMEM)
        return JS_ThrowOutOfMemory(ctx);
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (errors[i].number == number) {
            code = errors[i].code;
            text = errors[i].text;
            shown = errors[i].linux_number;
        }
    }
    JSValue error = path ? JS_NewPlainError(ctx, "%s: %s, %s '%s'", code, text, syscall, path)
                         : JS_NewPlainError(ctx, "%s: %s, %s", code, text, syscall);
    if (JS_IsException(error))
        return error;
    JS_SetPropertyStr(ctx, error, "errno", JS_NewInt32(ctx, -shown));
    JS_SetPropertyStr(ctx, error, "code", JS_NewString(ctx, code));
    JS_SetPropertyStr(ctx, error, "syscall", JS_NewString(ctx, syscall));
    if (path)
        JS_SetPropertyStr(ctx, error, "path", JS_NewString(ctx, path));
    return JS_Throw(ctx, error);
}

/* Appends everything `fd` has to `content`. Returns 0 or an errno. */
static int read_all(int fd, struct buffer *content)
{
    static char chunk[READ_CHUNK_BYTES];
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n == 0)
            return content->failed ? ENOMEM : 0;
        if (n < 0)
            return errno;
        buffer_put(content, chunk, (size_t)n);
        if (content->failed)
            return ENOMEM;
    }
}

static void *resize_bytes(JSRuntime *rt, void *opaque, void *bytes, size_t size)
{
    (void)rt, (void)opaque;
    if (size == 0) {
        free(bytes);
        return NULL;
    }
    return realloc(bytes, size);
}

/* read(path or descriptor): the content as a Uint8Array. */
static JSValue read_file(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    struct buffer content = {0};
    int fd = 0;
    bool numbered = JS_IsNumber(argv[0]);
    const char *path = numbered ? NULL : JS_ToCString(ctx, argv[0]);
    if (numbered ? JS_ToInt32(ctx, &fd, argv[0]) : !path)
        return JS_EXCEPTION;
    if (!numbered)
        fd = open(path, O_RDONLY);
    const char *syscall = fd < 0 ? "open" : "read";
    int status = fd < 0 ? errno : read_all(fd, &content);
    if (fd >= 0 && !numbered)
        close(fd);
    JSValue result;
    if (status)
        result = throw_errno(ctx, status, syscall, fd < 0 ? path : NULL);
    else if (content.len)
        result = JS_NewUint8Array(ctx, (uint8_t *)content.bytes, content.len, resize_bytes, NULL, false);
    else
        result = JS_NewUint8ArrayCopy(ctx, (const uint8_t *)"", 0);
    if (status || !content.len || JS_IsException(result))
        buffer_free(&content);
    JS_FreeCString(ctx, path);
    return result;
}

enum { WRITE, APPEND, CREATE_NEW };

/* write(path, bytes, mode): mode 0 replaces, 1 appends, 2 fails when the file exists. */
static JSValue write_file(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    static const int mode_flags[3] = {O_TRUNC, O_APPEND, O_EXCL};
    size_t len;
    int32_t mode;
    const uint8_t *bytes = JS_GetUint8Array(ctx, &len, argv[1]);
    if (!bytes || JS_ToInt32(ctx, &mode, argv[2]) || mode < WRITE || mode > CREATE_NEW)
        return JS_EXCEPTION;
    const char *path = JS_ToCString(ctx, argv[0]);
    if (!path)
        return JS_EXCEPTION;
    int fd = open(path, O_WRONLY | O_CREAT | mode_flags[mode], 0666), status = fd < 0 ? errno : 0;
    const char *syscall = fd < 0 ? "open" : "write";
    for (size_t done = 0; !status && done < len;) {
        ssize_t n = write(fd, bytes + done, len - done);
        if (n < 0)
            status = errno;
        else
            done += (size_t)n;
    }
    if (fd >= 0)
        close(fd);
    JSValue result = status ? throw_errno(ctx, status, syscall, path) : JS_UNDEFINED;
    JS_FreeCString(ctx, path);
    return result;
}

/* stat(path or descriptor, follow): [mode, size, mtime in ms, ctime, atime, links, inode, owner], or null when nothing is there. */
static JSValue stat_file(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    struct stat st;
    int32_t fd = -1;
    bool numbered = JS_IsNumber(argv[0]);
    const char *path = numbered ? NULL : JS_ToCString(ctx, argv[0]);
    if (numbered ? JS_ToInt32(ctx, &fd, argv[0]) : !path)
        return JS_EXCEPTION;
    int failed = numbered ? fstat(fd, &st) : JS_ToBool(ctx, argv[1]) > 0 ? stat(path, &st) : lstat(path, &st), number = errno;
    JSValue result;
    if (failed && (number == ENOENT || number == ENOTDIR)) {
        result = JS_NULL;
    } else if (failed) {
        result = throw_errno(ctx, number, numbered ? "fstat" : "stat", path);
    } else {
        JSValue fields[8] = {
            JS_NewUint32(ctx, st.st_mode),
            JS_NewInt64(ctx, st.st_size),
            JS_NewFloat64(ctx, (double)st.st_mtim.tv_sec * 1e3 + (double)st.st_mtim.tv_nsec / 1e6),
            JS_NewFloat64(ctx, (double)st.st_ctim.tv_sec * 1e3 + (double)st.st_ctim.tv_nsec / 1e6),
            JS_NewFloat64(ctx, (double)st.st_atim.tv_sec * 1e3 + (double)st.st_atim.tv_nsec / 1e6),
            JS_NewInt64(ctx, (int64_t)st.st_nlink),
            JS_NewInt64(ctx, (int64_t)st.st_ino),
            JS_NewUint32(ctx, st.st_uid),
        };
        result = JS_NewArrayFrom(ctx, 8, fields);
    }
    JS_FreeCString(ctx, path);
    return result;
}

/* list(path): [name, type, …] with type 'd', 'l' or 'f', unsorted, without . and .. */
static JSValue list_directory(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    const char *path = JS_ToCString(ctx, argv[0]);
    if (!path)
        return JS_EXCEPTION;
    DIR *dir = opendir(path);
    if (!dir) {
        JSValue thrown = throw_errno(ctx, errno, "scandir", path);
        JS_FreeCString(ctx, path);
        return thrown;
    }
    JSValue names = JS_NewArray(ctx);
    uint32_t count = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        const char *type = entry->d_type == DT_DIR ? "d" : entry->d_type == DT_LNK ? "l" : "f";
        JS_SetPropertyUint32(ctx, names, count++, JS_NewString(ctx, entry->d_name));
        JS_SetPropertyUint32(ctx, names, count++, JS_NewString(ctx, type));
    }
    closedir(dir);
    JS_FreeCString(ctx, path);
    return names;
}

enum { MKDIR, UNLINK, RMDIR };

/* mkdir(path), unlink(path), rmdir(path). */
static JSValue change_entry(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int operation)
{
    (void)self, (void)argc;
    static const char *const names[] = {"mkdir", "unlink", "rmdir"};
    const char *path = JS_ToCString(ctx, argv[0]);
    if (!path)
        return JS_EXCEPTION;
    int failed = operation == MKDIR ? mkdir(path, 0777) : operation == UNLINK ? unlink(path) : rmdir(path);
    JSValue result = failed ? throw_errno(ctx, errno, names[operation], path) : JS_UNDEFINED;
    JS_FreeCString(ctx, path);
    return result;
}

enum { RENAME, SYMLINK, LINK };

/* rename(from, to), symlink(target, path), link(from, to). */
static JSValue join_entries(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int operation)
{
    (void)self, (void)argc;
    const char *from = JS_ToCString(ctx, argv[0]), *to = from ? JS_ToCString(ctx, argv[1]) : NULL;
    JSValue result = JS_EXCEPTION;
    if (to) {
        static const char *const names[] = {"rename", "symlink", "link"};
        int failed = operation == RENAME ? rename(from, to) : operation == SYMLINK ? symlink(from, to) : link(from, to);
        result = failed ? throw_errno(ctx, errno, names[operation], from) : JS_UNDEFINED;
    }
    JS_FreeCString(ctx, from);
    JS_FreeCString(ctx, to);
    return result;
}

int files_install(JSContext *ctx, JSValueConst native)
{
    static const JSCFunctionListEntry functions[] = {
        JS_CFUNC_DEF("read", 1, read_file),
        JS_CFUNC_DEF("write", 3, write_file),
        JS_CFUNC_DEF("stat", 2, stat_file),
        JS_CFUNC_DEF("list", 1, list_directory),
        JS_CFUNC_MAGIC_DEF("mkdir", 1, change_entry, MKDIR),
        JS_CFUNC_MAGIC_DEF("unlink", 1, change_entry, UNLINK),
        JS_CFUNC_MAGIC_DEF("rmdir", 1, change_entry, RMDIR),
        JS_CFUNC_MAGIC_DEF("rename", 2, join_entries, RENAME),
        JS_CFUNC_MAGIC_DEF("symlink", 2, join_entries, SYMLINK),
        JS_CFUNC_MAGIC_DEF("link", 2, join_entries, LINK),
    };
    return JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
