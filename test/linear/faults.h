/* faults.h: what goes wrong under servers over one pool, one after the other, while clients go on.
 *
 * Servers and OSDs are paused (SIGSTOP), killed and started again, and one server's link to the
 * cluster is cut, or slow. Two of three servers have a wall clock that is wrong by less than the
 * skew that is allowed. The environment says where: */
#ifndef LINEAR_FAULTS_H
#define LINEAR_FAULTS_H

#include "workload.h"

/* LINEAR_CLUSTER_DIR: the folder of the cluster (test/rados/cluster.sh).
 * LINEAR_LINK: the folder of test/rados/link.py, through which server 1 reaches the cluster.
 * LINEAR_PRELOAD: test/rados/preload.c as a library. False, with a line on stderr: one is missing.
 */
bool faults_are_possible(void);

/* What server number `i` is to be started with. */
void faults_prepare(struct target_spec *spec, int i);

/* conf.disturb: conf.faults of them, each for 0.5 s to conf.pause_s, chosen by the seed. */
void faults_disturb(struct workload *w);

#endif
