/* make_expand.c - variables and functions of make: $(NAME), $(NAME:.c=.o), $(patsubst ...) and the others. */
#include "make.h"
#include "files.h"
#include "patterns.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 100 };

void make_word_add(make *m, make_words *w, const char *text, size_t n) {
    if (w->n == w->cap) w->v = tool_realloc(m->t, w->v, (w->cap = w->cap ? w->cap * 2 : 8) * sizeof *w->v);
    w->v[w->n++] = tool_strndup(m->t, text, n);
}

void make_split(make *m, make_words *w, const char *text) {
    while (*(text += strspn(text, " \t\n"))) {
        size_t n = strcspn(text, " \t\n");
        make_word_add(m, w, text, n);
        text += n;
    }
}

static make_words words_of(make *m, const char *text) {
    make_words w = {0};
    make_split(m, &w, text);
    return w;
}

static char *join(make *m, const make_words *w) {
    buffer b = {.t = m->t};
    buffer_puts(&b, "");
    for (size_t i = 0; i < w->n; i++) { if (i) buffer_putc(&b, ' '); buffer_puts(&b, w->v[i]); }
    return b.p;
}

make_variable *make_variable_find(make *m, const char *name) {
    if (m->now) for (make_variable *v = m->now->own; v; v = v->next) if (!strcmp(v->name, name)) return v;
    for (make_variable *v = m->variables; v; v = v->next) if (!strcmp(v->name, name)) return v;
    return NULL;
}

void make_set(make *m, const char *name, const char *value, int simple, int from) {
    make_variable *v = m->variables;
    while (v && strcmp(v->name, name)) v = v->next;
    if (v && v->from > from) return;
    if (!v) {
        v = tool_alloc(m->t, sizeof *v);
        v->name = tool_strdup(m->t, name);
        v->next = m->variables;
        m->variables = v;
    }
    v->value = tool_strdup(m->t, value);
    v->simple = simple;
    v->from = from;
    if (from == FROM_COMMAND || from == FROM_ENVIRONMENT) v->exported = 1;
}

char *make_stem(make *m, const char *text, const char *pattern) {
    const char *percent = strchr(pattern, '%');
    size_t n = strlen(text), head = percent ? (size_t)(percent - pattern) : 0, tail = percent ? strlen(percent + 1) : 0;
    if (!percent) return strcmp(text, pattern) ? NULL : tool_strdup(m->t, "");
    if (n < head + tail || strncmp(text, pattern, head) || strcmp(text + n - tail, percent + 1)) return NULL;
    return tool_strndup(m->t, text + head, n - head - tail);
}

char *make_replace(make *m, const char *text, const char *pattern, const char *with) {
    char *stem = make_stem(m, text, pattern);
    const char *percent = stem ? strchr(with, '%') : NULL;
    if (!stem || !percent || !strchr(pattern, '%')) return stem ? tool_strdup(m->t, with) : NULL;
    return tool_format(m->t, "%.*s%s%s", (int)(percent - with), with, stem, percent + 1);
}

char *make_shell(make *m, const char *command) {
    io *out = io_pipe();
    const char *shell = make_expand_text(m, "$(SHELL)"), *name = path_last(shell);
    char *argv[] = {(char *)(*name ? name : "sh"), "-c", (char *)command, NULL};
    int status = tool_run_with(m->t, NULL, out, NULL, 3, argv);
    size_t n;
    const char *bytes = io_bytes(out, &n);
    char *text = tool_strndup(m->t, bytes ? bytes : "", n);
    io_unref(out);
    while (n && text[n - 1] == '\n') text[--n] = 0;
    for (size_t i = 0; i < n; i++) if (text[i] == '\n') text[i] = ' ';
    make_set(m, ".SHELLSTATUS", tool_format(m->t, "%d", status), 1, FROM_FILE);
    return text;
}

static void glob_below(make *m, make_words *to, const char *dir, const char *pattern) {
    size_t n = strcspn(pattern, "/"), count;
    char *step = tool_strndup(m->t, pattern, n);
    const char *rest = pattern[n] ? pattern + n + 1 : NULL;
    char **names = strpbrk(step, "*?[") ? directory_names(m->t, *dir ? dir : ".", &count) : NULL;
    char *only[] = {step, NULL};
    if (!strpbrk(step, "*?[")) { names = only; count = 1; }
    for (size_t i = 0; names && i < count; i++) {
        struct stat st;
        char *path = *dir ? path_join(m->t, dir, names[i]) : names[i];
        if (names != only && ((names[i][0] == '.' && *step != '.') || !glob_matches(step, names[i], 0, 0))) continue;
        if (path_stat(*path ? path : "/", &st) < 0) continue;
        if (rest) glob_below(m, to, *path ? path : "/", rest); else make_word_add(m, to, path, strlen(path));
    }
}

