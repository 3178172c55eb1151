#include "table/core/call_series.h"

struct call_series *call_series_named(struct call_series *list, bytes name)
{
    struct call_series *s = list;

    while (s && !bytes_equal(s->series->schema.d.table, name))
        s = s->next;
    return s;
}

struct table *call_series_table(const struct call_series *s, int64_t number)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->periods[i].number == number)
            return s->periods[i].table;
    return NULL;
}
