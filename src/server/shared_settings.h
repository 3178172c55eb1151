/* shared_settings.h: settings that all servers over the same data share: the limits that limit.def
 * calls SHARED. They are a text of lines `name = value` (shared_text.h), of which each server keeps
 * a copy in the file `settings` of its data folder.
 *
 * The first server makes it of the limits it was started with; from then on the text counts,
 * whatever flags and widerow.conf of a server say. */
#ifndef SERVER_SHARED_SETTINGS_H
#define SERVER_SHARED_SETTINGS_H

#include "base/limit.h"
#include "server/shared_text.h"

struct shared_settings;

struct shared_settings_conf {
    const char *dir;                   /* the data folder, which must be there */
    const struct wr_setting *settings; /* what this server was given, the weakest first */
    size_t setting_count;
    bool strict; /* and the stricter defaults */
    struct log *log;
};

/* Gives `db` what is shared, and keeps it so (wr_settings_change). Logs where this server was given
 * something else. As shared_text_open(); `conf` is used during the call, but for its log. */
int shared_settings_open(struct wr_db *db, const struct shared_settings_conf *conf,
                         struct shared_settings **out, char *message, size_t message_size);
/* NULL is allowed. */
void shared_settings_close(struct shared_settings *s);

/* For shared_text_reconcile() and shared_text_version(). */
struct shared_text *shared_settings_text(struct shared_settings *s);

/* ---- pure, for tests too ---- */

/* Is this a whole text of valid settings? Else E_PARAMETER; the message names file and line, and of
 * one that is missing what `db` has. */
int shared_settings_check(const struct wr_db *db, const char *source, const char *text,
                          char *message, size_t size);

/* The settings that `conf` gives otherwise than `db` has them, as "name is 5 here and 4 there" with
 * commas, cut to `size`. Returns how many. */
size_t shared_settings_differ(const struct wr_db *db, const struct shared_settings_conf *conf,
                              char *out, size_t size);

#endif
