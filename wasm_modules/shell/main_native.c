/* main_native.c - hatchsh, the shell as an ordinary program: for tests, comparison with bash, and fuzzing. Not part of the guest.
 */
#include "sh.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void out_of_memory(void)
{
    fputs("bash: out of memory\n", stderr);
    exit(2);
}

bool capability_has(const char *name) { (void)name; return false; }
int capability_run(int argc, char **argv) { (void)argc; (void)argv; return -1; }

static char *slurp(FILE *f, size_t *len)
{
    strbuf b = { 0 };
    char buf[65536];
    for (size_t n; (n = fread(buf, 1, sizeof buf, f)) > 0;) sb_add(&b, buf, n);
    sb_str(&b);
    *len = b.len;
    return b.s;
}

static int check_only(const char *code, size_t len)
{
    syntax_error err = { 0 };
    sh.validate_only = true;
    parser *p = parser_new(code, len, 1);
    for (program *prog; (prog = parse_next(p, &err));) program_unref(prog);
    parser_free(p);
    if (!err.message[0]) return 0;
    fprintf(stderr, "%d:%d-%d:%d: %s\n", err.line, err.column, err.end_line, err.end_column, err.message);
    free(err.near_line);
    return 2;
}

int main(int argc, char **argv)
{
    int i = 1;
    bool only_check = false;
    char *code = NULL;
    size_t len = 0;
    extern char **environ;
    shell_start();
    for (char **e = environ; *e; e++) {
        char *eq = strchr(*e, '=');
        if (!eq) continue;
        char *name = xstrndup(*e, (size_t)(eq - *e));
        if (is_name(name) && strcmp(name, "IFS") && strcmp(name, "PWD") && strcmp(name, "SHELLOPTS") && strcmp(name, "UID") &&
            strcmp(name, "_") && strcmp(name, "OLDPWD")) {
            var_set_plain(name, eq + 1);
            var_export(name);
        }
        free(name);
    }
    shell_io(io_fd(0, 1, 0), io_fd(1, 0, 1), io_fd(2, 0, 1));
    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        if (!strcmp(argv[i], "-n")) only_check = true;
        else if (!strcmp(argv[i], "-c") && i + 1 < argc) { code = xstrdup(argv[++i]); len = strlen(code); i++; break; }
        else if (argv[i][1] == 'e' && !argv[i][2]) sh.opt[O_ERREXIT] = 1;
        else if (argv[i][1] == 'x' && !argv[i][2]) sh.opt[O_XTRACE] = 1;
        else { fprintf(stderr, "usage: hatchsh [-n] [-c CODE | FILE] [ARGUMENT ...]\n"); return 2; }
    }
    if (code) {
        if (i < argc) sh.arg0 = argv[i++];
    } else if (i < argc) {
        FILE *f = fopen(argv[i], "rb");
        if (!f) { fprintf(stderr, "bash: %s: No such file or directory\n", argv[i]); return 127; }
        sh.arg0 = argv[i++];
        sh.is_command_string = false;
        code = slurp(f, &len);
        fclose(f);
    } else {
        sh.is_command_string = false;
        sh.from_input = true;
        code = slurp(stdin, &len);
    }
    len = strip_nuls(code, len);
    if (only_check) return check_only(code, len);
    if (getenv("HATCHSH_MAX_DEPTH")) sh.max_depth = atoi(getenv("HATCHSH_MAX_DEPTH"));
    sh.args = argv + i;
    sh.nargs = argc - i;
    int status = shell_run(code, len);
    free(code);
    return status;
}
