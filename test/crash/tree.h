/* tree.h: folders of files: copies, lists, damage. Failures end the test. */
#ifndef CRASH_TREE_H
#define CRASH_TREE_H

#include "crash.h"

#include <sys/types.h>

#define TREE_FILES_MAX 200

struct tree_file {
    char name[200]; /* from the folder on: "db/000004.log" */
    off_t size;
};

struct tree {
    struct tree_file files[TREE_FILES_MAX]; /* by name */
    int count;
};

/* Makes `to`, which must not exist, with all that is in `from`. */
void tree_copy(struct crash *run, const char *from, const char *to);
void tree_remove(const char *dir);
void tree_list(struct crash *run, const char *dir, struct tree *out);

/* The last file, by name, that begins with `head`, ends with `tail` and is not empty; NULL: none.
 */
const struct tree_file *tree_find(const struct tree *t, const char *head, const char *tail);

void file_flip_bit(struct crash *run, const char *dir, const char *name, off_t byte, int bit);
void file_truncate(struct crash *run, const char *dir, const char *name, off_t size);
void file_delete(struct crash *run, const char *dir, const char *name);
/* Overwrites from `at` on; the file grows if need be. */
void file_write(struct crash *run, const char *dir, const char *name, off_t at, const void *data,
                size_t n);
void file_copy(struct crash *run, const char *from, const char *to);

#endif
