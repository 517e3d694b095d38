/* program.c: see program.h.
 *
 * Import and export statements are found by the engine's own parser: it refuses the first one, saying where. Then its lexer
 * finds the others; each is read by the small reader below and blanked. What the lexer missed, because it cannot tell every
 * regular expression from a division, the parser refuses again, one by one.
 */
#include "program.h"

#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "realm.h"
#include "report.h"

/* Reads import and export clauses. `failed` once something unexpected was met. */
struct reader {
    char *text;
    size_t at, len;
    bool failed;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
           (unsigned char)c >= 0x80;
}

/* Skips white space and comments. */
static void skip_blank(struct reader *r)
{
    while (r->at < r->len) {
        if (is_space(r->text[r->at])) {
            r->at++;
        } else if (r->at + 1 < r->len && r->text[r->at] == '/' && r->text[r->at + 1] == '/') {
            while (r->at < r->len && r->text[r->at] != '\n')
                r->at++;
        } else if (r->at + 1 < r->len && r->text[r->at] == '/' && r->text[r->at + 1] == '*') {
            const char *end = strstr(r->text + r->at + 2, "*/");
            r->at = end ? (size_t)(end - r->text) + 2 : r->len;
        } else {
            return;
        }
    }
}

/* Takes the character `c` if it comes next. */
static bool take(struct reader *r, char c)
{
    skip_blank(r);
    if (r->at < r->len && r->text[r->at] == c) {
        r->at++;
        return true;
    }
    return false;
}

/* Takes the keyword `word` if it comes next. */
static bool take_word(struct reader *r, const char *word)
{
    size_t len = strlen(word);
    skip_blank(r);
    if (r->len - r->at < len || memcmp(r->text + r->at, word, len) || (r->at + len < r->len && is_word(r->text[r->at + len])))
        return false;
    r->at += len;
    return true;
}

static char *copy(const char *text, size_t len)
{
    char *block = malloc(len + 1);
    if (block) {
        memcpy(block, text, len);
        block[len] = 0;
    }
    return block;
}

/* Reads an identifier; NULL (and failed) when there is none. */
static char *read_word(struct reader *r)
{
    skip_blank(r);
    size_t start = r->at;
    while (r->at < r->len && is_word(r->text[r->at]))
        r->at++;
    char *word = r->at > start ? copy(r->text + start, r->at - start) : NULL;
    r->failed |= !word;
    return word;
}

/* Reads a quoted string without escapes (module names have none in practice). */
static char *read_quoted(struct reader *r)
{
    skip_blank(r);
    char quote = r->at < r->len ? r->text[r->at] : 0;
    const char *end = quote == '"' || quote == '\'' ? strchr(r->text + r->at + 1, quote) : NULL;
    if (!end || memchr(r->text + r->at, '\\', (size_t)(end - r->text) - r->at)) {
        r->failed = true;
        return NULL;
    }
    char *word = copy(r->text + r->at + 1, (size_t)(end - r->text) - r->at - 1);
    r->failed |= !word;
    r->at = (size_t)(end - r->text) + 1;
    return word;
}

static char *read_name(struct reader *r)
{
    skip_blank(r);
    bool quoted = r->at < r->len && (r->text[r->at] == '"' || r->text[r->at] == '\'');
    return quoted ? read_quoted(r) : read_word(r);
}

static void free_import(struct import *import)
{
    for (size_t i = 0; i < import->binding_count; i++) {
        free(import->bindings[i].name);
        free(import->bindings[i].local);
    }
    free(import->bindings);
    free(import->specifier);
    *import = (struct import){0};
}

/* Takes ownership of both texts. `name` NULL means the namespace. */
static void add_binding(struct reader *r, struct import *import, char *name, char *local)
{
    struct binding *grown = local ? realloc(import->bindings, (import->binding_count + 1) * sizeof *grown) : NULL;
    if (!grown) {
        free(name);
        free(local);
        r->failed = true;
        return;
    }
    import->bindings = grown;
    import->bindings[import->binding_count++] = (struct binding){name, local};
}

/* Reads `{a, b as c, "d" as e}` after its brace. */
static void read_named(struct reader *r, struct import *import)
{
    while (!r->failed && !take(r, '}')) {
        char *name = read_name(r);
        char *local = take_word(r, "as") ? read_name(r) : name ? copy(name, strlen(name)) : NULL;
        add_binding(r, import, name, local);
        if (!take(r, ',')) {
            r->failed |= !take(r, '}');
            return;
        }
    }
}

