/* engine.c: the only file that sees the internals of QuickJS-ng.
 *
 * It includes the engine's one source file, unchanged, with other words for its errors (messages.h), and adds the few operations its public header lacks: a
 * read-eval-print view of top-level declarations, kinds of objects, and reseeding.
 * It does not know about requests, outcomes or the host.
 */
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wcast-function-type"
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wunused-variable"
#endif
#include "messages.h"
#include <stdio.h>
/* The engine writes the messages of its errors with this function, and nothing else. */
#define vsnprintf(to, size, format, arguments) vsnprintf(to, size, spell_message(format, arguments), arguments)
#include "quickjs.c"
#undef vsnprintf
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#include "engine.h"

/* Deletes the global property `name` when a program made it: imports (which cannot be written) always, `var` declarations
 * (which the engine made permanent) only when `permanent`. What programs make is enumerable, what they find is not. */
static int release_global(JSContext *ctx, JSAtom name, bool permanent)
{
    JSObject *global = JS_VALUE_GET_OBJ(ctx->global_obj);
    JSShapeProperty *prs = find_own_property1(global, name);
    if (!prs || !(prs->flags & JS_PROP_ENUMERABLE))
        return 0;
    bool imported = (prs->flags & JS_PROP_TMASK) == JS_PROP_GETSET || !(prs->flags & JS_PROP_WRITABLE);
    if (!imported && !(permanent && !(prs->flags & JS_PROP_CONFIGURABLE)))
        return 0;
    if (!(prs->flags & JS_PROP_CONFIGURABLE)) {
        if (js_shape_prepare_update(ctx, global, &prs))
            return -1;
        prs->flags |= JS_PROP_CONFIGURABLE;
    }
    return JS_DeleteProperty(ctx, ctx->global_obj, name, 0) < 0 ? -1 : 0;
}

JSValue engine_declarations(JSContext *ctx)
{
    return JS_DupValue(ctx, ctx->global_var_obj);
}

int engine_release_name(JSContext *ctx, JSAtom name)
{
    if (JS_DeleteProperty(ctx, ctx->global_var_obj, name, 0) < 0)
        return -1;
    return release_global(ctx, name, true);
}

int engine_release_declared(JSContext *ctx, JSValueConst script, JSAtom watched, bool *declared)
{
    *declared = false;
    if (JS_VALUE_GET_TAG(script) != JS_TAG_FUNCTION_BYTECODE)
        return 0;
    const JSFunctionBytecode *b = JS_VALUE_GET_PTR(script);
    /* INVARIANT: the compiler puts one check per declared name before any other instruction of a script. */
    const uint8_t *pc = b->byte_code_buf, *end = pc + b->byte_code_len;
    for (; pc + 6 <= end && *pc == OP_check_define_var; pc += 6) {
        JSAtom name = get_u32(pc + 1);
        bool lexical = (pc[5] & DEFINE_GLOBAL_LEX_VAR) != 0;
        if (name == watched)
            *declared = true;
        if (JS_DeleteProperty(ctx, ctx->global_var_obj, name, 0) < 0)
            return -1;
        if (release_global(ctx, name, lexical) < 0)
            return -1;
    }
    return 0;
}

/* Where the instruction at `pc` may jump to; NULL when it goes on. */
static const uint8_t *jump_of(const uint8_t *pc)
{
    switch (short_opcode_info(*pc).fmt) {
    case OP_FMT_label8: return pc + 1 + (int8_t)pc[1];
    case OP_FMT_label16: return pc + 1 + (int16_t)get_u16(pc + 1);
    case OP_FMT_label: return pc + 1 + (int32_t)get_u32(pc + 1);
    case OP_FMT_atom_label_u8: case OP_FMT_atom_label_u16: return pc + 5 + (int32_t)get_u32(pc + 5);
    default: return NULL;
    }
}

