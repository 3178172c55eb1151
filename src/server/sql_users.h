/* sql_users.h: SQL's users, which are access keys: a user's name is the key's id, the password its
 * secret, a database an instance that the key may enter, and privileges are its grants there
 * (grant.h). They are kept where access keys are, in the file `credentials`, written whole before
 * the statement is answered.
 *
 * Nobody gives, or gets by another's key, what he may not do himself: whoever makes or changes a
 * user needs SYSTEM in the instance, and all that the user may do or is given. */
#ifndef SERVER_SQL_USERS_H
#define SERVER_SQL_USERS_H

#include "server/credential.h"
#include "sql/run/session.h"

/* `by`: the key that asks. E_PERMISSION; E_EXIST, E_NOT_EXIST; else why not, with a text in `c`. */
int sql_user_change(struct credential_store *s, bytes by, struct ctx *c,
                    const struct user_change *change);

/* What users may do, of those that the key may see: itself, and all in instances where it has
 * SYSTEM. In the arena; how many. */
size_t sql_user_grants(struct credential_store *s, bytes by, struct arena *a,
                       struct user_grant **out);

#endif