/* Reads `"./file.js" with {type: "json"};`. What a file is, its name says; the attributes are only read over. */
static void read_source(struct reader *r, struct import *import)
{
    import->specifier = read_quoted(r);
    size_t after = r->at;
    if (take_word(r, "with") && take(r, '{')) {
        while (!r->failed && !take(r, '}')) {
            char *key = read_name(r), *value = take(r, ':') ? read_quoted(r) : NULL;
            free(key);
            free(value);
            take(r, ',');
        }
        after = r->at;
    }
    r->at = after;
    if (take(r, ';'))
        after = r->at;
    r->at = after;
}

/* Reads what follows the word `import`. */
static void read_import(struct reader *r, struct import *import)
{
    skip_blank(r);
    char next = r->at < r->len ? r->text[r->at] : 0;
    if (next == '"' || next == '\'') {
        read_source(r, import);
        return;
    }
    bool more = true;
    if (next != '{' && next != '*') {
        add_binding(r, import, copy("default", 7), read_word(r));
        more = take(r, ',');
    }
    if (more && take(r, '{')) {
        read_named(r, import);
    } else if (more && take(r, '*')) {
        r->failed |= !take_word(r, "as");
        add_binding(r, import, NULL, read_word(r));
    } else if (more) {
        r->failed = true;
    }
    r->failed |= !take_word(r, "from");
    if (!r->failed)
        read_source(r, import);
}

/* Replaces everything but line ends in [from, to) by spaces, byte for byte. */
static void blank(char *text, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (text[i] != '\n' && text[i] != '\r')
            text[i] = ' ';
}

static bool append_import(struct program *p, struct import import)
{
    struct import *grown =
        p->import_count < IMPORTS_LIMIT ? realloc(p->imports, (p->import_count + 1) * sizeof *grown) : NULL;
    if (!grown)
        return false;
    p->imports = grown;
    p->imports[p->import_count++] = import;
    return true;
}

/* Byte offset of a position of the program; p->len when it lies behind the end. */
static size_t offset_of(const struct program *p, struct position at)
{
    size_t offset = 0;
    for (uint32_t line = 1; line < at.line; line++) {
        const char *newline = strchr(p->text + offset, '\n');
        if (!newline)
            return p->len;
        offset = (size_t)(newline - p->text) + 1;
    }
    offset += at.column - 1;
    return offset < p->len ? offset : p->len;
}

static struct position position_of(const struct program *p, size_t offset)
{
    struct position at = {1, 1};
    for (size_t i = 0; i < offset; i++) {
        at.column = p->text[i] == '\n' ? 1 : at.column + 1;
        at.line += p->text[i] == '\n';
    }
    return at;
}

/* Takes out the import statement whose keyword starts at `start`. */
static bool lift_import(struct program *p, size_t start)
{
    struct reader r = {p->text, start + 6, p->len, false};
    struct import import = {.at = position_of(p, start)};
    read_import(&r, &import);
    if (r.failed || !append_import(p, import)) {
        free_import(&import);
        return false;
    }
    blank(p->text, start, r.at);
    p->text[start] = ';';
    return true;
}

/* True when a declaration that has a name comes next: `function f`, `async function* f`, `class C`. */
static bool named_declaration_follows(struct reader r)
{
    take_word(&r, "async");
    if (take_word(&r, "function"))
        take(&r, '*');
    else if (!take_word(&r, "class"))
        return false;
    skip_blank(&r);
    if (take_word(&r, "extends"))
        return false;
    return r.at < r.len && is_word(r.text[r.at]);
}

/* Takes out `export {…}` or `export * from "…"` after its first character; what it imports from is still loaded. */
static bool lift_reexport(struct program *p, size_t start, struct reader r)
{
    struct import names = {0}, import = {.at = position_of(p, start)};
    if (r.text[r.at - 1] == '{')
        read_named(&r, &names);
    else if (take_word(&r, "as"))
        free(read_name(&r));
    free_import(&names);
    size_t end = r.at;
    if (take_word(&r, "from")) {
        read_source(&r, &import);
        end = r.at;
    }
    if (r.failed || (import.specifier && !append_import(p, import))) {
        free_import(&import);
        return false;
    }
    blank(p->text, start, end);
    p->text[start] = ';';
    return true;
}

