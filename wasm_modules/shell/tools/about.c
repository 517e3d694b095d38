/* about.c - what --version and --help print: the first line as the GNU program of that name has it, and that this is a built-in.
 */
#include "../tool.h"
#include <string.h>

static const struct { const char *names, *version;
} packages[] = {
    {" grep egrep fgrep ", "%s (GNU grep) 3.8"},
    {" find xargs ", "%s (GNU findutils) 4.9.0"},
    {" diff cmp sdiff ", "%s (GNU diffutils) 3.8"},
    {" tar ", "%s (GNU tar) 1.34"},
    {" sed ", "%s (GNU sed) 4.9"},
    {" gzip gunzip zcat ", "%s 1.12"},
    {" bc ", "%s 1.07.1"},
    {" patch ", "GNU %s 2.7.6"},
    {" column hexdump getopt colrm rev hd setsid more ", "%s from util-linux 2.38.1"},
    {" which tree file strings xxd less iconv envsubst ", "%s (Hatchway built-in)"},
};

static const struct { const char *names, *usage;
} usages[] = {
    {" cp mv ", "[OPTION]... [-T] SOURCE DEST"},
    {" ln ", "[OPTION]... [-T] TARGET LINK_NAME"},
    {" mkdir rmdir ", "[OPTION]... DIRECTORY..."},
    {" touch ", "[OPTION]... FILE..."},
    {" chmod ", "[OPTION]... MODE[,MODE]... FILE..."},
    {" grep egrep fgrep ", "[OPTION]... PATTERNS [FILE]..."},
    {" cut ", "OPTION... [FILE]..."},
    {" tr ", "[OPTION]... STRING1 [STRING2]"},
    {" basename ", "NAME [SUFFIX]"},
    {" dirname ", "[OPTION] NAME..."},
    {" seq ", "[OPTION]... LAST"},
    {" sleep ", "NUMBER[SUFFIX]..."},
    {" date ", "[OPTION]... [+FORMAT]"},
    {" find ", "[-H] [-L] [-P] [-Olevel] [-D debugopts] [path...] [expression]"},
    {" xargs ", "[OPTION]... COMMAND [INITIAL-ARGS]..."},
    {" diff ", "[OPTION]... FILES"},
    {" tar ", "[OPTION...] [FILE]..."},
    {" env ", "[OPTION]... [-] [NAME=VALUE]... [COMMAND [ARG]...]"},
    {" timeout ", "[OPTION] DURATION COMMAND [ARG]..."},
    {" yes ", "[STRING]..."},
    {" join comm ", "[OPTION]... FILE1 FILE2"},
    {" stat readlink realpath ", "[OPTION]... FILE..."},
    {" mktemp ", "[OPTION]... [TEMPLATE]"},
    {" printenv ", "[OPTION]... [VARIABLE]..."},
    {" nproc pwd uname whoami tty arch ", "[OPTION]..."},
    {" sync ", "[OPTION] [FILE]..."},
    {" uniq ", "[OPTION]... [INPUT [OUTPUT]]"},
    {" split ", "[OPTION]... [FILE [PREFIX]]"},
    {" bc ", "[options] [file ...]"},
    {" sed ", "[OPTION]... {script-only-if-no-other-script} [input-file]..."},
    {" base64 base32 basenc shuf ", "[OPTION]... [FILE]"},
    {" chgrp ", "[OPTION]... GROUP FILE..."},
    {" chown ", "[OPTION]... [OWNER][:[GROUP]] FILE..."},
    {" cmp ", "[OPTION]... FILE1 [FILE2 [SKIP1 [SKIP2]]]"},
    {" csplit ", "[OPTION]... FILE PATTERN..."},
    {" dd ", "[OPERAND]..."},
    {" factor ", "[NUMBER]..."},
    {" numfmt ", "[OPTION]... [NUMBER]..."},
    {" file iconv ", "[OPTION...] [FILE...]"},
    {" fmt ", "[-WIDTH] [OPTION]... [FILE]..."},
    {" getconf ", "[-v SPEC] VAR"},
    {" groups ", "[OPTION]... [USERNAME]..."},
    {" id ", "[OPTION]... [USER]..."},
    {" install ", "[OPTION]... [-T] SOURCE DEST"},
    {" link ", "FILE1 FILE2"},
    {" unlink ", "FILE"},
    {" locale ", "[OPTION...] NAME"},
    {" logname ", "[OPTION]"},
    {" mkfifo ", "[OPTION]... NAME..."},
    {" nice ", "[OPTION] [COMMAND [ARG]...]"},
    {" nohup ", "COMMAND [ARG]..."},
    {" patch ", "[OPTION]... [ORIGFILE [PATCHFILE]]"},
    {" sdiff ", "[OPTION]... FILE1 FILE2"},
    {" stdbuf ", "OPTION... COMMAND"},
    {" strings ", "[option(s)] [file(s)]"},
    {" stty ", "[-F DEVICE | --file=DEVICE] [SETTING]..."},
    {" truncate ", "OPTION... FILE..."},
    {" tsort ", "[OPTION] [FILE]"},
    {" which ", "[-a] args"},
    {" zgrep zegrep zfgrep ", "[OPTION]... [-e] PATTERN [FILE]..."},
    {" rev ", "[options] [file ...]"},
    {" envsubst ", "[OPTION] [SHELL-FORMAT]"},
};

/* The programs of util-linux give the usage a heading. */
static const struct { const char *names, *usage;
} headed[] = {
    {" column ", "[options] [<file>...]"},
    {" look ", "[options] <string> [<file>...]"},
    {" hexdump hd more ", "[options] <file>..."},
    {" col ", "[options]"},
    {" colrm ", "[startcol [endcol]]"},
    {" setsid ", "[options] <program> [arguments ...]"},
    {" getopt ", "<optstring> <parameters>"},
};

static int listed(const char *names, const char *name) {
    size_t n = strlen(name);
    for (const char *p = strstr(names, name); p; p = strstr(p + 1, name)) if (p[-1] == ' ' && p[n] == ' ') return 1;
    return 0;
}

int tool_about(tool *t, const char *name, const char *option) {
    static const char own[] = " jq awk gawk mawk yq expr tput ";       /* these answer for themselves, or have no such option */
    if (listed(own, name)) return -1;
    if (!strcmp(option, "--version")) {
        const char *line = "%s (GNU coreutils) 9.1";
        for (size_t i = 0; i < sizeof packages / sizeof *packages; i++)
            if (listed(packages[i].names, name)) line = packages[i].version;
        const char *mark = strstr(line, "%s");
        return io_write(t->out, line, (size_t)(mark - line)) < 0
               || io_printf(t->out, "%s%s\nBuilt into the Hatchway shell.\n", name, mark + 2) < 0;
    }
    if (strcmp(option, "--help")) return -1;
    for (size_t i = 0; i < sizeof headed / sizeof *headed; i++)
        if (listed(headed[i].names, name))
            return io_printf(t->out, "\nUsage:\n %s %s\n\nBuilt into the Hatchway shell.\n", name, headed[i].usage) < 0;
    const char *usage = "[OPTION]... [FILE]...";
    for (size_t i = 0; i < sizeof usages / sizeof *usages; i++) if (listed(usages[i].names, name)) usage = usages[i].usage;
    return io_printf(t->out,
               "Usage: %s %s\nBuilt into the Hatchway shell; it takes the options of the GNU program that people use.\n", name,
               usage)
           < 0;
}
