/* workers.h: threads that run jobs in the order in which they come, for what may block. */
#ifndef BASE_WORKERS_H
#define BASE_WORKERS_H

/* Embedded in what is to be run; it may be gone when run() returns. */
struct job {
    void (*run)(struct job *self);
    struct job *next;
};

struct workers;

/* `threads` of that name (thread.h), or as many as the system gives; NULL: it gives none. */
struct workers *workers_start(const char *name, int threads);

/* From any thread, also from a job. */
void workers_submit(struct workers *w, struct job *job);

/* Runs the jobs that are queued, and what these submit, and stops. NULL is allowed. */
void workers_stop(struct workers *w);

#endif
