/* tar_archive.c - the archive as a whole: headers in the ustar format with GNU long names and pax paths, members one by one,
 * names that are wanted or not, gzip and bzip2. */
#include "bzip.h"
#include "deflate.h"
#include "files.h"
#include "patterns.h"
#include "tar.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

int tool_sed(tool *t, int argc, char **argv);

void tar_put_octal(char *to, size_t n, unsigned long long v) {
    if (n < 12 && v >> 3 * (n - 1)) {       /* too large for octal: binary, marked by the first bit */
        for (size_t i = n; i-- > 1; v >>= 8) to[i] = (char)(v & 255);
        to[0] = (char)0x80;
        return;
    }
    to[n - 1] = '\0';
    for (size_t i = n - 1; i-- > 0; v >>= 3) to[i] = (char)('0' + (v & 7));
}

unsigned long long tar_get_octal(const char *p, size_t n) {
    unsigned long long v = 0;
    if ((unsigned char)*p & 0x80) { for (size_t i = 1; i < n; i++) v = v << 8 | (unsigned char)p[i]; return v; }
    for (size_t i = 0; i < n && p[i]; i++) if (p[i] >= '0' && p[i] <= '7') v = v * 8 + (unsigned)(p[i] - '0');
    return v;
}

static unsigned checksum(const tar_header *h) {
    const unsigned char *p = (const unsigned char *)h;
    unsigned sum = 0;
    for (size_t i = 0; i < 512; i++) sum += i >= 148 && i < 156 ? ' ' : p[i];
    return sum;
}

void tar_put_header(tar_state *s, tar_header *h) {
    memcpy(h->magic, "ustar  ", 8);
    unsigned sum = checksum(h);
    tar_put_octal(h->sum, 7, sum);
    h->sum[7] = ' ';
    buffer_add(&s->data, h, 512);
}

void tar_pad(tar_state *s) { while (s->data.n % 512) buffer_putc(&s->data, 0); }

int tar_excluded(const tar_state *s, const char *path) {
    for (int i = 0; i < s->exclude_n; i++) {
        if (glob_matches(s->exclude[i], path, 0, 0) || glob_matches(s->exclude[i], path_last(path), 0, 0)) return 1;
        for (const char *p = path; (p = strchr(p, '/')); p++) if (glob_matches(s->exclude[i], p + 1, 0, 0)) return 1;
    }
    return 0;
}

int tar_wanted(tar_state *s, const char *name, int *seen) {
    int excluded = tar_excluded(s, name);
    if (!s->name_n) return !excluded;
    for (int i = 0; i < s->name_n; i++) {
        char *want = path_strip(s->t, s->names[i]);
        size_t n = strlen(want);
        if ((!strncmp(name, want, n) && (!name[n] || name[n] == '/')) 
            || (s->wildcards && glob_matches(want, path_strip(s->t, name), 0, 0))) {
            seen[i] = 1;
            return !excluded;
        }
    }
    return 0;
}

int tar_failed(tar_state *s) { return tool_fail(s->t, 2, "Exiting with failure status due to previous errors"); }

static char *run_sed(tar_state *s, const char *name, char *script, int extended) {
    tool sub = *s->t;
    char *words[] = {"tar", extended ? "-E" : "-s", "-e", script, NULL};
    size_t n;
    sub.in = io_pipe();
    sub.out = io_pipe();
    io_puts(sub.in, name);
    tool_sed(&sub, 4, words);
    s->t->arena = sub.arena;
    const char *text = io_bytes(sub.out, &n);
    char *changed = tool_strndup(s->t, text, n);
    io_unref(sub.in);
    io_unref(sub.out);
    return changed;
}

enum { FOR_MEMBERS = 1, FOR_SYMLINKS = 2, FOR_LINKS = 4 };

/* A letter that says which names are changed: r, s, h; a capital takes them out. 0 when it is none of these. */
static int set_kind(int *kinds, char letter) {
    static const char letters[] = "rshRSH";
    const char *at = letter ? strchr(letters, letter) : NULL;
    if (!at) return 0;
    int kind = 1 << (at - letters) % 3;
    if (at - letters < 3) *kinds |= kind; else *kinds &= ~kind;
    return 1;
}

