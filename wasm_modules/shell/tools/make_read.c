/* make_read.c - makefiles: lines to variables and rules; conditionals, include, define. */
#include "make.h"
#include "files.h"
#include <ctype.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NESTED = 32, INCLUDED = 32 };

/* One text that is being read. */
typedef struct {
    make *m;
    char *next;                  /* behind the present line */
    make_recipe *recipe;         /* of the last rule: where lines that begin with a tab go */
    int active[NESTED], taken[NESTED], depth;   /* conditionals: whether this branch counts, whether one did */
} reading;

int make_fail(make *m, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (m->file) io_printf(m->t->err, "%s:%d: *** %s.  Stop.\n", m->file, m->line, text);
    else tool_fail(m->t, 2, "*** %s.  Stop.", text);
    return 2;
}

make_target *make_target_find(make *m, const char *name, int add) {
    while (!strncmp(name, "./", 2) && name[2]) name += 2;
    for (make_target *t = m->targets; t; t = t->next) if (!strcmp(t->name, name)) return t;
    if (!add) return NULL;
    make_target *t = tool_alloc(m->t, sizeof *t);
    t->name = tool_strdup(m->t, name);
    if (m->last_target) m->last_target->next = t; else m->targets = t;
    return m->last_target = t;
}

static char *trim(char *s) {
    s += strspn(s, " \t");
    for (size_t n = strlen(s); n && isspace((unsigned char)s[n - 1]);) s[--n] = 0;
    return s;
}

/* The next line, with those that a backslash continues; NULL at the end. */
static char *next_line(reading *r, int raw) {
    char *from = r->next, *to = from;
    if (!from || !*from) return NULL;
    char *line = from;
    int recipe = *from == '\t' && r->recipe;
    r->m->line++;
    while (*from && *from != '\n') {
        if (*from == '\\' && from[1] == '\n' && !raw) {
            r->m->line++;
            if (recipe) { *to++ = *from++; *to++ = *from++; if (*from == '\t') from++; continue; }
            from += 2;
            from += strspn(from, " \t");
            while (to > line && (to[-1] == ' ' || to[-1] == '\t')) to--;
            *to++ = ' ';
        } else *to++ = *from++;
    }
    r->next = *from ? from + 1 : from;
    *to = 0;
    return line;
}

static void strip_comment(char *line) {
    for (char *p = line; *p; p++) {
        if (*p == '\\' && p[1] == '#') memmove(p, p + 1, strlen(p));
        else if (*p == '#') { *p = 0; return; }
    }
}

/* Where a colon or equals sign stands outside of references. */
static char *find_outside(char *s, const char *any) {
    int depth = 0;
    for (; *s; s++) {
        if (*s == '$' && (s[1] == '(' || s[1] == '{')) depth++;
        else if ((*s == ')' || *s == '}') && depth) depth--;
        else if (!depth && strchr(any, *s)) return s;
    }
    return NULL;
}

static void assign(make *m, const char *name, const char *value, char kind, make_target *to, int from) {
    make_target *now = to;
    const make_target *was = m->now;
    if (to) m->now = now;
    make_variable *old = make_variable_find(m, name);
    if (kind == '?' && old) { m->now = was; return; }
    int simple = kind == ':' || kind == '!' || (kind == '+' && old && old->simple);
    char *text = kind == '!' ? make_shell(m, make_expand_text(m, value)) : simple ? make_expand_text(m, value) : tool_strdup(m->t, value);
    if (kind == '+' && old && *old->value) text = tool_format(m->t, "%s %s", old->value, text);
    m->now = was;
    if (!to) { make_set(m, name, text, simple, from); return; }
    make_variable *v = tool_alloc(m->t, sizeof *v);
    *v = (make_variable){.next = to->own, .name = tool_strdup(m->t, name), .value = text, .simple = simple, .from = from};
    to->own = v;
}

