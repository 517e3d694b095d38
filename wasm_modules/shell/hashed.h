/* hashed.h - the paths of commands that were run or named to `hash`. */
#ifndef HATCH_HASHED_H
#define HATCH_HASHED_H
typedef struct hashed { struct hashed *next; char *name, *path; int hits; } hashed;
hashed *hashed_all(void);                        /* the newest first */
const char *hashed_path(const char *name);       /* NULL when it is not remembered */
void hashed_set(const char *name, const char *path);   /* path NULL forgets */
void hashed_hit(const char *name);               /* the command was run; remembered as /usr/bin/NAME if it was not */
void hashed_forget_all(void);
hashed *hashed_suspend(void);                    /* a new shell begins without any; returns what there was ... */
void hashed_resume(hashed *was);                 /* ... for when it has ended */
#endif
