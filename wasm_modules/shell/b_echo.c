/* b_echo.c - echo and printf. */
#include "builtins.h"
#include "element.h"
#include "lookup.h"
#include "real.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int b_echo(int argc, char **argv)
{
    bool newline = true, escapes = sh.shopt[S_XPG_ECHO], stop = false;
    int i = 1;
    if (sh.plain) { newline = argc < 2 || strcmp(argv[1], "-n"); i += !newline; }
    else for (; i < argc && argv[i][0] == '-' && argv[i][1] && !argv[i][1 + strspn(argv[i] + 1, "neE")]; i++)
        for (char *c = argv[i] + 1; *c; c++) if (*c == 'n') newline = false; else escapes = *c == 'e';
    if (!escapes && i == argc - 1 && newline) {   /* the common case, in one write */
        size_t n = strlen(argv[i]);
        char small[256];
        if (n < sizeof small) { memcpy(small, argv[i], n); small[n] = '\n'; return out_write(small, n + 1) ? 1 : 0; }
    }
    strbuf b = { .a = &sh.tmp };
    for (; i < argc && !stop; i++) {
        if (!escapes) sb_puts(&b, argv[i]);
        else for (char *s = argv[i]; *s && !stop;) {
            if (*s == '\\') s += 1 + decode_escape(s + 1, 'e', &b, &stop); else sb_putc(&b, *s++);
        }
        if (i + 1 < argc && !stop) sb_putc(&b, ' ');
    }
    if (newline && !stop) sb_putc(&b, '\n');
    return out_write(b.s ? b.s : "", b.len) ? 1 : 0;
}

/* ---- printf ---- */

typedef struct { strbuf out; char **argv; int argc, at; int status; bool stop, used, to_variable; } pf;

/* Before a message: the whole lines that come before it are seen before it. */
static void show_so_far(pf *p)
{
    size_t n = p->out.len;
    while (n > 0 && p->out.s[n - 1] != '\n') n--;
    if (p->to_variable || !n) return;
    out_write(p->out.s, n);
    p->out.len -= n;
    memmove(p->out.s, p->out.s + n, p->out.len);
}

static char *next_arg(pf *p)
{
    if (p->at < p->argc) { p->used = true; return p->argv[p->at++]; }
    return NULL;
}

static void bad_number(pf *p, const char *s)
{
    const char *digits = s + (*s == '-' || *s == '+');
    bool zero = digits[0] == '0', hex = zero && (digits[1] == 'x' || digits[1] == 'X');
    show_so_far(p);
    bool octal = zero && digits[1] >= '0' && digits[1] <= '9';
    b_error("printf", 1, "%s: invalid %snumber", s, hex ? "hex " : octal ? "octal " : "");
}

static int64_t arg_int(pf *p, bool is_unsigned)
{
    char *s = next_arg(p), *end;
    if (!s || !*s) return 0;
    if (*s == '\'' || *s == '"') { uint32_t c; utf8_next(s + 1, &c); return (int64_t)c; }
    errno = 0;
    int64_t v = is_unsigned && *s != '-' ? (int64_t)strtoull(s, &end, 0) : strtoll(s, &end, 0);
    bool far = errno == ERANGE && !end[strspn(end, "0123456789")];
    if (!far && (*end || end == s)) { bad_number(p, s); p->status = 1; }
    else if (far) { show_so_far(p); b_error("printf", 1, "warning: %s: Numerical result out of range", s); }
    return v;
}

static real arg_real(pf *p)
{
    char *s = next_arg(p), code[24];
    real r = { 0 };
    if (!s || !*s) return r;
    if (*s == '\'' || *s == '"') { uint32_t c; utf8_next(s + 1, &c); real_parse(fmt_int(c, code), &r); return r; }
    const char *end = real_parse(s, &r);
    if (*end || end == s) { bad_number(p, s); p->status = 1; }
    if (*s == '-' && !s[1]) r = (real){ 0 };
    return r;
}

