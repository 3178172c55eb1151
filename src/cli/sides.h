/* sides.h: the flags of commands that have two servers: where tables come from and where they go.
 */
#ifndef CLI_SIDES_H
#define CLI_SIDES_H

#include "cli/console/option.h"
#include "client/client.h"

/* Rows of `struct target_conf side`, a member of `type`. */
#define SIDE_ROW(type, side, name, value, help, member)                                            \
    {                                                                                              \
        name, value, help, OPTION_TEXT, offsetof(type, side.member), 0, 0                          \
    }
#define SIDE_ROWS(type, side, what)                                                                \
    SIDE_ROW(type, side, #side, "URL", "the server that " what, endpoint),                         \
        SIDE_ROW(type, side, #side "-instance", "NAME", "its instance (WIDEROW_INSTANCE)",         \
                 instance),                                                                        \
        SIDE_ROW(type, side, #side "-key-id", "ID", "its access key (WIDEROW_ACCESS_KEY_ID)",      \
                 key_id),                                                                          \
        SIDE_ROW(type, side, #side "-key-secret", "SECRET",                                        \
                 "its secret (WIDEROW_ACCESS_KEY_SECRET)", key_secret),                            \
        SIDE_ROW(type, side, #side "-data", "DIR",                                                 \
                 "its data folder: instance and key from the credentials there", data),            \
        SIDE_ROW(type, side, #side "-ca-file", "FILE",                                             \
                 "for https: the certificates to trust, PEM", ca_file)

/* Opens both; the caller releases both in any case. Refused: one that is not named, and both the
 * same. */
int sides_open(struct ctx *c, const struct target_conf *from, const struct target_conf *to,
               struct target *source, struct target *target);

#endif
