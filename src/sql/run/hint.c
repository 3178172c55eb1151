#include "sql/run/hint.h"

#include "base/number.h"
#include "sql/run/warning.h"

#define HINT_WARNING 1064 /* as MySQL has it for hints, which fail no statement */
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

/* Of another engine of Lindorm's, or of its colder storage: it has none here. */
static bool is_elsewhere(bytes name)
{
    return run_is_word(name, "_l_hot_only_") || run_is_word(name, "_use_ldps_") ||
           run_is_word(name, "_columnar_index_");
}

static int hint_read(struct run *r, const struct option *o, struct hints *out, int64_t *timeout_ms)
{
    if (run_is_word(o->name, "_l_allow_filtering_"))
        out->allow_filtering = true;
    else if (run_is_word(o->name, "_l_ignore_index_"))
        out->ignore_indexes = true;
    else if (run_is_word(o->name, "_l_force_index_") && o->value.ptr)
        out->force_index = o->value;
    else if (run_is_word(o->name, "_l_ts_"))
        return number_read(r, o, TIMESTAMP_MAX, &out->timestamp_ms);
    else if (run_is_word(o->name, "_l_ts_min_"))
        return time_bound_read(r, o, &out->has_min, &out->min_ms);
    else if (run_is_word(o->name, "_l_ts_max_"))
        return time_bound_read(r, o, &out->has_max, &out->max_ms);
    else if (run_is_word(o->name, "_l_versions_"))
        return versions_read(r, o, &out->versions);
    else if (run_is_word(o->name, "_l_operation_timeout_") ||
             run_is_word(o->name, "operationtimeout") || run_is_word(o->name, "MAX_EXECUTION_TIME"))
        return number_read(r, o, INT32_MAX, timeout_ms);
    else if (!is_elsewhere(o->name))
        warning_add(r, HINT_WARNING,
                    arena_printf(r->arena,
                                 "Optimizer hint syntax error near '%.*s': there is no such hint "
                                 "here, and it was passed over",
                                 RUN_TEXT(o->name)));
    return 0;
}

int hints_read(struct run *r, const struct option_list *list, struct hints *out)
{
    int64_t timeout_ms = 0;

    *out = (struct hints){.timestamp_ms = WR_TIMESTAMP_NONE};
    for (const struct option *o = list ? list->first : NULL; o; o = o->next)
        RUN_TRY(hint_read(r, o, out, &timeout_ms));
    if (timeout_ms && !run_is_tablestore(r))
        r->deadline_ms = clock_mono_ms(r->session->conf.clock) + timeout_ms;
    return 0;
}
