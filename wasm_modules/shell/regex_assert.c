/* regex_assert.c - whether an assertion (^, $, \b and the like) holds at a place of the text. */
#include "regex_program.h"
#include "utf8.h"

static int char_before(const char *text, size_t at) {
    if (!at) return -1;
    size_t i = at - 1;
    while (i > 0 && at - i < 4 && ((unsigned char)text[i] & 0xC0) == 0x80) i--;
    int c, n = utf8_decode(text + i, at - i, &c);
    return i + (size_t)n == at ? c : -1;
}

static int char_after(const char *text, size_t n, size_t at) {
    if (at >= n) return -1;
    int c;
    utf8_decode(text + at, n - at, &c);
    return c;
}

int regex_assert_holds(int kind, const char *text, size_t n, size_t at) {
    switch (kind) {
    case A_TEXT_START: return at == 0;
    case A_TEXT_END: return at == n;
    case A_TEXT_END_NL: return at == n || (at + 1 == n && text[at] == '\n');
    case A_LINE_START: return at == 0 || text[at - 1] == '\n';
    case A_LINE_END: return at == n || text[at] == '\n';
    }
    int before = regex_is_word(char_before(text, at)), after = regex_is_word(char_after(text, n, at));
    switch (kind) {
    case A_WORD_EDGE: return before != after;
    case A_NOT_EDGE: return before == after;
    case A_WORD_START: return !before && after;
    case A_WORD_END: return before && !after;
    case A_NO_WORD_BEFORE: return !before;
    case A_NO_WORD_AFTER: return !after;
    }
    return 0;
}
