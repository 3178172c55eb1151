/* jobs.h: the threads for what may block: one for jobs, two for notifications of other processes.
 */
#ifndef TABLE_CORE_JOBS_H
#define TABLE_CORE_JOBS_H

#include "base/workers.h"

#include <stdbool.h>

struct jobs;

/* `shared`: other processes publish notifications. NULL: the system gives no threads. */
struct jobs *jobs_start(bool shared);

/* Runs the jobs that are queued, and what these submit, and stops. NULL is allowed. */
void jobs_stop(struct jobs *j);

/* Runs it on the thread for jobs, in turn, where engine calls may block. */
void jobs_submit(struct jobs *j, struct job *job);

/* The same on one of the threads for notifications, in no order, where other processes publish
 * some: they wait for the answer, so the job must end soon.
 * */
void jobs_hear(struct jobs *j, struct job *job);

#endif
