/* about.c - what --version and --help print: the first line as the GNU program of that name has it, and that this is a built-in.
 */
#include "../tool.h"
#include <string.h>

static const struct { const char *names, *version;
} packages[] = {
    {" grep ", "%s (GNU grep) 3.8"},
    {" egrep fgrep ", "grep (GNU grep) 3.8"},
    {" find xargs ", "%s (GNU findutils) 4.9.0"},
    {" diff cmp diff3 sdiff ", "%s (GNU diffutils) 3.8"},
    {" tar ", "%s (GNU tar) 1.34"},
    {" sed ", "%s (GNU sed) 4.9"},
    {" gzip ", "%s 1.12"},
    {" gunzip zcat zcmp zdiff zless zmore ", "%s (gzip) 1.12"},
    {" uncompress ", "gunzip (gzip) 1.12"},
    {" zgrep zegrep zfgrep ", "zgrep (gzip) 1.12"},
    {" dd ", "%s (coreutils) 9.1"},
    {" free pgrep pidof pkill ps uptime w ", "%s from procps-ng 4.0.2"},
    {" bc ", "%s 1.07.1"},
    {" dc ", "%s (GNU bc 1.07.1) 1.4.1"},
    {" strings ", "GNU %s (GNU Binutils for Debian) 2.40"},
    {" patch ", "GNU %s 2.7.6"},
    {" col column hexdump fallocate flock getopt colrm look mountpoint rev hd setsid more whereis ", "%s from util-linux 2.38.1"},
    {" bunzip2 bzcat bzip2 cal clear dos2unix envsubst file getconf getent hostname iconv less locale nawk time tree "
     "unix2dos unzip which xxd zip zipinfo ",
        "%s (Hatchway built-in)"},
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
    {" expr ", "EXPRESSION"},
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
    {" pathchk ", "[OPTION]... NAME..."},
    {" diff3 ", "[OPTION]... MYFILE OLDFILE YOURFILE"},
    {" shred ", "[OPTION]... FILE..."},
    {" getent ", "[OPTION...] database [key ...]"},
    {" hostid ", "[OPTION]"},
    {" users ", "[OPTION]... [FILE]"},
    {" who ", "[OPTION]... [ FILE | ARG1 ARG2 ]"},
    {" zcmp zdiff ", "[OPTION]... FILE1 [FILE2]"},
    {" dc ", "[OPTION] [file ...]"},
    {" cal ", "[general options] [-jy] [[month] year]"},
    {" zip ", "[-options] zipfile list"},
    {" unzip zipinfo ", "[-opts[modifiers]] file[.zip] [list] [-x xlist] [-d exdir]"},
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
    {" fallocate ", "[options] <filename>"},
    {" flock ", "[options] <file>|<directory> <command> [<argument>...]"},
    {" mountpoint ", "[-qd] </path/to/directory>"},
    {" whereis ", "[options] [-BMS <dir>... -f] <name>"},
    {" free ps uptime w ", "[options]"},
    {" pgrep pkill ", "[options] <pattern>"},
};

static int listed(const char *names, const char *name) {
    size_t n = strlen(name);
    for (const char *p = strstr(names, name); p; p = strstr(p + 1, name)) if (p[-1] == ' ' && p[n] == ' ') return 1;
    return 0;
}

int tool_about(tool *t, const char *name, const char *option) {
    static const char own[] = " jq awk gawk mawk yq tput make git node python python3 rg tsx ";      /* these answer for themselves, or have no such option */
    if (listed(own, name)) return -1;
    if (!strcmp(option, "--version")) {
        const char *line = "%s (GNU coreutils) 9.1";
        for (size_t i = 0; i < sizeof packages / sizeof *packages; i++)
            if (listed(packages[i].names, name)) line = packages[i].version;
        const char *mark = strstr(line, "%s");
        if (!mark) return io_printf(t->out, "%s\nBuilt into the Hatchway shell.\n", line) < 0;
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
