/* ticket.h: leave to make one backup.
 *
 * The admin port knows no access keys, and its address does not say which server is behind it. So
 * a backup needs a ticket: the Tablestore front gives one out, with the admin port's address, to an
 * access key that may read and write every table (the signed request OpenBackup, whose body is the
 * path of the new folder), and the admin port takes only those of its own process. A ticket is for
 * one folder and a minute. */
#ifndef SERVER_TICKET_H
#define SERVER_TICKET_H

#include "base/ctx.h"
#include "wire/sign.h"

#include <stdatomic.h>

#define TICKET_VALID_MS 60000
#define TICKET_TEXT (20 + 1 + SIGN_SHA1_TEXT) /* bytes of the longest */

struct ticket_office {
    struct sign_key key;         /* of a secret that nobody else has */
    struct clock *clock;         /* the monotonic time counts */
    const char *_Atomic address; /* of the admin port; NULL: there is none, or not yet */
};

/* `clock` must live as long as the office. */
void ticket_office_init(struct ticket_office *o, struct clock *clock);

/* A ticket for the folder `dir`, with its closing NUL. */
void ticket_issue(const struct ticket_office *o, bytes dir, char out[TICKET_TEXT + 1]);

/* True: `ticket` was given out here, for this folder, and not too long ago. Else *why is a sentence
 * that says what is wrong. */
bool ticket_check(const struct ticket_office *o, bytes dir, bytes ticket, const char **why);

#endif
