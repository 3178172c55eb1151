#include "table/core/jobs.h"

#include "base/port.h"

/* A job may take minutes where every read is a round trip; what other processes tell must not wait
 * for it. */
struct jobs {
    struct workers *jobs, *notifications;
};

struct jobs *jobs_start(bool shared)
{
    struct jobs *j = mem_zalloc(sizeof(*j));

    j->jobs = workers_start("wr-jobs", 1);
    if (shared) /* two: one may be reading all tables, for longer than notifications may wait */
        j->notifications = workers_start("wr-notify", 2);
    if (j->jobs && (j->notifications || !shared))
        return j;
    jobs_stop(j);
    return NULL;
}

void jobs_stop(struct jobs *j)
{
    if (!j)
        return;
    workers_stop(j->jobs);
    workers_stop(j->notifications);
    mem_free(j);
}

void jobs_submit(struct jobs *j, struct job *job)
{
    workers_submit(j->jobs, job);
}

void jobs_hear(struct jobs *j, struct job *job)
{
    workers_submit(j->notifications, job);
}
