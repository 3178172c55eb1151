/* bench_front.h: carries a benchmark's requests to a server or into a database of this process. */
#ifndef BENCH_BENCH_FRONT_H
#define BENCH_BENCH_FRONT_H

#include "bench/bench_load.h"
#include "client/client.h"

/* Runs the load to its end, with conf.connections requests under way at most; start_us and end_us
 * of the load are set. An answer that no later try would change ends the run with its code, as does
 * a lost connection. */
int bench_run_http(struct ctx *c, struct bench_load *l, const struct target *t);
int bench_run_local(struct ctx *c, struct bench_load *l, const struct target *t);

#endif
