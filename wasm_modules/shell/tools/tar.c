/* tar.c - tar's command line. */
#include "files.h"
#include "tar.h"
#include <stdlib.h>
#include <string.h>

enum { BAD_OPTION = 64, RECORD_BLOCKS = 20 };
enum {
    O_STRIP = 1,
    O_EXCLUDE,
    O_NO_RECURSION,
    O_NOTHING,
    O_WILDCARDS,
    O_BACKUPS,
    O_FULL_TIME,
    O_DELETE,
    O_TRANSFORM,
    O_MTIME,
    O_OWNER,
    O_GROUP,
    O_MODE,
    O_REMOVE,
    O_SKIP_OLD,
    O_KEEP_NEWER,
    O_IGNORE_FAILED,
    O_NULL,
    O_TOTALS,
    O_VCS,
    O_SHOW,
    O_NUMERIC,
    O_TEST_LABEL,
    O_OVERWRITE,
    O_COPY_LINKS,
    O_ONE_TOP
};

static int usage(tool *t, int status) {
    io_printf(t->err, "Try '%s --help' or '%s --usage' for more information.\n", t->name, t->name);
    return status;
}

/* tar xzf NAME is tar -x -z -f NAME; NULL after a message. */
static char **spell_out(tool *t, int *argc, char **argv) {
    char **words = tool_alloc(t, ((size_t)*argc + strlen(argv[1]) + 2) * sizeof *words);
    int n = 0, next = 2;
    words[n++] = argv[0];
    for (const char *p = argv[1]; *p; p++) {
        words[n++] = tool_format(t, "-%c", *p);
        if (!strchr("fCTXbHKNI", *p)) continue;
        if (next >= *argc) {
            tool_fail(t, BAD_OPTION, "Old option '%c' requires an argument.", *p);
            return NULL;
        }
        words[n++] = argv[next++];
    }
    while (next < *argc) words[n++] = argv[next++];
    *argc = n;
    return words;
}

static int set_mtime(tar_state *s, const char *text) {
    struct stat st;
    s->has_mtime = 1;
    if ((*text == '/' || *text == '.') && path_stat(text, &st) == 0) { s->mtime = st.st_mtim; return 0; }
    if (date_parse(s->t, text, moment_now(), &s->mtime) >= 0) return 0;
    return tool_fail(s->t, 2, "Invalid date: %s", text);
}

/* -N: what is older than a date, or than a file when it begins with / or ., is left out. */
static int set_newer(tar_state *s, const char *word) {
    struct stat st;
    s->has_newer = 1;
    if ((*word == '/' || *word == '.') && path_stat(word, &st) == 0) { s->newer = st.st_mtim; return 0; }
    if (date_parse(s->t, word, moment_now(), &s->newer) == 0) return 0;
    return tool_fail(s->t, 2, "Substituting %s for unknown date format %s", "-9223372036854775808", tool_cite(s->t, word));
}

static int run(tar_state *s) {
    int status;
    switch (s->mode) {
    case 'c': case 'r': status = tar_create(s, s->mode == 'r'); return status == 1 ? usage(s->t, 2) : status;
    case 'A': return tar_concatenate(s);
    case O_DELETE: return tar_delete(s);
    case O_TEST_LABEL: return tar_load(s);
    default: return tar_read(s);
    }
}

/* Known to tar; what is written is ustar with long names as GNU has them, which all of these programs read. */
static int is_format(const char *word) {
    static const char *const known[] = {"v7", "oldgnu", "gnu", "ustar", "pax", "posix"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) if (!strcmp(word, known[i])) return 1;
    return 0;
}

/* -I: the programs we have; 0 for others. */
static int program_packing(const char *command) {
    size_t n = strcspn(command, " ");
    if ((n == 4 && !strncmp(command, "gzip", n)) || (n == 4 && !strncmp(command, "pigz", n))) return TAR_GZIP;
    return n == 5 && !strncmp(command, "bzip2", n) ? TAR_BZIP2 : 0;
}

