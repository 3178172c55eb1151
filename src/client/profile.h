/* profile.h: servers that the user has logged in to, by names, in one file that only the user may
 * read: profiles in $XDG_CONFIG_HOME/widerow, or in .config/widerow of the home folder.
 *
 *   [NAME]
 *   endpoint = http://127.0.0.1:8600
 *   instance = local
 *   key_id = ...
 *   key_secret = ...
 *   ca_file = ... */
#ifndef CLIENT_PROFILE_H
#define CLIENT_PROFILE_H

#include "base/ctx.h"

#define PROFILE_DEFAULT "default"

/* NULL: not said. */
struct profile {
    const char *endpoint, *instance, *key_id, *key_secret, *ca_file;
};

/* The file's path in `a`; NULL: there is no home folder. */
const char *profile_path(struct arena *a);

/* Texts are in `a`. *found false: there is no profile of that name, or no file. A file that others
 * may read is refused. */
int profile_read(struct ctx *c, struct arena *a, const char *name, struct profile *out,
                 bool *found);

/* Puts it in place of the one of that name; the others stay. */
int profile_write(struct ctx *c, const char *name, const struct profile *p);

#endif
