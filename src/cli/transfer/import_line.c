#include "cli/transfer/import_line.h"

#include <stdio.h>

/* A JSON line's columns that the plan does not know came behind the lines that it was made from. */
static bool has_news(const struct import *im, struct csv_record *record, char *message, size_t size)
{
    size_t known = im->plan.field_count;

    if (!im->source.json)
        return false;
    for (size_t i = known; i < record->count && im->plan.all_columns; i++)
        if (record->fields[i].text.ptr) {
            snprintf(message, size,
                     "column %.*s is in no line of the sample; say --columns, with it or without",
                     BYTES_FMT(im->source.records.names[i]));
            return true;
        }
    record->count = known;
    return false;
}

struct import_line import_line_read(const struct import *im, enum csv_result result,
                                    struct csv_record *record)
{
    struct import_line line = {0};

    if (result == CSV_BAD)
        snprintf(line.reason, sizeof(line.reason), "%s", import_source_message(&im->source));
    else if (!has_news(im, record, line.reason, sizeof(line.reason)))
        line.row = plan_row(&im->plan, record, line.reason, sizeof(line.reason));
    return line;
}
