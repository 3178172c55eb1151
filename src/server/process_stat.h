/* process_stat.h: what the kernel says of this process. */
#ifndef SERVER_PROCESS_STAT_H
#define SERVER_PROCESS_STAT_H

#include <stdint.h>

struct process_stat {
    double cpu_s;   /* user and system */
    double start_s; /* since 1970 */
    uint64_t resident_bytes, virtual_bytes;
    uint64_t open_fds, max_fds;
};

/* What cannot be read is 0. Any thread. */
void process_stat_read(struct process_stat *out);

#endif
