/* expand.c - words to fields: tilde, parameters, substitutions, splitting by IFS, path names.
 *
 * A field under construction is its text and a mask of the same length: 1 for bytes that were quoted. Splitting looks only at
 * results of unquoted expansions; pattern characters count only where the mask is 0.
 */
#include "sh.h"
#include <ctype.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

static const char *ifs_now(void)
{
    var *v = sh.ifs->top;
    return v && v->flags & V_SET && v->str ? v->str : v && v->flags & V_SET ? "" : " \t\n";
}

static void put(expander *x, const char *s, size_t n, bool quoted)
{
    x->f.started = true;
    if (!n) return;
    sb_add(&x->f.text, s, n);
    size_t at = x->f.mask.len;
    sb_add(&x->f.mask, s, n);   /* grows; the content is overwritten */
    memset(x->f.mask.s + at, quoted, n);
    if (!quoted && !x->f.has_glob)
        for (size_t i = 0; i < n; i++)
            if (s[i] == '*' || s[i] == '?' || s[i] == '[' || s[i] == '\\' || (s[i] == '(' && i > 0 && strchr("+@!", s[i - 1]))) {
                x->f.has_glob = true;
                break;
            }
}

void ex_quoted(expander *x, const char *s, size_t n) { put(x, s, n, true); }
void ex_literal(expander *x, const char *s, size_t n) { put(x, s, n, false); }

static const char PUNCTUATION[] = "", EVERYTHING[] = "";

/* Text of the field with the quoted characters among `special` behind a backslash, in sh.tmp. */
static char *escaped(field *f, const char *special)
{
    strbuf b = { .a = &sh.tmp };
    for (size_t i = 0; i < f->text.len; i++) {
        unsigned char c = (unsigned char)f->text.s[i];
        bool wanted = special == PUNCTUATION  ? c < 0x80 && ispunct(c) && c != '/'
                      : special == EVERYTHING ? (c & 0xc0) != 0x80
                                              : strchr(special, c) != NULL;
        if (f->mask.s[i] && wanted) sb_putc(&b, '\\');
        sb_putc(&b, (char)c);
    }
    return sb_str(&b);
}

static void glob_field(expander *x)
{
    size_t before = x->out->n;
    char *pat = escaped(&x->f, PUNCTUATION);
    if (has_glob(pat)) {
        glob_expand(pat, x->out);
        if (x->out->n > before) return;
        if (sh.shopt[S_FAILGLOB]) {
            sh_error("no match: %s", sb_str(&x->f.text));
            sh_fail(1);
            x->failed = true;
            return;
        }
        if (sh.shopt[S_NULLGLOB]) return;
    }
    sl_add(x->out, arena_strndup(&sh.tmp, sb_str(&x->f.text), x->f.text.len));
}

void ex_end_field(expander *x)
{
    if (!x->f.started) return;
    if (x->out) {
        if (x->f.has_glob && x->flags & X_GLOB && !sh.opt[O_NOGLOB]) glob_field(x);
        else sl_add(x->out, arena_strndup(&sh.tmp, sb_str(&x->f.text), x->f.text.len));
    }
    x->f.text.len = x->f.mask.len = 0;
    x->f.started = x->f.has_glob = false;
}

/* Cuts an unquoted value at IFS. Blanks around one other separator belong to it; blanks alone make no empty fields. */
static void split(expander *x, const char *s)
{
    const char *ifs = x->ifs;
    while (*s) {
        size_t n = strcspn(s, ifs), one;
        while (s[n] && !separator_at(s + n, ifs)) n += 1 + strcspn(s + n + 1, ifs);
        if (n) { put(x, s, n, false); s += n; }
        if (!*s) return;
        bool hard = false;
        while (*s && strchr(ifs, *s) && isspace((unsigned char)*s)) s++;
        if ((one = separator_at(s, ifs))) {
            hard = true;
            s += one;
            while (*s && strchr(ifs, *s) && isspace((unsigned char)*s)) s++;
        }
        if (hard) x->f.started = true;
        ex_end_field(x);
    }
}

