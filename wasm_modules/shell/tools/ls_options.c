/* ls_options.c - the command line of ls. */
#include "ls.h"
#include <stdlib.h>
#include <string.h>

/* As GNU's: without LS_COLORS, colours are for terminals that are known to have them. */
static int has_colors(tool *t) {
    static const char *const known[] = {"ansi", "color", "console", "cygwin", "direct", "dtterm", "gnome", "hurd", "konsole",
        "linux", "mlterm", "putty", "rxvt", "screen", "terminator", "tmux", "vt100", "xterm"};
    const char *table = t->getenv(t, "LS_COLORS"), *depth = t->getenv(t, "COLORTERM"), *term = t->getenv(t, "TERM");
    if ((table && *table) || (depth && *depth)) return 1;
    for (size_t i = 0; term && i < sizeof known / sizeof *known; i++) if (strstr(term, known[i])) return 1;
    return 0;
}

static int is_number(const char *text) { return *text && strspn(text, "0123456789") == strlen(text); }

static int has_time_style(const char *word) {
    static const char *const known[] = {"full-iso", "long-iso", "iso", "locale"};
    if (!strncmp(word, "posix-", 6)) word += 6;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) if (!strcmp(word, known[i])) return 1;
    return 0;
}

static int bad_time_style(tool *t, const char *word) {
    tool_fail(t, 2, "invalid argument %s for %s", tool_cite(t, word), tool_cite(t, "time style"));
    io_puts(t->err, "Valid arguments are:\n  - [posix-]full-iso\n  - [posix-]long-iso\n  - [posix-]iso\n  - [posix-]locale\n"
                    "  - +FORMAT (e.g., +%H:%M) for a 'date'-style format\n");
    return tool_usage(t, 2);
}

/* --block-size: a number of bytes, or a unit alone, which is then shown behind the size. 0, or -1 when malformed. */
static int parse_block_size(ls_state *s, const char *text) {
    unsigned long long bytes;
    text += *text == '\'';                    /* groups of digits, of which the C locale makes none */
    if (!strcmp(text, "human-readable")) { s->human = 1; return 0; }
    if (!strcmp(text, "si")) { s->si = 1; return 0; }
    int bare = *text < '0' || *text > '9';
    char with_one[16] = "1";
    if (bare && strlen(text) < sizeof with_one - 1) strcat(with_one, text);
    if (size_parse(bare ? with_one : text, &bytes) < 0 || !bytes) return -1;
    s->unit_bytes = bytes;
    s->unit = bare ? text : "";
    return 0;
}

