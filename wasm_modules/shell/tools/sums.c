/* sums.c - md5sum and its family, sum and cksum. */
#include "buffer.h"
#include "inputs.h"
#include "hash.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

typedef struct {
    int any_kind, kind, check, quiet, status_only, warn, strict, tag, zero, ignore_missing, text;
    size_t digits;
    const char *label;
} sum_state;

typedef struct { const char *name, *label; int kind; size_t digits; } sum_kind;
static const sum_kind kinds[] = {{"md5", "MD5", HASH_MD5, 32}, {"sha1", "SHA1", HASH_SHA1, 40},
    {"sha224", "SHA224", HASH_SHA224, 56}, {"sha256", "SHA256", HASH_SHA256, 64}, {"sha384", "SHA384", HASH_SHA384, 96},
    {"sha512", "SHA512", HASH_SHA512, 128},
    {"blake2b", "BLAKE2b", HASH_BLAKE2B, 128}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static int digest_stream(io *from, int kind, size_t bytes, char *hex) {
    hash_state h;
    blake2_state b;
    unsigned char digest[64];
    char block[16384];
    ssize_t n;
    if (kind == HASH_BLAKE2B) blake2_start(&b, bytes); else hash_start(&h, kind);
    while ((n = io_read(from, block, sizeof block)) > 0)
        if (kind == HASH_BLAKE2B) blake2_add(&b, block, (size_t)n);
        else hash_add(&h, block, (size_t)n);
    if (n < 0) return -1;
    size_t size = kind == HASH_BLAKE2B ? blake2_finish(&b, digest) : hash_finish(&h, digest);
    for (size_t i = 0; i < size; i++) {
        hex[i * 2] = "0123456789abcdef"[digest[i] >> 4];
        hex[i * 2 + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    hex[size * 2] = '\0';
    return 0;
}

static int digest_file(tool *t, const sum_state *s, const char *path, char *hex) {
    struct stat st;
    if (strcmp(path, "-") && path_stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return tool_fail(t, -1, "%s: Is a directory", path);
    io *from = strcmp(path, "-") ? io_open(path, O_RDONLY, 0) : io_ref(t->in);
    if (!from) {
        if (s->check && s->ignore_missing && errno == ENOENT) return -2;
        return tool_fail_errno(t, -1, "%s", tool_name(t, path));
    }
    int failed = digest_stream(from, s->kind, s->digits / 2, hex);
    io_unref(from);
    return failed < 0 ? tool_fail(t, -1, "%s: read error", path) : 0;
}

/* "HEX  name", with one blank too, or "LABEL (name) = HEX"; of cksum -c, any label, and s becomes of its kind. */
static int parse_line(sum_state *s, char *line, char **hex, char **name) {
    size_t n = strspn(line, "0123456789abcdefABCDEF");
    for (int i = 0; s->any_kind && i < KINDS; i++) {
        size_t k = strlen(kinds[i].label);
        if (strncmp(line, kinds[i].label, k) || line[k] != ' ') continue;
        s->kind = kinds[i].kind;
        s->label = kinds[i].label;
        s->digits = kinds[i].digits;
    }
    if (!s->any_kind && n == s->digits && line[n] == ' ' && line[n + 1]) {
        *hex = line;
        line[n] = '\0';
        *name = line + n + 1 + (line[n + 1] == ' ' || line[n + 1] == '*');
        return 0;
    }
    size_t k = strlen(s->label);
    if (strncmp(line, s->label, k) || strncmp(line + k, " (", 2)) return -1;
    char *close = strstr(line, ") = ");
    if (!close || strlen(close + 4) != s->digits) return -1;
    *close = '\0';
    *name = line + k + 2;
    *hex = close + 4;
    return 0;
}

static int check_file(tool *t, sum_state *s, const char *path) {
    int failed = 0, bad = 0, unread = 0, malformed = 0, good = 0, missing = 0, number = 0;
    io *from = input_open(t, path, 1, &failed);
    const char *view;
    ssize_t n;
    if (!from) return 1;
    while ((n = io_line(from, &view, '\n')) > 0) {
        char *line = tool_strndup(t, view, (size_t)n - (view[n - 1] == '\n')), *hex, *name, actual[136];
        if (*line == '#') continue;
        number++;
        if (parse_line(s, line, &hex, &name) < 0) {
            malformed++;
            if (s->warn) tool_fail(t, 0, "%s: %d: improperly formatted %s checksum line", path, number, s->label);
            continue;
        }
        int got = digest_file(t, s, name, actual);
        if (got == -2) { missing++; continue; }
        if (got < 0) { unread++; if (!s->status_only) io_printf(t->out, "%s: FAILED open or read\n", name); continue; }
        for (char *p = hex; *p; p++) *p = (char)tolower((unsigned char)*p);
        if (!strcmp(hex, actual)) { good++; if (!s->quiet && !s->status_only) io_printf(t->out, "%s: OK\n", name); }
        else { bad++; if (!s->status_only) io_printf(t->out, "%s: FAILED\n", name); }
    }
    io_unref(from);
    if (!strcmp(path, "-")) path = "'standard input'";
    if (missing && !good && !bad && !unread) return tool_fail(t, 1, "%s: no file was verified", path);
    if (!good && !bad && !unread)
        return tool_fail(t, 1, "%s: no properly formatted checksum lines found", path);
    if (!s->status_only) {
        if (malformed) tool_fail(t, 0, "WARNING: %d line%s improperly formatted", malformed, malformed == 1 ? " is" : "s are");
        if (unread) tool_fail(t, 0, "WARNING: %d listed file%s could not be read", unread, unread == 1 ? "" : "s");
        if (bad) tool_fail(t, 0, "WARNING: %d computed checksum%s did NOT match", bad, bad == 1 ? "" : "s");
    }
    return bad || unread || (s->strict && malformed);
}

static const char *escape_name(tool *t, const char *name) {
    if (!strpbrk(name, "\n\r\\")) return name;
    buffer b = {.t = t};
    for (; *name; name++) {
        if (*name == '\n') buffer_puts(&b, "\\n");
        else if (*name == '\r') buffer_puts(&b, "\\r");
        else if (*name == '\\') buffer_puts(&b, "\\\\");
        else buffer_putc(&b, *name);
    }
    return b.p;
}

/* -l of b2sum: bits, in the label too unless they are all. */
static int take_length(tool *t, sum_state *s, const char *text) {
    unsigned long long bits;
    if (s->kind != HASH_BLAKE2B) return tool_fail(t, 1, "--length is only supported with --algorithm=blake2b");
    if (size_parse(text, &bits) < 0 || bits > 512) {
        tool_fail(t, 1, "invalid length: %s", tool_cite(t, text));
        if (size_parse(text, &bits) == 0) tool_fail(t, 1, "maximum digest length for %s is 512 bits", tool_cite(t, "BLAKE2b"));
        return 1;
    }
    if (bits % 8) {
        tool_fail(t, 1, "invalid length: %s", tool_cite(t, text));
        return tool_fail(t, 1, "length is not a multiple of 8");
    }
    if (!bits || bits == 512) return 0;
    s->digits = (size_t)bits / 4;
    s->label = tool_format(t, "BLAKE2b-%llu", bits);
    return 0;
}

static int sum_main(tool *t, int argc, char **argv, int kind, const char *label, size_t digits) {
    static const tool_long longs[]
        = {{"check", 0, 'c'}, {"binary", 0, 'b'}, {"text", 0, 't'}, {"quiet", 0, 'q'}, {"status", 0, 's'}, {"warn", 0, 'w'},
            {"strict", 0, 'S'}, {"tag", 0, 'T'}, {"zero", 0, 'z'}, {"ignore-missing", 0, 'm'}, {"length", 1, 'l'}, {0, 0, 0}};
    sum_state s = {.any_kind = !label, .kind = kind, .label = label ? label : "CRC", .digits = digits};
    int c, status = 0, binary = 0;
    tool_opts o;
    const char *shorts = kind == HASH_BLAKE2B ? "cbtwzl:" : "cbtwz";
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, shorts, longs)) != -1;) switch (c) {
        case 'c': s.check = 1; break;
        case 'b': binary = 1; break;
        case 't': binary = 0; break;
        case 'q': s.quiet = 1; break;
        case 's': s.status_only = 1; break;
        case 'w': s.warn = 1; break;
        case 'S': s.strict = 1; break;
        case 'T': s.tag = 1; break;
        case 'z': s.zero = 1; break;
        case 'm': s.ignore_missing = 1; break;
        case 'l': if (take_length(t, &s, o.arg)) return 1; break;
        default: return 1;
    }
    static char *standard[] = {"-"};
    char **files = o.index < argc ? argv + o.index : standard;
    int count = o.index < argc ? argc - o.index : 1;
    for (int i = 0; i < count; i++) {
        char hex[136];
        if (s.check) { status |= check_file(t, &s, files[i]); continue; }
        if (digest_file(t, &s, files[i], hex) < 0) { status = 1; continue; }
        /* a name with a newline or backslash is escaped, and a backslash in front says so */
        const char *name = s.zero ? files[i] : escape_name(t, files[i]), *mark = name == files[i] ? "" : "\\";
        int failed = s.tag ? io_printf(t->out, "%s%s (%s) = %s", mark, s.label, name, hex)
                           : io_printf(t->out, "%s%s %c%s", mark, hex, binary ? '*' : ' ', name);
        if (failed < 0 || io_putc(t->out, s.zero ? '\0' : '\n') < 0) return 1;
    }
    return status;
}

int tool_md5sum(tool *t, int argc, char **argv) { return sum_main(t, argc, argv, HASH_MD5, "MD5", 32); }
int tool_sha1sum(tool *t, int argc, char **argv) { return sum_main(t, argc, argv, HASH_SHA1, "SHA1", 40); }
int tool_sha224sum(tool *t, int argc, char **argv) { return sum_main(t, argc, argv, HASH_SHA224, "SHA224", 56); }
int tool_sha256sum(tool *t, int argc, char **argv) { return sum_main(t, argc, argv, HASH_SHA256, "SHA256", 64); }
int tool_sha384sum(tool *t, int argc, char **argv) { return sum_main(t, argc, argv, HASH_SHA384, "SHA384", 96); }
int tool_sha512sum(tool *t, int argc, char **argv) { return sum_main(t, argc, argv, HASH_SHA512, "SHA512", 128); }

int tool_b2sum(tool *t, int argc, char **argv) { return sum_main(t, argc, argv, HASH_BLAKE2B, "BLAKE2b", 128); }

/* shasum -a N: Perl's name for the sums. */
int tool_shasum(tool *t, int argc, char **argv) {
    static const struct { const char *bits, *label; int kind; size_t digits;
    } lengths[] = {{"1", "SHA1", HASH_SHA1, 40}, {"224", "SHA224", HASH_SHA224, 56}, {"256", "SHA256", HASH_SHA256, 64},
        {"384", "SHA384", HASH_SHA384, 96}, {"512", "SHA512", HASH_SHA512, 128}};
    char **rest = tool_alloc(t, ((size_t)argc + 1) * sizeof *rest);
    const char *bits = "1";
    int n = 0;
    for (int i = 0; i < argc; i++) {
        if (i && !strncmp(argv[i], "-a", 2)) bits = argv[i][2] ? argv[i] + 2 : i + 1 < argc ? argv[++i] : "1";
        else if (i && !strncmp(argv[i], "--algorithm=", 12)) bits = argv[i] + 12;
        else rest[n++] = argv[i];
    }
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        if (!strcmp(lengths[i].bits, bits)) return sum_main(t, n, rest, lengths[i].kind, lengths[i].label, lengths[i].digits);
    io_puts(t->err, "shasum: Unrecognized algorithm\nType shasum -h for help\n");
    return 1;
}

/* BSD's rotating sum over blocks of 1024 bytes, or with -s System V's over blocks of 512. */
int tool_sum(tool *t, int argc, char **argv) {
    static const tool_long longs[] = {{"sysv", 0, 's'}, {0, 0, 0}};
    int sysv = 0, status = 0, c;
    static char *standard[] = {NULL};
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "rs", longs)) != -1;)
        if (c == '?') return 1;
        else sysv = c == 's';
    char **files = o.index < argc ? argv + o.index : standard;
    int count = o.index < argc ? argc - o.index : 1;
    for (int i = 0; i < count; i++) {
        io *from = files[i] ? input_open(t, files[i], 1, &status) : io_ref(t->in);
        if (!from) continue;
        uint32_t sum = 0;
        unsigned long long size = 0;
        unsigned char block[8192];
        ssize_t n;
        for (; (n = io_read(from, block, sizeof block)) > 0; size += (unsigned long long)n)
            for (ssize_t k = 0; k < n; k++) sum = sysv ? sum + block[k] : ((sum >> 1 | (sum & 1) << 15) + block[k]) & 0xFFFF;
        io_unref(from);
        if (sysv) { sum = (sum & 0xFFFF) + (sum >> 16); sum = (sum & 0xFFFF) + (sum >> 16); }
        int failed = sysv ? io_printf(t->out, "%u %llu", sum, (size + 511) / 512)
                          : io_printf(t->out, "%05u %5llu", sum, (size + 1023) / 1024);
        if (files[i] && (sysv || count > 1 || strcmp(files[i], "-"))) failed |= io_printf(t->out, " %s", files[i]);
        if (failed < 0 || io_putc(t->out, '\n') < 0) return 1;
    }
    return status;
}

