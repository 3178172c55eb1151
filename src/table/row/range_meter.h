/* range_meter.h: what a walk over rows has read, a partition at a time: who asked is counted there,
 * and the heat map gets its samples. Lives in the walk's own struct; one thread at a time uses it.
 * What is asked for each row is inline. */
#ifndef TABLE_ROW_RANGE_METER_H
#define TABLE_ROW_RANGE_METER_H

#include "table/core/call.h"
#include "table/row/access.h"
#include "table/stats/sampler.h"

/* How far something has come. */
struct range_count {
    size_t rows;
    size_t bytes; /* as capacity counts them */
    int32_t units;
};

/* The rows from the last sample on, where rows share partition keys. */
struct range_sample {
    struct range_count from;
    bytes cols;      /* of the first of them */
    bytes partition; /* its partition key */
    uint32_t weight; /* of the sample (sampler.h) */
    uint8_t bucket;
    struct buf memory; /* where cols lies, if keys do not stay */
};

struct range_meter {
    size_t rows; /* that were read */
    size_t bytes;
    bool copies;                /* keys that are given do not stay where they are */
    bool alone;                 /* no other row of the table has a row's partition key */
    struct access access;       /* of the partition that the walk is in */
    struct range_count counted; /* when that began */
    struct range_sample sample;
    struct sampler_draw draw; /* where rows are alone */
};

/* The call and the tables outlive the meter, whose memory is the call's. */
void range_meter_init(struct range_meter *m, struct call *call, const struct table *t, bool copies);

/* The walk is at this record key of table t: the partition it lies in is asked, when it is another
 * one. As access_admit(). */
int range_meter_look(struct range_meter *m, const struct table *t, bytes record_key);
static inline int range_meter_enter(struct range_meter *m, const struct table *t, bytes record_key)
{
    if (PORT_LIKELY(t->partitions.only && t->partitions.only == m->access.partition))
        return E_OK;
    return range_meter_look(m, t, record_key);
}

/* One more row was read there. */
void range_meter_sample(struct range_meter *m, bytes record_key, size_t size);
static inline void range_meter_add(struct range_meter *m, bytes record_key, size_t size)
{
    if (PORT_LIKELY(m->draw.skip))
        m->draw.skip--;
    else
        range_meter_sample(m, record_key, size);
    m->rows++;
    m->bytes += size;
}

/* The walk has ended, as its call's code says. */
void range_meter_end(struct range_meter *m);

#endif
