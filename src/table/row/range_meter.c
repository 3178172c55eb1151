#include "table/row/range_meter.h"

#include "table/catalog/catalog.h"
#include "table/model/key.h"
#include "table/model/meter.h"
#include "table/stats/sampler.h"

#define SAMPLE_ROWS 32 /* that count in the heat map as if they had the key of the first */

void range_meter_init(struct range_meter *m, struct call *call, const struct table *t, bool copies)
{
    *m = (struct range_meter){
        .copies = copies,
        .access = {.db = call->db, .c = &call->c, .table = t, .walk = true},
    };
    buf_init(&m->sample.memory, &call->c.arena, 0);
}

/* Samples the rows since the last sample for the heat map. */
static void sample_rows(struct range_meter *m)
{
    struct range_sample *s = &m->sample;
    int32_t units = meter_units(m->bytes);

    if (m->rows == s->from.rows)
        return;
    if (s->weight) {
        struct access a = m->access;

        a.bucket = s->bucket;
        a.cols = s->cols;
        a.refused = false;
        a.reads = (uint32_t)(m->rows - s->from.rows);
        a.read_bytes = m->bytes - s->from.bytes;
        a.read_units = units - s->from.units;
        access_sample(&a, s->weight);
    }
    s->from = (struct range_count){m->rows, m->bytes, units};
}

/* The next sample begins with this row. Rows of one partition key are sampled together. */
static void sample_position(struct range_meter *m, bytes record_key)
{
    const struct table *t = m->access.table;
    const struct location *p = &t->schema.location;
    struct range_sample *s = &m->sample;
    bytes cols = bytes_skip(record_key, KEY_PREFIX_BYTES);
    bool alone = p->layout.partition_cols == p->key_count; /* no other row has its partition key */

    if (alone || m->rows - s->from.rows == SAMPLE_ROWS || !bytes_starts(cols, s->partition))
        sample_rows(m);
    if (m->rows != s->from.rows)
        return;
    s->weight = sampler_weight(t->sampler);
    if (alone && !s->weight)
        return;
    if (m->copies) {
        s->memory.len = 0;
        buf_put_bytes(&s->memory, cols);
        cols = buf_bytes(&s->memory);
    }
    s->bucket = bytes_u8(record_key)[4];
    s->cols = cols;
    if (!alone)
        s->partition =
            bytes_of(cols.ptr, key_columns_length(p->key, cols, p->layout.partition_cols));
}

/* What was read in this partition; of the units, which are rounded up for the whole page, its part.
 */
static void count_partition(struct range_meter *m)
{
    int32_t units = meter_units(m->bytes);
    struct access *a = &m->access;

    sample_rows(m);
    if (a->c->code)
        units = m->counted.units + (!a->refused && err_info(a->c->code)->http_status < 500);
    a->reads = (uint32_t)(m->rows - m->counted.rows);
    a->read_bytes = m->bytes - m->counted.bytes;
    a->read_units = units - m->counted.units;
    access_count(a);
    m->counted = (struct range_count){m->rows, m->bytes, units};
}

int range_meter_enter(struct range_meter *m, const struct table *t, bytes record_key)
{
    struct access *a = &m->access;
    uint8_t bucket = bytes_u8(record_key)[4];
    bytes cols = bytes_skip(record_key, KEY_PREFIX_BYTES);
    struct partition *p = partition_find(&t->partitions, bucket, cols);

    if (p == a->partition)
        return E_OK;
    if (a->partition)
        count_partition(m);
    *a = (struct access){.db = a->db,
                         .c = a->c,
                         .table = t,
                         .bucket = bucket,
                         .cols = m->copies ? arena_copy(&a->c->arena, cols) : cols,
                         .partition = p,
                         .walk = true};
    return access_admit(a, PARTITION_READ);
}

void range_meter_add(struct range_meter *m, bytes record_key, size_t size)
{
    sample_position(m, record_key);
    m->rows++;
    m->bytes += size;
}

void range_meter_end(struct range_meter *m)
{
    if (m->access.partition)
        count_partition(m);
}
