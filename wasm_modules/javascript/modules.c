/* modules.c: see modules.h. */
#include "modules.h"

#include <string.h>

#include "engine.h"
#include "realm.h"

#define EXPORTS_LIMIT 4096

/* Asks the prelude what absolute name `name` has when imported from `base`. */
static char *normalize(JSContext *ctx, const char *base, const char *name, void *opaque)
{
    (void)opaque;
    JSValue args[2] = {JS_NewString(ctx, base), JS_NewString(ctx, name)};
    JSValue resolved = realm_hook("resolveModule", 2, args);
    JS_FreeValue(ctx, args[0]);
    JS_FreeValue(ctx, args[1]);
    const char *text = JS_IsException(resolved) ? NULL : JS_ToCString(ctx, resolved);
    char *copy = text ? js_strdup(ctx, text) : NULL;
    JS_FreeCString(ctx, text);
    JS_FreeValue(ctx, resolved);
    return copy;
}

/* Gives a module made of a value its exports: `default` is the value, its own properties are the named ones. */
static int fill_value_module(JSContext *ctx, JSModuleDef *module)
{
    JSValue value = JS_GetModulePrivateValue(ctx, module);
    JSPropertyEnum *props = NULL;
    uint32_t count = 0;
    int status = 0;
    if (JS_IsObject(value))
        status = JS_GetOwnPropertyNames(ctx, &props, &count, value, JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY);
    for (uint32_t i = 0; status >= 0 && i < count; i++) {
        const char *name = JS_AtomToCString(ctx, props[i].atom);
        JSValue property = JS_GetProperty(ctx, value, props[i].atom);
        if (!name || JS_IsException(property))
            status = -1;
        else if (strcmp(name, "default") != 0)
            JS_SetModuleExport(ctx, module, name, JS_DupValue(ctx, property)); /* a name added since then is left out */
        JS_FreeValue(ctx, property);
        JS_FreeCString(ctx, name);
    }
    if (props)
        JS_FreePropertyEnum(ctx, props, count);
    if (status >= 0)
        status = JS_SetModuleExport(ctx, module, "default", JS_DupValue(ctx, value));
    JS_FreeValue(ctx, value);
    return status;
}

/* Declares the exports fill_value_module will set. Consumes `value`. */
static JSModuleDef *make_value_module(JSContext *ctx, const char *name, JSValue value)
{
    JSModuleDef *module = JS_NewCModule(ctx, name, fill_value_module);
    if (!module) {
        JS_FreeValue(ctx, value);
        return NULL;
    }
    JS_AddModuleExport(ctx, module, "default");
    JSPropertyEnum *props = NULL;
    uint32_t count = 0;
    if (JS_IsObject(value) &&
        JS_GetOwnPropertyNames(ctx, &props, &count, value, JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY) == 0) {
        for (uint32_t i = 0; i < count && i < EXPORTS_LIMIT; i++) {
            const char *key = JS_AtomToCString(ctx, props[i].atom);
            if (key && strcmp(key, "default") != 0)
                JS_AddModuleExport(ctx, module, key);
            JS_FreeCString(ctx, key);
        }
        JS_FreePropertyEnum(ctx, props, count);
    }
    JS_SetModulePrivateValue(ctx, module, value);
    return module;
}

/* Compiles module source and gives it its import.meta. */
static JSModuleDef *compile_module(JSContext *ctx, const char *name, JSValueConst source)
{
    size_t len;
    const char *text = JS_ToCStringLen(ctx, &len, source);
    if (!text)
        return NULL;
    JSValue compiled = JS_Eval(ctx, text, len, name, JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY);
    JS_FreeCString(ctx, text);
    if (JS_IsException(compiled))
        return NULL;
    JSModuleDef *module = JS_VALUE_GET_PTR(compiled);
    JSValue args[2] = {JS_GetImportMeta(ctx, module), JS_NewString(ctx, name)};
    JSValue filled = realm_hook("fillMeta", 2, args);
    JS_FreeValue(ctx, args[0]);
    JS_FreeValue(ctx, args[1]);
    JS_FreeValue(ctx, compiled);
    if (JS_IsException(filled))
        return NULL;
    JS_FreeValue(ctx, filled);
    return module;
}

/* The prelude gives {source} for ES modules and {value} for anything that is already a value (built-ins, JSON, CommonJS). */
static JSModuleDef *load(JSContext *ctx, const char *name, void *opaque)
{
    (void)opaque;
    JSValue arg = JS_NewString(ctx, name);
    JSValue loaded = realm_hook("loadModule", 1, &arg);
    JS_FreeValue(ctx, arg);
    if (JS_IsException(loaded))
        return NULL;
    JSValue source = JS_GetPropertyStr(ctx, loaded, "source");
    JSModuleDef *module;
    if (JS_IsString(source))
        module = compile_module(ctx, name, source);
    else
        module = make_value_module(ctx, name, JS_GetProperty(ctx, loaded, realm.atoms.value));
    JS_FreeValue(ctx, source);
    JS_FreeValue(ctx, loaded);
    return module;
}

void modules_install(JSRuntime *rt)
{
    JS_SetModuleLoaderFunc(rt, normalize, load, NULL);
}

static int bind_names(JSContext *ctx, const struct import *import, JSValueConst ns)
{
    int status = 1;
    for (size_t i = 0; i < import->binding_count && status > 0; i++) {
        const struct binding *b = &import->bindings[i];
        JSAtom local = JS_NewAtom(ctx, b->local), name = b->name ? JS_NewAtom(ctx, b->name) : JS_ATOM_NULL;
        if (b->name) {
            status = engine_bind_import(ctx, ns, name, local);
        } else {
            JS_FreeValue(ctx, engine_take_lexical(ctx, local));
            status = JS_SetProperty(ctx, realm.global, local, JS_DupValue(ctx, ns)) < 0 ? -1 : 1;
        }
        if (status == 0)
            JS_ThrowSyntaxError(ctx, "The module '%s' does not provide an export named '%s'", import->specifier, b->name);
        JS_FreeAtom(ctx, local);
        JS_FreeAtom(ctx, name);
    }
    return status > 0 ? 0 : -1;
}

enum loop_end modules_import(JSContext *ctx, const struct program *program, const char *filename)
{
    for (size_t i = 0; i < program->import_count; i++) {
        JSValue ns = JS_UNDEFINED, promise = JS_LoadModule(ctx, filename, program->imports[i].specifier);
        if (JS_IsException(promise))
            return LOOP_THREW;
        enum loop_end end = loop_await(ctx, promise, &ns);
        JS_FreeValue(ctx, promise);
        if (end != LOOP_DONE)
            return end;
        int status = bind_names(ctx, &program->imports[i], ns);
        JS_FreeValue(ctx, ns);
        if (status < 0)
            return LOOP_THREW;
    }
    return LOOP_DONE;
}

JSValue modules_require(JSContext *ctx, const char *path)
{
    JSModuleDef *module = load(ctx, path, NULL);
    return module ? engine_module_namespace(ctx, module) : JS_EXCEPTION;
}
