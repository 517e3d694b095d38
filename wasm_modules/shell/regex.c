/* regex.c - a compiled pattern: how it is made, asked and freed. Running it is regex_search.c. */
#include "regex_program.h"
#include <stdlib.h>

const char *regex_literal(const regex *r, size_t *n) {
    *n = r->literal_length;
    return r->groups ? NULL : r->literal;
}

regex *regex_compile(const char *pattern, size_t n, int flags, const char **error) {
    regex *r = calloc(1, sizeof *r);
    *error = "Memory exhausted";
    if (!r) return NULL;
    regex_tree_info info = {.m = &r->memory, .flags = flags};
    r->flags = flags;
    node *tree = regex_parse(pattern, n, &info);
    if (!tree) { if (info.error) *error = info.error; regex_free(r); return NULL; }
    if (regex_emit(r, tree, &info) < 0) { *error = "Regular expression too big"; regex_free(r); return NULL; }
    *error = info.warning;
    return r;
}

void regex_free(regex *r) {
    if (!r) return;
    regex_dfa_free(r->dfa);
    for (regex_block *b = r->memory.blocks; b;) {
        regex_block *next = b->next;
        free(b);
        b = next;
    }
    free(r->code);
    free(r->prefix);
    free(r->work.frames);
    free(r->work.memo);
    free(r->work.caps);
    free(r->work.calls);
    free(r);
}

int regex_groups(const regex *r) { return r->groups; }
const char *regex_group_name(const regex *r, int i) { return i >= 1 && i <= r->groups && r->names ? r->names[i] : NULL; }
