/* awk.h - the awk language: POSIX with gawk's common additions.
 *
 * Reading order: awk.c (command line); from program to tree: awk_source.c, awk_lex.c, awk_parse.c, awk_statement.c, awk_expression.c; data:
 * awk_value.c (numbers, strings, arrays), awk_keys.c (the order of for-in), awk_stream.c (files and commands), awk_record.c
 * (records), awk_fields.c (fields); running: awk_eval.c (expressions), awk_regex.c, awk_exec.c (statements and the main loop), awk_call.c
 * (built-in functions), awk_text.c and awk_replace.c (those of text), awk_random.c (rand), awk_format.c (printf), awk_info.c
 * (PROCINFO, SYMTAB), awk_message.c (errors, warnings and lint).
 *
 * A fatal error sets A->fatal; everything unwinds through ordinary returns. No state outlives the call.
 */
#ifndef HATCH_AWK_H
#define HATCH_AWK_H
#include "buffer.h"
#include "held.h"
#include "patterns.h"
#include "pool.h"
#include <stdint.h>

typedef struct { int refs; size_t n; char text[]; } astr;

enum {
    V_NONE = 0,
    V_NUM = 1,
    V_STR = 2,
    V_MAYBE = 4,
    V_ARRAY = 8,
    V_REGEX = 16,
    V_BOOL = 32,
    V_BASES = 64
}; /* V_MAYBE: a string from input that may look like a number; V_BOOL: a number of mkbool; V_BASES: 0x and 0 count (-n) */
typedef struct cell cell;
typedef struct array array;
struct cell {
    unsigned char type;
    unsigned char was_read;            /* its value was asked for when it had none */
    double num;
    union {
        astr *str;
        array *arr;
    };
    cell *origin;
}; /* origin: of a parameter that is untyped or an array, the caller's variable */

typedef struct slot { astr *key; cell value; unsigned hash; int next; } slot;
struct array { slot *slots; int count, used, cap, *heads, head_cap, refs, by_number; }; /* by_number: awk_keys.c */

enum {
    E_NUM,
    E_STR,
    E_REGEX,
    E_VAR,
    E_LOCAL,
    E_INDEX,
    E_FIELD,
    E_ASSIGN,
    E_COND,
    E_AND,
    E_OR,
    E_NOT,
    E_NEG,
    E_PLUS,
    E_BIN,
    E_COMPARE,
    E_MATCH,
    E_NOMATCH,
    E_IN,
    E_CONCAT,
    E_PREINC,
    E_PREDEC,
    E_POSTINC,
    E_POSTDEC,
    E_CALL,
    E_BUILTIN,
    E_GETLINE,
    E_GROUP,
    S_BLOCK,
    S_EXPR,
    S_PRINT,
    S_PRINTF,
    S_IF,
    S_WHILE,
    S_DO,
    S_FOR,
    S_FORIN,
    S_BREAK,
    S_CONTINUE,
    S_NEXT,
    S_NEXTFILE,
    S_EXIT,
    S_RETURN,
    S_DELETE,
    S_SWITCH,
    S_CASE
};

typedef struct anode anode;
struct anode {
    int kind, op, index, line;         /* op: operator or redirection; index: variable, local, function or builtin number */
    double num;
    astr *str;
    regex *re;
    anode *a, *b, *c, *d, *next;
    int count;
};

typedef struct { char *name; int index, params, is_defined, warned, line, defined; anode *body; char **param_names; } afunc; /* lines: first use, definition */
typedef struct { anode *pattern, *end, *body; int kind, active; } arule;  /* kind: 0 pattern, B E f(BEGINFILE) e(ENDFILE) */

enum {
    VAR_NF,
    VAR_NR,
    VAR_FNR,
    VAR_FS,
    VAR_OFS,
    VAR_RS,
    VAR_ORS,
    VAR_SUBSEP,
    VAR_CONVFMT,
    VAR_OFMT,
    VAR_RSTART,
    VAR_RLENGTH,
    VAR_FILENAME,
    VAR_ENVIRON,
    VAR_ARGC,
    VAR_ARGV,
    VAR_RT,
    VAR_IGNORECASE,
    VAR_FIELDWIDTHS,
    VAR_FPAT,
    VAR_PROCINFO,
    VAR_ERRNO,
    VAR_ARGIND,
    VAR_BINMODE,
    VAR_LINT,
    VAR_PREC,
    VAR_ROUNDMODE,
    VAR_TEXTDOMAIN,
    VAR_SYMTAB,
    VAR_FUNCTAB,
    VAR_SPECIAL
};

typedef struct astream {
    astr *name;
    int kind;
    io *s;
    int eof;
    buffer rest;
    size_t at;
    int status;
    int write_closed, read_closed;     /* of a command that was written to and read from */
    struct astream *next;
} astream; /* kind: > a(>>) < |(to command) p(from command) */

