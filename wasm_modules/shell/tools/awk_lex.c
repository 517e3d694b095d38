/* awk_lex.c - awk's tokens. The parser says when a slash begins a regular expression. */
#include "awk_lex.h"
#include "../utf8.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The file ended within a rule or a function. */
static void *end_of_file(lexer *L) {
    static const char message[] = "source files / command-line arguments must contain complete functions or rules";
    const char *line = L->end - 1;
    while (line > L->text_start && line[-1] != '\n') line--;
    awk_source_place(L->A, L->line - 1);
    io_puts(L->A->t->err, "(END OF FILE)\n");
    awk_source_place(L->A, L->line - 1);
    io_printf(L->A->t->err, "%*s^ %s\n", L->part->is_cut && L->end - 2 > line ? (int)(L->end - 2 - line) : 0, "", message);
    return NULL;
}

void *lex_error(lexer *L, const char *message) {
    if (L->error) return NULL;
    L->error = !strncmp(message, "fatal: ", 7) ? 2 : 1;
    if (!strncmp(message, "error: ", 7) || !strncmp(message, "fatal: ", 7)) {
        awk_source_place(L->A, L->token_line);
        io_printf(L->A->t->err, "%s\n", message);
        return NULL;
    }
    if (!strcmp(message, "syntax error") && L->token == T_EOF && L->part->file) return end_of_file(L);
    /* the line of the program, and a caret under the token */
    const char *line = L->start, *stop = L->start;
    if (L->token == T_EOF && line > L->text_start && line[-1] == '\n') { line--; L->start = --stop; L->line--; }
    while (line > L->text_start && line[-1] != '\n') line--;
    while (stop < L->end && *stop && *stop != '\n') stop++;
    if (!strcmp(message, "syntax error") && (L->token == T_EOF || L->token == T_NEWLINE))
        message = "unexpected newline or end of string";
    awk_source_place(L->A, L->line);
    io_printf(L->A->t->err, "%.*s\n", (int)(stop - line), line);
    awk_source_place(L->A, L->line);
    io_printf(L->A->t->err, "%*s^ %s\n", (int)(L->start - line), "", message);
    return NULL;
}

static const struct {
    const char *word;
    int token;
} keywords[] = {{"BEGIN", T_BEGIN}, {"END", T_END}, {"BEGINFILE", T_BEGINFILE}, {"ENDFILE", T_ENDFILE}, {"function", T_FUNCTION},
    {"func", T_FUNCTION}, {"if", T_IF}, {"else", T_ELSE}, {"while", T_WHILE}, {"for", T_FOR}, {"do", T_DO}, {"break", T_BREAK},
    {"continue", T_CONTINUE}, {"next", T_NEXT}, {"nextfile", T_NEXTFILE}, {"exit", T_EXIT}, {"return", T_RETURN},
    {"delete", T_DELETE}, {"in", T_IN}, {"getline", T_GETLINE}, {"print", T_PRINT}, {"printf", T_PRINTF}, {"switch", T_SWITCH},
    {"case", T_CASE}, {"default", T_DEFAULT}};

static void skip_blanks(lexer *L) {
    for (;;) {
        if (L->p >= L->end) return;
        if (*L->p == ' ' || *L->p == '\t' || *L->p == '\r') L->p++;
        else if (*L->p == '\\' && L->end - L->p >= 2 && L->p[1] == '\n') { L->p += 2; L->line++; }
        else if (*L->p == '\\' && L->end - L->p >= 3 && L->p[1] == '\r' && L->p[2] == '\n') { L->p += 3; L->line++; }
        else if (*L->p == '#') while (L->p < L->end && *L->p != '\n') L->p++;
        else return;
    }
}

static int hex(int c) { return isdigit(c) ? c - '0' : isxdigit(c) ? (c | 32) - 'a' + 10 : -1; }

/* A backslash before a character that has no special meaning: gone, with a warning once for each character. */
static void warn_plain(awk *A, int line, char c) {
    if (A->warned[(unsigned char)c]++) return;
    awk_out_flush(A);
    if (line) awk_source_place(A, line); else io_printf(A->t->err, "%s: ", A->t->name);
    io_printf(A->t->err, "warning: escape sequence `\\%c' treated as plain `%c'\n", c, c);
}

