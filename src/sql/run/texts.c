#include "sql/run/texts.h"

int texts_columns(struct run *r, const char *const *names)
{
    struct column columns[TEXTS_COLUMNS_MAX];
    size_t n = 0;

    for (; names[n]; n++)
        columns[n] = (struct column){.name = bytes_str(names[n]), .type = WR_VARCHAR};
    return r->sink->columns(r->sink, columns, n);
}

int texts_row(struct run *r, const bytes *texts, size_t n)
{
    struct wr_value values[TEXTS_COLUMNS_MAX];

    for (size_t i = 0; i < n; i++)
        values[i] = texts[i].ptr ? (struct wr_value){.type = WR_VARCHAR, .bytes = texts[i]}
                                 : (struct wr_value){.type = WR_NULL};
    return r->sink->row(r->sink, values);
}