/* From this line on the program is file's (-e: NULL), from its line first. */
typedef struct {
    int line, first, depth;
    size_t start;                      /* in the program's text */
    const char *file, *path;           /* as it was named, and as it was found */
    int kind;                          /* f: a program file, i: included, e: text */
    int is_cut;                        /* its last line has no newline */
} apart;
typedef struct { const char *text; astr *key; regex *re; int fold; } regex_slot;
enum { REGEX_CACHE = 64 };

enum { AWK_RANDOM_DEGREE = 63, AWK_RANDOM_TABLE = 512 };
typedef struct {
    uint32_t state[AWK_RANDOM_DEGREE], table[AWK_RANDOM_TABLE], last;
    int front, rear, is_seeded;
} awk_random;

/* A running function's parameters, and its caller's. elements: of an untyped argument that is an element, its array and key. */
typedef struct { array *in; astr *key; } aelement;
typedef struct aframe { cell *cells; aelement *elements; afunc *of; struct aframe *up; } aframe;

enum { LINT_NONE, LINT_WARN, LINT_FATAL };

typedef struct awk {
    tool *t;
    pool pool;
    buffer program;
    apart *parts;
    int part_count, program_lines;
    int line;                          /* of the statement that runs */
    char **var_names;
    cell *vars;
    int var_count, var_cap;
    afunc *funcs;
    int func_count, func_cap;
    arule *rules;
    int rule_count, rule_cap;
    int begin_only, exiting, in_end;
    cell *locals;                      /* of the running function */
    afunc *locals_of;
    aframe *frame;                     /* the same, and those of its callers */
    int depth;
    cell returned;
    astr *record;                      /* $0 */
    int record_is_text;                /* it was assigned a string: it does not look like a number */
    cell *fields;
    int nf, fields_cap, split_done, record_stale,
        split_mode; /* record_stale: $0 must be rebuilt from fields; split_mode: by 'F'S, F'P'AT, 'W'idths, 'C'SV */
    char **files;
    int file_count, next_arg, used_file;
    astream *input;                    /* the main input */
    int in_place;                      /* -i inplace: what is printed replaces the file that is read */
    io *real_out;                      /* standard output while it is set aside for that */
    held_out held;
    astream *streams;
    regex_slot cache[REGEX_CACHE];
    awk_random random;
    double seed_number;
    int fatal, exit_code;
    int leaving;                       /* RUN_NEXT or RUN_NEXTFILE, on the way out of a function that said so */
    int uses_info, uses_environ;       /* the program names PROCINFO, ENVIRON */
    int uses_tables;                   /* the program names SYMTAB or FUNCTAB */
    int is_sandboxed, any_base;        /* -S, -n */
    int lint, is_posix, is_traditional; /* --lint, --posix, --traditional */
    int errors;                        /* told while the program was read */
    int is_running;
    int bytes;                         /* a character is a byte: -b, or the C locale */
    unsigned char warned[256], warned_regex[256];  /* characters whose needless backslash was told */
    astr *empty;
} awk;

cell awk_option_value(awk *A, const char *text);        /* of an assignment on the command line */

/* awk_source.c: 0, or a status after a message */
int awk_source_text(awk *A, const char *text);
int awk_source_file(awk *A, const char *path, int kind); /* kind: f or i */
int awk_source_end(awk *A);                             /* after the last part */
void awk_source_place(awk *A, int line);                /* begins a message: "awk: cmd. line:1: " */

/* awk_lex.c and awk_parse.c */
int awk_parse(awk *A, const char *text, size_t n);     /* 0, or 2 after a message */
astr *awk_unescape(awk *A, const char *text);           /* the escapes of a string constant, as in -v x='a\tb' and -F '\t' */
int awk_variable(awk *A, const char *name, size_t n);  /* index of the global variable, made when new; -1: fatally too many */

/* awk_value.c */
astr *astr_new(awk *A, const char *text, size_t n);
astr *astr_room(awk *A, size_t n);                      /* text to be filled in by the caller */
static inline astr *astr_ref(astr *s) { s->refs++; return s; }
void astr_unref(awk *A, astr *s);
cell cell_num(double n);
cell cell_str(astr *s);                                 /* takes the reference */
cell cell_input(const awk *A, astr *s);                 /* takes the reference; may look like a number */
cell cell_copy(cell c);
void cell_drop(awk *A, cell c);
double cell_number(cell *c);
astr *cell_string(awk *A, const cell *c, int output);    /* a reference; output: OFMT instead of CONVFMT */
int cell_true(cell *c);
int cell_is_number(cell *c);                            /* decides V_MAYBE */
int cell_compare(awk *A, cell *a, cell *b);
double awk_text_number(const char *text, size_t n);          /* the leading number */
array *amap_new(awk *A);
void amap_clear(awk *A, array *a);
cell *amap_get(awk *A, array *a, astr *key, int make);  /* NULL when missing and not make */
void amap_delete(awk *A, array *a, astr *key);
int amap_is_index(const astr *key);                     /* whether gawk files the key as an integer */
cell *amap_at(awk *A, array *a, const char *key);
cell *awk_array_cell(awk *A, array *a, astr *key, int make); /* as amap_get; of SYMTAB the variable itself. NULL after a fatal error */
enum { MAKE_TO_ASSIGN = 2 };
void amap_drop(awk *A, array *a);