void make_globs(make *m, make_words *to, const char *pattern) { glob_below(m, to, "", pattern); }

/* ---- functions ---- */

static char *keep_words(make *m, make_words *args, int wanted) {
    make_words patterns = words_of(m, args->v[0]), given = words_of(m, args->v[1]), out = {0};
    for (size_t i = 0; i < given.n; i++) {
        int hit = 0;
        for (size_t k = 0; k < patterns.n; k++) hit |= make_stem(m, given.v[i], patterns.v[k]) != NULL;
        if (hit == wanted) make_word_add(m, &out, given.v[i], strlen(given.v[i]));
    }
    return join(m, &out);
}

static char *substitute(make *m, const char *from, const char *to, const char *text) {
    buffer b = {.t = m->t};
    size_t n = strlen(from);
    buffer_puts(&b, "");
    for (const char *hit; n && (hit = strstr(text, from)); text = hit + n) {
        buffer_add(&b, text, (size_t)(hit - text));
        buffer_puts(&b, to);
    }
    buffer_puts(&b, text);
    return b.p;
}

static int compare_words(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Functions of one list, word by word; NULL leaves a word out. */
static char *change_word(make *m, const char *name, const char *word, const char *arg) {
    const char *slash = strrchr(word, '/'), *dot = strrchr(slash ? slash : word, '.');
    if (!strcmp(name, "notdir")) return tool_strdup(m->t, slash ? slash + 1 : word);
    if (!strcmp(name, "dir")) return slash ? tool_strndup(m->t, word, (size_t)(slash - word) + 1) : tool_strdup(m->t, "./");
    if (!strcmp(name, "basename")) return dot ? tool_strndup(m->t, word, (size_t)(dot - word)) : tool_strdup(m->t, word);
    if (!strcmp(name, "suffix")) return dot ? tool_strdup(m->t, dot) : NULL;
    if (!strcmp(name, "addprefix")) return tool_format(m->t, "%s%s", arg, word);
    if (!strcmp(name, "addsuffix")) return tool_format(m->t, "%s%s", word, arg);
    if (!strcmp(name, "realpath")) return path_real(m->t, word, 0);
    return path_real(m->t, word, 2);                 /* abspath */
}

static char *select_words(make *m, const char *name, make_words *args) {
    make_words given = words_of(m, args->v[args->n - 1]), out = {0};
    if (!strcmp(name, "words")) return tool_format(m->t, "%zu", given.n);
    size_t from = 0, to = given.n;
    if (!strcmp(name, "firstword")) to = 1;
    else if (!strcmp(name, "lastword")) from = given.n ? given.n - 1 : 0;
    else if (!strcmp(name, "word")) { from = (size_t)atoi(args->v[0]); to = from--; }
    else if (!strcmp(name, "wordlist")) { from = (size_t)atoi(args->v[0]) - 1; to = (size_t)atoi(args->v[1]); }
    else if (!strcmp(name, "sort") && given.n) qsort(given.v, given.n, sizeof *given.v, compare_words);
    for (size_t i = from; i < to && i < given.n; i++)
        if (strcmp(name, "sort") || !i || strcmp(given.v[i], given.v[i - 1])) make_word_add(m, &out, given.v[i], strlen(given.v[i]));
    return join(m, &out);
}

static char *run_foreach(make *m, make_words *raw) {
    char *name = make_expand_text(m, raw->v[0]);
    make_words items = words_of(m, make_expand_text(m, raw->v[1]));
    make_variable *old = make_variable_find(m, name);
    char *was = old ? old->value : NULL;
    buffer b = {.t = m->t};
    buffer_puts(&b, "");
    for (size_t i = 0; i < items.n; i++) {
        make_set(m, name, items.v[i], 1, FROM_OVERRIDE);
        buffer_puts(&b, i ? " " : "");
        buffer_puts(&b, make_expand_text(m, raw->v[2]));
    }
    make_set(m, name, was ? was : "", 1, FROM_OVERRIDE);
    return b.p;
}

static char *run_call(make *m, make_words *args) {
    make_variable *f = make_variable_find(m, args->v[0]);
    char *saved[10] = {0};
    for (size_t i = 1; i < 10; i++) {
        char name[2] = {(char)('0' + i), 0};
        make_variable *v = make_variable_find(m, name);
        saved[i] = v ? v->value : "";
        make_set(m, name, i < args->n ? args->v[i] : "", 1, FROM_OVERRIDE);
    }
    char *out = f ? make_expand_text(m, f->value) : "";
    for (size_t i = 1; i < 10; i++) make_set(m, (char[]){(char)('0' + i), 0}, saved[i], 1, FROM_OVERRIDE);
    return out;
}

static char *run_if(make *m, const char *name, make_words *raw) {
    char *last = "";
    if (!strcmp(name, "if")) {
        last = make_expand_text(m, raw->v[0]);
        size_t which = last[strspn(last, " \t")] ? 1 : 2;
        return which < raw->n ? make_expand_text(m, raw->v[which]) : "";
    }
    for (size_t i = 0; i < raw->n; i++) {
        last = make_expand_text(m, raw->v[i]);
        if ((*last != 0) == (*name == 'o')) return last;
    }
    return last;
}

static char *tell(make *m, const char *name, const char *text) {
    if (*name == 'i') io_printf(m->t->out, "%s\n", text);
    else if (*name == 'w') io_printf(m->t->err, "%s:%d: %s\n", m->file, m->line, text);
    else m->failed = make_fail(m, "%s", text);
    return "";
}

static char *origin_of(make *m, const char *name) {
    static char *const words[] = {"default", "environment", "file", "command line", "override"};
    make_variable *v = make_variable_find(m, name);
    return v ? words[v->from] : "undefined";
}

/* What a function with expanded arguments gives; NULL when there is none of that name and number of arguments. */
static char *run_function(make *m, const char *name, make_words *args) {
    static const char by_word[] = " notdir dir basename suffix addprefix addsuffix realpath abspath ";
    static const char by_list[] = " words firstword lastword word wordlist sort strip ";
    const char *mark = tool_format(m->t, " %s ", name);
    size_t n = args->n;
    if (strstr(by_word, mark)) {
        make_words given = words_of(m, args->v[n - 1]), out = {0};
        for (size_t i = 0; i < given.n; i++) {
            char *word = change_word(m, name, given.v[i], args->v[0]);
            if (word) make_word_add(m, &out, word, strlen(word));
        }
        return join(m, &out);
    }
    if (strstr(by_list, mark)) return select_words(m, name, args);
    if (!strcmp(name, "wildcard")) {
        make_words patterns = words_of(m, args->v[0]), out = {0};
        for (size_t i = 0; i < patterns.n; i++) make_globs(m, &out, patterns.v[i]);
        return join(m, &out);
    }
    if (!strcmp(name, "shell")) return make_shell(m, args->v[0]);
    if (!strcmp(name, "info") || !strcmp(name, "warning") || !strcmp(name, "error")) return tell(m, name, args->v[0]);
    if (!strcmp(name, "origin")) return origin_of(m, args->v[0]);
    if (!strcmp(name, "value")) { make_variable *v = make_variable_find(m, args->v[0]); return v ? v->value : ""; }
    if (!strcmp(name, "call")) return run_call(m, args);
    if (n < 2) return NULL;
    if (!strcmp(name, "filter") || !strcmp(name, "filter-out")) return keep_words(m, args, name[6] == 0);
    if (!strcmp(name, "findstring")) return strstr(args->v[1], args->v[0]) ? args->v[0] : "";
    if (n < 3) return NULL;
    if (!strcmp(name, "subst")) return substitute(m, args->v[0], args->v[1], args->v[2]);
    if (strcmp(name, "patsubst")) return NULL;
    make_words given = words_of(m, args->v[2]), out = {0};
    for (size_t i = 0; i < given.n; i++) {
        char *word = make_replace(m, given.v[i], args->v[0], args->v[1]);
        make_word_add(m, &out, word ? word : given.v[i], strlen(word ? word : given.v[i]));
    }
    return join(m, &out);
}

/* ---- references ---- */

/* The end of a reference: the closing character that belongs to the opening one before text. */
static size_t reference_length(const char *text, size_t n, char open, char close) {
    int depth = 1;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == open) depth++;
        if (text[i] == close && --depth == 0) return i;
    }
    return n;
}