bool engine_ends_in_expression(JSValueConst script)
{
    if (JS_VALUE_GET_TAG(script) != JS_TAG_FUNCTION_BYTECODE)
        return false;
    const JSFunctionBytecode *b = JS_VALUE_GET_PTR(script);
    /* INVARIANT: a script ends by returning {value: …} of its first variable, which every expression statement stores to. */
    enum { TAIL = 4 };
    const uint8_t *pc = b->byte_code_buf, *end = pc + b->byte_code_len, *last[TAIL + 2] = {NULL}, *farthest = NULL;
    for (; pc < end; pc += short_opcode_info(*pc).size) {
        const uint8_t *target = jump_of(pc);
        if (target > farthest)
            farthest = target;
        memmove(last, last + 1, sizeof last - sizeof *last);
        last[TAIL + 1] = pc;
    }
    return last[0] && *last[0] == OP_put_loc0 && *last[1] == OP_object && farthest < last[1];
}

JSValue engine_take_lexical(JSContext *ctx, JSAtom name)
{
    JSProperty *pr;
    JSShapeProperty *prs = find_own_property(&pr, JS_VALUE_GET_OBJ(ctx->global_var_obj), name);
    if (!prs)
        return JS_UNINITIALIZED;
    JSValue value = JS_IsUninitialized(pr->u.value) ? JS_UNDEFINED : js_dup(pr->u.value);
    JS_DeleteProperty(ctx, ctx->global_var_obj, name, 0);
    return value;
}

void engine_seed_random(JSContext *ctx, uint64_t seed)
{
    ctx->random_state = seed ? seed : 1;
}

void engine_restart_clock(JSContext *ctx)
{
    ctx->time_origin = js__now_ms();
}

void engine_drop_jobs(JSRuntime *rt)
{
    struct list_head *el, *next;
    list_for_each_safe(el, next, &rt->job_list) {
        JSJobEntry *job = list_entry(el, JSJobEntry, link);
        list_del(&job->link);
        for (int i = 0; i < job->argc; i++)
            JS_FreeValueRT(rt, job->argv[i]);
        js_free_rt(rt, job);
    }
}

/* Follows the brackets of a program: `open` are those around the current token. False when they do not fit. */
static bool follow_bracket(JSParseState *s, DynBuf *open)
{
    int token = s->token.val;
    if (token == '(' || token == '[' || token == '{')
        return !dbuf_putc(open, (uint8_t)token);
    if (token == '}' && open->size && open->buf[open->size - 1] == '`') {
        open->size--;
        free_token(s, &s->token);
        if (js_parse_template_part(s, s->buf_ptr))
            return false;
        token = TOK_TEMPLATE;
    }
    if (token == TOK_TEMPLATE)
        return s->token.u.str.sep == '`' || !dbuf_putc(open, '`');
    if (token != ')' && token != ']' && token != '}')
        return true;
    return open->size && open->size-- > 0;
}

size_t engine_find_module_words(JSContext *ctx, const char *source, size_t len, size_t *offsets, size_t room)
{
    static const char meta[] = "import.meta";
    JSFunctionDef function = {.ctx = ctx, .is_strict_mode = true};
    JSParseState state, *s = &state;
    DynBuf open;
    size_t count = 0;
    js_parse_init(ctx, s, source, len, "<words>", 1);
    s->cur_func = &function;
    js_dbuf_init(ctx, &open);
    for (int last = 0; count < room && !next_token(s) && s->token.val != TOK_EOF; last = s->token.val) {
        int token = s->token.val, slash = token == TOK_DIV_ASSIGN ? 2 : token == '/' ? 1 : 0;
        size_t offset = (size_t)(s->token.ptr - s->buf_start);
        bool is_meta = token == TOK_IMPORT && len - offset > sizeof meta - 1 && !memcmp(s->token.ptr, meta, sizeof meta - 1);
        if (is_meta || ((token == TOK_EXPORT || (token == TOK_IMPORT && *s->buf_ptr != '(')) && !open.size))
            offsets[count++] = offset;
        if (slash && is_regexp_allowed(last)) {
            s->buf_ptr -= slash;
            if (js_parse_regexp(s))
                break;
        }
        if (!follow_bracket(s, &open))
            break;
    }
    free_token(s, &s->token);
    dbuf_free(&open);
    JS_FreeValue(ctx, JS_GetException(ctx));
    return count;
}

