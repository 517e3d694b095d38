/* target.c - what is fuzzed: LLVMFuzzerTestOneInput, which hands its bytes to the part of the shell that HATCH_FUZZ_TARGET names.
 *
 * Targets: parse (the grammar only), script (the whole shell without tools), regex, awk, sed, jq, bc. An input up to its first NUL byte is the program, what
 * follows is its standard input. Files cannot be opened and no tool can be run from a program, so an input cannot do harm.
 *
 * Built natively with ASan and UBSan: with driver.c for `python -m wasm_modules.shell.fuzz`, or alone with `clang -fsanitize=fuzzer`. No part of the guest.
 */
#ifndef __wasm__
#include "../regex.h"
#include "../sh.h"
#include "../tool.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_open(const char *path, int flags, ...);
const tool_entry *__wrap_tool_find(const char *name);
const tool_entry *__real_tool_find(const char *name);

enum { LONGEST = 1 << 16 };
static const char sample[] = "alpha 1,2\nbeta  three\n\n{\"a\":[1,{\"b\":null}],\"c\":\"x\\u00e9\"}\n[1,2.5,\"s\"]\nlast line";

void out_of_memory(void) { _exit(0); }
void tool_oom(void) { _exit(0); }
bool capability_has(const char *name) { (void)name; return false; }
int capability_run(int argc, char **argv) { (void)argc; (void)argv; return -1; }

int __wrap_open(const char *path, int flags, ...) { (void)path; (void)flags; errno = EACCES; return -1; }
const tool_entry *__wrap_tool_find(const char *name) { (void)name; return NULL; }

static void parse(char *text, size_t n)
{
    syntax_error err = { 0 };
    sh.validate_only = true;
    parser *p = parser_new(text, strip_nuls(text, n), 1);
    for (program *prog; (prog = parse_next(p, &err));) program_unref(prog);
    parser_free(p);
    free(err.near_line);
}

static void script(char *text, size_t n, const char *in, size_t in_n)
{
    shell_io(io_text(in, in_n), io_null(), io_null());
    sh.max_depth = 50;
    shell_run(text, strip_nuls(text, n));
}

/* The first byte chooses the language. */
static void match(const char *text, size_t n, const char *in, size_t in_n)
{
    static const int flags[] = { 0, REGEX_EXTENDED, REGEX_PERL, REGEX_EXTENDED | REGEX_ICASE, REGEX_PERL | REGEX_ICASE | REGEX_MULTILINE, REGEX_EXTENDED | REGEX_BRACKET_ESCAPES,
        REGEX_NEWLINE_ALT | REGEX_WORD, REGEX_PERL | REGEX_ASCII | REGEX_FREE_SPACING };
    const char *error;
    regex_span spans[10];
    if (!n) return;
    regex *r = regex_compile(text + 1, n - 1, flags[text[0] & 7], &error);
    if (!r) return;
    for (size_t at = 0; at <= in_n && regex_exec(r, in, in_n, at, spans, 10) > 0;) at = (size_t)spans[0].end + (spans[0].end == spans[0].start);
    regex_test(r, in, in_n);
    regex_free(r);
}

static void run_tool(const char *name, char *text, const char *in, size_t in_n)
{
    char *bc[] = { "bc", NULL }, *two[] = { (char *)name, text, NULL };
    bool is_bc = !strcmp(name, "bc");
    tool t = { .in = is_bc ? io_text(text, strlen(text)) : io_text(in, in_n), .out = io_null(), .err = io_null(), .name = name };
    tool_call(&t, __real_tool_find(name), is_bc ? 1 : 2, is_bc ? bc : two);
    io_unref(t.in);
    io_unref(t.out);
    io_unref(t.err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *target = getenv("HATCH_FUZZ_TARGET");
    static bool started;
    if (size > LONGEST || !target) return 0;
    if (!started) shell_start();
    started = true;
    char *text = calloc(1, size + 1);
    memcpy(text, data, size);
    size_t n = strlen(text);
    const char *in = n < size ? text + n + 1 : sample;
    size_t in_n = n < size ? size - n - 1 : sizeof sample - 1;
    if (!strcmp(target, "parse")) parse(text, n);
    else if (!strcmp(target, "script")) script(text, n, in, in_n);
    else if (!strcmp(target, "regex")) match(text, n, in, in_n);
    else run_tool(target, text, in, in_n);
    free(text);
    return 0;
}
#endif
