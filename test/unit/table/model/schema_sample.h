/* schema_sample.h: the description whose stored forms are tested. Included behind context.h. */
#ifndef UNIT_TABLE_MODEL_SCHEMA_SAMPLE_H
#define UNIT_TABLE_MODEL_SCHEMA_SAMPLE_H

#include "table/model/schema.h"

static const struct wr_key_schema key[] = {{.name = BYTES_LIT("user"), .type = WR_BIGINT}};

/* Table 't' of 'main' with that key, in one bucket; without partitions or pages. */
static inline struct schema schema_sample(void)
{
    struct schema s = {.id = 5, .version = 3, .instance = BYTES_LIT("main")};

    s.d.table = BYTES_LIT("t");
    s.d.key = key;
    s.d.key_count = 1;
    s.d.options.ttl_s = -1;
    s.d.options.max_versions = 1;
    s.location = (struct location){.id = 5, .key = key, .key_count = 1};
    s.location.layout.buckets = s.location.layout.partition_cols = 1;
    s.partition_location = 5;
    return s;
}

#endif
