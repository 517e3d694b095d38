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
    struct moves moves = moves_read(text, len);
    int status = JS_IsException(compiled) ? -1 : engine_move_positions(ctx, compiled, &moves);
    moves_free(&moves);
    JS_FreeCString(ctx, text);
    if (status < 0) {
        JS_FreeValue(ctx, compiled);
        return NULL;
    }
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

/* Reads the export a global stands for: data are the namespace and the export's name. */
static JSValue read_export(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int magic, JSValueConst *data)
{
    (void)self, (void)argc, (void)argv, (void)magic;
    return JS_GetPropertyValue(ctx, data[0], JS_DupValue(ctx, data[1]));
}

/* Makes the global `local` stand for the export `name`. A function is bound as it is, because it is called often and hardly
 * ever exchanged; any other value is read from its module each time. Returns -1 with an exception. */
static int bind_export(JSContext *ctx, JSValueConst ns, JSAtom name, JSAtom local)
{
    JSValue value = JS_GetProperty(ctx, ns, name);
    if (JS_IsException(value))
        return -1;
    const int flags = JS_PROP_CONFIGURABLE | JS_PROP_ENUMERABLE;
    if (JS_IsFunction(ctx, value))
        return JS_DefinePropertyValue(ctx, realm.global, local, value, flags | JS_PROP_HAS_WRITABLE);
    JS_FreeValue(ctx, value);
    JSValue data[2] = {ns, JS_AtomToString(ctx, name)};
    JSValue getter = JS_NewCFunctionData(ctx, read_export, 0, 0, 2, data);
    JS_FreeValue(ctx, data[1]);
    return JS_DefinePropertyGetSet(ctx, realm.global, local, getter, JS_UNDEFINED, flags);
}

/* Binds one name of an import statement. Returns -1 with an exception. */
static int bind_name(JSContext *ctx, const struct import *import, const struct binding *binding, JSValueConst ns)
{
    JSAtom local = JS_NewAtom(ctx, binding->local), name = binding->name ? JS_NewAtom(ctx, binding->name) : JS_ATOM_NULL;
    int status = engine_release_name(ctx, local);
    if (status >= 0 && !binding->name) {
        status = JS_DefinePropertyValue(ctx, realm.global, local, JS_DupValue(ctx, ns), JS_PROP_C_W_E);
    } else if (status >= 0 && JS_HasProperty(ctx, ns, name) > 0) {
        status = bind_export(ctx, ns, name, local);
    } else if (status >= 0) {
        JS_ThrowSyntaxError(ctx, "The module '%s' does not provide an export named '%s'", import->specifier, binding->name);
        status = -1;
    }
    JS_FreeAtom(ctx, local);
    JS_FreeAtom(ctx, name);
    return status;
}

static enum loop_end import_one(JSContext *ctx, const struct import *import, const char *filename)
{
    JSValue ns = JS_UNDEFINED, promise = JS_LoadModule(ctx, filename, import->specifier);
    if (JS_IsException(promise))
        return LOOP_THREW;
    enum loop_end end = loop_await(ctx, promise, &ns);
    JS_FreeValue(ctx, promise);
    for (size_t i = 0; end == LOOP_DONE && i < import->binding_count; i++)
        if (bind_name(ctx, import, &import->bindings[i], ns) < 0)
            end = LOOP_THREW;
    JS_FreeValue(ctx, ns);
    return end;
}

enum loop_end modules_import(JSContext *ctx, const struct program *program, const char *filename)
{
    enum loop_end end = LOOP_DONE;
    for (size_t i = 0; end == LOOP_DONE && i < program->import_count; i++) {
        realm.importing = &program->imports[i].at;
        end = import_one(ctx, &program->imports[i], filename);
    }
    if (end == LOOP_DONE)
        realm.importing = NULL;
    return end;
}

JSValue modules_require(JSContext *ctx, const char *path)
{
    JSModuleDef *module = load(ctx, path, NULL);
    return module ? engine_module_namespace(ctx, module) : JS_EXCEPTION;
}
