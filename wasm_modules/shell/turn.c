/* turn.c - the guest's exports (ABI.md): host_alloc and turn. One turn is one program; the shell's state stays between turns.
 *
 * What stays: variables, functions, aliases, options, traps (EXIT runs at each turn's end and is then gone, as bash's does), the
 * working directory, descriptors opened with exec. What does not: 0, 1 and 2 are the host's again in every turn, $? begins at 0.
 */
#include "host.h"
#include "tool.h"
#include "json.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((import_module("host"), import_name("call")))
int32_t host_call(const void *ptr, uint32_t len, uint32_t *out_ptr, uint32_t *out_len);

static bool started;
static char *reserve;            /* given back when memory runs out, so that the outcome can still be written */
static bool done;
static bool used;                /* a program has run since the image was made */

__attribute__((export_name("host_alloc")))
void *host_alloc(uint32_t len) { return malloc(len ? len : 1); }

int host_send(char opcode, const char *body, size_t n, char **reply, size_t *reply_len)
{
    uint32_t p = 0, len = 0;
    char *message = xmalloc(n + 1);
    message[0] = opcode;
    memcpy(message + 1, body, n);
    int rc = host_call(message, (uint32_t)n + 1, &p, &len);
    free(message);
    char *got = (char *)(uintptr_t)p;
    if (rc < 0 || !reply) { free(got); return rc; }
    *reply = got ? xstrndup(got, len) : NULL;
    *reply_len = len;
    free(got);
    return rc;
}

static void add_span(strbuf *b, const syntax_error *e)
{
    sb_printf(b, "\"span\":{\"line\":%d,\"column\":%d,\"end_line\":%d,\"end_column\":%d}", e->line, e->column, e->end_line,
              e->end_column);
}

static void add_failure(strbuf *b, const char *code, const char *message, const syntax_error *span)
{
    sb_printf(b, "\"code\":\"%s\",\"message\":", code);
    json_quote(b, message, strlen(message));
    if (span) { sb_putc(b, ','); add_span(b, span); }
}

/* What is not said is as the host expects it: status 0, no error. Most turns say nothing, and so need no number written out. */
static void send_outcome(int status, const char *code, const char *message, const syntax_error *span, bool as_diagnostic)
{
    strbuf b = { 0 };
    if (done) return;
    done = true;
    sb_putc(&b, '{');
    if (status) sb_printf(&b, "\"exit_code\":%d%s", status, code ? "," : "");
    if (code) {
        sb_puts(&b, as_diagnostic ? "\"diagnostics\":[{\"severity\":\"error\"," : "\"error\":{");
        add_failure(&b, code, message, span);
        sb_puts(&b, as_diagnostic ? "}]" : "}");
        if (!sh.has_run) sb_puts(&b, ",\"ran\":false");
    }
    sb_putc(&b, '}');
    host_send('D', b.s, b.len, NULL, NULL);
    free(b.s);
}

void out_of_memory(void)
{
    free(reserve);
    reserve = NULL;
    io_show();
    send_outcome(2, "MEMORY_EXCEEDED", "the shell ran out of memory", NULL, false);
    __builtin_trap();
}

void tool_oom(void) { out_of_memory(); }

/* inputs: text becomes a scalar, a list an array, an object an associative array, null nothing at all. */
static void set_input(json *j)
{
    if (!is_name(j->key)) return;
    slot *s = slot_of(j->key);
    if (s->top && s->top->flags & V_READONLY) return;
    var_unset(s, 1);
    if (j->kind == J_NULL) return;
    if (j->kind != J_ARRAY && j->kind != J_OBJECT) { var_set_plain(j->key, j->text); return; }
    var *v = var_writable(s, -1);
    var_make_array(s, v, j->kind == J_OBJECT);
    v->flags |= V_SET;
    int64_t i = 0;
    for (json *x = j->child; x; x = x->next) {
        if (j->kind == J_ARRAY) arr_set(v->u.a, i++, xstrdup(x->text));
        else if (*x->key) assoc_set(v->u.h, x->key, xstrdup(x->text));
    }
}

