/* admin.h: the operator's port: is it alive, is it ready, what does it do.
 *
 *   /healthz   200 as long as the process answers
 *   /readyz    200 if writes are served, else 503 and the reason; with a query (?tasks) a line for
 *              each task in the background
 *   /metrics   counters in the Prometheus text format
 *   /backup    POST: copies all data into the folder whose path is the body, on this machine; the
 *              answer comes when that is durable. Wants a ticket (ticket.h) in the header
 *              X-Widerow-Ticket, and the header "X-Widerow-Admin: backup", which a page in a
 *              browser cannot send to another site
 *
 * No secret and no row is shown here, and nothing in the database can be changed. */
#ifndef SERVER_ADMIN_H
#define SERVER_ADMIN_H

#include "net/http.h"
#include "server/stat.h"
#include "server/ticket.h"

#include <stdatomic.h>

struct admin {
    struct wr_db *db;
    struct server_stat *stat;
    struct http *front; /* whose connections are counted; set before the port opens */
    struct clock *clock;
    int64_t start_us;              /* monotonic */
    struct ticket_office *tickets; /* for backups */
    atomic_bool backing_up;        /* one at a time */
};

/* http_conf.on_request, with the admin as `arg`. */
void admin_on_request(void *arg, struct http_request *r);

#endif