int make_assign(make *m, const char *given, make_target *to, int from) {
    char *line = tool_strdup(m->t, given), *equals = find_outside(line, "=");
    if (!equals) return 0;
    char kind = '=', *end = equals;
    if (end > line && strchr(":?+!", end[-1])) kind = *--end;
    if (kind == ':') while (end > line && end[-1] == ':') end--;
    char *colon = find_outside(line, ":");
    if (colon && colon < end) return 0;
    *end = 0;
    char *name = make_expand_text(m, trim(line));
    if (!*name || strpbrk(name, " \t")) return 0;
    char *value = equals + 1;
    assign(m, name, value + strspn(value, " \t"), kind, to, from);
    return 1;
}

static void add_all(make *m, make_words *to, const make_words *from) {
    for (size_t i = 0; i < from->n; i++) {
        if (!strpbrk(from->v[i], "*?[")) { make_word_add(m, to, from->v[i], strlen(from->v[i])); continue; }
        size_t before = to->n;
        make_globs(m, to, from->v[i]);
        if (to->n == before) make_word_add(m, to, from->v[i], strlen(from->v[i]));
    }
}

static void add_pattern(make *m, const char *target, const make_words *needs, const make_words *order, make_recipe *recipe) {
    make_pattern *p = tool_alloc(m->t, sizeof *p);
    *p = (make_pattern){.target = target, .needs = *needs, .order = *order, .recipe = recipe};
    if (m->last_pattern) m->last_pattern->next = p; else m->patterns = p;
    m->last_pattern = p;
}

/* .PHONY and its kin; false when the target is an ordinary one. */
static int take_special(make *m, const char *name, const make_words *needs) {
    if (*name != '.' || !isupper((unsigned char)name[1])) return 0;
    for (size_t i = 0; !strcmp(name, ".PHONY") && i < needs->n; i++) make_target_find(m, needs->v[i], 1)->phony = 1;
    if (!strcmp(name, ".SILENT") && !needs->n) m->silent = 1;
    if (!strcmp(name, ".IGNORE") && !needs->n) m->ignore = 1;
    if (!strcmp(name, ".ONESHELL")) m->one_shell = 1;
    return 1;
}

static make_recipe *new_recipe(make *m) {
    make_recipe *recipe = tool_alloc(m->t, sizeof *recipe);
    recipe->file = m->file;
    return recipe;
}

static void add_command(make *m, make_recipe *recipe, const char *line, int at) {
    if (recipe->n == recipe->cap) {
        recipe->cap = recipe->cap ? recipe->cap * 2 : 4;
        recipe->lines = tool_realloc(m->t, recipe->lines, (size_t)recipe->cap * sizeof *recipe->lines);
        recipe->at = tool_realloc(m->t, recipe->at, (size_t)recipe->cap * sizeof *recipe->at);
    }
    recipe->lines[recipe->n] = tool_strdup(m->t, line);
    recipe->at[recipe->n++] = at;
}

/* Gives the rule to one target: its needs are added, its recipe takes the place of an earlier one. */
static void add_rule(make *m, const char *name, const make_words *needs, const make_words *order, make_recipe *recipe) {
    make_target *t = make_target_find(m, name, 1);
    if (!m->goal && (*name != '.' || strchr(name, '/'))) m->goal = t->name;
    add_all(m, &t->needs, needs);
    add_all(m, &t->order, order);
    t->recipe = recipe;
}

