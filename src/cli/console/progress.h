/* progress.h: how far a long command is, on stderr: a bar that is redrawn on a terminal, now and
 * then a plain line elsewhere. A thread of its own draws, so that work never waits for a terminal.
 */
#ifndef CLI_CONSOLE_PROGRESS_H
#define CLI_CONSOLE_PROGRESS_H

#include "base/clock.h"
#include "base/port.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct progress {
    struct clock *clock;
    uint64_t total_bytes; /* 0: not known */
    bool terminal;
    int64_t start_us;
    atomic_ullong records; /* done; any thread adds */
    atomic_ullong bytes;   /* done, of total_bytes */
    pthread_t thread;
    pthread_mutex_t mutex; /* over what follows, and over stderr */
    pthread_cond_t wake;
    bool ended;
    bool drawn; /* a bar stands on the line */
};

/* Starts drawing; `quiet`: nothing is ever drawn. `p` must stay where it is until progress_end().
 */
void progress_start(struct progress *p, struct clock *clock, uint64_t total_bytes, bool quiet);
void progress_end(struct progress *p);

/* A line on stderr that does not run into the bar. Any thread. */
void progress_say(struct progress *p, const char *fmt, ...) PORT_PRINTF(2, 3);

/* Seconds since the start, never 0. */
double progress_seconds(const struct progress *p);

/* "12.3 MB" of a number of bytes, "1,234,567" of a number, "12.3 %" of a share of 1. `out` has
 * PROGRESS_TEXT bytes. */
#define PROGRESS_TEXT 32
const char *progress_format_bytes(uint64_t n, char *out);
const char *progress_format_count(uint64_t n, char *out);
const char *progress_format_share(double share, char *out);

#endif
