/* op_door.h: what the operations of one HTTP server share. All members must be set and stay until
 * the HTTP server is closed. */
#ifndef SERVER_OP_DOOR_H
#define SERVER_OP_DOOR_H

#include "base/rng.h"
#include "net/http.h"
#include "server/credential.h"
#include "server/stat.h"
#include "server/ticket.h"
#include "widerow.h"

struct digest_line;
struct sql_queries;

struct op_front {
    struct wr_db *db;
    struct sql_queries *sql;     /* NULL: SQLQuery is not served (sql_query.h) */
    struct digest_line *digests; /* of large answers; NULL: each takes its own (op_digest.h) */
    struct credential_store *credentials;
    struct server_stat *stat;
    struct clock *clock;
    struct log *log;
    struct ticket_office *tickets; /* for backups */
    int64_t op_timeout_ms;         /* given to the database as deadline */
    int64_t requests_max;  /* under way at a time, 0: any number; more get OTSServerBusy at once */
    atomic_llong requests; /* under way: admitted, and not yet answered */
    int64_t slow_ms;       /* requests that take longer are logged; 0: none */
    int access_fd;         /* one line a request is written here; -1: no */
    uint64_t seed;         /* of request ids; from rng_secret() */
    atomic_ullong number;  /* of the next request */
};

#endif
