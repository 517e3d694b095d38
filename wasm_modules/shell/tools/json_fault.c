/* json_fault.c - what jq says about malformed JSON: the message and the place where its own reader would have noticed.
 *
 * json_read.c reads fast and only knows that something is wrong. This file reads the text again the way jq does, character by
 * character: words are judged at the character that ends them, and a value is put away only at the next comma or bracket. It
 * builds no values.
 */
#include "json.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { NOTHING, TEXT, OTHER };

typedef struct {
    char open, key, some;
} level; /* open: [ or {; key: a key waits for its value; some: it has members */
typedef struct { level *at; int depth, next; } scan;              /* next: the kind of the value that waits to be put away */

/* A word between separators; NULL when it is fine. */
static const char *judge_word(scan *s, const char *p, size_t n) {
    const char *want = *p == 't' ? "true" : *p == 'f' ? "false" : *p == 'n' && n > 1 && p[1] == 'u' ? "null" : NULL;
    if (want) { if (n != strlen(want) || memcmp(p, want, n)) return "Invalid literal"; }
    else {
        size_t i = *p == '-' || *p == '+', digits = 0;
        if ((n - i == 3 && !strncasecmp(p + i, "nan", 3)) || (n - i == 8 && !strncasecmp(p + i, "infinity", 8))) i = n;
        else {
            for (int dot = 0; i < n && (isdigit((unsigned char)p[i]) || (p[i] == '.' && !dot)); i++) {
                digits += p[i] != '.';
                dot |= p[i] == '.';
            }
            if (digits && i < n && (p[i] | 32) == 'e') {
                size_t j = i + 1 + (i + 1 < n && (p[i + 1] == '-' || p[i + 1] == '+'));
                while (j < n && isdigit((unsigned char)p[j])) i = ++j;
            }
            if (!digits) i = 0;
        }
        if (i < n) return "Invalid numeric literal";
    }
    if (s->next) return "Expected separator between values";
    s->next = OTHER;
    return NULL;
}

static const char *judge_string(scan *s, const char *p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)p[i] < 32) return "Invalid string: control characters from U+0000 through U+001F must be escaped";
        if (p[i] != '\\') continue;
        if (++i >= n || !strchr("\"\\/bfnrtu", p[i])) return "Invalid escape";
        if (p[i] != 'u') continue;
        for (int j = 1; j <= 4; j++)
            if (i + (size_t)j >= n || !isxdigit((unsigned char)p[i + (size_t)j])) return "Invalid escape";
        int high = (p[i + 1] | 32) == 'd' && strchr("89abAB", p[i + 2]),
            paired = i + 6 < n && p[i + 5] == '\\' && p[i + 6] == 'u';
        if (high && !paired) return "Invalid \\uXXXX\\uXXXX surrogate pair escape";
        i += 4;
    }
    if (s->next) return "Expected separator between values";
    s->next = TEXT;
    return NULL;
}

static const char *close_level(scan *s, char c) {
    level *top = s->depth ? &s->at[s->depth - 1] : NULL;
    if (c == ']') {
        if (!top || top->open != '[') return "Unmatched ']'";
        if (!s->next && top->some) return "Expected another array element";
    } else {
        if (!top) return "Unmatched '}'";
        if (s->next && (top->open != '{' || !top->key)) return "Objects must consist of key:value pairs";
        if (!s->next && top->open != '{') return "Unmatched '}'";
        if (!s->next && top->key) return "Objects must consist of key:value pairs";
        if (!s->next && top->some) return "Expected another key-value pair";
    }
    s->depth--;
    s->next = OTHER;
    return NULL;
}

static const char *judge_separator(scan *s, char c) {
    level *top = s->depth ? &s->at[s->depth - 1] : NULL;
    switch (c) {
    case '[': case '{':
        if (s->next) return "Expected separator between values";
        if (s->depth >= JSON_DEEPEST) return "Exceeds depth limit for parsing";
        s->at[s->depth++] = (level){c, 0, 0};
        return NULL;
    case ':':
        if (!top || top->key) return "':' not as part of an object";
        if (!s->next) return "Expected string key before ':'";
        if (top->open != '{') return "':' not as part of an object";
        if (s->next != TEXT) return "Object keys must be strings";
        top->key = 1;
        s->next = NOTHING;
        return NULL;
    case ',':
        if (!s->next) return "Expected value before ','";
        if (!top) return "',' not as part of an object or array";
        if (top->open == '{' && !top->key) return "Objects must consist of key:value pairs";
        top->some = 1;
        top->key = 0;
        s->next = NOTHING;
        return NULL;
    default: return close_level(s, c);
    }
}

void json_explain(json_reader *r) {
    scan s = {.at = tool_alloc(r->C->t, JSON_DEEPEST * sizeof *s.at)};
    const char *p = r->begin, *word = NULL, *quote = NULL, *fault = NULL;
    int line = 1, column = 0;
    if (r->end - p >= 3 && !memcmp(p, "\xEF\xBB\xBF", 3)) p += 3;
    for (; p < r->end && !fault; p++) {
        if (*p == '\n') { line++; column = 0; } else column++;
        if (quote) {
            if (*p == '\\' && p + 1 < r->end) { p++; if (*p == '\n') { line++; column = 0; } else column++; }
            else if (*p == '"') { fault = judge_string(&s, quote, (size_t)(p - quote)); quote = NULL; }
            if (!fault && !quote && !s.depth) s.next = NOTHING;
            continue;
        }
        int ends = *p && strchr(" \t\r\n[]{},:\"\036", *p);
        if (!ends) { if (!word) word = p; continue; }
        if (word) { fault = judge_word(&s, word, (size_t)(p - word)); word = NULL; }
        if (!fault && !s.depth) s.next = NOTHING;
        if (!fault && *p == '"') quote = p + 1;
        else if (!fault && strchr("[]{},:", *p)) fault = judge_separator(&s, *p);
        if (!s.depth) s.next = NOTHING;
    }
    r->at_end = !fault;
    if (!fault && word) fault = judge_word(&s, word, (size_t)(r->end - word));
    if (!fault && quote) fault = "Unfinished string";
    if (!fault) fault = s.depth ? "Unfinished JSON term" : r->error;
    tool_free(r->C->t, s.at);
    r->error = fault;
    r->line = line;
    r->column = column;
}

jv json_fault_text(json_reader *r) {
    return jv_format(r->C, "%s%s at line %d, column %d", r->error, r->at_end ? " at EOF" : "", r->line, r->column);
}
