/* moves.c: see moves.h. */
#include "moves.h"

#include <stdlib.h>
#include <string.h>

static const char mark[] = "//# moves=";

/* The list in the last line that is no bracket of a wrapper; NULL when there is none. */
static const char *find_list(const char *text, size_t len)
{
    const char *end = text + len;
    for (int lines = 0; lines < 2; lines++) {
        const char *line = end;
        while (line > text && line[-1] != '\n')
            line--;
        if ((size_t)(end - line) > sizeof mark - 1 && !memcmp(line, mark, sizeof mark - 1))
            return line + sizeof mark - 1;
        if (line == text)
            return NULL;
        end = line - 1;
    }
    return NULL;
}

static uint32_t read_number(const char **at, const char *end)
{
    uint32_t number = 0;
    while (*at < end && **at >= '0' && **at <= '9')
        number = number * 10 + (uint32_t)(*(*at)++ - '0');
    if (*at < end && (**at == ',' || **at == ';'))
        (*at)++;
    return number;
}

struct moves moves_read(const char *text, size_t len)
{
    struct moves moves = {0};
    const char *at = find_list(text, len), *end = text + len;
    if (!at)
        return moves;
    size_t count = 1;
    for (const char *c = at; c < end; c++)
        count += *c == ';';
    moves.list = malloc(count * sizeof *moves.list);
    while (moves.list && moves.count < count && at < end && *at >= '0' && *at <= '9') {
        struct move *move = &moves.list[moves.count++];
        move->line = read_number(&at, end);
        move->column = read_number(&at, end);
        move->bytes = read_number(&at, end);
    }
    return moves;
}

void moves_free(struct moves *moves)
{
    free(moves->list);
    *moves = (struct moves){0};
}

/* The first move of a line or of a later one. */
static size_t first_of_line(const struct moves *moves, uint32_t line)
{
    size_t low = 0, high = moves->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (moves->list[middle].line < line)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t moves_undo(const struct moves *moves, uint32_t line, uint32_t column)
{
    uint32_t inserted = 0;
    for (size_t i = first_of_line(moves, line); i < moves->count && moves->list[i].line == line; i++) {
        const struct move *move = &moves->list[i];
        if (column <= move->column)
            break;
        inserted += column - move->column < move->bytes ? column - move->column : move->bytes;
    }
    return inserted < column ? column - inserted : 1;
}

char *moves_strip(const struct moves *moves, const char *text, size_t *len)
{
    char *kept = malloc(*len + 1), *to = kept;
    if (!kept)
        return NULL;
    uint32_t line = 1, column = 1;
    size_t next = 0;
    for (size_t i = 0; i < *len;) {
        const struct move *move = next < moves->count ? &moves->list[next] : NULL;
        if (move && move->line == line && move->column == column) {
            size_t bytes = move->bytes < *len - i ? move->bytes : *len - i;
            i += bytes;
            column += (uint32_t)bytes;
            next++;
            continue;
        }
        column = text[i] == '\n' ? 1 : column + 1;
        line += text[i] == '\n';
        *to++ = text[i++];
    }
    *to = '\0';
    *len = (size_t)(to - kept);
    return kept;
}
