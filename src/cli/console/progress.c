#include "cli/console/progress.h"

#include "base/thread.h"

#include <stdarg.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define REDRAW_MS 200
#define LINE_MS 5000
#define COLUMNS_FOR_BAR 80
#define BAR_CELLS 24

const char *progress_format_bytes(uint64_t n, char *out)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    double value = (double)n;
    size_t unit = 0;

    while (value >= 999.95 && unit + 1 < PORT_COUNT(units)) {
        value /= 1000;
        unit++;
    }
    snprintf(out, PROGRESS_TEXT, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return out;
}

const char *progress_format_share(double share, char *out)
{
    snprintf(out, PROGRESS_TEXT, share >= 0.01 || share == 0 ? "%.1f %%" : "%.2g %%", share * 100);
    return out;
}

const char *progress_format_count(uint64_t n, char *out)
{
    char digits[24], *p = out;
    int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);

    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            *p++ = ',';
        *p++ = digits[i];
    }
    *p = 0;
    return out;
}

double progress_seconds(const struct progress *p)
{
    int64_t us = clock_mono_us(p->clock) - p->start_us;

    return us > 0 ? (double)us / 1e6 : 1e-6;
}

/* "ETA 1:02:03", or nothing while it cannot be told. */
static void format_eta(const struct progress *p, uint64_t done, double seconds, char *out,
                       size_t size)
{
    uint64_t left;

    out[0] = 0;
    if (!p->total_bytes || !done || done >= p->total_bytes || seconds < 0.5)
        return;
    left = (uint64_t)(seconds * (double)(p->total_bytes - done) / (double)done + 0.5);
    if (left >= 3600)
        snprintf(out, size, "  ETA %u:%02u:%02u", (unsigned)(left / 3600),
                 (unsigned)(left / 60 % 60), (unsigned)(left % 60));
    else
        snprintf(out, size, "  ETA %u:%02u", (unsigned)(left / 60), (unsigned)(left % 60));
}

/* Of the terminal; one that does not say has room for all. */
static int terminal_columns(void)
{
    struct winsize size;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : INT_MAX;
}

/* Called with the mutex held. A line that went on in the next one would be drawn below itself. */
static void progress_draw(struct progress *p)
{
    uint64_t records = atomic_load(&p->records), done = atomic_load(&p->bytes);
    char bar[BAR_CELLS + 16] = "", count[PROGRESS_TEXT], rate[PROGRESS_TEXT], size[PROGRESS_TEXT];
    double seconds = progress_seconds(p);
    int columns = p->terminal ? terminal_columns() : INT_MAX;
    char eta[32], line[256];

    if (p->total_bytes) {
        double part = (double)done / (double)p->total_bytes;
        size_t full = (size_t)(part * BAR_CELLS), len = 0;

        if (p->terminal && columns >= COLUMNS_FOR_BAR) {
            bar[len++] = '[';
            for (size_t i = 0; i < BAR_CELLS; i++)
                bar[len++] = i < full ? '#' : '-';
            bar[len++] = ']';
            bar[len++] = ' ';
        }
        snprintf(bar + len, sizeof(bar) - len, "%3.0f%%  ", part * 100);
    }
    format_eta(p, done, seconds, eta, sizeof(eta));
    snprintf(line, sizeof(line), "%s%s records  %s/s  %s%s", bar,
             progress_format_count(records, count),
             progress_format_count((uint64_t)((double)records / seconds), rate),
             progress_format_bytes(done, size), eta);
    fprintf(stderr, "%s%.*s%s", p->terminal ? "\r" : "", columns - 1, line,
            p->terminal ? "\033[K" : "\n");
    fflush(stderr);
    p->drawn = p->terminal;
}

static void *progress_run(void *arg)
{
    struct progress *p = arg;
    int64_t pause_ms = p->terminal ? REDRAW_MS : LINE_MS;

    pthread_mutex_lock(&p->mutex);
    while (!p->ended) {
        struct timespec until = thread_time_in(pause_ms * 1000);

        if (pthread_cond_timedwait(&p->wake, &p->mutex, &until) != 0 && !p->ended)
            progress_draw(p);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

void progress_start(struct progress *p, struct clock *clock, uint64_t total_bytes, bool quiet)
{
    memset(p, 0, sizeof(*p));
    p->clock = clock;
    p->total_bytes = total_bytes;
    p->terminal = isatty(STDERR_FILENO);
    p->start_us = clock_mono_us(clock);
    pthread_mutex_init(&p->mutex, NULL);
    thread_cond_init(&p->wake);
    p->ended = quiet || !thread_start(&p->thread, "wr-progress", progress_run, p);
}

void progress_end(struct progress *p)
{
    bool running;

    pthread_mutex_lock(&p->mutex);
    running = !p->ended;
    p->ended = true;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->mutex);
    if (running)
        pthread_join(p->thread, NULL);
    if (p->drawn) {
        progress_draw(p);
        fputc('\n', stderr);
    }
    pthread_mutex_destroy(&p->mutex);
    pthread_cond_destroy(&p->wake);
}

void progress_say(struct progress *p, const char *fmt, ...)
{
    va_list args;

    pthread_mutex_lock(&p->mutex);
    if (p->drawn)
        fputs("\r\033[K", stderr);
    p->drawn = false;
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    pthread_mutex_unlock(&p->mutex);
}