void ex_value(expander *x, const char *s, bool quoted)
{
    if (quoted || !(x->flags & X_SPLIT) || x->whole) {
        if (!quoted && !*s) return;
        put(x, s, strlen(s), quoted);
        return;
    }
    if (*s) split(x, s);
}

/* ~ , ~user, ~+ , ~- at s. NULL when it stays as it is; *used is the length of the prefix. */
char *expand_tilde(const char *s, size_t *used)
{
    size_t n = 1;
    while (s[n] && s[n] != '/' && s[n] != ':') n++;
    *used = n;
    const char *to = NULL;
    if (n == 1) { to = var_get("HOME"); if (!to) to = "/workspace"; }
    else if (n == 2 && s[1] == '+') to = var_get("PWD");
    else if (n == 2 && s[1] == '-') to = var_get("OLDPWD");
    else if (strspn(s + 1, "+-") <= 1 && strspn(s + 1 + strspn(s + 1, "+-"), "0123456789") == n - 1 - strspn(s + 1, "+-")) {
        int k = atoi(s + 1 + strspn(s + 1, "+-"));          /* ~2 ~+2 ~-2: of the directory stack */
        if (s[1] == '-') k = sh.ndirs - k;
        to = k < 0 || k > sh.ndirs ? NULL : k == 0 ? sh.cwd : sh.dirs[sh.ndirs - k];
    }
    else if (n == 5 && !strncmp(s + 1, "root", 4)) to = "/root";
    else if (n == 5 && !strncmp(s + 1, "user", 4)) to = "/workspace";
    return to ? arena_strdup(&sh.tmp, to) : NULL;
}

/* A literal that may hold a tilde: at its start when `start`, and in assignments behind : too. */
static void literal_tilde(expander *x, const char *s, size_t len, bool start, bool last_part)
{
    const char *end = s + len;
    size_t name = start && !(x->flags & (X_ASSIGN | X_ELEMENT)) ? name_len(s) : 0;
    if (name && s[name] == '=') {   /* an argument like dir=~/x */
        ex_literal(x, s, name + 1);
        x->flags |= X_ASSIGN;
        literal_tilde(x, s + name + 1, len - name - 1, true, last_part);
        x->flags &= ~X_ASSIGN;
        return;
    }
    while (s < end) {
        if (*s == '~' && start) {
            size_t used;
            char *to = expand_tilde(s, &used);
            /* ~"x" and ~$x are not prefixes: the prefix must end inside this literal */
            if (to && (last_part || s + used < end)) { ex_quoted(x, to, strlen(to)); s += used; start = false; continue; }
        }
        const char *stop = s + 1;
        if (x->flags & X_ASSIGN) {
            while (stop < end && !(*stop == '~' && stop[-1] == ':')) stop++;
            start = true;
        } else {
            stop = end;
        }
        ex_literal(x, s, (size_t)(stop - s));
        s = stop;
    }
}

static void command_part(expander *x, part *p)
{
    size_t len;
    char *text = command_subst(p->u.cmd, &len);
    if (!text) { x->failed = true; return; }
    ex_value(x, text, p->quoted);
    if (p->quoted) x->f.started = true;
}

