/* folder.h: a folder of a test's own. Included behind cmocka. */
#ifndef UNIT_FOLDER_H
#define UNIT_FOLDER_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#define FOLDER_BYTES 64

/* Its path into dir[FOLDER_BYTES]. */
static inline void folder_make(char *dir)
{
    snprintf(dir, FOLDER_BYTES, "/tmp/widerow-unit-XXXXXX");
    assert_non_null(mkdtemp(dir));
}

static inline int folder_remove_one(const char *path, const struct stat *st, int flag,
                                    struct FTW *f)
{
    (void)st;
    (void)flag;
    (void)f;
    return remove(path);
}

/* With all that is in it; nothing if there is none. */
static inline void folder_remove(const char *dir)
{
    nftw(dir, folder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
