/* history.c - the history list: filled by history -s and -r, and under set -o history by the commands that are read; history, fc.
 *
 * Rules: one list for the shell and its subshells. A command of several lines is one entry, its lines joined as bash's cmdhist
 * does. HISTSIZE bounds the list; the numbers of what is left stay.
 *
 * Does not know: ! expansion in what is read (history -p knows the common events), and editors.
 */
#include "history.h"
#include "builtins.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct { char *text; time_t when; } entry;
static entry *list;
static size_t count, cap;
static int64_t first_number = 1;
static size_t unsaved;           /* entries at the end that -a has not written yet */
static size_t read_lines;        /* of HISTFILE: -n reads what is behind them */
static bool recorded;            /* the command that runs now is the last entry */

static void drop(size_t at)
{
    free(list[at].text);
    memmove(list + at, list + at + 1, (count - at - 1) * sizeof *list);
    count--;
    if (unsaved > count) unsaved = count;
}

static void add(const char *text, size_t n)
{
    if (count == cap) {
        cap = cap ? cap * 2 : 64;
        list = xrealloc(list, cap * sizeof *list);
    }
    list[count++] = (entry){ xstrndup(text, n), time(NULL) };
    unsaved++;
    const char *size = var_get("HISTSIZE");
    int64_t most;
    if (!size || !parse_int(size, &most) || most < 0) return;
    while ((int64_t)count > most) { drop(0); first_number++; }
}

/* ---- recording ---- */

/* What goes between a line and the one behind it: a newline inside quotes, nothing but a blank where no ; may stand. */
static const char *joint(const char *s, size_t n)
{
    static const char *const words[] = { "do", "else", "if", "in", "then", "until", "while" };
    char quote = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\\' && quote != '\'') i++;
        else if (quote) quote = s[i] == quote ? 0 : quote;
        else if (s[i] == '\'' || s[i] == '"') quote = s[i];
    }
    if (quote || strstr(s, "<<")) return "\n";
    while (n > 0 && strchr(" \t", s[n - 1])) n--;
    if (n > 0 && strchr("{(;&|)", s[n - 1])) return " ";
    size_t from = n;
    while (from > 0 && !strchr(" \t;\n", s[from - 1])) from--;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == n - from && !memcmp(words[i], s + from, n - from)) return " ";
    return "; ";
}

/* True when HISTCONTROL or HISTIGNORE leave the line out. */
static bool unwanted(const char *line)
{
    const char *control = var_get("HISTCONTROL"), *ignore = var_get("HISTIGNORE");
    bool both = control && strstr(control, "ignoreboth");
    if ((both || (control && strstr(control, "ignorespace"))) && strchr(" \t", *line)) return true;
    if ((both || (control && strstr(control, "ignoredups"))) && count && !strcmp(list[count - 1].text, line)) return true;
    if (ignore && *ignore) {
        char *copy = arena_strdup(&sh.tmp, ignore);
        for (char *save, *pat = strtok_r(copy, ":", &save); pat; pat = strtok_r(NULL, ":", &save))
            if (pattern_match(pat, line, 0)) return true;
    }
    for (size_t i = count; control && strstr(control, "erasedups") && i-- > 0;) if (!strcmp(list[i].text, line)) drop(i);
    return false;
}

static void record_line(const char *s)
{
    recorded = !unwanted(s);
    if (recorded) add(s, strlen(s));
}

void history_record(const char *text, size_t n)
{
    arena_mark_t m = arena_mark(&sh.tmp);
    strbuf b = { .a = &sh.tmp };
    recorded = false;
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = (end ? (size_t)(end - text) : n) - at;
        const char *line = text + at;
        at += len + 1;
        if (!b.len && !len) continue;
        if (!b.len && *line == '#') { record_line(arena_strndup(&sh.tmp, line, len)); continue; }
        if (b.len) {
            const char *with = joint(sb_str(&b), b.len);
            if (!len && *with != '\n') continue;
            sb_puts(&b, with);
        }
        sb_add(&b, line, len);
    }
    while (b.len && b.s[b.len - 1] == '\n') b.len--;
    if (b.len) record_line(sb_str(&b));
    arena_release(&sh.tmp, m);
}

/* ---- history ---- */

static void show(size_t from)
{
    const char *format = var_get("HISTTIMEFORMAT");
    for (size_t i = from; i < count; i++) {
        char when[128] = "";
        struct tm t;
        if (format && *format && localtime_r(&list[i].when, &t)) strftime(when, sizeof when, format, &t);
        out_printf("%5lld  %s%s\n", (long long)first_number + (long long)i, when, list[i].text);
    }
}