bool ex_parts(expander *x, part *p, int flags)
{
    bool first = true;
    for (; p && !x->failed; p = p->next, first = false) {
        switch (p->kind) {
        case P_LIT:
            if (p->quoted) ex_quoted(x, p->u.lit.text, p->u.lit.len);
            else if (flags & X_ARGSPLIT) {
                size_t used;
                char *to = first && *p->u.lit.text == '~' ? expand_tilde(p->u.lit.text, &used) : NULL;
                if (to && (!p->next || used < p->u.lit.len)) {
                    ex_quoted(x, to, strlen(to));
                    ex_value(x, p->u.lit.text + used, false);
                }
                else ex_value(x, p->u.lit.text, false);
            } else if (!(flags & X_NOTILDE) && strchr(p->u.lit.text, '~'))
                literal_tilde(x, p->u.lit.text, p->u.lit.len, first, !p->next);
            else ex_literal(x, p->u.lit.text, p->u.lit.len);
            break;
        case P_PARAM: expand_param(x, p); break;
        case P_CMD: command_part(x, p); break;
        case P_ARITH: {
            int64_t n;
            char buf[24];
            if (!arith_eval(p->u.arith, &n)) { sh_fail(1); x->failed = true; break; }
            ex_value(x, fmt_int(n, buf), p->quoted);
            break;
        }
        case P_PROC_IN: case P_PROC_OUT: {
            char *path = proc_subst(p->u.cmd, p->kind == P_PROC_OUT);
            if (path) ex_quoted(x, path, strlen(path)); else x->failed = true;
            break;
        }
        case P_BAD:
            if (p->backquote) {
                if (fd_get(2)) io_printf(fd_get(2), "%s: %s\n", sh.arg0, p->u.lit.text);
                sh.had_subst = true;
                sh.subst_status = sh.status = 2;
                if (p->quoted) x->f.started = true;
                break;
            }
            sh_report("%s: bad substitution", p->u.lit.text);
            sh_fail(1);
            x->failed = true;
            break;
        }
        if (sh.unwind >= UW_EXIT) x->failed = true;
    }
    return !x->failed;
}

static expander start(int flags, strlist *out)
{
    return (
        expander){ .f = { .text = { .a = &sh.tmp }, .mask = { .a = &sh.tmp } }, .out = out, .flags = flags, .ifs = ifs_now() };
}

bool expand_word(word *w, int flags, strlist *out)
{
    if (w->flags & W_PLAIN) { sl_add(out, w->parts->u.lit.text); return true; }
    if (flags & X_BRACE && w->flags & W_BRACE && sh.opt[O_BRACEEXPAND]) {
        int n;
        word **many = brace_expand(w, &n);
        for (int i = 0; i < n; i++) if (!expand_word(many[i], flags & ~X_BRACE, out)) return false;
        return true;
    }
    expander x = start(flags, out);
    x.whole = w->flags & W_DOLLAR;
    if (!ex_parts(&x, w->parts, flags)) return false;
    ex_end_field(&x);
    return !x.failed;
}

bool expand_words(word **w, int n, strlist *out)
{
    for (int i = 0; i < n; i++) if (!expand_word(w[i], X_WORDS, out)) return false;
    return true;
}

/* The one string of a word that is not split: assignment, case, [[ ]], here-strings, redirection targets after splitting is ruled
 * out. */
char *expand_one(word *w, int flags)
{
    if (!w || !w->parts) return "";
    part *p = w->parts;
    if (!p->next && p->kind == P_LIT && !(flags & (X_PATTERN | X_REGEX | X_REPLACE)) && !(w->flags & W_TILDE))
        return p->u.lit.text;
    if (w->flags & W_PLAIN && !(flags & X_REPLACE)) return p->u.lit.text;
    expander x = start(flags & ~(X_SPLIT | X_GLOB | X_BRACE), NULL);
    if (!ex_parts(&x, w->parts, flags)) return NULL;
    if (flags & X_PATTERN) return escaped(&x.f, sh.opt[O_XTRACE] ? EVERYTHING : PUNCTUATION);   /* [[ ]] is shown like that */
    if (flags & X_REGEX) return escaped(&x.f, ".[]()*+?{}|^$\\");
    if (flags & X_REPLACE) return escaped(&x.f, "&\\");
    return sb_str(&x.f.text);
}

bool expand_string(const char *text, char mode, char **out)
{
    word *w = parse_word_text(&sh.tmp, text, mode);
    if (!w) return false;
    *out = expand_one(w, X_NOTILDE);
    return *out != NULL;
}
