/* hashed.c - remembered command paths: `hash`, BASH_CMDS and "ls is hashed (/usr/bin/ls)".
 *
 * The built-in tools need no search, so nothing is looked up here to run them; the table exists because scripts see it. As in
 * bash, what runs in a subshell leaves no trace in its parent.
 */
#include "builtins.h"
#include "hashed.h"
#include <stdlib.h>
#include <string.h>

static hashed *table;

hashed *hashed_all(void) { return table; }

static hashed *find(const char *name)
{
    hashed *h = table;
    while (h && strcmp(h->name, name)) h = h->next;
    return h;
}

const char *hashed_path(const char *name)
{
    hashed *h = find(name);
    return h ? h->path : NULL;
}

static void drop(hashed **at)
{
    hashed *h = *at;
    *at = h->next;
    free(h->name);
    free(h->path);
    free(h);
}

void hashed_forget_all(void) { while (table) drop(&table); }

hashed *hashed_suspend(void)
{
    hashed *was = table;
    table = NULL;
    return was;
}

void hashed_resume(hashed *was)
{
    hashed_forget_all();
    table = was;
}

void hashed_set(const char *name, const char *path)
{
    hashed **at = &table;
    while (*at && strcmp((*at)->name, name)) at = &(*at)->next;
    if (*at && path && !strcmp((*at)->path, path)) return;
    if (*at) drop(at);
    if (!path) return;
    hashed *h = xmalloc(sizeof *h);
    *h = (hashed){ .next = table, .name = xstrdup(name), .path = xstrdup(path) };
    table = h;
}

void hashed_hit(const char *name)
{
    if (sh.level != sh.shell_level || !sh.opt[O_HASHALL]) return;
    hashed *h = find(name);
    if (!h) {
        arena_mark_t m = arena_mark(&sh.tmp);
        strbuf b = { .a = &sh.tmp };
        sb_printf(&b, "/usr/bin/%s", name);
        hashed_set(name, sb_str(&b));
        arena_release(&sh.tmp, m);
        h = table;
    }
    h->hits++;
}

static int in_order(const void *a, const void *b)
{
    uint32_t x = hash_text((*(hashed *const *)a)->name) & 255, y = hash_text((*(hashed *const *)b)->name) & 255;
    return x < y ? -1 : x > y;
}

/* All entries in the order of bash's table, which has 256 buckets. */
static size_t sorted(hashed ***out)
{
    size_t n = 0;
    for (hashed *h = table; h; h = h->next) n++;
    *out = arena_alloc(&sh.tmp, (n + 1) * sizeof **out);
    n = 0;
    for (hashed *h = table; h; h = h->next) (*out)[n++] = h;
    qsort(*out, n, sizeof **out, in_order);
    return n;
}

static int list(bool reusable)
{
    hashed **all;
    size_t n = sorted(&all);
    if (!n && reusable) return 0;
    if (!n) return out_printf("%s: hash table empty\n", "hash") < 0;
    if (!reusable) out_puts("hits\tcommand\n");
    for (size_t i = 0; i < n; i++) {
        if (reusable) out_printf("builtin hash -p %s %s\n", all[i]->path, all[i]->name);
        else out_printf("%4d\t%s\n", all[i]->hits, all[i]->path);
    }
    return 0;
}

/* hash -t: where the names are remembered to be. */
static int show(int argc, char **argv, int at)
{
    int status = 0;
    bool many = argc - at > 1;
    for (int i = at; i < argc; i++) {
        const char *path = hashed_path(argv[i]);
        if (!path) status = b_error("hash", 1, "%s: not found", argv[i]);
        else out_printf("%s%s%s\n", many ? argv[i] : "", many ? "\t" : "", path);
    }
    return status;
}

int b_hash(int argc, char **argv)
{
    opts o = OPTS("hash [-lr] [-p pathname] [-dt] [name ...]");
    bool reusable = false, forget = false, where = false, clear = false;
    const char *path = NULL;
    for (int c; (c = next_opt(&o, "dlrtp:"));) {
        if (c == '?') return 2;
        if (c == 'd') forget = true;
        if (c == 'l') reusable = true;
        if (c == 'r') clear = true;
        if (c == 't') where = true;
        if (c == 'p') path = o.arg;
    }
    if (!sh.opt[O_HASHALL]) return b_error("hash", 1, "hashing disabled");
    if (where && o.at >= argc) return b_error("hash", 1, "-t: option requires an argument");
    if (clear) hashed_forget_all();
    if (o.at >= argc) return clear ? 0 : list(reusable);
    if (where) return show(argc, argv, o.at);
    int status = 0;
    for (int i = o.at; i < argc; i++) {
        const builtin *b = builtin_find(argv[i]);
        if (forget) {
            if (hashed_path(argv[i])) hashed_set(argv[i], NULL);
            else if (hashed_all()) status = b_error("hash", 1, "%s: not found", argv[i]);
            continue;
        }
        if (path) { hashed_set(argv[i], path); continue; }
        if (strchr(argv[i], '/') || func_find(argv[i]) || (b && b->fn != b_bash)) continue;
        char *found = command_file(argv[i]);
        if (found) hashed_set(argv[i], found); else status = b_error("hash", 1, "%s: not found", argv[i]);
    }
    return status;
}