/* Commas at the outermost level separate arguments. */
static make_words split_arguments(make *m, const char *text, size_t most) {
    make_words args = {0};
    int depth = 0;
    const char *from = text;
    for (const char *p = text;; p++) {
        if (*p == '(' || *p == '{') depth++;
        if (*p == ')' || *p == '}') depth--;
        if (*p && (*p != ',' || depth || args.n + 1 >= most)) continue;
        make_word_add(m, &args, from, (size_t)(p - from));
        from = p + 1;
        if (!*p) return args;
    }
}

static char *automatic(make *m, char c) {
    const make_target *t = m->now;
    make_words seen = {0};
    if (c == '@') return tool_strdup(m->t, t->name);
    if (c == '*') return tool_strdup(m->t, t->stem ? t->stem : "");
    if (c == '<') return t->needs.n ? t->needs.v[0] : "";
    if (c == '+') return join(m, &t->needs);
    if (c == '|') return join(m, &t->order);
    if (c == '?') return tool_strdup(m->t, m->now_newer ? m->now_newer : "");
    for (size_t i = 0; i < t->needs.n; i++) {        /* $^: each once */
        size_t k = 0;
        while (k < seen.n && strcmp(seen.v[k], t->needs.v[i])) k++;
        if (k == seen.n) make_word_add(m, &seen, t->needs.v[i], strlen(t->needs.v[i]));
    }
    return join(m, &seen);
}

