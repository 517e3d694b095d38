/* json.h - JSON values for jq and yq: counted by reference, changed in place when nobody else holds them.
 *
 * Ownership: a function that takes a jv takes it over, unless its comment says "borrowed"; what it returns is the caller's.
 * Strings are UTF-8 bytes with a length. Objects keep the order of insertion. A number read from text that a double cannot print
 * back the same keeps its text.
 */
#ifndef HATCH_JSON_H
#define HATCH_JSON_H
#include "buffer.h"
#include "pool.h"
#include <stdint.h>

typedef enum { J_INVALID, J_NULL, J_FALSE, J_TRUE, J_NUMBER, J_LITERAL, J_STRING, J_ARRAY, J_OBJECT } jkind;
typedef struct { int refs; uint32_t n, hash, literal; double number; char text[]; } jstr;     /* number: of a J_LITERAL */
typedef struct jarr jarr;
typedef struct jobj jobj;
typedef struct { jkind kind; union { double n; jstr *s; jarr *a; jobj *o; void *p; }; } jv;
struct jarr { int refs; uint32_t n, cap; jv *at; };
typedef struct { jstr *key; jv value; } jslot;
struct jobj {
    int refs;
    uint32_t n, cap, index_cap;
    jslot *at;
    uint32_t *index;
}; /* index: slot + 1 by hash; only when n > 8 */
typedef struct {
    tool *t;
    pool pool;
    int depth;
} jctx; /* depth: of a comparison under way */

void json_start(jctx *C, tool *t);
static inline jv jv_of(jkind kind) { jv v; v.kind = kind; v.n = 0; return v; }
static inline jv jv_null(void) { return jv_of(J_NULL); }
static inline jv jv_bool(int b) { return jv_of(b ? J_TRUE : J_FALSE); }
static inline jv jv_num(double n) { jv v; v.kind = J_NUMBER; v.n = n; return v; }
static inline jv jv_copy(jv v) { if (v.kind >= J_LITERAL) ++*(int *)v.p; return v; }
void jv_release(jctx *C, jv v);
static inline void jv_drop(jctx *C, jv v) { if (v.kind >= J_LITERAL && --*(int *)v.p == 0) jv_release(C, v); }

jv jv_text(jctx *C, const char *text, size_t n);
jv jv_cstr(jctx *C, const char *text);
jv jv_room(jctx *C, size_t n);                             /* a string to be filled in */
jv jv_format(jctx *C, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline int jv_is_number(jv v) { return v.kind == J_NUMBER || v.kind == J_LITERAL; }
static inline double jv_number(jv v) { return v.kind == J_NUMBER ? v.n : v.kind == J_LITERAL ? v.s->number : 0; }
static inline int jv_true(jv v) { return v.kind != J_NULL && v.kind != J_FALSE; }
const char *jv_kind_name(jv v);
uint32_t jstr_hash(jstr *s);

jv jv_array(jctx *C, uint32_t cap);
jv jv_push(jctx *C, jv array, jv v);
jv jv_own(jctx *C, jv v);                                   /* the same value, held by nobody else (one level deep) */
jv jv_slice(jctx *C, jv v, double from, double to);          /* array or string (code points), clamped, negative from the end */
jv jv_concat(jctx *C, jv a, jv b);                          /* two arrays or two strings */

jv jv_object(jctx *C);
jv *jv_find(jv object, const char *key, uint32_t n);         /* borrowed object; NULL when missing */
jv *jv_find_key(jv object, jstr *key);
jv jv_set(jctx *C, jv object, jstr *key, jv v);              /* key borrowed */
jv jv_put(jctx *C, jv object, const char *key, jv v);
jv jv_remove(jctx *C, jv object, jstr *key);                 /* key borrowed */
jv jv_keys(jctx *C, jv object, int sorted);                  /* object borrowed */

int jv_compare(jctx *C, jv a, jv b);                        /* jq's order; both borrowed */
int jv_equal(jctx *C, jv a, jv b);                          /* both borrowed */
void jv_sort(jctx *C, jv *at, uint32_t n);                   /* stable */

enum { COLOR_NULL, COLOR_FALSE, COLOR_TRUE, COLOR_NUMBER, COLOR_STRING, COLOR_ARRAY, COLOR_OBJECT, COLOR_KEY, COLORS };
/* indent 0: one line; colors: what begins each, NULL where it is as usual */
typedef struct { int indent, tab, sort, ascii, color; const char *colors[COLORS]; } json_style;
void json_write(jctx *C, buffer *b, jv v, const json_style *style);  /* v borrowed */
void json_number(buffer *b, double n);
jv json_text(jctx *C, jv v);                                  /* compact; v borrowed */

/* Reads the values of text[0..n) one after another. */
typedef struct {
    jctx *C;
    const char *begin, *p, *end;
    const char *error;
    int line, column;
    jv *stack;
    int depth, cap;
    jv *keys;
    int seq, at_end;
    int keep, loose; /* keep: after an error what was open stays on the stack; loose: no separator followed the last value */
} json_reader;
void json_reader_start(json_reader *r, jctx *C, const char *text, size_t n);
void json_reader_abandon(json_reader *r);                      /* drops what keep has left */
jv json_next(json_reader *r);                                 /* J_INVALID at the end; with r->error set, on malformed text */
void json_explain(json_reader *r); /* after an error: makes error, line, column and at_end what jq says */
jv json_fault_text(json_reader *r);                            /* "MESSAGE at line N, column N" */
enum { JSON_DEEPEST = 10000 };
#endif