/* Puts the next entry of a table of positions behind those that are there, as the compiler does. */
static void put_position(DynBuf *table, uint32_t pc_step, int line_step, int column_step)
{
    if (line_step >= PC2LINE_BASE && line_step < PC2LINE_BASE + PC2LINE_RANGE && pc_step <= PC2LINE_DIFF_PC_MAX) {
        dbuf_putc(table, (uint8_t)(line_step - PC2LINE_BASE + (int)pc_step * PC2LINE_RANGE + PC2LINE_OP_FIRST));
    } else {
        dbuf_putc(table, 0);
        dbuf_put_leb128(table, pc_step);
        dbuf_put_sleb128(table, line_step);
    }
    dbuf_put_sleb128(table, column_step);
}

/* Writes the table of positions of one function again, with other columns. */
static int move_function(JSContext *ctx, JSFunctionBytecode *b, const struct moves *moves)
{
    const uint8_t *p = b->pc2line_buf, *end = p + b->pc2line_len;
    int line = b->line_num, column = b->col_num;
    b->col_num = (int)moves_undo(moves, (uint32_t)line, (uint32_t)column);
    if (!p)
        return 0;
    DynBuf table;
    js_dbuf_init(ctx, &table);
    for (int last = b->col_num; p < end;) {
        uint32_t pc_step = 0;
        int32_t line_step, column_step;
        unsigned op = *p++;
        if (op == 0) {
            p += get_leb128(&pc_step, p, end);
            p += get_sleb128(&line_step, p, end);
        } else {
            pc_step = (op - PC2LINE_OP_FIRST) / PC2LINE_RANGE;
            line_step = (int32_t)((op - PC2LINE_OP_FIRST) % PC2LINE_RANGE) + PC2LINE_BASE;
        }
        p += get_sleb128(&column_step, p, end);
        line += line_step;
        column += column_step;
        int moved = (int)moves_undo(moves, (uint32_t)line, (uint32_t)column);
        put_position(&table, pc_step, line_step, moved - last);
        last = moved;
    }
    if (dbuf_error(&table)) {
        dbuf_free(&table);
        JS_ThrowOutOfMemory(ctx);
        return -1;
    }
    js_free(ctx, b->pc2line_buf);
    b->pc2line_buf = table.buf;
    b->pc2line_len = (int)table.size;
    return 0;
}

/* Functions that are waiting to be moved; what a function contains is in its constants. */
static int move_all(JSContext *ctx, JSFunctionBytecode *first, const struct moves *moves)
{
    DynBuf waiting;
    js_dbuf_init(ctx, &waiting);
    dbuf_put(&waiting, (uint8_t *)&first, sizeof first);
    int status = 0;
    for (size_t done = 0; status == 0 && !dbuf_error(&waiting) && done < waiting.size; done += sizeof first) {
        JSFunctionBytecode *b;
        memcpy(&b, waiting.buf + done, sizeof b);
        status = move_function(ctx, b, moves);
        for (int i = 0; i < b->cpool_count; i++) {
            JSFunctionBytecode *inner = JS_VALUE_GET_PTR(b->cpool[i]);
            if (JS_VALUE_GET_TAG(b->cpool[i]) == JS_TAG_FUNCTION_BYTECODE)
                dbuf_put(&waiting, (uint8_t *)&inner, sizeof inner);
        }
    }
    if (status == 0 && dbuf_error(&waiting)) {
        JS_ThrowOutOfMemory(ctx);
        status = -1;
    }
    dbuf_free(&waiting);
    return status;
}

int engine_move_positions(JSContext *ctx, JSValueConst compiled, const struct moves *moves)
{
    if (moves->count == 0)
        return 0;
    if (JS_VALUE_GET_TAG(compiled) == JS_TAG_MODULE)
        compiled = ((JSModuleDef *)JS_VALUE_GET_PTR(compiled))->func_obj;
    return JS_VALUE_GET_TAG(compiled) == JS_TAG_FUNCTION_BYTECODE ? move_all(ctx, JS_VALUE_GET_PTR(compiled), moves) : 0;
}

