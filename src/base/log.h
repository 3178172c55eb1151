/* log.h: one line format, one sink.
 *
 * A line is `2026-01-02T03:04:05.678Z I subsystem: text key=value …`. The operator's problems are
 * log lines; a client's mistakes are answers, and go to the log at level D only. Secrets are never
 * logged. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/clock.h"
#include "base/port.h"

struct log {
    char level; /* lines below it are dropped: 'E' < 'W' < 'I' < 'D' */
    void (*sink)(void *arg, char level,
                 const char *line); /* NULL: stderr. Called from any thread */
    void *arg;
    struct clock *clock;
};

void log_write(struct log *log, char level, const char *fmt, ...) PORT_PRINTF(3, 4);

#define log_error(log, ...) log_write((log), 'E', __VA_ARGS__)
#define log_warn(log, ...) log_write((log), 'W', __VA_ARGS__)
#define log_info(log, ...) log_write((log), 'I', __VA_ARGS__)
#define log_debug(log, ...) log_write((log), 'D', __VA_ARGS__)

#endif