static int read_rule(reading *r, char *line) {
    make *m = r->m;
    char *semicolon = find_outside(line, ";"), *colon = find_outside(line, ":");
    if (!colon) {
        char *rest = trim(make_expand_text(m, line));
        return *rest && !m->failed ? make_fail(m, "missing separator") : 0;
    }
    if (semicolon && semicolon < colon) semicolon = NULL;
    if (semicolon) *semicolon = 0;
    *colon = 0;
    char *after = colon + 1 + (colon[1] == ':');
    make_words targets = {0}, needs = {0}, order = {0};
    make_split(m, &targets, make_expand_text(m, line));
    char *equals = find_outside(after, "=");
    if (equals && !semicolon) {
        for (size_t i = 0; i < targets.n; i++) make_assign(m, after, make_target_find(m, targets.v[i], 1), FROM_FILE);
        r->recipe = NULL;
        return 0;
    }
    char *second = find_outside(after, ":"), *stems = NULL;     /* targets: target-pattern: needs */
    if (second) { *second = 0; stems = trim(make_expand_text(m, after)); after = second + 1; }
    char *list = make_expand_text(m, after), *bar = strchr(list, '|');
    if (bar) { *bar = 0; make_split(m, &order, bar + 1); }
    make_split(m, &needs, list);
    make_recipe *recipe = new_recipe(m);
    r->recipe = recipe;
    if (semicolon) add_command(m, recipe, semicolon + 1 + strspn(semicolon + 1, " \t"), m->line);
    for (size_t i = 0; i < targets.n; i++) {
        if (take_special(m, targets.v[i], &needs)) continue;
        if (!stems && strchr(targets.v[i], '%')) { add_pattern(m, targets.v[i], &needs, &order, recipe); continue; }
        make_words own = needs;
        char *stem = stems ? make_stem(m, targets.v[i], stems) : NULL;
        if (stem) {
            own = (make_words){0};
            for (size_t k = 0; k < needs.n; k++) {
                char *word = make_replace(m, targets.v[i], stems, needs.v[k]);
                make_word_add(m, &own, word, strlen(word));
            }
        }
        make_recipe *before = make_target_find(m, targets.v[i], 1)->recipe;
        add_rule(m, targets.v[i], &own, &order, before && before->n ? before : recipe);
        if (stem) make_target_find(m, targets.v[i], 1)->stem = stem;
    }
    return 0;
}

/* ifeq (a,b), ifeq "a" "b", ifdef NAME: whether it holds. */
static int holds(make *m, const char *word, char *rest) {
    if (!strcmp(word, "ifdef") || !strcmp(word, "ifndef")) {
        make_variable *v = make_variable_find(m, trim(make_expand_text(m, rest)));
        return (v && *v->value) == !strcmp(word, "ifdef");
    }
    char *a = rest, *b = "";
    if (*rest == '(') {
        char *comma = find_outside(rest + 1, ","), *end = strrchr(rest, ')');
        if (!comma || !end) return 0;
        *comma = *end = 0;
        a = trim(rest + 1);
        b = trim(comma + 1);
    } else if (*rest == '"' || *rest == '\'') {
        char *end = strchr(rest + 1, *rest);
        if (!end) return 0;
        *end = 0;
        a = rest + 1;
        b = trim(end + 1);
        size_t n = strlen(b);
        if (n > 1) { b[n - 1] = 0; b++; }
    }
    return !strcmp(make_expand_text(m, a), make_expand_text(m, b)) == !strcmp(word, "ifeq");
}

static int counts_above(const reading *r, int depth) {
    for (int i = 0; i < depth; i++) if (!r->active[i]) return 0;
    return 1;
}

static int counts(const reading *r) { return counts_above(r, r->depth); }

/* A line of a conditional; 0 when it is none, -1 after a message. */
static int take_conditional(reading *r, const char *word, char *rest) {
    if (!strcmp(word, "endif")) { if (!r->depth) return -make_fail(r->m, "extraneous 'endif'"); r->depth--; return 1; }
    if (!strcmp(word, "else")) {
        if (!r->depth) return -make_fail(r->m, "extraneous 'else'");
        int i = r->depth - 1;
        int reached = !r->taken[i] && counts_above(r, i);
        size_t n = strcspn(rest, " \t");
        char *next = tool_strndup(r->m->t, rest, n);
        r->active[i] = reached && (!*next || holds(r->m, next, rest + n + strspn(rest + n, " \t")));
        r->taken[i] |= r->active[i];
        return 1;
    }
    if (strcmp(word, "ifeq") && strcmp(word, "ifneq") && strcmp(word, "ifdef") && strcmp(word, "ifndef")) return 0;
    if (r->depth == NESTED) return -make_fail(r->m, "conditionals nest too deeply");
    int on = counts(r) && holds(r->m, word, rest);
    r->active[r->depth] = r->taken[r->depth] = on;
    r->depth++;
    return 1;
}

static void read_define(reading *r, char *rest) {
    buffer b = {.t = r->m->t};
    buffer_puts(&b, "");
    char *name = tool_strdup(r->m->t, trim(rest)), *equals = strchr(name, '=');
    if (equals) *equals = 0;
    for (char *line; (line = next_line(r, 1)) && strcmp(trim(tool_strdup(r->m->t, line)), "endef");) {
        if (b.n) buffer_putc(&b, '\n');
        buffer_puts(&b, line);
    }
    if (counts(r)) make_set(r->m, trim(name), b.p, 0, FROM_FILE);
}

