/* schema_partition.c: the ranges a table is split into, as its description lists them. */
#include "table/model/key.h"
#include "table/model/schema.h"

/* The first partition has the id of the table's place, which no other ever has; later ones take
 * numbers of the catalog, which are far below the top bit. So there are at most
 * SCHEMA_FIRST_PARTITIONS_MAX of the first ones. */
static uint64_t first_id(const struct schema *s, size_t i)
{
    return i ? 1ull << 63 | (uint64_t)s->location.id << 16 | i : s->location.id;
}

/* The beginning of a bucket, or a value of the first key column in it. */
static int put_bound(struct ctx *c, const struct schema *s, size_t bucket,
                     const struct wr_value *value, bytes *out)
{
    struct wr_key_column column;
    struct buf b;

    *out = BYTES_NONE;
    if (!bucket && !value)
        return E_OK;
    buf_init(&b, &c->arena, 32);
    buf_put_u8(&b, (uint8_t)bucket);
    if (value) {
        column = (struct wr_key_column){s->d.key[0].name, *value};
        TRY(key_put_columns(c, &b, s->d.key, &column, 1));
    }
    *out = buf_bytes(&b);
    return E_OK;
}

int schema_partitions_init(struct ctx *c, struct schema *s)
{
    size_t buckets = s->location.layout.buckets ? s->location.layout.buckets : 1, n = 0;
    size_t count = buckets * (s->d.split_count + 1);
    struct schema_partition *p = ARENA_ARRAY(&c->arena, struct schema_partition, count);

    for (size_t bucket = 0; bucket < buckets; bucket++)
        for (size_t i = 0; i <= s->d.split_count; i++, n++) {
            p[n].id = first_id(s, n);
            p[n].created_us = s->d.creation_us;
            TRY(put_bound(c, s, bucket, i ? &s->d.splits[i - 1] : NULL, &p[n].start));
            if (n && bytes_compare(p[n - 1].start, p[n].start) >= 0)
                return fail(c, E_CORRUPT, "partitions out of order");
        }
    s->partitions = p;
    s->partition_count = count;
    s->page_count = 0;
    s->partition_location = s->location.id;
    return E_OK;
}

int schema_partitions_set(struct ctx *c, struct schema *s, struct schema_partition *list,
                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        list[i].id = first_id(s, i);
        list[i].created_us = clock_wall_us(c->clock);
    }
    s->partitions = list;
    s->partition_count = count;
    s->page_count = 0;
    s->partition_location = s->location.id;
    return schema_splits_init(c, s);
}

bool schema_bound_inside(const struct schema *s, bytes bound)
{
    bytes cols = bound.len ? bytes_skip(bound, 1) : bound;

    return cols.len &&
           key_columns_length(s->d.key, cols, s->location.layout.partition_cols) < cols.len;
}

/* Every bucket may be split elsewhere: the first one's splits stand for all. A value of the first
 * column at which there are several bounds is named once. */
int schema_splits_init(struct ctx *c, struct schema *s)
{
    struct wr_value *splits = ARENA_ARRAY(&c->arena, struct wr_value, s->partition_count);
    bytes last = BYTES_NONE;

    s->d.split_count = 0;
    for (size_t i = 1; i < s->partition_count; i++) {
        bytes start = s->partitions[i].start, cols;
        struct wr_key_column column;
        size_t used;

        if (start.len < 2 || *bytes_u8(start) != 0)
            continue;
        cols = bytes_skip(start, 1);
        TRY(key_read_columns(c, cols, s->d.key, 1, &column, &used));
        if (bytes_equal(bytes_of(cols.ptr, used), last))
            continue;
        last = bytes_of(cols.ptr, used);
        splits[s->d.split_count++] = column.value;
    }
    s->d.splits = splits;
    return E_OK;
}
