/* shrink.c: the fewest of a run's requests that still show a difference. Requests that name stamps
 * the first database made may miss their aim in a second one; then nothing shrinks, and no harm is
 * done. */
#include "shrink.h"

#include <stdlib.h>

/* How many requests it takes to see a difference, a last look at all tables included; 0: none
 * shows. */
static size_t fails_at(const struct run_conf *conf, const struct wr_request **requests, size_t count)
{
    struct run r;
    size_t at = 0;

    run_open(&r, conf);
    for (size_t i = 0; i < count && !at; i++)
        if (!run_request(&r, requests[i], NULL))
            at = i + 1;
    if (!at && !run_check_all(&r, NULL))
        at = count;
    run_close(&r);
    return at;
}

/* Leaves out [from, to). True if the rest still fails; then `requests` is the rest. */
static bool try_without(const struct run_conf *conf, const struct wr_request **requests,
                        size_t *count, size_t from, size_t to)
{
    size_t n = *count - (to - from), at;
    const struct wr_request **rest = mem_alloc((n + 1) * sizeof(*rest));

    memcpy(rest, requests, from * sizeof(*rest));
    memcpy(rest + from, requests + to, (*count - to) * sizeof(*rest));
    at = fails_at(conf, rest, n);
    if (at) {
        memcpy(requests, rest, at * sizeof(*rest));
        *count = at;
    }
    mem_free(rest);
    return at > 0;
}

size_t shrink(const struct run_conf *conf, const struct wr_request **requests, size_t count,
              int budget_s)
{
    int64_t stop_ms = run_now_ms() + budget_s * 1000LL;

    count = fails_at(conf, requests, count);
    for (size_t step = count / 2; step > 0; step /= 2)
        for (size_t end = count; end > 1;) {
            size_t to = end < count ? end : count - 1, from = to > step ? to - step : 0;

            if (run_now_ms() > stop_ms)
                return count;
            end = from;
            if (from < to)
                try_without(conf, requests, &count, from, to);
        }
    return count;
}
