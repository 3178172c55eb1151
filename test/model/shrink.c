/* shrink.c: the fewest of a run's requests that still show a difference. Requests that name stamps
 * the first database made may miss their aim in a second one; then nothing shrinks, and no harm is
 * done. */
#include "shrink.h"

#include <stdlib.h>

/* True if the last request, or a last look at all tables, shows a difference and no request before
 * does: another one would be another fault. */
static bool fails(const struct run_conf *conf, const struct wr_request **requests, size_t count)
{
    struct run r;
    size_t i = 0;
    bool same = true;

    run_open(&r, conf);
    while (i < count && same)
        same = run_exchange(&r, requests[i++], NULL);
    if (same)
        same = run_check_all(&r, NULL);
    run_close(&r);
    return !same && i == count;
}

/* Leaves out [from, to). True if the rest still fails; then `requests` is the rest. */
static bool try_without(const struct run_conf *conf, const struct wr_request **requests,
                        size_t *count, size_t from, size_t to)
{
    size_t n = *count - (to - from);
    bool failed;
    const struct wr_request **rest = mem_alloc((n + 1) * sizeof(*rest));

    memcpy(rest, requests, from * sizeof(*rest));
    memcpy(rest + from, requests + to, (*count - to) * sizeof(*rest));
    failed = fails(conf, rest, n);
    if (failed) {
        memcpy(requests, rest, n * sizeof(*rest));
        *count = n;
    }
    mem_free(rest);
    return failed;
}

size_t shrink(const struct run_conf *conf, const struct wr_request **requests, size_t count,
              int budget_s)
{
    int64_t stop_ms = run_now_ms() + budget_s * 1000LL;

    if (!fails(conf, requests, count))
        return 0;
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
