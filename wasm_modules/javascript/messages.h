/* messages.h: what the engine's own errors say, in the words that programs know from Node. Included by engine.c alone, after
 * the engine, whose one place that formats messages calls `say`.
 *
 * A message that is not in the table stays as it is. What is called and is no function is named from the bytecode before the
 * call, as far as that is a name or a chain of properties.
 */

/* A new text takes the arguments of the old one, in their order, or fewer. */
static const struct { const char *engine, *node; } SAID[] = {
    {"cannot read property '%s' of undefined", "Cannot read properties of undefined (reading '%s')"},
    {"cannot read property '%s' of null", "Cannot read properties of null (reading '%s')"},
    {"cannot set property '%s' of undefined", "Cannot set properties of undefined (setting '%s')"},
    {"cannot set property '%s' of null", "Cannot set properties of null (setting '%s')"},
    {"cannot convert to object", "Cannot convert undefined or null to object"},
    {"cannot convert symbol to string", "Cannot convert a Symbol value to a string"},
    {"cannot convert symbol to number", "Cannot convert a Symbol value to a number"},
    {"cannot convert BigInt to number", "Cannot mix BigInt and other types, use explicit conversions"},
    {"BigInt are forbidden in JSON.stringify", "Do not know how to serialize a BigInt"},
    {"class constructors must be invoked with 'new'", "Class constructor cannot be invoked without 'new'"},
    {"private class field '%s' does not exist", "Cannot read private member %s from an object whose class did not declare it"},
    {"invalid 'instanceof' right operand", "Right-hand side of 'instanceof' is not callable"},
    {"circular reference", "Converting circular structure to JSON"},
    {"empty array", "Reduce of empty array with no initial value"},
    {"invalid array length", "Invalid array length"},
    {"invalid string length", "Invalid string length"},
    {"Date value is NaN", "Invalid time value"},
    {"expecting %%", "URI malformed"},
    {"expecting hex digit", "URI malformed"},
    {"malformed UTF-8", "URI malformed"},
    {"expecting surrogate pair", "URI malformed"},
};

enum { INSTRUCTIONS_SEEN = 96, CHAIN_MAX = 12 };

/* The instructions of a function up to the one under way. */
typedef struct {
    JSContext *ctx;
    const JSFunctionBytecode *code;
    const uint8_t *at[INSTRUCTIONS_SEEN];
    int count;
} Trail;

/* False where the frame is no bytecode, or the call is too far from the function's beginning to be sure. */
static bool follow(Trail *trail, JSContext *ctx)
{
    const JSStackFrame *frame = ctx->rt->current_stack_frame;
    trail->ctx = ctx;
    trail->code = frame ? JS_GetFunctionBytecode(frame->cur_func) : NULL;
    trail->count = 0;
    if (!trail->code || !frame->cur_pc)
        return false;
    const uint8_t *pc = trail->code->byte_code_buf, *end = frame->cur_pc;
    for (; pc < end; pc += short_opcode_info(*pc).size) {
        if (trail->count == INSTRUCTIONS_SEEN) {
            memmove(trail->at, trail->at + 1, sizeof trail->at - sizeof *trail->at);
            trail->count--;
        }
        trail->at[trail->count++] = pc;
    }
    return pc == end && trail->count > 0;
}

static int argument_count(const uint8_t *pc)
{
    int fmt = short_opcode_info(*pc).fmt;
    return fmt == OP_FMT_npop ? get_u16(pc + 1) : fmt == OP_FMT_npopx ? *pc - OP_call0 : 0;
}

static bool is_call(const uint8_t *pc)
{
    int fmt = short_opcode_info(*pc).fmt;
    return (fmt == OP_FMT_npop || fmt == OP_FMT_npopx) && *pc != OP_array_from && *pc != OP_call_constructor;
}

/* The instruction before number `i` that pushed the value `depth` places below the top, as the stack was before it; -1 if a
 * jump is in between. */
static int find_pusher(const Trail *trail, int i, int depth)
{
    while (--i >= 0) {
        const uint8_t *pc = trail->at[i];
        if (jump_of(pc))
            return -1;
        if (depth < short_opcode_info(*pc).n_push)
            return i;
        depth += short_opcode_info(*pc).n_pop + argument_count(pc) - short_opcode_info(*pc).n_push;
    }
    return -1;
}

