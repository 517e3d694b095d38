/* df.c - df: the one file system there is. Its size is the host's business, so the numbers are dashes; what can be asked for is
 * what is mounted where.
 */
#include "files.h"
#include <errno.h>
#include <string.h>

enum { COLUMN_COUNT = 12 };

static const struct {
    const char *field, *value;
} columns[COLUMN_COUNT] = {{"source", "sandbox"}, {"fstype", "wasi"}, {"itotal", "-"}, {"iused", "-"}, {"iavail", "-"},
    {"ipcent", "-"}, {"size", "-"}, {"used", "-"}, {"avail", "-"}, {"pcent", "-"}, {"file", "-"}, {"target", "/"}};

static const char *title(int column, int human, int posix) {
    static const char *const titles[COLUMN_COUNT]
        = {"Filesystem", "Type", "Inodes", "IUsed", "IFree", "IUse%", "1K-blocks", "Used", "Available", "Use%", "File",
            "Mounted on"};
    if (column == 6) return human ? "Size" : posix ? "1024-blocks" : titles[column];
    if (column == 8 && human) return "Avail";
    if (column == 9 && posix) return "Capacity";
    return titles[column];
}

/* The columns of --output=LIST into chosen; how many, or -1 after a message. */
static int parse_output(tool *t, const char *list, int chosen[COLUMN_COUNT]) {
    int n = 0;
    for (const char *p = list; p;) {
        size_t len = strcspn(p, ",");
        int i = 0;
        while (i < COLUMN_COUNT && (strlen(columns[i].field) != len || strncmp(columns[i].field, p, len))) i++;
        if (i == COLUMN_COUNT) {
            tool_fail(t, 1, "option --output: field %s unknown", tool_cite(t, tool_strndup(t, p, len)));
            tool_usage(t, 1);
            return -1;
        }
        if (n < COLUMN_COUNT) chosen[n++] = i;
        p = p[len] ? p + len + 1 : NULL;
    }
    return n;
}

static int print_row(tool *t, const int *chosen, int n, int human, int posix, int is_title) {
    for (int k = 0; k < n; k++) {
        int c = chosen[k], text = c < 2 || c > 9;
        const char *head = title(c, human, posix), *cell = is_title ? head : columns[c].value;
        size_t width = strlen(head) > strlen(columns[c].value) ? strlen(head) : strlen(columns[c].value);
        if (c == 0 && width < 14) width = 14;
        if (c > 5 && c < 9 && width < 5) width = 5;
        if (k) io_putc(t->out, ' ');
        if (text && k == n - 1) io_puts(t->out, cell);
        else io_printf(t->out, text ? "%-*s" : "%*s", (int)width, cell);
    }
    return io_putc(t->out, '\n');
}

int tool_df(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"all", 0, 'a'}, {"block-size", 1, 'B'}, {"human-readable", 0, 'h'}, {"si", 0, 'H'},
        {"inodes", 0, 'i'}, {"local", 0, 'l'}, {"no-sync", 0, 's'}, {"output", 2, 'o'}, {"portability", 0, 'P'}, {"sync", 0, 's'},
        {"total", 0, 's'}, {"type", 1, 't'}, {"print-type", 0, 'T'}, {"exclude-type", 1, 'x'}, {0, 0, 0}};
    int human = 0, posix = 0, inodes = 0, type = 0, c, n = 0, status = 0, known = 0, chosen[COLUMN_COUNT];
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "aB:hHiklPt:Tvx:", longs)) != -1;) switch (c) {
        case 'h': case 'H': human = 1; break;
        case 'i': inodes = 1; break;
        case 'P': posix = 1; break;
        case 'T': type = 1; break;
        case 'o':
            n = parse_output(t, o.arg ? o.arg : "source,fstype,itotal,iused,iavail,ipcent,size,used,avail,pcent,file,target",
                chosen);
            if (n < 0) return 1;
            break;
        case '?': return 1;
    }
    if (!n) {
        chosen[n++] = 0;
        if (type) chosen[n++] = 1;
        for (int i = 0; i < 4; i++) chosen[n++] = inodes ? 2 + i : 6 + i;
        chosen[n++] = 11;
    }
    for (int i = o.index; i < argc; i++) {
        struct stat st;
        if (path_stat(argv[i], &st) < 0) status = tool_fail_errno(t, 1, "%s", tool_name(t, argv[i]));
        else known++;
    }
    if (status && !known) return status;
    if (print_row(t, chosen, n, human, posix, 1) < 0) return 1;
    for (int i = 0; i < (o.index < argc ? known : 1); i++) if (print_row(t, chosen, n, human, posix, 0) < 0) return 1;
    return status;
}