int ls_options(tool *t, tool_opts *o, ls_state *s) {
    static const tool_long longs[] = {{"all", 0, 'a'}, {"almost-all", 0, 'A'}, {"author", 0, '1' + 128}, {"escape", 0, 'b'},
        {"block-size", 1, 140}, {"ignore-backups", 0, 'B'}, {"color", 2, 141}, {"directory", 0, 'd'}, {"classify", 2, 'F'},
        {"file-type", 0, 142}, {"format", 1, 143}, {"full-time", 0, 144}, {"group-directories-first", 0, 145},
        {"no-group", 0, 'G'}, {"human-readable", 0, 'h'}, {"si", 0, 146}, {"dereference-command-line", 0, 'H'},
        {"dereference-command-line-symlink-to-dir", 0, 155}, {"hide", 1, 147},
        {"indicator-style", 1, 148}, {"inode", 0, 'i'}, {"ignore", 1, 'I'}, {"kibibytes", 0, 'k'}, {"dereference", 0, 'L'},
        {"numeric-uid-gid", 0, 'n'}, {"literal", 0, 'N'}, {"quote-name", 0, 'Q'}, {"reverse", 0, 'r'}, {"recursive", 0, 'R'},
        {"quoting-style", 1, 153}, {"size", 0, 's'}, {"sort", 1, 149}, {"time", 1, 150}, {"time-style", 1, 151},
        {"width", 1, 'w'}, {"zero", 0, 152}, {"hide-control-chars", 0, 'q'}, {"show-control-chars", 0, 'N'},
        {"hyperlink", 2, 154}, {"dired", 0, 'D'}, {"context", 0, 'Z'}, {"tabsize", 1, 'T'}, {0, 0, 0}};
    static const char *const sorts[] = {"none", "time", "size", "extension", "version", "width", NULL};
    static const int sort_codes[] = {SORT_NONE, SORT_TIME, SORT_SIZE, SORT_EXTENSION, SORT_VERSION, SORT_WIDTH};
    static const char *const times[] = {"atime|access|use", "ctime|status", "birth|creation", NULL};
    static const char *const styles[] = {"literal", "shell", "shell-always", "shell-escape", "shell-escape-always", "c",
        "c-maybe", "escape", "locale", "clocale", NULL};
    static const char *const formats[] = {"verbose|long", "commas", "horizontal|across", "vertical", "single-column", NULL};
    static const char *const indicators[] = {"none", "slash", "file-type", "classify", NULL};
    static const char *const whens[] = {"always|yes|force", "never|no|none", "auto|tty|if-tty", NULL};
    int c;
    while ((c = tool_opts_next(t, o, "aAbBcCdDfFgGhHiI:klLmnNopqQrRsStT:uUvw:xXZ1", longs)) != -1) switch (c) {
        case 'a': s->all = 1; s->almost = 0; break;
        case 'A': s->almost = 1; s->all = 0; break;
        case 'b': s->escape = 1; break;
        case 'B': if (s->ignores < 16) s->ignore[s->ignores++] = "*~"; break;
        case 'c': s->time = 'c'; if (s->sort == SORT_NAME) s->sort = -1; break;
        case 'u': s->time = 'u'; if (s->sort == SORT_NAME) s->sort = -1; break;
        case 'C': case 'x': case 'm': s->format = c; break;
        case 'd': s->dirs_as_files = 1; break;
        case 'f': s->all = 1; s->sort = SORT_NONE; break;
        case 'F': s->indicator = o->arg && !strcmp(o->arg, "never") ? 0 : o->arg && !strcmp(o->arg, "auto") ? 0 : 'F'; break;
        case 'g': s->format = 'l'; s->no_owner = 1; break;
        case 'G': s->no_group = 1; break;
        case 'h': s->human = 1; break;
        case 'H': s->follow_args = 1; break;
        case 'i': s->inode = 1; break;
        case 'I': if (s->ignores < 16) s->ignore[s->ignores++] = o->arg; break;
        case 'l': s->format = 'l'; break;
        case 'L': s->follow = 1; break;
        case 'n': s->format = 'l'; s->numeric = 1; break;
        case 'o': s->format = 'l'; s->no_group = 1; break;
        case 'p': s->indicator = 'p'; break;
        case 'q': s->hide_control = 1; break;
        case 'Q': s->quote = 1; break;
        case 'r': s->reverse = 1; break;
        case 'R': s->recursive = 1; break;
        case 's': s->blocks = 1; break;
        case 'S': s->sort = SORT_SIZE; break;
        case 't': s->sort = SORT_TIME; break;
        case 'U': s->sort = SORT_NONE; break;
        case 'v': s->sort = SORT_VERSION; break;
        case 'w':
            if (!is_number(o->arg)) return tool_fail(t, 2, "invalid line width: %s", tool_cite(t, o->arg));
            s->width = atoi(o->arg);
            if (!s->width) s->width = NO_WIDTH;
            break;
        case 'T':
            if (!is_number(o->arg)) return tool_fail(t, 2, "invalid tab size: %s", tool_cite(t, o->arg));
            s->no_tabs = !atoi(o->arg);
            break;
        case 'X': s->sort = SORT_EXTENSION; break;
        case '1': if (s->format != 'l') s->format = '1'; break;
        case '1' + 128: s->author = 1; break;
        case 140:
            if (parse_block_size(s, o->arg) < 0) return tool_fail(t, 2, "invalid --block-size argument '%s'", o->arg);
            break;
        case 'k': case 'N': case 'Z': case 'D': case 154: case 155: break;
        case 141:
            if (o->arg && (c = tool_choice(t, "--color", o->arg, whens)) < 0) return 1;
            s->color = (!o->arg || c == 0) && has_colors(t);
            break;
        case 142: s->indicator = 't'; break;
        case 143:
            if ((c = tool_choice(t, "--format", o->arg, formats)) < 0) return 1;
            s->format = "lmxC1"[c];
            break;
        case 144: s->format = 'l'; s->full_time = 1; break;
        case 145: s->dirs_first = 1; break;
        case 146: s->si = 1; break;
        case 147: s->hide = o->arg; break;
        case 148:
            if ((c = tool_choice(t, "--indicator-style", o->arg, indicators)) < 0) return 1;
            s->indicator = "\0ptF"[c];
            break;
        case 149:
            if ((c = tool_choice(t, "--sort", o->arg, sorts)) < 0) return 1;
            s->sort = sort_codes[c];
            break;
        case 150:
            if ((c = tool_choice(t, "--time", o->arg, times)) < 0) return 1;
            s->time = "uc\0"[c];
            if (s->sort == SORT_NAME) s->sort = -1;
            break;
        case 151:
            s->time_style = o->arg;
            if (*o->arg != '+' && !has_time_style(o->arg)) return bad_time_style(t, o->arg);
            break;
        case 153:
            if ((c = tool_choice(t, "--quoting-style", o->arg, styles)) < 0) return 1;
            s->shell_quote = c == 1 || c == 3 ? 1 : c == 2 || c == 4 ? 2 : 0;
            s->plain_quote = c == 1 || c == 2;
            s->quote = c == 5 || c == 6;
            s->escape = c == 7;
            s->cite = c >= 8;
            break;
        case 152: s->zero = 1; if (s->format != 'l') s->format = '1'; break;
        default: return 2;
    }
    if (s->sort == -1) s->sort = s->format == 'l' ? SORT_NAME : SORT_TIME;
    return 0;
}
