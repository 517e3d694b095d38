/* urls.c: URLs for the prelude, parsed by Ada by the WHATWG's rules. */
#include <string.h>

#include "ada_c.h"
#include "natives.h"

typedef bool (*setter)(ada_url, const char *, size_t);

static bool set_search(ada_url url, const char *text, size_t len)
{
    ada_set_search(url, text, len);
    return true;
}

static bool set_hash(ada_url url, const char *text, size_t len)
{
    ada_set_hash(url, text, len);
    return true;
}

static const struct {
    const char *name;
    ada_string (*get)(ada_url);
    setter set;
} parts[] = {
    {"href", ada_get_href, NULL},
    {"protocol", ada_get_protocol, ada_set_protocol},
    {"username", ada_get_username, ada_set_username},
    {"password", ada_get_password, ada_set_password},
    {"host", ada_get_host, ada_set_host},
    {"hostname", ada_get_hostname, ada_set_hostname},
    {"port", ada_get_port, ada_set_port},
    {"pathname", ada_get_pathname, ada_set_pathname},
    {"search", ada_get_search, set_search},
    {"hash", ada_get_hash, set_hash},
};

/* The parts of a URL as an object; null when it is none. Frees it. */
static JSValue take_parts(JSContext *ctx, ada_url url)
{
    if (!ada_is_valid(url)) {
        ada_free(url);
        return JS_NULL;
    }
    JSValue made = JS_NewObject(ctx);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        ada_string text = parts[i].get(url);
        JS_SetPropertyStr(ctx, made, parts[i].name, JS_NewStringLen(ctx, text.data, text.length));
    }
    ada_owned_string origin = ada_get_origin(url);
    JS_SetPropertyStr(ctx, made, "origin", JS_NewStringLen(ctx, origin.data, origin.length));
    ada_free_owned_string(origin);
    ada_free(url);
    return made;
}

/* parseUrl(text, base?): its parts, or null. */
static JSValue parse_url(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self;
    size_t len, base_len = 0;
    const char *text = JS_ToCStringLen(ctx, &len, argv[0]);
    const char *base = text && argc > 1 && !JS_IsUndefined(argv[1]) ? JS_ToCStringLen(ctx, &base_len, argv[1]) : NULL;
    JSValue made = JS_EXCEPTION;
    if (text && !JS_HasException(ctx))
        made = take_parts(ctx, base ? ada_parse_with_base(text, len, base, base_len) : ada_parse(text, len));
    JS_FreeCString(ctx, text);
    JS_FreeCString(ctx, base);
    return made;
}

/* changeUrl(href, part, value): the parts of a URL after one of them was set; what cannot be set stays. */
static JSValue change_url(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    size_t len, value_len;
    const char *href = JS_ToCStringLen(ctx, &len, argv[0]), *part = href ? JS_ToCString(ctx, argv[1]) : NULL;
    const char *value = part ? JS_ToCStringLen(ctx, &value_len, argv[2]) : NULL;
    JSValue made = JS_EXCEPTION;
    if (value) {
        ada_url url = ada_parse(href, len);
        for (size_t i = 0; ada_is_valid(url) && i < sizeof parts / sizeof *parts; i++)
            if (parts[i].set && !strcmp(parts[i].name, part))
                parts[i].set(url, value, value_len);
        made = take_parts(ctx, url);
    }
    JS_FreeCString(ctx, href);
    JS_FreeCString(ctx, part);
    JS_FreeCString(ctx, value);
    return made;
}

/* domainTo(text, ascii): a host name in ASCII, or as people read it; "" when it is none. */
static JSValue domain_to(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self, (void)argc;
    size_t len;
    const char *text = JS_ToCStringLen(ctx, &len, argv[0]);
    if (!text)
        return JS_EXCEPTION;
    ada_owned_string made = JS_ToBool(ctx, argv[1]) ? ada_idna_to_ascii(text, len) : ada_idna_to_unicode(text, len);
    JSValue value = JS_NewStringLen(ctx, made.data, made.length);
    ada_free_owned_string(made);
    JS_FreeCString(ctx, text);
    return value;
}

int urls_install(JSContext *ctx, JSValueConst native)
{
    static const JSCFunctionListEntry functions[] = {
        JS_CFUNC_DEF("parseUrl", 2, parse_url),
        JS_CFUNC_DEF("changeUrl", 3, change_url),
        JS_CFUNC_DEF("domainTo", 2, domain_to),
    };
    return JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