/* An entry by its number, or from the end by a negative one: its place, or -1. */
static int64_t place(int64_t n)
{
    int64_t at = n < 0 ? (int64_t)count + n : n - first_number;
    return n == 0 || at < 0 || at >= (int64_t)count ? -1 : at;
}

static int delete_entries(char *arg)
{
    char *dash = strchr(arg + 1, '-');
    int64_t from, to;
    if (dash) *dash = 0;
    bool ok = parse_int(arg, &from) && (!dash || parse_int(dash + 1, &to));
    if (dash) *dash = '-';
    if (!dash) to = from;
    int64_t a = ok ? place(from) : -1, b = ok ? place(to) : -1;
    if (a < 0 || b < 0) return b_error("history", 1, "%s: history position out of range", arg);
    for (; b >= a; b--) drop((size_t)b);
    return 0;
}

static int read_in(const char *path, bool only_new)
{
    io *in = shell_open(path, O_RDONLY);
    if (!in) return b_error("history", 1, "%s: cannot read: No such file or directory", path);
    char *line = NULL;
    size_t room = 0, seen = 0;
    for (ssize_t n; (n = io_getdelim(in, &line, &room, '\n')) >= 0; seen++) {
        if (n > 0 && line[n - 1] == '\n') n--;
        if (!only_new || seen >= read_lines) add(line, (size_t)n);
    }
    read_lines = seen;
    unsaved = 0;
    free(line);
    io_unref(in);
    return 0;
}

static int write_out(const char *path, bool append)
{
    if (trial_effect()) return 1;
    io *out = shell_open(path, O_WRONLY | O_CREAT | (append ? O_APPEND : O_TRUNC));
    if (!out) return b_error("history", 1, "%s: cannot create: No such file or directory", path);
    for (size_t i = append ? count - unsaved : 0; i < count; i++) io_printf(out, "%s\n", list[i].text);
    unsaved = 0;
    io_flush(out);
    io_unref(out);
    return 0;
}

/* The entry that !! !n !-n !text stand for, *used the bytes of it; NULL when there is none. */
static const char *event(const char *s, size_t *used, size_t end)
{
    char *stop;
    if (s[1] == '!') { *used = 2; return end ? list[end - 1].text : NULL; }
    long long n = strtoll(s + 1, &stop, 10);
    if (stop > s + 1) {
        *used = (size_t)(stop - s);
        int64_t at = n < 0 ? (int64_t)end + n : n - first_number;
        return at >= 0 && at < (int64_t)end ? list[at].text : NULL;
    }
    size_t len = strcspn(s + 1, " \t\n:;&|<>()'\"");
    *used = len + 1;
    for (size_t i = end; i-- > 0;) if (!strncmp(list[i].text, s + 1, len)) return list[i].text;
    return NULL;
}

static int show_expanded(int argc, char **argv)
{
    size_t end = count - (recorded && sh.opt[O_HISTORY] && count);
    for (int i = 0; i < argc; i++) {
        strbuf b = { .a = &sh.tmp };
        for (const char *s = argv[i]; *s;) {
            size_t used = 2;
            if (*s != '!' || !s[1] || strchr(" \t=(", s[1])) { sb_putc(&b, *s++); continue; }
            const char *text = s[1] == '$' && end ? strrchr(list[end - 1].text, ' ') : event(s, &used, end);
            if (!text && s[1] != '$') return b_error("history", 1, "%s: history expansion failed", argv[i]);
            if (s[1] == '$') { text = text ? text + 1 : end ? list[end - 1].text : ""; }
            sb_puts(&b, text);
            s += used;
        }
        out_printf("%s\n", sb_str(&b));
    }
    return 0;
}