static int read_export(make *m, const char *rest, int on) {
    if (!*rest) { m->export_all = on; return 0; }
    make_assign(m, rest, NULL, FROM_FILE);
    make_words names = {0};
    char *list = tool_strdup(m->t, rest), *end = strpbrk(list, "=:?+");
    if (end) *end = 0;
    make_split(m, &names, make_expand_text(m, list));
    for (size_t i = 0; i < names.n; i++) {
        if (!make_variable_find(m, names.v[i])) make_set(m, names.v[i], "", 1, FROM_FILE);
        make_variable_find(m, names.v[i])->exported = on;
    }
    return 0;
}

static int read_include(make *m, const char *rest, int optional) {
    make_words names = {0}, files = {0};
    make_split(m, &names, make_expand_text(m, rest));
    add_all(m, &files, &names);
    for (size_t i = 0; i < files.n; i++) if (make_read_file(m, files.v[i], optional)) return 2;
    return 0;
}

static int read_line(reading *r, char *line) {
    make *m = r->m;
    if (*line == '\t' && r->recipe) { if (counts(r)) add_command(m, r->recipe, line + 1, m->line); return 0; }
    char *raw = tool_strdup(m->t, line);
    strip_comment(line);
    char *text = trim(line);
    size_t n = strcspn(text, " \t(\"");
    char *word = tool_strndup(m->t, text, n), *rest = text + n + strspn(text + n, " \t");
    int found = take_conditional(r, word, rest);
    if (found) return found < 0 ? 2 : 0;
    int assigned = *rest == '=' || ((*rest == ':' || *rest == '?' || *rest == '+') && rest[1] == '=');
    if (!strcmp(word, "define") && !assigned) { read_define(r, rest); return 0; }
    if (!counts(r) || !*text) return 0;
    if (!assigned && !strcmp(word, "export")) return read_export(m, rest, 1);
    if (!assigned && !strcmp(word, "unexport")) return read_export(m, rest, 0);
    if (!assigned && !strcmp(word, "override")) { make_assign(m, rest, NULL, FROM_OVERRIDE); return 0; }
    if (!assigned && !strcmp(word, "include")) return read_include(m, rest, 0);
    if (!strcmp(word, "-include") || !strcmp(word, "sinclude")) return read_include(m, rest, 1);
    if (!strcmp(word, "vpath")) return make_fail(m, "vpath is not supported");
    if (make_assign(m, text, NULL, FROM_FILE)) { r->recipe = NULL; return 0; }
    if (strchr(raw, ';') && strchr(raw, '#')) text = trim(raw);      /* a # in a recipe is the shell's */
    return read_rule(r, text);
}

int make_read_text(make *m, char *text) {
    reading r = {.m = m, .next = text};
    if (tool_too_deep(m->t) || m->level + m->depth > INCLUDED * 4) return make_fail(m, "files include each other too deeply");
    for (char *line; !m->failed && (line = next_line(&r, 0));) if (read_line(&r, line)) return 2;
    return r.depth ? make_fail(m, "missing 'endif'") : m->failed;
}

int make_read_file(make *m, const char *path, int optional) {
    io *from = !strcmp(path, "-") ? io_ref(m->t->in) : io_open(path, O_RDONLY, 0);
    if (!from && optional) return 0;
    if (!from && m->file) return io_printf(m->t->err, "%s:%d: %s: No such file or directory\n", m->file, m->line, path), 2;
    if (!from) { tool_fail_errno(m->t, 2, "%s", path); return make_fail(m, "No rule to make target '%s'", path); }
    buffer b = {.t = m->t};
    buffer_puts(&b, "");
    buffer_read_all(&b, from);
    io_unref(from);
    m->was_read = 1;
    const char *file = m->file;
    int line = m->line;
    m->file = tool_strdup(m->t, path);
    m->line = 0;
    m->depth++;
    int status = make_read_text(m, b.p);
    m->depth--;
    m->file = file;
    m->line = line;
    return status;
}