/* POSIX cksum: CRC over the bytes and then the length. */
int tool_cksum(tool *t, int argc, char **argv) {
    int status = 0, c;
    static char *standard[] = {NULL};
    static const tool_long longs[] = {{"algorithm", 1, 'a'}, {"untagged", 0, 'u'}, {"tag", 0, 't'}, {"length", 1, 'l'},
        {"check", 0, 'c'}, {"quiet", 0, 1}, {"status", 0, 1}, {"warn", 0, 1}, {"strict", 0, 1}, {"ignore-missing", 0, 1},
        {"zero", 0, 'z'}, {"debug", 0, 2}, {0, 0, 0}};
    const char *algorithm = "crc";
    char **passed = tool_alloc(t, ((size_t)argc + 1) * sizeof *passed);
    int untagged = 0, check = 0, passed_n = 0;                       /* options that are the digests' own */
    static const char *const names[]
        = {"bsd", "sysv", "crc", "md5", "sha1", "sha224", "sha256", "sha384", "sha512", "blake2b", NULL};
    const char *length = NULL;
    tool_opts o;
    for (tool_opts_start(&o, argc, argv); (c = tool_opts_next(t, &o, "a:l:czw", longs)) != -1;) {
        if (c == '?') return 1;
        if (c == 1 || c == 'w') { passed[passed_n++] = argv[o.index - 1]; continue; }
        if (c == 'z') { passed[passed_n++] = "-z"; continue; }
        if (c == 2) continue;
        if (c == 'c') { check = 1; continue; }
        if (c == 'a') { if ((c = tool_choice(t, "--algorithm", o.arg, names)) < 0) return 1; algorithm = names[c]; }
        else if (c == 'l') length = o.arg;
        else untagged = c == 'u';
    }
    if (!strcmp(algorithm, "bsd") || !strcmp(algorithm, "sysv")) {
        argv[o.index - 1] = !strcmp(algorithm, "bsd") ? "-r" : "-s";
        return tool_sum(t, argc - o.index + 2, argv + o.index - 2);
    }
    for (int i = check && !strcmp(algorithm, "crc") ? -1 : 0; i < KINDS; i++) if (i < 0 || !strcmp(kinds[i].name, algorithm)) {
        char **rest = tool_alloc(t, (size_t)(argc - o.index + passed_n + 6) * sizeof *rest);
        int n = 0;
        rest[n++] = argv[0];
        if (!untagged && !check) rest[n++] = "--tag";
        if (check) rest[n++] = "-c";
        for (int k = 0; k < passed_n; k++) rest[n++] = passed[k];
        if (length) rest[n++] = tool_format(t, "--length=%s", length);
        rest[n++] = "--";
        for (int k = o.index; k < argc; k++) rest[n++] = argv[k];
        return i < 0 ? sum_main(t, n, rest, 0, NULL, 0) : sum_main(t, n, rest, kinds[i].kind, kinds[i].label, kinds[i].digits);
    }
    char **files = o.index < argc ? argv + o.index : standard;
    int count = o.index < argc ? argc - o.index : 1;
    for (int i = 0; i < count; i++) {
        io *from = files[i] ? input_open(t, files[i], 1, &status) : io_ref(t->in);
        if (!from) continue;
        uint32_t crc = 0;
        unsigned long long size = 0;
        unsigned char block[8192];
        ssize_t n;
        while ((n = io_read(from, block, sizeof block)) > 0) {
            size += (unsigned long long)n;
            for (ssize_t k = 0; k < n; k++) {
                crc ^= (uint32_t)block[k] << 24;
                for (int b = 0; b < 8; b++) crc = crc & 0x80000000u ? crc << 1 ^ 0x04C11DB7u : crc << 1;
            }
        }
        io_unref(from);
        for (unsigned long long len = size; len; len >>= 8) {
            crc ^= (uint32_t)(len & 255) << 24;
            for (int b = 0; b < 8; b++) crc = crc & 0x80000000u ? crc << 1 ^ 0x04C11DB7u : crc << 1;
        }
        if (io_printf(t->out, files[i] ? "%u %llu %s\n" : "%u %llu\n", ~crc, size, files[i]) < 0) return 1;
    }
    return status;
}