static char *variable_value(make *m, const char *name) {
    if (m->now && *name && strchr("@<^+?*|", *name)) {
        if (!name[1]) return automatic(m, *name);
        if ((name[1] == 'D' || name[1] == 'F') && !name[2]) {
            make_words w = words_of(m, automatic(m, *name));
            for (size_t i = 0; i < w.n; i++) {
                char *slash = strrchr(w.v[i], '/');
                if (name[1] == 'F') w.v[i] = slash ? slash + 1 : w.v[i];
                else if (slash) *slash = 0;
                else w.v[i] = ".";
            }
            return join(m, &w);
        }
    }
    make_variable *v = make_variable_find(m, name);
    if (!v) return "";
    if (v->simple || ++m->depth > DEEPEST) {
        if (!v->simple) { m->depth--; m->failed = make_fail(m, "Recursive variable '%s' references itself (eventually)", name); }
        return v->value;
    }
    char *out = make_expand_text(m, v->value);
    m->depth--;
    return out;
}

/* What stands between the parentheses of $(...). */
static char *reference(make *m, const char *text) {
    static const char lazy[] = " if or and foreach ";
    size_t n = 0;
    while (islower((unsigned char)text[n]) || text[n] == '-') n++;
    if (n && (text[n] == ' ' || text[n] == '\t')) {
        char *name = tool_strndup(m->t, text, n);
        const char *rest = text + n + strspn(text + n, " \t");
        size_t most = !strcmp(name, "shell") || !strcmp(name, "info") || !strcmp(name, "error") || !strcmp(name, "warning")
                              || !strcmp(name, "eval") ? 1
                      : !strcmp(name, "subst") || !strcmp(name, "patsubst") || !strcmp(name, "foreach") || !strcmp(name, "if") ? 3
                      : !strcmp(name, "call") || !strcmp(name, "or") || !strcmp(name, "and") ? 99 : 2;
        make_words args = split_arguments(m, rest, most);
        if (strstr(lazy, tool_format(m->t, " %s ", name))) {
            if (*name == 'f') return args.n == 3 ? run_foreach(m, &args) : "";
            return run_if(m, name, &args);
        }
        for (size_t i = 0; i < args.n; i++) args.v[i] = make_expand_text(m, args.v[i]);
        if (!strcmp(name, "eval")) { m->failed |= make_read_text(m, args.v[0]); return ""; }
        char *out = run_function(m, name, &args);
        if (out) return out;
    }
    char *name = make_expand_text(m, text), *colon = strchr(name, ':'), *equals = colon ? strchr(colon, '=') : NULL;
    if (!equals) return variable_value(m, name);
    *colon = *equals = 0;
    const char *from = colon + 1, *to = equals + 1;
    if (!strchr(from, '%')) { from = tool_format(m->t, "%%%s", from); to = tool_format(m->t, "%%%s", to); }
    make_words w = words_of(m, variable_value(m, name));
    for (size_t i = 0; i < w.n; i++) { char *word = make_replace(m, w.v[i], from, to); if (word) w.v[i] = word; }
    return join(m, &w);
}

char *make_expand(make *m, const char *text, size_t n) {
    buffer b = {.t = m->t};
    buffer_puts(&b, "");
    for (size_t i = 0; i < n; i++) {
        if (text[i] != '$' || i + 1 == n) { buffer_putc(&b, text[i]); continue; }
        char c = text[++i];
        if (c == '$') buffer_putc(&b, '$');
        else if (c == '(' || c == '{') {
            size_t len = reference_length(text + i + 1, n - i - 1, c, c == '(' ? ')' : '}');
            if (tool_too_deep(m->t) || m->failed) return b.p;
            buffer_puts(&b, reference(m, tool_strndup(m->t, text + i + 1, len)));
            i += len + 1;
        } else buffer_puts(&b, variable_value(m, (char[]){c, 0}));
    }
    return b.p;
}

char *make_expand_text(make *m, const char *text) { return make_expand(m, text, strlen(text)); }
