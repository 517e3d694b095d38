/* messages.c: see messages.h. */
#include "messages.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *engine, *spelt;
} messages[] = {
    {"cannot read property '%s' of null", "Cannot read properties of null (reading '%s')"},
    {"cannot read property '%s' of undefined", "Cannot read properties of undefined (reading '%s')"},
    {"cannot set property '%s' of null", "Cannot set properties of null (setting '%s')"},
    {"cannot set property '%s' of undefined", "Cannot set properties of undefined (setting '%s')"},
    {"%s is not initialized", "Cannot access '%s' before initialization"},
    {"private class field '%s' does not exist", "Cannot read private member %s from an object whose class did not declare it"},
    {"cannot convert BigInt to number", "Cannot mix BigInt and other types, use explicit conversions"},
    {"BigInt are forbidden in JSON.stringify", "Do not know how to serialize a BigInt"},
    {"cannot convert symbol to string", "Cannot convert a Symbol value to a string"},
    {"circular reference", "Converting circular structure to JSON"},
    {"invalid array length", "Invalid array length"},
    {"empty array", "Reduce of empty array with no initial value"},
    {"Date value is NaN", "Invalid time value"},
    {"expecting %%", "URI malformed"},
    {"expecting hex digit", "URI malformed"},
    {"malformed UTF-8", "URI malformed"},
    {"invalid character", "URI malformed"},
    {"expecting surrogate pair", "URI malformed"},
};

/* Of a constructor's own `this`, which is no variable. */
static const char no_super[] =
    "Must call super constructor in derived class before accessing 'this' or returning from derived constructor";

const char *spell_message(const char *format, va_list arguments)
{
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        if (strcmp(format, messages[i].engine))
            continue;
        if (strncmp(format, "%s is", 5))
            return messages[i].spelt;
        va_list looked;
        va_copy(looked, arguments);
        const char *name = va_arg(looked, const char *);
        va_end(looked);
        return !strcmp(name, "this") ? no_super : strcmp(name, "lexical variable") ? messages[i].spelt : format;
    }
    return format;
}