/* The name of an archive without what says that it is one. */
static const char *top_of(tool *t, const char *file) {
    static const char *const ends[] = {".tar.gz", ".tar.bz2", ".tgz", ".tbz2", ".tbz", ".tar"};
    const char *name = file && strcmp(file, "-") ? path_last(file) : NULL;
    for (size_t i = 0; name && i < sizeof ends / sizeof *ends; i++) {
        size_t n = strlen(name), k = strlen(ends[i]);
        if (n > k && !strcmp(name + n - k, ends[i])) return tool_strndup(t, name, n - k);
    }
    return NULL;
}

int tool_tar(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"create", 0, 'c'}, {"extract", 0, 'x'}, {"get", 0, 'x'}, {"list", 0, 't'},
        {"append", 0, 'r'}, {"update", 0, 'u'}, {"diff", 0, 'd'}, {"compare", 0, 'd'}, {"delete", 0, O_DELETE},
        {"concatenate", 0, 'A'}, {"catenate", 0, 'A'}, {"test-label", 0, O_TEST_LABEL}, {"file", 1, 'f'}, {"directory", 1, 'C'},
        {"gzip", 0, 'z'}, {"gunzip", 0, 'z'}, {"ungzip", 0, 'z'}, {"bzip2", 0, 'j'}, {"xz", 0, 'J'}, {"verbose", 0, 'v'},
        {"to-stdout", 0, 'O'}, {"keep-old-files", 0, 'k'}, {"skip-old-files", 0, O_SKIP_OLD}, {"overwrite", 0, O_OVERWRITE},
        {"hard-dereference", 0, O_COPY_LINKS}, {"keep-newer-files", 0, O_KEEP_NEWER}, {"strip-components", 1, O_STRIP},
        {"exclude", 1, O_EXCLUDE}, {"exclude-from", 1, 'X'}, {"exclude-vcs", 0, O_VCS}, {"files-from", 1, 'T'},
        {"null", 0, O_NULL}, {"absolute-names", 0, 'P'}, {"dereference", 0, 'h'}, {"no-recursion", 0, O_NO_RECURSION},
        {"recursion", 0, O_NOTHING}, {"preserve-permissions", 0, 'p'}, {"same-permissions", 0, 'p'}, {"auto-compress", 0, 'a'},
        {"owner", 1, O_OWNER}, {"group", 1, O_GROUP}, {"mode", 1, O_MODE}, {"mtime", 1, O_MTIME}, {"touch", 0, 'm'},
        {"sort", 1, O_NOTHING}, {"numeric-owner", 0, O_NUMERIC}, {"format", 1, 'H'}, {"no-same-owner", 0, O_NOTHING},
        {"same-owner", 0, O_NOTHING}, {"no-same-permissions", 0, O_NOTHING}, {"warning", 1, O_NOTHING},
        {"wildcards", 0, O_WILDCARDS}, {"anchored", 0, O_NOTHING}, {"full-time", 0, O_FULL_TIME}, {"occurrence", 2, O_NOTHING},
        {"transform", 1, O_TRANSFORM}, {"xform", 1, O_TRANSFORM}, {"show-transformed-names", 0, O_SHOW},
        {"remove-files", 0, O_REMOVE}, {"ignore-failed-read", 0, O_IGNORE_FAILED}, {"totals", 2, O_TOTALS},
        {"blocking-factor", 1, 'b'}, {"no-wildcards", 0, O_NOTHING}, {"newer", 1, 'N'}, {"after-date", 1, 'N'},
        {"newer-mtime", 1, 'N'}, {"exclude-backups", 0, O_BACKUPS}, {"posix", 0, O_NOTHING}, {"one-file-system", 0, O_NOTHING},
        {"acls", 0, O_NOTHING}, {"no-acls", 0, O_NOTHING}, {"xattrs", 0, O_NOTHING}, {"no-xattrs", 0, O_NOTHING},
        {"selinux", 0, O_NOTHING}, {"no-selinux", 0, O_NOTHING}, {"keep-directory-symlink", 0, O_NOTHING},
        {"unlink-first", 0, O_NOTHING}, {"recursive-unlink", 0, O_NOTHING}, {"overwrite-dir", 0, O_NOTHING},
        {"no-overwrite-dir", 0, O_NOTHING}, {"no-anchored", 0, O_NOTHING}, {"no-ignore-case", 0, O_NOTHING},
        {"verify", 0, O_NOTHING}, {"force-local", 0, O_NOTHING}, {"utc", 0, O_NOTHING}, {"seek", 0, O_NOTHING},
        {"no-seek", 0, O_NOTHING}, {"no-auto-compress", 0, O_NOTHING}, {"show-stored-names", 0, O_NOTHING},
        {"delay-directory-restore", 0, O_NOTHING}, {"no-delay-directory-restore", 0, O_NOTHING}, {"no-null", 0, O_NOTHING},
        {"read-full-records", 0, O_NOTHING}, {"same-order", 0, O_NOTHING}, {"preserve-order", 0, O_NOTHING},
        {"check-device", 0, O_NOTHING}, {"no-check-device", 0, O_NOTHING}, {"sparse", 0, O_NOTHING},
        {"show-omitted-dirs", 0, O_NOTHING}, {"no-quote-chars", 0, O_NOTHING}, {"wildcards-match-slash", 0, O_NOTHING},
        {"no-wildcards-match-slash", 0, O_NOTHING}, {"check-links", 0, O_NOTHING}, {"checkpoint", 2, O_NOTHING}, {"atime-preserve", 2, O_NOTHING},
        {"clamp-mtime", 0, O_NOTHING}, {"hole-detection", 1, O_NOTHING}, {"ignore-zeros", 0, 'i'}, {"no-unquote", 0, O_NOTHING},
        {"unquote", 0, O_NOTHING}, {"verbatim-files-from", 0, O_NOTHING}, {"no-verbatim-files-from", 0, O_NOTHING},
        {"old-archive", 0, O_NOTHING}, {"portability", 0, O_NOTHING}, {"quoting-style", 1, O_NOTHING}, {"restrict", 0, O_NOTHING},
        {"pax-option", 1, O_NOTHING}, {"checkpoint-action", 1, O_NOTHING}, {"record-size", 1, O_NOTHING},
        {"sparse-version", 1, O_NOTHING}, {"xattrs-include", 1, O_NOTHING}, {"xattrs-exclude", 1, O_NOTHING},
        {"use-compress-program", 1, 'I'},
        {"one-top-level", 2, O_ONE_TOP}, {"block-number", 0, 'R'}, {0, 0, 0}};
    static const char *const vcs[]
        = {".git", ".gitignore", ".gitmodules", ".gitattributes", ".svn", "CVS", ".hg", ".hgignore", ".bzr"};
    static const char *const backups[] = {".#*", "*~", "#*#"};
    tar_state s = {.t = t, .data = {.t = t}, .record_bytes = RECORD_BLOCKS * TAR_BLOCK};
    int by_name = 0, c;
    tool_opts o;
    if (argc > 1 && argv[1][0] != '-' && !(argv = spell_out(t, &argc, argv))) return usage(t, 2);
    for (tool_opts_start(&o, argc, argv);
         (c = tool_opts_next(t, &o, "cxtrudAf:C:zvOkT:PhpajJSomb:X:H:RN:BUWlsI:in", longs)) != -1;) switch (c) {
        case 'c': case 'x': case 't': case 'r': case 'd': case 'A': case O_DELETE: case O_TEST_LABEL: s.mode = c; break;
        case 'u': s.mode = 'r'; s.update = 1; break;
        case 'f': s.file = o.arg; break;
        case 'C': case 'T': case 'X':
            s.has_list |= c == 'T';
            tar_option_at(&s, c, o.next - o.index, o.arg);
            break;
        case 'z': s.packing = TAR_GZIP; break;
        case 'j': s.packing = TAR_BZIP2; break;
        case 'a': by_name = 1; break;
        case 'I':
            s.packing = program_packing(o.arg);
            if (!s.packing) return tool_fail(t, 2, "only gzip and bzip2 compression are supported");
            break;
        case O_ONE_TOP: s.top = o.arg ? o.arg : ""; break;
        case 'v': s.verbose++; break;
        case 'O': s.to_stdout = 1; break;
        case 'k': s.keep = 'k'; break;
        case O_SKIP_OLD: s.keep = 's'; break;
        case O_KEEP_NEWER: s.keep = 'n'; break;
        case O_OVERWRITE: s.keep = 'o'; break;
        case O_COPY_LINKS: s.copy_links = 1; break;
        case 'm': s.touch = 1; break;
        case 'p': s.same_bits = 1; break;
        case 'b': s.record_bytes = (size_t)(atoi(o.arg) > 0 ? atoi(o.arg) : RECORD_BLOCKS) * TAR_BLOCK; break;
        case O_STRIP: s.strip = atoi(o.arg); break;
        case O_EXCLUDE: tar_option_at(&s, 'E', o.next - o.index, o.arg); break;
        case O_VCS: for (size_t i = 0; i < sizeof vcs / sizeof *vcs; i++) tar_option_at(&s, 'E', 0, vcs[i]); break;
        case O_NO_RECURSION: tar_option_at(&s, TAR_FLAT, o.next - o.index, NULL); break;
        case O_TRANSFORM: s.transform = s.transform ? tool_format(t, "%s;%s", s.transform, o.arg) : o.arg; break;
        case O_SHOW: s.show_changed = 1; break;
        case O_MTIME: if (set_mtime(&s, o.arg)) return 2; break;
        case O_OWNER: s.owner = o.arg; break;
        case O_GROUP: s.group = o.arg; break;
        case O_MODE: s.set_mode = o.arg; break;
        case O_NUMERIC: s.numeric = 1; break;
        case O_REMOVE: s.remove = 1; break;
        case O_IGNORE_FAILED: s.ignore_unreadable = 1; break;
        case O_NULL: s.null_lists = 1; break;
        case O_TOTALS: s.totals = 1; break;
        case 'N': if (set_newer(&s, o.arg)) return 2; break;
        case O_BACKUPS: for (int i = 0; i < 3; i++) tar_option_at(&s, 'E', 0, backups[i]); break;
        case O_WILDCARDS: s.wildcards = 1; break;
        case O_FULL_TIME: s.full_time = 1; break;
        case 'H':
            if (!is_format(o.arg)) { tool_fail(t, 2, "%s: Invalid archive format", o.arg); return usage(t, 2); }
            break;
        case 'P': s.absolute = 1; break;
        case 'h': s.deref = 1; break;
        case 'J': return tool_fail(t, 2, "only gzip and bzip2 compression are supported");
        case '?': return BAD_OPTION;
        default: break;
    }
    if (by_name && s.file && (strstr(s.file, ".gz") || strstr(s.file, ".tgz"))) s.packing = TAR_GZIP;
    if (by_name && s.file && (strstr(s.file, ".bz2") || strstr(s.file, ".tbz"))) s.packing = TAR_BZIP2;
    if (!s.mode) {
        tool_fail(t, 2, "You must specify one of the '-Acdtrux', '--delete' or '--test-label' options");
        return usage(t, 2);
    }
    if (s.top && !*s.top && !(s.top = top_of(t, s.file))) {
        tool_fail(t, 2, "Cannot deduce top-level directory name; please set it explicitly with --one-top-level=DIR");
        return usage(t, 2);
    }
    if (tar_take_operands(&s, argv + o.index, argc - o.index, s.mode == 'c' || s.mode == 'r')) return 2;
    return run(&s);
}
