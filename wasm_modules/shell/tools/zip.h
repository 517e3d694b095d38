/* zip.h - archives in the ZIP format, held in memory: what zip and unzip share. Stored and deflated entries; no encryption, no ZIP64,
 * no split archives. */
#ifndef HATCH_ZIP_H
#define HATCH_ZIP_H
#include "buffer.h"

enum { ZIP_STORED = 0, ZIP_DEFLATED = 8 };

typedef struct {
    char *name;                          /* directories end in a slash */
    unsigned method, crc, mode;          /* mode: as st_mode, 0 when the archive does not say */
    unsigned date, time;                 /* as MS-DOS keeps them */
    size_t size, packed;
    const char *data;                    /* packed bytes */
} zip_entry;

typedef struct { zip_entry *at; size_t n, cap; } zip_list;

void zip_add(tool *t, zip_list *list, zip_entry e);
int zip_read(tool *t, const buffer *archive, zip_list *list);       /* 0, or -1: no zip archive, or a damaged one */
void zip_write(buffer *archive, const zip_list *list);
int zip_unpack(const zip_entry *e, buffer *to);            /* 0, or -1: damaged, or a method that is not known */
int zip_percent(size_t packed, size_t size);                        /* saved, rounded as zip shows it */
int zip_chosen(char **patterns, int n, const char *name);           /* whether one of the shell patterns matches the whole name */
#endif