JSValue engine_eval_at(JSContext *ctx, const char *source, size_t len, const char *filename, int line)
{
    const int flags = JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_COMPILE_ONLY;
    JSValue script = JS_EvalInternal(ctx, ctx->global_obj, source, len, filename, line, flags, -1);
    if (JS_IsException(script))
        return script;
    struct moves moves = moves_read(source, len);
    int status = engine_move_positions(ctx, script, &moves);
    moves_free(&moves);
    if (status == 0)
        return JS_EvalFunction(ctx, script);
    JS_FreeValue(ctx, script);
    return JS_EXCEPTION;
}

void engine_forget_file_modules(JSContext *ctx)
{
    struct list_head *el;
    list_for_each(el, &ctx->loaded_modules) {
        JSModuleDef *m = list_entry(el, JSModuleDef, link);
        const char *name = JS_AtomToCString(ctx, m->module_name);
        if (name && name[0] == '/') {
            JSAtom stale = JS_NewAtom(ctx, "stale:");
            JS_FreeAtom(ctx, m->module_name);
            m->module_name = stale;
        }
        JS_FreeCString(ctx, name);
    }
}

JSValue engine_module_namespace(JSContext *ctx, JSModuleDef *module)
{
    JSValue promise = JS_EvalFunction(ctx, JS_NewModuleValue(ctx, module));
    if (JS_IsException(promise))
        return promise;
    if (JS_PromiseState(ctx, promise) == JS_PROMISE_REJECTED) {
        JSValue reason = JS_PromiseResult(ctx, promise);
        JS_PromiseMarkAsHandled(ctx, promise);
        JS_FreeValue(ctx, promise);
        return JS_Throw(ctx, reason);
    }
    JS_FreeValue(ctx, promise);
    return JS_GetModuleNamespace(ctx, module);
}

enum engine_kind engine_kind(JSValueConst object)
{
    JSClassID id = JS_GetClassID(object);
    switch (id) {
    case JS_CLASS_OBJECT: return KIND_PLAIN;
    case JS_CLASS_ARRAY: return KIND_ARRAY;
    case JS_CLASS_ERROR: case JS_CLASS_DOM_EXCEPTION: return KIND_ERROR;
    case JS_CLASS_DATE: return KIND_DATE;
    case JS_CLASS_REGEXP: return KIND_REGEXP;
    case JS_CLASS_MAP: return KIND_MAP;
    case JS_CLASS_SET: return KIND_SET;
    case JS_CLASS_WEAKMAP: case JS_CLASS_WEAKSET: case JS_CLASS_WEAK_REF: return KIND_WEAK;
    case JS_CLASS_PROMISE: return KIND_PROMISE;
    case JS_CLASS_ARRAY_BUFFER: case JS_CLASS_SHARED_ARRAY_BUFFER: case JS_CLASS_DATAVIEW: return KIND_BUFFER;
    case JS_CLASS_NUMBER: case JS_CLASS_STRING: case JS_CLASS_BOOLEAN: case JS_CLASS_SYMBOL: case JS_CLASS_BIG_INT:
        return KIND_BOXED;
    case JS_CLASS_PROXY: return KIND_PROXY;
    case JS_CLASS_GENERATOR: case JS_CLASS_ASYNC_GENERATOR: return KIND_GENERATOR;
    case JS_CLASS_MODULE_NS: return KIND_NAMESPACE;
    case JS_CLASS_ARGUMENTS: case JS_CLASS_MAPPED_ARGUMENTS: return KIND_ARGUMENTS;
    case JS_CLASS_MAP_ITERATOR: case JS_CLASS_SET_ITERATOR: case JS_CLASS_ARRAY_ITERATOR: case JS_CLASS_STRING_ITERATOR:
    case JS_CLASS_REGEXP_STRING_ITERATOR: return KIND_ITERATOR;
    default: break;
    }
    if (JS_GetTypedArrayType(object) >= 0)
        return KIND_TYPED_ARRAY;
    return js_class_has_bytecode(id) || id == JS_CLASS_C_FUNCTION || id == JS_CLASS_C_FUNCTION_DATA ||
                   id == JS_CLASS_BOUND_FUNCTION || id == JS_CLASS_C_CLOSURE
               ? KIND_FUNCTION
               : KIND_OTHER;
}