/* Takes out the word `export` at `start`, and the rest of its statement when nothing of it is a declaration. */
static bool lift_export(struct program *p, size_t start)
{
    struct reader r = {p->text, start + 6, p->len, false};
    if (take(&r, '{') || take(&r, '*'))
        return lift_reexport(p, start, r);
    bool is_default = take_word(&r, "default");
    blank(p->text, start, is_default ? r.at : start + 6);
    /* `0,` keeps what follows an expression: `export default {a: 1}` must not become a block. */
    if (is_default && !named_declaration_follows(r))
        memcpy(p->text + start, "0,", 2);
    return true;
}

/* Takes out the statement that the word at `start` begins, or `import.meta`. False when it is none of them. */
static bool lift_word(struct program *p, size_t start)
{
    static const char meta[] = "import.meta", stand_in[] = "$importmeta";
    size_t left = p->len - start;
    if (left >= 6 && !memcmp(p->text + start, "export", 6))
        return lift_export(p, start);
    if (left < 6 || memcmp(p->text + start, "import", 6))
        return false;
    if (left < sizeof meta - 1 || memcmp(p->text + start, meta, sizeof meta - 1))
        return lift_import(p, start);
    memcpy(p->text + start, stand_in, sizeof stand_in - 1);
    return true;
}

/* Looks at where the parser stopped, and takes out what only a module may contain. False when that was not the reason. */
static bool lift(struct program *p, struct position at)
{
    size_t offset = offset_of(p, at), back = offset;
    if (p->len - offset >= 6 && !memcmp(p->text + offset, "export", 6))
        return lift_word(p, offset);
    if (offset >= 7 && !memcmp(p->text + offset - 7, "import.", 7))
        return lift_word(p, offset - 7);
    while (back > 0 && is_space(p->text[back - 1]))
        back--;
    return back >= 6 && (back == 6 || !is_word(p->text[back - 7])) && lift_word(p, back - 6);
}

static size_t count_word(const char *text, const char *word)
{
    size_t count = 0;
    for (; (text = strstr(text, word)) != NULL; text += strlen(word))
        count++;
    return count;
}

/* Takes out all at once what only a module may contain: looking where the parser stops, time and again, would be slow. */
static void lift_all(JSContext *ctx, struct program *p)
{
    size_t room = count_word(p->text, "import") + count_word(p->text, "export");
    size_t *offsets = malloc(room * sizeof *offsets);
    size_t count = offsets ? engine_find_module_words(ctx, p->text, p->len, offsets, room) : 0;
    for (size_t i = 0; i < count; i++)
        if (!lift_word(p, offsets[i]))
            break;
    free(offsets);
}

/* Where the parser stopped, from the pending SyntaxError, which stays pending. Line 0 when it was another error. */
static struct position where_parser_stopped(JSContext *ctx, const char *filename)
{
    struct position at = {0, 0};
    JSValue exception = JS_GetException(ctx);
    JSValue stack = engine_stack(ctx, exception);
    const char *text = JS_IsString(stack) ? JS_ToCString(ctx, stack) : NULL;
    if (text)
        at = find_position(text, filename);
    JS_FreeCString(ctx, text);
    JS_FreeValue(ctx, stack);
    JS_Throw(ctx, exception);
    return at;
}

int program_compile(JSContext *ctx, const char *source, size_t len, const char *filename, struct program *program)
{
    *program = (struct program){.text = copy(source, len), .len = len, .script = JS_UNDEFINED};
    if (!program->text) {
        JS_ThrowOutOfMemory(ctx);
        return -1;
    }
    int flags = JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_ASYNC | JS_EVAL_FLAG_COMPILE_ONLY;
    for (size_t lifted = 0; lifted <= IMPORTS_LIMIT; lifted++) {
        program->script = JS_Eval(ctx, program->text, program->len, filename, flags);
        if (!JS_IsException(program->script))
            return 0;
        program->script = JS_UNDEFINED;
        if (!strstr(program->text, "import") && !strstr(program->text, "export"))
            return -1;
        struct position at = where_parser_stopped(ctx, filename);
        if (!at.line || !lift(program, at))
            return -1;
        JS_FreeValue(ctx, JS_GetException(ctx));
        if (lifted == 0)
            lift_all(ctx, program);
        flags |= JS_EVAL_FLAG_STRICT;
    }
    JS_ThrowSyntaxError(ctx, "too many imports");
    return -1;
}

void program_free(JSContext *ctx, struct program *program)
{
    JS_FreeValue(ctx, program->script);
    for (size_t i = 0; i < program->import_count; i++)
        free_import(&program->imports[i]);
    free(program->imports);
    free(program->text);
    *program = (struct program){.script = JS_UNDEFINED};
}
