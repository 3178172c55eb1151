#include "table/row/range_meter.h"

#include "table/catalog/catalog.h"
#include "table/model/key.h"
#include "table/model/meter.h"

#define SAMPLE_ROWS 32 /* that count in the heat map as if they had the key of the first */

void range_meter_init(struct range_meter *m, struct call *call, const struct table *t, bool copies)
{
    *m = (struct range_meter){
        .copies = copies,
        .access = {.db = call->db, .c = &call->c, .table = t, .walk = true},
    };
    buf_init(&m->sample.memory, &call->c.arena, 0);
}

/* Leaves a sample of rows that stand together behind `cols`. */
static void sample(const struct range_meter *m, uint8_t bucket, bytes cols,
                   const struct range_count *rows, uint32_t weight)
{
    struct access a = m->access;

    a.bucket = bucket;
    a.cols = cols;
    a.refused = false;
    a.reads = (uint32_t)rows->rows;
    a.read_bytes = rows->bytes;
    a.read_units = rows->units;
    access_sample(&a, weight);
}

/* Samples the rows since the last sample for the heat map. */
static void sample_rows(struct range_meter *m)
{
    struct range_sample *s = &m->sample;
    int32_t units = meter_units(m->bytes);

    if (m->rows == s->from.rows)
        return;
    if (s->weight)
        sample(m, s->bucket, s->cols,
               &(struct range_count){m->rows - s->from.rows, m->bytes - s->from.bytes,
                                     units - s->from.units},
               s->weight);
    s->weight = 0;
    s->from = (struct range_count){m->rows, m->bytes, units};
}

/* A row that shares its partition key with none is a sample by itself, or goes without. */
static void sample_alone(struct range_meter *m, bytes record_key, size_t size)
{
    uint32_t weight = sampler_draw(m->access.table->sampler, &m->draw);
    int32_t units = m->rows ? meter_units(m->bytes) : 0;

    if (weight)
        sample(m, bytes_u8(record_key)[4], bytes_skip(record_key, KEY_PREFIX_BYTES),
               &(struct range_count){1, size, meter_units(m->bytes + size) - units}, weight);
}

/* The next sample begins with this row. Rows of one partition key are sampled together. */
static void sample_position(struct range_meter *m, bytes record_key)
{
    const struct table *t = m->access.table;
    const struct location *p = &t->schema.location;
    struct range_sample *s = &m->sample;
    bytes cols = bytes_skip(record_key, KEY_PREFIX_BYTES);

    if (m->rows - s->from.rows == SAMPLE_ROWS || !bytes_starts(cols, s->partition))
        sample_rows(m);
    if (m->rows != s->from.rows)
        return;
    s->weight = sampler_weight(t->sampler);
    if (m->copies) {
        s->memory.len = 0;
        buf_put_bytes(&s->memory, cols);
        cols = buf_bytes(&s->memory);
    }
    s->bucket = bytes_u8(record_key)[4];
    s->cols = cols;
    s->partition = bytes_of(cols.ptr, key_columns_length(p->key, cols, p->layout.partition_cols));
}

void range_meter_sample(struct range_meter *m, bytes record_key, size_t size)
{
    if (m->alone)
        sample_alone(m, record_key, size);
    else
        sample_position(m, record_key);
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

int range_meter_look(struct range_meter *m, const struct table *t, bytes record_key)
{
    const struct location *l = &t->schema.location;
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
    m->alone = l->layout.partition_cols == l->key_count;
    m->draw = (struct sampler_draw){.count = m->draw.count / 2};
    return access_admit(a, PARTITION_READ);
}

void range_meter_end(struct range_meter *m)
{
    if (m->access.partition)
        count_partition(m);
}