astr *awk_unescape(awk *A, const char *p) {
    buffer b = {.t = A->t};
    buffer_puts(&b, "");
    for (; *p; p++) {
        if (*p != '\\' || !p[1]) { buffer_putc(&b, *p); continue; }
        p++;
        static const char from[] = "ntrabfv\\\"", to[] = "\n\t\r\a\b\f\v\\\"";
        const char *at = strchr(from, *p);
        if (at) buffer_putc(&b, to[at - from]);
        else if (*p >= '0' && *p <= '7') {
            int v = 0;
            for (int i = 0; i < 3 && *p >= '0' && *p <= '7'; i++) v = v * 8 + *p++ - '0';
            p--;
            buffer_putc(&b, v);
        } else { warn_plain(A, 0, *p); buffer_putc(&b, *p); }
    }
    astr *s = astr_new(A, b.p, b.n);
    buffer_free(&b);
    return s;
}

static void lex_string(lexer *L) {
    L->text.n = 0;
    buffer_puts(&L->text, "");
    for (;;) {
        if (L->p >= L->end || *L->p == '\n') { lex_error(L, "unterminated string"); return; }
        char c = *L->p++;
        if (c == '"') return;
        if (c != '\\') { buffer_putc(&L->text, c); continue; }
        if (L->p >= L->end) { lex_error(L, "unterminated string"); return; }
        c = *L->p++;
        switch (c) {
        case 'n': c = '\n'; break;
        case 't': c = '\t'; break;
        case 'r': c = '\r'; break;
        case 'a': c = 7; break;
        case 'b': c = 8; break;
        case 'f': c = 12; break;
        case 'v': c = 11; break;
        case '\\': case '"': break;
        case '\r': if (L->p < L->end && *L->p == '\n') { L->p++; L->line++; continue; } break;
        case '\n': L->line++; continue;
        case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': {
            int v = c - '0';
            for (int i = 0; i < 2 && L->p < L->end && *L->p >= '0' && *L->p <= '7'; i++) v = v * 8 + *L->p++ - '0';
            c = (char)v;
            break;
        }
        case 'x': {
            int v = 0, digits = 0;
            for (; digits < 2 && L->p < L->end && hex((unsigned char)*L->p) >= 0; digits++)
                v = v * 16 + hex((unsigned char)*L->p++);
            if (!digits) {
                awk_source_place(L->A, L->line);
                io_puts(L->A->t->err, "warning: no hex digits in `\\x' escape sequence\n");
                buffer_putc(&L->text, 'x');
                continue;
            }
            c = (char)v;
            break;
        }
        case 'u': {
            int v = 0, digits = 0;
            char bytes[4];
            for (; digits < 8 && L->p < L->end && hex((unsigned char)*L->p) >= 0; digits++)
                v = v * 16 + hex((unsigned char)*L->p++);
            if (!digits) { buffer_putc(&L->text, 'u'); continue; }
            buffer_add(&L->text, bytes, (size_t)utf8_encode(v, bytes));
            continue;
        }
        default: warn_plain(L->A, L->line, c);
        }
        buffer_putc(&L->text, c);
    }
}

void lex_regex(lexer *L) {
    int bracket = 0;
    L->start = L->p;
    L->text.n = 0;
    buffer_puts(&L->text, L->token == T_DIV_EQ ? "=" : "");
    for (;; L->p++) {
        if (L->p >= L->end || *L->p == '\n') { lex_error(L, "unterminated regexp"); return; }
        char c = *L->p;
        if (c == '\\' && L->p + 1 < L->end) {
            if (L->p[1] == '/') { L->p++; buffer_putc(&L->text, '/'); continue; }
            if (L->p[1] == '\n') { L->p++; L->line++; continue; }
            if (L->p[1] == '\r' && L->p + 2 < L->end && L->p[2] == '\n') { L->p += 2; L->line++; continue; }
            buffer_putc(&L->text, c);
            c = *++L->p;
        } else if (c == '[' && !bracket) {
            bracket = 1;
            buffer_putc(&L->text, c);
            if (L->p + 1 < L->end && L->p[1] == '^') buffer_putc(&L->text, *++L->p);
            if (L->p + 1 < L->end && L->p[1] == ']') buffer_putc(&L->text, *++L->p);
            continue;
        } else if (c == '[' && L->p + 1 < L->end && L->p[1] == ':') {
            const char *close = L->p + 2;
            while (close + 1 < L->end && !(close[0] == ':' && close[1] == ']') && *close != '\n') close++;
            if (close + 1 < L->end && *close == ':') {
                buffer_add(&L->text, L->p, (size_t)(close + 2 - L->p));
                L->p = close + 1;
                continue;
            }
        } else if (c == ']') bracket = 0;
        else if (c == '/' && !bracket) { L->p++; break; }
        buffer_putc(&L->text, c);
    }
    L->token = T_REGEX;
}

