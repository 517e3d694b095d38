/* zdiff.c - zdiff and zcmp: diff and cmp of files that gzip may have compressed. One operand is compared with what it was
 * compressed from. */
#include "buffer.h"
#include "deflate.h"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { TROUBLE = 2 };

static int is_gzip(const buffer *b) { return b->n > 2 && (unsigned char)b->p[0] == 0x1F && (unsigned char)b->p[1] == 0x8B; }

/* The content of a compressed file into to: 1, 0 when it is not compressed, -1 after a message. */
static int unpack(tool *t, const char *path, buffer *to) {
    int failed = 0;
    const char *error;
    buffer in = {.t = t};
    io *from = tool_open(t, path, TROUBLE, &failed);
    if (!from) return -1;
    buffer_read_all(&in, from);
    io_unref(from);
    if (!is_gzip(&in)) return 0;
    if (gunzip_bytes(t, in.p, in.n, to, &error) < 0) { tool_fail(t, TROUBLE, "%s: %s", path, error); return -1; }
    return 1;
}

/* A file with the content, for the command that cannot read two streams; NULL after a message. */
static char *spill(tool *t, const buffer *content) {
    char *path = tool_format(t, "/tmp/.%s.%lx", t->name, (unsigned long)(size_t)content->p);
    io *to = io_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (!to) { tool_fail_errno(t, TROUBLE, "%s", path); return NULL; }
    io_write(to, content->p ? content->p : "", content->n);
    io_unref(to);
    return path;
}

static int compare(tool *t, int argc, char **argv, char *command) {
    char **words = tool_alloc(t, ((size_t)argc + 3) * sizeof *words), *files[2] = {NULL, NULL}, *spilled = NULL;
    int n = 0, count = 0;
    words[n++] = command;
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-' && argv[i][1]) words[n++] = argv[i];
        else if (count < 2) files[count++] = argv[i];
        else return tool_fail(t, TROUBLE, "extra operand '%s'", argv[i]);
    }
    if (!count) return tool_fail(t, TROUBLE, "missing operand");
    if (count == 1) {
        size_t len = strlen(files[0]);
        if (len < 4 || strcmp(files[0] + len - 3, ".gz"))
            return tool_fail(t, TROUBLE, "%s: unknown compressed file extension", files[0]);
        files[1] = tool_strndup(t, files[0], len - 3);
    }
    buffer content[2] = {{.t = t}, {.t = t}};
    int packed[2];
    for (int i = 0; i < 2; i++) if ((packed[i] = unpack(t, files[i], &content[i])) < 0) return TROUBLE;
    io *text = NULL;
    if (packed[0] && packed[1] && !(spilled = files[0] = spill(t, &content[0]))) return TROUBLE;
    if (packed[0] || packed[1]) {
        int from = packed[1] ? 1 : 0;
        text = io_text(content[from].p ? content[from].p : "", content[from].n);
        if (!text) tool_oom();
        files[from] = "-";
    }
    words[n++] = files[0];
    words[n++] = files[1];
    words[n] = NULL;
    int status = t->run ? tool_run_with(t, text, NULL, NULL, n, words) : TROUBLE;
    io_unref(text);
    if (spilled) unlink(spilled);
    return status;
}

int tool_zdiff(tool *t, int argc, char **argv) { return compare(t, argc, argv, "diff"); }
int tool_zcmp(tool *t, int argc, char **argv) { return compare(t, argc, argv, "cmp"); }
