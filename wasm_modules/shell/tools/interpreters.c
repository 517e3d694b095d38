/* interpreters.c - python, python3, node, tsx: programs in the other languages; git, sqlite3: commands that are written in one.
 * The host runs them on the same files.
 *
 * The message is in ../../ABI.md. All that can be read is offered as standard input; what the program did not read stays.
 */
#include "../tool.h"
#include "buffer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* host.c of the guest; a build without a host has none. */
int host_send(char opcode, const char *body, size_t n, char **reply, size_t *reply_len) __attribute__((weak));

static void put_field(buffer *b, const char *text) {
    buffer_add(b, text, strlen(text) + 1);
}

static void put_fields(tool *t, buffer *b, char **fields, int n) {
    put_field(b, tool_format(t, "%d", n));
    for (int i = 0; i < n; i++) put_field(b, fields[i]);
}

static int start(tool *t, int argc, char **argv) {
    buffer b = {.t = t};
    char cwd[4096], **env = t->environ ? t->environ(t) : NULL, *reply = NULL;
    int n = 0, status, used = 0;
    size_t rest, len = 0, read, written;
    const char *unread = io_rest(t->in, &rest);
    if (!host_send) return tool_fail(t, 127, "command not found");
    while (env && env[n]) n++;
    put_fields(t, &b, argv, argc);
    put_field(&b, getcwd(cwd, sizeof cwd) ? cwd : "/");
    put_fields(t, &b, env, n);
    if (unread) buffer_add(&b, unread, rest);
    io_flush(t->out);
    if (host_send('X', b.p, b.n, &reply, &len) < 0 || !reply || sscanf(reply, "%d %zu %zu%n", &status, &read, &written, &used) < 3) {
        free(reply);
        return tool_fail(t, 126, "it could not be run, or what it printed does not fit into memory");
    }
    used++;                     /* the line end: a blank in the format would eat what the output begins with */
    io_skip(t->in, read);
    if (written > len - (size_t)used) written = len - (size_t)used;
    int failed = io_write(t->out, reply + used, written) < 0;
    io_write(t->err, reply + used + written, len - (size_t)used - written);
    free(reply);
    return failed ? 141 : status;
}

int tool_python(tool *t, int argc, char **argv) { return start(t, argc, argv); }
int tool_python3(tool *t, int argc, char **argv) { return start(t, argc, argv); }
int tool_node(tool *t, int argc, char **argv) { return start(t, argc, argv); }
int tool_tsx(tool *t, int argc, char **argv) { return start(t, argc, argv); }
int tool_git(tool *t, int argc, char **argv) { return start(t, argc, argv); }
int tool_sqlite3(tool *t, int argc, char **argv) { return start(t, argc, argv); }
