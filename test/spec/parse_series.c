/* parse_series.c: statements about series of tables. */
#include "spec.h"
#include "parse.h"

/* by=month column=time unit=ms hot=1 warm=12 warm_read=5 warm_write=0; false: none of these. */
bool parse_series_option(struct cursor *p, struct wr_series_spec *out)
{
    static const char *const by[] = {"", "month", "week", "day"};
    static const char *const units[] = {"text", "s", "ms", "us"};
    bytes word;

    if (take_option(p, "by")) {
        word = parse_name(p);
        for (size_t i = 1; i < 4; i++)
            if (bytes_equal(word, bytes_str(by[i])))
                out->by = (enum wr_series_by)i;
    } else if (take_option(p, "unit")) {
        word = parse_name(p);
        for (size_t i = 0; i < 4; i++)
            if (bytes_equal(word, bytes_str(units[i])))
                out->unit = (enum wr_series_unit)i;
    } else if (take_option(p, "column")) {
        out->column = parse_name(p);
    } else if (take_option(p, "hot")) {
        out->hot = (int32_t)parse_number(p);
    } else if (take_option(p, "warm")) {
        out->warm = (int32_t)parse_number(p);
    } else if (take_option(p, "warm_read")) {
        out->warm_reserved.read = (int32_t)parse_number(p);
    } else if (take_option(p, "warm_write")) {
        out->warm_reserved.write = (int32_t)parse_number(p);
    } else {
        return false;
    }
    return true;
}

static void parse_change(struct cursor *p, enum wr_series_action action, struct wr_request *out)
{
    struct wr_change_series *change = &out->change_series;

    out->op = WR_OP_CHANGE_SERIES;
    change->table = parse_name(p);
    change->action = action;
    if (action != WR_SERIES_AGE) {
        change->period = parse_text(p);
        return;
    }
    while (parse_series_option(p, &change->spec))
        ;
}

/* describe_series t · age_series t hot=1 warm=2 · freeze_series t "2025-03" · drop_series t ".." */
bool parse_series_request(struct cursor *p, struct wr_request *out)
{
    if (take(p, "describe_series")) {
        out->op = WR_OP_DESCRIBE_SERIES;
        out->describe_series.table = parse_name(p);
    } else if (take(p, "age_series")) {
        parse_change(p, WR_SERIES_AGE, out);
    } else if (take(p, "freeze_series")) {
        parse_change(p, WR_SERIES_FREEZE, out);
    } else if (take(p, "drop_series")) {
        parse_change(p, WR_SERIES_DROP, out);
    } else {
        return false;
    }
    return true;
}
