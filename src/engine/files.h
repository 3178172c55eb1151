/* files.h: folders of files, without folders below them, copied, made durable and removed. */
#ifndef ENGINE_FILES_H
#define ENGINE_FILES_H

#include "base/ctx.h"

/* Makes the folder `to` with a copy of every file of `from` that `wanted` (NULL: all) says yes to.
 * All of it is durable on return and, as far as the system heeds it, out of its cache, so that who
 * reads the copy reads the medium. */
int files_copy(struct ctx *c, const char *from, const char *to, bool (*wanted)(const char *name));

/* Makes every file of `dir`, and their names, durable. */
int files_sync(struct ctx *c, const char *dir);

/* Removes the files of `dir` and itself. What cannot be removed stays; a missing one is fine. */
void files_remove(const char *dir);

#endif