static void check_only(const char *code, size_t len)
{
    syntax_error err = { 0 };
    sh.validate_only = true;
    parser *p = parser_new(code, len, 1);
    for (program *prog; (prog = parse_next(p, &err));) program_unref(prog);
    parser_free(p);
    sh.validate_only = false;
    send_outcome(0, err.message[0] ? "SYNTAX_ERROR" : NULL, err.message, &err, true);
    free(err.near_line);
}

static void run(const char *code, size_t len)
{
    int status = shell_run(code, len);
    if (sh_syntax.message[0]) send_outcome(status, "SYNTAX_ERROR", sh_syntax.message, &sh_syntax, false);
    else if (sh.stack_overflow)
        send_outcome(status ? status : 1, "STACK_OVERFLOW", "maximum function nesting level exceeded", NULL, false);
    else send_outcome(status, NULL, NULL, NULL, false);
}

/* Descriptors 0-2 anew, whatever the last turn made of them. What it left unread of its input is gone with it. */
static void fresh_streams(void)
{
    if (fd_get(1) && io_fileno(fd_get(1)) == 1 && fd_get(2) && io_fileno(fd_get(2)) == 2 && !io_failed(fd_get(1)))
        fd_set_io(0, io_fd(0, 1, 0));
    else shell_io(io_fd(0, 1, 0), io_fd(1, 0, 1), io_fd(2, 0, 1));
}

/* Tells the host where the flag is by which it asks a program to end. */
static void offer_interrupt(void)
{
    uint32_t address = (uint32_t)(uintptr_t)&tool_interrupted;
    char body[5] = { 0 };
    memcpy(body + 1, &address, sizeof address);
    host_send('K', body, sizeof body, NULL, NULL);
}

static void start(void)
{
    if (started) return;
    started = true;
    if (chdir("/workspace") < 0 && chdir("/") < 0) { /* the host always has a root directory */ }
    shell_start();
    reserve = malloc(16384);
}

__attribute__((constructor)) static void at_image(void) { start(); }

__attribute__((export_name("turn")))
int32_t turn(char *ptr, uint32_t len)
{
    arena a = { 0 };
    start();
    done = false;
    json *req = json_parse(&a, ptr, len), *x;
    json *code = json_get(req, "code");
    fresh_streams();
    capability_refresh();
    if (!used) special_clock();   /* SECONDS counts from the session's first turn, not from when its image was made */
    if (code && code->kind == J_STRING && code->len) used = true;   /* the warm-up turn of an image is empty */
    if ((x = json_get(req, "seed")) && x->kind == J_STRING && x->len >= 16) {
        char head[17];
        memcpy(head, x->text, 16);
        head[16] = 0;
        special_reseed(strtoull(head, NULL, 16));
    }
    if ((x = json_get(req, "max_stack_depth")) && x->kind == J_NUMBER && atoi(x->text) > 0) sh.max_depth = atoi(x->text);
    if ((x = json_get(req, "inputs"))) for (json *j = x->child; j; j = j->next) set_input(j);
    if ((x = json_get(req, "env")))
        for (json *j = x->child; j; j = j->next)
            if (j->kind == J_STRING && is_name(j->key)) {
                var_set_plain(j->key, j->text);
                var_export(j->key);
            }
    tool_interrupted = 0;
    if (json_get(req, "interruptible")) offer_interrupt();
    free(ptr);
    if (code && code->kind == J_STRING) code->len = strip_nuls(code->text, code->len);
    if (!code || code->kind != J_STRING) send_outcome(2, "RUNTIME_ERROR", "the request is malformed", NULL, false);
    else if ((x = json_get(req, "validate_only")) && x->kind == J_TRUE) check_only(code->text, code->len);
    else run(code->text, code->len);
    arena_free(&a);
    return 0;
}
