/* sdiff.c - two files side by side: diff -y with options of its own. */
#include "../tool.h"
#include <string.h>

int tool_diff(tool *t, int argc, char **argv);

int tool_sdiff(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"width", 1, 'w'}, {"suppress-common-lines", 0, 's'}, {"left-column", 0, 'l'},
        {"ignore-case", 0, 'i'}, {"ignore-all-space", 0, 'W'}, {"ignore-space-change", 0, 'b'}, {"ignore-blank-lines", 0, 'B'},
        {"text", 0, 'a'}, {"expand-tabs", 0, 't'}, {"minimal", 0, 'd'}, {"ignore-matching-lines", 1, 'I'}, {0, 0, 0}};
    char **words = tool_alloc(t, ((size_t)argc * 2 + 2) * sizeof *words);
    int n = 0, c;
    tool_opts o;
    words[n++] = "diff";
    words[n++] = "-y";
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "w:sliWbBatdI:", longs)) != -1;) switch (c) {
        case 'w': words[n++] = "-W"; words[n++] = o.arg; break;
        case 'I': words[n++] = "-I"; words[n++] = o.arg; break;
        case 's': words[n++] = "--suppress-common-lines"; break;
        case 'l': words[n++] = "--left-column"; break;
        case 'W': words[n++] = "-w"; break;
        case '?': return 2;
        default: words[n++] = tool_format(t, "-%c", c);
    }
    while (o.index < argc) words[n++] = argv[o.index++];
    return tool_diff(t, n, words);
}
