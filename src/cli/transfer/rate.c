#include "cli/transfer/rate.h"

#include "base/number.h"

#include <stdlib.h>
#include <time.h>

#define SLICE_US 50000 /* so long a stop may go unnoticed */
#define PER_S_MAX 1000000000

int rate_parse(struct ctx *c, const char *text, struct rate *r)
{
    char *end = NULL;
    unsigned long long n = text ? strtoull(text, &end, 10) : 0;
    bool digits = text && text[0] >= '0' && text[0] <= '9';

    r->per_s = (double)n;
    r->units = text && strcmp(end, "cu") == 0;
    if (!text)
        return 0;
    if (!digits || n == 0 || n > PER_S_MAX || (*end && !r->units))
        return fail(c, E_PARAMETER,
                    "--rate is rows a second, as in 500, or capacity units, as in 500cu; '%s' is "
                    "neither",
                    text);
    return 0;
}

void rate_init(struct rate *r, struct clock *clock)
{
    r->clock = clock;
    r->next_us = 0;
    pthread_mutex_init(&r->mutex, NULL);
}

void rate_release(struct rate *r)
{
    pthread_mutex_destroy(&r->mutex);
}

int64_t rate_begin_us(struct rate *r, uint64_t n)
{
    int64_t now_us = clock_mono_us(r->clock), begin_us;

    if (r->per_s <= 0)
        return now_us;
    pthread_mutex_lock(&r->mutex);
    begin_us = r->next_us > now_us ? r->next_us : now_us;
    r->next_us = begin_us + (int64_t)((double)n * 1e6 / r->per_s);
    pthread_mutex_unlock(&r->mutex);
    return begin_us;
}

bool rate_wait(struct rate *r, uint64_t n, const atomic_bool *stop)
{
    int64_t begin_us = rate_begin_us(r, n), left_us;

    while (!atomic_load(stop) && (left_us = begin_us - clock_mono_us(r->clock)) > 0) {
        int64_t us = left_us < SLICE_US ? left_us : SLICE_US;

        nanosleep(&(struct timespec){0, us * 1000}, NULL);
    }
    return !atomic_load(stop);
}

void rate_take(struct rate *r, uint64_t n)
{
    (void)rate_begin_us(r, n);
}
