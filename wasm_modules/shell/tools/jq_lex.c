/* jq_lex.c - the tokens of jq programs, and the messages for programs that are none. */
#include "jq_parse.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void *jqp_fail(parser *s, const char *message) {
    if (!s->q->parse_error) {
        jq *q = s->q;
        const char *line = s->start > s->begin && s->start == s->end ? s->start - 1 : s->start, *at = line;
        while (line > s->begin && line[-1] != '\n') line--;
        q->parse_error = tool_strdup(q->t, message);
        q->parse_where = s->module;
        q->parse_line = 1;
        for (const char *p = s->begin; p < line; p++) q->parse_line += *p == '\n';
        q->parse_column = (int)(at - line);
        q->parse_text = tool_strndup(q->t, line,
            (size_t)((memchr(line, '\n', (size_t)(s->end - line)) ? (char *)memchr(line, '\n', (size_t)(s->end - line)) : s->end)
                     - line));
    }
    s->tok = T_END;
    s->p = s->end;
    return NULL;
}

/* What messages call the token. */
static const char *token_name(const parser *s) {
    switch (s->tok) {
    case T_END: return "end of file";
    case T_NUM: return "LITERAL";
    case T_STR: return "QQSTRING_START";
    case T_FIELD: return "FIELD";
    case T_VAR: return "BINDING";
    case T_FORMAT: return "FORMAT";
    case T_IDENT: return "IDENT";
    default: break;
    }
    if (s->tok < 256 && !strchr(".[]{}()|,:;=<>+-*/%?$", s->tok)) return "INVALID_CHARACTER";
    return tool_format(s->q->t, s->tok < 256 ? "'%.*s'" : "%.*s", (int)(s->p - s->start), s->start);
}

void *jqp_unexpected_for(parser *s, const char *expected) {
    if (s->q->parse_error) return NULL;
    const char *p = s->begin, *name = token_name(s);
    while (p < s->start && isspace((unsigned char)*p)) p++;
    if (p == s->start && s->tok != T_END) expected = "end of file";     /* a program may also be empty */
    if (expected && !strcmp(expected, "end of file") && s->tok < 256 && strchr(")]}", s->tok)) name = "INVALID_CHARACTER";
    return jqp_fail(s, tool_format(s->q->t, "error: syntax error, unexpected %s%s%s (Unix shell quoting issues?)", name,
                           expected ? ", expecting " : "", expected ? expected : ""));
}

void *jqp_unexpected(parser *s) { return jqp_unexpected_for(s, NULL); }

static int is_keyword(const char *w) {
    static const char *const words[] = {"def", "if", "then", "elif", "else", "end", "as", "reduce", "foreach", "try", "catch",
        "label", "import", "include", "and", "or", "__loc__"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) if (!strcmp(words[i], w)) return 1;
    return 0;
}

static size_t word_length(const char *p, const char *end) {
    const char *q = p;
    if (q >= end || !(isalpha((unsigned char)*q) || *q == '_')) return 0;
    for (;;) {
        while (q < end && (isalnum((unsigned char)*q) || *q == '_')) q++;
        if (end - q > 2 && q[0] == ':' && q[1] == ':' && (isalpha((unsigned char)q[2]) || q[2] == '_')) q += 2; else break;
    }
    return (size_t)(q - p);
}

static void take_text(parser *s, size_t n) {
    size_t kept = n < sizeof s->text - 1 ? n : sizeof s->text - 1;
    memcpy(s->text, s->p, kept);
    s->text[kept] = '\0';
    s->p += n;
}

static void lex_number(parser *s) {
    const char *p = s->p;
    while (p < s->end && isdigit((unsigned char)*p)) p++;
    if (p < s->end && *p == '.') { p++; while (p < s->end && isdigit((unsigned char)*p)) p++; }
    if (p < s->end && (*p == 'e' || *p == 'E')) {
        const char *q = p + 1;
        if (q < s->end && (*q == '+' || *q == '-')) q++;
        if (q < s->end && isdigit((unsigned char)*q)) { while (q < s->end && isdigit((unsigned char)*q)) q++; p = q; }
    }
    json_reader r;
    const char *from = s->p;
    char *text
        = *from == '.' ? tool_format(s->q->t, "0%.*s", (int)(p - from), from) : tool_strndup(s->q->t, from, (size_t)(p - from));
    json_reader_start(&r, &s->q->C, text, strlen(text));
    jv_drop(&s->q->C, s->number);
    s->number = json_next(&r);
    if (s->number.kind == J_INVALID) s->number = jv_num(strtod(text, NULL));
    s->p = p;
    s->tok = T_NUM;
}

void jqp_next(parser *s) {
    static const struct {
        char text[4];
        int tok;
    } operators[] = {{"?//", T_ALTPAT}, {"//=", T_ALTEQ}, {"|=", T_UPDATE}, {"+=", T_ADDEQ}, {"-=", T_SUBEQ}, {"*=", T_MULEQ},
        {"/=", T_DIVEQ}, {"%=", T_MODEQ}, {"==", T_EQ}, {"!=", T_NE}, {"<=", T_LE}, {">=", T_GE}, {"//", T_ALT},
        {"..", T_RECURSE}};
    for (;;) {
        while (s->p < s->end && isspace((unsigned char)*s->p)) s->p++;
        if (s->p < s->end && *s->p == '#') { while (s->p < s->end && *s->p != '\n') s->p++; continue; }
        break;
    }
    s->start = s->p;
    if (s->p >= s->end) { s->tok = T_END; return; }
    char c = *s->p;
    size_t n;
    if (isdigit((unsigned char)c) || (c == '.' && s->p + 1 < s->end && isdigit((unsigned char)s->p[1]))) {
        lex_number(s);
        return;
    }
    if (c == '"') { s->p++; s->tok = T_STR; return; }
    if (c == '.' && (n = word_length(s->p + 1, s->end))) { s->p++; take_text(s, n); s->tok = T_FIELD; return; }
    if (c == '$' && (n = word_length(s->p + 1, s->end))) { s->p++; take_text(s, n); s->tok = T_VAR; return; }
    if (c == '@' && (n = word_length(s->p + 1, s->end))) { s->p++; take_text(s, n); s->tok = T_FORMAT; return; }
    if ((n = word_length(s->p, s->end))) { take_text(s, n); s->tok = is_keyword(s->text) ? T_KEYWORD : T_IDENT; return; }
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        n = strlen(operators[i].text);
        if ((size_t)(s->end - s->p) >= n && !memcmp(s->p, operators[i].text, n)) {
            s->p += n;
            s->tok = operators[i].tok;
            return;
        }
    }
    s->p++;
    s->tok = (unsigned char)c;
}

int jqp_keyword(parser *s, const char *w) { return s->tok == T_KEYWORD && !strcmp(s->text, w); }
int jqp_accept(parser *s, int tok) { if (s->tok != tok) return 0; jqp_next(s); return 1; }
int jqp_accept_word(parser *s, const char *w) { if (!jqp_keyword(s, w)) return 0; jqp_next(s); return 1; }
int jqp_expect(parser *s, int tok) { if (jqp_accept(s, tok)) return 1; jqp_unexpected(s); return 0; }
int jqp_expect_word(parser *s, const char *w) { if (jqp_accept_word(s, w)) return 1; jqp_unexpected(s); return 0; }