/* The end of the substitution at p, which is behind its second part's delimiter; NULL when that is not there. */
static const char *parts_end(const char *p) {
    char delim = p[0] == 's' ? p[1] : '\0';
    if (!delim) return NULL;
    p += 2;
    for (int parts = 0; parts < 2; p++) {
        if (!*p) return NULL;
        if (*p == '\\' && p[1]) p++;
        else if (*p == delim) parts++;
    }
    return p;
}

/* One substitution at p, done to name if it is for this kind. Behind it, and its ; */
static const char *substitute(tar_state *s, const char *p, int kinds, int kind, char **name) {
    buffer script = {.t = s->t};
    int extended = 0;
    const char *flags = parts_end(p);
    if (!flags) flags = p + strcspn(p, ";");          /* sed says what is wrong with it */
    buffer_add(&script, p, (size_t)(flags - p));
    for (; *flags && *flags != ';'; flags++) {
        if (*flags == 'x') extended = 1;
        else if (!set_kind(&kinds, *flags)) buffer_putc(&script, *flags);
    }
    if (kinds & kind) *name = run_sed(s, *name, script.p, extended);
    return *flags ? flags + 1 : flags;
}

char *tar_renamed(tar_state *s, const char *name, int kind) {
    char *changed = tool_strdup(s->t, name);
    int kinds = FOR_MEMBERS | FOR_SYMLINKS | FOR_LINKS;
    if (!s->transform) return changed;
    size_t n = strlen(changed);
    int is_directory = kind == 'r' && n > 1 && changed[n - 1] == '/';
    if (is_directory) changed[n - 1] = '\0';
    for (const char *p = s->transform; *p;) {
        if (!strncmp(p, "flags=", 6)) {
            kinds = 0;
            for (p += 6; *p && *p != ';'; p++) set_kind(&kinds, *p);
            p += *p == ';';
        } else p = substitute(s, p, kinds, kind == 'r' ? FOR_MEMBERS : kind == 's' ? FOR_SYMLINKS : FOR_LINKS, &changed);
    }
    return is_directory && *changed ? tool_format(s->t, "%s/", changed) : changed;
}

/* The path= record of a pax header. */
static char *pax_value(tool *t, const char *p, size_t n, const char *key) {
    char *found = NULL;
    for (const char *end = p + n; p < end;) {
        char *space;
        unsigned long len = strtoul(p, &space, 10);
        if (!len || len > (unsigned long)(end - p) || *space != ' ') break;
        size_t k = strlen(key);
        if (!strncmp(space + 1, key, k) && space[1 + k] == '=')
            found = tool_strndup(t, space + 2 + k, (size_t)(p + len - 1 - (space + 2 + k)));
        p += len;
    }
    return found;
}