/* awk_stream.c, awk_record.c, awk_fields.c */
int awk_record_next(awk *A);                                 /* the next main record into $0; 0 at the end */
int awk_record_read(awk *A, astream *s, astr **record);       /* 1, 0 at the end, -1 error */
void awk_record_set(awk *A, astr *s);                        /* takes the reference */
void awk_fields_split(awk *A);
cell *awk_field_get(awk *A, int i, int make);
void awk_field_assigned(awk *A, int i);
void awk_nf_assigned(awk *A);
void awk_widths_check(awk *A);                               /* FIELDWIDTHS was assigned */
astr *awk_record_text(awk *A);                               /* borrowed */
void awk_errno_set(awk *A, int code);                        /* ERRNO: its message, empty for 0 */
int awk_split_text(awk *A, astr *s, array *to, array *seps, const cell *fs, regex *re); /* number of pieces */
/* A piece of a record or text, and what parts it from the next one. */
typedef void awk_piece_fn(awk *A, void *context, const char *text, size_t n, const char *sep, size_t sep_n);
/* What matches re, as FPAT and patsplit have it; here the separator stands before its piece, and after all comes one of its own
 * (text NULL). The number of pieces. */
int awk_split_fields(awk *A, regex *re, const char *p, size_t n, awk_piece_fn *each, void *context);
astream *awk_stream_find(awk *A, astr *name, int kind, int make);
astream *awk_coprocess_turn(awk *A, astr *name);             /* the stream to read from after |& */
int awk_stream_close(awk *A, astr *name);                    /* the status, -1 when not open */
void awk_streams_flush(awk *A);
void awk_streams_close(awk *A);                              /* all of them, the newest first */
void awk_out_flush(awk *A);                                  /* what is held back of standard output */
int awk_run_command(awk *A, astr *command, io *in, io *out); /* with the shell */
void awk_file_next(awk *A);                                  /* nextfile */

/* awk_eval.c */
cell awk_eval(awk *A, anode *n);
double awk_eval_number(awk *A, anode *n);
astr *awk_eval_string(awk *A, anode *n);
int awk_eval_true(awk *A, anode *n);
cell awk_record_cell(awk *A);                                /* $0 */
cell *awk_eval_place(
    awk *A, anode *n, int *special); /* variable, element or field to assign to; *special: what awk_place_assigned needs */
void awk_place_assigned(awk *A, anode *n, int special);
array *awk_eval_array(awk *A, anode *n);
astr *awk_subscript(awk *A, anode *list);

/* awk_regex.c */
regex *awk_regex_constant(awk *A, const char *text, size_t n, int line, const char **message); /* NULL: *message */
regex *awk_regex_cached(awk *A, astr *text);                 /* borrowed; NULL after a fatal error */
regex *awk_eval_regex(awk *A, anode *n);                     /* the same */

/* awk_exec.c */
enum { RUN_ON, RUN_BREAK, RUN_CONTINUE, RUN_NEXT, RUN_NEXTFILE, RUN_EXIT, RUN_RETURN };
int awk_exec(awk *A, anode *n);
int awk_run(awk *A);
cell awk_call_function(awk *A, anode *n);
afunc *awk_function_named(awk *A, const char *name);
cell awk_call_with(awk *A, afunc *f, const cell *args, int n); /* takes the references in args */

/* awk_keys.c */
astr **amap_keys(awk *A, array *a, int *n);             /* references in the arena, in the order of for-in without PROCINFO */
void awk_keys_sort(awk *A, array *a, astr **keys, int n, const char *how); /* how: "@ind_str_asc" and the like, or a function */

/* awk_text.c */
size_t awk_chars(const awk *A, const char *text, size_t n);              /* how many characters */
size_t awk_char_offset(const awk *A, const char *text, size_t n, size_t chars); /* where, in bytes, the first chars end */

/* awk_info.c */
void awk_info_fill(awk *A, int argc, char **argv);      /* PROCINFO, before the program runs */
void awk_tables_fill(awk *A);                           /* SYMTAB and FUNCTAB */
void awk_split_by(awk *A, int mode);                    /* sets split_mode, and PROCINFO["FS"] */

/* awk_dump.c */
int awk_dump(awk *A, const char *path);                 /* -d: all variables; a status */

/* awk_random.c */
void awk_random_seed(awk_random *r, double seed);
double awk_random_next(awk_random *r);               /* from 0 up to, but not, 1 */

/* awk_call.c, awk_format.c */
const char *awk_builtin_name(int index);
int awk_builtin_count(void);
int awk_builtin_takes(int index, int count);                 /* whether it may have so many arguments */
int awk_builtin_named(const char *name, size_t n);           /* -1 when there is none */
cell awk_call_builtin(awk *A, anode *n);
astr *awk_format_text(awk *A, astr *format, cell *args, int n);
void *awk_fatal(awk *A, const char *format, ...) __attribute__((format(printf, 2, 3))); /* NULL */
#endif
