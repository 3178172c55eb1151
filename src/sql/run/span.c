#include "sql/run/span.h"

int span_read(struct run *r, const struct hints *hints, struct span *out)
{
    *out = (struct span){.versions = 1, .to_ms = INT64_MAX};
    if (run_is_tablestore(r))
        return 0;
    if (hints->versions)
        out->versions = (int32_t)hints->versions;
    if (hints->timestamp_ms != WR_TIMESTAMP_NONE) {
        if (hints->has_min || hints->has_max)
            return run_fail(r, FAULT_UNSUPPORTED,
                            "_l_ts_ is one moment: leave it out beside _l_ts_min_ and _l_ts_max_");
        *out = (struct span){out->versions, true, hints->timestamp_ms, hints->timestamp_ms + 1};
    }
    if (hints->has_min)
        out->from_ms = hints->min_ms;
    if (hints->has_max)
        out->to_ms = hints->max_ms;
    out->timed |= hints->has_min || hints->has_max;
    if (out->from_ms < out->to_ms)
        return 0;
    return run_fail(r, FAULT_UNSUPPORTED,
                    "_l_ts_min_ has to be less than _l_ts_max_: cells from the one to in front of "
                    "the other are seen");
}

bool span_is_plain(const struct span *s)
{
    return s->versions == 1 && !s->timed;
}

void span_apply(const struct span *s, struct wr_read_options *read)
{
    read->has_max_versions = true;
    read->max_versions = s->versions;
    if (!s->timed)
        return;
    read->columns = NULL;
    read->column_count = 0;
    read->has_start = read->has_end = true;
    read->start_ms = s->from_ms;
    read->end_ms = s->to_ms;
}

bool span_sees(const struct span *s, const struct wr_row *row)
{
    return row->key.count && (!s->timed || row->cell_count);
}
