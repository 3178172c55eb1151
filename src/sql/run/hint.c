#include "sql/run/hint.h"

#include "base/number.h"

#define TIMESTAMP_MAX (INT64_MAX / 1000)

static int number_read(struct run *r, const struct option *o, int64_t max, int64_t *out)
{
    if (o->value.ptr && number_integer(o->value, out) && *out >= 0 && *out < max)
        return 0;
    return run_fail(r, FAULT_UNSUPPORTED,
                    arena_printf(r->arena,
                                 "The hint %.*s takes a number of milliseconds: %.*s(1000)",
                                 RUN_TEXT(o->name), RUN_TEXT(o->name))
                        .ptr);
}

static int versions_read(struct run *r, const struct option *o, int64_t *out)
{
    if (o->value.ptr && number_integer(o->value, out) && *out >= 1 && *out <= INT32_MAX)
        return 0;
    return run_fail(r, FAULT_UNSUPPORTED,
                    "The hint _l_versions_ takes how many versions of a column are shown, from 1 "
                    "on: _l_versions_(3)");
}

static int time_bound_read(struct run *r, const struct option *o, bool *has, int64_t *out)
{
    *has = true;
    return number_read(r, o, TIMESTAMP_MAX, out);
}

int hints_read(struct run *r, const struct option_list *list, struct hints *out)
{
    int64_t timeout_ms = 0;

    *out = (struct hints){.timestamp_ms = WR_TIMESTAMP_NONE};
    for (const struct option *o = list ? list->first : NULL; o; o = o->next) {
        if (bytes_equal(o->name, BYTES_LIT("_l_allow_filtering_")))
            out->allow_filtering = true;
        else if (bytes_equal(o->name, BYTES_LIT("_l_ignore_index_")))
            out->ignore_indexes = true;
        else if (bytes_equal(o->name, BYTES_LIT("_l_force_index_")) && o->value.ptr)
            out->force_index = o->value;
        else if (bytes_equal(o->name, BYTES_LIT("_l_ts_")))
            RUN_TRY(number_read(r, o, TIMESTAMP_MAX, &out->timestamp_ms));
        else if (bytes_equal(o->name, BYTES_LIT("_l_ts_min_")))
            RUN_TRY(time_bound_read(r, o, &out->has_min, &out->min_ms));
        else if (bytes_equal(o->name, BYTES_LIT("_l_ts_max_")))
            RUN_TRY(time_bound_read(r, o, &out->has_max, &out->max_ms));
        else if (bytes_equal(o->name, BYTES_LIT("_l_versions_")))
            RUN_TRY(versions_read(r, o, &out->versions));
        else if (bytes_equal(o->name, BYTES_LIT("_l_operation_timeout_")) ||
                 run_is_word(o->name, "MAX_EXECUTION_TIME"))
            RUN_TRY(number_read(r, o, INT32_MAX, &timeout_ms));
    }
    if (timeout_ms && !run_is_tablestore(r))
        r->deadline_ms = clock_mono_ms(r->session->conf.clock) + timeout_ms;
    return 0;
}
