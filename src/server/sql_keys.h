/* sql_keys.h: the access keys, as the MySQL door asks for them. A key is looked up anew for each
 * request, so one that was taken away or given less serves no further statement. */
#ifndef SERVER_SQL_KEYS_H
#define SERVER_SQL_KEYS_H

#include "server/credential.h"
#include "sql/door/door.h"

/* `s` must live as long as the door. */
struct door_keys sql_keys(struct credential_store *s);

#endif
