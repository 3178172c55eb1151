#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int log_rank(char level)
{
    const char *at = strchr("EWID", level);

    return at && level ? (int)(at - "EWID") : 2;
}

void log_write(struct log *log, char level, const char *fmt, ...)
{
    char line[2048];
    struct tm tm;
    int64_t us;
    time_t s;
    size_t n;
    va_list args;

    if (!log || log_rank(level) > log_rank(log->level))
        return;
    us = clock_wall_us(log->clock);
    s = (time_t)(us / 1000000);
    gmtime_r(&s, &tm);
    n = strftime(line, sizeof(line), "%Y-%m-%dT%H:%M:%S", &tm);
    n += (size_t)snprintf(line + n, sizeof(line) - n, ".%03dZ %c ", (int)(us / 1000 % 1000), level);
    va_start(args, fmt);
    vsnprintf(line + n, sizeof(line) - n, fmt, args);
    va_end(args);
    if (log->sink)
        log->sink(log->arg, level, line);
    else
        fprintf(stderr, "%s\n", line);
}