/* Text with width and precision (in characters). */
static void padded(pf *p, const char *s, size_t n, const char *flags, int width, int precision)
{
    if (precision >= 0 && (size_t)precision < n) n = (size_t)precision;
    bool left = strchr(flags, '-') || width < 0;
    size_t want = width < 0 ? (size_t)-(int64_t)width : (size_t)width, pad = want > n ? want - n : 0;
    if (pad > 1 << 26) pad = 1 << 26;
    if (!left) for (size_t i = 0; i < pad; i++) sb_putc(&p->out, ' ');
    sb_add(&p->out, s, n);
    if (left) for (size_t i = 0; i < pad; i++) sb_putc(&p->out, ' ');
}

/* %(...)T: the tool date knows the formats and, from TZ, the zone. */
static void format_time(pf *p, const char *spec, size_t n, const char *flags, int width, int precision)
{
    char when_text[32], *s = next_arg(p);
    int64_t when = -1;
    if (s && !parse_int(s, &when)) { show_so_far(p); b_error("printf", 1, "%s: invalid number", s); p->status = 1; when = 0; }
    if (when == -1) when = time(NULL);
    else if (when == -2) when = sh.start_us / 1000000;
    snprintf(when_text, sizeof when_text, "@%lld", (long long)when);
    strbuf format = { .a = &sh.tmp };
    sb_putc(&format, '+');
    if (n) sb_add(&format, spec, n); else sb_puts(&format, "%X");
    char *argv[] = { "date", "-d", when_text, sb_str(&format), NULL };
    io *pipe = io_pipe(), *out = io_ref(fd_get(1));
    fd_set_io(1, io_ref(pipe));
    const tool_entry *date = tool_find("date");
    if (date) run_tool(date, 4, argv);
    fd_set_io(1, out);
    size_t len;
    const char *text = io_bytes(pipe, &len);
    padded(p, text, len ? len - 1 : 0, flags, width, precision);
    io_unref(pipe);
}

static void format_b(pf *p, const char *s, const char *flags, int width, int precision)
{
    strbuf b = { .a = &sh.tmp };
    bool stop = false;
    while (*s && !stop) if (*s == '\\') s += 1 + decode_escape(s + 1, 'b', &b, &stop); else sb_putc(&b, *s++);
    sb_str(&b);
    padded(p, b.s, b.len, flags, width, precision);
    if (stop) p->stop = true;
}

/* %f and its kin. Zeros that fill the width stand behind the sign. */
static void format_real(pf *p, char conv, const char *flags, int width, int precision)
{
    real r = arg_real(p);
    strbuf b = { .a = &sh.tmp };
    real_format(&b, &r, conv, flags, precision);
    sb_str(&b);
    if (strchr(flags, '0') && !strchr(flags, '-') && width > 0 && r.kind == REAL_FINITE) {
        size_t head = strchr("+- ", b.s[0]) ? 1 : 0;
        if (strchr("aA", conv)) head += 2;
        sb_add(&p->out, b.s, head);
        for (size_t n = b.len; n < (size_t)width; n++) sb_putc(&p->out, '0');
        sb_puts(&p->out, b.s + head);
    } else padded(p, b.s, b.len, flags, width, -1);
}

static void format_integer(pf *p, char conv, const char *flags, int width, int precision)
{
    char spec[32], *q = spec;
    *q++ = '%';
    for (const char *f = flags; *f && q < spec + 8; f++) *q++ = *f;
    strcpy(q, "*");
    q++;
    if (precision >= 0) { strcpy(q, ".*"); q += 2; }
    strcpy(q, "ll");
    q += 2;
    *q++ = conv;
    *q = 0;
    long long v = arg_int(p, conv != 'd' && conv != 'i');
    if (precision >= 0) sb_printf(&p->out, spec, width, precision, v); else sb_printf(&p->out, spec, width, v);
}