/* The name of the variable that an instruction reads, or JS_ATOM_NULL. */
static JSAtom variable_of(const JSFunctionBytecode *b, const uint8_t *pc)
{
    int index = -1, op = *pc;
    switch (short_opcode_info(op).fmt) {
    case OP_FMT_atom:
        return op == OP_get_var || op == OP_get_var_undef ? get_u32(pc + 1) : JS_ATOM_NULL;
    case OP_FMT_loc: case OP_FMT_arg: case OP_FMT_var_ref: index = get_u16(pc + 1); break;
    case OP_FMT_loc8: index = pc[1]; break;
    case OP_FMT_none_loc: index = op == OP_get_loc0_loc1 ? 1 : op - OP_get_loc0; break;
    case OP_FMT_none_arg: index = op - OP_get_arg0; break;
    case OP_FMT_none_var_ref: index = op - OP_get_var_ref0; break;
    default: return JS_ATOM_NULL;
    }
    switch (op) {
    case OP_get_arg: case OP_get_arg0: case OP_get_arg1: case OP_get_arg2: case OP_get_arg3:
        return index < b->arg_count ? b->vardefs[index].var_name : JS_ATOM_NULL;
    case OP_get_var_ref: case OP_get_var_ref_check:
    case OP_get_var_ref0: case OP_get_var_ref1: case OP_get_var_ref2: case OP_get_var_ref3:
        return index < b->closure_var_count ? b->closure_var[index].var_name : JS_ATOM_NULL;
    case OP_get_loc: case OP_get_loc_check: case OP_get_loc8: case OP_get_loc0_loc1:
    case OP_get_loc0: case OP_get_loc1: case OP_get_loc2: case OP_get_loc3:
        return index < b->var_count ? b->vardefs[b->arg_count + index].var_name : JS_ATOM_NULL;
    default: return JS_ATOM_NULL;
    }
}

/* Writes what instruction number `i` pushed, as it was written: `a.b(...).c`; false if that cannot be told. */
static bool describe(const Trail *trail, int i, char *out, size_t size)
{
    struct { JSAtom name; bool called; } chain[CHAIN_MAX];
    int links = 0;
    char text[ATOM_GET_STR_BUF_SIZE];
    const char *root = "(intermediate value)";
    for (bool called = false; i >= 0; ) {
        const uint8_t *pc = trail->at[i];
        JSAtom name = variable_of(trail->code, pc);
        if (links == CHAIN_MAX)
            return false;
        if (name != JS_ATOM_NULL) {
            chain[links].name = name;
            chain[links++].called = called;
            root = NULL;
            break;
        }
        if (is_call(pc)) {
            i = find_pusher(trail, i, argument_count(pc));
            called = true;
        } else if (*pc == OP_get_field || *pc == OP_get_field2) {
            chain[links].name = get_u32(pc + 1);
            chain[links++].called = called;
            called = false;
            i = find_pusher(trail, i, 0);
        } else {
            if (*pc == OP_push_this)
                root = "this";
            break;
        }
    }
    size_t len = root ? (size_t)snprintf(out, size, "%s", root) : 0;
    while (links-- > 0 && len < size)
        len += (size_t)snprintf(out + len, size - len, "%s%s%s", len ? "." : "",
                                JS_AtomGetStr(trail->ctx, text, sizeof text, chain[links].name), chain[links].called ? "(...)" : "");
    return true;
}

/* What was called and is no function; false if that cannot be told. */
static bool describe_callee(JSContext *ctx, char *out, size_t size)
{
    Trail trail;
    if (!follow(&trail, ctx))
        return false;
    int call = trail.count - 1;
    if (!is_call(trail.at[call]))
        return false;
    int pusher = find_pusher(&trail, call, argument_count(trail.at[call]));
    return pusher >= 0 && describe(&trail, pusher, out, size);
}

/* Is a property being written, and not a constant? */
static bool writes_property(JSContext *ctx)
{
    Trail trail;
    if (!follow(&trail, ctx))
        return true;
    int op = *trail.at[trail.count - 1];
    return op == OP_put_field || op == OP_put_array_el;
}

static int say(JSContext *ctx, char *out, size_t size, const char *fmt, va_list args)
{
    char named[160];
    if (!strcmp(fmt, "not a function"))
        return describe_callee(ctx, named, sizeof named) ? snprintf(out, size, "%s is not a function", named) : vsnprintf(out, size, fmt, args);
    if (!strcmp(fmt, "'%s' is read-only"))
        fmt = writes_property(ctx) ? "Cannot assign to read only property '%s' of object '#<Object>'" : "Assignment to constant variable.";
    else if (!strcmp(fmt, "%s is not initialized")) {
        va_list first;
        va_copy(first, args);
        fmt = strcmp(va_arg(first, const char *), "this") ? "Cannot access '%s' before initialization"
            : "Must call super constructor in derived class before accessing 'this' or returning from derived constructor";
        va_end(first);
    }
    for (size_t i = 0; i < countof(SAID); i++)
        if (!strcmp(fmt, SAID[i].engine))
            fmt = SAID[i].node;
    return vsnprintf(out, size, fmt, args);
}
