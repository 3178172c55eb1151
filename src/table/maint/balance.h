/* balance.h: the task that looks at every partition each second: what it was asked for against
 * what is reserved, and whether it is to be split or merged with its neighbour (split_policy.h). It
 * also ends a repartition whose maker died. */
#ifndef TABLE_MAINT_BALANCE_H
#define TABLE_MAINT_BALANCE_H

#include "table/catalog/peers.h"

/* Registers the task. False: the system gives no thread. */
bool balancer_start(struct wr_db *db);

/* One look as of `now_us` (monotonic clock) on the caller's thread; at most one at a time. It does
 * nothing as long as the limits that count are not known: before wr_options.settings_follow has
 * come true, and while this process has no lease (catalog_check). */
void balance_run(struct wr_db *db, int64_t now_us);

/* Answers PEERS_IDLE: tells which partitions of a table are idle on this server. */
peers_answer_fn balance_answer;

#endif