/* One conversion; s behind the %. Returns what follows it. */
static const char *conversion(pf *p, const char *s)
{
    const char *from = s;
    char flags[8] = "";
    size_t nf = strspn(s, "-+ #0'");
    for (size_t i = 0, k = 0; i < nf && k < 6; i++) if (s[i] != '\'' && !strchr(flags, s[i])) { flags[k++] = s[i]; flags[k] = 0; }
    s += nf;
    int width = 0, precision = -1;
    if (*s == '*') { width = (int)arg_int(p, false); s++; }
    else while (isdigit((unsigned char)*s)) { if (width < 100000000) width = width * 10 + (*s - '0'); s++; }
    if (*s == '.') {
        s++;
        precision = 0;
        if (*s == '*') { precision = (int)arg_int(p, false); s++; }
        else while (isdigit((unsigned char)*s)) { if (precision < 100000000) precision = precision * 10 + (*s - '0'); s++; }
    }
    while (*s && strchr("hlLjzt", *s)) s++;
    char c = *s, *arg;
    if (width > 1 << 26) width = 1 << 26;
    if (precision > 1 << 26) precision = 1 << 26;
    switch (c) {
    case '%':
        if (s != from) goto bad;
        sb_putc(&p->out, '%');
        break;
    case 's': arg = next_arg(p); padded(p, arg ? arg : "", arg ? strlen(arg) : 0, flags, width, precision); break;
    case 'b': arg = next_arg(p); format_b(p, arg ? arg : "", flags, width, precision); break;
    case 'c': arg = next_arg(p); padded(p, arg ? arg : "", 1, flags, width, -1); break;
    case 'q': case 'Q': {
        strbuf b = { .a = &sh.tmp };
        arg = next_arg(p);
        if (c == 'Q' && arg && precision >= 0) {   /* what is quoted is already cut */
            arg = arena_strndup(&sh.tmp, arg, (size_t)(utf8_skip(arg, (size_t)precision) - arg));
            precision = -1;
        }
        quote_backslash(&b, arg ? arg : "");
        sb_str(&b);
        padded(p, b.s, b.len, flags, width, precision);
        break;
    }
    case 'd': case 'i': case 'o': case 'u': case 'x': case 'X': format_integer(p, c, flags, width, precision); break;
    case 'e': case 'f': case 'g': case 'a': case 'E': case 'F': case 'G': case 'A':
        format_real(p, c, flags, width, precision);
        break;
    case 'n': { arg = next_arg(p); if (arg && is_name(arg)) var_set_int(arg, (int64_t)p->out.len); break; }
    case '(': {
        const char *close = strchr(s, ')');
        if (close && close[1] == 'T') {
            format_time(p, s + 1, (size_t)(close - s - 1), flags, width, precision);
            return close + 2;
        }
    }   /* fall through */
    default:
    bad:
        show_so_far(p);
        if (!c) { b_error("printf", 1, "`%s': missing format character", from - 1); }
        else b_error("printf", 1, "`%c': invalid format character", c);
        p->status = 1;
        p->stop = true;
        return s;
    }
    return s + 1;
}

static void format_once(pf *p, const char *f)
{
    while (*f && !p->stop) {
        if (*f == '%') f = conversion(p, f + 1);
        else if (sh.as_program && f[0] == '\\' && f[1] == 'c') p->stop = true;
        else if (*f == '\\') f += 1 + decode_escape(f + 1, 'f', &p->out, &p->stop);
        else sb_putc(&p->out, *f++);
    }
}

int b_printf(int argc, char **argv)
{
    opts o = OPTS("printf [-v var] format [arguments]");
    char *name = NULL;
    for (int c; (c = next_opt(&o, "v:"));) {
        if (c == '?') return 2;
        name = o.arg;
    }
    if (name && !is_name(name) && !element_text(name)) return b_error("printf", 2, "`%s': not a valid identifier", name);
    if (o.at >= argc) return b_usage("printf", o.usage);
    pf p = { .out = { .a = &sh.tmp }, .argv = argv, .argc = argc, .at = o.at + 1, .to_variable = name };
    do {
        p.used = false;
        format_once(&p, argv[o.at]);
    } while (p.at < argc && p.used && !p.stop);
    sb_str(&p.out);
    if (!name) return (p.out.len && out_write(p.out.s, p.out.len)) ? 1 : p.status;
    bool ok = is_name(name) ? var_set(name, p.out.s) : element_assign(name, p.out.s, 0);
    return ok ? p.status : 1;
}
