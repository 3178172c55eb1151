/* watch.h: memory, descriptors, threads and disk of the server's process, sampled while it lives.
 *
 * Judged is each life that is long enough: its last quarter must not have more than its second one,
 * which comes when caches have filled, but for a slack. In every life memory must stay within the
 * bound that operators are promised: `--memory` and 96 MiB. */
#ifndef SOAK_WATCH_H
#define SOAK_WATCH_H

#include "crash.h"

#include <sys/types.h>

#define WATCH_SAMPLES_MAX 20000

struct sample {
    int64_t rss_kb, descriptors, threads;
};

struct watch {
    struct crash *run;
    struct sample *samples; /* of this life */
    int count;
    int64_t rss_bound_kb;
    int64_t rss_max_kb, descriptors_max, threads_max, disk_max_kb;
    int judged; /* lives that were long enough */
};

/* memory_mib: what the server is given as --memory. */
void watch_init(struct watch *w, struct crash *run, int memory_mib);
void watch_begin(struct watch *w);
/* Takes a sample; call it twice a second. */
void watch_sample(struct watch *w, pid_t pid);
/* The folder's size, now and then. */
void watch_disk(struct watch *w, const char *dir);
/* Judges the life that ends. */
void watch_end(struct watch *w, const char *where);
void watch_print(const struct watch *w);

#endif