int tar_next(tar_state *s, size_t *at, tar_member *m) {
    char *long_name = NULL, *long_link = NULL;
    m->begin = *at;
    if (s->data.n < TAR_BLOCK && !*at) {
        tool_fail(s->t, 2, "This does not look like a tar archive");
        return -1;
    }
    while (*at + TAR_BLOCK <= s->data.n) {
        const tar_header *h = (const tar_header *)(s->data.p + *at);
        if (!h->name[0] && !h->sum[0]) return 0;
        if (tar_get_octal(h->sum, 8) != checksum(h)) {
            tool_fail(s->t, 2, "This does not look like a tar archive");
            return -1;
        }
        m->h = h;
        m->size = tar_get_octal(h->size, 12);
        m->content = s->data.p + *at + TAR_BLOCK;
        if (h->type == '5' || h->type == '2' || h->type == '1') m->size = 0;
        if (m->size > s->data.n - *at - TAR_BLOCK) {
            tool_fail(s->t, 2, "Unexpected EOF in archive");
            tool_fail(s->t, 2, "Error is not recoverable: exiting now");
            return -2;
        }
        *at += TAR_BLOCK + (size_t)((m->size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK);
        size_t size = (size_t)m->size;
        if (h->type == 'L') long_name = tool_strndup(s->t, m->content, size);
        else if (h->type == 'K') long_link = tool_strndup(s->t, m->content, size);
        else if (h->type == 'x') {
            char *v = pax_value(s->t, m->content, size, "path");
            if (v) long_name = v;
            v = pax_value(s->t, m->content, size, "linkpath");
            if (v) long_link = v;
        } else if (h->type != 'g') {
            int prefixed = !memcmp(h->magic, "ustar\0", 6) && h->prefix[0];
            m->name = long_name  ? long_name
                      : prefixed ? tool_format(s->t, "%.155s/%.100s", h->prefix, h->name)
                                 : tool_format(s->t, "%.100s", h->name);
            m->link = long_link ? long_link : tool_format(s->t, "%.100s", h->link);
            m->end = *at;
            return 1;
        }
    }
    return 0;
}

int tar_store(tar_state *s) {
    for (int i = 0; i < 1024; i++) buffer_putc(&s->data, 0);
    while (s->data.n % s->record_bytes) buffer_putc(&s->data, 0);
    buffer out = {.t = s->t};
    if (s->packing == TAR_GZIP) gzip_bytes(s->data.p, s->data.n, &out, 6, NULL, 0);
    if (s->packing == TAR_BZIP2) bzip_bytes(s->t, s->data.p, s->data.n, &out);
    io *to = !s->file || !strcmp(s->file, "-") ? io_ref(s->t->out) : io_open(s->file, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (!to) return tool_fail_errno(s->t, 2, "%s: Cannot open", s->file);
    int failed = s->packing ? io_write(to, out.p, out.n) : io_write(to, s->data.p, s->data.n);
    io_unref(to);
    return failed < 0 ? 2 : 0;
}

int tar_load(tar_state *s) {
    io *from = !s->file || !strcmp(s->file, "-") ? io_ref(s->t->in) : io_open(s->file, O_RDONLY, 0);
    if (!from) {
        int code = errno;
        const char *child = s->packing ? " (child)" : "";
        io_flush(s->t->out);
        io_printf(s->t->err, "%s%s: %s: Cannot open: %s\n", s->t->name, child, s->file, strerror(code));
        if (s->packing) {
            io_printf(s->t->err, "%s%s: Error is not recoverable: exiting now\n", s->t->name, child);
            tool_fail(s->t, 2, "Child returned status 2");
        }
        return tool_fail(s->t, 2, "Error is not recoverable: exiting now");
    }
    buffer_read_all(&s->data, from);
    io_unref(from);
    if (s->packing != TAR_BZIP2 && s->data.n >= 2 && (unsigned char)s->data.p[0] == 0x1F && (unsigned char)s->data.p[1] == 0x8B) {
        buffer out = {.t = s->t};
        const char *error;
        if (gunzip_bytes(s->t, s->data.p, s->data.n, &out, &error) < 0) return tool_fail(s->t, 2, "%s", error);
        buffer_free(&s->data);
        s->data = out;
    } else if (s->packing != TAR_GZIP && s->data.n >= 4 && !memcmp(s->data.p, "BZh", 3)) {
        buffer out = {.t = s->t};
        if (bunzip_bytes(s->t, s->data.p, s->data.n, &out) < 0) return tool_fail(s->t, 2, "bzip2 data is damaged");
        buffer_free(&s->data);
        s->data = out;
    } else if (s->packing && s->data.n) {
        io_flush(s->t->out);
        io_puts(s->t->err,
            s->packing == TAR_GZIP ? "\ngzip: stdin: not in gzip format\n" : "bzip2: (stdin) is not a bzip2 file.\n");
        tool_fail(s->t, 2, "Child returned status %d", s->packing == TAR_GZIP ? 1 : 2);
        return tool_fail(s->t, 2, "Error is not recoverable: exiting now");
    }
    return 0;
}
