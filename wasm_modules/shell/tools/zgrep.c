/* zgrep.c - zgrep, zegrep, zfgrep: grep over files that may be compressed; zless and zmore: zcat under other names. */
#include "deflate.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>

int tool_grep(tool *t, int argc, char **argv);
int tool_zcat(tool *t, int argc, char **argv);

/* What a file says, unpacked when it is gzip's; NULL after a message. */
static io *open_plain(tool *t, const char *path) {
    buffer packed = {.t = t}, plain = {.t = t};
    const char *error;
    io *from = strcmp(path, "-") ? io_open(path, O_RDONLY, 0) : io_ref(t->in);
    if (!from) { io_printf(t->err, "gzip: %s: %s\n", path, strerror(errno)); return NULL; }
    buffer_read_all(&packed, from);
    io_unref(from);
    int is_packed = packed.n > 2 && !memcmp(packed.p, "\037\213", 2);
    if (is_packed && gunzip_bytes(t, packed.p, packed.n, &plain, &error) < 0) {
        io_printf(t->err, "gzip: %s: %s\n", path, error);
        return NULL;
    }
    buffer *b = is_packed ? &plain : &packed;
    return io_text(b->p ? b->p : "", b->n);
}

static int takes_value(const char *option) {
    static const char *const words[]
        = {"--regexp", "--file", "--max-count", "--after-context", "--before-context", "--context", "--include", "--exclude"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) if (!strcmp(words[i], option)) return 1;
    return option[0] == '-' && option[1] != '-' && option[1] && strchr("efmABCdD", option[strlen(option) - 1]) != NULL;
}

static int search(tool *t, int argc, char **argv, char *syntax) {
    char **words = tool_alloc(t, ((size_t)argc + 8) * sizeof *words);
    int n = 0, i = 1, have = 0, bare = 0, named = 0, lists = 0;
    words[n++] = "grep";
    if (syntax) words[n++] = syntax;
    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        char *a = argv[i];
        if (!strcmp(a, "--")) { i++; break; }
        words[n++] = a;
        have |= (a[1] != '-' && (strchr(a, 'e') || strchr(a, 'f'))) || !strncmp(a, "--regexp", 8) || !strncmp(a, "--file", 6);
        bare |= (a[1] != '-' && strchr(a, 'h') != NULL) || !strcmp(a, "--no-filename");
        named |= a[1] != '-' && strchr(a, 'H') != NULL;
        lists |= a[1] != '-' && strpbrk(a, "lL") != NULL;
        if (takes_value(a) && i + 1 < argc) words[n++] = argv[++i];
    }
    if (!have && i >= argc) { io_puts(t->err, "usage: zgrep [grep_options] pattern [files]\n"); return 2; }
    if (!have) { words[n++] = "-e"; words[n++] = argv[i++]; }
    static char *standard[] = {"-"};
    char **files = i < argc ? argv + i : standard;
    int count = i < argc ? argc - i : 1, found = 0, failed = 0;
    io *saved = t->in;
    for (int k = 0; k < count; k++) {
        io *from = open_plain(t, files[k]);
        if (!from) { failed = 1; continue; }
        int m = n;
        if ((count > 1 && !bare) || named) words[m++] = "-H";
        if (count > 1 || named || lists) words[m++] = tool_format(t, "--label=%s", files[k]);
        words[m] = NULL;
        t->in = from;
        t->name = "grep";
        int status = tool_grep(t, m, words);
        found |= status == 0;
        failed |= status > 1;
        io_unref(from);
    }
    t->in = saved;
    return failed ? 2 : !found;
}

int tool_zgrep(tool *t, int argc, char **argv) { return search(t, argc, argv, NULL); }
int tool_zegrep(tool *t, int argc, char **argv) { return search(t, argc, argv, "-E"); }
int tool_zfgrep(tool *t, int argc, char **argv) { return search(t, argc, argv, "-F"); }
int tool_zless(tool *t, int argc, char **argv) { return tool_zcat(t, argc, argv); }
int tool_zmore(tool *t, int argc, char **argv) { return tool_zcat(t, argc, argv); }
