#include "sql/run/hint.h"

#include "base/number.h"

static int number_read(struct run *r, const struct option *o, int64_t *out)
{
    if (o->value.ptr && number_integer(o->value, out) && *out >= 0)
        return 0;
    return run_fail(r, FAULT_UNSUPPORTED,
                    arena_printf(r->arena,
                                 "The hint %.*s takes a number of milliseconds: %.*s(1000)",
                                 RUN_TEXT(o->name), RUN_TEXT(o->name))
                        .ptr);
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
            RUN_TRY(number_read(r, o, &out->timestamp_ms));
        else if (bytes_equal(o->name, BYTES_LIT("_l_operation_timeout_")) ||
                 run_is_word(o->name, "MAX_EXECUTION_TIME"))
            RUN_TRY(number_read(r, o, &timeout_ms));
    }
    if (timeout_ms && !run_is_tablestore(r))
        r->deadline_ms = clock_mono_ms(r->session->conf.clock) + timeout_ms;
    return 0;
}