static void lex_number(lexer *L) {
    char *end;
    if (*L->p == '0' && L->p + 2 < L->end && (L->p[1] == 'x' || L->p[1] == 'X') && hex((unsigned char)L->p[2]) >= 0) {
        L->num = 0;
        for (L->p += 2; L->p < L->end && hex((unsigned char)*L->p) >= 0; L->p++) L->num = L->num * 16 + hex((unsigned char)*L->p);
    } else {
        size_t octal = strspn(L->p, "01234567");
        L->num = strtod(L->p, &end);
        if (*L->p == '0' && octal > 1 && L->p + octal == end)
            for (L->num = 0; L->p < end; L->p++) L->num = L->num * 8 + (*L->p - '0');
        L->p = end;
    }
    L->token = T_NUM;
}

static void lex_word(lexer *L) {
    const char *start = L->p;
    while (L->p < L->end && (isalnum((unsigned char)*L->p) || *L->p == '_')) L->p++;
    if (L->end - L->p > 2 && L->p[0] == ':' && L->p[1] == ':' && (isalpha((unsigned char)L->p[2]) || L->p[2] == '_'))
        for (L->p += 2; L->p < L->end && (isalnum((unsigned char)*L->p) || *L->p == '_');) L->p++;
    size_t n = (size_t)(L->p - start);
    L->text.n = 0;
    buffer_add(&L->text, start, n);
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (strlen(keywords[i].word) == n && !memcmp(keywords[i].word, start, n)) { L->token = keywords[i].token; return; }
    L->index = awk_builtin_named(start, n);
    if (L->index >= 0) { L->token = n == 6 && !memcmp(start, "length", 6) ? T_LENGTH : T_BUILTIN; return; }
    L->token = L->p < L->end && *L->p == '(' ? T_FUNC_NAME : T_NAME;
}

void lex_next(lexer *L) {
    static const struct {
        char text[4];
        int token;
    } operators[] = {{"**=", T_POW_EQ}, {"&&", T_AND}, {"||", T_OR}, {"==", T_EQ}, {"!=", T_NE}, {"<=", T_LE}, {">=", T_GE},
        {">>", T_APPEND}, {"|&", T_COPROCESS}, {"++", T_INC}, {"--", T_DEC}, {"+=", T_ADD_EQ}, {"-=", T_SUB_EQ}, {"*=", T_MUL_EQ},
        {"/=", T_DIV_EQ}, {"%=", T_MOD_EQ}, {"^=", T_POW_EQ}, {"!~", T_NOMATCH}, {"**", T_POW}};
    L->previous = L->token;
    skip_blanks(L);
    L->start = L->p;
    L->token_line = L->line;
    if (L->p >= L->end || L->error) { L->token = T_EOF; return; }
    char c = *L->p;
    if (c == '\n') { L->p++; L->line++; L->token = T_NEWLINE; return; }
    if (c == '"') { L->p++; lex_string(L); L->token = T_STR; return; }
    if (isdigit((unsigned char)c) || (c == '.' && L->p + 1 < L->end && isdigit((unsigned char)L->p[1]))) {
        lex_number(L);
        return;
    }
    if (isalpha((unsigned char)c) || c == '_') { lex_word(L); return; }
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        size_t n = strlen(operators[i].text);
        if ((size_t)(L->end - L->p) >= n && !memcmp(L->p, operators[i].text, n)) {
            L->p += n;
            L->token = operators[i].token;
            return;
        }
    }
    L->p++;
    if (!strchr("{}()[];,+-*/%^!<>|?:~$=@", c)) {
        lex_error(L, tool_format(L->A->t, "invalid char '%c' in expression", c));
        L->token = T_EOF;
        return;
    }
    L->token = (unsigned char)c + 256;
}