JSValueConst engine_boxed(JSValueConst object)
{
    return JS_VALUE_GET_OBJ(object)->u.object_data;
}

/* Is the function `name` (of `len` bytes) the constructor of a prototype of `object`? */
static bool is_constructor_of(JSContext *ctx, JSObject *object, const char *name, size_t len)
{
    for (JSObject *proto = object->shape->proto; proto; proto = proto->shape->proto) {
        JSProperty *pr;
        JSShapeProperty *prs = find_own_property(&pr, proto, JS_ATOM_constructor);
        if (!prs || (prs->flags & JS_PROP_TMASK) != JS_PROP_NORMAL)
            continue;
        const char *own = get_func_name(ctx, pr->u.value);
        bool same = own && strlen(own) == len && !memcmp(own, name, len);
        JS_FreeCString(ctx, own);
        if (same)
            return true;
    }
    return false;
}

/* The frames after those of the constructors that made `object`. Consumes `frames`. */
static JSValue skip_constructors(JSContext *ctx, JSObject *object, JSValue frames)
{
    static const char at[] = "    at ";
    const char *text = JS_IsString(frames) ? JS_ToCString(ctx, frames) : NULL, *line = text;
    while (line && !strncmp(line, at, sizeof at - 1)) {
        const char *name = line + sizeof at - 1, *end = strchr(name, '\n'), *place = strstr(name, " (");
        if (!end || !place || place > end || !is_constructor_of(ctx, object, name, (size_t)(place - name)))
            break;
        line = end + 1;
    }
    if (line != text) {
        JS_FreeValue(ctx, frames);
        frames = JS_NewString(ctx, line);
    }
    JS_FreeCString(ctx, text);
    return frames;
}

JSValue engine_stack(JSContext *ctx, JSValueConst error)
{
    JSClassID id = JS_GetClassID(error);
    if (id != JS_CLASS_ERROR && id != JS_CLASS_DOM_EXCEPTION)
        return JS_UNDEFINED;
    JSProperty *pr;
    JSObject *object = JS_VALUE_GET_OBJ(error);
    JSShapeProperty *prs = find_own_property(&pr, object, JS_ATOM_stack);
    if (prs && (prs->flags & JS_PROP_TMASK) == JS_PROP_NORMAL)
        return js_dup(pr->u.value);
    return id == JS_CLASS_ERROR ? skip_constructors(ctx, object, js_dup(object->u.object_data)) : JS_UNDEFINED;
}

int engine_rename_source(JSContext *ctx, const char *from, const char *to)
{
    JSAtom old = JS_NewAtom(ctx, from), name = JS_NewAtom(ctx, to);
    int status = old == JS_ATOM_NULL || name == JS_ATOM_NULL ? -1 : 0;
    struct list_head *el;
    list_for_each(el, &ctx->rt->gc_obj_list) {
        JSGCObjectHeader *header = list_entry(el, JSGCObjectHeader, link);
        if (status < 0 || JS_GC_TYPE(header) != JS_GC_OBJ_TYPE_FUNCTION_BYTECODE)
            continue;
        JSFunctionBytecode *b = (JSFunctionBytecode *)header;
        if (b->filename == old) {
            JS_FreeAtom(ctx, b->filename);
            b->filename = JS_DupAtom(ctx, name);
        }
    }
    JS_FreeAtom(ctx, old);
    JS_FreeAtom(ctx, name);
    return status;
}

size_t engine_allocated_bytes(JSRuntime *rt)
{
    return rt->malloc_state.malloc_size;
}
