/* range_meter.h: what a walk over rows has read, a partition at a time: who asked is counted there,
 * and the heat map gets its samples. Lives in the walk's own struct; one thread at a time uses it.
 */
#ifndef TABLE_ROW_RANGE_METER_H
#define TABLE_ROW_RANGE_METER_H

#include "table/core/call.h"
#include "table/row/access.h"

/* How far something has come. */
struct range_count {
    size_t rows;
    size_t bytes; /* as capacity counts them */
    int32_t units;
};

/* The rows from the last sample on. */
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
    struct access access;       /* of the partition that the walk is in */
    struct range_count counted; /* when that began */
    struct range_sample sample;
};

/* The call and the tables outlive the meter, whose memory is the call's. */
void range_meter_init(struct range_meter *m, struct call *call, const struct table *t, bool copies);

/* The walk is at this record key of table t: the partition it lies in is asked, when it is another
 * one. As access_admit(). */
int range_meter_enter(struct range_meter *m, const struct table *t, bytes record_key);

/* One more row was read there. */
void range_meter_add(struct range_meter *m, bytes record_key, size_t size);

/* The walk has ended, as its call's code says. */
void range_meter_end(struct range_meter *m);

#endif
