/* metrics.h: the page /metrics, in the Prometheus text format. */
#ifndef SERVER_METRICS_H
#define SERVER_METRICS_H

#include "net/http.h"
#include "server/stat.h"

/* All of it: of the server (metric.def), of the process by its usual names, of tasks in the
 * background, of the busiest tables, and of each operation. `front` is the port whose connections
 * are counted, up_s the seconds since the start. Any thread. */
void metrics_format(struct buf *out, struct wr_db *db, struct http *front, struct server_stat *stat,
                    uint64_t up_s);

#endif
