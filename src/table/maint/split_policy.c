#include "table/maint/split_policy.h"

#include <stdlib.h>

#define SAMPLES_MIN 32

static bool any_above(const struct limits *limits, const uint64_t rate[PARTITION_WAYS],
                      uint64_t tenths)
{
    return rate[PARTITION_READ] * 10 > (uint64_t)limits->partition_read_cu_max * tenths ||
           rate[PARTITION_WRITE] * 10 > (uint64_t)limits->partition_write_cu_max * tenths;
}

bool split_policy_is_hot(const struct limits *limits, const uint64_t rate[PARTITION_WAYS])
{
    return any_above(limits, rate, 8);
}

bool split_policy_is_idle(const struct limits *limits, const uint64_t rate[PARTITION_WAYS])
{
    return !any_above(limits, rate, 1);
}

bool split_policy_by_size(const struct limits *limits, const struct split_view *v)
{
    return v->bytes > (uint64_t)limits->partition_bytes_max &&
           v->bytes > v->unsplit_bytes + v->unsplit_bytes / 4;
}

bool split_policy_by_load(const struct limits *limits, const struct split_view *v)
{
    return v->hot_us >= limits->partition_hot_s * 1000000;
}

bool split_policy_merge(const struct limits *limits, const struct split_view *a,
                        const struct split_view *b)
{
    int64_t idle_us = a->idle_us < b->idle_us ? a->idle_us : b->idle_us;

    return idle_us >= limits->partition_idle_s * 1000000 &&
           a->bytes + b->bytes <= (uint64_t)limits->partition_bytes_max / 4;
}

static int split_policy_compare(const void *a, const void *b)
{
    return bytes_compare(*(const bytes *)a, *(const bytes *)b);
}

bool split_policy_key(bytes *samples, size_t count, bytes *out)
{
    size_t best = 0;

    if (count < SAMPLES_MIN)
        return false;
    qsort(samples, count, sizeof(*samples), split_policy_compare);
    for (size_t i = 1; i < count; i++) {
        size_t less = i < count - i ? i : count - i;

        if (less > best && !bytes_equal(samples[i - 1], samples[i])) {
            best = less;
            *out = samples[i];
        }
    }
    return best * 5 >= count;
}
