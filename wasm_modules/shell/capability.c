/* capability.c - capabilities of the host as commands: `weather --city Paris` or `weather '{"city":"Paris"}'`, the result as
 * JSON.
 *
 * Arguments: one JSON object gives the keyword arguments; one JSON array the positional ones; otherwise --flag value and
 * --flag=value pairs (dashes in names become underscores; a value that reads as JSON is that value, else text; a flag without
 * value is true), the rest positional.
 */
#include "host.h"
#include "json.h"
#include <stdlib.h>
#include <string.h>

static char **names;             /* malloc'ed, NULL-terminated; NULL: not asked yet in this turn */

void capability_refresh(void)
{
    for (char **n = names; n && *n; n++) free(*n);
    free(names);
    names = NULL;
}

static void load_names(void)
{
    char *reply = NULL;
    size_t len = 0, n = 0;
    names = xmalloc(sizeof *names);
    names[0] = NULL;
    if (host_send('N', "", 0, &reply, &len) < 0 || !reply) return;
    arena_mark_t m = arena_mark(&sh.tmp);
    json *j = json_parse(&sh.tmp, reply, len);
    for (json *x = j ? j->child : NULL; x; x = x->next) {
        if (x->kind != J_STRING) continue;
        names = xrealloc(names, (n + 2) * sizeof *names);
        names[n++] = xstrdup(x->text);
        names[n] = NULL;
    }
    arena_release(&sh.tmp, m);
    free(reply);
}

bool capability_has(const char *name)
{
    if (!names) load_names();
    for (char **n = names; *n; n++) if (!strcmp(*n, name)) return true;
    return false;
}

/* text as JSON: itself if it is JSON, else a string. */
static void add_value(strbuf *b, const char *text)
{
    arena_mark_t m = arena_mark(&sh.tmp);
    json *j = json_parse(&sh.tmp, text, strlen(text));
    arena_release(&sh.tmp, m);
    if (j) sb_puts(b, text); else json_quote(b, text, strlen(text));
}

static void add_flag(strbuf *kwargs, const char *name, size_t n, const char *text)
{
    strbuf key = { 0 };
    for (size_t i = 0; i < n; i++) sb_putc(&key, name[i] == '-' ? '_' : name[i]);
    if (kwargs->len > 1) sb_putc(kwargs, ',');
    json_quote(kwargs, sb_str(&key), key.len);
    sb_putc(kwargs, ':');
    if (text) add_value(kwargs, text); else sb_puts(kwargs, "true");
    free(key.s);
}

static void add_arguments(strbuf *body, int argc, char **argv)
{
    strbuf args = { 0 }, kwargs = { 0 };
    sb_putc(&args, '[');
    sb_putc(&kwargs, '{');
    json *whole = NULL;
    if (argc == 2 && (argv[1][0] == '{' || argv[1][0] == '[')) whole = json_parse(&sh.tmp, argv[1], strlen(argv[1]));
    for (int i = 1; i < argc && !whole; i++) {
        char *a = argv[i], *eq;
        if (a[0] != '-' || a[1] != '-' || !a[2]) {
            if (args.len > 1) sb_putc(&args, ',');
            add_value(&args, a);
        } else if ((eq = strchr(a, '='))) add_flag(&kwargs, a + 2, (size_t)(eq - a) - 2, eq + 1);
        else if (i + 1 < argc && strncmp(argv[i + 1], "--", 2)) { add_flag(&kwargs, a + 2, strlen(a) - 2, argv[i + 1]); i++; }
        else add_flag(&kwargs, a + 2, strlen(a) - 2, NULL);
    }
    sb_putc(&args, ']');
    sb_putc(&kwargs, '}');
    sb_puts(body, "{\"name\":");
    json_quote(body, argv[0], strlen(argv[0]));
    sb_printf(body, ",\"args\":%s,\"kwargs\":%s}", whole && whole->kind == J_ARRAY ? argv[1] : sb_str(&args),
              whole && whole->kind == J_OBJECT ? argv[1] : sb_str(&kwargs));
    free(args.s);
    free(kwargs.s);
}

int capability_run(int argc, char **argv)
{
    if (!capability_has(argv[0])) return -1;
    arena_mark_t m = arena_mark(&sh.tmp);
    strbuf body = { 0 };
    char *reply = NULL;
    size_t len = 0;
    add_arguments(&body, argc, argv);
    int rc = host_send('C', sb_str(&body), body.len, &reply, &len);
    free(body.s);
    json *j = rc >= 0 && reply ? json_parse(&sh.tmp, reply, len) : NULL;
    json *error = json_get(j, "error"), *value = json_get(j, "value");
    int status = 0;
    if (error && error->kind == J_OBJECT) {
        json *message = json_get(error, "message");
        sh_error("%s: %s", argv[0], message && message->kind == J_STRING ? message->text : "failed");
        status = 1;
    } else if (value) {
        if (out_write(value->raw, value->raw_len) || out_write("\n", 1)) status = 1;
    } else {
        sh_error("%s: the host refused the call", argv[0]);
        status = 1;
    }
    free(reply);
    arena_release(&sh.tmp, m);
    return status;
}
