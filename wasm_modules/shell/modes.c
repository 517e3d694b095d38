/* modes.c - see modes.h. The table is session state: a small open-addressed map from inode to bits, dropped with the session. */
#include "modes.h"
#include <errno.h>
#include <stdlib.h>

static unsigned mask = 022;

#ifdef __wasi__
typedef struct { unsigned long long dev, ino; unsigned bits, used; } slot;
static slot *slots;
static size_t slot_count, slot_cap;
static unsigned long long program_ino;   /* of what modes_program named */

static slot *probe(slot *table, size_t cap, unsigned long long dev, unsigned long long ino) {
    size_t i = (size_t)((ino * 0x9E3779B97F4A7C15ull ^ dev) >> 20) & (cap - 1);
    while (table[i].used && (table[i].ino != ino || table[i].dev != dev)) i = (i + 1) & (cap - 1);
    return &table[i];
}

unsigned modes_get(const struct stat *st) {
    if (st->st_mode & 07777) return st->st_mode & 07777;
    if (st->st_ino == program_ino) return 0755;
    if (slot_cap && st->st_ino) {
        slot *s = probe(slots, slot_cap, st->st_dev, st->st_ino);
        if (s->used) return s->bits;
    }
    if (S_ISLNK(st->st_mode)) return 0777;
    return (S_ISDIR(st->st_mode) ? 0777u : 0666u) & ~mask;
}

int modes_set(const char *path, unsigned bits) {
    struct stat st;
    if (stat(path, &st) < 0) return -1;
    if (st.st_ino == program_ino) { errno = EPERM; return -1; }
    if (slot_count * 2 >= slot_cap) {
        size_t cap = slot_cap ? slot_cap * 2 : 64;
        slot *grown = calloc(cap, sizeof *grown);
        if (!grown) { errno = ENOMEM; return -1; }
        for (size_t i = 0; i < slot_cap; i++)
            if (slots[i].used) *probe(grown, cap, slots[i].dev, slots[i].ino) = slots[i];
        free(slots);
        slots = grown;
        slot_cap = cap;
    }
    slot *s = probe(slots, slot_cap, st.st_dev, st.st_ino);
    if (!s->used) slot_count++;
    *s = (slot){st.st_dev, st.st_ino, bits & 07777, 1};
    return 0;
}

void modes_program(const char *path) {
    struct stat st;
    if (stat(path, &st) == 0) program_ino = st.st_ino;
}

unsigned modes_umask(unsigned next) {
    unsigned old = mask;
    mask = next & 0777;
    return old;
}
#else
unsigned modes_get(const struct stat *st) { return st->st_mode & 07777; }
int modes_set(const char *path, unsigned bits) { return chmod(path, bits & 07777); }

unsigned modes_umask(unsigned next) {
    unsigned old = mask;
    mask = next & 0777;
    umask(mask);
    return old;
}
#endif

unsigned modes_umask_get(void) { return mask; }
