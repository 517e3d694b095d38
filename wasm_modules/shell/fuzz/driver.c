/* driver.c - a small coverage-guided fuzzer around LLVMFuzzerTestOneInput: `fuzz --seconds N --seed N CORPUS FAULTS`, or `fuzz FILE...` to run inputs.
 *
 * Every input runs in a forked child with an alarm, so that crashes, endless programs and changed state end with it. The compiler's trace-pc calls fill a map
 * shared with the parent; an input that reaches something new joins the corpus (in memory; the files of CORPUS are only read). An input whose child ends
 * with a signal or a sanitizer's status is written to FAULTS, once per place of the fault.
 */
#ifndef __wasm__
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void __sanitizer_cov_trace_pc(void);

enum { MAP = 1 << 16, CORPUS_MOST = 20000, INPUT_MOST = 1 << 12, FAULT_STATUS = 99, RUN_SECONDS = 2 };
typedef struct { uint8_t *p; size_t n; } input;

static uint8_t first_map[MAP], *map = first_map, seen[MAP];
static input corpus[CORPUS_MOST];
static size_t corpus_n;
static uint64_t state = 1;
static long runs, faults, slow;

__attribute__((no_sanitize_address)) void __sanitizer_cov_trace_pc(void) {
    uintptr_t pc = (uintptr_t)__builtin_return_address(0);
    map[(pc >> 4 ^ pc << 7) & (MAP - 1)] = 1;
}

static uint32_t draw(uint32_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return below ? (uint32_t)(state >> 16) % below : 0;
}

static void add(const uint8_t *p, size_t n) {
    if (corpus_n == CORPUS_MOST || n > INPUT_MOST) return;
    corpus[corpus_n].p = malloc(n + 1);
    memcpy(corpus[corpus_n].p, p, n);
    corpus[corpus_n++].n = n;
}

/* Copies a random piece of another input over or into x. */
static size_t splice(uint8_t *x, size_t n) {
    const input *other = &corpus[draw((uint32_t)corpus_n)];
    if (!other->n) return n;
    size_t from = draw((uint32_t)other->n), len = 1 + draw((uint32_t)(other->n - from)), at = draw((uint32_t)n + 1);
    if (n + len > INPUT_MOST) return n;
    memmove(x + at + len, x + at, n - at);
    memcpy(x + at, other->p + from, len);
    return n + len;
}

static size_t change(uint8_t *x, size_t n) {
    static const char marks[] = "'\"`$(){}[]<>|&;\\\n\t #!*?+-.,:/=~^%@0123456789abfnrstx";
    size_t at = draw((uint32_t)n + 1), len;
    switch (draw(8)) {
    case 0: if (at < n) x[at] ^= (uint8_t)(1 << draw(8)); return n;
    case 1: if (at < n) x[at] = (uint8_t)marks[draw(sizeof marks - 1)]; return n;
    case 2: case 3:
        if (n >= INPUT_MOST) return n;
        memmove(x + at + 1, x + at, n - at);
        x[at] = draw(4) ? (uint8_t)marks[draw(sizeof marks - 1)] : (uint8_t)draw(256);
        return n + 1;
    case 4:
        len = at < n ? 1 + draw((uint32_t)(n - at < 8 ? n - at : 8)) : 0;
        memmove(x + at, x + at + len, n - at - len);
        return n - len;
    case 5:
        len = at < n ? 1 + draw((uint32_t)(n - at)) : 0;
        if (n + len > INPUT_MOST) return n;
        memmove(x + at + len, x + at, n - at);
        return n + len;
    default: return splice(x, n);
    }
}

/* Runs one input in a child; its wait status. */
static int run(const uint8_t *p, size_t n) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(RUN_SECONDS);
        LLVMFuzzerTestOneInput(p, n);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    runs++;
    return status;
}

static int is_slow(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == 14; }
static int is_fault(int status) { return (WIFSIGNALED(status) && !is_slow(status)) || (WIFEXITED(status) && WEXITSTATUS(status) == FAULT_STATUS); }

static void keep_fault(const char *dir, const uint8_t *p, size_t n) {
    static uint8_t known[MAP];
    uint32_t where = 0;
    for (int i = 0; i < MAP; i++) if (map[i]) where = where * 31 + (uint32_t)i;
    faults++;
    if (known[where & (MAP - 1)]++) return;
    char path[4096];
    snprintf(path, sizeof path, "%s/fault-%08x", dir, where);
    FILE *f = fopen(path, "wb");
    if (!f) return;
    fwrite(p, 1, n, f);
    fclose(f);
}

static int has_new(void) {
    int found = 0;
    for (int i = 0; i < MAP; i++) if (map[i] && !seen[i]) { seen[i] = 1; found = 1; }
    return found;
}

static void consider(const char *dir, const uint8_t *p, size_t n) {
    memset(map, 0, MAP);
    int status = run(p, n);
    if (is_slow(status)) slow++;
    if (is_fault(status)) keep_fault(dir, p, n);
    else if (has_new()) add(p, n);
}

static size_t read_file(const char *path, uint8_t *to, size_t most) {
    FILE *f = fopen(path, "rb");
    if (!f) return (size_t)-1;
    size_t n = fread(to, 1, most, f);
    fclose(f);
    return n;
}

static void read_corpus(const char *dir, const char *fault_dir, time_t end) {
    DIR *d = opendir(dir);
    static uint8_t x[INPUT_MOST];
    char path[4096];
    for (struct dirent *e; d && (e = readdir(d)) && time(NULL) < end;) {
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        size_t n = read_file(path, x, sizeof x);
        if (n != (size_t)-1) consider(fault_dir, x, n);
    }
    if (d) closedir(d);
    if (!corpus_n) add((const uint8_t *)"a", 1);
}

static int replay(int argc, char **argv) {
    static uint8_t x[1 << 16];
    int bad = 0;
    for (int i = 1; i < argc; i++) {
        size_t n = read_file(argv[i], x, sizeof x);
        if (n == (size_t)-1 || is_fault(run(x, n))) { printf("fault: %s\n", argv[i]); bad = 1; }
    }
    return bad;
}

int main(int argc, char **argv) {
    map = mmap(NULL, MAP, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) return 2;
    if (argc != 7 || strcmp(argv[1], "--seconds") || strcmp(argv[3], "--seed")) return replay(argc, argv);
    time_t end = time(NULL) + atol(argv[2]);
    state = strtoull(argv[4], NULL, 10) * 2862933555777941757ULL + 3037000493ULL;
    read_corpus(argv[5], argv[6], end);
    static uint8_t x[INPUT_MOST * 2];
    while (time(NULL) < end) {
        const input *from = &corpus[draw((uint32_t)corpus_n)];
        size_t n = from->n;
        memcpy(x, from->p, n);
        for (uint32_t k = 1 + draw(6); k > 0; k--) n = change(x, n);
        consider(argv[6], x, n);
    }
    int reached = 0;
    for (int i = 0; i < MAP; i++) reached += seen[i];
    printf("%ld runs, %zu inputs, %d places, %ld slow, %ld faults\n", runs, corpus_n, reached, slow, faults);
    return faults != 0;
}
#endif