int b_history(int argc, char **argv)
{
    opts o = OPTS("history [-c] [-d offset] [n] or history -anrw [filename] or history -ps arg [arg...]");
    char what = 0, *range = NULL;
    bool clear = false;
    for (int c; (c = next_opt(&o, "acd:nprsw"));) {
        if (c == '?') return 2;
        if (c == 'c') clear = true;
        else if (c == 'd') range = o.arg;
        else what = (char)c;
    }
    char **args = argv + o.at;
    int n = argc - o.at;
    if (clear) {
        while (count) drop(count - 1);
        first_number = 1;
        recorded = false;
    }
    if (range) return delete_entries(range);
    const char *path = n && what ? args[0] : var_get("HISTFILE");
    switch (what) {
    case 's': {
        strbuf b = { .a = &sh.tmp };
        for (int i = 0; i < n; i++) sb_printf(&b, "%s%s", i ? " " : "", args[i]);
        if (recorded && sh.opt[O_HISTORY] && count) drop(count - 1);
        recorded = false;
        if (n) add(sb_str(&b), b.len);
        return 0;
    }
    case 'p': return show_expanded(n, args);
    case 'r': case 'n': return path ? read_in(path, what == 'n') : 0;
    case 'w': case 'a': return path ? write_out(path, what == 'a') : 0;
    }
    if (clear) return 0;
    if (n > 1) { b_error("history", 1, "too many arguments"); sh_abandon(1); return 1; }
    int64_t last;
    if (!n) show(0);
    else if (!parse_int(args[0], &last)) return b_error("history", 1, "%s: numeric argument required", args[0]);
    else { if (last < 0) last = -last; show((int64_t)count > last ? count - (size_t)last : 0); }
    return 0;
}

/* ---- fc ---- */

/* The entry that an argument of fc names: a number, or the latest that begins with the text; -1 when there is none. */
static int64_t named_entry(const char *arg, size_t end)
{
    int64_t n;
    if (parse_int(arg, &n)) {
        int64_t at = n <= 0 ? (int64_t)end + n : n - first_number;
        return at < 0 ? 0 : at >= (int64_t)end ? (int64_t)end - 1 : at;
    }
    for (size_t i = end; i-- > 0;) if (!strncmp(list[i].text, arg, strlen(arg))) return (int64_t)i;
    return -1;
}

static int run_again(int argc, char **argv, size_t end)
{
    int i = 0;
    while (i < argc && strchr(argv[i], '=')) i++;
    int64_t at = i < argc ? named_entry(argv[i], end) : (int64_t)end - 1;
    if (at < 0) return b_error("fc", 1, "no command found");
    char *text = arena_strdup(&sh.tmp, list[at].text);
    for (int k = 0; k < i; k++) {
        size_t n = strcspn(argv[k], "=");
        strbuf b = { .a = &sh.tmp };
        for (const char *s = text; *s;) {
            if (n && !strncmp(s, argv[k], n)) { sb_puts(&b, argv[k] + n + 1); s += n; } else sb_putc(&b, *s++);
        }
        text = sb_str(&b);
    }
    err_puts(text);
    err_puts("\n");
    if (recorded && sh.opt[O_HISTORY] && count) { drop(count - 1); record_line(text); }
    return exec_text(text, strlen(text), "fc", sh.line);
}

enum { FC_LINES = 16 };

int b_fc(int argc, char **argv)
{
    opts o = OPTS("fc [-e ename] [-lnr] [first] [last] or fc -s [pat=rep] [command]");
    bool shown = false, bare = false, reverse = false, again = false;
    size_t end = count - (recorded && sh.opt[O_HISTORY] && count > 1);
    for (;;) {
        bool inside = o.in && *o.in, number = o.at < argc && argv[o.at][0] == '-' && argv[o.at][1] >= '0' && argv[o.at][1] <= '9';
        int c = inside || !number ? next_opt(&o, "e:lnrs") : 0;
        if (c == '?') return 2;
        if (!c) break;
        shown |= c == 'l';
        bare |= c == 'n';
        reverse |= c == 'r';
        again |= c == 's' || (c == 'e' && !strcmp(o.arg, "-"));
    }
    char **args = argv + o.at;
    int n = argc - o.at;
    if (again) return run_again(n, args, end);
    if (!shown) return b_error("fc", 1, "no command found");
    if (!end) return 0;
    int64_t from = n ? named_entry(args[0], end) : (int64_t)end - FC_LINES;
    int64_t to = n > 1 ? named_entry(args[1], end) : (int64_t)end - 1;
    if (from < 0 && n) return b_error("fc", 1, "history specification out of range");
    if (to < 0) return b_error("fc", 1, "history specification out of range");
    if (from < 0) from = 0;
    if (from > to) { int64_t t = from; from = to; to = t; reverse = !reverse; }
    for (int64_t i = 0; i <= to - from; i++) {
        int64_t at = reverse ? to - i : from + i;
        if (bare) out_printf("\t %s\n", list[at].text);
        else out_printf("%lld\t %s\n", (long long)(first_number + at), list[at].text);
    }
    return 0;
}
