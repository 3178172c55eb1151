/* metrics.h: the page /metrics, in the Prometheus text format. */
#ifndef SERVER_METRICS_H
#define SERVER_METRICS_H

#include "server/admin.h"

/* All of it: of the server (metric.def), of the process by its usual names, of tasks in the
 * background, of the busiest tables, and of each operation. Any thread. */
void metrics_format(struct admin *a, struct buf *out);

#endif
